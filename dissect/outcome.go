package dissect

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
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

	numOutcomes
)

// outcomeNames are the names of outcomes in data.
var outcomeNames = [numOutcomes]string{
	"answered", "challenged", "answered_late", "answered_in_part", "refused", "unanswered", "one_sided", "elsewhere", "other", "repeated", "open", "forgotten",
}

// String returns the name of an outcome in data.
func (o Outcome) String() string { return outcomeNames[o] }

// Counts reports whether shares count requests with this outcome.
func (o Outcome) Counts() bool { return o < OutcomeRepeated }

// Outcomes count requests by their outcome. Together with the pending ones they add up to
// all requests that ask for something.
type Outcomes [numOutcomes]uint64

// Add adds the counts of p.
func (o *Outcomes) Add(p *Outcomes) {
	for i, n := range p {
		o[i] += n
	}
}

// Sum returns the number of all requests.
func (o *Outcomes) Sum() uint64 { return nettext.Sum(o[:], func(n uint64) uint64 { return n }) }

// closeRequest removes a request; evict says that it is evicted.
func (t *tracker) closeRequest(i int32, evict bool) {
	q := &t.requests.list[i]
	t.conclude(q, evict)
	at := &t.flows.flows[q.flow].requests
	for *at != i {
		at = &t.requests.list[*at].below
	}
	*at = q.below
	t.requests.remove(i)
}

// closeFlow closes the requests of a conversation that ends.
func (t *tracker) closeFlow(i int32, evict bool) {
	for t.flows.flows[i].requests != none {
		t.closeRequest(t.flows.flows[i].requests, evict)
	}
	if t.flows.more[i].extra != 0 {
		t.reportCopies(i)
	}
}

// reportCopies reports the duplicates of a conversation.
func (t *tracker) reportCopies(i int32) {
	f, o := &t.flows.flows[i], t.flows.extra(i)
	if o.copies == 0 || t.quiet || t.stats.Duplicated() {
		return
	}
	src, dst := f.key.endpoints(o.copyUp)
	t.out.flow = FlowFinding{Finding: NewFinding(core.CaptureDuplicate, Num(o.copies)), Frame: o.copyFrame, Time: fromNanos(o.copyTime), Src: src, Dst: dst}
	if f.protocol >= 0 {
		t.out.flow.Protocol = t.protocols[f.protocol]
	}
	t.out.finding(&t.out.flow)
}

// conclude counts the outcome of a request and hands over its exchange.
func (t *tracker) conclude(q *request, evict bool) {
	if q.has(isOptional) {
		return
	}
	if !q.has(isLate) {
		t.search(q)
	}
	is := t.outcome(q)
	if is.unanswered() && !q.has(isLate) {
		switch {
		case evict:
			is = OutcomeForgotten
			t.stats.RequestsEvicted++
		case t.end != 0 && t.end-q.sent < int64(t.config.Limits.Window):
			is = OutcomeOpen
		}
	}
	if !evict && !q.has(isLate) {
		t.reportMissing(q, is)
	}
	if got, at := t.requests.answered(q), t.requests.time(q); q.answer != 0 && at-got.first > earlyBy && at-got.first <= clocksDiffer && !t.flows.flows[q.flow].has(wentBack) {
		t.flows.flows[q.flow].set(wentBack)
		t.note(q, NewFinding(core.Early, Dur(time.Duration(at-got.first))), q.frame, at, q.up())
	}
	if what := t.protocols[q.protocol].Pairing.Refused; q.has(isDoubtful) && what != nil && !evict {
		got := t.requests.answered(q)
		t.note(q, NewFinding(what), got.issuedIn, got.last, !q.up())
	}
	if t.out.closed == nil {
		requests, repeated := t.sent(q)
		t.out.count(is, requests, repeated)
		return
	}
	t.exchangeOf(q, is)
	t.out.exchange()
}

// note reports a finding about a frame of the exchange of a request, sent in a direction.
func (t *tracker) note(q *request, what Finding, frame uint64, at int64, up bool) {
	src, dst := t.flows.flows[q.flow].key.endpoints(up)
	t.out.flow = FlowFinding{Finding: what, Frame: frame, Time: fromNanos(at), Src: src, Dst: dst, Protocol: t.protocols[q.protocol]}
	t.out.finding(&t.out.flow)
}

// outcome returns what became of a request so far. One that waits is unanswered.
func (t *tracker) outcome(q *request) Outcome {
	got := t.requests.answered(q)
	switch {
	case q.answer != 0 && q.has(isLate):
		return OutcomeLate
	case q.answer != 0 && got.came != OutcomeAnswered:
		return got.came
	case q.answer != 0 && (!got.unused || t.vouches(q)):
		return OutcomeAnswered
	case q.answer != 0 && q.challenge == ChallengeUsed:
		return OutcomeRefused // it carried a challenge, and was sent another one
	case q.answer != 0:
		return OutcomeChallenged
	case q.has(isRefused):
		return OutcomeRefused
	case t.requests.rare(q).from != serverKey{}:
		return OutcomeElsewhere
	case q.has(isRepeated|isCovered) || q.has(isInDoubt) && t.flows.extra(q.flow).copies < 2:
		return OutcomeRepeated
	case t.requests.rare(q).other != 0:
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
func (a inner) Pending(f func(*Exchange)) {
	t := a.tracker
	for _, first := range [...]int32{t.requests.waiting.oldest, t.requests.late.oldest} {
		for i := first; i != none; i = t.requests.list[i].newer {
			q := &t.requests.list[i]
			if q.has(isOptional) {
				continue
			}
			is := t.outcome(q)
			if is.unanswered() && !q.has(isLate) {
				is = OutcomeOpen
			}
			f(t.exchangeOf(q, is))
		}
	}
}

// reportMissing reports what is missing of the reply to a request with an outcome.
func (t *tracker) reportMissing(q *request, is Outcome) {
	p := t.protocols[q.protocol]
	if is != OutcomeUnanswered && is != OutcomeOther {
		if q.answer != 0 && p.Pairing.Endless != nil && t.requests.rare(q).entries > 0 && !t.requests.answered(q).ended && !t.flows.flows[q.flow].has(cutShort) {
			t.note(q, NewFinding(p.Pairing.Endless, Num(t.requests.answered(q).n), Num(t.requests.rare(q).entries)), q.frame, t.requests.time(q), q.up())
		}
		return
	}
	t.stats.Unanswered++
	what := t.unanswered(q, p)
	if what == nil {
		return
	}
	src, dst := t.flows.flows[q.flow].key.endpoints(q.up())
	t.out.others = appendSet(t.out.others[:0], t.protocols, t.requests.rare(q).also)
	t.out.text = append(t.out.text[:0], " within "...)
	t.out.text = strconv.AppendFloat(t.out.text, t.config.Limits.Window.Seconds(), 'f', -1, 64)
	t.out.text = append(t.out.text, " s"...)
	if n := t.requests.sendings(q); n > 1 {
		t.out.text = appendNumber(t.out.text, ", sent ", n, " times")
	}
	if o := t.requests.rare(q).other; o != 0 {
		t.out.text = appendNumber(t.out.text, "; frame ", int(o), " has a reply of another kind")
	} else {
		t.appendOthers(q)
	}
	origin, at := t.requests.origin(q)
	t.out.flow = FlowFinding{
		Finding: NewFinding(what, Str(p.Catalog.Messages()[q.message].Title), Str(nettext.View(t.out.text))),
		Frame:   origin, Time: fromNanos(at), Src: src, Dst: dst, Protocol: p, Alternatives: t.out.others,
	}
	t.out.finding(&t.out.flow)
	if n := t.requests.rare(q).often; n > 0 {
		t.out.flow.Finding, t.out.flow.Frame, t.out.flow.Time = NewFinding(p.Pairing.TooOften, Num(n)), q.frame, fromNanos(t.requests.time(q))
		t.out.finding(&t.out.flow)
	}
}

// unanswered returns the finding for a request without a reply, nil for none.
func (t *tracker) unanswered(q *request, p *Protocol) *FindingType {
	if q.has(isProven) && p.Pairing.UnansweredChallenge != nil {
		return p.Pairing.UnansweredChallenge
	}
	if what := p.Catalog.Messages()[q.message].Unanswered; what != nil {
		return what
	}
	return p.Pairing.Unanswered
}

// Unanswered reports whether a finding of the protocol means that a request had no
// reply.
func (p *Protocol) Unanswered(what *FindingType) bool {
	return what == p.Pairing.Unanswered || what == p.Pairing.UnansweredChallenge ||
		slices.ContainsFunc(p.Catalog.Messages(), func(m *MessageType) bool { return m.Unanswered == what })
}

// advance closes the expired requests and removes the idle flows.
func (t *tracker) advance(now int64) {
	for t.requests.waiting.oldest != none {
		i := t.requests.waiting.oldest
		q := &t.requests.list[i]
		if q.sent > now {
			t.requests.resend(q, now) // a timestamp from the future ages from now on
		}
		if now-q.sent <= int64(t.config.Limits.Window) {
			break
		}
		switch {
		case t.requests.rare(q).arriving > 0:
			t.requests.rare(q).arriving--
			t.requests.waiting.unlink(t.requests.list, i)
			t.requests.resend(q, now)
			t.requests.waiting.link(t.requests.list, i)
		case q.answer != 0 || q.has(isSpent) || q.has(isRefused) || q.has(isCovered):
			t.closeRequest(i, false)
		default:
			t.expire(i)
		}
	}
	for t.requests.late.oldest != none && now-t.requests.list[t.requests.late.oldest].sent > t.lateWindow() {
		t.closeRequest(t.requests.late.oldest, false)
	}
	t.flows.expire(now, int64(t.config.Limits.Idle))
}

// expire reports a request without a reply and keeps it for a late reply.
func (t *tracker) expire(i int32) {
	q := &t.requests.list[i]
	if !q.has(isOptional) {
		if t.vouches(q) {
			q.set(isVouched)
		}
		t.search(q)
		if !q.has(isInDoubt) {
			t.reportMissing(q, t.outcome(q))
		}
	}
	t.requests.waiting.unlink(t.requests.list, i)
	q.set(isLate)
	t.requests.late.link(t.requests.list, i)
	if t.requests.late.n > max(t.config.Limits.Requests/lateShare, 1) {
		t.closeRequest(t.requests.late.oldest, false)
	}
}

// lateWindows is the number of windows for which a late reply is waited for.
const lateWindows = 4

// lateWindow is the time after which no late reply to a request is taken for its answer.
func (t *tracker) lateWindow() int64 {
	return min(lateWindows*int64(t.config.Limits.Window), int64(t.config.Limits.Idle))
}

// lateShare is the part of the requests, an eighth, that may be kept for late
// replies.
const lateShare = 8

// flushTo closes the requests up to a frame in the order of sending, and stops at
// the first newer one. now is the end of the input.
func (t *tracker) flushTo(now int64, frame uint64) {
	t.end = cmp.Or(now, 1)
	for t.requests.waiting.oldest != none && t.requests.list[t.requests.waiting.oldest].frame <= frame {
		t.closeRequest(t.requests.waiting.oldest, false)
	}
	t.end = 0
}

// flush closes all requests. now is the end of the input.
func (t *tracker) flush(now int64) {
	t.flushTo(now, 1<<64-1)
	t.flows.flush()
	t.clear()
}

// appendOthers appends to the finding how many other requests to the same port were
// answered, or another port on which the host answers the protocol of q.
func (t *tracker) appendOthers(q *request) {
	n, at := len(t.out.text), t.flows.flows[q.flow].key.server(q.up())
	if t.out.text = t.servers.known(&at).appendOthers(t.out.text, t.requests.sendings(q)); len(t.out.text) > n {
		return
	}
	if h := t.servers.hosts.find(&at.address); h != nil && h.port != at.port && t.related(h.protocol, q.protocol) {
		t.out.text = append(append(t.out.text, "; the same host answers "...), t.protocols[h.protocol].Name...)
		t.out.text = appendNumber(t.out.text, " on port ", int(h.port), "")
	}
}
