package stats

import (
	"math"
	"slices"
	"time"
)

// What makes a flood at a server: so many times its usual rate, for so long or a fifth of a short capture, and nearly all
// that exceeds the usual from sources of which no client is known to behave like that, each of which asks a few times.
const (
	floodFactor  = 10
	floodLeast   = 20 // requests per second
	floodTime    = 5 * time.Second
	floodShare   = 0.8
	floodSources = 20
)

// A flood is the time in which far more requests from suspicious sources came to a server than usual.
type flood struct {
	server        *entry[server]
	kind          int   // index of the kind of request that grew most
	from, to      int64 // of the time with that rate
	usual         float64
	requests      float64 // all in that time
	forged        uint64  // without what is usual, as the bytes
	sources       uint64
	share         float64 // of the sources of that time
	bytesIn, sent float64
}

// in reports whether a time is in a flood.
func (r *reporting) inFlood(t int64) bool {
	return slices.ContainsFunc(r.floods, func(f flood) bool { return t >= f.from && t < f.to })
}

// findFloods finds the floods, the largest first.
func (r *reporting) findFloods() {
	// A flood that lasts as long as the capture is compared with what is asked of all servers.
	calm := 0.0
	for _, e := range r.servers {
		if e.v.more != nil {
			c := sumCells(e.v.more.cells.buckets)
			calm += float64(c.requests-c.suspect) / r.duration()
		}
	}
	for _, e := range r.servers {
		if e.v.more == nil || !r.home(e) {
			continue
		}
		if f, ok := r.floodAt(e, calm); ok {
			r.floods = append(r.floods, f)
		}
	}
	slices.SortStableFunc(r.floods, func(a, b flood) int { return int(b.forged) - int(a.forged) })
}

// floodAt finds the flood at a server.
func (r *reporting) floodAt(e *entry[server], calm float64) (f flood, ok bool) {
	l := &e.v.more.cells
	width := float64(widths[l.width]) / 1e9
	span := r.duration()
	counts := make([]uint64, len(l.buckets))
	for i := range l.buckets {
		counts[i] = l.buckets[i].requests
	}
	slices.Sort(counts)
	if len(counts) == 0 {
		return f, false
	}
	usual := min(float64(counts[len(counts)/2])/width, calm)
	least := max(floodFactor*usual, floodLeast) * width
	f = flood{server: e, from: math.MaxInt64, to: math.MinInt64}
	hot := 0.0
	l.in(func(from, to int64, c *cell) {
		if float64(c.requests) >= least && 2*c.suspect > c.requests {
			f.from, f.to = min(f.from, from), max(f.to, to)
			hot += width
		}
	})
	if hot == 0 || hot < min(floodTime.Seconds(), span/5) {
		return f, false
	}
	f.from, f.to = max(f.from, r.a.first), min(f.to, r.a.last+1)
	in, without := r.grown(l, &f)
	f.from, f.to = r.sharpen(f.from, f.to, widths[l.width], in[cellRequests]-without[cellRequests], func(m *moment) uint64 { return m.requests })
	in, without = r.grown(l, &f)
	seconds := float64(f.to-f.from) / 1e9
	f.requests, f.usual = in[cellRequests], without[cellRequests]/seconds
	grown := in[cellRequests] - without[cellRequests]
	f.bytesIn, f.sent = in[cellBytesIn]-without[cellBytesIn], in[cellBytesOut]-without[cellBytesOut]
	for _, c := range r.known(e) {
		part := 1 / float64(max(c.v.distinctServers(), 1))
		grown -= float64(c.v.requests) * part
		f.bytesIn -= float64(c.v.bytesIn) * part
		f.sent -= float64(c.v.bytesOut) * part
		in[cellSuspect] -= float64(c.v.requests) * part
	}
	if grown < 1 || in[cellSuspect]-without[cellSuspect] < floodShare*grown {
		return f, false
	}
	f.forged = uint64(grown + 0.5)
	// Sources that were evicted and came again are among the fresh ones twice.
	fresh := min(in[cellFresh]-without[cellFresh], grown, float64(e.v.clients.count().Count))
	f.sources = uint64(max(fresh, 0) + 0.5)
	f.share = min(fresh/max(in[cellFresh], 1), 1)
	most := -1.0
	for i := range r.a.kinds {
		if e.v.kindOf(i) == 0 {
			continue
		}
		in, without := r.grown(&r.a.kinds[i].cells, &f)
		if n := in[cellRequests] - without[cellRequests]; n > most {
			f.kind, most = i, n
		}
	}
	return f, f.sources >= floodSources && f.forged/f.sources < leastOften && f.share > floodShare
}

// known returns the clients of a server that are judged alone, because there are few: victims, and those that ask too often.
func (r *reporting) known(e *entry[server]) (list []*entry[client]) {
	for _, c := range r.clients {
		if is := c.v.class(); (is == often || is == victim) && c.v.asked(e.sum) {
			list = append(list, c)
		}
	}
	if len(list) > mostVictims {
		return nil
	}
	return list
}

// sharpen finds the ends of a flood in the buckets of the timeline, which are narrower than those of servers.
func (r *reporting) sharpen(start, end, margin int64, grown float64, of func(*moment) uint64) (int64, int64) {
	w := widths[r.moments.width]
	rate := grown / float64(end-start) * float64(w)
	in := 0.0
	inside := 0
	r.moments.in(func(from, to int64, m *moment) {
		if from >= start && to <= end {
			in += float64(of(m))
			inside++
		}
	})
	if inside == 0 {
		return start, end
	}
	least := in/float64(inside) - rate/2
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	r.moments.in(func(from, to int64, m *moment) {
		if from >= start-margin && to <= end+margin && float64(of(m)) >= least {
			first, last = min(first, from), max(last, to)
		}
	})
	if first >= last {
		return start, end
	}
	return max(first, r.a.first), min(last, r.a.last+1)
}

// The numbers of a cell.
const (
	cellRequests = iota
	cellSuspect
	cellFresh
	cellBytesIn
	cellBytesOut
	cellNumbers
)

// grown returns what came in the time of a flood, and what would usually have come: as much as in the buckets without it.
func (r *reporting) grown(l *cells, f *flood) (in, usual [cellNumbers]float64) {
	var with, without float64 // times
	l.in(func(from, to int64, c *cell) {
		span := float64(min(to, r.a.last+1) - max(from, r.a.first))
		sum := &usual
		if from < f.to && to > f.from {
			sum = &in
			with += span
		} else {
			without += span
		}
		for i, n := range [...]uint64{c.requests, c.suspect, c.fresh, c.bytesIn, c.bytesOut} {
			sum[i] += float64(n)
		}
	})
	// Servers have no buckets before they are asked for the first time.
	without = max(without, float64(r.a.last-r.a.first)-with)
	span := float64(f.to - f.from)
	if 5*without <= span { // nearly all is flood: usual are sources that do more than flooding
		usual = [cellNumbers]float64{}
		if in[cellSuspect] > 0 { // kinds of requests do not count them
			usual[cellRequests] = in[cellRequests] - in[cellSuspect]
		}
		return in, usual
	}
	rest := with - span
	for i := range usual {
		rate := usual[i] / without
		in[i] -= rate * rest
		usual[i] = rate * span
	}
	return in, usual
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

// limits counts what limits would have dropped.
func (r *reporting) limits() {
	t := &r.Limits
	t.Greedy = r.by[often].requests
	t.Forged = r.by[victim].requests
	if r.by[victim].clients > mostVictims && len(r.floods) > 0 {
		t.Forged = 0 // they are the flood
	}
	t.Honest = r.by[finished].requests
	maybe := r.by[once].requests + r.by[never].requests + r.by[victim].requests - t.Forged
	for _, f := range r.floods {
		t.Forged += min(maybe, f.forged)
		maybe -= min(maybe, f.forged)
	}
	t.Honest += maybe
	r.Totals.Honest, r.Totals.Greedy, r.Totals.NeverFinished = t.Honest, t.Greedy, t.Forged
	for i, n := range perAddress {
		maybe := r.by[once].dropped[i] + r.by[never].dropped[i]
		l := Limit{N: int(n), Burst: int(burstOf(n)), Forged: r.by[victim].dropped[i], Greedy: r.by[often].dropped[i], Honest: r.by[finished].dropped[i]}
		if len(r.floods) > 0 {
			l.Forged += maybe
		} else {
			l.Honest += maybe
		}
		t.PerAddress = append(t.PerAddress, l)
	}
	r.bestPerAddress()
	r.global()
}

// Of honest requests, a recommended limit per address may drop one in two hundred.
const mostHonest = 200

// bestPerAddress recommends the limit that stops most, and of those that stop nearly as much, the most generous.
func (r *reporting) bestPerAddress() {
	t := &r.Limits
	bad := t.Forged + t.Greedy
	most := uint64(0)
	for i := range t.PerAddress {
		if l := &t.PerAddress[i]; l.Honest*mostHonest <= t.Honest {
			most = max(most, l.Forged+l.Greedy)
		}
	}
	if most*10 < bad || bad < leastOften {
		return
	}
	for i := len(t.PerAddress) - 1; i >= 0; i-- {
		if l := &t.PerAddress[i]; l.Honest*mostHonest <= t.Honest && (l.Forged+l.Greedy)*100 >= most*97 {
			l.Best = true
			return
		}
	}
}

// globals are the limits per second for a kind of request without a proven address.
var globals = [...]int{20, 50, 100, 200, 500, 1000, 2000, 5000}

// global simulates limits at the server of the largest flood, of its kind of request without a challenge: nft's bucket of
// tokens, through which the buckets of the timeline of the server go.
func (r *reporting) global() {
	if len(r.floods) == 0 {
		return
	}
	f := &r.floods[0]
	k, s := &r.a.kinds[f.kind], &f.server.v
	if k.unproven == 0 {
		return
	}
	// Usual requests per second that the rule matches as well.
	others := func(n, of float64) float64 {
		return max(n-float64(f.forged), 0) / max(of-float64(f.forged), 1)
	}
	honest := f.usual * others(float64(s.kindOf(f.kind)), float64(s.requests)) * others(float64(k.unproven), float64(k.sum().requests))
	forged := float64(f.forged) / max(f.requests-f.usual*float64(f.to-f.from)/1e9, 1) // the rest is of known clients
	for _, n := range globals {
		limit := Limit{N: n, Burst: int(burstOf(int64(n))), Kind: r.kindName(f.kind)}
		tokens := float64(limit.Burst)
		var bad, good float64
		s.more.cells.in(func(from, to int64, c *cell) {
			from, to = max(from, f.from), min(to, f.to)
			if from >= to {
				return
			}
			seconds := float64(to-from) / 1e9
			whole := float64(widths[s.more.cells.width]) / 1e9
			flood := max(float64(c.requests)*seconds/whole-f.usual*seconds, 0) * forged
			all := flood + honest*seconds
			tokens += float64(n) * seconds
			if over := all - tokens; over > 0 {
				bad += over * flood / all
				good += over * (all - flood) / all
			}
			tokens = min(max(tokens-all, 0), float64(limit.Burst))
		})
		limit.Forged, limit.Honest = uint64(min(bad, float64(f.forged))), uint64(good)
		r.Limits.Global = append(r.Limits.Global, limit)
	}
	// The lowest limit that leaves the usual traffic alone outside of the flood.
	for i := range r.Limits.Global {
		if l := &r.Limits.Global[i]; float64(l.N) >= 3*honest && l.Forged*2 > f.forged {
			l.Best = true
			break
		}
	}
}
