package streams

import (
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A conn is a connection of a protocol, or one that may be.
type conn struct {
	s          *Streams
	ends       ends
	way        way               // of its first segment
	protocol   *dissect.Protocol // nil until it is decided
	may        uint64            // the protocols that it may be of
	on         uint64            // those that have one of its ports
	forced     bool              // the user chose it
	over       bool              // nothing more of it is read
	server     int               // its side
	reset      bool              // one side says that it ends
	now        mark              // the frame that is read
	seen       time.Time
	sides      [2]side // what the first sender sends, and the other one
	last, next *conn
}

// A side is one direction of a connection.
type side struct {
	first, next uint32    // sequence numbers of the first byte and of the next one
	early       []early   // segments that follow on missing bytes, in their order
	since       time.Time // when it began to wait for these
	buf         []byte    // from the beginning of a message on: own, or bytes of the segment that is read
	own         []byte
	marks       []mark // where the bytes of buf came from
	skip        int    // bytes to come that belong to a message that was given up
	lost        int    // bytes that are missing, which was not said yet
	far         uint32 // the end of a segment that is too far ahead
	snapped     bool   // the snapshot length took some of it
	astray      bool   // it is not known where the next message begins
	started     bool   // next is known
	heard       bool   // the capture has segments of it
	ended       bool   // it sends no more
	hop         uint8
	vlan        uint16
	name        string
}

// A mark says which frame carried bytes up to an end.
type mark struct {
	end   int
	frame uint64
	time  time.Time
}

// An early is a segment, which may come before others that precede it, those of the other side up to ack among them.
type early struct {
	seq, ack uint32
	data     []byte
	cut      int  // bytes after data that the snapshot length took
	fin      bool // it is the last one of its side
	acks     bool // ack says something
	mark
}

// from returns the side of a sender.
func (c *conn) from(src netip.AddrPort) *side {
	if src == c.ends.src {
		return &c.sides[0]
	}
	return &c.sides[1]
}

// other returns the side that a side speaks to.
func (c *conn) other(d *side) *side { return &c.sides[core.Bit[int](d == &c.sides[0])] }

// lacks returns how many bytes that a segment of a side acknowledges did not come. One may be no byte but the end of the other side, unless it is the first.
func (c *conn) lacks(d *side, g *early) uint32 {
	other := c.other(d)
	n := other.ahead(g.ack)
	if !g.acks || !other.heard || n <= 0 || n == 1 && other.next != other.first || n >= maxAhead {
		return 0
	}
	return uint32(n)
}

// begin sets the sequence number of the first byte.
func (d *side) begin(seq uint32) { d.started, d.first, d.next = true, seq, seq }

// arrive takes a segment, which may come again, too early, or with bytes that came before: the first ones count.
func (c *conn) arrive(d *side, g early) {
	if !d.started {
		d.begin(g.seq)
	}
	c.now, d.heard = g.mark, true
	c.unheard(d, &g)
	if d.ended {
		return
	}
	size := int32(len(g.data) + g.cut)
	switch ahead := int32(g.seq - d.next); {
	case ahead >= maxAhead && size > 0 && d.far == g.seq: // it follows on another one: bytes between are lost
		c.gap(d, uint32(ahead))
		c.goOn(d, g)
	case ahead >= maxAhead: // alone it would skip all that comes
		d.far = g.seq + uint32(size)
	case ahead > 0 && (size > 0 || g.fin), ahead+size >= 0 && c.lacks(d, &g) > 0:
		if c.defers(d, g); !c.over && c.ready(d) {
			c.goOn(d, c.pop(d))
		}
	case ahead <= 0:
		c.goOn(d, g)
	}
}

// unheard says that a side replies of which the capture has nothing, because the other one acknowledges it.
func (c *conn) unheard(d *side, g *early) {
	if other := c.other(d); c.protocol != nil && g.acks && !other.heard && other == &c.sides[c.server] && int32(g.ack-other.next) > 1 {
		o := c.datagram(other)
		o.Missing, other.next = int(g.ack-other.next), g.ack
		c.s.pass(o)
	}
}

// defers keeps a segment until those before it come.
func (c *conn) defers(d *side, g early) {
	g.data = slices.Clone(g.data)
	if len(d.early) == 0 {
		d.since = g.time
	}
	i := len(d.early)
	for i > 0 && int32(d.early[i-1].seq-g.seq) > 0 {
		i--
	}
	d.early = slices.Insert(d.early, i, g)
	c.s.bytes += len(g.data) + earlyBytes
	for len(d.early) > maxEarly && !c.over {
		c.pass(d)
	}
}

// pop takes the first segment that waits.
func (c *conn) pop(d *side) early {
	g := d.early[0]
	d.early = slices.Delete(d.early, 0, 1)
	c.s.bytes -= len(g.data) + earlyBytes
	return g
}

// goOn takes a segment whose turn it is, and what waits for it.
func (c *conn) goOn(d *side, g early) {
	for {
		c.now = g.mark
		n := min(int(d.next-g.seq), len(g.data))
		if d.next += uint32(len(g.data) - n); n < len(g.data) && !c.over {
			c.take(d, g.data[n:], g.mark)
		}
		if end := g.seq + uint32(len(g.data)+g.cut); g.cut > 0 && int32(end-d.next) > 0 && !c.over {
			d.snapped = true
			c.gap(d, end-d.next)
		}
		d.ended = d.ended || g.fin && g.seq+uint32(len(g.data)+g.cut) == d.next
		d.since = g.time // others wait for the next one from now on
		if c.over || !c.ready(d) {
			break
		}
		g = c.pop(d)
	}
	if other := c.other(d); !c.over && c.ready(other) {
		c.goOn(other, c.pop(other))
	}
}

// ready reports whether it is the turn of the first segment that waits. When both sides send again, both may acknowledge what waits for the other.
func (c *conn) ready(d *side) bool {
	other := c.other(d)
	return d.follows() && (c.lacks(d, &d.early[0]) == 0 || other.follows() && c.lacks(other, &other.early[0]) > 0)
}

// follows reports whether the first segment that waits follows on what came.
func (d *side) follows() bool { return len(d.early) > 0 && d.ahead(d.early[0].seq) <= 0 }

// ahead returns how many bytes are missing before a sequence number. The end of a side has one as well.
func (d *side) ahead(seq uint32) int32 { return int32(seq-d.next) - int32(core.Bit[int](d.ended)) }

// pass takes the first segment that waits: what it waits for is missing.
func (c *conn) pass(d *side) {
	g, other := c.pop(d), c.other(d)
	c.now = g.mark
	for !c.over && c.lacks(d, &g) > 0 {
		if len(other.early) > 0 && int32(other.early[0].seq-g.ack) < 0 {
			c.pass(other)
		} else {
			c.gap(other, c.lacks(d, &g))
		}
	}
	if n := d.ahead(g.seq); n > 0 && !c.over {
		c.gap(d, uint32(n))
	}
	c.goOn(d, g)
}

// passAll goes on after missing bytes that a connection has waited for too long at a time.
func (c *conn) passAll(now time.Time) {
	for i := range c.sides {
		for d := &c.sides[i]; !c.over && len(d.early) > 0 && now.Sub(d.since) > gapTime; {
			c.pass(d)
		}
	}
}

// gap records that bytes of a side are missing before a segment, and passes them.
func (c *conn) gap(d *side, missing uint32) {
	if c.ended(c.other(d)); c.protocol == nil && len(d.buf) > 0 {
		c.guess(d)
	}
	rest, n := max(c.cutOff(d), d.skip), int(missing)
	d.next += missing // what is handed out before ends here
	if d.skip = max(rest-n, 0); n > rest && !c.over {
		d.lost, d.astray = d.lost+n-rest, true
		c.tell(d)
	}
}

// guess decides for the protocol of the port, if what a client began with is enough to say that it is of that: its next bytes are missing.
func (c *conn) guess(d *side) {
	set := c.may & c.on
	if set == 0 {
		c.leave()
		return
	}
	p := c.s.protocols[bits.TrailingZeros64(set)]
	if n, over := p.Stream(d.buf); set&(set-1) == 0 && d != &c.sides[c.server] && (over || n > 0 && len(d.buf) >= enough) {
		c.protocol = p
		return
	}
	c.forget(d)
}

// forget frees what is kept of the messages of a side.
func (c *conn) forget(d *side) {
	c.keep(d, d.own[:0])
	c.s.bytes -= len(d.marks) * markBytes
	if d.buf, d.marks = nil, d.marks[:0]; cap(d.marks) > spareMarks {
		d.marks = nil
	}
}

// tell says how many bytes of a side are missing, once the protocol is known.
func (c *conn) tell(d *side) {
	if d.lost == 0 || c.protocol == nil {
		return
	}
	s := c.s
	o := c.datagram(d)
	o.Frame, o.Time = c.now.frame, c.now.time
	s.findings = append(s.findings[:0], dissect.NewFinding(core.SegmentsMissing, dissect.Num(d.lost)))
	if o.Findings, d.lost = s.findings, 0; !d.snapped {
		s.pass(o)
	}
}

// take takes the bytes of a frame.
func (c *conn) take(d *side, b []byte, m mark) {
	n := min(d.skip, len(b))
	if d.skip, b = d.skip-n, b[n:]; len(b) == 0 {
		return
	}
	if d.astray = d.astray && !c.resumes(b); d.astray {
		return
	}
	other := c.other(d)
	if c.ended(other); c.over {
		return
	}
	if len(d.buf) == 0 {
		d.buf = b
	} else {
		c.keep(d, append(d.own, b...))
		d.buf = d.own
	}
	m.end = len(d.buf)
	d.marks = append(d.marks, m)
	c.s.bytes += markBytes
	if c.protocol == nil && c.decide(d.buf, false) { // and by that what the other side asked
		c.read(other)
		c.ended(other)
	}
	if c.protocol != nil {
		c.read(d)
	}
	if !c.over {
		c.keep(d, append(c.room(d), d.buf...))
		d.buf = d.own
	}
	if c.protocol != nil && d == &c.sides[c.server] && len(d.marks) == 1 && len(d.buf) > 0 { // of a reply that others complete
		o := c.datagram(d)
		o.Frame, o.Time = m.frame, m.time
		c.s.pass(o)
	}
}

// resumes reports whether bytes after missing ones begin a message.
func (c *conn) resumes(b []byte) bool {
	for i, p := range c.s.protocols {
		if c.protocol != nil && c.protocol != p || c.may>>i&1 == 0 {
			continue
		}
		for rest := b; ; {
			v := p.Detect(head(rest))
			n, _ := p.Stream(rest)
			if v >= dissect.Likely || v != dissect.No && n == len(rest) {
				return true
			}
			if v == dissect.No || n <= 0 || n > len(rest) { // of several messages, one after the other, all may be short
				break
			}
			rest = rest[n:]
		}
	}
	return false
}

// room returns the empty buffer of a side.
func (c *conn) room(d *side) []byte {
	if n := len(c.s.buffers); d.own == nil && len(d.buf) > 0 && n > 0 {
		last := c.s.buffers[n-1]
		c.s.buffers = c.s.buffers[:n-1]
		return last[:0]
	}
	return d.own[:0]
}

// keep sets the buffer of a side, which is given back if it is empty.
func (c *conn) keep(d *side, b []byte) {
	c.s.bytes += len(b) - len(d.own)
	if d.own = b; len(b) > 0 || b == nil {
		return
	}
	if d.own = nil; cap(b) <= spareBytes && len(c.s.buffers) < spareBuffers {
		c.s.buffers = append(c.s.buffers, b)
	}
}

// decide reports whether the protocol is known, by the beginning of what a side sends; with ended it sends no more.
func (c *conn) decide(b []byte, ended bool) bool {
	best := dissect.No
	for m := c.may; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		p, on := c.s.protocols[i], c.on>>i&1 != 0
		v := p.Detect(head(b))
		if v == dissect.No && !c.forced {
			c.may &^= 1 << i
			continue
		}
		n, over := p.Stream(b)
		if whole := n > 0 && n <= len(b) || ended && n == 0 && over; v > best && (v >= dissect.Likely || whole && on && v >= dissect.Possible) || c.forced {
			best, c.protocol = v, p
		}
	}
	if c.protocol == nil && (c.may == 0 || len(b) >= detectBytes) {
		c.leave()
	}
	for i := range c.sides {
		c.tell(&c.sides[i])
	}
	return c.protocol != nil
}

// read hands out the whole messages of a side.
func (c *conn) read(d *side) {
	for !c.over && len(d.buf) > 0 {
		n, last := c.protocol.Stream(d.buf)
		if n < 0 || n == 0 && len(d.buf) > maxMessage {
			c.leave()
			return
		}
		if n > maxMessage && len(d.buf) >= maxMessage { // no more is kept of it
			d.skip = max(n-len(d.buf), 0)
			c.hand(d, min(n, len(d.buf)), d.skip)
			continue
		}
		if n == 0 || n > len(d.buf) {
			return
		}
		c.hand(d, n, 0)
		if last {
			c.leave()
		}
	}
}

// leave says that nothing more of a connection is read, and frees what is kept of it.
func (c *conn) leave() {
	c.over = true
	for i := range c.sides {
		d := &c.sides[i]
		c.forget(d)
		for _, g := range d.early {
			c.s.bytes -= len(g.data) + earlyBytes
		}
		d.early = nil
	}
}

// ended hands out what a side has sent if that may be a whole message, because the other side answers. It reports whether it did.
func (c *conn) ended(d *side) bool {
	if len(d.buf) == 0 || c.protocol == nil && !c.decide(d.buf, true) || c.over {
		return false
	}
	if n, over := c.protocol.Stream(d.buf); n != 0 || !over {
		return false
	}
	c.hand(d, len(d.buf), 0)
	return true
}

// cutOff hands out the beginning of a message whose end is missing. It returns the number of bytes that are, 0 if that is not known.
func (c *conn) cutOff(d *side) (rest int) {
	if len(d.buf) == 0 || c.over || c.ended(d) || c.protocol == nil {
		return 0
	}
	if n, _ := c.protocol.Stream(d.buf); n > 0 {
		rest = n - len(d.buf)
	}
	c.hand(d, len(d.buf), max(rest, 1))
	return rest
}

// datagram returns what is handed out of a side.
func (c *conn) datagram(d *side) *dissect.Datagram {
	o := &c.s.out
	*o = dissect.Datagram{Stream: c.protocol, FromServer: d == &c.sides[c.server], Sequence: d.next - uint32(len(d.buf)), Src: c.ends.src, Dst: c.ends.dst, HopLimit: d.hop, VLAN: d.vlan, Interface: d.name}
	if d == &c.sides[1] {
		o.Src, o.Dst = o.Dst, o.Src
	}
	return o
}

// hand hands out the first n bytes of a side as a message that lacks some bytes.
func (c *conn) hand(d *side, n, missing int) {
	s, o := c.s, c.datagram(d)
	o.Payload, o.Missing, o.Snapped = d.buf[:n], missing, missing > 0 && d.snapped
	s.frames = s.frames[:0]
	used := 0
	for i, m := range d.marks {
		if m.frame > o.Frame {
			o.Frame, o.Time = m.frame, m.time
		}
		if i == 0 || m.time.Before(o.First) {
			o.First = m.time
		}
		if at, ok := slices.BinarySearch(s.frames, m.frame); !ok {
			s.frames = slices.Insert(s.frames, at, m.frame)
		}
		if m.end <= n {
			used = i + 1
		}
		if m.end >= n {
			break
		}
	}
	if len(s.frames) > 1 {
		o.Frames = s.frames
	}
	s.pass(o)
	d.marks = d.marks[:copy(d.marks, d.marks[used:])]
	s.bytes -= used * markBytes
	for i := range d.marks {
		d.marks[i].end -= n
	}
	if d.buf = d.buf[n:]; len(d.buf) == 0 && len(d.own) > 0 {
		c.keep(d, d.own[:0])
	}
}
