package dissect

import (
	"time"

	"github.com/qdissect/qdissect/internal/core"
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
	// among says that several requests may be the one, because they have the same bytes;
	// only, that those before it were lost.
	among, only bool
}

// lateFor is the number of windows after which a request is no longer matched if a
// later one with the same bytes is pending.
const lateFor = 2

// match finds the request that a reply answers, by the order of the capture and not
// by time: the oldest pending request that was sent before the first part of the
// reply; else the newest answered one that may get another reply; else the oldest
// with another id; else the newest expired one; else the newest that was answered late
// a moment ago.
func (t *tracker) match(x *arrival, pair *Pair) match {
	fi, proto := x.flow, x.protocol
	if i := t.flows.flows[fi].requests; i != none {
		// Most flows have one request that waits, the newest, and this is its reply.
		if q := &t.requests.list[i]; q.answer == 0 && q.protocol == proto && q.up() != x.ends.up && q.frame <= x.part &&
			q.topic&pair.Answers != 0 && sameID(q.id, pair.ID) && q.open() && !q.has(isLate) && x.first-q.sent <= int64(t.config.Limits.Window) && t.onlyOpen(q) {
			return match{request: i, same: 1}
		}
	}
	p := t.protocols[proto]
	waiting, extra, more, other, late, came, soon := none, none, none, none, none, none, none
	best, tries := 0, 0
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if q.up() == x.ends.up || !t.related(q.protocol, proto) || t.ahead(q, x) {
			continue
		}
		direct := q.topic&pair.Answers != 0
		over := q.has(isLate) || x.first-q.sent > int64(t.config.Limits.Window)
		if q.answer != 0 && came == none && t.requests.answered(q).had(x.sum) {
			came = i
		}
		switch {
		case q.frame > x.part: // sent after the first part
			if q.answer == 0 && direct && sameID(q.id, pair.ID) && abs(q.sent-x.first) <= earlyBy {
				soon = i
			}
		case !sameID(q.id, pair.ID):
			if direct && q.answer == 0 && p.Pairing.OtherIDs && !over {
				other = i
			}
		case (direct || q.topic&pair.Also != 0 && q.answer == 0) && q.open() && over && (x.claim == 0 || t.requests.rare(q).claim != x.claim):
			if (late == none || direct && t.requests.list[late].topic&pair.Answers == 0) && !q.has(isCovered) && x.first-q.sent <= t.lateWindow() {
				late = i
			}
		case direct && q.open():
			if !q.has(isCovered) {
				tries++
			}
			if rank := t.rank(q, pair, x.claim); rank >= best {
				waiting, best = i, rank
			}
		case extra == none && !over && (direct || q.topic&pair.Also != 0) && !(pair.Challenge == ChallengeIssued && t.requests.answered(q).data && x.first-t.requests.answered(q).last > int64(networkDelay)):
			extra = i
		case more == none && direct && t.requests.answered(q).came == OutcomeLate && abs(x.first-t.requests.answered(q).last) <= int64(networkDelay):
			more = i
		}
	}
	switch {
	case waiting != none && pair.Tries && tries > 1:
		return match{request: waiting, same: tries}
	case waiting != none:
		return t.among(fi, waiting, x)
	case came != none && !(late != none && t.requests.list[came].has(isLate)) && t.duplicateReply(came, pair, x):
		return match{request: came, copy: true}
	case extra != none && !(soon != none && t.requests.list[soon].challenge == ChallengeUsed && t.requests.answered(&t.requests.list[extra]).onlyChallenge()):
		return match{request: extra, same: 1}
	case other != none && (late == none || t.requests.list[late].id != pair.ID || pair.ID == AnyID): // an id that is the same says more than the time
		return match{request: other, other: true, same: 1}
	case late != none:
		return match{request: late, same: t.equal(late, x.part), over: true}
	case soon == none:
		return match{request: more, same: 1}
	}
	return match{request: soon, same: 1}
}

// onlyChallenge reports whether a challenge is all that came.
func (o *answer) onlyChallenge() bool { return o.issuedIn != 0 && o.n == 1 }

// onlyOpen reports whether no reply to a request before q, of the same flow, is expected.
func (t *tracker) onlyOpen(q *request) bool {
	for i := q.below; i != none; {
		o := &t.requests.list[i]
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
	switch t.requests.rare(q).claim {
	case 0:
		rank = 10
	case claim:
		rank = 20
	}
	switch {
	case pair.Challenge == ChallengeIssued:
		rank += seeks(q)
	case q.has(isProven):
		rank++
	}
	return rank
}

// seeks grades how clearly a request asks for a challenge.
func seeks(q *request) int {
	switch q.challenge {
	case ChallengeSeed, ChallengeWanted:
		return 2
	case ChallengeAbsent:
		return 1
	}
	return 0
}

// among selects, among the requests with the same bytes, the oldest pending one that
// may be answered. If only the newest fits the known round-trip time of the
// conversation, the older ones were lost, unless equal replies come one upon the other.
func (t *tracker) among(fi, i int32, x *arrival) match {
	first := t.flows.flows[fi].requests
	q := &t.requests.list[i]
	m := match{request: i, same: 1}
	if first == i && q.below == none || x.claim != 0 && t.requests.rare(q).claim == x.claim {
		return m // the only request of the flow, or the one that the first part answered
	}
	same, newest := 0, none
	for j := first; j != none; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; o.sameAs(q) && t.candidate(o, x) {
			if same++; newest == none {
				newest = j
			}
		}
	}
	if same <= 1 {
		return m
	}
	rtt, d := t.flows.more[fi].rtt, x.first-t.requests.time(&t.requests.list[newest])
	m.same, m.among = same, true
	if m.only = rtt != 0 && !x.distinct && abs(d-rtt) <= rtt/4+int64(time.Millisecond); m.only {
		m.request = newest
	}
	return m
}

// candidate reports whether a reply to a request with the bytes of q may answer q.
func (t *tracker) candidate(q *request, x *arrival) bool {
	windows := int64(lateFor)
	if q.has(isCovered) {
		windows = 1 // the question had a reply
	}
	if !q.open() || q.frame > x.part || x.first-q.sent > windows*int64(t.config.Limits.Window) {
		return false
	}
	claim := t.requests.rare(q).claim
	return claim == 0 || claim == x.claim
}

// equal counts the unanswered requests with the bytes of request i.
func (t *tracker) equal(i int32, frame uint64) (n int) {
	q := &t.requests.list[i]
	for j := t.flows.flows[q.flow].requests; j != none; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; o.sameAs(q) && o.open() && o.frame <= frame {
			n++
		}
	}
	return n
}

// doubt marks the requests of which one has the reply that m found: their round trips are
// ambiguous, or they were lost.
func (t *tracker) doubt(m match, x *arrival) {
	if !m.among && !(m.over && m.same > 1) {
		return
	}
	q := &t.requests.list[m.request]
	for j := t.flows.flows[q.flow].requests; j != none; j = t.requests.list[j].below {
		o := &t.requests.list[j]
		switch {
		case !o.sameAs(q):
		case m.over:
			if o.open() && o.frame <= x.part && j != m.request {
				o.set(isUnclear)
			}
		case !t.candidate(o, x):
		case m.only && j != m.request:
			o.set(isSpent)
		default:
			o.set(isUnclear)
		}
	}
}

// duplicateReply reports whether a reply that no request is pending for duplicates
// one to request i: it came at once, or within the time that networks take and no
// request that it could answer was sent in between.
func (t *tracker) duplicateReply(i int32, pair *Pair, x *arrival) bool {
	q := &t.requests.list[i]
	got := t.requests.answered(q)
	past := x.first - got.last
	if x.distinct || x.Stream != nil || past > int64(networkDelay) || past < -int64(copyWindow) {
		return false
	}
	f := &t.flows.flows[q.flow]
	if past <= int64(copyWindow) && t.flows.extra(q.flow).copies > 0 && !f.has(repeating) {
		return true
	}
	for j := f.requests; j != none && j != i; j = t.requests.list[j].below {
		o := &t.requests.list[j]
		if pair.Challenge == ChallengeIssued && o.challenge == ChallengeUsed && t.requests.answered(o).data {
			continue // had what it asked for
		}
		if o.up() == q.up() && o.since(got, x.sum) && o.topic&(pair.Answers|pair.Also) != 0 && sameID(o.id, pair.ID) && t.related(o.protocol, q.protocol) {
			return false
		}
	}
	return true
}

// claims assigns a set of parts to the oldest request that was sent before its first
// frame and that no other set answers. topics is what the part answers, 0 if
// unknown. The requests that the set may answer stay pending until it is complete or
// evicted.
func (t *tracker) claims(x *arrival, topics Topic, age time.Duration) {
	oldest, answered, windows := none, none, uint16(min(1+age/t.config.Limits.Window, 1<<16-1))
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if q.up() == x.ends.up || q.has(isLate) || q.frame > x.part || !t.related(q.protocol, x.protocol) {
			continue
		}
		if q.answer != 0 {
			answered = i
			continue
		}
		r := t.requests.own(q)
		r.arriving = windows
		if r.claim == x.claim {
			if topics == 0 || q.topic&topics != 0 {
				return
			}
			r.claim = 0
		}
		if r.claim == 0 && !q.has(isSpent) && (topics == 0 || q.topic&topics != 0) && (oldest == none || !q.has(isCovered) || t.candidate(q, x)) {
			oldest = i
		}
	}
	if oldest == none {
		if answered != none { // it is another reply, or the capture cut the parts before
			t.requests.own(&t.requests.list[answered]).arriving = windows
		}
		return
	}
	m := t.among(x.flow, oldest, x)
	t.doubt(m, x)
	t.requests.own(&t.requests.list[m.request]).claim = x.claim
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// earlyBy is how long before its request a reply may be captured: cards with several receive queues
// change the order of frames. The clocks of two capture points differ by up to clocksDiffer: then
// conversations begin with a reply.
const (
	earlyBy      = int64(5 * time.Millisecond)
	clocksDiffer = int64(100 * time.Millisecond)
)

// An earlyReply is a reply that no request waited for.
type earlyReply struct {
	arrival
	frame   uint64
	pair    Pair
	by      int64 // how much earlier it may be
	message uint8 // index of its type in the protocol's list plus one
}

// earlyReplies are the newest early replies, two of a flow: a challenge and what it was for.
type earlyReplies struct {
	list         [32][2]earlyReply
	kept         bool   // the list has one
	begun, early uint32 // conversations, and those that began with a reply to the request after it
}

func (l *earlyReplies) of(flow int32) *[2]earlyReply { return &l.list[flow%int32(len(l.list))] }

// keepEarly records a reply whose request may follow.
func (t *tracker) keepEarly(x *arrival, rec *Record) {
	list := t.early.of(x.flow)
	t.early.kept, list[0] = true, list[1]
	e := &list[1]
	e.arrival, e.frame, e.pair, e.message = *x, rec.Frame, rec.Pair, t.protocols[x.protocol].messageIndex(rec.Type)+1
	e.Datagram, e.sighting, e.by = nil, nil, earlyBy
	if !t.flows.flows[x.flow].requested() || t.flows.extra(x.flow).early {
		e.by = clocksDiffer
	}
}

// answerEarly gives a request the reply that was captured a moment before it.
func (t *tracker) answerEarly(q *request, x *arrival) {
	list := t.early.of(q.flow)
	e := &list[0]
	if !e.answers(q, x) || !t.related(e.protocol, q.protocol) {
		if e = &list[1]; !e.answers(q, x) || !t.related(e.protocol, q.protocol) {
			return
		}
	}
	pair := &e.pair
	if x.packed.At-e.first > earlyBy {
		if t.early.early++; 2*t.early.early < t.early.begun {
			return // its own request is missing, as that of few others
		}
		t.flows.own(q.flow).early = true
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

// pair matches the message with its counterpart. It reports false if the message is
// a duplicate.
func (a *Analyzer) pair(x *arrival) bool {
	rec, r, t := &a.record, &a.reader, a.tracker
	if x.again && rec.Type.Role == Reply && !t.awaitsTopics(x, rec.Pair.Answers, &rec.Pair.ID) {
		a.late(x, rec.Split.Parts)
		return false
	}
	if rec.Split.Parts > 1 && !rec.Split.Partial {
		a.parts.Tag(uint32(rec.Pair.Answers))
	}
	a.visit(x)
	t.turn = Turn{Record: rec, Stated: -1, reader: r}
	if !x.summed || rec.Split.Parts > 0 || len(x.Frames) > 0 {
		x.sum, x.summed = a.sum(x), true
	}
	switch rec.Type.Role {
	case Request:
		x.noteAs(seenRequest)
		if rec.Sum = x.sum; rec.Pair.Asks != 0 {
			rec.Proven = t.request(x, rec)
			a.stats.Requests++
		}
	case Reply:
		x.noteAs(seenReply)
		x.partial = rec.Split.Partial
		m := t.match(x, &rec.Pair)
		if t.doubt(m, x); !m.copy {
			t.reply(x, rec, r, m)
		} else if rec.RequestFrame = t.requests.list[m.request].frame; !a.config.KeepCopies {
			a.copy(x)
			return false
		}
		a.stats.Replies++
	case OneWay:
		x.noteAs(seenRequest)
		if rec.Pair.May != 0 {
			rec.Proven = t.request(x, rec)
		} else {
			peer := x.ends.key.peer(x.ends.up, x.protocol)
			t.challenges.proves(rec, &peer, &t.turn)
		}
	}
	if window := a.config.Limits.Window; rec.TimeKnown && rec.RTT <= window && rec.LastRTT > window {
		r.Note(core.SlowParts, Dur(rec.RTT), Dur(rec.LastRTT))
	}
	return true
}

// visit adds the message to its conversation, which may be new.
func (a *Analyzer) visit(x *arrival) {
	t, now := a.tracker, x.packed.At
	if x.flow == none {
		x.flow = t.flows.add(&x.ends, now)
	}
	f, more := &t.flows.flows[x.flow], &t.flows.more[x.flow]
	if now == a.now && !f.has(wentBack) && x.Stream == nil { // what waited for a lost segment comes late
		last := f.last
		if f.requested() {
			last = max(last, more.lastRequest) // what the table of flows knows may have been set back
		}
		if last-now > int64(time.Millisecond) {
			f.set(wentBack)
			a.reader.Note(core.TimeBack, Dur(time.Duration(last-now)))
		}
	}
	t.flows.touch(x.flow, now)
	if x.also == 0 {
		a.pin(x, f)
	} else {
		a.stats.countAmbiguous(Ambiguous{int(x.protocol), x.also})
	}
}

// pin assigns a flow to the protocol of its first message. Three messages in a row
// that belong to another protocol or cannot be decoded undo it.
func (a *Analyzer) pin(x *arrival, f *flow) {
	failed := a.reader.Failed() && !a.reader.Cut()
	switch {
	case f.protocol < 0 && !failed:
		f.protocol = x.protocol
	case f.protocol == x.protocol && !failed:
		f.clear(violations)
	default:
		if f.violate() {
			f.protocol = -1
			if !failed {
				f.protocol = x.protocol
			}
		}
	}
	first := x.sure && f.sure != x.protocol && !failed
	if first {
		f.sure = x.protocol
	}
	if (first || !x.sure && x.reason == core.ByRequest && !failed) && a.protocols[x.protocol].Wire != "" {
		a.tracker.servers.speaks(&x.ends, a.record.Type.Role == Request, x.protocol)
	}
}

// sum returns the checksum of the message: of the datagram, or of its joined parts.
func (a *Analyzer) sum(x *arrival) uint32 {
	if len(x.Frames) > 0 && a.record.Type.Role == Reply {
		return 0 // what is said of its fragments is wanted
	}
	if a.record.Split.Parts == 0 {
		return x.checksum()
	}
	all := core.Sources(&a.reader)
	return checksum(all[len(all)-1].Data)
}

// answers reports whether an early reply is that of a request.
func (e *earlyReply) answers(q *request, x *arrival) bool {
	given := e.pair.Challenge == ChallengeIssued && q.challenge == ChallengeUsed // its own request came before, and is not in the capture
	return !given && e.pair.Answers&q.topic != 0 && e.ends.key == x.ends.key && e.ends.up != q.up() && abs(x.packed.At-e.first) <= e.by && sameID(e.pair.ID, q.id)
}

// ahead reports whether a request was answered early, and a reply is that of a later one.
func (t *tracker) ahead(q *request, x *arrival) bool {
	got, at := t.requests.answered(q), t.requests.time(q)
	return q.answer != 0 && x.Stream == nil && got.firstFrame < q.frame && (x.first-at > clocksDiffer || got.onlyChallenge())
}
