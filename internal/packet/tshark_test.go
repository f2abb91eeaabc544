package packet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/reassembly"
)

// notTshark are wrappings of which tshark 4.0 makes something else, and why.
var notTshark = map[string]string{
	"mpls pseudowire":                   "it does not guess what is behind a label",
	"mpls pseudowire, vlan":             "the same",
	"mpls pseudowire with control word": "it takes the control word for part of an address",
	"loop, little-endian":               "it takes the order as it should be",
	"null ipv6 linux":                   "it does not know Linux's number, which nobody should write",
	"nflog, big-endian":                 "it takes the byte order of the machine it runs on",
	"ipv6 extensions":                   "it shows Mobile IPv6 and stops there",
	"erspan iii ip":                     "it takes mirrored frames only, no packets",
	"vxlan linux, vlans":                "it knows the registered port only",
}

// TestAgainstTshark holds the decoder against Wireshark's dissectors, which
// know all of the link types and tunnels, and join fragments.
func TestAgainstTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	type frame struct {
		name string
		data []byte
		v6   bool
	}
	files := map[uint16][]frame{}
	for _, w := range wrappings() {
		files[w.linkType] = append(files[w.linkType], frame{w.name, w.data, w.v6})
	}
	for i, p := range split4(server4, client4, protoUDP, 7, 576, reply()) {
		files[linkRawIP] = append(files[linkRawIP], frame{fmt.Sprint("ipv4 fragment ", i), p, false})
	}
	six := split6(server6, client6, protoUDP, 7, 576, reply6())
	for i := range six {
		files[linkRawIP] = append(files[linkRawIP], frame{fmt.Sprint("ipv6 fragment ", i), six[len(six)-1-i], true})
	}
	for i, p := range split4(near4, far4, protoUDP, 9, 800, udp(50001, portVXLAN, vxlanFrame(42, ether(typeIPv4, ip4(server4, client4, protoUDP, reply()))))) {
		files[linkEthernet] = append(files[linkEthernet], frame{fmt.Sprint("vxlan in fragments ", i), ether(typeIPv4, p), false})
	}
	for i, p := range split4(server4, client4, protoUDP, 11, 1000, reply()) {
		files[linkEthernet] = append(files[linkEthernet], frame{fmt.Sprint("fragments in gtp-u ", i), tunnel4(portGTPU, gtpuFrame(0, 7, "", p)), false})
	}
	// All in one file: it is starting tshark that takes time.
	linkTypes := slices.Sorted(maps.Keys(files))
	name := filepath.Join(t.TempDir(), "all.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pcapgo.NewNgWriter(file, layers.LinkType(linkTypes[0]))
	if err != nil {
		t.Fatal(err)
	}
	for n, linkType := range linkTypes {
		if n > 0 {
			if _, err := w.AddInterface(pcapgo.NgInterface{LinkType: layers.LinkType(linkType)}); err != nil {
				t.Fatal(err)
			}
		}
		for i, f := range files[linkType] {
			info := gopacket.CaptureInfo{Timestamp: second(float64(i)), CaptureLength: len(f.data), Length: len(f.data), InterfaceIndex: n}
			if err := w.WritePacket(info, f.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", name, "-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=l"}
	for _, field := range []string{"ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.srcport", "udp.dstport", "udp.payload"} {
		args = append(args, "-e", field)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	agreed := 0
	for _, linkType := range linkTypes {
		frames := files[linkType]
		if len(lines) < len(frames) {
			t.Fatalf("link type %d: %d lines of %d frames", linkType, len(lines), len(frames))
		}
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		for i, f := range frames {
			var have Datagram
			o := d.Decode(&Frame{Number: uint64(i + 1), Time: second(float64(i)), LinkType: linkType, Data: f.data}, &have)
			if !o.OK() {
				continue
			}
			if _, ok := notTshark[f.name]; ok {
				continue
			}
			agreed++
			cells := strings.Split(lines[i], "|")
			src, dst := cells[0], cells[1]
			if f.v6 {
				src, dst = cells[2], cells[3]
			}
			payload, _ := hex.DecodeString(cells[6])
			want := flow{payload: payload}
			want.src, _ = netip.ParseAddrPort(join(src, cells[4]))
			want.dst, _ = netip.ParseAddrPort(join(dst, cells[5]))
			if want.src != have.Src || want.dst != have.Dst || !bytes.Equal(want.payload, have.Payload) {
				t.Errorf("%s: %v > %v %q, and tshark has %v", f.name, have.Src, have.Dst, have.Payload, lines[i])
			}
		}
		lines = lines[len(frames):]
	}
	if all := len(wrappings()) - len(notTshark) + 4; agreed != all {
		t.Errorf("%d datagrams of %d were compared", agreed, all)
	}
}

// join makes one of an address and a port as tshark prints them.
func join(addr, port string) string {
	if strings.Contains(addr, ":") {
		return "[" + addr + "]:" + port
	}
	return addr + ":" + port
}
