package stats

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// udpHeader is the length of the header that nft's udp length and th include.
const udpHeader = 8

// longestPrefix is how many bytes of payload a rule compares.
const longestPrefix = 8

// ofProtocol returns what all requests of a protocol have in common.
func (r *reporting) ofProtocol(protocol string) (prefix []byte) {
	var all kind
	for i := range r.a.kinds {
		if k := &r.a.kinds[i]; k.protocol == protocol && k.seen && !k.tcp {
			all.merge(&kind{seen: true, common: k.common, alike: k.alike})
		}
	}
	return r.prefix(all.common[:all.alike])
}

// rules adds firewall rules against what the verdicts say.
func (r *reporting) rules() {
	targets := map[string]*Remedy{} // by protocol
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
				targets[p] = &Remedy{Prefix: hex.EncodeToString(r.ofProtocol(p))}
			}
			if m := targets[p]; len(m.Servers) < maxRemedied {
				m.Servers = append(m.Servers, r.endpoint(e))
			}
		}
	}
	for _, l := range r.Limits.PerAddress {
		if l.Best {
			r.perAddressRule(targets, l)
		}
	}
	for _, l := range r.Limits.Global {
		if l.Best {
			kind := slices.IndexFunc(r.a.kinds, func(k kind) bool { return k.protocol+" "+k.message() == l.Kind })
			if i := slices.IndexFunc(r.events, func(ev event) bool {
				return r.address(ev.server) == l.Server && slices.Contains(ev.kinds, uint16(kind))
			}); i >= 0 {
				r.globalRule(&r.events[i], uint16(kind), l)
			}
		}
	}
}

func (r *reporting) perAddressRule(targets map[string]*Remedy, l Limit) {
	var list []Remedy
	for _, p := range slices.Sorted(maps.Keys(targets)) {
		if m := targets[p]; m.Prefix != "" { // else it would match the game itself
			m.Title = fmt.Sprintf("At most %d %s requests per second from one address", l.N, p)
			list = append(list, *m)
		}
	}
	who := "it"
	if n := len(list); n > 1 {
		who = fmt.Sprintf("the %d limits per address together", n)
	}
	r.tell(list, l, "Over the whole capture "+who+" would have dropped "+r.effect(l)+".")
}

// hashSize is how many pairs of addresses iptables may keep: if its table is full, it drops all that is new, and nft's rule lets
// that pass.
const hashSize = 1_000_000

// globalRule adds a limit of one kind of request from all addresses together.
func (r *reporting) globalRule(ev *event, kind uint16, l Limit) {
	e := ev.server
	k := &r.a.kinds[kind]
	m := Remedy{Prefix: hex.EncodeToString(r.prefix(k.common[:k.alike])), Total: true, Servers: []netip.AddrPort{r.endpoint(e)}}
	who, cost := "", "While the flood lasts, it drops honest requests without a challenge in the same proportion as forged ones: it protects the machine and the victims, not the service."
	switch at := k.token.at; {
	case r.madeUp(ev, kind):
		m.Token, m.Length = at, uint32(k.token.length)
		g := &r.a.grants[e.v.protocol-1]
		m.Grant = &Grant{hex.EncodeToString(g.prefix[:min(int(g.at), len(g.prefix))]), uint32(g.length), g.at}
		who, cost = " with challenges that nobody was given", "A challenge is known from the time on when the rules see the server give it; who had one before asks for another."
	case k.least == k.most:
		if m.Length = k.least; at > 0 && uint32(at) < k.least {
			m.Token = at
		}
	}
	if m.Prefix != "" || m.Length > 0 {
		m.Title = fmt.Sprintf("At most %d %s per second%s in total", l.N, plural(k.title()), who)
		r.tell([]Remedy{m}, l, fmt.Sprintf("Over the whole capture it would have dropped %s. %s", r.effect(l), cost))
	}
}

// madeUp reports whether most requests of a forged flood have a challenge that their sender was not given, and rules can tell.
func (r *reporting) madeUp(ev *event, kind uint16) bool {
	k := &r.a.kinds[kind]
	return 2*k.madeUp > k.unproven && k.token.length > 0 && r.a.grants[ev.server.v.protocol-1].length > 0
}

// tell adds a limit for firewalls, and the rules of these.
func (r *reporting) tell(list []Remedy, l Limit, effect string) {
	if len(list) == 0 {
		return
	}
	n, drops := 1, r.effect(l)
	for i := range r.Rules {
		if r.Rules[i].Format == "nftables" {
			n++
		}
	}
	var titles []string
	for m := range each(list) {
		m.Effect, m.PerSecond, m.Burst = effect, l.N, l.Burst
		if title := m.Title; m.Total && slices.ContainsFunc(r.Limits.Global, func(o Limit) bool { return o.Best && o.Server != l.Server }) {
			titles = append(titles, title+" at "+l.Server)
		} else {
			titles = append(titles, title)
		}
	}
	r.Remedies = append(r.Remedies, list...)
	at := PlaceOf(list, nil)
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
