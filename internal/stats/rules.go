package stats

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// A match describes packets by what a firewall can see.
type match struct {
	host    netip.Addr // of the server, invalid for any
	ports   []uint16
	prefix  []byte // of the payload
	length  uint32 // of the payload, 0 for any
	token   uint8  // how far behind the start of the payload is the challenge, 0 if it has none
	grant   *Grant // if the challenge is one that nobody was given: how servers give them
	servers []netip.AddrPort
}

// udpHeader is the length of the header that nft's udp length and th include.
const udpHeader = 8

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
	if !slices.Contains(m.ports, e.port) {
		m.ports = append(m.ports, e.port)
		slices.Sort(m.ports)
	}
}

func (r *reporting) perAddressRule(targets map[string]*match, l Limit) {
	effect := "Over the whole capture it would have dropped " + r.effect(l) + "."
	var filters []string
	first := len(r.Remedies)
	for _, p := range slices.Sorted(maps.Keys(targets)) {
		m := targets[p]
		if len(m.prefix) == 0 {
			continue // it would match the game itself
		}
		r.remedy(fmt.Sprintf("At most %d %s requests per second from one address", l.N, p), effect, l, false, m)
		filters = append(filters, m.filter())
	}
	if list := r.Remedies[first:]; len(list) > 1 {
		for i := range list {
			list[i].Effect = fmt.Sprintf("Over the whole capture the %d limits per address together would have dropped %s.", len(list), r.effect(l))
		}
	}
	r.tell(r.Remedies[first:], r.effect(l), strings.Join(filters, " or "), "It matches all requests of the protocol at these ports, honest ones too; use it with tcpdump or qdissect.")
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
	who, cost := "", "While the flood lasts, it drops honest requests without a challenge in the same proportion as forged ones: it protects the machine and the victims, not the service."
	switch at := k.token.at; {
	case r.madeUp(ev):
		m.token, m.length = at, uint32(k.token.length)
		m.grant = grantOf(&r.a.grants[e.v.protocol-1])
		who, cost = " with challenges that nobody was given", "A challenge is known from the time on when the rules see the server give it; who had one before asks for another."
	case k.least == k.most:
		if m.length = k.least; at > 0 && uint32(at) < k.least {
			m.token = at
		}
	}
	if len(m.prefix) == 0 && m.length == 0 {
		return
	}
	effect := fmt.Sprintf("Over the whole capture it would have dropped %s. %s", r.effect(l), cost)
	first := len(r.Remedies)
	r.remedy(fmt.Sprintf("At most %d %s per second%s in total", l.N, plural(k.title()), who), effect, l, true, &m)
	r.tell(r.Remedies[first:], r.effect(l), m.filter(), "It matches the requests of the flood, and honest ones with the same bytes; use it with tcpdump or qdissect.")
}

// madeUp reports whether most requests of a forged flood have a challenge that their sender was not given, and rules can tell.
func (r *reporting) madeUp(ev *event) bool {
	k := &r.a.kinds[ev.kinds[0]]
	return 2*k.madeUp > k.unproven && k.token.length > 0 && r.a.grants[ev.server.v.protocol-1].length > 0
}

// tell adds the rules of firewalls for some remedies, and what filter they can be tried with.
func (r *reporting) tell(list []Remedy, drops, filter, filterEffect string) {
	if len(list) == 0 {
		return
	}
	n := 1
	for i := range r.Rules {
		if r.Rules[i].Format == "nftables" {
			n++
		}
	}
	var titles []string
	for i := range list {
		titles = append(titles, list[i].Title)
	}
	at, effect := PlaceOf(list, nil), list[0].Effect
	r.Rules = append(r.Rules, Rule{Format: "nftables", Title: strings.Join(titles, "; "), Text: nftTable(fmt.Sprintf("qdissect%d", n), list, at, false), Drops: drops, Effect: effect})
	for _, v6 := range []bool{false, true} {
		if text := ipChain(fmt.Sprintf("QDISSECT%d", n), list, at, false, v6); text != "" {
			tool := "iptables-restore --noflush"
			if v6 {
				tool = "ip6tables-restore --noflush"
			}
			r.Rules = append(r.Rules, Rule{Format: "iptables", Title: "The same for " + tool, Text: text, Drops: drops, Effect: effect + " Take it only if nft cannot be used."})
		}
	}
	r.Rules = append(r.Rules, Rule{Format: "capture_filter", Title: "To try what the limit looks at", Text: filter + "\n", Effect: filterEffect})
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
	return sentence(parts)
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
