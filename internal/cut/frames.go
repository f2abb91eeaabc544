package cut

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/whole"
)

// A frameSet is a set of frames, with a bit for each frame of the capture.
type frameSet struct {
	words []uint64
	n     int
}

func (s *frameSet) has(frame uint64) bool {
	return frame/64 < uint64(len(s.words)) && s.words[frame/64]&(1<<(frame%64)) != 0
}

// add adds a frame. It reports whether the frame is new.
func (s *frameSet) add(frame uint64) bool {
	if s.has(frame) {
		return false
	}
	if more := int(frame/64) + 1 - len(s.words); more > 0 {
		s.words = append(s.words, make([]uint64, more)...)
	}
	s.words[frame/64] |= 1 << (frame % 64)
	s.n++
	return true
}

func (s *frameSet) remove(frame uint64) {
	if s.has(frame) {
		s.words[frame/64] &^= 1 << (frame % 64)
		s.n--
	}
}

// all yields the frames in ascending order.
func (s *frameSet) all(yield func(uint64) bool) {
	for i, word := range s.words {
		for ; word != 0; word &= word - 1 {
			if !yield(uint64(i)*64 + uint64(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// An order finds the frames of a set by their position.
type order struct {
	words []uint64
	upTo  []uint64 // the number of frames in the words up to each
}

func (s *frameSet) order() order {
	o := order{words: s.words}
	n := uint64(0)
	for _, word := range s.words {
		n += uint64(bits.OnesCount64(word))
		o.upTo = append(o.upTo, n)
	}
	return o
}

// frame returns the nth frame, 0 if there is none.
func (o *order) frame(n uint64) uint64 {
	i, _ := slices.BinarySearch(o.upTo, n)
	if n == 0 || i == len(o.upTo) {
		return 0
	}
	word := o.words[i]
	for skip := n + uint64(bits.OnesCount64(word)) - o.upTo[i]; skip > 1; skip-- {
		word &= word - 1
	}
	return uint64(i)*64 + uint64(bits.TrailingZeros64(word))
}

// An array holds numbers by index in a temporary file, so that its memory does not grow.
// A number is 0 until it is set. Only one page is in memory: an index should be near the
// one before.
type array struct {
	file *whole.File
	page [4096]byte
	at   int64 // offset of the page in the file
	err  error // the first
}

func newArray(dir string) (*array, error) {
	f, err := whole.Scratch(dir)
	return &array{file: f}, err
}

func (a *array) close() error { return errors.Join(a.err, a.file.Remove()) }

// place returns the bytes of a number.
func (a *array) place(i uint64) []byte {
	at := int64(i) * 8
	if page := at - at%int64(len(a.page)); page != a.at {
		a.flush()
		n, err := a.file.ReadAt(a.page[:], page)
		if err != nil && err != io.EOF && a.err == nil {
			a.err = err
		}
		clear(a.page[n:])
		a.at = page
	}
	return a.page[at-a.at:][:8]
}

// flush writes the page.
func (a *array) flush() {
	_, err := a.file.WriteAt(a.page[:], a.at)
	a.err = cmp.Or(a.err, err)
}

func (a *array) get(i uint64) uint64 { return binary.LittleEndian.Uint64(a.place(i)) }

func (a *array) set(i, n uint64) { binary.LittleEndian.PutUint64(a.place(i), n) }

// rules select datagrams by flow and time. There may be one for every message, so they
// are indexed.
type rules struct {
	// flows, or all datagrams, are selected at the times for which in reports true, or always if it is nil.
	flows []Flow
	all   bool
	in    func(time.Time) bool
	// anyPort ignores the ports of the other rules.
	anyPort bool
	times   map[Flow]*times
}

// times are the selected times of a flow.
type times struct {
	between []between
	sealed  bool
}

// between is a range of times, inclusive.
type between struct{ from, to int64 }

// of returns the times of a flow in either direction.
func (u *rules) of(f Flow, add bool) *times {
	if u.anyPort {
		f.A, f.B = netip.AddrPortFrom(f.A.Addr(), 0), netip.AddrPortFrom(f.B.Addr(), 0)
	}
	if f.A.Compare(f.B) > 0 {
		f.A, f.B = f.B, f.A
	}
	t := u.times[f]
	if t == nil && add {
		if u.times == nil {
			u.times = make(map[Flow]*times)
		}
		t = new(times)
		u.times[f] = t
	}
	return t
}

// between selects the datagrams of a flow between two times. A zero from means the
// start of the capture.
func (u *rules) between(f Flow, from, to time.Time) {
	t := u.of(f, true)
	t.between = append(t.between, between{nanos(from), nanos(to)})
	t.sealed = false
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}

func (u *rules) empty() bool { return !u.all && len(u.flows)+len(u.times) == 0 }

// take reports whether a datagram is selected.
func (u *rules) take(src, dst netip.AddrPort, at time.Time) bool {
	if (u.all || slices.ContainsFunc(u.flows, func(f Flow) bool { return f.holds(src, dst) })) && (u.in == nil || u.in(at)) {
		return true
	}
	t := u.of(Flow{src, dst}, false)
	if t == nil {
		return false
	}
	t.seal()
	now := nanos(at)
	i, _ := slices.BinarySearchFunc(t.between, now, func(b between, now int64) int { return cmp.Compare(b.to, now) })
	return i < len(t.between) && t.between[i].from <= now
}

// seal prepares lookups: it merges overlapping ranges.
func (t *times) seal() {
	if t.sealed {
		return
	}
	t.sealed = true
	slices.SortFunc(t.between, func(a, b between) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, b := range t.between {
		if n > 0 && b.from <= t.between[n-1].to {
			t.between[n-1].to = max(t.between[n-1].to, b.to)
			continue
		}
		t.between[n] = b
		n++
	}
	t.between = t.between[:n]
}

// An event is what the steps of a cut need to know about a message, or about a finding
// that belongs to no message.
type event struct {
	finding bool
	matches bool // the filter selects the finding
	role    dissect.Role
	used    dissect.Challenge // what the message does with a challenge
	frame   uint64
	request uint64 // the frame of the request that a reply answers
	icmp    uint64 // the frame of the ICMP error of a finding
	time    int64  // in nanoseconds
	given   sum    // the challenge
	says    sum    // the content of the message
	ends    []byte // from appendEnds
	frames  []uint64
}

// appendEnds appends source and destination, as bytes that are equal if they are. Few steps read them again.
func appendEnds(b []byte, src, dst netip.AddrPort) []byte {
	for _, a := range [...]netip.AddrPort{src, dst} {
		at := len(b)
		b, _ = a.AppendBinary(append(b, 0)) // never an error
		b[at] = byte(len(b) - at - 1)
	}
	return b
}

// flow returns source and destination.
func (e *event) flow() (f Flow) {
	dst := 1 + e.ends[0]
	_ = f.A.UnmarshalBinary(e.ends[1:dst]) // appendEnds wrote it
	_ = f.B.UnmarshalBinary(e.ends[dst+1:])
	return f
}

// A journal holds the events of the input in a temporary file, so that the input is
// dissected only once.
type journal struct {
	file *whole.File
	w    *bufio.Writer
	size int64
	most int // bytes of the largest event: one of thousands of fragments has more than usual buffers
	buf  []byte
}

// newJournal creates a temporary file in dir. close removes it.
func newJournal(dir string) (*journal, error) {
	f, err := whole.Scratch(dir)
	if err != nil {
		return nil, err
	}
	return &journal{file: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

func (j *journal) close() error { return j.file.Remove() }

// add writes an event.
func (j *journal) add(e *event) error {
	b := append(j.buf[:0], 0, 0, 0, 0, core.Bit[byte](e.finding), core.Bit[byte](e.matches), byte(e.role), byte(e.used))
	for _, n := range [...]uint64{e.frame, e.request, e.icmp, uint64(e.time), uint64(e.given), uint64(e.says), uint64(len(e.frames))} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for _, f := range e.frames {
		b = binary.LittleEndian.AppendUint64(b, f)
	}
	b = append(b, e.ends...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	j.buf = b
	j.size, j.most = j.size+int64(len(b)), max(j.most, len(b))
	_, err := j.w.Write(b)
	return err
}

// replay passes all events to see in the order in which they were added.
func (j *journal) replay(see func(*event)) error {
	if err := j.w.Flush(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, j.size), max(1<<16, j.most))
	var e event
	for at := int64(0); at < j.size; {
		size, err := r.Peek(4)
		if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(size))
		b, err := r.Peek(n)
		if err != nil {
			return err
		}
		at += int64(n)
		e.read(b)
		see(&e)
		_, _ = r.Discard(n) // what was peeked is there
	}
	return nil
}

// read sets the event that add wrote to b.
func (e *event) read(b []byte) {
	e.finding, e.matches, e.role, e.used = b[4] > 0, b[5] > 0, dissect.Role(b[6]), dissect.Challenge(b[7])
	b = b[8:]
	next := func() (n uint64) {
		n, b = binary.LittleEndian.Uint64(b), b[8:]
		return n
	}
	e.frame, e.request, e.icmp, e.time, e.given, e.says = next(), next(), next(), int64(next()), sum(next()), sum(next())
	e.frames = e.frames[:0]
	for range next() {
		e.frames = append(e.frames, next())
	}
	e.ends = b
}
