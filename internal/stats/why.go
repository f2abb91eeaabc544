package stats

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// A State says whether a server can be seen by those who ask it.
type State string

// The states: it answers and nothing stands in the way; something does; the capture does not tell.
const (
	Answers State = "answers"
	Trouble State = "problem"
	Unclear State = "cannot_tell"
)

// An Answer says why a server does not show up, or that nothing stands in the way.
type Answer struct {
	Type     string    `json:"type"`     // "why"
	Server   string    `json:"server"`   // address and port, or an address of which no port is known
	State    State     `json:"state"`    //
	Problems []string  `json:"problems"` // kinds of verdicts, and those below
	Text     string    `json:"text"`     // a paragraph
	Advice   []string  `json:"advice"`   // what to do, one sentence each
	Requests uint64    `json:"requests"`
	Replies  uint64    `json:"replies"`
	Verdicts []Verdict `json:"verdicts"` // of the report, as far as they concern the server
}

// Problems of a server that are no verdicts of a report.
const (
	NoReply       = "no_reply"
	ClosedPort    = "icmp"
	Unanswered    = "unanswered"
	ChallengeLoop = "challenge_loop"
	RateLimited   = "rate_limit"
	Incomplete    = "incomplete_replies"
	LateReplies   = "late_replies"
	BadReplies    = "bad_replies"
	OnlyPrivate   = "only_private"
	MasterRefuses = "master_refuses"
	MasterSilent  = "master_silent"
)

// maxAnswers is how many ports of an address are answered for.
const maxAnswers = 4

// Why says why the servers at the address of [NewFocused] do not show up: the one at a port, or, if that is 0, those at all
// ports that reply, or, if none does, that are asked. The worst is first. o.Home are own addresses, of which both directions
// are in the capture.
func (a *Aggregate) Why(port uint16, o Options) []*Answer {
	f := a.focus
	own := slices.ContainsFunc(o.Home, func(p netip.Prefix) bool { return p.Contains(f.addr) })
	o.Home, o.HomeBy = nil, ""
	ports, replies := slices.Clone(f.ports), false
	for i := range ports {
		replies = replies || ports[i].replies > 0
	}
	var others []focusPort
	ports = slices.DeleteFunc(ports, func(p focusPort) bool {
		if port != 0 && p.port != port || port == 0 && replies && p.replies == 0 {
			others = append(others, p)
			return true
		}
		return p.requests+p.replies == 0
	})
	busiest := func(a, b focusPort) int {
		return cmp.Or(cmp.Compare(b.replies, a.replies), cmp.Compare(b.requests, a.requests), cmp.Compare(a.port, b.port))
	}
	slices.SortFunc(ports, busiest)
	slices.SortFunc(others, busiest)
	if len(ports) > maxAnswers {
		others = append(ports[maxAnswers:], others...)
		ports = ports[:maxAnswers]
	}
	if len(ports) == 0 {
		return []*Answer{a.absent(port, others, own, o)}
	}
	var list []*Answer
	for i := range ports {
		w := newWhy(f)
		w.a, w.p, w.own, w.at = a, &ports[i], own || f.sent > 0, netip.AddrPortFrom(f.addr, ports[i].port)
		w.unknown = f.unknown[w.at.Port()]
		list = append(list, w.answer(o))
	}
	worst := []State{Trouble, Unclear, Answers}
	slices.SortStableFunc(list, func(a, b *Answer) int {
		return cmp.Compare(slices.Index(worst, a.State), slices.Index(worst, b.State))
	})
	if last := list[len(list)-1]; port == 0 && len(others) > 0 {
		last.Text += " Other ports of that host: " + f.list(others) + "."
	}
	return list
}

// list names ports.
func (f *focus) list(ports []focusPort) string {
	const most = 4
	var texts []string
	for i := range ports[:min(len(ports), most)] {
		p := &ports[i]
		texts = append(texts, fmt.Sprintf("%d (%s, %s)", p.port, count(p.requests, "request", "requests"), count(p.replies, "reply", "replies")))
	}
	if n := len(ports) - most; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, ", ")
}

// absent is the answer for a server that is not in the capture, or that nobody asks.
func (a *Aggregate) absent(port uint16, others []focusPort, own bool, o Options) *Answer {
	f := a.focus
	w := newWhy(f)
	w.Server, w.State = f.addr.String(), Unclear
	where := "it"
	if port != 0 {
		w.Server = netip.AddrPortFrom(f.addr, port).String()
		where = "that port"
	}
	unknown := uint64(0)
	for i := range a.strays.entries {
		if e := &a.strays.entries[i]; e.addr() == f.addr && (port == 0 || e.port == port) {
			unknown += e.v.in
		}
	}
	r := a.Report(o)
	span := duration(r.To.Sub(r.From))
	switch {
	case unknown > 0:
		w.Text = fmt.Sprintf("%s got %s that no protocol recognises, and no request that one does.", w.Server, count(unknown, "datagram", "datagrams"))
		w.Advice = []string{"See what they are with qdissect --all; a game whose protocol is not known cannot be judged."}
	case len(others) > 0:
		w.Text = fmt.Sprintf("Nobody asked %s in %s. Other ports of that host: %s.", w.Server, span, f.list(others))
		w.Advice = []string{"Ask about the port that clients query; for many games it is not the port that players connect to."}
	case f.sent > 0 || own:
		w.Text = fmt.Sprintf("Nobody asked %s in %s, although the capture has %s of that host.", w.Server, span, count(f.sent, "datagram", "datagrams"))
		if f.sent == 0 {
			w.Text = fmt.Sprintf("Nobody asked %s, and it sent nothing: %s on that interface.", w.Server, count(o.Packets, "packet", "packets"))
		}
		w.Advice = []string{"Capture for longer, and ask the server with a browser meanwhile; if its requests are not seen here, a firewall or a router before this point drops them."}
	default:
		w.Text = fmt.Sprintf("%s is not in the capture: %s, and none to or from %s.", w.Server, count(o.Packets, "packet", "packets"), where)
		var known []string
		for _, s := range r.Servers[:min(len(r.Servers), 3)] {
			known = append(known, s.Address)
		}
		if len(known) > 0 {
			w.Text += " It has these servers: " + strings.Join(known, ", ") + "."
		}
		w.Advice = []string{"Check the address: on a host behind a NAT, packets carry its private one; check the interface and the filter of the capture, or capture for longer."}
	}
	last := w.Advice
	w.Advice = nil
	for i := range f.masters {
		w.master(&f.masters[i])
	}
	if len(w.bad) > 0 {
		w.State = Trouble
	}
	w.Advice = append(w.Advice, last...)
	w.Text = strings.Join(slices.Concat([]string{w.Text}, w.bad, w.facts), " ")
	return &w.Answer
}

// A why is an answer that is being made.
type why struct {
	Answer
	a   *Aggregate
	f   *focus
	p   *focusPort
	s   *server // nil if the table lost it
	at  netip.AddrPort
	own bool // both directions are in the capture
	// unknown is the number of datagrams from at that no protocol recognises.
	unknown uint64
	bad     []string
	facts   []string
}

func newWhy(f *focus) *why {
	return &why{f: f, Answer: Answer{Type: "why", Problems: []string{}, Advice: []string{}, Verdicts: []Verdict{}}} // in JSON, an empty list is []
}

func (w *why) problem(kind, advice, format string, args ...any) {
	w.Problems = append(w.Problems, kind)
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
	w.advise(advice)
}

func (w *why) advise(s string) {
	s = strings.ReplaceAll(s, "the report has the rule", "qdissect report writes the rule")
	if !slices.Contains(w.Advice, s) {
		w.Advice = append(w.Advice, s)
	}
}

func (w *why) has(kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(w.Problems, k) })
}

func (w *why) fact(format string, args ...any) {
	w.facts = append(w.facts, fmt.Sprintf(format, args...))
}

// answer judges a port.
func (w *why) answer(o Options) *Answer {
	k := keyOf(w.at.Addr(), w.at.Port())
	w.s = new(server)
	if e := w.a.servers.find(k, k.hash()); e != nil {
		w.s = &e.v
	}
	w.Server, w.Requests, w.Replies = w.at.String(), w.p.requests, w.p.replies
	sum, n := w.p.settled()
	if w.p.requests == 0 || o.OneSided && sum.replied() == 0 && (!w.own || w.p.replies > 0) {
		return w.oneSided()
	}
	const patience = 5 * time.Second // of clients
	if n == 0 && sum.replied() == 0 && (w.p.replies > 0 || w.a.last-w.s.first < int64(patience)) {
		w.State = Unclear
		w.Text = fmt.Sprintf("%s was asked %s, and the capture ends before a reply has to come.", w.Server, count(w.p.requests, "time", "times"))
		w.Advice = []string{"Capture for longer."}
		return &w.Answer
	}
	o.about, o.OneSided = w.at, false
	w.Verdicts = w.a.Report(o).Verdicts
	if w.unknown > 0 && w.p.replies == 0 { // a server that sends something is not down
		w.Verdicts = slices.DeleteFunc(w.Verdicts, func(v Verdict) bool { return v.Kind == ServerDown })
	}
	for _, v := range w.Verdicts {
		if v.Kind == Scanner {
			w.fact("%s", v.Text)
			continue
		}
		w.problem(v.Kind, v.Advice, "%s", v.Text)
	}
	w.replies()
	w.parts()
	w.found()
	w.asked()
	for i := range w.f.masters {
		w.master(&w.f.masters[i])
	}
	w.State = Trouble
	if len(w.bad) == 0 {
		w.State = Answers
		w.Advice = []string{"There is nothing to do here: if it does not show up for somebody, capture there, or look at the filters of the browser."}
		w.bad = []string{fmt.Sprintf("%s%s answers, and nothing in the capture stands in the way.", w.Server, named(w.s))}
	}
	w.Text = strings.Join(append(w.bad, w.facts...), " ")
	return &w.Answer
}

// oneSided is the answer if only one direction was captured.
func (w *why) oneSided() *Answer {
	w.State = Unclear
	w.Text = fmt.Sprintf("The capture has %s to %s%s and %s from it: one direction only, or it does not reply.",
		count(w.p.requests, "request", "requests"), w.Server, named(w.s), count(w.p.replies, "reply", "replies"))
	if w.p.requests == 0 {
		w.Text = fmt.Sprintf("The capture has %s from %s%s and no requests to it: one direction only.", count(w.p.replies, "reply", "replies"), w.Server, named(w.s))
	}
	w.Advice = []string{"Capture both directions, on the host of the server itself or on a port that mirrors both."}
	return &w.Answer
}

// settled returns the outcomes of all requests of protocols that the server speaks, or of all if it answers none, and how many
// of these requests are no longer open.
func (p *focusPort) settled() (sum Outcome, n uint64) {
	for i := range p.kinds {
		k := &p.kinds[i]
		if !p.speaks(k.protocol) {
			continue
		}
		o := k.outcome()
		n += k.requests - o.Other
		sum.Answered += o.Answered
		sum.ChallengeOnly += o.ChallengeOnly
		sum.Late += o.Late
		sum.Partial += o.Partial
		sum.Refused += o.Refused
		sum.Unanswered += o.Unanswered
	}
	return sum, n
}

// speaks reports whether requests of a protocol are answered, or none of any.
func (p *focusPort) speaks(protocol string) bool {
	none := true
	for i := range p.kinds {
		k := &p.kinds[i]
		o := k.outcome()
		if o.replied() > 0 && k.protocol == protocol {
			return true
		}
		none = none && o.replied() == 0
	}
	return none
}

const (
	// Below these shares of answered requests something is wrong, if so many were asked.
	goodShare, goodLeast = 0.9, 20
	kindShare, kindLeast = 0.5, 5
	// More is as bad: replies that are late, that lack parts, or that have mistakes.
	badShare = 0.1
)

const lookAtServer = "Look whether the server runs and listens on that port, and whether a firewall drops its packets: a capture on the host sees requests that the host's own firewall drops."

// replies judges what became of requests.
func (w *why) replies() {
	sum, n := w.p.settled()
	if n > 0 && sum.Refused > 0 && !w.has(ServerDown) && float64(sum.Refused) >= badShare*float64(n) {
		advice := "The host is up and nothing listens on that port: start the server, or correct its port."
		if w.s.icmp != saysClosed {
			advice = "The sender of these ICMP errors says why; look at its routes and at its firewall."
		}
		w.problem(ClosedPort, advice, "ICMP errors came back for %s of %s to %s; the last says: %s.", number(sum.Refused), count(n, "request", "requests"), w.Server, cmp.Or(w.s.icmp, "a packet was not accepted"))
	}
	good := sum.replied()
	switch {
	case w.has(ServerDown, ClosedPort, DropsUnderLoad):
	case good == 0 && n == 0 && w.p.replies == 0:
		w.problem(NoReply, lookAtServer, "%s%s replied to none of %s.", w.Server, named(w.s), count(w.p.requests, "request", "requests"))
	case good == 0 && n > 0:
		text, advice := "%s%s answered none of %s", lookAtServer
		if w.unknown > 0 {
			advice = "It sends something, so look at it with qdissect --all: its replies may be damaged, or of a protocol that qdissect does not know."
		}
		if w.p.replies > 0 {
			text += ", although " + count(w.p.replies, "reply", "replies") + " of another kind came"
		}
		w.problem(NoReply, advice, text+".", w.Server, named(w.s), count(n, "request", "requests"))
	case n >= goodLeast && float64(good) < goodShare*float64(n):
		w.problem(Unanswered, "Look at the load of the server, at limits of its queries and of its firewall, and at the path to it.", "%s%s replies to only %s of %s.",
			w.Server, named(w.s), percent(float64(good)/float64(n)), count(n, "request", "requests"))
	}
	for i := range w.p.kinds {
		k := &w.p.kinds[i]
		o := k.outcome()
		asked := k.requests - o.Other
		what := count(asked, k.protocol+" "+k.title, k.protocol+" "+plural(k.title))
		switch {
		case w.has(ServerDown, ClosedPort, DropsUnderLoad, NoReply, LongRepliesLost) || asked == 0 || float64(o.replied()) >= kindShare*float64(asked):
		case !w.p.speaks(k.protocol):
			w.fact("It does not answer %s: it may not speak that protocol.", what)
		case asked >= kindLeast || 10*asked >= n:
			w.problem(Unanswered, "Look whether the server has that kind of query disabled or limited, and whether its long replies get through.",
				"%s replies to %s of %s.", w.Server, percent(float64(o.replied())/float64(asked)), what)
		}
	}
	if n > 0 && sum.ChallengeOnly == good && good > 0 && !w.has(ServerDown, DropsUnderLoad, ForgedFlood, ChallengeLoop) {
		w.problem(ChallengeLoop, "The clients are older than challenges, the challenges do not reach them (a firewall, a NAT), or their addresses are forged; look at one with qdissect -V.",
			"No client gets past the challenge of %s: %s of %s got only a challenge, and nobody used it.", w.Server, number(sum.ChallengeOnly), count(n, "request", "requests"))
	}
	if sum.Late > 0 && float64(sum.Late) >= badShare*float64(good) {
		w.problem(LateReplies, "Clients have given up by then: look at the load of the server and at the path to it.", "%s of %s of %s came later than clients wait.", number(sum.Late), count(good, "answer", "answers"), w.Server)
	}
}

// parts judges whether replies arrive whole.
func (w *why) parts() {
	sum, _ := w.p.settled()
	n, verb := max(w.s.incomplete, sum.Partial), "lack"
	if n == 1 {
		verb = "lacks"
	}
	if n > 0 && !w.has(LongRepliesLost) && float64(n) >= badShare/2*float64(max(w.p.replies, 1)) {
		w.problem(Incomplete, "Something on the path drops large or fragmented packets, or the capture lacks them: check the MTU and firewalls, and capture whole packets without a filter for a port.",
			"%s of %s %s parts or IP fragments.", count(n, "reply", "replies"), w.Server, verb)
	}
}

// found judges findings about its messages.
func (w *why) found() {
	for i := range w.p.noted {
		n := &w.p.noted[i]
		often := float64(n.bySelf) >= badShare*float64(max(w.p.replies, 1))
		switch {
		case strings.HasSuffix(n.id, challengeLoop):
			if asked := max(w.p.requests, 1); float64(n.n) >= badShare*float64(asked) || n.n >= kindLeast && w.s.challenges*2 > w.p.replies {
				w.problem(ChallengeLoop, "The server or a proxy in front of it refuses the challenges that it gives, or clients send wrong ones; look at one with qdissect -Y 'finding == "+n.id+"'.",
					"Clients of %s get one challenge after the other and no data (%s).", w.Server, count(n.n, "time", "times"))
			}
		case n.limit:
			w.problem(RateLimited, "Ask less often, or raise the limit of the server.", "%s to %s exceed the rate at which such servers reply.", count(n.n, "request", "requests"), w.Server)
		case !often:
		case n.id == "malformed" || n.id == "port.swapped" || strings.HasSuffix(n.id, ".challenge_echo"):
			w.problem(BadReplies, "Clients and masters may not accept such replies; qdissect -V -Y 'finding == "+n.id+"' shows them.", "%s of %s of %s: %s (%s).",
				number(n.bySelf), count(w.p.replies, "reply", "replies"), w.Server, shown([]byte(n.text)), n.id)
		}
	}
}

// asked says who asked, and what.
func (w *why) asked() {
	clients := w.s.clients.count()
	span := time.Duration(w.s.last - w.s.first)
	who := count(clients.Count, "address", "addresses")
	if clients.Percent > 0 {
		who = "about " + who
	}
	if w.p.private == w.p.requests {
		text := "Only private addresses asked %s%s."
		if len(w.bad) == 0 {
			text = "%s%s answers, but only private addresses asked it."
		}
		w.problem(OnlyPrivate, "Requests from outside do not get here, or nobody outside knows the server: check the port forwarding of the router and its firewall, for UDP and for the query port. In a local network that is as it should be.",
			text, w.Server, named(w.s))
	}
	if span > 0 {
		who += " in " + duration(span)
	}
	w.fact("It was asked %s by %s: %s.", count(w.p.requests, "time", "times"), who, w.kinds())
	if w.s.more != nil && w.s.more.trips.n > 0 {
		if p50 := w.s.more.trips.quantile(500); p50 > time.Second && !w.has(Slow, LateReplies) {
			w.problem(Slow, "Clients wait one to five seconds: look at the load of the server and at the path to it.", "Half of the replies of %s take %s or more.", w.Server, duration(p50))
		}
		const many, least = 20, 100 * time.Microsecond
		t := &w.s.more.trips
		if t.n >= many {
			w.fact("Half of the replies came within %s, 99 %% within %s.", duration(max(t.quantile(500), least)), duration(max(t.quantile(990), least)))
		} else {
			w.fact("Its replies came within %s.", duration(max(t.quantile(1000), least)))
		}
	}
	if u := w.s.strays(); u > 0 && 10*u >= w.p.requests {
		w.fact("It also got %s that no protocol recognises.", count(u, "datagram", "datagrams"))
	}
	if w.unknown > 0 && 10*w.unknown >= w.p.replies {
		w.fact("It sent %s that no protocol recognises.", count(w.unknown, "datagram", "datagrams"))
	}
}

// kinds says what became of each kind of request.
func (w *why) kinds() string {
	kinds := slices.Clone(w.p.kinds)
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
			list = append(list, what+" (still open)")
			continue
		}
		parts := []string{percent(float64(o.Answered+o.Late)/float64(n)) + " answered"}
		for _, x := range []struct {
			n    uint64
			what string
		}{{o.Partial, "in part"}, {o.ChallengeOnly, "got only a challenge"}, {o.Refused, "refused by ICMP"}} {
			if x.n > 0 {
				parts = append(parts, percent(float64(x.n)/float64(n))+" "+x.what)
			}
		}
		list = append(list, what+" ("+strings.Join(parts, ", ")+")")
	}
	if n := len(kinds) - most; n > 0 {
		list = append(list, "and "+count(uint64(n), "other kind", "other kinds"))
	}
	return strings.Join(list, ", ")
}

// master judges what a master says.
func (w *why) master(m *master) {
	to := m.to.String()
	switch {
	case m.says != "":
		w.problem(MasterRefuses, "Correct what the master complains about; until then it is not on that list.", "The master %s does not list it: %s.", to, strings.TrimRight(m.says, "."))
	case m.sent == 0 && m.beats > 1 || m.unjoined > 1 && m.sent == 0:
		w.problem(MasterSilent, "That master may be gone, its address wrong, or a firewall drops its packets: set a master that is alive.", "The master %s sends nothing back.", to)
	}
	w.facts = append(w.facts, m.sentence())
}

// sentence says what passed between the server and the master.
func (m *master) sentence() string {
	s := fmt.Sprintf("It sent %s to the master %s", count(m.beats, "heartbeat", "heartbeats"), m.to)
	switch {
	case m.listed:
		s += ", which lists it"
	case m.sent == 0:
		s += ", which sent nothing back"
	default:
		s += fmt.Sprintf(", which sent %s back", count(m.sent, "message", "messages"))
	}
	if m.probes > 0 {
		s += fmt.Sprintf(" and asked it %s, of which it answered %s", count(m.probes, "time", "times"), number(m.answered))
	}
	return s + "."
}

// concerns reports whether a verdict is about the server of the options.
func (r *reporting) concerns(v *Verdict) bool {
	s := r.o.about.String()
	if v.Server == s || slices.Contains(v.Servers, s) {
		return true
	}
	if v.Kind != Scanner {
		return false
	}
	k := keyOf(r.o.about.Addr(), r.o.about.Port())
	return slices.ContainsFunc(r.clients, func(c *entry[client]) bool {
		return slices.Contains(v.Sources, c.addr().String()) && c.v.asked(k.hash())
	})
}

// AppendText appends the answer for a terminal.
func (w *Answer) AppendText(dst []byte) []byte {
	t := text{}
	t.wrapped("", w.Text)
	for _, s := range w.Advice {
		t.wrapped("  > ", s)
	}
	return append(dst, t.b.String()...)
}
