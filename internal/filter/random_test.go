package filter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/thorough"
)

// A generator generates expressions that are likely to match something.
type generator struct {
	*rand.Rand
	link uint16
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// maybe returns one of the words and a space, or nothing.
func (g *generator) maybe(words ...string) string {
	if g.IntN(2) == 0 {
		return ""
	}
	return g.pick(words...) + " "
}

func (g *generator) expression(depth int) string {
	var b strings.Builder
	b.WriteString(g.operand(depth))
	for range g.IntN(4) {
		b.WriteString(g.pick(" and ", " or ", " && ", " || ", " and ", " or "))
		b.WriteString(g.operand(depth))
	}
	return b.String()
}

func (g *generator) operand(depth int) string {
	switch n := g.IntN(12); {
	case n == 0:
		return g.pick("not ", "! ", "not ") + g.operand(depth)
	case n < 3 && depth > 0:
		return "(" + g.expression(depth-1) + ")"
	}
	return g.primitive()
}

var (
	someHosts  = []string{"192.0.2.1", "192.0.2.200", "198.51.100.7", "239.1.2.3", "203.0.113.9"}
	someHosts6 = []string{"2001:db8::1", "2001:db8:0:1::200", "ff02::1", "::1"}
	someNets   = []string{"192.0.2.0/24", "192.0.2.128/25", "192", "198.51.0.0/16", "0.0.0.0/0", "224.0.0.0/4"}
	someNets6  = []string{"2001:db8::/32", "2001:db8:0:1::/64", "ff00::/8", "::/0", "2001:db8::/97"}
	somePorts  = []string{"27015", "53", "80", "50000", "50001", "0x6987", "443", "1"}
	someRanges = []string{"27000-27050", "1-1024", "50000-50001", "27015-53", "80"}
)

// list returns an id, or several that inherit qualifiers.
func (g *generator) list(ids []string) string {
	switch g.IntN(6) {
	case 0:
		return g.pick(ids...) + g.pick(" or ", " and ") + g.pick(ids...)
	case 1:
		return "(" + g.pick(ids...) + g.pick(" or ", " and ") + g.pick(ids...) + ")"
	case 2:
		return g.pick(ids...) + g.pick(" or not ", " and not ") + g.pick(ids...)
	}
	return g.pick(ids...)
}

func (g *generator) primitive() string {
	directions := []string{"src", "dst", "src or dst", "src and dst"}
	for {
		switch g.IntN(15) {
		case 0:
			return g.pick("ip", "ip6", "tcp", "udp", "sctp", "icmp", "icmp6")
		case 1:
			return "arp"
		case 2:
			return g.maybe(directions...) + "host " + g.list(someHosts)
		case 3:
			return g.maybe(directions...) + "host " + g.list(someHosts6)
		case 4:
			return g.maybe(directions...) + "net " + g.list(someNets)
		case 5:
			return g.maybe(directions...) + "net " + g.list(someNets6)
		case 6, 7, 8:
			return g.maybe("udp", "tcp", "udp", "sctp") + g.maybe(directions...) + "port " + g.list(somePorts)
		case 9:
			return g.maybe("udp", "tcp", "sctp") + g.maybe(directions...) + "portrange " + g.list(someRanges)
		case 11:
			return g.pick("less ", "greater ") + g.pick("60", "70", "100", "46")
		case 12, 13:
			return g.relation()
		case 14:
			if g.link == linkEthernet {
				return g.pick("vlan", "vlan", "vlan 5", "vlan and vlan", "vlan 100 and vlan 6")
			}
		}
	}
}

// relation returns a comparison of bytes.
func (g *generator) relation() string {
	right := g.pick("0", "1", "17", "20", "53", "64", "0x45", "255", "27015", "0x1fff", "0xffffffff")
	left := g.pick("ip", "ip", "ip6", "udp", "udp", "tcp", "icmp") + "[" + fmt.Sprint(g.IntN(25)) + g.pick("", ":1", ":2", ":4") + "]"
	if g.IntN(3) == 0 {
		left += " & " + g.pick("1", "7", "0xf", "0xf0", "0x1fff")
	}
	return left + " " + g.pick("=", "==", "!=", "<", ">", "<=", ">=") + " " + right
}

// TestOracleRandom compares random expressions with tcpdump.
func TestOracleRandom(t *testing.T) {
	count := thorough.Of(25, 150)
	if *full {
		count = 3000
	}
	for _, o := range oracles(t) {
		switch o.link {
		case linkEthernet, linkCooked, linkRaw:
		default:
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(27015, uint64(o.link))), link: o.link}
			var sum tally
			for range count {
				o.check(t, g.expression(2), o.compile, &sum)
			}
			sum.log(t, o)
		})
	}
}
