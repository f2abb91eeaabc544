package dissect

import (
	"net/netip"
	"slices"
	"time"
)

// A Topic is what a request asks for, one bit of the protocol's own choosing.
type Topic uint32

// A Challenge says what a message has to do with challenge numbers: the values
// by which servers make sure that a client's address is not forged.
type Challenge uint8

const (
	// NoChallenge: nothing.
	NoChallenge Challenge = iota
	// ChallengeAbsent: a request that may carry one and does not.
	ChallengeAbsent
	// ChallengeSeed: a request that carries the value by which one asks for
	// a challenge.
	ChallengeSeed
	// ChallengeUsed: a request that carries one.
	ChallengeUsed
	// ChallengeIssued: a reply that gives one.
	ChallengeIssued
	// ChallengeWanted: a request for a challenge and nothing else.
	ChallengeWanted
)

// AnyID equals every id of [Pair].
const AnyID = 1<<64 - 1

func sameID(a, b uint64) bool { return a == b || a == AnyID || b == AnyID }

// Pair is how a message finds its counterpart.
type Pair struct {
	// Damaged says that this is a part of a reply which has no place in one: it
	// answers in part, until a healthy reply comes.
	Damaged bool
	// Asks is what a request asks for.
	Asks Topic
	// Answers is the set of what a reply may be the answer to.
	Answers Topic
	// Also is the set of what a reply may come along with, beside the main
	// answer.
	Also Topic
	// ID must be the same in request and reply; 0 if the protocol has none,
	// [AnyID] if this message has none though others of the protocol do.
	ID uint64
	// Tries says that the requests which a reply answers ask one question in several
	// ways, one after the other until a reply comes: if more than one waits, it is not
	// clear which one that answers, and none of them is unanswered.
	Tries bool
	// May is what may answer a one-way message, though nothing has to: a server
	// that does not accept what it says may say so.
	May Topic
	// Challenge and Value are the message's challenge number.
	Challenge Challenge
	Value     uint64
	// Port is the port that a reply states for its server; 0 for none.
	Port uint16
	// Page is for lists that are asked for in pieces, each from where the one
	// before ended: the place that a request goes on from, and the one where
	// a reply ends; 0 is the beginning and the end of the list. Entries is
	// the number of entries in a reply. See [Pairing.Paged].
	Page    uint64
	Entries int
	// Scope is what a request for such a list restricts it to, and what must
	// stay the same for all of its pages: the region in the lowest 8 bits, the
	// filter above them. 0 is not compared. Begins is the first entry of a
	// reply, 0 for none.
	Scope, Begins uint64
	// Lists says that Entries are the players of the server.
	Lists bool
	// Sum stands for what a reply says, whoever it says it to; 0 for none. See
	// [Turn.SaidIn].
	Sum uint32
	// Last says that a reply ends its list, where a list that is asked for
	// once comes in several replies. See [Pairing.Endless].
	Last bool
}

// Pairing declares how requests and replies of a protocol find each other, and what is
// said of the two. Each finding may be nil: then it is not said. All of them, and those
// of the rules, stand in the protocol's list of findings as well.
type Pairing struct {
	// Unanswered: no reply came. Takes the message's title, and a hint: the time
	// waited, the number of times it was sent, and what the server does else.
	Unanswered *FindingType
	// UnansweredChallenge: the same, though the challenge was right.
	UnansweredChallenge *FindingType
	// Endless: replies to one request gave a list and none was the last of
	// it. Takes the number of replies and that of entries.
	Endless *FindingType
	// TooOften: a request without a reply that is one more than the Most that
	// servers answer Within a time, as far as the conversation tells. Takes its
	// number.
	TooOften *FindingType
	Most     int
	Within   time.Duration
	// OtherIDs says that a reply whose id is that of no request may answer one all
	// the same. If not, such replies have no request.
	OtherIDs bool
	// Paged says that lists are asked for page by page, see [Pair.Page].
	Paged bool
	// Named returns what a reply is called that answers a request, for
	// protocols whose replies do not say what they answer; nil leaves it what
	// the decoder called it.
	Named func(request, reply *MessageType) *MessageType
	// OnRequest judges each request, OnReply each reply to one, and OnStray each reply
	// of which none is in the capture.
	OnRequest, OnReply, OnStray []Rule
}

// request is a request that waits for replies, or had some and may get more.
// Like flows it holds no pointers. What is known of its replies is in [answer], and
// what few requests have in [rare].
type request struct {
	frame        uint64
	time         int64
	sent         int64 // of the newest sending
	id           uint64
	flow         int32
	below        int32 // older request of the same flow
	older, newer int32 // of all flows, by the time of sending
	answer, rare int32 // places of what only some requests have
	topic        Topic
	sum          uint32
	bytes        uint32
	claim        uint32 // the set of parts that began to answer it
	replies      uint16
	sends        uint16
	merged       uint16 // sendings that have no entry of their own
	arriving     uint16 // windows that it waits on, because parts of a reply came
	protocol     int8
	message      uint8 // index in the protocol's list
	challenge    Challenge
	copies       uint8
	up           bool // direction within the flow
	proven       bool // carries a challenge that was given
	refused      bool // an ICMP error said that it did not arrive
	optional     bool // no reply is due
	repeated     bool // a later request repeats it
	covered      bool // a reply came that may be its own
	spent        bool // its reply came, or was lost, as later replies show
	late         bool // the time for its reply is over, and that was reported
	withheld     bool // but for that only one direction was captured
	damaged      bool // all that came of the reply is a part without a place
	unclear      bool // which reply is its own cannot be told
	doubt        bool // what was taken for a copy may have answered it
}

// answer is what is known of the replies to a request.
type answer struct {
	first, last int64     // times of the first reply and of the newest
	givenIn     uint64    // frame of the reply that gave a challenge instead of data
	sums        [3]uint32 // of the newest
	frames      [3]uint32 // of those, the low bits
	bytes       uint32
	stated      uint16 // players that the reply stated plus one, 0 if it stated none
	copies      uint8
	data        bool // a reply with data came
	ended       bool // a reply was the last of its list
	partial     bool // the first reply lacks parts
}

// rare is what few requests have.
type rare struct {
	origin      uint64 // frame of the first sending of the question, 0 if this is it
	originTime  int64
	also        uint64 // other protocols it could be of
	other       uint64 // frame of the newest reply of another kind that came while it waited
	page, scope uint64 // where a list goes on, and what it is restricted to
	entries     uint32 // of the list so far
	often       uint32 // requests of late, if they are too many
}

// rareOf returns what only few requests have, to be read.
func (t *tracker) rareOf(q *request) *rare { return t.rares.at(q.rare) }

// ownRare returns the same to be written.
func (t *tracker) ownRare(q *request) *rare { return t.rares.own(&q.rare) }

// origin returns the first sending of a question.
func (t *tracker) origin(q *request) (frame uint64, at int64) {
	if o := t.rareOf(q); o.origin != 0 {
		return o.origin, o.originTime
	}
	return q.frame, q.time
}

// peerKey is a client and the server that gives it challenges. Ports of the
// client do not count: servers compute challenges from the address alone, and
// some clients use a new port for every request.
type peerKey struct {
	client, server [16]byte
	port           uint16
	protocol       int8
}

type peer struct {
	given   [4]uint64 // newest first
	n       uint8
	streak  uint8 // challenges in a row without data
	refused uint8 // of them, those that answered a challenge
	at      int64
	said    uint32 // sum of the last reply that has one
	saidIn  uint64 // frame of it
	saidAt  int64
}

// tracker pairs requests with replies and follows challenges.
type tracker struct {
	limits   Limits
	flows    *flowTable
	requests []request
	free     []int32
	replies  side[answer]
	rares    side[rare]
	waiting  requestList // by the time of sending
	late     requestList // those whose time is over
	live     int
	peers    *recent[peerKey, peer]
	gives    uint64 // protocols of which a server gave a challenge
	// givesSeeds are those of which a server gave one that clients also send
	// to ask for one: 0 or -1.
	givesSeeds uint64
	// answering counts what servers are asked and answer, and hosts remembers
	// on which port a host answers: hints of why a request has no reply, and no
	// state that one could lose.
	answering *recent[serverKey, answering]
	hosts     *recent[[16]byte, host]
	// servers remembers what a server spoke, of protocols that share a wire
	// format: the next client's handshake is decided by it.
	servers *recent[netip.AddrPort, int8]
	lists   *recent[peerKey, pages]

	protocols      []*Protocol
	finding        func(*FlowFinding)
	exchange       func(*Exchange)
	evicted        uint64
	outcomes       Outcomes
	ended          func(*flow) // told of a conversation before it is forgotten
	unansweredTold uint64
	oneSided       bool  // only one direction was captured
	end            int64 // time of the end of the input, 0 before
	hint           []byte
	others         []*Protocol // of a finding
	told           FlowFinding // handed out, kept here so that telling allocates nothing
	closed         Exchange
	turn           Turn // what is judged, with what it points to
	counterpart    Asked
	page           Page
}

func newTracker(protocols []*Protocol, l Limits, finding func(*FlowFinding), exchange func(*Exchange)) *tracker {
	t := &tracker{
		limits: l, replies: newSide[answer](), rares: newSide[rare](), protocols: protocols, finding: finding, exchange: exchange,
		waiting: requestList{oldest: none, newest: none}, late: requestList{oldest: none, newest: none},
		peers: newRecent[peerKey, peer](l.Peers), answering: newRecent[serverKey, answering](l.servers()),
		hosts: newRecent[[16]byte, host](l.servers()), lists: newRecent[peerKey, pages](l.lists()),
	}
	t.servers = newRecent[netip.AddrPort, int8](maxServers)
	t.flows = newFlowTable(l.Flows, func(i int32, full bool) {
		for t.flows.flows[i].requests != none {
			t.closeRequest(t.flows.flows[i].requests, full)
		}
		if t.ended != nil {
			t.ended(&t.flows.flows[i])
		}
	})
	return t
}

const (
	// maxPerFlow is how many requests may wait in one flow: clients have at
	// most a handful, a flood from one source has any number.
	maxPerFlow = 32
	// maxSame is how many sendings of one request may wait in one flow. More
	// are counted with the newest of them.
	maxSame = 8
)

// request notes a request and finds out how it stands to those before it.
func (t *tracker) request(x *arrival, rec *Record) {
	now, proto, fi, up := nanos(rec.Time), x.protocol, x.flow, x.ends.up
	p := t.protocols[proto]
	f := &t.flows.flows[fi]
	t.turn.Opens = !f.requested
	f.requested = true
	if rec.Pair.Asks != 0 {
		f.lastRequest = now
	}
	pair := &rec.Pair
	if pair.Challenge == ChallengeSeed && t.givesSeeds>>proto&1 != 0 && t.gave(rec, proto) {
		pair.Challenge = ChallengeUsed
	}
	often := 0
	if p.Pairing.TooOften != nil {
		often = t.countSends(f.requests, proto, up, now)
	}
	q := request{
		flow: fi, below: f.requests, frame: rec.Frame, time: now, sent: now, id: pair.ID, topic: pair.Asks | pair.May,
		sum: x.sum, bytes: uint32(x.wire), sends: 1, protocol: proto, message: t.messageIndex(p, rec.Type),
		challenge: pair.Challenge, up: up, unclear: x.near, optional: pair.Asks == 0,
	}

	n, same := 0, 0
	last, newest := none, none
	for i := f.requests; i != none; i = t.requests[i].below {
		o := &t.requests[i]
		n++
		last = i
		if o.protocol != proto || o.up != up || o.topic != q.topic {
			continue
		}
		if o.sameAs(&q) {
			if newest == none {
				newest = i
			}
			if o.open() && !o.late {
				same++
			}
		}
		got := t.replies.at(o.answer)
		if got.givenIn == 0 || got.data || o.message != q.message {
			continue
		}
		if (pair.Challenge == ChallengeAbsent || pair.Challenge == ChallengeSeed) && !t.repeats(newest) {
			t.turn.Ignores = max(t.turn.Ignores, got.givenIn)
		}
		// It is said once, and not at all of a client that came back with a
		// challenge and begins anew with its next question.
		got.data = true
	}
	again := t.repeats(newest) && !q.optional
	var origin uint64
	var at int64
	proven := false
	if again {
		o := &t.requests[newest]
		origin, at = t.origin(o)
		q.sends, proven = increased(o.sends), o.proven
		t.turn.Repeats, t.turn.RepeatsAfter = origin, time.Duration(max(now-at, 0))
	}
	if same >= maxSame {
		t.merge(newest, &q)
		t.sentOften(&t.requests[newest], often)
		return
	}
	if again {
		t.requests[newest].repeated = true
	}
	if n >= maxPerFlow {
		t.closeRequest(last, true)
	}
	if t.live >= t.limits.Requests {
		t.makeRoom()
	}
	i := t.newRequest()
	f = &t.flows.flows[fi]
	q.below = f.requests
	t.requests[i] = q
	t.sentOften(&t.requests[i], often)
	if again {
		o := t.ownRare(&t.requests[i])
		o.origin, o.originTime = origin, at
	}
	if rec.also != 0 {
		t.ownRare(&t.requests[i]).also = rec.also
	}
	if pair.Page != 0 || pair.Scope != 0 {
		t.goOn(&t.requests[i], rec)
	}
	f.requests = i
	t.live++
	t.waiting.link(t.requests, i)
	if !q.optional {
		t.countAsked(&t.requests[i])
	}
	if again {
		t.requests[i].proven = proven
		return
	}
	t.requests[i].proven = t.proves(x, rec)
}

// repeats reports whether a request with the bytes of an earlier one repeats it:
// no reply came that could be its own.
func (t *tracker) repeats(i int32) bool {
	if i == none {
		return false
	}
	q := &t.requests[i]
	return q.replies == 0 && !q.covered && !q.late && !q.refused
}

// merge counts a request with another one with the same bytes.
func (t *tracker) merge(i int32, q *request) {
	o := &t.requests[i]
	o.sends, o.merged, o.unclear, o.sent = q.sends, increased(o.merged), true, q.sent
	if !q.optional {
		t.outcomes.Repeated++
		t.countAsked(o)
	}
	t.waiting.unlink(t.requests, i)
	t.waiting.link(t.requests, i)
}

// makeRoom gives up a request: one whose time is over, or the oldest.
func (t *tracker) makeRoom() {
	i := t.late.oldest
	if i == none {
		i = t.waiting.oldest
	}
	t.closeRequest(i, true)
}

// newRequest returns a place in the slab.
func (t *tracker) newRequest() int32 {
	if k := len(t.free); k > 0 {
		i := t.free[k-1]
		t.free = t.free[:k-1]
		return i
	}
	t.requests = append(withRoom(t.requests, t.limits.Requests), request{})
	return int32(len(t.requests) - 1)
}

func increased(n uint16) uint16 { return min(n, 1<<16-2) + 1 }

// countSends returns how many requests were sent of late, 0 if that is not too many.
// i is the newest one before this.
func (t *tracker) countSends(i int32, proto int8, up bool, now int64) int {
	p := &t.protocols[proto].Pairing
	n := 1
	for ; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.protocol == proto && q.up == up && now-q.time <= int64(p.Within) {
			n += 1 + int(q.merged)
		}
	}
	if n <= p.Most {
		return 0
	}
	return n
}

// sentOften notes how many requests were sent when q was: that is said if it stays
// unanswered.
func (t *tracker) sentOften(q *request, n int) {
	if n > 0 {
		t.ownRare(q).often = uint32(n)
	}
}

// proves reports whether a message carries a challenge that was given to its
// sender.
func (t *tracker) proves(x *arrival, rec *Record) bool {
	if rec.Pair.Challenge != ChallengeUsed || t.gives>>x.protocol&1 == 0 {
		return false
	}
	k := peerOf(x.protocol, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	if known == nil || known.n == 0 {
		return false
	}
	t.turn.Given = known.given[:known.n]
	t.turn.Wrong = !slices.Contains(t.turn.Given, rec.Pair.Value)
	return !t.turn.Wrong
}

// gave reports whether a server gave the value that a request to it carries.
func (t *tracker) gave(rec *Record, proto int8) bool {
	k := peerOf(proto, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	return known != nil && slices.Contains(known.given[:known.n], rec.Pair.Value)
}

// listed notes one of the replies to the one request for a list.
func (t *tracker) listed(q *request, pair *Pair) {
	o := t.ownRare(q)
	o.entries += uint32(pair.Entries)
	got := t.replies.at(q.answer)
	if got.ended = got.ended || pair.Last; pair.Last {
		t.page = Page{Pieces: int(q.replies), Entries: int(o.entries), First: q.frame}
		t.turn.Page = &t.page
	}
}

func (t *tracker) messageIndex(p *Protocol, m *MessageType) uint8 {
	for i, known := range p.Messages {
		if known == m {
			return uint8(i)
		}
	}
	return 0
}

func peerOf(proto int8, client, server netip.AddrPort) peerKey {
	return peerKey{client.Addr().As16(), server.Addr().As16(), server.Port(), proto}
}

// otherKind returns the oldest request that waits for a reply to other topics, and
// notes the frame of the reply with all that do.
func (t *tracker) otherKind(x *arrival, topics Topic) int32 {
	found := none
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up != x.ends.up && q.frame <= x.part && t.kin(q.protocol, x.protocol) && q.topic&topics == 0 && q.open() && !q.late && !q.optional {
			t.ownRare(q).other = x.Frame
			found = i
		}
	}
	return found
}

// awaits reports whether a flow has a request of a protocol in the other
// direction that still waits, or had its reply a moment ago, for one of topics.
func (t *tracker) awaits(fi int32, up bool, proto int8, topics Topic) bool {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if t.kin(q.protocol, proto) && q.up != up && !q.late && (topics == 0 || q.topic&topics != 0) {
			return true
		}
	}
	return false
}

// alsoAwaits returns the protocols that the newest waiting request of one could
// be of as well.
func (t *tracker) alsoAwaits(fi int32, up bool, proto int8) uint64 {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.protocol == proto && q.up != up {
			return t.rareOf(q).also
		}
	}
	return 0
}

// maxServers is how many servers are remembered with the protocol they spoke.
const maxServers = 1024

// proved remembers what the server of a message speaks.
func (t *tracker) proved(rec *Record, proto int8) {
	server := rec.Src
	if rec.Type.Role == Request {
		server = rec.Dst
	}
	*t.servers.get(&server) = proto
}

// kin reports whether two protocols are the same or of one family.
func (t *tracker) kin(a, b int8) bool {
	return a == b || t.protocols[a].Family != "" && t.protocols[a].Family == t.protocols[b].Family
}

// reply finds the request that a reply answers, sets the record's part of the
// pair, and finds out how the two stand to each other. It reports false if the reply
// is a copy of one that came before.
func (t *tracker) reply(x *arrival, rec *Record, r *Reader) bool {
	now, proto, fi := nanos(rec.Time), x.protocol, x.flow
	p := t.protocols[proto]
	pair := &rec.Pair
	m := t.match(x, pair)
	if m.copy {
		rec.RequestFrame = t.requests[m.request].frame
		return false
	}
	if t.flows.flows[fi].answers != proto {
		t.flows.answer(fi, proto)
		t.answers(rec.Src, proto)
	}
	if pair.Sum != 0 {
		t.said(rec, proto, now)
	}
	if pair.Port != 0 {
		checkPort(rec, r)
	}
	i := m.request
	if pair.Challenge == ChallengeIssued {
		t.given(rec, proto, i, now)
	}
	if i == none {
		if j := t.otherKind(x, pair.Answers); j != none {
			t.turn.Other = t.asks(&t.requests[j])
		} else {
			t.turn.Unrequested = t.flows.flows[fi].requested
		}
		return true
	}
	q := &t.requests[i]
	rec.Protocol = t.protocols[q.protocol]
	if p.Pairing.Named != nil && rec.Protocol == p {
		if name := p.Pairing.Named(p.Messages[q.message], rec.Type); name != nil {
			rec.Type = name
		}
	}
	rec.RequestFrame = q.frame
	rec.Resends = m.same - 1
	t.time(rec, q, m, x, now, r)
	if pair.Damaged && q.replies > 0 {
		return true
	}
	t.answer(x, rec, q)
	t.turn.Request = t.asks(q)
	t.turn.Request.OtherID = m.other && !r.cut // else it may not have been read
	if q.topic&pair.Answers == 0 {
		t.turn.Other = t.turn.Request
	}
	return true
}

// asks returns what rules learn of a request.
func (t *tracker) asks(q *request) *Asked {
	t.counterpart = Asked{
		Frame: q.frame, Type: t.protocols[q.protocol].Messages[q.message], Challenge: q.challenge, ID: q.id,
		Bytes: q.bytes, ReplyBytes: t.replies.at(q.answer).bytes, Replies: int(q.replies), Surplus: int(q.replies) > 1+int(q.copies)+int(q.merged),
	}
	return &t.counterpart
}

// answer notes that q had a reply.
func (t *tracker) answer(x *arrival, rec *Record, q *request) {
	pair, p := &rec.Pair, t.protocols[x.protocol]
	got := t.take(q, x, rec.Frame, nanos(rec.Time))
	q.damaged = pair.Damaged
	t.cover(q, x, pair.Tries)
	if pair.Challenge == ChallengeIssued {
		got.givenIn = rec.Frame
		return
	}
	if !got.data && got.givenIn != 0 && q.challenge == ChallengeUsed && q.replies == 2 {
		q.replies = 1 // the challenge was not the answer, but an earlier one that came again
	}
	got.data = true
	switch {
	case p.Pairing.Endless != nil:
		t.listed(q, pair)
	case p.Pairing.Paged:
		t.paged(q, rec)
	}
	t.players(q, rec)
	if t.gives>>x.protocol&1 != 0 {
		k := peerOf(x.protocol, rec.Dst, rec.Src)
		if known := t.peers.find(&k); known != nil {
			known.streak, known.refused = 0, 0
		}
	}
}

// players notes how many players the reply to q states, and if it lists them how many
// the server stated before.
func (t *tracker) players(q *request, rec *Record) {
	if n := rec.Server.Players; n.OK {
		t.replies.at(q.answer).stated = uint16(min(max(n.Value, 0), 1<<16-2)) + 1
	}
	if !rec.Pair.Lists {
		return
	}
	for i := t.flows.flows[q.flow].requests; i != none; i = t.requests[i].below {
		o := &t.requests[i]
		if stated := t.replies.at(o.answer).stated; stated != 0 && o.protocol == q.protocol && o.up == q.up {
			t.turn.Stated = int(stated) - 1
			return
		}
	}
}

// seeks grades how much a request asks for a challenge.
func seeks(q *request) int {
	switch q.challenge {
	case ChallengeSeed, ChallengeWanted:
		return 2
	case ChallengeAbsent:
		return 1
	}
	return 0
}

// given notes a challenge that a server gave.
func (t *tracker) given(rec *Record, proto int8, answered int32, now int64) {
	t.gives |= 1 << proto
	if v := uint32(rec.Pair.Value); v == 0 || v == 1<<32-1 {
		t.givesSeeds |= 1 << proto
	}
	known := t.peer(proto, rec.Dst, rec.Src)
	if known.n == 0 || known.given[0] != rec.Pair.Value {
		t.turn.Changed, t.turn.ChangedAfter = known.n > 0 && now >= known.at, time.Duration(now-known.at)
		copy(known.given[1:], known.given[:])
		known.given[0] = rec.Pair.Value
		known.at = now
		if int(known.n) < len(known.given) {
			known.n++
		}
	}
	if known.streak < 255 {
		known.streak++
	}
	if answered != none && t.requests[answered].challenge == ChallengeUsed && known.refused < 255 {
		known.refused++
	}
	t.turn.InARow, t.turn.Refused = int(known.streak), int(known.refused)
}

// saidKept is how long a server is taken to say the same again; then it says it anew.
const saidKept = 5 * time.Second

// said notes what a reply says, and finds out whether the server said it before.
func (t *tracker) said(rec *Record, proto int8, now int64) {
	known := t.peer(proto, rec.Dst, rec.Src)
	if age := now - known.saidAt; known.said == rec.Pair.Sum && age >= 0 && age <= int64(saidKept) {
		t.turn.SaidIn, t.turn.SaidAgo = known.saidIn, time.Duration(age)
		return
	}
	known.said, known.saidIn, known.saidAt = rec.Pair.Sum, rec.Frame, now
}

// peer returns what is known of a client and a server, nothing if they are new.
func (t *tracker) peer(proto int8, client, server netip.AddrPort) *peer {
	k := peerOf(proto, client, server)
	return t.peers.get(&k)
}

// forgotten is how many peers and lists made room for others.
func (t *tracker) forgotten() uint64 {
	return t.peers.forgotten + t.lists.forgotten
}

func nanos(t time.Time) int64 { return t.UnixNano() }

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

func appendInt(b []byte, n int) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
