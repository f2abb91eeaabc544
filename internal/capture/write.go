package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A Format is a kind of capture file that can be written.
type Format uint8

const (
	// Pcapng holds whatever a [Frame] has: any number of interfaces and link
	// types, nanoseconds, comments.
	Pcapng Format = iota
	// Pcap holds frames of one link type, without comments. It is what every
	// program reads.
	Pcap
)

// FormatOf returns the format and the compression ("gzip", "zstd", or "" for
// none) that belong to the name of a file. It is pcap for .pcap, .cap and .dmp
// and pcapng for every other name, gzip for another .gz behind it and zstd for
// .zst.
func FormatOf(name string) (format Format, coding string) {
	name = strings.ToLower(name)
	for _, c := range [...]struct{ ext, coding string }{{".gz", "gzip"}, {".zst", "zstd"}} {
		if rest, ok := strings.CutSuffix(name, c.ext); ok {
			name, coding = rest, c.coding
			break
		}
	}
	for _, ext := range [...]string{".pcap", ".cap", ".dmp"} {
		if strings.HasSuffix(name, ext) {
			format = Pcap
		}
	}
	return format, coding
}

// A Writer writes frames into a capture file, in the order in which they come.
//
// What is written is the same on every machine, in little-endian order. It is
// handed to the file in whole records, so that a file that is still being
// written, or whose writer was killed, ends with a whole frame. Once warm,
// writing allocates nothing per frame.
//
// gopacket's writers are not used: they put the name of the operating system
// into the file and the time of the run onto frames without one, allocate for
// each comment, let a comment of 64 KiB overflow its length, and begin a pcap
// file before anybody can know whether it needs nanoseconds.
//
// A Writer must not be used by several goroutines at once.
type Writer struct {
	out     io.Writer
	file    *counter // of Create
	records records
	buf     []byte // whole records that have not been written
	frame   Frame  // being written
	frames  uint64
	last    time.Time // of the newest frame that has one
	err     error
	closed  bool
	flush   []func() error // from the inner to the outer
	closes  []func() error
}

// records is the form that frames take in a kind of file.
type records interface {
	// append adds the record of a frame, and what must come before it. The
	// frame has been checked; its time is known. After an error b is as it
	// was.
	append(b []byte, f *Frame) ([]byte, error)
	// ready makes b ready to be written: all records since the last call, or
	// since the beginning of the file. Last says that no others follow.
	ready(b []byte, last bool) []byte
	// whole returns how many of the first n bytes of what ready returned are
	// whole records. First says that it is the beginning of the file.
	whole(b []byte, n int, first bool) int
	snap(n uint32)
	interfaces(names []string)
}

// writeSize is how much is gathered before it is written.
const writeSize = 64 << 10

// NewWriter returns a writer of a capture into w. Nothing is written before
// there is enough of it, or Flush or Close is called.
func NewWriter(w io.Writer, format Format) *Writer {
	c := &Writer{out: w, records: &pcapngRecords{}}
	if format == Pcap {
		c.records = &pcapRecords{}
	}
	return c
}

// Create creates the file of that name, or empties it if there is one.
// [FormatOf] says how it is written. Standard output has no name here.
func Create(name string) (*Writer, error) { return create(name, &Making{}) }

func create(name string, m *Making) (*Writer, error) {
	format, coding := FormatOf(name)
	f, err := m.open(name)
	if err != nil {
		return nil, err
	}
	file := &counter{File: f}
	w := NewWriter(file, format)
	w.file = file
	w.closes = []func() error{file.Close}
	switch coding {
	case "gzip":
		z := gzip.NewWriter(file)
		w.pack(z, z.Flush, z.Close)
	case "zstd":
		// One at a time: no goroutines. The window is one that Reader reads.
		z, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
		if err != nil {
			file.Close()
			return nil, err
		}
		w.pack(z, z.Flush, z.Close)
	}
	if format == Pcapng {
		w.Flush() // a capture from the beginning; Write returns the error
	}
	return w, nil
}

// counter counts what goes into a file.
type counter struct {
	*os.File
	bytes int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.File.Write(b)
	c.bytes += int64(n)
	return n, err
}

// Size returns how large the file is that [Create] created, with what is still
// to be written; if it is compressed, without.
func (w *Writer) Size() int64 {
	switch {
	case w.file == nil:
		return 0
	case w.out != io.Writer(w.file):
		return w.file.bytes
	}
	return w.file.bytes + int64(len(w.buf))
}

func (w *Writer) pack(z io.Writer, flush, end func() error) {
	w.out = z
	w.flush = append(w.flush, flush)
	w.closes = append([]func() error{end}, w.closes...)
}

// SetSnapLength states the snap length with which the frames that follow were
// captured, in bytes; 0, as without it, states no limit. A pcap file has one
// for all frames: the last that is set before its first frame is written.
// Nothing is cut.
func (w *Writer) SetSnapLength(n int) {
	w.records.snap(uint32(max(0, min(n, math.MaxInt32))))
}

// SetInterfaces gives names to the interfaces of the frames that follow, by
// [Frame].Interface. Only pcapng has a place for them.
func (w *Writer) SetInterfaces(names []string) { w.records.interfaces(names) }

// Write writes a frame. Its number is not used: frames are numbered by their
// place. A frame without a time is written with that of the one before it. In
// a pcapng file, each pair of [Frame].Interface and [Frame].LinkType becomes an
// interface, in the order in which they come, from 0.
//
// A frame that the format cannot hold is refused with a [*RefusedError]: data
// longer than [MaxFrame]; in pcap, a second link type, a time before 1970 or
// after 2106, or nanoseconds in a file that was begun without (see below); in
// pcapng, comments that do not fit into their block. Comments are silently left
// out of pcap, which has no place for them. An error of the file beneath is
// returned by this and every later call.
//
// A pcap file counts in microseconds, which old programs expect, if no frame in
// the first part that goes out needs more, and if that part has eight frames at
// least or is the whole file; otherwise in nanoseconds.
func (w *Writer) Write(f *Frame) error {
	if w.err != nil {
		return w.err
	}
	at := f.Time
	if at.IsZero() {
		if at = w.last; at.IsZero() {
			at = time.Unix(0, 0)
		}
	}
	w.frame = *f
	w.frame.Time, w.frame.Length = at, min(max(f.Length, len(f.Data)), math.MaxInt32)
	if len(f.Data) > MaxFrame {
		return w.refuse(fmt.Errorf("%d bytes, a frame has %d at most", len(f.Data), MaxFrame))
	}
	if s := at.Unix(); s < minSeconds || s > maxSeconds {
		return w.refuse(fmt.Errorf("time %s is out of reach", at.UTC().Format(time.DateOnly)))
	}
	b, err := w.records.append(w.buf, &w.frame)
	w.buf = b
	if err != nil {
		return w.refuse(err)
	}
	w.frames++
	w.last = at
	if len(w.buf) >= writeSize {
		return w.write(false)
	}
	return nil
}

// A RefusedError says why a format cannot hold a frame. Others can still be
// written.
type RefusedError struct {
	// Frame is the number that it would have had in the file.
	Frame uint64
	Err   error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("frame %d cannot be written: %v", e.Frame, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

func (w *Writer) refuse(err error) error { return &RefusedError{w.frames + 1, err} }

// write hands what has been gathered to the file.
func (w *Writer) write(last bool) error {
	b := w.records.ready(w.buf, last)
	w.buf = b[:0]
	if len(b) == 0 || w.err != nil {
		return w.err
	}
	n, err := w.out.Write(b)
	if err != nil {
		w.err = err
		w.mend(b, n)
	}
	return w.err
}

// mend takes the beginning of a record off the end of a full file: n bytes of b
// have been written. What is no file, or compressed, stays as it is.
func (w *Writer) mend(b []byte, n int) {
	if w.file == nil || w.out != io.Writer(w.file) || n == len(b) {
		return
	}
	before := w.file.bytes - int64(n)
	whole := int64(w.records.whole(b, n, before == 0))
	if w.file.Truncate(before+whole) == nil {
		w.file.bytes = before + whole
	}
}

// Flush hands everything to the file. What has been written until then is a
// readable file; if it is compressed, one that lacks only its end mark. Before
// the first frame, a pcap file has nothing to write.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.write(false)
	}
	for _, flush := range w.flush {
		if w.err != nil {
			break
		}
		w.err = flush()
	}
	return w.err
}

// Close ends the file, and closes it if [Create] created it. A file without
// frames is a valid capture too; in pcap its link type is Ethernet.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	if w.err == nil {
		w.write(true)
	}
	errs := []error{w.err}
	for _, c := range w.closes {
		errs = append(errs, c())
	}
	w.closes, w.err, w.closed = nil, fs.ErrClosed, true
	return errors.Join(errs...)
}
