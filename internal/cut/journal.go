package cut

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/whole"
)

// An event is what the steps of a cut need to know about a message, or about a finding
// that belongs to no message.
type event struct {
	finding  bool
	matches  bool // the filter selects the finding
	role     dissect.Role
	used     dissect.Challenge // what the message does with a challenge
	frame    uint64
	request  uint64 // the frame of the request that a reply answers
	icmp     uint64 // the frame of the ICMP error of a finding
	time     int64  // in nanoseconds
	given    sum    // the challenge
	says     sum    // the content of the message
	src, dst netip.AddrPort
	frames   []uint64
}

// A journal holds the events of the input in a temporary file, so that the input is
// dissected only once.
type journal struct {
	file *whole.File
	w    *bufio.Writer
	size int64
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
	for _, a := range [...]netip.AddrPort{e.src, e.dst} {
		at := len(b)
		b, _ = a.AppendBinary(append(b, 0)) // never an error
		b[at] = byte(len(b) - at - 1)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	j.buf = b
	j.size += int64(len(b))
	_, err := j.w.Write(b)
	return err
}

// replay passes all events to see in the order in which they were added.
func (j *journal) replay(see func(*event)) error {
	if err := j.w.Flush(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, j.size), 1<<16)
	var e event
	for at := int64(0); at < j.size; {
		size, err := r.Peek(4)
		if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(size))
		j.buf = slices.Grow(j.buf[:0], n)[:n]
		if _, err := io.ReadFull(r, j.buf); err != nil {
			return err
		}
		at += int64(n)
		e.read(j.buf)
		see(&e)
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
	for _, a := range [...]*netip.AddrPort{&e.src, &e.dst} {
		n := 1 + int(b[0])
		_ = a.UnmarshalBinary(b[1:n]) // add wrote it
		b = b[n:]
	}
}
