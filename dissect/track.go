package dissect

import (
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A tracker knows the conversations of an analyzer, their requests, and what became of these.
type tracker struct {
	config     *Config
	protocols  []*Protocol
	flows      *flowTable
	requests   *requestTable
	challenges *challenges
	servers    *servers
	lists      *recent[peerKey, pages]
	hearsay    *hearsay
	early      *earlyReplies
	out        *outlet
	stats      *Stats
	quiet      bool  // duplicates of single conversations are not reported
	end        int64 // time of the end of the input, 0 before
	turn       Turn  // what is judged, with what it points to
	asked      Asked
	page       Page
}

func newTracker(c *Config, out *outlet) *tracker {
	t := &tracker{
		config: c, protocols: c.Protocols, requests: newRequestTable(), servers: newServers(c.Limits.servers()), early: new(earlyReplies),
		challenges: &challenges{peers: newRecent[peerKey, peer](c.Limits.Peers, (*hasher).peer), proofs: newRecent[peerKey, int64](c.Limits.Peers, (*hasher).peer)},
		lists:      newRecent[peerKey, pages](c.Limits.lists(), (*hasher).peer), out: out, stats: out.stats,
	}
	t.hearsay = newHearsay(nettext.Either(c.Hears, c.Share, nil))
	t.flows = newFlowTable(c.Limits.Flows, t.closeFlow)
	return t
}

// renew replaces the state by that of a new tracker, but for what other analyzers said.
func (t *tracker) renew() {
	heard, quiet, evicted := t.hearsay, t.quiet, t.flows.evicted
	*t = *newTracker(t.config, t.out)
	t.flows.dropped = t.closeFlow
	t.hearsay, t.quiet, t.flows.evicted = heard, quiet, evicted
}

// clear forgets what is known beyond single conversations.
func (t *tracker) clear() {
	t.challenges.clear()
	t.servers.clear()
	t.lists.clear()
	if t.early.begun, t.early.early = 0, 0; t.early.kept {
		*t.early = earlyReplies{}
	}
	t.end, t.hearsay.flushed = 0, true
}

// evictions returns what was evicted so far because a limit was reached.
func (t *tracker) evictions() core.Evictions {
	return core.Evictions{Flows: t.flows.evicted, Requests: t.stats.RequestsEvicted, Clients: t.challenges.peers.evicted + t.lists.evicted}
}

// server returns the counts of the server of a request.
func (t *tracker) server(q *request) *answering {
	return t.servers.of(&t.flows.flows[q.flow], &t.flows.more[q.flow], q.up())
}

// related reports whether two protocols are the same or of one family.
func (t *tracker) related(a, b int8) bool {
	return a == b || t.protocols[a].Family != "" && t.protocols[a].Family == t.protocols[b].Family
}

// awaits reports whether a flow has a request of a protocol for one of topics, in
// the other direction, that has not expired; if late is true, one that expired
// without a reply.
func (t *tracker) awaits(fi int32, up bool, proto int8, topics Topic, late bool) bool {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if t.related(q.protocol, proto) && q.up() != up && q.has(isLate) == late && (!late || q.answer == 0) && (topics == 0 || q.topic&topics != 0) {
			return true
		}
	}
	return false
}

// awaited returns the protocol of all requests in the other direction that have not expired,
// -1 if there are none or several, or if one may be of another protocol as well.
func (t *tracker) awaited(fi int32, up bool) int8 {
	p := int8(-1)
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		switch {
		case q.up() == up:
		case q.rare != 0 && t.requests.rare(q).also != 0:
			return -1
		case !q.has(isLate) && p >= 0 && q.protocol != p:
			return -1
		case !q.has(isLate):
			p = q.protocol
		}
	}
	return p
}

// alsoAwaits returns the alternatives of the newest pending request of a protocol.
func (t *tracker) alsoAwaits(fi int32, up bool, proto int8) uint64 {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.protocol == proto && q.up() != up {
			return t.requests.rare(q).also
		}
	}
	return 0
}

// awaitsTopics reports whether a request that was sent before the first part of a
// reply is pending for one of these topics, with this id if it is known.
func (t *tracker) awaitsTopics(x *arrival, topics Topic, id *uint64) bool {
	if x.flow == none {
		return false
	}
	for i := t.flows.flows[x.flow].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if q.up() != x.ends.up && q.open() && !q.has(isLate) && t.related(q.protocol, x.protocol) && q.topic&topics != 0 && (id == nil || sameID(q.id, *id)) && t.requests.time(q) <= x.first {
			return true
		}
	}
	return false
}

// several reports whether more than one request is pending in one direction of a
// flow.
func (t *tracker) several(fi int32, up bool) bool {
	n := 0
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() == up && q.answer == 0 && !q.has(isLate) {
			n++
		}
	}
	return n > 1
}

// proof returns how far the sender of a request is certain.
func (t *tracker) proof(q *request, got *answer) Proof {
	switch {
	case q.has(isProven) || q.answer == 0 && q.challenge == ChallengeUsed && t.unseen(q):
		return Proven
	case q.has(isVouched) || !q.has(isLate) && t.vouches(q):
		return Vouched
	case q.answer != 0 && got.issuedIn != 0:
		return Unreturned
	}
	return Unproven
}

// vouches reports whether the sender of a request has proved itself to its server since.
func (t *tracker) vouches(q *request) bool {
	peer := t.flows.flows[q.flow].key.peer(q.up(), q.protocol)
	at, ok := t.challenges.proved(&peer)
	sent := t.requests.time(q)
	return ok && (at > sent || at == sent && !q.has(isProven)) // it may be its own proof
}

// messageIndex returns the index of a type in the list of its protocol.
func (p *Protocol) messageIndex(m *MessageType) uint8 {
	for i, known := range p.Catalog.Messages() {
		if known == m {
			return uint8(i)
		}
	}
	return 0
}

func increased(n uint16) uint16 { return min(n, 1<<16-2) + 1 }

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

// appendNumber appends a number between two texts.
func appendNumber(b []byte, before string, n int, after string) []byte {
	return append(appendInt(append(b, before...), n), after...)
}

// State returns the current amount of state.
func (a inner) State() core.State {
	t := a.tracker
	return core.State{
		Flows: t.flows.len(), Requests: t.requests.live, Peers: t.challenges.peers.len(), Hosts: max(t.servers.answering.len(), t.servers.hosts.len()), Lists: t.lists.len(), Held: a.waiting.n, Sets: a.parts.Len(),
	}
}

// Bytes returns the approximate memory in bytes of the state at these limits,
// without the parts of split messages, which have a budget.
func (l Limits) Bytes() int {
	l = l.withDefaults()
	const (
		half   = 2 // a table doubles when it grows
		slot   = int(unsafe.Sizeof(flowSlot{}))
		flows  = int(unsafe.Sizeof(flow{})+unsafe.Sizeof(flowMore{})+unsafe.Sizeof(flowExtra{})) + 8 + half*slot*4/3
		waits  = int(unsafe.Sizeof(request{})+unsafe.Sizeof(answer{})) + 8
		peers  = int(unsafe.Sizeof(recentEntry[peerKey, peer]{})) + half*slot*2
		hosts  = int(unsafe.Sizeof(recentEntry[address, host]{})) + half*slot*2
		ports  = int(unsafe.Sizeof(recentEntry[serverKey, answering]{})) + half*slot*2
		lists  = int(unsafe.Sizeof(recentEntry[peerKey, pages]{})+pagesKept*unsafe.Sizeof(page{})) + half*slot*2
		growth = 5 // quarters: what tables leave when they grow
	)
	return (l.Flows*flows + l.Requests*waits + l.Peers*peers + l.servers()*(hosts+ports) + l.lists()*lists) * growth / 4
}

// servers is the number of servers and hosts whose answers are counted.
func (l Limits) servers() int { return max(l.Peers/4, 1) }

// lists is the number of clients whose lists are remembered.
func (l Limits) lists() int { return max(l.Peers/8, 1) }

// maxEvictedSeconds is the number of seconds with evictions that are remembered.
const maxEvictedSeconds = 300

// pressure records the seconds with evictions.
type pressure struct {
	seconds []core.Evictions // in the order of the packets
	counted core.Evictions   // all that is in seconds, or was
	told    bool             // that something was evicted
	since   int64            // what was given up in seconds before it is not remembered
}

// Evictions returns the evictions of each of the newest seconds with any, in the
// order of the packets, and the second from which on the list is complete. The list
// is borrowed.
func (a inner) Evictions() (seconds []core.Evictions, since int64) {
	return a.pressure.seconds, a.pressure.since
}

// reportPressure counts evictions and reports the first one.
func (a *Analyzer) reportPressure(x *arrival) {
	p, all := a.pressure, a.tracker.evictions()
	if all.Sum() == p.counted.Sum() {
		return
	}
	now := x.packed.At / 1e9
	if p.seconds == nil {
		p.seconds = make([]core.Evictions, 0, maxEvictedSeconds)
	}
	n := len(p.seconds)
	if n == 0 || p.seconds[n-1].Second != now {
		if n == maxEvictedSeconds {
			p.since = max(p.since, p.seconds[0].Second+1)
			n = copy(p.seconds, p.seconds[1:])
		}
		p.seconds = append(p.seconds[:n], core.Evictions{Second: now})
	}
	s := &p.seconds[len(p.seconds)-1]
	s.Flows += all.Flows - p.counted.Flows
	s.Requests += all.Requests - p.counted.Requests
	s.Clients += all.Clients - min(p.counted.Clients, all.Clients)
	p.counted = all
	if !p.told {
		p.told = true
		a.out.about(NewFinding(core.StateEvicted), x, nil) // it is about no conversation
	}
}
