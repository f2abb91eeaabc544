package stats

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/internal/nettext"
)

// How much evidence needs: so many requests, and shares of them.
const (
	leastEvidence = 200
	calmEvidence  = 50
	leastUniform  = 400  // requests
	leastInNet    = 1000 // clients of a /48
	alike         = 0.8
	mostlyAlike   = 0.6 // of addresses that nobody has
	alikeTwo      = 0.9 // of two machines
	unlike        = 0.15
	leastBeside   = 0.05 // of what others at the server sent
	leastOver     = 0.01 // of the event
	mostOver      = 1.5  // as many as the event
)

// weighEvidence collects what the requests of an event have in common that a forger cannot hide, against what calm requests have.
// What larger events of the server and victims of reflections have explains nothing about it.
func (r *reporting) weighEvidence(ev *event, larger []event) {
	hot, calm, ok := r.looksOf(ev, larger)
	if !ok {
		return
	}
	say := func(strong bool, format string, args ...any) {
		if strong {
			ev.strong++
		}
		ev.because = append(ev.because, fmt.Sprintf(format, args...))
	}
	n, odd := float64(hot.n), float64(hot.odd)
	known := calm.n >= calmEvidence
	// Of a private network, in which all addresses are such and hosts are equally far, only a comparison tells anything.
	text, hop := hot.oneHop(&calm, known, ev.requests, alike)
	if known || odd <= n/2 {
		if hop {
			say(true, "%s", text)
			ev.strong += either(hot.madeUp(), 1, 0) // nobody but a forger makes them up
		}
		if odd >= 0.05*n && float64(calm.odd) <= 0.02*float64(calm.n) {
			say(true, "%s come from addresses that do not exist", percent(odd/n))
		}
	}
	if r.wide(ev, hot) {
		say(true, "the addresses are spread evenly over the whole internet")
		if text, most := hot.oneHop(&calm, known, ev.requests, mostlyAlike); most && !hop {
			say(true, "%s", text)
		}
	}
	follow, six := float64(hot.steps) >= 0.8*n && differs(hot.steps, calm.steps, n, float64(calm.n)), ev.server.addr().Is6()
	if follow && !six {
		say(true, "their IP identifications count up as those of one machine do")
	}
	if float64(hot.votes) >= (2*alike-1)*n && known && (hot.port != calm.port || 10*calm.votes < int64(calm.n)) {
		say(true, "%s have the source port %d", either(uint64(hot.votes) == hot.n, "all", "nearly all"), hot.port)
	}
	if text, bits := r.oneNet(ev, &hot, &calm); bits > 0 {
		say(bits != 24 || ev.strong == 0, "%s", text) // hosts of such a network are equally far
	} else if follow && six {
		say(true, "nearly all of the addresses are in one network (/48)")
	}
	if text, ok := r.evenly(ev, 1); ok {
		say(true, "%s", text)
	}
	later := totalOf(r.a.clientsOf(ev.server, func(c *client) bool { return c.proven > 0 && c.first >= ev.from && c.first < ev.to }), func(*entry[client]) float64 { return 1 })
	p, all := r.calmProofs(ev, ev.series)
	if all < calmEvidence && ev.silent() { // nobody else asks so, and no reply tells whether that needs a challenge
		p, all = r.calmProofs(ev, slices.Collect(each(ev.server.v.more.series[:])))
	}
	if all >= calmEvidence && p >= 0.5*all && later < crowdPart*ev.sources {
		say(true, "none of these addresses ever proved itself, and of those that ask at other times %s did", percent(p/all))
	}
	if !hot.distinct && float64(hot.same) >= alike*n && differs(hot.same, calm.same, n, float64(calm.n)) {
		say(false, "all have the same bytes")
	}
}

// looksOf returns what the clients of an event look like, without those of larger ones and of victims, and those at calm times; false if too few are left.
func (r *reporting) looksOf(ev *event, larger []event) (hot burst, calm looks, ok bool) {
	m := ev.server.v.more
	all := m.hot.of(ev.meets)
	hot, calm = all, m.calm
	alone := m.hot.of(func(from, to int64) bool {
		return ev.meets(from, to) && !slices.ContainsFunc(r.events, func(o event) bool {
			return o.server == ev.server && (o.from != ev.from || o.kinds[0] != ev.kinds[0]) && o.meets(from, to)
		})
	})
	own := alone.n >= leastEvidence // it was alone for long enough
	if own {
		hot, larger = alone, nil
	}
	whole, others := event{server: ev.server, from: hot.from * 1e9, to: (hot.to + 1) * 1e9}, 0.0
	if all.n == 0 { // all of it looked calm
		whole.from, whole.to = ev.from, ev.to
	}
	for q := range each(m.series[:]) { // looks are of all kinds
		if q.kind > 0 {
			whole.kinds = append(whole.kinds, q.kind-1)
		}
	}
	without := func(n float64, from *key) {
		hot.without(n, from)
		others += n
	}
	for v := range each(r.victims) {
		n, _ := r.sentIn(&whole, v.clients)
		without(n, &v.clients[0].key)
	}
	for _, o := range larger {
		if part := float64(overlap(o.from, o.to, whole.from, whole.to)) / float64(o.to-o.from); o.server == ev.server && o.forged && part > 0 {
			without(part*o.requests, nil)
		}
		for i := 0; o.server == ev.server && i < len(o.clients); i++ {
			n, _ := r.sentIn(&whole, o.clients[i:i+1])
			without(n, &o.clients[i].key)
		}
	}
	if ev.requests < leastBeside*others { // what is left may be an error of the subtraction
		return hot, calm, false
	}
	// Of a long flood that is not far above what is usual, or with which the capture begins, many seconds look calm.
	if n := float64(all.n) - others; n+float64(calm.n) < 1.5*ev.requests && (n < ev.requests/2 || ev.to-ev.from > r.a.last-r.a.first) { // nearly all is the event
		hot.looks.merge(&calm)
		calm = looks{}
	} else if over := ev.requests + others - float64(all.n); over > leastOver*ev.requests && over+calmEvidence <= float64(calm.n) {
		calm.without(over, nil)
	}
	return hot, calm, hot.n >= leastEvidence && (own && 2*hot.n >= alone.n || float64(hot.n) >= ev.requests/2)
}

// wide reports whether the addresses of an event are spread evenly over the internet, with those of like ones: of a flood of many servers, or one in waves, each has too few.
func (r *reporting) wide(ev *event, hot burst) bool {
	few := hot.n < leastUniform
	for o := range each(r.events) {
		if few && (o.server != ev.server && ev.like(o) || ev.wave(o)) {
			other := o.server.v.more.hot.of(o.meets)
			hot.looks.merge(&other.looks)
		}
	}
	return hot.n >= leastUniform && hot.spread() < mostSpread
}

// without takes away what so many forged requests have: the commonest hop limit or all alike, and addresses that are spread evenly or one
// like the other, unless it is known from which they come.
func (l *looks) without(requests float64, from *key) {
	part := min(requests/float64(max(l.n, 1)), 1)
	even := func(counts *[256]uint32) {
		n := 0.0
		for _, c := range counts {
			if c > 0 {
				n++
			}
		}
		for i, c := range counts {
			counts[i] = less(c, uint32(requests/n))
		}
	}
	alike := func(counts *[256]uint32) {
		for i, c := range counts {
			counts[i] = uint32(float64(c) * (1 - part))
		}
	}
	if most := slices.Index(l.hops[:], slices.Max(l.hops[:])); l.madeUp() {
		even(&l.hops)
	} else if own := float64(l.hops[most]); own >= 0.9*requests {
		l.hops[most] = uint32(less(own, requests))
	} else {
		alike(&l.hops)
	}
	if from != nil {
		net, odd := placeOf(from)
		l.nets[net] = less(l.nets[net], uint32(requests))
		l.odd = less(l.odd, either(odd, uint32(requests), 0))
	} else if l.spread() < mostSpread {
		l.odd = 0
		even(&l.nets)
	} else {
		l.odd = uint32(float64(l.odd) * (1 - part))
		alike(&l.nets)
	}
	l.votes = max(l.votes-int64(requests), 0)
	l.steps, l.same = uint32(float64(l.steps)*(1-part)), uint32(float64(l.same)*(1-part))
	l.n -= uint64(part * float64(l.n))
}

// differs reports whether a share of what is hot is so much larger than that of what is calm. Of a flood that is not much more than
// usual, a part looks calm.
func differs(hot, calm uint32, n, m float64) bool {
	return m >= calmEvidence && float64(hot)/n-float64(calm)/m >= unlike
}

// oneHop says that hop limits of so many requests are those of one machine or two, or are made up. If more came in the same time, the rest
// has those of calm times. least is how many have to have one.
func (l *looks) oneHop(calm *looks, known bool, requests, least float64) (string, bool) {
	type value struct {
		n  uint32
		at int
	}
	var most [2]value
	for i, n := range l.hops {
		if i == 0 { // not known
			continue
		}
		if n > most[0].n {
			most[0], most[1] = value{n, i}, most[0]
		} else if n > most[1].n {
			most[1] = value{n, i}
		}
	}
	n := min(float64(l.n), 1.1*requests)
	share := func(v value) (hot, usual float64) {
		usual = float64(calm.hops[v.at]) / float64(max(calm.n, 1))
		return (float64(v.n) - usual*(float64(l.n)-n)) / n, usual
	}
	over := 0.0
	for i, c := range l.hops {
		part, _ := share(value{c, i})
		over += max(part, 0)
	}
	one, usual := share(most[0])
	two, usualTwo := share(most[1])
	one, two, usualTwo = min(one, 1), min(one+two, 1), usual+usualTwo
	switch {
	case known && over > mostOver && float64(most[0].n) < least*float64(l.n): // the rest is another event, and has not what is usual
	case one >= least && (!known || one-usual >= unlike):
		return fmt.Sprintf("%s of the packets have the hop limit %d", percent(one), most[0].at), true
	case known && two >= alikeTwo && two-usualTwo >= unlike:
		return fmt.Sprintf("%s of the packets have the hop limit %d or %d", percent(two), most[0].at, most[1].at), true
	case l.madeUp():
		return "their hop limits are made up", true
	}
	return "", false
}

// madeUp reports whether hop limits are those of a program that makes them up: nearly all of them, equally often.
func (l *looks) madeUp() bool {
	values := 0
	for _, n := range l.hops {
		if n > 0 {
			values++
		}
	}
	return values >= 200 && float64(slices.Max(l.hops[:])) < 0.05*float64(l.n)
}

// asking returns clients that asked the server of an event only while it lasted, and proved nothing.
func (r *reporting) asking(ev *event) []*entry[client] {
	return r.a.clientsOf(ev.server, func(c *client) bool { return c.requests > 0 && c.proven == 0 && ev.lasted(c) })
}

// leastAsking is how many clients tell something of an event.
const leastAsking = 20

// oneNet says that most addresses are in one network of so many bits, which those at calm times are not; 0 if they are. Nobody has a thousand clients in
// a /48.
func (r *reporting) oneNet(ev *event, hot *burst, calm *looks) (string, int) {
	own := *ev
	own.from, own.to = hot.from*1e9, (hot.to+1)*1e9
	list, six := r.asking(&own), ev.server.addr().Is6()
	if len(list) < leastAsking { // they ask as long as the event lasts, of which this is a part
		list = r.asking(ev)
	}
	for _, bits := range either(six, []int{48, 32}, []int{24, 16}) {
		nets := map[netip.Prefix]int{}
		var most netip.Prefix
		for _, c := range list {
			p, _ := c.addr().Prefix(bits)
			if nets[p]++; nets[p] > nets[most] {
				most = p
			}
		}
		if part := float64(nets[most]) / float64(len(list)); len(list) >= leastAsking && part >= alike {
			octet := most.Addr().AsSlice()[either(six, 2, 0)]
			return fmt.Sprintf("%s of the addresses are in the network %s", percent(part), r.network(most)), either(bits == 48 && len(list) >= leastInNet || differs(hot.nets[octet], calm.nets[octet], float64(hot.n), float64(calm.n)), bits, 0)
		}
	}
	return "", 0
}

// evenly says that the clients of an event ask equally often, again and again, and so often per second: programs do so for people less than once.
func (r *reporting) evenly(ev *event, pace float64) (string, bool) {
	const least = 5 // requests
	pace = max(least, pace*ev.seconds())
	square := func(k float64) float64 { return k * k }
	counts := nettext.Each(r.asking(ev), func(c *entry[client]) float64 {
		return totalOf(ev.kinds, func(k uint16) float64 { return float64(c.v.kindsOf(k + 1)) }) / float64(max(c.v.distinctServers(), 1))
	})
	often := totalOf(counts, square) / max(meanOf(counts)*float64(len(counts)), 1) / 2 // visitors ask less often
	counts = slices.DeleteFunc(counts, func(k float64) bool { return k < max(least, often) })
	n, mean := float64(len(counts)), meanOf(counts)
	return fmt.Sprintf("each of these addresses asks about %s times, as evenly as a program", rounded(mean)), n >= leastAsking && mean >= pace && n*mean >= mostOf*ev.requests && totalOf(counts, square)/n-mean*mean <= 3*mean
}

// forgedPart returns the part that is forged of requests of which most are: those with the commonest hop limit, or as many as there would be
// if all hop limits that are made up came as often as those that people do not have, or all networks as often as those in the middle.
func (m *more) forgedPart() float64 {
	l := m.hot.of(func(int64, int64) bool { return true }).looks
	l.merge(&m.calm)
	n, most := float64(l.n), float64(slices.Max(l.hops[:]))
	switch {
	case uint64(l.hops[0]) < l.n && most >= alike*n:
		return most / n
	case l.madeUp(): // systems begin with 64, 128 or 255, and people are less than 32 hops away
		all, far := 0.0, []float64{}
		for i, c := range l.hops {
			if c > 0 {
				all++
				if block := (i - 1) >> 5; block != 1 && block != 3 && block != 7 {
					far = append(far, float64(c))
				}
			}
		}
		return min(meanOf(far)*all/n, 1)
	case l.spread() >= mostSpread:
		return 1
	}
	counts := slices.DeleteFunc(slices.Sorted(slices.Values(l.nets[:])), func(c uint32) bool { return c == 0 })
	middle := counts[len(counts)/4 : len(counts)*3/4+1]
	return min(totalOf(middle, func(c uint32) float64 { return float64(c) })/float64(len(middle))*float64(len(counts))/n, 1)
}

// mostSpread is the divergence below which addresses are spread evenly: that of people's addresses is far above 1.
const mostSpread = 0.3

// spread returns the divergence of first octets from those of addresses that are drawn at random: chi-square by the number, without
// what chance adds, which is more if each that was looked at stands for several. The commonest octets are left out, which clients of the same time have.
func (l *looks) spread() float64 {
	const commonest = 8
	var counts []float64
	for i, c := range l.nets {
		if i > 0 && i < 224 && i != 10 && i != 127 {
			counts = append(counts, float64(c))
		}
	}
	slices.Sort(counts)
	counts = counts[:len(counts)-commonest]
	want := meanOf(counts)
	in := want * float64(len(counts))
	if in < float64(l.n)/2 {
		return math.Inf(1)
	}
	sum := totalOf(counts, func(c float64) float64 { return (c - want) * (c - want) / want })
	return max(sum-float64(len(counts))*float64(l.squares)/float64(l.n), 0) / in
}

// calmProofs returns how many requests of these series came at other times than an event, and how many of these had a proof or were vouched for.
func (r *reporting) calmProofs(ev *event, series []*kindSeries) (proved, all float64) {
	for _, q := range series {
		x := r.ratesOf(&q.ticks)
		for i := range x.fresh {
			from := (x.start + int64(i)) * x.width
			if overlap(from, from+x.width, ev.from-int64(1e9), ev.to+int64(1e9)) > 0 ||
				slices.ContainsFunc(r.events, func(o event) bool { return o.server == ev.server && overlap(from, from+x.width, o.from, o.to) > 0 }) { // another one
				continue
			}
			p := x.by[proven][i] + x.by[vouched][i]
			proved += p
			all += p + x.by[unproven][i] + x.by[unreturned][i]
		}
	}
	return proved, all
}
