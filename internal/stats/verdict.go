package stats

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// The kinds of verdicts, worst first.
const (
	ForgedFlood     = "forged_flood"
	Carpet          = "carpet"
	Reflection      = "reflection"
	JunkFlood       = "junk_flood"
	ServerDown      = "server_down"
	CrowdOrForged   = "crowd_or_forged"
	DropsUnderLoad  = "drops_under_load"
	GreedyClients   = "greedy_clients"
	NoReplies       = "no_reply"
	LongRepliesLost = "long_replies_lost"
	Unwell          = "not_answered"
	Errors          = "errors"
	Slow            = "slow"
	NotListed       = "not_listed"
	ListHammering   = "list_hammering"
	Growth          = "growth"
	Scanner         = "scanner"
	NothingUnusual  = "nothing_unusual"
	CannotTell      = "cannot_tell"
)

// mostVerdicts is how many verdicts a report lists; the totals count all.
const mostVerdicts = 50

// judge adds the verdicts.
func (r *reporting) judge() {
	for _, rule := range []func(){r.sayCarpets, r.junk, r.fragments, r.blackedOut, r.down, r.drops, r.floods, r.reflected, r.tooOften, r.growths, r.longLost, r.bounced, r.ignored, r.unarrived, r.unwell, r.unconnected, r.slow, r.scanners, r.errors} {
		rule()
	}
	if r.few = true; r.o.whole {
		r.unwell()
		r.Verdicts = slices.DeleteFunc(r.Verdicts, r.isCut)
		r.shared()
		return
	}
	if len(r.Verdicts) == 0 {
		r.down()
		r.unwell()
	}
	said := len(r.Verdicts)
	r.Verdicts = slices.DeleteFunc(r.Verdicts, r.isCut)
	r.shared()
	unpaired, _ := r.unpaired()
	hit := r.Totals.Requests == 0 && slices.ContainsFunc(r.victims, func(v victim) bool { return v.there && !v.doubtful && 10*v.requests >= 9*r.Totals.Replies }) // it asked for none
	if t := &r.Totals; said > len(r.Verdicts) && len(r.Verdicts) == 0 || r.o.OneSided && !hit || len(r.Verdicts) == 0 && (t.Requests == 0 || t.Answered == 0 && (t.Unanswered > 0 || t.Replies == 0) || r.tooLittle() != "" || r.silent != nil && r.a.cuts > 0 || r.lost() >= leastWell || unpaired != "") {
		r.cannotTell()
	}
	r.notListed()
	r.Verdicts = slices.DeleteFunc(r.Verdicts, func(v Verdict) bool { return v.of == inBlackout })
	if len(r.Verdicts) == 0 {
		r.nothing()
	}
	slices.SortStableFunc(r.Verdicts, func(a, b Verdict) int { return cmp.Compare(rankOf(&a), rankOf(&b)) })
	n := min(len(r.Verdicts), mostVerdicts)
	r.Totals.Verdicts, r.Verdicts, r.others = len(r.Verdicts), r.Verdicts[:n:n], r.Verdicts[n:]
}

// leastShared is with how many other servers, and with which share of them, it has to be so that a trouble is none of a server itself. Outages that begin and
// end together within atOnce need no share.
const leastShared, mostShared, atOnce = 3, 0.8, 5 * time.Second

// soWithMost begins what is said of nearly all servers: the text has it once.
const soWithMost = "; so it was with "

// shared says of outages and losses that nearly all other servers have them as well, and of outages that several others began and ended with them.
func (r *reporting) shared() {
	by, names := map[string][]*Verdict{}, nettext.Each(r.servers, r.address)
	for v := range each(r.Verdicts) {
		if v.Kind == ServerDown && v.Server != "" && (v.of == outage || v.of == "") || v.Kind == Unwell && v.of == "" && v.Sources == nil && 2*v.Evidence.of("unanswered") > (1-v.Evidence.of("answered_share"))*v.Evidence.of("requests") {
			by[v.Server] = append(by[v.Server], v)
		}
	}
	for at, list := range by {
		for i := 0; i < len(list) && len(by) > leastShared; i++ {
			v, n, once, all, host := list[i], uint64(0), uint64(0), uint64(0), true
			own, _ := netip.ParseAddrPort(at)
			for k, e := range r.servers {
				name := names[k]
				if name != at && e.v.replies > 0 && (v.Kind == Unwell && e.v.requests >= leastWell || v.Kind == ServerDown && e.v.askedIn(v.From.UnixNano(), v.To.UnixNano()) >= leastJudged) {
					all++
					with := func(same func(o *Verdict) bool) uint64 {
						return either[uint64](slices.ContainsFunc(by[name], func(o *Verdict) bool { return o.Kind == v.Kind && same(o) }), 1, 0)
					}
					n += with(v.during)
					together := with(func(o *Verdict) bool {
						return v.Kind == ServerDown && o.From.Sub(v.From).Abs() < atOnce && o.To.Sub(v.To).Abs() < atOnce
					})
					other, _ := netip.ParseAddrPort(name)
					once, host = once+together, host && (together == 0 || other.Addr() == own.Addr())
				}
			}
			most := float64(n) >= mostShared*float64(all)
			if n = either(most, n, once); n >= leastShared {
				v.also = either(most, soWithMost, "; at the same moment it was so with ") + either(n == all, "all "+number(n), number(n)+" of "+number(all)) + " other servers that were asked enough"
				v.also += either(!most && host, ", all of its host", "")
				v.Text = strings.TrimSuffix(v.Text, ".") + v.also + "."
				v.Advice = either(!most && host, hostAdvice, sharedAdvice)
			}
		}
	}
	for v := range each(r.Verdicts) {
		if v.Kind == ServerDown && !strings.Contains(v.Text, "; ICMP says: ") && slices.ContainsFunc(r.Verdicts, func(o Verdict) bool { return o.hits(v) }) {
			v.also += meanwhileFlood
			v.Text, v.Advice = strings.TrimSuffix(v.Text, ".")+meanwhileFlood+".", floodAdvice
		}
	}
}

// meanwhileFlood and floodAdvice are what is said of an outage during a flood.
const (
	meanwhileFlood = "; a flood came meanwhile"
	floodAdvice    = "That flood is the likely reason: do what is said of it, and look whether the server replies when it is over."
)

// hits reports whether a flood came to the host of a server, or to its network, when an outage began, and lasted for most of it or may have ended the server.
func (v *Verdict) hits(down *Verdict) bool {
	if !slices.Contains([]string{ForgedFlood, Carpet, Reflection, JunkFlood}, v.Kind) || v.From.Add(-atOnce).After(down.From) || v.To.Before(down.From) {
		return false
	}
	net, _ := netip.ParsePrefix(v.Network)
	who := append(slices.Concat(v.Servers, either(v.Kind == Reflection, v.Sources, nil)), v.Server)
	return slices.ContainsFunc(append(slices.Clone(down.Servers), down.Server), func(s string) bool {
		at := hostIn(s)
		return v.Kind != Reflection && v.Server+v.Network == "" || at.IsValid() && (net.Contains(at) || slices.ContainsFunc(who, func(o string) bool { return hostIn(o) == at }))
	})
}

// hostIn returns the address in a text that may have a port as well.
func hostIn(s string) netip.Addr {
	p, err := netip.ParseAddrPort(s)
	a, _ := netip.ParseAddr(s)
	return either(err == nil, p.Addr(), a)
}

// during reports whether two verdicts are about the same time.
func (v *Verdict) during(o *Verdict) bool {
	both := overlap(v.From.UnixNano(), v.To.UnixNano(), o.From.UnixNano(), o.To.UnixNano())
	return 2*both > int64(max(v.To.Sub(v.From), o.To.Sub(o.From)))
}

// isCut reports whether a verdict that rests on what is missing is about a server of whose datagrams the capture has only the beginning.
func (r *reporting) isCut(v Verdict) bool {
	i := slices.IndexFunc(r.servers, func(e *entry[server]) bool { return e.v.heard != nil && r.address(e) == v.Server })
	if i < 0 || v.Evidence.of("elsewhere") > 0 { // whence replies come is in what was captured
		return false
	}
	s := &r.servers[i].v
	n, of := s.heard.unread, s.requests+s.replies                               // what was read is known to have come
	unreturned := v.Kind == ForgedFlood && slices.Contains(v.Because, noneCame) // the challenge may be in what is cut
	// Where a kind is never answered, what was read was answered. Of others, what looks like a copy may be another reply.
	if unreturned || v.Kind == Unwell && (v.Evidence.of("requests_of_others") == 0 || v.Evidence.of("replies") > 0) || v.Kind == LongRepliesLost {
		n = s.heard.cut
	}
	if v.Kind == LongRepliesLost {
		of = s.incomplete
	} else if v.Kind == ServerDown {
		n = min(n, s.strays()) // those of messages count as replies in its outages
	}
	return 10*n >= of && (unreturned || slices.Contains([]string{ServerDown, DropsUnderLoad, NoReplies, LongRepliesLost, Unwell}, v.Kind))
}

// ranks are the kinds of verdicts, worst first.
var ranks = []string{
	ForgedFlood, Carpet, Reflection, JunkFlood, ServerDown, CrowdOrForged, DropsUnderLoad, GreedyClients, NoReplies, LongRepliesLost, Unwell, Errors, Slow, NotListed, ListHammering, Growth, Scanner,
	CannotTell, NothingUnusual,
}

func rankOf(v *Verdict) int { return slices.Index(ranks, v.Kind) }

func (r *reporting) say(v Verdict) {
	v.Certainty = cmp.Or(v.Certainty, Certain)
	r.Verdicts = append(r.Verdicts, v)
}

// asked reports whether a server is probably among those that a client asked.
func (c *client) asked(server uint64) bool {
	return c.single() && c.server == server || c.servers[server>>6%8]>>(server%64)&1 != 0
}

// mayAsk returns the servers that a client may have asked so often; more than it asked if their hashes share bits, none if it may be one that is forgotten.
func (r *reporting) mayAsk(c *client, least float64) (list []*entry[server]) {
	return slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool {
		return float64(r.a.servers.gone) >= least || !c.asked(e.sum) || float64(e.v.requests) < 0.9*least // of several, each has about as many
	})
}

// asksAlike returns the servers that a client may have asked as often as it asks on average.
func (r *reporting) asksAlike(c *client) []*entry[server] {
	return r.mayAsk(c, float64(c.requests)/float64(max(c.distinctServers(), 1)))
}

// serversOf returns the addresses of the servers that a client asked, as far as they are known; more if their hashes share bits.
func (r *reporting) serversOf(c *client) []string {
	return nettext.Each(slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool { return !c.asked(e.sum) || e.v.requests == 0 }), r.address)
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

func (r *reporting) named(v *server) string {
	return named2(string(r.name(v.appendPlain(nil, v.name))))
}

// has reports whether a verdict of some kind is about a server. An outage that many have is not: it says nothing of what one of them does otherwise.
func (r *reporting) has(e *entry[server], kinds ...string) bool {
	a := r.address(e)
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
		return slices.Contains(kinds, v.Kind) && (v.Server == a || v.Kind != ServerDown && slices.Contains(v.Servers, a))
	})
}

func (r *reporting) cannotTell() {
	t := &r.Totals
	text := fmt.Sprintf("Cannot tell: %s no request that is recognised.", either(t.Replies > 0, count(t.Replies, "reply", "replies")+" and", count(t.Packets, "packet", "packets")+" with"))
	advice := cmp.Or(r.correction(), "Capture the port of the server, in both directions.")
	oneSided := r.o.OneSided || t.Replies+r.a.cuts == 0 && r.returning(t.Requests)
	if t.Requests > 0 && !r.o.OneSided {
		text = fmt.Sprintf("Cannot tell whether a server is there: none of %s from %s got a reply.", count(t.Requests, "request", "requests"), t.Addresses.addresses())
		advice = "Look whether the address and the port are right, and ask from elsewhere: qdissect why ADDR:PORT says more of one server."
		if t.Answered == 0 && r.To.Sub(r.From) < 5*time.Second { // as for capture_ends
			text = fmt.Sprintf("Cannot tell whether a server is there: the capture ends before a reply has to come to %s from %s.", count(t.Requests, "request", "requests"), t.Addresses.addresses())
			advice = causeOf("capture_ends").Advice
		}
		if few := r.tooLittle(); few != "" {
			text, advice = few, causeOf("too_few").Advice
		} else if t.Answered > 0 && r.a.cuts > 0 {
			text = fmt.Sprintf("Cannot tell whether requests got what they asked for: %s and %s were captured.", count(t.Requests, "request", "requests"), count(t.Replies, "reply", "replies"))
		} else if n := r.lost(); n >= leastWell && !oneSided {
			text = fmt.Sprintf("Cannot tell: %s of %s from %s did not get what they asked for", number(n), count(t.Requests, "request", "requests"), t.Addresses.addresses())
			if r.a.cuts == 0 { // else the replies may be among those
				text += ", to servers each of which was asked too seldom to be judged"
			}
			text += "."
			advice = "They may be off, or nobody's: qdissect why ADDR:PORT says more of one."
		} else if what, do := r.unpaired(); what != "" {
			text, advice = what, do
		}
	}
	for s := range each(r.o.Streams) {
		if t.Requests+t.Replies == 0 && s.Tried > 0 && s.Made+s.Refused == 0 {
			text = fmt.Sprintf("Cannot tell: none of %s over TCP to %s is answered in the capture, and it has no request that is recognised.", count(s.Tried, "connection", "connections"), netip.AddrPortFrom(r.host(s.Server.Addr()), s.Server.Port()))
			advice = "Capture both directions; if both are, a firewall drops the connections, or the host is off: qdissect why ADDR:PORT says more."
		}
	}
	var more []string
	if g := r.guessed(); g != "" && (t.Requests == 0 || r.correction() != "") {
		more = append(more, strings.Trim(g, " ."))
	}
	for e := range each(r.a.strays.entries) {
		if v := &e.v; t.Requests+t.Replies == 0 && v.more != nil && v.in >= leastOften && 2*v.in > t.Unknown {
			from := v.more.sources.count()
			from.Count = min(from.Count, v.in)
			more = append(more, fmt.Sprintf("of %s that no protocol recognises, %s are to %s, from %s", count(t.Unknown, "datagram", "datagrams"), either(v.in == t.Unknown, "all", number(v.in)),
				netip.AddrPortFrom(r.host(e.addr()), e.Port), from.addresses()))
			advice = "If a server is there, they are a flood, or the traffic of its game (qdissect --all shows them); if not, capture the port of the server, in both directions."
		}
	}
	if n := r.a.cuts; n > 0 {
		more = append(more, fmt.Sprintf("the snapshot length cut %s: what these are or answer is not known", count(n, "datagram", "datagrams")))
		advice = causeOf("cut").Advice
	}
	if s := strings.Join(more, "; "); s != "" {
		text += " " + strings.ToUpper(s[:1]) + s[1:] + "."
	}
	if oneSided && t.Requests+t.Replies > 0 {
		text = fmt.Sprintf("Cannot tell whether %s: %s and %s were captured%s.", either(t.Replies > 0, "requests are answered", "servers reply"),
			count(t.Requests, "request", "requests"), count(t.Replies, "reply", "replies"), either(t.Replies > 0, ": one direction only", "; that is one direction only, or no server replies"))
		advice = "Capture both directions, on the host of the server itself or on a port that mirrors both."
	}
	r.say(Verdict{Kind: CannotTell, From: r.From, To: r.To, Text: text, Advice: advice, Evidence: Evidence{{"requests", float64(t.Requests)}, {"replies", float64(t.Replies)}}})
}

// guessed says what datagrams that no protocol recognises look like: queries that no server understands, or else most of them.
func (r *Report) guessed() string {
	u := cmp.Or(first(r.Unknowns, wrongQuery), first(r.Unknowns, func(Guess) bool { return true }))
	if u == nil {
		return ""
	}
	return fmt.Sprintf(" In the capture, %s %s.", count(u.Count, "unknown datagram", "unknown datagrams"), strings.Replace(u.What, "looks", "look", int(min(u.Count-1, 1))))
}

// wrongQuery reports whether a guess is a query that no server understands.
func wrongQuery(u Guess) bool { return strings.Contains(u.What, " query") }

// correction returns the advice if some of these look like queries that no server understands, else "".
func (r *Report) correction() string {
	u := cmp.Or(first(r.Unknowns, wrongQuery), new(Guess))
	return either(u.What == "", "", "Correct the client: "+either(strings.Contains(u.What, " FF FF FF FF"), "such a query begins with the four bytes FF FF FF FF.", "qdissect --all shows what it sends."))
}

// lost returns how many requests did not get what they asked for, if they are too many for all to be well.
func (r *reporting) lost() uint64 {
	return either(float64(r.complete) < wellShare*float64(r.ended), r.ended-r.complete, 0)
}

// unpaired says what is missing, if the capture has only requests or only replies of a server, or many replies to somebody who did not ask for them.
func (r *reporting) unpaired() (text, advice string) {
	var most *entry[client]
	for c := range each(r.a.clients.entries) {
		if u := c.v.strange; u != nil && u.unasked >= leastOften && float64(u.unasked) >= leastRate*max(float64(u.last-u.first)/1e9, 1) && !r.asksAll(c) && (most == nil || u.unasked > most.v.strange.unasked) {
			most = c
		}
	}
	if most != nil {
		u := most.v.strange
		return fmt.Sprintf("Cannot tell: %s got %s from %s in %s that no request in the capture asked for: its requests went another way, or somebody asks in its name.",
				r.source(most), count(u.unasked, "reply", "replies"), count(u.reflectors(), "server", "servers"), r.span(u.first, u.last)),
			"Capture both directions; if that address asked for nothing, tell the operators of the servers, and have the provider drop what comes from their ports."
	}
	list := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool {
		return (e.v.replies > 0 || e.v.fates[dissect.OutcomeOneSided] < leastWell) && (e.v.requests > 0 || e.v.replies < leastWell || r.foundByAll(e))
	})
	if len(list) == 0 {
		return "", ""
	}
	who, rest := r.address(list[0]), less(r.Totals.Requests, nearest(totalOf(list, func(e *entry[server]) float64 { return float64(e.v.requests) })))
	return fmt.Sprintf("Cannot tell whether requests to %s%s get replies: only one direction is in the capture%s.", who, others(len(list)-1),
			either(rest > 0, fmt.Sprintf("; of %s to others%s", count(rest, "request", "requests"), r.share()), "")),
		"Capture both directions to know whether that server answers well: qdissect why " + who + " says more."
}

// well returns how many of the requests to a server whose end is known and that had to be answered got what they asked for. Where there are enough of
// these, replies that did not have to come say nothing.
func (r *reporting) well(e *entry[server]) (good, n uint64, o Outcome) {
	o = e.v.fates.of(e.v.requests)
	lost, more := r.undue(e)
	o.Unanswered -= min(lost, o.Unanswered)
	if n = o.replied() + o.Refused + o.Unanswered; o.Answered > more && n >= more+leastWell {
		o.Answered, n = o.Answered-more, n-more
	}
	return o.Answered, n, o
}

// undue returns how many requests to a server without a reply, and with one, are such to which it may be silent, without kinds that it answers but in
// outages, or are of a protocol that it does not speak.
func (r *reporting) undue(e *entry[server], outages ...silence) (lost, good uint64) {
	if r.toAll(e) {
		return e.v.fates.missed(), 0
	}
	speaks := r.speaks(&e.v)
	for _, k := range e.v.kinds {
		if k.kind > 0 && (len(speaks) > 0 && !speaks[r.a.kinds[k.kind-1].protocol] || r.a.kinds[k.kind-1].mute() && !k.lostIn(outages)) {
			lost, good = lost+uint64(k.bad), good+uint64(k.good)
		}
	}
	return lost, good
}

// lostIn reports whether a server that answers requests of a kind leaves only those in its outages without a reply. In these, clients send no more
// than what they begin with.
func (k *asked) lostIn(outages []silence) bool {
	return len(outages) > 0 && k.good >= leastJudged && k.first >= outages[0].from && k.last <= outages[len(outages)-1].to &&
		float64(k.bad) <= 1.1*lostOf(outages)+2
}

// doubtful reports whether few requests to a server are answered, some late, in part or not with what they asked for, or so few of all that one tells nothing.
func (r *reporting) doubtful(e *entry[server]) bool {
	good, n, o := r.well(e)
	return float64(good) < wellShare*float64(n) && (2*good <= n || e.v.requests <= tooFew || o.Late+o.Partial+e.v.rejected > 0)
}

// tooLittle says what was seen, if few requests were captured, most of them to servers that answer half or less, or some late, in part or with no more
// than a challenge.
func (r *reporting) tooLittle() string {
	t, more := &r.Totals, ""
	good, doubtful := uint64(0), uint64(0)
	for _, e := range r.servers {
		if !e.v.empty() {
			good += e.v.fates[dissect.OutcomeAnswered]
		}
		if r.doubtful(e) {
			doubtful += e.v.requests
		}
		if e.v.says() != "" {
			more = "; ICMP says: " + e.v.says()
		} else if e.v.fates[dissect.OutcomeElsewhere] > 0 {
			more = "; replies came from another address or port"
		}
	}
	if r.ended >= leastWell || doubtful == 0 || 2*doubtful < t.Requests {
		return ""
	}
	return fmt.Sprintf("Too little to say: %s of %s from %s got what was asked for%s.", either(good > 0, number(good), "none"), count(t.Requests, "request", "requests"), t.Addresses.addresses(), more)
}

// share continues a sentence with how many of the requests got what they asked for, and how soon.
func (r *reporting) share() (text string) {
	whose := "the replies"
	if r.ended > 0 { // live, nothing is known of the first seconds
		text, whose = ", "+percent(float64(r.complete)/float64(r.ended))+" answered", "them"
	}
	if r.optional > 0 {
		text, whose = text+" but for "+number(r.optional)+" to which a server may be silent", "the replies"
	}
	text += either(r.RoundTrips.Count > 0, ", half of "+whose+" within "+duration(r.RoundTrips.P50), "")
	return text
}

// others continues a list of one server.
func others(n int) string {
	return either(n == 0, "", " and "+count(uint64(n), "other server", "other servers"))
}

func (r *reporting) nothing() {
	t := &r.Totals
	rate := float64(t.Requests) / r.duration()
	pace := either(rate < 0.05, rounded(3600*rate)+" per hour", rounded(rate)+" per second")
	text := fmt.Sprintf("Nothing unusual: %s from %s (%s, at most %s%s)", count(t.Requests, "request", "requests"), t.Addresses.addresses(), pace, number(r.Timeline.Peak), either(rate < 0.05, " per second", "")) + r.share()
	advice := "There is nothing to do."
	few := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool {
		return e.v.requests < leastJudged || e.v.requests >= leastWell || !r.home(e) || !r.doubtful(e)
	})
	if len(few) > 0 {
		good, n, _ := r.well(few[0])
		text += fmt.Sprintf("; too little was seen to judge %s (%s of %s answered)%s", r.address(few[0]), number(good), count(n, "request", "requests"), others(len(few)-1))
		advice = "Capture for longer to know whether that server answers well: qdissect why " + r.address(few[0]) + " says more."
	}
	text += "."
	if u := cmp.Or(first(r.Unknowns, wrongQuery), new(Guess)); u.Count >= kindLeast && 10*u.Count >= t.Requests {
		text, advice = text+r.guessed(), r.correction()
	}
	r.say(Verdict{
		Kind: NothingUnusual, From: r.From, To: r.To, Text: text, Advice: advice,
		Evidence: Evidence{
			{"requests", float64(t.Requests)}, {"sources", float64(t.Addresses.Count)}, {"requests_per_second", round(rate, 2)},
			{"answered_share", round(float64(r.complete)/float64(max(r.ended, 1)), 4)}, {"p50_ms", round(r.RoundTrips.P50.Seconds()*1000, 1)},
		},
	})
}

// From so many messages of clients that challenges refuse, and of servers that make mistakes, these are worth a verdict, if they are a
// share of the replies. An error is in any case.
const (
	leastErrors = 3
	loopShare   = 0.01
)

// bounced says that replies of a server come back, unless an event explains it: forged addresses and victims of reflections refuse them.
func (r *reporting) bounced() {
	for _, e := range r.servers {
		v := &e.v
		if v.heard == nil {
			continue
		}
		for _, x := range []struct {
			n                    uint64
			title, cause, advice string
		}{
			{v.heard.large, "Replies do not fit", "a packet is too large for the path", "Lower the MTU, let ICMP pass, or make the replies shorter"},
			{v.heard.bounced, "Replies come back", "nothing listens there any more. Clients closed their socket, or a NAT had forgotten the mapping", "Let clients wait longer and keep their socket"},
		} {
			if x.n < leastErrors || float64(x.n) < badShare*float64(v.replies) || r.has(e, ForgedFlood, CrowdOrForged, Reflection, LongRepliesLost) {
				continue
			}
			r.say(Verdict{
				Kind: Errors, Server: r.address(e), From: instant(v.first), To: instant(v.last),
				Text:   fmt.Sprintf("%s: ICMP says of %s of %s of %s%s that %s.", x.title, number(x.n), count(v.replies, "reply", "replies"), r.address(e), r.named(v), x.cause),
				Advice: x.advice + "; qdissect why " + r.address(e) + " says more.", Evidence: Evidence{{"icmp_errors", float64(x.n)}, {"replies", float64(v.replies)}},
			})
		}
	}
}

// errors says that messages have errors or mistakes, or that challenges are refused again and again, if nothing else is said.
func (r *reporting) errors() {
	if r.o.whole {
		return
	}
	for f := range each(r.Findings) {
		if f.Count >= leastOften && strings.HasSuffix("."+f.ID, ".refused") && strings.Contains("."+f.ID, ".rcon.") {
			r.say(Verdict{
				Kind: Errors, From: f.First, To: f.Last,
				Text:     fmt.Sprintf("Passwords tried: remote consoles refused %s in %s (%s).", count(f.Count, "request", "requests"), r.span(f.First.UnixNano(), f.Last.UnixNano()), f.ID),
				Advice:   "Somebody guesses: let only your own addresses reach the console, and see who asks with qdissect -Y 'finding == " + f.ID + "'.",
				Evidence: Evidence{{"messages", float64(f.Count)}},
			})
		}
	}
	for f := range each(r.Findings) {
		r.mistakes(f)
	}
	if len(r.Verdicts) > 0 {
		return
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool {
		return f.Severity == "error" || f.Count >= leastErrors && (looping(f.ID) || f.ID == core.ChallengeSwapped.ID || strings.HasSuffix(f.ID, ".crc")) && float64(f.Count) >= loopShare*float64(r.Totals.Replies)
	})
	if i < 0 {
		return
	}
	f := &r.Findings[i]
	v := Verdict{
		Kind: Errors, From: f.First, To: f.Last,
		Text:     fmt.Sprintf("Errors: %s of %s %s: %s (%s).", count(f.Count, "message", "messages"), number(r.Totals.Requests+r.Totals.Replies+r.Totals.Notices), r.when(f), f.Text, f.ID),
		Advice:   cmp.Or(either(f.ID == core.ChallengeSwapped.ID, r.notGiven(f.Count), ""), "Look at one of them: qdissect -V -Y 'finding == "+f.ID+"'."),
		Evidence: Evidence{{"messages", float64(f.Count)}},
	}
	if looping(f.ID) {
		v.Text = fmt.Sprintf("Challenges: clients got one challenge after the other and no data, %s %s (%s).", count(f.Count, "time", "times"), r.when(f), f.ID)
		v.Advice = cmp.Or(r.notGiven(f.Count), "The server or a proxy in front of it refuses the challenges that it gives, or clients send wrong ones; look at one with qdissect -V -Y 'finding == "+f.ID+"'.")
	}
	r.say(v)
}

// mistakes says that a share of the replies of servers are wrong or refuse, as a finding says, if nothing else is said of them.
func (r *reporting) mistakes(f *Finding) {
	var who []string
	wrong, all := uint64(0), uint64(0)
	for _, e := range r.servers {
		if h := e.v.heard; h != nil && h.mistake == f.ID && h.wrong >= kindLeast && float64(h.wrong) >= badShare*float64(e.v.replies) && r.home(e) && !r.has(e, ranks...) {
			who, wrong, all = append(who, r.address(e)), wrong+h.wrong, all+e.v.replies
		}
	}
	if len(who) == 0 || slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return strings.Contains(v.Text, "("+f.ID+")") }) {
		return
	}
	r.say(Verdict{
		Kind: Errors, Server: either(len(who) == 1, who[0], ""), Servers: either(len(who) > 1, who[:min(len(who), mostSources)], nil), From: f.First, To: f.Last,
		Text: fmt.Sprintf("%s: %s of %s of %s %s: %s (%s)%s.", either(f.Severity == "note", "Refused", "Errors"), number(wrong), count(all, "reply", "replies"), list(who),
			r.when(f), f.Text, f.ID, either(f.Count < wrong, " and others", "")),
		Advice:   "Look at one of them: qdissect -V -Y 'finding == " + f.ID + "'.",
		Evidence: Evidence{{"messages", float64(wrong)}, {"replies", float64(all)}},
	})
}

// when says when a finding was made.
func (r *reporting) when(f *Finding) string {
	return either(f.Last.Sub(f.First) < time.Millisecond, "at "+r.clock(f.First.UnixNano()), "in "+r.span(f.First.UnixNano(), f.Last.UnixNano()))
}

// notGiven returns the advice if half of so many challenges that were refused or more are not what the server gave, else "".
func (r *Report) notGiven(refused uint64) string {
	f := first(r.Findings, func(f Finding) bool {
		return 2*f.Count >= refused && (f.ID == core.ChallengeSwapped.ID || strings.HasSuffix(f.ID, ".mismatch"))
	})
	if f == nil {
		return ""
	}
	what := either(f.ID == core.ChallengeSwapped.ID, "the challenge with its bytes in the other order", "challenges that the server did not give them")
	return "Clients return " + what + " (" + f.ID + "): let them copy the bytes of the newest one as they are."
}

// looping reports whether a finding says that challenges are refused again and again.
func looping(id string) bool { return strings.HasSuffix(id, "challenge.loop") }
