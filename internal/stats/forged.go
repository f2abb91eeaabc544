package stats

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// span writes a time with its beginning: "20 s from 22:13:50 UTC on".
func (r *Report) span(from, to int64) string {
	d := time.Duration(to - from)
	if step := 100 * time.Millisecond; d > step {
		d = d.Round(step)
	}
	return duration(d) + " from " + r.clock(from) + " on"
}

// partOf writes a time as span does, and how many seconds of it count: "30 s of the 80 s from 22:13:50 UTC on".
func (r *Report) partOf(seconds float64, from, to int64) string {
	return either(seconds > 0.9*float64(to-from)/1e9, r.span(from, to), duration(time.Duration(seconds*1e9).Round(100*time.Millisecond))+" of the "+r.span(from, to))
}

// floods says what excesses of requests without a proof are: forged, or a crowd.
func (r *reporting) floods() {
	for ev := range each(r.events) {
		if ev.nature == real || ev.carpet || ev.clients != nil || ev.nature == unasked && ev.strong == 0 && r.has(ev.server, DropsUnderLoad) {
			continue
		}
		at, net, servers := r.address(ev.server), "", []string(nil)
		where := at + r.named(&ev.server.v)
		if ev.net.IsValid() {
			sum, list := r.together(ev)
			if ev = &sum; len(list) == 0 {
				continue
			}
			at, net, servers = "", ev.net.String(), nettext.Each(list, r.address)
			where = count(uint64(len(list)), "server", "servers") + " of " + net
		}
		v := Verdict{
			Kind: ForgedFlood, Certainty: Certain, Server: at, Servers: servers, Network: net, From: instant(ev.from), To: instant(ev.to),
			Evidence: r.floodNumbers(ev), Because: ev.because, of: r.whatOf(ev),
		}
		n := nearest(ev.sources)
		who := either(n > 0, " from "+count(n, "address", "addresses"), "")
		whose := "in total"
		if nearest(ev.sources) == 1 {
			if one, _ := r.busiest(ev, false, 1); len(one) == 1 {
				v.Sources, whose = r.names(one), "per address"
				who = " from " + v.Sources[0]
			}
		}
		title, why := "Forged flood", "None came back with the challenge that it was given."
		switch {
		case ev.nature == unreturning:
			soon := r.a.last-ev.from < int64(time.Second)/2
			if again := ev.requests >= 2.5*ev.sources && ev.level() <= 1.1*ev.sources; soon || again {
				v.Certainty, v.Doubt = Likely, either(soon, "a longer capture: clients may return a challenge after the end of this one", "a capture at one of these addresses, which shows whether it asks")
				why = either(again, "None came back with the challenge that it was given, nor do clients from before challenges, or whom no reply reaches.", why)
			}
			v.Because = []string{noneCame}
			which := either(r.madeUp(ev, ev.kinds[0]), "with made-up ones", "without one")
			v.Advice = r.limitAdvice(ev, "The server asks for a challenge, so the flood gets little back; limit requests "+which+" "+whose+" (qdissect rules prints the rule).")
		case ev.forged:
			v.Certainty, v.Doubt = Likely, "a challenge that these addresses do not return would make it certain; "+either(r.o.OneSided, "one direction does not tell whether they were given any", either(ev.series[0].proves() || ev.silent(), "they were given none", "this request needs none"))
			why = "Nothing proves it, but " + sentence(ev.because[:min(len(ev.because), 2)]) + "."
			v.Advice = r.limitAdvice(ev, "Limit these requests in total (qdissect rules prints the rule): it protects the machine and those who get the replies; honest requests suffer as well")
		default:
			v.Kind, v.Certainty, title = CrowdOrForged, Possible, "Crowd or forged"
			v.Doubt = "captures with hop limits and addresses as they come from the internet, or a server that asks for a challenge, would tell"
			proof := either(r.o.OneSided, "one direction does not tell whether they were given a challenge", either(ev.series[0].proves() || ev.silent(), "they were given no challenge", "this request needs no proof"))
			why = either(len(ev.because) > 0, "They may be people, or forged: "+proof+", and that "+sentence(ev.because)+" does not tell.", "They may be people, or forged: "+proof+", and what there is to see does not tell.")
			v.Advice = "Ask where people may come from (a list, a video, an update); block nobody for it, and raise the limits of the server."
			if ev.server.v.sources().Count == 1 {
				v.Advice = "All come through one address, that of Docker's proxy or of a NAT: a capture in front of it shows who asks, and that is where a limit per address helps."
			}
			if text, even := r.evenly(ev, 1); even && ev.level() >= 1.5*ev.sources { // lists of servers that are open ask once a second
				why = "They are programs that ask too often, or forged, and hardly people: " + text + ", and " + proof + "."
				v.Advice = "Limit these requests per address: it is right in both cases."
			}
		}
		in, rate := r.span(ev.from, ev.to), rounded(ev.level())+" per second"
		if width := ev.series[0].ticks.width; width > second && ev.to-ev.from < 4*widths[width] { // it may be as short as a part of a bucket
			in, rate = strings.Replace(in, " from", " or less from", 1), rate+" or more"
		}
		v.Text = fmt.Sprintf("%s at %s: %s %s in %s (%s%s)%s. %s", title, where, number(nearest(ev.requests)), r.whatOf(ev),
			in, rate, times(ev), who+either(net != "", "", r.meanwhile(ev)), strings.TrimSuffix(why, ".")+either(net != "", "", r.cutOff(ev))+".")
		lower := strings.TrimSuffix(v.Advice, ".") + "; if it is a limit that leaves the others without a reply, a lower one keeps more players out."
		v.Advice = either(ev.forged && ev.nature == unasked && strings.Contains(v.Text, asEver), "What drops them protects the server: nothing more has to be done while the line bears them; look whether players get their replies.", v.Advice)
		v.Advice = either(ev.nature == unreturning && strings.Contains(v.Text, " of all requests meanwhile"), lower, v.Advice)
		r.say(v)
	}
}

// asEver says that a flood gets no reply, and others do.
const asEver = "; the server sent as many replies as without them (something drops them, or it ignores them)"

// noneCame is what shows that requests are forged that return no challenge.
const noneCame = "none of these addresses came back with the challenge that it was given"

// times says how many times the usual rate an event has.
func times(ev *event) string {
	return either(ev.usual < 0.1, "", fmt.Sprintf(", %s times the usual", rounded((ev.level()+ev.usual)/max(ev.usual, 0.1))))
}

// whatOf names the requests of an event.
func (r *reporting) whatOf(ev *event) string {
	if len(ev.kinds) == 0 {
		return "requests"
	}
	k := &r.a.kinds[ev.kinds[0]]
	return k.many() + either(len(ev.kinds) > 1 && ev.nature != real, " and others", "")
}

func (r *reporting) floodNumbers(ev *event) Evidence {
	factor := either(ev.in > 0, ev.out/ev.in, 0)
	return Evidence{
		{"requests", round(ev.requests, 0)}, {"requests_per_second", round(ev.level(), 1)}, {"usual_requests_per_second", round(ev.usual, 1)},
		{"seconds", round(ev.seconds(), 1)}, {"sources", round(ev.sources, 0)}, {"requests_by_source", round(ev.requests/max(ev.sources, 1), 2)},
		{"bytes_in", float64(uint64(ev.in))}, {"bytes_out", float64(uint64(ev.out))}, {"bytes_out_by_bytes_in", round(factor, 2)},
	}
}

// limitAdvice adds what the protocol allows: a challenge helps only where the server can ask for one.
func (r *reporting) limitAdvice(ev *event, limit string) string {
	if len(ev.kinds) == 0 || ev.nature == unreturning {
		return limit
	}
	return limit + either(slices.ContainsFunc(ev.server.v.more.known(), (*kindSeries).asks), "; other requests need a challenge: let this one need it, if its version can.", ".")
}

// meanwhile says how a server did during an event, if it did badly.
func (r *reporting) meanwhile(ev *event) string {
	asked, replied := 0.0, 0.0
	ev.server.v.more.cells.in(func(from, to int64, c *cell) {
		part, heard := float64(overlap(from, to, ev.from, ev.to))/float64(to-from), min(less(c.requests, c.unanswered), c.replies)
		asked += part * float64(c.unanswered+heard) // others are open
		replied += part * float64(heard)
	})
	if asked < leastOften || replied > 0.9*asked || r.o.OneSided && replied == 0 {
		return ""
	}
	if usual := asked - ev.requests; ev.nature == unasked && usual >= leastOften && replied > wellShare*usual && replied < 1.1*usual {
		return asEver
	}
	return fmt.Sprintf("; the server replied to %s of all requests meanwhile", percent(replied/asked))
}

// cutOff says that soon after an event nobody asked its server for long.
func (r *reporting) cutOff(ev *event) string {
	t, last, gap := ev.server.v.times(), ev.to, int64(0)
	until := func(from int64) { gap = max(gap, either(last < ev.to+int64(atOnce), from-last, 0)) }
	t.in(func(from, to int64, p *pulse) {
		if p.asked > 0 && to > last {
			until(from)
			last = to
		}
	})
	until(r.a.last)
	usual := ev.server.v.askedIn(r.a.first, ev.from) / max(float64(ev.from-r.a.first), 1)
	if gap < max(int64(shortestCut), 5*widths[t.width]) || gap > int64(24*time.Hour) || ev.from-r.a.first < int64(shortestCut)/2 || usual*float64(gap) < 2*leastWell {
		return ""
	}
	return fmt.Sprintf("; then nobody asked the server for %s, and before the flood %s times per second, as when a provider drops all to an address (a null route), which keeps players away as well", duration(time.Duration(gap).Round(time.Second)), rounded(usual*1e9))
}

// shortestCut is how long nobody asks a server after a flood until it is worth a word.
const shortestCut = 30 * time.Second

// sentence joins parts of a sentence.
func sentence(parts []string) string {
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// named names events: what is forged, and who is greedy. It follows [reporting.findVictims].
func (r *reporting) nameEvents() {
	kept, events := []event(nil), r.events
	for i := range r.events {
		ev := r.events[i]
		if ev.nature != real {
			all := ev.requests
			if ev = r.withoutVictims(ev, events); ev.requests < eventLeast*min(ev.seconds(), eventTime) || ev.requests < all && ev.level() < eventLeast {
				continue
			}
		}
		if ev.nature != unreturning && r.waits(&ev) {
			continue
		}
		switch ev.nature {
		case unreturning: // those who prove themselves when the server is back are no forgers
			few, sum := r.busiest(&ev, true, 1)
			if ev.forged = !ev.ungiven || len(few) > mostGreedy || sum < mostOf*ev.requests; !ev.forged {
				ev.clients, ev.theirs, ev.nature = few, sum, real
			}
		case unasked:
			// Those who proved themselves before the capture, or in another part of it, are no forgers.
			for _, proves := range []bool{false, true} {
				few, sum := r.busiest(&ev, proves, 1)
				all, _ := r.sentIn(&ev, few)
				own, _ := r.sentOf(&ev, few, events) // the rest fits another event better
				sum *= own / max(all, 1)
				most := sum >= mostOf*ev.requests || ev.sources <= mostGreedy && 2*sum >= ev.requests && r.askLess(few, sum, &ev)
				if ev.clients == nil && len(few) <= mostGreedy && most && sum >= leastOften {
					if ev.clients, ev.theirs = few, sum; proves {
						ev.nature = real
					}
				}
			}
			if list, sum := r.busiest(&ev, false, leastGreedy); ev.clients == nil && 2*sum >= ev.requests && r.accepted(ev.server, ev.kinds[0]+1, ev.requests) {
				ev.clients, ev.theirs, ev.nature = list, sum, real
			}
			if ev.clients != nil {
				break
			}
			if ev.because == nil {
				r.weighEvidence(&ev, kept)
			}
			if ev.forged = ev.strong >= 2; !ev.forged && ev.requests < leastCrowd {
				continue
			}
		case real:
			if list, sum := r.busiest(&ev, true, leastGreedy); 2*sum >= ev.requests && (len(list) <= mostGreedy || sum >= oftenEach*float64(len(list))) {
				ev.clients, ev.theirs = list, sum
			} else if list, sum := r.hostOf(&ev); sum >= mostOf*ev.requests {
				ev.clients, ev.theirs = list, sum
			}
		}
		kept = append(kept, ev)
	}
	r.events = kept
}

// hostOf returns the addresses of the network of IPv6 that has most of those that proved themselves in an event, and how many requests they sent in it.
func (r *reporting) hostOf(ev *event) (list []*entry[client], sum float64) {
	nets := map[netip.Prefix][]*entry[client]{}
	for _, c := range r.a.clientsOf(ev.server, func(c *client) bool { return c.proven > 0 && c.first < ev.to && c.last >= ev.from }) {
		p := netOf(c.addr(), 64)
		if nets[p] = append(nets[p], c); p.Addr().Is6() && !p.Contains(ev.server.addr()) && len(nets[p]) > len(list) {
			list = nets[p]
		}
	}
	return list, totalOf(list, func(c *entry[client]) float64 { return c.v.within(ev.from, ev.to) })
}

// waits reports whether an event is a consequence of an outage: of clients that ask again and again until the server is back, none of them often, and that have heard it.
func (r *reporting) waits(ev *event) bool {
	const often = 2 // per second
	if !slices.ContainsFunc(ev.server.v.outages(nil), func(s silence) bool {
		return ev.from > s.from-int64(time.Second) && ev.from < s.to && ev.to < s.to+shortest
	}) {
		return false
	}
	sum, most := 0.0, often*ev.seconds()+leastErrors
	for c := range each(r.a.clients.entries) {
		if n := c.v.within(ev.from, ev.to); c.v.replies > 0 && !c.v.single() && n <= most && c.v.asked(ev.server.sum) {
			sum += n + min(n, 1)      // the first question to the server that is back comes beside the even pace
			if ev.nature == unasked { // who goes on asking later did not do so as often
				sum += max(min(float64(less(c.v.requests, c.v.replies)), most)-n, 0)
			}
		}
	}
	return sum >= mostOf*ev.requests
}

// withoutVictims takes from an event what is sent in the names of the victims of reflections.
func (r *reporting) withoutVictims(ev event, events []event) event {
	named := slices.Concat(nettext.Each(r.victims, func(v victim) []*entry[client] { return v.clients })...)
	sum, excess := r.sentOf(&ev, named, events)
	part := 1 - excess/max(ev.requests, 1)
	part = either(part < 0.2 || sum >= 0.1*ev.requests && ev.sources < junkSources, 0, part)
	ev.requests, ev.in, ev.out = ev.requests*part, ev.in*part, ev.out*part
	ev.sources = min(ev.sources, ev.requests)
	return ev
}

// sentOf is as sentIn, without what other events of the server have that fit better what these clients sent.
func (r *reporting) sentOf(ev *event, list []*entry[client], events []event) (sum, excess float64) {
	sum, excess = r.sentIn(ev, list)
	misfit := math.Abs(excess - ev.requests)
	for o := range each(events) {
		both := float64(overlap(ev.from, ev.to, o.from, o.to)) / 1e9
		if o.series[0] != ev.series[0] || o.nature != ev.nature || both == 0 {
			continue
		}
		if _, n := r.sentIn(o, list); math.Abs(n-o.requests) < min(misfit, o.requests/4) {
			sum = max(sum-o.level()*both, 0)
			excess = sum // what they send at other times is of that, and not usual
		}
	}
	return sum, excess
}

// sentIn returns how many requests of its kinds clients sent to the server of an event while it lasted, and how many of these are more than is usual.
func (r *reporting) sentIn(ev *event, list []*entry[client]) (sum, excess float64) {
	other := 0.0
	for _, c := range list {
		if c.v.asked(ev.server.sum) {
			part := totalOf(ev.kinds, func(k uint16) float64 { return float64(c.v.kindsOf(k+1)) / float64(max(c.v.requests, 1)) })
			n := part * c.v.within(ev.from, ev.to)
			sum, other = sum+n, other+part*c.v.within(r.a.first, r.a.last+1)-n
		}
	}
	other /= max(r.duration()-ev.seconds(), 1) // per second: of what is usual, they send as much
	return sum, max(sum-min(ev.usual, other)*ev.seconds(), 0)
}

// leastCrowd is the number of requests from which a crowd is worth a word.
const leastCrowd = 200

// What is too often: so many requests per second of an address to a server, of at least leastOften. Of many that ask together, each sends at
// least leastGreedy per second. At most mostGreedy are few.
const (
	peakOften    = 10
	programOften = 2 // of a server, by who asks several, or with many others
	leastOften   = 100
	leastGreedy  = 0.5
	oftenEach    = 10 // of many, each: who asks once sends a few
	mostGreedy   = 10
)

// leastGrowth is how long more clients come, until it is worth saying, if they do not come in a rush: so many requests, and so many per second.
const (
	leastGrowth = int64(time.Minute)
	leastRush   = 1000
	rushRate    = 100
)

// growths says that more clients came than usual, each of which asks as others do, to servers at the same time.
func (r *reporting) growths() {
	var sums []event
	var at [][]string
	for ev := range each(r.events) {
		if ev.nature != real || ev.clients != nil || ev.to-ev.from < leastGrowth && (ev.requests < leastRush || ev.level() < rushRate) {
			continue
		}
		i := slices.IndexFunc(sums, func(o event) bool { return 5*overlap(ev.from, ev.to, o.from, o.to) > 4*max(ev.to-ev.from, o.to-o.from) })
		if i < 0 {
			sums, at = append(sums, *ev), append(at, []string{r.address(ev.server)})
			continue
		}
		o := &sums[i]
		o.gain(ev)
		o.usual, o.from, o.to, at[i] = o.usual+ev.usual, min(o.from, ev.from), max(o.to, ev.to), append(at[i], r.address(ev.server))
	}
	for i, ev := range sums {
		one := len(at[i]) == 1
		r.say(Verdict{
			Kind: Growth, Certainty: Likely, Server: either(one, at[i][0], ""), Servers: either(one, nil, at[i]), From: instant(ev.from), To: instant(ev.to),
			Text: fmt.Sprintf("%s at %s%s: %s more than usual in %s (%s per second%s), of clients that prove themselves. No few of them ask most of it: more people come.",
				either(ev.to-ev.from < leastGrowth, "Crowd", "Growth"), list(at[i]), either(one, r.named(&ev.server.v), ""), count(nearest(ev.requests), "request", "requests"), r.span(ev.from, ev.to), rounded(ev.level()), times(&ev)),
			Advice:   "Block nobody: look whether the server bears it, and raise its limits.",
			Evidence: Evidence{{"requests", round(ev.requests, 0)}, {"requests_per_second", round(ev.level(), 1)}, {"usual_requests_per_second", round(ev.usual, 1)}, {"seconds", round(ev.seconds(), 1)}},
		})
	}
}
