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
)

// drops says that a server replies to a smaller share of requests when more come.
func (r *reporting) drops() {
	const cellsLeast, requestsLeast, dropLeast = 8, 100, 0.1
	if r.o.OneSided {
		return
	}
	for _, e := range r.servers {
		v := &e.v
		if v.more == nil || v.requests < requestsLeast || v.replies == 0 || r.has(e, ServerDown, JunkFlood) || r.attacked(e) {
			continue
		}
		var all []cell
		end := r.a.last - int64(5*time.Second) // later requests may still be open
		lost := v.losing()
		v.more.cells.in(func(from, to int64, c *cell) {
			if c.requests > 0 && to <= end {
				all = append(all, cell{requests: c.requests, unanswered: lost(c)})
			}
		})
		if len(all) < cellsLeast {
			continue
		}
		slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(a.requests, b.requests) })
		calm, top := sumCells(all[:len(all)/2]), all[len(all)*3/4:]
		mean := float64(sumCells(top).requests) / float64(len(top)) // a crowd may last for less than a quarter of the time
		top = top[slices.IndexFunc(top, func(c cell) bool { return 2*float64(c.requests) >= mean }):]
		busy, width := sumCells(top), float64(widths[v.more.cells.width])/1e9
		calmRate, busyRate := float64(calm.requests)/float64(len(all)/2)/width, float64(busy.requests)/float64(len(top))/width
		calmShare, busyShare := answeredShare(&calm), answeredShare(&busy)
		if busyShare > wellShare || calmShare-busyShare < max(dropLeast, noise(&calm, &busy)) || busyRate < 2*calmRate {
			continue
		}
		undue, _ := r.undue(e)
		if other := float64(r.mute(e, busyShare)+undue) + lostOf(v.outages(r.events)); other >= wellShare*float64(sumCells(all).unanswered) {
			continue // it loses them at any load
		}
		first, last := r.dropping(v, end)
		own, ignored := 0.0, 0.0 // of clients that ask too often
		for _, c := range r.a.clientsOf(e, func(c *client) bool { return c.distinctServers() == 1 }) {
			if r.greedy[c] {
				own, ignored = own+c.v.during(first, last), ignored+float64(less(c.v.requests, c.v.replies))
			}
		}
		if rest := v.askedIn(first, last) - own; own > 0 && rest >= leastWell && less(float64(sumCells(all).unanswered), ignored) <= (1-wellShare)*rest {
			continue // others are answered as ever
		}
		r.say(Verdict{
			Kind: DropsUnderLoad, Server: r.address(e), From: instant(first), To: instant(last),
			Text:   fmt.Sprintf("Overload: %s%s replies to %s of requests at %s per second and to %s at %s per second, in %s.", r.address(e), r.named(v), percent(calmShare), rounded(calmRate), percent(busyShare), rounded(busyRate), r.span(first, last)),
			Advice: "The server or the network drops requests when many come: raise its limit of queries per second, cache its replies, or limit what asks too often.",
			Evidence: Evidence{
				{"answered_share_calm", round(calmShare, 4)}, {"requests_per_second_calm", round(calmRate, 1)}, {"answered_share_busy", round(busyShare, 4)},
				{"requests_per_second_busy", round(busyRate, 1)}, {"unanswered", float64(v.fates[dissect.OutcomeUnanswered])},
			},
		})
	}
}

// losing returns what tells how many requests of a bucket have no reply. If many were asked again, all that were sent count: who asks all the time asks anyway.
func (s *server) losing() func(*cell) uint64 {
	o, all := s.fates.of(s.requests), float64(s.requests)
	again := float64(o.Other) >= (badShare+s.share(s.last-shortest, s.last+1))*all && // some are open at the end
		float64(s.replies) < wellShare*all && s.more.trips.quantile(990) < time.Second
	return func(c *cell) uint64 { return max(c.unanswered, either(again, less(c.requests, c.replies), 0)) }
}

// mute returns how many requests to a server are of clients, or of networks, that get no reply, which of so many requests is no accident where a share has
// one, or while others get one: if these are most that have none, it is not the load.
func (r *reporting) mute(e *entry[server], share float64) (n uint64) {
	sure := func(requests uint64) bool { return math.Pow(1-share, float64(requests)) < 0.01 }
	nets := r.a.deaf(e)
	for _, c := range r.a.clientsOf(e, (*client).silenced) {
		if u := nets[netOf(c.addr(), 64)]; sure(c.v.requests) || u != nil && (sure(u.requests) || u.requests >= leastIgnored && e.v.repliedIn(u.first, u.last)) {
			n += c.v.requests
		}
	}
	return n
}

// An unheard is what came from clients that got no reply.
type unheard struct {
	lived
	requests uint64
}

// deaf returns the networks of which nobody gets a reply of a server.
func (a *Aggregate) deaf(e *entry[server]) map[netip.Prefix]*unheard {
	nets := map[netip.Prefix]*unheard{}
	for _, c := range a.clientsOf(e, func(c *client) bool { return c.requests > 0 }) {
		p := netOf(c.addr(), 64)
		if u, known := nets[p]; c.v.replies > 0 {
			nets[p] = nil
		} else if !known {
			nets[p] = &unheard{c.v.lived, c.v.requests}
		} else if u != nil {
			u.requests += c.v.requests
			u.reach(&c.v.lived)
		}
	}
	return nets
}

// unheardIn returns how many requests to a server came in a time from networks of which nobody gets a reply while others do: that these got none then
// says nothing, nor do those from ports that no program uses, which firewalls drop, between replies to others. Requests count twice, since those of a client may
// come at once.
func (a *Aggregate) unheardIn(e *entry[server], s *silence) (n float64) {
	nets := a.deaf(e)
	maps.DeleteFunc(nets, func(_ netip.Prefix, u *unheard) bool {
		return u == nil || u.requests < leastIgnored || !e.v.repliedIn(u.first, u.last)
	})
	for i := range a.clients.entries {
		if c := &a.clients.entries[i]; (nets[netOf(c.addr(), 64)] != nil || s.ends && c.v.replies == 0 && c.v.most < lowPorts) && c.v.asked(e.sum) {
			n += c.v.during(s.from, s.to)
		}
	}
	return 2 * n
}

// noise returns the difference of the shares of answers that may be an accident.
func noise(a, b *cell) float64 {
	x, y := float64(max(a.requests, 1)), float64(max(b.requests, 1))
	p := 1 - float64(a.unanswered+b.unanswered)/(x+y)
	return 4 * math.Sqrt(max(p*(1-p), 0)*(1/x+1/y))
}

// attacked reports whether a server gets a flood of which more is known than that many ask.
func (r *reporting) attacked(e *entry[server]) bool {
	return slices.ContainsFunc(r.events, func(ev event) bool { return ev.server == e && ev.nature != real && (ev.forged || ev.strong > 0) })
}

// dropping returns the time in which a server replies to less than a share of the requests. Of requests after end the
// outcome is not known: if it drops until then, it goes on for as long as it sends fewer replies than it gets requests.
func (r *reporting) dropping(v *server, end int64) (first, last int64) {
	const least = 3 // requests without a reply, of a bucket
	losing := v.losing()
	v.more.cells.in(func(from, to int64, c *cell) {
		lost, goesOn := losing(c), true
		if to > end {
			lost, goesOn = less(c.requests, c.replies), last == from
		}
		if !goesOn || lost < least || float64(lost) < (1-wellShare)*float64(c.requests) {
			return
		}
		first, last = cmp.Or(first, max(from, v.first)), to
	})
	return first, min(last, v.last)
}

func sumCells(list []cell) (sum cell) {
	for i := range list {
		sum.add(&list[i])
	}
	return sum
}

func answeredShare(c *cell) float64 {
	return 1 - float64(min(c.unanswered, c.requests))/float64(max(c.requests, 1))
}

// longLost says that short replies come and long ones do not.
func (r *reporting) longLost() {
	if r.o.OneSided {
		return
	}
	const least = 3
	for _, e := range r.servers {
		v := &e.v
		if v.incomplete < least || r.has(e, ServerDown) {
			continue
		}
		var lost *asked
		good, then := 0.0, 0.0
		for k := range each(v.kinds[:]) {
			bad := k.incomplete + k.bad
			switch asked := float64(k.requests) * v.share(k.first, k.last+1); {
			case k.kind == 0 || r.a.kinds[k.kind-1].tcp: // the capture lacks what TCP lacks
			case (float64(bad) >= 0.3*asked && bad >= least || float64(k.incomplete) >= badShare*asked && k.incomplete >= kindLeast) && (lost == nil || bad > lost.incomplete+lost.bad):
				lost, then = k, asked
			case k.good*10 >= k.requests*8 && k.good >= least:
				good = max(good, float64(k.good)/float64(k.requests))
			}
		}
		if lost == nil {
			continue
		}
		bad := lost.incomplete + lost.bad
		if good == 0 || float64(bad) <= (1-math.Pow(good, 4))*then { // a request and seven parts get lost as often, if each packet may
			continue
		}
		asked := max(nearest(then), uint64(bad))
		r.say(Verdict{
			Kind: LongRepliesLost, Server: r.address(e), From: instant(lost.first), To: instant(lost.last),
			Text: fmt.Sprintf("Long replies lost: %s%s answers short requests, but %s of its replies lack parts or IP fragments: in %s, %s of about %s %s had no complete reply.",
				r.address(e), r.named(v), number(v.incomplete), r.span(lost.first, lost.last), number(uint64(bad)), number(asked), plural(r.a.kinds[lost.kind-1].title())),
			Advice:   "Something on the path drops large or fragmented packets: check the MTU and whether a firewall drops IP fragments; if the server can split replies, use smaller parts.",
			Evidence: Evidence{{"incomplete_replies", float64(v.incomplete)}, {"requests_without_complete_reply", float64(bad)}, {"requests", float64(asked)}},
		})
	}
}

// share returns the share of the requests that came between two times.
func (s *server) share(from, to int64) float64 {
	if s.more == nil {
		return 1
	}
	in := s.more.cells.within(from, to, func(c *cell) uint64 { return c.requests })
	return in / float64(max(sumCells(s.more.cells.buckets).requests, 1))
}

// slow says that a server takes long.
func (r *reporting) slow() {
	for _, e := range r.servers {
		v := &e.v
		late, n, more, times := cmp.Or(v.heard, new(heard)).slow, less(v.replies, v.challenges), "", Evidence(nil)
		if v.more != nil {
			t := &v.more.trips
			late, n, more = t.above(time.Second), t.n, "; half of them take "+duration(t.quantile(500))+" or less"
			times = Evidence{{"p50_ms", round(t.quantile(500).Seconds()*1000, 1)}, {"p99_ms", round(t.quantile(990).Seconds()*1000, 1)}}
		}
		if o := v.fates.of(v.requests); v.heard != nil && o.Answered+o.Other == v.requests && float64(o.Other) <= v.share(v.last-shortest, v.last+1)*float64(o.Answered) && v.heard.unclear > n {
			late, n, more = late+v.heard.behind, n+v.heard.unclear, ", which come for each sending" // nothing was lost
			times = nil                                                                             // they are not known
		}
		from, to, when, of := v.first, v.last, r.span(v.first, v.last), ""
		if late < kindLeast { // an accident
			continue
		}
		few := float64(late) < badShare*float64(n) // a few clients that are far away, if not at some times
		if then, all, first, last, seconds := r.slowTimes(v); 2*then >= late && 10*late >= 9*r.a.trips.above(time.Second) && (few || 10*then >= 9*late && seconds < time.Duration(to-from).Seconds()/2) {
			late, n, from, to, of = then, all, first, last, r.partOf(seconds, first, last)
			when, more = of, "; of all, half take"+strings.TrimPrefix(more, "; half of them take")
		} else if few {
			continue
		}
		r.say(Verdict{
			Kind: Slow, Server: r.address(e), From: instant(from), To: instant(to), of: of,
			Text:     fmt.Sprintf("Slow: %s%s takes more than 1 s for %s of %s in %s%s.", r.address(e), r.named(v), number(late), count(n, "reply", "replies"), when, more),
			Advice:   "Clients wait one to five seconds: look at the load of the server and at the path to it.",
			Evidence: append(times, Number{"round_trips", float64(n)}, Number{"slow", float64(late)}),
		})
	}
}

// slowTimes returns the times in which a fifth of all replies or more took more than a second, for how long these are, and how many of how many replies of
// a server did then, if it has nearly all slow ones.
func (r *reporting) slowTimes(v *server) (late, n uint64, from, to int64, seconds float64) {
	if v.more == nil {
		return 0, 0, 0, 0, 0
	}
	part, second := 0.0, slices.Index(heatBounds[:], time.Second)
	r.a.heats.in(func(start, end int64, h *heat) {
		slow, all := uint64(0), uint64(0)
		for i, n := range h {
			if all += uint64(n); i > second {
				slow += uint64(n)
			}
		}
		if slow >= kindLeast && 5*slow >= all {
			late, n, part = late+slow, n+all, part+v.share(start, end)
			from, to, seconds = cmp.Or(from, max(start, v.first)), min(end, v.last), seconds+float64(end-start)/1e9
		}
	})
	return late, max(late, min(n, nearest(part*float64(v.more.trips.n)))), from, to, seconds
}
