package dissect

import (
	"net/netip"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// An address is an IP address as numbers, which are quick to compare and to hash; that of IPv4 is ::ffff:a.b.c.d.
type address struct{ hi, lo uint64 }

func addressOf(a netip.Addr) address {
	e := endpoint.Of(netip.AddrPortFrom(a, 0))
	return address{e.Hi, e.Lo}
}

func (a address) is4() bool { return a.hi == 0 && a.lo>>32 == endpoint.Mapped>>32 }

// flowKey is the two ends of a conversation without their order, the lower end first. A request and its reply
// have the same key.
type flowKey struct {
	low, high         address
	lowPort, highPort uint16
	tcp               bool
}

// ends is the key of a datagram's flow with its hash, and whether the datagram
// goes from the lower end to the higher one.
type ends struct {
	key  flowKey
	hash uint32
	up   bool
}

// endsOf sets the ends of a datagram. What its key says of TCP stays.
func (t *flowTable) endsOf(e *ends, src, dst *endpoint.Endpoint) {
	e.up = e.key.set(src, dst)
	e.hash = t.hasher.flow(&e.key)
}

// set sets the key to that of a datagram. It reports whether that goes from the lower
// end to the higher one.
func (k *flowKey) set(src, dst *endpoint.Endpoint) (up bool) {
	switch {
	case src.Hi != dst.Hi:
		up = src.Hi < dst.Hi
	case src.Lo != dst.Lo:
		up = src.Lo < dst.Lo
	default:
		up = src.Port <= dst.Port
	}
	if !up {
		src, dst = dst, src
	}
	k.low, k.high, k.lowPort, k.highPort = address{src.Hi, src.Lo}, address{dst.Hi, dst.Lo}, src.Port, dst.Port
	return up
}

// is reports whether two keys are the same, without a call.
func (k *flowKey) is(o *flowKey) bool {
	return k.low == o.low && k.high == o.high && k.lowPort == o.lowPort && k.highPort == o.highPort && k.tcp == o.tcp
}

// endpoints returns the two ends of a key as addresses.
func (k *flowKey) endpoints(up bool) (src, dst netip.AddrPort) {
	return k.server(!up).endpoint(), k.server(up).endpoint()
}

// between reports whether a datagram goes from one host to another.
func (k *flowKey) between(from, to address, up bool) bool {
	if !up {
		from, to = to, from
	}
	return k.high == to && k.low == from
}

// server returns the end that a datagram goes to.
func (k *flowKey) server(up bool) serverKey {
	if up {
		return serverKey{k.high, k.highPort}
	}
	return serverKey{k.low, k.lowPort}
}

// A flow is the state of one conversation that each message needs: it fits into one cache
// line. It has no pointers, so that a million of them cost the garbage collector nothing.
// The rest is in [flowMore].
type flow struct {
	key          flowKey
	last         int64 // time of the newest message
	older, newer int32 // in the list of its kind; older of a free place is the next one
	requests     int32 // newest pending request, none if there is none
	protocol     int8  // index of the protocol it is pinned to, -1 if none
	answers      int8  // index of the protocol of the newest reply, -1 if none has been seen
	sure         int8  // index of the protocol whose messages were likely by themselves, -1 if none
	is           flowState
}

// flowState is a set of what is known of a flow.
type flowState uint8

const (
	asksUp     flowState = 1 << iota // the directions in which its ends ask
	asksDown                         //
	wentBack                         // that time went back has been reported
	repeating                        // a sender repeats itself within the time of copies
	copying                          // its copies are known by their identification
	cutShort                         // the capture has only the beginning of datagrams of it
	violated                         // the message before was not of the pinned protocol
	twice                            // nor was the one before that
	violations = violated | twice
)

// has reports whether any of a set is known of a flow.
func (f *flow) has(set flowState) bool { return f.is&set != 0 }

func (f *flow) set(what flowState)   { f.is |= what }
func (f *flow) clear(what flowState) { f.is &^= what }

// requested reports whether a request has been seen.
func (f *flow) requested() bool { return f.has(asksUp | asksDown) }

// ask records a request and reports whether it is the first one.
func (f *flow) ask(up bool) (first bool) {
	if first = !f.requested(); up {
		f.set(asksUp)
	} else {
		f.set(asksDown)
	}
	return first
}

// violate records a message that was not of the pinned protocol. It reports whether it is
// the third in a row.
func (f *flow) violate() bool {
	switch {
	case f.has(twice):
		f.clear(violations)
		return true
	case f.has(violated):
		f.set(twice)
	}
	f.set(violated)
	return false
}

// flowMore is what requests and their replies need besides.
type flowMore struct {
	lastRequest int64 // time of the newest request
	rtt         int64 // the newest round trip that is known, 0 if there is none
	server      int32 // place of its server in a table that checks it
	extra       int32 // place of what few flows have
}

// flowExtra is state that few flows need.
type flowExtra struct {
	copyFrame uint64 // of the first copy
	copyTime  int64
	copies    uint32
	copyUp    bool
	late      bool // late copies of parts have been reported
	refused   bool // an ICMP error has been reported that is about no request, since the newest one
	early     bool // replies came before their requests
}

func (f *flowExtra) next() *uint32 { return &f.copies }

const none = int32(-1)

// A flowSlot is a slot of the hash table: the flow and the hash of its key. Most
// lookups are decided by the hash alone.
type flowSlot struct {
	flow int32 // index plus one, 0 is empty
	hash uint32
}

// A flowTable is a bounded hash table of flows with open addressing over a slab, and
// two lists by age. When it is full the oldest flow without a reply is evicted, so
// that forged sources evict each other before they evict conversations. Flows
// without a reply keep a quarter of the table, so that newcomers can be answered
// while a server answers a flood.
type flowTable struct {
	hasher hasher
	slots  []flowSlot
	flows  []flow
	more   []flowMore // of each
	free   int32      // the first free place, none if there is none
	extras side[flowExtra, *flowExtra]
	max    int
	lists  [2]flowList // without and with replies
	// dropped is called before a flow is evicted.
	dropped func(i int32, full bool)
	evicted uint64
}

// flowList is a list of flows by age.
type flowList struct {
	oldest, newest int32
	n              int
}

// silentShare is the part of the table that is reserved for flows without a reply.
const silentShare = 4

func newFlowTable(limit int, dropped func(int32, bool)) *flowTable {
	t := &flowTable{hasher: newHasher(), slots: make([]flowSlot, 64), extras: newSide[flowExtra](), max: limit, dropped: dropped, free: none}
	for i := range t.lists {
		t.lists[i].oldest, t.lists[i].newest = none, none
	}
	return t
}

// extra returns the extra state of a flow for reading.
func (t *flowTable) extra(i int32) *flowExtra { return t.extras.at(t.more[i].extra) }

// own returns the extra state of a flow for writing.
func (t *flowTable) own(i int32) *flowExtra { return t.extras.own(&t.more[i].extra) }

func (t *flowTable) len() int { return t.lists[0].n + t.lists[1].n }

// find returns the flow between two ends, none if there is none.
func (t *flowTable) find(at *ends) int32 {
	mask := uint32(len(t.slots) - 1)
	for s := at.hash & mask; ; s = (s + 1) & mask {
		e := t.slots[s]
		if e.flow == 0 || e.hash == at.hash && t.flows[e.flow-1].key.is(&at.key) {
			return e.flow - 1
		}
	}
}

// add adds a flow between two ends.
func (t *flowTable) add(at *ends, now int64) int32 {
	if t.len() >= t.max {
		l := core.Bit[int](t.lists[0].n <= t.max/silentShare && t.lists[1].n > 0)
		t.evicted++
		t.remove(t.lists[l].oldest, true)
	}
	if (t.len()+1)*2 > len(t.slots) {
		t.slots = grown(t.slots)
	}
	i := t.free
	if i != none {
		t.free = t.flows[i].older
	} else {
		i = int32(len(t.flows))
		t.flows, t.more = withRoom(t.flows, t.max)[:i+1], withRoom(t.more, t.max)[:i+1]
	}
	f := &t.flows[i]
	*f = flow{} // value by value: a literal would be made elsewhere and copied
	f.key, f.last = at.key, now
	f.older, f.newer, f.requests = none, none, none
	m := &t.more[i]
	m.lastRequest, m.rtt, m.server, m.extra = 0, 0, none, 0
	f.protocol, f.answers, f.sure = -1, -1, -1
	placeSlot(t.slots, flowSlot{i + 1, at.hash})
	t.link(i)
	return i
}

// placeSlot puts an entry into the first free place from its home on.
func placeSlot(slots []flowSlot, e flowSlot) {
	mask := uint32(len(slots) - 1)
	s := e.hash & mask
	for slots[s].flow != 0 {
		s = (s + 1) & mask
	}
	slots[s] = e
}

// removeSlot removes the entry of number i and closes the gap in its probe chain.
func removeSlot(slots []flowSlot, hash uint32, i int32) {
	mask := uint32(len(slots) - 1)
	s := hash & mask
	for slots[s].flow != i+1 {
		s = (s + 1) & mask
	}
	for {
		slots[s] = flowSlot{}
		next := s
		for {
			next = (next + 1) & mask
			if slots[next].flow == 0 {
				return
			}
			// Move the entry back if its home is not between the gap and
			// where it stands.
			if home := slots[next].hash & mask; (next-home)&mask >= (next-s)&mask {
				break
			}
		}
		slots[s] = slots[next]
		s = next
	}
}

// grown returns a table of twice the size with the entries of another one.
func grown(old []flowSlot) []flowSlot {
	slots := make([]flowSlot, 2*len(old))
	for _, e := range old {
		if e.flow != 0 {
			placeSlot(slots, e)
		}
	}
	return slots
}

// touch makes a flow the newest of its list.
func (t *flowTable) touch(i int32, now int64) {
	f := &t.flows[i]
	if f.last = now; f.newer != none {
		t.renew(i)
	}
}

// renew makes a flow the newest of its list, which it is not.
func (t *flowTable) renew(i int32) {
	t.unlink(i)
	t.link(i)
}

// answer records a reply. The first one moves the flow, which must be the newest of
// its list, to the list of answered flows, which are evicted last.
func (t *flowTable) answer(i int32, protocol int8) {
	f := &t.flows[i]
	if f.answers >= 0 {
		f.answers = protocol
		return
	}
	t.unlink(i)
	f.answers = protocol
	t.link(i)
}

func (t *flowTable) link(i int32) {
	f := &t.flows[i]
	l := &t.lists[core.Bit[int](f.answers >= 0)]
	f.older, f.newer = l.newest, none
	if l.newest != none {
		t.flows[l.newest].newer = i
	} else {
		l.oldest = i
	}
	l.newest = i
	l.n++
}

func (t *flowTable) unlink(i int32) {
	f := &t.flows[i]
	l := &t.lists[core.Bit[int](f.answers >= 0)]
	if f.older != none {
		t.flows[f.older].newer = f.newer
	} else {
		l.oldest = f.newer
	}
	if f.newer != none {
		t.flows[f.newer].older = f.older
	} else {
		l.newest = f.older
	}
	l.n--
}

// remove forgets a flow.
func (t *flowTable) remove(i int32, full bool) {
	t.dropped(i, full)
	t.unlink(i)
	f := &t.flows[i]
	removeSlot(t.slots, t.hasher.flow(&f.key), i)
	t.extras.release(t.more[i].extra)
	f.older, t.free = t.free, i
}

// expire removes the flows that were idle for longer than idle.
func (t *flowTable) expire(now, idle int64) {
	for l := range t.lists {
		for {
			i := t.lists[l].oldest
			if i == none {
				break
			}
			f := &t.flows[i]
			if f.last > now {
				f.last = now // a timestamp from the future ages from now on
			}
			if now-f.last <= idle {
				break
			}
			t.remove(i, false)
		}
	}
}

func (t *flowTable) flush() {
	for l := range t.lists {
		for t.lists[l].oldest != none {
			t.remove(t.lists[l].oldest, false)
		}
	}
}
