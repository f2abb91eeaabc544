package dissect

import (
	"cmp"
	"net/netip"
	"strconv"
)

// An Outcome is what became of a request. Each request ends with one.
type Outcome uint8

const (
	// OutcomeAnswered: a whole reply came in time.
	OutcomeAnswered Outcome = iota
	// OutcomeChallenged: only a challenge came, and the client did not return it.
	OutcomeChallenged
	// OutcomeLate: a reply came late.
	OutcomeLate
	// OutcomePartial: a reply came that lacks parts.
	OutcomePartial
	// OutcomeRefused: an ICMP error came, or a reply that refuses.
	OutcomeRefused
	// OutcomeUnanswered: no reply came.
	OutcomeUnanswered
	// OutcomeOneSided: no reply came, and the server answers, but no reply of it is in
	// the capture: only one direction was captured.
	OutcomeOneSided
	// OutcomeElsewhere: the reply came from another address or port.
	OutcomeElsewhere
	// OutcomeOther: only a reply of another kind came.
	OutcomeOther
	// OutcomeRepeated: another sending of the same question counts.
	OutcomeRepeated
	// OutcomeOpen: the capture ends less than a window after the request.
	OutcomeOpen
	// OutcomeForgotten: the request was evicted because a limit was reached.
	OutcomeForgotten
	// NumOutcomes is the number of outcomes.
	NumOutcomes
)

// outcomeNames are the names of outcomes in data and in prose.
var outcomeNames = [NumOutcomes][2]string{
	{"answered", "complete"}, {"challenged", "challenge only"}, {"answered_late", "late"}, {"answered_in_part", "partial"}, {"refused", "refused"},
	{"unanswered", "none"}, {"one_sided", "unseen"}, {"elsewhere", "elsewhere"}, {"other", "other"}, {"repeated", "repeated"}, {"open", "open"},
	{"forgotten", "forgotten"},
}

// String returns the name of an outcome in data.
func (o Outcome) String() string { return outcomeNames[o][0] }

// Title returns the name of an outcome in prose.
func (o Outcome) Title() string { return outcomeNames[o][1] }

// Counts reports whether shares count requests with this outcome.
func (o Outcome) Counts() bool { return o < OutcomeRepeated }

// Outcomes count requests by their outcome. Together with the pending ones they add up to
// all requests that ask for something.
type Outcomes [NumOutcomes]uint64

// Add adds the counts of p.
func (o *Outcomes) Add(p *Outcomes) {
	for i, n := range p {
		o[i] += n
	}
}

// Since returns the difference to earlier counts of the same run.
func (o Outcomes) Since(p *Outcomes) Outcomes {
	for i, n := range p {
		o[i] -= n
	}
	return o
}

// Sum returns the number of all requests.
func (o *Outcomes) Sum() (n uint64) {
	for i := range o {
		n += o[i]
	}
	return n
}

// Judged returns the number of requests that shares count.
func (o *Outcomes) Judged() (n uint64) {
	for i := range OutcomeRepeated {
		n += o[i]
	}
	return n
}

// requestList is a list of requests, linked in the slab.
type requestList struct {
	oldest, newest int32
	n              int
}

func (l *requestList) link(requests []request, i int32) {
	q := &requests[i]
	q.older, q.newer = l.newest, none
	if l.newest != none {
		requests[l.newest].newer = i
	} else {
		l.oldest = i
	}
	l.newest = i
	l.n++
}

func (l *requestList) unlink(requests []request, i int32) {
	q := &requests[i]
	if q.older != none {
		requests[q.older].newer = q.newer
	} else {
		l.oldest = q.newer
	}
	if q.newer != none {
		requests[q.newer].older = q.older
	} else {
		l.newest = q.older
	}
	l.n--
}

// closeRequest removes a request; evict says that it is evicted.
func (t *tracker) closeRequest(i int32, evict bool) {
	q := &t.requests[i]
	t.conclude(q, evict)
	f := &t.flows.flows[q.flow]
	if f.requests == i {
		f.requests = q.below
	} else {
		j := f.requests
		for t.requests[j].below != i {
			j = t.requests[j].below
		}
		t.requests[j].below = q.below
	}
	if q.late {
		t.late.unlink(t.requests, i)
	} else {
		t.waiting.unlink(t.requests, i)
	}
	t.facts.release(t.replies.at(q.answer).facts)
	t.replies.release(q.answer)
	t.rares.release(q.rare)
	q.older, t.free = t.free, i
	t.live--
}

// conclude counts the outcome of a request and hands over its exchange.
func (t *tracker) conclude(q *request, evict bool) {
	if q.optional {
		return
	}
	if !q.late {
		t.search(q)
	}
	is := t.outcome(q)
	if is.unanswered() && !q.late {
		switch {
		case evict:
			is = OutcomeForgotten
			t.evicted++
		case t.end != 0 && t.end-q.sent < int64(t.limits.Window):
			is = OutcomeOpen
		}
	}
	if !evict && !q.late {
		t.reportMissing(q, is)
	}
	x := t.exchangeOf(q, is)
	x.AddTo(&t.outcomes)
	if t.exchange != nil {
		t.exchange(x)
	}
}

// outcome returns what became of a request so far. One that waits is unanswered.
func (t *tracker) outcome(q *request) Outcome {
	got := t.replies.at(q.answer)
	switch {
	case q.replies > 0 && q.late:
		return OutcomeLate
	case q.replies > 0 && got.partial:
		return OutcomePartial
	case q.replies > 0 && (!got.unused || t.vouches(q)):
		return OutcomeAnswered
	case q.replies > 0 && q.challenge == ChallengeUsed:
		return OutcomeRefused // it carried a challenge, and was sent another one
	case q.replies > 0:
		return OutcomeChallenged
	case q.refused:
		return OutcomeRefused
	case q.repeated || q.covered || q.doubt && t.flows.extraOf(&t.flows.flows[q.flow]).copies < 2:
		return OutcomeRepeated
	case t.rareOf(q).from != serverKey{}:
		return OutcomeElsewhere
	case t.rareOf(q).other != 0:
		return OutcomeOther
	case t.unseen(q):
		return OutcomeOneSided
	}
	return OutcomeUnanswered
}

// unanswered reports whether no reply came that answers a request.
func (o Outcome) unanswered() bool {
	return o == OutcomeUnanswered || o == OutcomeOther || o == OutcomeOneSided
}

// Pending calls f with the requests that [Stats] does not count yet, as they are now: those
// that wait for a reply are open. It is for an input that is given up before its end.
func (a *Analyzer) Pending(f func(*Exchange)) {
	t := a.tracker
	for _, first := range [...]int32{t.waiting.oldest, t.late.oldest} {
		for i := first; i != none; i = t.requests[i].newer {
			q := &t.requests[i]
			if q.optional {
				continue
			}
			is := t.outcome(q)
			if is.unanswered() && !q.late {
				is = OutcomeOpen
			}
			f(t.exchangeOf(q, is))
		}
	}
}

// reportMissing reports what is missing of the reply to a request with an outcome.
func (t *tracker) reportMissing(q *request, is Outcome) {
	p := t.protocols[q.protocol]
	src, dst := t.flows.flows[q.flow].key.endpoints(q.up)
	switch {
	case is == OutcomeUnanswered || is == OutcomeOther:
	case q.replies > 0 && p.Pairing.Endless != nil && t.rareOf(q).entries > 0 && !t.replies.at(q.answer).ended:
		t.outgoing = FlowFinding{
			Finding: NewFinding(p.Pairing.Endless, Num(q.replies), Num(t.rareOf(q).entries)),
			Frame:   q.frame, Time: fromNanos(q.time), Src: src, Dst: dst, Protocol: p,
		}
		t.finding(&t.outgoing)
		return
	default:
		return
	}
	t.unansweredReported++
	what := t.unanswered(q, p)
	if what == nil {
		return
	}
	t.others = appendSet(t.others[:0], t.protocols, t.rareOf(q).also)
	t.hint = append(t.hint[:0], " within "...)
	t.hint = strconv.AppendFloat(t.hint, t.limits.Window.Seconds(), 'f', -1, 64)
	t.hint = append(t.hint, " s"...)
	if q.sends > 1 {
		t.hint = append(t.hint, ", sent "...)
		t.hint = appendInt(t.hint, int(q.sends))
		t.hint = append(t.hint, " times"...)
	}
	if o := t.rareOf(q).other; o != 0 {
		t.hint = append(t.hint, "; frame "...)
		t.hint = strconv.AppendUint(t.hint, o, 10)
		t.hint = append(t.hint, " has a reply of another kind"...)
	} else {
		t.appendOthers(q, dst)
	}
	origin, at := t.origin(q)
	t.outgoing = FlowFinding{
		Finding: NewFinding(what, Str(p.Messages[q.message].Title), Str(view(t.hint))),
		Frame:   origin, Time: fromNanos(at), Src: src, Dst: dst, Protocol: p, Alternatives: t.others,
	}
	t.finding(&t.outgoing)
	if n := t.rareOf(q).often; n > 0 {
		t.outgoing.Finding, t.outgoing.Frame, t.outgoing.Time = NewFinding(p.Pairing.TooOften, Num(n)), q.frame, fromNanos(q.time)
		t.finding(&t.outgoing)
	}
}

// unanswered returns the finding for a request without a reply, nil for none.
func (t *tracker) unanswered(q *request, p *Protocol) *FindingType {
	if q.proven && p.Pairing.UnansweredChallenge != nil {
		return p.Pairing.UnansweredChallenge
	}
	if what := p.Messages[q.message].Unanswered; what != nil {
		return what
	}
	return p.Pairing.Unanswered
}

// Unanswered reports whether a finding of the protocol means that a request had no
// reply.
func (p *Protocol) Unanswered(what *FindingType) bool {
	for _, m := range p.Messages {
		if m.Unanswered == what {
			return true
		}
	}
	return what == p.Pairing.Unanswered || what == p.Pairing.UnansweredChallenge
}

// advance closes the expired requests and removes the idle flows.
func (t *tracker) advance(now int64) {
	for t.waiting.oldest != none {
		i := t.waiting.oldest
		q := &t.requests[i]
		if q.sent > now {
			q.sent = now // a timestamp from the future ages from now on
		}
		if now-q.sent <= int64(t.limits.Window) {
			break
		}
		switch {
		case q.arriving > 0 && q.replies == 0:
			q.arriving--
			t.waiting.unlink(t.requests, i)
			q.sent = now
			t.waiting.link(t.requests, i)
		case q.replies > 0 || q.spent || q.refused || q.covered:
			t.closeRequest(i, false)
		default:
			t.expire(i)
		}
	}
	for t.late.oldest != none && now-t.requests[t.late.oldest].sent > t.lateWindow() {
		t.closeRequest(t.late.oldest, false)
	}
	t.flows.expire(now, int64(t.limits.Idle))
}

// expire reports a request without a reply and keeps it for a late reply.
func (t *tracker) expire(i int32) {
	q := &t.requests[i]
	if !q.optional {
		q.vouched = q.vouched || t.vouches(q)
		t.search(q)
		if !q.doubt {
			t.reportMissing(q, t.outcome(q))
		}
	}
	t.waiting.unlink(t.requests, i)
	q.late = true
	t.late.link(t.requests, i)
	if t.late.n > max(t.limits.Requests/lateShare, 1) {
		t.closeRequest(t.late.oldest, false)
	}
}

// lateWindows is the number of windows for which a late reply is waited for.
const lateWindows = 4

// lateWindow is the time after which no late reply to a request is taken for its answer.
func (t *tracker) lateWindow() int64 {
	return min(lateWindows*int64(t.limits.Window), int64(t.limits.Idle))
}

// lateShare is the part of the requests, an eighth, that may be kept for late
// replies.
const lateShare = 8

// flushTo closes the requests up to a frame in the order of sending, and stops at
// the first newer one. now is the end of the input.
func (t *tracker) flushTo(now int64, frame uint64) {
	t.end = cmp.Or(now, 1)
	for t.waiting.oldest != none && t.requests[t.waiting.oldest].frame <= frame {
		t.closeRequest(t.waiting.oldest, false)
	}
	t.end = 0
}

// flush closes all requests. now is the end of the input.
func (t *tracker) flush(now int64) {
	t.end = cmp.Or(now, 1)
	for t.waiting.oldest != none {
		t.closeRequest(t.waiting.oldest, false)
	}
	t.flows.flush()
	t.peers.clear()
	t.hosts.clear()
	t.answering.clear()
	t.servers.clear()
	t.lists.clear()
	t.proofs.clear()
	t.issuers, t.issueSeeds, t.end = 0, 0, 0
	t.hearsay.flushed = true
}

// A serverKey is the address and port of a server. Arrays of up to 16 bytes are compared
// without a call.
type serverKey struct {
	addr [16]byte
	port [2]byte
}

// answering counts the requests to a server and those with a reply.
type answering struct {
	asked, answered uint32
}

// server returns the counts of the server of a request.
func (t *tracker) server(q *request) *answering {
	f := &t.flows.flows[q.flow]
	k := f.key.server(q.up)
	if s := t.answering.at(f.server, &k); s != nil {
		return s
	}
	f.server = t.answering.place(&k)
	return t.answering.at(f.server, &k)
}

// countRequest and countAnswered count a request and its first reply for its server.
func (t *tracker) countRequest(q *request) {
	if s := t.server(q); s.asked < 1<<32-1 {
		s.asked++
	}
}

func (t *tracker) countAnswered(q *request) {
	s := t.server(q)
	s.answered = min(s.answered, s.asked-min(s.asked, 1)) + 1
}

// appendOthers appends to the hint how many other requests to the same port were
// answered.
func (t *tracker) appendOthers(q *request, server netip.AddrPort) {
	s := t.server(q)
	others := s.asked - min(s.asked, uint32(q.sends))
	if s.answered == 0 || others == 0 {
		t.appendHost(q, server)
		return
	}
	answered := min(s.answered, others)
	t.hint = append(t.hint, "; this port answered "...)
	switch {
	case others == 1:
		t.hint = append(t.hint, "the one other request"...)
	case answered == 2 && others == 2:
		t.hint = append(t.hint, "both other requests"...)
	case answered == others:
		t.hint = append(t.hint, "all "...)
		t.hint = appendInt(t.hint, int(others))
		t.hint = append(t.hint, " other requests"...)
	case others < 100:
		t.hint = appendInt(t.hint, int(answered))
		t.hint = append(t.hint, " of "...)
		t.hint = appendInt(t.hint, int(others))
		t.hint = append(t.hint, " other requests"...)
	default:
		tenths := uint64(answered) * 1000 / uint64(others)
		t.hint = appendInt(t.hint, int(tenths/10))
		t.hint = append(t.hint, '.', byte('0'+tenths%10))
		t.hint = append(t.hint, " % of "...)
		t.hint = appendInt(t.hint, int(others))
		t.hint = append(t.hint, " other requests"...)
	}
}

// A host is the port and protocol of the newest reply of an address.
type host struct {
	port     uint16
	protocol int8
}

// answers records that a host answers on a port.
func (t *tracker) answers(server netip.AddrPort, proto int8) {
	k := server.Addr().As16()
	*t.hosts.get(&k) = host{server.Port(), proto}
}

// appendHost appends to the hint another port on which the host answers the protocol
// of q.
func (t *tracker) appendHost(q *request, server netip.AddrPort) {
	k := server.Addr().As16()
	if h := t.hosts.find(&k); h != nil && h.port != server.Port() && t.related(h.protocol, q.protocol) {
		t.hint = append(t.hint, "; the same host answers "...)
		t.hint = append(t.hint, t.protocols[h.protocol].Name...)
		t.hint = append(t.hint, " on port "...)
		t.hint = appendInt(t.hint, int(h.port))
	}
}
