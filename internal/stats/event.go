package stats

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A nature is what the requests of an event have in common.
type nature uint8

const (
	unreturning nature = iota // they do not come back with the challenge that they were given
	unasked                   // their server asks for no proof
	real                      // they proved that they hear the server
)

// An event is a time in which far more requests of one nature came to a server than usual.
type event struct {
	server   *entry[server]
	kinds    []uint16 // indexes of kinds, most requests first
	nature   nature
	from, to int64
	requests float64 // without what is usual
	usual    float64 // per second
	sources  float64
	in, out  float64      // bytes
	forged   bool         // it is named so
	carpet   bool         // it is a part of one
	ungiven  bool         // the newest of it were given no challenge
	net      netip.Prefix // if it is one of many servers of a network only in sum
	because  []string
	strong   int              // kinds of strong evidence
	clients  []*entry[client] // those that make most of it, if they are few
	theirs   float64          // requests
	series   []*kindSeries    // those of its kinds
}

// silent reports whether hardly any reply tells what a request of an event needs.
func (e *event) silent() bool { return 10*e.out < e.in }

// meets reports whether an event lasted in a part of a time.
func (e *event) meets(from, to int64) bool { return overlap(e.from, e.to, from, to) > 0 }

func (e *event) seconds() float64 { return max(float64(e.to-e.from)/1e9, 1e-3) }

// overlap returns how long two times overlap.
func overlap(from, to, first, last int64) int64 { return max(0, min(to, last)-max(from, first)) }

// A rates has the counts of a server by bucket, from the first to the last of the capture.
type rates struct {
	start int64 // number of the first bucket
	width int64
	by    [proofs][]float64
	fresh []float64
	in    []float64
	out   []float64
}

// ratesOf returns the counts of a series. Its buckets are those of all the others given as well: from long before the first that has
// counts to long after the last, so that those without are what is usual.
func (r *reporting) ratesOf(l *ticks, others ...*ticks) (x rates) {
	width, from, to := l.width, int64(math.MaxInt64), int64(math.MinInt64)
	for _, o := range append(others, l) {
		if n := int64(len(o.buckets)); n > 0 {
			width, from, to = max(width, o.width), min(from, o.start*widths[o.width]), max(to, (o.start+n)*widths[o.width])
		}
	}
	length := max(to-from, 0)
	from, to = max(r.a.first, from-2*length), min(r.a.last, to+2*length)
	for (to-from)/widths[width] > 8*mostTicks {
		width++
	}
	x.width = widths[width]
	x.start = floorDiv(from, x.width)
	n := int(max(floorDiv(to, x.width)-x.start+1, 0))
	for p := range x.by {
		x.by[p] = make([]float64, n)
	}
	x.fresh, x.in, x.out = make([]float64, n), make([]float64, n), make([]float64, n)
	l.in(func(from, _ int64, b *tick) {
		k := floorDiv(from, x.width) - x.start
		if k < 0 || k >= int64(n) {
			return
		}
		for p, c := range b.by {
			x.by[p][k] += float64(c)
		}
		x.fresh[k] += float64(b.fresh)
		x.in[k] += float64(b.in)
		x.out[k] += float64(b.out)
	})
	return x
}

// time returns the time of a bucket with its fraction, within the capture.
func (x *rates) time(r *reporting, at float64) int64 {
	return min(max(x.start*x.width+int64(at*float64(x.width)), r.a.first), r.a.last+1)
}

// surgeOf returns the time of an event in buckets.
func (x *rates) surgeOf(ev *event) surge {
	return surge{from: float64(ev.from)/float64(x.width) - float64(x.start), to: float64(ev.to)/float64(x.width) - float64(x.start)}
}

// during returns the sum of the buckets in a surge, without what is usual outside of all surges.
func (x *rates) during(list []float64, s *surge, all []surge) float64 {
	in, inside := 0.0, 0.0
	for i, v := range list {
		if at := float64(i); min(s.to, at+1)-max(s.from, at) > 0.01 { // a bucket at an end is full in part
			in += v
			inside++
		}
	}
	return max(in-meanOf(outside(list, all))*inside, 0)
}

// steady reports whether surges leave less than a bucket of the capture, which begins and ends within buckets, and as much for its length came in that or
// may have come.
func (x *rates) steady(r *reporting, counts []float64, s *surge, all []surge) bool {
	left := 0.0
	for at := x.start * x.width; at <= r.a.last && left < float64(x.width); at += x.width { // a lying time may be years away
		surging := totalOf(all, func(o surge) float64 { return float64(overlap(at, at+x.width, x.time(r, o.from), x.time(r, o.to))) })
		left += max(float64(overlap(at, at+x.width, r.a.first, r.a.last+1))-surging, 0)
	}
	due, rest := s.level*left/float64(x.width), outside(counts, all)
	return left < float64(x.width) && (due < leastCome || eventFactor*meanOf(rest)*float64(len(rest)) >= due)
}

// leastCome is how many requests are due in a time so that their lack tells something.
const leastCome = 10

// outside returns the buckets without surges.
func outside(list []float64, surges []surge) (calm []float64) {
	for i, v := range list {
		if !slices.ContainsFunc(surges, func(s surge) bool { return float64(i+1) > s.from && float64(i) < s.to }) {
			calm = append(calm, v)
		}
	}
	return calm
}

// freshOf returns how many new addresses came in each of the surges of one nature, with these counts; both are those of all natures. In those that
// overlap, what began before goes on as it was, and the newest has the rest.
func (x *rates) freshOf(all, both []surge, counts []float64) []float64 {
	order := make([]int, len(all))
	for k := range all {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].from, all[b].from) })
	n, pace, usual := make([]float64, len(all)), make([]float64, len(all)), meanOf(outside(x.fresh, both))
	for i, v := range x.fresh {
		newest, rest := -1, (v-usual)*counts[i]/max(x.by[unreturned][i]+x.by[unproven][i], 1)
		for _, k := range order {
			if min(all[k].to, float64(i+1))-max(all[k].from, float64(i)) < 0.01 { // a bucket at an end is full in part
				continue
			}
			if newest >= 0 {
				n[newest] += pace[newest]
				rest -= pace[newest]
			}
			newest = k
		}
		if newest >= 0 {
			n[newest] += rest
			pace[newest] = max(rest, 0)
		}
	}
	return n
}

func meanOf(list []float64) float64 {
	return totalOf(list, func(v float64) float64 { return v }) / float64(max(len(list), 1))
}

// totalOf returns the sum of what elements of a list have of something.
func totalOf[T any](list []T, of func(T) float64) float64 { return nettext.Sum(list, of) }

func sumsOf(lists ...[]float64) []float64 {
	sum := slices.Clone(lists[0])
	for _, l := range lists[1:] {
		for i, v := range l {
			sum[i] += v
		}
	}
	return sum
}

// findEvents finds the events of all servers.
func (r *reporting) findEvents() {
	for _, e := range r.servers {
		if e.v.more == nil || !r.home(e) {
			continue
		}
		var list []event
		for _, q := range e.v.more.known() {
			x := r.ratesOf(&q.ticks)
			list = append(list, r.eventsOf(e, q, &x)...)
		}
		list = r.joined(append(list, r.realOf(e)...))
		all, usual := 0.0, float64(e.v.more.total(func(t *tick) uint64 { return uint64(t.by[unproven]) + uint64(t.by[unreturned]) }))
		for ev := range each(list) {
			if ev.complete(); ev.nature != real {
				all += ev.requests
			}
		}
		for ev := range each(list) {
			if ev.nature != real {
				ev.sources = r.sourcesOf(ev, list, all, max(usual-all, 0))
			}
		}
		r.events = append(r.events, list...)
	}
	r.events = append(r.events, r.spread()...)
	slices.SortStableFunc(r.events, func(a, b event) int { return cmp.Compare(b.requests, a.requests) })
}

// spread finds what several servers of a network got together of requests that did not return the challenge, if each of them got too little for an event.
func (r *reporting) spread() (list []event) {
	type member struct {
		server *entry[server]
		series *kindSeries
	}
	var groups [][]member
	for _, e := range r.servers {
		net := netOf(e.addr(), 64)
		for _, q := range e.v.more.known() {
			if q.challenged == 0 || !r.home(e) || slices.ContainsFunc(r.events, func(ev event) bool {
				return ev.server == e && ev.nature != real && slices.Contains(ev.kinds, q.kind-1)
			}) {
				continue
			}
			i := slices.IndexFunc(groups, func(g []member) bool { return g[0].series.kind == q.kind && net.Contains(g[0].server.addr()) })
			if i < 0 {
				groups, i = append(groups, nil), len(groups)
			}
			groups[i] = append(groups[i], member{server: e, series: q})
		}
	}
	for _, all := range slices.DeleteFunc(groups, func(g []member) bool { return len(g) == 1 }) {
		lines := nettext.Each(all, func(m member) *ticks { return &m.series.ticks })
		var x rates
		var lost, proving []float64
		for _, l := range lines {
			x = r.ratesOf(l, lines...)
			lost, proving = sumsOf(x.by[unreturned], lost), sumsOf(x.by[vouched], x.by[proven], proving)
		}
		seconds := float64(x.width) / 1e9
		found := surges(lost, seconds, rareOf(lost, seconds))
		if len(found) == 0 {
			continue
		}
		for _, m := range all {
			x = r.ratesOf(&m.series.ticks, lines...) // again: of all together they would be large
			for s := range each(found) {
				ev := x.event(r, m.server, m.series, s, x.during(x.by[unreturned], s, found), found)
				if ev.requests < 1 || s.excess() < crowdPart*x.during(proving, s, found) {
					continue
				}
				ev.net, ev.sources = netOf(m.server.addr(), 64), min(max(x.during(x.fresh, s, found), 0), ev.requests)
				ev.complete()
				ev.sources = r.sourcesOf(&ev, []event{ev}, ev.requests, 0)
				list = append(list, ev)
			}
		}
	}
	return list
}

// event returns the event that a surge among others is, with so many requests.
func (x *rates) event(r *reporting, e *entry[server], q *kindSeries, s *surge, requests float64, all []surge) event {
	part := 1.0
	if with := x.during(sumsOf(x.by[unreturned], x.by[unproven]), s, all); with > 0 {
		part = min(requests/with, 1) // several overlap
	}
	return event{
		server: e, kinds: []uint16{q.kind - 1}, nature: unreturning, from: x.time(r, s.from), to: x.time(r, s.to), requests: requests, series: []*kindSeries{q},
		in: part * x.during(x.in, s, all), out: part * x.during(x.out, s, all),
	}
}

// together returns the sum of an event with those of other servers of its network, and these servers; none if it was in the sum of one before it.
func (r *reporting) together(ev *event) (sum event, servers []*entry[server]) {
	sum = *ev
	sum.requests, sum.in, sum.out, sum.sources = 0, 0, 0, 0
	for o := range each(r.events) {
		if o.net == ev.net && o.from == ev.from && o.to == ev.to && o.kinds[0] == ev.kinds[0] {
			if len(servers) == 0 && o != ev {
				return sum, nil
			}
			servers = append(servers, o.server)
			sum.gain(o)
			if sum.sources += o.sources; o.requests >= 2*o.sources { // they come again, and so do they at others
				sum.sources = max(sum.sources-o.sources, o.sources)
			}
		}
	}
	return sum, servers
}

// complete adds to an event what came to its server in shards in which others are busier: seconds of these are counted, but not by kind.
func (e *event) complete() {
	s := &e.server.v
	asked := s.times().within(e.from, e.to, func(p *pulse) uint64 { return uint64(p.asked) })
	known := totalOf(s.more.known(), func(q *kindSeries) float64 { return q.ticks.within(e.from, e.to, (*tick).all) })
	if part := known / asked; part > 0 && part < 0.9 {
		e.requests, e.sources, e.in, e.out = e.requests/part, e.sources/part, e.in/part, e.out/part
	}
}

// sourcesOf returns how many addresses sent the requests of an event: those that did so again and again, and for the rest those that were
// new, or known. In a full table addresses are new again that it had forgotten. all are the requests of all such events of the server, and
// usual those that came without a proof at other times: who asks all the time sent these. Who asks only in a shorter one of the
// list, or sent more than this one has, is of that one.
func (r *reporting) sourcesOf(ev *event, list []event, all, usual float64) float64 {
	var again, theirs, meanwhile, known [2]float64 // of all, and of those who ask as often at other times
	often := 0.0                                   // requests of these
	for _, e := range r.a.clientsOf(ev.server, func(c *client) bool { return c.requests >= 2 && c.proven == 0 && c.first < ev.to && c.last >= ev.from }) {
		c := &e.v
		if r.isVictim(e) || slices.ContainsFunc(list, func(o event) bool {
			return (o.to-o.from < ev.to-ev.from || float64(c.requests) > 1.25*ev.requests*float64(c.distinctServers())) && o.lasted(c)
		}) {
			continue
		}
		n, own := c.within(ev.from, ev.to), float64(c.requests)/float64(max(c.distinctServers(), 1))
		in := float64(overlap(c.first, c.last+1, ev.from, ev.to))
		out := float64(c.last+1-c.first) - in
		calm := out > in && 2*(own-n)*in > (n-1)*out
		often += either(calm, own, 0)
		for i := range either(calm, 2, 1) {
			if n < 2 {
				known[i]++
			} else {
				again[i], theirs[i], meanwhile[i] = again[i]+1, theirs[i]+own, meanwhile[i]+n
			}
		}
	}
	if often <= 1.1*usual && theirs[0]-theirs[1] >= 0.9*ev.requests { // the others made it
		again[0], theirs[0], meanwhile[0], known[0], usual = again[0]-again[1], theirs[0]-theirs[1], meanwhile[0]-meanwhile[1], known[0]-known[1], less(usual, often)
	}
	n := again[0] * max(all/theirs[0], 1) // others are as they are
	if sure := max(theirs[0]-usual, 0); ev.nature == unreturning && r.a.clients.gone == 0 || sure < mostOf*all || mostOf*theirs[0] > all {
		n = again[0] + max(min(max(ev.sources-again[0], known[0]), ev.requests*(1-min(sure, meanwhile[0])/all)), 0)
	}
	return min(n, ev.requests, float64(ev.server.v.sources().Count))
}

// crowdPart is how many of a crowd may have programs that do not return challenges, to those that have others.
const crowdPart = 0.25

// unheardPart is how many of a crowd return challenges, to those to whom an overloaded server does not reply, if these are many.
const unheardPart = 0.1

// withoutOften takes from the buckets what a client sends to each of its servers that is too often.
func (x *rates) withoutOften(counts []float64, c *client) {
	servers := float64(max(c.distinctServers(), 1))
	c.spans(func(first, last int64, requests float64) {
		for i := max(floorDiv(first, x.width)-x.start, 0); i < int64(len(counts)) && (x.start+i)*x.width < last; i++ {
			at := (x.start + i) * x.width
			part := float64(overlap(at, at+x.width, first, last))
			counts[i] = less(counts[i], max(requests*part/float64(max(last-first, 1))/servers-programOften*part/1e9, 0))
		}
	})
}

// eventsOf finds the events of one kind of request without a proof.
func (r *reporting) eventsOf(e *entry[server], q *kindSeries, x *rates) (list []event) {
	seconds := float64(x.width) / 1e9
	lost, open := x.by[unreturned], x.by[unproven]
	of := either(q.asks(), unreturning, unasked)
	// If the server is down, those who else would prove themselves cannot: a flood is more than these.
	proving := sumsOf(x.by[vouched], x.by[proven])
	people := slices.Clone(proving)
	if len(open) > 0 && slices.Max(open) >= eventLeast*seconds {
		for _, c := range r.a.clientsOf(e, func(c *client) bool { return c.proven >= leastOften && c.peak >= peakOften }) {
			x.withoutOften(people, &c.v)
		}
	}
	least := (eventFactor - 1) * quantileOf(people, nil, 0.8)
	natures := [...]struct {
		nature      nature
		counts      []float64
		calm, least float64
	}{{unreturning, lost, rareOf(lost, seconds), 0}, {of, open, -1, least}}
	var each [len(natures)][]surge
	for i, c := range natures {
		found := surges(c.counts, seconds, c.calm)
		all := slices.Clone(found)
		each[i] = slices.DeleteFunc(found, func(s surge) bool { // of a crowd, a part never returns, and those to whom the server does not reply cannot
			returned, silent := x.during(proving, &s, all), x.during(x.out, &s, all) < unheardPart*x.during(x.in, &s, all)
			crowd := i > 0 && silent && x.during(people, &s, all) > max(x.during(lost, &s, all)/crowdPart, unheardPart*s.excess())
			last := s.to-s.from <= 2 && x.width == int64(time.Second) && s.to > float64(len(lost)-1) // they may return the challenge later
			return s.level < c.least || crowd || i == 0 && (s.excess() < crowdPart*returned || last && s.excess() < either(len(lost) <= 2, 2*totalOf(sumsOf(proving, open), func(n float64) float64 { return n }), meanOf(proving))) || i > 0 && x.steady(r, c.counts, &s, all)
		})
	}
	both := slices.Concat(each[:]...)
	for i, c := range natures {
		found, ungiven := each[i], i > 0
		fresh := x.freshOf(found, both, c.counts)
		for i := range found {
			s := &found[i]
			n := s.excess()
			if !ungiven && len(each[1]) == 0 { // who is given no challenge cannot return it: of these, as many would as of the others
				n += x.during(open, s, both) * n / max(n+x.during(proving, s, both), 1)
			}
			ev := x.event(r, e, q, s, n, both)
			ev.nature, ev.usual, ev.ungiven, ev.sources = c.nature, s.usual/seconds, ungiven, min(max(fresh[i]*n/max(s.excess(), 1), 0), n)
			list = append(list, ev)
		}
	}
	if len(list) == 0 && of == unasked {
		list = r.steadyOf(e, q, x, open)
	}
	return unbroken(list, x.width)
}

// unbroken joins parts of floods of one kind of request: while a server that gives challenges is down, nobody gets one, and while it
// or its path loses some, not everybody.
func unbroken(list []event, width int64) (whole []event) {
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.from, b.from) })
	for _, ev := range list {
		i := slices.IndexFunc(whole, func(o event) bool {
			short := min(ev.to-ev.from, o.to-o.from) <= 3*width // its level is not well known
			part, all := either(ev.ungiven, &ev, &o), either(ev.ungiven, &o, &ev)
			lossy := part.from >= all.from-2*width && part.to <= all.to+2*width && part.level() < 2*all.level()
			return o.nature == ev.nature && o.ungiven != ev.ungiven && (lossy || max(ev.from-o.to, o.to-ev.from) <= 2*width && (short || ev.level() < 2*o.level() && o.level() < 2*ev.level()))
		})
		if i < 0 {
			whole = append(whole, ev)
			continue
		}
		o := &whole[i]
		if ev.to > o.to {
			o.to, o.ungiven = ev.to, ev.ungiven
		}
		o.gain(&ev)
		o.sources += ev.sources
	}
	return whole
}

// level returns the requests per second.
func (e *event) level() float64 { return e.requests / e.seconds() }

// gain adds what another part of an event counts, but for its time and its sources.
func (e *event) gain(o *event) {
	e.requests += o.requests
	e.in += o.in
	e.out += o.out
}

// rareOf returns what is usual per second of requests that should hardly be there: little, or nothing if there are always many.
func rareOf(x []float64, seconds float64) float64 {
	low := quantileOf(x, nil, 0.2) / seconds
	return either(low < eventLeast && len(x) > 0 && 3*low*seconds < slices.Max(x), low, 0)
}

// steadyOf finds a flood that lasts as long as the capture: there is no calm to compare with, but what a forger cannot hide. One hop limit alone may
// be that of a proxy, and a program that asks evenly may be a list of servers: both together are worth a word.
func (r *reporting) steadyOf(e *entry[server], q *kindSeries, x *rates, open []float64) []event {
	n := meanOf(open) * float64(len(open))
	if n < eventLeast*r.duration() || r.duration() < eventTime && n < 5*eventTime*eventLeast {
		return nil
	}
	ev := event{server: e, kinds: []uint16{q.kind - 1}, nature: unasked, from: r.a.first, to: r.a.last + 1, requests: n, series: []*kindSeries{q}}
	r.weighEvidence(&ev, nil)
	part := e.v.more.forgedPart()
	text, even := r.evenly(&ev, 0)
	_, fast := r.evenly(&ev, programOften)
	if !fast && slices.Contains(ev.because, text) {
		ev.strong-- // so do lists of servers that people keep open
	} else if even && !fast && ev.strong == 1 {
		ev.because = append(ev.because, text)
	}
	if ev.strong == 0 || ev.strong == 1 && !fast && !(even && part < 1) { // all that comes with one hop limit comes through a proxy
		return nil
	}
	for i := range open {
		ev.sources += x.fresh[i]
		ev.in += part * x.in[i]
		ev.out += part * x.out[i]
	}
	ev.requests, ev.usual = part*n, (1-part)*n/ev.seconds()
	ev.sources = min(ev.sources, ev.requests)
	return []event{ev}
}

// realOf finds the events of requests with a proof.
func (r *reporting) realOf(e *entry[server]) (list []event) {
	all := e.v.more.known()
	kinds := nettext.Each(all, func(q *kindSeries) uint16 { return q.kind - 1 })
	lines := nettext.Each(all, func(q *kindSeries) *ticks { return &q.ticks })
	var x rates
	var counts, others []float64
	for _, l := range lines {
		x = r.ratesOf(l, lines...)
		counts, others = sumsOf(x.by[proven], x.by[vouched], counts), sumsOf(x.by[unproven], x.by[unreturned], others)
	}
	slices.SortStableFunc(kinds, func(a, b uint16) int { return cmp.Compare(e.v.kindOf(int(b)), e.v.kindOf(int(a))) })
	found := surges(counts, float64(x.width)/1e9, -1)
	if len(found) == 0 {
		return nil
	}
	replied := make([]bool, len(counts))
	e.v.more.pulses.in(func(from, to int64, p *pulse) {
		for k := max(floorDiv(from, x.width)-x.start, 0); p.replied > 0 && k < int64(len(replied)) && (x.start+k)*x.width < to; k++ {
			replied[k] = true
		}
	})
	// While the server is down, nobody proves itself: that is not what is usual. Of a time in which nobody asks, the capture may have nothing.
	calm, n, idle, down, length := 0.0, 0, 0, 0, 0
	for k, v := range counts {
		switch at := float64(k); {
		case slices.ContainsFunc(found, func(o surge) bool { return at+1 > o.from && at < o.to }):
			length++
		case replied[k], v > 0 && r.o.OneSided:
			calm, n = calm+v, n+1
		case v+others[k] == 0:
			idle++
		default:
			down++
		}
	}
	if n <= 2*len(found) && (len(found) > 1 || down > idle || length > idle) {
		return nil // nobody knows what is usual
	}
	for s := range each(found) {
		if s.level+s.usual < eventFactor*calm/float64(max(n+idle, 1)) {
			continue
		}
		list = append(list, event{server: e, kinds: kinds, nature: real, from: x.time(r, s.from), to: x.time(r, s.to), requests: s.excess(), usual: s.usual * 1e9 / float64(x.width), series: all})
	}
	return list
}

// joined joins events of different kinds of requests that begin and end together: they are one.
func (r *reporting) joined(list []event) (all []event) {
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(b.requests, a.requests) })
	near := func(a, b *event) bool {
		most := max(2*int64(time.Second), (a.to-a.from)/20)
		return max(a.from-b.from, b.from-a.from, a.to-b.to, b.to-a.to) <= most
	}
	for _, ev := range list {
		i := slices.IndexFunc(all, func(o event) bool { return o.nature == ev.nature && o.nature != real && near(&o, &ev) })
		if i < 0 {
			all = append(all, ev)
			continue
		}
		o := &all[i]
		if !slices.Contains(o.kinds, ev.kinds[0]) { // else some were given a challenge
			o.kinds = append(o.kinds, ev.kinds...)
			o.series = append(o.series, ev.series...)
		}
		o.gain(&ev)
		o.sources += ev.sources // each is new once
		o.usual += ev.usual
	}
	return all
}

// kindOf returns the number of requests of a kind.
func (s *server) kindOf(kind int) uint32 {
	return cmp.Or(first(s.kinds[:], func(k asked) bool { return int(k.kind) == kind+1 }), new(asked)).requests
}

// like reports whether two events are of one kind, at the same time, and about as large.
func (e *event) like(o *event) bool {
	return 2*min(e.requests, o.requests) > max(e.requests, o.requests) && o.nature == e.nature && o.kinds[0] == e.kinds[0] && 2*overlap(e.from, e.to, o.from, o.to) > max(e.to-e.from, o.to-o.from)
}

// wave reports whether two events are of one kind and about as fast, one after the other at a server.
func (e *event) wave(o *event) bool {
	return e.server == o.server && 2*min(e.level(), o.level()) > max(e.level(), o.level()) && o.nature == e.nature && o.kinds[0] == e.kinds[0] && overlap(e.from, e.to, o.from, o.to) == 0
}

// lasted reports whether an event lasted as long as a client was seen, but for a second before and after it.
func (e *event) lasted(c *client) bool {
	return c.first >= e.from-int64(time.Second) && c.last <= e.to+int64(time.Second)
}

// within returns how many requests a client sent to a server in a time: those of its timeline, or its share of all.
func (c *client) within(from, to int64) float64 {
	return c.during(from, to) / float64(max(c.distinctServers(), 1))
}

// during returns how many requests a client sent to all servers in a time.
func (c *client) during(from, to int64) (n float64) {
	c.spans(func(first, last int64, requests float64) {
		n += requests * float64(overlap(from, to, first, last)) / float64(max(last-first, 1))
	})
	return math.Min(n, float64(c.requests))
}

// spans calls f with the requests of each part of the timeline of a client, or with all.
func (c *client) spans(f func(first, last int64, requests float64)) {
	if c.cells == nil {
		f(c.first, c.last+1, float64(c.requests))
		return
	}
	c.cells.in(func(from, to int64, k *cell) { f(max(from, c.first), min(to, c.last+1), float64(k.requests)) })
}

// busiest returns the smallest set of clients that sent most of the requests of an event, those that prove themselves or those that do
// not, and how many requests that are. Each of them sent least a second or more. Those who ask other servers as well ask all of them
// alike, or this one for nearly all that the event has.
func (r *reporting) busiest(ev *event, proves bool, least float64) (list []*entry[client], sum float64) {
	list, sum = r.busiestBy(ev, proves, least, (*client).within)
	if sum < mostOf*ev.requests {
		if all, n := r.busiestBy(ev, proves, least, (*client).during); n >= mostOf*ev.requests && mostOf*n <= ev.requests && len(all) <= mostGreedy && r.askLess(all, n, ev) {
			return all, n
		}
	}
	return list, sum
}

// askLess reports whether clients, which sent n requests in the time of an event, ask far less at other times: who asks as much then,
// also while the server is down, did not make the event.
func (r *reporting) askLess(list []*entry[client], n float64, ev *event) bool {
	other := totalOf(list, func(c *entry[client]) float64 { return float64(c.v.requests) }) - n
	rest := float64(r.a.last+1-r.a.first)/1e9 - ev.seconds()
	return rest < 1 || other/rest < n/ev.seconds()/2
}

// busiestBy is busiest, of what sent counts.
func (r *reporting) busiestBy(ev *event, proves bool, least float64, sent func(c *client, from, to int64) float64) (list []*entry[client], sum float64) {
	type share struct {
		c *entry[client]
		n float64
	}
	var all []share
	for c := range each(r.a.clients.entries) {
		if c.v.requests < leastOften/5 || (c.v.proven > 0) != proves || !c.v.asked(ev.server.sum) || r.isVictim(c) {
			continue
		}
		if n := sent(&c.v, ev.from, ev.to); n*c.v.asksFor() >= least*min(ev.seconds(), max(float64(c.v.last-c.v.first)/1e9, 1)) && n >= 1 {
			all = append(all, share{c, n})
		}
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Or(cmp.Compare(b.n, a.n), a.c.compare(&b.c.key)) })
	for _, s := range all {
		if sum >= mostOf*ev.requests && s.n < sum/float64(len(list))/2 {
			break
		}
		list = append(list, s.c)
		sum += s.n
	}
	return list, sum
}

// asksFor returns the share of the requests of a client that are questions: to ask for a challenge that it returns belongs to one, as each further kind does.
func (c *client) asksFor() float64 {
	kinds := nettext.Sum(c.kinds[:], func(k kindCount) int { return either(10*uint64(k.n) >= c.requests, 1, 0) })
	return float64(c.requests-min(c.challenged, c.proven)) / float64(c.requests*uint64(max(kinds, 1)))
}

// mostOf is the share of an event that those who make it have.
const mostOf = 0.8
