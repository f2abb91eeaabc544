package capture

import (
	"bytes"
	"errors"
	"io"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func FuzzPcap(f *testing.F)   { fuzz(f, "pcap ") }
func FuzzPcapng(f *testing.F) { fuzz(f, "pcapng ") }

// fuzz checks what a Reader promises of any file.
func fuzz(f *testing.F, format string) {
	for name, file := range samples() {
		if strings.HasPrefix(name, format) {
			f.Add(file)
			f.Add(file[:len(file)-3])
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if hasMagic(file, gzipMagic) || hasMagic(file, zstdMagic) || skippable(file) {
			return // the sizes are others
		}
		if len(file) > 4*bufferSize {
			return
		}
		before := allocatedBytes()
		frames, err := readAll(file)
		// A buffer; the frames that are kept here; what is kept of interfaces;
		// and whatever the fuzzer does meanwhile.
		if n, limit := allocatedBytes()-before, uint64(2*bufferSize+1<<20+64*len(file)); n > limit {
			t.Errorf("%d bytes were allocated for a file of %d, want %d at most", n, len(file), limit)
		}

		sum := 0
		for i, f := range frames {
			if f.Number != uint64(i+1) {
				t.Fatalf("frame %d after frame %d", f.Number, i)
			}
			if len(f.Data) > MaxFrame || f.Length < len(f.Data) || f.Interface < 0 {
				t.Fatalf("frame %d has %d of %d bytes, interface %d", f.Number, len(f.Data), f.Length, f.Interface)
			}
			if !f.Time.IsZero() && (f.Time.Location() != time.UTC || !time.Unix(0, f.Time.UnixNano()).Equal(f.Time)) {
				t.Fatalf("frame %d at %v", f.Number, f.Time)
			}
			sum += len(f.Data)
			for _, c := range f.Comments {
				sum += len(c)
			}
		}
		if sum > len(file) {
			t.Fatalf("%d bytes out of %d", sum, len(file))
		}
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%T: %v", err, err)
			}
			if e.Frame != 0 && e.Frame != uint64(len(frames))+1 || e.Frame == 0 && len(frames) > 0 || e.Offset < 0 || e.Offset > int64(len(file)) {
				t.Fatalf("after %d frames: %#v", len(frames), e)
			}
		}

		// However the bytes arrive, it is the same.
		if len(file) < 1<<12 {
			r, err2 := NewReader(iotest.OneByteReader(bytes.NewReader(file)), "x")
			var frames2 []Frame
			if err2 == nil {
				frames2, err2 = drain(r)
			}
			if !slices.Equal(lines(frames), lines(frames2)) || message(err) != message(err2) {
				t.Fatalf("%d frames, %v; byte by byte %d, %v", len(frames), err, len(frames2), err2)
			}
		}
		// A cut file has the first of the frames.
		if frames3, _ := readAll(file[:len(file)/2]); len(frames3) > len(frames) || !slices.Equal(lines(frames3), lines(frames[:len(frames3)])) {
			t.Fatalf("half of the file has %d frames, the whole %d", len(frames3), len(frames))
		}
	})
}

func message(err error) string {
	if err == nil {
		err = io.EOF
	}
	return err.Error()
}

// allocatedBytes is cheaper than runtime.ReadMemStats.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
