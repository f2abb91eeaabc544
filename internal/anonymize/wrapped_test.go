package anonymize_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

var (
	client = netip.MustParseAddrPort("203.0.113.9:50000")
	server = netip.MustParseAddrPort("198.51.100.7:27015")
	outerA = netip.MustParseAddrPort("100.64.3.77:4000")
	outerB = netip.MustParseAddrPort("99.88.77.66:4789")
)

const infoReply = "\xff\xff\xff\xffI\x11A server with a name\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00"

// frame returns an Ethernet frame with a packet.
func frame(etherType uint16, packet []byte) []byte {
	b := []byte{0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x02, 0x66, 0x77, 0x88, 0x99, 0xaa}
	return append(binary.BigEndian.AppendUint16(b, etherType), packet...)
}

// TestWrapped: all addresses in tunnels and tagged frames are replaced.
func TestWrapped(t *testing.T) {
	ip := func(a, b netip.AddrPort, payload []byte) []byte {
		return mkpcap.IP(a.Addr(), b.Addr(), 7, 17, 0, false, false, mkpcap.UDPSegment(a, b, payload))
	}
	inner := ip(server, client, []byte(infoReply))
	six := netip.MustParseAddrPort("[2001:db8:1:2::7]:27015")
	six2 := netip.MustParseAddrPort("[2001:db8:1:2::9]:50000")
	vxlan := append([]byte{8, 0, 0, 0, 0, 0, 42, 0}, frame(0x0800, inner)...)
	for name, b := range map[string][]byte{
		"plain":             frame(0x0800, inner),
		"ipv6":              frame(0x86dd, ip(six, six2, []byte(infoReply))),
		"vlan":              frame(0x8100, append([]byte{0, 5, 8, 0}, inner...)),
		"qinq":              frame(0x88a8, append([]byte{0, 5, 0x81, 0, 0, 6, 8, 0}, inner...)),
		"pppoe":             frame(0x8864, append(binary.BigEndian.AppendUint16([]byte{0x11, 0, 0, 9}, uint16(len(inner)+2)), append([]byte{0, 0x21}, inner...)...)),
		"mpls":              frame(0x8847, append([]byte{0, 1, 0x01, 64}, inner...)),
		"pppoe, compressed": frame(0x8864, append(binary.BigEndian.AppendUint16([]byte{0x11, 0, 0, 9}, uint16(len(inner)+1)), append([]byte{0x21}, inner...)...)),
		"ipip":              frame(0x0800, mkpcap.IP(outerA.Addr(), outerB.Addr(), 7, 4, 0, false, false, inner)),
		"gre":               frame(0x0800, mkpcap.IP(outerA.Addr(), outerB.Addr(), 7, 47, 0, false, false, append([]byte{0, 0, 8, 0}, inner...))),
		"vxlan":             frame(0x0800, ip(outerA, outerB, vxlan)),
		"geneve":            frame(0x0800, ip(outerA, netip.AddrPortFrom(outerB.Addr(), 6081), append([]byte{0, 0, 0x65, 0x58, 0, 0, 42, 0}, frame(0x0800, inner)...))),
		"ipv6 options, a route": frame(0x86dd, mkpcap.IP(six.Addr(), six2.Addr(), 7, 0, 0, false, false,
			slices.Concat([]byte{43, 0, 1, 4}, outerA.Addr().AsSlice(), []byte{17, 2, 0, 1, 0, 0, 0, 0}, six.Addr().AsSlice(), mkpcap.UDPSegment(six, six2, []byte(infoReply))))),
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			w := mkpcap.NewWriter(&file, mkpcap.Options{})
			w.Frame(time.Unix(1700000000, 0), append(b, "trailer that nobody reads"...))
			in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), name))(t)
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

// TestWrappedSums: the checksums of all headers are correct, also over inner checksums.
func TestWrappedSums(t *testing.T) {
	inner := mkpcap.IP(server.Addr(), client.Addr(), 7, 17, 0, false, false, mkpcap.UDPSegment(server, client, []byte(infoReply)))
	six, six2 := netip.MustParseAddrPort("[2001:db8:1:2::7]:4000"), netip.MustParseAddrPort("[2001:db8:1:2::9]:4789")
	ip := func(a, b netip.AddrPort, protocol byte, data []byte) []byte {
		return mkpcap.IP(a.Addr(), b.Addr(), 7, protocol, 0, false, false, data)
	}
	vxlan := append([]byte{8, 0, 0, 0, 0, 0, 42, 0}, frame(0x0800, inner)...)
	for _, c := range []struct {
		name     string
		frame    []byte
		ends, at int    // the addresses that count, and what is summed
		extra    uint16 // protocol and length
	}{
		{"gre", frame(0x0800, ip(outerA, outerB, 47, append([]byte{0x80, 0, 8, 0, 1, 2, 0, 0}, inner...))), 34, 34, 0},
		{"vxlan", frame(0x0800, ip(outerA, outerB, 17, mkpcap.UDPSegment(outerA, outerB, vxlan))), 26, 34, uint16(17 + 8 + len(vxlan))},
		{"vxlan in ipv6", frame(0x86dd, ip(six, six2, 17, mkpcap.UDPSegment(six, six2, vxlan))), 22, 54, uint16(17 + 8 + len(vxlan))},
	} {
		var file bytes.Buffer
		mkpcap.NewWriter(&file, mkpcap.Options{}).Frame(time.Unix(1700000000, 0), c.frame)
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), c.name))(t)
		made, counts := runOn(t, in, anonymize.Options{})
		in = must.Get(capture.NewReader(bytes.NewReader(made), c.name))(t)
		var f capture.Frame
		if err := in.Next(&f); err != nil || counts.Written != 1 {
			t.Fatal(c.name, err, counts)
		}
		if sum := packet.Checksum(binary.BigEndian.AppendUint16(slices.Concat(f.Data[c.ends:c.at], f.Data[c.at:], make([]byte, len(f.Data)&1)), c.extra)); sum != 0 {
			t.Errorf("%s: wrong by %#x", c.name, sum)
		}
	}
}

// TestNotUnwrapped: frames that may contain addresses in unknown places are left out.
func TestNotUnwrapped(t *testing.T) {
	ip := func(a, b netip.AddrPort, protocol byte, data ...[]byte) []byte {
		return mkpcap.IP(a.Addr(), b.Addr(), 7, protocol, 0, false, false, slices.Concat(data...))
	}
	segment := mkpcap.UDPSegment(server, client, []byte(infoReply))
	inner := ip(server, client, 17, segment)
	part := mkpcap.IP(server.Addr(), client.Addr(), 7, 17, 0, true, true, segment[:32])
	for name, b := range map[string][]byte{
		"authentication":       frame(0x0800, ip(server, client, 51, []byte{17, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}, segment)),
		"802.3":                frame(uint16(8+len(inner)), slices.Concat([]byte("\xaa\xaa\x03\x00\x00\x00\x08\x00"), inner)),
		"fragment in vxlan":    frame(0x0800, ip(outerA, outerB, 17, mkpcap.UDPSegment(outerA, outerB, slices.Concat([]byte{8, 0, 0, 0, 0, 0, 42, 0}, frame(0x0800, part))))),
		"25 tags":              frame(0x8100, append(bytes.Repeat([]byte{0, 0, 0x81, 0}, 25), append([]byte{0, 0, 8, 0}, inner...)...)),
		"fragment of a tunnel": frame(0x0800, mkpcap.IP(outerA.Addr(), outerB.Addr(), 7, 4, 0, true, true, inner[:48])),
	} {
		var file bytes.Buffer
		mkpcap.NewWriter(&file, mkpcap.Options{}).Frame(time.Unix(1700000000, 0), b)
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), name))(t)
		if _, counts := runOn(t, in, anonymize.Options{}); counts.Wrapped != 1 || counts.Written != 0 {
			t.Errorf("%s: %+v", name, counts)
		}
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
			in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "fragments"))(t)
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

// TestLeftOut: what is not understood is written only on request.
func TestLeftOut(t *testing.T) {
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	at := time.Unix(1700000000, 0)
	w.UDP(at, client, server, []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07private\x07example\x00\x00\x01\x00\x01"))
	w.Segment(at, client.Addr(), server.Addr(), 6, []byte("a TCP segment with what is private in it"))
	w.Frame(at, frame(0x0806, []byte("an ARP request, private")))
	w.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
	for _, keep := range []bool{false, true} {
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "foreign"))(t)
		out, counts := runOn(t, in, anonymize.Options{KeepUnknown: keep})
		if counts.NoDatagram != 2 || counts.Messages != 1 || bytes.Contains(out, []byte("private")) != keep {
			t.Errorf("keep %v: %+v", keep, counts)
		}
		if bytes.Contains(out, client.Addr().AsSlice()) || bytes.Contains(out, server.Addr().AsSlice()) {
			t.Error("an address is left")
		}
	}
}

// TestKeepServerText: names of servers are kept, names of players are not.
func TestKeepServerText(t *testing.T) {
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	w.UDP(time.Unix(1700000000, 0), server, client, []byte(infoReply))
	w.UDP(time.Unix(1700000000, 0), server, client, []byte("\xff\xff\xff\xffD\x01\x00Somebody\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "text"))(t)
	out, _ := runOn(t, in, anonymize.Options{KeepServerText: true})
	if !bytes.Contains(out, []byte("A server with a name")) || bytes.Contains(out, []byte("Somebody")) {
		t.Errorf("%q", out)
	}
}

// TestSentences: of a refusal, what the engine wrote stays and what follows does not.
func TestSentences(t *testing.T) {
	for said, stays := range map[string]string{
		"Server is full.":                    "Server is full.",
		"Server is full.\n":                  "Server is full.\n",
		"Server is full. Join Clubhouse":     "Server is full.",
		"Server is full\nClubhouse":          "Server is full\n",
		"Server is full! Join Clubhouse":     "Server is full!",
		"Clubhouse: Server is full, go away": "",
	} {
		var file bytes.Buffer
		w := mkpcap.NewWriter(&file, mkpcap.Options{})
		w.UDP(time.Unix(1700000000, 0), client, server, []byte("\x80\x00\x00\x0c\x01QUAKE\x00\x03"))
		reply := []byte("\x80\x00\x00\x00\x82" + said + "\x00")
		reply[3] = byte(len(reply))
		w.UDP(time.Unix(1700000000, 0), server, client, reply)
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "text"))(t)
		out, _ := runOn(t, in, anonymize.Options{})
		if !bytes.Contains(out, []byte("\x82"+stays)) || bytes.Contains(out, []byte("Clubhouse")) {
			t.Errorf("%q becomes %q", said, out)
		}
	}
}

// TestTags: the numbers of VLANs, labels, sessions and tunnels are replaced, equal ones by equal ones, or kept on demand.
func TestTags(t *testing.T) {
	ip := func(a, b netip.AddrPort, protocol byte, data ...[]byte) []byte {
		return mkpcap.IP(a.Addr(), b.Addr(), 7, protocol, 0, false, false, slices.Concat(data...))
	}
	inner := ip(server, client, 17, mkpcap.UDPSegment(server, client, []byte(infoReply)))
	udp := func(port uint16, data ...[]byte) []byte {
		to := netip.AddrPortFrom(outerB.Addr(), port)
		return frame(0x0800, ip(outerA, to, 17, mkpcap.UDPSegment(outerA, to, slices.Concat(data...))))
	}
	ether := frame(0x0800, inner)
	for name, c := range map[string]struct {
		frame []byte
		tags  [][2]int // offset and length
	}{
		"vlan":      {frame(0x8100, slices.Concat([]byte{0x6f, 0x42, 8, 0}, inner)), [][2]int{{14, 2}}},
		"qinq":      {frame(0x88a8, slices.Concat([]byte{1, 5, 0x81, 0, 2, 6, 8, 0}, inner)), [][2]int{{14, 2}, {18, 2}}},
		"pppoe":     {frame(0x8864, slices.Concat(binary.BigEndian.AppendUint16([]byte{0x11, 0, 0x34, 9}, uint16(len(inner)+2)), []byte{0, 0x21}, inner)), [][2]int{{16, 2}}},
		"mpls":      {frame(0x8847, slices.Concat([]byte{0x12, 0x34, 0x50, 64, 0x23, 0x45, 0x61, 64}, inner)), [][2]int{{14, 3}, {18, 3}}},
		"gre":       {frame(0x0800, ip(outerA, outerB, 47, []byte("\xb0\x00\x08\x00sum.Key.seq."), inner)), [][2]int{{42, 4}}},
		"erspan ii": {frame(0x0800, ip(outerA, outerB, 47, []byte("\x10\x00\x88\xbeseq.\x10\x65\x08\x64\x00\x00\x00\x07"), ether)), [][2]int{{42, 2}, {44, 2}}},
		"vxlan":     {udp(4789, []byte("\x88\x00Gr\x01\x02\x03\x00"), ether), [][2]int{{44, 2}, {46, 3}}},
		"geneve":    {udp(6081, []byte("\x00\x00\x65\x58\x01\x02\x03\x00"), ether), [][2]int{{46, 3}}},
	} {
		var file bytes.Buffer
		w := mkpcap.NewWriter(&file, mkpcap.Options{})
		w.Frame(time.Unix(1700000000, 0), c.frame)
		w.Frame(time.Unix(1700000001, 0), c.frame)
		in, err := capture.NewReader(bytes.NewReader(file.Bytes()), name)
		must.Do(t, err)
		made, counts := runOn(t, in, anonymize.Options{})
		if in, err = capture.NewReader(bytes.NewReader(made), name); err != nil || counts.Written != 2 {
			t.Fatal(name, err, counts)
		}
		var first []byte
		var f capture.Frame
		for in.Next(&f) == nil {
			for _, at := range c.tags {
				was, is := c.frame[at[0]:at[0]+at[1]], f.Data[at[0]:at[0]+at[1]]
				if bytes.Equal(was, is) || first != nil && !bytes.Equal(is, first[at[0]:at[0]+at[1]]) {
					t.Errorf("%s: %x becomes %x", name, was, is)
				}
			}
			first = bytes.Clone(f.Data)
		}
	}
}

// TestLinkTypes: captures of each link type that is read are written, without what their headers tell.
func TestLinkTypes(t *testing.T) {
	inner := mkpcap.IP(server.Addr(), client.Addr(), 7, 17, 0, false, false, mkpcap.UDPSegment(server, client, []byte(infoReply)))
	attribute := func(order binary.AppendByteOrder, kind uint16, b []byte) []byte {
		return slices.Concat(order.AppendUint16(order.AppendUint16(nil, uint16(4+len(b))), kind), b, make([]byte, -len(b)&3))
	}
	nflog := func(order binary.AppendByteOrder) []byte {
		return slices.Concat([]byte{2, 0, 0, 1}, attribute(order, 10, []byte("a private word\x00")), attribute(order, 8, []byte("\x00\x06\x00\x00\x11\x22\x33\x44\x55\x66\x00\x00")), attribute(order, 9, inner))
	}
	six, other := netip.MustParseAddrPort("[2001:db8:7766:5544::10]:27015"), netip.MustParseAddrPort("[2001:db8:7766:5544::20]:50000")
	inner6 := mkpcap.IP(six.Addr(), other.Addr(), 7, 17, 0, false, false, mkpcap.UDPSegment(six, other, []byte(infoReply)))
	tested := map[uint16]bool{}
	for name, c := range map[string]struct {
		linkType uint16
		data     []byte
	}{
		"null": {0, slices.Concat([]byte{2, 0, 0, 0}, inner)}, "ethernet": {1, frame(0x0800, inner)}, "ppp": {9, slices.Concat([]byte{0xff, 3, 0, 0x21}, inner)},
		"raw 12": {12, inner}, "raw 14": {14, inner}, "hdlc": {50, slices.Concat([]byte{0xff, 3, 0, 0x21}, inner)},
		"pppoe": {51, slices.Concat([]byte{0x11, 0, 0, 9}, binary.BigEndian.AppendUint16(nil, uint16(len(inner)+2)), []byte{0, 0x21}, inner)},
		"raw":   {101, inner}, "loop": {108, slices.Concat([]byte{0, 0, 0, 2}, inner)},
		"sll":  {113, slices.Concat([]byte("\x00\x00\x00\x01\x00\x06\x02\x22\x33\x44\x55\x66\x00\x00\x08\x00"), inner)},
		"ipv4": {228, inner}, "ipv6": {229, inner6}, "nflog": {239, nflog(binary.LittleEndian)}, "nflog, big-endian": {239, nflog(binary.BigEndian)},
		"sll2": {276, slices.Concat([]byte("\x08\x00\x00\x00\x00\x00\x00\x02\x00\x01\x00\x06\x02\x22\x33\x44\x55\x66\x00\x00"), inner)},
	} {
		tested[c.linkType] = true
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			w := capture.NewWriter(&file, capture.Pcapng)
			must.Do(t, w.Write(&capture.Frame{Number: 1, Time: capture.StampOf(time.Unix(1700000000, 0)), LinkType: c.linkType, Data: c.data, Length: len(c.data)}))
			must.Do(t, w.Close())
			in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), name))(t)
			out, counts := runOn(t, in, anonymize.Options{})
			if counts.Written != 1 || counts.Messages != 1 {
				t.Fatalf("%+v", counts)
			}
			compare(t, gather(t, file.Bytes()), gather(t, out))
			for _, s := range []string{"private", "\x22\x33\x44\x55", "A server", string(server.Addr().AsSlice()), "\x77\x66\x55\x44"} {
				if bytes.Contains(out, []byte(s)) {
					t.Errorf("%q is left", s)
				}
			}
		})
	}
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
	for l := range 1 << 16 {
		if o := decoder.Decode(&packet.Frame{LinkType: uint16(l), Data: inner, Length: len(inner)}, new(packet.Datagram)); o != packet.LinkUnknown && !tested[uint16(l)] {
			t.Errorf("link type %d is read and not tested", l)
		}
	}
}

// verify returns what is left of one capture in another.
func verify(t *testing.T, in, out []byte) ([]anonymize.Leak, *anonymize.Witness) {
	t.Helper()
	w := anonymize.NewWitness(anonymize.Options{Analysis: dissect.Config{Protocols: all.Protocols()}})
	open := func(b []byte) capture.Source {
		r := must.Get(capture.NewReader(bytes.NewReader(b), "capture"))(t)
		return r
	}
	if err := w.Read(open(in)); err != nil && !hostile(t) {
		t.Fatal(err)
	}
	if out == nil {
		return nil, w
	}
	leaks, err := w.Search(open(out))
	if err != nil && !hostile(t) {
		t.Fatal(err)
	}
	return leaks, w
}

// TestVerified: nothing is found in anonymized captures, of the samples and of other projects, and much in the captures themselves.
func TestVerified(t *testing.T) {
	seen, told := 0, 0
	eachCapture(t, func(t *testing.T, name string) {
		if seen++; seen%must.Try(3, 1) > 0 {
			return
		}
		before := must.Get(os.ReadFile(name))(t)
		leaks, w := verify(t, before, treat(t, name).file)
		if hostile(t) {
			return // the same forged text is a name here and a word of the protocol there
		}
		if len(leaks) > 0 || w.Unchecked > 0 {
			t.Errorf("%d left, %d not looked for: %+v", w.Leaks, w.Unchecked, leaks)
		}
		if _, w := verify(t, before, before); w.Leaks > 0 {
			told++
		}
	})
	if told < must.Try(30, 100) {
		t.Errorf("something is left in %d captures that were not treated", told)
	}
}

// TestVerifyFinds: a name is found in other places and other writings.
func TestVerifyFinds(t *testing.T) {
	players := func(name string) []byte {
		return []byte("\xff\xff\xff\xffD\x01\x00" + name + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	info := func(name, mapName string) []byte {
		return []byte("\xff\xff\xff\xffI\x11" + name + "\x00" + mapName + "\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00")
	}
	wide := func(s string) (b string) {
		for _, u := range utf16.Encode([]rune(s)) {
			b += string([]byte{byte(u), byte(u >> 8)})
		}
		return b
	}
	file := func(second int64, payload []byte) []byte {
		var b bytes.Buffer
		mkpcap.NewWriter(&b, mkpcap.Options{}).UDP(time.Unix(1700000000+second, 0), outerA, outerB, payload)
		return b.Bytes()
	}
	for _, c := range []struct {
		name, what string
		out        []byte
		field      string
	}{
		{"short at its place", "Jo", file(0, players("jO")), "a2s.players.name"},
		{"in another writing at its place", "Ｄｏｆｆｙ", file(0, players("doffy\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "a2s.players.name"},
		{"elsewhere", "LongNameOfSomebody", file(9, info("at longnameofsomebody's", "x")), "a2s.info.name"},
		{"in full width", "LongNameOfSomebody", file(9, info("ＬｏｎｇＮａｍｅＯｆＳｏｍｅｂｏｄｙ", "x")), "a2s.info.name"},
		{"in a kept field", "LongNameOfSomebody", file(9, info("x", "longnameofsomebody")), "a2s.info.map"},
		{"in UTF-16", "LongNameOfSomebody", file(9, append(info("x", "y"), wide("LongNameOfSomebody")...)), "payload"},
		{"in Cyrillic", "Длинное имя", file(9, append(info("x", "y"), "Длинное имя"...)), "payload"},
		{"in Windows-1251", "Длинное имя", file(9, append(info("x", "y"), "\xc4\xeb\xe8\xed\xed\xee\xe5 \xe8\xec\xff"...)), "payload"},
		{"unrecognised", "LongNameOfSomebody", file(9, []byte("a datagram with LongNameOfSomebody")), "payload"},
	} {
		leaks, _ := verify(t, file(0, players(c.what)), c.out)
		found := false
		for _, l := range leaks {
			found = found || l.Field == c.field && l.Frame == 1
		}
		if !found {
			t.Errorf("%s: %+v", c.name, leaks)
		}
	}
	leaks, _ := verify(t, file(0, players("Jo")), file(0, players("Ka")))
	if len(leaks) != 2 || leaks[0].Field != "src" || leaks[1].Field != "dst" {
		t.Errorf("addresses: %+v", leaks)
	}
}

// TestVerifyJSON: JSON without texts stays as it is, and nothing of it is left behind by mistake.
func TestVerifyJSON(t *testing.T) {
	status := `{"description":null,"players":{"sample":null},"favicon":null,"forgeData":{"channels":[],"v":3},"x":"A name of a server"}`
	var b bytes.Buffer
	c := mkpcap.NewWriter(&b, mkpcap.Options{}).Connect(time.Unix(1700000000, 0), client, server)
	c.Send(time.Unix(1700000001, 0), false, []byte("\x07\x00\x2f\x01a\x63\xdd\x01\x01\x00"), 1400)
	c.Send(time.Unix(1700000002, 0), true, []byte(string([]byte{byte(len(status) + 2), 0, byte(len(status))})+status), 1400)
	out, counts := runOn(t, must.Get(capture.NewReader(bytes.NewReader(b.Bytes()), "status"))(t), anonymize.Options{})
	if leaks, _ := verify(t, b.Bytes(), out); len(leaks) > 0 || counts.Messages != 3 {
		t.Errorf("of %d messages is left: %+v", counts.Messages, leaks)
	}
	if leaks, _ := verify(t, b.Bytes(), b.Bytes()); !slices.ContainsFunc(leaks, func(l anonymize.Leak) bool { return l.Value == `"A name of a server"` }) {
		t.Errorf("a name is not found: %+v", leaks)
	}
}

// TestVerifyCorpus: nothing is left of the recorded replies of other projects' tests.
func TestVerifyCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the corpus is not beside the project")
	}
	files := 0
	err := filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".md") {
			return err
		}
		payload, err := os.ReadFile(name)
		if err != nil || len(payload) == 0 || len(payload) > 60000 {
			return err
		}
		var b bytes.Buffer
		mkpcap.NewWriter(&b, mkpcap.Options{}).UDP(time.Unix(1700000000, 0), server, client, payload)
		in, err := capture.NewReader(bytes.NewReader(b.Bytes()), name)
		if err != nil {
			return err
		}
		files++
		out, _ := runOn(t, in, anonymize.Options{})
		if leaks, _ := verify(t, b.Bytes(), out); len(leaks) > 0 {
			t.Errorf("%s: %+v", filepath.Base(name), leaks)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestWitnessLimits: a witness keeps no more than docs/limits.md says, and counts the rest.
func TestWitnessLimits(t *testing.T) {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	const messages, each, long = 2110, 250, 70 // short names are no words
	for i := range messages {
		payload, name := []byte("\xff\xff\xff\xffD\xfa"), "\x00"
		if i < long {
			name = "\x00somebody-called-"
		}
		for k := range each {
			payload = append(append(payload, name...), 'a'+byte(i%26), 'a'+byte(i/26), 'a'+byte(k%26), 'a'+byte(k/26))
			payload = append(payload, "\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
		}
		w.UDP(time.Unix(1700000000+int64(i), 0), server, client, payload)
	}
	_, witness := verify(t, b.Bytes(), nil)
	if want := messages*(each+2) - 524288 + 2*long*each - 32768; witness.Unchecked != want {
		t.Errorf("%d values are not looked for, want %d", witness.Unchecked, want)
	}
}
