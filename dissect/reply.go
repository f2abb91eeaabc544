package dissect

import (
	"math/bits"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// reply records a reply that answers what m says, and prepares the rules.
func (t *tracker) reply(x *arrival, rec *Record, r *Reader, m match) {
	now, proto := x.packed.At, x.protocol
	pair, peer := &rec.Pair, x.ends.key.peer(!x.ends.up, proto)
	if f := &t.flows.flows[x.flow]; f.answers != proto {
		t.flows.answer(x.flow, proto)
		from := x.ends.key.server(!x.ends.up)
		*t.servers.hosts.get(&from.address) = host{from.port, proto}
		t.replied(x)
	}
	if pair.Sum != 0 {
		t.challenges.remember(rec, &peer, now, &t.turn)
	}
	if pair.Port != 0 {
		checkPort(rec, r)
	}
	if pair.Challenge == ChallengeIssued && x.Missing == 0 && (pair.Value != 0 || !r.Failed()) { // else it may not have been read
		refused, doubtful := m.request != none && t.requests.list[m.request].challenge == ChallengeUsed, false
		used := refused
		if used {
			refused, doubtful = t.refuses(&t.requests.list[m.request], x, pair, &peer)
		}
		t.challenges.give(rec, &peer, refused, now, &t.turn)
		if doubtful = doubtful && t.turn.Refused == 1; doubtful || used && !refused {
			t.turn.Refused = 0
		}
		if refused {
			t.requests.list[m.request].setIf(isDoubtful, doubtful)
		}
	}
	if m.request != none && t.surplus(&t.requests.list[m.request], x) {
		m.request = none
	}
	if m.request == none {
		t.keepEarly(x, rec)
		t.stray(x, pair)
		return
	}
	q := &t.requests.list[m.request]
	t.identify(rec, q, m, t.timing(q, m, x), r)
	if pair.Damaged && q.answer != 0 {
		q.setIf(isDoubtful, false)
		return
	}
	t.answer(x, rec, q, &peer)
	if t.out.closed != nil {
		t.describe(q, rec, x.protocol)
	}
	t.turn.Request = t.asks(q)
	t.turn.Request.OtherID = m.other && !r.Cut() && !r.Failed() // else it may not have been read
	if q.topic&pair.Answers == 0 {
		t.turn.Other = t.turn.Request
	}
}

// refuses reports whether a challenge refuses the one that q carries, and whether that is doubtful because it may be that one, copied
// late by the network. One that comes sooner after q than the server answers is a copy. Of a later one, what comes next tells: data, or
// nothing else.
func (t *tracker) refuses(q *request, x *arrival, pair *Pair, peer *peerKey) (refused, doubtful bool) {
	known := t.challenges.of(peer)
	if x.IPID != 0 || known == nil || known.n == 0 || known.challenges[0] != pair.Value || x.packed.At-known.at > int64(networkDelay) {
		return true, false
	}
	rtt := t.flows.more[x.flow].rtt
	refused = x.first-t.requests.time(q) >= rtt-rtt/4-int64(time.Millisecond)
	return refused, refused && q.has(isProven)
}

// identify writes to the record of a reply which request it answers, and when.
func (t *tracker) identify(rec *Record, q *request, m match, at timing, r *Reader) {
	p := rec.Protocol
	rec.Protocol = t.protocols[q.protocol]
	if p.Pairing.Named != nil && rec.Protocol == p {
		if name := p.Pairing.Named(p.Catalog.Messages()[q.message], rec.Type); name != nil {
			rec.Type = name
		}
	}
	rec.RequestFrame, rec.Resends = q.frame, m.same-1
	rec.TimeKnown, rec.Ambiguous, rec.RTT, rec.LastRTT = at.known, at.ambiguous, at.first, at.last
	f := &t.flows.flows[q.flow]
	switch {
	case at.back < 0:
		if !f.has(wentBack) {
			r.Note(core.TimeBack, Dur(-at.back))
		}
		f.set(wentBack)
	case at.ambiguous:
		t.stats.AmbiguousReplies++
		q.setIf(isUnclear, q.has(isUnclear) || q.answer == 0)
	case q.answer == 0:
		t.flows.more[q.flow].rtt = int64(at.first)
	}
	if rec.Late = at.late > t.config.Limits.Window; rec.Late {
		t.out.text = appendLate(t.out.text[:0], at)
		r.Note(core.Late, Num(q.frame), Str(nettext.View(t.out.text)))
	}
	if rec.LastRTT > rec.RTT {
		r.Note(core.LastPart, Dur(rec.RTT), Dur(rec.LastRTT))
	}
}

// stray records a reply without a request.
func (t *tracker) stray(x *arrival, pair *Pair) {
	if j := t.otherKind(x, pair); j != none {
		t.turn.Other = t.asks(&t.requests.list[j])
	} else if f := &t.flows.flows[x.flow]; !f.requested() || t.asksAll(f.key.server(x.ends.up)) {
		t.strays(strayed, x, x.protocol, pair)
	} else {
		t.turn.Unrequested = f.requests != none && !t.ahead(&t.requests.list[f.requests], x) || f.requests == none && x.Stream == nil // else it is more of an earlier reply
	}
}

// surplus reports whether a request had its reply long before, and its client asks all hosts of a network: this is one to that.
func (t *tracker) surplus(q *request, x *arrival) bool {
	return q.answer != 0 && x.first-t.requests.answered(q).last > int64(networkDelay) && t.asksAll(x.ends.key.server(x.ends.up))
}

// otherKind returns the oldest pending request for other topics and records the
// frame of the reply with all of them.
func (t *tracker) otherKind(x *arrival, pair *Pair) int32 {
	found := none
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() != x.ends.up && q.frame <= x.part && t.related(q.protocol, x.protocol) && q.topic&pair.Answers == 0 && (x.Stream == nil || sameID(q.id, pair.ID)) && q.open() && !q.has(isLate|isOptional) {
			t.requests.own(q).other = x.Frame
			found = i
		}
	}
	return found
}

// asks describes a request for rules.
func (t *tracker) asks(q *request) *Asked {
	got, more := t.requests.answered(q), t.requests.rare(q)
	o := &t.asked // filled value by value: a literal would be copied
	o.Frame, o.Type, o.Challenge, o.ID, o.OtherID = q.frame, t.protocols[q.protocol].Catalog.Messages()[q.message], q.challenge, q.id, false
	o.Bytes, o.ReplyBytes, o.Replies = t.requests.size(q), got.bytes, int(got.n)
	o.Surplus = o.Replies > 1+int(more.copies)+int(more.merged)
	return o
}

// answer records a reply to q.
func (t *tracker) answer(x *arrival, rec *Record, q *request, peer *peerKey) {
	pair, p := &rec.Pair, t.protocols[x.protocol]
	got := t.take(q, x, rec.Frame, x.packed.At)
	q.setIf(isDamaged, pair.Damaged)
	t.requests.count(q)
	t.cover(q, x, pair.Tries, pair.Challenge != ChallengeIssued)
	if pair.Challenge == ChallengeIssued {
		got.issuedIn, got.unused = rec.Frame, !got.data
		return
	}
	if !got.data && q.challenge == ChallengeUsed && got.n == 2 {
		got.n = 1 // the challenge was not the answer, but an earlier one that came again
		t.requests.count(q)
	}
	if got.issuedIn != 0 && !got.data || q.topic&pair.Answers == 0 {
		t.keepEarly(x, rec) // the request for it may be the next frame
	}
	got.data, got.unused = true, false
	switch {
	case p.Pairing.Endless != nil:
		t.listed(q, pair)
	case p.Pairing.Paged:
		t.paged(q, rec)
	}
	t.players(q, rec)
	if known := t.challenges.of(peer); known != nil {
		known.streak, known.refused = 0, 0
	}
}

// take records a reply to q and returns the state of its replies.
func (t *tracker) take(q *request, x *arrival, frame uint64, now int64) *answer {
	first := q.answer == 0
	o := t.requests.answers.own(&q.answer)
	o.lastFrame = frame
	if first || q.has(isDamaged) {
		o.firstFrame = frame
		o.first, o.came = x.first, OutcomeAnswered
		switch {
		case x.first-q.sent > int64(t.config.Limits.Window):
			o.came = OutcomeLate
		case x.partial:
			o.came = OutcomePartial
		}
		if first && !q.has(isOptional) {
			t.speaks(q, x)
		}
		o.n = 0
	}
	o.last = max(now, x.first)
	o.n = increased(o.n)
	t.requests.count(q)
	o.sums = [...]uint32{x.sum, o.sums[0], o.sums[1]}
	o.frames = [...]uint32{uint32(frame), o.frames[0], o.frames[1]}
	if q.rare != 0 {
		t.requests.rare(q).claim, t.requests.rare(q).arriving = 0, 0
	}
	if o.bytes += uint32(x.wire); o.bytes < uint32(x.wire) {
		o.bytes = 1<<32 - 1
	}
	return o
}

// cover records that a reply to q came: other requests with its bytes are not
// unanswered, unless that was reported. A reply that lacks parts does not cover
// requests sent after its first part. If tries is true, other requests of the same
// kind are not unanswered either, see [Pair.Tries]. With data, a challenge that came to
// one of them before was a copy.
func (t *tracker) cover(q *request, x *arrival, tries, data bool) {
	q.setIf(isDoubtful, q.has(isDoubtful) && !data)
	first := t.flows.flows[q.flow].requests
	if q.below == none && q == &t.requests.list[first] {
		return // the only one
	}
	for j := first; j != none; j = t.requests.list[j].below {
		o := &t.requests.list[j]
		same := o.sameAs(q) || tries && o.topic == q.topic && o.protocol == q.protocol && o.up() == q.up()
		if same && data {
			o.setIf(isDoubtful, false)
		}
		if same && o.answer == 0 && !o.has(isLate) && (o.frame <= x.part || !x.partial) {
			o.set(isCovered)
			if tries && o != q {
				o.set(isSpent)
			}
		}
	}
}

// inPart records that a request was answered in part by something that is not a
// message.
func (t *tracker) inPart(i int32, x *arrival) {
	q := &t.requests.list[i]
	t.take(q, x, min(x.part, x.Frame), x.first)
	q.set(isDamaged) // a whole reply can still come
	t.requests.count(q)
	t.cover(q, x, false, true)
}

// describe records what an exchange says of a reply, which is a message of proto.
func (t *tracker) describe(q *request, rec *Record, proto int8) {
	got := t.requests.answered(q)
	if got.message == 0 {
		got.protocol, got.message = proto, t.protocols[proto].messageIndex(rec.Type)+1
	}
	if rec.Split.Partial {
		got.parts, got.total = uint16(min(rec.Split.Parts, 1<<16-1)), uint16(min(rec.Split.Total, 1<<16-1))
	}
	if t.config.Facts && got.facts == 0 && rec.Server.Stated() {
		t.requests.keepFacts(got, &rec.Server)
	}
}

// listed records one of several replies with a list.
func (t *tracker) listed(q *request, pair *Pair) {
	o := t.requests.own(q)
	o.entries += uint32(pair.Entries)
	got := t.requests.answered(q)
	if got.ended = got.ended || pair.Last; pair.Last {
		t.page = Page{Pieces: int(got.n), Entries: int(o.entries), First: q.frame}
		t.turn.Page = &t.page
	}
}

// players records the number of players that a reply states, and finds the number
// stated before if it lists the players.
func (t *tracker) players(q *request, rec *Record) {
	if n := rec.Server.Players; n.OK {
		t.requests.answered(q).stated = uint16(min(max(n.Value, 0), 1<<16-2)) + 1
	}
	if !rec.Pair.Lists {
		return
	}
	for i := t.flows.flows[q.flow].requests; i != none; i = t.requests.list[i].below {
		o := &t.requests.list[i]
		if stated := t.requests.answered(o).stated; stated != 0 && o.protocol == q.protocol && o.up() == q.up() {
			t.turn.Stated = int(stated) - 1
			return
		}
	}
}

// A timing is when a reply came.
type timing struct {
	known, ambiguous, atLeast bool
	first, last               time.Duration // since the request, of the first and of the last part
	late                      time.Duration // of a reply after the time for it
	back                      time.Duration // negative: how far time went back
}

// timing returns when a reply to q came.
func (t *tracker) timing(q *request, m match, x *arrival) (at timing) {
	asked := t.requests.time(q)
	rtt := time.Duration(x.first - asked)
	switch {
	case rtt < 0 && (q.frame > x.part || x.Stream != nil && q.frame > x.began()): // captured in another order
	case rtt < 0:
		at.back = rtt
	case m.same > 1 || q.has(isUnclear) || x.near || q.answer != 0 && t.requests.rare(q).copies > 0:
		if at.ambiguous = true; m.over {
			at.late, at.atLeast = t.atLeast(q, x.first), true
		}
	default:
		at.known, at.first, at.last = true, rtt, time.Duration(x.packed.At-asked)
		if m.over {
			at.late = rtt
		}
	}
	return at
}

// atLeast returns the time since the newest request with the bytes of q, a lower
// bound of the round-trip time.
func (t *tracker) atLeast(q *request, first int64) time.Duration {
	sent := t.requests.time(q)
	for j := t.flows.flows[q.flow].requests; j != none; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; o.sameAs(q) && t.requests.time(o) <= first {
			sent = max(sent, o.sent)
		}
	}
	return time.Duration(first - sent)
}

// appendLate appends how late a reply came.
func appendLate(b []byte, at timing) []byte {
	if at.atLeast {
		b = append(b, "at least "...)
	}
	return nettext.AppendDuration(b, at.late)
}

// checkPort reports a reply that states its own port in the wrong byte order.
func checkPort(rec *Record, r *Reader) {
	if stated, port := rec.Pair.Port, rec.Src.Port(); stated != port && bits.ReverseBytes16(stated) == port {
		r.Note(core.PortSwapped, Num(stated), Num(port))
	}
}
