// Package anonymize makes captures that can be shared: it replaces what identifies people
// and servers and keeps the structure of the messages.
//
// Addresses, hardware addresses, names of players, SteamIDs and other identifiers,
// passwords, challenges, and all text that is not known to be harmless are replaced by
// values of the same length, in headers and in messages, also in split, fragmented and
// compressed ones. The output dissects to the same messages with the same structure. The
// replacement of a value depends on a key: see [mapping]. The catalogs of the
// protocols state what each field reveals: see [dissect.Privacy].
//
// What is not understood is left out: frames without a datagram, datagrams that no
// protocol recognises, and everything in a capture file besides its frames.
package anonymize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
)

// Options configure a run.
type Options struct {
	// Key determines the replacements. It is secret: whoever has it can test guesses.
	Key []byte
	// KeepServerText keeps names and settings of servers, except addresses and identifiers
	// in them.
	KeepServerText bool
	// KeepUnknown keeps datagrams that no protocol recognises, unchanged.
	KeepUnknown bool
	// Witness, if it is not nil, gets to know what the capture tells.
	Witness *Witness
	// Analysis configures the dissection.
	Analysis dissect.Config
}

// Counts are the statistics of a run.
type Counts struct {
	// Frames counts the frames read, Written those written, Messages the messages in them.
	Frames, Written, Messages uint64
	// Frames that were left out: without a datagram; ICMP errors; datagrams that no
	// protocol recognises; fragments and parts of incomplete packets and messages; with
	// headers that are not understood; of messages that could not be rebuilt.
	NoDatagram, ICMP, Unknown, Incomplete, Wrapped, Failed uint64
	// Panics counts the datagrams and messages on which a decoder panicked. Their frames
	// are left out as well.
	Panics uint64
	// Replacements: values in messages, hardware addresses, bytes that are not understood.
	Names, Texts, IDs, Secrets, Tokens, MACs, Bytes int
	// Repacked counts messages that were compressed again.
	Repacked int
	// Reshaped counts messages that dissect differently than before.
	Reshaped  int
	addresses map[uint64]struct{} // hashes
}

// Addresses returns the number of different addresses that were replaced.
func (c *Counts) Addresses() string {
	return nettext.Either(len(c.addresses) > maxAddresses, "more than "+strconv.Itoa(maxAddresses), strconv.Itoa(len(c.addresses)))
}

// Limits, as in docs/limits.md.
const (
	// maxWait is how long a frame waits for the rest of its message: longer than
	// reassembly does.
	maxWait = 45 * time.Second
	// maxWaiting is the number of bytes that may wait, bookkeeping included.
	maxWaiting = 48 << 20
	// frameCost is the bookkeeping of a frame. Its bytes are stored up to three times: as
	// captured, as a datagram, and as its replacement.
	frameCost, frameTimes = 1 << 10, 3
	// maxTwins is the number of datagrams remembered for later duplicates, and of
	// fragmented packets remembered for late fragments; maxTwinBytes limits the bytes of
	// each.
	maxTwins     = 1 << 14
	maxTwinBytes = 16 << 20
	// maxAddresses is the highest number of addresses that is counted.
	maxAddresses = 1 << 17
)

// An entry is a frame that waits for its replacement.
type entry struct {
	frame capture.Frame
	lay   layout
	whole bool // the snap length did not cut it
	d     *datagram
	tcp   *tcpSegment // nil for UDP
	own   datagram    // d, unless other frames carry it too
	size  int
}

// A datagram is carried by one or more entries.
type datagram struct {
	src, dst    netip.AddrPort
	payload     []byte // nil until it is known
	missing     int    // bytes of the payload that are not in the capture
	pieces      uint64 // number of frames that carry it
	replacement []byte // of the payload, nil until it is known
	state       state
	udp         [udpHeader]byte
	segment     []byte // what fragments are written of, made with the first
}

type state uint8

const (
	waiting state = iota
	ready
	dropped
)

// A twin is the hash of a datagram with its addresses: the key of equal datagrams.
type twin uint64

func (r *run) twinOf(d *datagram) twin {
	b, _ := d.src.AppendBinary(r.key[:0])
	b, _ = d.dst.AppendBinary(b)
	r.key = append(b, d.payload...)
	return twin(maphash.Bytes(r.m.seed, r.key))
}

// fragmentKey identifies the packet of a fragment.
type fragmentKey struct {
	src, dst netip.Addr
	id       uint32
	ends     int // number of IP headers
}

type run struct {
	rewriter
	in       capture.Source
	out      *capture.Writer
	analyzer *dissect.Analyzer
	decoder  *packet.Decoder
	streams  *streams.Streams
	tcp      map[[2]netip.AddrPort]*connection
	carried  *dissect.Datagram // over TCP, of the record that is handled
	queue    []*entry
	gone     int // entries of queue that are done
	bytes    int // size of the waiting entries
	groups   map[fragmentKey]*datagram
	joined   int // bytes of groups
	twins    map[twin][]byte
	same     int              // bytes of twins
	key      []byte           // scratch of twinOf
	arrival  dissect.Datagram // scratch
	datagram packet.Datagram
	now      time.Time
}

// Run reads in to its end and writes the anonymized frames to out. It returns an error of
// in after writing everything before it. It closes neither.
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
	if len(o.Key) < leastKey {
		return nil, errShortKey
	}
	o.Analysis.Tree, o.Analysis.KeepCopies = true, true
	r := &run{
		rewriter: newRewriter(o, &Counts{addresses: make(map[uint64]struct{})}), in: in, out: out,
		groups: make(map[fragmentKey]*datagram), twins: make(map[twin][]byte),
	}
	r.decoder = packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, r.lost)
	r.decoder.MapHeaders()
	var err error
	r.analyzer, err = dissect.New(o.Analysis, r)
	r.streams, r.tcp = streams.New(o.Analysis.Protocols, o.Analysis.DecodeAs, r.overTCP), make(map[[2]netip.AddrPort]*connection)
	return r, err
}

func (r *run) run() error {
	var f capture.Frame
	swept := time.Time{}
	readErr := r.in.Next(&f)
	r.now = time.Unix(0, 0).UTC()
	for ; readErr == nil; readErr = r.in.Next(&f) {
		if !f.Time.IsZero() {
			r.now = f.Time.UTC()
		}
		if past := r.now.Sub(swept); f.Number%256 == 0 || past >= time.Second || past < 0 {
			swept = r.now
			r.decoder.Expire(r.now)
			r.streams.Advance(r.now)
			r.analyzer.Advance(r.now)
		}
		r.frame(&f)
		if err := r.release(false); err != nil {
			return err
		}
	}
	r.decoder.Flush()
	r.streams.Flush()
	r.analyzer.Flush()
	if err := r.release(true); err != nil {
		return err
	}
	return nettext.Either(errors.Is(readErr, io.EOF), nil, readErr)
}

// frame processes the next frame.
func (r *run) frame(f *capture.Frame) {
	r.counts.Frames++
	raw := packet.Frame{Number: f.Number, Time: r.now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
	outcome := r.decoder.Decode(&raw, &r.datagram)
	switch outcome {
	case packet.Whole, packet.Joined, packet.FragmentHeld, packet.FragmentDuplicate, packet.FragmentConflict, packet.FragmentLate:
	case packet.TCP:
		if !r.segment(f) {
			r.counts.NoDatagram++
		}
		return
	case packet.ICMPError:
		r.counts.ICMP++
		return
	default:
		r.counts.NoDatagram++
		return
	}
	d := &r.datagram
	e := r.entry(f, outcome != packet.Whole, false)
	if e == nil {
		return
	}
	var dg *datagram
	switch outcome {
	case packet.Whole:
		from := e.lay.segment + udpHeader
		e.own.payload, e.own.pieces = e.frame.Data[from:from+len(d.Payload)], 1
		dg = &e.own
	default:
		key := fragmentKeyOf(&e.lay, f.Data)
		dg = r.groups[key]
		if dg == nil || outcome == packet.FragmentHeld && (dg.payload != nil || dg.state != waiting) {
			r.forgetGroups()
			dg = new(datagram)
			r.groups[key] = dg
		}
		dg.pieces++
		if e.lay.offset == 0 && len(f.Data)-e.lay.segment >= udpHeader {
			copy(dg.udp[:], f.Data[e.lay.segment:])
		}
	}
	r.enqueue(e, dg)
	switch outcome {
	case packet.Whole:
		r.arrived(dg)
	case packet.Joined:
		if src, dst := packet.Addresses(e.lay.ip(f.Data, e.lay.segment)); len(d.Tunnels()) > 0 && (src != d.Src.Addr() || dst != d.Dst.Addr()) {
			dg.state = dropped // a tunnel in fragments
			r.counts.Wrapped += dg.pieces
			return
		}
		dg.payload = append([]byte{}, d.Payload...)
		r.joined += dg.bytes()
		r.arrived(dg)
	}
}

// entry returns a frame with the layout of its headers, or nil if they are not understood.
func (r *run) entry(f *capture.Frame, fragment, tcp bool) *entry {
	e := &entry{frame: *f, whole: f.Length <= len(f.Data)}
	e.frame.Comments, e.frame.Data = nil, bytes.Clone(f.Data)
	var ok bool
	if e.lay, ok = lay(r.decoder.Headers(), f.Data, fragment, tcp); !ok {
		r.counts.Wrapped++
		return nil
	}
	e.lay.headers = slices.Clone(e.lay.headers)
	return e
}

// enqueue makes a frame wait for the replacement of what it carries.
func (r *run) enqueue(e *entry, d *datagram) {
	e.d, e.size = d, frameTimes*len(e.frame.Data)+frameCost
	r.bytes += e.size
	r.queue = append(r.queue, e)
}

// bytes returns the number of bytes that a fragmented packet keeps.
func (d *datagram) bytes() int { return 2 * len(d.payload) }

// forgetGroups makes room for another fragmented packet. It drops the packets that are
// done, and all packets if that frees too little.
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

// arrived passes the datagram that was decoded to the analyzer. d has a copy of its payload.
func (r *run) arrived(d *datagram) {
	from := &r.datagram
	d.src, d.dst, d.missing = from.Src, from.Dst, from.Missing
	r.arrival = dissect.Datagram{
		Frame: from.Frame, Frames: from.Frames, Time: from.Time, First: from.First, Src: from.Src, Dst: from.Dst,
		Payload: d.payload, Missing: from.Missing,
	}
	r.analyzer.Datagram(&r.arrival)
}

// waits returns the entry of a frame that waits for its replacement, or nil.
func (r *run) waits(frame uint64) *entry {
	queue := r.queue[r.gone:]
	if n := len(queue) - 1; n >= 0 && queue[n].frame.Number == frame { // most messages are in the last one
		queue = queue[n:]
	}
	i, found := slices.BinarySearchFunc(queue, frame, func(e *entry, frame uint64) int { return cmp.Compare(e.frame.Number, frame) })
	if !found || queue[i].d.state != waiting {
		return nil
	}
	return queue[i]
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

// lost drops the fragments of an incomplete packet.
func (r *run) lost(l *packet.Loss) {
	for _, f := range l.Frames {
		if e := r.waits(f); e != nil {
			e.d.state = dropped
			r.counts.Incomplete += e.d.pieces
		}
	}
}

// Record replaces the values of a message. See [dissect.Handler].
func (r *run) Record(rec *dissect.Record) {
	r.counts.Messages++
	var payloads [][]byte
	var ok bool
	finished := r.contain(func() {
		if r.o.Witness != nil {
			r.o.Witness.note(rec)
		}
		if payloads, ok = r.record(rec); ok && !r.sameShape(rec, payloads[0]) {
			r.counts.Reshaped++
		}
	})
	ok = ok && finished
	if rec.Protocol.OverTCP() {
		r.fill(rec, payloads, ok)
		return
	}
	for i, s := range rec.Sources {
		e := r.waits(s.Frame)
		if e == nil {
			continue
		}
		d := e.d
		if !ok {
			d.state = dropped
			r.counts.Failed += d.pieces
			continue
		}
		d.state, d.replacement = ready, payloads[i]
		if len(r.twins) >= maxTwins || r.same > maxTwinBytes {
			clear(r.twins)
			r.same = 0
		}
		twin := r.twinOf(d)
		r.same += len(d.replacement) - len(r.twins[twin])
		r.twins[twin] = d.replacement
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

// Unknown handles a datagram that no protocol recognises.
func (r *run) Unknown(u *dissect.Unknown) {
	e := r.waits(u.Frame)
	if e == nil {
		return
	}
	d := e.d
	if u.Panicked {
		d.state = dropped
		r.counts.Failed += d.pieces
		return
	}
	if r.o.KeepUnknown {
		d.state, d.replacement = ready, d.payload
		return
	}
	d.state = dropped
	e.frame.Data, d.payload = nil, nil // it may wait long
	r.counts.Unknown += d.pieces
}

// Finding does nothing.
func (r *run) Finding(*dissect.FlowFinding) {}

// release writes the frames at the front of the queue that need not wait longer.
func (r *run) release(all bool) error {
	for ; r.gone < len(r.queue); r.gone++ {
		e := r.queue[r.gone]
		if e.tcp != nil {
			r.settle(e)
		}
		if e.d.state == waiting {
			if !all && r.bytes < maxWaiting && r.now.Sub(e.frame.Time.UTC()) < maxWait && !e.frame.Time.IsZero() {
				break
			}
			if e.tcp != nil {
				r.unread(e)
			} else {
				r.remain(e.d)
			}
		}
		r.queue[r.gone] = nil
		r.bytes -= e.size
		if e.d.state == dropped || !r.write(e) {
			continue
		}
		if err := r.out.Write(&e.frame); err != nil {
			return err
		}
		r.counts.Written++
	}
	if r.gone > len(r.queue)/2 { // amortized: it moves no more entries than it frees
		rest := copy(r.queue, r.queue[r.gone:])
		clear(r.queue[rest:])
		r.queue, r.gone = r.queue[:rest], 0
	}
	return nil
}

// remain decides about a datagram that is in no record: a duplicate, or a part of an
// incomplete message.
func (r *run) remain(d *datagram) {
	d.state = dropped
	replacement, known := r.twins[r.twinOf(d)]
	switch {
	case d.payload == nil:
		r.counts.Incomplete += d.pieces
		return
	case known:
		d.state, d.replacement = ready, replacement
		return
	}
	for _, p := range r.o.Analysis.Protocols {
		if p.Split == nil || p.Detect(d.payload[:min(len(d.payload), 64)]) < dissect.Likely {
			continue
		}
		part, ok := p.Split.Read(d.payload, 0)
		if !ok {
			continue
		}
		if p.Split.Alone {
			if d.replacement, ok = r.alone(p, d.payload); ok {
				d.state = ready
				return
			}
			continue
		}
		b := bytes.Clone(d.payload)
		data := b[part.Header:]
		if strings.HasPrefix(string(data), "BZh") && part.Header >= 8 {
			r.m.bytes(b[part.Header-4 : part.Header]) // its checksum
		}
		r.counts.Bytes += len(data)
		r.m.bytes(data[marked(data):])
		d.state, d.replacement = ready, b
		return
	}
	r.counts.Incomplete += d.pieces
}

// alone returns the replacement of a part that can be decoded without the others.
func (r *run) alone(p *dissect.Protocol, payload []byte) (replacement []byte, ok bool) {
	ok = r.contain(func() {
		rec := dissect.Record{Protocol: p}
		r.decode(p, payload, &rec.Message)
		rec.Sources, rec.Nodes = core.Sources(&r.check), core.Nodes(&r.check)
		if payloads, ok := r.record(&rec); ok {
			replacement = payloads[0]
		}
	})
	return replacement, ok && replacement != nil
}

// write replaces the contents of a frame. It reports false if the frame must be left out.
func (r *run) write(e *entry) bool {
	l, b, d := &e.lay, e.frame.Data, e.d
	r.headers(l, b)
	if l.fragment {
		return r.writeFragment(e)
	}
	from := l.segment + udpHeader
	if e.tcp != nil {
		from = l.options
		for i := e.lay.segment + packet.LenTCP; i < e.lay.options; i++ { // their times tell for how long a host is up
			e.frame.Data[i] = noOption
		}
	}
	if n := len(d.replacement); n == len(d.payload) {
		copy(b[from:], d.replacement)
		clear(b[min(from+n, len(b)):])
	} else {
		e.frame.Data = l.resize(b, d.replacement, from)
		b = e.frame.Data
		b[l.segment+4], b[l.segment+5] = byte((n+udpHeader)>>8), byte(n+udpHeader)
		e.frame.Length = len(b)
		e.whole = true
	}
	l.sums(b, e.whole)
	return true
}

// writeFragment writes the piece of a datagram that a fragment carries. If the datagram
// has become longer or shorter, so does its last fragment; fragments beyond the end are
// left out.
func (r *run) writeFragment(e *entry) bool {
	l, d := &e.lay, e.d
	segment, old := d.segmentOf(l.ip(e.frame.Data, l.segment)), udpHeader+len(d.payload)
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
	if len(segment) == old && (d.missing > 0 || l.offset+length > len(segment)) {
		// Cut by the snap length, or longer than it should be.
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

// segmentOf returns the UDP datagram with its replacement, as it is divided among the packets of which ip is one.
func (d *datagram) segmentOf(ip []byte) []byte {
	if d.segment != nil {
		return d.segment
	}
	b := slices.Concat(d.udp[:], d.replacement)
	if len(b) != udpHeader+len(d.payload) {
		b[4], b[5] = byte(len(b)>>8), byte(len(b))
	}
	n := be16(b[4:])
	if v4 := ip[0]>>4 == 4; n <= len(b) && n >= udpHeader && d.missing == 0 && (!v4 || be16(b[6:]) != 0) {
		binary.BigEndian.PutUint16(b[6:], packet.UDPChecksum(ip, b[:n]))
	} else if v4 {
		clear(b[6:8])
	}
	d.segment = b
	return b
}

// last clears the more-fragments flag.
func (l *layout) last(b []byte) {
	if ip := l.ip(b, l.segment); ip[0]>>4 == 4 {
		ip[6] &^= 0x20
	} else {
		b[l.segment-5] &^= 1
	}
}

// Values replaces single values as [Run] does in captures: with the same key by the same replacements.
type Values struct{ m *mapping }

// NewValues returns replacements for a key.
func NewValues(key []byte) (*Values, error) {
	if len(key) < leastKey {
		return nil, errShortKey
	}
	return &Values{newMapping(key)}, nil
}

// Addr returns the replacement of an address.
func (v *Values) Addr(a netip.Addr) netip.Addr { return v.m.addr(a) }

// Text returns the replacement of a name or another text.
func (v *Values) Text(b []byte) []byte {
	b = bytes.Clone(b)
	v.m.text(b, dissect.NoStyle)
	return b
}

// leastKey is the number of bytes of the shortest key.
const leastKey = 16

var errShortKey = errors.New("the key is too short: 16 bytes at least")
