package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

// written writes frames into memory.
func writeAll(t testing.TB, format Format, frames []Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, format)
	for i := range frames {
		must.Do(t, w.Write(&frames[i]))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// expected is what a written frame is read as: the interfaces are numbered as
// they came, pcap leaves out what it has no place for, and a frame without a
// time has that of the one before.
func expected(format Format, frames []Frame) []Frame {
	type pair struct {
		source int
		link   uint16
	}
	known := map[pair]int{}
	last := StampOf(time.Unix(0, 0))
	out := slices.Clone(frames)
	for i := range out {
		f := &out[i]
		f.Number = uint64(i + 1)
		f.Length = max(f.Length, len(f.Data))
		if f.Time.IsZero() {
			f.Time = last
		}
		last = f.Time
		p := pair{f.Interface, f.LinkType}
		if _, ok := known[p]; !ok {
			known[p] = len(known)
		}
		f.Interface = known[p]
		if format == Pcap {
			f.Interface, f.Comments = 0, nil
		}
	}
	return out
}

// various are frames that have everything a frame can have.
func various() []Frame {
	return []Frame{
		{Time: StampOf(time.Unix(1767323045, 123456789)), LinkType: 1, Data: []byte("first"), Length: 60, Interface: 7},
		{Time: StampOf(time.Unix(1767323046, 0)), LinkType: 101, Data: []byte("another link type"), Interface: 3, Comments: []string{"one", "", "three\x00 \u202e"}},
		{LinkType: 1, Data: []byte("no time"), Interface: 7},
		{Time: StampOf(time.Unix(1767323044, 999999999)), LinkType: 1, Data: nil, Length: 1514, Interface: 7},
		{Time: StampOf(time.Unix(0, 1)), LinkType: 1, Data: []byte("1970"), Interface: 7},
		{Time: StampOf(time.Unix(maxSeconds, 999999999)), LinkType: 65535, Data: []byte("2262"), Interface: 0},
		{Time: StampOf(time.Unix(1767323047, 0)), LinkType: 101, Data: bytes.Repeat([]byte("x"), MaxFrame), Interface: 7, Comments: []string{strings.Repeat("y", 65535)}},
	}
}

func TestWriteRead(t *testing.T) {
	frames := various()
	file := writeAll(t, Pcapng, frames)
	got := must.Get(readAll(file))(t)
	if got, want := lines(got), lines(expected(Pcapng, frames)); !slices.Equal(got, want) {
		t.Errorf("%.3000q\nwant\n%.3000q", got, want)
	}
	compare(t, file)
	if again := writeAll(t, Pcapng, frames); !bytes.Equal(again, file) {
		t.Error("the same frames, another file")
	}
}

// TestWriteUnit: a pcap file has microseconds if the first frames show that they are
// enough.
func TestWriteUnit(t *testing.T) {
	at := func(ns ...int) (list []Frame) {
		for i, n := range ns {
			list = append(list, Frame{Time: StampOf(time.Unix(int64(i+1), int64(n))), LinkType: 1, Data: []byte{byte(i), 2, 3}})
		}
		return list
	}
	for _, c := range []struct {
		name    string
		frames  []Frame
		flushed int // after so many frames
		magic   uint32
	}{
		{"nothing", nil, -1, magicMicro},
		{"nothing, flushed", nil, 0, magicMicro},
		{"microseconds", at(1000, 999999000), -1, magicMicro},
		{"nanoseconds", at(1000, 999999001), -1, magicNano},
		{"flushed too early to know", at(1000, 2000), 1, magicNano},
		{"flushed late enough", at(0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000), 8, magicMicro},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w := NewWriter(&b, Pcap)
			for i := range c.frames {
				if i == c.flushed {
					must.Do(t, w.Flush())
				}
				must.Do(t, w.Write(&c.frames[i]))
			}
			must.Do(t, w.Close())
			if _, magic, ok := pcapMagic(b.Bytes()); !ok || magic != c.magic {
				t.Errorf("begins with % x, want %x", b.Bytes()[:4], c.magic)
			}
			got, err := readAll(b.Bytes())
			if got, want := lines(got), lines(expected(Pcap, c.frames)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			compare(t, b.Bytes())
		})
	}
}

// TestWriteRefused: frames that a format cannot store are refused, and writing can
// continue.
func TestWriteRefused(t *testing.T) {
	second := time.Unix(1, 0).UTC()
	good := Frame{Time: StampOf(second), LinkType: 1, Data: []byte("good")}
	for _, c := range []struct {
		format Format
		frame  Frame
		want   string
	}{
		{Pcapng, Frame{Time: StampOf(second), Data: make([]byte, MaxFrame+1)}, "frame 9 cannot be written: 262145 bytes, a frame has 262144 at most"},
		{Pcapng, Frame{Time: StampOf(time.Unix(maxSeconds+1, 0))}, "frame 9 cannot be written: time 2262-04-11 is out of reach"},
		{Pcapng, Frame{Time: StampOf(second), Comments: []string{strings.Repeat("x", 65536)}}, "frame 9 cannot be written: a comment of 65536 bytes, 65535 at most are possible"},
		{Pcapng, Frame{Time: StampOf(second), Data: make([]byte, MaxFrame), Comments: slices.Repeat([]string{strings.Repeat("x", 65535)}, 4)},
			"frame 9 cannot be written: a frame with comments of 524308 bytes in all, 524256 at most are read back"},
		{Pcap, Frame{Time: StampOf(second), LinkType: 101}, "frame 9 cannot be written: a pcap file has one link type, this one ethernet, not also raw; write pcapng"},
		{Pcapng, Frame{Time: StampOf(time.Unix(-1, 0)), LinkType: 1}, "frame 9 cannot be written: time 1969-12-31 is out of reach"},
		{Pcap, Frame{Time: StampOf(time.Unix(math.MaxUint32+1, 0)), LinkType: 1}, "frame 9 cannot be written: a pcap file has no time 2106-02-07, only up to 2106; write pcapng"},
		{Pcap, Frame{Time: StampOf(time.Unix(1, 1)), LinkType: 1}, "frame 9 cannot be written: it has a time in nanoseconds, and the pcap file was begun with microseconds; write pcapng"},
	} {
		var b bytes.Buffer
		w := NewWriter(&b, c.format)
		for range 8 {
			w.Write(&good)
		}
		w.Flush()
		if err := w.Write(&c.frame); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		if err := w.Write(&good); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got, err := readAll(b.Bytes()); len(got) != 9 || err != nil {
			t.Errorf("%d frames, %v", len(got), err)
		}
	}
}

// TestWriteInterfaces: the number of interfaces has the limit of the reader.
func TestWriteInterfaces(t *testing.T) {
	w := NewWriter(io.Discard, Pcapng)
	f := Frame{Time: StampOf(time.Unix(1, 0))}
	for f.Interface = range maxInterfaces {
		must.Do(t, w.Write(&f))
	}
	f.Interface++
	if err := w.Write(&f); err == nil || !strings.Contains(err.Error(), "more than 65536 interfaces") {
		t.Error(err)
	}
	f.Interface--
	if err := w.Write(&f); err != nil {
		t.Error(err)
	}
}

// TestWritePrefix: after each Flush the file is complete, and a cut file has the frames
// before the cut.
func TestWritePrefix(t *testing.T) {
	for name, format := range map[string]Format{"pcap": Pcap, "pcapng": Pcapng} {
		t.Run(name, func(t *testing.T) {
			frames := various()[:6]
			if format == Pcap {
				frames = []Frame{frames[0], frames[2], frames[3]}
			}
			var b bytes.Buffer
			w := NewWriter(&b, format)
			for i := range frames {
				must.Do(t, w.Write(&frames[i]))
				must.Do(t, w.Flush())
				got, err := readAll(b.Bytes())
				if got, want := lines(got), lines(expected(format, frames[:i+1])); err != nil || !slices.Equal(got, want) {
					t.Fatalf("%q, %v, want %q", got, err, want)
				}
			}
			w.Close()
			all := lines(expected(format, frames))
			for n := range b.Len() {
				got, _ := readAll(b.Bytes()[:n])
				if !slices.Equal(lines(got), all[:len(got)]) {
					t.Fatalf("the first %d bytes: %q", n, lines(got))
				}
			}
		})
	}
}

// TestCreate: the name decides the format.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	frames := various()[2:4]
	for name, want := range map[string]struct {
		format Format
		magic  string
	}{
		"a.pcap":         {Pcap, "\x4d\x3c\xb2\xa1"},
		"a.cap":          {Pcap, "\x4d\x3c\xb2\xa1"},
		"A.DMP":          {Pcap, "\x4d\x3c\xb2\xa1"},
		"a.pcapng":       {Pcapng, pcapngMagic},
		"a":              {Pcapng, pcapngMagic},
		"a.gz":           {Pcapng, gzipMagic},
		"a.pcap.gz":      {Pcap, gzipMagic},
		"a.pcapng.zst":   {Pcapng, zstdMagic},
		"a.pcap.ZST":     {Pcap, zstdMagic},
		"a.pcap.gz.pcap": {Pcap, "\x4d\x3c\xb2\xa1"},
	} {
		path := filepath.Join(dir, name)
		w := must.Get(Create(path))(t)
		for i := range frames {
			must.Do(t, w.Write(&frames[i]))
			must.Do(t, w.Flush())
			// Flushed frames can be read; a compressed file lacks only its end mark.
			b := must.Get(os.ReadFile(path))(t)
			got, err := readAll(b)
			if len(got) != i+1 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: after frame %d %d frames, %v", name, i+1, len(got), err)
			}
		}
		must.Do(t, w.Close())
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Write(&frames[0]); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Write after Close: %v", err)
		}
		b, _ := os.ReadFile(path)
		if !hasMagic(b, want.magic) {
			t.Errorf("%s begins with % x", name, b[:4])
		}
		got, err := readAll(b)
		if got, want := lines(got), lines(expected(want.format, frames)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := Create(filepath.Join(dir, "no", "such.pcap")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// failing takes some bytes, then no more.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	w := NewWriter(&failing{100 << 10}, Pcapng)
	f := Frame{Time: StampOf(time.Unix(1, 0)), Data: make([]byte, 1000)}
	n := 0
	for w.Write(&f) == nil {
		n++
	}
	if n < 100 || n > 200 {
		t.Errorf("failed after %d frames", n)
	}
	for _, err := range []error{w.Write(&f), w.Flush(), w.Close()} {
		if err == nil || err.Error() != "no space left" {
			t.Error(err)
		}
	}
}

// TestWriteAllocations: once warm, none for a frame, with comments or without.
func TestWriteAllocations(t *testing.T) {
	for _, c := range []struct {
		name   string
		format Format
		frames []Frame
	}{
		{"pcap", Pcap, []Frame{{Time: StampOf(time.Unix(1, 1)), LinkType: 1, Data: make([]byte, 500)}}},
		{"pcapng", Pcapng, []Frame{{Time: StampOf(time.Unix(1, 1)), LinkType: 1, Data: make([]byte, 501)},
			{Time: StampOf(time.Unix(1, 1)), LinkType: 101, Interface: 1, Data: make([]byte, 501), Comments: []string{"a comment", "another"}}}},
	} {
		w := NewWriter(io.Discard, c.format)
		write := func() {
			for i := range c.frames {
				must.Do(t, w.Write(&c.frames[i]))
			}
		}
		for range 1000 {
			write()
		}
		if n := testing.AllocsPerRun(1000, write); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// TestWriteWireshark: Wireshark reads the same frames, comments, snap lengths
// and interfaces.
func TestWriteWireshark(t *testing.T) {
	for _, tool := range []string{"tshark", "capinfos"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	tool := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v: %s", name, args, err, stderr.String())
		}
		return string(out)
	}
	frames := various()
	frames[1].Comments = []string{"one", "two"}
	frames = slices.Concat(frames[:4], []Frame{{Time: StampOf(time.Unix(1767323050, 5)), LinkType: 1, Data: make([]byte, 96), Length: 1514, Interface: 7}})
	path := filepath.Join(dir, "x.pcapng")
	w := must.Get(Create(path))(t)
	for i := range frames {
		if i == len(frames)-1 {
			w.SetSnapLength(96)
		}
		must.Do(t, w.Write(&frames[i]))
	}
	must.Do(t, w.Close())
	var want strings.Builder
	ids := []int{0, 1, 0, 0, 2} // the last has another snap length
	for i, f := range expected(Pcapng, frames) {
		fmt.Fprintf(&want, "%d %d.%09d %d %d %d %s\n", f.Number, f.Time.UnixNano()/1e9, f.Time.UnixNano()%1e9, ids[i], f.Length, len(f.Data), strings.Join(f.Comments, ","))
	}
	got := tool("tshark", "-r", path, "-T", "fields", "-E", "separator=/s", "-t", "ud",
		"-e", "frame.number", "-e", "frame.time_epoch", "-e", "frame.interface_id", "-e", "frame.len", "-e", "frame.cap_len", "-e", "frame.comment")
	if got != want.String() {
		t.Errorf("tshark says\n%s\nwant\n%s", got, want.String())
	}
	info := tool("capinfos", path)
	for _, line := range []string{"Wireshark/... - pcapng", "Number of packets:   5", "nanoseconds (9)", "Number of interfaces in file: 3",
		"Encapsulation = Ethernet (1 - ether)", "Encapsulation = Raw IP (7 - rawip)", "Capture length = 96", "qdissect"} {
		if !strings.Contains(info, line) {
			t.Errorf("capinfos does not say %q:\n%s", line, info)
		}
	}

	for unit, ns := range map[string]int64{"microseconds (6)": 1000, "nanoseconds (9)": 1} {
		path := filepath.Join(dir, "x.pcap.gz")
		w := must.Get(Create(path))(t)
		w.SetSnapLength(96)
		for i := range 3 {
			must.Do(t, w.Write(&Frame{Time: StampOf(time.Unix(1767323050, ns*int64(i))), LinkType: 101, Data: make([]byte, 96), Length: 97}))
		}
		must.Do(t, w.Close())
		info := tool("capinfos", path)
		for _, line := range []string{"Number of packets:   3", unit, "Raw IP", "file hdr: 96 bytes"} {
			if !strings.Contains(info, line) {
				t.Errorf("capinfos does not say %q:\n%s", line, info)
			}
		}
	}
}

// FuzzWrite: frames are the same after writing and reading them.
func FuzzWrite(f *testing.F) {
	for _, file := range samples() {
		f.Add(file, true)
		f.Add(file, false)
	}
	f.Add(writeAll(f, Pcapng, various()[:7]), true)
	f.Fuzz(func(t *testing.T, file []byte, ng bool) {
		if hasMagic(file, gzipMagic) || hasMagic(file, zstdMagic) || skippable(file) || len(file) > 1<<20 {
			return
		}
		format := Pcap
		if ng {
			format = Pcapng
		}
		frames, _ := readAll(file)
		var b bytes.Buffer
		w := NewWriter(&b, format)
		var kept []Frame
		for i := range frames {
			err := w.Write(&frames[i])
			switch {
			case err == nil:
				kept = append(kept, frames[i])
			case ng && !strings.Contains(err.Error(), "in all"):
				t.Fatal(err) // pcapng holds whatever was read
			}
			if len(file)%7 == i%7 {
				w.Flush()
			}
		}
		must.Do(t, w.Close())
		got := must.Get(readAll(b.Bytes()))(t)
		if got, want := lines(got), lines(expected(format, kept)); !slices.Equal(got, want) {
			t.Fatalf("%.2000q\nwant\n%.2000q", got, want)
		}
	})
}
