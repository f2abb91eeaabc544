package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
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
	last, out := StampOf(time.Unix(0, 0)), slices.Clone(frames)
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
		must.Do(t, w.Write(&good))
		must.Do(t, w.Close())
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
	must.Do(t, w.Write(&f))
}

// TestWritePrefix: after each Flush the file is complete, and a cut file has the frames
// before the cut.
func TestWritePrefix(t *testing.T) {
	for name, format := range map[string]Format{"pcap": Pcap, "pcapng": Pcapng} {
		t.Run(name, func(t *testing.T) {
			v := various()
			frames := nettext.Either(format == Pcap, []Frame{v[0], v[2], v[3]}, v[:6])
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
	dir, frames := t.TempDir(), various()[2:4]
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
		must.Do(t, w.Close())
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
		format := nettext.Either(ng, Pcapng, Pcap)
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

// fake is a device like the ring of an AF_PACKET socket: the kernel hands frames
// over when it looks into its block, every QuietTime. All times are of the clock
// of a synctest bubble.
type fake struct {
	frames []arrival // by at
	phase  time.Duration
	fails  time.Time     // when the interface goes down; never if zero
	hangs  time.Time     // from when on next does not return before released
	freed  chan struct{} // releases it
	slow   func() time.Duration
	open   time.Time
	taken  int
	closed bool
}

// arrival is a frame with the time at which it passes and its timestamp.
type arrival struct{ at, says time.Time }

var errFake = errors.New("the interface went down")

// handed returns the time at which the kernel hands a frame over.
func (d *fake) handed(at time.Time) time.Time {
	blocks := (at.Sub(d.open)-d.phase)/QuietTime + 1
	return d.open.Add(d.phase + blocks*QuietTime)
}

func (d *fake) next(f *Frame) error {
	asked := time.Now()
	defer func() {
		if d.slow != nil {
			time.Sleep(d.slow()) // others have the processor
		}
	}()
	wake := asked.Add(QuietTime)
	if d.taken < len(d.frames) {
		a := d.frames[d.taken]
		if h := d.handed(a.at); !h.After(wake) {
			time.Sleep(h.Sub(asked))
			d.taken++
			*f = Frame{Time: StampOf(a.says), Data: []byte{1}, Length: 1}
			return nil
		}
	}
	if !d.hangs.IsZero() && wake.After(d.hangs) {
		<-d.freed
	}
	if !d.fails.IsZero() && !wake.Before(d.fails) {
		time.Sleep(d.fails.Sub(asked))
		return errFake
	}
	time.Sleep(QuietTime)
	return ErrQuiet
}

func (d *fake) interfaces() []Interface            { return []Interface{{Name: "fake"}} }
func (d *fake) counts() (received, dropped uint64) { return uint64(d.taken), 0 }
func (d *fake) close() error                       { d.closed = true; return nil }

// from adds frames at regular intervals between two times after the start.
func (d *fake) from(start, end time.Duration, gap func() time.Duration) *fake {
	for at := start; at < end; at += gap() {
		t := d.open.Add(at)
		d.frames = append(d.frames, arrival{t, t})
	}
	return d
}

func every(gap time.Duration) func() time.Duration { return func() time.Duration { return gap } }

// live returns a capture from devices.
func live(devices ...*fake) *Live {
	l := &Live{began: time.Now()}
	l.asked = l.began
	for i, d := range devices {
		l.devices = append(l.devices, d)
		l.names = append(l.names, fmt.Sprint("fake", i))
	}
	if len(devices) > 1 {
		l.merge = newMerge(l.devices)
	}
	return l
}

// got is what a reader has read.
type got struct {
	frames []Frame
	worst  time.Duration // between the arrival of a frame and its return
	err    error
	ended  time.Time
}

// read takes frames until all that came before stop have been returned, as
// qdissect does after a signal, or the capture ends. It holds that Complete
// never says too much.
func read(t *testing.T, l *Live, stop time.Time, devices []*fake, pause func() time.Duration) (g got) {
	t.Helper()
	seen := make([]int, len(devices))
	var f Frame
	for {
		err := l.Next(&f)
		switch {
		case err == ErrQuiet:
			c := l.Complete()
			for i, d := range devices {
				hung := !d.hangs.IsZero() && !time.Now().Before(d.hangs)
				if n := seen[i]; n < len(d.frames) && d.frames[n].says.Before(c) && !hung {
					t.Errorf("at %v complete up to %v, but device %d has one from %v", time.Since(l.began), c.Sub(l.began), i, d.frames[n].says.Sub(l.began))
					return g
				}
			}
			if c.After(stop) {
				g.ended = time.Now()
				return g
			}
		case err != nil:
			g.err, g.ended = err, time.Now()
			return g
		case f.Time.UTC().After(stop):
			g.ended = time.Now()
			return g
		default:
			a := devices[f.Interface].frames[seen[f.Interface]]
			if !a.says.Equal(f.Time.UTC()) {
				t.Errorf("device %d: frame of %v, want %v", f.Interface, f.Time, a.says)
				return g
			}
			seen[f.Interface]++
			g.worst = max(g.worst, time.Since(a.at))
			g.frames = append(g.frames, f)
		}
		if pause != nil {
			time.Sleep(pause())
		}
	}
}

// shut ends a capture, because a synctest bubble waits for all goroutines.
func shut(t *testing.T, l *Live) {
	t.Helper()
	must.Do(t, l.Close())
	if l.merge != nil {
		l.merge.running.Wait()
		synctest.Wait()
	}
}

// complete checks that all frames until then are there, in the order of time.
func (g *got) complete(t *testing.T, until time.Time, devices ...*fake) {
	t.Helper()
	want := 0
	for _, d := range devices {
		for _, a := range d.frames {
			if !a.says.After(until) {
				want++
			}
		}
	}
	n := 0
	for _, f := range g.frames {
		if !f.Time.UTC().After(until) {
			n++
		}
	}
	if n != want {
		t.Errorf("%d frames, want %d", n, want)
	}
	if !slices.IsSortedFunc(g.frames, func(a, b Frame) int { return cmp.Compare(a.Time, b.Time) }) {
		t.Error("not in the order of time")
	}
}

// TestMergeSteady: whatever the gaps between frames are, what came before a
// signal is returned, soon and in order, and so is the end.
func TestMergeSteady(t *testing.T) {
	for _, gap := range []time.Duration{
		50 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond, 18 * time.Millisecond,
		QuietTime - 1, QuietTime, QuietTime + 1, 30 * time.Millisecond, 300 * time.Millisecond,
	} {
		t.Run(gap.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				a := (&fake{open: now}).from(7*time.Millisecond, 4*time.Second, every(gap))
				b := (&fake{open: now, phase: 11 * time.Millisecond}).from(900*time.Millisecond, 4*time.Second, every(700*time.Millisecond))
				c := &fake{open: now, phase: 5 * time.Millisecond}
				devices := []*fake{a, b, c}
				l, stop := live(devices...), now.Add(2345*time.Millisecond)
				g := read(t, l, stop, devices, nil)
				g.complete(t, stop, devices...)
				if g.err != nil || g.worst > LateTime {
					t.Errorf("a frame came after %v, %v", g.worst, g.err)
				}
				if late := g.ended.Sub(stop); late > 2*LateTime {
					t.Errorf("it ended after %v", late)
				}
				shut(t, l)
			})
		})
	}
}

// TestMergeRandom does the same with devices of many kinds, and with readers
// that the system leaves waiting. One device alone keeps the same promises.
func TestMergeRandom(t *testing.T) {
	for seed := range must.Try[uint64](60, 200) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
			now := time.Now()
			busy, waits := seed%2 == 1, seed%4 == 3
			var devices []*fake
			for i := range 1 + r.IntN(4) {
				d := &fake{open: now, phase: upTo(QuietTime)}
				if busy {
					own, calls := rand.New(rand.NewPCG(seed, uint64(i+2))), 0
					d.slow = func() time.Duration {
						if calls++; calls < 20 || own.IntN(30) > 0 {
							return 0
						}
						calls = 0
						return time.Duration(own.Int64N(int64(patience * QuietTime / 2)))
					}
				}
				for at := upTo(time.Second); at < 4*time.Second; at += upTo(800 * time.Millisecond) {
					end := at + upTo(500*time.Millisecond)
					longest := []time.Duration{time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond}[r.IntN(3)]
					d.from(at, end, func() time.Duration { return 1 + upTo(longest) })
					at = end
				}
				devices = append(devices, d)
			}
			var pause func() time.Duration
			if waits {
				pause = func() time.Duration {
					if r.IntN(200) > 0 {
						return 0
					}
					return upTo(2 * time.Second)
				}
			}
			l, stop := live(devices...), now.Add(2*time.Second+upTo(time.Second))
			g := read(t, l, stop, devices, pause)
			g.complete(t, stop, devices...)
			if late := g.ended.Sub(stop); !busy && (g.worst > LateTime || late > 2*LateTime) {
				t.Errorf("a frame came after %v, the end after %v", g.worst, late)
			}
			shut(t, l)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// TestMergeGone: when an interface goes down, everything that came before is
// returned, from the others too; then its error, although they go on.
func TestMergeGone(t *testing.T) {
	for _, gap := range []time.Duration{100 * time.Microsecond, 8 * time.Millisecond, 18 * time.Millisecond, 50 * time.Millisecond, time.Second} {
		for _, first := range []int{0, 1} {
			t.Run(fmt.Sprint(gap, " ", first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					down := now.Add(1234 * time.Millisecond)
					a := (&fake{open: now}).from(0, 3*time.Second, every(gap))
					b := (&fake{open: now, phase: 13 * time.Millisecond, fails: down}).from(0, time.Second, every(30*time.Millisecond))
					c := &fake{open: now, phase: 2 * time.Millisecond, fails: down.Add(3 * time.Millisecond)}
					devices := nettext.Either(first == 1, []*fake{c, a, b}, []*fake{b, a, c})
					l := live(devices...)
					g := read(t, l, now.Add(time.Hour), devices, nil)
					g.complete(t, down, devices...)
					var e *InterfaceError
					if want := fmt.Sprint("fake", 2*first); !errors.As(g.err, &e) || e.Interface != want || e.Err != errFake {
						t.Errorf("%v, want it of %s", g.err, want)
					}
					if late := g.ended.Sub(down); late > 2*LateTime {
						t.Errorf("it ended after %v", late)
					}
					if err := l.Next(new(Frame)); err != g.err {
						t.Errorf("then %v", err)
					}
					shut(t, l)
				})
			})
		}
	}
}

// TestMergeHangs: an interface that blocks delays the others only for a while, and does
// not delay Close.
func TestMergeHangs(t *testing.T) {
	for _, test := range [][2]time.Duration{
		{0, 10 * time.Second}, {time.Second, 10 * time.Second}, {time.Second, 2 * time.Second},
		{3800 * time.Millisecond, 10 * time.Second}, {3800 * time.Millisecond, 3900 * time.Millisecond},
	} {
		after, ends := test[0], test[1]
		t.Run(fmt.Sprint(after, " ", ends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				a := (&fake{open: now}).from(0, ends, every(8*time.Millisecond))
				b := &fake{open: now, phase: 3 * time.Millisecond, hangs: now.Add(after), freed: make(chan struct{})}
				b.from(0, after-LateTime, every(100*time.Millisecond))
				if after == 0 {
					b.hangs = now.Add(1)
				}
				devices := []*fake{a, b}
				l := live(devices...)
				const stuck = patience*QuietTime + 2*LateTime
				first := now.Add(4 * time.Second)
				g := read(t, l, first, devices, nil)
				g.complete(t, first, devices...)
				if g.worst > stuck || g.ended.After(first.Add(stuck)) {
					t.Errorf("a frame came after %v, the end after %v", g.worst, g.ended.Sub(first))
				}
				closing := time.Now()
				l.Close()
				if took := time.Since(closing); took > patience*QuietTime || b.closed {
					t.Errorf("to close took %v; that which is being read is closed: %v", took, b.closed)
				}
				close(b.freed)
				l.merge.running.Wait()
				synctest.Wait()
			})
		})
	}
}

// TestMergeClock: changes of the clock delay no frame for long.
func TestMergeClock(t *testing.T) {
	for _, before := range []time.Duration{time.Hour, time.Second, -time.Hour, 50 * time.Millisecond} {
		t.Run(before.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				a := (&fake{open: now}).from(0, 2*time.Second, every(8*time.Millisecond))
				b := (&fake{open: now, phase: 7 * time.Millisecond}).from(3*time.Millisecond, 2*time.Second, every(50*time.Millisecond))
				devices := []*fake{a, b, {open: now}}
				for _, d := range devices {
					for i := range d.frames {
						if f := &d.frames[i]; f.at.Before(now.Add(time.Second)) {
							f.says = f.at.Add(before)
						}
					}
				}
				l := live(devices...)
				var f Frame
				seen := make([]int, len(devices))
				for n := 0; n < len(a.frames)+len(b.frames); {
					if err := l.Next(&f); err == ErrQuiet {
						continue
					} else if err != nil {
						t.Fatal(err)
					}
					at := devices[f.Interface].frames[seen[f.Interface]].at
					seen[f.Interface]++
					n++
					if late := time.Since(at); late > 2*LateTime {
						t.Errorf("a frame from %v comes after %v", at.Sub(now), late)
					}
				}
				shut(t, l)
			})
		})
	}
}

// TestMergeBounded: if frames are not read, they stay in the kernel.
func TestMergeBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		a := (&fake{open: now}).from(0, time.Second, every(10*time.Microsecond))
		b := (&fake{open: now}).from(0, time.Second, every(time.Millisecond))
		devices := []*fake{a, b}
		l := live(devices...)
		time.Sleep(time.Minute)
		synctest.Wait()
		if a.taken < parcelFrames || a.taken > parcels*parcelFrames || b.taken > parcels*parcelFrames {
			t.Errorf("%d and %d frames are held", a.taken, b.taken)
		}
		g := read(t, l, now.Add(time.Minute), devices, nil)
		g.complete(t, now.Add(time.Minute), devices...)
		shut(t, l)
	})
}

// TestSilence: what the silence of a device proves.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := time.Now()
		time.Sleep(QuietTime / 2)
		if reached, now := silence(asked, time.Time{}, LateTime); !now.Equal(asked.Add(QuietTime/2)) || !reached.Equal(now.Add(-LateTime)) {
			t.Errorf("answered early: %v at %v", reached.Sub(asked), now.Sub(asked))
		}
		time.Sleep(time.Second)
		if reached, _ := silence(asked, time.Time{}, LateTime); !reached.Equal(asked.Add(QuietTime - LateTime)) {
			t.Errorf("a while ago: %v", reached.Sub(asked))
		}
		if reached, _ := silence(asked, asked.Add(-time.Minute), LateTime); !reached.Equal(asked.Add(-time.Minute)) {
			t.Errorf("frames left out: %v", reached.Sub(asked))
		}
		if reached, _ := silence(asked, asked.Add(time.Minute), LateTime); !reached.Equal(asked.Add(QuietTime - LateTime)) {
			t.Errorf("frames left out since: %v", reached.Sub(asked))
		}
	})
}

// endless returns frames of a size without end; silent returns nothing until it is closed.
type endless struct {
	data  []byte
	taken atomic.Int64
}

func (d *endless) next(f *Frame) error {
	d.taken.Add(1)
	*f = Frame{LinkType: 1, Data: d.data, Length: len(d.data)}
	return nil
}

func (d *endless) interfaces() []Interface            { return []Interface{{Name: "endless"}} }
func (d *endless) counts() (received, dropped uint64) { return 0, 0 }
func (d *endless) close() error                       { return nil }

type silent struct {
	endless
	closed chan struct{}
}

func (d *silent) next(*Frame) error {
	<-d.closed
	return ErrQuiet
}

// TestMergeLimits: the limits of docs/limits.md for several interfaces. At the limit, an
// interface is no longer read.
func TestMergeLimits(t *testing.T) {
	for size, most := range map[int]int64{60: 6 * 512, 1 << 10: 6 * 256, MaxFrame: 6 * 1, MaxFrame / 2: 6 * 2} {
		one := &endless{data: make([]byte, size)}
		other := &silent{closed: make(chan struct{})}
		m := newMerge([]device{one, other})
		for began := time.Now(); one.taken.Load() < most && time.Since(began) < 2*time.Minute; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // for more, if there is room
		if taken := one.taken.Load(); taken != most {
			t.Errorf("%d frames of %d bytes are taken, %d should be", taken, size, most)
		}
		close(other.closed)
		m.stop()
		for i := range m.lanes {
			for len(m.lanes[i].spare) > 0 {
				if p := <-m.lanes[i].spare; cap(p.bytes) > 512<<10 {
					t.Errorf("a parcel has room for %d bytes", cap(p.bytes))
				}
			}
		}
	}
}
