package dissect

import (
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A match is the result of matching a reply.
type match struct {
	request int32
	// other says that the ids of the reply and the request differ.
	other bool
	// same counts the requests with the same bytes that the reply may answer.
	same int
	// copy says that the reply is a duplicate and no request is pending for it.
	copy bool
	// over says that all requests that it may answer have expired.
	over bool
}

// lateFor is the number of windows after which a request is no longer matched if a
// later one with the same bytes is pending.
const lateFor = 2

// match finds the request that a reply answers, by the order of the capture and not
// by time: the oldest pending request that was sent before the first part of the
// reply; else the newest answered one that may get another reply; else the oldest
// with another id; else the newest expired one.
func (t *tracker) match(x *arrival, pair *Pair) match {
	fi, proto := x.flow, x.protocol
	if i := t.flows.flows[fi].requests; i != none {
		// Most flows have one request that waits, the newest, and this is its reply.
		if q := &t.requests[i]; q.answer == 0 && q.protocol == proto && q.up != x.ends.up && q.frame <= x.part &&
			q.topic&pair.Answers != 0 && sameID(q.id, pair.ID) && q.open() && !q.late && x.first-q.sent <= int64(t.limits.Window) && t.onlyOpen(q) {
			return match{request: i, same: 1}
		}
	}
	p := t.protocols[proto]
	waiting, extra, other, late, came := none, none, none, none, none
	best, tries := 0, 0
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if q.up == x.ends.up || !t.related(q.protocol, proto) {
			continue
		}
		direct := q.topic&pair.Answers != 0
		over := q.late || x.first-q.sent > int64(t.limits.Window)
		if q.answer != 0 && came == none && t.replies.at(q.answer).had(x.sum) {
			came = i
		}
		switch {
		case q.frame > x.part:
			// Sent after the first part.
		case !sameID(q.id, pair.ID):
			if direct && q.replies == 0 && p.Pairing.OtherIDs && !over {
				other = i
			}
		case (direct || q.topic&pair.Also != 0 && q.replies == 0) && q.open() && over && (x.claim == 0 || q.claim != x.claim):
			if (late == none || direct && t.requests[late].topic&pair.Answers == 0) && !q.covered && x.first-q.sent <= t.lateWindow() {
				late = i
			}
		case direct && q.open():
			if !q.covered {
				tries++
			}
			if rank := t.rank(q, pair, x.claim); rank >= best {
				waiting, best = i, rank
			}
		case extra == none && !over && (direct || q.topic&pair.Also != 0):
			extra = i
		}
	}
	switch {
	case waiting != none && pair.Tries && tries > 1:
		return match{request: waiting, same: tries}
	case waiting != none:
		return t.among(fi, waiting, x)
	case came != none && !(late != none && t.requests[came].late) && t.duplicateReply(came, pair, x):
		return match{request: came, copy: true}
	case extra != none:
		return match{request: extra, same: 1}
	case other != none:
		return match{request: other, other: true, same: 1}
	case late != none:
		return match{request: late, same: t.unclear(fi, late, x.part), over: true}
	}
	return match{request: none}
}

// onlyOpen reports whether no reply to a request before q, of the same flow, is expected.
func (t *tracker) onlyOpen(q *request) bool {
	for i := q.below; i != none; {
		o := &t.requests[i]
		if o.open() {
			return false
		}
		i = o.below
	}
	return true
}

// rank grades how well a pending request fits a reply. A set of parts answers the
// request that it claimed with its first part and none that another set claimed. A
// challenge prefers a request that asks for one, data a request that carries one.
func (t *tracker) rank(q *request, pair *Pair, claim uint32) int {
	rank := 0
	switch {
	case q.claim == 0:
		rank = 10
	case q.claim == claim:
		rank = 20
	}
	switch {
	case pair.Challenge == ChallengeIssued:
		rank += seeks(q)
	case q.proven:
		rank++
	}
	return rank
}

// among selects, among the requests with the same bytes, the oldest pending one that
// may be answered. If only the newest fits the known round-trip time of the
// conversation, the older ones were lost, unless equal replies come one upon the other.
func (t *tracker) among(fi, i int32, x *arrival) match {
	f := &t.flows.flows[fi]
	q := &t.requests[i]
	if f.requests == i && q.below == none || x.claim != 0 && q.claim == x.claim {
		return match{request: i, same: 1} // the only request of the flow, or the one that the first part answered
	}
	m := match{request: i}
	newest := none
	for j := f.requests; j != none; j = t.requests[j].below {
		if o := &t.requests[j]; o.sameAs(q) && t.candidate(o, x) {
			if m.same++; newest == none {
				newest = j
			}
		}
	}
	if m.same <= 1 {
		m.same = 1
		return m
	}
	o := &t.requests[newest]
	d := x.first - o.time
	only := f.rtt != 0 && !x.distinct && abs(d-f.rtt) <= f.rtt/4+int64(time.Millisecond)
	if only {
		m.request = newest
	}
	for j := f.requests; j != none; j = t.requests[j].below {
		if o := &t.requests[j]; o.sameAs(q) && t.candidate(o, x) {
			if only && j != newest {
				o.spent = true
			} else {
				o.unclear = true
			}
		}
	}
	return m
}

// cover records that a reply to q came: other requests with its bytes are not
// unanswered, unless that was reported. A reply that lacks parts does not cover
// requests sent after its first part. If tries is true, other requests of the same
// kind are not unanswered either, see [Pair.Tries].
func (t *tracker) cover(q *request, x *arrival, tries bool) {
	first := t.flows.flows[q.flow].requests
	if q.below == none && q == &t.requests[first] {
		return // the only one
	}
	for j := first; j != none; j = t.requests[j].below {
		o := &t.requests[j]
		if same := o.sameAs(q) || tries && o.topic == q.topic && o.protocol == q.protocol && o.up == q.up; same && o.replies == 0 && !o.late && (o.frame <= x.part || !x.partial) {
			o.covered = true
			o.spent = o.spent || tries && o != q
		}
	}
}

// candidate reports whether a reply to a request with the bytes of q may answer q.
func (t *tracker) candidate(q *request, x *arrival) bool {
	windows := int64(lateFor)
	if q.covered {
		windows = 1 // the question had a reply
	}
	return q.open() && q.frame <= x.part && (q.claim == 0 || q.claim == x.claim) && x.first-q.sent <= windows*int64(t.limits.Window)
}

// unclear counts the unanswered requests with the bytes of request i. If there are
// several, their round trips are ambiguous.
func (t *tracker) unclear(fi, i int32, frame uint64) (n int) {
	q := &t.requests[i]
	for j := t.flows.flows[fi].requests; j != none; j = t.requests[j].below {
		if o := &t.requests[j]; o.sameAs(q) && o.open() && o.frame <= frame {
			n++
			o.unclear = o.unclear || j != i
		}
	}
	return n
}

// time sets the round-trip time of a reply to q, or marks it ambiguous.
func (t *tracker) time(rec *Record, q *request, m match, x *arrival, now int64, r *Reader) {
	f := &t.flows.flows[q.flow]
	rtt := x.first - q.time
	switch {
	case rtt < 0:
		if !f.wentBack {
			r.Note(TimeBack, Dur(time.Duration(q.time-x.first)))
		}
		f.wentBack = true
		return
	case m.same > 1 || q.unclear || x.near || q.copies > 0 && q.replies > 0:
		rec.Ambiguous = true
		t.ambiguous++
		if m.over {
			t.reportLate(rec, q, t.atLeast(q, x.first), "at least ", r)
		}
		return
	}
	rec.TimeKnown = true
	rec.RTT, rec.LastRTT = time.Duration(rtt), time.Duration(now-q.time)
	if q.replies == 0 {
		f.rtt = rtt
	}
	if m.over {
		t.reportLate(rec, q, rec.RTT, "", r)
	}
	if rec.LastRTT > rec.RTT {
		r.Note(LastPart, Dur(rec.RTT), Dur(rec.LastRTT))
	}
}

// atLeast returns the time since the newest request with the bytes of q, a lower
// bound of the round-trip time.
func (t *tracker) atLeast(q *request, first int64) time.Duration {
	sent := q.time
	for j := t.flows.flows[q.flow].requests; j != none; j = t.requests[j].below {
		if o := &t.requests[j]; o.sameAs(q) && o.time <= first {
			sent = max(sent, o.sent)
		}
	}
	return time.Duration(first - sent)
}

// reportLate reports a reply that came after the window.
func (t *tracker) reportLate(rec *Record, q *request, rtt time.Duration, about string, r *Reader) {
	if rtt <= t.limits.Window {
		return
	}
	rec.Late = true
	t.hint = nettext.AppendDuration(append(t.hint[:0], about...), rtt)
	r.Note(Late, Num(q.frame), Str(view(t.hint)))
}

// take records a reply to q and returns the state of its replies.
func (t *tracker) take(q *request, x *arrival, frame uint64, now int64) *answer {
	o := t.replies.own(&q.answer)
	o.lastFrame = frame
	if q.replies == 0 || q.damaged {
		o.firstFrame = frame
		o.first, o.partial = x.first, x.partial
		if !q.optional && !q.damaged {
			t.countAnswered(q)
		}
		q.replies = 0
	}
	o.last = max(now, x.first)
	q.replies = increased(q.replies)
	o.sums = [...]uint32{x.sum, o.sums[0], o.sums[1]}
	o.frames = [...]uint32{uint32(frame), o.frames[0], o.frames[1]}
	q.claim = 0
	if o.bytes += uint32(x.wire); o.bytes < uint32(x.wire) {
		o.bytes = 1<<32 - 1
	}
	return o
}

// open reports whether a reply to q, possibly a late one, is expected.
func (q *request) open() bool {
	return !q.spent && !q.refused && (uint32(q.replies) <= q.merged || q.damaged)
}

// had reports whether one of the newest replies had these bytes.
func (o *answer) had(sum uint32) bool {
	return sum != 0 && (o.sums[0] == sum || o.sums[1] == sum || o.sums[2] == sum)
}

// since reports whether q was sent after the newest reply with these bytes to
// another request.
func (q *request) since(other *answer, sum uint32) bool {
	for i, s := range other.sums {
		if s == sum {
			return int32(uint32(q.frame)-other.frames[i]) > 0
		}
	}
	return true
}

// several reports whether more than one request is pending in one direction of a
// flow.
func (t *tracker) several(fi int32, up bool) bool {
	n := 0
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up == up && q.replies == 0 && !q.late {
			n++
		}
	}
	return n > 1
}

// claims assigns a set of parts to the oldest request that was sent before its first
// frame and that no other set answers. topics is what the part answers, 0 if
// unknown. The requests that the set may answer stay pending until it is complete or
// evicted.
func (t *tracker) claims(x *arrival, topics Topic, age time.Duration) {
	oldest := none
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if q.up == x.ends.up || q.replies > 0 || q.late || q.frame > x.part || !t.related(q.protocol, x.protocol) {
			continue
		}
		q.arriving = uint16(min(1+age/t.limits.Window, 1<<16-1))
		if q.claim == x.claim {
			if topics == 0 || q.topic&topics != 0 {
				return
			}
			q.claim = 0
		}
		if q.claim == 0 && !q.spent && (topics == 0 || q.topic&topics != 0) && (oldest == none || !q.covered || t.candidate(q, x)) {
			oldest = i
		}
	}
	if oldest == none {
		return
	}
	t.requests[t.among(x.flow, oldest, x).request].claim = x.claim
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
