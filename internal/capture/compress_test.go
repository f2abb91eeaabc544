package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

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
		for size := 0; size < len(packed); size += thorough.Of(5, 1) {
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
		{"gzip: the capture is cut", compress(t, "gzip", cut.b), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: record cut short: 90 of 120 bytes"},
		{"zstd: the capture is cut", compress(t, "zstd", cut.b), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: record cut short: 90 of 120 bytes"},
		{"gzip: only the magic", []byte("\x1f\x8b"), nil,
			"x: begins like gzip, but: the gzip data is cut short"},
		{"gzip: only begins so", []byte("\x1f\x8bhello, world"), nil,
			"x: begins like gzip, but: gzip: invalid header"},
		{"zstd: only the magic", []byte(zstdMagic), nil,
			"x: the zstd data is cut short"},
		{"zstd: only begins so", []byte(zstdMagic + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), nil,
			"x: zstd: reserved bit set on frame header"},
		{"gzip: of nothing", compress(t, "gzip", nil), nil,
			"x: unpacked: empty file"},
		{"gzip: of text", compress(t, "gzip", []byte("hello, world")), nil,
			`x: unpacked: neither pcap nor pcapng: begins with "hello, w"`},
		{"zstd: of gzip", compress(t, "zstd", gz), nil,
			"x: unpacked: compressed twice; decompress it once first"},
		{"gzip: of zstd", compress(t, "gzip", zs), nil,
			"x: unpacked: compressed twice; decompress it once first"},
		{"gzip: wrong checksum", flip(gz, -8), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: gzip: invalid checksum"},
		{"zstd: wrong checksum", flip(zs, -1), []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: zstd: CRC check failed"},
		{"gzip: without its last byte", gz[:len(gz)-1], []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: the gzip data is cut short"},
		{"zstd: without its last byte", zs[:len(zs)-1], []string{a},
			"x: frame 2 at offset 41 of the uncompressed data: the zstd data is cut short"},
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
