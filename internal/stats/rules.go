package stats

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
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
		servers := either(v.Server != "", []string{v.Server}, v.Servers)
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
	who := either(len(list) > 1, fmt.Sprintf("the %d limits per address together", len(list)), "it")
	r.tell(list, l, "Over the whole capture "+who+" would have dropped "+r.effect(l)+".")
}

// hashSize is how many pairs of addresses iptables may keep: if its table is full, it drops all that is new, and nft's rule lets
// that pass.
const hashSize = 1_000_000

// globalRule adds a limit of one kind of request from all addresses together.
func (r *reporting) globalRule(ev *event, kind uint16, l Limit) {
	e, k := ev.server, &r.a.kinds[kind]
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
		several := m.Total && slices.ContainsFunc(r.Limits.Global, func(o Limit) bool { return o.Best && o.Server != l.Server })
		titles = append(titles, m.Title+either(several, " at "+l.Server, ""))
	}
	r.Remedies = append(r.Remedies, list...)
	at := PlaceOf(list, nil)
	r.Rules = append(r.Rules, Rule{Format: "nftables", Title: strings.Join(titles, "; "), Text: nftTable(fmt.Sprintf("qdissect%d", n), list, at, false), Drops: drops, Effect: effect})
	for _, v6 := range []bool{false, true} {
		if text := ipChain(fmt.Sprintf("QDISSECT%d", n), list, at, false, v6); text != "" {
			tool := either(v6, "ip6tables-restore --noflush", "iptables-restore --noflush")
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

// A Remedy is a limit that would have helped, for a firewall.
type Remedy struct {
	Title     string           `json:"title"`
	Effect    string           `json:"effect"` // what it would have stopped, and what that costs
	PerSecond int              `json:"per_second"`
	Burst     int              `json:"burst"`
	Total     bool             `json:"total"` // of all addresses together, not of each
	Servers   []netip.AddrPort `json:"servers"`
	Prefix    string           `json:"payload_prefix"`           // in hex
	Length    uint32           `json:"payload_length,omitempty"` // 0 for any
	Token     uint8            `json:"challenge_at,omitempty"`   // where the payload has four bytes of a challenge, 0 for any
	Grant     *Grant           `json:"grant,omitempty"`          // the challenge is one that nobody was given; without it, it is 0 or -1
}

// A Grant is a reply that gives a challenge.
type Grant struct {
	Prefix string `json:"payload_prefix"` // in hex
	Length uint32 `json:"payload_length"`
	At     uint8  `json:"challenge_at"`
}

// maxRemedied is how many servers a remedy names.
const maxRemedied = 64

// A Place is where the rules of a firewall are loaded, seen from the server.
type Place string

// The places: the host that has the address of the server, also if it passes packets on to a container (DNAT); the host of a container
// whose own address the server has; and a router before the host.
const (
	OnHost      Place = "host"
	OnContainer Place = "container"
	OnRouter    Place = "router"
)

// A hook is one of nft, with the table and the chain of iptables.
type hook struct{ name, priority, table, chain string }

// hooks are those of the places. Before the translation of destinations, packets have the host's address; what is forwarded to a container
// has the container's, and so has what comes in where the container's network is not translated, or inside of it.
var hooks = map[Place][]hook{
	OnHost:      {{"prerouting", "-150", "raw", "PREROUTING"}},
	OnContainer: {{"forward", "-10", "filter", "FORWARD"}, {"input", "-10", "filter", "INPUT"}},
	OnRouter:    {{"forward", "-10", "filter", "FORWARD"}},
}

// bridges are the networks that container engines give: Docker and Podman.
var bridges = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("10.88.0.0/16"), netip.MustParsePrefix("fd00::/8")}

// cloud is of 172.16.0.0/12 what the machines of a cloud have (the default VPC of AWS); Docker comes to it after 14 networks.
var cloud = netip.MustParsePrefix("172.31.0.0/16")

// PlaceOf returns where rules for the servers of remedies belong: before all translation, which the servers on the host and those behind
// it have in common, or, if they have addresses that container engines give, at what reaches these. own are the addresses of the host if
// they are known: it has not those of containers.
func PlaceOf(list []Remedy, own []netip.Prefix) Place {
	for i := range list {
		for _, s := range list[i].Servers {
			in := func(p netip.Prefix) bool { return p.Contains(s.Addr()) }
			switch {
			case slices.ContainsFunc(own, in):
			case slices.ContainsFunc(bridges, in) && !in(cloud), len(own) > 0 && s.Addr().IsPrivate():
				return OnContainer
			}
		}
	}
	return OnHost
}

// of returns the servers of a family.
func (m *Remedy) of(v6 bool) []netip.AddrPort {
	return slices.DeleteFunc(slices.Clone(m.Servers), func(s netip.AddrPort) bool { return s.Addr().Is6() != v6 })
}

// NFT returns a table for nft -f that replaces itself when it is loaded again. A dry run only counts.
func NFT(list []Remedy, at Place, dry bool) string { return nftTable("qdissect", list, at, dry) }

func nftTable(table string, list []Remedy, at Place, dry bool) string {
	var sets, rules, given strings.Builder
	verdict := either(dry, "counter", "counter drop")
	for i := range list {
		m := &list[i]
		for _, v6 := range []bool{false, true} {
			servers := m.of(v6)
			if len(servers) == 0 {
				continue
			}
			ip, kind, name := "ip", "ipv4_addr", fmt.Sprintf("limit%d", i+1)
			if v6 {
				ip, kind, name = "ip6", "ipv6_addr", name+"v6"
			}
			ends := nettext.Each(servers, func(s netip.AddrPort) string { return fmt.Sprintf("%s . %d", s.Addr(), s.Port()) })
			what := fmt.Sprintf("%s daddr . udp dport { %s }", ip, strings.Join(ends, ", "))
			what += bytesAre(m.Length, m.Prefix)
			switch {
			case m.Grant != nil:
				known := strings.Replace(name, "limit", "given", 1)
				fmt.Fprintf(&sets, "\tset %s {\n\t\ttypeof %s saddr . @th,%d,32\n\t\tsize %d\n\t\tflags dynamic,timeout\n\t\ttimeout 10m\n\t}\n", known, ip, 8*(udpHeader+int(m.Token)), setSize)
				fmt.Fprintf(&given, "\t\tmeta nfproto %s%s update @%s { %s daddr . @th,%d,32 }\n", strings.TrimSuffix(kind, "_addr"), bytesAre(m.Grant.Length, m.Grant.Prefix), known, ip, 8*(udpHeader+int(m.Grant.At)))
				what += fmt.Sprintf(" %s saddr . @th,%d,32 != @%s", ip, 8*(udpHeader+int(m.Token)), known)
			case m.Token > 0:
				what += fmt.Sprintf(" @th,%d,32 { 0, 0xffffffff }", 8*(udpHeader+int(m.Token)))
			}
			if m.Total {
				fmt.Fprintf(&rules, "\t\t%s limit rate over %d/second burst %d packets %s comment \"%s\"\n", what, m.PerSecond, m.Burst, verdict, m.Title)
				continue
			}
			fmt.Fprintf(&sets, "\tset %s {\n\t\ttype %s . %s\n\t\tsize %d\n\t\tflags dynamic,timeout\n\t\ttimeout 2s\n\t}\n", name, kind, kind, setSize)
			fmt.Fprintf(&rules, "\t\t%s update @%s { %s saddr . %s daddr limit rate over %d/second burst %d packets } %s comment \"%s\"\n", what, name, ip, ip, m.PerSecond, m.Burst, verdict, m.Title)
		}
	}
	grants := ""
	if given.Len() > 0 { // of servers behind a translation, replies have their last addresses here
		grants = "\tchain grants {\n\t\ttype filter hook postrouting priority 150; policy accept;\n" + given.String() + "\t}\n"
	}
	chains := ""
	for _, h := range hooks[at] {
		chains += fmt.Sprintf("\tchain %[1]s {\n\t\ttype filter hook %[1]s priority %[2]s; policy accept;\n\t\tjump limits\n\t}\n", h.name, h.priority)
	}
	return fmt.Sprintf("table inet %[1]s\ndelete table inet %[1]s\ntable inet %[1]s {\n%[2]s\tchain limits {\n%[3]s\t}\n%[4]s%[5]s}\n", table, sets.String(), rules.String(), chains, grants)
}

// bytesAre matches the length of a payload and its first bytes.
func bytesAre(length uint32, prefix string) (what string) {
	if length > 0 {
		what = fmt.Sprintf(" udp length %d", length+udpHeader)
	}
	if n := len(prefix) / 2; n > 0 {
		what += fmt.Sprintf(" @th,%d,%d 0x%s", 8*udpHeader, 8*n, prefix)
	}
	return what
}

// IPTables returns the input of iptables-restore --noflush, or of ip6tables-restore; "" if no server has an address of that family.
func IPTables(list []Remedy, at Place, dry, v6 bool) string {
	return ipChain("QDISSECT", list, at, dry, v6)
}

func ipChain(chain string, list []Remedy, at Place, dry, v6 bool) string {
	var b, given strings.Builder
	some := false
	fmt.Fprintf(&b, "*%s\n:%s - [0:0]\n", hooks[at][0].table, chain)
	for _, h := range hooks[at] {
		fmt.Fprintf(&b, "-A %s -p udp -j %s\n", h.chain, chain)
	}
	for i := range list {
		m := &list[i]
		for j, s := range m.of(v6) {
			some = true
			mode, most := "srcip,dstip", fmt.Sprintf(" --hashlimit-htable-max %d --hashlimit-htable-expire 2000", hashSize)
			if m.Total {
				mode, most = "dstip", ""
			}
			name := fmt.Sprintf("qd%s_%d_%d", strings.TrimPrefix(chain, "QDISSECT"), i+1, j+1)
			match := u32(m.Length, m.Prefix, v6, m.Token)
			if m.Grant != nil {
				match = u32(m.Length, m.Prefix, v6, 0) + " -m recent ! --rcheck --name " + name + " --rsource"
				fmt.Fprintf(&given, "-A %s -p udp%s -m recent --set --name %s --rdest\n", chain, u32(m.Grant.Length, m.Grant.Prefix, v6, 0), name)
			}
			fmt.Fprintf(&b, "-A %s -d %s -p udp -m udp --dport %d%s -m hashlimit --hashlimit-name %s --hashlimit-mode %s --hashlimit-above %d/second --hashlimit-burst %d%s",
				chain, s.Addr(), s.Port(), match, name, mode, m.PerSecond, m.Burst, most)
			if !dry {
				b.WriteString(" -j DROP")
			}
			b.WriteByte('\n')
		}
	}
	if !some {
		return ""
	}
	if b.WriteString("COMMIT\n"); given.Len() > 0 {
		fmt.Fprintf(&b, "*mangle\n:%[1]s - [0:0]\n-A POSTROUTING -p udp -j %[1]s\n%[2]sCOMMIT\n", chain, given.String())
	}
	return b.String()
}

// u32 returns what compares the payload: in IPv4 behind the header as long as it says, in IPv6 behind one without extensions.
// A token is 0 or -1.
func u32(length uint32, start string, v6 bool, token uint8) string {
	at := func(offset int) string {
		return either(v6, fmt.Sprint(40+offset), fmt.Sprintf("0>>22&0x3c@%d", offset))
	}
	var list []string
	if length > 0 {
		list = append(list, fmt.Sprintf("%s&0xffff0000=0x%x0000", at(4), length+udpHeader))
	}
	prefix, _ := hex.DecodeString(start)
	for i := 0; i < len(prefix); i += 4 {
		var word, mask [4]byte
		for j := range copy(word[:], prefix[i:]) {
			mask[j] = 0xff
		}
		list = append(list, fmt.Sprintf("%s&0x%x=0x%x", at(udpHeader+i), mask, word))
	}
	if token > 0 {
		list = append(list, at(udpHeader+int(token))+"=0,0xffffffff")
	}
	return either(len(list) == 0, "", fmt.Sprintf(` -m u32 --u32 "%s"`, strings.Join(list, " && ")))
}

// Removal returns the commands that remove rules, however often they were loaded.
func Removal(format string, list []Remedy, at Place) string {
	if format == "nft" {
		return "nft delete table inet qdissect"
	}
	all := hooks[at]
	if slices.ContainsFunc(list, func(m Remedy) bool { return m.Grant != nil }) {
		all = append(slices.Clone(all), hook{table: "mangle", chain: "POSTROUTING"})
	}
	var commands []string
	for i, h := range all {
		commands = append(commands, fmt.Sprintf("while %s -t %s -D %s -p udp -j QDISSECT 2>/dev/null; do :; done", format, h.table, h.chain))
		if i+1 == len(all) || all[i+1].table != h.table {
			commands = append(commands, fmt.Sprintf("%[1]s -t %[2]s -F QDISSECT; %[1]s -t %[2]s -X QDISSECT", format, h.table))
		}
	}
	return strings.Join(commands, "; ")
}
