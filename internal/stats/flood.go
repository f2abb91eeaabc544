package stats

import (
	"math"
	"slices"
	"time"
)

// What makes a flood: so many times the usual rate, for so long, and most requests from sources that never finish.
const (
	floodFactor = 10
	floodLeast  = 20 // requests per second
	floodTime   = 5 * time.Second
)

// A flood is the time in which far more requests came than usual, most of them from sources that never finish.
type flood struct {
	found    bool
	server   *entry[server] // nil if it is seen among the requests to all
	many     bool           // so many sources are as victims that they are part of it
	from, to int64          // of the buckets with that rate
	usual    float64
	forged   uint64 // requests of forged sources
	sources  uint64 // their number
	share    float64
	requests uint64 // all in that time
	// Usual requests per second by those that may be honest although they asked once, or never finished.
	once, never float64
}

// in reports whether a time is in the flood.
func (f *flood) in(t int64) bool { return f.found && t >= f.from && t < f.to }

// suspects counts requests of sources that asked once or never finished, and of victims if there are too many for a
// reflection.
func (m *moment) suspects(many bool) uint64 {
	if many {
		return m.by[once] + m.by[never] + m.by[victim]
	}
	return m.by[once] + m.by[never]
}

// findFlood finds the flood in windows of at least a second.
func (r *reporting) findFlood() (f flood) {
	l := r.moments
	l.buckets = slices.Clone(l.buckets)
	for widths[l.width] < int64(time.Second) {
		l.widen()
	}
	f.many = r.by[victim].clients > mostVictims
	width := float64(widths[l.width]) / 1e9
	var rates []float64
	honest := uint64(0)
	for i := range l.buckets {
		m := &l.buckets[i]
		rates = append(rates, float64(m.requests)/width)
		honest += m.requests - min(m.suspects(true)+m.by[often], m.requests)
	}
	if len(rates) == 0 {
		return f
	}
	slices.Sort(rates)
	f.usual = min(rates[len(rates)/2], float64(honest)/(float64(len(rates))*width))
	least := max(floodFactor*f.usual, floodLeast)
	hot := func(m *moment, width float64) bool {
		return float64(m.requests) >= least*width && 2*m.suspects(f.many) > m.requests
	}
	seconds, windows := 0.0, 0
	for i := range l.buckets {
		if hot(&l.buckets[i], width) {
			seconds += width
			windows++
		}
	}
	if seconds < floodTime.Seconds() && windows*5 < len(l.buckets)*4 || windows == 0 {
		return r.floodOfOne(f)
	}
	f.found, f.from, f.to = true, math.MaxInt64, math.MinInt64
	l.in(func(from, to int64, m *moment) {
		if hot(m, width) {
			f.from, f.to = min(f.from, from), max(f.to, to)
		}
	})
	// The windows at its ends are refined by the buckets of the timeline.
	w := widths[r.moments.width]
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	r.moments.in(func(from, to int64, m *moment) {
		if from >= f.from-int64(time.Second) && to <= f.to+int64(time.Second) && hot(m, float64(w)/1e9) {
			first, last = min(first, from), max(last, to)
		}
	})
	if first < last {
		f.from, f.to = first, last
	}
	f.measure(r)
	return f
}

// floodOfOne finds a flood at one server that is lost among the requests to all of them.
func (r *reporting) floodOfOne(f flood) flood {
	for _, e := range r.servers[:min(len(r.servers), mostServers)] {
		if e.v.more == nil || !r.home(e) {
			continue
		}
		l := &e.v.more.cells
		var counts []uint64
		for i := range l.buckets {
			counts = append(counts, l.buckets[i].requests)
		}
		slices.Sort(counts)
		width := float64(widths[l.width]) / 1e9
		least := max(floodFactor*float64(counts[len(counts)/2]), floodLeast*width)
		one := flood{server: e, many: f.many, from: math.MaxInt64, to: math.MinInt64}
		hot := 0
		l.in(func(from, to int64, c *cell) {
			if float64(c.requests) >= least {
				one.from, one.to = min(one.from, from), max(one.to, to)
				hot++
			}
		})
		if float64(hot)*width < floodTime.Seconds() {
			continue
		}
		one.found = true
		one.measure(r)
		in, usual := one.grown(r, l)
		if 2*float64(one.forged) < in-usual || one.forged > uint64(in) {
			continue // most of it is of other clients, or elsewhere
		}
		return one
	}
	return f
}

// measure counts what is in the flood, less what is usual.
func (f *flood) measure(r *reporting) {
	var in, out moment
	outside := int64(0)
	w := widths[r.moments.width]
	r.moments.in(func(from, to int64, m *moment) {
		if f.in(from) {
			in.add(m)
		} else {
			out.add(m)
			outside += w
		}
	})
	span := float64(f.to-f.from) / 1e9
	if outside > 0 {
		f.once = float64(out.by[once]) / (float64(outside) / 1e9)
		f.never = float64(out.by[never]) / (float64(outside) / 1e9)
		f.usual = float64(out.requests-min(out.by[often]+out.by[victim], out.requests)) / (float64(outside) / 1e9)
	}
	f.requests = in.requests
	f.forged = in.suspects(f.many) - min(uint64((f.once+f.never)*span), in.suspects(f.many))
	if 5*outside > f.to-f.from {
		// Under a flood, clients that come again look as if they asked once: what exceeds the usual is counted as well.
		excess := float64(in.requests) - float64(in.by[often]) - f.usual*span
		if !f.many {
			excess -= float64(in.by[victim])
		}
		f.forged = min(f.forged, uint64(max(excess, 0)))
	}
	all := r.by[once]
	all.merge(&r.by[never])
	if f.many {
		all.merge(&r.by[victim])
	}
	// Sources that were evicted and came again are in the sums twice, and not among the distinct addresses.
	distinct := r.Totals.Addresses.Count
	if all.requests > 0 {
		f.sources = min(uint64(float64(all.clients)*float64(f.forged)/float64(all.requests)), distinct)
	}
	if f.server != nil {
		distinct = f.server.v.clients.count().Count
	}
	if distinct > 0 {
		f.share = min(float64(f.sources)/float64(distinct), 1)
	}
}

// limits counts what limits would have dropped.
func (r *reporting) limits() {
	t := &r.Limits
	t.Greedy = r.by[often].requests
	t.Forged = r.by[victim].requests
	if r.flood.many {
		t.Forged = 0
	}
	t.Honest = r.by[finished].requests
	maybe := r.by[once].requests + r.by[never].requests + r.by[victim].requests - t.Forged
	if r.flood.found {
		t.Forged += r.flood.forged
		maybe -= min(maybe, r.flood.forged)
	}
	t.Honest += maybe
	r.Totals.Honest, r.Totals.Greedy, r.Totals.NeverFinished = t.Honest, t.Greedy, t.Forged
	for i, n := range perAddress {
		maybe := r.by[once].dropped[i] + r.by[never].dropped[i]
		l := Limit{N: int(n), Burst: int(burstOf(n)), Forged: r.by[victim].dropped[i], Greedy: r.by[often].dropped[i], Honest: r.by[finished].dropped[i]}
		if r.flood.found {
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

// floodKind returns the index of the kind of request of the flood: what grew most.
func (r *reporting) floodKind() int {
	best, most := -1, -1.0
	for i := range r.a.kinds {
		k := &r.a.kinds[i]
		if in, usual := r.grown(&k.cells); in-usual > most {
			best, most = i, in-usual
		}
	}
	return best
}

// grown returns how many requests came in the flood, and how many would usually have come in that time.
func (r *reporting) grown(l *cells) (in, usual float64) { return r.flood.grown(r, l) }

func (f *flood) grown(r *reporting, l *cells) (in, usual float64) {
	span, all := float64(f.to-f.from), float64(0)
	w := float64(widths[l.width])
	l.in(func(from, to int64, c *cell) {
		all += float64(c.requests)
		if over := float64(min(to, f.to) - max(from, f.from)); over > 0 {
			in += float64(c.requests) * over / w
		}
	})
	rest := float64(r.a.last-r.a.first) - span
	if rest > 0 {
		usual = (all - in) * span / rest
	}
	return in, usual
}

// global simulates limits of the kind of request of the flood without a challenge, over windows of a second.
func (r *reporting) global() {
	if !r.flood.found {
		return
	}
	i := r.floodKind()
	if i < 0 || r.a.kinds[i].unproven == 0 {
		return
	}
	k := &r.a.kinds[i]
	unproven := uint64(0)
	for i := range r.a.kinds {
		unproven += r.a.kinds[i].unproven
	}
	share := float64(k.unproven) / float64(max(unproven, 1)) // outside of the flood
	in, usual := r.grown(&k.cells)
	inShare := min(1, in/max(float64(r.flood.requests), 1))
	_ = usual
	width := float64(widths[r.moments.width]) / 1e9
	for _, n := range globals {
		var forged, honest float64
		r.moments.in(func(from, to int64, m *moment) {
			if m.unproven == 0 {
				return
			}
			bad, part := 0.0, share
			if r.flood.in(from) {
				part = inShare
				bad = max(float64(m.suspects(r.flood.many))-(r.flood.once+r.flood.never)*width, 0)
			}
			all := max(float64(m.unproven)*part, bad)
			if over := all - float64(n)*width; over > 0 {
				forged += over * bad / all
				honest += over * (all - bad) / all
			}
		})
		r.Limits.Global = append(r.Limits.Global, Limit{N: n, Burst: int(burstOf(int64(n))), Kind: r.kindName(i), Forged: uint64(forged), Honest: uint64(honest)})
	}
	// The lowest limit that leaves the usual traffic alone outside of the flood.
	usualRate := usual / max(float64(r.flood.to-r.flood.from)/1e9, 1)
	for i := range r.Limits.Global {
		if l := &r.Limits.Global[i]; float64(l.N) >= 3*usualRate && l.Forged*2 > r.flood.forged {
			l.Best = true
			break
		}
	}
}
