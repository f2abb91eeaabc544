package stats

import (
	"cmp"
	"math"
	"slices"
	"time"
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
	in, out  float64 // bytes
	forged   bool    // it is named so
	because  []string
	strong   int              // kinds of strong evidence
	clients  []*entry[client] // those that make most of it, if they are few
	series   []*kindSeries    // those of its kinds
}

func (e *event) seconds() float64 { return max(float64(e.to-e.from)/1e9, 1e-3) }

// overlaps returns how long two times overlap.
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

// ratesOf returns the counts of a series.
func (r *reporting) ratesOf(l *ticks) (x rates) {
	x.width = widths[l.width]
	x.start = floorDiv(r.a.first, x.width)
	n := int(min(max(floorDiv(r.a.last, x.width)-x.start+1, 0), 4*mostTicks))
	for p := range x.by {
		x.by[p] = make([]float64, n)
	}
	x.fresh, x.in, x.out = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range l.buckets {
		k := l.start + int64(i) - x.start
		if k < 0 || k >= int64(n) {
			continue
		}
		b := &l.buckets[i]
		for p, c := range b.by {
			x.by[p][k] = float64(c)
		}
		x.fresh[k], x.in[k], x.out[k] = float64(b.fresh), float64(b.in), float64(b.out)
	}
	return x
}

// time returns the time of a bucket with its fraction, within the capture.
func (x *rates) time(r *reporting, at float64) int64 {
	return min(max(x.start*x.width+int64(at*float64(x.width)), r.a.first), r.a.last+1)
}

// during returns the sum of the buckets in a surge, without what is usual outside of all surges.
func (x *rates) during(list []float64, s *surge, all []surge) float64 {
	in, out, inside, outside := 0.0, 0.0, 0.0, 0.0
	for i, v := range list {
		at := float64(i)
		if min(s.to, at+1)-max(s.from, at) > 0.01 { // a bucket at an end is full in part
			in += v
			inside++
		}
		if !slices.ContainsFunc(all, func(o surge) bool { return at+1 > o.from && at < o.to }) {
			out += v
			outside++
		}
	}
	if outside > 0 {
		in -= out / outside * inside
	}
	return max(in, 0)
}

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
		var real []float64
		var last rates
		for i := range e.v.more.series {
			q := &e.v.more.series[i]
			if q.kind == 0 {
				break
			}
			x := r.ratesOf(&q.ticks)
			list = append(list, r.eventsOf(e, q, &x)...)
			sum := sumsOf(x.by[proven], x.by[vouched])
			if real == nil || last.width != x.width {
				real, last = sum, x
				continue
			}
			real = sumsOf(real, sum)
		}
		if real != nil {
			list = append(list, r.realOf(e, real, &last)...)
		}
		r.events = append(r.events, r.joined(list)...)
	}
	slices.SortStableFunc(r.events, func(a, b event) int { return cmp.Compare(b.requests, a.requests) })
}

// eventsOf finds the events of one kind of request without a proof.
func (r *reporting) eventsOf(e *entry[server], q *kindSeries, x *rates) (list []event) {
	seconds := float64(x.width) / 1e9
	lost, open := x.by[unreturned], x.by[unproven]
	of := unasked
	if q.asks() {
		of = unreturning
	}
	// If the server is down, those who else would prove themselves cannot: a flood is more than these.
	least := (eventFactor - 1) * quantileOf(sumsOf(x.by[vouched], x.by[proven]), make([]bool, len(open)), 0.8)
	for _, c := range []struct {
		nature      nature
		counts      []float64
		calm, least float64
	}{{unreturning, lost, rareOf(lost) / seconds, 0}, {of, open, -1, least}} {
		found := slices.DeleteFunc(surges(c.counts, seconds, c.calm), func(s surge) bool { return s.level < c.least })
		for i := range found {
			s := &found[i]
			ev := event{server: e, kinds: []uint16{q.kind - 1}, nature: c.nature, from: x.time(r, s.from), to: x.time(r, s.to), requests: s.excess(), usual: s.usual / seconds, series: []*kindSeries{q}}
			part := 1.0
			if with := x.during(c.counts, s, found); with > 0 {
				part = min(ev.requests/with, 1) // several overlap
			}
			ev.sources = part * x.during(x.fresh, s, found)
			ev.in, ev.out = part*x.during(x.in, s, found), part*x.during(x.out, s, found)
			list = append(list, ev)
		}
	}
	if len(list) == 0 && of == unasked {
		list = r.steadyOf(e, q, x, open)
	}
	return list
}

// rareOf returns what is usual of requests that should hardly be there: little, or nothing if there are always many.
func rareOf(x []float64) float64 {
	if low := quantileOf(x, make([]bool, len(x)), 0.2); len(x) > 0 && 3*low < slices.Max(x) {
		return low
	}
	return 0
}

// steadyOf finds a flood that lasts as long as the capture: there is no calm to compare with, but what a forger cannot hide.
func (r *reporting) steadyOf(e *entry[server], q *kindSeries, x *rates, open []float64) []event {
	n := 0.0
	for _, v := range open {
		n += v
	}
	if n < eventLeast*r.duration() || r.duration() < eventTime {
		return nil
	}
	ev := event{server: e, kinds: []uint16{q.kind - 1}, nature: unasked, from: r.a.first, to: r.a.last + 1, requests: n, series: []*kindSeries{q}}
	for i := range open {
		ev.sources += x.fresh[i]
		ev.in += x.in[i]
		ev.out += x.out[i]
	}
	if r.weighEvidence(&ev); ev.strong < 2 {
		return nil
	}
	return []event{ev}
}

// realOf finds the events of requests with a proof.
func (r *reporting) realOf(e *entry[server], counts []float64, x *rates) (list []event) {
	seconds := float64(x.width) / 1e9
	var kinds []uint16
	var all []*kindSeries
	for i := range e.v.more.series {
		if q := &e.v.more.series[i]; q.kind > 0 {
			kinds, all = append(kinds, q.kind-1), append(all, q)
		}
	}
	slices.SortStableFunc(kinds, func(a, b uint16) int { return cmp.Compare(e.v.kindOf(int(b)), e.v.kindOf(int(a))) })
	found := surges(counts, seconds, -1)
	for i := range found {
		s := &found[i]
		list = append(list, event{server: e, kinds: kinds, nature: real, from: x.time(r, s.from), to: x.time(r, s.to), requests: s.excess(), usual: s.usual / seconds, series: all})
	}
	return list
}

// joined joins events of different kinds of requests that begin and end together: they are one.
func (r *reporting) joined(list []event) (all []event) {
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(b.requests, a.requests) })
	near := func(a, b *event) bool {
		most := max(2*int64(time.Second), (a.to-a.from)/20)
		return abs64(a.from-b.from) <= most && abs64(a.to-b.to) <= most
	}
	for _, ev := range list {
		i := slices.IndexFunc(all, func(o event) bool { return o.nature == ev.nature && o.nature != real && near(&o, &ev) })
		if i < 0 {
			all = append(all, ev)
			continue
		}
		o := &all[i]
		o.kinds = append(o.kinds, ev.kinds...)
		o.series = append(o.series, ev.series...)
		o.requests += ev.requests
		o.usual += ev.usual
		o.sources = max(o.sources, ev.sources)
		o.in += ev.in
		o.out += ev.out
	}
	return all
}

func abs64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// kindOf returns the number of requests of a kind.
func (s *server) kindOf(kind int) uint32 {
	for i := range s.kinds {
		if int(s.kinds[i].kind) == kind+1 {
			return s.kinds[i].requests
		}
	}
	return 0
}

// within returns how many requests a client sent to a server in a time: those of its timeline, or its share of all.
func (c *client) within(from, to int64) float64 {
	part := 1 / float64(max(c.distinctServers(), 1))
	n := 0.0
	add := func(first, last int64, requests float64) {
		if last <= first {
			last = first + 1
		}
		n += requests * float64(overlap(from, to, first, last)) / float64(last-first)
	}
	if c.cells == nil {
		add(c.first, c.last+1, float64(c.requests))
		return n * part
	}
	c.cells.in(func(a, b int64, k *cell) { add(max(a, c.first), min(b, c.last+1), float64(k.requests)) })
	return math.Min(n, float64(c.requests)) * part
}

// busiest returns the smallest set of clients that sent most of the requests of an event, those that prove themselves or those that do
// not, and how many requests that are. Each of them sent least a second or more.
func (r *reporting) busiest(ev *event, proves bool, least float64) (list []*entry[client], sum float64) {
	type share struct {
		c *entry[client]
		n float64
	}
	var all []share
	for i := range r.a.clients.entries {
		c := &r.a.clients.entries[i]
		if c.v.requests < leastOften/5 || (c.v.proven > 0) != proves || !c.v.asked(ev.server.sum) {
			continue
		}
		if n := c.v.within(ev.from, ev.to); n >= least*min(ev.seconds(), max(float64(c.v.last-c.v.first)/1e9, 1)) && n >= 1 {
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

// mostOf is the share of an event that those who make it have.
const mostOf = 0.8
