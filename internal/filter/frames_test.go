package filter

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/nettext"
	"golang.org/x/net/bpf"
)

const (
	linkEthernet = 1
	linkRaw      = 101
	linkCooked   = 113
)

// A frame is a frame of a test capture.
type frame struct {
	name   string
	data   []byte
	length int // on the wire
}

// A capture is frames of one link type.
type capture struct {
	name   string
	link   uint16
	frames []frame
}

func (c *capture) add(name string, data []byte) {
	c.frames = append(c.frames, frame{name, data, len(data)})
}

// pcap returns the capture as a file. The time of a frame is its index, which
// identifies it in the output of tcpdump.
func (c *capture) pcap() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 262144)
	b = le.AppendUint32(b, uint32(c.link))
	for i, f := range c.frames {
		for _, v := range []int{i, 0, len(f.data), f.length} {
			b = le.AppendUint32(b, uint32(v))
		}
		b = append(b, f.data...)
	}
	return b
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func be16(v ...uint16) (b []byte) {
	for _, v := range v {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

// A packet is a network packet with its EtherType.
type packet struct {
	name string
	typ  uint16
	data []byte
}

var (
	hostA  = netip.MustParseAddr("192.0.2.1")
	hostB  = netip.MustParseAddr("192.0.2.200")
	hostC  = netip.MustParseAddr("198.51.100.7")
	group  = netip.MustParseAddr("239.1.2.3")
	hostA6 = netip.MustParseAddr("2001:db8::1")
	hostB6 = netip.MustParseAddr("2001:db8:0:1::200")
	group6 = netip.MustParseAddr("ff02::1")
)

// withOptions adds options to an IPv4 header.
func withOptions(p []byte, words int) []byte {
	q := join(p[:20], make([]byte, 4*words), p[20:])
	for i := range 4 * words {
		q[20+i] = 1 // no operation
	}
	q[0] += byte(words)
	binary.BigEndian.PutUint16(q[2:], uint16(len(q)))
	return q
}

func ports16(src, dst uint16, rest ...byte) []byte { return append(be16(src, dst), rest...) }

// behindHeaders returns an IPv6 packet with extension headers.
func behindHeaders(src, dst netip.Addr, first byte, headers, rest []byte) []byte {
	return mkpcap.IP(src, dst, 1, first, 0, false, false, join(headers, rest))
}

// packets are the packets in all captures.
func packets() (list []packet) {
	add := func(name string, typ uint16, data []byte) { list = append(list, packet{name, typ, data}) }
	ip := func(name string, src, dst netip.Addr, proto byte, data []byte) {
		typ := nettext.Either[uint16](src.Is6(), typeIPv6, uint16(typeIPv4))
		add(name, typ, mkpcap.IP(src, dst, 7, proto, 0, false, false, data))
	}
	segment := func(src netip.Addr, sport uint16, dst netip.Addr, dport uint16, payload string) []byte {
		return mkpcap.UDPSegment(netip.AddrPortFrom(src, sport), netip.AddrPortFrom(dst, dport), []byte(payload))
	}
	query := "\xff\xff\xff\xffTSource Engine Query\x00"
	ip("query", hostA, hostB, 17, segment(hostA, 50000, hostB, 27015, query))
	ip("reply", hostB, hostA, 17, segment(hostB, 27015, hostA, 50000, "\xff\xff\xff\xffI\x11server\x00map\x00"))
	ip("dns", hostC, hostA, 17, segment(hostC, 53, hostA, 1024, "abcdefgh"))
	ip("same ports", hostA, hostC, 17, segment(hostA, 27015, hostC, 27015, "\xff\xff\xff\xffi"))
	ip("empty datagram", hostA, hostC, 17, segment(hostA, 1, hostC, 2, ""))
	ip("multicast", hostA, group, 17, segment(hostA, 5353, group, 5353, "mdns"))
	ip("query over IPv6", hostA6, hostB6, 17, segment(hostA6, 50000, hostB6, 27015, query))
	ip("dns over IPv6", hostB6, hostA6, 17, segment(hostB6, 53, hostA6, 27016, "x"))
	ip("multicast over IPv6", hostA6, group6, 17, segment(hostA6, 5353, group6, 5353, "mdns"))
	for _, words := range []int{1, 3, 10} {
		p := withOptions(mkpcap.IP(hostA, hostB, 9, 17, 0, false, false, segment(hostA, 50000, hostB, 27015, query)), words)
		add("query with "+strconv.Itoa(words)+" words of options", typeIPv4, p)
	}

	tcpSegment := func(sport, dport uint16, flags byte, payload string) []byte {
		return join(be16(sport, dport), []byte{0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 16, 0, 0, 0, 0, 0}, []byte(payload))
	}
	ip("syn", hostA, hostB, 6, tcpSegment(50001, 80, 0x02, ""))
	ip("syn ack", hostB, hostA, 6, tcpSegment(80, 50001, 0x12, ""))
	ip("fin ack", hostB, hostA, 6, tcpSegment(443, 50001, 0x11, ""))
	ip("push", hostA, hostC, 6, tcpSegment(27015, 27016, 0x18, "rcon"))
	ip("reset over IPv6", hostA6, hostB6, 6, tcpSegment(53, 80, 0x04, ""))
	ip("sctp", hostA, hostB, 132, ports16(27015, 9999, 0, 0, 0, 0, 0, 0, 0, 0))
	ip("sctp over IPv6", hostA6, hostB6, 132, ports16(9999, 27015, 0, 0, 0, 0, 0, 0, 0, 0))
	ip("echo", hostA, hostB, 1, []byte{8, 0, 0, 0, 0, 1, 0, 2, 'p', 'i', 'n', 'g'})
	ip("echo reply", hostB, hostA, 1, []byte{0, 0, 0, 0, 0, 1, 0, 2, 'p', 'i', 'n', 'g'})
	ip("unreachable", hostC, hostA, 1, join([]byte{3, 3, 0, 0, 0, 0, 0, 0}, list[0].data))
	ip("icmp6 echo", hostA6, hostB6, 58, []byte{128, 0, 0, 0, 0, 1, 0, 2})
	ip("icmp6 neighbour", hostB6, group6, 58, append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16)...))
	ip("igmp", hostA, group, 2, []byte{0x16, 0, 0, 0, 239, 1, 2, 3})
	ip("gre", hostA, hostB, 47, append([]byte{0, 0, 8, 0}, list[0].data...))
	ip("esp", hostA, hostB, 50, make([]byte, 20))
	ip("ah over IPv6", hostA6, hostB6, 51, make([]byte, 20))
	ip("pim", hostA, group, 103, make([]byte, 8))
	ip("vrrp", hostA, group, 112, make([]byte, 8))
	ip("ospf", hostA, group, 89, make([]byte, 8))

	// A datagram in three fragments, and a TCP segment in two.
	long := segment(hostB, 27015, hostA, 50000, "\xff\xff\xff\xffD"+string(make([]byte, 91)))
	add("first fragment", typeIPv4, mkpcap.IP(hostB, hostA, 99, 17, 0, true, true, long[:40]))
	add("middle fragment", typeIPv4, mkpcap.IP(hostB, hostA, 99, 17, 40, true, true, long[40:80]))
	add("last fragment", typeIPv4, mkpcap.IP(hostB, hostA, 99, 17, 80, false, true, long[80:]))
	add("fragment that looks like a port", typeIPv4, mkpcap.IP(hostC, hostA, 98, 17, 40, false, true, ports16(27015, 53, 0, 9, 0, 0, 1)))
	add("tcp fragment", typeIPv4, mkpcap.IP(hostA, hostB, 97, 6, 0, true, true, tcpSegment(80, 27015, 0x10, "1234")))
	add("last tcp fragment", typeIPv4, mkpcap.IP(hostA, hostB, 97, 6, 24, false, true, tcpSegment(80, 27015, 0x02, "")))
	add("icmp fragment", typeIPv4, mkpcap.IP(hostA, hostB, 96, 1, 64, false, true, []byte{8, 0, 0, 0, 0, 0, 0, 0}))
	long6 := segment(hostB6, 27015, hostA6, 50000, "\xff\xff\xff\xffD"+string(make([]byte, 91)))
	add("first fragment of IPv6", typeIPv6, mkpcap.IP(hostB6, hostA6, 99, 17, 0, true, true, long6[:40]))
	add("last fragment of IPv6", typeIPv6, mkpcap.IP(hostB6, hostA6, 99, 17, 40, false, true, long6[40:]))
	add("tcp fragment of IPv6", typeIPv6, mkpcap.IP(hostB6, hostA6, 99, 6, 48, false, true, tcpSegment(27015, 53, 2, "")))
	options := []byte{17, 0, 1, 4, 0, 0, 0, 0}
	add("hop-by-hop options", typeIPv6, behindHeaders(hostA6, hostB6, 0, options, segment(hostA6, 50000, hostB6, 27015, query)))
	add("destination options", typeIPv6, behindHeaders(hostA6, hostB6, 60, options, segment(hostA6, 53, hostB6, 27015, query)))
	add("no next header", typeIPv6, behindHeaders(hostA6, hostB6, 59, nil, nil))

	// Invalid IP headers.
	damaged := append([]byte(nil), list[0].data...)
	damaged[0] = 0x42 // a header of 8 bytes
	add("short header length", typeIPv4, damaged)
	damaged = append([]byte(nil), list[0].data...)
	damaged[0] = 0x65
	add("version 6 announced as 4", typeIPv4, damaged)
	return list
}

func arpPacket(op uint16, src, dst netip.Addr) []byte {
	return join(be16(1, 0x0800), []byte{6, 4}, be16(op), macA, src.AsSlice(), make([]byte, 6), dst.AsSlice())
}

var (
	macA      = []byte{2, 0, 0, 0, 0, 1}
	macB      = []byte{2, 0, 0, 0, 0, 0xab}
	broadcast = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

func ether(dst, src []byte, typ uint16, rest ...[]byte) []byte {
	return join(append([][]byte{dst, src, be16(typ)}, rest...)...)
}

// linkPackets are packets for link layers with a type field.
func linkPackets() []packet {
	query, query6 := packets()[0].data, packets()[6].data
	return []packet{
		{"arp request", typeARP, arpPacket(1, hostA, hostB)},
		{"arp reply", typeARP, arpPacket(2, hostB, hostA)},
		{"loopback", 0x9000, make([]byte, 46)},
		{"lldp", 0x88cc, make([]byte, 46)},
		{"pppoe discovery", 0x8863, make([]byte, 46)},
		{"pppoe session with IPv4", 0x8864, join([]byte{0x11, 0, 0, 5}, be16(uint16(2+len(query)), 0x0021), query)},
		{"pppoe session with IPv6", 0x8864, join([]byte{0x11, 0, 0, 6}, be16(uint16(2+len(query6)), 0x0057), query6)},
		{"mpls", 0x8847, join([]byte{0, 0x01, 0x01, 64}, query)},
		{"mpls, two labels", 0x8847, join([]byte{0, 0x01, 0x00, 64, 0, 0x02, 0x01, 64}, query)},
		{"mpls with IPv6", 0x8847, join([]byte{0, 0x03, 0x01, 64}, query6)},
	}
}

// captures returns a capture for each link type. The first is Ethernet, with tagged
// and truncated frames.
func captures() []*capture {
	all := append(packets(), linkPackets()...)

	plain := &capture{name: "ethernet", link: 1}
	for i, p := range all {
		dst, src := macB, macA
		if i%3 == 1 {
			dst, src = macA, macB
		}
		if i%7 == 6 {
			dst = broadcast
		}
		if p.name == "multicast" {
			dst = []byte{1, 0, 0x5e, 1, 2, 3}
		}
		plain.add(p.name, ether(dst, src, p.typ, p.data))
	}
	plain.add("spanning tree", ether([]byte{1, 0x80, 0xc2, 0, 0, 0}, macA, 38, []byte{0x42, 0x42, 3}, make([]byte, 43)))
	plain.add("LLC for OSI", ether(macB, macA, 10, []byte{0xfe, 0xfe, 3}, make([]byte, 43)))
	plain.add("LLC with SNAP", ether(macB, macA, 60, []byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, packets()[0].data))
	plain.add("type 0", ether(macB, macA, 0, make([]byte, 46)))

	tagged := plain
	for i, p := range all {
		if i%3 == 2 && i > 12 {
			continue
		}
		vlan := be16(uint16(5+i%3)|uint16(i%2)<<13, p.typ)
		tagged.add("VLAN, "+p.name, ether(macB, macA, typeVLAN, vlan, p.data))
		if i%2 == 0 {
			outer := [...]uint16{typeQinQ, typeQinQOld, typeVLAN}[i/2%3]
			tagged.add("two tags, "+p.name, ether(macB, macA, outer, be16(100, typeVLAN), vlan, p.data))
		}
		if i%5 == 0 {
			tagged.add(p.name, ether(macA, macB, p.typ, p.data))
			tagged.add("three tags, "+p.name, ether(macB, macA, typeQinQ, be16(5, typeVLAN), be16(5, typeVLAN), vlan, p.data))
		}
	}

	cut := plain
	for i, p := range all {
		whole := nettext.Either(i%4 == 3, ether(macB, macA, typeVLAN, be16(5, p.typ), p.data), ether(macB, macA, p.typ, p.data))
		for _, n := range []int{0, 1, 6, 13, 14, 15, 20, 23, 24, 30, 34, 35, 36, 38, 42, 46, 54, 56, 58, 62} {
			if n < len(whole) && (n+i)%3 == 0 {
				cut.frames = append(cut.frames, frame{p.name + " cut to " + strconv.Itoa(n), whole[:n], len(whole)})
			}
		}
	}

	list := []*capture{plain}
	link := func(name string, number uint16, packets []packet, header func(i int, p packet) []byte) {
		c := &capture{name: name, link: number}
		for i, p := range packets {
			if h := header(i, p); h != nil {
				c.add(p.name, join(h, p.data))
			}
		}
		list = append(list, c)
	}
	link("sll", 113, all, func(i int, p packet) []byte {
		return join(be16(uint16(i%5), 1, 6), macA, []byte{0, 0}, be16(p.typ))
	})
	link("sll2", 276, all, func(i int, p packet) []byte {
		return join(be16(p.typ, 0, 0, uint16(1+i%3), 1), []byte{byte(i % 5), 6}, macA, []byte{0, 0})
	})
	for _, c := range list[1:] {
		c.add("spanning tree", join(c.frames[0].data, make([]byte, 30)))
	}
	stp := []byte{0x42, 0x42, 3, 0, 0}
	list[1].frames[len(all)].data = join(be16(0, 1, 6), macA, []byte{0, 0}, be16(4), stp)
	list[2].frames[len(all)].data = join(be16(4, 0, 0, 1, 1), []byte{0, 6}, macA, []byte{0, 0}, stp)
	for _, c := range list[1:] {
		f := &c.frames[len(all)]
		f.length = len(f.data)
	}
	family := func(inet, inet6 []byte) func(int, packet) []byte {
		return func(_ int, p packet) []byte {
			return nettext.Either(p.typ == typeIPv6, inet6, inet)
		}
	}
	link("null", 0, packets(), func(i int, p packet) []byte {
		return family([]byte{2, 0, 0, 0}, []byte{[]byte{24, 28, 30}[i%3], 0, 0, 0})(i, p)
	})
	link("loop", 108, packets(), func(i int, p packet) []byte {
		return family([]byte{0, 0, 0, 2}, []byte{0, 0, 0, []byte{24, 28, 30}[i%3]})(i, p)
	})
	link("raw", 101, packets(), func(int, packet) []byte { return []byte{} })
	only := func(typ uint16) func(int, packet) []byte {
		return func(_ int, p packet) []byte {
			return nettext.Either(p.typ != typ, nil, []byte{})
		}
	}
	link("ipv4", 228, packets(), only(typeIPv4))
	link("ipv6", 229, packets(), only(typeIPv6))
	ppp := func(head ...byte) func(int, packet) []byte {
		return func(_ int, p packet) []byte {
			return join(head, be16(uint16(pppType(uint32(p.typ)))))
		}
	}
	link("ppp", 9, all, ppp(0xff, 3))
	link("ppp_hdlc", 50, packets(), ppp(0xff, 3))
	link("ppp_ether", 51, packets(), ppp(0x11, 0, 0, 5, 0, 0))
	return list
}

// String returns the text of the expression.
func (f *Filter) String() string { return f.text }

// Instructions returns the program in the types of x/net/bpf.
func (p Program) Instructions() []bpf.Instruction {
	list, _ := bpf.Disassemble(p)
	return list
}

// String formats the program like tcpdump -ddd.
func (p Program) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(p))
	for _, r := range p {
		fmt.Fprintln(&b, r.Op, r.Jt, r.Jf, r.K)
	}
	return b.String()
}

// kernelOffset is the first offset of a load that asks the Linux kernel and does not
// read the frame (SKF_AD_OFF).
const kernelOffset = 0xfffff000

// run returns the number of bytes of a frame that the program keeps; 0 means no match.
func (p Program) run(data []byte, wireLen int) uint32 {
	list := p.Instructions()
	for i, in := range list {
		switch in := in.(type) {
		case bpf.LoadExtension:
			list[i] = bpf.RetConstant{} // frames of files have nothing beside them
			if to := bpf.Register(p[i].Op & 1); in.Num == bpf.ExtLen {
				list[i] = bpf.LoadConstant{Dst: to, Val: uint32(wireLen)}
			} else if in.Num == vlanTag || in.Num == vlanTagPresent {
				list[i] = bpf.LoadConstant{Dst: to}
			}
		case bpf.NegateA: // which the machine lacks
			list[i] = bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: allBits}
		}
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		panic(err)
	}
	n, err := vm.Run(data)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

// matches reports whether a frame matches.
func (p Program) matches(data []byte, wireLen int) bool { return p.run(data, wireLen) != 0 }
