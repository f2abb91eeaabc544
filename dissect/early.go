package dissect

import "time"

// earlyBy is how long before its request a reply may be captured: cards with several receive queues
// and clocks of several hosts change the order of frames.
const earlyBy = int64(5 * time.Millisecond)

// An earlyReply is a reply that no request waited for.
type earlyReply struct {
	arrival
	frame   uint64
	pair    Pair
	message uint8 // index of its type in the protocol's list plus one
}

// earlyReplies are the newest early replies, by their flow.
type earlyReplies [16]earlyReply

func (l *earlyReplies) of(flow int32) *earlyReply { return &l[flow%int32(len(l))] }

// keepEarly records a reply whose request may follow.
func (t *tracker) keepEarly(x *arrival, rec *Record) {
	e := t.early.of(x.flow)
	e.arrival, e.frame, e.pair, e.message = *x, rec.Frame, rec.Pair, t.protocols[x.protocol].messageIndex(rec.Type)+1
	e.Datagram, e.sighting = nil, nil
}

// answerEarly gives a request the reply that was captured a moment before it.
func (t *tracker) answerEarly(q *request, x *arrival) {
	e := t.early.of(q.flow)
	pair := &e.pair
	if pair.Answers&q.topic == 0 || e.ends.key != x.ends.key || e.ends.up == q.up() || abs(x.packed.At-e.first) > earlyBy || !sameID(pair.ID, q.id) || !t.related(e.protocol, q.protocol) {
		return
	}
	got := t.take(q, &e.arrival, e.frame, e.packed.At)
	got.protocol, got.message = e.protocol, e.message
	if pair.Challenge == ChallengeIssued {
		got.issuedIn, got.unused = e.frame, true
	} else {
		got.data = true
	}
	q.set(isDamaged) // its own may still come
	t.requests.count(q)
	t.cover(q, &e.arrival, pair.Tries, got.data)
	*e = earlyReply{} // no other request
}
