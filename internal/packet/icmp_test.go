package packet

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/reassembly"
)

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
