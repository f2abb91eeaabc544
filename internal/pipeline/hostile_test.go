package pipeline

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// attack is a hostile capture and its result.
type attack struct {
	t       testing.TB
	honest  []string // messages of honest people, without the numbers of frames
	lines   int
	sum     *report.Summary
	trouble error
	used    int    // the most bytes that the tables had
	hash    uint32 // of all lines
	rest    []byte
}

// Write takes JSON lines.
func (a *attack) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		if a.rest = append(a.rest, line...); !whole {
			return n, nil
		}
		a.line(a.rest)
		a.rest, p = a.rest[:0], rest
	}
}

func (a *attack) line(line []byte) {
	a.lines++
	a.hash = crc32.Update(a.hash, crc32.IEEETable, line)
	i := bytes.Index(line, []byte(`"src_ip":"192.0.2.`))
	if i < 0 {
		if i = bytes.Index(line, []byte(`"dst_ip":"192.0.2.`)); i < 0 {
			return
		}
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		a.t.Fatalf("%v: %s", err, line)
	}
	if m["type"] != "message" || !honestEnd(m["src_ip"]) && !honestEnd(m["dst_ip"]) {
		return
	}
	delete(m, "frame")
	delete(m, "frames")
	if _, ok := m["request_frame"]; ok {
		m["request_frame"] = "known"
	}
	out, err := json.Marshal(m)
	must.Do(a.t, err)
	a.honest = append(a.honest, string(out))
}

func honestEnd(v any) bool {
	s, _ := v.(string)
	a, err := netip.ParseAddr(s)
	return err == nil && hostile.Honest(a)
}

// suffer runs a capture through an engine and checks its tables on the way.
func suffer(t testing.TB, in io.Reader, workers int) *attack {
	t.Helper()
	return sufferAs(t, in, workers, func() report.Reporter { return report.NewJSON(report.JSONOptions{}) })
}

func sufferAs(t testing.TB, in io.Reader, workers int, reporter func() report.Reporter) *attack {
	t.Helper()
	a := &attack{t: t}
	o := Options{
		Reporter: reporter, Out: a, All: true, Workers: workers,
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
	}
	e := must.Get(newEngine(&o))(t)
	defer e.pool.close()
	src, err := capture.NewReader(in, "attack")
	if err != nil {
		a.trouble = err
		return a
	}
	defer src.Close()
	var f capture.Frame
	first := true
	for n := 0; ; n++ {
		if err := src.Next(&f); err != nil {
			if err != io.EOF {
				a.trouble = err
			}
			break
		}
		if first {
			e.at.now, e.swept, first = f.Time.UnixNano(), f.Time.UnixNano(), false
			must.Do(t, e.begin(report.Capture{File: "attack", Start: f.Time.UTC()}))
		}
		must.Do(t, e.frame(&f))
		if n%512 == 0 && workers == 1 {
			a.used = max(a.used, checkState(t, e))
		}
	}
	must.Do(t, e.flush())
	if workers == 1 {
		if s := state(e); s != (core.State{}) {
			t.Errorf("at the end there is still %+v", s)
		}
	}
	a.sum = e.summary()
	return a
}

// state returns the total state of the analyzers.
func state(e *engine) (all core.State) {
	for _, w := range e.pool.workers {
		for i := range w.shards {
			s := w.shards[i].analyzer.Inner(core.Only{}).State()
			all.Flows += s.Flows
			all.Requests += s.Requests
			all.Peers += s.Peers
			all.Hosts += s.Hosts
			all.Lists += s.Lists
			all.Held += s.Held
			all.Sets += s.Sets
		}
	}
	return all
}

// checkState holds the state of all shards together against the limits, and
// returns the bytes that the reassembly accounts for.
func checkState(t testing.TB, e *engine) int {
	t.Helper()
	s, l := state(e), dissect.DefaultLimits
	if s.Flows > l.Flows || s.Requests > l.Requests || s.Peers > l.Peers || s.Hosts > l.Peers/4 || s.Lists > l.Peers/8 || s.Held > 256*shards || s.Sets > reassembly.DefaultLimits.Sets*shards {
		t.Fatalf("%+v is more than %+v", s, l)
	}
	used := 0
	for _, w := range e.pool.workers {
		for i := range w.shards {
			used += w.shards[i].budget.Used()
		}
	}
	if used > reassembly.DefaultBudget || e.decoder.budget.Used() > reassembly.DefaultBudget {
		t.Fatalf("%d and %d bytes in the tables of parts and fragments, %d are allowed", used, e.decoder.budget.Used(), reassembly.DefaultBudget)
	}
	return used + e.decoder.budget.Used()
}

// capture returns what a play writes, as a stream.
func captureOf(o mkpcap.Options, quiet bool, play func(*hostile.Stage)) io.Reader {
	r, w := io.Pipe()
	go func() {
		b := &blocks{w: w}
		s := hostile.NewStage(b, o)
		s.Quiet = quiet
		play(s)
		b.flush()
		w.Close()
	}()
	return r
}

// blocks gathers what is written, so that the pipe is handed more than a frame
// at a time.
type blocks struct {
	w   io.Writer
	buf []byte
}

func (b *blocks) Write(p []byte) (int, error) {
	if b.buf = append(b.buf, p...); len(b.buf) >= 64<<10 {
		b.flush()
	}
	return len(p), nil
}

func (b *blocks) flush() {
	_, _ = b.w.Write(b.buf) // the reader is gone only if the test has failed
	b.buf = b.buf[:0]
}

// compareHonest fails if an attack changed the output of honest traffic.
func compareHonest(t *testing.T, got, want *attack) {
	t.Helper()
	if got.trouble != nil || want.trouble != nil {
		t.Fatalf("%v, %v", got.trouble, want.trouble)
	}
	if len(want.honest) < hostile.Datagrams()/2 {
		t.Fatalf("only %d honest messages", len(want.honest))
	}
	if d := cmp.Diff(want.honest, got.honest); d != "" {
		t.Errorf("the attack changed what is understood of honest traffic: %d messages, want %d (-want +got):\n%.3000s", len(got.honest), len(want.honest), d)
	}
}

// heapLimit is what a run may have in use with all tables full, as much again
// for what waits for the garbage collector, the output of all sets that are given up
// at the end, and what the tests themselves keep.
const heapLimit = 224 << 20

// attacks are the captures of attacks by their paths; damagedFiles those that end with
// an error.
func attacks(t testing.TB) (list []string) {
	list, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "hostile", "*.pcap*"))
	if err != nil || len(list) < 12 {
		t.Fatal(list, err)
	}
	return list
}

var damagedFiles = []string{"options.pcapng", "interfaces.pcapng", "section.pcapng", "lengths.pcap"}

// TestHostileScenes: honest traffic in captures of attacks is dissected as if it were
// alone.
func TestHostileScenes(t *testing.T) {
	for _, name := range attacks(t) {
		if slices.Contains(damagedFiles, filepath.Base(name)) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			attack := must.Get(os.ReadFile(name))(t)
			for _, workers := range []int{1, 2} {
				compareHonest(t, suffer(t, bytes.NewReader(attack), workers), suffer(t, bytes.NewReader(honestOf(t, attack)), workers))
			}
		})
	}
}

// honestOf returns a capture with only the frames of honest people.
func honestOf(t *testing.T, attack []byte) []byte {
	t.Helper()
	in := must.Get(capture.NewReader(bytes.NewReader(attack), "attack"))(t)
	defer in.Close()
	var b bytes.Buffer
	out := capture.NewWriter(&b, capture.Pcapng)
	var f capture.Frame
	for in.Next(&f) == nil {
		if src, dst := packet.Addresses(f.Data[14:]); !hostile.Honest(src) && !hostile.Honest(dst) {
			continue
		}
		must.Do(t, out.Write(&f))
	}
	must.Do(t, out.Close())
	return b.Bytes()
}

// TestHostileFloods: no flood needs more memory than the limits allow, every flood is
// reported, and honest traffic is dissected correctly.
func TestHostileFloods(t *testing.T) {
	for _, f := range hostile.Floods() {
		t.Run(f.Name, func(t *testing.T) {
			n := must.Try(1000, 20_000)
			switch {
			case f.Name == "bombs" || f.Name == "many-rules":
				n = must.Try(500, 3000)
			case !must.TryAll() || raceEnabled:
			case f.Name == "forged-info":
				n = 1_000_000 // sources: more than are remembered, many times over
			case strings.HasPrefix(f.Name, "forged"):
				n = 40_000
			}
			play := func(s *hostile.Stage) { f.Play(s, n) }
			runtime.GC() // what the floods before have left counts for nothing here
			peak := watchHeap()
			got := suffer(t, captureOf(mkpcap.Options{}, false, play), 1)
			heap := peak()
			compareHonest(t, got, suffer(t, captureOf(mkpcap.Options{}, true, play), 1))
			if heap > heapLimit {
				t.Errorf("%d MiB of heap", heap>>20)
			}
			noticed := got.sum.Drops + got.sum.Unanswered + got.sum.Incomplete + got.sum.Findings[dissect.Failed] + got.sum.Findings[dissect.Warning] + got.sum.Findings[dissect.Note]
			if noticed < uint64(n)/300 { // growing-sets: one for each set of 254 parts
				t.Errorf("%d pieces of a flood, and only %d are noticed: %+v", n, noticed, got.sum)
			}
			t.Logf("%d frames, %d lines, heap %d MiB, tables %d KiB, drops %d, unanswered %d, incomplete %d, findings %v",
				got.sum.Packets, got.lines, heap>>20, got.used>>10, got.sum.Drops, got.sum.Unanswered, got.sum.Incomplete, got.sum.Findings)
		})
	}
}

// TestHostileCounts sets every byte of every reply in the project's captures to
// the values that counts lie with. What surrounds them stays understood.
func TestHostileCounts(t *testing.T) {
	var payloads []string
	eachDatagram(t, func(p []byte) {
		if len(p) > 1 && len(p) < 200 {
			payloads = append(payloads, string(p))
		}
	})
	values := nettext.Either(!must.TryAll() || raceEnabled, []byte{0xff}, []byte{0, 0x7f, 0x80, 0xff})
	src, dst := netip.MustParseAddrPort("203.0.113.1:27015"), netip.MustParseAddrPort("203.0.113.2:27016")
	play := func(s *hostile.Stage) {
		for n, p := range payloads {
			for i := n % must.Try(11, 1); i < len(p); i += must.Try(11, 1) { // at another place of each
				for _, v := range values {
					s.Strike(src, dst, p[:i]+string([]byte{v})+p[i+1:])
				}
			}
			s.Speak(1)
		}
		s.Finish()
	}
	got := suffer(t, captureOf(mkpcap.Options{}, false, play), 1)
	compareHonest(t, got, suffer(t, captureOf(mkpcap.Options{}, true, play), 1))
	t.Logf("%d frames, %d lines", got.sum.Packets, got.lines)
}

// TestHostileTruncated cuts captures of all formats at every (seventh) byte: what stands
// before the cut is said, and the cut itself.
func TestHostileTruncated(t *testing.T) {
	for _, o := range []mkpcap.Options{{}, {Ng: true}, {Nano: true, BigEndian: true}} {
		var b bytes.Buffer
		hostile.NewStage(&b, o).Speak(2)
		whole := b.Bytes()
		step := nettext.Either(testing.Short() || raceEnabled, 37, must.Try(7, 1))
		last := 0
		for n := 0; n < len(whole); n += step {
			a := suffer(t, bytes.NewReader(whole[:n]), 1)
			if a.trouble == nil && a.sum.Packets == 0 && n > 150 {
				t.Fatalf("cut after %d bytes: nothing read and nothing said", n)
			}
			if len(a.honest) < last {
				t.Fatalf("cut after %d bytes: %d messages, %d before", n, len(a.honest), last)
			}
			last = len(a.honest)
		}
		if last == 0 {
			t.Error("no message was ever read")
		}
	}
}

// TestHostileFiles: inconsistent files are read as far as possible and reported as
// damaged.
func TestHostileFiles(t *testing.T) {
	for _, path := range attacks(t) {
		name := filepath.Base(path)
		if !slices.Contains(damagedFiles, name) {
			continue
		}
		file := must.Get(os.ReadFile(path))(t)
		a := suffer(t, bytes.NewReader(file), 1)
		if a.trouble == nil || a.sum.Packets == 0 {
			t.Errorf("%s: trouble %v, %d packets", name, a.trouble, a.sum.Packets)
		}
		if name == "options.pcapng" && a.sum.Findings[dissect.Note] == 0 {
			t.Errorf("%s: nobody says that comments were left out", name)
		}
	}
}

// TestHostileCompressed reads bombs: many MiB of zeroes behind an honest
// capture, which are empty frames, and a window that nobody has the memory for.
func TestHostileCompressed(t *testing.T) {
	size := nettext.Either(testing.Short() || raceEnabled, 32<<20, must.Try[int64](5, 128)<<20)
	for name, pack := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { return must.Get(zstd.NewWriter(w))(t) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bomb")
			f := must.Get(os.Create(path))(t)
			bomb(t, pack(f), size)
			must.Get(f.Seek(0, io.SeekStart))(t)
			defer f.Close()
			runtime.GC()
			peak, a := watchHeap(), suffer(t, f, 1)
			heap := peak()
			if a.trouble != nil || a.sum.Packets < uint64(size/16) || heap > heapLimit {
				t.Errorf("%v, %d packets, %d MiB", a.trouble, a.sum.Packets, heap>>20)
			}
			t.Logf("%d packets, heap %d MiB", a.sum.Packets, heap>>20)
		})
	}
	if a := suffer(t, strings.NewReader(hostile.Window), 1); a.trouble == nil {
		t.Error("a window of a terabyte is no trouble")
	}
}

// eachDatagram calls f with every UDP payload of the project's captures.
func eachDatagram(t *testing.T, f func([]byte)) {
	t.Helper()
	o := Options{Reporter: func() report.Reporter { return report.NewCounts() }, Out: io.Discard, All: true, Analysis: dissect.Config{Protocols: all.Protocols()}}
	e, list := must.Get(newEngine(&o))(t), frames(t)
	for i := range list {
		raw := packet.Frame{Number: list[i].Number, Time: list[i].Time.UTC(), LinkType: list[i].LinkType, Data: list[i].Data, Length: list[i].Length}
		if e.decoder.Decode(&raw, &e.decoder.in).OK() {
			f(e.decoder.in.Payload)
		}
	}
}

// watchHeap looks at the heap again and again, until it is asked for the most
// that there was.
func watchHeap() (peak func() uint64) {
	percent := debug.SetGCPercent(100) // what users have
	stop, result := make(chan bool), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		defer debug.SetGCPercent(percent)
		close(stop)
		return <-result
	}
}

// TestSpill: what datagrams say can be much longer than they are. Workers wait
// for the merger before they have written a batch of it, and the output is the
// same.
func TestSpill(t *testing.T) {
	n := nettext.Either(raceEnabled, 600, must.Try(600, 2500))
	for _, f := range hostile.Floods() {
		if f.Name != "small-rules" {
			continue
		}
		play := func(s *hostile.Stage) { f.Play(s, n) }
		var want *attack
		for workers := 1; workers <= 4; workers += must.Try(3, 1) {
			runtime.GC()
			peak := watchHeap()
			got := sufferAs(t, captureOf(mkpcap.Options{}, false, play), workers, func() report.Reporter { return report.NewText(report.TextOptions{Detail: report.Hex}) })
			heap := peak()
			if t.Logf("%d workers, %d MiB of heap", workers, heap>>20); heap > heapLimit {
				t.Errorf("%d workers: %d MiB of heap", workers, heap>>20)
			}
			if want == nil {
				want = got
			} else if got.hash != want.hash || got.lines != want.lines {
				t.Errorf("%d workers write something else than one", workers)
			}
		}
	}
}

// zeroes is an endless reader of zero bytes.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// bomb compresses an honest capture followed by n zero bytes, which are empty frames.
func bomb(t *testing.T, z io.WriteCloser, n int64) {
	must.Get(z.Write(hostile.Talk(mkpcap.Options{})))(t)
	must.Get(io.CopyN(z, zeroes{}, n))(t)
	must.Do(t, z.Close())
}
