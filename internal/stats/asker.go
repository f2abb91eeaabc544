package stats

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// What makes a victim: so many times the bytes, or as many if its ports are below lowPorts, requests in its name per second, and per second and server if its
// ports may be those of a client, which are not below lowPorts, and if they change not below ephemeral.
const (
	leastFactor = 3
	leastRate   = 10
	leastEach   = 0.2
	lowPorts    = 1024
	ephemeral   = 10_000
	// leastReflectors is how many servers reply to a victim that asked none of them.
	leastReflectors = 3
	// leastVictims is how many addresses of a network are victims together, each with leastOf requests.
	leastVictims = 8
	leastOf      = 5
)

// A victim is an address, or a network, to which servers send what it did not ask for.
type victim struct {
	who      string
	clients  []*entry[client]
	requests uint64
	in, out  uint64
	from, to int64
	pauses   int64 // how long nothing came in between
	servers  uint64
	there    bool // the capture is at the victim: it has no requests in its name
	doubtful bool // it may be a client that asks too often
}

func (v *victim) seconds() float64 { return max(float64(v.to-v.from-v.pauses)/1e9, 1) }

func (v *victim) rate() float64 { return float64(v.requests) / v.seconds() }

// sole reports whether a client sends nearly always the same request of each protocol without any proof.
func (r *reporting) sole(c *client, least uint64) bool {
	return c.requests >= least && c.proven == 0 && 10*c.challenged <= c.requests && totalOf(c.kinds[:], func(k kindCount) float64 {
		return either(slices.ContainsFunc(c.kinds[:], func(o kindCount) bool {
			return k.n > 0 && o.n >= k.n && o.kind != k.kind && r.a.kinds[o.kind-1].protocol == r.a.kinds[k.kind-1].protocol
		}), 0, float64(k.n))
	}) >= 0.9*float64(c.requests)
}

// wants returns what a client asks for, most often if that is several things.
func (r *reporting) wants(c *client) string {
	k := c.favourite()
	if k == 0 {
		return "requests"
	}
	return r.a.kinds[k-1].many() + either(10*c.kindsOf(k) < 9*c.requests, " and others", "")
}

// gains reports whether a client gets far more than it sends.
func (c *client) gains() bool { return c.bytesOut >= leastFactor*c.bytesIn }

// kindsOf returns how many requests of a kind it sent.
func (c *past) kindsOf(kind uint16) uint64 {
	return uint64(cmp.Or(first(c.kinds[:], func(k kindCount) bool { return k.kind == kind }), new(kindCount)).n)
}

// findVictims finds the victims of reflections, where servers are and where the victims are.
func (r *reporting) findVictims() {
	nets := map[netip.Prefix][]*entry[client]{}
	var order []netip.Prefix
	for c := range each(r.a.clients.entries) {
		v := &c.v
		if r.asksAll(c) {
			continue // from all that replies
		}
		if x := r.victimOf(c); x != nil {
			r.victims = append(r.victims, *x)
		} else if s := v.strange; s != nil && s.unasked >= leastOften && s.reflectors() >= leastReflectors && !slices.ContainsFunc(r.servers, func(e *entry[server]) bool {
			return e.addr() == c.addr() && e.v.stray != nil && e.v.stray.in >= 10*s.unasked // of junk, a part looks like replies
		}) {
			x := victim{who: r.source(c), clients: []*entry[client]{c}, requests: s.unasked, out: s.bytes, from: s.first, to: s.last, servers: s.reflectors(), there: true}
			x.doubtful = r.o.OneSided && (x.rate() < float64(x.servers) || x.requests < leastOf*x.servers) // it may browse
			if x.rate() >= leastRate {
				r.victims = append(r.victims, x)
				continue
			}
		}
		if r.sole(v, leastOf) {
			p := netOf(c.addr(), 64)
			if nets[p] == nil {
				order = append(order, p)
			}
			nets[p] = append(nets[p], c)
		}
	}
	for _, p := range order {
		// Of a network that is a victim, only those count by themselves that are asked for far more often than others.
		slices.SortFunc(nets[p], byRequests)
		often := leastVictims * nets[p][len(nets[p])/2].v.requests
		x, shared, low := victim{who: r.network(p), doubtful: true}, true, true // by people behind the addresses of a NAT; from ports of no program
		for _, c := range nets[p] {
			if c.v.requests < often {
				x.clients = append(x.clients, c)
				x.add(&c.v)
				x.doubtful, shared, low = x.doubtful && c.v.mayBeReal(), shared && c.v.least > lowPorts && c.v.refused == 0, low && c.v.most < lowPorts
			}
		}
		x.doubtful = x.doubtful || shared && x.servers < leastReflectors && x.rate() < 5*eventLeast
		near := p.Addr().IsPrivate() && slices.ContainsFunc(r.servers, func(e *entry[server]) bool { return p.Contains(e.addr()) }) // a LAN party
		if !near && len(x.clients) >= either(low, 2, leastVictims) && x.out >= leastFactor*x.in && x.requests >= leastOften && x.rate() >= leastRate {
			r.victims = append(slices.DeleteFunc(r.victims, func(v victim) bool { return slices.Contains(x.clients, v.clients[0]) }), x)
		}
	}
	all := slices.Clone(r.victims)
	r.victims = slices.DeleteFunc(r.victims, func(v victim) bool { return r.oneOfMany(v, all) })
	slices.SortStableFunc(r.victims, func(a, b victim) int { return cmp.Or(cmp.Compare(b.out, a.out), cmp.Compare(a.who, b.who)) })
}

// oneOfMany reports whether as many as victims of a network are, or as many networks, from anywhere, ask the same one or two servers about as often at the
// same time: who attacks addresses uses many servers for each, and who attacks a server makes up a few addresses. That is an event of the server.
func (r *reporting) oneOfMany(v victim, all []victim) bool {
	if v.there || v.servers >= leastReflectors {
		return false
	}
	n, own := 0, &v.clients[0].v
	for o := range each(all) {
		if c := &o.clients[0].v; len(v.clients) > 1 && len(o.clients) > 1 && c.servers == own.servers && c.server == own.server && 2*overlap(v.from, v.to, o.from, o.to) > max(v.to-v.from, o.to-o.from) {
			n++
		}
	}
	if len(v.clients) > 1 {
		return n >= leastVictims
	}
	for e := range each(r.a.clients.entries) {
		o := &e.v
		if o.servers == own.servers && o.server == own.server && 2*o.requests > own.requests && r.sole(o, leastOf) && o.gains() && 2*overlap(v.from, v.to, o.first, o.last) > max(v.to-v.from, o.last-o.first) {
			n++
		}
	}
	return n >= leastVictims
}

func (v *victim) add(c *client) {
	if v.requests == 0 {
		v.from, v.to = c.first, c.last
	}
	v.requests += c.requests
	v.in += c.bytesIn
	v.out += c.bytesOut
	v.from, v.to = min(v.from, c.first), max(v.to, c.last)
	v.servers = max(v.servers, c.distinctServers())
}

// netOf returns the network of an address: /24, or what is given for IPv6.
func netOf(a netip.Addr, six int) netip.Prefix {
	if a.Is4() {
		six = 24
	}
	p, _ := a.Prefix(six)
	return p
}

// opens reports whether a client asks few servers from changing ports, as a program that opens a socket for each request; a forger that changes ports takes
// any.
func (c *client) opens() bool {
	return c.distinctServers() < leastReflectors && c.most >= c.least && c.least > ephemeral && c.refused == 0 // the least is one more
}

// mayBeReal reports whether a client asks few servers from ports as programs have them, and refuses nothing.
func (c *client) mayBeReal() bool {
	return c.opens() || c.distinctServers() < leastReflectors && c.most < c.least && c.most >= lowPorts && c.refused == 0
}

// victimOf returns the victim that an address is in whose name servers are asked, nil if it may be a client.
func (r *reporting) victimOf(c *entry[client]) *victim {
	if r.o.OneSided || !r.sole(&c.v, leastOften) || !c.v.gains() && (c.v.most >= lowPorts || c.v.bytesOut < c.v.bytesIn) || c.v.opens() || slices.ContainsFunc(r.servers, func(e *entry[server]) bool {
		return c.v.asked(e.sum) && r.accepted(e, c.v.favourite(), c.v.within(r.a.first, r.a.last+1))
	}) {
		return nil
	}
	x := &victim{who: r.source(c), clients: []*entry[client]{c}, doubtful: c.v.mayBeReal()}
	x.add(&c.v)
	if first, last, pauses := c.v.busy(x.from, x.to); last > first {
		x.from, x.to, x.pauses = first, last, pauses
	}
	// A browser asks each server of a list once or twice.
	low := c.v.most < lowPorts || c.v.refused > 0
	if x.rate() < leastRate || !low && (x.rate() < leastEach*float64(x.servers) || x.requests < leastOf*x.servers) {
		return nil
	}
	// Monitors ask each server every few seconds, and a NAT that people share takes any port from lowPorts on.
	x.doubtful = x.doubtful || !low && x.rate() < max(float64(x.servers), either[float64](c.v.least > lowPorts && x.servers < leastReflectors, eventLeast, 0))
	return x
}

// busy returns when a client sent nearly all that it sent in a time, and for how long it paused; 0 if that is not known.
func (c *client) busy(from, to int64) (first, last, pauses int64) {
	if c.cells == nil {
		return 0, 0, 0
	}
	first, last = to, from
	sum, busy := 0.0, int64(0)
	for s, t := range c.cells.surges(from, to, 0, func(c *cell) uint64 { return c.requests }) {
		first, last = min(first, t[0]), max(last, t[1])
		busy, sum = busy+t[1]-t[0], sum+s.excess()
	}
	if sum < 0.9*float64(c.requests) {
		return 0, 0, 0
	}
	return first, last, max(last-first-busy, 0)
}

// reflected says that servers are abused to attack others.
func (r *reporting) reflected() {
	for x := range each(r.victims) {
		c := &x.clients[0].v
		servers := r.serversOf(c)
		known := servers[:min(len(servers), int(x.servers))]
		where := either(x.servers > 1 && int(x.servers) != len(servers), about(x.servers)+" servers", list(known)) // neither is exact
		v := Verdict{Kind: Reflection, Certainty: Likely, From: instant(x.from), To: instant(x.to)}
		if len(x.clients) == 1 {
			v.Sources = []string{x.who}
		} else {
			v.Network = x.who
		}
		if x.there {
			v.Certainty = either(x.doubtful, Possible, Likely)
			v.Text = fmt.Sprintf("Reflection to %s: %s (%s, %s per second) in %s %s, from %s servers. Somebody asks these in its name%s.",
				x.who, count(x.requests, "reply", "replies"), FormatSize(x.out), rounded(x.rate()), r.partOf(x.seconds(), x.from, x.to), either(x.doubtful, "to no request in the capture", "that it did not ask for"),
				about(x.servers), either(x.doubtful, ", or it asks many servers itself, and one direction was captured", ""))
			v.Advice = "Have the provider drop what comes from the port of these servers, and tell their operators; the address itself can do nothing."
			v.Doubt = "a capture at one of these servers, which has the forged requests, would make it certain"
			v.Evidence = Evidence{{"replies", float64(x.requests)}, {"servers", float64(x.servers)}, {"bytes_out", float64(x.out)}, {"replies_per_second", round(x.rate(), 1)}}
			r.say(v)
			continue
		}
		factor := float64(x.out) / float64(max(x.in, 1))
		what := r.wants(c)
		if v.Servers = known; len(known) == 1 {
			v.Server = known[0]
		}
		from, whose := "in its name", either(len(x.clients) > 1, "The addresses are forged: they are the victims.", "The address is forged: it is the victim.")
		v.Advice = "Limit these requests per address (qdissect rules prints the rule): that stops the amplification, and little else is lost, because the address is the victim's."
		if !slices.ContainsFunc(r.Limits.PerAddress, func(l Limit) bool { return l.Best }) {
			v.Advice = either(v.Network != "", "Limit these requests per network of the victims, or drop them while it lasts: each address asks too seldom for a limit per address.", "Drop what asks in its name while it lasts: each server is asked too seldom for a limit per address.")
		}
		if x.doubtful {
			v.Advice = "Limit these requests per address (qdissect rules prints the rule): it is right in both cases."
			v.Certainty, from = Possible, "from it"
			if whose = "Either the address is forged, and it is the victim, or it asks too often itself: this request needs no proof."; len(x.clients) > 1 {
				whose = "Either its addresses are forged, and they are the victims, or they ask too often themselves: this request needs no proof."
			}
		}
		v.Text = fmt.Sprintf("Reflection at %s: %s %s in %s (%s per second) made %s send it %s, %s times what came. %s",
			x.who, number(x.requests)+" "+what, from, r.partOf(x.seconds(), x.from, x.to), rounded(x.rate()), where, FormatSize(x.out), decimals(factor), whose)
		v.Doubt = either(c.refused > 0, "", "ICMP errors from that address, or its operator, would make it certain")
		v.Because = []string{fmt.Sprintf("it sends %s and nothing else", either(strings.HasSuffix(what, " and others"), "one kind of requests of each protocol", what)), "it never proves that it hears the replies", either(c.gains() || c.most >= lowPorts, fmt.Sprintf("it gets %s times what it sends", decimals(factor)), "its requests come from ports below 1,024, as no program's do")}
		v.Evidence = Evidence{
			{"requests", float64(x.requests)}, {"requests_per_second", round(x.rate(), 1)}, {"seconds", round(x.seconds(), 1)}, {"servers", float64(x.servers)},
			{"bytes_in", float64(x.in)}, {"bytes_out", float64(x.out)}, {"factor", round(factor, 2)},
		}
		if c.refused > 0 {
			v.Certainty = Certain
			v.Evidence = append(v.Evidence, Number{"icmp_errors", float64(c.refused)})
		}
		r.say(v)
	}
}

// standsForAll reports whether all clients of a server come as one, by the address of Docker's proxy or of a gateway that translates sources (SNAT).
func standsForAll(c *entry[client], e *entry[server]) bool {
	return standsForMany(c) && e.v.sources().Count == 1
}

// standsForMany reports whether a client may be such a proxy or gateway.
func standsForMany(c *entry[client]) bool {
	return c.v.most >= c.v.least && gateway(c.addr()) // the least is one more
}

// A group is a set of clients that ask servers too often.
type group struct {
	clients  []*entry[client]
	servers  []*entry[server]
	requests float64
	from, to int64
	times    [][2]int64 // in which they did
	real     bool
}

// seconds returns how long the times of a group are together.
func (g *group) seconds() float64 {
	slices.SortFunc(g.times, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	sum, end := int64(0), int64(math.MinInt64)
	for _, t := range g.times {
		sum += max(t[1]-max(t[0], end), 0)
		end = max(end, t[1])
	}
	return max(float64(sum)/1e9, 1)
}

// findGreedy collects clients that ask too often: those of events, and those that do so all the time.
func (r *reporting) findGreedy() {
	r.greedy = map[*entry[client]]bool{}
	told := map[*entry[client]]float64{} // requests
	for ev := range each(r.events) {
		if ev.clients != nil && standsForAll(ev.clients[0], ev.server) {
			ev.clients = either(ev.nature == real || ev.requests < leastCrowd, ev.clients, nil) // who asks is not seen here
		} else if ev.clients != nil {
			for _, p := range ev.apart() {
				r.group(p, ev.server, ev.nature == real)
				for _, c := range p.clients {
					told[c] += c.v.during(p.from, p.to+1) / float64(max(len(r.asksAlike(&c.v)), 1))
				}
			}
		}
	}
	for _, e := range r.servers {
		r.oftenAt(e, true, false, told)
		r.oftenAt(e, false, false, told)
		r.oftenAt(e, true, true, told)
	}
	for g := range each(r.groups) { // at some servers, and at the ends of a time, they are not above all others
		all, only := 0.0, true
		for _, c := range g.clients {
			all += c.v.during(g.from-int64(time.Second), g.to+int64(time.Second))
			only = only && (c.v.distinctServers() <= uint64(len(g.servers)) || r.asksOnly(&c.v, g.servers))
		}
		if only || 0.75*all <= g.requests { // it may be more than all, as times may overlap
			g.requests = all
		}
	}
	for ev := range each(r.events) { // what they send in a flood is not of it
		for g := range each(r.groups) {
			if !g.real && ev.nature == unasked && ev.clients == nil && slices.Contains(g.servers, ev.server) {
				_, excess := r.sentOf(ev, g.clients, r.events)
				part := max(1-excess/ev.requests, 0.2)
				ev.requests, ev.in, ev.out = part*ev.requests, part*ev.in, part*ev.out
				ev.sources = min(ev.sources, ev.requests)
			}
		}
	}
	r.events = slices.DeleteFunc(r.events, func(ev event) bool { // hardly anything is left
		return ev.nature == unasked && ev.requests < eventLeast*min(ev.seconds(), eventTime)
	})
}

// group adds what clients sent to a server to those that ask too often.
func (r *reporting) group(p group, e *entry[server], real bool) {
	for _, c := range p.clients {
		r.greedy[c] = true
	}
	real = real || r.accepted(e, p.clients[0].v.favourite(), p.requests)
	for g := range each(r.groups) {
		if g.real == real && sameHosts(g.clients, p.clients) {
			if !slices.Contains(g.servers, e) {
				g.servers = append(g.servers, e)
			}
			g.clients = append(g.clients, slices.DeleteFunc(slices.Clone(p.clients), func(c *entry[client]) bool { return slices.Contains(g.clients, c) })...)
			g.requests += p.requests
			g.from, g.to, g.times = min(g.from, p.from), max(g.to, p.to), append(g.times, [2]int64{p.from, p.to})
			return
		}
	}
	r.groups = append(r.groups, group{p.clients, []*entry[server]{e}, p.requests, p.from, p.to, [][2]int64{{p.from, p.to}}, real})
}

// oftenAt adds those that ask a server too often for as long as they ask: with proof or without, or many with proof together. told counts the requests
// of clients that are in groups already.
func (r *reporting) oftenAt(e *entry[server], real, many bool, told map[*entry[client]]float64) {
	var few []*entry[client]
	sum, all, from, to := 0.0, 0.0, r.a.last, r.a.first
	for _, c := range r.clients {
		if n := c.v.paceAt(e, many); n > 0 && float64(e.v.requests) >= 0.9*n && 2*told[c] < float64(c.v.requests) && !(many && r.greedy[c]) && !standsForAll(c, e) && (c.v.proven > 0) == real && r.home(e) && (real || r.openly(c, e, n)) {
			few, sum, all = append(few, c), sum+n, all+float64(c.v.requests)
			from, to = min(from, c.v.first), max(to, c.v.last)
		}
	}
	opens := func(c *entry[client]) bool { return r.sole(&c.v, leastOften) && c.v.gains() && c.v.opens() } // that it is no victim is told by its ports alone
	if len(few) == 0 || !real && all < eventLeast*float64(to-from)/1e9 && !slices.ContainsFunc(few, opens) || many && (len(few) <= mostGreedy || 2*sum < float64(e.v.proved[proven].Requests+e.v.proved[vouched].Requests)) {
		return
	}
	if i := slices.IndexFunc(r.groups, func(g group) bool {
		return g.real == real && len(g.servers) == 1 && g.servers[0] == e && 5*overlap(from, to, g.from, g.to) > 4*max(to-from, g.to-g.from)
	}); i >= 0 {
		g := &r.groups[i] // others ask more, at the same time
		g.clients, g.requests = slices.Concat(g.clients, few), g.requests+sum
		for _, c := range few {
			r.greedy[c] = true
		}
		return
	}
	for _, p := range (&event{clients: few, theirs: sum, from: from, to: to}).apart() {
		r.group(p, e, real)
	}
}

// accepted reports whether a server answered so many requests with challenges that it gave before the capture. It asks for challenges, because other
// clients return those of the capture, and would refuse what a forger makes up. The kind of the requests is its index plus one.
func (r *reporting) accepted(e *entry[server], kind uint16, n float64) bool {
	return slices.ContainsFunc(e.v.more.known(), func(q *kindSeries) bool {
		return q.kind == kind && q.proves() && min(float64(r.a.kinds[kind-1].madeUp), 2*float64(q.given)) >= mostOf*n
	})
}

// asksOnly reports whether a client asks servers alone, and others less often than it asks on average.
func (r *reporting) asksOnly(c *client, servers []*entry[server]) bool {
	n := len(r.asksAlike(c))
	return n > 0 && n <= len(servers)
}

// apart returns the clients of an event in groups, one unless they are few and some ask at another time than others.
func (e *event) apart() (list []group) {
	whole := []group{{clients: e.clients, requests: e.theirs, from: e.from, to: e.to}}
	if len(e.clients) > mostGreedy {
		return whole
	}
	alone := true // they ask no other server, and when they ask is known: the event may be longer, or shorter
	for _, c := range e.clients {
		from, to := max(c.v.first, e.from), min(c.v.last, e.to)
		first, last, pauses := c.v.busy(c.v.first, c.v.last)
		sure := last > first && 4*pauses < last-first
		if alone = alone && sure && c.v.distinctServers() == 1; sure {
			from, to = first, last // the event may be where two overlap, or have others as well
		}
		n := c.v.within(from, to+1)
		i := slices.IndexFunc(list, func(g group) bool { return 2*overlap(from, to, g.from, g.to) > max(to-from, g.to-g.from) })
		if i < 0 {
			list, i = append(list, group{from: from, to: to}), len(list)
		}
		g := &list[i]
		g.clients, g.requests, g.from, g.to = append(g.clients, c), g.requests+n, min(g.from, from), max(g.to, to)
	}
	return either(len(list) == 1 && (!alone || 10*overlap(list[0].from, list[0].to, e.from, e.to) >= 9*max(list[0].to-list[0].from, e.to-e.from)), whole, list)
}

// openly reports whether a client that proves nothing asks a server n times, and for itself: it hears replies, is no victim, and no event explains it. Of a
// list, monitors and trackers ask more often than of a server.
func (r *reporting) openly(c *entry[client], e *entry[server], n float64) bool {
	v := &c.v
	if list := r.mayAsk(v, n); uint64(len(list)) > v.distinctServers() || !slices.Contains(list, e) {
		return false
	}
	if k := v.favourite(); k > 0 {
		if t := r.a.kinds[k-1].of; t != nil && t.Purpose&dissect.ServerList != 0 && n < eventLeast*float64(v.last-v.first)/1e9 {
			return false
		}
	}
	within := 0.0
	for i := range r.events {
		if ev := &r.events[i]; ev.server == e && ev.nature != real {
			if n := v.during(ev.from, ev.to); n*ev.sources < farMore*ev.requests {
				within += n
			}
		}
	}
	return v.class() != never && !r.isVictim(c) && within < 0.4*float64(v.requests)
}

// farMore is how many times as much as others of a flood a client sends that is not one of them.
const farMore = 20

// paceAt returns how many requests a client sent to a server, 0 unless that is too often for as long as it asks, maybe as one of many.
func (c *client) paceAt(e *entry[server], many bool) float64 {
	if !c.asked(e.sum) {
		return 0
	}
	n, seconds := float64(c.requests)/float64(max(c.distinctServers(), 1)), max(float64(c.last-c.first)/1e9, eventTime)
	fast := n >= peakOften*seconds && (many || n >= leastOften)
	all := float64(c.requests)
	often := n >= leastOften && (many || all >= eventLeast*seconds) || n >= oftenEach && all >= max(peakOften*leastOften, peakOften*peakOften*seconds) // so much that a part of it tells
	return either(fast || often && n >= programOften*seconds, n, 0)
}

// hostsOf returns the hosts that clients are: each address of IPv4, and each network of IPv6, of which a host has many addresses.
func hostsOf(list []*entry[client]) map[netip.Prefix]bool {
	set := map[netip.Prefix]bool{}
	for _, c := range list {
		p, _ := c.addr().Prefix(either(c.addr().Is4(), 32, 64))
		set[p] = true
	}
	return set
}

func sameHosts(a, b []*entry[client]) bool { return maps.Equal(hostsOf(a), hostsOf(b)) }

// mostSources is how many sources a verdict lists.
const mostSources = 10

// tooOften says that clients with real addresses ask too often.
func (r *reporting) tooOften() {
	for g := range each(r.groups) {
		sources, servers := r.names(g.clients), nettext.Each(g.servers, r.address)
		out := totalOf(g.clients, func(c *entry[client]) float64 { return float64(c.v.bytesOut) })
		what, kind, title, tcp := r.wants(&g.clients[0].v), GreedyClients, "Greedy", false
		if k := g.clients[0].v.favourite(); k > 0 {
			tcp = r.a.kinds[k-1].tcp
			if t := r.a.kinds[k-1].of; t != nil && t.Purpose&dissect.ServerList != 0 && g.real {
				kind, title = ListHammering, "List hammering"
			}
		}
		seconds := g.seconds()
		who := either(len(g.clients) > 1, fmt.Sprintf("%s clients (%s and others) ask", number(uint64(len(g.clients))), sources[0]), sources[0]+" asks")
		n, whom := float64(len(g.clients)), list(servers)
		if asked := g.clients[0].v.distinctServers(); n == 1 && (len(servers) > manyServers || len(servers) > 1 && asked >= 2*uint64(len(servers))) && g.requests >= float64(g.clients[0].v.requests) {
			whom = about(asked) + " servers" // at some it is not above others, and others have the same bits
		}
		questions := totalOf(g.clients, func(c *entry[client]) float64 { return c.v.asksFor() }) / n * g.requests
		alike, fast, few := n >= mostGreedy && alikeClients(g.clients), questions >= programOften*seconds*n || r.began(g), g.fewReturned() != ""
		host := len(g.clients) > 1 && g.clients[0].addr().Is6() && len(hostsOf(g.clients)) == 1 && !netOf(g.servers[0].addr(), 64).Contains(g.clients[0].addr())
		if net := r.network(netOf(g.clients[0].addr(), 64)); host {
			who, alike = fmt.Sprintf("%s addresses of %s, probably one host, ask", number(uint64(len(g.clients))), net), false
		}
		v := Verdict{
			Kind: kind, Certainty: Certain, Servers: servers, Sources: sources, From: instant(g.from), To: instant(g.to),
			Text: fmt.Sprintf("%s: %s %s %s times per second: %s %s in %s, %s of all requests. %s", title, who, whom, rounded(g.requests/seconds), number(nearest(g.requests)), what,
				r.partOf(seconds, g.from, g.to), percent(g.requests/float64(r.Totals.Requests)), g.proof(alike, fast, tcp, r.o.OneSided)),
			Advice: "Limit requests per address (qdissect rules prints the rule), unless many players share that one (a NAT); or ask its operator to ask less often.",
			Evidence: Evidence{
				{"sources", float64(len(g.clients))}, {"requests", round(g.requests, 0)}, {"requests_per_second", round(g.requests/seconds, 1)},
				{"peak_requests_per_second", float64(min(g.peak(), int64(r.Timeline.Peak)))}, {"seconds", round(seconds, 1)}, {"share_of_requests", round(g.requests/float64(r.Totals.Requests), 4)}, {"bytes_out", out},
			},
		}
		if g.accepted() && !tcp {
			v.Certainty, v.Doubt = Likely, "the challenges, which came before the capture, would make it certain"
		}
		if len(g.clients) > 1 {
			v.Advice = either(host, "Limit requests per network (/64): a limit per address does not stop a host that has many.", "Limit requests per address (qdissect rules prints the rule)"+either(alike, ".", ", unless many players share these (proxies in front of the server, NATs)."))
		}
		if alike && g.real && !fast {
			v.Advice = "Ask who makes the program to let it ask less often: a limit per address keeps its users from the server."
		} else if alike && !few {
			v.Because = []string{"botnet: all ask the same at the same pace"}
			v.Evidence = append(v.Evidence, Number{"botnet", 1})
		}
		if !g.real {
			if v.Certainty, v.Doubt = Possible, "this request needs no proof: the address may be forged, and then it is the victim"; r.o.OneSided {
				v.Doubt = "replies, which are not in the capture, would tell: the address may be forged, and then it is the victim"
			}
		}
		if few && !tcp {
			v.Certainty, v.Doubt = Possible, "a capture at one of these addresses would tell whether it asks"
			v.Advice = "Do not block " + either(n == 1, "that address", "these addresses") + ": limit requests without a challenge per address, and let those pass that carry one."
		}
		if len(servers) == 1 {
			v.Server = servers[0]
		}
		if c, e := g.clients[0], g.servers[0]; !g.real && c.addr() == e.addr() && c.v.most == e.Port && c.v.least == c.v.most+1 {
			v.Kind, v.Certainty, v.Doubt = ForgedFlood, Likely, ""
			v.Text = fmt.Sprintf("Forged flood at %s: %s %s in %s (%s per second) have its own address and port as their source. It does not ask itself: somebody else sends them.",
				servers[0], number(nearest(g.requests)), what, r.partOf(seconds, g.from, g.to), rounded(g.requests/seconds))
			v.Advice = "Drop what comes from outside with an address of your own as its source."
		}
		if c := &g.clients[0].v; !g.real && len(g.clients) == 1 && v.Kind == GreedyClients && uint64(c.refused) >= leastErrors && 10*uint64(c.refused) >= c.replies {
			v.Kind, v.Certainty, v.Doubt = Reflection, Likely, "its operator would make it certain"
			v.Text = fmt.Sprintf("Reflection at %s: %s %s in its name in %s (%s per second) made %s send it %s. Its host says by ICMP that nothing listens there: it did not ask, and is the victim.",
				sources[0], number(nearest(g.requests)), what, r.partOf(seconds, g.from, g.to), rounded(g.requests/seconds), list(servers), FormatSize(uint64(out)))
			v.Advice = "Limit these requests per address (qdissect rules prints the rule): little else is lost, because the address is the victim's."
			v.Evidence = append(v.Evidence, Number{"icmp_errors", float64(c.refused)})
		}
		r.say(v)
	}
}

// peak returns an upper bound of the requests that the clients sent in one second: the sum of the peaks of those that asked at the same time.
func (g *group) peak() (most int64) {
	var turns [][2]int64 // when one begins or ends, and its peak
	for _, c := range g.clients {
		from, to := floorDiv(c.v.first, int64(time.Second)), floorDiv(c.v.last, int64(time.Second))+1
		turns = append(turns, [2]int64{from, int64(c.v.peak)}, [2]int64{to, -int64(c.v.peak)})
	}
	slices.SortFunc(turns, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	now := int64(0)
	for _, t := range turns {
		now += t[1]
		most = max(most, now)
	}
	return most
}

// began reports whether nearly all clients came at one time, as no people do, after a capture had begun.
func (r *reporting) began(g *group) bool {
	came := nettext.Each(g.clients, func(c *entry[client]) int64 { return c.v.first })
	slices.Sort(came)
	first, most := came[len(came)/20], came[len(came)-1-len(came)/20]
	return 10*(most-first) <= g.to-g.from && first-r.a.first > 3*max(most-first, int64(time.Second))
}

// accepted reports whether a server accepted challenges of all that it gave before the capture, or does not check them.
func (g *group) accepted() bool {
	return g.real && !slices.ContainsFunc(g.clients, func(c *entry[client]) bool { return c.v.proven > 0 })
}

// fewReturned says that clients return few of the challenges that they get: somebody else may ask in the names of people who do.
func (g *group) fewReturned() string {
	sum := func(of func(c *client) uint64) uint64 {
		return nearest(totalOf(g.clients, func(c *entry[client]) float64 { return float64(of(&c.v)) }))
	}
	returned, given := sum(func(c *client) uint64 { return c.proven }), sum(func(c *client) uint64 { return c.challenged })
	text := either(len(g.clients) == 1, "It returns %s of the %s that it got: either it asks too often, or somebody asks in its name.", "They return %s of the %s that they got: either they ask too often, or somebody asks in their names.")
	return either(g.real && returned > 0 && 4*returned < given, fmt.Sprintf(text, number(returned), count(given, "challenge", "challenges")), "")
}

// proof says whether the addresses are real.
func (g *group) proof(alike, fast, tcp, oneSided bool) string {
	one := len(g.clients) == 1
	sure := either(one, "It returns challenges%s: the address is real%s", "They return challenges%s: the addresses are real%s")
	sure = fmt.Sprintf(sure, either(g.accepted(), " of before the capture", ""), either(g.accepted(), ", unless the server accepts any", ""))
	switch {
	case tcp:
		return "That is over TCP, which proves addresses."
	case g.fewReturned() != "":
		return g.fewReturned()
	case g.real && alike:
		return sure + ", and all do the same at the same pace: " + either(fast, "a botnet, or one program on many machines.", "one program on many machines, such as a list of servers that people keep open, or a botnet.")
	case oneSided && !g.real:
		return "One direction does not tell whether that is real, or forged by somebody else."
	case alike:
		return "They need not prove that the addresses are their own, and all do the same at the same pace: forged, a botnet, or one program on many machines."
	case g.real:
		return sure + "."
	case one:
		return "Either it asks too often, or somebody asks in its name, and it is the victim: this request needs no proof."
	}
	return "Either they ask too often, or somebody asks in their names, and they are the victims: this request needs no proof."
}

// alikeClients reports whether clients ask for the same at the same pace.
func alikeClients(list []*entry[client]) bool {
	counts := nettext.Each(list, func(c *entry[client]) float64 { return float64(c.v.requests) })
	slices.Sort(counts)
	other := func(c *entry[client]) bool { return c.v.favourite() != list[0].v.favourite() }
	return !slices.ContainsFunc(list, other) && counts[len(counts)*9/10] < 1.5*counts[len(counts)/10]
}

// What makes a scanner: so many servers, and so many requests without a reply.
const (
	manyServers = 20
	mostHeard   = 0.85
)

// scans reports whether a client asks many servers of which many do not reply. Browsers and monitors ask those that do, and monitors again
// and again.
func (r *reporting) scans(c *entry[client]) bool {
	v, n := &c.v, c.v.distinctServers()
	heard := mostHeard * float64(v.requests)
	if v.requests >= leastJudged*n {
		heard /= 2
	}
	return n >= manyServers && float64(v.replies) < heard && 10*r.a.cuts < v.requests && !r.o.OneSided && !r.isVictim(c) // what is cut may be replies
}

// watches reports whether a client asks a server again and again, for as long as it asks many servers.
func (r *reporting) watches(c *entry[client], v *server) bool {
	unread := v.heard != nil && v.heard.unread > 0 // these may be replies
	return c.v.distinctServers() >= manyServers && v.requests >= leastJudged && 2*(v.last-v.first) >= c.v.last-c.v.first && !unread && !r.scans(c) && !r.isVictim(c)
}

func (r *reporting) isVictim(c *entry[client]) bool {
	return slices.ContainsFunc(r.victims, func(v victim) bool { return slices.Contains(v.clients, c) })
}

// scanners says that sources ask very many servers. Of many, it says what they do together.
func (r *reporting) scanners() {
	const mostSaid = 8
	all := slices.DeleteFunc(slices.Clone(r.clients), func(c *entry[client]) bool {
		return !r.scans(c) || c.v.replies == 0 && slices.ContainsFunc(r.servers, func(e *entry[server]) bool { return e.addr() == c.addr() && e.v.replies >= c.v.requests }) // some replies look like requests
	})
	if len(all) > mostSaid {
		r.manyScanners(all)
		return
	}
	for _, c := range all {
		v := &c.v
		n, s := v.distinctServers(), time.Duration(v.last-v.first)
		heard := either(v.challenged > 0, "It never returns a challenge.", "No server gave it a challenge.")
		heard = either(v.proven > 0, "It returns challenges: the address is real.", heard)
		r.say(Verdict{
			Kind: Scanner, Certainty: Likely, Sources: []string{r.source(c)}, From: instant(v.first), To: instant(v.last),
			Text: fmt.Sprintf("Scanner%s: %s asks %s %s: %s requests in %s (%s per second), with %s. %s", either(4*v.replies >= v.requests, " or server browser", ""),
				r.source(c), about(n), r.targets(c), number(v.requests), r.span(v.first, v.last), rounded(float64(v.requests)/max(s.Seconds(), 1)), count(v.replies, "reply", "replies"), heard),
			Advice: "It does no harm at this rate: those who look for servers do the same; block the address if it is unwanted.",
			Evidence: Evidence{
				{"servers", float64(n)}, {"requests", float64(v.requests)}, {"replies", float64(v.replies)}, {"replies_by_requests", round(float64(v.replies)/float64(v.requests), 3)}, {"seconds", round(s.Seconds(), 1)},
			},
		})
	}
}

// manyScanners says what scanners do together.
func (r *reporting) manyScanners(all []*entry[client]) {
	sum, replies, servers := victim{}, uint64(0), all[len(all)/2].v.distinctServers()
	for _, c := range all {
		sum.add(&c.v)
		replies += c.v.replies
	}
	what, sources := r.targets(all[0]), r.names(all)
	if what != r.targets(all[len(all)-1]) {
		what = "servers"
	}
	r.say(Verdict{
		Kind: Scanner, Certainty: Likely, Sources: sources, From: instant(sum.from), To: instant(sum.to),
		Text: fmt.Sprintf("Scanners%s: %s addresses, such as %s, ask %s %s each: %s requests in %s (%s per second), with %s.",
			either(4*replies >= sum.requests, " or server browsers", ""), number(uint64(len(all))), sources[0], about(servers), what, number(sum.requests), r.span(sum.from, sum.to), rounded(sum.rate()), count(replies, "reply", "replies")),
		Advice:   "They do no harm at this rate: those who look for servers do the same; block the addresses if they are unwanted.",
		Evidence: Evidence{{"scanners", float64(len(all))}, {"servers", float64(servers)}, {"requests", float64(sum.requests)}, {"replies", float64(replies)}, {"seconds", round(sum.seconds(), 1)}},
	})
}

// leastCarpet is how many addresses of a network are asked, and never reply, in a carpet, with leastSpread requests of several sources.
const (
	leastCarpet = 16
	leastSpread = 500
)

// A carpet is a time in which a whole network is attacked, of which most addresses have no server.
type carpet struct {
	network           netip.Prefix
	silent            int // addresses that never replied
	requests, sources float64
	least             bool // there may be far more sources
	from, to          int64
}

func (c *carpet) rate() float64 { return c.requests / max(float64(c.to-c.from)/1e9, 1) }

// findCarpets finds the carpets.
func (r *reporting) findCarpets() {
	nets := map[netip.Prefix][]*entry[server]{}
	var order []netip.Prefix
	for e := range each(r.a.servers.entries) {
		if e.v.replies > 0 || e.v.sources().Count < 2 || r.toAll(e) {
			continue // what only one source asks may be scanned
		}
		p := netOf(e.addr(), 120)
		if nets[p] == nil {
			order = append(order, p)
		}
		nets[p] = append(nets[p], e)
	}
	for _, p := range order {
		if len(nets[p]) >= leastCarpet {
			r.carpets = append(r.carpets, r.carpetsAt(oneHost(p, nets[p]), nets[p])...)
		}
	}
	if len(r.carpets) == 0 {
		r.scattered()
	}
	for ev := range each(r.events) { // what comes to a server of the network is of the carpet, unless far more comes than to the others
		ev.carpet = ev.nature != real && slices.ContainsFunc(r.carpets, func(c carpet) bool {
			each := c.rate() / float64(c.silent)
			return c.network.Contains(ev.server.addr()) && 2*overlap(ev.from, ev.to, c.from, c.to) > ev.to-ev.from && ev.level() < eventFactor*each+eventLeast
		})
	}
}

// oneHost returns the network of the host of nearly all of a list, which are ports of it, or else another one.
func oneHost[T any](p netip.Prefix, list []*entry[T]) netip.Prefix {
	n := map[netip.Addr]int{}
	for _, e := range list {
		if n[e.addr()]++; 10*n[e.addr()] > 9*len(list) {
			return netip.PrefixFrom(e.addr(), e.addr().BitLen())
		}
	}
	return p
}

// carpetsAt returns the carpets at addresses of a network that never replied, as far as it is known when these were asked.
func (r *reporting) carpetsAt(p netip.Prefix, list []*entry[server]) (found []carpet) {
	whole := carpet{network: p, silent: len(list), from: r.a.last, to: r.a.first}
	var sum pulses
	sum.of(8*mostTicks, nil)
	for _, e := range list {
		whole.requests += float64(e.v.requests)
		n := e.v.sources()
		whole.sources, whole.least = whole.sources+float64(n.Count), whole.least || n.Percent >= 100
		whole.from, whole.to = min(whole.from, e.v.first), max(whole.to, e.v.last)
		if e.v.more != nil || widths[e.v.times().width] <= shortest { // other times are too wide
			sum.merge(e.v.pulses)
		}
	}
	seen := totalOf(sum.buckets, func(p pulse) float64 { return float64(p.asked) })
	for s, t := range sum.surges(whole.from, whole.to, 0, func(p *pulse) uint64 { return uint64(p.asked) }) {
		c := whole
		c.from, c.to = t[0], t[1]
		// Scanners are known longer than others: the timeline says how many it is in all.
		c.requests = min(max(s.excess()/seen*whole.requests, r.unansweredIn(c.from, c.to)), whole.requests)
		c.sources = min(whole.sources, c.requests)
		if c.requests >= leastSpread && c.sources >= c.requests/10 {
			found = append(found, c)
		}
	}
	return found
}

// scattered finds carpets over more addresses than the table of servers holds: what no server that is known and no scanner explains.
func (r *reporting) scattered() {
	rest, counted := r.Totals.Unanswered, uint64(leastSpread)
	for e := range each(r.a.servers.entries) {
		if e.v.replies > 0 || e.v.requests >= leastWell {
			rest -= min(rest, e.v.fates.missed())
		} else {
			counted += e.v.fates.missed()
		}
	}
	for e := range each(r.a.clients.entries) {
		if e.v.distinctServers() >= manyServers {
			rest -= min(rest, less(e.v.requests, e.v.replies))
		}
	}
	if rest < counted || 10*rest < r.Totals.Requests {
		return
	}
	for s, t := range r.moments.surges(r.a.first, r.a.last, 0, func(m *moment) uint64 { return m.unanswered }) {
		c := carpet{silent: maxServers, from: t[0], to: t[1], requests: min(s.excess(), float64(rest))}
		c.sources = min(float64(r.Totals.Addresses.Count), c.requests)
		if c.requests >= leastSpread && c.sources >= c.requests/10 {
			r.carpets = append(r.carpets, c)
		}
	}
}

// unansweredIn returns how many requests without a reply came in a time, without what is usual.
func (r *reporting) unansweredIn(from, to int64) float64 {
	of := func(m *moment) uint64 { return m.unanswered }
	in, length := r.moments.within(from, to, of), r.moments.within(from, to, func(*moment) uint64 { return 1 })
	out := r.moments.within(math.MinInt64, math.MaxInt64, of) - in
	return in - out/max(float64(len(r.moments.buckets))-length, 1)*length
}

// sayCarpets says that whole networks are attacked.
func (r *reporting) sayCarpets() {
	for c := range each(r.carpets) {
		network, where, host, at := "", "", c.network.IsSingleIP(), "addresses and ports"
		of, whole := "more than "+count(uint64(c.silent), "address and port", at), "whole networks are, or all ports of a host are,"
		if c.network.IsValid() {
			network, of, whole = r.network(c.network), count(uint64(c.silent), either(host, "port", "address"), either(host, "ports", "addresses"))+" of it", either(host, "the whole host is", "the whole network is")
			where, at = " at "+either(host, r.host(c.network.Addr()).String(), network), either(host, "ports of it", "addresses of the network")
		}
		requests, sources, seconds := nearest(c.requests), nearest(c.sources), max(float64(c.to-c.from)/1e9, 1)
		r.say(Verdict{
			Kind: Carpet, Certainty: Likely, Network: network, From: instant(c.from), To: instant(c.to),
			Text: fmt.Sprintf("Carpet flood%s: %s to %s that never replied, in %s (%s per second) from %s %s. Nobody looks for servers there: %s the target.",
				where, count(requests, "request", "requests"), of, r.span(c.from, c.to), rounded(c.rate()), either(c.least, "at least", "about"), count(sources, "address", "addresses"), whole),
			Advice:   "Drop at the border what goes to " + at + " that have no server; only the provider can help if the line is full.",
			Evidence: Evidence{{"requests", float64(requests)}, {"requests_per_second", round(c.rate(), 1)}, {either(host, "ports", "addresses"), float64(c.silent)}, {"sources", float64(sources)}, {"seconds", round(seconds, 1)}},
		})
	}
}

// inCarpet reports whether a server is in a network that is attacked as a whole, or never replied and was asked only while many are.
func (r *reporting) inCarpet(e *entry[server]) bool {
	return slices.ContainsFunc(r.carpets, func(c carpet) bool {
		return c.network.Contains(e.addr()) || !c.network.IsValid() && e.v.replies == 0 && e.v.first >= c.from-int64(time.Second) && e.v.last <= c.to+int64(time.Second)
	})
}
