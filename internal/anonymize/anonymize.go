// Package anonymize makes captures that can be shared: it replaces who is in
// them and keeps what they show.
//
// Addresses, hardware addresses, names of players, SteamIDs and other
// identifiers, passwords, challenges, and all text that is not known to be
// harmless are replaced by others of the same length, in headers and in
// messages, also in those that are split, fragmented or compressed. What is made
// dissects to the same messages with the same structure. What stands for a value
// depends on a key: see [mapping]. What becomes of which field is declared in
// one place: see roles.
//
// What is not understood is left out: frames that are no datagrams, datagrams
// that are no messages, and all that a capture file says beside its frames.
package anonymize

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

// Options are what a run needs to know.
type Options struct {
	// Key decides what stands for what. It is secret: who has it can try
	// values out.
	Key []byte
	// KeepServerText keeps the names of servers, and what their settings
	// say, but for addresses and identifiers in them.
	KeepServerText bool
	// KeepUnknown keeps datagrams that nothing recognised. What is in them
	// is not replaced.
	KeepUnknown bool
	// Analysis configures the dissection.
	Analysis dissect.Config
}

// Counts say what was done.
type Counts struct {
	// Frames is what was read, Written what was written, Messages what it
	// holds.
	Frames, Written, Messages uint64
	// The frames that were left out: no datagrams; datagrams that nothing
	// recognised; fragments and parts of what stayed incomplete; those in
	// wrappings that are not understood; those of messages that could not be
	// put together again.
	NoDatagram, ICMP, Unknown, Incomplete, Wrapped, Failed uint64
	// Panics counts the datagrams and messages that a decoder panicked over.
	// Their frames are left out as well.
	Panics uint64
	// What was replaced: values in messages, hardware addresses, bytes that
	// are not understood.
	Names, Texts, IDs, Secrets, Tokens, MACs, Bytes int
	// Repacked are messages that were compressed again.
	Repacked int
	// Reshaped are messages that say of themselves something else than
	// before.
	Reshaped  int
	addresses map[netip.Addr]struct{}
}

// Addresses says how many different addresses were replaced.
func (c *Counts) Addresses() string {
	if len(c.addresses) > maxAddresses {
		return "more than " + strconv.Itoa(maxAddresses)
	}
	return strconv.Itoa(len(c.addresses))
}

// The limits of what is remembered. docs/limits.md gives them.
const (
	// maxWait is how long a frame waits for the rest of its message: longer
	// than reassembly waits.
	maxWait = 45 * time.Second
	// maxWaiting is how many bytes may wait, bookkeeping counted.
	maxWaiting = 64 << 20
	// frameCost is the bookkeeping of a frame. Its bytes are there up to three
	// times: as they came, as a datagram, and as what stands for that.
	frameCost, frameTimes = 1 << 10, 3
	// maxTwins is how many datagrams are remembered for the sake of those
	// that are the same, and how many fragmented packets for that of late
	// fragments; maxTwinBytes is how many bytes each of the two may have.
	maxTwins     = 1 << 14
	maxTwinBytes = 16 << 20
	// maxAddresses is how many addresses are told apart when they are
	// counted.
	maxAddresses = 1 << 17
)

// An entry is a frame that waits until it is known what stands for it.
type entry struct {
	frame capture.Frame
	lay   layout
	whole bool // nothing of it was cut off
	d     *datagram
	size  int
}

// A datagram is what one or more entries carry.
type datagram struct {
	d       dissect.Datagram
	twin    twin
	pieces  uint64 // frames that carry it
	payload []byte // what stands for it, nil as long as that is not known
	state   state
	udp     [udpHeader]byte
}

type state uint8

const (
	waiting state = iota
	ready
	dropped
)

// A twin is what datagrams have in common that are the same.
type twin struct {
	src, dst netip.AddrPort
	sum      [sha256.Size]byte
}

// fragmentKey tells the fragments of unlike packets apart.
type fragmentKey struct {
	src, dst netip.Addr
	id       uint32
	ends     int // headers around it
}

type run struct {
	rewriter
	in       capture.Source
	out      *capture.Writer
	analyzer *dissect.Analyzer
	decoder  *packet.Decoder
	queue    []*entry
	gone     int // of the queue, at its beginning
	bytes    int // that wait
	frames   map[uint64]*datagram
	groups   map[fragmentKey]*datagram
	joined   int // bytes of groups
	twins    map[twin][]byte
	same     int // bytes of twins
	datagram packet.Datagram
	now      time.Time
}

// Run reads in to its end and writes what stands for it. An error of in is
// returned after everything before it has been written. It closes neither.
func Run(in capture.Source, out *capture.Writer, o Options) (Counts, error) {
	r, err := newRun(in, out, &o)
	if err != nil {
		return Counts{}, err
	}
	err = r.run()
	r.counts.Panics += r.analyzer.Stats().Panics
	return *r.counts, err
}

func newRun(in capture.Source, out *capture.Writer, o *Options) (*run, error) {
	if len(o.Key) < 16 {
		return nil, errors.New("the key is too short: 16 bytes at least")
	}
	o.Analysis.Tree, o.Analysis.KeepCopies = true, true
	r := &run{
		rewriter: newRewriter(o, &Counts{addresses: make(map[netip.Addr]struct{})}), in: in, out: out,
		frames: make(map[uint64]*datagram), groups: make(map[fragmentKey]*datagram), twins: make(map[twin][]byte),
	}
	r.decoder = packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, r.lost)
	r.decoder.MapHeaders()
	var err error
	r.analyzer, err = dissect.New(o.Analysis, r)
	return r, err
}

func (r *run) run() error {
	var f capture.Frame
	swept := time.Time{}
	readErr := r.in.Next(&f)
	r.now = time.Unix(0, 0).UTC()
	for ; readErr == nil; readErr = r.in.Next(&f) {
		if !f.Time.IsZero() {
			r.now = f.Time
		}
		if past := r.now.Sub(swept); f.Number%256 == 0 || past >= time.Second || past < 0 {
			swept = r.now
			r.decoder.Expire(r.now)
			r.analyzer.Advance(r.now)
		}
		r.frame(&f)
		if err := r.release(false); err != nil {
			return err
		}
	}
	r.decoder.Flush()
	r.analyzer.Flush()
	if err := r.release(true); err != nil {
		return err
	}
	if errors.Is(readErr, io.EOF) {
		return nil
	}
	return readErr
}

// frame takes the next frame.
func (r *run) frame(f *capture.Frame) {
	r.counts.Frames++
	raw := packet.Frame{Number: f.Number, Time: r.now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
	outcome := r.decoder.Decode(&raw, &r.datagram)
	switch outcome {
	case packet.Whole, packet.Joined, packet.FragmentHeld, packet.FragmentDuplicate, packet.FragmentConflict, packet.FragmentLate:
	case packet.ICMPError:
		r.counts.ICMP++
		return
	default:
		r.counts.NoDatagram++
		return
	}
	d := &r.datagram
	e := &entry{frame: *f, whole: f.Length <= len(f.Data)}
	e.frame.Comments = nil
	var ok bool
	if e.lay, ok = lay(r.decoder.Headers(), f.Data, outcome != packet.Whole); !ok {
		r.counts.Wrapped++
		return
	}
	var dg *datagram
	switch outcome {
	case packet.Whole:
		dg = r.arrived(d)
		dg.pieces = 1
	default:
		key := fragmentKeyOf(&e.lay, f.Data)
		dg = r.groups[key]
		if dg == nil || outcome == packet.FragmentHeld && (dg.d.Payload != nil || dg.state != waiting) {
			r.forgetGroups()
			dg = &datagram{d: dissect.Datagram{Time: r.now}}
			r.groups[key] = dg
		}
		dg.pieces++
		if e.lay.offset == 0 && len(f.Data)-e.lay.segment >= udpHeader {
			copy(dg.udp[:], f.Data[e.lay.segment:])
		}
	}
	e.d = dg
	e.frame.Data = bytes.Clone(f.Data)
	e.size = frameTimes*len(f.Data) + frameCost
	r.bytes += e.size
	r.queue = append(r.queue, e)
	r.frames[f.Number] = dg
	switch outcome {
	case packet.Whole:
		r.analyzer.Datagram(&dg.d)
	case packet.Joined:
		if src, dst := packet.Addresses(e.lay.ip(f.Data, e.lay.segment)); len(d.Tunnels()) > 0 && (src != d.Src.Addr() || dst != d.Dst.Addr()) {
			dg.state = dropped // a tunnel in fragments
			r.counts.Wrapped += dg.pieces
			return
		}
		full := r.arrived(d)
		dg.d, dg.twin = full.d, full.twin
		r.joined += dg.bytes()
		r.analyzer.Datagram(&dg.d)
	}
}

// bytes is how many a fragmented packet keeps.
func (d *datagram) bytes() int { return 2 * len(d.d.Payload) }

// forgetGroups makes room for another fragmented packet: those go that wait for
// nothing, and all if these are few.
func (r *run) forgetGroups() {
	if len(r.groups) < maxTwins && r.joined <= maxTwinBytes {
		return
	}
	r.joined = 0
	for k, d := range r.groups {
		if d.state != waiting {
			delete(r.groups, k)
		} else {
			r.joined += d.bytes()
		}
	}
	if len(r.groups) > maxTwins/2 || r.joined > maxTwinBytes/2 {
		clear(r.groups)
		r.joined = 0
	}
}

// arrived returns a datagram that was found, as one of ours.
func (r *run) arrived(d *packet.Datagram) *datagram {
	payload := bytes.Clone(d.Payload)
	if payload == nil {
		payload = []byte{}
	}
	return &datagram{
		d: dissect.Datagram{
			Frame: d.Frame, Frames: append([]uint64(nil), d.Frames...), Time: d.Time, First: d.First, Src: d.Src, Dst: d.Dst,
			Payload: payload, Missing: d.Missing,
		},
		twin: twin{d.Src, d.Dst, sha256.Sum256(payload)},
	}
}

func fragmentKeyOf(l *layout, b []byte) fragmentKey {
	k, ip := fragmentKey{ends: l.ips}, l.ip(b, l.segment)
	if k.src, k.dst = packet.Addresses(ip); k.src.Is4() {
		k.id = uint32(be16(ip[4:]))
	} else {
		h := b[l.segment-8:]
		k.id = uint32(be16(h[4:]))<<16 | uint32(be16(h[6:]))
	}
	return k
}

// lost takes fragments of what stays incomplete.
func (r *run) lost(l *packet.Loss) {
	for _, f := range l.Frames {
		if d := r.frames[f]; d != nil && d.state == waiting {
			d.state = dropped
			r.counts.Incomplete += d.pieces
		}
	}
}

// Record takes a message. See [dissect.Handler].
func (r *run) Record(rec *dissect.Record) {
	r.counts.Messages++
	var payloads [][]byte
	var ok bool
	finished := r.contain(func() {
		if payloads, ok = r.record(rec); ok && !r.sameShape(rec, payloads[0]) {
			r.counts.Reshaped++
		}
	})
	ok = ok && finished
	for i, s := range rec.Sources {
		d := r.frames[s.Frame]
		if s.Frame == 0 || d == nil || d.state != waiting {
			continue
		}
		if !ok {
			d.state = dropped
			r.counts.Failed += d.pieces
			continue
		}
		d.state, d.payload = ready, payloads[i]
		if len(r.twins) >= maxTwins || r.same > maxTwinBytes {
			clear(r.twins)
			r.same = 0
		}
		r.same += len(d.payload) - len(r.twins[d.twin])
		r.twins[d.twin] = d.payload
	}
}

// contain calls f and reports false if it panicked. A panic drops the scratch
// state of the decoders.
func (r *run) contain(f func()) (ok bool) {
	defer func() {
		if e := recover(); e != nil {
			ok = false
			r.counts.Panics++
			clear(r.decoders)
			r.check = dissect.Reader{}
		}
	}()
	f()
	return true
}

// Unknown takes a datagram that nothing recognised.
func (r *run) Unknown(u *dissect.Unknown) {
	d := r.frames[u.Frame]
	if d == nil || d.state != waiting {
		return
	}
	if u.Panicked {
		d.state = dropped
		r.counts.Failed += d.pieces
		return
	}
	if r.o.KeepUnknown {
		d.state, d.payload = ready, d.d.Payload
		return
	}
	d.state = dropped
	r.counts.Unknown += d.pieces
}

// Finding is of no use here.
func (r *run) Finding(*dissect.FlowFinding) {}

// release writes the frames that wait for nothing any more, in their order.
func (r *run) release(all bool) error {
	for ; r.gone < len(r.queue); r.gone++ {
		e := r.queue[r.gone]
		if e.d.state == waiting {
			if !all && r.bytes < maxWaiting && r.now.Sub(e.frame.Time) < maxWait && !e.frame.Time.IsZero() {
				break
			}
			r.remain(e.d)
		}
		r.queue[r.gone] = nil
		r.bytes -= e.size
		delete(r.frames, e.frame.Number)
		if e.d.state == dropped || !r.write(e) {
			continue
		}
		if err := r.out.Write(&e.frame); err != nil {
			return err
		}
		r.counts.Written++
	}
	if r.gone > len(r.queue)/2 { // as much is moved as went before
		rest := copy(r.queue, r.queue[r.gone:])
		clear(r.queue[rest:])
		r.queue, r.gone = r.queue[:rest], 0
	}
	return nil
}

// remain decides on a datagram of which nothing was told: a part that came
// again, or of a message that stayed incomplete.
func (r *run) remain(d *datagram) {
	d.state = dropped
	payload, known := r.twins[d.twin]
	switch {
	case d.d.Payload == nil:
		r.counts.Incomplete += d.pieces
		return
	case known:
		d.state, d.payload = ready, payload
		return
	}
	for _, p := range r.o.Analysis.Protocols {
		if p.Split == nil || p.Detect(d.d.Payload[:min(len(d.d.Payload), 64)]) < dissect.Likely {
			continue
		}
		part, ok := p.Split.Read(d.d.Payload, 0)
		if !ok {
			continue
		}
		if p.Split.Alone {
			if d.payload, ok = r.alone(p, d.d.Payload); ok {
				d.state = ready
				return
			}
			continue
		}
		b := bytes.Clone(d.d.Payload)
		data := b[part.Header:]
		if strings.HasPrefix(string(data), "BZh") && part.Header >= 8 {
			r.m.bytes(b[part.Header-4 : part.Header]) // its checksum
		}
		r.counts.Bytes += len(data)
		r.m.bytes(data[marked(data):])
		d.state, d.payload = ready, b
		return
	}
	r.counts.Incomplete += d.pieces
}

// alone returns the replacement of a part that can be decoded without the others.
func (r *run) alone(p *dissect.Protocol, payload []byte) (replacement []byte, ok bool) {
	ok = r.contain(func() {
		rec := dissect.Record{Protocol: p}
		r.decode(p, payload, &rec.Message)
		rec.Sources, rec.Nodes = r.check.Sources(), r.check.Nodes()
		if payloads, ok := r.record(&rec); ok {
			replacement = payloads[0]
		}
	})
	return replacement, ok && replacement != nil
}

// write makes what stands for a frame. It reports false if nothing does.
func (r *run) write(e *entry) bool {
	l, b, d := &e.lay, e.frame.Data, e.d
	r.headers(l, b)
	if l.fragment {
		return r.writeFragment(e)
	}
	from := l.segment + udpHeader
	if n := len(d.payload); n == len(d.d.Payload) {
		copy(b[from:], d.payload)
		clear(b[min(from+n, len(b)):])
	} else {
		e.frame.Data = l.resize(b, d.payload, from)
		b = e.frame.Data
		b[l.segment+4], b[l.segment+5] = byte((n+udpHeader)>>8), byte(n+udpHeader)
		e.frame.Length = len(b)
		e.whole = true
	}
	l.sums(b, e.whole)
	return true
}

// writeFragment writes the piece of a datagram that a fragment carries. Of a
// datagram that has become longer the last fragment has more, of one that has
// become shorter less, or there is none any more.
func (r *run) writeFragment(e *entry) bool {
	l, d := &e.lay, e.d
	segment := make([]byte, udpHeader, udpHeader+len(d.payload))
	copy(segment, d.udp[:])
	segment = append(segment, d.payload...)
	old := udpHeader + len(d.d.Payload)
	if n := len(segment); n != old {
		segment[4], segment[5] = byte(n>>8), byte(n)
	}
	n, ip := be16(segment[4:]), l.ip(e.frame.Data, l.segment)
	if v4 := ip[0]>>4 == 4; n <= len(segment) && n >= udpHeader && d.d.Missing == 0 && (!v4 || be16(segment[6:]) != 0) {
		binary.BigEndian.PutUint16(segment[6:], packet.UDPChecksum(ip, segment[:n]))
	} else if v4 {
		clear(segment[6:8])
	}
	length := l.end - l.segment
	from := min(l.offset, len(segment))
	to := min(l.offset+length, len(segment))
	switch {
	case l.offset >= len(segment):
		return false
	case !l.more:
		to = len(segment)
	case len(segment) < old && to == len(segment) && l.offset+length > len(segment):
		l.last(e.frame.Data)
	}
	if len(segment) == old && (d.d.Missing > 0 || l.offset+length > len(segment)) {
		// Cut when it was captured, or longer than it should be.
		b := e.frame.Data
		clear(b[l.segment:])
		copy(b[l.segment:], segment[from:to])
	} else {
		e.frame.Data = l.resize(e.frame.Data, segment[from:to], l.segment)
		e.frame.Length = len(e.frame.Data)
	}
	l.sums(e.frame.Data, true)
	return true
}

// last marks a fragment as the last one.
func (l *layout) last(b []byte) {
	if ip := l.ip(b, l.segment); ip[0]>>4 == 4 {
		ip[6] &^= 0x20
	} else {
		b[l.segment-5] &^= 1
	}
}
