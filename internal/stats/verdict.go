package stats

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// The kinds of verdicts, worst first.
const (
	ForgedFlood     = "forged_flood"
	Reflection      = "reflection"
	JunkFlood       = "junk_flood"
	ServerDown      = "server_down"
	DropsUnderLoad  = "drops_under_load"
	GreedyClients   = "greedy_clients"
	LongRepliesLost = "long_replies_lost"
	Slow            = "slow"
	ListHammering   = "list_hammering"
	Scanner         = "scanner"
	NothingUnusual  = "nothing_unusual"
	CannotTell      = "cannot_tell"
)

// mostVerdicts is how many verdicts a report has.
const mostVerdicts = 5

// judge adds the verdicts.
func (r *reporting) judge() {
	for _, rule := range []func(){r.forged, r.reflected, r.junk, r.down, r.drops, r.greedy, r.longLost, r.slow, r.scanners} {
		rule()
	}
	if r.o.about.IsValid() {
		r.Verdicts = slices.DeleteFunc(r.Verdicts, func(v Verdict) bool { return !r.concerns(&v) })
		return
	}
	if t := &r.Totals; r.o.OneSided || t.Requests == 0 || len(r.Verdicts) == 0 && t.Answered == 0 && t.Unanswered >= leastJudged {
		r.cannotTell()
	}
	if len(r.Verdicts) == 0 {
		r.nothing()
	}
	r.Verdicts = r.Verdicts[:min(len(r.Verdicts), mostVerdicts)]
}

func (r *reporting) say(v Verdict) { r.Verdicts = append(r.Verdicts, v) }

// forged says that floods came from forged sources. Several that are the same but for the server are one.
func (r *reporting) forged() {
	for i := range r.floods {
		f := &r.floods[i]
		span := time.Duration(f.to - f.from)
		rate := float64(f.forged) / span.Seconds()
		times := ""
		if f.usual >= 0.1 {
			times = fmt.Sprintf(", %s times its usual rate", rounded(f.requests/span.Seconds()/f.usual))
		}
		asks := "that ask once or twice and never finish a handshake"
		if f.forged > 2*f.sources {
			asks = fmt.Sprintf("that ask %s times each, always the same, and never finish a handshake", rounded(float64(f.forged)/float64(f.sources)))
		}
		v := Verdict{
			Kind: ForgedFlood, Server: address(f.server), From: instant(f.from), To: instant(f.to),
			Text: fmt.Sprintf("Forged flood at %s%s: %s %s in %s (%s per second%s) from %s addresses, %s of the sources in that time, %s.",
				address(f.server), named(&f.server.v), number(f.forged), r.a.kinds[f.kind].many(), duration(span), rounded(rate), times, number(f.sources), percent(f.share), asks),
			Advice: "Make the server ask for a challenge if it can, and limit requests without one in total (the report has the rule); a limit per address does not reach sources that ask once.",
			Evidence: Evidence{
				{"requests", float64(f.forged)}, {"requests_per_second", round(rate, 1)}, {"usual_requests_per_second", round(f.usual, 1)}, {"seconds", round(span.Seconds(), 1)},
				{"sources", float64(f.sources)}, {"share_of_sources", round(f.share, 4)}, {"share_of_requests", round(float64(f.forged)/max(f.requests, 1), 4)},
				{"bytes_out_by_bytes_in", round(max(f.sent, 0)/max(f.bytesIn, 1), 2)},
			},
		}
		if 2*f.server.v.challenges > f.server.v.replies {
			v.Advice = "The server asks for a challenge, so the flood gets little back; limit requests without a challenge in total (the report has the rule), because a limit per address does not reach sources that ask once."
		}
		r.say(v)
	}
}

func address(e *entry[server]) string { return netip.AddrPortFrom(e.addr(), e.port).String() }

// asked reports whether a server is probably among those that a client asked.
func (c *client) asked(server uint64) bool { return c.servers[server>>6%8]>>(server%64)&1 != 0 }

// serversOf returns the addresses of the servers that a client asked, as far as they are known.
func (r *reporting) serversOf(c *client) (list []string) {
	for _, e := range r.servers {
		if c.asked(e.sum) && uint64(len(list)) < c.distinctServers() && e.v.requests > 0 {
			list = append(list, address(e))
		}
	}
	return list
}

// list joins the first of several texts.
func list(texts []string) string {
	switch n := len(texts); {
	case n == 0:
		return "servers"
	case n <= 2:
		return strings.Join(texts, " and ")
	default:
		return fmt.Sprintf("%s and %d others", texts[0], n-1)
	}
}

// reflected says that servers are abused to attack others.
func (r *reporting) reflected() {
	if r.o.OneSided {
		return
	}
	for _, c := range r.clients {
		v := &c.v
		if v.class() != victim || v.bytesOut <= leastFactor*v.bytesIn {
			continue
		}
		servers, span := r.serversOf(v), time.Duration(v.last-v.first)
		factor := float64(v.bytesOut) / float64(v.bytesIn)
		rate := float64(v.requests) / max(span.Seconds(), 1)
		what := "requests"
		if i := v.favourite(); i > 0 {
			k := &r.a.kinds[i-1]
			what = k.many()
		}
		verdict := Verdict{
			Kind: Reflection, Servers: servers, Sources: []string{c.addr().String()}, From: instant(v.first), To: instant(v.last),
			Text: fmt.Sprintf("Reflection at %s: %s %s in its name (%s per second) made %s send it %s, %s times what came; its address is forged, it is the victim.",
				c.addr(), number(v.requests), what, rounded(rate), list(servers), size(v.bytesOut), decimals(factor)),
			Advice: "Limit these requests per address (the report has the rule): the address is the victim's, so little else is lost; make the server ask for a challenge if it can.",
			Evidence: Evidence{
				{"requests", float64(v.requests)}, {"requests_per_second", round(rate, 1)}, {"seconds", round(span.Seconds(), 1)}, {"bytes_in", float64(v.bytesIn)},
				{"bytes_out", float64(v.bytesOut)}, {"factor", round(factor, 2)},
			},
		}
		if v.refused > 0 {
			verdict.Evidence = append(verdict.Evidence, Number{"icmp_errors", float64(v.refused)})
		}
		if len(servers) == 1 {
			verdict.Server = servers[0]
		}
		r.say(verdict)
	}
}

// greedy says that few clients ask most of what is unusual.
func (r *reporting) greedy() {
	const mostGreedy = 10
	var found []*entry[client]
	sum, excess := uint64(0), r.Totals.Requests-min(r.Limits.Honest, r.Totals.Requests)
	for _, c := range r.clients {
		is := c.v.class()
		if is == often || is == victim && c.v.bytesOut <= leastFactor*c.v.bytesIn && c.v.peak >= peakOften {
			found = append(found, c)
			sum += c.v.requests
		}
	}
	if len(found) == 0 || len(found) > mostGreedy || 2*sum <= excess {
		return
	}
	from, to, peak := found[0].v.first, found[0].v.last, uint64(0)
	var sources []string
	for _, c := range found {
		from, to, peak = min(from, c.v.first), max(to, c.v.last), peak+uint64(c.v.peak)
		sources = append(sources, c.addr().String())
	}
	best := found[0]
	servers := r.serversOf(&best.v)
	span := time.Duration(to - from)
	rate := float64(sum) / max(span.Seconds(), 1)
	const leastShare = 20 // 5 % of all requests, or the pace of what is too often
	if sum*leastShare < r.Totals.Requests && rate < peakOften {
		return
	}
	what, kind, protocol := "requests", GreedyClients, ""
	if i := best.v.favourite(); i > 0 {
		k := &r.a.kinds[i-1]
		what, protocol = k.protocol+" "+plural(k.title()), k.protocol
	}
	who, verb := sources[0]+" asks", "it"
	if len(sources) > 1 {
		who, verb = fmt.Sprintf("%d clients (first %s) ask", len(sources), sources[0]), "they"
	}
	text := "Greedy"
	if strings.HasSuffix(protocol, "-master") {
		kind, text = ListHammering, "List hammering"
	}
	share := float64(sum) / float64(max(r.Totals.Requests, 1))
	v := Verdict{
		Kind: kind, Servers: servers, Sources: sources, From: instant(from), To: instant(to),
		Text: fmt.Sprintf("%s: %s %s %s times per second: %s %s in %s, %s of all requests; %s got %s of replies.", text, who, list(servers), rounded(rate), number(sum), what,
			duration(span), percent(share), verb, size(sumOf(found, func(c *client) uint64 { return c.bytesOut }))),
		Advice: "Limit requests per address (the report has the rule), or ask the operator of that address to ask less often.",
		Evidence: Evidence{
			{"sources", float64(len(found))}, {"requests", float64(sum)}, {"requests_per_second", round(rate, 1)}, {"peak_requests_per_second", float64(peak)},
			{"seconds", round(span.Seconds(), 1)}, {"share_of_requests", round(share, 4)},
		},
	}
	if len(servers) == 1 {
		v.Server = servers[0]
	}
	r.say(v)
}

func sumOf(list []*entry[client], f func(*client) uint64) (n uint64) {
	for _, c := range list {
		n += f(&c.v)
	}
	return n
}

// manyServers is what clients ask at most.
const manyServers = 50

// scanners says that sources ask very many servers.
func (r *reporting) scanners() {
	for _, c := range r.clients {
		v := &c.v
		n := v.distinctServers()
		if n <= manyServers {
			continue
		}
		span := time.Duration(v.last - v.first)
		answered := float64(v.replies) / float64(max(v.requests, 1))
		r.say(Verdict{
			Kind: Scanner, Sources: []string{c.addr().String()}, From: instant(v.first), To: instant(v.last),
			Text: fmt.Sprintf("Scanner: %s asks about %s servers: %s requests in %s (%s per second), with %s replies.", c.addr(), number(n), number(v.requests), duration(span),
				rounded(float64(v.requests)/max(span.Seconds(), 1)), number(v.replies)),
			Advice: "It does no harm at this rate: server browsers and statistics sites do the same; a limit per address does not reach it, so block the address if it is unwanted.",
			Evidence: Evidence{
				{"servers", float64(n)}, {"requests", float64(v.requests)}, {"replies", float64(v.replies)}, {"replies_by_requests", round(answered, 3)}, {"seconds", round(span.Seconds(), 1)},
			},
		})
	}
}

// A silence is a time in which a server was asked and did not reply.
type silence struct {
	from, to int64
	requests uint64
	ends     bool // replies came after it
}

// longestSilence returns the silence with most requests.
func longestSilence(v *server) (most silence) {
	var now silence
	v.more.cells.in(func(from, to int64, c *cell) {
		switch {
		case c.replies > 0:
			if most == now {
				most.ends = true
			}
			now = silence{}
			return
		case c.requests == 0:
			return
		case now.requests == 0:
			now.from = max(from, v.first)
		}
		now.requests += c.requests
		if now.to = min(to, v.last); now.requests > most.requests {
			most = now
		}
	})
	return most
}

// leastJudged is the number of requests from which a server is judged.
const leastJudged = 5

// down says that a server does not reply, or did not for a while.
func (r *reporting) down() {
	if r.o.OneSided {
		return
	}
	const shortest = int64(5 * time.Second)
	for _, e := range r.servers {
		v := &e.v
		if v.requests == 0 || v.more == nil || len(r.o.Home) > 0 && !r.isHome(e.addr()) || v.clients.count().Count < 2 && (v.icmp == "" || r.scanned(e)) && len(r.o.Home) == 0 && !r.o.about.IsValid() && v.replies == 0 {
			continue
		}
		s := longestSilence(v)
		if s.requests < leastJudged || v.fates[dissect.OutcomeUnanswered]+v.fates[dissect.OutcomeRefused] == 0 || v.replies > 0 && s.to-s.from < shortest {
			continue
		}
		span := duration(time.Duration(s.to - s.from))
		text := fmt.Sprintf("Down: %s%s replied to none of %s requests in %s", address(e), named(v), number(s.requests), span)
		switch {
		case s.ends:
			text = fmt.Sprintf("Down: %s%s did not reply from %s on for %s: none of %s requests got a reply", address(e), named(v), clock(s.from), span, number(s.requests))
		case v.replies > 0:
			text = fmt.Sprintf("Down: %s%s stopped replying at %s: none of %s requests in the %s since then has a reply", address(e), named(v), clock(s.from), number(s.requests), span)
		}
		advice := "Look whether the server runs, and whether a firewall drops its packets: a capture on the host sees requests that the host's own firewall drops."
		if v.icmp != "" {
			text += "; ICMP says: " + v.icmp
			if v.icmp == saysClosed {
				advice = "The host is up and nothing listens on that port: start the server, or correct its port."
			}
		}
		r.say(Verdict{
			Kind: ServerDown, Server: address(e), From: instant(s.from), To: instant(s.to), Text: text + ".", Advice: advice,
			Evidence: Evidence{
				{"requests_without_reply", float64(s.requests)}, {"seconds", round(float64(s.to-s.from)/1e9, 1)}, {"replies", float64(v.replies)}, {"icmp_errors", float64(v.fates[dissect.OutcomeRefused])},
			},
		})
	}
}

// scanned reports whether a client that asks very many servers asks this one.
func (r *reporting) scanned(e *entry[server]) bool {
	return slices.ContainsFunc(r.clients, func(c *entry[client]) bool { return c.v.distinctServers() > manyServers && c.v.asked(e.sum) })
}

func named(v *server) string {
	if len(v.name) == 0 {
		return ""
	}
	return " (" + shown(v.name) + ")"
}

// isDown reports whether a verdict says that a server is down.
func (r *reporting) isDown(e *entry[server]) bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Kind == ServerDown && v.Server == address(e) })
}

// drops says that a server replies to a smaller share of requests when more come.
func (r *reporting) drops() {
	const (
		cellsLeast    = 8
		requestsLeast = 100
		shareMost     = 0.9
		dropLeast     = 0.1
	)
	if r.o.OneSided {
		return
	}
	for _, e := range r.servers {
		v := &e.v
		if v.more == nil || v.requests < requestsLeast || v.replies == 0 || r.isDown(e) {
			continue
		}
		var all []cell
		end := r.a.last - int64(5*time.Second) // later requests may still be open
		v.more.cells.in(func(from, to int64, c *cell) {
			if c.requests > 0 && to <= end {
				all = append(all, *c)
			}
		})
		if len(all) < cellsLeast {
			continue
		}
		slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(a.requests, b.requests) })
		calm, busy := sumCells(all[:len(all)/2]), sumCells(all[len(all)*3/4:])
		width := float64(widths[v.more.cells.width]) / 1e9
		calmRate, busyRate := float64(calm.requests)/float64(len(all)/2)/width, float64(busy.requests)/float64(len(all)-len(all)*3/4)/width
		calmShare, busyShare := answeredShare(&calm), answeredShare(&busy)
		if busyShare > shareMost || calmShare-busyShare < dropLeast || busyRate < 2*calmRate {
			continue
		}
		first, last := r.dropping(v, shareMost, end)
		r.say(Verdict{
			Kind: DropsUnderLoad, Server: address(e), From: instant(first), To: instant(last),
			Text:   fmt.Sprintf("Overload: %s%s replies to %s of requests at %s per second and to %s at %s per second.", address(e), named(v), percent(calmShare), rounded(calmRate), percent(busyShare), rounded(busyRate)),
			Advice: "The server or the network drops requests when many come: raise its limit of queries per second, cache its replies, or limit what asks too often.",
			Evidence: Evidence{
				{"answered_share_calm", round(calmShare, 4)}, {"requests_per_second_calm", round(calmRate, 1)}, {"answered_share_busy", round(busyShare, 4)},
				{"requests_per_second_busy", round(busyRate, 1)}, {"unanswered", float64(v.fates[dissect.OutcomeUnanswered])},
			},
		})
	}
}

// dropping returns the time in which a server replies to less than a share of the requests. Of requests after end the
// outcome is not known: if it drops until then, it goes on for as long as it sends fewer replies than it gets requests.
func (r *reporting) dropping(v *server, share float64, end int64) (first, last int64) {
	const least = 3 // requests without a reply, of a bucket
	v.more.cells.in(func(from, to int64, c *cell) {
		lost, goesOn := c.unanswered, true
		if to > end {
			lost, goesOn = c.requests-min(c.replies, c.requests), last == from
		}
		if !goesOn || lost < least || float64(lost) < (1-share)*float64(c.requests) {
			return
		}
		if first == 0 {
			first = max(from, v.first)
		}
		last = to
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
		if v.incomplete < least || r.isDown(e) {
			continue
		}
		var lost *asked
		good, then := false, 0.0
		for i := range v.kinds {
			k := &v.kinds[i]
			bad := k.incomplete + k.bad
			switch asked := float64(k.requests) * v.share(k.first, k.last+1); {
			case k.kind == 0:
			case float64(bad) >= 0.3*asked && bad >= least && (lost == nil || bad > lost.incomplete+lost.bad):
				lost, then = k, asked
			case k.good*10 >= k.requests*8 && k.good >= least:
				good = true
			}
		}
		if lost == nil || !good {
			continue
		}
		bad := lost.incomplete + lost.bad
		asked := max(uint64(then+0.5), uint64(bad))
		r.say(Verdict{
			Kind: LongRepliesLost, Server: address(e), From: instant(lost.first), To: instant(lost.last),
			Text: fmt.Sprintf("Long replies lost: %s%s answers short requests, but %d of its replies lack parts or IP fragments: in %s, %d of about %d %s had no complete reply.",
				address(e), named(v), v.incomplete, duration(time.Duration(lost.last-lost.first)), bad, asked, plural(r.a.kinds[lost.kind-1].title())),
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
	var all, in float64
	s.more.cells.in(func(start, end int64, c *cell) {
		all += float64(c.requests)
		in += float64(c.requests) * max(0, float64(min(to, end)-max(from, start))) / float64(end-start)
	})
	return in / max(all, 1)
}

// slow says that a server takes long.
func (r *reporting) slow() {
	const least = 20
	for _, e := range r.servers {
		v := &e.v
		if v.more == nil || v.more.trips.n < least {
			continue
		}
		if p50, p99 := v.more.trips.quantile(500), v.more.trips.quantile(990); p99 > time.Second {
			r.say(Verdict{
				Kind: Slow, Server: address(e), From: instant(v.first), To: instant(v.last),
				Text:     fmt.Sprintf("Slow: %s%s takes %s for one reply in a hundred and %s for half of them (%s replies measured).", address(e), named(v), duration(p99)+" or more", duration(p50)+" or less", number(v.more.trips.n)),
				Advice:   "Clients wait one to five seconds: look at the load of the server and at the path to it.",
				Evidence: Evidence{{"p50_ms", round(p50.Seconds()*1000, 1)}, {"p99_ms", round(p99.Seconds()*1000, 1)}, {"round_trips", float64(v.more.trips.n)}},
			})
		}
	}
}

func (r *reporting) cannotTell() {
	t := &r.Totals
	text := fmt.Sprintf("Cannot tell: %s with no request that is recognised.", count(t.Packets, "packet", "packets"))
	if t.Replies > 0 {
		text = fmt.Sprintf("Cannot tell: %s and no request that is recognised.", count(t.Replies, "reply", "replies"))
	}
	advice := "Capture the port of the server, in both directions."
	if t.Requests > 0 && !r.o.OneSided {
		text = fmt.Sprintf("Cannot tell whether a server is there: none of %s from %s got a reply.", count(t.Requests, "request", "requests"), count(t.Addresses.Count, "address", "addresses"))
		advice = "Look whether the address and the port are right, and ask from elsewhere: qdissect why ADDR:PORT says more of one server."
	}
	if r.o.OneSided && t.Requests+t.Replies > 0 {
		text = fmt.Sprintf("Cannot tell whether servers reply: %s and %s were captured; that is one direction only, or no server replies.",
			count(t.Requests, "request", "requests"), count(t.Replies, "reply", "replies"))
		advice = "Capture both directions, on the host of the server itself or on a port that mirrors both."
	}
	r.say(Verdict{Kind: CannotTell, From: r.From, To: r.To, Text: text, Advice: advice, Evidence: Evidence{{"requests", float64(t.Requests)}, {"replies", float64(t.Replies)}}})
}

func (r *reporting) nothing() {
	t := &r.Totals
	rate := float64(t.Requests) / r.duration()
	share := float64(t.Answered) / float64(max(t.Answered+t.Unanswered, 1))
	text := fmt.Sprintf("Nothing unusual: %s from %s (%s per second, at most %s)", count(t.Requests, "request", "requests"), count(t.Addresses.Count, "address", "addresses"),
		rounded(rate), number(r.Timeline.Peak))
	whose := "the replies"
	if t.Answered+t.Unanswered > 0 { // live, nothing is known of the first seconds
		text += ", " + percent(share) + " answered"
		whose = "them"
	}
	if r.RoundTrips.Count > 0 {
		text += ", half of " + whose + " within " + duration(r.RoundTrips.P50)
	}
	r.say(Verdict{
		Kind: NothingUnusual, From: r.From, To: r.To, Text: text + ".", Advice: "There is nothing to do.",
		Evidence: Evidence{
			{"requests", float64(t.Requests)}, {"sources", float64(t.Addresses.Count)}, {"requests_per_second", round(rate, 2)}, {"answered_share", round(share, 4)},
			{"p50_ms", round(r.RoundTrips.P50.Seconds()*1000, 1)},
		},
	})
}

// Numbers in sentences.

// number writes a number with commas.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// rounded writes a number without decimals, or one if it is small.
func rounded(v float64) string {
	if v < 10 {
		return decimals(v)
	}
	return number(uint64(v + 0.5))
}

func decimals(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func percent(share float64) string {
	p := share * 100
	switch {
	case p > 99 && p < 100:
		return strconv.FormatFloat(min(p, 99.99), 'f', 2, 64) + " %"
	case p > 0 && p < 0.05:
		return "<0.1 %"
	case p < 10:
		return decimals(p) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

func size(n uint64) string {
	switch {
	case n >= 1e9:
		return decimals(float64(n)/1e9) + " GB"
	case n >= 1e6:
		return decimals(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return decimals(float64(n)/1e3) + " kB"
	}
	return strconv.FormatUint(n, 10) + " bytes"
}

func duration(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return decimals(d.Hours()) + " h"
	case d >= 2*time.Minute:
		return decimals(d.Minutes()) + " min"
	case d >= time.Second:
		return decimals(d.Seconds()) + " s"
	}
	if d > 0 && d < 100*time.Microsecond { // a server's own host sees them
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	}
	return decimals(d.Seconds()*1000) + " ms"
}

func clock(t int64) string { return instant(t).Format("15:04:05") + " UTC" }

// many returns what several requests of a kind are called.
func (k *kind) many() string { return k.protocol + " " + plural(k.title()) }

// plural returns the plural of the title of a request.
func plural(title string) string {
	if strings.HasSuffix(title, "request") {
		return title + "s"
	}
	return title + " requests"
}
