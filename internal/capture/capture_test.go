package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// samples are small files of each format and byte order, with the offsets at which frames
// and other records end.
func samples() map[string][]byte {
	files := make(map[string][]byte)
	for _, o := range orders {
		for name, magic := range map[string]uint32{"micro": magicMicro, "nano": magicNano} {
			f := newPcapFile(o, magic, 2, 4, 1)
			f.record(1, 2, 4, 60, "abcd").record(3, 4, 0, 0, "").record(5, 6, 1, 1, "x")
			files["pcap "+name+" "+o.name] = f.b
		}
		f := (&pcapngFile{order: o}).section()
		f.iface(1, 0, f.option(9, "\x09"), f.option(0, "")).
			enhanced(0, 1, 60, "abcd", f.option(1, "comment"), f.option(0, "")).
			block(10, f.numbers(1, 4, 5)).
			simple(3, "abc").
			block(5, f.numbers(0, 0, 0)).
			section().iface(101, 0).
			obsolete(0, 2, 2, "xy").
			block(0x0bad, f.numbers(1))
		files["pcapng "+o.name] = f.b
	}
	return files
}

// Files that are not captures, and captures without frames.
func TestOutcome(t *testing.T) {
	little := order(binary.LittleEndian)
	for _, test := range []struct {
		name  string
		file  string
		link  string // "" for none
		error string
	}{
		{"empty", "", "", "x: empty file"},
		{"text", "hello, world\n", "", `x: neither pcap nor pcapng: begins with "hello, w"`},
		{"short text", "a\tb", "", `x: neither pcap nor pcapng: begins with "a\tb"`},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00", "", "x: neither pcap nor pcapng: begins with 7f 45 4c 46 02 01 01 00"},
		{"ETL", "\x00\x00\x01\x00\x48\x09\x00\x00\x00\x00", "", "x: a trace of Windows (.etl, of pktmon or netsh); convert it first, with etl2pcapng or pktmon etl2pcap"},
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "", "x: a capture of snoop (RFC 1761); convert it first, with editcap -F pcap"},
		{"one byte", "\xd4", "", "x: neither pcap nor pcapng: begins with d4"},
		{"three bytes of pcap", "\xd4\xc3\xb2", "", "x: neither pcap nor pcapng: begins with d4 c3 b2"},
		{"magic of pcap", "\xd4\xc3\xb2\xa1", "", "x: pcap file header cut short: 4 of 24 bytes"},
		{"pcap without frames", string(newPcapFile(little, magicMicro, 2, 4, 113).b), "linux_sll", ""},
		{"pcapng without interface", string((&pcapngFile{order: little}).section().b), "", ""},
		{"pcapng without frames", string((&pcapngFile{order: little}).section().iface(101, 0).b), "raw", ""},
		{"pcapng with the interface in the second section", string((&pcapngFile{order: little}).section().section().iface(101, 0).b), "raw", ""},
		{"xz", "\xfd7zXZ\x00\x00", "", "x: compressed with xz; decompress it first, only gzip and zstd are read"},
		{"bzip2", "BZh91AY&SY", "", "x: compressed with bzip2; decompress it first, only gzip and zstd are read"},
		{"lz4", "\x04\x22\x4d\x18\x64", "", "x: compressed with lz4; decompress it first, only gzip and zstd are read"},
		{"zip", "PK\x03\x04\x00", "", "x: a zip archive; unpack it first, only gzip and zstd are read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader(test.file), "x")
			if err != nil {
				if err.Error() != test.error {
					t.Fatalf("%q, want %q", err, test.error)
				}
				return
			}
			if test.error != "" {
				t.Fatalf("no error, want %q", test.error)
			}
			check := func(when string) {
				link := ""
				if n, ok := r.LinkType(); ok {
					link = LinkTypeName(n)
				}
				if link != test.link {
					t.Errorf("%s: link type %q, want %q", when, link, test.link)
				}
			}
			check("before the first frame")
			var f Frame
			for range 2 {
				if err := r.Next(&f); err != io.EOF {
					t.Errorf("Next: %v, want io.EOF", err)
				}
			}
			check("at the end")
		})
	}
}

// The link type is known before the first frame. It is that of the first interface even if
// the first frame is from another one.
func TestLinkType(t *testing.T) {
	f := (&pcapngFile{order: binary.BigEndian}).section().iface(276, 0).iface(1, 0).enhanced(1, 0, 1, "a").section().iface(101, 0).simple(1, "b")
	r := must.Get(NewReader(bytes.NewReader(f.b), "x"))(t)
	for _, want := range []uint16{1, 101} {
		if n, ok := r.LinkType(); n != 276 || !ok {
			t.Errorf("LinkType: %d, %v", n, ok)
		}
		var f Frame
		if err := r.Next(&f); err != nil || f.LinkType != want {
			t.Errorf("frame of %d, %v, want %d", f.LinkType, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	// The file name does not matter.
	name := filepath.Join(dir, "x.txt")
	want := []string{`1 2023-11-14T22:13:20Z ethernet/0 1:"a"`}
	file := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(1700000000, 0, 1, 1, "a").b
	must.Do(t, os.WriteFile(name, file, 0o600))

	t.Run("file", func(t *testing.T) {
		r := must.Get(Open(name))(t)
		frames, err := drain(r)
		if got := lines(frames); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		for range 2 {
			must.Do(t, r.Close())
		}
		if err := r.Next(new(Frame)); err != fs.ErrClosed {
			t.Errorf("Next after Close: %v", err)
		}
	})
	t.Run("standard input", func(t *testing.T) {
		stdin := os.Stdin
		defer func() { os.Stdin = stdin }()
		in := must.Get(os.Open(name))(t)
		defer in.Close()
		os.Stdin = in
		r := must.Get(Open("-"))(t)
		frames, err := drain(r)
		if got := lines(frames); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		must.Do(t, r.Close())
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			t.Errorf("standard input was closed: %v", err)
		}
		in.Seek(0, io.SeekEnd)
		if _, err := Open("-"); err == nil || err.Error() != "standard input: empty file" {
			t.Errorf("at the end of standard input: %v", err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		_, err := Open(dir)
		if err == nil || !strings.HasPrefix(err.Error(), dir+": ") || strings.Count(err.Error(), dir) != 1 {
			t.Error(err)
		}
	})
}

// A read error is returned, wherever it happens.
func TestReadError(t *testing.T) {
	broken := &fs.PathError{Op: "read", Path: "x", Err: errors.New("input/output error")}
	whole := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(0, 0, 4, 4, "abcd").b
	for _, test := range []struct {
		size  int
		error string
	}{
		{0, "x: input/output error"},
		{24, "x: frame 1 at offset 24: input/output error"},
		{42, "x: frame 1 at offset 24: record cut short: 2 of 4 bytes: read x: input/output error"},
		{44, "x: frame 2 at offset 44: input/output error"},
	} {
		src := io.MultiReader(bytes.NewReader(whole[:test.size]), iotest.ErrReader(broken))
		r, err := NewReader(src, "x")
		if err == nil {
			_, err = drain(r)
		}
		if err == nil || err.Error() != test.error {
			t.Errorf("after %d bytes: %v, want %s", test.size, err, test.error)
		}
	}
	// A source that returns neither bytes nor an error is not read forever.
	r := must.Get(NewReader(io.MultiReader(bytes.NewReader(whole), idle{}), "x"))(t)
	if frames, err := drain(r); len(frames) != 1 || !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// A cut file gives all whole frames, and then an error, or io.EOF if the cut is between
// two records.
func TestTruncated(t *testing.T) {
	for name, file := range samples() {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(file)
			if err != nil || len(all) < 2 {
				t.Fatalf("%d frames, %v", len(all), err)
			}
			ends := recordEnds(t, name, file)
			for size := range file {
				frames, err := readAll(file[:size])
				whole := 0 // frames
				clean := false
				for _, end := range ends {
					if end.offset <= size {
						whole = end.frames
					}
					clean = clean || end.offset == size
				}
				if !slices.Equal(lines(frames), lines(all[:whole])) {
					t.Errorf("%d bytes: %q, want the first %d of %q", size, lines(frames), whole, lines(all))
				}
				if clean != (err == nil) {
					t.Errorf("%d bytes: %v, want clean: %v", size, err, clean)
				}
				if err != nil && size >= longestMagic && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%d bytes: %v is not io.ErrUnexpectedEOF", size, err)
				}
				if e, ok := errors.AsType[*Error](err); ok && e.Frame > 0 && (e.Frame != uint64(whole)+1 || !slices.ContainsFunc(ends, func(r recordEnd) bool { return int64(r.offset) == e.Offset })) {
					t.Errorf("%d bytes: error at frame %d, offset %d", size, e.Frame, e.Offset)
				}
			}
		})
	}
}

type recordEnd struct{ offset, frames int }

// recordEnds returns the ends of the records of a sample, by their lengths.
func recordEnds(t *testing.T, name string, file []byte) (ends []recordEnd) {
	t.Helper()
	o := nettext.Either[order](strings.HasSuffix(name, "big-endian"), binary.BigEndian, binary.LittleEndian)
	at, frames := 0, 0
	add := func(size, frame int) {
		at += size
		frames += frame
		ends = append(ends, recordEnd{at, frames})
	}
	switch {
	case strings.HasPrefix(name, "pcapng"):
		for at < len(file) {
			frame := 0
			switch o.Uint32(file[at:]) {
			case blockPacket, blockSimple, blockEnhanced:
				frame = 1
			}
			add(int(o.Uint32(file[at+4:])), frame)
		}
	default:
		for add(pcapHeader, 0); at < len(file); {
			add(pcapRecord+int(o.Uint32(file[at+8:])), 1)
		}
	}
	if at != len(file) || frames == 0 {
		t.Fatalf("%s: %d frames in %d of %d bytes", name, frames, at, len(file))
	}
	return ends
}

// No length in a file sizes an allocation.
func TestHugeLengths(t *testing.T) {
	little := order(binary.LittleEndian)
	ng := func() *pcapngFile { return (&pcapngFile{order: little}).section().iface(1, 0) }
	opt, numbers := ng().option, ng().numbers
	filler := strings.Repeat("x", 40)
	files := map[string][]byte{
		"pcap record":                   newPcapFile(little, magicMicro, 2, 4, 1).record(0, 0, 1<<30, 1<<30, filler).b,
		"pcap record that could be":     newPcapFile(little, magicMicro, 2, 4, 1).record(0, 0, MaxFrame, MaxFrame, filler).b,
		"pcap record, lengths swapped":  newPcapFile(little, magicMicro, 2, 2, 1).record(0, 0, 1, 1<<30, filler).b,
		"pcapng packet":                 append(ng().b, numbers(blockEnhanced, 1<<30, 0, 0, 0, 1<<30-32, 1<<30)...),
		"pcapng packet in a small one":  ng().block(blockEnhanced, numbers(0, 0, 0, 1<<30, 1<<30), []byte(filler)).b,
		"pcapng simple packet":          append(ng().b, numbers(blockSimple, 1<<30, 1<<30)...),
		"pcapng obsolete packet":        append(ng().b, numbers(blockPacket, 1<<31, 0, 0, 0, 1<<31, 1<<31)...),
		"pcapng section":                append(ng().b, numbers(blockSection, 1<<30, pcapngOrder, 1)...),
		"pcapng interface":              append(ng().b, numbers(blockInterface, 1<<30, 1)...),
		"pcapng secrets":                append(ng().b, numbers(10, 1<<30, 0x544c534b, 1<<30-20)...),
		"pcapng names":                  append(ng().b, numbers(4, 1<<30, 0xffff0001)...),
		"pcapng unknown":                append(ng().b, numbers(99, 1<<32-4)...),
		"pcapng block that wraps round": append(ng().b, numbers(blockEnhanced, 1<<32-1, 0, 0)...),
		"pcapng block of 0":             append(ng().b, numbers(blockEnhanced, 0, 0, 0)...),
		"pcapng option":                 ng().block(blockInterface, numbers(1, 0, 0xffff0001)).b,
		"pcapng comment":                ng().enhanced(0, 0, 1, "a", numbers(0xffff0001), opt(0, "")).b,
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			var err error
			if n := allocated(func() { _, err = readAll(file) }); n > bufferSize+64<<10 {
				t.Errorf("%d bytes were allocated for a file of %d", n, len(file))
			}
			if err == nil && name != "pcapng comment" {
				t.Error("no error")
			}
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Once warm, reading allocates nothing in any format.
func TestAllocations(t *testing.T) {
	const runs = 100
	for name, file := range samples() {
		if strings.HasPrefix(name, "pcapng") {
			// Without the comment, and without new sections.
			f := nettext.Either(strings.HasSuffix(name, "big-endian"), (&pcapngFile{order: orders[1]}).section().iface(1, 0), (&pcapngFile{order: orders[0]}).section().iface(1, 0))
			for range 2 * runs {
				f.enhanced(0, 1, 3, "abc", f.option(2, "\x01\x00\x00\x00"), f.option(0, "")).obsolete(0, 1, 3, "abc").simple(3, "abc").block(4, make([]byte, 99))
			}
			file = f.b
		} else {
			head := recordEnds(t, name, file)[0].offset
			file = append(file[:head:head], bytes.Repeat(file[head:], runs)...)
		}
		for _, coding := range []string{"", "gzip", "zstd"} {
			t.Run(name+" "+coding, func(t *testing.T) {
				r := must.Get(NewReader(bytes.NewReader(compress(t, coding, file)), "x"))(t)
				var f Frame
				read := func() {
					must.Do(t, r.Next(&f))
				}
				if n := testing.AllocsPerRun(runs, read); n != 0 {
					t.Errorf("%v allocations per frame", n)
				}
			})
		}
	}
}

// The result does not depend on how the bytes arrive.
func TestChunks(t *testing.T) {
	for name, file := range samples() {
		want, _ := readAll(file)
		for kind, src := range map[string]io.Reader{
			"one byte at a time":    iotest.OneByteReader(bytes.NewReader(file)),
			"half of what is asked": iotest.HalfReader(bytes.NewReader(file)),
			"error with the data":   iotest.DataErrReader(bytes.NewReader(file)),
		} {
			r := must.Get(NewReader(src, "x"))(t)
			frames, err := drain(r)
			if !slices.Equal(lines(frames), lines(want)) || err != nil {
				t.Errorf("%s, %s: %q, %v", name, kind, lines(frames), err)
			}
		}
	}
}

// A frame from a pipe is returned as soon as it has arrived.
func TestPipe(t *testing.T) {
	for name, file := range samples() {
		ends := recordEnds(t, name, file)
		in := &pipe{}
		in.b, file = file[:ends[0].offset], file[ends[0].offset:]
		at, frames := ends[0].offset, 0
		var r *Reader
		for _, end := range ends[1:] {
			in.b = append(in.b[:len(in.b):len(in.b)], file[:end.offset-at]...)
			file = file[end.offset-at:]
			at = end.offset
			if r == nil {
				var err error
				if r, err = NewReader(in, "x"); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if end.frames > frames {
				frames++
				var f Frame
				if err := r.Next(&f); err != nil || f.Number != uint64(frames) {
					t.Fatalf("%s, %d bytes: frame %d, %v", name, at, f.Number, err)
				}
			}
		}
	}
}

// A pipe returns the available bytes, and fails the test where a real one would block.
type pipe struct{ b []byte }

func (p *pipe) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, errors.New("would wait")
	}
	n := copy(b, p.b)
	p.b = p.b[n:]
	return n, nil
}

func Example() {
	f := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1)
	f.record(1700000000, 250000, 4, 60, "abcd").record(1700000001, 0, 120, 120, "cut")
	r, err := NewReader(bytes.NewReader(f.b), "x.pcap")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	var frame Frame
	for {
		if err = r.Next(&frame); err != nil {
			break
		}
		fmt.Println(frame.Number, frame.Time.UTC(), LinkTypeName(frame.LinkType), len(frame.Data), frame.Length)
	}
	if err != io.EOF {
		fmt.Println(err)
	}
	// Output:
	// 1 2023-11-14 22:13:20.25 +0000 UTC ethernet 4 60
	// x.pcap: frame 2 at offset 44: record cut short: 3 of 120 bytes
}

// compress returns the file in that coding; "" is none.
func compress(t testing.TB, coding string, file []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "":
		return file
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		z := must.Get(zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)))(t)
		w = z
	}
	must.Get(w.Write(file))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

var codings = []string{"gzip", "zstd"}

func TestCompressed(t *testing.T) {
	for name, file := range samples() {
		all := must.Get(readAll(file))(t)
		want := lines(all)
		for _, coding := range codings {
			t.Run(name+" "+coding, func(t *testing.T) {
				check(t, compress(t, coding, file), want, "")
				// In several members, cut anywhere, an empty one among them.
				half := len(file) / 2
				check(t, bytes.Join([][]byte{
					compress(t, coding, file[:1]), compress(t, coding, file[1:half]), compress(t, coding, nil), compress(t, coding, file[half:]),
				}, nil), want, "")
			})
		}
		// Parallel compressors begin with a skippable frame.
		check(t, append([]byte("\x5f\x2a\x4d\x18\x04\x00\x00\x00abcd"), compress(t, "zstd", file)...), want, "")
	}
}

// A cut compressed file gives its first frames and then an error.
func TestCompressedTruncated(t *testing.T) {
	file := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(50) {
		data := make([]byte, 20)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		file.record(i, 0, 20, 20, string(data))
	}
	all := must.Get(readAll(file.b))(t)
	for _, coding := range codings {
		// In two pieces, as a larger file has more than one; the first ends
		// inside of a record.
		half := len(file.b) / 2
		packed := append(compress(t, coding, file.b[:half]), compress(t, coding, file.b[half:])...)
		most := 0
		for size := 0; size < len(packed); size += must.Try(5, 1) {
			frames, err := readAll(packed[:size])
			if err == nil {
				t.Fatalf("%s, %d of %d bytes: no error", coding, size, len(packed))
			}
			if size >= 4 && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d bytes: %v is not io.ErrUnexpectedEOF", coding, size, err)
			}
			if !slices.Equal(lines(frames), lines(all[:len(frames)])) {
				t.Errorf("%s, %d bytes: the frames are not the first ones", coding, size)
			}
			most = max(most, len(frames))
		}
		if most == 0 {
			t.Errorf("%s: there never was a frame", coding)
		}
	}
}

func TestCompressedDamage(t *testing.T) {
	const a = `1 1970-01-01T00:00:00Z ethernet/0 1:"a"`
	good := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(0, 0, 1, 1, "a")
	cut := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(0, 0, 1, 1, "a").record(0, 0, 120, 120, strings.Repeat("x", 90))
	gz, zs := compress(t, "gzip", good.b), compress(t, "zstd", good.b)
	flip := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[(at+len(b))%len(b)] ^= 0xff
		return b
	}
	for _, test := range []struct {
		name  string
		file  []byte
		want  []string
		error string
	}{
		{"gzip: the capture is cut", compress(t, "gzip", cut.b), []string{a}, "x: frame 2 at offset 41 of the uncompressed data: record cut short: 90 of 120 bytes"},
		{"zstd: the capture is cut", compress(t, "zstd", cut.b), []string{a}, "x: frame 2 at offset 41 of the uncompressed data: record cut short: 90 of 120 bytes"},
		{"gzip: only the magic", []byte("\x1f\x8b"), nil, "x: begins like gzip, but: the gzip data is cut short"},
		{"gzip: only begins so", []byte("\x1f\x8bhello, world"), nil, "x: begins like gzip, but: gzip: invalid header"},
		{"zstd: only the magic", []byte(zstdMagic), nil, "x: the zstd data is cut short"},
		{"zstd: only begins so", []byte(zstdMagic + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), nil, "x: zstd: reserved bit set on frame header"},
		{"gzip: of nothing", compress(t, "gzip", nil), nil, "x: unpacked: empty file"},
		{"gzip: of text", compress(t, "gzip", []byte("hello, world")), nil,
			`x: unpacked: neither pcap nor pcapng: begins with "hello, w"`},
		{"zstd: of gzip", compress(t, "zstd", gz), nil, "x: unpacked: compressed twice; decompress it once first"},
		{"gzip: of zstd", compress(t, "gzip", zs), nil, "x: unpacked: compressed twice; decompress it once first"},
		{"gzip: wrong checksum", flip(gz, -8), []string{a}, "x: frame 2 at offset 41 of the uncompressed data: gzip: invalid checksum"},
		{"zstd: wrong checksum", flip(zs, -1), []string{a}, "x: frame 2 at offset 41 of the uncompressed data: zstd: CRC check failed"},
		{"gzip: without its last byte", gz[:len(gz)-1], []string{a}, "x: frame 2 at offset 41 of the uncompressed data: the gzip data is cut short"},
		{"zstd: without its last byte", zs[:len(zs)-1], []string{a}, "x: frame 2 at offset 41 of the uncompressed data: the zstd data is cut short"},
		{"gzip: more after it", append(slices.Clone(gz), "more than ten bytes"...), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: gzip: invalid header"},
		{"zstd: more after it", append(slices.Clone(zs), "more"...), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: zstd: invalid input: magic number mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, test.file, test.want, test.error) })
	}
}

// The window that a zstd file states is allocated, so it is limited.
func TestZstdWindow(t *testing.T) {
	// Magic; frame header: no checksum, window 2^(10+n); an empty last block.
	window := func(log byte) []byte {
		return []byte(zstdMagic + "\x00" + string([]byte{(log - 10) << 3}) + "\x01\x00\x00")
	}
	single := []byte(zstdMagic + "\xe0\x00\x00\x00\x40\x00\x00\x00\x00\x01\x00\x00") // of 1 GiB
	for _, test := range []struct {
		name  string
		file  []byte
		error string
	}{
		{"8 MiB", window(23), "x: unpacked: empty file"},
		{"32 MiB", window(25), "x: unpacked: empty file"},
		{"64 MiB", window(26), "x: zstd: needs a window of more than 32 MiB; decompress it with zstd --long=31 first"},
		{"2 GiB", window(31), "x: zstd: needs a window of more than 32 MiB; decompress it with zstd --long=31 first"},
		{"1 GiB in one segment", single, "x: zstd: needs a window of more than 32 MiB; decompress it with zstd --long=31 first"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			n := allocated(func() { _, err = NewReader(bytes.NewReader(test.file), "x") })
			if err == nil || err.Error() != test.error {
				t.Errorf("%v, want %s", err, test.error)
			}
			if limit := uint64(maxWindow + 4*bufferSize); n > limit {
				t.Errorf("%d bytes were allocated, want %d at most", n, limit)
			}
		})
	}
}

// A bomb is decompressed in steps.
func TestBomb(t *testing.T) {
	const records = 4 << 20 // without data: 64 MiB of zeros
	file := append(newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).b, make([]byte, records*pcapRecord)...)
	for _, coding := range codings {
		packed := compress(t, coding, file)
		n := allocated(func() {
			r := must.Get(NewReader(bytes.NewReader(packed), "x"))(t)
			defer r.Close()
			var f Frame
			for r.Next(&f) == nil {
			}
			if f.Number != records {
				t.Errorf("%s: %d frames", coding, f.Number)
			}
		})
		if limit := uint64(maxWindow); n > limit {
			t.Errorf("%s: %d bytes were allocated, want %d at most", coding, n, limit)
		}
	}
}

// The test files are built number by number, so that they can be compared with the
// specifications.

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var orders = []struct {
	name string
	order
}{
	{"little-endian", binary.LittleEndian},
	{"big-endian", binary.BigEndian},
}

// A pcapFile builds a pcap file.
type pcapFile struct {
	order
	b []byte
}

func newPcapFile(o order, magic uint32, major, minor uint16, link uint32) *pcapFile {
	f := &pcapFile{order: o}
	f.b = o.AppendUint32(f.b, magic)
	f.b = o.AppendUint16(f.b, major)
	f.b = o.AppendUint16(f.b, minor)
	f.b = append(f.b, make([]byte, 8)...)
	f.b = o.AppendUint32(f.b, 65535)
	f.b = o.AppendUint32(f.b, link)
	return f
}

// record adds the four numbers of a record and its data.
func (f *pcapFile) record(seconds, fraction, captured, length uint32, data string) *pcapFile {
	for _, n := range []uint32{seconds, fraction, captured, length} {
		f.b = f.AppendUint32(f.b, n)
	}
	f.b = append(f.b, data...)
	return f
}

// A pcapngFile builds a pcapng file.
type pcapngFile struct {
	order
	b []byte
}

func (f *pcapngFile) block(typ uint32, contents ...[]byte) *pcapngFile {
	body := bytes.Join(contents, nil)
	body = append(body, make([]byte, -len(body)&3)...)
	f.b = f.AppendUint32(f.b, typ)
	f.b = f.AppendUint32(f.b, uint32(len(body)+12))
	f.b = append(f.b, body...)
	f.b = f.AppendUint32(f.b, uint32(len(body)+12))
	return f
}

func (f *pcapngFile) numbers(n ...uint32) []byte {
	var b []byte
	for _, n := range n {
		b = f.AppendUint32(b, n)
	}
	return b
}

func (f *pcapngFile) option(code uint16, value string) []byte {
	b := f.AppendUint16(nil, code)
	b = f.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

func (f *pcapngFile) section(options ...[]byte) *pcapngFile {
	b := f.numbers(pcapngOrder)
	b = f.AppendUint16(b, 1)
	b = f.AppendUint16(b, 0)
	b = f.AppendUint64(b, 1<<64-1)
	return f.block(blockSection, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) iface(link uint16, snap uint32, options ...[]byte) *pcapngFile {
	b := f.AppendUint16(nil, link)
	b = f.AppendUint16(b, 0)
	b = f.AppendUint32(b, snap)
	return f.block(blockInterface, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) enhanced(id uint32, stamp uint64, length uint32, data string, options ...[]byte) *pcapngFile {
	b := f.numbers(id, uint32(stamp>>32), uint32(stamp), uint32(len(data)), length)
	b = append(b, data...)
	b = append(b, make([]byte, -len(b)&3)...)
	return f.block(blockEnhanced, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) obsolete(id uint16, stamp uint64, length uint32, data string, options ...[]byte) *pcapngFile {
	b := f.AppendUint16(nil, id)
	b = f.AppendUint16(b, 7) // drops
	b = append(b, f.numbers(uint32(stamp>>32), uint32(stamp), uint32(len(data)), length)...)
	b = append(b, data...)
	b = append(b, make([]byte, -len(b)&3)...)
	return f.block(blockPacket, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) simple(length uint32, data string) *pcapngFile {
	return f.block(blockSimple, f.numbers(length), []byte(data))
}

// readAll reads all frames. The frames own their data; err is never io.EOF.
func readAll(file []byte) (frames []Frame, err error) {
	r, err := NewReader(bytes.NewReader(file), "x")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return drain(r)
}

func drain(r Source) (frames []Frame, err error) {
	for {
		f := Frame{Time: StampOf(time.Unix(1, 1)), LinkType: 9999, Data: []byte("before"), Length: -1, Interface: -1, Comments: []string{"before"}}
		if err := r.Next(&f); err != nil {
			if again := r.Next(&f); again != err {
				return frames, fmt.Errorf("Next returned %v, and then %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return frames, err
		}
		f.Data = slices.Clone(f.Data)
		frames = append(frames, f)
	}
}

// line formats all fields of a frame.
func line(f Frame) string {
	at := nettext.Either(!f.Time.IsZero(), f.Time.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"), "-")
	s := fmt.Sprintf("%d %s %s/%d %d:%q", f.Number, at, LinkTypeName(f.LinkType), f.Interface, f.Length, f.Data)
	for _, c := range f.Comments {
		s += fmt.Sprintf(" #%q", c)
	}
	return s
}

func lines(frames []Frame) []string { return nettext.Each(frames, line) }

// check compares the frames and the error of a file with the expected ones: a line per
// frame, and the error, "" for none.
func check(t *testing.T, file []byte, want []string, wantErr string) {
	t.Helper()
	frames, err := readAll(file)
	if got := lines(frames); !slices.Equal(got, want) {
		t.Errorf("frames:\n%q\nwant:\n%q", got, want)
	}
	switch {
	case err == nil && wantErr != "":
		t.Errorf("no error, want %q", wantErr)
	case err != nil && err.Error() != wantErr:
		t.Errorf("error %q, want %q", err, wantErr)
	case err != nil:
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("error %v is a %T", err, err)
		}
	}
}

// TestRecent: the newest frames are kept with all that matters, up to the limit, and what was handed out stays as it was.
func TestRecent(t *testing.T) {
	const limit = 4 << 20
	r := &Recent{Limit: limit}
	if _, ok := r.Frames().LinkType(); ok {
		t.Error("a link type of no frames")
	}
	read := func(s *Frames) (list []Frame) {
		var f Frame
		for {
			err := s.Next(&f)
			if err == io.EOF {
				return list
			}
			must.Do(t, err)
			list = append(list, f)
		}
	}
	at := time.Date(2026, 3, 14, 19, 0, 0, 123456789, time.UTC)
	want := Frame{Number: 7, Time: StampOf(at), LinkType: 113, Data: []byte("data"), Length: 1500, Name: "eth0"}
	for _, f := range []Frame{want, {Number: 8}, {Number: 9, Data: bytes.Repeat([]byte{9}, 2<<20), Length: 2 << 20}} {
		r.Save(&f)
	}
	if got := read(r.Frames()); len(got) != 0 {
		t.Errorf("%d frames before it is known whether they are wanted", len(got))
	}
	for _, n := range []uint64{6, 10, 1 << 40} { // others
		r.Drop(n)
	}
	r.Settle()
	before := r.Frames()
	got := read(before.Again())
	if len(got) != 3 || got[0].Number != 7 || got[0].Time != want.Time || got[0].LinkType != 113 || string(got[0].Data) != "data" || got[0].Length != 1500 || got[0].Name != "eth0" ||
		!got[1].Time.IsZero() || len(got[2].Data) != 2<<20 {
		t.Errorf("%d frames: %+v", len(got), got[0])
	}
	if first, ok := before.First(); !ok || !first.Equal(at) {
		t.Errorf("the first is of %s", first)
	}
	frame := Frame{Time: StampOf(at), LinkType: 1, Data: make([]byte, 1000), Length: 1000}
	for i := range uint64(20_000) {
		frame.Number = 100 + i
		if r.Save(&frame) > 1<<20 {
			r.Settle()
		}
	}
	r.Settle()
	if before.Cut || !r.Frames().Cut {
		t.Error("whether frames were forgotten is wrong")
	}
	size, list := 0, read(r.Frames())
	for i, f := range list {
		if size += len(f.Data); f.Number != list[0].Number+uint64(i) {
			t.Fatalf("frame %d follows %d", f.Number, list[i-1].Number)
		}
	}
	if last := list[len(list)-1].Number; last != 100+19_999 || size > limit || size < limit/2 {
		t.Errorf("%d bytes of frames up to %d", size, last)
	}
	frame.Number = 1000
	r.Save(&frame)
	for n := range uint64(200) {
		frame.Number = 1001 + n
		r.Save(&frame)
		r.Drop(frame.Number)
	}
	frame.Number = 1500
	r.Save(&frame)
	r.Settle()
	list = read(r.Frames())
	if a, b := list[len(list)-2].Number, list[len(list)-1].Number; a != 1000 || b != 1500 {
		t.Errorf("frames %d and %d remain", a, b)
	}
	if again := read(before.Again()); len(again) != 3 || string(again[0].Data) != "data" {
		t.Errorf("%d of the frames handed out are left", len(again))
	}
}
