package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/whole"
)

// A Format is a format of capture files that can be written.
type Format uint8

const (
	// Pcapng stores all fields of a [Frame]: any number of interfaces and link types,
	// nanoseconds, comments.
	Pcapng Format = iota
	// Pcap stores frames of one link type, without comments. Every program reads it.
	Pcap
)

// FormatOf returns the format and the compression ("gzip", "zstd", or "" for none) for a
// file name: pcap for .pcap, .cap and .dmp, pcapng for other names; gzip if .gz follows,
// zstd if .zst follows.
func FormatOf(name string) (format Format, coding string) {
	name = strings.ToLower(strings.TrimSuffix(name, whole.Suffix))
	ext := filepath.Ext(name)
	if coding = map[string]string{".gz": "gzip", ".zst": "zstd"}[ext]; coding != "" {
		ext = filepath.Ext(strings.TrimSuffix(name, ext))
	}
	if slices.Contains([]string{".pcap", ".cap", ".dmp"}, ext) {
		format = Pcap
	}
	return format, coding
}

// A Writer writes frames into a capture file.
//
// Its output is the same on every machine, in little-endian order. It writes whole
// records, so that a file that is still being written, or whose writer was killed, ends
// with a whole frame. Once warm, it allocates nothing per frame.
//
// gopacket's writers are not used: they write the name of the operating system into the
// file, give frames without a time that of the run, allocate for each comment, let a
// comment of 64 KiB overflow its length, and choose the unit of time before the first
// frame is known.
//
// A Writer must not be used by several goroutines at once.
type Writer struct {
	out     io.Writer
	file    *counter // of Create
	records records
	buf     []byte // whole records to be written
	frame   Frame  // being written
	frames  uint64
	last    Stamp // of the last frame that has a time
	err     error
	closed  bool
	flush   []func() error // from the inner to the outer
	closes  []func() error
}

// records encodes frames in one file format.
type records interface {
	// append appends the record of a frame, and headers that must precede it. The frame is
	// valid and has a time. With an error, it returns b unchanged.
	append(b []byte, f *Frame) ([]byte, error)
	// ready completes b, all records since the last call or the start of the file, before
	// it is written. last says that no others follow.
	ready(b []byte, last bool) []byte
	// whole returns the length of the whole records in the first n bytes of a result of
	// ready. first says that b is the start of the file.
	whole(b []byte, n int, first bool) int
	snap(n uint32)
	interfaces(names []string)
}

// writeSize is the number of bytes that are buffered before they are written.
const writeSize = 64 << 10

// NewWriter returns a writer of a capture into w. It buffers; Flush and Close write the
// rest.
func NewWriter(w io.Writer, format Format) *Writer {
	c := &Writer{out: w, records: &pcapngRecords{}}
	if format == Pcap {
		c.records = &pcapRecords{}
	}
	return c
}

// Create creates or truncates the file of that name. [FormatOf] decides its format. "-"
// has no special meaning.
func Create(name string) (*Writer, error) { return create(name, &Making{}) }

func create(name string, m *Making) (*Writer, error) {
	format, coding := FormatOf(name)
	f, done, err := m.open(name)
	if err != nil {
		return nil, err
	}
	file := &counter{File: f}
	w := NewWriter(file, format)
	w.file = file
	w.closes = []func() error{done}
	switch coding {
	case "gzip":
		z := gzip.NewWriter(file)
		w.pack(z, z.Flush, z.Close)
	case "zstd":
		// No goroutines, and a window that Reader accepts.
		z, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
		if err != nil {
			file.Close()
			return nil, err
		}
		w.pack(z, z.Flush, z.Close)
	}
	if format == Pcapng {
		w.Flush() // write the header at once; Write returns the error
	}
	return w, nil
}

// counter counts the bytes written to a file.
type counter struct {
	*os.File
	bytes int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.File.Write(b)
	c.bytes += int64(n)
	return n, err
}

// Size returns the size of the file that [Create] created, including buffered bytes unless
// the file is compressed.
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

// SetSnapLength sets the snap length, in bytes, that the file states for the following
// frames; 0, the default, states no limit. A pcap file has one snap length: the last one
// set before the first frame is written. Frames are not cut.
func (w *Writer) SetSnapLength(n int) { w.records.snap(uint32(max(0, min(n, math.MaxInt32)))) }

// SetInterfaces sets the names of interfaces for the following frames, by
// [Frame].Interface. Only pcapng stores them.
func (w *Writer) SetInterfaces(names []string) { w.records.interfaces(names) }

// Write writes a frame. It ignores the number: frames are numbered by position. A frame
// without a time gets that of the previous frame. In a pcapng file, each new pair of
// [Frame].Interface and [Frame].LinkType becomes an interface.
//
// Write refuses a frame that the format cannot store, with a [*RefusedError]: data longer
// than [MaxFrame]; a time before 1970; in pcap, a second link type, a time after 2106, or
// nanoseconds in a file in microseconds (see below); in pcapng, comments that do not fit
// into their block. In pcap, comments are dropped silently. An error of the underlying
// file is returned by this and every later call.
//
// A pcap file is in microseconds, which old programs expect, if no frame in the first
// write needs nanoseconds and that write has at least eight frames or is the whole file.
// Otherwise it is in nanoseconds.
func (w *Writer) Write(f *Frame) error {
	if w.err != nil {
		return w.err
	}
	at := f.Time
	if at.IsZero() {
		at = cmp.Or(w.last, stampOf(0))
	}
	w.frame = *f
	w.frame.Time, w.frame.Length = at, min(max(f.Length, len(f.Data)), math.MaxInt32)
	if len(f.Data) > MaxFrame {
		return w.refuse(fmt.Errorf("%d bytes, a frame has %d at most", len(f.Data), MaxFrame))
	}
	if ns := at.UnixNano(); ns < 0 || ns/1e9 > maxSeconds {
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

// A RefusedError says why a format cannot store a frame. Other frames can still be
// written.
type RefusedError struct {
	// Frame is the number that the frame would have had in the file.
	Frame uint64
	Err   error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("frame %d cannot be written: %v", e.Frame, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func (w *Writer) refuse(err error) error { return &RefusedError{w.frames + 1, err} }

// write writes the buffer to the file.
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

// mend removes a partial record from the end of the file after only n bytes of b were
// written. It does nothing if the output is compressed or not a file.
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

// Flush writes all frames to the file. The file is then readable; if it is compressed, it
// lacks only its end mark. A pcap file is empty until its first frame.
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

// Close completes the file, and closes it if [Create] created it. A file without frames is
// a valid capture; in pcap its link type is Ethernet.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	if w.err == nil {
		w.write(true)
	}
	errs := append([]error{w.err}, nettext.Each(w.closes, func(end func() error) error { return end() })...)
	w.closes, w.err, w.closed = nil, fs.ErrClosed, true
	return errors.Join(errs...)
}

// pcapRecords encodes frames in the format that [pcap] reads.
type pcapRecords struct {
	begun  bool // space for the header is reserved and the link type is known
	unit   uint32
	fine   bool // a frame needs nanoseconds
	frames int  // counted while unit is 0
	link   uint16
	limit  uint32
}

// evidence is the number of frames without nanoseconds that show that the clock counts
// microseconds. With a finer clock, one frame in a thousand looks like that.
const evidence = 8

func (p *pcapRecords) interfaces([]string) {}

func (p *pcapRecords) snap(n uint32) { p.limit = n }

func (p *pcapRecords) append(b []byte, f *Frame) ([]byte, error) {
	at := f.Time.UTC()
	seconds, nanoseconds := at.Unix(), uint32(at.Nanosecond())
	switch {
	case seconds > math.MaxUint32:
		return b, fmt.Errorf("a pcap file has no time %s, only up to 2106; write pcapng", at.Format(time.DateOnly))
	case p.begun && f.LinkType != p.link:
		return b, fmt.Errorf("a pcap file has one link type, this one %s, not also %s; write pcapng", LinkTypeName(p.link), LinkTypeName(f.LinkType))
	case p.unit > 1 && nanoseconds%p.unit != 0:
		return b, errors.New("it has a time in nanoseconds, and the pcap file was begun with microseconds; write pcapng")
	}
	if !p.begun {
		p.begun, p.link = true, f.LinkType
		b = append(b, make([]byte, pcapHeader)...) // see ready
	}
	p.fine = p.fine || nanoseconds%1000 != 0
	p.frames++
	e := binary.LittleEndian
	b = e.AppendUint32(b, uint32(seconds))
	b = e.AppendUint32(b, nanoseconds/max(p.unit, 1))
	b = e.AppendUint32(b, uint32(len(f.Data)))
	b = e.AppendUint32(b, uint32(f.Length))
	return append(b, f.Data...), nil
}

// ready chooses the unit of time at the first write and converts the records, which have
// nanoseconds until then. It fills in the file header.
func (p *pcapRecords) ready(b []byte, last bool) []byte {
	if p.unit != 0 || !p.begun && !last {
		return b
	}
	if !p.begun {
		p.begun, p.link = true, 1
		b = append(b, make([]byte, pcapHeader)...)
	}
	e := binary.LittleEndian
	magic := uint32(magicNano)
	p.unit = 1
	if !p.fine && (last || p.frames >= evidence) {
		magic, p.unit = magicMicro, 1000
		for r := b[pcapHeader:]; len(r) > 0; r = r[pcapRecord+e.Uint32(r[8:]):] {
			e.PutUint32(r[4:], e.Uint32(r[4:])/1000)
		}
	}
	e.PutUint32(b, magic)
	e.PutUint16(b[4:], 2)
	e.PutUint16(b[6:], 4)
	e.PutUint32(b[16:], cmp.Or(p.limit, MaxFrame))
	e.PutUint32(b[20:], uint32(p.link))
	return b
}

func (p *pcapRecords) whole(b []byte, n int, first bool) int {
	end := 0
	if first {
		if end = pcapHeader; n < end {
			return 0
		}
	}
	for end < len(b) {
		next := end + pcapRecord + int(binary.LittleEndian.Uint32(b[end+8:]))
		if next > n {
			break
		}
		end = next
	}
	return end
}

// A Rotation says when a series starts a new file: with the first frame beyond any limit.
// A limit of 0 means no limit.
type Rotation struct {
	// Size is the size of a file in bytes, Frames the number of its frames.
	Size   int64
	Frames uint64
	// Time is the duration of a file, from its first frame. With Every, files end when the
	// time of day, in UTC, is a multiple of Every.
	Time, Every time.Duration
	// Keep is the number of files to keep. Older ones are removed.
	Keep int
	// Files is the number of files to write. A frame beyond the last file gets
	// ErrSeriesEnd.
	Files int
}

// ErrSeriesEnd is returned when all files of a series have been written.
var ErrSeriesEnd = errors.New("all files have been written")

func (r *Rotation) on() bool { return r.Size > 0 || r.Frames > 0 || r.Time > 0 || r.Every > 0 }

// A Series writes frames into a file or, with a rotation, into one file after the other.
// After Flush a file is readable up to its last frame. It is complete when the next one
// starts.
//
// With a rotation, files are named as dumpcap names them: trace.pcapng becomes
// trace_00001_20261121143000.pcapng, with the local time of the first frame.
type Series struct {
	name   string
	r      Rotation
	making Making
	out    *Writer // of the current file, nil if there is none
	snap   int
	names  []string // of interfaces
	files  int
	frames uint64 // in the current file
	began  time.Time
	kept   []string
}

// CreateSeries returns a new series. Without a rotation, it creates the file.
func CreateSeries(name string, r Rotation, m Making, snap int) (*Series, error) {
	s := &Series{name: name, r: r, making: m, snap: snap}
	if r.on() {
		// Report a missing folder now, not at the first frame.
		st, err := os.Stat(filepath.Dir(name))
		if err == nil && !st.IsDir() {
			err = fmt.Errorf("%s is no folder", filepath.Dir(name))
		}
		return s, err
	}
	return s, s.open(name)
}

// SeriesTo returns a series of one file in pcapng, such as standard output, of which no size is known.
func SeriesTo(w io.Writer, snap int) *Series {
	s := &Series{out: NewWriter(w, Pcapng)}
	s.out.SetSnapLength(snap)
	return s
}

// Size returns the size of the current file.
func (s *Series) Size() int64 {
	if s.out == nil {
		return 0
	}
	return s.out.Size()
}

// SetInterfaces sets the names of the interfaces in all files.
func (s *Series) SetInterfaces(names []string) {
	s.names = names
	if s.out != nil {
		s.out.SetInterfaces(names)
	}
}

func (s *Series) open(name string) error {
	out, err := create(name, &s.making)
	if err != nil {
		return err
	}
	out.SetSnapLength(s.snap)
	out.SetInterfaces(s.names)
	s.out = out
	s.files++
	s.frames = 0
	return nil
}

// Save writes a frame, into a new file if a limit is reached.
func (s *Series) Save(f *Frame) error {
	if s.r.on() && (s.out == nil || s.due(f.Time.UTC())) {
		if err := s.next(f.Time.UTC()); err != nil {
			return err
		}
	}
	if s.out == nil {
		return fs.ErrClosed
	}
	s.frames++
	return s.out.Write(f)
}

// due reports whether a frame with that time belongs into a new file.
func (s *Series) due(at time.Time) bool {
	r := &s.r
	switch {
	case r.Size > 0 && s.out.Size() >= r.Size, r.Frames > 0 && s.frames >= r.Frames, r.Time > 0 && at.Sub(s.began) >= r.Time:
		return true
	}
	return r.Every > 0 && !at.Truncate(r.Every).Equal(s.began.Truncate(r.Every))
}

// next closes the current file and creates another.
func (s *Series) next(at time.Time) error {
	if s.r.Files > 0 && s.files >= s.r.Files {
		return ErrSeriesEnd
	}
	if err := s.Close(); err != nil {
		return err
	}
	stem, ext := s.name, ""
	for _, e := range []string{".gz", ".zst", ".pcapng", ".pcap", ".cap", ".dmp"} {
		if strings.HasSuffix(strings.ToLower(stem), e) {
			stem, ext = stem[:len(stem)-len(e)], stem[len(stem)-len(e):]+ext
		}
	}
	name := fmt.Sprintf("%s_%05d_%s%s", stem, s.files+1, at.Local().Format("20060102150405"), ext)
	if err := s.open(name); err != nil {
		return err
	}
	s.began = at
	s.kept = append(s.kept, name)
	if s.r.Keep > 0 && len(s.kept) > s.r.Keep {
		oldest := s.kept[0]
		s.kept = append(s.kept[:0], s.kept[1:]...)
		if err := os.Remove(oldest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if s.r.Keep <= 0 {
		s.kept = s.kept[:0]
	}
	return nil
}

// Flush makes the current file readable up to its last frame.
func (s *Series) Flush() error {
	if s.out == nil {
		return nil
	}
	return s.out.Flush()
}

// Close closes the current file.
func (s *Series) Close() error {
	if s.out == nil {
		return nil
	}
	err := s.out.Close()
	s.out = nil
	return err
}
