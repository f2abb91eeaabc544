package stats

import (
	"slices"

	"github.com/qdissect/qdissect/internal/nettext"
)

// limits counts what limits would have dropped, on the accounting of the verdicts.
func (r *reporting) limits() {
	t := &r.Limits
	forged, victims, greedy := 0.0, 0.0, 0.0
	for c := range each(r.carpets) {
		forged += c.requests
		for _, e := range r.servers { // those that reply get as much as each of the others
			if e.v.replies > 0 && r.returned(e) == 0 && c.network.Contains(e.addr()) {
				forged += c.requests / float64(c.silent)
			}
		}
	}
	for i := range r.victims {
		if v := &r.victims[i]; !v.there {
			victims += float64(v.requests)
		}
	}
	for c := range r.greedy {
		greedy += float64(c.v.requests)
	}
	open := float64(r.a.proofs[unproven])
	for ev := range each(r.events) {
		switch {
		case ev.nature == unreturning: // a server that asks for challenges did not answer some with even one
			for _, q := range ev.series {
				x := r.ratesOf(&q.ticks)
				s := x.surgeOf(ev)
				forged += x.during(x.by[unproven], &s, []surge{s})
			}
		case ev.forged && ev.nature == unasked && (!ev.carpet || ev.server.v.replies > 0):
			forged += ev.requests
		}
	}
	all := r.Totals.Requests
	t.Forged = min(r.a.proofs[unreturned]+nearest(min(forged+victims, open)), all)
	t.Greedy = min(uint64(greedy), all-t.Forged)
	t.Honest = all - t.Forged - t.Greedy
	r.Totals.Honest, r.Totals.Greedy, r.Totals.NeverFinished = t.Honest, t.Greedy, t.Forged
	r.perAddress(forged / max(open-victims, 1))
	r.bestPerAddress()
	type group struct {
		series *kindSeries
		nature nature
	}
	floods, order := map[group][]*event{}, []group{} // those of one kind of request at a server have one limit
	for ev := range each(r.events) {
		for j := 0; j < len(ev.series) && ev.forged; j++ {
			g := group{ev.series[j], ev.nature}
			if floods[g] == nil {
				order = append(order, g)
			}
			floods[g] = append(floods[g], ev)
		}
	}
	for _, g := range order {
		r.total(g.series, floods[g])
	}
}

// perAddress counts what limits per address would have dropped. part is the share of what was never proven that is forged.
func (r *reporting) perAddress(part float64) {
	for i, n := range perAddress {
		l := Limit{N: int(n), Burst: int(burstOf(n))}
		maybe := r.a.forgotten[mute].dropped[i]
		*either(part > 0.5, &l.Forged, &l.Honest) += maybe
		l.Honest += r.a.forgotten[finished].dropped[i]
		l.Forged += r.a.forgotten[never].dropped[i]
		r.Limits.PerAddress = append(r.Limits.PerAddress, l)
	}
	alone := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool { return e.v.sources().Count != 1 })
	for c := range each(r.a.clients.entries) {
		if c.v.requests <= leastBurst || standsForMany(c) && slices.ContainsFunc(alone, func(e *entry[server]) bool { return c.v.asked(e.sum) }) {
			continue // no rule is for that server
		}
		class := r.className(c)
		for i, n := range c.v.dropped {
			l := &r.Limits.PerAddress[i]
			switch d := uint64(n); class {
			case TooOften:
				l.Greedy += d
			case NeverFinished:
				l.Forged += d
			default:
				l.Honest += d
			}
		}
	}
}

// Of honest requests, a recommended limit per address may drop one in two hundred.
const mostHonest = 200

// bestPerAddress recommends the limit that stops most, and of those that stop nearly as much, the most generous.
func (r *reporting) bestPerAddress() {
	t := &r.Limits
	bad, most := t.Forged+t.Greedy, uint64(0)
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

// totals are the limits per second for a kind of request without a proven address.
var totals = [...]int{20, 50, 100, 200, 500, 1000, 2000, 5000}

// total simulates limits at the server of events, of their kind of request without a challenge: nft's bucket of tokens, through which
// the requests of each second go.
func (r *reporting) total(q *kindSeries, list []*event) {
	ev, x := list[0], r.ratesOf(&q.ticks)
	seconds := float64(x.width) / 1e9
	without, madeUp := sumsOf(x.by[unproven], x.by[unreturned]), r.madeUp(ev, q.kind-1)
	if !madeUp { // else those who were given a challenge pass
		without = sumsOf(without, x.by[vouched])
	}
	during := nettext.Each(list, x.surgeOf)
	// What is usual outside is honest inside.
	rest := outside(without, during)
	calm := meanOf(rest)
	usual, honest := calm, make([]float64, 0, len(list))
	for i, ev := range list {
		s := during[i]
		n := sumOf(x.by[vouched], s) / max(s.to-s.from, 1)
		if madeUp || ev.nature == unasked {
			if n = calm; len(rest) == 0 {
				n = ev.usual * seconds
			}
		}
		honest = append(honest, n)
		usual = max(usual, n)
	}
	best := false
	for _, n := range totals {
		flood := 0.0
		limit := Limit{N: n, Burst: int(burstOf(int64(n))), Kind: r.kindName(int(q.kind) - 1), Server: r.address(ev.server)}
		for i, ev := range list {
			bad, good, all := limit.drops(without, honest[i], seconds, during[i])
			limit.Forged += uint64(min(bad, ev.requests))
			limit.Honest += uint64(good)
			flood += min(all, ev.requests)
		}
		// The lowest limit that leaves the usual traffic alone outside of the floods.
		limit.Best = !best && float64(n)*seconds >= 3*usual && float64(limit.Forged)*2 > flood
		best = best || limit.Best
		r.Limits.Global = append(r.Limits.Global, limit)
	}
}

// drops returns how many requests of a surge a limit drops, of those that are too many and of those that are usual, and how many are too many.
func (l *Limit) drops(counts []float64, honest, seconds float64, s surge) (bad, good, most float64) {
	tokens := float64(l.Burst)
	for i, c := range counts {
		at := float64(i)
		part := max(0, min(s.to, at+1)-max(s.from, at))
		if part == 0 {
			continue
		}
		usual, flood := honest*part, max(c-honest, 0)
		tokens += float64(l.N) * seconds * part
		all := flood + usual
		most += flood
		if over := all - tokens; over > 0 {
			bad += over * flood / all
			good += over * usual / all
		}
		tokens = min(max(tokens-all, 0), float64(l.Burst))
	}
	return bad, good, most
}

// sumOf returns the sum of the buckets in a surge.
func sumOf(list []float64, s surge) (n float64) {
	for i, v := range list {
		at := float64(i)
		n += v * max(0, min(s.to, at+1)-max(s.from, at))
	}
	return n
}
