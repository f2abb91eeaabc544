// Package core has what declares a message and reads it: catalogs and their fields, the reader, findings, character sets, styles,
// and what a field reveals. Package dissect gives names to what protocols outside this module need of it.
package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Reader reads a payload from front to back. Each read names its field, returns
// the value and advances; if a tree is wanted, it also adds a node. The first
// failure is kept as an [Error]. After it every read returns zero and [Reader.More]
// is false, so that loops end.
//
// Strings are views of the payload and valid as long as it is.
type Reader struct {
	data []byte // of the current source
	progress
	skim    bool  // nobody reads the body
	err     Error // of a failure
	nodes   []Node
	sources []Source
	// spare holds the buffers of sources made here (joined, decompressed),
	// to be used again.
	spare [][]byte
	wide  []byte // the texts of this message that were UTF-16

	findings []Finding
	leaves   []extent
	most     int // of records

	awaited    func(topics Topic, id uint64) bool // nil outside of an analyzer
	fromServer bool

	inject *Inject
	reads  int // until the one that is made to fail
}

// progress is what a message changes in a Reader. It has no pointers and begins as zeros, so that
// it is cleared at once.
type progress struct {
	off     int
	plain   int // from here to plainTo the current source has no byte but ASCII
	plainTo int
	source  uint16
	depth   uint8
	want    bool
	state   state
	sought  bool   // it did not only go forward
	badText bool   // a finding about an encoding is there
	cut     bool   // the capture does not have the end of the payload
	fields  uint64 // those of nodes, as a set
	parts   int
	missing int // the number, from 1, of the first part that is missing
	made    int // buffers of spare that are in use
	leftOut int // findings beyond the limit
	below   int // findings of the layers below, which take no room from its own
	records int // groups and lists
}

// A Topic is a set of kinds of requests; each protocol assigns its bits.
type Topic uint32

// A KeyValue is one setting of a server, as on the wire.
type KeyValue struct{ Key, Value string }

// Awaited reports whether a request for one of topics, with this id, was sent in the
// other direction not long ago: for the few messages that are the same bytes as a request
// and as its reply. Outside of an analyzer it says false.
func Awaited(r *Reader, topics Topic, id uint64) bool {
	return r.awaited != nil && r.awaited(topics, id)
}

// state is the state of a Reader.
type state uint8

const (
	reading  state = iota
	counting       // the reads, of which one will be made to fail
	failed
)

// Inject makes reads fail on purpose, for tests of what decoders do after a failure.
// 0 means never. dissecttest tries all values.
type Inject struct {
	// Read is the number of the read that fails, from 1 for the first of a
	// message.
	Read int
	// Records is the limit of records, in place of [MaxRecords].
	Records int
	// Hit is set when a reader fails at that read.
	Hit bool
}

// stopped reports whether the next read must fail. It is called unless the state is
// reading. It is not inlined, since reads are hot.
//
//go:noinline
func (r *Reader) stopped() bool {
	if r.state == counting {
		if r.reads--; r.reads > 0 {
			return false
		}
		r.inject.Hit = true
	}
	return true
}

// An Error says where and why decoding failed.
type Error struct {
	// Field is the field being read.
	Field *Field
	// Source is the number of the data source, Offset the offset in it in bytes.
	Source, Offset int
	// Need and Have are the bytes needed and present. Need is 0 if a delimiter was
	// missing or the content was wrong.
	Need, Have int
	// Text describes a failure other than missing bytes.
	Text string
}

func (e *Error) Error() string { return string(e.append(nil)) }

func (e *Error) append(b []byte) []byte {
	if e.Field != nil {
		b = append(b, e.Field.Path...)
		b = append(b, ": "...)
	}
	if e.Text != "" {
		b = append(b, e.Text...)
		if e.Need == 0 && e.Have >= 0 {
			b = append(b, " in "...)
			b = appendBytes(b, e.Have)
		}
		b = append(b, " at offset "...)
		return nettext.AppendInt(b, int64(e.Offset))
	}
	b = appendBytes(b, e.Have)
	b = append(b, " at offset "...)
	b = nettext.AppendInt(b, int64(e.Offset))
	b = append(b, ", "...)
	b = nettext.AppendInt(b, int64(e.Need))
	return append(b, " needed"...)
}

func appendBytes(b []byte, n int) []byte {
	b = nettext.AppendInt(b, int64(n))
	return append(b, nettext.Plural(n, " byte", " bytes")...)
}

// Reset starts a message of one payload. The tree is built if want is true.
func Reset(r *Reader, payload []byte, frame uint64, want bool) {
	r.clear(payload, want)
	if cap(r.sources) == 0 {
		r.sources = make([]Source, 0, 4)
	}
	r.sources = r.sources[:1]
	s := &r.sources[0] // value by value: a literal would be copied
	s.Name, s.Frame, s.Data, s.Header = "payload", frame, payload, 0
}

// clear starts a message without sources, of which data is the current one.
func (r *Reader) clear(data []byte, want bool) {
	r.progress = progress{}
	r.want, r.most = want, MaxRecords
	r.data, r.awaited, r.fromServer = data, nil, false
	r.nodes, r.sources, r.findings, r.wide = r.nodes[:0], r.sources[:0], r.findings[:0], r.wide[:0]
	if r.inject != nil {
		r.arm()
	}
}

// arm applies the injected failures.
func (r *Reader) arm() {
	if r.inject.Records > 0 {
		r.most = r.inject.Records
	}
	if r.reads = r.inject.Read; r.reads > 0 {
		r.state = counting
	}
}

// Parts returns the number of parts of a split message, 0 if it was not split. Part
// i is source i.
func (r *Reader) Parts() int { return r.parts }

// Gap returns the number of parts before the first missing one, -1 if none is
// missing.
func (r *Reader) Gap() int { return r.missing - 1 }

// Break says that the message continues in missing parts: its end is not judged, as
// with [Reader.Cut].
func Break(r *Reader) { r.cut = true }

// Sources returns the data sources so far. They are borrowed.
func Sources(r *Reader) []Source { return r.sources }

// Nodes returns the tree. It is borrowed.
func Nodes(r *Reader) []Node { return r.nodes }

// Part selects part i as the current source. It does nothing after a failure.
func (r *Reader) Part(i int) {
	switch {
	case r.state == failed:
	case i < 0 || i >= len(r.sources):
		r.Fail(nil, "no such part")
	default:
		r.sought = r.sought || i <= int(r.source) && r.off > 0
		r.closeSource()
		r.use(i)
	}
}

func (r *Reader) use(i int) {
	r.source = uint16(i)
	r.data = r.sources[i].Data
	r.off, r.plain, r.plainTo = 0, 0, 0
}

// maxSources bounds the data sources of a message: 255 parts, what they join
// to, what that decompresses to, and what is unpacked from inside.
const maxSources = 260

// Open adds a source and continues there. The rest of the previous source becomes
// data or trailing bytes. data must live as long as the message. It does nothing
// after a failure.
func (r *Reader) Open(name string, data []byte) {
	if r.state != reading && r.stopped() || len(r.sources) >= maxSources {
		r.Fail(nil, "too many data sources")
		return
	}
	r.closeSource()
	r.sources = append(r.sources, Source{Name: name, Data: data})
	r.use(len(r.sources) - 1)
}

// Buffer returns an empty buffer for a new source. Return it with [Keep]
// after it has grown.
func Buffer(r *Reader) []byte {
	if r.made < len(r.spare) {
		return r.spare[r.made][:0]
	}
	return nil
}

// Keep stores a buffer from [Buffer] for reuse. Its data lives until the next
// message.
func Keep(r *Reader, b []byte) {
	if r.made < len(r.spare) {
		r.spare[r.made] = b
	} else {
		r.spare = append(r.spare, b)
	}
	r.made++
}

// Finish ends the message. Unread bytes of the current source and unread sources
// become data or trailing bytes. It returns the number of trailing bytes.
func Finish(r *Reader, c *Catalog) int {
	r.depth = 0
	what, trailing := c.trailing, len(r.data)-r.off
	if r.state == failed {
		what, trailing = c.data, 0
		if f := r.err.Field; f != nil && f.Secret {
			what = c.hidden // what could not be read is a part of it
		}
		for i := range r.nodes {
			if n := &r.nodes[i]; n.Depth == 0 && n.Field == c.data {
				what = rest(what) // the decoder has some already
				break
			}
		}
	}
	if r.state == failed && r.sought {
		r.fillGaps(what)
		return trailing
	}
	for {
		if left := len(r.data) - r.off; left > 0 {
			r.node(what, 0, r.off, left, 0, 0)
			r.off = len(r.data)
			if what != c.trailing {
				what = rest(what)
			}
		}
		if int(r.source)+1 >= len(r.sources) {
			return trailing
		}
		r.use(int(r.source) + 1)
		if what == c.trailing {
			what = c.data
		}
	}
}

// rest returns the field for unread bytes after the first ones; it has a key of its
// own.
func rest(what *Field) *Field {
	return nettext.Either(what.Secret, hiddenLeftover, leftover)
}

// fillGaps adds a leaf for every byte without one, in any order of reading.
func (r *Reader) fillGaps(what *Field) {
	if !r.want {
		return
	}
	r.leaves = r.leaves[:0]
	for i := range r.nodes {
		if n := &r.nodes[i]; n.Len > 0 && !n.Field.Kind.Container() {
			r.leaves = append(r.leaves, extent{n.Source, n.Off, n.Off + n.Len})
		}
	}
	slices.SortFunc(r.leaves, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.off, b.off))
	})
	leaves := r.leaves
	for i := range r.sources {
		r.use(i)
		for r.off < len(r.data) {
			end := len(r.data)
			if len(leaves) > 0 && int(leaves[0].source) == i {
				end = int(leaves[0].off)
			}
			if end > r.off {
				r.node(what, 0, r.off, end-r.off, 0, 0)
				what = rest(what)
			}
			r.off = end
			if end < len(r.data) {
				r.off = int(leaves[0].end)
				leaves = leaves[1:]
			}
		}
	}
}

// An extent is the position of a leaf.
type extent struct {
	source   uint16
	off, end uint32
}

// closeSource covers the unread bytes of the current source. Correct traffic has
// none here.
func (r *Reader) closeSource() {
	if r.off < len(r.data) && r.want && len(r.nodes) > 0 {
		r.node(leftover, 0, r.off, len(r.data)-r.off, 0, 0)
	}
	r.off = len(r.data)
}

// leftover is for bytes that no catalog claims: a source left before its end.
var leftover = &Field{Path: "leftover", Kind: Bytes, Doc: "Bytes of a part after its data.", Framing: true, Privacy: Opaque, key: "leftover", jsonKey: []byte(`,"leftover":`), form: LeftOut}

var hiddenLeftover = leftover.Hidden()

// Failed reports whether a read has failed.
func (r *Reader) Failed() bool { return r.state == failed }

// Cut reports whether the capture lacks the end of the payload. Missing bytes then
// prove nothing.
func (r *Reader) Cut() bool { return r.cut }

// Err returns the first failure, nil if there is none. It is borrowed.
func Err(r *Reader) *Error {
	if r.state != failed {
		return nil
	}
	return &r.err
}

// More reports whether there are bytes left and no read has failed.
func (r *Reader) More() bool { return r.off < len(r.data) && r.state != failed }

// Left returns the number of bytes left, 0 after a failure.
func (r *Reader) Left() int {
	if r.state == failed {
		return 0
	}
	return len(r.data) - r.off
}

// Offset returns the offset of the next read.
func (r *Reader) Offset() int { return r.off }

// Seek moves to an offset of the current source, for formats whose parts are out of
// order.
func (r *Reader) Seek(offset int) {
	if r.state != failed {
		r.sought = true
		r.off = min(max(offset, 0), len(r.data))
	}
}

// Current returns the number of the current source.
func Current(r *Reader) int { return int(r.source) }

// Peek returns the unread bytes, none after a failure. Decoders do not index or
// slice the result, which may be shorter than expected (internal/archtest); the
// following methods accept any argument.
func (r *Reader) Peek() []byte {
	if r.state == failed {
		return nil
	}
	return r.data[r.off:]
}

// PeekTo returns the next n unread bytes, or fewer.
func PeekTo(r *Reader, n int) []byte {
	b := r.Peek()
	n = min(max(n, 0), len(b))
	return b[:n:n]
}

// PeekText returns the unread bytes as text.
func PeekText(r *Reader) string { return nettext.View(r.Peek()) }

// PeekFrom returns the unread bytes after the next n.
func PeekFrom(r *Reader, n int) []byte {
	b := r.Peek()
	return b[min(max(n, 0), len(b)):]
}

// PeekByte returns unread byte i, -1 if there is none.
func (r *Reader) PeekByte(i int) int {
	if b := r.Peek(); uint(i) < uint(len(b)) {
		return int(b[i])
	}
	return -1
}

// Next reports whether the next byte is c.
func (r *Reader) Next(c byte) bool {
	return r.state != failed && r.off < len(r.data) && r.data[r.off] == c
}

// HasPrefix reports whether the unread bytes begin with s.
func (r *Reader) HasPrefix(s string) bool {
	b := r.Peek()
	return len(b) >= len(s) && string(b[:len(s)]) == s
}

// Until returns the number of unread bytes before the first byte of stop, which is
// ASCII, or of all unread bytes.
func (r *Reader) Until(stop string) int { return indexAny(r.Peek(), stop) }

// indexAny returns the number of bytes of b before the first that is one of stop.
func indexAny(b []byte, stop string) int {
	n := 0
	if len(stop) == 1 {
		n = bytes.IndexByte(b, stop[0])
	} else {
		n = bytes.IndexAny(b, stop)
	}
	if n < 0 {
		return len(b)
	}
	return n
}

// While returns the index of the first unread byte from i on for which is returns
// false.
func While(r *Reader, i int, is func(byte) bool) int {
	b := r.Peek()
	i = max(i, 0)
	for i < len(b) && is(b[i]) {
		i++
	}
	return min(i, len(b))
}

// BytesWhile reads the bytes up to the first for which is returns false, if there are any.
func BytesWhile(r *Reader, f *Field, is func(byte) bool) {
	if n := While(r, 0, is); n > 0 {
		r.Bytes(f, n)
	}
}

// Fail records a failure with a description. The first failure is kept.
func (r *Reader) Fail(f *Field, text string) { r.fail(f, 0, -1, text) }

func (r *Reader) fail(f *Field, need, have int, text string) {
	if r.state != failed {
		r.state = failed
		r.err = Error{Field: f, Source: int(r.source), Offset: r.off, Need: need, Have: have, Text: text}
	}
}

// short records that need bytes were needed. It is not inlined, since reads are hot.
//
//go:noinline
func (r *Reader) short(f *Field, need int) { r.fail(f, need, len(r.data)-r.off, "") }

func (r *Reader) node(f *Field, num uint64, off, n int, pre, suf uint16) {
	if r.want {
		r.fields |= f.bit
		r.nodes = append(r.nodes, Node{Field: f, Num: num, Off: uint32(off), Len: uint32(n), Depth: r.depth, Source: r.source, pre: pre, suf: suf})
	}
}

// A Mark is a position of a Reader.
type Mark struct {
	off, nodes, findings int
	source               uint16
	depth                uint8
}

// Here returns the current position.
func Here(r *Reader) Mark { return Mark{r.off, len(r.nodes), len(r.findings), r.source, r.depth} }

// Return goes back to a mark and removes the nodes and findings since then, so that
// an incomplete record is not shown as a complete one. A failure remains; the bytes
// after the mark become data.
func Return(r *Reader, m Mark) {
	if m.source != r.source && int(m.source) < len(r.sources) {
		r.use(int(m.source))
	}
	r.off, r.depth = min(m.off, len(r.data)), m.depth
	r.nodes = r.nodes[:min(m.nodes, len(r.nodes))]
	r.findings = r.findings[:min(m.findings, len(r.findings))]
}

// Recover clears a failure whose bytes have become part of something else and
// returns it. The failure of too many records remains.
func Recover(r *Reader) Error {
	e := r.err
	if e.Text != tooManyRecords {
		r.state, r.err = reading, Error{}
	}
	return e
}

// MaxRecords is the number of groups and lists in one message, such as players and
// rules. A rule can have two bytes, and a joined and decompressed message a
// megabyte.
const MaxRecords = 8192

// tooManyRecords is the text of that failure; see TooManyRecords.
const tooManyRecords = "too many records"

// Begin opens a group or a list, which [Reader.End] closes. It fails if the message
// has too many.
func (r *Reader) Begin(f *Field) int {
	if r.records++; r.want || r.records > r.most {
		return r.begin(f)
	}
	return -1
}

func (r *Reader) begin(f *Field) int {
	if r.records > r.most {
		r.fail(f, 0, -1, tooManyRecords)
	}
	if r.want {
		r.fields |= f.bit
		r.nodes = append(r.nodes, Node{Field: f, Off: uint32(r.off), Depth: r.depth, Source: r.source})
		r.depth++
	}
	return len(r.nodes) - 1
}

// End closes what [Reader.Begin] opened.
func (r *Reader) End(open int) {
	if !r.want || open < 0 || open >= len(r.nodes) {
		return
	}
	n := &r.nodes[open]
	if !n.Field.Kind.Container() {
		return // the group was taken back, and this is another node
	}
	n.Len = 0
	if off := uint32(r.off); n.Source == r.source && off > n.Off {
		n.Len = off - n.Off
	}
	r.depth = n.Depth
}

// BeginRecord opens a group that [Reader.EndRecord] closes.
func (r *Reader) BeginRecord(f *Field) Mark {
	m := Here(r)
	r.Begin(f)
	return m
}

// EndRecord closes a group that [Reader.BeginRecord] opened. If it could not be read
// completely, EndRecord returns to its beginning, as [Return] does, and
// reports false.
func (r *Reader) EndRecord(m Mark) bool {
	if r.End(m.nodes); !r.Failed() {
		return true
	}
	Return(r, m)
	return false
}

// U8 reads a byte.
func (r *Reader) U8(f *Field) uint8 {
	if r.state != reading {
		if r.stopped() {
			r.short(f, 1)
			return 0
		}
	}
	if r.off >= len(r.data) {
		r.short(f, 1)
		return 0
	}
	v := r.data[r.off]
	r.node(f, uint64(v), r.off, 1, 0, 0)
	r.off++
	return v
}

// Bool reads a byte; any value but 0 is true.
func (r *Reader) Bool(f *Field) bool { return r.U8(f) != 0 }

// I32 reads 32 bits, little-endian and signed.
func (r *Reader) I32(f *Field) int32 {
	if r.state != reading && r.stopped() || len(r.data)-r.off < 4 {
		r.short(f, 4)
		return 0
	}
	v := int32(binary.LittleEndian.Uint32(r.data[r.off:]))
	r.node(f, uint64(int64(v)), r.off, 4, 0, 0)
	r.off += 4
	return v
}

// I16 reads 16 bits, little-endian and signed.
func I16(r *Reader, f *Field) int16 { return int16(r.number(f, 2, signed)) }

// U16 reads 16 bits, little-endian.
func (r *Reader) U16(f *Field) uint16 { return uint16(r.number(f, 2, 0)) }

// U16BE reads 16 bits, big-endian.
func (r *Reader) U16BE(f *Field) uint16 { return uint16(r.number(f, 2, bigEndian)) }

// U32 reads 32 bits, little-endian.
func (r *Reader) U32(f *Field) uint32 { return uint32(r.number(f, 4, 0)) }

// U32BE reads 32 bits, big-endian.
func (r *Reader) U32BE(f *Field) uint32 { return uint32(r.number(f, 4, bigEndian)) }

// I32BE reads 32 bits, big-endian and signed.
func I32BE(r *Reader, f *Field) int32 { return int32(r.number(f, 4, bigEndian|signed)) }

// U64 reads 64 bits, little-endian.
func (r *Reader) U64(f *Field) uint64 { return r.number(f, 8, 0) }

// U64BE reads 64 bits, big-endian.
func U64BE(r *Reader, f *Field) uint64 { return r.number(f, 8, bigEndian) }

// UintN reads a number of n bytes, at most 8, little-endian.
func UintN(r *Reader, f *Field, n int) uint64 { return r.number(f, n, 0) }

// A format is the format of a number; 0 is little-endian and unsigned.
type format uint8

const (
	bigEndian format = 1 << iota
	signed
)

// number reads a number of n bytes, at most 8.
func (r *Reader) number(f *Field, n int, as format) uint64 {
	if r.state != reading && r.stopped() || n < 0 || n > 8 || len(r.data)-r.off < n {
		r.short(f, n)
		return 0
	}
	var v uint64
	switch from := r.data[r.off:]; n {
	case 2:
		v = uint64(binary.LittleEndian.Uint16(from))
	case 4:
		v = uint64(binary.LittleEndian.Uint32(from))
	default:
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | uint64(from[i])
		}
	}
	unused := 64 - 8*n
	if as&bigEndian != 0 {
		v = bits.ReverseBytes64(v) >> unused
	}
	if as&signed != 0 {
		v = uint64(int64(v<<unused) >> unused)
	}
	r.node(f, v, r.off, n, 0, 0)
	r.off += n
	return v
}

// F32 reads an IEEE 754 number of 32 bits, little-endian.
func (r *Reader) F32(f *Field) float32 { return r.float(f, binary.LittleEndian) }

// F32BE reads an IEEE 754 number of 32 bits, big-endian.
func F32BE(r *Reader, f *Field) float32 { return r.float(f, binary.BigEndian) }

func (r *Reader) float(f *Field, order binary.ByteOrder) float32 {
	if r.state != reading && r.stopped() || len(r.data)-r.off < 4 {
		r.short(f, 4)
		return 0
	}
	v := math.Float32frombits(order.Uint32(r.data[r.off:]))
	r.node(f, math.Float64bits(float64(v)), r.off, 4, 0, 0)
	r.off += 4
	return v
}

// Bytes reads n bytes.
func (r *Reader) Bytes(f *Field, n int) []byte {
	if r.state != reading && r.stopped() || n < 0 || len(r.data)-r.off < n {
		r.short(f, n)
		return nil
	}
	v := r.data[r.off : r.off+n : r.off+n]
	r.node(f, 0, r.off, n, 0, 0)
	r.off += n
	return v
}

// Rest reads all unread bytes, possibly none.
func (r *Reader) Rest(f *Field) []byte { return r.Bytes(f, r.Left()) }

// Remaining reads all unread bytes if there are any.
func Remaining(r *Reader, f *Field) []byte {
	if !r.More() {
		return nil
	}
	return r.Rest(f)
}

// Trail reads what is left of a source after its message, and reports it. [Conclude] does so only for the last source.
func Trail(r *Reader, trailing *Field) {
	if n := r.Left(); n > 0 {
		r.Find(Trailing, trailing, r.Offset(), n, Num(n))
		r.Rest(trailing)
	}
}

// Text reads n bytes of text.
func (r *Reader) Text(f *Field, n int) string {
	r.Bytes(f, n)
	if r.state == failed {
		return ""
	}
	r.check(f, r.off-n, r.off)
	return nettext.View(r.data[r.off-n : r.off])
}

// check checks the encoding of the text between two offsets.
func (r *Reader) check(f *Field, from, to int) {
	if (from < r.plain || to > r.plainTo) && f.Kind == String {
		r.judgeText(f, from, to)
	}
}

// textAhead is how far beyond a text the next ones are seen to be ASCII as well.
const textAhead = 1024

// judgeText notes text that is not UTF-8, once per message. It stays out of line, for
// text is hot.
//
//go:noinline
func (r *Reader) judgeText(f *Field, from, to int) {
	end := from + nettext.ASCIILen(r.data[from:min(len(r.data), to+textAhead)])
	r.plain, r.plainTo = from, end
	if end < to && f.Kind == String && !r.badText && f.Charset < QuakeChars && !nettext.ValidUTF8(r.data[end:to]) {
		r.badText = true
		r.Find(NotUTF8, f, from, to-from, Str(f.Charset.Resolve(r.data[from:to]).String()))
	}
}

// CString reads text and the NUL that ends it.
func (r *Reader) CString(f *Field) string {
	if r.state != reading { // nested, for && with a call takes eight instructions
		if r.stopped() {
			return r.unterminated(f)
		}
	}
	left := r.data[r.off:]
	n, high := nettext.UntilNUL(left)
	if n < 0 {
		return r.unterminated(f)
	}
	from := r.off
	r.node(f, 0, from, n+1, 0, 1)
	r.off = from + n + 1
	if high {
		r.judgeText(f, from, from+n)
	}
	return nettext.View(left[:n])
}

// ReadPair reads a group of two texts, a key and its value, each with the NUL that ends it, and hides the
// value if the key names a password. If they could not be read completely, it returns to the
// beginning of the group, as [Reader.EndRecord] does, and reports false.
func ReadPair(r *Reader, group, key, value, hidden *Field) (kv KeyValue, ok bool) {
	if r.want && r.state == reading && r.records < r.most {
		// Long messages consist of nothing else: most pairs are read at once.
		from := r.off
		if k, end, high := twoTexts(r.data[from:], 0); end > 0 {
			text := nettext.View(r.data[from : from+end])
			kv = KeyValue{Key: text[:k], Value: text[k+1 : end-1]}
			r.pair(group, key, value, uint32(k+1), uint32(end), 0, 1)
			if high && !nettext.ValidUTF8(r.data[from:r.off]) {
				r.check(key, from, from+k)
				r.check(value, from+k+1, r.off-1)
			}
			HideSetting(r, hidden, kv.Key, kv.Value)
			return kv, true
		}
	}
	open := r.BeginRecord(group)
	kv.Key, kv.Value = r.CString(key), r.CString(value)
	HideSetting(r, hidden, kv.Key, kv.Value)
	return kv, r.EndRecord(open)
}

// ReadPairs reads groups as [ReadPair] does, at most so many, and appends their texts to list. It leaves the last ones to ReadPair,
// and reads none if no tree is wanted.
func ReadPairs(r *Reader, group, key, value, hidden *Field, most int, list []KeyValue) []KeyValue {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	most = min(most, r.most-r.records)
	if !r.want || r.state != reading || most <= 0 {
		return list
	}
	data, text := r.data, nettext.View(r.data)
	secret := nettext.SecretKeyAt(data, r.off)
	middle := -1 // the end of the key, if it is known
	high := uint64(0)
	for at := r.off; at <= len(data)-8; at += 8 {
		x := binary.LittleEndian.Uint64(data[at : at+8])
		high |= x
		for zero := ^((x&^tops + (tops - ones)) | x) & tops; zero != 0; zero &= zero - 1 {
			end := at + bits.TrailingZeros64(zero)/8
			if middle < 0 {
				middle = end
				continue
			}
			from := r.off
			kv := KeyValue{Key: text[from:middle], Value: text[middle+1 : end]}
			list = append(list, kv)
			r.pair(group, key, value, uint32(middle+1-from), uint32(end+1-from), 0, 1)
			if high&tops != 0 && !nettext.ValidUTF8(data[from:r.off]) {
				r.check(key, from, middle)
				r.check(value, middle+1, end)
			}
			if secret < r.off {
				HideSetting(r, hidden, kv.Key, kv.Value)
				secret = nettext.SecretKeyAt(data, r.off)
			}
			if most--; most == 0 {
				return list
			}
			middle, high = -1, x
		}
	}
	return list
}

// ReadSetting is [ReadPair] for texts after delimiters, which are ASCII, up to an offset. It reads nothing and reports
// false unless the first is at hand and another one follows the value, and not at the very end: as
// [Element] can read the rest.
func ReadSetting(r *Reader, group, key, value, hidden *Field, delimiter byte, end int) (kv KeyValue, ok bool) {
	from := r.off
	if !r.want || r.state != reading || r.records >= r.most || end > len(r.data) || from+1 >= end || r.data[from] != delimiter {
		return kv, false
	}
	k, next, high := twoTexts(r.data[from+1:end], delimiter)
	if next == 0 {
		return kv, false
	}
	text := nettext.View(r.data[from : from+next])
	kv = KeyValue{Key: text[1 : 1+k], Value: text[2+k:]}
	r.pair(group, key, value, uint32(1+k), uint32(next), 1, 0)
	if high && !nettext.ValidUTF8(r.data[from:r.off]) {
		r.check(key, from+1, from+1+k)
		r.check(value, from+2+k, r.off)
	}
	HideSetting(r, hidden, kv.Key, kv.Value)
	return kv, true
}

// pair adds a group of two texts, whose ends are next and end bytes from here. Each has
// pre bytes before it, suf after it.
func (r *Reader) pair(group, key, value *Field, next, end uint32, pre, suf uint16) {
	r.records++
	r.fields |= group.bit | key.bit | value.bit
	from := len(r.nodes)
	if cap(r.nodes)-from < 3 {
		r.nodes = slices.Grow(r.nodes, 3)
	}
	r.nodes = r.nodes[:from+3]
	off, depth, source := uint32(r.off), r.depth, r.source
	n := (*[3]Node)(r.nodes[from:]) // filled value by value: a literal would be made elsewhere and copied
	n[0].Field, n[0].Num, n[0].Off, n[0].Len = group, 0, off, end
	n[0].Source, n[0].Depth, n[0].Wide, n[0].pre, n[0].suf = source, depth, false, 0, 0
	n[1].Field, n[1].Num, n[1].Off, n[1].Len = key, 0, off, next
	n[1].Source, n[1].Depth, n[1].Wide, n[1].pre, n[1].suf = source, depth+1, false, pre, suf
	n[2].Field, n[2].Num, n[2].Off, n[2].Len = value, 0, off+next, end-next
	n[2].Source, n[2].Depth, n[2].Wide, n[2].pre, n[2].suf = source, depth+1, false, pre, suf
	r.off += int(end)
}

// twoTexts returns the length of the first of two texts at the start of b, the length of both with
// the delimiter after each, which is ASCII, and whether they are not all ASCII. end is 0 if too few
// bytes follow to see it eight at a time.
func twoTexts(b []byte, delimiter byte) (first, end int, high bool) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	first = -1
	all, delimiters := uint64(0), uint64(delimiter)*ones
	for at := 0; at <= len(b)-8; at += 8 {
		x := binary.LittleEndian.Uint64(b[at:at+8]) ^ delimiters
		all |= x
		zero := ^((x&^tops + (tops - ones)) | x) & tops // a bit for each delimiter
		if zero == 0 {
			continue
		}
		n := at + bits.TrailingZeros64(zero)/8
		if first < 0 {
			if first, zero = n, zero&(zero-1); zero == 0 {
				continue
			}
			n = at + bits.TrailingZeros64(zero)/8
		}
		return first, n + 1, all&tops != 0
	}
	return 0, 0, false
}

// Skim reports whether the groups that are left, at most as many as stated, need not be
// read: nobody reads the body, and their number is allowed. What a text gets as a finding
// must be found all the same, with [Sound] or [TextAt].
func Skim(r *Reader, groups int) bool {
	return r.skim && !r.want && r.state == reading && r.records+groups <= r.most
}

// Pass moves over n unread bytes with a number of groups that need not be read.
func Pass(r *Reader, groups, n int) {
	r.records += groups
	r.Seek(r.off + n)
}

// Sound reports whether none of the texts in the next n bytes gets a finding.
func Sound(r *Reader, n int) bool {
	if r.state == failed || n < 0 || n > len(r.data)-r.off {
		return false
	}
	return nettext.ValidUTF8(r.data[r.off : r.off+n])
}

// TextAt returns n bytes of text at an offset of the current source without reading them.
func TextAt(r *Reader, f *Field, offset, n int) string {
	if offset < 0 || n < 0 || offset+n > len(r.data) {
		return ""
	}
	at := r.off
	r.off = offset + n
	r.check(f, offset, r.off)
	r.off = at
	return nettext.View(r.data)[offset : offset+n]
}

// unterminated records that a text has no end. It is not inlined, since reads are hot.
//
//go:noinline
func (r *Reader) unterminated(f *Field) string {
	r.fail(f, 0, len(r.data)-r.off, "no terminator")
	return ""
}

// CStringOrRest reads text up to a NUL or to the end of the source. It reports
// whether there was a NUL.
func CStringOrRest(r *Reader, f *Field) (s string, terminated bool) {
	if r.state == failed {
		return "", false
	}
	if bytes.IndexByte(r.data[r.off:], 0) >= 0 {
		return r.CString(f), true
	}
	return r.Text(f, r.Left()), false
}

// PString reads a length byte and text of that length, as one leaf.
func (r *Reader) PString(f *Field) string {
	if r.state != reading && r.stopped() || r.off >= len(r.data) {
		r.short(f, 1)
		return ""
	}
	n := int(r.data[r.off])
	if len(r.data)-r.off-1 < n {
		r.short(f, 1+n)
		return ""
	}
	return r.Span(f, 0, 1, n, 0)
}

// PString16 reads text behind 16 bits that give its length, little-endian, which belong
// to it.
func PString16(r *Reader, f *Field) string { return r.prefixed(f, 2) }

// PString32 is the same with 32 bits.
func PString32(r *Reader, f *Field) string { return r.prefixed(f, 4) }

func (r *Reader) prefixed(f *Field, size int) string {
	left := len(r.data) - r.off - size
	if left < 0 {
		r.short(f, size)
		return ""
	}
	n := uint64(0)
	for i := size; i > 0; i-- {
		n = n<<8 | uint64(r.data[r.off+i-1])
	}
	if n > uint64(left) {
		r.short(f, size+int(n))
		return ""
	}
	return r.Span(f, 0, size, int(n), 0)
}

// Delimited reads pre bytes, text up to the first byte of stop or the end, and up to
// suf bytes of delimiter, as one leaf whose value is the text.
func (r *Reader) Delimited(f *Field, pre int, stop string, suf int) string {
	left := PeekFrom(r, pre)
	n := indexAny(left, stop)
	return r.Span(f, 0, pre, n, min(max(suf, 0), len(left)-n, math.MaxUint16))
}

// Element reads an optional delimiter and the text up to the next one or to an
// offset, as one leaf whose value is the text.
func Element(r *Reader, f *Field, delimiter byte, end int) string {
	left := r.data[r.off:min(max(end, r.off), len(r.data))]
	pre := Bit[int](len(left) > 0 && left[0] == delimiter)
	n := bytes.IndexByte(left[pre:], delimiter)
	if n < 0 {
		n = len(left) - pre
	}
	if r.state != reading && r.stopped() {
		r.short(f, pre+n)
		return ""
	}
	r.node(f, 0, r.off, pre+n, uint16(pre), 0)
	r.off += pre + n
	r.check(f, r.off-n, r.off)
	return nettext.View(left[pre : pre+n])
}

// Span reads pre bytes, n bytes of text and suf bytes as one leaf with the number
// num.
func (r *Reader) Span(f *Field, num uint64, pre, n, suf int) string {
	if r.state != reading {
		if r.stopped() {
			r.short(f, pre+n+suf)
			return ""
		}
	}
	from := r.off + pre
	to := from + n
	if uint(pre|suf) > math.MaxUint16 || n < 0 || to+suf > len(r.data) {
		r.short(f, pre+n+suf)
		return ""
	}
	r.node(f, num, r.off, pre+n+suf, uint16(pre), uint16(suf))
	r.off = to + suf
	r.check(f, from, to)
	return nettext.View(r.data)[from:to]
}

// Wide reads pre bytes, n units of UTF-16, little-endian, and suf bytes as one leaf. It
// returns the text in UTF-8.
func Wide(r *Reader, f *Field, pre, n, suf int) string {
	b := r.declared(f, pre, 2*n, suf, true)
	from := len(r.wide)
	r.wide = AppendUTF16(r.wide, b, binary.LittleEndian)
	return nettext.View(r.wide[from:])
}

// Latin is [Reader.Span] of text of which the message itself says that it is no UTF-8:
// there is nothing to note.
func Latin(r *Reader, f *Field, pre, n, suf int) string {
	return nettext.View(r.declared(f, pre, n, suf, false))
}

func (r *Reader) declared(f *Field, pre, n, suf int, wide bool) []byte {
	b := r.Bytes(f, pre+n+suf)
	if r.state == failed {
		return nil
	}
	if i := len(r.nodes) - 1; r.want {
		r.nodes[i].Wide, r.nodes[i].pre, r.nodes[i].suf = wide, uint16(pre), uint16(suf)
	}
	return b[pre : pre+n : pre+n]
}

// Endpoint4 reads an IPv4 address and a port; both are in network byte order
// unless portLE.
func (r *Reader) Endpoint4(f *Field, portLE bool) (addr [4]byte, port uint16) {
	port = r.endpoint(f, addr[:], portLE)
	return addr, port
}

// Endpoint6 reads an IPv6 address and a port; both are in network byte order unless
// portLE.
func (r *Reader) Endpoint6(f *Field, portLE bool) (addr [16]byte, port uint16) {
	port = r.endpoint(f, addr[:], portLE)
	return addr, port
}

func (r *Reader) endpoint(f *Field, addr []byte, portLE bool) (port uint16) {
	n := len(addr) + 2
	if r.state != reading && r.stopped() || len(r.data)-r.off < n {
		r.short(f, n)
		return 0
	}
	b := r.data[r.off+copy(addr, r.data[r.off:]):]
	if port = binary.BigEndian.Uint16(b); portLE {
		port = bits.ReverseBytes16(port)
	}
	r.node(f, uint64(port), r.off, n, 0, 0)
	r.off += n
	return port
}

// Tree reports whether a tree is built.
func Tree(r *Reader) bool { return r.want }

// Hide replaces the field that was read last by hidden, which [Field.Hidden]
// returned for it.
func Hide(r *Reader, hidden *Field) {
	if n := len(r.nodes) - 1; n >= 0 && r.nodes[n].Field == hidden.Column {
		r.nodes[n].Field = hidden
	}
}

// HideSetting hides the value that was read last if the setting is a secret.
func HideSetting(r *Reader, hidden *Field, key, value string) {
	if r.want && len(key) >= len("passw") {
		r.hideSetting(hidden, key, value)
	}
}

func (r *Reader) hideSetting(hidden *Field, key, value string) {
	switch {
	case len(value) == 1 && nettext.Digit(value[0]): // as most of them are
	case !nettext.SecretKey(key):
	case r.state == failed:
		// What could not be read is a part of it.
		if r.err.Field == hidden.Column {
			r.err.Field = hidden
		}
	case nettext.SecretSetting(key, value):
		Hide(r, hidden)
	}
}
