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
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A silence is a time in which a server was asked and did not reply.
type silence struct {
	from, to int64
	requests float64
	edges    float64 // an estimate of those in the buckets of the replies before and after it, until it ends
	ends     bool    // replies came after it
	began    bool    // replies came before it
	about    bool    // the number of requests is an estimate
	// When it was asked first and last in vain, as far as buckets tell.
	asked, askedLast int64
}

func fewer(a, b silence) int { return cmp.Compare(a.requests, b.requests) }

func (s *silence) ask(from, to int64) {
	if s.askedLast == 0 {
		s.asked = from
	}
	s.askedLast = to
}

// shortest is the time of silence from which a server that replied is down, and briefest that from which it may restart: of so many requests, which came
// in two seconds or more, and not more often than mostBrief, since a limit of replies is silent again and again.
const (
	shortest  = int64(5 * time.Second)
	briefest  = int64(2 * time.Second)
	mostBrief = 2
	mostIdle  = 2 * shortest
)

// lostOf returns how many requests came in silences.
func lostOf(list []silence) float64 {
	return totalOf(list, func(s silence) float64 { return s.requests })
}

func (s *silence) brief() bool { return s.to-s.from < shortest }

// restarts reports whether a brief silence is worth a word.
func (s *silence) restarts() bool {
	return s.to-s.from >= briefest+int64(time.Second) && s.askedLast-s.asked >= briefest && s.requests >= leastIgnored
}

// silences returns the times in which a server did not reply: from a reply to the next. Of a long time before or after it in which nobody
// asked, half belongs to it, but no more than mostIdle.
func silences(l *pulses, first, last int64) (list []silence) {
	wide := widths[l.width] > shortest
	now := silence{from: first, about: wide}
	end := func(t int64, ends bool) {
		now.requests += either(wide, now.edges, min(now.edges, 2*now.requests)) // what is lost in the seconds of replies may have come between these
		if now.to = t; now.requests >= leastErrors {
			now.ends = ends
			if idle := now.asked - now.from; now.began && idle > shortest {
				now.from = now.asked - min(idle/2, mostIdle)
			}
			if idle := t - now.askedLast; ends && idle > shortest {
				now.to = now.askedLast + min(idle/2, mostIdle)
			}
			list = append(list, now)
		}
	}
	asked, lost := 1.0, 0.0 // in buckets with a reply
	l.in(func(_, _ int64, p *pulse) {
		if p.replied > 0 {
			asked, lost = asked+float64(p.asked), lost+float64(p.lost)
		}
	})
	l.in(func(from, to int64, p *pulse) {
		if p.replied == 0 {
			if n := p.asked - min(p.asked, p.late); n > 0 { // the server heard the others
				now.requests += float64(n)
				now.ask(from, to)
			}
			return
		}
		from, to = max(from, first), min(to, last)
		before, after := float64(p.first-from), float64(to-p.last)
		pace := float64(p.asked) / float64(max(to-from, 1))
		part := min(float64(p.lost)/max(before+after, 1), pace)
		if usual := float64(p.asked) * lost / asked; wide && float64(p.lost) <= usual+4*math.Sqrt(usual) {
			part = 0 // as much as usual, which may have been lost between replies
		}
		if part > 0 {
			now.ask(p.first, p.first)
		}
		now.edges += part * before
		end(p.first, true)
		if now = (silence{from: p.last, began: true, about: wide, edges: part * after}); part > 0 {
			now.ask(p.last, p.last)
		}
	})
	end(last, false)
	return list
}

// leastJudged is the number of requests from which a server is judged.
const leastJudged = 5

// accident is the probability below which what was found is no accident: that of a whole capture, in which there are many chances.
const accident = 1e-4

// leastReal returns the number of requests of the smallest silence that is no accident. What counts is the share that the server answers outside of that silence
// and of all larger ones, and of events at other times, where enough requests for each must have come, since a limit of replies answers one now and then.
func (s *server) leastReal(list []silence, events []event) float64 {
	list = slices.SortedFunc(slices.Values(list), func(a, b silence) int { return fewer(b, a) })
	least, others := math.Inf(1), float64(s.requests)
	events = slices.DeleteFunc(slices.Clone(events), func(ev event) bool { return &ev.server.v != s })
	missed := nettext.Each(events, func(ev event) float64 {
		return s.times().within(ev.from, ev.to, func(p *pulse) uint64 { return uint64(less(p.asked, p.replied)) })
	})
	for k, o := range list {
		others -= o.requests
		calm := others
		for i, ev := range events {
			calm -= either(overlap(ev.from-shortest, ev.to+shortest, o.from, o.to) == 0, missed[i], 0)
		}
		answered := float64(less(s.replies, s.unasked)) / max(calm, 1)
		if enough := k == 0 || others >= float64(leastJudged*(k+1)); enough && o.requests*math.Log1p(-min(answered, 0.999)) < math.Log(accident/float64(s.requests)) {
			least = o.requests
		}
	}
	return least
}

// outages returns the silences of a server that are no accident. Those of fewer requests than a server is judged by have to come as often.
func (s *server) outages(events []event) []silence {
	few := func(o silence) bool { return o.requests < leastJudged }
	list := slices.DeleteFunc(silences(s.times(), s.first, s.last), func(o silence) bool {
		return o.brief() && (!o.began || !o.ends || o.about || o.to-o.from < briefest) || few(o) && o.askedLast-o.asked < shortest
	})
	least := s.leastReal(list, events)
	if again := slices.DeleteFunc(slices.Clone(list), func(o silence) bool { return o.requests < least || !few(o) }); len(again) < leastJudged {
		list = slices.DeleteFunc(list, few)
		least = s.leastReal(list, events)
	}
	list = slices.DeleteFunc(list, func(o silence) bool { return o.requests < least })
	long := slices.DeleteFunc(slices.Clone(list), func(o silence) bool { return o.brief() })
	return either(len(list)-len(long) > mostBrief, long, list)
}

// lossy returns what became of the requests from the first of many outages to the last, if of those between them an eighth has no reply either: then packets
// get lost, and it is by chance that none had one for a while. So it is, however few they are, where buckets are wide and all lose as much, but for chance.
func (s *server) lossy(list []silence) (o Outcome, all uint64) {
	from, to, out := list[0].from, list[len(list)-1].to, lostOf(list)
	lostIn := func(p *pulse) uint64 { return uint64(either(p.replied > 0, p.lost, p.asked)) }
	asked, lost, n, off, rarest := s.askedIn(from, to), s.times().within(from, to, lostIn), 0.0, 0.0, 0.0
	apart := func(part, usual float64) float64 { return either(part > 0, part*math.Log(part/usual), 0) }
	s.times().in(func(first, last int64, p *pulse) {
		usual, own := lost/asked, float64(lostIn(p))/float64(max(p.asked, 1))
		if mean := usual * float64(p.asked); mean > 0 && first >= from && last <= to {
			n, off = n+1, off+math.Pow(float64(lostIn(p))-mean, 2)/(mean*(1-usual))
			rarest = max(rarest, float64(p.asked)*(apart(own, usual)+apart(1-own, 1-usual))) // the exponent of Chernoff's bound
		}
	})
	alike := list[0].about && n >= leastWell && off < 1.5*n && n*math.Exp(-rarest) > accident
	if between := asked - out; !alike && (len(list) < leastJudged || between < leastWell || lost-out < max(between/8, float64(2*len(list)))) { // the ends of outages are estimates
		return o, 0
	}
	return Outcome{Answered: nearest(asked - lost), Unanswered: nearest(lost)}, nearest(asked)
}

// unlucky says of outages that packets get lost then, or of those before or after the largest, and returns the others. One of many that is larger than all
// others together is no such.
func (r *reporting) unlucky(e *entry[server], list []silence) []silence {
	if len(list) < 2 {
		return list
	}
	most := slices.MaxFunc(list, fewer)
	if o, all := e.v.lossy(list); o.Unanswered > 0 && (len(list) < leastJudged || 2*most.requests <= lostOf(list)) {
		from, to := list[0].from, list[len(list)-1].to
		when := " from " + r.clock(from) + " to " + r.clock(to)
		x := r.unwellAt(e, &o, all, when)
		x.From, x.To, x.of, x.also = instant(from), instant(to), otherTimes, when
		r.say(x)
		return nil
	}
	k := slices.Index(list, most)
	return slices.Concat(r.unlucky(e, list[:k]), list[k:k+1], r.unlucky(e, list[k+1:]))
}

// down says that a server does not reply, or did not for a while.
func (r *reporting) down() {
	if r.dead = nil; r.o.OneSided {
		return
	}
	defer r.sayDead()
	for _, e := range r.servers {
		v := &e.v
		if v.requests == 0 || r.toAll(e) || len(r.o.Home) > 0 && !r.isHome(e.addr()) || r.inCarpet(e) && v.replies == 0 ||
			r.displaced(e) {
			continue
		}
		if v.replies == 0 {
			r.neverReplied(e)
			continue
		}
		o := v.fates.of(v.requests)
		lost := o.Unanswered + o.Refused + o.Other
		if lost == 0 {
			continue
		}
		outages := r.unlucky(e, v.outages(r.events))
		undue, _ := r.undue(e, outages...)
		due := float64(less(lost, undue)) / float64(lost) // when the others were lost is not known
		for _, s := range outages {
			only := 0.0 // of kinds that are asked only then: why none of them is answered is not known
			for _, k := range v.kinds {
				if k.good+k.incomplete == 0 && k.first >= s.from && k.last <= s.to {
					only += float64(k.bad)
				}
			}
			if (!s.brief() || s.restarts()) && !r.inEvent(e, &s) && s.requests <= 1.1*float64(lost)+2 && due*s.requests-only-r.a.unheardIn(e, &s) >= min(s.requests, leastJudged) {
				r.sayDown(e, &s)
			}
		}
	}
}

// A blackout is a time in which no server of a network, or none at all, replied.
type blackout struct {
	net      netip.Prefix
	from, to int64
}

// blackedOut says that many servers, all or those of a network, did not reply at the same time: it is rather what lies between.
func (r *reporting) blackedOut() {
	nets := map[netip.Prefix][]*entry[server]{}
	around := func(e *entry[server]) []netip.Prefix { // from all to its host
		return []netip.Prefix{{}, netOf(e.addr(), 64), netip.PrefixFrom(e.addr(), e.addr().BitLen())}
	}
	for _, e := range r.servers {
		for _, net := range around(e) {
			if e.v.replies > 0 && (len(r.o.Home) == 0 || r.isHome(e.addr())) {
				nets[net] = append(nets[net], e)
			}
		}
	}
	maps.DeleteFunc(nets, func(net netip.Prefix, list []*entry[server]) bool { // all, if they are those of a network, and these, if they are of one host
		return len(list) < leastJudged || slices.ContainsFunc(around(list[0]), func(p netip.Prefix) bool {
			return p.IsValid() && (!net.IsValid() || p.Bits() > net.Bits()) && !slices.ContainsFunc(list, func(e *entry[server]) bool { return !p.Contains(e.addr()) })
		})
	})
	for _, net := range slices.SortedFunc(maps.Keys(nets), func(a, b netip.Prefix) int { return cmp.Or(a.Bits()-b.Bits(), a.Addr().Compare(b.Addr())) }) {
		var all server
		missed, name, network, vain := uint64(0), "", "", func(p *pulse) uint64 { return uint64(either(p.replied > 0, p.lost, p.asked)) }
		all.times().most = mostTicks
		for _, e := range nets[net] {
			undue, _ := r.undue(e)
			all.times().merge(e.v.times())
			all.reach(&e.v.lived)
			all.requests, all.replies, all.unasked, missed = all.requests+e.v.requests, all.replies+e.v.replies, all.unasked+e.v.unasked, missed+less(e.v.fates.missed(), undue)
		}
		if net.IsValid() {
			network = netip.PrefixFrom(r.host(nets[net][0].addr()), net.Bits()).Masked().String()
			name = either(net.IsSingleIP(), " of the host "+strings.TrimSuffix(network, fmt.Sprint("/", net.Bits())), " of "+network)
		}
		for _, s := range all.outages(nil) {
			asked := nettext.Each(slices.DeleteFunc(slices.Clone(nets[net]), func(e *entry[server]) bool { return e.v.times().within(s.from, s.to, vain) < 0.5 }), r.address)
			n := uint64(len(asked))
			if n < leastJudged || s.brief() || !s.began || s.requests < leastWell || s.requests > 1.1*float64(missed)+2 || r.o.whole || r.o.OneSided || r.a.cuts > 0 ||
				slices.ContainsFunc(r.blackouts, func(b blackout) bool {
					return (!b.net.IsValid() || b.net.Contains(net.Addr())) && overlap(b.from, b.to, s.from, s.to) > 0
				}) ||
				slices.ContainsFunc(r.events, func(ev event) bool { return overlap(ev.from, ev.to, s.from, s.to) > 0 }) {
				continue
			}
			r.blackouts = append(r.blackouts, blackout{net, s.from, s.to})
			length := time.Duration(s.to - s.from).Round(100 * time.Millisecond)
			r.say(Verdict{
				Kind: ServerDown, Network: network, Servers: asked, From: instant(s.from), To: instant(s.to), of: either(s.ends, outage, ""),
				Text: fmt.Sprintf("Down: none of %s%s that were asked replied for %s, from %s to %s: %s%s got no reply.", count(n, "server", "servers"), name, duration(length), r.clock(s.from), r.clock(s.to),
					either(s.about, "about ", ""), count(nearest(s.requests), "request", "requests")),
				Advice:   either(net.IsSingleIP(), hostAdvice, sharedAdvice),
				Evidence: Evidence{{"servers", float64(n)}, {"requests_without_reply", round(s.requests, 0)}, {"seconds", round(length.Seconds(), 1)}},
			})
		}
	}
}

// askedIn returns how many requests came in a time.
func (s *server) askedIn(from, to int64) float64 {
	return s.times().within(from, to, func(p *pulse) uint64 { return uint64(p.asked) })
}

// inBlackout reports whether most of a silence of a server is one of many servers.
func (r *reporting) inBlackout(e *entry[server], s *silence) bool {
	return slices.ContainsFunc(r.blackouts, func(b blackout) bool {
		return (!b.net.IsValid() || b.net.Contains(e.addr())) && e.v.askedIn(b.from, b.to) >= 0.75*s.requests
	})
}

// sayDead says that some of many servers that one address asks do not reply: those that a monitor asks, and others if nothing else is said.
func (r *reporting) sayDead() {
	if !r.few {
		r.dead = slices.DeleteFunc(r.dead, func(e *entry[server]) bool {
			return !slices.ContainsFunc(r.clients, func(c *entry[client]) bool { return c.v.asked(e.sum) && r.watches(c, &e.v) })
		})
	}
	n := len(r.dead)
	if n == 0 || r.few && len(r.Verdicts) > 0 || r.silent == r.dead[0] && r.a.cuts > 0 { // its replies may be cut
		return
	}
	v := Verdict{Kind: NoReplies, Certainty: Likely, Advice: "They may be off, or a list is old: qdissect why ADDR:PORT says more of one."}
	asked, beating, times := uint64(0), uint64(0), r.dead[0].v.lived
	for _, e := range r.dead {
		if does, odd := r.sends(e); does != "" && !odd {
			beating++
		}
		asked += e.v.requests
		if times.reach(&e.v.lived); len(v.Servers) < mostSources {
			v.Servers = append(v.Servers, r.address(e))
		}
	}
	v.From, v.To = instant(times.first), instant(times.last)
	v.Text = fmt.Sprintf("No reply: %s of %s, such as %s, answered none of %s in %s.", number(uint64(n)), count(r.Totals.Servers, "server", "servers"), v.Servers[0], count(asked, "request", "requests"), r.span(times.first, times.last))
	if beating > 0 {
		v.Text += fmt.Sprintf(" The %s of %s send heartbeats.", either(beating == 1, "host", "hosts"), number(beating))
		v.Advice = "What sends heartbeats is on: a firewall, a limit or a ban may drop what it is asked or its replies; others may be off, or a list is old: qdissect why ADDR:PORT says more of one."
	}
	if n == 1 && r.silent == r.dead[0] {
		v.Text = fmt.Sprintf("No reply: one address asked %s %s in %s and got no reply.", v.Servers[0], count(asked, "time", "times"), r.span(times.first, times.last))
		v.Advice = "If a server should be there, look whether it runs: qdissect why " + v.Servers[0] + " says more."
	}
	v.Evidence = Evidence{{"servers", float64(n)}, {"requests_without_reply", float64(asked)}}
	r.say(v)
}

// inEvent reports whether a silence is a consequence of an event: a brief one also of those who may ask. One that began before the event, that goes on
// when it is over, that ends in it while the server replies to most of the rest, before which the server bore the event for half as long, or that ICMP explains is none.
func (r *reporting) inEvent(e *entry[server], s *silence) bool {
	return !e.v.refusedIn(s) && slices.ContainsFunc(r.events, func(ev event) bool {
		if ev.server != e || !ev.forged && !ev.carpet && !s.brief() || 2*overlap(s.from, s.to, ev.from, ev.to+shortest) <= s.to-s.from {
			return false
		}
		within, asked, replied := e.v.times().within, func(p *pulse) uint64 { return uint64(p.asked) }, func(p *pulse) uint64 { return uint64(p.replied) }
		bears := s.to < ev.to-shortest && 2*within(ev.from, ev.to, replied) > within(ev.from, ev.to, asked)-s.requests ||
			s.from-ev.from > (s.to-s.from)/2 && within(ev.from, s.from, replied) > 0.9*within(ev.from, s.from, asked)
		return s.about || s.asked > ev.from-shortest && (s.brief() || !bears && within(ev.to+shortest, s.to, asked) < leastJudged)
	})
}

func (r *reporting) sayDown(e *entry[server], s *silence) {
	v := &e.v
	if back := &r.a.steps; !s.ends && back.n > 0 && back.from-back.to > (s.to-s.from)/2 {
		return // the clock was set back by as much: which came last is not known
	}
	length := duration(time.Duration(s.to - s.from).Round(100 * time.Millisecond))
	requests := either(s.about, "about ", "") + count(nearest(s.requests), "request", "requests")
	moved := ""
	text := fmt.Sprintf("Down: %s%s did not reply for %s, from %s to %s: none of %s got a reply", r.address(e), r.named(v), length, r.clock(s.from), r.clock(s.to), requests)
	if !s.ends {
		text = fmt.Sprintf("Down: %s%s stopped replying at %s: none of %s in the %s since then has a reply", r.address(e), r.named(v), r.clock(s.from), requests, length)
		moved = r.movedTo(e, s.from)
	} else if !s.began {
		text = fmt.Sprintf("Down: %s%s did not reply until %s, for %s: none of %s got a reply", r.address(e), r.named(v), r.clock(s.to), length, requests)
	}
	advice := causeOf(either(s.ends, "silent_at_times", "stopped")).Advice
	if again := advice; v.refusedIn(s) {
		text, advice = r.withICMP(v, text, advice)
		advice = either(s.ends && v.says() == saysClosed, again, advice)
	}
	r.say(Verdict{
		Kind: ServerDown, Server: r.address(e), From: instant(s.from), To: instant(s.to), Text: text + "." + moved, Advice: advice, of: either(moved == "" && r.inBlackout(e, s), inBlackout, either(s.ends, outage, moved)),
		Evidence: Evidence{
			{"requests_without_reply", round(s.requests, 0)}, {"seconds", round(float64(s.to-s.from)/1e9, 1)}, {"replies", float64(v.replies)}, {"icmp_errors", float64(v.fates[dissect.OutcomeRefused])},
		},
	})
}

// withICMP adds what ICMP says of a server to a text, and returns its advice instead of another one.
func (r *reporting) withICMP(v *server, text, advice string) (string, string) {
	if says := v.says(); says != "" {
		text += "; ICMP says: " + says
		advice = either(says == saysClosed, "The host is up and nothing listens on that port: start the server, or correct its port.",
			"The sender of the ICMP errors says why: look at its rules and routes; qdissect why ADDR:PORT names it.")
	}
	return text, advice
}

// displaced says that replies to a tenth of the requests or more come from another address or port than was asked.
func (r *reporting) displaced(e *entry[server]) bool {
	v := &e.v
	n := v.fates[dissect.OutcomeElsewhere]
	if _, all, _ := r.well(e); v.heard == nil || v.heard.from == (key{}) || !displaced(n, all, v.requests) {
		return false
	}
	addr := v.heard.from.addr()
	cause := causeOf(either(addr == e.addr(), "other_port", "other_address"))
	several := slices.ContainsFunc(r.servers, func(o *entry[server]) bool {
		return o.addr() == addr && o.key != v.heard.from && o != e && o.v.requests == 0 && o.v.replies > 0 &&
			!slices.ContainsFunc(r.servers, func(p *entry[server]) bool { return p != e && p.v.heard != nil && p.v.heard.from == o.key }) // for another server
	})
	from := netip.AddrPortFrom(r.host(addr), v.heard.from.Port)
	words := &proof{fill: []string{"other", otherEnd(from, netip.AddrPortFrom(r.host(e.addr()), e.Port), several), "n", count(n, "request", "requests"), "were", were(n)}}
	text := cause.fill(cause.Words, words, r.address(e)+r.named(v))
	r.say(Verdict{
		Kind: Unwell, Server: r.address(e), From: instant(v.first), To: instant(v.last), Text: fmt.Sprintf("Not answered, %s to %s: %s", r.clock(v.first), r.clock(v.last), text),
		Advice: cause.fill(cause.Advice, words, r.address(e)), Evidence: Evidence{{"requests", float64(v.requests)}, {"elsewhere", float64(n)}, {"replies", float64(v.replies)}},
	})
	return true
}

// displaced reports whether n replies from elsewhere are enough, of so many requests and of so many that ended.
func displaced(n, ended, requests uint64) bool {
	return requests > tooFew && (n >= leastErrors || 2*n >= ended) && float64(n) >= badShare*float64(requests)
}

// neverReplied says that a server that was asked is not known to be there.
func (r *reporting) neverReplied(e *entry[server]) {
	v := &e.v
	refused, lost := v.fates[dissect.OutcomeRefused], v.fates.missed()
	if o := v.fates.of(v.requests); r.few && lost > 0 && o.replied() == 0 {
		lost = v.requests // it was asked again and again before the time for replies was over
	}
	if lost > tooFew && r.onlyScanned(e) {
		r.dead = append(r.dead, e)
		return
	}
	forged := totalOf(r.events, func(ev event) float64 { return either(ev.server == e && ev.forged, ev.requests, 0) })
	if lost <= tooFew || float64(lost) <= 1.02*forged+tooFew || refused == 0 && len(r.servers) == 1 && (!r.few || r.returning(v.requests)) {
		return
	}
	text := fmt.Sprintf("No reply: %s answered none of %s from %s in %s", r.address(e), count(v.requests, "request", "requests"), v.sources().addresses(), r.span(v.first, v.last))
	text, advice := r.withICMP(v, text, "Look whether the address and the port are right (qdissect why ADDR:PORT says more of one server)"+either(r.Totals.Replies == 0 && len(r.o.Home) == 0, noneReplies, "")+".")
	if said := text; v.says() == "" || v.says() == saysClosed {
		does, odd := r.sends(e)
		text += either(v.says() != "", "", cmp.Or(does, ", and nothing"+either(r.Totals.Unknown > 0, " that is recognised", "")+" shows that a server is there"))
		advice = either(odd && v.says() == "", causeOf("unknown_replies").Advice, advice)
		if list := slices.DeleteFunc(slices.Clone(r.servers), func(o *entry[server]) bool { return o.addr() != e.addr() || o.v.replies == 0 }); len(list) > 0 {
			text = said + ", and the same host replies at " + r.address(list[0]) + r.named(&list[0].v) + either(len(list) > 1, " and at "+count(uint64(len(list)-1), "other port", "other ports"), "")
			if speaks := r.speaks(&list[0].v); len(list) >= hosting {
				advice = othersRun
			} else if slices.ContainsFunc(v.kinds[:], func(k asked) bool { return k.kind > 0 && speaks[r.a.kinds[k.kind-1].protocol] }) {
				advice = "The port for queries is often another one than that of players: ask " + r.address(list[0]) + "; if both have to answer, start the server of this one."
			}
		}
		for s := range each(r.o.Streams) {
			if v.says() == "" && s.Made > 0 && keyOf(s.Server.Addr(), s.Server.Port()) == e.key {
				text = said + ", although it accepted " + s.accepted()
				advice = either(s.Read, causeOf("hangs").Advice, onlyTCP)
			}
		}
	}
	r.say(Verdict{
		Kind: NoReplies, Certainty: Likely, Server: r.address(e), From: instant(v.first), To: instant(v.last), Text: text + ".", Advice: advice,
		Evidence: Evidence{{"requests_without_reply", float64(v.requests)}, {"seconds", round(float64(v.last-v.first)/1e9, 1)}, {"replies", 0}, {"icmp_errors", float64(refused)}},
	})
}

// sends continues a sentence with what a server sends although it does not reply: heartbeats of its host, or what no protocol recognises, which is odd.
func (r *reporting) sends(e *entry[server]) (text string, odd bool) {
	if slices.ContainsFunc(r.a.masters.list, func(m master) bool { return m.from == e.addr() && m.beats.n > 0 }) {
		return ", although its host sends heartbeats", false
	}
	odd = e.v.heard != nil && e.v.heard.odd > 0
	return either(odd, ", although it sends something", ""), odd
}

// returning reports whether so many of the requests have a challenge that somebody must have given that a server answers, and its direction is missing.
func (r *reporting) returning(requests uint64) bool {
	n := nettext.Sum(r.a.kinds, func(k kind) uint64 { return k.madeUp })
	return n >= 2 && 10*n >= requests // as for one_direction
}

// onlyScanned reports whether those who ask a server ask many others that do not reply either, or one source asks it a few times: its
// address means nothing then.
func (r *reporting) onlyScanned(e *entry[server]) bool {
	n := e.v.sources().Count
	if n > 2 || r.o.whole || n == 2 && len(r.o.Home) > 0 {
		return false
	}
	scanned := slices.ContainsFunc(r.clients, func(c *entry[client]) bool {
		return c.v.asked(e.sum) && (n < 2 && c.v.distinctServers() >= manyServers || r.scans(c))
	})
	if n == 2 {
		return scanned && e.v.requests < leastSpread
	}
	if scanned || e.v.says() != "" || e.v.requests >= leastWell || len(r.servers) == 1 && r.few {
		return scanned
	}
	r.silent = e
	return true
}

// goodShare is the share of complete answers below which a server is not well, if so many requests were judged.
const (
	wellShare = 0.9
	leastWell = 20
	// leastSteady is how often a second a client asks that asks all the time: again before the time for a reply is over.
	leastSteady = 0.2
	otherTimes  = " at other times" // than those of outages
	outage      = "outage"          // that ended
	inBlackout  = "blackout"        // an outage of many, which is told once

	wrongChallenges = "Look at that client: it ignores challenges, or returns others than it gets (in another byte order, or an old one); qdissect report lists findings about them."
)

// unwell says that a server answers fewer requests than it should, and what became of the others, unless another verdict says why.
func (r *reporting) unwell() {
	if r.o.OneSided {
		return
	}
	for _, e := range r.servers {
		v := &e.v
		if v.replies+v.fates[dissect.OutcomePartial] == 0 || !r.home(e) || r.has(e, DropsUnderLoad, LongRepliesLost, Reflection, JunkFlood, Unwell) {
			continue
		}
		good, n, o := r.well(e)
		if r.has(e, Errors) { // what comes back is told: who closed its socket cannot return a challenge
			back := min(o.ChallengeOnly, cmp.Or(v.heard, new(heard)).bounced)
			o.ChallengeOnly, n = o.ChallengeOnly-back, n-back
		}
		from, to, when, down := v.first, v.last, "", r.has(e, ServerDown)
		if r.has(e, ForgedFlood, CrowdOrForged, GreedyClients) || slices.ContainsFunc(r.events, func(ev event) bool { return ev.server == e && ev.carpet }) { // what is lost meanwhile is their doing
			var c cell
			c, from, to = r.calm(e)
			o, when = Outcome{Answered: less(c.requests, c.unanswered), Unanswered: c.unanswered}, " at times without a flood, a crowd or a greedy client"
			good, n = o.Answered, o.Answered+o.Unanswered
		}
		if p, c := cmp.Or(holes(less(v.unasked, v.fates[dissect.OutcomeOther]), v.replies, &o), r.otherLink(e)), causeOf("packets_missing"); p != nil && !down &&
			!slices.ContainsFunc(r.servers, func(o *entry[server]) bool { return r.toAll(o) || o.v.heard != nil && o.v.heard.from == e.key }) { // whose requests it answers
			if r.a.steps.n == 0 && r.misled(e) {
				continue
			}
			r.say(Verdict{
				Kind: CannotTell, Certainty: c.Certainty, Server: r.address(e), From: instant(from), To: instant(to), Text: "Cannot tell: " + c.fill(c.Words, p, r.address(e)+r.named(v)), Advice: c.Advice, fill: p.fill,
				Evidence: Evidence{{"replies_without_request", float64(v.unasked)}, {"replies", float64(v.replies)}, {"requests", float64(o.replied() + o.Unanswered)}, {"unanswered", float64(o.Unanswered)}},
			})
			continue
		}
		out := uint64(0)
		if down {
			out = uint64(lostOf(v.outages(r.events)))
			o.Refused = min(o.Refused, less(o.Refused+o.Unanswered, out))
			o.Unanswered = less(o.Unanswered, out)
			n = o.replied() + o.Refused + o.Unanswered
		}
		well := float64(good) >= wellShare*float64(n)
		if !r.few && (down || when != "" || !r.mistaken(e, good, n)) {
			r.unwellKind(e, well, out)
		}
		if down {
			if when != "" || maybeWell(good, n, wellShare) {
				continue // what is said about the outages is enough
			}
			when = otherTimes
		} else if when == "" && !r.few {
			r.unheard(e, well)
		}
		flooded := v.more == nil && slices.ContainsFunc(r.events, func(ev event) bool { return ev.nature == unreturning && netOf(ev.server.addr(), 64).Contains(e.addr()) })
		if (r.inCarpet(e) || flooded) && float64(good) >= wellShare*float64(less(n, o.ChallengeOnly)) {
			continue // what comes to a server of the network and returns no challenge is the carpet's, or of the flood at others, if nothing tells when it came
		}
		if n < leastWell && !(r.few && v.unwell(good, n, &o)) || float64(good) >= wellShare*float64(n) || r.has(e, Unwell) {
			continue
		}
		x := r.unwellAt(e, &o, n, when)
		away, known := r.a.clientsOf(e, func(c *client) bool { return c.class() == never }), len(r.a.clientsOf(e, func(*client) bool { return true }))
		seen := v.sources() // also those that came once, of which nothing else is kept
		sources := max(uint64(len(away)), less(seen.Count-seen.Count*uint64(seen.Percent%100)/100, uint64(known)))
		if o.ChallengeOnly >= 10*leastMutes && sources >= leastMutes && float64(good) >= wellShare*float64(n-o.ChallengeOnly) {
			x = r.trickle(e, o.ChallengeOnly, sources)
			from, to = x.From.UnixNano(), x.To.UnixNano()
		}
		x.From, x.To, x.of = instant(from), instant(to), either(down, when, "")
		if soon := r.duration() < 2 && o.ChallengeOnly > 0; maybeWell(good+either(soon, o.ChallengeOnly, 0), n, wellShare) {
			x.Certainty, x.Doubt = Possible, either(soon, "a longer capture: clients may return a challenge after the end of this one", "more requests: of so few, as many may be lost by accident")
		}
		r.say(x)
	}
}

// misled says that replies of a server go to other ports than their clients asked from: to addresses that get none that they asked for, the first of them at once.
func (r *reporting) misled(e *entry[server]) bool {
	list := r.a.clientsOf(e, func(c *client) bool {
		return c.requests > 0 && c.strange != nil && c.strange.unasked == c.replies && c.strange.first > c.first && c.strange.first-c.first < int64(time.Second) && c.distinctServers() == 1
	})
	n := nearest(totalOf(list, func(c *entry[client]) float64 { return float64(c.v.replies) }))
	if n == 0 || 2*n < e.v.unasked {
		return false
	}
	slices.SortFunc(list, byRequests)
	c, who := causeOf("other_client_port"), r.names(list)
	r.say(Verdict{
		Kind: Unwell, Certainty: c.Certainty, Server: r.address(e), Sources: who, From: instant(e.v.first), To: instant(e.v.last), Advice: c.Advice,
		Text: fmt.Sprintf("Not answered: %s%s sends %s of %s to other ports than %s asked from in %s (%s%s): clients do not hear them.", r.address(e), r.named(&e.v), number(n), count(e.v.replies, "reply", "replies"),
			count(uint64(len(list)), "address", "addresses"), r.span(e.v.first, e.v.last), who[0], either(len(list) > 1, " and others", "")),
		Evidence: Evidence{{"to_other_ports", float64(n)}, {"replies", float64(e.v.replies)}, {"requests", float64(e.v.requests)}, {"sources", float64(len(list))}},
	})
	return true
}

// holes returns the words for a capture that lacks packets, nil if less than two fifths of the replies of a server answer requests that are not in it, and so
// few that most of its requests without one had none.
func holes(unasked, replies uint64, o *Outcome) *proof {
	n, lost := o.replied()+o.Unanswered, float64(o.Unanswered)
	many := unasked >= leastWell && 5*min(unasked, less(replies, o.replied())) >= 2*replies
	if n < leastWell || !many && (lost < badShare*float64(n) || unasked < kindLeast || 2*float64(unasked)*float64(n) < lost*float64(replies)) {
		return nil
	}
	rest := either(lost > 0, fmt.Sprintf(", and the %s of %s without a reply may have had one", number(o.Unanswered), count(n, "request", "requests")), "")
	return &proof{fill: []string{"unasked", number(unasked), "replies", count(replies, "reply", "replies") + " of", "what", "answer requests that are", "rest", rest}}
}

// otherLink returns the words for clients that get no reply in the capture, although they ask for challenges and return them alike, as only those do who get
// them; nil if there are none, or others are not answered either.
func (r *reporting) otherLink(e *entry[server]) *proof {
	lost := e.v.fates.missed()
	if lost < leastWell || !slices.ContainsFunc(e.v.kinds[:], func(k asked) bool {
		o := &r.a.kinds[max(k.kind, 1)-1]
		return k.kind > 0 && k.bad >= leastIgnored && 3*o.madeUp >= o.fates.missed() && 3*o.madeUp <= 2*o.fates.missed()
	}) {
		return nil
	}
	own := nearest(totalOf(r.a.clientsOf(e, func(c *client) bool { return c.silenced() && c.requests >= leastErrors }), func(c *entry[client]) float64 { return float64(c.v.requests) }))
	if 10*own < 9*lost {
		return nil
	}
	return &proof{fill: []string{"unasked", number(own), "replies", count(e.v.requests, "request", "requests") + " to", "what", "are of addresses that return its challenges, and the replies to these are", "rest", ""}}
}

// leastMutes is from how many addresses that never return a challenge on these are rather forged than of old clients, with ten times as many
// requests.
const leastMutes = 100

// clientsOf returns the clients that asked a server, of which something is so.
func (a *Aggregate) clientsOf(e *entry[server], is func(c *client) bool) (list []*entry[client]) {
	for c := range each(a.clients.entries) {
		if is(&c.v) && c.v.asked(e.sum) {
			list = append(list, c)
		}
	}
	return list
}

// names returns the addresses of the first clients.
func (r *reporting) names(list []*entry[client]) []string {
	return nettext.Each(list[:min(len(list), mostSources)], r.source)
}

// silenced reports whether a client got no reply of the only server that it asked.
func (c *client) silenced() bool { return c.replies == 0 && c.distinctServers() == 1 }

// trickle says that requests of many addresses that return no challenge came all the time, too slowly to be an event.
func (r *reporting) trickle(e *entry[server], n, sources uint64) Verdict {
	from, to := e.v.last, e.v.first
	for _, q := range e.v.more.known() {
		q.ticks.in(func(first, last int64, t *tick) {
			if t.by[unreturned] > 0 {
				from, to = min(from, max(first, e.v.first)), max(to, min(last, e.v.last))
			}
		})
	}
	from, to = min(from, to), max(from, to) // they may be not known
	pace := float64(n) / max(float64(to-from)/1e9, 1)
	return Verdict{
		Kind: ForgedFlood, Certainty: Likely, Server: r.address(e), From: instant(from), To: instant(to),
		Text: fmt.Sprintf("Forged requests at %s%s: %s in %s (%s per second) from at least %s, none of which came back with the challenge that it was given. The server answers the others.",
			r.address(e), r.named(&e.v), count(n, "request", "requests"), r.span(from, to), rounded(pace), count(sources, "address", "addresses")),
		Advice:   "The server asks for a challenge, so whoever forges them gets little back: nothing has to be done.",
		Doubt:    "clients from before challenges do the same, but are few",
		Evidence: Evidence{{"requests", float64(n)}, {"requests_per_second", round(pace, 1)}, {"sources", float64(sources)}},
	}
}

// unconnected says that connections over TCP to servers that are read fail.
func (r *reporting) unconnected() {
	for s := range each(r.o.Streams) {
		if !s.Read && len(r.servers) > 0 || !s.fails() || r.o.OneSided || len(r.o.Home) > 0 && !r.isHome(s.Server.Addr()) {
			continue
		}
		c, server := causeOf("connections_fail"), netip.AddrPortFrom(r.host(s.Server.Addr()), s.Server.Port()).String()
		r.say(Verdict{
			Kind: Unwell, Certainty: c.Certainty, Server: server, From: r.From, To: r.To, Advice: c.Advice,
			Text:     "Not connected: " + c.fill(c.Words, &proof{fill: s.fill()}, server),
			Evidence: Evidence{{"connections", float64(s.Tried)}, {"made", float64(s.Made)}, {"refused", float64(s.Refused)}},
		})
	}
}

// unheard says that a server replies to only a share of what clients send all the time.
func (r *reporting) unheard(e *entry[server], well bool) {
	v := &e.v
	own, heard, steady := r.a.sendings(e)
	if own == 0 || !steady && !well || r.has(e, Unwell) {
		return
	}
	whose := either(steady, ", of clients that ask all the time from one port: these are no repetitions of what was lost", "; the others were sent again, until one had a reply")
	r.say(Verdict{
		Kind: Unwell, Certainty: Likely, Server: r.address(e), From: instant(v.first), To: instant(v.last), Advice: causeOf("loss").Advice,
		Text:     fmt.Sprintf("Not answered: %s%s replies to only %s of %s in %s%s.", r.address(e), r.named(v), percent(float64(heard)/float64(own)), count(own, "sending", "sendings"), r.span(v.first, v.last), whose),
		Evidence: Evidence{{"sendings", float64(own)}, {"replies", float64(heard)}},
	})
}

// sendings returns how much clients send, and the replies to that, if too few have a reply: steady are clients that ask a server all the time from one port,
// if they send most of its requests, of which some are repeated. What such a client sends after a loss is no repetition: it sends it anyway. Others send a
// question again after a while, and are answered then.
func (a *Aggregate) sendings(e *entry[server]) (own, heard uint64, steady bool) {
	v := &e.v
	o := v.fates.of(v.requests)
	if v.requests < leastWell || float64(o.Other) < badShare*float64(v.requests) {
		return 0, 0, false
	}
	for i := range a.clients.entries {
		c := &a.clients.entries[i].v
		pace := float64(c.requests) / max(time.Duration(c.last-c.first).Seconds(), 1)
		if c.requests >= leastIgnored && pace >= leastSteady && float64(c.peak) < 3*pace+3 && c.least == c.most+1 && c.distinctServers() == 1 && c.asked(e.sum) && // the least is one more
			!slices.ContainsFunc(c.kinds[:], func(k kindCount) bool { return k.kind > 0 && a.mayBeSilent(k.kind) }) {
			own, heard = own+c.requests, heard+min(c.replies, c.requests)
		}
	}
	if steady = 2*own >= v.requests; !steady {
		own, heard = o.replied()+min(v.fates[dissect.OutcomeRepeated], o.Other), o.replied()
	}
	if float64(heard) >= wellShare*float64(own) || maybeWell(heard, own, wellShare) {
		return 0, 0, false
	}
	return own, heard, steady
}

// mayBeSilent reports whether that a reply to a kind of request is missing may say nothing.
func (a *sums) mayBeSilent(kind uint16) bool {
	k := &a.kinds[kind-1]
	return k.of == nil || k.mute()
}

// A part counts requests of a kind to a server, or those of them that return its challenge, and how many were answered. rest are the others, of which
// well were.
type part struct {
	*asked
	of                   *kind
	n, heard, rest, well uint64
	more                 string
}

// parts returns the requests to a server by kind: those that return its challenge, if few of these are answered and nearly all others.
func (s *server) parts(kinds []kind) (list []part) {
	var all, well, sent uint64
	for _, p := range s.proved[:proven] {
		all, well = all+p.Requests, well+p.Complete
	}
	for i := 0; i < len(s.kinds) && s.kinds[i].kind > 0; i++ {
		k := &s.kinds[i]
		p := part{asked: k, of: &kinds[k.kind-1], n: uint64(k.good + k.incomplete + k.bad), heard: uint64(k.good + k.incomplete)}
		for _, q := range s.more.known() {
			if q.kind == k.kind && 10*well >= 9*all {
				for _, t := range q.ticks.buckets {
					p.rest += uint64(t.by[vouched] + t.by[unproven] + t.by[unreturned])
				}
			}
		}
		sent += p.rest // with those that were sent again
		list = append(list, p)
	}
	for p := range each(list) {
		p.rest = p.rest * all / max(sent, 1)
		p.well = p.rest * well / max(all, 1)
		if n, heard := less(p.n, p.rest), less(p.heard, p.well); 2*heard < n && 4*p.heard >= p.n && 10*p.rest >= p.n && (20*sent <= 21*all || len(list) == 1) {
			p.n, p.heard, p.more = n, heard, " that return its challenge"
		} else {
			p.rest, p.well = 0, 0
		}
	}
	return list
}

// rushes reports whether a flood has requests of a kind, or greedy clients sent half of them.
func (r *reporting) rushes(e *entry[server], k *asked) bool {
	sent := func(c *entry[client]) float64 {
		i := slices.IndexFunc(c.v.asks(), func(a kindCount) bool { return a.kind == k.kind })
		return either(i >= 0 && c.v.asked(e.sum), float64(c.v.asks()[max(i, 0)].n), 0)
	}
	return 2*totalOf(slices.Collect(maps.Keys(r.greedy)), sent) >= float64(k.requests) || slices.ContainsFunc(r.events, func(ev event) bool {
		return ev.server == e && slices.Contains(ev.kinds, k.kind-1)
	})
}

// unwellKind says that a server answers a kind of request far less than others of the protocol, and which others hardly. If it answers most requests, several
// clients must ask for it. What outages have lost, and what comes in a flood, says nothing; nor do handshakes, because all others are of clients that got one.
func (r *reporting) unwellKind(e *entry[server], most bool, out uint64) {
	v, list, busy := &e.v, e.v.parts(r.a.kinds), r.has(e, ForgedFlood, CrowdOrForged, GreedyClients)
	for k := range each(list) {
		if t := k.of.of; r.a.mayBeSilent(k.kind) || t != nil && t.Purpose&dissect.ChallengeRequest != 0 || busy && r.rushes(e, k.asked) {
			continue
		}
		var which []string
		var times lived
		var n, heard, good, all, alike, sent uint64
		for o := range each(list) {
			if o.of.protocol != k.of.protocol {
				continue
			}
			good, all = good+o.well, all+o.rest
			if o == k || 10*o.heard < o.n && !r.a.mayBeSilent(o.kind) {
				which = append(which, percent(float64(o.heard)/float64(o.n))+" of "+number(o.n)+" "+o.of.many()+o.more)
				n, heard = n+o.n, heard+o.heard
				times.reach(&o.lived)
			} else {
				good, all, sent = good+o.heard, all+o.n, sent+uint64(o.requests)
				alike = max(alike, either(most && 10*o.heard >= 9*o.n, o.n, 0)) // else all of them are told
			}
		}
		sure := kindLost(k.heard, k.n-min(out, k.n-k.heard), good, all, alike, sent)
		died, others, answered := v.died(k.asked)
		if died {
			k.n, k.heard, n, heard, good, all = uint64(k.bad), 0, uint64(k.bad), 0, answered, others
			which = []string{"0 % of " + number(n) + " " + k.of.many() + " from " + r.clock(k.first) + " on, after it had answered " + number(uint64(k.good))}
			sure = kindLost(0, n, good, all, 0, 0)
		}
		between, lost := false, uint64(0) // others were answered then, or none of them was lost, so that it was no outage
		v.times().in(func(from, to int64, p *pulse) {
			if between = between || p.replied > 0 && p.last > k.first && p.first < k.last; overlap(from, to, k.first, k.last+1) > 0 {
				lost += uint64(p.lost)
			}
		})
		if sure == "" || !between && lost > k.n-k.heard || most && v.sources().Count > 1 && !r.several(e, k.kind) {
			continue
		}
		what, when, only := strings.Join(which, " and "), either(died, "", " in "+r.span(times.first, times.last)), ""
		if heard > 0 { // those without a reply came then
			when, only = " in "+r.span(v.first, v.last), either(times.last-times.first < (v.last-v.first)/2, fmt.Sprintf("; all without one came from %s to %s", r.clock(times.first), r.clock(times.last)), "")
		}
		text, advice := fmt.Sprintf("Not answered: %s%s replies to %s%s, and to %s of others", r.address(e), r.named(v), what, when, percent(float64(good)/float64(all)))+only, cmp.Or(either(r.Totals.Servers == 1, r.notGiven(n-heard), ""), causeOf("kind_unanswered").Advice)
		if 2*v.fates[dissect.OutcomeRefused] > n-heard {
			text, advice = text+"; ICMP says: "+v.says(), "The sender of the ICMP errors says why: look at its rules; qdissect why "+r.address(e)+" names it."
		}
		r.say(Verdict{
			Kind: Unwell, Certainty: sure, Server: r.address(e), From: instant(times.first), To: instant(times.last), Advice: advice, of: what, Text: text + ".",
			Evidence: Evidence{{"requests", float64(n)}, {"replies", float64(heard)}, {"requests_of_others", float64(all)}},
		})
		return
	}
}

// speaks returns the protocols in which a server answers.
func (r *reporting) speaks(v *server) map[string]bool {
	is := map[string]bool{}
	for _, k := range v.kinds {
		if k.kind > 0 && k.good+k.incomplete > 0 {
			is[r.a.kinds[k.kind-1].protocol] = true
		}
	}
	return is
}

// mistaken says that a share of the requests to a server is of a protocol that it does not speak, if it answers the others.
func (r *reporting) mistaken(e *entry[server], good, n uint64) bool {
	v := &e.v
	speaks, most := r.speaks(v), slices.MaxFunc(v.kinds[:], func(a, b asked) int { return cmp.Compare(a.good, b.good) })
	for _, k := range v.kinds {
		if most.good == 0 || k.kind == 0 || k.bad < kindLeast || speaks[r.a.kinds[k.kind-1].protocol] || r.a.mayBeSilent(k.kind) ||
			float64(k.requests) < badShare*float64(v.requests) || float64(good) < wellShare*float64(less(n, uint64(k.bad))) {
			continue
		}
		c, what := causeOf("wrong_protocol"), &r.a.kinds[k.kind-1]
		speaks := &r.a.kinds[most.kind-1]
		words := &proof{fill: append(wrongProtocol(speaks.tcp && !what.tcp), "speaks", speaks.protocol, "n", number(uint64(k.requests))+" "+what.many())}
		r.say(Verdict{
			Kind: Unwell, Certainty: c.Certainty, Server: r.address(e), From: instant(k.first), To: instant(k.last), Advice: c.fill(c.Advice, words, ""),
			Text:     "Not answered: " + c.fill(c.Words, words, r.address(e)+r.named(v)),
			Evidence: Evidence{{"requests", float64(k.requests)}, {"replies", 0}, {"requests_of_others", float64(less(v.requests, uint64(k.requests)))}},
		})
		return true
	}
	return false
}

const orUDP = ", or its queries over UDP are off or do not reach it"

// wrongProtocol returns words for a server that answers none of another protocol, which may be over UDP while its own is over TCP.
func wrongProtocol(udp bool) []string {
	return []string{"or", either(udp, orUDP, ""), "do", either(udp, "; or turn on its queries, and let UDP to that port pass as TCP does", "")}
}

// several reports whether more than one client asks a server for something: what only one of many asks for may be its mistake.
func (r *reporting) several(e *entry[server], kind uint16) bool {
	return len(r.a.clientsOf(e, func(c *client) bool {
		return slices.ContainsFunc(c.asks(), func(k kindCount) bool { return k.kind == kind })
	})) > 1
}

// kindLost says how sure it is that of n requests of a kind fewer are answered than of others: not at all if that may be an accident. If at least half
// of them are answered, nearly all others have to be, each sending counted, and another kind has to be asked as often: neither loss nor an outage looks so.
func kindLost(good, n, othersGood, others, alike, sent uint64) Certainty {
	share, many := float64(othersGood)/float64(max(others, 1)), float64(othersGood)/float64(max(sent, others, 1))
	switch lost := (float64(less(others, othersGood)) + 1) / float64(others+2); {
	case n >= leastWell && float64(good) < wellShare*float64(n) && many >= 0.95 && 20*alike >= 19*n && !maybeWell(good, n, many) && float64(n-good) > 3*(1-many)*float64(n):
		return Likely
	case n < leastErrors || share <= kindShare || float64(good) >= kindShare*float64(n):
	case n >= kindLeast && !maybeWell(good, n, share):
		return Likely
	case good == 0 && othersGood >= kindLeast && share >= 0.95 && math.Pow(lost, float64(n)) < 0.002:
		return Possible
	}
	return ""
}

// unwell reports whether few requests tell that something is wrong: none is answered, more are not than by accident, or few of one kind and most of others.
func (s *server) unwell(good, n uint64, o *Outcome) bool {
	if bad := n - good; bad < leastJudged && (o.replied() > 0 || s.requests <= tooFew) {
		return false
	}
	return s.empty() || !maybeWell(good, n, wellShare) || slices.ContainsFunc(s.kinds[:], func(k asked) bool {
		all, well := uint64(k.requests), uint64(k.good)
		return all >= kindLeast && 2*well < all && all < n && 2*less(good, well) > n-all
	})
}

// empty reports whether no reply has more than a challenge, or none is complete and in time.
func (s *tally) empty() bool {
	return s.replies <= s.challenges || s.fates[dissect.OutcomeAnswered] == 0
}

// leastIgnored is how many requests of a client have no reply, which is a fifth of its requests or more, if it is ignored, and how many of each kind others sent.
const leastIgnored = 10

// unanswered returns the clients of servers that get fewer replies than others: the busiest first, up to 1000 of a server.
func (r *reporting) unanswered() map[*entry[server]][]*entry[client] {
	const most = 1000
	by := map[*entry[server]][]*entry[client]{}
	wanted := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool {
		return e.v.replies == 0 || max(e.v.fates.missed(), less(e.v.requests, e.v.replies)) < leastIgnored || !r.home(e) ||
			r.has(e, ForgedFlood, CrowdOrForged, DropsUnderLoad, LongRepliesLost, Reflection, JunkFlood, GreedyClients, Unwell)
	})
	for c := range each(r.a.clients.entries) {
		few := c.v.requests < leastIgnored
		if c.v.replies >= c.v.requests || few && c.v.replies > 0 || c.v.distinctServers() > 1 || r.greedy[c] || r.isVictim(c) {
			continue
		}
		k := slices.IndexFunc(wanted, func(e *entry[server]) bool { return c.v.asked(e.sum) })
		if k < 0 || !c.v.single() && len(r.mayAsk(&c.v, 1)) != 1 {
			continue
		}
		by[wanted[k]] = append(by[wanted[k]], c)
	}
	for e, list := range by {
		nets := r.a.deaf(e) // of a network that is banned, nobody gets a reply
		list = slices.DeleteFunc(list, func(c *entry[client]) bool {
			u := nets[netOf(c.addr(), 64)]
			return c.v.requests < leastIgnored && (u == nil || u.requests < leastIgnored || u.last-u.first < shortest && !e.v.repliedIn(u.first, u.last)) // or it is a short outage
		})
		slices.SortFunc(list, byRequests)
		list = list[:min(len(list), most)]
		silent := slices.DeleteFunc(slices.Clone(list), func(c *entry[client]) bool { return c.v.replies > 0 })
		by[e] = slices.DeleteFunc(list, func(c *entry[client]) bool { return !r.compared(&c.v, e, silent).ignored(&c.v) })
	}
	return by
}

// repliedIn reports whether a server is known to have replied between two times.
func (s *server) repliedIn(first, last int64) (is bool) {
	s.times().in(func(from, to int64, p *pulse) { is = is || p.replied > 0 && from >= first && to <= last })
	return is
}

// lookAt advises what to look at if a server does not reply to one address, and seenOnHost where it can be seen.
func lookAt(who string) string {
	return "Look at what it sends (qdissect -Y 'src_ip == " + who + "'), and whether the server or a firewall bans or limits that address"
}

const seenOnHost = "; a capture on the host of the server shows whether it replies."

// ignored says that a server does not reply to a client, or to some, as it does to others, also if these ask again before the time for a reply is over.
func (r *reporting) ignored() {
	if r.o.OneSided {
		return
	}
	by := r.unanswered()
	for _, e := range r.servers {
		list := by[e]
		if len(list) == 0 || r.otherLink(e) != nil {
			continue
		}
		c := list[0]
		x := r.compared(&c.v, e, list)
		heard, who, more, whom, times := "none", r.source(c), "", "these addresses", c.v.lived
		if c.v.replies > 0 {
			heard = "only " + number(c.v.replies)
		}
		n, of := uint64(len(list)), ""
		if net := r.networkOf(list); n > 2 && net.IsValid() && r.a.deaf(e)[netOf(c.addr(), 64)] != nil { // else others of it get replies
			of, whom = " of "+net.String(), "that network"
		}
		if c.v.requests < leastIgnored { // of each too few
			x = r.comparison(&c.v, &e.v, list, false)
			x.own = 0
			for _, c := range list {
				x.own += c.v.requests
				times.reach(&c.v.lived)
			}
			if of == "" {
				of, whom = " ("+who+" and others)", "them"
			}
			who = count(n, "client", "clients") + of
		} else if n > 1 {
			more = " So it is with " + count(n-1, "other client", "other clients") + of
		}
		inside, look := r.a.clientsOf(e, func(c *client) bool { return c.replies > 0 }), either(n == 1, lookAt(who), "Look whether the server or a firewall bans or limits "+whom)
		if outside := func(c *entry[client]) bool { return !private(c.addr()) }; r.a.clients.gone == 0 && len(inside) > 0 && !slices.ContainsFunc(inside, outside) && len(slices.DeleteFunc(slices.Clone(list), outside)) == 0 {
			more += either(more == "", " Only", "; only") + " private addresses get replies"
			look = "Look whether a firewall lets only the server's own networks in, and whether replies to others have a way out (the default route, a VPN)"
		}
		text := fmt.Sprintf("Not answered: %s%s replies to %s of %s of %s in %s, and to %s of those of others", r.address(e), r.named(&e.v), heard, count(x.own, "request", "requests"), who,
			r.span(times.first, times.last), percent(float64(x.good)/float64(x.others)))
		text += either(2*e.v.fates[dissect.OutcomeRefused] > e.v.fates.missed(), "; ICMP says: "+e.v.says(), "") + "." + either(more == "", "", more+".")
		r.say(Verdict{
			Kind: Unwell, Certainty: Likely, Server: r.address(e), Sources: r.names(list), From: instant(times.first), To: instant(times.last), Text: text,
			Advice:   either(c.v.class() == never, wrongChallenges, look+seenOnHost),
			Evidence: Evidence{{"requests", float64(x.own)}, {"replies", float64(c.v.replies)}},
		})
	}
}

// compared compares a client with all others, and if these are not answered either, with those that are answered at all. One that gets no reply at all is
// ignored also if of others, and outside of outages, so many have one that chance does not explain it.
func (r *reporting) compared(c *client, e *entry[server], silent []*entry[client]) comparison {
	for _, list := range [][]*entry[client]{nil, silent} {
		if x := r.comparison(c, &e.v, list, false); x.ignored(c) && !r.has(e, ServerDown) {
			return x
		}
	}
	return r.comparison(c, &e.v, silent, true)
}

// A comparison counts requests of a client at a server, and those of others but silent ones with how many are answered, of the kinds that it answers to
// others.
type comparison struct{ own, others, good uint64 }

func (r *reporting) comparison(c *client, e *server, silent []*entry[client], chance bool) (x comparison) {
	away := func(s silence) float64 { return c.during(s.from, s.to) } // in outages, nobody gets a reply
	for _, k := range c.asks() {
		i := slices.IndexFunc(e.kinds[:], func(a asked) bool { return a.kind == k.kind })
		if k.kind == 0 || i < 0 || r.a.mayBeSilent(k.kind) {
			continue
		}
		all, own := &e.kinds[i], uint64(k.n)
		others := uint64(all.requests) - min(own, uint64(all.requests))
		for _, o := range silent {
			for _, own := range o.v.asks() {
				if own.kind == k.kind && &o.v != c {
					others -= min(uint64(own.n), others)
				}
			}
		}
		good := uint64(all.good) - min(own, c.replies, uint64(all.good)) // these may be of the client
		share := float64(good) / float64(max(others, 1))
		if others >= leastIgnored && (!chance && share >= wellShare ||
			chance && c.replies == 0 && share > kindShare && math.Pow(1-share, float64(own)-totalOf(e.outages(r.events), away)) < accident) {
			x.own, x.others, x.good = x.own+own, x.others+others, x.good+min(good, others)
		}
	}
	return x
}

// networkOf returns the network that clients are of, if it is one.
func (r *reporting) networkOf(list []*entry[client]) netip.Prefix {
	of := netOf(r.host(list[0].addr()), 64)
	return either(slices.ContainsFunc(list, func(c *entry[client]) bool { return !of.Contains(r.host(c.addr())) }), netip.Prefix{}, of)
}

// ignored reports whether a client gets far fewer replies than others. Replies to other kinds are not told apart.
func (x comparison) ignored(c *client) bool {
	missing := less(x.own, c.replies)
	return (missing >= leastIgnored || c.replies == 0 && c.requests < leastIgnored) && 5*missing >= x.own && (x.own == c.requests || c.replies == 0 && x.own > 0)
}

// asks returns what a client asked for.
func (c *client) asks() []kindCount {
	if c.single() {
		return []kindCount{{c.kind, 1}}
	}
	return c.kinds[:]
}

// calm counts what came to a server outside of events, and while nobody asked it too often, from when on and until when.
func (r *reporting) calm(e *entry[server]) (sum cell, first, last int64) {
	if e.v.more == nil {
		return sum, 0, 0
	}
	e.v.more.cells.in(func(from, to int64, c *cell) {
		if !slices.ContainsFunc(r.events, func(ev event) bool { return ev.server == e && overlap(from, to, ev.from, ev.to+shortest) > 0 }) &&
			!slices.ContainsFunc(r.groups, func(g group) bool { return slices.Contains(g.servers, e) && overlap(from, to, g.from, g.to) > 0 }) {
			if sum.add(c); c.requests > 0 {
				first, last = cmp.Or(first, max(from, e.v.first)), min(to, e.v.last)
			}
		}
	})
	return sum, first, last
}

// returned returns how many requests to a server got a challenge, with which their address came back.
func (r *reporting) returned(e *entry[server]) uint64 {
	return either(e.v.more == nil, math.MaxUint64, e.v.more.total(func(t *tick) uint64 { return uint64(t.by[vouched]) }))
}

func (r *reporting) unwellAt(e *entry[server], o *Outcome, n uint64, when string) Verdict {
	type part struct {
		n            uint64
		what, advice string
	}
	odd, soon := 2*e.v.fates[dissect.OutcomeOther] > o.Unanswered, r.duration() < 2 // seconds: clients return a challenge when they have it
	wrong := either(r.Totals.Servers == 1, r.notGiven(max(o.Unanswered, 1)), "")
	parts := []part{
		{o.Unanswered, either(odd, "got a reply of another kind only", "got no reply"), either(odd, causeOf("other_kind").Advice,
			cmp.Or(wrong, "Look at the load of the server, at limits of its queries and of its firewall, and at the path to it."))},
		{o.ChallengeOnly, "got a challenge only, " + either(soon, "and the capture may end before their clients return it", "because their clients did not return it or got another one each time"),
			either(soon, causeOf("capture_ends").Advice, "Look at the clients: those from before challenges never get an answer, and a challenge that changes each time is of no use.")},
		{o.Late, "were answered late", "The replies come later than clients wait: look at the load of the server and at the path to it."},
		{o.Partial, "were answered in part, because parts or fragments are missing", "Something on the path drops large or fragmented packets: check the MTU and whether a firewall drops IP fragments; the capture itself lacks them if its filter names a port."},
		{o.Refused, "were refused" + either(e.v.says() == "", "", " (ICMP says: "+e.v.says()+")"),
			either(e.v.says() == saysClosed, "The server is off at times, or a firewall rejects: look at both.", "The sender of the ICMP errors says why: look at its rules and routes.")},
	}
	if !odd && lostAlike(float64(o.Partial), float64(o.Unanswered), float64(n)) {
		parts[3].advice = parts[0].advice
	}
	if 2*e.v.rejected > o.ChallengeOnly {
		parts[1].what = "got another challenge for the one that they returned"
		parts[1].advice = cmp.Or(r.notGiven(e.v.rejected), "The server refuses challenges that it gave: several servers share its address, or a proxy shows it clients under changing addresses; qdissect why ADDR:PORT says more of it.")
	}
	var sources []string
	var times lived
	silent, theirs := r.a.clientsOf(e, (*client).silenced), uint64(0)
	for _, c := range silent {
		theirs += c.v.requests
		times.reach(&c.v.lived)
	}
	deaf := uint64(len(silent))
	all := less(e.v.requests, e.v.replies)
	switch lost := theirs >= 2*deaf && times.last-times.first >= mostIdle && 10*theirs >= 9*all && 4*theirs < 3*e.v.requests; {
	case lost && deaf == 1 && theirs >= kindLeast && e.v.repliedIn(times.first, times.last):
		sources = r.names(silent)
		parts[0].what += ", " + either(theirs < all, "nearly all", "all") + " of them from " + sources[0] + ", which never gets one, while others do"
		parts[0].advice = cmp.Or(wrong, lookAt(sources[0])+seenOnHost)
	case lost && deaf >= leastIgnored:
		sources = r.names(silent)
		parts[0].what += fmt.Sprintf(", nearly all of %s that never get one (%s and others), while others do", count(deaf, "address", "addresses"), sources[0])
		parts[0].advice = "Look what these addresses have in common: a firewall that bans them or lets only known ones pass, a full table of connections (conntrack), or a link or server behind the address that is down."
	}
	if who := r.a.clientsOf(e, func(c *client) bool { return c.class() == never }); len(who) == 1 && e.v.sources().Count > 1 && 10*who[0].v.challenged >= 9*o.ChallengeOnly {
		parts[1].what += either(who[0].v.challenged < o.ChallengeOnly, ": nearly all of ", ": all of ") + r.source(who[0]) + ", while others use theirs"
		parts[1].advice = wrongChallenges
		if c := &who[0].v; o.Unanswered > 0 && 10*less(c.requests, c.replies) >= 9*o.Unanswered { // to what it returns
			sources, parts[0].advice = r.names(who), parts[1].advice
			parts[0].what += " (nearly all of " + r.source(who[0]) + ")"
		}
	}
	if !slices.ContainsFunc(e.v.kinds[:], func(k asked) bool { return k.incomplete > 0 && (k.kind == 0 || !r.a.kinds[k.kind-1].tcp) }) {
		parts[3].advice = segmentsLost
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.n, a.n) })
	good, v, texts := n, &e.v, []string(nil)
	for _, p := range parts {
		if good -= min(p.n, good); float64(p.n) >= 0.02*float64(n) {
			texts = append(texts, percent(float64(p.n)/float64(n))+" "+p.what)
		}
	}
	evidence := Evidence{{"answered_share", round(float64(good)/float64(n), 4)}, {"requests", float64(n)}, {"unanswered", float64(o.Unanswered)}}
	more := Evidence{{"challenge_only", float64(o.ChallengeOnly)}, {"late", float64(o.Late)}, {"partial", float64(o.Partial)}, {"refused", float64(o.Refused)}}
	evidence = append(evidence, more[either(when == "", 0, either(o.Refused > 0, 3, 4)):]...)
	when = cmp.Or(when, " in "+r.span(v.first, v.last))
	tcp := !slices.ContainsFunc(e.v.kinds[:], func(k asked) bool { return k.kind > 0 && !r.a.kinds[k.kind-1].tcp })
	does := either(o.Unanswered+o.Refused+good < n, "answers", "replies to") // it does more often, but late, in part, or with a challenge
	return Verdict{
		Kind: Unwell, Server: r.address(e), Sources: sources, Evidence: evidence, Advice: either(tcp, overTCP.Replace(parts[0].advice), parts[0].advice),
		Text: fmt.Sprintf("Not answered: %s%s %s %s of %s%s: %s.", r.address(e), r.named(v), does, either(good+o.Late+o.Partial == 0, "none", "only "+percent(float64(good)/float64(n))), count(n, "request", "requests"), when, strings.Join(texts, ", ")),
	}
}

// lostAlike reports whether of n requests, which are many, so few are answered in part, and so many not at all, that parts get lost as any packets do, if
// a request and seven parts do as often.
func lostAlike(partial, lost, n float64) bool {
	return n >= leastWell && partial <= (1-math.Pow(1-lost/n, 7))*n
}

// maybeWell reports whether so few of n may be an accident, if the share of all is as given.
func maybeWell(good, n uint64, share float64) bool {
	mean := share * float64(n)
	return float64(good) > mean-3*math.Sqrt(mean*(1-share))
}

// toAll reports whether requests to an address and port go to all hosts of a network, by what is known of replies of that address, and of requests that
// were answered all the same.
func toAll(at key, replies, answered uint64) bool {
	end := endpoint.Endpoint(at)
	last := end.V4 && end.Lo&0xff == 0xff
	return replies == 0 && (end.Everybody() || last && (answered > 0 || private(end.Addr())))
}

func (r *reporting) toAll(e *entry[server]) bool {
	return toAll(e.key, e.v.replies, e.v.fates[dissect.OutcomeAnswered])
}

// foundByAll reports whether so many replies of a server may answer requests to all hosts of its network.
func (r *reporting) foundByAll(e *entry[server]) bool {
	return slices.ContainsFunc(r.toAllHosts, func(b *entry[server]) bool {
		return (b.Port == e.Port || b.addr().IsMulticast()) && b.v.requests >= e.v.replies
	})
}

// asksAll reports whether a client asks all hosts of its network.
func (r *reporting) asksAll(c *entry[client]) bool {
	return slices.ContainsFunc(r.toAllHosts, func(b *entry[server]) bool {
		return c.v.asked(b.sum) && (private(c.addr()) || netOf(c.addr(), 64) == netOf(b.addr(), 64))
	})
}

func (t *target) toAll() bool {
	return toAll(keyOf(t.at.Addr(), t.at.Port()), t.replies(), t.fates[dissect.OutcomeAnswered].n)
}

// broadcast returns the proof that a server was found by requests to all hosts of its network, or that these were sent to it and answered.
func (x *facts) broadcast() *proof {
	good := &x.fates[dissect.OutcomeAnswered]
	if x.toAll() && len(x.elsewhere) > 0 {
		return x.proof("what", fmt.Sprintf("is the address of all hosts of a network, of which servers answered %s, %s among them", count(good.n, "request", "requests"), x.elsewhere[0].from)).
			with(x, "requests that were answered", good)
	}
	for _, t := range x.f.targets {
		if x.asked() == 0 && x.replies() > 0 && t.toAll() && (t.at.Port() == x.at.Port() || t.at.Addr().IsMulticast()) && t.asked() >= x.replies() {
			return x.proof("what", fmt.Sprintf("answers who looks for servers: it sent %s to requests to all hosts of its network (%s), and nobody asked it alone", count(x.replies(), "reply", "replies"), t.at)).
				with(x, "replies", &x.marks[mData])
		}
	}
	return nil
}
