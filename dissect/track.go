package dissect

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// A Topic is a set of kinds of requests; each protocol assigns its bits.
type Topic uint32

// A Challenge says how a message uses challenge numbers, by which servers verify the
// address of a client.
type Challenge uint8

const (
	// NoChallenge: it does not use them.
	NoChallenge Challenge = iota
	// ChallengeAbsent: a request that may carry one and does not.
	ChallengeAbsent
	// ChallengeSeed: a request with the value that asks for one.
	ChallengeSeed
	// ChallengeUsed: a request that carries one.
	ChallengeUsed
	// ChallengeIssued: a reply that issues one.
	ChallengeIssued
	// ChallengeWanted: a request that only asks for one.
	ChallengeWanted
)

// AnyID equals every [Pair.ID].
const AnyID = 1<<64 - 1

func sameID(a, b uint64) bool { return a == b || a == AnyID || b == AnyID }

// Pair describes how a message is matched.
type Pair struct {
	// Damaged marks a part of a reply that cannot be placed. It answers in part
	// until a complete reply comes.
	Damaged bool
	// Asks is the kind of a request.
	Asks Topic
	// Answers is the set of kinds that a reply may answer.
	Answers Topic
	// Also is the set of kinds whose main reply a reply may accompany.
	Also Topic
	// ID must be equal in request and reply. It is 0 if the protocol has none,
	// [AnyID] if only this message has none.
	ID uint64
	// Tries says that the requests that a reply answers ask one question in several
	// formats, one after the other until a reply comes. If more than one is pending,
	// the round trip is ambiguous, and none of them is unanswered.
	Tries bool
	// May is the set of kinds that may answer a one-way message, as a server may
	// that rejects it.
	May Topic
	// Challenge and Value are the message's challenge number.
	Challenge Challenge
	Value     uint64
	// Port is the port that a reply states for its server, 0 for none.
	Port uint16
	// Page serves lists that are requested page by page: the entry after which a
	// request continues, and the last entry of a reply; 0 is the start and the end
	// of the list. Entries is the number of entries of a reply. See [Pairing.Paged].
	Page    uint64
	Entries int
	// Scope is the restriction of a list, which is the same for all its pages: the
	// region in the lowest 8 bits, the filter in the others. 0 is not compared.
	// Begins is the first entry of a reply, 0 for none.
	Scope, Begins uint64
	// Lists says that Entries counts the players of the server.
	Lists bool
	// Sum is a checksum of the content of a reply without what depends on the
	// client, 0 for none. See [Turn.SameIn].
	Sum uint32
	// Last marks the end of a list that one request returns in several replies. See
	// [Pairing.Endless].
	Last bool
}

// Pairing describes how requests and replies of a protocol are matched, and the
// rules that judge them. Findings may be nil, which disables them. All findings,
// also those of rules, are listed in Protocol.Findings.
type Pairing struct {
	// Unanswered reports a request without a reply. Its arguments are the title of
	// the message and a hint: the time waited, the retransmissions, and what else
	// the server answers.
	Unanswered *FindingType
	// UnansweredChallenge replaces Unanswered if the request carried a valid
	// challenge.
	UnansweredChallenge *FindingType
	// Endless reports a list whose last reply is missing. Its arguments are the
	// numbers of replies and of entries.
	Endless *FindingType
	// ChallengeLoop reports clients that get one challenge after the other and no data. It may be nil.
	ChallengeLoop *FindingType
	// TooOften reports an unanswered request that exceeds a rate limit of servers:
	// Most requests Within a time, as far as the conversation shows. Its argument is
	// the number of the request.
	TooOften *FindingType
	Most     int
	Within   time.Duration
	// OtherIDs says that a reply whose id matches no request may still answer one.
	OtherIDs bool
	// Paged says that lists are requested page by page, see [Pair.Page].
	Paged bool
	// Named returns the type of a reply to a request, for protocols whose replies do
	// not state what they answer. It may be nil, and may return nil to keep the
	// type.
	Named func(request, reply *MessageType) *MessageType
	// OnRequest judges each request, OnReply each reply to a request, and OnStray
	// each reply without one.
	OnRequest, OnReply, OnStray []Rule
}

// A request is a request that is pending or may get more replies. Like flows it has
// no pointers. The state of its replies is in [answer], state that few requests need
// in [rare].
type request struct {
	frame        uint64
	time         int64
	sent         int64 // of the newest sending
	id           uint64
	flow         int32
	below        int32 // older request of the same flow
	older, newer int32 // of all flows, by the time of sending; older of a free place is the next one
	answer, rare int32 // places of what only some requests have
	topic        Topic
	sum          uint32
	bytes        uint32
	claim        uint32 // the set of parts that began to answer it
	replies      uint16
	sends        uint16
	merged       uint32 // sendings that have no entry of their own
	arriving     uint16 // windows that it waits on, because parts of a reply came
	protocol     int8
	message      uint8 // index in the protocol's list
	challenge    Challenge
	copies       uint8
	up           bool   // direction within the flow
	proven       bool   // carries a challenge that was given
	refused      bool   // an ICMP error said that it did not arrive
	optional     bool   // no reply is due
	repeated     bool   // a later request repeats it
	covered      bool   // a reply came that may be its own
	spent        bool   // its reply came, or was lost, as later replies show
	late         bool   // the time for its reply is over, and that was reported
	damaged      bool   // all that came of the reply is a part without a place
	unclear      bool   // which reply is its own cannot be told
	doubt        bool   // what was taken for a copy may have answered it
	marked       bool   // by the handler
	vouched      bool   // its sender proved itself in another request
	marks        uint32 // merged sendings that the handler marked
}

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
	parts, total uint16 // of a partial reply
	protocol     int8   // of the first reply
	message      uint8  // index of its type in the protocol's list plus one, 0 if it is none
	stated       uint16 // players that the reply stated plus one, 0 if it stated none
	copies       uint8
	data         bool // a reply with data came
	ended        bool // a reply was the last of its list
	partial      bool // the first reply lacks parts
	unused       bool // only a challenge came, and no request used it
}

func (o *answer) next() *uint32 { return &o.bytes }

// A rare is state that few requests need.
type rare struct {
	origin      uint64 // frame of the first sending of the question, 0 if this is it
	originTime  int64
	also        uint64    // other protocols it could be of
	other       uint64    // frame of the newest reply of another kind that came while it waited
	page, scope uint64    // where a list goes on, and what it is restricted to
	entries     uint32    // of the list so far
	often       uint32    // requests of late, if they are too many
	from        serverKey // where the reply came from that did not come from the server
	link        uint8     // place of the interface and the VLAN in a list
}

func (r *rare) next() *uint32 { return &r.entries }

// rareOf returns the rare state of a request for reading.
func (t *tracker) rareOf(q *request) *rare { return t.rares.at(q.rare) }

// ownRare returns it for writing.
func (t *tracker) ownRare(q *request) *rare { return t.rares.own(&q.rare) }

// A link is where requests were captured.
type link struct {
	name string
	vlan uint16
}

// linkOf returns the place of the link of a message, 0 if it has none or there are too many.
func (t *tracker) linkOf(rec *Record) uint8 {
	l := link{rec.Interface, rec.VLAN}
	i := slices.Index(t.links, l)
	if i < 0 && len(t.links) < 1<<8 {
		i = len(t.links)
		t.links = append(t.links, link{strings.Clone(l.name), l.vlan})
	}
	return uint8(max(i, 0))
}

// facts is what a reply says of its server.
type facts struct {
	Server
	free uint32
}

func (f *facts) next() *uint32 { return &f.free }

// origin returns the frame and time of the first transmission of a request.
func (t *tracker) origin(q *request) (frame uint64, at int64) {
	if o := t.rareOf(q); o.origin != 0 {
		return o.origin, o.originTime
	}
	return q.frame, q.time
}

// A peerKey is a client and a server that issues it challenges. The port of the
// client is not part of it: servers compute challenges from the address alone, and
// some clients use a new port for every request.
type peerKey struct {
	client, server [16]byte
	port           uint16
	protocol       int8
}

type peer struct {
	challenges [4]uint64 // newest first
	n          uint8
	streak     uint8  // challenges in a row without data
	refused    uint8  // of them, those that answered a challenge
	sum        uint32 // sum of the last reply that has one
	at         int64
	sumFrame   uint64 // frame of it
	sumTime    int64
}

// A tracker matches requests and replies and follows challenges.
type tracker struct {
	limits   Limits
	flows    *flowTable
	requests []request
	free     int32 // the first free place, none if there is none
	replies  side[answer, *answer]
	rares    side[rare, *rare]
	facts    side[facts, *facts]
	links    []link
	waiting  requestList // by the time of sending
	late     requestList // those whose time is over
	live     int
	peers    *recent[peerKey, peer]
	// proofs has the times when clients last proved themselves. Whoever forges addresses
	// cannot fill it.
	proofs    *recent[peerKey, int64]
	keepFacts bool  // see Config.Facts
	opened    int32 // the request that the message is, or is merged with, none if it is no request
	merged    bool
	issuers   uint64 // protocols of which a server gave a challenge
	// issueSeeds are those of which a server gave one that clients also send
	// to ask for one: 0 or -1.
	issueSeeds uint64
	// answering counts what servers are asked and answer, and hosts remembers
	// on which port a host answers: hints of why a request has no reply, and no
	// state that one could lose.
	answering *recent[serverKey, answering]
	hosts     *recent[[16]byte, host]
	// servers remembers what a server spoke, of protocols that share a wire
	// format: the next client's handshake is decided by it.
	servers *recent[netip.AddrPort, int8]
	lists   *recent[peerKey, pages]

	protocols          []*Protocol
	finding            func(*FlowFinding)
	exchange           func(*Exchange)
	evicted            uint64
	outcomes           Outcomes
	ambiguous          uint64
	ended              func(*flow) // told of a conversation before it is evicted
	unansweredReported uint64
	hearsay            *hearsay
	end                int64 // time of the end of the input, 0 before
	hint               []byte
	others             []*Protocol // of a finding
	outgoing           FlowFinding // handed out, kept here so that telling allocates nothing
	closed             Exchange
	turn               Turn // what is judged, with what it points to
	counterpart        Asked
	page               Page
}

func newTracker(protocols []*Protocol, l Limits, finding func(*FlowFinding), exchange func(*Exchange)) *tracker {
	t := &tracker{
		limits: l, free: none, replies: newSide[answer](), rares: newSide[rare](), facts: newSide[facts](), links: make([]link, 1), protocols: protocols, finding: finding, exchange: exchange,
		waiting: requestList{oldest: none, newest: none}, late: requestList{oldest: none, newest: none},
		peers: newRecent[peerKey, peer](l.Peers, (*hasher).peer), hearsay: newHearsay(), proofs: newRecent[peerKey, int64](l.Peers, (*hasher).peer), opened: none,
		answering: newRecent[serverKey, answering](l.servers(), (*hasher).server),
		hosts:     newRecent[[16]byte, host](l.servers(), (*hasher).address), lists: newRecent[peerKey, pages](l.lists(), (*hasher).peer),
	}
	t.servers = newRecent[netip.AddrPort, int8](maxServers, (*hasher).endpoint)
	t.flows = newFlowTable(l.Flows, func(i int32, full bool) {
		for t.flows.flows[i].requests != none {
			t.closeRequest(t.flows.flows[i].requests, full)
		}
		if f := &t.flows.flows[i]; f.extra != 0 && t.ended != nil {
			t.ended(f)
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

// request adds a request and compares it with the earlier ones.
func (t *tracker) request(x *arrival, rec *Record) {
	now, proto, up := x.at, x.protocol, x.ends.up
	p := t.protocols[proto]
	f := &t.flows.flows[x.flow]
	t.turn.Opens = f.ask(up)
	if rec.Pair.Asks != 0 {
		f.lastRequest = now
	}
	pair := &rec.Pair
	if pair.Challenge == ChallengeSeed && t.issueSeeds>>proto&1 != 0 && t.issued(rec, proto) {
		pair.Challenge = ChallengeUsed
	}
	often := 0
	if p.Pairing.TooOften != nil {
		often = t.countSends(f.requests, proto, up, now)
	}
	i := t.newRequest()
	q := &t.requests[i]
	*q = request{} // value by value: a literal would be made elsewhere and copied
	q.flow, q.below, q.frame, q.time, q.sent = x.flow, f.requests, rec.Frame, now, now
	q.id, q.topic, q.sum, q.bytes, q.sends = pair.ID, pair.Asks|pair.May, x.sum, uint32(x.wire), 1
	q.protocol, q.message, q.challenge, q.up = proto, t.messageIndex(p, rec.Type), pair.Challenge, up
	q.unclear, q.optional = x.near, pair.Asks == 0
	again, proven := false, false
	if q.below != none {
		n, same, last, newest := t.compare(q)
		if again = t.repeats(newest) && !q.optional; again {
			o := &t.requests[newest]
			origin, at := t.origin(o)
			q.sends, proven = increased(o.sends), o.proven
			t.turn.Repeats, t.turn.RepeatsAfter = origin, time.Duration(max(now-at, 0))
			if same < maxSame {
				o.repeated = true
				r := t.ownRare(q)
				r.origin, r.originTime = origin, at
			}
		}
		if same >= maxSame {
			rec.Proven = proven
			t.merge(newest, q)
			t.opened, t.merged = newest, true
			t.sentOften(&t.requests[newest], often)
			q.older, t.free = t.free, i
			return
		}
		if n >= maxPerFlow {
			t.closeRequest(last, true)
		}
	}
	if t.live >= t.limits.Requests {
		t.makeRoom()
	}
	q.below = f.requests // the one before may have made room
	t.sentOften(q, often)
	if rec.also != 0 {
		t.ownRare(q).also = rec.also
	}
	if pair.Page != 0 || pair.Scope != 0 {
		t.continues(q, rec)
	}
	f.requests = i
	t.live++
	t.waiting.link(t.requests, i)
	if !q.optional {
		t.countRequest(q)
	}
	if !again {
		proven = t.proves(x, rec)
	}
	q.proven, rec.Proven = proven, proven
	t.opened, t.merged = i, false
	switch {
	case proven:
		k := peerOf(proto, rec.Src, rec.Dst)
		*t.proofs.get(&k) = now
	case t.proofs.len() > 0:
		k := peerOf(proto, rec.Src, rec.Dst)
		at := t.proofs.find(&k)
		q.vouched = at != nil && now-*at <= int64(vouchedFor)
	}
	if pair.Challenge == ChallengeUsed && !proven && !again {
		t.uses(q, pair.Value)
	}
	if (rec.VLAN != 0 || rec.Interface != "") && t.exchange != nil {
		t.ownRare(q).link = t.linkOf(rec)
	}
}

// mark records that the handler marked the request that the message is.
func (t *tracker) mark() {
	switch {
	case t.opened == none:
	case t.merged:
		q := &t.requests[t.opened]
		q.marks++
	default:
		t.requests[t.opened].marked = true
	}
}

// compare compares a new request with the earlier ones of its conversation: n is
// their number and last the oldest, newest the newest with the same bytes, and same
// the number of pending ones with the same bytes.
func (t *tracker) compare(q *request) (n, same int, last, newest int32) {
	last, newest = none, none
	for i := t.flows.flows[q.flow].requests; i != none; i = t.requests[i].below {
		o := &t.requests[i]
		n++
		last = i
		if o.protocol != q.protocol || o.up != q.up || o.topic != q.topic {
			continue
		}
		if o.sameAs(q) {
			if newest == none {
				newest = i
			}
			if o.open() && !o.late {
				same++
			}
		}
		got := t.replies.at(o.answer)
		if got.issuedIn == 0 || got.data || o.message != q.message {
			continue
		}
		if (q.challenge == ChallengeAbsent || q.challenge == ChallengeSeed) && !t.repeats(newest) {
			t.turn.Ignored = max(t.turn.Ignored, got.issuedIn)
		}
		// This is reported once, and not for a client that used the challenge and
		// starts again with its next request.
		got.data, got.unused = true, q.challenge != ChallengeUsed
	}
	return n, same, last, newest
}

// repeats reports whether a request with the bytes of request i is a retransmission:
// no reply came that may answer i.
func (t *tracker) repeats(i int32) bool {
	if i == none {
		return false
	}
	q := &t.requests[i]
	return q.replies == 0 && !q.covered && !q.late && !q.refused
}

// merge counts a retransmission with request i, without an entry of its own.
func (t *tracker) merge(i int32, q *request) {
	o := &t.requests[i]
	o.sends, o.merged, o.unclear, o.sent = q.sends, o.merged+1, true, q.sent
	if !q.optional {
		t.countRequest(o)
	}
	t.waiting.unlink(t.requests, i)
	t.waiting.link(t.requests, i)
}

// makeRoom evicts an expired request, else the oldest one.
func (t *tracker) makeRoom() {
	i := t.late.oldest
	if i == none {
		i = t.waiting.oldest
	}
	t.closeRequest(i, true)
}

// newRequest returns a place in the slab.
func (t *tracker) newRequest() int32 {
	if i := t.free; i != none {
		t.free = t.requests[i].older
		return i
	}
	i := len(t.requests)
	t.requests = withRoom(t.requests, t.limits.Requests+1)[:i+1] // a request has its place before another makes room
	return int32(i)
}

func increased(n uint16) uint16 { return min(n, 1<<16-2) + 1 }

// countSends returns the number of recent requests if it exceeds the limit of the
// protocol, else 0. i is the newest earlier request.
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

// sentOften records the number of recent requests, to be reported if q remains
// unanswered.
func (t *tracker) sentOften(q *request, n int) {
	if n > 0 {
		t.ownRare(q).often = uint32(n)
	}
}

// proves reports whether a message carries a challenge that was issued to its
// sender.
func (t *tracker) proves(x *arrival, rec *Record) bool {
	if rec.Pair.Challenge != ChallengeUsed || t.issuers>>x.protocol&1 == 0 {
		return false
	}
	k := peerOf(x.protocol, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	if known == nil || known.n == 0 {
		return false
	}
	t.turn.Issued = known.challenges[:known.n]
	t.turn.Wrong = !slices.Contains(t.turn.Issued, rec.Pair.Value)
	return !t.turn.Wrong
}

// issued reports whether a server issued the value that a request to it carries.
func (t *tracker) issued(rec *Record, proto int8) bool {
	k := peerOf(proto, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	return known != nil && slices.Contains(known.challenges[:known.n], rec.Pair.Value)
}

// listed records one of several replies with a list.
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

// otherKind returns the oldest pending request for other topics and records the
// frame of the reply with all of them.
func (t *tracker) otherKind(x *arrival, topics Topic) int32 {
	found := none
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up != x.ends.up && q.frame <= x.part && t.related(q.protocol, x.protocol) && q.topic&topics == 0 && q.open() && !q.late && !q.optional {
			t.ownRare(q).other = x.Frame
			found = i
		}
	}
	return found
}

// awaits reports whether a flow has a request of a protocol for one of topics, in
// the other direction, that has not expired; if late is true, one that expired
// without a reply.
func (t *tracker) awaits(fi int32, up bool, proto int8, topics Topic, late bool) bool {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if t.related(q.protocol, proto) && q.up != up && q.late == late && (!late || q.replies == 0) && (topics == 0 || q.topic&topics != 0) {
			return true
		}
	}
	return false
}

// awaited returns the protocol of all requests in the other direction that have not expired,
// -1 if there are none or several, or if one may be of another protocol as well.
func (t *tracker) awaited(fi int32, up bool) int8 {
	p := int8(-1)
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		switch {
		case q.up == up:
		case q.rare != 0 && t.rareOf(q).also != 0:
			return -1
		case !q.late && p >= 0 && q.protocol != p:
			return -1
		case !q.late:
			p = q.protocol
		}
	}
	return p
}

// alsoAwaits returns the alternatives of the newest pending request of a protocol.
func (t *tracker) alsoAwaits(fi int32, up bool, proto int8) uint64 {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.protocol == proto && q.up != up {
			return t.rareOf(q).also
		}
	}
	return 0
}

// maxServers is the number of servers whose protocol is remembered.
const maxServers = 1024

// proved records the protocol of the server of a message.
func (t *tracker) proved(rec *Record, proto int8) {
	server := rec.Src
	if rec.Type.Role == Request {
		server = rec.Dst
	}
	*t.servers.get(&server) = proto
}

// related reports whether two protocols are the same or of one family.
func (t *tracker) related(a, b int8) bool {
	return a == b || t.protocols[a].Family != "" && t.protocols[a].Family == t.protocols[b].Family
}

// reply matches a reply with its request and prepares the rules. It reports false if
// the reply is a duplicate.
func (t *tracker) reply(x *arrival, rec *Record, r *Reader) bool {
	now, proto, fi := x.at, x.protocol, x.flow
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
		t.replied(x)
	}
	if pair.Sum != 0 {
		t.rememberReply(rec, proto, now)
	}
	if pair.Port != 0 {
		checkPort(rec, r)
	}
	i := m.request
	if pair.Challenge == ChallengeIssued {
		t.challengeIssued(rec, proto, i, now)
	}
	if i == none {
		if j := t.otherKind(x, pair.Answers); j != none {
			t.turn.Other = t.asks(&t.requests[j])
		} else {
			if t.turn.Unrequested = t.flows.flows[fi].requested(); !t.turn.Unrequested {
				t.strayed(x, pair)
			}
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
	t.describe(q, rec)
	t.turn.Request = t.asks(q)
	t.turn.Request.OtherID = m.other && !r.cut && !r.Failed() // else it may not have been read
	if q.topic&pair.Answers == 0 {
		t.turn.Other = t.turn.Request
	}
	return true
}

// describe records what an exchange says of a reply.
func (t *tracker) describe(q *request, rec *Record) {
	got := t.replies.at(q.answer)
	if got.message == 0 {
		got.protocol, got.message = int8(slices.Index(t.protocols, rec.Protocol)), t.messageIndex(rec.Protocol, rec.Type)+1
	}
	if rec.Split.Partial {
		got.parts, got.total = uint16(min(rec.Split.Parts, 1<<16-1)), uint16(min(rec.Split.Total, 1<<16-1))
	}
	if t.keepFacts && got.facts == 0 && rec.Server.Stated() {
		t.facts.own(&got.facts).Server = rec.Server.Clone()
	}
}

// asks describes a request for rules.
func (t *tracker) asks(q *request) *Asked {
	o := &t.counterpart // filled value by value: a literal would be copied
	o.Frame, o.Type, o.Challenge, o.ID, o.OtherID = q.frame, t.protocols[q.protocol].Messages[q.message], q.challenge, q.id, false
	o.Bytes, o.ReplyBytes, o.Replies = q.bytes, t.replies.at(q.answer).bytes, int(q.replies)
	o.Surplus = o.Replies > 1+int(q.copies)+int(q.merged)
	return o
}

// answer records a reply to q.
func (t *tracker) answer(x *arrival, rec *Record, q *request) {
	pair, p := &rec.Pair, t.protocols[x.protocol]
	got := t.take(q, x, rec.Frame, x.at)
	q.damaged = pair.Damaged
	t.cover(q, x, pair.Tries)
	if pair.Challenge == ChallengeIssued {
		got.issuedIn, got.unused = rec.Frame, !got.data
		return
	}
	if !got.data && q.challenge == ChallengeUsed && q.replies == 2 {
		q.replies = 1 // the challenge was not the answer, but an earlier one that came again
	}
	got.data, got.unused = true, false
	switch {
	case p.Pairing.Endless != nil:
		t.listed(q, pair)
	case p.Pairing.Paged:
		t.paged(q, rec)
	}
	t.players(q, rec)
	if t.issuers>>x.protocol&1 != 0 {
		k := peerOf(x.protocol, rec.Dst, rec.Src)
		if known := t.peers.find(&k); known != nil {
			known.streak, known.refused = 0, 0
		}
	}
}

// players records the number of players that a reply states, and finds the number
// stated before if it lists the players.
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

// challengeIssued records a challenge that a server issued.
func (t *tracker) challengeIssued(rec *Record, proto int8, answered int32, now int64) {
	t.issuers |= 1 << proto
	if v := uint32(rec.Pair.Value); v == 0 || v == 1<<32-1 {
		t.issueSeeds |= 1 << proto
	}
	known := t.peer(proto, rec.Dst, rec.Src)
	if known.n == 0 || known.challenges[0] != rec.Pair.Value {
		t.turn.Changed, t.turn.ChangedAfter = known.n > 0 && now >= known.at, time.Duration(now-known.at)
		copy(known.challenges[1:], known.challenges[:])
		known.challenges[0] = rec.Pair.Value
		known.at = now
		if int(known.n) < len(known.challenges) {
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

// sameReplyWindow is the time within which an equal reply counts as cached.
const sameReplyWindow = 5 * time.Second

// rememberReply remembers a reply's checksum and reports a cached reply to the
// rules.
func (t *tracker) rememberReply(rec *Record, proto int8, now int64) {
	known := t.peer(proto, rec.Dst, rec.Src)
	if age := now - known.sumTime; known.sum == rec.Pair.Sum && age >= 0 && age <= int64(sameReplyWindow) {
		t.turn.SameIn, t.turn.SameAgo = known.sumFrame, time.Duration(age)
		return
	}
	known.sum, known.sumFrame, known.sumTime = rec.Pair.Sum, rec.Frame, now
}

// peer returns the state of a client and a server, which may be new.
func (t *tracker) peer(proto int8, client, server netip.AddrPort) *peer {
	k := peerOf(proto, client, server)
	return t.peers.get(&k)
}

// peersEvicted is the number of evicted peers and lists.
func (t *tracker) peersEvicted() uint64 {
	return t.peers.evicted + t.lists.evicted
}

func nanos(t time.Time) int64 { return t.UnixNano() }

func fromNanos(n int64) time.Time { return time.Unix(n/1e9, n%1e9).UTC() }

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
