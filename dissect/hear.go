package dissect

import (
	"math/bits"

	"github.com/qdissect/qdissect/internal/core"
)

// Conversations of one server lie in several analyzers, if the conversations of a capture
// are shared between them. What one of them sees of a server then matters to the others:
// they tell each other by notices.

// A Notice is what an analyzer tells the others.
type Notice struct {
	by   *hearsay
	what notice
	// The server, or the client of a stray reply or that asked all, and the other end.
	of, other serverKey
	client    serverKey // that was displaced
	protocol  int8
	topics    Topic
	value     uint64 // id of a reply, challenge of a request, frame of what is said
	frame     uint64
	at        int64
}

type notice uint8

const (
	replies   notice = iota // the server replied
	strayed                 // a reply came from an end that the client did not ask
	guessed                 // the same, of what may be one
	used                    // a client used a challenge twice that the capture does not have
	displaced               // the server replies from another end
	unheard                 // the server replies, and its replies are not in the capture
	askedAll                // the client asked all hosts of a network
	spoke                   // the server replied in a protocol that the bytes prove
)

// maxNotices bounds the notices of an analyzer between two calls of its Notices.
const maxNotices = 256

// A stray is a reply from an end that its client did not ask.
type stray struct {
	from     serverKey
	protocol int8
	topics   Topic
	id       uint64
	frame    uint64
	at       int64
	weak     bool // it is a reply only if it is that to a request of its client
}

// strays are the newest ones to a client, in a ring, and behind it those that are weak in another.
type strays struct {
	list    [straysKept + weakKept]stray
	n, weak uint8
	asksAll bool // the client asked all hosts of a network, which reply to that by their own addresses
}

func (n *Notice) stray() stray {
	return stray{n.other, n.protocol, n.topics, n.value, n.frame, n.at, n.what == guessed}
}

// A usage is a challenge that clients of a server use while no reply of it is captured.
type usage struct {
	client address
	value  uint64
	proves bool // clients use different ones: the server gave them
	same   bool // clients use the same one: they made it up
}

// A use is a challenge that a client uses.
type use struct {
	value uint64
	told  bool
}

// hearsay is what is known of servers beyond single conversations.
type hearsay struct {
	*heard
	notices []Notice
	used    *recent[peerKey, use]
	told    *recent[displacement, bool]
	lists   uint64 // of notices, heard
	guesses uint8  // since the last of them
	flushed bool
}

// heard is what the notices of all say. Analyzers that take turns share it: each list is entered
// once.
type heard struct {
	servers *recent[serverKey, int8]   // that replied, with the protocol of the first reply
	spoke   *recent[serverKey, int8]   // the protocols in which they did
	strays  *recent[serverKey, strays] // by client
	usages  *recent[serverKey, usage]
	entered uint64 // lists
}

// A displacement is a server and the end that it replies from.
type displacement struct{ server, from serverKey }

// The numbers of what is remembered.
const (
	maxHeard         = 8192
	maxStrays        = 2048
	maxGuesses       = 32 // between two calls of Heard
	straysKept       = 16 // of a client
	weakKept         = 8  // the same, of those that are weak
	maxUsages        = 1024
	maxDisplacements = 256
)

// newHearsay returns the state of an analyzer, which shares what all say with another one, if that is not nil.
func newHearsay(with *Analyzer) *hearsay {
	h := &hearsay{used: newRecent[peerKey, use](maxUsages, (*hasher).peer), told: newRecent[displacement, bool](maxDisplacements, (*hasher).displacement)}
	if with != nil {
		h.heard = with.tracker.hearsay.heard
		return h
	}
	h.heard = &heard{
		servers: newRecent[serverKey, int8](maxHeard, (*hasher).server),
		spoke:   newRecent[serverKey, int8](maxHeard, (*hasher).server),
		strays:  newRecent[serverKey, strays](maxStrays, (*hasher).server),
		usages:  newRecent[serverKey, usage](maxUsages, (*hasher).server),
	}
	return h
}

func (h *hasher) displacement(k displacement) uint32 { return h.server(k.server) ^ h.server(k.from) }

// Notices appends what the other analyzers of a capture have to know. If there are others,
// [Config.Hears] must be set, and all must hear all notices at points that do not depend on
// how work is distributed: about once a second, and before and after Flush.
func (a inner) Notices(dst []Notice) []Notice {
	h := a.tracker.hearsay
	dst = append(dst, h.notices...)
	h.notices = h.notices[:0]
	return dst
}

// Hear takes the notices of an analyzer of a capture, or its own. After those of all
// analyzers, Heard is called.
func (a inner) Hear(list []Notice) {
	if len(list) > 0 {
		a.unattended(func() { a.tracker.hear(list) })
	}
}

// Heard says that all notices have been heard.
func (a inner) Heard() { a.tracker.hearsay.heardAll() }

func (t *tracker) tell(n Notice) bool {
	h := t.hearsay
	if len(h.notices) == maxNotices {
		return false
	}
	n.by = h
	h.notices = append(h.notices, n)
	return true
}

func (t *tracker) hear(list []Notice) {
	h := t.hearsay
	if h.lists++; h.lists > h.entered {
		h.entered = h.lists
		h.enter(list)
	}
	for i := range list {
		n := &list[i]
		if n.what != displaced {
			continue
		}
		told := h.told.get(&displacement{n.of, n.other})
		if !*told && n.by == h {
			t.reportElsewhere(n)
		}
		*told = true
	}
}

func (h *heard) enter(list []Notice) {
	for i := range list {
		n := &list[i]
		switch n.what {
		case replies:
			*h.servers.get(&n.of) = n.protocol
		case spoke:
			*h.spoke.get(&n.of) = n.protocol
		case strayed:
			s := h.strays.get(&n.of)
			s.list[s.n%straysKept] = n.stray()
			s.n++
		case guessed:
			s := h.strays.get(&n.of)
			s.list[straysKept+s.weak%weakKept] = n.stray()
			s.weak++
		case askedAll:
			h.strays.get(&n.of).asksAll = true
		case unheard:
			h.usages.get(&n.of).proves = true
		case used:
			u := h.usages.get(&n.of)
			switch {
			case u.client == address{}:
				u.client, u.value = n.other.address, n.value
			case u.client != n.other.address:
				u.same = u.same || u.value == n.value
				u.proves = true
			}
		}
	}
}

// heardAll forgets what was heard of an input that has ended.
func (h *hearsay) heardAll() {
	if h.guesses = 0; !h.flushed {
		return
	}
	h.told.clear()
	h.used.clear()
	if h.servers.len()+h.spoke.len()+h.strays.len()+h.usages.len() > 0 { // else another analyzer has forgotten it
		h.servers.clear()
		h.spoke.clear()
		h.strays.clear()
		h.usages.clear()
	}
	h.flushed = false
}

// hearOwn takes the notices of the analyzer itself, if there are no others.
func (a *Analyzer) hearOwn() {
	if h := a.tracker.hearsay; !a.config.Hears {
		a.tracker.hear(h.notices)
		h.notices = h.notices[:0]
		h.heardAll()
	}
}

// replied records that the server of a reply replies.
func (t *tracker) replied(x *arrival) {
	s := t.servers.of(&t.flows.flows[x.flow], &t.flows.more[x.flow], !x.ends.up)
	if s.replies {
		return
	}
	k := x.ends.key.server(!x.ends.up)
	s.replies = t.hearsay.servers.find(&k) != nil || t.tell(Notice{what: replies, of: k, protocol: x.protocol})
}

// speaks records that the server of a request replied in the protocol that the conversation proved.
func (t *tracker) speaks(q *request, x *arrival) {
	s, f := t.server(q), &t.flows.flows[q.flow]
	if s.answer(); s.spoke || x.also != 0 || f.sure != x.protocol {
		return
	}
	k := f.key.server(q.up())
	s.spoke = t.servers.spoke.find(&k) != nil || t.hearsay.spoke.find(&k) != nil || t.tell(Notice{what: spoke, of: k, protocol: x.protocol})
}

// silent reports whether the capture has no reply of the server of a request.
func (t *tracker) silent(q *request) bool {
	k := t.flows.flows[q.flow].key.server(q.up())
	return !t.servers.known(&k).replies && t.hearsay.servers.find(&k) == nil
}

// strays records that a datagram strayed, or that it is guessed to be a reply of a protocol that did.
func (t *tracker) strays(what notice, x *arrival, protocol int8, pair *Pair) {
	k := &x.ends.key
	t.tell(Notice{
		what: what, of: k.server(x.ends.up), other: k.server(!x.ends.up), protocol: protocol, topics: pair.Answers, value: pair.ID,
		frame: x.Frame, at: x.packed.At,
	})
}

// guess looks at an undecided datagram, which may be a reply from an end that its client did not ask. If the end may have been asked what
// is undecided too, there is no telling. The datagram stays unknown: when the request ends that makes it a reply, it is gone.
func (a *Analyzer) guess(x *arrival) {
	t := a.tracker
	if x.flow != none || t.hearsay.guesses == maxGuesses || a.waiting.n == maxHeld {
		return
	}
	for i := a.waiting.find(0, &x.ends); i < a.waiting.n; i = a.waiting.find(i+1, &x.ends) {
		if a.waiting.at(i).ends.up != x.ends.up {
			return
		}
	}
	t.hearsay.guesses++
	for m := x.undecided; m != 0; m &= m - 1 {
		p := int8(bits.TrailingZeros64(m))
		if r := a.try(x.Datagram, p); r.Type != nil && r.Type.Role == Reply && !a.reader.Failed() && a.reader.Left() == 0 {
			t.strays(guessed, x, p, &r.Pair)
		}
	}
}

// opens records that the client of a conversation asks all hosts of a network.
func (t *tracker) opens(k *flowKey, up bool) {
	if client := k.server(!up); mayBeAll(k.server(up)) && !t.asksAll(client) {
		t.tell(Notice{what: askedAll, of: client})
	}
}

// mayBeAll reports whether a server may be the address of all hosts of a network: see [strays.everybody].
func mayBeAll(server serverKey) bool {
	e := server.packed()
	return e.Everybody() || e.V4 && e.Lo&0xff == 0xff
}

// asksAll reports whether a client asked all hosts of a network.
func (t *tracker) asksAll(client serverKey) bool {
	s := t.hearsay.strays.find(&client)
	return s != nil && s.asksAll
}

// uses records that a request carries a challenge that the capture does not have.
func (t *tracker) uses(q *request, value uint64) {
	if seed(value) || !t.silent(q) {
		return
	}
	k := &t.flows.flows[q.flow].key
	client, server, peer := k.server(!q.up()), k.server(q.up()), k.peer(q.up(), q.protocol)
	u := t.hearsay.used.get(&peer)
	switch {
	case u.value != value:
		*u = use{value: value}
	case !u.told:
		u.told = t.tell(Notice{what: used, of: server, other: client, value: value})
	}
}

// unseen reports whether the server of a request answers although the capture has no reply
// of it: its clients use challenges that they did not make up, which are constant for a
// client and different between clients.
func (t *tracker) unseen(q *request) bool {
	if t.hearsay.usages.len() == 0 || !t.silent(q) {
		return false
	}
	k := t.flows.flows[q.flow].key.server(q.up())
	u := t.hearsay.usages.find(&k)
	return u != nil && u.proves && !u.same
}

// search looks for a reply to a request that came from elsewhere.
func (t *tracker) search(q *request) {
	if q.answer != 0 || q.has(isRefused|isOptional) || t.hearsay.strays.len() == 0 {
		return
	}
	within := t.lateWindow()
	if q.has(isRepeated | isCovered) { // what comes later is of another sending
		within = int64(t.config.Limits.Window)
	}
	k := &t.flows.flows[q.flow].key
	client, server := k.server(!q.up()), k.server(q.up())
	s := t.hearsay.strays.find(&client)
	if s == nil {
		return
	}
	all := s.everybody(server)
	if s.asksAll && !mayBeAll(server) {
		return
	}
	anyPort := !all || server.endpoint().Addr().IsMulticast() // who listens to a group may reply from the port of its game
	for i := range s.list {
		o := &s.list[i]
		if o.frame <= q.frame || o.topics&q.topic == 0 || !t.related(o.protocol, q.protocol) || !sameID(o.id, q.id) || o.at-q.sent > within || !anyPort && o.from.port != server.port ||
			o.weak && (o.from.address != server.address && o.from.port != server.port || o.at-q.sent > int64(t.config.Limits.Window)) {
			continue
		}
		if r := t.requests.own(q); all {
			r.from, r.broadcast = o.from, true
		} else {
			r.from = o.from
			t.tell(Notice{what: displaced, of: server, other: o.from, protocol: q.protocol, value: o.frame, frame: q.frame, at: t.requests.time(q), client: client})
		}
		return
	}
}

// everybody reports whether a server is the address of all hosts of a network: one of no other use, or the last one of a network of which two
// hosts replied, or one if it is private.
func (s *strays) everybody(server serverKey) bool {
	e := server.packed()
	if e.Everybody() || !mayBeAll(server) {
		return e.Everybody()
	}
	host, hosts := uint64(0), e.Lo&^(e.Lo+1) // the bits at the end that are all set
	for i := range s.list {
		o := &s.list[i].from
		if o.port != e.Port || o.lo|hosts != e.Lo || o.lo == e.Lo || o.lo == host {
			continue
		}
		if host != 0 || e.Addr().IsPrivate() {
			return true
		}
		host = o.lo
	}
	return false
}

// reportElsewhere reports that a server replies from another end.
func (t *tracker) reportElsewhere(n *Notice) {
	server, from := n.of.endpoint(), n.other.endpoint()
	t.out.flow = FlowFinding{Frame: n.frame, Time: fromNanos(n.at), Src: n.client.endpoint(), Dst: server, Protocol: t.protocols[n.protocol]}
	if server.Addr() == from.Addr() {
		t.out.text = appendInt(append(t.out.text[:0], "port "...), int(from.Port()))
		t.out.flow.Finding = NewFinding(core.OtherPort, Str(server.String()), Num(from.Port()), Num(n.value))
	} else {
		t.out.flow.Finding = NewFinding(core.OtherAddress, Str(server.String()), Str(from.String()), Num(n.value))
	}
	t.out.finding(&t.out.flow)
}
