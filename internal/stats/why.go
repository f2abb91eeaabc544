package stats

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A State says whether a server can be seen by those who ask it.
type State string

// The states: it answers and nothing stands in the way; something does; the capture does not tell.
const (
	Answers State = "answers"
	Trouble State = "problem"
	Unclear State = "cannot_tell"
)

// A Certainty says how sure a cause is.
type Certainty string

// Certain causes are in the packets, likely ones fit them best, and possible ones are among several that fit.
const (
	Certain  Certainty = "certain"
	Likely   Certainty = "likely"
	Possible Certainty = "possible"
)

// An Answer says why a server does not show up, or that nothing stands in the way.
type Answer struct {
	Type      string    `json:"type"`      // "why"
	Server    string    `json:"server"`    // address and port, or an address of which no port is known
	State     State     `json:"state"`     //
	Cause     string    `json:"cause"`     // the first one; see docs/causes.md
	Certainty Certainty `json:"certainty"` // of that
	Evidence  []Fact    `json:"evidence"`
	Problems  []string  `json:"problems"` // all causes of trouble
	Text      string    `json:"text"`     // a paragraph
	Advice    []string  `json:"advice"`   // what to do, one sentence each
	Requests  uint64    `json:"requests"`
	Replies   uint64    `json:"replies"`
	Outcome   Outcome   `json:"outcome"`
	Verdicts  []Verdict `json:"verdicts"` // of the report, as far as they concern the server
}

// A Fact is what a cause rests on: how often it is in the capture, and the first frames that show it.
type Fact struct {
	What   string   `json:"what"`
	Count  uint64   `json:"count"`
	File   string   `json:"file,omitempty"` // of the frames, if there are several captures
	Frames []uint64 `json:"frames"`
}

// A Stream counts what went over TCP to and from a server, and the connections to it.
type Stream struct {
	Server               netip.AddrPort
	Packets              uint64
	Tried, Made, Refused uint64
	Read                 bool // messages of it are
}

// fails reports whether too many of enough connections were not made: of those to a server that is read, or all of them, some refused.
func (s *Stream) fails() bool {
	n := less(s.Tried, s.Made)
	return n >= kindLeast && float64(n) >= badShare*float64(s.Tried) && (s.Read && s.Made > 0 || s.Made == 0 && s.Refused > 0)
}

// sentence says how many packets there are, which are all only if they are not read, and what became of the connections.
func (s *Stream) sentence() string {
	text := fmt.Sprintf("%s over TCP with port %d", count(s.Packets, "packet", "packets"), s.Server.Port())
	text += either(s.Tried > 0, " ("+s.tries()+")", "")
	return text
}

// tries says what became of the connections.
func (s *Stream) tries() string {
	return fmt.Sprintf("%s tried: %s made, %s refused, %s unanswered", count(s.Tried, "connection", "connections"), number(s.Made), number(s.Refused), number(less(s.Tried, s.Made+s.Refused)))
}

// accepted says how many connections were made, which are over TCP as the requests are if they are read.
func (s *Stream) accepted() string {
	return count(s.Made, "connection", "connections") + either(s.Read, "", " over TCP")
}

// fill returns the values of a cause.
func (s *Stream) fill() []string {
	return []string{"bad", number(less(s.Tried, s.Made)), "n", count(s.Tried, "connection", "connections"), "refused", number(s.Refused), "unanswered", number(less(s.Tried, s.Made+s.Refused))}
}

// stream returns what went over TCP with the server, nil if nothing did.
func (x *facts) stream() *Stream {
	return first(x.o.Streams, func(s Stream) bool {
		return s.Server.Addr() == x.at.Addr() && (x.at.Port() == 0 || s.Server.Port() == x.at.Port())
	})
}

// hosting is how many ports of a host reply if each is of a server of its own, and none is that for the queries of another.
const hosting = 3

// maxAnswers is how many ports of an address are answered for.
const maxAnswers = 4

// facts are what is known about a server.
type facts struct {
	*target
	f        *focus
	r        *Report
	o        *Options
	row      *Server // of the report; empty if it has none
	port     bool    // the question has a port
	own      bool    // the capture was made where the host is: both directions are in it
	home     []netip.Prefix
	sum      Outcome // of requests of protocols that it speaks, or of all if it answers none
	n, good  uint64  // of these: the ended ones, and those with any reply; or sendings
	what     string  // that these are
	in       uint64  // datagrams to it that no protocol recognises
	alone    string  // from whom these are, if they are from one address
	ports    []*target
	beats    series // of the protocols that it speaks
	silences []Verdict
	limit    float64 // of answers per second, 0 if there is none
	each     bool    // it is one of each address
	verdicts []Verdict
}

// Why says why servers do not show up: that at an address and port; or, without a port, those at all ports that reply, or, if none
// does, that are asked; or, without an address, all. It needs what [NewFocused] counted for the address. The worst is first.
func (a *Aggregate) Why(server netip.AddrPort, o Options) []*Answer {
	f := a.focus
	own := slices.ContainsFunc(o.Home, func(p netip.Prefix) bool { return p.Contains(server.Addr()) })
	home := o.Home
	o.Home, o.HomeBy, o.Rows, o.whole = nil, "", maxServers, true
	r := a.Report(o)
	var list, others []*target
	answers := slices.ContainsFunc(f.targets, func(t *target) bool { return t.at.Addr() == server.Addr() && t.replies() > 0 })
	for _, t := range f.targets {
		switch all := !server.Addr().IsValid(); {
		case all && (t.asked() > 0 || t.replies() >= leastJudged):
			list = append(list, t)
		case all || t.at.Addr() != server.Addr():
		case server.Port() != 0 && t.at.Port() != server.Port() || server.Port() == 0 && answers && t.replies() == 0 || t.asked()+t.replies() == 0:
			others = append(others, t)
		default:
			list = append(list, t)
		}
	}
	busiest := func(a, b *target) int {
		return cmp.Or(cmp.Compare(b.replies(), a.replies()), cmp.Compare(b.asked(), a.asked()), a.at.Compare(b.at))
	}
	slices.SortFunc(list, busiest)
	slices.SortFunc(others, busiest)
	if server.Addr().IsValid() && len(list) > maxAnswers {
		list, others = list[:maxAnswers], append(list[maxAnswers:], others...)
	}
	if len(list) == 0 && server.Addr().IsValid() {
		list = []*target{{at: server}}
	}
	rows := map[string]*Server{}
	for i := range r.Servers {
		rows[r.Servers[i].Address] = &r.Servers[i]
	}
	var found []*Answer
	for _, t := range list {
		x := &facts{target: t, f: f, r: r, o: &o, home: home, row: cmp.Or(rows[t.at.String()], new(Server)), ports: others, port: server.Port() != 0 || server.Addr() != t.at.Addr(), own: own || f.sent > 0 && t.at.Addr() == f.only}
		for i := range a.strays.entries {
			if e := &a.strays.entries[i]; e.addr() == t.at.Addr() && (t.at.Port() == 0 || e.Port == t.at.Port()) {
				x.in, x.alone = x.in+e.v.in, ""
				if m := e.v.more; m != nil && m.senders[maxSenders-1].n == x.in && e.v.out+t.marks[mUnasked].n == 0 {
					x.alone = ", all from " + m.senders[maxSenders-1].addr.String() + ", and replied to none of them" // the first one has the last place
				}
			}
		}
		x.prepare()
		until := false // clients ask until they have a reply
		if e := a.known(&t.at); e != nil {
			v := x.verdict(Unwell)
			own, heard, steady := a.sendings(e)
			told := v != nil && v.Evidence.of("sendings") > 0 // the report counts them
			if until = own > 0 && !steady; own > 0 && (told || steady && !x.bad()) && x.replies() > 0 {
				x.n, x.good, x.what = own, heard, "sending" // each counts
			}
		}
		at := keyOf(t.at.Addr(), t.at.Port())
		sum := at.hash()
		if x.bad() && !until { // how often these ask depends on what is answered
			x.findLimit(a.clients.entries, sum)
		}
		w := x.answer()
		if a.overTCP(t) {
			for i := range w.Advice {
				w.Advice[i] = overTCP.Replace(w.Advice[i])
			}
		}
		found = append(found, w)
	}
	worst := []State{Trouble, Unclear, Answers}
	slices.SortStableFunc(found, func(a, b *Answer) int {
		return cmp.Compare(slices.Index(worst, a.State), slices.Index(worst, b.State))
	})
	if n := len(found); n > 0 && list[0].asked()+list[0].replies() > 0 && server.Port() == 0 && len(others) > 0 {
		found[n-1].Text += " Other ports of that host: " + listed(others) + "."
	}
	return found
}

// overTCP makes advice for servers over UDP that for one over TCP.
var overTCP = strings.NewReplacer(partsLost, segmentsLost, "Packets get lost on the way or are dropped: look", "TCP sends again what gets lost on the way: look",
	", at limits of its queries and of its firewall, and at the path to it", " and at limits of its queries", "UDP", "TCP", "ss -ulnp", "ss -ltnp")

const (
	noneReplies  = "; no reply of any server is in the capture: perhaps it holds one direction only"
	sharedAdvice = "So many at once: look at the network, the firewall or the provider in front of them, and at the link of those who ask."
	othersRun    = "Other servers of that host reply: look whether this one runs, and at its port."
	hostAdvice   = "All of one host: look whether it was restarted or overloaded, and at its link and its firewall."
	pathAdvice   = "Packets get lost on the way or are dropped: look at the load of the server, at limits of its queries and of its firewall, and at the path to it."
	partsLost    = "Something on the path drops large packets, or several at once: check the MTU and the limits of firewalls, and capture whole packets without a filter for a port."
	onlyTCP      = "TCP to that port passes and UDP does not: let UDP pass in firewalls and port forwardings, and look whether the server listens for it (ss -ulnp)."
	segmentsLost = "TCP sends again what gets lost on the way, so it is the capture that lacks it: capture on the host of the server, whole packets and all of them."
)

// overTCP reports whether all that a server was asked came over TCP.
func (a *Aggregate) overTCP(t *target) bool {
	return len(t.kinds) > 0 && !slices.ContainsFunc(t.kinds, func(k focusKind) bool {
		return !slices.ContainsFunc(a.kinds, func(o kind) bool { return o.tcp && o.protocol == k.protocol })
	})
}

// Left returns how many servers had no room among those for [Aggregate.Why].
func (a *Aggregate) Left() uint64 { return a.focus.left }

// listed names ports.
func listed(ports []*target) string {
	const most = 4
	texts := nettext.Each(ports[:min(len(ports), most)], func(t *target) string {
		return fmt.Sprintf("%d (%s, %s)", t.at.Port(), count(t.asked(), "request", "requests"), count(t.replies(), "reply", "replies"))
	})
	if n := len(ports) - most; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, ", ")
}

// answer finds the causes: the first that holds, and others of trouble that explain something else.
func (x *facts) answer() *Answer {
	w := &Answer{Type: "why", Server: x.at.String(), Requests: x.asked(), Replies: x.replies(), Outcome: x.sum, Verdicts: x.verdicts,
		Evidence: []Fact{}, Problems: []string{}, Advice: []string{}} // in JSON, an empty list is []
	if x.at.Port() == 0 {
		w.Server = x.at.Addr().String()
	}
	var texts []string
	var taken matter
	named := w.Server + named2(cmp.Or(x.row.Name, x.name))
	for c := range each(causes) {
		if c.explains&taken != 0 {
			continue
		}
		found := c.holds(x)
		slight := found != nil && c.State == Trouble && x.slight(c, found)
		if found == nil || w.Cause != "" && c.State == Answers || slight && w.Cause == "" && x.verdict(Unwell) != nil {
			continue
		}
		taken |= c.explains &^ found.leaves
		first := w.Cause == "" || w.State != Trouble && c.State == Trouble
		switch {
		case slight:
			if w.Cause == "" { // what it saw stands behind that, and is no verdict
				f := causeOf("too_few")
				w.Cause, w.State, w.Certainty, w.Advice = f.ID, f.State, f.Certainty, []string{f.Advice}
				texts = append(texts, f.fill(f.Words, x.saw(), named))
			}
		case c.State == Trouble:
			w.Problems = append(w.Problems, c.ID)
			fallthrough
		default:
			if first {
				w.Cause, w.State, w.Certainty = c.ID, c.State, cmp.Or(found.certainty, c.Certainty)
			}
		}
		again := len(texts) > 0 && strings.HasPrefix(texts[len(texts)-1], w.Server) && strings.HasPrefix(c.Words, "{server} ")
		texts = append(texts, c.fill(c.Words, found, either(again, "It", named)))
		w.Evidence = append(w.Evidence, found.evidence...)
		if advice := cmp.Or(found.advice, c.fill(c.Advice, found, w.Server)); !slices.Contains(w.Advice, advice) {
			w.Advice = append(w.Advice, advice)
		}
	}
	it := "It"
	if head, _, _ := strings.Cut(strings.Join(texts, " "), ": "); (strings.Contains(head, " at ") || strings.Contains(head, "flection to")) && !strings.Contains(head, w.Server) {
		it = w.Server // it was of somebody else
	}
	w.Text = strings.Join(append(texts, x.scene(it)...), " ")
	if x.row.Address != "" { // the report has the same
		w.Requests, w.Replies, w.Outcome = x.row.Requests, x.row.Replies, x.row.Outcome
	}
	return w
}

func named2(name string) string { return either(name == "", "", " ("+shown([]byte(name))+")") }

// prepare works out what several causes need.
func (x *facts) prepare() {
	var due, more Outcome
	for k := range each(x.kinds) {
		if o := k.outcome(); x.speaks(k.protocol) {
			addTo(either(k.mute, &more, &due).counts(), o.counts())
		}
	}
	if x.sum, x.n = judged(due, more); x.replies() == 0 {
		x.n += more.Unanswered
	}
	x.good, x.what = x.sum.replied(), "request"
	for _, s := range x.series {
		if s.protocol != "" && x.speaks(s.protocol) {
			x.beats.merge(s)
		}
	}
	x.verdicts = []Verdict{}
	s := x.at.String()
	for _, v := range x.r.Verdicts {
		p, _ := netip.ParsePrefix(v.Network)
		all := v.Kind == JunkFlood && v.Server == "" // of fragments, which have no port
		source := (v.Kind == Reflection && v.Server == "" || x.asked()+x.replies() == 0) && slices.Contains(v.Sources, x.at.Addr().String())
		if v.Server == s || slices.Contains(v.Servers, s) || p.Contains(x.at.Addr()) || all || source {
			x.verdicts = append(x.verdicts, v)
		}
	}
	x.silences = slices.DeleteFunc(slices.Clone(x.verdicts), func(v Verdict) bool { return v.Kind != ServerDown })
}

// speaks reports whether requests of a protocol are answered, or none of any.
func (x *facts) speaks(protocol string) bool {
	none := true
	for k := range each(x.kinds) {
		if o := k.outcome(); o.replied() > 0 {
			if none = false; k.protocol == protocol {
				return true
			}
		}
	}
	return none
}

// overloaded reports whether a server answers less of much than of little.
func (x *facts) overloaded() bool { return x.limit > 0 || x.verdict(DropsUnderLoad) != nil }

// findLimit finds how many requests a server answers per second at most, in all or to each address. Seconds of a limit begin at any time. Clients that ask
// alike get as much of a limit of all, but not as evenly as from one of each.
func (x *facts) findLimit(clients []entry[client], sum uint64) {
	var each []beat
	for i := range clients {
		if c := &clients[i].v; x.n >= leastOften && c.asked(sum) && c.distinctServers() == 1 && c.replies < c.requests {
			each = append(each, beat{uint32(c.requests), uint32(c.replies)})
		}
	}
	s, seconds := &x.beats, max(time.Duration(x.asking.last-x.asking.first).Seconds(), 1)
	if again := x.fates[dissect.OutcomeRepeated].n; again > 0 && float64(again) >= badShare*float64(x.asked()) {
		s = x.of("") // also what is asked again: who asks all the time asks anyway
	}
	const longest = 8 * int64(time.Second) / beatTime
	ofEach := func(part float64) {
		if l := limitOf(each, false, part) / seconds; l >= leastSteady { // a lower one is of clients that ask until they have a reply
			x.limit, x.each = l, true
		}
	}
	ofEach(0.1)
	for n := int64(1); s.width > 0 && (n == 1 || n*s.width <= longest); n *= 2 {
		for from := int64(0); from < n && x.limit == 0; from += max(n/8, 1) {
			sums := make([]beat, int64(len(s.buckets))/n+2)
			for i, b := range s.buckets {
				k := (from + int64(i)) / n
				sums[k].asked, sums[k].good = sums[k].asked+b.asked, sums[k].good+b.good
			}
			x.limit = limitOf(sums, true, 1) / time.Duration(n*s.width*beatTime).Seconds()
		}
	}
	if x.limit == 0 {
		ofEach(1)
	}
}

// limitOf returns how many of the requests of a time, or of an address, are answered at most: however many come above that, as many are answered, with
// less spread than a part of that of chance, and with not far more than if it were always the same share. A limit lets a burst pass at first, and the last of a row of
// times is full in part.
func limitOf(list []beat, row bool, part float64) float64 {
	const (
		least, leastEach = 5, 3 // answers, and requests without one, of each
		more             = 1.2
	)
	for row && len(list) > 0 && list[len(list)-1].asked == 0 {
		list = list[:len(list)-1]
	}
	var n, asked, good, askedGood, squares, goodSquares float64
	limited := !row
	for i, b := range list {
		before := limited
		if limited = b.good < b.asked; limited && before && (!row || i < len(list)-1) {
			a, g := float64(b.asked), float64(b.good)
			n, asked, good = n+1, asked+a, good+g
			squares, goodSquares, askedGood = squares+a*a, goodSquares+g*g, askedGood+a*g
		}
	}
	p, spread := good/max(asked, 1), goodSquares-good*good/max(n, 1)
	of := 2 / (9 * (n - 1))
	steadiest := math.Pow(max(1-of-3.72*math.Sqrt(of), 0), 3) * (n - 1) / n // the share of its variance below which that of n values is once in ten thousand: of chi-square (Wilson and Hilferty, 1931)
	return either(n < least || min(good, asked-good) < leastEach*n || asked < more*good || spread > part*steadiest*good*(1-p) || spread > 2*(goodSquares-2*p*askedGood+p*p*squares), 0, good/n)
}

// scene says who asked the server, called it, and what, how long replies took, and what masters said.
func (x *facts) scene(it string) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if x.asked() > 0 {
		c := x.row.Clients
		c.Count = cmp.Or(c.Count, uint64(len(x.askers)))
		who := either(c.Percent > 0, either(c.Percent < 100, "about ", "more than "), "") + count(c.Count, "address", "addresses")
		if span := time.Duration(x.asking.last - x.asking.first); span > 0 {
			who += " in " + duration(span)
		}
		say("%s was asked %s by %s: %s.", it, count(x.asked(), "time", "times"), who, x.kindsText())
	}
	const many, least = 20, 100 * time.Microsecond
	if p50, p99 := max(x.row.P50, least), max(x.row.P99, least); x.row.P99 > 0 && x.marks[mWaits].n >= many {
		say("Half of the replies came within %s, 99 %% within %s.", duration(p50), duration(p99))
	} else if x.row.P99 > 0 {
		say("Its replies came within %s.", duration(p99))
	}
	list = append(list, slices.DeleteFunc(slices.Clone(x.r.Unclear), func(s string) bool { return !strings.HasPrefix(s, stepped) })...)
	if x.asked() > 0 && x.in > 0 && 10*x.in >= x.asked() {
		say("It also got %s that no protocol recognises%s.%s", count(x.in, "datagram", "datagrams"), x.alone, either(x.r.correction() != "", x.r.guessed(), ""))
	}
	if u := x.sent(); u > 0 && x.asked() > 0 && 10*u >= x.marks[mData].n {
		say("It sent %s that no protocol recognises.", count(u, "datagram", "datagrams"))
	}
	if n := x.asked() + x.marks[mData].n; x.marks[mCut].n*10 >= n && n > 0 {
		say("%s of its messages are cut by the snapshot length: what they say was not read.", number(x.marks[mCut].n))
	}
	if s := x.stream(); s != nil && x.asked() > 0 && !s.Read {
		say("The capture also has %s.", s.sentence())
	} else if s != nil && x.asked() > 0 && s.Tried > 0 {
		say("%s over TCP: %s.", either(slices.ContainsFunc(x.kinds, func(k focusKind) bool { return k.protocol != x.protocol }), "A part of that was", "That was"), s.tries()+either(s.Made >= x.asked()+kindLeast, "; at least "+number(less(s.Made, x.asked()))+" of them carried no query that is recognised", ""))
	}
	for m := range x.masters {
		if m.beats.n > 0 {
			pause, b := int64(0), &m.beating
			if b.began && m.beats.n >= leastJudged {
				pause = max((b.last-b.first)/int64(m.beats.n-1)*silentBeats, int64(time.Minute))
			}
			say("%s", m.sentence(x.listedBy(m), either(pause > 0 && x.asking.last-b.last > pause, ", the last at "+x.r.clock(b.last), "")))
		}
	}
	return list
}

// sent returns how many datagrams it sent that no protocol recognises.
func (x *facts) sent() uint64 { return x.f.unknown[x.at] }

// masters yields the masters of its host.
func (x *facts) masters(yield func(*master) bool) {
	for m := range each(x.f.masters.list) {
		if m.from == x.at.Addr() && !yield(m) {
			return
		}
	}
}

// kindsText says what became of each kind of request.
func (x *facts) kindsText() string {
	kinds := slices.Clone(x.kinds)
	slices.SortFunc(kinds, func(a, b focusKind) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.message, b.message))
	})
	const most = 4
	var list []string
	for i := range kinds[:min(len(kinds), most)] {
		k := &kinds[i]
		o := k.outcome()
		what := count(k.requests, k.protocol+" "+k.title, k.protocol+" "+plural(k.title))
		n := k.requests - o.Other
		if n == 0 {
			what += either(x.replies() > 0, " (still open)", "")
			list = append(list, what)
			continue
		}
		what += either(k.mute && o.Unanswered > 0, ", to which a server may be silent", "")
		parts := []string{percent(float64(o.Answered)/float64(n)) + " answered"}
		if again := o.Other; 20*again >= k.requests && again >= kindLeast {
			parts[0] = fmt.Sprintf("%s of %s answered, %s asked again or still open", percent(float64(o.Answered)/float64(n)), number(n), number(again))
		}
		for _, p := range []struct {
			n    uint64
			what string
		}{{o.Late, "late"}, {o.Partial, "in part"}, {o.ChallengeOnly, "got only a challenge"}, {o.Refused, "refused by ICMP"}} {
			if p.n > 0 {
				parts = append(parts, percent(float64(p.n)/float64(n))+" "+p.what)
			}
		}
		if o.ChallengeOnly == n { // some ask for no more
			parts = parts[1:]
		}
		list = append(list, what+" ("+strings.Join(parts, ", ")+")")
	}
	if n := len(kinds) - most; n > 0 {
		list = append(list, "and "+count(uint64(n), "other kind", "other kinds"))
	}
	return strings.Join(list, ", ")
}

// silentBeats is how many heartbeats are missing at the end of a capture until it is said when the last one was.
const silentBeats = 5

// sentence says what passed between the server and the master, and when heartbeats ended.
func (m *master) sentence(listed bool, last string) string {
	s := fmt.Sprintf("It sent %s to the master %s%s", count(m.beats.n, "heartbeat", "heartbeats"), m.to, last)
	switch {
	case listed && m.says+last != "":
		s += ", which listed it in a reply to a client"
	case listed:
		s += ", which lists it"
	case m.lists.n > 0:
		s += fmt.Sprintf(", which had it in none of %s to clients", count(m.lists.n, "list", "lists"))
	case m.sent.n == 0 && !m.due:
		s += ", which need not reply"
	case m.sent.n == 0:
		s += ", which sent nothing back"
	default:
		s += fmt.Sprintf(", which sent %s back", count(m.sent.n, "message", "messages"))
	}
	s += either(m.probes > 0, fmt.Sprintf(" and asked it %s, of which it answered %s", count(m.probes, "time", "times"), number(m.answered)), "")
	return s + "."
}

// first returns the first of a list for which something is so, nil if there is none.
func first[T any](list []T, is func(T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return &list[i]
	}
	return nil
}

// verdict returns a verdict of the report about the server, nil if there is none.
func (x *facts) verdict(kind string) *Verdict {
	return first(x.verdicts, func(v Verdict) bool { return v.Kind == kind })
}

// said returns the ICMP errors of some types about what was sent to it, or about what it sent.
func (x *facts) refusals(reply bool, types ...*dissect.FindingType) (by *icmpSaid, sum mark) {
	for i := range x.errors {
		if s := &x.errors[i]; s.reply == reply && slices.Contains(types, s.is) {
			if sum.merge(&s.mark); by == nil || s.n > by.n {
				by = s
			}
		}
	}
	return by, sum
}

// AppendText appends the answer for a terminal.
func (w *Answer) AppendText(dst []byte) []byte {
	t := text{}
	t.wrapped("", w.Text)
	for _, e := range w.Evidence {
		if len(e.Frames) > 0 && w.State != Answers {
			t.wrapped("  = ", e.sentence())
		}
	}
	for _, s := range w.Advice {
		t.wrapped("  > ", s)
	}
	return append(dst, t.b.String()...)
}

// sentence names the frames of a fact.
func (e *Fact) sentence() string {
	frames := nettext.Each(e.Frames, func(f uint64) string { return fmt.Sprint(f) })
	s := fmt.Sprintf("%s: %s, frame %s", e.What, number(e.Count), strings.Join(frames, ", "))
	s += either(e.Count > uint64(len(frames)), " …", "")
	if e.File != "" {
		s += " of " + e.File
	}
	return s
}
