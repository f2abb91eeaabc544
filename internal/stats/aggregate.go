// Package stats counts what happened to servers in bounded memory, and makes reports of it.
//
// An [Aggregate] takes the events of an analyzer. Aggregates of several analyzers, captures or machines are merged; the
// [Report] of the sum is that of one analyzer that had seen everything, as far as the tables had room. Inside are only
// integers and maxima, so that the same aggregates merged in the same order give the same report.
package stats

import (
	"cmp"
	"iter"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// The bounds of an aggregate.
const (
	maxClients = 4096
	maxServers = 1000
	// maxKinds is more than there are, so that none is left out: which one would depend on the number of workers.
	maxKinds    = 320
	maxFindings = 1024
	// maxMore is how many servers, and maxPaths how many clients, have timelines.
	maxMore  = 20
	maxPaths = 24
	// leastPath is the number of requests from which a client may have a timeline, and leastMore that of messages from which
	// a server may have one that others leave.
	leastPath = 4
	leastMore = 16
	// leastKept is the number of requests from which an entry of a full table is kept when shards are merged.
	leastKept = 8
	// shards is how many aggregates share the set of the limits.
	shards = 4
)

// An Aggregate counts what an analyzer reports. It implements [dissect.Handler].
type Aggregate struct {
	*sums
	*rooms
	*rate
	shared bool // sums is that of another aggregate, which is merged as well
	input  uint32
	// continues says that another aggregate was before, of which notes may be, see [Aggregate.Next].
	continues bool

	clients   top[client]
	servers   top[server]
	newest    *entry[server] // of the newest message, nil after every change of places
	strays    top[stray]
	findings  map[string]*finding
	findingOf [64]struct { // the newest findings
		of *dissect.FindingType
		is *finding
	}
	set        set
	run        *run
	ending     *ending
	asks, ends recent
	focus      *focus // nil without NewFocused
	masters    masters
	text       []byte
}

// Rooms have what servers, clients and strays may be given beside their places, and how much of it there is.
type rooms struct {
	sketches  stock[registers]
	strayRoom stock[registers] // of sources of strays
	followed  stock[*followed]
	mores     stock[*more]
	paths     stock[*cells]
	pasts     stock[*past]
	names     []byte // room for those of servers
	tickRoom  int
	leastOf   uint64 // no client with a timeline has fewer requests
}

// A rate counts the requests of the newest second.
type rate struct {
	second   int64
	from, to int64 // of that second
	inSecond uint64
	peaks    peaks
}

// The sums of an aggregate do not depend on the order of messages, so that the shards of a worker share them.
type sums struct {
	totals  Totals
	cuts    uint64 // datagrams of which the capture has only the beginning
	aside   uint64 // strays that sent nothing back, of hosts without a server
	first   int64
	last    int64
	moments moments
	heats   heats
	trips   histogram

	addresses distinct
	room      stock[registers] // of addresses
	kinds     []kind
	kindOf    map[*dissect.MessageType]uint16
	recent    [256]*kind // of the newest requests
	protocols []string
	grants    [maxKinds]token // in replies that give a challenge, by protocol
	forgotten [classes]mass   // what clients did that are no longer in the table
	proofs    [proofs]uint64  // requests
	steps     stepsBack
	queue     queue
	members   []*Aggregate // that share them
}

// stepsBack counts how often the clock of a capture stepped back, and has the times of the longest step.
type stepsBack struct {
	n        uint64
	from, to int64
}

func (b *stepsBack) merge(o *stepsBack) {
	b.n += o.n
	if far, than := o.from-o.to, b.from-b.to; far > than || far == than && o.from < b.from {
		b.from, b.to = o.from, o.to
	}
}

// SteppedBack counts a step of the clock from one time back to another.
func (a *Aggregate) SteppedBack(from, to int64) {
	a.steps.merge(&stepsBack{1, from, to})
}

// A mass is the sum over clients of a class.
type mass struct {
	clients, requests, unproven, bytesIn, bytesOut uint64
	dropped                                        [len(perAddress)]uint64
}

func (m *mass) counts() []*uint64 {
	return append(pointers(m.dropped[:]), &m.clients, &m.requests, &m.unproven, &m.bytesIn, &m.bytesOut)
}

func (m *mass) add(c *client) {
	m.clients++
	m.requests += c.requests
	m.unproven += less(c.requests, c.proven)
	m.bytesIn += c.bytesIn
	m.bytesOut += c.bytesOut
	if c.requests > leastBurst {
		for i, n := range c.dropped {
			m.dropped[i] += uint64(n)
		}
	}
}

// New returns an empty aggregate.
func New() *Aggregate {
	s := &sums{first: math.MaxInt64, last: math.MinInt64, kindOf: make(map[*dissect.MessageType]uint16), room: sketches(largeSketch, 1)}
	s.moments.most, s.heats.most = maxMoments, maxCells
	s.moments.forget()
	s.kinds = make([]kind, 0, maxKinds) // pointers to them stay valid
	return s.aggregate()
}

// Shard returns an aggregate for other pairs of hosts, for the same goroutine. To merge all that a does, merge both.
func (a *Aggregate) Shard() *Aggregate {
	o := a.sums.aggregate()
	o.shared = true
	if a.focus != nil {
		o.focus = newFocus(a.focus.only, &o.masters)
	}
	return o
}

func (a *sums) aggregate() *Aggregate {
	o := &Aggregate{sums: a, rooms: new(rooms), rate: new(rate), findings: make(map[string]*finding), run: new(run), ending: new(ending)}
	o.sketches, o.strayRoom = sketches(smallSketch, maxSketches), sketches(largeSketch, maxFollowed)
	o.mores = stock[*more]{left: maxMore, make: func() *more { return newMore(&o.tickRoom) }}
	o.paths = stock[*cells]{left: maxPaths, make: func() *cells { return &cells{most: maxCells} }}
	o.followed = stock[*followed]{left: maxFollowed, make: func() *followed { return &followed{cells: cells{most: maxCells}} }}
	var fresh []past
	o.pasts = stock[*past]{left: math.MaxInt, make: func() (p *past) {
		if len(fresh) == 0 {
			fresh = make([]past, 32)
		}
		p, fresh = &fresh[0], fresh[1:]
		return p
	}}
	o.clients.most, o.servers.most, o.strays.most = maxClients, maxServers, maxStrays
	o.peaks.most = maxCells
	o.set.most = setSize / shards
	o.tickRoom = sharedTicks
	a.members = append(a.members, o)
	return o
}

// Input begins another capture, counted from 0.
func (a *Aggregate) Input(n int) {
	a.input = uint32(n)
	if a.focus != nil {
		a.focus.input = a.input
	}
}

// forgetClient adds what a client did to its class. Its place is for another one.
func (a *Aggregate) forgetClient(c *client) {
	if !c.idle() {
		a.forgotten[c.class()].add(c)
	}
	if c.single() {
		return
	}
	if c.cells != nil {
		c.cells.clear()
		a.paths.give(c.cells)
	}
	*c.past = past{}
	a.pasts.give(c.past)
}

// spread adds n evenly to the buckets of a width between two times.
func spread(from, to int64, n uint64, width int64, add func(t int64, n uint64)) {
	buckets := floorDiv(to-1, width) - floorDiv(from, width) + 1
	if to <= from || buckets <= 1 || n == 0 {
		add(from, n)
		return
	}
	done := uint64(0)
	for i := int64(1); i <= buckets; i++ {
		end := min((floorDiv(from, width)+i)*width, to)
		// In 128 bits it would be exact; the error is below a request.
		upTo := either(i == buckets, n, uint64(float64(n)*(float64(end-from)/float64(to-from))))
		add(end-1, less(upTo, done))
		done = max(done, upTo)
	}
}

func (a *Aggregate) forgetServer(s *server) {
	s.clients.clear(&a.sketches)
	if s.more != nil {
		s.more.clear()
		a.mores.give(s.more)
		s.pulses = nil // those of more
	} else if s.pulses != nil {
		s.pulses.clear()
	}
	clear(s.kinds[:])
	s.tally = tally{pulses: s.pulses}
	s.name, s.mapName = s.name[:0], s.mapName[:0]
}

// at returns the bucket of a time.
func (a *sums) at(t int64) *moment {
	a.last = max(a.last, t)
	if t < a.moments.from || t >= a.moments.to {
		a.find(t)
	}
	return a.moments.newest
}

func (a *sums) find(t int64) {
	a.first = min(a.first, t)
	a.moments.find(t)
	a.moments.from = max(a.moments.from, a.first) // what is before is found, and so the first
}

// wire returns the size of the IP packets that carried n bytes of payload in a number of frames and datagrams.
func wire(n, frames, datagrams int, v4 bool) uint64 {
	header := either(v4, 20, 40)
	if frames|datagrams <= 1 { // as nearly always
		return uint64(n + header + 8)
	}
	return uint64(n + max(frames, 1)*header + max(datagrams, 1)*8)
}

// cut counts a datagram of which the capture has only the beginning: unread if it is not read as a message. What a server sends may then be
// a reply. It returns that server, nil if there is none.
func (a *Aggregate) cut(src, dst netip.AddrPort, unread uint64) *entry[server] {
	from := a.known(&src)
	if e := cmp.Or(from, a.known(&dst)); e != nil {
		h := e.v.hears()
		h.cut++
		h.unread += either(from == nil, 0, unread)
	}
	return from
}

// notice counts a message that asks for nothing.
func (a *Aggregate) notice(m *message) {
	a.totals.Notices++
	a.carried(a.knownAs(&m.key), m.t, m.size)
}

// carried counts bytes that a server sent, or that came from elsewhere if it is nil.
func (a *Aggregate) carried(from *entry[server], t int64, n uint64) {
	at := a.at(t)
	if from == nil {
		at.bytesIn += n
		return
	}
	from.v.bytesOut += n
	at.bytesOut += n
}

// A run sums up requests of one kind to one server that follow one another in the same bucket of every line, as those of a flood do.
type run struct {
	question
	server          *entry[server]
	last, to        int64 // the time of the newest, and the end of the bucket
	requests, bytes uint64
	proven, fresh   uint64 // fresh are those of addresses that were not known
}

// begin begins a run with the first request of it.
func (a *Aggregate) begin(m *message) {
	a.flush()
	t := m.t
	if t < a.from || t >= a.to {
		a.endSecond()
		a.second, a.inSecond = floorDiv(t, int64(time.Second)), 0
		a.from, a.to = timeOf(a.second, int64(time.Second)), timeOf(a.second+1, int64(time.Second))
	}
	u := a.run
	if !m.again {
		u.question = m.question
	}
	u.server, u.to = a.server(&u.key, t, true), math.MinInt64
	if s := &u.server.v; s.protocol == 0 {
		s.protocol = u.kind.number
	}
	if more := u.server.v.more; more != nil && a.focus == nil {
		a.at(t)
		u.kind.cells.at(t)
		more.cells.at(t)
		u.to = min(a.moments.to, a.to, u.kind.cells.to, more.cells.to)
	}
}

// flush counts the requests of the run.
func (a *Aggregate) flush() {
	u := a.run
	n := u.requests
	if n == 0 {
		return
	}
	m := a.at(u.last)
	m.requests += n
	m.bytesIn += u.bytes
	a.inSecond += n
	at := u.kind.cells.at(u.last)
	at.requests += n
	at.bytesIn += u.bytes
	at.replies += u.proven // of a kind: requests with a challenge
	u.kind.unproven += n - u.proven
	u.server.count += n - 1 // the first is counted
	s := &u.server.v
	s.at(u.last)
	s.requests += n
	s.bytesIn += u.bytes
	s.times().at(u.last).asked += uint32(n)
	if of := s.of(u.kind.index); of != nil {
		of.requests += uint32(n)
	}
	if more := s.more; more != nil {
		at := more.cells.at(u.last)
		at.requests += n
		at.bytesIn += u.bytes
		if u.fresh > 0 {
			if q := more.of(u.kind.index); q != nil {
				q.ticks.peek(u.last).fresh += uint32(u.fresh)
			}
		}
	}
	u.requests, u.bytes, u.proven, u.fresh = 0, 0, 0, 0
}

func (a *Aggregate) request(m *message) {
	u, t := a.run, m.t
	if !m.again || t < u.last || t >= u.to {
		a.begin(m)
	}
	u.last = t
	u.requests++
	u.bytes += m.size
	s, sum, proven := u.server, m.other.hash(), m.proven
	if m.waited && !u.kind.mute() {
		s.v.fates[dissect.OutcomeRepeated]++
	}
	if c := a.clients.find(&m.other, sum); c == nil && !proven {
		u.fresh++
		a.meet(m, sum)
	} else {
		proven = a.again(c, m, sum)
	}
	if s.v.more == nil {
		a.flush()
	} else if w := &s.v.more.watch; w.pass > 0 && w.second == a.second && !proven {
		w.pass--
		w.now++
		w.id = m.id
	} else if !proven {
		s.v.more.look(m, a.second)
	}
}

// meet counts the first request of a client, without a proof.
func (a *Aggregate) meet(m *message, sum uint64) {
	e, evicts := a.clients.place(&m.other, sum)
	if e.count++; evicts {
		if m := &a.forgotten[mute]; e.v.past == &noPast { // as for most
			m.clients++
			m.requests++
			m.unproven++
			m.bytesIn += e.v.bytesIn
		} else {
			a.forgetClient(&e.v)
		}
	}
	u, v := a.run, &e.v
	v.requests, v.bytesIn, v.began, v.first, v.last = 1, m.size, true, m.t, m.t
	v.kind, v.server, v.past, v.known = u.kind.index+1, u.server.sum, &noPast, false
	v.least, v.most, v.burst = min(m.port, 65534)+1, m.port, 0
	if v.tracked = a.set.add(m.t); v.tracked {
		v.burst = 1
	}
	if r := a.addresses.sketch; len(r) == largeSketch {
		r.add(sum, largeBits)
	} else {
		a.addresses.add(sum, &a.room)
	}
	if r := u.server.v.clients.sketch; len(r) == smallSketch {
		r.add(sum, smallBits)
	} else {
		u.server.v.clients.add(sum, &a.sketches)
	}
}

// again counts a request of the run for a client that is known or proven, and reports whether it ever was proven.
func (a *Aggregate) again(c *entry[client], m *message, sum uint64) bool {
	if c == nil {
		c = a.newClient(&m.other, sum)
	}
	c.count++
	v, u, t := &c.v, a.run, m.t
	p := v.own(&a.pasts)
	v.at(t)
	if v.requests++; v.requests == 1 {
		a.addresses.add(c.sum, &a.room)
		if !v.known {
			u.fresh++
		}
	}
	v.bytesIn += m.size
	if m.proven {
		u.proven++
		p.proven++
	}
	p.add(u.kind.index+1, 1)
	if s := u.server; s.v.clients.sketch == nil || !v.asked(s.sum) { // else it is counted, but for one in some hundreds
		p.asks(s.sum)
		s.v.clients.add(c.sum, &a.sketches)
	}
	p.pace(a.second)
	v.ports(min(m.port, 65534)+1, m.port)
	v.limit(t, &a.set)
	if v.cells != nil || v.requests >= leastPath {
		if path := a.path(c); path != nil {
			at := path.at(t)
			at.requests++
			at.bytesIn += m.size
		}
	}
	return p.proven > 0
}

// endRun ends the run, because places are about to change, and endRuns those of all that share the sums, which are about to be read.
func (a *Aggregate) endRun() {
	a.flush()
	a.endings()
	a.run.to = math.MinInt64
}

func (a *sums) endRuns() {
	a.count()
	for _, m := range a.members {
		m.endRun()
	}
}

// endSecond keeps the number of requests of the newest second, if it is the highest of its time. The second may go on.
func (a *Aggregate) endSecond() {
	if a.inSecond > 0 {
		p := a.peaks.at(timeOf(a.second, int64(time.Second)))
		*p = max(*p, peak(a.inSecond))
	}
}

func (a *Aggregate) reply(m *message, f *said) {
	t := m.t
	now := a.at(t)
	now.replies++
	now.bytesOut += m.size
	of := a.server(&m.key, t, false)
	s := &of.v
	if s.protocol == 0 {
		s.protocol = a.protocol(m.protocol.Name) + 1
	}
	of.stays = true // a carpet at thousands of addresses displaces none that lives
	s.replies++
	s.lastReply = max(s.lastReply, t)
	s.bytesOut += m.size
	if m.partial {
		s.incomplete++
	}
	if m.challenge {
		now.challenges++
		s.challenges++
	}
	if m.unasked {
		s.unasked++
	}
	if s.more != nil {
		at := s.more.cells.at(t)
		at.replies++
		at.bytesOut += m.size
	}
	s.times().at(t).reply(t)
	if f.stated && (t-s.stated >= int64(time.Second) || t < s.stated) {
		s.stated = t
		s.states(f, a.queue.text, &a.names)
	}
	if m.rtt >= 0 && !m.challenge {
		bucket := bucketOf(time.Duration(m.rtt))
		a.trips.add(bucket)
		a.heats.at(t)[heatRows[bucket]]++
		if bucket > bucketOf(time.Second) {
			s.hears().slow++
		}
		if s.more != nil {
			s.more.trips.add(bucket)
		}
	}
	a.repliedTo(m, of.sum)
}

// repliedTo counts a reply for the client that got it; server is the hash of who sent it.
func (a *Aggregate) repliedTo(m *message, server uint64) {
	sum := m.other.hash()
	c := a.clients.find(&m.other, sum)
	if c == nil {
		if a.clients.gone > 0 {
			return // it is forgotten
		}
		c = a.newClient(&m.other, sum)
	}
	v := c.v.own(&a.pasts)
	c.v.at(m.t)
	v.replies++
	v.bytesOut += m.size
	*either(m.challenge, &v.challenged, &v.data)++
	if m.unasked {
		if v.strange == nil {
			v.strange = new(strange)
		}
		v.strange.count(m.t, server, m.size)
	}
	if v.cells != nil {
		at := v.cells.at(m.t)
		at.replies++
		at.bytesOut += m.size
	}
}

// states records what a server says about itself.
func (s *server) states(f *said, text []byte, room *[]byte) {
	if f.named {
		s.name = keep(s.name, text[f.name:f.between], room)
	}
	if f.mapped {
		s.mapName = keep(s.mapName, text[f.between:f.end], room)
	}
	s.raw, s.style, s.charset = true, f.style, f.charset
	if f.players > 0 {
		s.players = f.players
	}
}

// known returns the server at an address, nil if there is none.
func (a *Aggregate) known(at *netip.AddrPort) *entry[server] {
	a.count()
	k := keyOf(at.Addr(), at.Port())
	return a.knownAs(&k)
}

func (a *Aggregate) knownAs(k *key) *entry[server] {
	if e := a.newest; e != nil && e.key == *k {
		return e
	}
	e := a.servers.find(k, k.hash())
	if e != nil {
		a.newest = e
	}
	return e
}

// server returns the server of a message at a time, which is fresh if it is a request.
func (a *Aggregate) server(k *key, t int64, fresh bool) *entry[server] {
	e := a.newest
	if e == nil || e.key != *k {
		sum := k.hash()
		if e = a.servers.find(k, sum); e == nil {
			e, fresh = a.newServer(k, sum), true
		}
		a.newest = e
	}
	s := &e.v
	s.at(t)
	if fresh {
		e.count++
		if a.focus != nil {
			e.count += a.focus.weight(k.addr()) - 1
		}
	}
	if s.more == nil && (fresh || a.mores.left > 0) { // a server of the aggregate before may reply first
		if own := e.count - e.err; own >= leastMore && own&(own-1) == 0 || a.mores.left > 0 {
			a.follow(e, own)
		}
	}
	return e
}

// newClient and newServer return the place of a new key. What was counted for a key that is evicted is forgotten.
func (a *Aggregate) newClient(k *key, sum uint64) *entry[client] {
	e, evicts := a.clients.place(k, sum)
	if evicts {
		a.forgetClient(&e.v)
	}
	e.v = client{past: &noPast}
	return e
}

func (a *Aggregate) newServer(k *key, sum uint64) *entry[server] {
	a.endRun()
	a.newest = nil
	e, evicts := a.servers.place(k, sum)
	if evicts {
		a.forgetServer(&e.v)
	}
	return e
}

// follow gives a server with a number of messages a timeline, if there is room or if it is far busier than another one that has
// one.
func (a *Aggregate) follow(e *entry[server], own uint64) {
	if m := a.takeMore(own); m != nil {
		e.v.adopt(m)
	}
}

// takeMore returns what a server with a number of messages needs for a timeline: one that is free, or that of a far less
// busy server, or nil.
func (a *Aggregate) takeMore(own uint64) *more {
	if m := a.mores.take(); m != nil {
		return m
	}
	a.endRun()
	least := fewest(&a.servers, own/2, func(e *entry[server]) (uint64, bool) { return e.count, e.v.more != nil })
	if least == nil {
		return nil
	}
	m := least.v.more
	least.v.more, least.v.pulses = nil, nil
	least.v.times().merge(&m.pulses)
	m.clear()
	return m
}

// path returns the timeline of a client, which it may get now.
func (a *Aggregate) path(e *entry[client]) *cells {
	c := &e.v
	if c.cells != nil || c.requests < leastPath || c.requests&(c.requests-1) != 0 {
		return c.cells
	}
	if c.cells = a.takePath(c.requests); c.cells != nil {
		c.requests-- // the newest comes after
		c.evenly(c.cells)
		c.requests++
	}
	return c.cells
}

// takePath is as takeMore, for the timeline of a client with a number of requests.
func (a *Aggregate) takePath(requests uint64) *cells {
	if l := a.paths.take(); l != nil {
		a.leastOf = min(a.leastOf, requests)
		return l
	}
	if a.leastOf >= requests/2 {
		return nil
	}
	least := fewest(&a.clients, math.MaxUint64, func(e *entry[client]) (uint64, bool) { return e.v.requests, e.v.cells != nil })
	if a.leastOf = least.v.requests; a.leastOf >= requests/2 {
		return nil
	}
	l := least.v.cells
	least.v.cells = nil
	l.clear()
	return l
}

// kind returns a kind of request and makes it one of the newest. The texts of few types have the same lengths.
func (a *sums) kind(p *dissect.Protocol, t *dissect.MessageType) *kind {
	k := &a.recent[uint8(17*len(t.Name)+len(t.Doc))]
	if *k == nil || (*k).of != t {
		*k = &a.kinds[a.addKind(p.Name, t)]
		(*k).tcp, (*k).number = p.OverTCP(), a.protocol(p.Name)+1
	}
	return *k
}

// addKind returns the index of a kind, which may be new. If there are too many, it is the last one, whose type is nil.
func (a *sums) addKind(protocol string, t *dissect.MessageType) uint16 {
	i, known := a.kindOf[t]
	if !known && len(a.kinds) == maxKinds-1 {
		protocol, t = "other", nil
		i, known = a.kindOf[t]
	}
	if known {
		return i
	}
	i = uint16(len(a.kinds))
	a.kindOf[t] = i
	a.kinds = append(a.kinds, kind{protocol: protocol, of: t, index: i, cells: cells{most: maxCells}})
	return i
}

// protocol returns the index of a protocol by its name.
func (a *sums) protocol(name string) uint16 {
	for i, p := range a.protocols {
		if p == name {
			return uint16(i)
		}
	}
	if len(a.protocols) < maxKinds {
		a.protocols = append(a.protocols, name)
	}
	return uint16(len(a.protocols) - 1)
}

// A spare is the size of datagrams that may be duplicates of the capture.
type spare struct{ in, out uint64 }

func (s *spare) add(o *spare) {
	s.in += o.in
	s.out += o.out
}

// Copy counts a duplicate, and with back takes one back. It is a duplicate that the capture made, or what a network or
// an attacker sent twice: see [Aggregate.Settle].
func (a *Aggregate) Copy(d *dissect.Datagram, back bool) {
	t, n := d.Time.UnixNano(), wire(len(d.Payload)+d.Missing, len(d.Frames), 1, d.Src.Addr().Is4())
	if back {
		n = -n
	}
	var x spare
	var who key
	s := a.known(&d.Src)
	if s != nil {
		x.out, who = n, keyOf(d.Dst.Addr(), 0)
	} else if s = a.known(&d.Dst); s != nil {
		x.in, who = n, keyOf(d.Src.Addr(), 0)
	} else {
		return
	}
	s.v.spare.add(&x)
	a.at(t).spare.add(&x)
	if c := a.clients.find(&who, who.hash()); c != nil {
		c.v.own(&a.pasts).spare.add(&x)
	}
}

// Settle completes the sum of all shards with what one alone cannot tell: who is a server to which datagrams came that no protocol
// recognises, and whether duplicates were sent, because most datagrams came once.
func (a *Aggregate) Settle(shards iter.Seq[*Aggregate], copiesCount bool) {
	hosts := map[netip.Addr]bool{}
	for e := range each(a.servers.entries) {
		hosts[e.addr()] = true
	}
	for o := range shards {
		a.admit(o)
		for i := range o.strays.entries {
			if e := &o.strays.entries[i]; hosts[e.addr()] || len(a.servers.entries) == 0 || a.focus != nil && e.addr() == a.focus.only {
				a.addStray(e)
			} else if e.v.out == 0 {
				a.aside++
			}
		}
	}
	if a.placeStrays(); copiesCount {
		a.endCopies(true)
	}
}

// endCopies counts the bytes of duplicates, or forgets them.
func (a *Aggregate) endCopies(counted bool) {
	count := func(in, out *uint64, x *spare) {
		if counted {
			*in, *out = plus(*in, x.in), plus(*out, x.out)
		}
		*x = spare{}
	}
	for m := range each(a.moments.buckets) {
		count(&m.bytesIn, &m.bytesOut, &m.spare)
	}
	for e := range each(a.servers.entries) {
		count(&e.v.bytesIn, &e.v.bytesOut, &e.v.spare)
	}
	for i := range a.clients.entries {
		if v := &a.clients.entries[i].v; !v.single() {
			count(&v.bytesIn, &v.bytesOut, &v.spare)
		}
	}
}

// plus adds a number that may be negative: a duplicate that is taken back may have been counted before, see [Aggregate.Next].
func plus(n, x uint64) uint64 { return either(int64(x) < 0 && -x > n, 0, n+x) }

// Incomplete counts a datagram that lacks fragments: n is the size of the IP packets that came.
func (a *Aggregate) Incomplete(f *dissect.FlowFinding, n int) {
	e := a.known(&f.Src)
	if e != nil {
		e.v.incomplete++
	}
	a.carried(e, f.Time.UnixNano(), uint64(n))
}

// Finding counts a finding.
func (a *Aggregate) Finding(f *dissect.FlowFinding) {
	t := f.Time.UnixNano()
	a.finding(&f.Finding, f.Frame, t)
	if a.focus != nil {
		a.focus.finding(f)
	}
	if f.Type == core.CaptureCut {
		a.cuts++
		if e := a.cut(f.Src, f.Dst, 1); e != nil {
			e.v.times().at(t).reply(t)
		}
	}
	if f.ICMPFrame == 0 {
		return
	}
	a.count()
	k := keyOf(f.Dst.Addr(), 0)
	large := f.Type == core.FragmentationNeeded
	if e := a.clients.find(&k, k.hash()); e != nil && !large && f.Src.Addr() != f.Dst.Addr() { // of one host, the error is the server's
		p := e.v.own(&a.pasts)
		p.refused = addSaturated(p.refused, 1)
	}
	if e := a.known(&f.Dst); e != nil {
		says := cmp.Or(icmpSays[f.Type], "a packet was not accepted")
		if by, _, is := strings.Cut(string(f.AppendText(nil)), " says "); is && says == saysClosed && by != f.Dst.Addr().String() {
			says += ", from another address than the server's"
		}
		e.v.hears().merge(&heard{icmp: says, icmpFrame: f.ICMPFrame, refused: lived{first: t, last: t, began: true}})
	} else if e := a.known(&f.Src); e != nil && large {
		e.v.hears().large++
	} else if e != nil && f.Type == core.PortUnreachable {
		e.v.hears().bounced++
	}
}

const saysClosed = "the port is closed"

// icmpSays is what ICMP errors say about a server.
var icmpSays = map[*dissect.FindingType]string{
	core.PortUnreachable: saysClosed, core.Prohibited: "a firewall rejects", core.FragmentationNeeded: "a packet is too large for the path",
	core.HopLimit: "a packet loops or its hop limit is too low", core.Unreachable: "the host is unreachable",
}

func (a *Aggregate) finding(f *dissect.Finding, frame uint64, t int64) {
	noted := &a.findingOf[uint(len(f.Type.ID)+len(f.Type.Doc))%uint(len(a.findingOf))]
	if noted.of != f.Type {
		known := a.newFinding(f, t)
		if known == nil {
			return
		}
		noted.of, noted.is = f.Type, known
	}
	known := noted.is
	known.count++
	known.first, known.last = min(known.first, t), max(known.last, t)
	if len(known.examples) < maxExamples {
		known.example(Example{input: a.input, Frame: frame})
	}
}

// newFinding returns the counts of a type of finding, which may be new. They are nil if there are too many types.
func (a *Aggregate) newFinding(f *dissect.Finding, t int64) *finding {
	known := a.findings[f.Type.ID]
	if known == nil {
		if len(a.findings) == maxFindings {
			return nil
		}
		a.text = f.AppendText(a.text[:0])
		known = &finding{
			id: f.Type.ID, severity: f.Type.Severity.String(), text: strings.ToValidUTF8(string(a.text[:min(len(a.text), maxText)]), ""), doc: f.Type.Doc, first: t, last: t,
			examples: make([]Example, 0, maxExamples+1),
		}
		a.findings[f.Type.ID] = known
	}
	return known
}

// maxText bounds the text of a finding.
const maxText = 300

// An ending sums up requests of one kind to one server that came one after the other and ended alike.
type ending struct {
	kind            *kind
	server          *entry[server] // nil if it is not known
	v4              bool
	first, last, to int64 // last and to as those of a run
	exchanges       uint32
	sum             ended // newest of one that had several sendings for a second and more
}

// ended counts what became of a request.
func (a *Aggregate) ended(m *message, x *ended) {
	t, u := m.t, a.ending
	long := x.newest-t >= int64(time.Second)
	if m.again && t >= u.last && t < u.to && !long {
		u.add(t, x.requests, x.counted, x.replies, x.in, x.out)
		return
	}
	a.endings()
	e, how := a.serverOf(m), x.how
	if e == nil || e.v.more == nil { // as most outside of floods
		if a.proofs[how.proof] += uint64(x.requests); how.outcome.Counts() {
			m.kind.replied(x.replies, x.out, m.key.V4)
			a.became(m.kind, e, how, x.counted, 1, t, t)
		}
	} else {
		*u = ending{kind: m.kind, server: e, v4: m.key.V4, first: t, last: t, to: math.MinInt64, exchanges: 1, sum: *x}
		if !long {
			u.sum.newest = 0
			if a.focus == nil && how.outcome != dissect.OutcomeElsewhere && !a.continues {
				u.to = min(endOf(&a.moments, t), endOf(&m.kind.cells, t), endOf(&e.v.more.cells, t), (t/int64(time.Second)+1)*int64(time.Second))
				return
			}
		}
		a.endings()
	}
	if e != nil && how.outcome == dissect.OutcomeElsewhere {
		e.v.hears().replies(&m.other)
	}
}

func (u *ending) add(t int64, requests, counted, replies, in, out int) {
	u.last = t
	u.exchanges++
	u.sum.requests += requests
	u.sum.counted += counted
	u.sum.replies += replies
	u.sum.in += in
	u.sum.out += out
}

// serverOf returns the server of a request that ended, nil if it is forgotten.
func (a *Aggregate) serverOf(m *message) (e *entry[server]) {
	if e = a.knownAs(&m.key); !a.continues {
		return either(e != nil && m.t < e.v.first, nil, e) // or it came before the server was forgotten
	}
	if e == nil && a.servers.room() { // nothing came to it since it was asked, in the part before the one before
		e = a.newServer(&m.key, m.key.hash())
	}
	if e != nil && e.v.more == nil && a.mores.left > 0 { // it was asked before what is counted
		e.v.at(m.t)
		a.follow(e, e.count)
	}
	return e
}

// endings counts requests that ended alike.
func (a *Aggregate) endings() {
	u := a.ending
	if u.to = math.MinInt64; u.exchanges == 0 {
		return
	}
	if a.proved(u); u.sum.how.outcome.Counts() {
		u.kind.replied(u.sum.replies, u.sum.out, u.v4)
		a.became(u.kind, u.server, u.sum.how, u.sum.counted, u.exchanges, u.first, u.last)
	}
	u.exchanges = 0
}

// replied counts replies with the size of their payloads.
func (k *kind) replied(n, size int, v4 bool) {
	if n > 0 {
		k.bytesOut += wire(size, n, n, v4)
	}
}

// became counts what became of n requests in a number of exchanges between two times: refused are those with an ICMP error. e is their
// server, nil if it is not known.
func (a *Aggregate) became(k *kind, e *entry[server], how how, n int, times uint32, first, last int64) {
	is := how.outcome
	if how.byReply {
		if is = dissect.OutcomeChallenged; e != nil {
			e.v.rejected += uint64(n)
		}
	}
	k.fates[is] += uint64(n)
	lost := missed(is)
	if lost {
		a.moments.peek(last).unanswered += uint64(times)
		k.cells.peek(last).unanswered += uint64(times)
	}
	if e == nil {
		return
	}
	if lost {
		e.v.times().peek(last).lost += times
		if e.v.more != nil {
			e.v.more.cells.peek(last).unanswered += uint64(times)
		}
	}
	if is == dissect.OutcomeLate {
		e.v.times().peek(last).late += uint32(n)
	}
	e.v.fates[is] += uint64(n)
	e.v.proved[how.proof].Requests += uint64(n)
	if is == dissect.OutcomeAnswered {
		e.v.proved[how.proof].Complete += uint64(n)
	}
	if !e.v.began { // it was asked before what is counted
		e.v.at(last)
	}
	of := e.v.of(k.index)
	if of == nil {
		return
	}
	switch {
	case is == dissect.OutcomeAnswered || is == dissect.OutcomeChallenged:
		of.good = addSaturated(of.good, uint32(n))
		return
	case is == dissect.OutcomePartial:
		of.incomplete += times
	case lost:
		of.bad += times
	default:
		return
	}
	of.at(first)
	of.at(last)
}

// missed reports whether a request with an outcome got no reply that it asked for.
func missed(o dissect.Outcome) bool {
	return o == dissect.OutcomeUnanswered || o == dissect.OutcomeRefused || o == dissect.OutcomeElsewhere || o == dissect.OutcomeOther
}

// Lost counts packets that the kernel lost, or requests that were evicted, in a second.
func (a *Aggregate) Lost(second int64, kernel, evicted uint64) {
	a.moments.peek(second * int64(time.Second)).lost += kernel + evicted
	a.totals.KernelLost += kernel
	a.totals.Evicted += evicted
}

// Merge adds what o counts of other pairs of hosts. Nothing that happens often is forgotten.
func (a *Aggregate) Merge(o *Aggregate) {
	if o.endRuns(); !o.shared {
		a.sums.merge(o.sums)
	}
	a.merge(o, false)
}

// merge adds what o counts of other pairs of hosts, or of the same ones in another capture, without the sums: then the tables keep their
// sizes, and what both count is counted once.
func (a *Aggregate) merge(o *Aggregate, same bool) {
	a.endRuns()
	o.endRuns()
	kinds := make([]uint16, len(o.kinds))
	for i := range o.kinds {
		kinds[i] = a.addKind(o.kinds[i].protocol, o.kinds[i].of)
	}
	protocols := make([]uint16, len(o.protocols)+1)
	for i, p := range o.protocols {
		protocols[i+1] = a.protocol(p) + 1
	}
	o.endSecond()
	a.peaks.merge(&o.peaks)
	if !same {
		a.admit(o)
	}
	for e := range each(o.clients.entries) {
		if e.v.idle() {
			continue
		}
		if o.clients.gone > 0 && e.v.requests < leastKept && !(same && a.clients.room()) && a.clients.find(&e.key, e.sum) == nil {
			a.forgotten[e.v.class()].add(&e.v) // as those that the table does not have
			continue
		}
		a.addClient(e, same, kinds)
	}
	for e := range each(o.servers.entries) {
		if e.v.idle() ||
			o.servers.gone > 0 && e.v.requests < leastKept && !(same && a.servers.room()) && a.servers.find(&e.key, e.sum) == nil {
			continue
		}
		a.addServer(e, same, protocols[e.v.protocol], kinds)
	}
	for i := range o.strays.entries {
		if e := &o.strays.entries[i]; same && e.v.in+e.v.out > 0 { // else Settle adds them
			a.addStray(e)
		}
	}
	if same {
		a.clients.gone, a.servers.gone, a.strays.gone = max(a.clients.gone, o.clients.gone), max(a.servers.gone, o.servers.gone), max(a.strays.gone, o.strays.gone)
	}
	a.masters.merge(&o.masters)
	if a.focus != nil && o.focus != nil {
		a.focus.merge(o.focus)
	}
	for id, f := range o.findings {
		known := a.findings[id]
		if known == nil {
			if len(a.findings) == maxFindings {
				continue
			}
			known = &finding{id: f.id, severity: f.severity, doc: f.doc, first: f.first, last: f.last}
			a.findings[id] = known
		}
		known.merge(f)
	}
}

// admit makes room for all that o has, so that nothing gives way to it.
func (a *Aggregate) admit(o *Aggregate) {
	a.clients.most = max(a.clients.most, len(a.clients.entries)+len(o.clients.entries))
	a.servers.most = max(a.servers.most, len(a.servers.entries)+len(o.servers.entries))
	a.strays.most = max(a.strays.most, len(a.strays.entries)+len(o.strays.entries))
	a.mores.left, a.paths.left, a.followed.left, a.strayRoom.left, a.tickRoom = maxMore, maxPaths, maxFollowed, maxFollowed, math.MaxInt32
}

func (a *sums) merge(o *sums) {
	a.first, a.last = min(a.first, o.first), max(a.last, o.last)
	addTo(a.counts(), o.counts())
	a.moments.merge(&o.moments)
	a.heats.merge(&o.heats)
	a.trips.merge(&o.trips)
	a.addresses.merge(&o.addresses, &a.room)
	a.steps.merge(&o.steps)
	addTo(pointers(a.proofs[:]), pointers(o.proofs[:]))
	for i := range o.forgotten {
		addTo(a.forgotten[i].counts(), o.forgotten[i].counts())
	}
	for k := range each(o.kinds) {
		a.kinds[a.addKind(k.protocol, k.of)].merge(k)
	}
	for i, p := range o.protocols {
		if g := &a.grants[a.protocol(p)]; g.length == 0 {
			*g = o.grants[i]
		}
	}
}

// counts are those of what is no entry of a table.
func (a *sums) counts() []*uint64 {
	t := &a.totals
	return []*uint64{&t.Datagrams, &t.Notices, &t.Malformed, &a.cuts, &t.KernelLost, &t.Evicted}
}

// addTo adds numbers to others.
func addTo(list, more []*uint64) {
	for i, n := range more {
		*list[i] += *n
	}
}
