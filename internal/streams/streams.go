// Package streams finds the messages of protocols over TCP in the segments of a capture.
//
// A connection costs memory only once a payload looks like a protocol, or is the first one on a port of
// one; how many there are, and how much of them is kept, is limited. Time is that of the segments.
package streams

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/packet"
)

// The limits. See docs/limits.md.
const (
	maxConnections = 4096
	maxMessage     = 128 << 10        // bytes
	maxBytes       = 4 << 20          // of all messages that are incomplete, and of segments that came too early
	maxEarly       = 256              // segments of a side that came before others which precede them
	earlyBytes     = 96               // to keep one of them
	maxAhead       = 1 << 20          // bytes that one of them may lie after those that came
	markBytes      = 40               // to know which frame carried bytes
	gapTime        = 4 * time.Second  // after which a segment is taken for lost
	idleTime       = 10 * time.Minute // after which a connection is forgotten
	reordered      = 64 << 10         // bytes that may come before the first ones
	openings       = 8192
	detectBytes    = 64
	spareBuffers   = 64 // that are kept to be used again
	spareBytes     = 16 << 10
	spareMarks     = 8
	enough         = 8 // bytes that say what a message is whose others are missing
)

// A Segment is a TCP segment with its header, the IP packet that it is in, and what is known of its frame, of which the snapshot length took Snapped bytes.
// Both are borrowed.
type Segment struct {
	Frame     uint64
	Time      time.Time
	VLAN      uint16
	Interface string
	Snapped   int
	IP, Data  []byte
}

// Ends returns the addresses of a segment that [Streams.Wants] accepted.
func (g *Segment) Ends() (src, dst netip.AddrPort) {
	a, b := packet.Addresses(g.IP)
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(g.Data)), netip.AddrPortFrom(b, binary.BigEndian.Uint16(g.Data[2:]))
}

// endOfTime is after all times of captures.
var endOfTime = time.Unix(1<<40, 0)

// A header is what is read of the header of a segment.
type header struct {
	seq, ack uint32
	flags    byte
	payload  []byte
}

// cutOf returns how many bytes an IP packet lacks by its header.
func cutOf(ip []byte) int {
	said := int(binary.BigEndian.Uint16(ip[2:]))
	if ip[0]>>4 == 6 {
		const lenIPv6 = 40
		said = lenIPv6 + int(binary.BigEndian.Uint16(ip[4:]))
	}
	return max(said-len(ip), 0)
}

func (t *header) has(flag byte) bool { return t.flags&flag != 0 }

// Streams finds messages. It must not be used by several goroutines at once.
type Streams struct {
	protocols []*dissect.Protocol // those over TCP
	ports     map[uint16]uint64   // sets of them
	forced    map[uint16]uint64   // those that the user chose
	ours      Ports               // of protocols
	marked    Ports               // and those that are watched
	give      func(*dissect.Datagram) error
	err       error

	near     [1 << 16]uint16 // connections by both ports, so that other segments cost little
	look     attention       // to those, and to senders that began and have sent nothing
	starts   [openings]opening
	conns    map[ends]*conn
	list     conn // a ring: its next is the oldest
	bytes    int
	flushed  time.Time
	evicted  uint64
	out      dissect.Datagram
	frames   []uint64
	findings []dissect.Finding
	// To be used again:
	free    []*conn
	buffers [][]byte
}

// ends are the addresses of the first sender and of its receiver.
type ends struct{ src, dst netip.AddrPort }

// An opening is where the data of a sender begins, by a hash of its connection, which is odd. Foreign says that it began with, or went on
// with, what is not like any protocol. The others are looked at.
type opening struct {
	hash, seq uint32
	ports     uint16 // both, combined
	answers   bool   // it is that of a server
	foreign   bool
}

// New returns a Streams that hands to give the messages of those of the protocols that are over TCP; decodeAs is that of
// [dissect.Config]. Messages are borrowed. It returns nil, on which all methods do nothing, if there are none.
func New(protocols []*dissect.Protocol, decodeAs map[uint16]*dissect.Protocol, give func(*dissect.Datagram) error) *Streams {
	if !slices.ContainsFunc(protocols, (*dissect.Protocol).OverTCP) {
		return nil
	}
	s := &Streams{give: give, ports: map[uint16]uint64{}, forced: map[uint16]uint64{}, conns: map[ends]*conn{}}
	s.list.next, s.list.last = &s.list, &s.list
	for _, p := range protocols {
		if !p.OverTCP() {
			continue
		}
		for _, port := range p.Ports {
			s.ports[port] |= 1 << len(s.protocols)
		}
		s.protocols = append(s.protocols, p)
	}
	for port, p := range decodeAs {
		if i := slices.Index(s.protocols, p); i >= 0 {
			s.forced[port], s.ports[port] = 1<<i, 1<<i
		}
	}
	for port := range s.ports {
		s.ours.Add(port)
		s.marked.Add(port)
	}
	return s
}

// Evicted returns the number of connections that were forgotten because a limit was reached.
func (s *Streams) Evicted() uint64 {
	if s == nil {
		return 0
	}
	return s.evicted
}

// Watch makes segments of a port, with or without data, not foreign.
func (s *Streams) Watch(port uint16) {
	if s != nil {
		s.marked.Add(port)
	}
}

// Foreign reports whether a segment with its header is of no interest, as nearly all are: it neither begins nor refuses a connection, nor is
// it on a port that is watched. It calls nothing and reads little memory, which makes it quick: on low ports, those of the web and of mail, it
// leaves the data alone unless a connection begins. Wants has to be asked about the others.
func (s *Streams) Foreign(b []byte) bool {
	if s == nil || len(b) < packet.LenTCP {
		return false
	}
	ports := binary.BigEndian.Uint32(b)
	src, dst := uint16(ports>>16), uint16(ports)
	// Branches that depend on more than one thing at once cost less than the foresight that each would need.
	if b[13]&(packet.SYN|packet.RST)|s.marked.some[src%fold]|s.marked.some[dst%fold] != 0 || s.look.to(src^dst) {
		return s.idle(b)
	}
	at := int(b[12]>>4) * 4
	if (int(min(src, dst))-lowPorts)|(len(b)-at-8) < 0 { // either
		return true
	}
	return !hasZero(b[at:])
}

// idle is Foreign for segments that have something to be looked at.
func (s *Streams) idle(b []byte) bool {
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if b[13]&(packet.SYN|packet.RST) != 0 || s.marked.Has(src) || s.marked.Has(dst) {
		return false
	}
	at := int(b[12]>>4) * 4
	if s.look.to(src ^ dst) {
		return at >= len(b) && b[13]&packet.FIN == 0 && s.near[src^dst] == 0 // it acknowledges
	}
	return min(src, dst) < lowPorts || at+8 > len(b) || !hasZero(b[at:])
}

// The sizes of tables by the lower bits of ports.
const (
	fold  = 1 << 11
	looks = 1 << 14
)

// lowPorts is the first port that a program may listen on without privileges.
const lowPorts = 1 << 10

// Wants reports whether a segment that is not foreign, in an IP packet, may be of a connection that is read.
// It remembers where connections begin.
func (s *Streams) Wants(ip, b []byte) bool {
	if s == nil || len(b) < packet.LenTCP {
		return false
	}
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	switch at := int(b[12]>>4) * 4; {
	case s.near[src^dst] > 0:
		return true
	case at >= len(b) && b[13]&(packet.SYN|packet.FIN|packet.RST) == 0: // it acknowledges
		return false
	case b[13]&packet.SYN != 0:
		s.opens(ip, b)
		return at < len(b) && (s.ours.Has(src) || s.ours.Has(dst) || s.likeAny(b[at:])) // TCP Fast Open
	case at < packet.LenTCP || at >= len(b):
		return false
	case s.ours.Has(src) || s.ours.Has(dst):
		return true
	default:
		w := way{addresses(ip), src, dst}
		o, seq := s.known(w), binary.BigEndian.Uint32(b[4:])
		if o != nil && o.foreign && o.seq != seq {
			return false
		}
		like := s.likeAny(b[at:])
		if s.judge(o, !like); o != nil && o.seq == seq && !like { // the other side does not answer one of the protocols
			s.judge(s.known(w.back()), true)
		}
		return like
	}
}

// Ports is a set of ports. What is asked about each segment has to be small: a bit for each port takes a quarter of the nearest cache.
type Ports struct {
	some [fold]uint8 // the lower bits of those in the set
	all  [1 << 10]uint64
}

// Has reports whether a port is in the set.
func (p *Ports) Has(n uint16) bool { return p.some[n%fold] != 0 && p.all[n>>6]>>(n&63)&1 != 0 }

// Add adds a port.
func (p *Ports) Add(n uint16) {
	p.some[n%fold] = 1
	p.all[n>>6] |= 1 << (n & 63)
}

// attention is how many connections have to be looked at, by the lower bits of their ports, combined; too many stay.
type attention struct {
	any   [looks / 64]uint64
	count [looks]uint8
}

func (a *attention) to(ports uint16) bool { return a.any[ports%looks>>6]>>(ports&63)&1 != 0 }

func (a *attention) add(ports uint16) {
	ports %= looks
	a.any[ports>>6] |= 1 << (ports & 63)
	if n := &a.count[ports]; *n < 1<<8-1 {
		*n++
	}
}

func (a *attention) drop(ports uint16) {
	ports %= looks
	n := &a.count[ports]
	if *n > 0 && *n < 1<<8-1 {
		*n--
	}
	if *n == 0 {
		a.any[ports>>6] &^= 1 << (ports & 63)
	}
}

// opens notes where the data of a sender begins, whose segment b begins a connection.
func (s *Streams) opens(ip, b []byte) {
	w := way{addresses(ip), binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])}
	seq := binary.BigEndian.Uint32(b[4:]) + 1
	if o := s.known(w); o != nil && o.foreign && o.seq-seq < maxAhead { // of a connection that has ended
		return
	}
	answers := b[13]&packet.ACK != 0
	s.open(w, seq, answers, false)
	if w = w.back(); answers && s.known(w) == nil {
		s.open(w, binary.BigEndian.Uint32(b[8:]), false, false)
	}
}

// open notes where the data of a sender begins.
func (s *Streams) open(w way, seq uint32, answers, foreign bool) {
	o, hash := s.opening(w)
	s.forget(o)
	*o = opening{hash: hash, seq: seq, ports: w.src ^ w.dst, answers: answers, foreign: true}
	s.judge(o, foreign)
}

// judge notes whether what a sender began with, if that is known, is foreign.
func (s *Streams) judge(o *opening, foreign bool) {
	if o == nil || o.foreign == foreign {
		return
	}
	if o.foreign = foreign; foreign {
		s.look.drop(o.ports)
	} else {
		s.look.add(o.ports)
	}
}

// forget forgets where the data of a sender begins, if that is known.
func (s *Streams) forget(o *opening) {
	if o != nil && o.hash != 0 {
		s.judge(o, true)
		*o = opening{}
	}
}

// hasZero reports whether one of the first eight bytes of a payload is zero, as in all messages that begin a connection. Nearly all traffic of
// others has none there.
func hasZero(payload []byte) bool {
	const ones = 0x0101010101010101
	word := binary.LittleEndian.Uint64(payload)
	return (word-ones)&^word&(ones<<7) != 0
}

// likeAny reports whether a payload may begin a message of any protocol.
func (s *Streams) likeAny(payload []byte) bool {
	return (len(payload) < 8 || hasZero(payload)) && slices.ContainsFunc(s.protocols, func(p *dissect.Protocol) bool { return p.Detect(head(payload)) != dissect.No })
}

func head(b []byte) []byte { return b[:min(len(b), detectBytes)] }

// addresses returns what differs in the addresses of an IP packet, 32 bits for the source and 32 for the destination.
func addresses(ip []byte) uint64 {
	switch {
	case len(ip) < 20:
		return 0
	case ip[0]>>4 != 6:
		return binary.BigEndian.Uint64(ip[12:])
	case len(ip) < 40:
		return 0
	}
	src := (binary.BigEndian.Uint64(ip[8:])*mix ^ binary.BigEndian.Uint64(ip[16:])) * mix
	dst := (binary.BigEndian.Uint64(ip[24:])*mix ^ binary.BigEndian.Uint64(ip[32:])) * mix
	return src&^(1<<32-1) | dst>>32
}

const mix = 0x9e3779b97f4a7c15 // spreads every bit to the upper ones

// A way leads from a sender to a receiver: what differs in their addresses, and their ports.
type way struct {
	addresses uint64
	src, dst  uint16
}

func (w way) back() way { return way{bits.RotateLeft64(w.addresses, 32), w.dst, w.src} }

// opening returns the place of a sender and its hash.
func (s *Streams) opening(w way) (o *opening, hash uint32) {
	x := (w.addresses*mix ^ w.addresses>>29 ^ uint64(w.src)<<16 ^ uint64(w.dst)) * mix
	return &s.starts[x>>51], uint32(x>>19) | 1
}

// known returns the opening of a sender, nil if there is none.
func (s *Streams) known(w way) *opening {
	if o, hash := s.opening(w); o.hash == hash {
		return o
	}
	return nil
}

// Segment reads a segment that Wants accepted. It reports whether it is of a connection that is read.
func (s *Streams) Segment(g *Segment) (read bool, err error) {
	at := ends{}
	at.src, at.dst = g.Ends()
	b := g.Data
	t := header{binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), b[13], b[min(max(int(b[12]>>4)*4, packet.LenTCP), len(b)):]}
	if t.has(packet.SYN) {
		t.seq++
	}
	c := s.find(at)
	if c != nil && t.has(packet.SYN) && t.seq != c.from(at.src).first && (!t.has(packet.ACK) || t.seq-c.from(at.src).next+maxAhead > 2*maxAhead) {
		s.end(c) // the ports are used again
		c = nil
	}
	if c == nil {
		if c = s.begin(g, &t, at); c == nil {
			return false, s.err
		}
	}
	s.touch(c)
	d := c.from(at.src)
	if c.reset = c.reset || t.has(packet.RST); !c.over {
		read = len(t.payload) > 0 || t.flags&(packet.FIN|packet.SYN|packet.RST) != 0
		c.seen, d.hop, d.vlan, d.name = g.Time, packet.HopLimit(g.IP), g.VLAN, g.Interface
		c.arrive(d, early{
			seq: t.seq, ack: t.ack, data: t.payload, cut: min(cutOf(g.IP), g.Snapped), fin: t.has(packet.FIN) || t.has(packet.RST) && t.seq != d.next+1, acks: t.has(packet.ACK),
			mark: mark{frame: g.Frame, time: g.Time},
		})
	} else {
		d.ended = d.ended || t.has(packet.FIN)
	}
	if c.sides[0].ended && c.sides[1].ended {
		s.end(c)
	}
	s.settle()
	return read, s.err
}

// begin returns a new connection if a segment may begin one, else nil.
func (s *Streams) begin(g *Segment, t *header, at ends) *conn {
	src, dst := at.src.Port(), at.dst.Port()
	if t.has(packet.SYN) {
		s.opens(g.IP, g.Data)
	}
	if len(t.payload) == 0 {
		return nil
	}
	w := way{addresses(g.IP), src, dst}
	o := s.known(w)
	on, seq := s.ports[src]|s.ports[dst], t.seq
	if o != nil && o.seq-seq-1 < maxAhead { // it came before
		return nil
	}
	first := o != nil && o.seq == seq
	before := o != nil && !first && seq-o.seq < reordered && (on != 0 || !o.foreign) // the first bytes come later
	set := uint64(0)
	for i, p := range s.protocols {
		switch v := p.Detect(head(t.payload)); {
		case before && on>>i&1 != 0, v >= dissect.Likely, v != dissect.No && (first || before):
			set |= 1 << i
		}
	}
	forced := cmp.Or(s.forced[dst], s.forced[src])
	if set = cmp.Or(forced, set); set == 0 {
		if first { // what follows is not reordered, and the other side does not answer one of the protocols
			s.forget(o)
			s.forget(s.known(w.back()))
		}
		return nil
	}
	if before {
		seq = o.seq
	}
	c := s.add(g, t, at, set, on, seq)
	c.way, c.forced = w, forced != 0
	if other := s.known(w.back()); other != nil && t.has(packet.ACK) {
		d := &c.sides[1]
		if d.heard = true; t.ack-other.seq < maxAhead {
			d.begin(other.seq)
		}
		s.forget(other)
	}
	if c.server = 1; o != nil {
		c.server = core.Bit[int](!o.answers)
		s.forget(o) // what comes after the end of the connection is not reordered
	} else if s.ports[src] != 0 && s.ports[dst] == 0 {
		c.server = 0
	}
	return c
}

// add adds a connection, whose protocol is one of a set. The next byte of the sender of g is seq.
func (s *Streams) add(g *Segment, t *header, at ends, set, on uint64, seq uint32) *conn {
	if len(s.conns) == 0 {
		s.flushed = g.Time
	} else if len(s.conns) >= maxConnections {
		s.evict(s.list.next)
	}
	c := s.fresh()
	c.s, c.ends, c.may, c.on, c.seen = s, at, set, on, g.Time
	s.conns[c.ends] = c
	x := at.src.Port() ^ at.dst.Port()
	s.near[x]++
	s.look.add(x)
	s.link(c)
	if c.sides[0].begin(seq); t.has(packet.ACK) { // says where the data of the other side goes on
		c.sides[1].begin(t.ack)
	}
	return c
}

// fresh returns a connection of which nothing is known.
func (s *Streams) fresh() *conn {
	n := len(s.free)
	if n == 0 {
		return new(conn)
	}
	c := s.free[n-1]
	s.free = s.free[:n-1]
	*c = conn{sides: [...]side{{marks: c.sides[0].marks[:0]}, {marks: c.sides[1].marks[:0]}}}
	return c
}

// find returns the connection of a segment, nil if there is none.
func (s *Streams) find(at ends) *conn { return cmp.Or(s.conns[at], s.conns[ends{at.dst, at.src}]) }

func (s *Streams) link(c *conn) {
	c.last, c.next = s.list.last, &s.list
	c.last.next, s.list.last = c, c
}

func (c *conn) unlink() { c.last.next, c.next.last = c.next, c.last }

func (s *Streams) touch(c *conn) {
	if s.list.last != c {
		c.unlink()
		s.link(c)
	}
}

// evict forgets a connection because of a limit.
func (s *Streams) evict(c *conn) {
	s.evicted++
	s.end(c)
}

// end hands out what there is of a connection, and forgets it.
func (s *Streams) end(c *conn) {
	c.passAll(endOfTime)
	for i := range c.sides {
		if d := &c.sides[i]; c.protocol == nil && len(d.buf) > 0 && !c.over && !c.ended(d) {
			c.guess(d)
		}
		c.cutOff(&c.sides[i])
	}
	w := c.way
	for i := 0; i < len(c.sides) && !c.over; i++ { // what precedes the place where its data goes on came before
		s.open(w, c.sides[i].next, i == c.server, true)
		w = w.back()
	}
	c.leave()
	delete(s.conns, c.ends)
	x := c.ends.src.Port() ^ c.ends.dst.Port()
	s.near[x]--
	s.look.drop(x)
	c.unlink()
	s.free = append(s.free, c)
}

// settle forgets connections that take too much memory.
func (s *Streams) settle() {
	for c := s.list.next; s.bytes > maxBytes && c != &s.list; {
		next := c.next
		if a, b := &c.sides[0], &c.sides[1]; len(a.buf)+len(b.buf)+len(a.early)+len(b.early) > 0 {
			s.evict(c)
		}
		c = next
	}
}

// Advance gives up segments that have been missing for long at time now, and idle connections.
func (s *Streams) Advance(now time.Time) {
	if s == nil || len(s.conns) == 0 {
		return
	}
	if past := now.Sub(s.flushed); past < gapTime/2 && past >= 0 {
		return
	}
	s.flushed = now
	for c := s.list.next; c != &s.list; {
		next := c.next
		if c.passAll(now); now.Sub(c.seen) > idleTime || c.reset && now.Sub(c.seen) > gapTime {
			s.end(c)
		}
		c = next
	}
	s.settle()
}

// Flush hands out everything that is incomplete, and forgets all connections.
func (s *Streams) Flush() {
	if s == nil {
		return
	}
	for c := s.list.next; c != &s.list; c = s.list.next {
		s.end(c)
	}
	s.starts, s.look = [openings]opening{}, attention{}
}

// pass hands out a message.
func (s *Streams) pass(d *dissect.Datagram) { s.err = cmp.Or(s.err, s.give(d)) }
