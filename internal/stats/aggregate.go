// Package stats counts what happened to servers in bounded memory, and makes reports of it.
//
// An [Aggregate] takes the events of an analyzer. Aggregates of several analyzers, captures or machines are merged; the
// [Report] of the sum is that of one analyzer that had seen everything, as far as the tables had room. Inside are only
// integers and maxima, so that the same aggregates merged in the same order give the same report.
package stats

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// The bounds of an aggregate.
const (
	maxClients  = 1024
	maxServers  = 256
	maxKinds    = 128
	maxFindings = 1024
	// maxMore is how many servers, and maxPaths how many clients, have timelines.
	maxMore  = 32
	maxPaths = 48
	// leastPath is the number of requests from which a client may have a timeline.
	leastPath = 4
	// shards is how many aggregates share the set of the limits.
	shards = 16
)

// An Aggregate counts what an analyzer reports. It implements [dissect.ExchangeHandler].
type Aggregate struct {
	input   uint32 // number of the capture
	totals  Totals
	spare   spare
	first   int64
	last    int64
	began   bool
	moments moments
	heats   heats
	trips   histogram

	addresses distinct
	room      sketchRoom
	clients   top[client]
	servers   top[server]
	kinds     []kind
	kindOf    map[*dissect.MessageType]uint16
	lastType  *dissect.MessageType // of the newest request
	lastKind  uint16
	protocols []string
	findings  map[string]*finding

	forgotten [classes]mass // what clients did that are no longer in the table
	set       set
	second    int64 // of the newest request
	inSecond  uint64
	mores     []*more
	paths     []*cells
	focus     *focus // nil without NewFocused
	made      struct{ mores, paths int }
	text      []byte
}

// A mass is the sum over clients of a class.
type mass struct {
	clients, requests, unproven, bytesIn, bytesOut uint64
	dropped                                        [len(perAddress)]uint64
}

func (m *mass) merge(o *mass) {
	m.clients += o.clients
	m.requests += o.requests
	m.unproven += o.unproven
	m.bytesIn += o.bytesIn
	m.bytesOut += o.bytesOut
	for i, n := range o.dropped {
		m.dropped[i] += n
	}
}

func (m *mass) add(c *client) {
	m.clients++
	m.requests += c.requests
	m.unproven += c.requests - min(c.proven, c.requests)
	m.bytesIn += c.bytesIn
	m.bytesOut += c.bytesOut
	for i, n := range c.dropped {
		m.dropped[i] += uint64(n)
	}
}

// New returns an empty aggregate.
func New() *Aggregate {
	a := &Aggregate{kindOf: make(map[*dissect.MessageType]uint16), findings: make(map[string]*finding)}
	a.moments.most, a.heats.most = maxMoments, maxCells
	a.room = sketchRoom{large: 16, small: 96}
	a.clients.most, a.servers.most = maxClients, maxServers
	a.clients.evict, a.servers.evict = a.forgetClient, a.forgetServer
	a.set.most = setSize / shards
	return a
}

// Input begins another capture, counted from 0.
func (a *Aggregate) Input(n int) { a.input = uint32(n) }

// forgetClient adds what a client did to its class.
func (a *Aggregate) forgetClient(c *client) {
	a.settle(c, &a.moments, &a.forgotten)
	if c.cells != nil {
		c.cells.clear()
		a.paths = append(a.paths, c.cells)
	}
	*c = client{}
}

// settle adds what a client did to the sums of its class and, by time, to the timeline.
func (a *Aggregate) settle(c *client, line *moments, sums *[classes]mass) {
	is := c.class()
	sums[is].add(c)
	if is == finished || c.requests == 0 {
		return
	}
	add := func(t int64, n uint64) { line.at(t).by[is] += n }
	left := c.requests
	if c.cells != nil {
		c.cells.in(func(from, to int64, b *cell) {
			// The buckets of a client are wider or narrower than those of the timeline.
			n := min(b.requests, left)
			left -= n
			spread(max(from, c.first), min(to, c.last+1), n, widths[line.width], add)
		})
	}
	add(c.first, left)
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
		upTo := uint64(float64(n) * (float64(end-from) / float64(to-from)))
		if i == buckets {
			upTo = n
		}
		add(end-1, upTo-min(done, upTo))
		done = max(done, upTo)
	}
}

func (a *Aggregate) forgetServer(s *server) {
	s.clients.clear(&a.room)
	if s.more != nil {
		s.more.cells.clear()
		s.more.trips = histogram{}
		a.mores = append(a.mores, s.more)
	}
	*s = server{clients: s.clients, name: s.name[:0], mapName: s.mapName[:0]}
}

// at returns the bucket of a time.
func (a *Aggregate) at(t int64) *moment {
	if !a.began {
		a.began, a.first, a.last = true, t, t
	} else if t > a.last {
		a.last = t
	} else if t < a.first {
		a.first = t
	}
	return a.moments.at(t)
}

// wire returns the size of the IP packets that carried n bytes of payload in a number of frames and datagrams.
func wire(n, frames, datagrams int, v4 bool) uint64 {
	header := 40
	if v4 {
		header = 20
	}
	return uint64(n + max(frames, 1)*header + max(datagrams, 1)*8)
}

// Record counts a message.
func (a *Aggregate) Record(r *dissect.Record) {
	t := r.Time.UnixNano()
	size := wire(r.WireLength, len(r.Frames), r.Split.Parts, r.Src.Addr().Is4())
	m := a.at(t)
	a.totals.Datagrams += uint64(max(1, r.Split.Parts))
	if a.focus != nil {
		a.focus.record(r)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Type.Severity > dissect.Chat {
			a.finding(f, r.Frame, t)
		}
		if f.Type == dissect.Malformed {
			a.totals.Malformed++
		}
	}
	switch r.Type.Role {
	case dissect.Request:
		if r.Pair.Asks == 0 {
			a.notice(r, m, size)
			return
		}
		a.request(r, m, t, size)
	case dissect.Reply:
		a.reply(r, m, t, size)
	default:
		a.notice(r, m, size)
	}
}

// notice counts a message that asks for nothing.
func (a *Aggregate) notice(r *dissect.Record, m *moment, size uint64) {
	a.totals.Notices++
	k := keyOf(r.Src.Addr(), r.Src.Port())
	if e := a.servers.find(&k, k.hash()); e != nil {
		e.v.bytesOut += size
		m.bytesOut += size
		a.totals.BytesOut += size
		return
	}
	m.bytesIn += size
	a.totals.BytesIn += size
}

func (a *Aggregate) request(r *dissect.Record, m *moment, t int64, size uint64) {
	m.requests++
	m.bytesIn += size
	a.totals.Requests++
	a.totals.BytesIn += size
	if s := floorDiv(t, int64(time.Second)); s != a.second || a.inSecond == 0 {
		a.second, a.inSecond = s, 0
	}
	a.inSecond++
	m.peak = max(m.peak, a.inSecond)
	if !r.Proven {
		m.unproven++
	}

	kind := a.kind(r.Protocol, r.Type)
	k := &a.kinds[kind]
	k.requests++
	k.bytesIn += size
	if !r.Proven {
		k.unproven++
	}
	if len(r.Sources) > 0 {
		k.looks(r.Sources[0].Data, r.Proven)
	}
	at := k.cells.at(t)
	at.requests++
	at.bytesIn += size
	if r.Proven {
		at.replies++ // of a kind: requests with a challenge
	}

	from := keyOf(r.Src.Addr(), 0)
	sum := from.hash()
	to := keyOf(r.Dst.Addr(), r.Dst.Port())
	toSum := to.hash()
	a.addresses.add(sum, &a.room)

	c := a.clients.get(&from, sum, 1)
	v := &c.v
	v.at(t)
	v.requests++
	v.bytesIn += size
	if r.Proven {
		v.proven++
	}
	v.count(kind)
	v.asks(toSum)
	v.pace(t)
	v.limit(t, &a.set)
	if path := a.path(c); path != nil {
		at := path.at(t)
		at.requests++
		at.bytesIn += size
	}

	s := a.server(&to, toSum, r, t)
	s.requests++
	s.bytesIn += size
	s.clients.add(sum, &a.room)
	if of := s.of(kind); of != nil {
		of.requests++
	}
	if s.more != nil {
		at := s.more.cells.at(t)
		at.requests++
		at.bytesIn += size
	}
}

func (a *Aggregate) reply(r *dissect.Record, m *moment, t int64, size uint64) {
	m.replies++
	m.bytesOut += size
	a.totals.Replies++
	a.totals.BytesOut += size
	challenge := r.Pair.Challenge == dissect.ChallengeIssued

	from := keyOf(r.Src.Addr(), r.Src.Port())
	s := a.server(&from, from.hash(), r, t)
	s.replies++
	s.bytesOut += size
	if r.Split.Partial {
		s.incomplete++
	}
	if challenge {
		m.challenges++
		a.totals.Challenges++
		s.challenges++
	}
	if s.more != nil {
		at := s.more.cells.at(t)
		at.replies++
		at.bytesOut += size
	}
	if f := &r.Server; f.Stated() {
		s.states(f)
	}
	if r.TimeKnown && !challenge {
		bucket := bucketOf(r.RTT)
		a.trips.add(bucket)
		a.heats.at(t)[heatRows[bucket]]++
		if s.more != nil {
			s.more.trips.add(bucket)
		}
	}

	to := keyOf(r.Dst.Addr(), 0)
	sum := to.hash()
	c := a.clients.find(&to, sum)
	if c == nil {
		if a.clients.full() {
			return // it is forgotten
		}
		c = a.clients.get(&to, sum, 0)
	}
	v := &c.v
	v.at(t)
	v.replies++
	v.bytesOut += size
	if challenge {
		v.challenged++
	} else {
		v.data++
	}
	if v.cells != nil {
		at := v.cells.at(t)
		at.replies++
		at.bytesOut += size
	}
}

// states records what a server says about itself.
func (s *server) states(f *dissect.Server) {
	if f.Name.OK {
		s.name = append(s.name[:0], f.Name.Value[:min(len(f.Name.Value), maxName)]...)
	}
	if f.Map.OK {
		s.mapName = append(s.mapName[:0], f.Map.Value[:min(len(f.Map.Value), maxName)]...)
	}
	if f.Players.OK {
		s.players = int32(min(max(f.Players.Value, 0), 1<<30)) + 1
	}
}

// server returns the server of a message.
func (a *Aggregate) server(k *key, sum uint64, r *dissect.Record, t int64) *server {
	e := a.servers.find(k, sum)
	if e == nil || r.Type.Role == dissect.Request {
		e = a.servers.get(k, sum, a.focus.weight(k))
	}
	s := &e.v
	if s.protocol == 0 {
		s.protocol = a.protocol(r.Protocol.Name) + 1
	}
	s.at(t)
	if s.more == nil {
		a.follow(e)
	}
	return s
}

// follow gives a server a timeline, if there is room or if it is far busier than another one that has one.
func (a *Aggregate) follow(e *entry[server]) {
	if k := len(a.mores); k > 0 {
		e.v.more, a.mores = a.mores[k-1], a.mores[:k-1]
		return
	}
	if a.made.mores < maxMore {
		a.made.mores++
		e.v.more = new(more)
		e.v.more.cells.most = maxCells
		return
	}
	own := e.count - e.err
	if own < 16 || own&(own-1) != 0 {
		return
	}
	var least *entry[server]
	for i := range a.servers.entries {
		if o := &a.servers.entries[i]; o.v.more != nil && (least == nil || o.count < least.count) {
			least = o
		}
	}
	if least != nil && least.count < own/2 {
		e.v.more, least.v.more = least.v.more, nil
		e.v.more.cells.clear()
		e.v.more.trips = histogram{}
		*e.v.more.cells.at(e.v.first) = cell{requests: e.v.requests, replies: e.v.replies}
	}
}

// path returns the timeline of a client, which it may get now.
func (a *Aggregate) path(e *entry[client]) *cells {
	c := &e.v
	if c.cells != nil || c.requests < leastPath || c.requests&(c.requests-1) != 0 {
		return c.cells
	}
	switch k := len(a.paths); {
	case k > 0:
		c.cells, a.paths = a.paths[k-1], a.paths[:k-1]
	case a.made.paths < maxPaths:
		a.made.paths++
		c.cells = &cells{most: maxCells}
	default:
		var least *entry[client]
		for i := range a.clients.entries {
			if o := &a.clients.entries[i]; o.v.cells != nil && (least == nil || o.v.requests < least.v.requests) {
				least = o
			}
		}
		if least == nil || least.v.requests >= c.requests/2 {
			return nil
		}
		c.cells, least.v.cells = least.v.cells, nil
		c.cells.clear()
	}
	*c.cells.at(c.first) = cell{requests: c.requests - 1, replies: c.replies, bytesIn: c.bytesIn, bytesOut: c.bytesOut}
	return c.cells
}

// kind returns the index of a kind of request.
func (a *Aggregate) kind(p *dissect.Protocol, t *dissect.MessageType) uint16 {
	if a.lastType == t {
		return a.lastKind
	}
	i, ok := a.kindOf[t]
	if !ok {
		i = a.addKind(p.Name, t.Name, t.Title)
		a.kindOf[t] = i
	}
	a.lastType, a.lastKind = t, i
	return i
}

// addKind returns the index of a kind, which may be new. If there are too many, it is the last one.
func (a *Aggregate) addKind(protocol, message, title string) uint16 {
	for i := range a.kinds {
		if k := &a.kinds[i]; k.protocol == protocol && k.message == message {
			return uint16(i)
		}
	}
	if len(a.kinds) == maxKinds-1 {
		protocol, message, title = "other", "other", "other requests"
	}
	if len(a.kinds) < maxKinds {
		a.kinds = append(a.kinds, kind{protocol: protocol, message: message, title: title})
		a.kinds[len(a.kinds)-1].cells.most = maxCells
	}
	return uint16(len(a.kinds) - 1)
}

// protocol returns the index of a protocol.
func (a *Aggregate) protocol(name string) uint16 {
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

// Unknown counts a datagram that no protocol recognises.
func (a *Aggregate) Unknown(u *dissect.Unknown) {
	size := a.foreign(u.Time.UnixNano(), len(u.Payload)+u.Missing, len(u.Frames), u.Src)
	k := keyOf(u.Dst.Addr(), u.Dst.Port())
	if e := a.servers.find(&k, k.hash()); e != nil {
		a.toServer(&e.v, u.Time.UnixNano(), size)
		return
	}
	k = keyOf(u.Src.Addr(), u.Src.Port())
	if e := a.servers.find(&k, k.hash()); e != nil {
		e.v.bytesOut += size
		a.moments.at(u.Time.UnixNano()).bytesOut += size
		a.totals.BytesOut += size
	}
}

// Foreign counts a datagram that no analyzer gets: n is the length of its payload. It is for an aggregate that counts
// nothing else, because it knows no servers: who is one is seen when it is merged.
func (a *Aggregate) Foreign(at time.Time, src, dst netip.AddrPort, n, frames int) {
	t := at.UnixNano()
	size := a.foreign(t, n, frames, src)
	k := keyOf(dst.Addr(), dst.Port())
	s := &a.servers.get(&k, k.hash(), a.focus.weight(&k)).v
	s.at(t)
	s.unknown++
	s.bytesIn += size
}

func (a *Aggregate) foreign(t int64, n, frames int, src netip.AddrPort) uint64 {
	if a.focus != nil && src.Addr() == a.focus.addr {
		a.focus.sent++
	}
	a.at(t).unknown++
	a.totals.Unknown++
	a.totals.Datagrams++
	return wire(n, frames, 1, src.Addr().Is4())
}

// toServer counts an unknown datagram for a server.
func (a *Aggregate) toServer(s *server, t int64, size uint64) {
	s.unknown++
	s.bytesIn += size
	a.moments.at(t).bytesIn += size
	a.totals.BytesIn += size
}

// A spare is the size of datagrams that may be duplicates of the capture.
type spare struct{ in, out uint64 }

func (s *spare) add(o *spare) {
	s.in += o.in
	s.out += o.out
}

// Copy counts a duplicate, and with back takes one back. It is a duplicate that the capture made, or what a network or
// an attacker sent twice: see [Aggregate.CountCopies].
func (a *Aggregate) Copy(d *dissect.Datagram, back bool) {
	t, n := d.Time.UnixNano(), wire(len(d.Payload)+d.Missing, len(d.Frames), 1, d.Src.Addr().Is4())
	if back {
		n = -n
	}
	to, from := keyOf(d.Dst.Addr(), d.Dst.Port()), keyOf(d.Src.Addr(), d.Src.Port())
	var x spare
	s := a.servers.find(&from, from.hash())
	who := keyOf(d.Dst.Addr(), 0)
	if s != nil {
		x.out = n
	} else if s = a.servers.find(&to, to.hash()); s != nil {
		x.in, who = n, keyOf(d.Src.Addr(), 0)
	} else {
		return
	}
	s.v.spare.add(&x)
	a.at(t).spare.add(&x)
	a.spare.add(&x)
	if c := a.clients.find(&who, who.hash()); c != nil {
		c.v.spare.add(&x)
	}
}

// CountCopies counts the bytes of duplicates: most datagrams came once, so that duplicates were sent. It is for the sum of
// all shards, of which one alone cannot tell.
func (a *Aggregate) CountCopies() {
	count := func(in, out *uint64, x *spare) {
		*in += x.in
		*out += x.out
		*x = spare{}
	}
	count(&a.totals.BytesIn, &a.totals.BytesOut, &a.spare)
	for i := range a.moments.buckets {
		m := &a.moments.buckets[i]
		count(&m.bytesIn, &m.bytesOut, &m.spare)
	}
	for i := range a.servers.entries {
		v := &a.servers.entries[i].v
		count(&v.bytesIn, &v.bytesOut, &v.spare)
	}
	for i := range a.clients.entries {
		v := &a.clients.entries[i].v
		count(&v.bytesIn, &v.bytesOut, &v.spare)
	}
}

// Incomplete counts a datagram that lacks fragments: n is the size of the IP packets that came.
func (a *Aggregate) Incomplete(f *dissect.FlowFinding, n int) {
	t, size := f.Time.UnixNano(), uint64(n)
	m := a.at(t)
	k := keyOf(f.Src.Addr(), f.Src.Port())
	if e := a.servers.find(&k, k.hash()); e != nil {
		e.v.incomplete++
		e.v.bytesOut += size
		m.bytesOut += size
		a.totals.BytesOut += size
		return
	}
	m.bytesIn += size
	a.totals.BytesIn += size
}

// Finding counts a finding.
func (a *Aggregate) Finding(f *dissect.FlowFinding) {
	t := f.Time.UnixNano()
	a.finding(&f.Finding, f.Frame, t)
	if a.focus != nil {
		a.focus.finding(f)
	}
	if p := f.Protocol; p != nil && p.Split != nil && (f.Type == p.Split.Incomplete || f.Type == p.Split.Endless) {
		k := keyOf(f.Src.Addr(), f.Src.Port())
		if e := a.servers.find(&k, k.hash()); e != nil {
			e.v.incomplete++
		}
	}
	if f.ICMPFrame == 0 {
		return
	}
	k := keyOf(f.Dst.Addr(), 0)
	if e := a.clients.find(&k, k.hash()); e != nil {
		e.v.refused = addSaturated(e.v.refused, 1)
	}
	k = keyOf(f.Dst.Addr(), f.Dst.Port())
	if e := a.servers.find(&k, k.hash()); e != nil && f.ICMPFrame > e.v.icmpFrame {
		e.v.icmp, e.v.icmpFrame = saysICMP(f.Type), f.ICMPFrame
	}
}

const saysClosed = "the port is closed"

// saysICMP returns what an ICMP error says about a server.
func saysICMP(t *dissect.FindingType) string {
	switch t {
	case dissect.PortUnreachable:
		return saysClosed
	case dissect.Prohibited:
		return "a firewall rejects"
	case dissect.FragmentationNeeded:
		return "a packet is too large for the path"
	case dissect.HopLimit:
		return "a packet loops or its hop limit is too low"
	case dissect.Unreachable:
		return "the host is unreachable"
	}
	return "a packet was not accepted"
}

func (a *Aggregate) finding(f *dissect.Finding, frame uint64, t int64) {
	known := a.findings[f.Type.ID]
	if known == nil {
		if len(a.findings) == maxFindings {
			return
		}
		a.text = f.AppendText(a.text[:0])
		known = &finding{
			id: f.Type.ID, severity: f.Type.Severity.String(), text: string(a.text[:min(len(a.text), maxText)]), doc: f.Type.Doc, first: t, last: t,
			examples: make([]Example, 0, maxExamples+1),
		}
		a.findings[f.Type.ID] = known
	}
	known.count++
	known.first, known.last = min(known.first, t), max(known.last, t)
	if len(known.examples) < maxExamples {
		known.example(Example{input: a.input, Frame: frame})
	}
}

// maxText bounds the text of a finding.
const maxText = 300

// Exchange counts what became of a request.
func (a *Aggregate) Exchange(x *dissect.Exchange) {
	kind := a.kind(x.Protocol, x.Type)
	k := &a.kinds[kind]
	to := keyOf(x.Dst.Addr(), x.Dst.Port())
	var none server
	s := &none
	if e := a.servers.find(&to, to.hash()); e != nil {
		s = &e.v
	}
	if of := s.of(kind); of != nil {
		switch x.Outcome {
		case dissect.OutcomeAnswered, dissect.OutcomeChallenged:
			of.good++
		case dissect.OutcomePartial:
			of.incomplete++
		case dissect.OutcomeUnanswered, dissect.OutcomeRefused:
			of.bad++
		}
	}
	switch x.Outcome {
	case dissect.OutcomeAnswered:
		k.answered++
		s.answered++
	case dissect.OutcomeChallenged:
		k.challenged++
		s.challenged++
	case dissect.OutcomeLate:
		k.late++
		s.late++
	case dissect.OutcomePartial:
		k.partial++
		s.partial++
	case dissect.OutcomeRefused:
		k.refused++
		s.refused++
	case dissect.OutcomeUnanswered:
		k.unanswered++
		s.unanswered++
		t := x.Time.UnixNano()
		a.moments.at(t).unanswered++
		k.cells.at(t).unanswered++
		if s.more != nil {
			s.more.cells.at(t).unanswered++
		}
	}
	if a.focus != nil {
		a.focus.exchange(x)
	}
	if x.Replies > 0 {
		k.bytesOut += wire(x.ReplyBytes, x.Replies, x.Replies, x.Src.Addr().Is4())
	}
}

// Lost counts packets that the kernel lost, or state that was evicted, in a second.
func (a *Aggregate) Lost(second int64, kernel, evicted uint64) {
	a.moments.at(second * int64(time.Second)).lost += kernel + evicted
	a.totals.KernelLost += kernel
	a.totals.Evicted += evicted
}

// Merge adds what o counts.
func (a *Aggregate) Merge(o *Aggregate) {
	if o.began {
		a.at(o.first)
		a.at(o.last)
	}
	a.totals.add(&o.totals)
	a.spare.add(&o.spare)
	a.moments.merge(&o.moments)
	a.heats.merge(&o.heats)
	a.trips.merge(&o.trips)
	a.addresses.merge(&o.addresses, &a.room)
	for i := range o.forgotten {
		a.forgotten[i].merge(&o.forgotten[i])
	}
	kinds := make([]uint16, len(o.kinds))
	for i := range o.kinds {
		k := &o.kinds[i]
		kinds[i] = a.addKind(k.protocol, k.message, k.title)
		a.kinds[kinds[i]].merge(k)
	}
	protocols := make([]uint16, len(o.protocols)+1)
	for i, p := range o.protocols {
		protocols[i+1] = a.protocol(p) + 1
	}
	for _, e := range o.clients.byCount() {
		into := a.clients.merge(e)
		if into == nil {
			a.settle(&e.v, &a.moments, &a.forgotten)
			continue
		}
		into.v.merge(&e.v, kinds)
		if e.v.cells != nil {
			if into.v.cells == nil {
				into.v.cells = &cells{most: maxCells}
			}
			into.v.cells.merge(e.v.cells)
		}
	}
	for _, e := range o.servers.byCount() {
		if e.v.protocol == 0 {
			if known := a.servers.find(&e.key, e.sum); known != nil {
				known.v.unknown += e.v.unknown
				known.v.bytesIn += e.v.bytesIn
				a.totals.BytesIn += e.v.bytesIn
			}
			continue
		}
		into := a.servers.merge(e)
		if into == nil {
			continue
		}
		into.v.merge(&e.v, protocols[e.v.protocol], kinds, &a.room)
		if e.v.more != nil {
			if into.v.more == nil {
				into.v.more = new(more)
				into.v.more.cells.most = maxCells
			}
			into.v.more.cells.merge(&e.v.more.cells)
			into.v.more.trips.merge(&e.v.more.trips)
		}
	}
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

func (t *Totals) add(o *Totals) {
	t.Datagrams += o.Datagrams
	t.Requests += o.Requests
	t.Replies += o.Replies
	t.Challenges += o.Challenges
	t.Notices += o.Notices
	t.Unknown += o.Unknown
	t.Malformed += o.Malformed
	t.BytesIn += o.BytesIn
	t.BytesOut += o.BytesOut
	t.KernelLost += o.KernelLost
	t.Evicted += o.Evicted
}
