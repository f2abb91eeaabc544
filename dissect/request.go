package dissect

import "time"

const (
	// maxPerFlow is how many requests may wait in one flow: clients have at
	// most a handful, a flood from one source has any number.
	maxPerFlow = 32
	// maxSame is how many sendings of one request may wait in one flow. More
	// are counted with the newest of them.
	maxSame = 8
)

// request adds a request and compares it with the earlier ones. It reports whether the
// message proves its sender.
func (t *tracker) request(x *arrival, rec *Record) (proven bool) {
	now, proto, up, rs := x.packed.At, x.protocol, x.ends.up, t.requests
	p := t.protocols[proto]
	f := &t.flows.flows[x.flow]
	if t.turn.Opens = f.ask(up); t.turn.Opens {
		t.early.begun++
		t.opens(&f.key, up)
	}
	if rec.Pair.Asks != 0 {
		t.flows.more[x.flow].lastRequest = now
		if e := t.flows.extra(x.flow); e.refused {
			e.refused = false
		}
	}
	pair := &rec.Pair
	peer := f.key.peer(up, proto)
	pair.Challenge = t.challenges.seeded(rec, &peer)
	often := 0
	if p.Pairing.TooOften != nil {
		often = t.countSends(f.requests, proto, up, now)
	}
	i := t.place(x, rec)
	q := &rs.list[i]
	again := false
	if q.below != none {
		n, same, last, newest := t.compare(q)
		if again = x.Stream == nil && t.repeats(newest) && !q.has(isOptional) && (same >= maxSame || !t.isOld(newest, now)); again {
			proven = t.repeated(q, &rs.list[newest], now, same >= maxSame)
			rec.packed.Waited = int64(t.turn.RepeatsAfter)
		}
		if same >= maxSame {
			t.merge(newest, q, again)
			x.request, x.merged = newest, true
			t.sentOften(&rs.list[newest], often)
			rs.back(i)
			return proven
		}
		if n >= maxPerFlow {
			t.closeRequest(last, true)
		}
	}
	if rs.live >= t.config.Limits.Requests {
		t.makeRoom()
	}
	q.below = f.requests // the one before may have made room
	t.sentOften(q, often)
	t.keepRare(q, x, rec)
	if pair.Page != 0 || pair.Scope != 0 {
		t.continues(q, rec)
	}
	f.requests = i
	rs.live++
	rs.waiting.link(rs.list, i)
	if !q.has(isOptional) {
		t.server(q).ask()
	}
	if !again {
		proven = t.challenges.proves(rec, &peer, &t.turn)
	}
	x.request = i
	if x.Stream != nil { // nobody forges the address of a connection
		proven = true
		q.set(isProven)
	} else {
		t.certify(q, &peer, proven)
	}
	if pair.Challenge == ChallengeUsed && !proven && !again {
		t.uses(q, pair.Value)
	}
	if e := t.early.of(x.flow); (e[0].flow == x.flow || e[1].flow == x.flow) && !again && x.Missing == 0 {
		t.answerEarly(q, x)
	}
	return proven
}

// repeated records that a request is sent again, and reports whether its sender had proved itself. One that merges into the request before
// it leaves nothing of its own.
func (t *tracker) repeated(q, before *request, now int64, merges bool) (proven bool) {
	origin, at := t.requests.origin(before)
	t.turn.Repeats, t.turn.RepeatsAfter = origin, time.Duration(max(now-at, 0))
	if !merges {
		before.set(isRepeated)
		r := t.requests.own(q)
		r.origin, r.originTime, r.earlier = origin, at, increased(t.requests.rare(before).earlier)
	}
	return before.has(isProven)
}

// place returns the place of a new request, the newest of its conversation.
func (t *tracker) place(x *arrival, rec *Record) int32 {
	pair := &rec.Pair
	i := t.requests.place(t.config.Limits.Requests)
	q := &t.requests.list[i]
	*q = request{} // value by value: a literal would be made elsewhere and copied
	q.flow, q.below, q.frame, q.sent = x.flow, t.flows.flows[x.flow].requests, rec.Frame, x.packed.At
	q.id, q.topic, q.sum, q.bytes = pair.ID, pair.Asks|pair.May, x.sum, shortSize(uint32(x.wire+x.Missing))
	q.protocol, q.message, q.challenge = x.protocol, t.protocols[x.protocol].messageIndex(rec.Type), pair.Challenge
	q.setIf(isUp, x.ends.up)
	q.setIf(isUnclear, x.near)
	q.setIf(isOptional, pair.Asks == 0)
	return i
}

// keepRare records what few requests have.
func (t *tracker) keepRare(q *request, x *arrival, rec *Record) {
	rs := t.requests
	if rec.also != 0 {
		rs.own(q).also = rec.also
	}
	if q.bytes == 1<<16-1 {
		rs.own(q).bytes = uint32(x.wire)
	}
	if rec.VLAN != 0 || rec.Interface != "" {
		rs.own(q).link = rs.link(rec)
	}
}

// certify records how far the sender of a request is certain.
func (t *tracker) certify(q *request, peer *peerKey, proven bool) {
	if q.setIf(isProven, proven); proven {
		t.challenges.prove(peer, q.sent)
		return
	}
	at, ok := t.challenges.proved(peer)
	q.setIf(isVouched, ok && q.sent-at <= int64(vouchedFor))
}

// mark records that the handler marked the request that a message is.
func (t *tracker) mark(x *arrival) {
	switch {
	case x.request == none:
	case x.merged:
		t.requests.own(&t.requests.list[x.request]).marks++
	default:
		t.requests.list[x.request].set(isMarked)
	}
}

// compare compares a new request with the earlier ones of its conversation: n is
// their number and last the oldest, newest the newest with the same bytes, and same
// the number of pending ones with the same bytes.
func (t *tracker) compare(q *request) (n, same int, last, newest int32) {
	last, newest = none, none
	for i := q.below; i != none; {
		o := &t.requests.list[i]
		n++
		last = i
		if o.protocol == q.protocol && o.up() == q.up() && o.topic == q.topic {
			if o.sameAs(q) {
				if newest == none {
					newest = i
				}
				if o.open() && !o.has(isLate) {
					same++
				}
			}
			if o.answer != 0 && o.message == q.message {
				t.ignored(q, t.requests.answered(o), newest)
			}
		}
		i = o.below
	}
	return n, same, last, newest
}

// ignored judges what a client does after a reply that may have given a challenge instead of data.
// newest is the newest request with the same bytes.
func (t *tracker) ignored(q *request, got *answer, newest int32) {
	if got.issuedIn == 0 || got.data {
		return
	}
	if (q.challenge == ChallengeAbsent || q.challenge == ChallengeSeed) && !t.repeats(newest) {
		t.turn.Ignored = max(t.turn.Ignored, got.issuedIn)
	}
	// This is reported once, and not for a client that used the challenge and
	// starts again with its next request.
	got.data, got.unused = true, q.challenge != ChallengeUsed
}

// repeats reports whether a request with the bytes of request i is a retransmission:
// no reply came that may answer i.
func (t *tracker) repeats(i int32) bool {
	if i == none {
		return false
	}
	q := &t.requests.list[i]
	return q.answer == 0 && !q.has(isCovered|isLate|isRefused)
}

// isOld reports whether request i repeats one that was sent so long ago that the next one begins anew. Otherwise no request of a client
// that polls a dead server would ever be unanswered.
func (t *tracker) isOld(i int32, now int64) bool {
	_, at := t.requests.origin(&t.requests.list[i])
	return now-at > lateFor*int64(t.config.Limits.Window)
}

// merge counts a retransmission with request i, without an entry of its own. again says that no
// reply to it came.
func (t *tracker) merge(i int32, q *request, again bool) {
	rs := t.requests
	o := &rs.list[i]
	rs.resend(o, q.sent)
	r := rs.own(o)
	r.merged++
	if r.earlier = increased(r.earlier); !again {
		r.earlier = 0
	}
	o.set(isUnclear)
	rs.count(o)
	if !q.has(isOptional) {
		t.server(o).ask()
	}
	rs.waiting.unlink(rs.list, i)
	rs.waiting.link(rs.list, i)
}

// makeRoom evicts an expired request, else the oldest one.
func (t *tracker) makeRoom() {
	i := t.requests.late.oldest
	if i == none {
		i = t.requests.waiting.oldest
	}
	t.closeRequest(i, true)
}

// countSends returns the number of recent requests if it exceeds the limit of the
// protocol, else 0. i is the newest earlier request.
func (t *tracker) countSends(i int32, proto int8, up bool, now int64) int {
	p := &t.protocols[proto].Pairing
	n := 1
	for ; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.protocol == proto && q.up() == up && now-t.requests.time(q) <= int64(p.Within) {
			n += 1 + int(t.requests.rare(q).merged)
		}
	}
	if n <= p.Most {
		return 0
	}
	return n
}

// sentOften records the number of recent requests, to be reported if q remains
// unanswered.
func (t *tracker) sentOften(q *request, n int) {
	if n > 0 {
		t.requests.own(q).often = uint32(n)
	}
}
