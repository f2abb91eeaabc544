package dissect

import (
	"cmp"
	"net/netip"
	"strconv"
	"time"
)

// An Outcome is what became of a request.
type Outcome uint8

const (
	// OutcomeAnswered: a reply came in time.
	OutcomeAnswered Outcome = iota
	// OutcomeChallenged: only a challenge came, and no later request of the
	// conversation used it.
	OutcomeChallenged
	// OutcomeLate: a reply came late.
	OutcomeLate
	// OutcomePartial: a reply came that lacks parts.
	OutcomePartial
	// OutcomeRefused: an ICMP error came.
	OutcomeRefused
	// OutcomeUnanswered: no reply came.
	OutcomeUnanswered
	// OutcomeOneSided: no reply came in a capture that holds only one direction.
	OutcomeOneSided
)

// Outcomes count the requests by their outcome. Together with the pending ones they
// add up to all requests.
type Outcomes struct {
	// Answered requests had a reply in time, Late ones after that, Partial ones a
	// reply that lacks parts.
	Answered, Late, Partial uint64
	// Refused requests had an ICMP error.
	Refused uint64
	// Unanswered requests had no reply. Repeated ones were retransmitted or are
	// retransmissions, and another one counts.
	Unanswered, Repeated uint64
	// Open requests were sent less than a window before the end of the capture.
	Open uint64
	// OneSided requests had no reply in a capture that holds only one direction.
	OneSided uint64
	// Forgotten requests were evicted because a limit was reached.
	Forgotten uint64
	// Ambiguous counts replies with an unknown round-trip time because the request
	// was retransmitted.
	Ambiguous uint64
}

// counts returns all counts.
func (o *Outcomes) counts() [10]*uint64 {
	return [...]*uint64{
		&o.Answered, &o.Late, &o.Partial, &o.Refused, &o.Unanswered, &o.Repeated, &o.Open, &o.OneSided, &o.Forgotten, &o.Ambiguous,
	}
}

// Add adds the counts of p.
func (o *Outcomes) Add(p *Outcomes) {
	for i, n := range p.counts() {
		*o.counts()[i] += *n
	}
}

// Since returns the difference to earlier counts of the same run.
func (o Outcomes) Since(p *Outcomes) Outcomes {
	for i, n := range p.counts() {
		*o.counts()[i] -= *n
	}
	return o
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
	t.replies.release(q.answer)
	t.rares.release(q.rare)
	q.older, t.free = t.free, i
	t.live--
}

// conclude counts the outcome of a request and reports it, unless it was reported
// before or the request is evicted.
func (t *tracker) conclude(q *request, evict bool) {
	o := &t.outcomes
	switch {
	case q.optional:
		return
	case q.replies > 0:
		if evict || q.late {
			t.reportExchange(q)
		}
		if !evict {
			t.reportOutcome(q)
		}
	case q.refused && !evict:
		t.reportOutcome(q)
	}
	switch {
	case t.known(q, o):
	case evict:
		t.evicted++
		o.Forgotten++
	case t.end != 0 && t.end-q.sent < int64(t.limits.Window):
		o.Open++
	default:
		t.reportOutcome(q)
		o.noReply(q)
	}
}

// known counts the outcome that a request has so far, if it has one.
func (t *tracker) known(q *request, o *Outcomes) bool {
	switch {
	case q.replies > 0 && q.late:
		o.Late++
	case q.replies > 0 && t.replies.at(q.answer).partial:
		o.Partial++
	case q.replies > 0:
		// Sendings without an entry of their own were counted as repeated.
		more := uint64(q.repeats())
		o.Answered += 1 + more
		o.Repeated -= more
	case q.refused:
		o.Refused++
	case q.repeated || q.covered || q.doubt && t.flows.extraOf(&t.flows.flows[q.flow]).copies < 2:
		o.Repeated++
	case q.late:
		o.noReply(q)
	default:
		return false
	}
	return true
}

// Pending returns the outcomes so far of the requests that [Stats] does not count yet.
// Those that wait for a reply are open. It is for an input that is given up before its end.
func (a *Analyzer) Pending() (o Outcomes) {
	t := a.tracker
	for _, first := range [...]int32{t.waiting.oldest, t.late.oldest} {
		for i := first; i != none; i = t.requests[i].newer {
			if q := &t.requests[i]; !q.optional && !t.known(q, &o) {
				o.Open++
			}
		}
	}
	return o
}

// PendingExchanges calls f with the requests that [Stats] does not count yet, as they are now:
// those that wait for a reply are unanswered. Repeated ones are left out, because another
// one counts. The exchange is only valid during the call.
func (a *Analyzer) PendingExchanges(f func(*Exchange)) {
	t := a.tracker
	for _, first := range [...]int32{t.waiting.oldest, t.late.oldest} {
		for i := first; i != none; i = t.requests[i].newer {
			q := &t.requests[i]
			if got := q.replies > 0 || q.refused; !q.optional && (got || !t.known(q, new(Outcomes))) {
				f(t.exchangeOf(q))
			}
		}
	}
}

// noReply counts a request without a reply.
func (o *Outcomes) noReply(q *request) {
	if q.oneSided {
		o.OneSided++
	} else {
		o.Unanswered++
	}
}

// OneSided sets whether the capture holds only one direction, as far as is known.
// While it does, requests without a reply are counted and not reported as
// unanswered.
func (a *Analyzer) OneSided(is bool) { a.tracker.oneSided = is }

// reportOutcome reports the outcome of a request.
func (t *tracker) reportOutcome(q *request) {
	p := t.protocols[q.protocol]
	entries, got := t.rareOf(q).entries, t.replies.at(q.answer)
	endless := entries > 0 && !got.ended && p.Pairing.Endless != nil
	if q.replies > 0 && !endless && (t.exchange == nil || t.reportAnswered(q, p, got)) {
		return // as nearly all end
	}
	if !q.late && t.exchange != nil {
		t.exchange(t.exchangeOf(q))
	}
	if q.replies > 0 && !endless {
		return
	}
	src, dst := t.flows.flows[q.flow].key.endpoints(q.up)
	if q.replies > 0 {
		if !q.late {
			t.outgoing = FlowFinding{
				Finding: NewFinding(p.Pairing.Endless, Num(q.replies), Num(entries)),
				Frame:   q.frame, Time: fromNanos(q.time), Src: src, Dst: dst, Protocol: p,
			}
			t.finding(&t.outgoing)
		}
		return
	}
	if q.refused {
		return
	}
	if t.oneSided {
		q.oneSided = true
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

// reportAnswered reports a request with its replies in brief, if that will do.
func (t *tracker) reportAnswered(q *request, p *Protocol, got *answer) bool {
	f := &t.flows.flows[q.flow]
	if t.brief == nil || f.note == 0 || f.asks == asksUp|asksDown || q.late || got.partial {
		return false
	}
	x := &t.closedWell
	if x.Outcome = OutcomeAnswered; got.unused {
		x.Outcome = OutcomeChallenged
	}
	x.Protocol, x.Type, x.Replies, x.ReplyBytes, x.Repeats, x.Note = p, p.Messages[q.message], int(q.replies), int(got.bytes), int(q.repeats()), f.note
	*t.handing = true
	t.brief.Answered(x)
	*t.handing = false
	return true
}

// reportExchange reports a request with its replies.
func (t *tracker) reportExchange(q *request) {
	if t.exchange != nil {
		t.exchange(t.exchangeOf(q))
	}
}

// exchangeOf returns a request with its replies, until the next call.
func (t *tracker) exchangeOf(q *request) *Exchange {
	p, got, f := t.protocols[q.protocol], t.replies.at(q.answer), &t.flows.flows[q.flow]
	x, is, repeats := &t.closed, t.outcome(q, got), 0 // x is filled value by value: a literal would be copied
	if is == OutcomeAnswered || is == OutcomeChallenged {
		repeats = int(q.repeats())
	}
	note := f.note
	if f.asks == asksUp|asksDown {
		note = 0 // it may be of a request in the other direction
	}
	x.Time, x.First, x.Last, x.Ambiguous = fromNanos(q.time), 0, 0, q.unclear
	x.Src, x.Dst = f.key.endpoints(q.up)
	if !q.unclear && got.first >= q.time {
		x.First, x.Last = time.Duration(got.first-q.time), time.Duration(max(got.last-q.time, 0))
	}
	x.Protocol, x.Type, x.Outcome = p, p.Messages[q.message], is
	x.Frame, x.Replies, x.RequestBytes, x.ReplyBytes, x.Repeats, x.Note = q.frame, int(q.replies), int(q.bytes), int(got.bytes), repeats, note
	return x
}

// repeats returns how many of the merged sendings were answered as well.
func (q *request) repeats() uint16 { return min(q.replies-1, q.merged) }

// outcome returns what became of a request.
func (t *tracker) outcome(q *request, got *answer) Outcome {
	switch {
	case q.replies > 0 && q.late:
		return OutcomeLate
	case q.replies > 0 && got.partial:
		return OutcomePartial
	case q.replies > 0 && got.unused:
		return OutcomeChallenged
	case q.replies > 0:
		return OutcomeAnswered
	case q.refused:
		return OutcomeRefused
	case t.oneSided:
		return OutcomeOneSided
	}
	return OutcomeUnanswered
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
	t.flows.expire(now, int64(t.limits.Idle))
}

// expire reports a request without a reply and keeps it for a late reply.
func (t *tracker) expire(i int32) {
	q := &t.requests[i]
	if !q.repeated && !q.covered && !q.doubt && !q.optional {
		t.reportOutcome(q)
	}
	t.waiting.unlink(t.requests, i)
	q.late = true
	t.late.link(t.requests, i)
	if t.late.n > max(t.limits.Requests/lateShare, 1) {
		t.closeRequest(t.late.oldest, false)
	}
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
	t.issuers, t.issueSeeds, t.end = 0, 0, 0
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
