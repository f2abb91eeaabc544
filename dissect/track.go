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
	// Challenge and Value are the message's challenge number.
	Challenge Challenge
	Value     uint64
	// Port is the port that a reply states for its server; 0 for none.
	Port uint16
	// Page is for lists that are asked for in pieces, each from where the one
	// before ended: the place that a request goes on from, and the one where
	// a reply ends; 0 is the beginning and the end of the list. Entries is
	// the number of entries in a reply. See [Pairing.List].
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
	// [Pairing.Cached].
	Sum uint32
	// Last says that a reply ends its list, where a list that is asked for
	// once comes in several replies. See [Pairing.Endless].
	Last bool
}

// Pairing declares what is said of requests and replies of a protocol. Each
// finding may be nil: then it is not said. All of them stand in the protocol's
// list of findings as well.
type Pairing struct {
	// Unanswered: no reply came. Takes the message's title, the time waited,
	// the number of times it was sent, and a hint.
	Unanswered *FindingType
	// UnansweredChallenge: the same, though the challenge was right.
	UnansweredChallenge *FindingType
	// Unrequested: a reply without a request, though requests of this flow
	// were seen.
	Unrequested *FindingType
	// Several: more than one reply to one request. Takes the frame of the
	// request and the number of this reply.
	Several *FindingType
	// Required: the server answered a request without a challenge by giving
	// one.
	Required *FindingType
	// Missing: the client asked again without the challenge that it was
	// given. Takes the frame in which it was given.
	Missing *FindingType
	// Mismatch: a request carries a value that was not given to this client.
	// Takes the value and the one given.
	Mismatch *FindingType
	// Refused: a request with a challenge was answered with another one.
	Refused *FindingType
	// Loop: that again and again. Takes the number of times.
	Loop *FindingType
	// Changed: a new value though the last one is young. Takes its age.
	Changed *FindingType
	// Amplification: a reply with data to a request that proved no address.
	// Takes the ratio, the bytes of the reply and those of the request.
	Amplification *FindingType
	// AmplifyFrom is the ratio, in tenths, from which that is said.
	AmplifyFrom int
	// Echo: a reply whose id is that of no request, but which answers what
	// one asks for. Takes the frame of that request, the id of the reply and
	// that of the request. If nil, such replies have no request.
	Echo *FindingType
	// OtherKind: a reply that is not what its request asks for, but comes
	// instead of it ([Pair.Also]). Takes the title and the frame of the
	// request.
	OtherKind *FindingType
	// SamePort: the first request of a conversation goes to the number of
	// the port that it comes from.
	SamePort *FindingType
	// Endless: replies to one request gave a list and none was the last of
	// it. Takes the number of replies and that of entries.
	Endless *FindingType
	// List: a list that came in several pieces is at its end. Takes the
	// number of entries, that of replies, and the frame of the first request.
	List *FindingType
	// Pages is what is said of a list whose pages do not follow each other.
	Pages Paging
	// Repeat: a reply ends where its request wanted to go on from.
	Repeat *FindingType
	// Cached: a server says the same to the same client within CachedFor.
	// Takes the frame in which it said so first, and the time since.
	Cached    *FindingType
	CachedFor time.Duration
	// Listed: a reply lists another number of players than the server has just
	// stated. Takes the number listed and that stated. See [Pair.Lists].
	Listed *FindingType
	// TooOften: a request that is one more than the Most that servers answer
	// Within a time, as far as the conversation tells. Takes its number.
	TooOften *FindingType
	Most     int
	Within   time.Duration
	// Named returns what a reply is called that answers a request, for
	// protocols whose replies do not say what they answer; nil leaves it what
	// the decoder called it.
	Named func(request, reply *MessageType) *MessageType
}

// request is a request that waits for replies, or had some and may get more.
// Like flows it holds no pointers.
type request struct {
	flow         int32
	below        int32 // older request of the same flow
	older, newer int32 // of all flows, by the time of sending
	frame        uint64
	time         int64 // of the first sending
	sent         int64 // of the newest sending
	firstReply   int64
	lastReply    int64
	givenIn      uint64 // frame of the reply that gave a challenge instead of data
	id           uint64
	page         uint64 // where a list goes on
	scope        uint64
	entries      uint32 // of the list so far
	topic        Topic
	also         uint32 // other protocols it could be of
	sum          uint32
	bytes        uint32
	replyBytes   uint32
	replies      uint16
	sends        uint16
	arriving     uint16 // windows that it waits on, because parts of a reply came
	stated       uint16 // players that the reply stated plus one, 0 if it stated none
	protocol     int8
	message      uint8 // index in the protocol's list
	challenge    Challenge
	up           bool // direction within the flow
	data         bool // a reply with data came
	proven       bool // carries a challenge that was given
	ended        bool // a reply was the last of its list
	refused      bool // an ICMP error said that it did not arrive
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
	oldest   int32
	newest   int32
	live     int
	peers    *recent[peerKey, peer]
	gives    uint32 // protocols of which a server gave a challenge
	// givesSeeds are those of which a server gave one that clients also send
	// to ask for one: 0 or -1.
	givesSeeds uint32
	// answering remembers on which port a host answers, for the hint that a
	// query went to the wrong one.
	answering *recent[[16]byte, answering]
	// servers remembers what a server spoke, of protocols that share a wire
	// format: the next client's handshake is decided by it.
	servers *recent[netip.AddrPort, int8]
	lists   *recent[peerKey, pages]

	protocols []*Protocol
	finding   func(*FlowFinding)
	exchange  func(*Exchange)
	evicted   uint64
	refused   uint64 // requests that ended so
	end       int64  // time of the end of the input, 0 before
	hint      []byte
	others    []*Protocol // of a finding
	told      FlowFinding // handed out, kept here so that telling allocates nothing
	closed    Exchange
}

type answering struct {
	port     uint16
	protocol int8
}

func newTracker(protocols []*Protocol, l Limits, finding func(*FlowFinding), exchange func(*Exchange)) *tracker {
	t := &tracker{
		limits: l, protocols: protocols, finding: finding, exchange: exchange,
		oldest: none, newest: none,
		peers: newRecent[peerKey, peer](l.Peers), answering: newRecent[[16]byte, answering](l.Peers),
		lists: newRecent[peerKey, pages](l.lists()),
	}
	t.servers = newRecent[netip.AddrPort, int8](maxServers)
	t.flows = newFlowTable(l.Flows, func(i int32, full bool) {
		for t.flows.flows[i].requests != none {
			if full {
				t.evicted++
			}
			t.closeRequest(t.flows.flows[i].requests, !full)
		}
	})
	return t
}

// maxPerFlow is how many requests may wait in one flow: clients have at most a
// handful, a flood from one source has any number.
const maxPerFlow = 32

// request notes a request and finds what can be said of it already.
func (t *tracker) request(rec *Record, proto int8, fi int32, up bool, sum uint32, bytes int, r *Reader) {
	now := nanos(rec.Time)
	p := t.protocols[proto]
	f := &t.flows.flows[fi]
	if p.Pairing.SamePort != nil && !f.requested && rec.Src.Port() == rec.Dst.Port() {
		r.Note(p.Pairing.SamePort)
	}
	fresh := !f.requested
	f.requested = true
	f.lastRequest = now
	pair := &rec.Pair
	if pair.Challenge == ChallengeSeed && t.givesSeeds>>proto&1 != 0 && t.gave(rec, proto) {
		pair.Challenge = ChallengeUsed
	}
	if p.Pairing.TooOften != nil {
		t.countSends(f.requests, proto, up, now, r)
	}

	n := 0
	last := none
	for i := f.requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		n++
		last = i
		if q.protocol != proto || q.up != up || q.topic != pair.Asks {
			continue
		}
		if q.replies == 0 && !q.refused && q.sum == sum && q.id == pair.ID && int(q.bytes) == bytes {
			if q.sends < 1<<16-1 {
				q.sends++
			}
			r.Note(Retransmitted, Num(q.frame), Dur(time.Duration(now-q.time)))
			t.unlinkRequest(i)
			q.sent = now
			t.linkRequest(i)
			return
		}
		if q.givenIn == 0 || q.data || q.message != t.messageIndex(p, rec.Type) {
			continue
		}
		if (pair.Challenge == ChallengeAbsent || pair.Challenge == ChallengeSeed) && p.Pairing.Missing != nil {
			r.Note(p.Pairing.Missing, Num(q.givenIn))
		}
		// It is said once, and not at all of a client that came back with a
		// challenge and begins anew with its next question.
		q.data = true
	}
	if n >= maxPerFlow {
		// No loss if it had its reply: a client that asks often.
		if t.requests[last].replies == 0 {
			t.evicted++
		}
		t.closeRequest(last, false)
	}
	if t.live >= t.limits.Requests && t.oldest != none {
		t.evicted++
		t.closeRequest(t.oldest, false)
	}
	var i int32
	if k := len(t.free); k > 0 {
		i = t.free[k-1]
		t.free = t.free[:k-1]
	} else {
		i = int32(len(t.requests))
		t.requests = append(t.requests, request{})
	}
	f = &t.flows.flows[fi]
	t.requests[i] = request{
		flow: fi, below: f.requests, frame: rec.Frame, time: now, sent: now, id: pair.ID, topic: pair.Asks,
		sum: sum, bytes: uint32(bytes), sends: 1, protocol: proto, message: t.messageIndex(p, rec.Type),
		challenge: pair.Challenge, up: up, also: rec.also,
	}
	t.goOn(&t.requests[i], rec, fresh, r)
	f.requests = i
	t.live++
	t.linkRequest(i)
	t.requests[i].proven = t.proves(rec, proto, r)
}

// countSends says of a request how many were sent of late, if that is too many.
// i is the newest one before it.
func (t *tracker) countSends(i int32, proto int8, up bool, now int64, r *Reader) {
	p := &t.protocols[proto].Pairing
	n := 1
	for ; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.protocol == proto && q.up == up && now-q.time <= int64(p.Within) {
			n += int(q.sends)
		}
	}
	if n > p.Most {
		r.Note(p.TooOften, Num(n))
	}
}

// proves reports whether a message carries a challenge that was given to its
// sender, and says if it is another one.
func (t *tracker) proves(rec *Record, proto int8, r *Reader) bool {
	pair := &rec.Pair
	if pair.Challenge != ChallengeUsed || t.gives>>proto&1 == 0 {
		return false
	}
	k := peerOf(proto, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	if known == nil {
		return false
	}
	for _, v := range known.given[:known.n] {
		if v == pair.Value {
			return true
		}
	}
	if what := t.protocols[proto].Pairing.Mismatch; what != nil {
		last := known.given[0]
		if v, ok := swapped(pair.Value, known.given[:known.n]); ok {
			what, last = ChallengeSwapped, v
		}
		r.Note(what, Num(int32(pair.Value)), Num(int32(last)))
	}
	return false
}

// gave reports whether a server gave the value that a request to it carries.
func (t *tracker) gave(rec *Record, proto int8) bool {
	k := peerOf(proto, rec.Src, rec.Dst)
	known := t.peers.find(&k)
	return known != nil && slices.Contains(known.given[:known.n], rec.Pair.Value)
}

// listed notes one of the replies to the one request for a list, and says at its
// end how long it was.
func (t *tracker) listed(q *request, pair *Pair, p *Pairing, r *Reader) {
	q.entries += uint32(pair.Entries)
	if q.ended = q.ended || pair.Last; pair.Last && q.replies > 1 && p.List != nil {
		r.Note(p.List, Num(q.entries), Num(q.replies), Num(q.frame))
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

// awaits reports whether a flow has a request of a protocol in the other
// direction that still waits, or had its reply a moment ago, for one of topics.
func (t *tracker) awaits(fi int32, up bool, proto int8, topics Topic) bool {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if t.kin(q.protocol, proto) && q.up != up && (topics == 0 || q.topic&topics != 0) {
			return true
		}
	}
	return false
}

// alsoAwaits returns the protocols that the newest waiting request of one could
// be of as well.
func (t *tracker) alsoAwaits(fi int32, up bool, proto int8) uint32 {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.protocol == proto && q.up != up {
			return q.also
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
	known := t.servers.find(&server)
	if known == nil {
		known = t.servers.add(&server)
	}
	*known = proto
}

// kin reports whether two protocols are the same or of one family.
func (t *tracker) kin(a, b int8) bool {
	return a == b || t.protocols[a].Family != "" && t.protocols[a].Family == t.protocols[b].Family
}

// reply finds the request that a reply answers, sets the record's part of the
// pair, and says what is to be said of the two.
func (t *tracker) reply(rec *Record, first time.Time, proto int8, fi int32, up bool, bytes int, r *Reader) {
	now := nanos(rec.Time)
	p := t.protocols[proto]
	pair := &rec.Pair
	if t.flows.flows[fi].answers != proto {
		t.flows.answer(fi, proto)
		t.answers(rec.Src, proto)
	}
	if pair.Sum != 0 && p.Pairing.Cached != nil {
		t.said(rec, p, proto, now, r)
	}

	if pair.Port != 0 {
		checkPort(rec, r)
	}
	// The oldest request that waits for this; else the newest that it may
	// be one more reply to; else the oldest that has another id.
	waiting, extra, other := none, none, none
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if !t.kin(q.protocol, proto) || q.up == up || nanos(first)-q.sent > int64(t.limits.Window) {
			continue
		}
		direct := q.topic&pair.Answers != 0
		if !sameID(q.id, pair.ID) {
			if direct && q.replies == 0 && p.Pairing.Echo != nil {
				other = i
			}
			continue
		}
		if direct && q.replies == 0 && !q.refused {
			// A challenge goes rather to a request that asks for one.
			if pair.Challenge != ChallengeIssued || waiting == none || seeks(q) >= seeks(&t.requests[waiting]) {
				waiting = i
			}
		} else if extra == none && (direct || q.topic&pair.Also != 0) {
			extra = i
		}
	}
	i := waiting
	if i == none {
		i = extra
	}
	if i == none && other != none {
		i = other
		if !r.cut { // else it may not have been read
			r.Note(p.Pairing.Echo, Num(t.requests[i].frame), Num(uint32(pair.ID)), Num(uint32(t.requests[i].id)))
		}
	}

	if pair.Challenge == ChallengeIssued {
		t.given(rec, p, proto, i, now, r)
	}
	if i == none {
		if t.flows.flows[fi].requested && p.Pairing.Unrequested != nil {
			r.Note(p.Pairing.Unrequested)
		}
		return
	}
	q := &t.requests[i]
	rec.Protocol = t.protocols[q.protocol]
	if p.Pairing.Named != nil && rec.Protocol == p {
		if name := p.Pairing.Named(p.Messages[q.message], rec.Type); name != nil {
			rec.Type = name
		}
	}
	if what := p.Pairing.OtherKind; what != nil && q.topic&pair.Answers == 0 {
		r.Note(what, Str(p.Messages[q.message].Title), Num(q.frame))
	}
	rec.RequestFrame = q.frame
	rec.RTT = time.Duration(nanos(first) - q.time)
	rec.LastRTT = time.Duration(now - q.time)
	rec.Resends = int(q.sends) - 1
	if q.replies == 0 {
		q.firstReply = nanos(first)
	}
	q.lastReply = now
	if q.replies < 1<<16-1 {
		q.replies++
	}
	if q.replyBytes += uint32(bytes); q.replyBytes < uint32(bytes) {
		q.replyBytes = 1<<32 - 1
	}
	if rec.LastRTT > rec.RTT {
		r.Note(LastPart, Dur(rec.RTT), Dur(rec.LastRTT))
	}
	if q.replies > q.sends && p.Pairing.Several != nil {
		r.Note(p.Pairing.Several, Num(q.frame), Num(q.replies))
	}
	if pair.Challenge == ChallengeIssued {
		q.givenIn = rec.Frame
		return
	}
	q.data = true
	if p.Pairing.Endless != nil {
		t.listed(q, pair, &p.Pairing, r)
	} else {
		t.page(q, rec, &p.Pairing, r)
	}
	if p.Pairing.Listed != nil {
		t.players(q, rec, p, r)
	}
	if q.challenge == ChallengeAbsent || q.challenge == ChallengeSeed {
		if a := p.Pairing.Amplification; a != nil && int(q.replyBytes)*10 >= int(q.bytes)*p.Pairing.AmplifyFrom {
			r.Note(a, Ratio(int(q.replyBytes), int(q.bytes)), Num(q.replyBytes), Num(q.bytes))
		}
	}
	if t.gives>>proto&1 != 0 {
		k := peerOf(proto, rec.Dst, rec.Src)
		if known := t.peers.find(&k); known != nil && known.streak > 0 {
			known.streak, known.refused = 0, 0
		}
	}
}

// players notes how many players the reply to q states, and compares with that
// how many one lists.
func (t *tracker) players(q *request, rec *Record, p *Protocol, r *Reader) {
	if n := rec.Server.Players; n.OK {
		q.stated = uint16(min(max(n.Value, 0), 1<<16-2)) + 1
	}
	if !rec.Pair.Lists {
		return
	}
	for i := t.flows.flows[q.flow].requests; i != none; i = t.requests[i].below {
		o := &t.requests[i]
		if o.stated == 0 || o.protocol != q.protocol || o.up != q.up {
			continue
		}
		if stated := int(o.stated) - 1; stated != rec.Pair.Entries {
			r.Note(p.Pairing.Listed, Num(rec.Pair.Entries), Num(stated))
		}
		return
	}
}

// arriving notes that a part of a reply came whose parts are decoded even if
// the others never come: the requests that it may answer wait on until it is
// clear what came.
func (t *tracker) arriving(d *Datagram, proto int8, age time.Duration) {
	ends := t.flows.endsOf(d)
	fi := t.flows.find(ends)
	if fi < 0 {
		return
	}
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up != ends.up && q.replies == 0 && t.kin(q.protocol, proto) {
			q.arriving = uint16(min(1+age/t.limits.Window, 1<<16-1))
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

// young is the age below which a changed challenge is worth a word. Valve's
// servers keep one for at least as long.
const young = 30 * time.Second

// given notes a challenge that a server gave.
func (t *tracker) given(rec *Record, p *Protocol, proto int8, answered int32, now int64, r *Reader) {
	t.gives |= 1 << proto
	if v := uint32(rec.Pair.Value); v == 0 || v == 1<<32-1 {
		t.givesSeeds |= 1 << proto
	}
	known := t.peer(proto, rec.Dst, rec.Src)
	if known.n > 0 && known.given[0] != rec.Pair.Value && now-known.at < int64(young) && now >= known.at && p.Pairing.Changed != nil {
		r.Note(p.Pairing.Changed, Dur(time.Duration(now-known.at)))
	}
	if known.n == 0 || known.given[0] != rec.Pair.Value {
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
	if answered != none {
		switch q := &t.requests[answered]; {
		case q.challenge == ChallengeUsed:
			if known.refused < 255 {
				known.refused++
			}
			if p.Pairing.Refused != nil {
				r.Note(p.Pairing.Refused)
			}
		case q.challenge == ChallengeAbsent && p.Pairing.Required != nil:
			r.Note(p.Pairing.Required)
		}
	}
	if known.streak >= 3 && known.refused >= 2 && p.Pairing.Loop != nil {
		r.Note(p.Pairing.Loop, Num(known.streak))
	}
}

// said notes what a reply says, and finds out whether the server said it a
// moment ago.
func (t *tracker) said(rec *Record, p *Protocol, proto int8, now int64, r *Reader) {
	known := t.peer(proto, rec.Dst, rec.Src)
	age := time.Duration(now - known.saidAt)
	if known.said == rec.Pair.Sum && age >= 0 && age <= p.Pairing.CachedFor {
		r.Note(p.Pairing.Cached, Num(known.saidIn), Dur(age))
		return
	}
	known.said, known.saidIn, known.saidAt = rec.Pair.Sum, rec.Frame, now
}

// peer returns what is known of a client and a server, nothing if they are new.
func (t *tracker) peer(proto int8, client, server netip.AddrPort) *peer {
	k := peerOf(proto, client, server)
	if known := t.peers.find(&k); known != nil {
		return known
	}
	return t.peers.add(&k)
}

// forgotten is how many peers, hosts and lists made room for others.
func (t *tracker) forgotten() uint64 {
	return t.peers.forgotten + t.answering.forgotten + t.lists.forgotten
}

// answers notes that a host answers on a port.
func (t *tracker) answers(server netip.AddrPort, proto int8) {
	host := server.Addr().As16()
	known := t.answering.find(&host)
	if known == nil {
		known = t.answering.add(&host)
	}
	*known = answering{server.Port(), proto}
}

func (t *tracker) linkRequest(i int32) {
	q := &t.requests[i]
	q.older, q.newer = t.newest, none
	if t.newest != none {
		t.requests[t.newest].newer = i
	} else {
		t.oldest = i
	}
	t.newest = i
}

func (t *tracker) unlinkRequest(i int32) {
	q := &t.requests[i]
	if q.older != none {
		t.requests[q.older].newer = q.newer
	} else {
		t.oldest = q.newer
	}
	if q.newer != none {
		t.requests[q.newer].older = q.older
	} else {
		t.newest = q.older
	}
}

// closeRequest forgets a request; if tell, what became of it is told first.
func (t *tracker) closeRequest(i int32, tell bool) {
	q := &t.requests[i]
	if tell {
		t.tell(q)
	}
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
	t.unlinkRequest(i)
	t.free = append(t.free, i)
	t.live--
}

func (t *tracker) tell(q *request) {
	p := t.protocols[q.protocol]
	endless := q.entries > 0 && !q.ended && p.Pairing.Endless != nil
	if q.replies > 0 && !endless && t.exchange == nil {
		return // as nearly all end
	}
	src, dst := t.flows.flows[q.flow].key.endpoints(q.up)
	if t.exchange != nil {
		t.closed = Exchange{
			Protocol: p, Frame: q.frame, Time: fromNanos(q.time), Src: src, Dst: dst,
			Replies: int(q.replies), RequestBytes: int(q.bytes), ReplyBytes: int(q.replyBytes),
		}
		if q.replies > 0 {
			t.closed.First, t.closed.Last = time.Duration(q.firstReply-q.time), time.Duration(q.lastReply-q.time)
		}
		t.exchange(&t.closed)
	}
	if q.replies > 0 {
		if endless {
			t.told = FlowFinding{
				Finding: NewFinding(p.Pairing.Endless, Num(q.replies), Num(q.entries)),
				Frame:   q.frame, Time: fromNanos(q.time), Src: src, Dst: dst, Protocol: p,
			}
			t.finding(&t.told)
		}
		return
	}
	if q.refused {
		t.refused++
		return
	}
	what := p.Pairing.Unanswered
	if q.proven && p.Pairing.UnansweredChallenge != nil {
		what = p.Pairing.UnansweredChallenge
	}
	if what == nil {
		return
	}
	t.others = appendSet(t.others[:0], t.protocols, q.also)
	t.hint = t.hint[:0]
	if q.sends > 1 {
		t.hint = append(t.hint, ", sent "...)
		t.hint = appendInt(t.hint, int(q.sends))
		t.hint = append(t.hint, " times"...)
	}
	if left := t.end - q.sent; t.end != 0 && left < int64(t.limits.Window) {
		t.hint = append(t.hint, " before the input ended, "...)
		t.hint = AppendDuration(t.hint, time.Duration(max(left, 0)))
		t.hint = append(t.hint, " later"...)
	}
	host := dst.Addr().As16()
	switch a := t.answering.find(&host); {
	case a == nil:
	case a.port != dst.Port():
		t.hint = append(t.hint, "; the same host answers "...)
		t.hint = append(t.hint, t.protocols[a.protocol].Name...)
		t.hint = append(t.hint, " on port "...)
		t.hint = appendInt(t.hint, int(a.port))
	case a.protocol != q.protocol:
		t.hint = append(t.hint, "; the same port answers "...)
		t.hint = append(t.hint, t.protocols[a.protocol].Name...)
	}
	t.told = FlowFinding{
		Finding: NewFinding(what, Str(p.Messages[q.message].Title), Str(view(t.hint))),
		Frame:   q.frame, Time: fromNanos(q.time), Src: src, Dst: dst, Protocol: p, Alternatives: t.others,
	}
	t.finding(&t.told)
}

// advance closes the requests whose time for replies is over, and forgets the
// flows that fell silent.
func (t *tracker) advance(now int64) {
	for t.oldest != none {
		q := &t.requests[t.oldest]
		if q.sent > now {
			q.sent = now // a timestamp from the future ages from now on
		}
		if now-q.sent <= int64(t.limits.Window) {
			break
		}
		if i := t.oldest; q.arriving > 0 && q.replies == 0 {
			q.arriving--
			t.unlinkRequest(i)
			q.sent = now
			t.linkRequest(i)
			continue
		}
		t.closeRequest(t.oldest, true)
	}
	t.flows.expire(now, int64(t.limits.Idle))
}

// flushTo closes the requests of frames up to one, as long as none that is newer
// lies before them: the input ended at now.
func (t *tracker) flushTo(now int64, frame uint64) {
	t.end = now
	for t.oldest != none && t.requests[t.oldest].frame <= frame {
		t.closeRequest(t.oldest, true)
	}
	t.end = 0
}

// flush closes all requests: the input ended at now.
func (t *tracker) flush(now int64) {
	t.end = now
	for t.oldest != none {
		t.closeRequest(t.oldest, true)
	}
	t.flows.flush()
	t.peers.clear()
	t.answering.clear()
	t.servers.clear()
	t.lists.clear()
	t.gives, t.givesSeeds, t.end = 0, 0, 0
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
