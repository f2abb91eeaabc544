package packet

import (
	"testing"

	"github.com/qdissect/qdissect/reassembly"
)

// samples are frames of each kind, with the query in them.
func samples() []sample {
	eth4 := ether(typeIPv4, ask4())
	return []sample{
		{"ethernet_ipv4", linkEthernet, eth4},
		{"ethernet_ipv6", linkEthernet, ether(typeIPv6, ask6())},
		{"vlan_ipv4", linkEthernet, ether(typeVLAN, vlan(5, typeIPv4, ask4()))},
		{"qinq_ipv6", linkEthernet, ether(typeQinQ, vlan(5, typeVLAN, vlan(6, typeIPv6, ask6())))},
		{"sll_ipv4", linkSLL, cat(make([]byte, 14), u16(typeIPv4), ask4())},
		{"raw_ipv4", linkRawIP, ask4()},
		{"ipv6_extensions", linkEthernet, ether(typeIPv6, ip6(client6, server6, protoHopByHop, ext6(protoDestinations, 0, ext6(protoUDP, 1, udp(clientPort, serverPort, query)))))},
		{"gre", linkEthernet, ether(typeIPv4, ip4(near4, far4, protoGRE, cat(u16(0), u16(typeIPv4), ask4())))},
		{"vxlan", linkEthernet, ether(typeIPv4, ip4(near4, far4, protoUDP, udp(50001, portVXLAN, cat(u32(0x08000000), u32(42<<8), eth4))))},
	}
}

type sample struct {
	name     string
	linkType uint16
	data     []byte
}

func BenchmarkDecode(b *testing.B) {
	all := samples()
	all = append(all,
		sample{"tcp", linkEthernet, ether(typeIPv4, ip4(client4, server4, protoTCP, make([]byte, 40)))},
		sample{"arp", linkEthernet, ether(0x0806, make([]byte, 46))},
	)
	for _, s := range all {
		b.Run(s.name, func(b *testing.B) {
			d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
			f := &Frame{Number: 1, Time: second(0), LinkType: s.linkType, Data: s.data, Length: len(s.data)}
			out := new(Datagram)
			b.ReportAllocs()
			for b.Loop() {
				d.Decode(f, out)
			}
		})
	}
	b.Run("two_fragments", func(b *testing.B) {
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		parts := split4(server4, client4, protoUDP, 1, 1480, udp(serverPort, clientPort, sized(1934)))
		f := &Frame{Number: 1, Time: second(0), LinkType: linkRawIP}
		out := new(Datagram)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			for _, p := range parts {
				p[4], p[5] = byte(i>>8), byte(i)
				f.Data = p
				d.Decode(f, out)
			}
		}
	})
}
