package anonymize

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
)

// A tcpSegment is what a frame carries over TCP. It can be written once all of its bytes are replaced, and one without data once messages of
// its connection are.
type tcpSegment struct {
	conn   *connection
	seq    uint32
	filled int // bytes that are replaced
}

// A connection is one over TCP that has begun, or of which messages are read.
type connection struct{ read, foreign bool }

// tcpLength returns the length of a TCP header.
func tcpLength(b []byte) int { return max(int(b[12]>>4)*4, packet.LenTCP) }

// segment processes a frame with a TCP segment. It reports whether the frame may be written.
func (r *run) segment(f *capture.Frame) bool {
	var o packet.Outline
	if r.decoder.OutlineSegment(&o, &r.datagram); len(o.Payload) < packet.LenTCP || r.streams.Foreign(o.Payload) {
		return false
	}
	g := streams.Segment{Frame: f.Number, Time: r.now, Snapped: max(f.Length-len(f.Data), 0), IP: o.Packet, Data: o.Payload}
	src, dst := g.Ends()
	key := [...]netip.AddrPort{src, dst}
	slices.SortFunc(key[:], netip.AddrPort.Compare)
	c, data := r.tcp[key], o.Payload[min(tcpLength(o.Payload), len(o.Payload)):]
	switch wants, ends := r.streams.Wants(o.Packet, o.Payload), o.Payload[13]&(packet.FIN|packet.SYN|packet.RST) != 0; {
	case !wants && len(data) > 0:
		if c != nil {
			c.foreign = true
		}
		return false
	case !wants && !ends, c == nil && len(data) == 0 && o.Payload[13]&packet.SYN == 0:
		return false
	}
	if c == nil {
		c = new(connection)
		store(r.tcp, maxTwins, key, c)
	}
	e := r.entry(f, false, true)
	if e == nil || !bytes.Equal(e.frame.Data[e.lay.options:e.lay.end], data) { // of fragments
		return false
	}
	e.tcp = &tcpSegment{conn: c, seq: binary.BigEndian.Uint32(o.Payload[4:])}
	if o.Payload[13]&packet.SYN != 0 {
		e.tcp.seq++
	}
	e.own = datagram{src: src, dst: dst, payload: e.frame.Data[e.lay.options:e.lay.end], pieces: 1}
	r.enqueue(e, &e.own)
	if read, _ := r.streams.Segment(&g); !read && len(data) > 0 {
		c.foreign = true
	}
	return true
}

// overTCP passes a message over TCP to the analyzer.
func (r *run) overTCP(d *dissect.Datagram) error {
	r.carried, r.fromServer = d, d.FromServer
	r.analyzer.Datagram(d)
	r.carried, r.fromServer = nil, false
	return nil
}

// fill replaces the bytes of a message over TCP in the frames that carry it.
func (r *run) fill(rec *dissect.Record, payloads [][]byte, ok bool) {
	d := r.carried
	if d == nil || d.Frame != rec.Frame {
		return
	}
	frames := d.Frames
	if frames == nil {
		frames = []uint64{d.Frame}
	}
	for _, frame := range frames {
		e := r.waits(frame)
		if e == nil || e.tcp == nil {
			continue
		}
		if !ok || len(payloads[0]) != len(d.Payload) || !bytes.Equal(rec.Sources[0].Data, d.Payload) {
			e.own.state = dropped
			r.counts.Failed++
			continue
		}
		e.tcp.conn.read = true
		if e.own.replacement == nil {
			e.own.replacement = make([]byte, len(e.own.payload)) // nothing that is captured stays by accident
		}
		at := int(int32(d.Sequence - e.tcp.seq))
		if from, to := max(at, 0), min(at+len(d.Payload), len(e.own.payload)); from < to {
			e.tcp.filled += copy(e.own.replacement[from:to], payloads[0][from-at:])
		}
	}
}

// settle says what becomes of a frame, if that is known.
func (r *run) settle(e *entry) {
	switch c := e.tcp.conn; {
	case e.own.state != waiting:
	case len(e.own.payload) > 0 && e.tcp.filled == len(e.own.payload), len(e.own.payload) == 0 && c.read:
		e.own.state = ready
	case c.foreign && !c.read:
		r.unread(e)
	}
}

// unread leaves out a frame of which not all bytes belong to messages.
func (r *run) unread(e *entry) {
	if e.own.state = dropped; len(e.own.payload) == 0 || !e.tcp.conn.read {
		r.counts.NoDatagram++
	} else {
		r.counts.Incomplete++
	}
}

const noOption = 1
