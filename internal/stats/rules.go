package stats

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A match describes packets by what a firewall can see.
type match struct {
	host    netip.Addr // of the server, invalid for any
	ports   []uint16
	v4, v6  bool
	prefix  []byte // of the payload
	length  uint32 // of the payload, 0 for any
	servers []netip.AddrPort
}

// udpHeader is the length of the header that nft's udp length and th include.
const udpHeader = 8

// nft returns the match in the language of nft.
func (m *match) nft() string {
	ports := make([]string, len(m.ports))
	for i, p := range m.ports {
		ports[i] = strconv.Itoa(int(p))
	}
	b := "udp dport "
	switch {
	case m.host.Is4():
		b = "ip daddr " + m.host.String() + " " + b
	case m.host.Is6():
		b = "ip6 daddr " + m.host.String() + " " + b
	}
	if len(ports) == 1 {
		b += ports[0]
	} else {
		b += "{ " + strings.Join(ports, ", ") + " }"
	}
	if m.length > 0 {
		b += fmt.Sprintf(" udp length %d", m.length+udpHeader)
	}
	if n := len(m.prefix); n > 0 {
		b += fmt.Sprintf(" @th,%d,%d 0x%s", 8*udpHeader, 8*n, hex.EncodeToString(m.prefix))
	}
	return b
}

// iptables returns the match in the language of iptables, for IPv4.
func (m *match) iptables() string {
	ports := make([]string, len(m.ports)) // at most 15 are allowed
	for i, p := range m.ports {
		ports[i] = strconv.Itoa(int(p))
	}
	b := "-p udp -m multiport --dports " + strings.Join(ports, ",")
	var words []string // after the IP header
	if m.length > 0 {
		words = append(words, fmt.Sprintf("0>>22&0x3c@4&0xffff0000=0x%x0000", m.length+udpHeader))
	}
	for at := 0; at < len(m.prefix); at += 4 {
		var word, mask [4]byte
		for i := range copy(word[:], m.prefix[at:]) {
			mask[i] = 0xff
		}
		words = append(words, fmt.Sprintf("0>>22&0x3c@%d&0x%x=0x%x", udpHeader+at, mask, word))
	}
	if len(words) > 0 {
		b += fmt.Sprintf(` -m u32 --u32 "%s"`, strings.Join(words, " && "))
	}
	return b
}

// filter returns the match as a capture filter.
func (m *match) filter() string {
	var ports []string
	for _, p := range m.ports {
		ports = append(ports, fmt.Sprintf("udp dst port %d", p))
	}
	b := strings.Join(ports, " or ")
	if len(ports) > 1 {
		b = "(" + b + ")"
	}
	if m.host.IsValid() {
		b = "dst host " + m.host.String() + " and " + b
	}
	if m.length > 0 {
		b += fmt.Sprintf(" and udp[4:2] = %d", m.length+udpHeader)
	}
	for at := 0; at < len(m.prefix); {
		n := 4
		for at+n > len(m.prefix) {
			n /= 2
		}
		b += fmt.Sprintf(" and udp[%d:%d] = 0x%s", udpHeader+at, n, hex.EncodeToString(m.prefix[at:at+n]))
		at += n
	}
	return b
}

// longestPrefix is how many bytes of payload a rule compares.
const longestPrefix = 8

// ofProtocol returns what all requests of a protocol have in common.
func (r *reporting) ofProtocol(protocol string) (prefix []byte) {
	var all kind
	for i := range r.a.kinds {
		if k := &r.a.kinds[i]; k.protocol == protocol && k.seen {
			all.merge(&kind{seen: true, common: k.common, alike: k.alike})
		}
	}
	return r.prefix(all.common[:all.alike])
}

// rules adds firewall rules against what the verdicts say.
func (r *reporting) rules() {
	targets := map[string]*match{} // by protocol
	for _, v := range r.Verdicts {
		switch v.Kind {
		case Reflection, GreedyClients, ListHammering:
		case ForgedFlood:
			if v.Evidence.of("requests_by_source") < leastRate {
				continue // a limit per address stops nothing of it
			}
		default:
			continue
		}
		servers := v.Servers
		if v.Server != "" {
			servers = []string{v.Server}
		}
		for _, e := range r.servers {
			if !slices.Contains(servers, r.address(e)) {
				continue
			}
			p := r.a.protocols[e.v.protocol-1]
			if targets[p] == nil {
				targets[p] = &match{prefix: r.ofProtocol(p)}
			}
			targets[p].adds(e, r.endpoint(e))
		}
	}
	for _, l := range r.Limits.PerAddress {
		if l.Best {
			r.perAddressRule(targets, l)
		}
	}
	for _, l := range r.Limits.Global {
		if l.Best {
			if i := slices.IndexFunc(r.events, func(ev event) bool { return r.address(ev.server) == l.Server && r.kindName(int(ev.kinds[0])) == l.Kind }); i >= 0 {
				r.globalRule(&r.events[i], l)
			}
		}
	}
}

// adds adds a server, of which at is shown.
func (m *match) adds(e *entry[server], at netip.AddrPort) {
	if len(m.servers) < maxRemedied {
		m.servers = append(m.servers, at)
	}
	const most = 15 // iptables takes no more
	if !slices.Contains(m.ports, e.port) && len(m.ports) < most {
		m.ports = append(m.ports, e.port)
		slices.Sort(m.ports)
	}
	if e.addr().Is4() {
		m.v4 = true
	} else {
		m.v6 = true
	}
}

func (r *reporting) perAddressRule(targets map[string]*match, l Limit) {
	var lines, filters, tables []string
	v4, v6 := false, false
	for _, p := range slices.Sorted(maps.Keys(targets)) {
		m := targets[p]
		if len(m.prefix) == 0 {
			continue // it would match the game itself
		}
		v4, v6 = v4 || m.v4, v6 || m.v6
		r.remedy(fmt.Sprintf("At most %d %s requests per second from one address", l.N, p), "Over the whole capture it would have dropped "+r.effect(l)+".", l, false, m)
		filters = append(filters, m.filter())
		if m.v4 {
			tables = append(tables, fmt.Sprintf("iptables -I INPUT %s -m hashlimit --hashlimit-name qdissect --hashlimit-mode srcip,dstip --hashlimit-above %d/second --hashlimit-burst %d --hashlimit-htable-max %d --hashlimit-htable-expire 2000 -j DROP\n",
				m.iptables(), l.N, l.Burst, hashSize))
		}
		for _, family := range []struct {
			is        bool
			set, addr string
		}{{m.v4, "asking", "ip saddr . ip daddr"}, {m.v6, "asking6", "ip6 saddr . ip6 daddr"}} {
			if family.is {
				lines = append(lines, fmt.Sprintf("\t\t%s update @%s { %s limit rate over %d/second burst %d packets } drop\n", m.nft(), family.set, family.addr, l.N, l.Burst))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("table inet qdissect {\n")
	for _, set := range []struct {
		is         bool
		name, kind string
	}{{v4, "asking", "ipv4_addr . ipv4_addr"}, {v6, "asking6", "ipv6_addr . ipv6_addr"}} {
		if set.is {
			fmt.Fprintf(&b, "\tset %s {\n\t\ttype %s\n\t\tsize %d\n\t\tflags dynamic,timeout\n\t\ttimeout 2s\n\t}\n", set.name, set.kind, setSize)
		}
	}
	b.WriteString("\tchain input {\n\t\ttype filter hook input priority -10; policy accept;\n" + strings.Join(lines, "") + "\t}\n}\n")
	effect := "Over the whole capture it would have dropped " + r.effect(l) + "."
	r.Rules = append(r.Rules,
		Rule{Format: "nftables", Title: fmt.Sprintf("At most %d requests per second from one address to one host", l.N), Text: b.String(), Drops: r.effect(l), Effect: effect},
		Rule{Format: "capture_filter", Title: "To try what the limit per address looks at", Text: strings.Join(filters, " or ") + "\n",
			Effect: "It matches all requests of the protocol at these ports, honest ones too; use it with tcpdump or qdissect."})
	if len(tables) > 0 && !v6 {
		r.Rules = append(r.Rules, r.iptables(strings.Join(tables, ""), effect, l))
	}
}

func (r *reporting) iptables(text, effect string, l Limit) Rule {
	return Rule{Format: "iptables", Title: "The same limit for iptables", Text: text, Drops: r.effect(l),
		Effect: effect + " Take it only if nft cannot be used; with -D in place of -I a line removes its rule."}
}

// hashSize is how many pairs of addresses iptables may keep: if its table is full, it drops all that is new, and nft's rule lets
// that pass.
const hashSize = 1_000_000

// globalRule adds a limit of one kind of request from all addresses together.
func (r *reporting) globalRule(ev *event, l Limit) {
	e := ev.server
	k := &r.a.kinds[ev.kinds[0]]
	m := match{host: r.host(e.addr()), prefix: r.prefix(k.common[:k.alike])}
	m.adds(e, r.endpoint(e))
	if k.least == k.most {
		m.length = k.least
	}
	if len(m.prefix) == 0 && m.length == 0 {
		return
	}
	text := fmt.Sprintf("table inet qdissect_total {\n\tchain input {\n\t\ttype filter hook input priority -10; policy accept;\n\t\t%s limit rate over %d/second burst %d packets drop\n\t}\n}\n", m.nft(), l.N, l.Burst)
	effect := fmt.Sprintf("Over the whole capture it would have dropped %s. While the flood lasts, it drops honest requests without a challenge in the same proportion as forged ones: it protects the machine and the victims, not the service.", r.effect(l))
	r.Rules = append(r.Rules,
		Rule{Format: "nftables", Title: fmt.Sprintf("At most %d %s per second in total", l.N, plural(k.title())), Text: text, Drops: r.effect(l), Effect: effect},
		Rule{Format: "capture_filter", Title: "To try what the limit in total looks at", Text: m.filter() + "\n", Effect: "It matches the requests of the flood, and honest ones with the same bytes; use it with tcpdump or qdissect."})
	r.remedy(fmt.Sprintf("At most %d %s per second in total", l.N, plural(k.title())), effect, l, true, &m)
	if m.v4 {
		text := fmt.Sprintf("iptables -I INPUT -d %s %s -m hashlimit --hashlimit-name qdissect_total --hashlimit-mode dstip --hashlimit-above %d/second --hashlimit-burst %d -j DROP\n", m.host, m.iptables(), l.N, l.Burst)
		r.Rules = append(r.Rules, r.iptables(text, effect, l))
	}
}

// effect says what shares a limit drops.
func (r *reporting) effect(l Limit) string {
	t := &r.Limits
	var parts []string
	for _, p := range []struct {
		n, of uint64
		what  string
	}{{l.Forged, t.Forged, "forged requests"}, {l.Greedy, t.Greedy, "requests of greedy clients"}, {l.Honest, t.Honest, "honest requests"}} {
		if p.of > 0 {
			parts = append(parts, percent(float64(p.n)/float64(p.of))+" of "+p.what)
		}
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// Prefix parses a network, or an address as a network of one host.
func Prefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not a network such as 198.51.100.0/24, or an address", s)
	}
	return p.Masked(), nil
}
