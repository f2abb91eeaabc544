package dissect

import (
	"slices"
	"strings"
	"unique"
)

// A request is a request that is pending or may get more replies. Like flows it has
// no pointers, and it fits into one cache line. The state of its replies is in [answer],
// state that few requests need in [rare].
type request struct {
	frame        uint64
	sent         int64 // of the newest sending
	id           uint64
	flow         int32
	below        int32 // older request of the same flow
	older, newer int32 // of all flows, by the time of sending; older of a free place is the next one
	answer, rare int32 // places of what only some requests have; answer is 0 if it had no reply
	topic        Topic
	sum          uint32
	bytes        uint16 // at most 1<<16-1
	is           requestState
	protocol     int8
	message      uint8 // index in the protocol's list
	challenge    Challenge
}

// requestState is a set of what is known of a request.
type requestState uint16

const (
	isUp       requestState = 1 << iota // direction within the flow
	isProven                            // carries a challenge that was given
	isRefused                           // an ICMP error said that it did not arrive
	isOptional                          // no reply is due
	isRepeated                          // a later request repeats it
	isCovered                           // a reply came that may be its own
	isSpent                             // its reply came, or was lost, as later replies show
	isLate                              // the time for its reply is over, and that was reported
	isDamaged                           // all that came of the reply is a part without a place
	isUnclear                           // which reply is its own cannot be told
	isInDoubt                           // what was taken for a copy may have answered it
	isMarked                            // by the handler
	isVouched                           // its sender proved itself in another request
	isResent                            // its time is not that of the newest sending
	isAnswered                          // it has as many replies as sendings
	isDoubtful                          // the challenge that answered it may be a late copy
)

// has reports whether any of a set is known of a request.
func (q *request) has(set requestState) bool { return q.is&set != 0 }

func (q *request) set(what requestState) { q.is |= what }

// setIf sets or clears what is known of a request.
func (q *request) setIf(what requestState, is bool) {
	if q.is &^= what; is {
		q.is |= what
	}
}

// up reports the direction of a request within its flow.
func (q *request) up() bool { return q.is&isUp != 0 }

// open reports whether a reply to q, possibly a late one, is expected.
func (q *request) open() bool { return q.is&(isSpent|isRefused|isAnswered) == 0 }

// sameAs reports whether two requests have the same bytes.
func (q *request) sameAs(o *request) bool {
	return q.sum == o.sum && q.bytes == o.bytes && q.id == o.id && q.protocol == o.protocol && q.up() == o.up() && q.topic == o.topic
}

// of reports whether a request has the bytes of s.
func (q *request) of(s *sighting) bool {
	return q.sum == s.sum && q.bytes == shortSize(s.length) && q.up() == s.up
}

func shortSize(n uint32) uint16 { return uint16(min(n, 1<<16-1)) }

// An answer is the state of the replies to a request.
type answer struct {
	first, last  int64  // times of the first reply and of the newest
	firstFrame   uint64 // their frames
	lastFrame    uint64
	issuedIn     uint64    // frame of the reply that gave a challenge instead of data
	sums         [3]uint32 // of the newest
	frames       [3]uint32 // of those, the low bits
	bytes        uint32
	facts        int32  // place of what the first one that describes the server says
	n            uint16 // replies
	parts, total uint16 // of a partial reply
	protocol     int8   // of the first reply
	message      uint8  // index of its type in the protocol's list plus one, 0 if it is none
	stated       uint16 // players that the reply stated plus one, 0 if it stated none
	copies       uint8
	data         bool    // a reply with data came
	ended        bool    // a reply was the last of its list
	came         Outcome // how the first reply came: late, in part, or whole and in time
	unused       bool    // only a challenge came, and no request used it
}

func (o *answer) next() *uint32 { return &o.bytes }

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

// A rare is state that few requests need.
type rare struct {
	origin      uint64 // frame of the first sending of the question, 0 if this is it
	originTime  int64
	time        int64     // of the request, if it was resent
	also        uint64    // other protocols it could be of
	other       uint64    // frame of the newest reply of another kind that came while it waited
	page, scope uint64    // where a list goes on, and what it is restricted to
	entries     uint32    // of the list so far
	often       uint32    // requests of late, if they are too many
	claim       uint32    // the set of parts that began to answer it
	merged      uint32    // sendings that have no entry of their own
	marks       uint32    // of these, those that the handler marked
	bytes       uint32    // if they are more than the request says
	from        serverKey // where the reply came from that did not come from the server
	earlier     uint16    // sendings before this one
	arriving    uint16    // windows that it waits on, because parts of a reply came
	copies      uint8
	link        uint8 // place of the interface and the VLAN in a list
	broadcast   bool  // it went to all hosts of a network, one of which replied
}

func (r *rare) next() *uint32 { return &r.entries }

// facts is what a reply says of its server. Most say the same as others.
type facts struct {
	server unique.Handle[Server]
	size   uint32 // of the texts
}

func (f *facts) next() *uint32 { return &f.size }

// maxFacts bounds the bytes of texts in facts.
const maxFacts = 2 << 20

// keepFacts records what a reply says of its server, unless too much is kept.
func (t *requestTable) keepFacts(got *answer, s *Server) {
	n := uint32(len(s.Name.Value) + len(s.Map.Value) + len(s.Game.Value) + len(s.Version.Value))
	if t.told+n <= maxFacts {
		t.told += n
		*t.facts.own(&got.facts) = facts{unique.Make(*s), n}
	}
}

// releaseFacts forgets it.
func (t *requestTable) releaseFacts(place int32) {
	if place > 0 {
		t.told -= t.facts.at(place).size
		*t.facts.at(place) = facts{}
		t.facts.release(place)
	}
}

// A link is where requests were captured.
type link struct {
	name string
	vlan uint16
}

// requestTable holds the requests, in a slab, with what some of them need beside it.
type requestTable struct {
	list    []request
	free    int32 // the first free place, none if there is none
	live    int
	answers side[answer, *answer]
	rares   side[rare, *rare]
	facts   side[facts, *facts]
	told    uint32 // bytes of texts in facts
	links   []link
	linkOf  [64]uint8   // by VLAN: the newest
	waiting requestList // by the time of sending
	late    requestList // those whose time is over
}

func newRequestTable() *requestTable {
	return &requestTable{
		free: none, answers: newSide[answer](), rares: newSide[rare](), facts: newSide[facts](), links: make([]link, 1),
		waiting: requestList{oldest: none, newest: none}, late: requestList{oldest: none, newest: none},
	}
}

// place returns a free place.
func (t *requestTable) place(limit int) int32 {
	if i := t.free; i != none {
		t.free = t.list[i].older
		return i
	}
	i := len(t.list)
	t.list = withRoom(t.list, limit+1)[:i+1] // a request has its place before another makes room
	return int32(i)
}

// back returns a place that was not used.
func (t *requestTable) back(i int32) {
	q := &t.list[i]
	t.rares.release(q.rare)
	q.older, t.free = t.free, i
}

// remove frees the place of a request.
func (t *requestTable) remove(i int32) {
	q := &t.list[i]
	if q.has(isLate) {
		t.late.unlink(t.list, i)
	} else {
		t.waiting.unlink(t.list, i)
	}
	t.releaseFacts(t.answers.at(q.answer).facts)
	t.answers.release(q.answer)
	t.back(i)
	t.live--
}

// answered returns the state of the replies to a request for reading.
func (t *requestTable) answered(q *request) *answer { return t.answers.at(q.answer) }

// rare returns the rare state of a request for reading.
func (t *requestTable) rare(q *request) *rare { return t.rares.at(q.rare) }

// own returns it for writing.
func (t *requestTable) own(q *request) *rare { return t.rares.own(&q.rare) }

// time returns the time of a request.
func (t *requestTable) time(q *request) int64 {
	if q.has(isResent) {
		return t.rare(q).time
	}
	return q.sent
}

// resend sets the time of the newest sending of a request.
func (t *requestTable) resend(q *request, at int64) {
	if !q.has(isResent) {
		t.own(q).time = q.sent
		q.set(isResent)
	}
	q.sent = at
}

// size returns the number of bytes of a request.
func (t *requestTable) size(q *request) uint32 {
	if q.bytes == 1<<16-1 {
		return t.rare(q).bytes
	}
	return uint32(q.bytes)
}

// sendings returns how often a question was sent so far.
func (t *requestTable) sendings(q *request) int { return min(int(t.rare(q).earlier)+1, 1<<16-1) }

// count compares the replies to a request with its sendings.
func (t *requestTable) count(q *request) {
	q.setIf(isAnswered, !q.has(isDamaged) && uint32(t.answered(q).n) > t.rare(q).merged)
}

// origin returns the frame and time of the first transmission of a request.
func (t *requestTable) origin(q *request) (frame uint64, at int64) {
	if o := t.rare(q); o.origin != 0 {
		return o.origin, o.originTime
	}
	return q.frame, t.time(q)
}

// link returns the place of the link of a message, 0 if it has none or there are too many.
func (t *requestTable) link(rec *Record) uint8 {
	l := link{rec.Interface, rec.VLAN}
	at := &t.linkOf[l.vlan%uint16(len(t.linkOf))]
	if t.links[*at] == l {
		return *at
	}
	i := slices.Index(t.links, l)
	if i < 0 && len(t.links) < 1<<8 {
		i = len(t.links)
		t.links = append(t.links, link{strings.Clone(l.name), l.vlan})
	}
	*at = uint8(max(i, 0))
	return *at
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
