package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// damaged is the frame of compressed.pcapng with a damaged stream, which costs a
// new decompressor.
const damaged = 13

// frames returns the frames of the project's captures, with times that go on.
func frames(t testing.TB) (list []capture.Frame) {
	t.Helper()
	now := time.Unix(1700000000, 0)
	err := filepath.WalkDir(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".pcap" && ext != ".pcapng" || filepath.Base(filepath.Dir(path)) == "hostile" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r, err := capture.NewReader(bytes.NewReader(b), path)
		if err != nil {
			return err
		}
		var f capture.Frame
		for {
			if err := r.Next(&f); err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
			if filepath.Base(path) == "compressed.pcapng" && f.Number == damaged {
				continue
			}
			now = now.Add(3 * time.Millisecond)
			list = append(list, capture.Frame{Number: uint64(len(list) + 1), Time: now, LinkType: f.LinkType, Data: bytes.Clone(f.Data), Length: f.Length})
		}
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d frames, %v", len(list), err)
	}
	return list
}

// modes are the ways in which the program is run.
var modes = map[string]struct {
	reporter func() report.Reporter
	tree     bool
}{
	"counts": {func() report.Reporter { return report.NewCounts() }, false},
	"line":   {func() report.Reporter { return report.NewText(report.TextOptions{}) }, false},
	"tree":   {func() report.Reporter { return report.NewText(report.TextOptions{Detail: report.Tree}) }, true},
	"hex":    {func() report.Reporter { return report.NewText(report.TextOptions{Detail: report.Hex}) }, true},
	"jsonl":  {func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }, true},
}

// player plays frames to an engine, again and again, each time an hour later.
type player struct {
	t    testing.TB
	e    *engine
	list []capture.Frame
}

func newPlayer(t testing.TB, mode string, workers int, out io.Writer) *player {
	t.Helper()
	m := modes[mode]
	e, err := newEngine(&Options{
		Reporter: m.reporter, All: true, Analysis: dissect.Config{Protocols: all.Protocols(), Tree: m.tree}, Workers: workers, Out: out,
	})
	must.Do(t, err)
	t.Cleanup(e.pool.close)
	p := &player{t: t, e: e, list: frames(t)}
	e.at.now = p.list[0].Time
	must.Do(t, e.begin(report.Capture{File: "x", Start: e.at.now}))
	return p
}

func (p *player) play() {
	for i := range p.list {
		f := &p.list[i]
		f.Time = f.Time.Add(time.Hour)
		f.Number += uint64(len(p.list))
		must.Do(p.t, p.e.frame(f))
	}
}

// TestNoAllocations: once warm, no frame and no message allocates, in any mode.
func TestNoAllocations(t *testing.T) {
	for mode := range modes {
		if mode != "hex" && mode != "jsonl" && !thorough.All() {
			continue // hex has the others
		}
		few := 1
		if mode == "jsonl" {
			few = 2
		}
		for workers := thorough.Of(few, 1); workers <= thorough.Of(few, 2); workers++ {
			t.Run(fmt.Sprintf("%s, %d workers", mode, workers), func(t *testing.T) {
				p := newPlayer(t, mode, workers, io.Discard)
				for range 30 { // errors of ICMP are named until there are a thousand
					p.play()
				}
				n := 1.0
				for tries := 0; n > 0 && tries < 5; tries++ { // of several workers, the buffers that go round are warm one after the other
					n = testing.AllocsPerRun(thorough.Of(3, 10), p.play)
				}
				if n > 0 {
					t.Errorf("%v allocations for %d frames", n, len(p.list))
				}
			})
		}
	}
}

// TestWorkers: the output is the same for every number of workers.
func TestWorkers(t *testing.T) {
	for mode := range modes {
		if (mode == "tree" || mode == "counts") && !thorough.All() {
			continue // hex has both
		}
		want := ""
		for workers := 1; workers <= thorough.Of(3, 5); workers += thorough.Of(2, 1) {
			var out bytes.Buffer
			p := newPlayer(t, mode, workers, &out)
			for range thorough.Of(2, 3) {
				p.play()
			}
			must.Do(t, p.e.flush())
			p.e.main.End(p.e.summary())
			must.Do(t, p.e.pool.write(p.e.main))
			if workers == 1 {
				want = out.String()
			} else if out.String() != want {
				t.Errorf("%s: %d workers write something else than one: %s", mode, workers, cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n"))[:1500])
			}
		}
	}
}

func BenchmarkPipeline(b *testing.B) {
	for mode := range modes {
		b.Run(mode, func(b *testing.B) {
			p := newPlayer(b, mode, 1, io.Discard)
			size := 0
			for _, f := range p.list {
				size += len(f.Data)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.play()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.list)), "ns/frame")
		})
	}
}

// TestDrain: the answer to drain comes once and is not lost, however fast the output is
// written.
func TestDrain(t *testing.T) {
	p := newPlayer(t, "counts", 2, io.Discard)
	for range cap(p.e.pool.spare) - 1 {
		<-p.e.pool.spare // so that the next batch comes when the last one is written
	}
	done := make(chan error)
	go func() {
		var err error
		for range 100 {
			if err = p.e.pool.settle(); err != nil {
				break
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		panic("settle waits for an answer that has been given")
	}
}
