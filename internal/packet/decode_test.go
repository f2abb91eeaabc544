package packet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// wrapping is a frame with the query, and the layers around it.
type wrapping struct {
	name     string
	linkType uint16
	data     []byte
	vlans    string // as VLANs prints
	tunnels  string // as Tunnels prints
	outer    string // of a tunnel: source and destination
	v6       bool
}

func sll(t int, b []byte) []byte {
	return cat([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0x20, 0, 0}, u16(t), b)
}

func sll2(t int, b []byte) []byte {
	return cat(u16(t), []byte{0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0x20, 0, 0}, b)
}

func label(n uint32, bottom bool) []byte {
	n <<= 12
	if bottom {
		n |= 1 << 8
	}
	return u32(n | 64)
}

// attribute is one of NFLOG.
func attribute(order binary.AppendByteOrder, kind int, b []byte) []byte {
	h := order.AppendUint16(nil, uint16(4+len(b)))
	h = order.AppendUint16(h, uint16(kind))
	return cat(h, b, make([]byte, -len(b)&3))
}

func gre(flags, t int, fields string, b []byte) []byte {
	return cat(u16(flags), u16(t), []byte(fields), b)
}

func vxlanFrame(network uint32, b []byte) []byte { return cat(u32(0x08000000), u32(network<<8), b) }

func geneveFrame(t int, network uint32, options string, b []byte) []byte {
	return cat([]byte{byte(len(options) / 4), 0}, u16(t), u32(network<<8), []byte(options), b)
}

// tunnel4 is b in a datagram between the ends of a tunnel.
func tunnel4(port int, b []byte) []byte {
	return ether(typeIPv4, ip4(near4, far4, protoUDP, udp(50001, port, b)))
}

func wrappings() []wrapping {
	const ends4, ends6 = "203.0.113.1 203.0.113.2", "2001:db8:f::1 2001:db8:f::2"
	q, inner := udp(clientPort, serverPort, query), ether(typeIPv4, ask4())
	deep := ask4()
	for range maxTunnels {
		deep = ip4(near4, far4, protoIPv4, deep)
	}
	return []wrapping{
		{name: "ethernet ipv4", linkType: linkEthernet, data: ether(typeIPv4, ask4())},
		{name: "ethernet ipv6", linkType: linkEthernet, data: ether(typeIPv6, ask6()), v6: true},
		{name: "ethernet padding", linkType: linkEthernet, data: ether(typeIPv4, ask4(), make([]byte, 20))},
		{name: "ethernet trailer ipv6", linkType: linkEthernet, data: ether(typeIPv6, ask6(), []byte("fcs!")), v6: true},
		{name: "802.3 snap", linkType: linkEthernet, data: ether(8+len(ask4()), []byte("\xaa\xaa\x03\x00\x00\x00\x08\x00"), ask4(), []byte("pad"))},
		{name: "802.1q", linkType: linkEthernet, data: ether(typeVLAN, vlan(0x6005, typeIPv4, ask4())), vlans: "5"},
		{name: "802.1q snap", linkType: linkEthernet, data: ether(typeVLAN, vlan(5, 8+len(ask4()), cat([]byte("\xaa\xaa\x03\x00\x00\x00\x08\x00"), ask4()))), vlans: "5"},
		{name: "priority tag", linkType: linkEthernet, data: ether(typeVLAN, vlan(0xe000, typeIPv4, ask4()))},
		{name: "qinq 88a8", linkType: linkEthernet, data: ether(typeQinQ, vlan(100, typeVLAN, vlan(200, typeIPv6, ask6()))), vlans: "100 200", v6: true},
		{name: "qinq 9100", linkType: linkEthernet, data: ether(typeQinQOld, vlan(100, typeQinQ, vlan(200, typeVLAN, vlan(300, typeIPv4, ask4())))), vlans: "100 200 300"},
		{name: "pppoe", linkType: linkEthernet, data: ether(typePPPoE, []byte{0x11, 0}, u16(77), u16(2+len(ask4())), u16(0x21), ask4()), tunnels: "pppoe 77"},
		{name: "pppoe ipv6 in vlan, compressed", linkType: linkEthernet, data: ether(typeVLAN, vlan(7, typePPPoE, cat([]byte{0x11, 0}, u16(77), u16(1+len(ask6())), []byte{0x57}, ask6()))), vlans: "7", tunnels: "pppoe 77", v6: true},
		{name: "mpls", linkType: linkEthernet, data: ether(typeMPLS, label(1000, false), label(2000, true), ask4()), tunnels: "mpls 2000"},
		{name: "mpls with entropy", linkType: linkEthernet, data: ether(typeMPLSUp, label(1000, false), label(7, false), label(99999, true), ask6()), tunnels: "mpls 1000", v6: true},
		{name: "pppoe mpls", linkType: linkEthernet, data: ether(typePPPoE, []byte{0x11, 0}, u16(77), u16(6+len(ask4())), u16(0x281), label(9, true), ask4()), tunnels: "pppoe 77, mpls 9"},

		{name: "null, little-endian", linkType: linkNull, data: cat([]byte{2, 0, 0, 0}, ask4())},
		{name: "null, big-endian", linkType: linkNull, data: cat([]byte{0, 0, 0, 2}, ask4())},
		{name: "null ipv6 netbsd", linkType: linkNull, data: cat([]byte{24, 0, 0, 0}, ask6()), v6: true},
		{name: "null ipv6 freebsd", linkType: linkNull, data: cat([]byte{28, 0, 0, 0}, ask6()), v6: true},
		{name: "null ipv6 darwin", linkType: linkNull, data: cat([]byte{30, 0, 0, 0}, ask6()), v6: true},
		{name: "null ipv6 linux", linkType: linkNull, data: cat([]byte{0, 0, 0, 10}, ask6()), v6: true},
		{name: "loop", linkType: linkLoop, data: cat([]byte{0, 0, 0, 2}, ask4())},
		{name: "loop, little-endian", linkType: linkLoop, data: cat([]byte{2, 0, 0, 0}, ask4())},
		{name: "loop ipv6", linkType: linkLoop, data: cat([]byte{0, 0, 0, 24}, ask6()), v6: true},
		{name: "raw 12", linkType: linkRaw, data: ask4()},
		{name: "raw 14", linkType: linkRawBSD, data: ask6(), v6: true},
		{name: "raw 101", linkType: linkRawIP, data: ask6(), v6: true},
		{name: "ipv4", linkType: linkIPv4, data: ask4()},
		{name: "ipv6", linkType: linkIPv6, data: ask6(), v6: true},
		{name: "sll", linkType: linkSLL, data: sll(typeIPv4, ask4())},
		{name: "sll ipv6 vlan", linkType: linkSLL, data: sll(typeVLAN, vlan(5, typeIPv6, ask6())), vlans: "5", v6: true},
		{name: "sll llc", linkType: linkSLL, data: sll(4, cat([]byte("\xaa\xaa\x03\x00\x00\x00\x08\x00"), ask4()))},
		{name: "sll2", linkType: linkSLL2, data: sll2(typeIPv4, ask4())},
		{name: "sll2 ipv6", linkType: linkSLL2, data: sll2(typeIPv6, ask6()), v6: true},
		{name: "ppp", linkType: linkPPP, data: cat([]byte{0xff, 3, 0, 0x21}, ask4())},
		{name: "ppp without address", linkType: linkPPP, data: cat([]byte{0, 0x57}, ask6()), v6: true},
		{name: "ppp hdlc", linkType: linkPPPHDLC, data: cat([]byte{0xff, 3, 0, 0x21}, ask4())},
		{name: "pppoe link", linkType: linkPPPoE, data: cat([]byte{0x11, 0}, u16(8), u16(2+len(ask4())), u16(0x21), ask4()), tunnels: "pppoe 8"},
		{name: "nflog", linkType: linkNFLOG, data: cat([]byte{2, 0, 0, 1},
			attribute(binary.LittleEndian, 1, make([]byte, 4)), attribute(binary.LittleEndian, 10, []byte("x\x00")), attribute(binary.LittleEndian, 9, ask4()))},
		{name: "nflog, big-endian", linkType: linkNFLOG, data: cat([]byte{10, 0, 0, 1},
			attribute(binary.BigEndian, 1, make([]byte, 4)), attribute(binary.BigEndian, 9, ask6())), v6: true},

		{name: "ipv4 options", linkType: linkRawIP, data: ip4Options(client4, server4, protoUDP, 1, 0, []byte{7, 7, 4, 0, 0, 0, 0, 0}, q)},
		{name: "ipv4 all options", linkType: linkRawIP, data: ip4Options(client4, server4, protoUDP, 1, 0x4000, make([]byte, 40), q)},
		{name: "ipv4 ah", linkType: linkRawIP, data: ip4(client4, server4, protoAH, cat([]byte{protoUDP, 4, 0, 0}, make([]byte, 20), q))},
		{name: "ipv6 extensions", linkType: linkRawIP, v6: true, data: ip6(client6, server6, protoHopByHop, ext6(protoRouting, 1, ext6(protoDestinations, 2,
			ext6(protoMobility, 0, ext6(protoHIP, 0, ext6(protoShim6, 0, ext6(protoAH, 0, cat([]byte{protoUDP, 4, 0, 0}, make([]byte, 20), q))))))))},
		{name: "ipv6 atomic fragment", linkType: linkRawIP, v6: true, data: ip6(client6, server6, protoFragment, frag6(protoUDP, 9, 0, false, q))},
		{name: "ipv6 atomic fragment with options", linkType: linkRawIP, v6: true, data: ip6(client6, server6, protoHopByHop, ext6(protoFragment, 0, frag6(protoDestinations, 9, 0, false, ext6(protoUDP, 0, q))))},

		{name: "ipip", linkType: linkRawIP, data: ip4(near4, far4, protoIPv4, ask4()), tunnels: "ipip", outer: ends4},
		{name: "6in4", linkType: linkRawIP, data: ip4(near4, far4, protoIPv6, ask6()), tunnels: "6in4", outer: ends4, v6: true},
		{name: "4in6", linkType: linkRawIP, data: ip6(near6, far6, protoIPv4, ask4()), tunnels: "4in6", outer: ends6},
		{name: "6in6", linkType: linkRawIP, data: ip6(near6, far6, protoDestinations, ext6(protoIPv6, 0, ask6())), tunnels: "6in6", outer: ends6, v6: true},
		{name: "gre", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0, typeIPv4, "", ask4())), tunnels: "gre", outer: ends4},
		{name: "gre checksum", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0x8000, typeIPv6, "sum.", ask6())), tunnels: "gre", outer: ends4, v6: true},
		{name: "gre key", linkType: linkRawIP, data: ip6(near6, far6, protoGRE, gre(0x2000, typeIPv4, "\x00\x00\x00\x2a", ask4())), tunnels: "gre 42", outer: ends6},
		{name: "gre sequence", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0x1000, typeIPv4, "seq.", ask4())), tunnels: "gre", outer: ends4},
		{name: "gre everything, ethernet", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0xb000, typeTEB, "sum.\x00\x00\x00\x2aseq.", ether(typeVLAN, vlan(5, typeIPv4, ask4())))),
			tunnels: "gre 42", outer: ends4, vlans: "5"},
		{name: "gre bits to ignore", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0x13f8, typeIPv4, "seq.", ask4())), tunnels: "gre", outer: ends4},
		{name: "gre mpls", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0, typeMPLS, "", cat(label(16, true), ask4()))), tunnels: "gre, mpls 16", outer: ends4},
		{name: "erspan i", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0, typeERSPAN, "", inner)), tunnels: "erspan", outer: ends4},
		{name: "erspan i with a key", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0x2000, typeERSPAN, "key.", inner)), tunnels: "erspan", outer: ends4},
		{name: "erspan ii", linkType: linkRawIP, data: ip4(near4, far4, protoGRE, gre(0x1000, typeERSPAN, "seq.\x10\x05\x08\x64\x00\x00\x00\x01", inner)), tunnels: "erspan 100", outer: ends4},
		{name: "vxlan", linkType: linkEthernet, data: tunnel4(portVXLAN, vxlanFrame(42, inner)), tunnels: "vxlan 42", outer: ends4},
		{name: "vxlan linux, vlans", linkType: linkEthernet, data: ether(typeVLAN, vlan(3, typeIPv6, ip6(near6, far6, protoUDP, udp(50001, portVXLANLinux, vxlanFrame(42, ether(typeVLAN, vlan(4, typeIPv4, ask4()))))))),
			tunnels: "vxlan 42", outer: ends6, vlans: "3 4"},
		{name: "vxlan to the port of vxlan", linkType: linkEthernet, data: tunnel4(portVXLAN, vxlanFrame(42, ether(typeIPv4, ip4(client4, server4, protoIPv4, ask4())))),
			tunnels: "vxlan 42, ipip", outer: ends4},
		{name: "geneve", linkType: linkEthernet, data: tunnel4(portGeneve, geneveFrame(typeTEB, 42, "", inner)), tunnels: "geneve 42", outer: ends4},
		{name: "geneve with options, ip", linkType: linkEthernet, data: tunnel4(portGeneve, geneveFrame(typeIPv6, 42, "options.", ask6())), tunnels: "geneve 42", outer: ends4, v6: true},
		{name: "as deep as can be", linkType: linkRawIP, data: deep, tunnels: strings.TrimSuffix(strings.Repeat("ipip, ", maxTunnels), ", "), outer: ends4},
	}
}

// describe formats the layers around a datagram.
func describe(d *Datagram) (vlans, tunnels, outer string) {
	vlans = strings.Trim(fmt.Sprint(d.VLANs()), "[]")
	names := nettext.Each(d.Tunnels(), Tunnel.String)
	if src, dst, ok := d.Outer(); ok {
		outer = fmt.Sprint(src, " ", dst)
	}
	return vlans, strings.Join(names, ", "), outer
}

func (w *wrapping) check(t *testing.T, d *Datagram) {
	t.Helper()
	src, dst := netip.AddrPortFrom(client4, clientPort), netip.AddrPortFrom(server4, serverPort)
	if w.v6 {
		src, dst = netip.AddrPortFrom(client6, clientPort), netip.AddrPortFrom(server6, serverPort)
	}
	if d.Src != src || d.Dst != dst || !bytes.Equal(d.Payload, query) || d.Missing != 0 {
		t.Errorf("%v > %v %q, %d missing", d.Src, d.Dst, d.Payload, d.Missing)
	}
	if vlans, tunnels, outer := describe(d); vlans != w.vlans || tunnels != w.tunnels || outer != w.outer {
		t.Errorf("in vlans %q, tunnels %q of %q; want %q, %q of %q", vlans, tunnels, outer, w.vlans, w.tunnels, w.outer)
	}
	if len(d.Anomalies()) > 0 {
		t.Errorf("anomalies %v", d.Anomalies())
	}
}

func TestWrappings(t *testing.T) {
	names := map[string]bool{}
	for _, w := range wrappings() {
		if names[w.name] {
			t.Errorf("two wrappings are %q", w.name)
		}
		names[w.name] = true
		t.Run(w.name, func(t *testing.T) {
			r := newRig(t)
			d := r.want(w.linkType, w.data, Whole)
			w.check(t, d)
			if d.Frame != 1 || d.Frames != nil || !d.Time.Equal(second(0.001)) || d.First != d.Time {
				t.Errorf("frame %d, frames %v, from %v to %v", d.Frame, d.Frames, d.First, d.Time)
			}
		})
	}
}

// The layers around a datagram must not show on the next one.
func TestDatagramIsReused(t *testing.T) {
	r, all := newRig(t), wrappings()
	for i, w := range all {
		w.check(t, r.want(w.linkType, w.data, Whole))
		r.frame(linkEthernet, ether(typeVLAN, vlan(9, 0x0806, nil)))
		back := &all[len(all)-1-i]
		back.check(t, r.want(back.linkType, back.data, Whole))
	}
}

// The snap length may cut a frame anywhere. The captured payload is delivered, and the
// missing bytes are counted. A datagram that is cut before it is recognised as a tunnel is
// delivered as it is.
func TestCutAnywhere(t *testing.T) {
	for _, w := range wrappings() {
		t.Run(w.name, func(t *testing.T) {
			delivered := 0
			end := bytes.Index(w.data, query) + len(query) // padding may follow
			for n := range len(w.data) {
				r := newRig(t)
				o := r.cut(w.linkType, w.data, n)
				if !o.OK() {
					if n >= end-len(query) {
						t.Errorf("cut at %d of %d: %v", n, len(w.data), o)
					}
					continue
				}
				d := &r.out
				if d.Dst.Port() != serverPort {
					if w.tunnels == "" || !isTunnelPort(int(d.Dst.Port())) {
						t.Errorf("cut at %d: %v > %v", n, d.Src, d.Dst)
					}
					continue
				}
				have := max(0, min(len(query), n-(end-len(query))))
				if !bytes.Equal(d.Payload, query[:have]) || d.Missing != len(query)-have {
					t.Errorf("cut at %d: %q, %d missing", n, d.Payload, d.Missing)
				}
				if len(d.Anomalies()) > 0 {
					t.Errorf("cut at %d: anomalies %v", n, d.Anomalies())
				}
				delivered++
			}
			if delivered < len(query) {
				t.Errorf("only %d cuts were delivered", delivered)
			}
		})
	}
}

// A file that does not say how long a frame was: the same without the length.
func TestCutWithoutLength(t *testing.T) {
	for _, w := range wrappings() {
		t.Run(w.name, func(t *testing.T) {
			for n := range len(w.data) {
				r, b := newRig(t), w.data[:n:n]
				if o := r.frame(w.linkType, b); o.OK() && r.out.Dst.Port() == serverPort {
					if r.out.Missing > 0 != (len(r.out.Payload) < len(query)) || !bytes.HasPrefix(query, r.out.Payload) {
						t.Errorf("cut at %d: %q, %d missing", n, r.out.Payload, r.out.Missing)
					}
					if r.out.Missing > 0 && !slices.ContainsFunc(r.out.Anomalies(), func(a Anomaly) bool { return a.Kind == IPLengthBeyond }) {
						t.Errorf("cut at %d: anomalies %v", n, r.out.Anomalies())
					}
				}
			}
		})
	}
}

func TestNoDatagram(t *testing.T) {
	q, tcp := udp(clientPort, serverPort, query), make([]byte, 20)
	deep := ask4()
	for range maxTunnels + 1 {
		deep = ip4(near4, far4, protoIPv4, deep)
	}
	vlans := vlan(1, typeIPv4, ask4())
	for range maxVLANs {
		vlans = vlan(1, typeVLAN, vlans)
	}
	extensions, next := q, protoUDP
	for range maxExtensions {
		extensions = ext6(next, 0, extensions)
		next = protoDestinations
	}
	badVersion, badHeader, short := ask4(), ask4(), ask4()
	badVersion[0], badHeader[0] = 0x55, 0x44
	binary.BigEndian.PutUint16(short[2:], 19)
	for _, c := range []struct {
		name     string
		linkType uint16
		data     []byte
		want     Outcome
	}{
		{"nothing", linkEthernet, nil, LinkCut},
		{"unknown link type", 147, ask4(), LinkUnknown},
		{"arp", linkEthernet, ether(0x0806, make([]byte, 46)), NotIP},
		{"lldp", linkEthernet, ether(0x88cc, make([]byte, 46)), NotIP},
		{"802.3 spanning tree", linkEthernet, ether(38, []byte("\x42\x42\x03"), make([]byte, 43)), NotIP},
		{"802.3 snap in snap", linkEthernet, ether(60, []byte("\xaa\xaa\x03\x00\x00\x00\x00\x20"), make([]byte, 43)), NotIP},
		{"802.3 length of nothing known", linkEthernet, ether(1501, ask4()), NotIP},
		{"pppoe discovery", linkEthernet, ether(0x8863, make([]byte, 46)), NotIP},
		{"pppoe lcp", linkEthernet, ether(typePPPoE, []byte("\x11\x00\x00\x07\x00\x06\xc0\x21\x01\x00\x00\x04")), NotIP},
		{"mpls without bottom", linkEthernet, ether(typeMPLS, label(5, false), label(6, false)), LinkCut},
		{"mpls of nothing known", linkEthernet, ether(typeMPLS, label(5, true), []byte{0x10, 1, 2, 3}, make([]byte, 40)), NotIP},
		{"null of another family", linkNull, cat([]byte{7, 0, 0, 0}, ask4()), NotIP},
		{"sll netlink", linkSLL, sll(4, make([]byte, 40)), NotIP},
		{"sll can", linkSLL, sll(0x000c, make([]byte, 40)), NotIP},
		{"nflog without payload", linkNFLOG, cat([]byte{2, 0, 0, 1}, attribute(binary.LittleEndian, 1, make([]byte, 4))), LinkCut},
		{"nflog attribute of no length", linkNFLOG, []byte{2, 0, 0, 1, 0, 0, 1, 0, 1, 2, 3, 4}, NotIP},
		{"raw of no version", linkRawIP, make([]byte, 40), NotIP},

		{"version 5", linkIPv4, badVersion, IPBad},
		{"ipv6 as ipv4", linkIPv4, ask6(), IPBad},
		{"ipv4 as ipv6", linkEthernet, ether(typeIPv6, ask4()), IPBad},
		{"ipv4 header below 20", linkRawIP, badHeader, IPBad},
		{"ipv4 length below its header", linkRawIP, short, IPBad},
		{"ipv4 options beyond the packet", linkRawIP, ip4Options(client4, server4, protoUDP, 0, 0, make([]byte, 40), nil)[:40], IPCut},
		{"ipv6 extension beyond the packet", linkRawIP, ip6(client6, server6, protoHopByHop, []byte{protoUDP, 9, 0, 0, 0, 0, 0, 0}), IPCut},
		{"ipv6 extensions without end", linkRawIP, ip6(client6, server6, protoDestinations, extensions), TooDeep},
		{"ipv6 hop-by-hop in ipv4", linkRawIP, ip4(client4, server4, protoHopByHop, ext6(protoUDP, 0, q)), OtherProtocol},
		{"ipv6 fragment in ipv4", linkRawIP, ip4(client4, server4, protoFragment, frag6(protoUDP, 1, 0, false, q)), OtherProtocol},
		{"ipv6 no next header", linkRawIP, ip6(client6, server6, 59, nil), OtherProtocol},

		{"tcp", linkRawIP, ip4(client4, server4, protoTCP, tcp), TCP},
		{"tcp in vxlan", linkEthernet, tunnel4(portVXLAN, vxlanFrame(1, ether(typeIPv4, ip4(client4, server4, protoTCP, tcp)))), TCP},
		{"icmp echo", linkRawIP, ip4(client4, server4, protoICMP, cat([]byte{8, 0, 0, 0}, ask4())), ICMP},
		{"icmp unreachable", linkRawIP, ip4(server4, client4, protoICMP, cat([]byte{3, 3, 0, 0, 0, 0, 0, 0}, ask4())), ICMPError},
		{"icmp time exceeded", linkRawIP, ip4(server4, client4, protoICMP, cat([]byte{11, 0, 0, 0, 0, 0, 0, 0}, ask4())), ICMPError},
		{"icmpv6 unreachable", linkRawIP, ip6(server6, client6, protoICMPv6, cat([]byte{1, 4, 0, 0, 0, 0, 0, 0}, ask6())), ICMPError},
		{"icmpv6 neighbours", linkRawIP, ip6(server6, client6, protoICMPv6, cat([]byte{135, 0}, make([]byte, 30))), ICMP},
		{"udp-lite", linkRawIP, ip4(client4, server4, 136, q), OtherProtocol},
		{"esp", linkRawIP, ip6(client6, server6, 50, q), OtherProtocol},

		{"udp of seven bytes", linkRawIP, ip4(client4, server4, protoUDP, q[:7]), UDPCut},
		{"gre version 2", linkRawIP, ip4(near4, far4, protoGRE, gre(2, typeIPv4, "", ask4())), TunnelBad},
		{"gre routing", linkRawIP, ip4(near4, far4, protoGRE, gre(0x4000, typeIPv4, "sum.\x00\x00\x00\x00", ask4())), TunnelBad},
		{"gre strict source route", linkRawIP, ip4(near4, far4, protoGRE, gre(0x0800, typeIPv4, "", ask4())), TunnelBad},
		{"gre recursion", linkRawIP, ip4(near4, far4, protoGRE, gre(0x0400, typeIPv4, "", ask4())), TunnelBad},
		{"gre of three bytes", linkRawIP, ip4(near4, far4, protoGRE, []byte{0, 0, 8}), TunnelBad},
		{"gre cut in its key", linkRawIP, ip4(near4, far4, protoGRE, []byte{0x20, 0, 8, 0, 1, 2, 3}), TunnelBad},
		{"gre keepalive", linkRawIP, ip4(near4, far4, protoGRE, gre(0, 0, "", nil)), NotIP},
		{"erspan ii of another version", linkRawIP, ip4(near4, far4, protoGRE, gre(0x1000, typeERSPAN, "seq.\x30\x05\x08\x64\x00\x00\x00\x01", ether(typeIPv4, ask4()))), TunnelBad},
		{"tunnels too deep", linkRawIP, deep, TooDeep},
		{"vlans too deep", linkEthernet, ether(typeVLAN, vlans), TooDeep},

		{"tcp fragment", linkRawIP, ip4Fragment(client4, server4, protoTCP, 1, 0, true, make([]byte, 64)), FragmentOther},
		{"icmp fragment", linkRawIP, ip4Fragment(client4, server4, protoICMP, 1, 64, false, make([]byte, 64)), FragmentOther},
		{"ipv6 tcp fragment", linkRawIP, ip6(client6, server6, protoFragment, frag6(protoTCP, 1, 0, true, make([]byte, 64))), FragmentOther},
		{"fragment of nothing", linkRawIP, ip4Fragment(client4, server4, protoUDP, 1, 64, true, nil), FragmentBad},
		{"fragment of 7 bytes", linkRawIP, ip4Fragment(client4, server4, protoUDP, 1, 64, true, make([]byte, 7)), FragmentBad},
		{"fragment beyond the largest packet", linkRawIP, ip4Fragment(client4, server4, protoUDP, 1, 65528, false, make([]byte, 8)), FragmentRefused},
		{"ipv6 fragment cut in its header", linkRawIP, ip6(client6, server6, protoFragment, []byte{17, 0, 0, 1, 2, 3, 4}), IPCut},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.want(c.linkType, c.data, c.want)
			if c.want.OK() || r.Counts()[c.want] != 1 {
				t.Errorf("counts %v", r.Counts())
			}
			if strings.HasPrefix(c.want.String(), "unknown") && c.want != LinkUnknown {
				t.Errorf("outcome %d has no name", c.want)
			}
			r.flush()
			if len(r.losses) != 0 {
				t.Errorf("losses %+v", r.losses)
			}
		})
	}
}

// A game server may listen on any port. Only valid tunnels are decoded as tunnels.
func TestTunnelPortsOfGames(t *testing.T) {
	inner := ether(typeIPv4, ask4())
	badInner := ether(typeIPv4, append([]byte{0x43}, ask4()[1:]...))
	shortUDP := ether(typeIPv4, ip4(client4, server4, protoUDP, []byte("short")))
	for _, c := range []struct {
		name    string
		port    int
		payload []byte
	}{
		{"query", portVXLAN, query},
		{"query", portVXLANLinux, query},
		{"query", portGeneve, query},
		{"nothing", portVXLAN, nil},
		{"eight bytes", portVXLAN, make([]byte, 8)},
		{"nothing in it", portVXLAN, vxlanFrame(1, nil)},
		{"no network flag", portVXLAN, cat(u32(0), u32(42<<8), inner)},
		{"arp in it", portVXLAN, vxlanFrame(1, ether(0x0806, make([]byte, 46)))},
		{"bad ip in it", portVXLAN, vxlanFrame(1, badInner)},
		{"ip of no length in it", portVXLAN, vxlanFrame(1, ether(typeIPv4, setLength(ask4(), 2, 0)))},
		{"ip beyond the end in it", portVXLAN, vxlanFrame(1, ether(typeIPv4, setLength(ask4(), 2, 100)))},
		{"ipv6 of no length in it", portGeneve, geneveFrame(typeIPv6, 1, "", setLength(ask6(), 4, 0))},
		{"ipv6 beyond the end in it", portGeneve, geneveFrame(typeIPv6, 1, "", setLength(ask6(), 4, 100))},
		{"esp in it", portVXLAN, vxlanFrame(1, ether(typeIPv4, ip4(client4, server4, 50, query)))},
		{"bad udp in it", portVXLAN, vxlanFrame(1, shortUDP)},
		{"bad fragment in it", portVXLAN, vxlanFrame(1, ether(typeIPv4, ip4Fragment(client4, server4, protoUDP, 1, 8, true, []byte("1234567"))))},
		{"geneve version", portGeneve, append([]byte{0x40}, geneveFrame(typeTEB, 1, "", inner)[1:]...)},
		{"geneve options beyond", portGeneve, append([]byte{0x3f}, geneveFrame(typeTEB, 1, "", nil)[1:]...)},
		{"geneve of no ip", portGeneve, geneveFrame(0x0806, 1, "", make([]byte, 28))},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.port), func(t *testing.T) {
			r := newRig(t)
			d := r.want(linkEthernet, ether(typeVLAN, vlan(5, typeIPv4, ip4(client4, server4, protoUDP, udp(clientPort, c.port, c.payload)))), Whole)
			if d.Src != netip.AddrPortFrom(client4, clientPort) || d.Dst != netip.AddrPortFrom(server4, uint16(c.port)) || !bytes.Equal(d.Payload, c.payload) {
				t.Errorf("%v > %v %q", d.Src, d.Dst, d.Payload)
			}
			if vlans, tunnels, outer := describe(d); vlans != "5" || tunnels != "" || outer != "" {
				t.Errorf("in vlans %q, tunnels %q of %q", vlans, tunnels, outer)
			}
			if len(d.Anomalies()) > 0 {
				t.Errorf("anomalies %v", d.Anomalies())
			}
		})
	}
}

// setLength puts n into the two bytes at off of b.
func setLength(b []byte, off, n int) []byte {
	binary.BigEndian.PutUint16(b[off:], uint16(n))
	return b
}

func TestLyingLengths(t *testing.T) {
	const ipLength, udpLength = 2, 20 + 4
	q := len(query)
	for _, c := range []struct {
		name    string
		data    []byte // raw IP
		payload string
		missing int
		want    string
	}{
		{"udp zero", setLength(ask4(), udpLength, 0), string(query), 0, "udp length zero: took 33 bytes"},
		{"udp seven", setLength(ask4(), udpLength, 7), string(query), 0, "udp length below header: said 7, have 33 bytes"},
		{"udp beyond", setLength(ask4(), udpLength, 65535), string(query), 0, "udp length beyond ip: said 65535, have 33 bytes"},
		{"udp one more", setLength(ask4(), udpLength, 34), string(query), 0, "udp length beyond ip: said 34, have 33 bytes"},
		{"udp 4 less", setLength(ask4(), udpLength, 29), string(query), 0, "udp length short by 4: said 29, have 33 bytes"},
		{"udp 5 less", setLength(ask4(), udpLength, 28), string(query[:q-5]), 0, "bytes after udp: said 28, have 33 bytes"},
		{"udp header only", setLength(ask4(), udpLength, 8), "", 0, "bytes after udp: said 8, have 33 bytes"},
		{"ipv4 zero", setLength(ask4(), ipLength, 0), string(query), 0, "ip length zero: took 53 bytes"},
		{"ipv4 zero, padding", append(setLength(ask4(), ipLength, 0), 0, 0, 0, 0), string(query), 0, "ip length zero: took 57 bytes"},
		{"ipv4 zero, udp zero", setLength(setLength(ask4(), ipLength, 0), udpLength, 0), string(query), 0, "ip length zero: took 53 bytes, udp length zero: took 33 bytes"},
		{"ipv4 beyond", setLength(ask4(), ipLength, 100), string(query), 0, "ip length beyond frame: said 100, have 53 bytes"},
		{"ipv4 and udp beyond", setLength(setLength(ask4(), ipLength, 100), udpLength, 80), string(query), 80 - 33, "ip length beyond frame: said 100, have 53 bytes"},
		{"ipv4 too short for udp", setLength(ask4(), ipLength, 40), string(query[:12]), 0, "udp length beyond ip: said 33, have 20 bytes"},
		{"ipv6 zero", setLength(ask6(), 4, 0), string(query), 0, "ip length zero: took 33 bytes"},
		{"ipv6 beyond", setLength(ask6(), 4, 40), string(query), 0, "ip length beyond frame: said 80, have 73 bytes"},
		{"ipv6 and udp beyond", setLength(setLength(ask6(), 4, 40), 44, 40), string(query), 7, "ip length beyond frame: said 80, have 73 bytes"},
		{"inner udp zero", ip4(near4, far4, protoIPv4, setLength(ask4(), udpLength, 0)), string(query), 0, "udp length zero: took 33 bytes"},
		{"all zero in each other", setLength(ip4(near4, far4, protoIPv4, setLength(setLength(ask4(), ipLength, 0), udpLength, 0)), ipLength, 0), string(query), 0,
			"ip length zero: took 73 bytes, ip length zero: took 53 bytes, udp length zero: took 33 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			d := r.want(linkRawIP, c.data, Whole)
			got := nettext.Each(d.Anomalies(), Anomaly.String)
			if string(d.Payload) != c.payload || d.Missing != c.missing || strings.Join(got, ", ") != c.want {
				t.Errorf("%q, %d missing, %s", d.Payload, d.Missing, strings.Join(got, ", "))
			}
		})
	}
}

// The lengths of links are taken for what they are as well.
func TestLyingLinkLengths(t *testing.T) {
	const short = 10 // bytes less than IP says
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"802.3", ether(8+len(ask4())-short, []byte("\xaa\xaa\x03\x00\x00\x00\x08\x00"), ask4())},
		{"pppoe", ether(typePPPoE, []byte{0x11, 0}, u16(77), u16(2+len(ask4())-short), u16(0x21), ask4())},
	} {
		r := newRig(t)
		d := r.want(linkEthernet, c.data, Whole)
		if len(d.Anomalies()) != 1 || d.Anomalies()[0] != (Anomaly{IPLengthBeyond, len(ask4()), len(ask4()) - short}) ||
			!bytes.Equal(d.Payload, query[:len(query)-short]) || d.Missing != short {
			t.Errorf("%s: %q, %d missing, %v", c.name, d.Payload, d.Missing, d.Anomalies())
		}
	}
}

// A wrong UDP length together with a snap length.
func TestLyingLengthsCut(t *testing.T) {
	for n, want := range map[int]string{33: "query 5, 20 missing", 0: "query 5, 20 missing", 29: "query 5, 20 missing", 28: "query 5, 15 missing", 10: "query 2, 0 missing"} {
		r := newRig(t)
		if o := r.cut(linkRawIP, setLength(ask4(), 24, n), 33); o != Whole {
			t.Fatalf("udp length %d: %v", n, o)
		}
		if got := fmt.Sprintf("query %d, %d missing", len(r.out.Payload), r.out.Missing); got != want || !bytes.HasPrefix(query, r.out.Payload) {
			t.Errorf("udp length %d: %s, want %s", n, got, want)
		}
	}
}

func TestManyAnomalies(t *testing.T) {
	b := setLength(setLength(ask4(), 2, 0), 24, 0)
	for range maxTunnels {
		b = setLength(ip4(near4, far4, protoIPv4, b), 2, 0)
	}
	r := newRig(t)
	d := r.want(linkRawIP, b, Whole)
	if n := len(d.Anomalies()); n != maxAnomalies {
		t.Errorf("%d anomalies", n)
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	check := func(s string) {
		t.Helper()
		if s == "" || s == "unknown" || seen[s] {
			t.Errorf("name %q", s)
		}
		seen[s] = true
	}
	for o := range outcomes {
		check(o.String())
	}
	for k := IPLengthZero; k <= FragmentsChecksum; k++ {
		check(k.String())
		if s := (Anomaly{k, 1, 2}).String(); !strings.HasPrefix(s, k.String()) {
			t.Errorf("anomaly %q", s)
		}
	}
	for k := MPLS; k <= Geneve; k++ {
		check(k.String())
	}
	for _, s := range []string{outcomes.String(), (FragmentsChecksum + 1).String(), (Geneve + 1).String()} {
		if s != "unknown" {
			t.Errorf("name %q", s)
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	all, r := wrappings(), newRig(t)
	r.MapHeaders()
	f := &Frame{Number: 1, Time: second(0)}
	if n := testing.AllocsPerRun(100, func() {
		for i := range all {
			f.LinkType, f.Data = all[i].linkType, all[i].data
			if o := r.Decode(f, &r.out); o != Whole {
				t.Fatalf("%s: %v", all[i].name, o)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMoreAnomalies: anomalies beyond the limit are counted.
func TestMoreAnomalies(t *testing.T) {
	var d Datagram
	for range maxAnomalies + 3 {
		d.note(IPLengthZero, 1, 2)
	}
	if len(d.Anomalies()) != maxAnomalies || d.MoreAnomalies() != 3 {
		t.Errorf("%d anomalies, %d more", len(d.Anomalies()), d.MoreAnomalies())
	}
}

// TestPlain: frames that are decoded in one step give the same datagrams as header by header, which mapped headers
// ask for, whatever byte of them is another one, and wherever they end.
func TestPlain(t *testing.T) {
	padding := make([]byte, 6)
	for name, frame := range map[string][]byte{
		"IPv4": ether(typeIPv4, ask4(), padding), "IPv6": ether(typeIPv6, ask6(), padding),
		"TCP over IPv4": ether(typeIPv4, ip4(client4, server4, protoTCP, make([]byte, 40)), padding), "TCP over IPv6": ether(typeIPv6, ip6(client6, server6, protoTCP, make([]byte, 40)), padding),
		"IPv4, tagged": ether(typeVLAN, vlan(7, typeIPv4, ask4()), padding), "IPv6, tagged": ether(typeVLAN, vlan(7, typeIPv6, ask6()), padding),
	} {
		t.Run(name, func(t *testing.T) { testPlain(t, frame) })
	}
}

func testPlain(t *testing.T, frame []byte) {
	step, all := newRig(t), newRig(t)
	all.MapHeaders()
	same := 0
	check := func(data []byte, length int) {
		f := &Frame{Number: 7, Time: second(1), LinkType: linkEthernet, Data: data, Length: length}
		o, want := step.Decode(f, &step.out), all.Decode(f, &all.out)
		if o != want {
			t.Fatalf("% x, length %d: %v, header by header %v", data, length, o, want)
		}
		if o == TCP && !bytes.Equal(step.Segment(), all.Segment()) {
			t.Fatalf("% x, length %d: segment % x, header by header % x", data, length, step.Segment(), all.Segment())
		}
		var x, y Outline
		outcome, ok := x.Read(f.LinkType, f.Data)
		if ok {
			same++
		}
		if ok && outcome != o || ok && o == TCP && !bytes.Equal(x.Payload, all.Segment()) {
			t.Fatalf("% x, length %d: %v of % x, header by header %v of % x", data, length, outcome, x.Payload, o, all.Segment())
		}
		if o != Whole {
			return
		}
		a, b := fmt.Sprintf("%+v", step.out), fmt.Sprintf("%+v", all.out)
		if cap(step.out.Payload) != cap(all.out.Payload) || a != b {
			t.Fatalf("% x, length %d:\n%s\n%s", data, length, a, b)
		}
		if ok {
			all.out.Outline(&y)
			src, dst := x.Ends()
			if x.Src != y.Src || x.Dst != y.Dst || x.From != y.From || x.To != y.To || src != all.out.Src || dst != all.out.Dst || x.ID() != all.out.ID || x.HopLimit() != all.out.HopLimit || x.Spread() != all.out.Spread() || !bytes.Equal(x.Payload, y.Payload) {
				t.Fatalf("% x: %+v, %v %v, of the datagram %+v", data, x, src, dst, all.out)
			}
			if vlans := all.out.VLANs(); x.VLAN() != 0 != (len(vlans) > 0) || len(vlans) > 0 && vlans[0] != x.VLAN() || len(all.out.Tunnels()) > 0 || len(all.out.Anomalies()) > 0 {
				t.Fatalf("% x: VLAN %d, of the datagram %+v", data, x.VLAN(), all.out)
			}
		}
	}
	for at := range frame {
		for _, flip := range [...]byte{0, 1, 2, 0x10, 0x40, 0x80, 0xff} {
			data := bytes.Clone(frame)
			data[at] ^= flip
			check(data, len(data))
			check(data, len(data)+9)
		}
		check(frame[:at:at], at)
		check(frame[:at:at], len(frame))
	}
	if same == 0 {
		t.Error("no frame was decoded in one step")
	}
}

// TestHopLimit: the hop limit is read in one step and header by header, of IPv4 and of IPv6.
func TestHopLimit(t *testing.T) {
	for name, frame := range map[string][]byte{"IPv4": ether(typeIPv4, ask4()), "IPv6": ether(typeIPv6, ask6())} {
		at := nettext.Either(name == "IPv6", etherHeader+7, etherHeader+8)
		frame[at] = 247
		var o Outline
		if _, ok := o.Read(linkEthernet, frame); !ok || o.HopLimit() != 247 {
			t.Errorf("%s: in one step %d, %v", name, o.HopLimit(), ok)
		}
		for _, mapped := range []bool{false, true} {
			r := newRig(t)
			if mapped {
				r.MapHeaders()
			}
			f := &Frame{Number: 1, Time: second(0), LinkType: linkEthernet, Data: frame, Length: len(frame)}
			if r.Decode(f, &r.out) != Whole || r.out.HopLimit != 247 {
				t.Errorf("%s: %d, mapped %v", name, r.out.HopLimit, mapped)
			}
		}
	}
}

var kindNames = [...]string{
	HeaderOther: "other", HeaderEthernet: "ethernet", HeaderSLL: "sll", HeaderSLL2: "sll2", HeaderFamily: "family", HeaderPPP: "ppp", HeaderNFLOG: "nflog",
	HeaderVLAN: "vlan", HeaderMPLS: "mpls", HeaderPPPoE: "pppoe", HeaderIPv4: "ipv4", HeaderIPv6: "ipv6", HeaderExtension: "extension",
	HeaderFragment: "fragment", HeaderUDP: "udp", HeaderGRE: "gre", HeaderVXLAN: "vxlan", HeaderGeneve: "geneve",
}

// wrongHeaders returns what is wrong with the headers of a frame.
func wrongHeaders(o Outcome, headers []Header, data []byte, d *Datagram) string {
	end := 0
	for i, h := range headers {
		var b []byte
		if h.At == end && h.Len > 0 && h.At+h.Len <= h.End && h.End <= len(data) {
			b = data[h.At:h.End]
		} else if o <= FragmentLate {
			return fmt.Sprintf("header %d of %v", i, headers)
		}
		end = h.At + h.Len
		if b != nil && (h.Kind == HeaderIPv4 && (b[0]>>4 != 4 || int(b[0]&15)*4 != h.Len) || h.Kind == HeaderIPv6 && (b[0]>>4 != 6 || h.Len != 40)) {
			return fmt.Sprintf("%v is no header of IP", h)
		}
	}
	if o == Whole && (headers[len(headers)-1].Kind != HeaderUDP || end != cap(data)-cap(d.Payload)) {
		return fmt.Sprintf("headers %v, and then not the payload", headers)
	}
	if last := headers[max(len(headers)-1, 0):]; o > Whole && o <= FragmentLate && last[0].Kind != HeaderIPv4 && last[0].Kind != HeaderFragment {
		return fmt.Sprintf("headers %v of a fragment", headers)
	}
	return ""
}

func mapOf(headers []Header) string {
	return strings.Join(nettext.Each(headers, func(h Header) string { return fmt.Sprint(kindNames[h.Kind], " ", h.Len) }), ", ")
}

// TestHeaders: the headers are mapped correctly for all kinds of frames.
func TestHeaders(t *testing.T) {
	want := map[string]string{
		"ethernet padding":         "ethernet 14, ipv4 20, udp 8",
		"802.1q snap":              "ethernet 14, vlan 4, other 8, ipv4 20, udp 8",
		"pppoe mpls":               "ethernet 14, pppoe 8, mpls 4, ipv4 20, udp 8",
		"mpls with entropy":        "ethernet 14, mpls 12, ipv6 40, udp 8",
		"null, little-endian":      "family 4, ipv4 20, udp 8",
		"raw 12":                   "ipv4 20, udp 8",
		"sll llc":                  "sll 24, ipv4 20, udp 8",
		"sll2 ipv6":                "sll2 20, ipv6 40, udp 8",
		"ppp without address":      "ppp 2, ipv6 40, udp 8",
		"nflog":                    "nflog 24, ipv4 20, udp 8",
		"ipv4 options":             "ipv4 28, udp 8",
		"ipv4 ah":                  "ipv4 20, other 24, udp 8",
		"ipv6 extensions":          "ipv6 40, extension 16, extension 24, extension 8, extension 8, extension 8, extension 8, other 24, udp 8",
		"ipv6 atomic fragment":     "ipv6 40, fragment 8, udp 8",
		"6in6":                     "ipv6 40, extension 8, ipv6 40, udp 8",
		"gre everything, ethernet": "ipv4 20, gre 16, ethernet 14, vlan 4, ipv4 20, udp 8",
		"erspan i":                 "ipv4 20, gre 4, ethernet 14, ipv4 20, udp 8",
		"erspan ii":                "ipv4 20, gre 16, ethernet 14, ipv4 20, udp 8",
		"vxlan":                    "ethernet 14, ipv4 20, udp 8, vxlan 8, ethernet 14, ipv4 20, udp 8",
		"geneve with options, ip":  "ethernet 14, ipv4 20, udp 8, geneve 16, ipv6 40, udp 8",
	}
	r := newRig(t)
	r.MapHeaders()
	for _, w := range wrappings() {
		o := r.Decode(&Frame{LinkType: w.linkType, Data: w.data}, &r.out)
		if s := wrongHeaders(o, r.Headers(), w.data, &r.out); s != "" {
			t.Errorf("%s: %s", w.name, s)
		}
		is := mapOf(r.Headers())
		if s := want[w.name]; s != "" && s != is {
			t.Errorf("%s: %s; want %s", w.name, is, s)
		}
		delete(want, w.name)
	}
	for name := range want {
		t.Errorf("no wrapping is %q", name)
	}
	for _, c := range []struct {
		name  string
		frame []byte
		o     Outcome
		want  string
	}{
		{"no tunnel", tunnel4(portVXLAN, vxlanFrame(1, ether(0x0806, make([]byte, 46)))), Whole, "ethernet 14, ipv4 20, udp 8"},
		{"a fragment in a tunnel", tunnel4(portVXLAN, vxlanFrame(1, ether(typeIPv4, ip4Fragment(client4, server4, protoUDP, 1, 8, true, query[:8])))), FragmentHeld,
			"ethernet 14, ipv4 20, udp 8, vxlan 8, ethernet 14, ipv4 20"},
		{"the first fragment", ether(typeIPv6, ip6(client6, server6, protoFragment, frag6(protoUDP, 9, 0, true, udp(5, 6, query[:8])))), FragmentHeld, "ethernet 14, ipv6 40, fragment 8"},
		{"the last fragment", ether(typeIPv6, ip6(client6, server6, protoFragment, frag6(protoUDP, 9, 16, false, query[8:]))), Joined, "ethernet 14, ipv6 40, fragment 8"},
		{"TCP", ether(typeIPv4, ip4(client4, server4, protoTCP, make([]byte, 20))), TCP, "ethernet 14, ipv4 20"},
		{"ARP", ether(0x0806, make([]byte, 28)), NotIP, "ethernet 14"},
	} {
		r.want(linkEthernet, c.frame, c.o)
		if is := mapOf(r.Headers()); is != c.want {
			t.Errorf("%s: %s; want %s", c.name, is, c.want)
		}
	}
	// A datagram of which there is more in the frame ends before that.
	r.want(linkEthernet, ether(typeIPv4, ask4(), make([]byte, 20)), Whole)
	if h := r.Headers(); h[0].End != 14+len(ask4())+20 || h[1].End != 14+len(ask4()) || h[2].At != 34 || h[2].End != h[1].End {
		t.Errorf("%v", h)
	}
}

// icmpError returns an error from its ICMP header on.
func icmpError(typ, code byte, info uint32, quote ...[]byte) []byte {
	return cat([]byte{typ, code, 0, 0}, u32(info), cat(quote...))
}

// TestQuoted: the quoted datagram of an error.
func TestQuoted(t *testing.T) {
	const length = 25
	from4 := func(b []byte) []byte { return ether(typeIPv4, ip4(server4, client4, protoICMP, b)) }
	from6 := func(b []byte) []byte { return ether(typeIPv6, ip6(server6, client6, protoICMPv6, b)) }
	first := ip4Fragment(client4, server4, protoUDP, 1, 0, true, udp(clientPort, serverPort, query))
	later := ip4Fragment(client4, server4, protoUDP, 1, 64, false, udp(clientPort, serverPort, query))
	padded := make([]byte, 128)
	copy(padded, ask4())
	wrongLength := bytes.Clone(ask4())
	binary.BigEndian.PutUint16(wrongLength[2:], 0xffff) // of IP
	short := bytes.Clone(ask4())
	binary.BigEndian.PutUint16(short[24:], 7) // of UDP
	long := udp(clientPort, serverPort, sized(200))
	for _, test := range []struct {
		name   string
		frame  []byte
		length int // -2: nothing is found
		quoted int // bytes of the payload
	}{
		{"unreachable", from4(icmpError(3, 3, 0, ask4())), length, length},
		{"time exceeded", from4(icmpError(11, 0, 0, ask4())), length, length},
		{"parameter problem", from4(icmpError(12, 0, 0, ask4())), length, length},
		{"source quench", from4(icmpError(4, 0, 0, ask4())), -2, 0},
		{"redirect", from4(icmpError(5, 0, 0, ask4())), -2, 0},
		{"no more than 8 bytes", from4(icmpError(3, 3, 0, ask4()[:28])), length, 0},
		{"no more than 7 bytes", from4(icmpError(3, 3, 0, ask4()[:27])), -2, 0},
		{"nothing", from4(icmpError(3, 3, 0)), -2, 0},
		{"one byte", from4(icmpError(3, 3, 0, []byte{0x45})), -2, 0},
		{"part of the payload", from4(icmpError(3, 3, 0, ask4()[:38])), length, 10},
		{"padding", from4(icmpError(3, 3, 0, padded)), length, length},
		{"extensions", from4(icmpError(3, 3, 32<<16, padded, make([]byte, 12))), length, length},
		{"extensions after a long quote", from4(icmpError(3, 3, 32<<16, ip4(client4, server4, protoUDP, long)[:128], make([]byte, 300))), 200, 100},
		{"more extensions than there is", from4(icmpError(3, 3, 255<<16, ask4())), length, length},
		{"another length of IP", from4(icmpError(3, 3, 0, wrongLength)), length, length},
		{"a length of UDP that cannot be", from4(icmpError(3, 3, 0, short)), -1, length},
		{"options", from4(icmpError(3, 3, 0, ip4Options(client4, server4, protoUDP, 1, 0, make([]byte, 8), udp(clientPort, serverPort, query)))), length, length},
		{"first fragment", from4(icmpError(11, 1, 0, first)), length, length},
		{"later fragment", from4(icmpError(11, 1, 0, later)), -2, 0},
		{"TCP", from4(icmpError(3, 3, 0, ip4(client4, server4, protoTCP, make([]byte, 20)))), -2, 0},
		{"IPv6 in ICMP", from4(icmpError(3, 3, 0, ask6())), -2, 0},
		{"VLAN", ether(typeVLAN, vlan(7, typeIPv4, ip4(server4, client4, protoICMP, icmpError(3, 3, 0, ask4())))), length, length},
		{"unreachable, IPv6", from6(icmpError(1, 4, 0, ask6())), length, length},
		{"too big", from6(icmpError(2, 0, 1280, ask6())), length, length},
		{"time exceeded, IPv6", from6(icmpError(3, 0, 0, ask6())), length, length},
		{"parameter problem, IPv6", from6(icmpError(4, 0, 40, ask6())), length, length},
		{"extensions, IPv6", from6(icmpError(1, 4, 16<<24, cat(ask6(), make([]byte, 128))[:128], make([]byte, 12))), length, length},
		{"extension headers", from6(icmpError(1, 4, 0, ip6(client6, server6, protoHopByHop, cat([]byte{protoDestinations, 0, 1, 4, 0, 0, 0, 0},
			[]byte{protoUDP, 1}, make([]byte, 14), udp(clientPort, serverPort, query))))), length, length},
		{"first fragment, IPv6", from6(icmpError(3, 1, 0, ip6(client6, server6, protoFragment, cat([]byte{protoUDP, 0, 0, 1, 0, 0, 0, 9}, udp(clientPort, serverPort, query))))), length, length},
		{"later fragment, IPv6", from6(icmpError(3, 1, 0, ip6(client6, server6, protoFragment, cat([]byte{protoUDP, 0, 0, 9, 0, 0, 0, 9}, udp(clientPort, serverPort, query))))), -2, 0},
		{"IPv4 in ICMPv6", from6(icmpError(1, 4, 0, ask4())), -2, 0},
		{"echo", from4(icmpError(8, 0, 0, ask4())), -2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
			out := new(Datagram)
			decode := func(b []byte) (*Refusal, bool) {
				o := d.Decode(&Frame{Number: 9, Time: second(1), LinkType: linkEthernet, Data: b, Length: len(test.frame)}, out)
				q, ok := d.Quoted()
				return q, ok && o == ICMPError
			}
			q, ok := decode(test.frame)
			if ok != (test.length != -2) {
				t.Fatalf("%v: %+v", ok, q)
			}
			_, _, forFilter := AppendQuoted(nil, linkEthernet, test.frame)
			if forFilter != ok {
				t.Errorf("quoted: %v, for the filter: %v", ok, forFilter)
			}
			if ok {
				src, dst, from := netip.AddrPortFrom(client4, clientPort), netip.AddrPortFrom(server4, serverPort), server4
				if q.From.Is6() {
					src, dst, from = netip.AddrPortFrom(client6, clientPort), netip.AddrPortFrom(server6, serverPort), server6
				}
				if q.Src != src || q.Dst != dst || q.From != from || q.To != src.Addr() || q.Length != test.length || len(q.Payload) != test.quoted ||
					q.Frame != 9 || !q.Time.Equal(second(1)) {
					t.Errorf("%+v with %d bytes", q, len(q.Payload))
				}
			}
			for n := range test.frame { // nothing panics, and no address is made up
				if q, ok := decode(test.frame[:n]); ok && q.Src.Port() != clientPort {
					t.Errorf("cut to %d bytes: %+v", n, q)
				}
				AppendQuoted(nil, linkEthernet, test.frame[:n])
			}
		})
	}
}

// TestAppendQuoted: an error is converted to the frame that it is about.
func TestAppendQuoted(t *testing.T) {
	for _, test := range []struct {
		name        string
		link        uint16
		frame, want []byte
	}{
		{"Ethernet", linkEthernet, ether(typeIPv4, ip4(server4, client4, protoICMP, icmpError(3, 3, 0, ask4()))), ether(typeIPv4, ask4())},
		{"two VLANs", linkEthernet, ether(typeQinQ, vlan(7, typeVLAN, vlan(8, typeIPv6, ip6(server6, client6, protoICMPv6, icmpError(1, 4, 0, ask6()))))),
			ether(typeQinQ, vlan(7, typeVLAN, vlan(8, typeIPv6, ask6())))},
		{"raw", linkRawIP, ip4(server4, client4, protoICMP, icmpError(3, 3, 0, ask4())), ask4()},
		{"a datagram", linkEthernet, ether(typeIPv4, ask4()), nil},
		{"ARP", linkEthernet, ether(0x0806, make([]byte, 28)), nil},
		{"a later fragment", linkRawIP, ip4Fragment(server4, client4, protoICMP, 1, 64, false, icmpError(3, 3, 0, ask4())), nil},
		{"an unknown link", 65000, ask4(), nil},
	} {
		before := []byte("before")
		got, wire, ok := AppendQuoted(before, test.link, test.frame)
		if want := cat(before, test.want); !bytes.Equal(got, want) || ok != (test.want != nil) || wire != len(test.want) {
			t.Errorf("%s: %x, %d, %v; want %x", test.name, got, wire, ok, want)
		}
	}
}
