package anonymize_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
)

var (
	client = netip.MustParseAddrPort("203.0.113.9:50000")
	server = netip.MustParseAddrPort("198.51.100.7:27015")
	outerA = netip.MustParseAddrPort("100.64.3.77:4000")
	outerB = netip.MustParseAddrPort("99.88.77.66:4789")
)

const infoReply = "\xff\xff\xff\xffI\x11A server with a name\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00"

// frame is an Ethernet frame with a packet in it.
func frame(etherType uint16, packet []byte) []byte {
	b := []byte{0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x02, 0x66, 0x77, 0x88, 0x99, 0xaa}
	return append(binary.BigEndian.AppendUint16(b, etherType), packet...)
}

// TestWrapped: tunnels and tags are looked through, and all addresses in them
// are replaced.
func TestWrapped(t *testing.T) {
	ip := func(a, b netip.AddrPort, payload []byte) []byte {
		return mkpcap.IP(a.Addr(), b.Addr(), 7, 17, 0, false, false, mkpcap.UDPSegment(a, b, payload))
	}
	inner := ip(server, client, []byte(infoReply))
	six := netip.MustParseAddrPort("[2001:db8:1:2::7]:27015")
	six2 := netip.MustParseAddrPort("[2001:db8:1:2::9]:50000")
	vxlan := append([]byte{8, 0, 0, 0, 0, 0, 42, 0}, frame(0x0800, inner)...)
	for name, b := range map[string][]byte{
		"plain":  frame(0x0800, inner),
		"ipv6":   frame(0x86dd, ip(six, six2, []byte(infoReply))),
		"vlan":   frame(0x8100, append([]byte{0, 5, 8, 0}, inner...)),
		"qinq":   frame(0x88a8, append([]byte{0, 5, 0x81, 0, 0, 6, 8, 0}, inner...)),
		"pppoe":  frame(0x8864, append(binary.BigEndian.AppendUint16([]byte{0x11, 0, 0, 9}, uint16(len(inner)+2)), append([]byte{0, 0x21}, inner...)...)),
		"mpls":   frame(0x8847, append([]byte{0, 1, 0x01, 64}, inner...)),
		"ipip":   frame(0x0800, mkpcap.IP(outerA.Addr(), outerB.Addr(), 7, 4, 0, false, false, inner)),
		"gre":    frame(0x0800, mkpcap.IP(outerA.Addr(), outerB.Addr(), 7, 47, 0, false, false, append([]byte{0, 0, 8, 0}, inner...))),
		"vxlan":  frame(0x0800, ip(outerA, outerB, vxlan)),
		"geneve": frame(0x0800, ip(outerA, netip.AddrPortFrom(outerB.Addr(), 6081), append([]byte{0, 0, 0x65, 0x58, 0, 0, 42, 0}, frame(0x0800, inner)...))),
		"gtp-u": frame(0x0800, ip(outerA, netip.AddrPortFrom(outerB.Addr(), 2152),
			append(append(binary.BigEndian.AppendUint16([]byte{0x30, 0xff}, uint16(len(inner))), 0, 0, 0, 9), inner...))),
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			w := mkpcap.NewWriter(&file, mkpcap.Options{})
			w.Frame(time.Unix(1700000000, 0), append(b, "trailer that nobody reads"...))
			in, err := capture.NewReader(bytes.NewReader(file.Bytes()), name)
			if err != nil {
				t.Fatal(err)
			}
			out, counts := runOn(t, in, anonymize.Options{})
			if counts.Written != 1 || counts.Messages != 1 {
				t.Fatalf("%+v", counts)
			}
			before, after := gather(t, file.Bytes()), gather(t, out)
			compare(t, before, after)
			for _, a := range []netip.AddrPort{client, server, outerA, outerB, six, six2} {
				if bytes.Contains(out, a.Addr().AsSlice()) {
					t.Errorf("%v is left", a)
				}
			}
			for _, s := range []string{"A server", "trailer", "\x11\x22\x33\x44\x55", "\x66\x77\x88\x99\xaa"} {
				if bytes.Contains(out, []byte(s)) {
					t.Errorf("%q is left", s)
				}
			}
			if !strings.Contains(string(out), "de_dust2") {
				t.Error("the map is gone")
			}
		})
	}
}

// TestFragmented: a datagram in fragments, in any order, twice, of both IP
// versions.
func TestFragmented(t *testing.T) {
	long := []byte(infoReply)
	long[5+1+19-1] = 'x'
	long = slices.Insert(long, 20, bytes.Repeat([]byte("Name "), 50)...)
	for _, o := range []mkpcap.Options{{MTU: 100}, {MTU: 100, Reverse: true}, {MTU: 100, Link: mkpcap.SLL}, {MTU: 100, Link: mkpcap.Null}} {
		for _, ends := range [][2]netip.AddrPort{
			{server, client},
			{netip.MustParseAddrPort("[2001:db8:1:2::7]:27015"), netip.MustParseAddrPort("[2001:db8:1:2::9]:50000")},
		} {
			var file bytes.Buffer
			w := mkpcap.NewWriter(&file, o)
			w.UDP(time.Unix(1700000000, 0), ends[0], ends[1], long)
			w.UDP(time.Unix(1700000001, 0), ends[1], ends[0], []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
			in, err := capture.NewReader(bytes.NewReader(file.Bytes()), "fragments")
			if err != nil {
				t.Fatal(err)
			}
			out, counts := runOn(t, in, anonymize.Options{})
			if counts.Written != w.Frames || counts.Messages != 2 {
				t.Errorf("%v: %d frames, %+v", o, w.Frames, counts)
			}
			after := gather(t, out)
			compare(t, gather(t, file.Bytes()), after)
			for _, s := range []string{"A server", "Name Name"} {
				for _, b := range append(after.data, out) {
					if bytes.Contains(b, []byte(s)) {
						t.Errorf("%q is left", s)
					}
				}
			}
		}
	}
}

// TestLeftOut: what is not understood is not passed on, but on purpose.
func TestLeftOut(t *testing.T) {
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	at := time.Unix(1700000000, 0)
	w.UDP(at, client, server, []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07private\x07example\x00\x00\x01\x00\x01"))
	w.Segment(at, client.Addr(), server.Addr(), 6, []byte("a TCP segment with what is private in it"))
	w.Frame(at, frame(0x0806, []byte("an ARP request, private")))
	w.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
	for _, keep := range []bool{false, true} {
		in, err := capture.NewReader(bytes.NewReader(file.Bytes()), "foreign")
		if err != nil {
			t.Fatal(err)
		}
		out, counts := runOn(t, in, anonymize.Options{KeepUnknown: keep})
		if counts.NoDatagram != 2 || counts.Messages != 1 || bytes.Contains(out, []byte("private")) != keep {
			t.Errorf("keep %v: %+v", keep, counts)
		}
		if bytes.Contains(out, client.Addr().AsSlice()) || bytes.Contains(out, server.Addr().AsSlice()) {
			t.Error("an address is left")
		}
	}
}

// TestKeepServerText keeps what a server is called, but not who plays on it.
func TestKeepServerText(t *testing.T) {
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	w.UDP(time.Unix(1700000000, 0), server, client, []byte(infoReply))
	w.UDP(time.Unix(1700000000, 0), server, client, []byte("\xff\xff\xff\xffD\x01\x00Somebody\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	in, err := capture.NewReader(bytes.NewReader(file.Bytes()), "text")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := runOn(t, in, anonymize.Options{KeepServerText: true})
	if !bytes.Contains(out, []byte("A server with a name")) || bytes.Contains(out, []byte("Somebody")) {
		t.Errorf("%q", out)
	}
}
