// Package capture reads the frames of packet captures, from files and from interfaces, and
// writes capture files.
//
// It reads pcap (draft-ietf-opsawg-pcap, and the older and the modified variants of it) and
// pcapng (draft-ietf-opsawg-pcapng), both of them plain or compressed with gzip or zstd, from a file, from standard input or from any [io.Reader]. The first
// bytes of a file decide its format, never its name.
//
// Captures are hostile input. No length in a file sizes an allocation, except the window
// of zstd, which has a limit: a [Reader] uses a buffer of fixed size, however long the
// file is. A damaged or cut file gives every frame before the damage and then one [Error]
// with the position of the damage.
//
// Once warm, reading allocates nothing per frame, except for comments in pcapng files.
//
// gopacket serves live capture. This package has its own readers of pcap
// and pcapng: gopacket's pcap reader takes a record without its data for the end of the
// file; its pcapng reader gets times in powers of two wrong, keeps name records without a
// limit and cannot continue after a block that is too short for its contents; and both
// take about twice the time. They are the oracle of the tests.
package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/whole"
)

// MaxFrame is the maximum length of a frame in bytes: the largest snap length of tcpdump,
// libpcap and Wireshark for networks. A longer record is treated as damage.
const MaxFrame = 256 << 10

// A Frame is one captured frame.
type Frame struct {
	// Number counts the frames of the source, from 1. In pcapng files it also counts the
	// other blocks that Wireshark lists as packets, so that the numbers agree with
	// Wireshark's.
	Number uint64
	// Time is when the frame was captured. It is zero if the file has no time (simple packet
	// blocks) or one outside the range of [time.Time.UnixNano], 1678 to 2262.
	Time Stamp
	// LinkType is the kind of the first header: a number of
	// https://www.tcpdump.org/linktypes.html.
	LinkType uint16
	// Data is the captured part of the frame, at most MaxFrame bytes. It is borrowed: it
	// is valid until the next call of Next or Close.
	Data []byte
	// Length is the length of the frame on the wire. It is larger than len(Data) if the
	// snap length cut the frame, and never smaller.
	Length int
	// Interface is the number of the interface, from 0, counted over all sections of a
	// pcapng file. Other formats have one interface.
	Interface int
	// Name is the name of the interface if there are several or the capture is live; its
	// number if the file has no name for it. Otherwise it is "".
	Name string
	// Comments are the comments of the frame in a pcapng file (opt_comment), in the order
	// of the file. They are unchecked text. They are not borrowed.
	Comments []string
}

// A Source reads frames from a file or from interfaces.
type Source interface {
	// Next fills f with the next frame. It returns [io.EOF] after the last frame. After an
	// error, it returns the same error again, and the contents of f are undefined.
	Next(f *Frame) error
	// LinkType returns the link type of the first interface, and false if no interface is
	// known yet. Frames of other interfaces may have other link types: see
	// [Frame].LinkType.
	LinkType() (uint16, bool)
	// Close releases the resources of the source.
	Close() error
}

// A Reader is the [Source] of a capture file. It must not be used by several
// goroutines at once.
type Reader struct {
	name   string
	coding string
	in     *stream
	format format
	err    error
	closes []func() error
}

// A format reads the records of one file format. It starts at the first byte of the file.
type format interface {
	// next fills all fields of f except Number. It marks the start of the record in the
	// stream, for error messages. It returns io.EOF at the clean end of the file.
	next(f *Frame) error
	linkType() (uint16, bool)
}

// Open opens the capture file of that name; "-" is standard input. It reads the first
// bytes and returns an error if the file is not a capture. [Reader.Next] reports damage
// after them.
func Open(name string) (*Reader, error) {
	if name == "-" {
		return NewReader(os.Stdin, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(file, name)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.closes = append(r.closes, file.Close)
	return r, nil
}

// NewReader returns a reader of the capture in src. The name is for error messages. The
// reader buffers what one call of src.Read returns, and calls it again only if a frame
// needs more; NewReader itself reads the file header, in pcapng up to the first interface.
// [Reader.Close] does not close src.
func NewReader(src io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, in: newStream(src)}
	if err := r.decompress(); err != nil {
		return nil, r.locate(0, err)
	}
	var err error
	if r.format, err = newFormat(r.in); err != nil {
		if r.coding != "" && (r.in.err == nil || r.in.err == io.EOF) {
			err = fmt.Errorf("unpacked: %w", err)
		}
		r.Close()
		return nil, r.locate(0, err)
	}
	return r, nil
}

// Next fills f with the next frame of the file. It returns [io.EOF] at the clean end of
// the file, and an [*Error] if the file is damaged, cut or unreadable.
func (r *Reader) Next(f *Frame) error {
	if r.err != nil {
		return r.err
	}
	if err := r.format.next(f); err != nil {
		if err != io.EOF {
			err = r.locate(r.in.frames+1, err)
		}
		r.err = err
		return err
	}
	r.in.frames++
	f.Number = r.in.frames
	return nil
}

// LinkType returns the link type of the first interface. It is known from the start,
// except in a pcapng file without interfaces, which has no frames either.
func (r *Reader) LinkType() (uint16, bool) { return r.format.linkType() }

// Close closes the file, if [Open] opened it.
func (r *Reader) Close() error {
	r.err = fs.ErrClosed
	errs := nettext.Each(r.closes, func(c func() error) error { return c() })
	r.closes = nil
	return errors.Join(errs...)
}

// A Stamp is a time in nanoseconds, 0 for none. Earlier ones are smaller. Every frame has one, and few need more.
type Stamp uint64

// StampOf returns the stamp of a time within the range of [time.Time.UnixNano], or none for the zero time.
func StampOf(t time.Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return stampOf(t.UnixNano())
}

func stampOf(nanoseconds int64) Stamp { return Stamp(nanoseconds) ^ 1<<63 }

// IsZero is as [time.Time.IsZero].
func (s Stamp) IsZero() bool { return s == 0 }

// UnixNano is as [time.Time.UnixNano]. The stamp is not zero.
func (s Stamp) UnixNano() int64 { return int64(s ^ 1<<63) }

// UTC returns the time in UTC, the zero time if there is none.
func (s Stamp) UTC() time.Time {
	if s.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, s.UnixNano()).UTC()
}

// locate adds the position to an error. Frame 0 is the file header, which needs no offset.
func (r *Reader) locate(frame uint64, err error) error {
	// Error has the name already, and the operation (open, read) adds nothing.
	if path, ok := err.(*fs.PathError); ok {
		err = path.Err
	}
	return &Error{File: r.name, Frame: frame, Offset: r.in.record, Coding: r.coding, Err: err}
}

// An Error says where a capture is damaged, or why a file is not a capture. All frames
// before the damage were delivered.
type Error struct {
	// File is the name that was opened.
	File string
	// Frame is the number of the frame that could not be read, or of the next frame if a
	// block between frames could not be read; 0 if the file is not a capture.
	Frame uint64
	// Offset is the offset of its record, in the file or, if the file is compressed, in
	// its decompressed contents.
	Offset int64
	// Coding is the compression of the file: "gzip", "zstd" or "".
	Coding string
	// Err is the cause. It wraps [io.ErrUnexpectedEOF] if the file ends too early.
	Err error
}

func (e *Error) Error() string {
	switch {
	case e.Frame == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Coding != "":
		return fmt.Sprintf("%s: frame %d at offset %d of the uncompressed data: %v", e.File, e.Frame, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s: frame %d at offset %d: %v", e.File, e.Frame, e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// A cutError is the error that the file ends within a record.
type cutError struct {
	what       string
	have, want int64
	cause      error
}

func (e *cutError) Error() string {
	s := fmt.Sprintf("%s cut short: %d of %d bytes", e.what, e.have, e.want)
	s += nettext.Either(e.cause != io.ErrUnexpectedEOF, ": "+e.cause.Error(), "")
	return s
}

func (e *cutError) Unwrap() error { return e.cause }

// cut returns the error for a record of want bytes of which the file has only have.
func (s *stream) cut(what string, have, want int64) error {
	return &cutError{what, have, want, nettext.Either(s.err == io.EOF, io.ErrUnexpectedEOF, s.err)}
}

// A resolution is the unit in which an interface of a pcapng file counts time,
// in the form of if_tsresol (draft-ietf-opsawg-pcapng section 4.2): 2 to the
// power of minus the lower seven bits, in seconds, if the highest bit is set,
// otherwise 10 to the power of that.
type resolution uint8

// microseconds is the default resolution of an interface.
const microseconds resolution = 6

var powersOf10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// split returns the seconds and nanoseconds of a time stamp, rounded down to whole
// nanoseconds. It is exact for every resolution.
func (t resolution) split(stamp uint64) (seconds, nanoseconds uint64) {
	exp := uint(t &^ 0x80)
	binary := t&0x80 != 0
	switch {
	case binary && exp < 64:
		high, low := bits.Mul64(stamp&(1<<exp-1), 1e9)
		return stamp >> exp, high<<(64-exp) | low>>exp
	case binary:
		high, _ := bits.Mul64(stamp, 1e9)
		return 0, high >> (exp - 64)
	case exp <= 9:
		one := powersOf10[exp]
		return stamp / one, stamp % one * powersOf10[9-exp]
	case exp <= 19:
		one := powersOf10[exp]
		return stamp / one, stamp % one / powersOf10[exp-9]
	case exp-9 <= 19:
		return 0, stamp / powersOf10[exp-9]
	}
	return 0, 0
}

// The range, in seconds, of times that UnixNano can express.
const (
	minSeconds = math.MinInt64/1_000_000_000 + 1
	maxSeconds = math.MaxInt64/1_000_000_000 - 1
)

// time returns the time of a stamp plus offset seconds, or none if it is outside the range of Frame.Time.
func (t resolution) time(stamp uint64, offset int64) Stamp {
	seconds, nanoseconds := t.split(stamp)
	// This prevents an overflow of the sum.
	if seconds > math.MaxInt64/2 || offset > math.MaxInt64/2 {
		return 0
	}
	sum := int64(seconds) + offset
	return nettext.Either(sum < minSeconds || sum > maxSeconds, 0, stampOf(sum*1e9+int64(nanoseconds)))
}

// Making configures how files are created.
type Making struct {
	// Private creates files that only their owner can read. Other files get the mode that
	// the umask leaves.
	Private bool
	// Inputs are the files that are being read. They are never overwritten.
	Inputs []os.FileInfo
	// Whole gives files their names when they are complete. A file that is being written live
	// is readable meanwhile.
	Whole bool
}

// open creates a file, or truncates an existing one. The function completes it.
func (m *Making) open(name string) (*os.File, func() error, error) {
	st, err := os.Stat(name)
	if m.Whole && (err != nil || st.Mode().IsRegular()) {
		if err == nil && m.reads(st) {
			return nil, nil, m.readError(name)
		}
		f, err := whole.Create(name, m.Private)
		if err != nil {
			return nil, nil, err
		}
		return f.File, f.Place, nil
	}
	f, err := m.truncate(name)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

func (m *Making) reads(st os.FileInfo) bool {
	return slices.ContainsFunc(m.Inputs, func(in os.FileInfo) bool { return os.SameFile(st, in) })
}

func (m *Making) readError(name string) error {
	return fmt.Errorf("%s is read and cannot be written at once", name)
}

func (m *Making) truncate(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, nettext.Either(m.Private, 0o600, fs.FileMode(0o666))) // with a pipe open for reading as well, the program would not learn that its reader is gone
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && m.reads(st) {
		err = m.readError(name)
	}
	if err == nil && st.Mode().IsRegular() {
		if err = f.Truncate(0); err == nil && m.Private && st.Mode().Perm()&0o077 != 0 {
			err = f.Chmod(0o600)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Waits reports whether reading the file may block for an unknown time, as with a FIFO or
// a device.
func Waits(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// A Waiting is a file that is opened at the first read: opening a FIFO blocks until a
// writer opens it.
type Waiting struct {
	Name string
	file *os.File
}

// Read opens the file at the first call, and closes it at its end.
func (w *Waiting) Read(b []byte) (n int, err error) {
	if w.file == nil {
		if w.file, err = os.Open(w.Name); err != nil {
			return 0, err
		}
	}
	if n, err = w.file.Read(b); err != nil {
		w.file.Close()
	}
	return n, err
}

// A Window is a time span that depends on the first frame.
type Window struct {
	since, until time.Time // zero for none
	known        bool
}

// Has reports whether a time is in the window, which of returns for that of the first frame. Frames without a time are in it.
func (w *Window) Has(t time.Time, of func(first time.Time) (since, until time.Time)) bool {
	if t.IsZero() {
		return true
	}
	if !w.known {
		w.known = true
		w.since, w.until = of(t)
	}
	return !t.Before(w.since) && (w.until.IsZero() || t.Before(w.until))
}
