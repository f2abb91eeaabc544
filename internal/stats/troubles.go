package stats

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
)

// unarrived says that challenges do not seem to reach clients: most of those that got one ask for it again and again, and hardly
// one returns any. Forged requests have a source of their own each, or come so fast that they are an event.
func (r *reporting) unarrived() {
	for _, e := range r.servers {
		v := &e.v
		if r.o.OneSided || v.challenges < leastWell || float64(v.rejected) >= badShare*float64(v.challenges) || !r.home(e) || r.inCarpet(e) ||
			r.has(e, ForgedFlood, CrowdOrForged, DropsUnderLoad, GreedyClients, Reflection, JunkFlood, Unwell) {
			continue
		}
		given, none := r.a.clientsOf(e, func(c *client) bool { return c.replies > 0 }), r.a.clientsOf(e, func(c *client) bool { return c.class() == never })
		again := slices.DeleteFunc(slices.Clone(none), func(c *entry[client]) bool {
			slow := uint64(c.v.last-c.v.first)/1e9 + leastJudged // a request each second
			return c.v.requests < leastErrors*c.v.distinctServers() || c.v.requests > slow || 10*c.v.challenged < 9*c.v.requests || r.isVictim(c)
		})
		used := len(given) - len(none)
		if len(again) < leastJudged || 4*len(again) < 3*len(given) || 10*used > len(given) || used > 0 && len(again) >= leastMutes {
			continue
		}
		slices.SortFunc(again, byRequests)
		r.say(Verdict{
			Kind: Unwell, Certainty: either(used > 0, Possible, Likely), Server: r.address(e), From: instant(v.first), To: instant(v.last),
			Text: fmt.Sprintf("Challenges do not arrive: %s%s gave %s in %s, but %s of the %s that got a reply (%s and others) ask again, half of them %s or more, and never return any: replies do not seem to reach them.",
				r.address(e), r.named(v), count(v.challenges, "challenge", "challenges"), r.span(v.first, v.last), number(uint64(len(again))), count(uint64(len(given)), "address", "addresses"), r.source(again[0]), count(again[len(again)/2].v.requests, "time", "times")),
			Advice:   causeOf("unarrived").Advice,
			Doubt:    "a capture at one of these clients, or past the firewall and the NAT of the server, would make it certain; clients from before challenges and a few forged addresses look the same",
			Evidence: Evidence{{"asking_again", float64(len(again))}, {"sources", float64(len(given))}, {"requests", float64(v.requests)}, {"challenges", float64(v.challenges)}},
		})
	}
}

// movedTo says where a server of the same name, and of the same map, port or host, replies since one stopped, if there is only one.
func (r *reporting) movedTo(e *entry[server], stopped int64) string {
	list := slices.DeleteFunc(slices.Clone(r.servers), func(o *entry[server]) bool {
		same := len(e.v.name) > 0 && bytes.Equal(o.v.name, e.v.name) && o.v.protocol == e.v.protocol && (o.Port == e.Port || o.addr() == e.addr() || bytes.Equal(o.v.mapName, e.v.mapName))
		return o == e || !same || o.v.replies < leastJudged || o.v.first < stopped
	})
	if len(list) != 1 {
		return ""
	}
	return fmt.Sprintf(" Since %s, a server of the same name replies at %s: if it moved, those who ask here have its old address.", r.clock(list[0].v.first), r.address(list[0]))
}

// died reports whether a server that replied to requests of a kind replied to none from about the first on that it lost, and returns how many others came
// since then, of which so many were answered at least.
func (s *server) died(k *asked) (is bool, others, good uint64) {
	for _, q := range s.more.known() {
		var before, now, since uint64
		q.ticks.in(func(from, to int64, t *tick) {
			switch n := t.all(); {
			case to <= k.first:
				before += n
			case from <= k.first:
				now = n
			default:
				since += n
			}
		})
		well := uint64(k.good)
		if i := slices.IndexFunc(s.kinds[:], func(o asked) bool { return o.kind == q.kind }); q.kind == k.kind {
			is = k.incomplete == 0 && min(k.good, k.bad) >= leastIgnored && before+now >= well && before <= well+well/50 && 2*since >= uint64(k.bad)
		} else if i >= 0 {
			others, good = others+since, good+less(since, uint64(s.kinds[i].bad+s.kinds[i].incomplete))
		}
	}
	return is, others, good
}

// notListed says what why says of masters that do not list a server, or send nothing to its host.
func (r *reporting) notListed() {
	all := r.a.masters.list
	if r.o.OneSided || len(all)%maxMasters == 0 { // none, or there may be more
		return
	}
	shown := masters{list: slices.Clone(all)}
	for m := range each(shown.list) {
		m.from, m.to = r.host(m.from), netip.AddrPortFrom(r.host(m.to.Addr()), m.to.Port())
		m.says = either(r.o.Hide == nil || m.says == "", m.says, "its words are left out")
	}
	said, list := map[netip.Addr]bool{}, slices.Clone(r.servers)
	for m := range each(all) { // hosts that nobody asks send heartbeats as well
		if m.beats.n > 0 && r.a.servers.gone == 0 && r.a.cuts == 0 && !slices.ContainsFunc(list, func(e *entry[server]) bool { return e.addr() == m.from }) {
			list = append(list, &entry[server]{key: keyOf(m.from, 0), v: server{tally: tally{lived: lived{first: r.From.UnixNano(), last: r.To.UnixNano()}}}})
		}
	}
	for _, e := range list {
		x := &facts{target: &target{at: r.endpoint(e)}, f: &focus{masters: &shown}, o: r.o}
		x.marks[mAsked].n, x.marks[mData].n = e.v.requests, e.v.replies
		c := first(causes, func(c Cause) bool { return c.explains != ofListing || c.holds(x) != nil })
		if p := c.holds(x); c.explains == ofListing && !said[e.addr()] && (len(r.o.Home) == 0 || r.isHome(e.addr())) {
			said[e.addr()] = true
			r.say(Verdict{
				Kind: NotListed, Certainty: c.Certainty, Server: r.address(e), From: instant(e.v.first), To: instant(e.v.last),
				Text: "Trouble with a master: " + c.fill(c.Words, p, r.address(e)+r.named(&e.v)), Advice: c.Advice,
				Evidence: Evidence{{"heartbeats", float64(p.evidence[0].Count)}, {"messages", float64(p.evidence[1].Count)}},
			})
		}
	}
}

// targets names what a client scans: servers, or ports if nearly all that it asked are of one host.
func (r *reporting) targets(c *entry[client]) string {
	ports, all := map[netip.Addr]int{}, 0
	for e := range each(r.a.servers.entries) {
		if e.v.requests > 0 && e.v.replies == 0 && c.v.asked(e.sum) {
			all++
			ports[e.addr()]++
		}
	}
	for a, n := range ports {
		if n >= manyServers && 10*n >= 9*all {
			return "ports of " + r.host(a).String()
		}
	}
	return "servers"
}
