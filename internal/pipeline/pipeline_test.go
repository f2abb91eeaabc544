package pipeline

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/report"
)

// damaged are the frames with bzip2 streams that cannot be unpacked: the library
// makes an error of each.
var damaged = map[string][]uint64{"compressed.pcapng": {9, 11, 13}}

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
			if slices.Contains(damaged[filepath.Base(path)], f.Number) {
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
func modes() map[string]func() (report.Reporter, bool) {
	return map[string]func() (report.Reporter, bool){
		"counts": func() (report.Reporter, bool) { return report.NewCounts(io.Discard), false },
		"line":   func() (report.Reporter, bool) { return report.NewText(io.Discard, report.TextOptions{}), false },
		"tree": func() (report.Reporter, bool) {
			return report.NewText(io.Discard, report.TextOptions{Detail: report.Tree}), true
		},
		"hex": func() (report.Reporter, bool) {
			return report.NewText(io.Discard, report.TextOptions{Detail: report.Hex}), true
		},
		"jsonl": func() (report.Reporter, bool) { return report.NewJSON(io.Discard, report.JSONOptions{}), true },
	}
}

func newTestWorker(t testing.TB, rep report.Reporter, tree bool) *worker {
	t.Helper()
	o := &Options{Reporter: rep, All: true, Analysis: dissect.Config{Protocols: all.Protocols(), Tree: tree}}
	sum := &report.Summary{
		Protocols: o.Analysis.Protocols, Messages: make([]uint64, len(o.Analysis.Protocols)),
		RoundTrips: make([]report.RoundTrips, len(o.Analysis.Protocols)),
	}
	w, err := newWorker(o, sum)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNoAllocations: once warm, no frame and no message allocates, whatever is
// written.
func TestNoAllocations(t *testing.T) {
	list := frames(t)
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			rep, tree := mode()
			w := newTestWorker(t, rep, tree)
			shift := time.Duration(0)
			round := func() {
				shift += time.Hour
				for _, f := range list {
					f.Time = f.Time.Add(shift)
					w.frame(&f)
				}
			}
			for range 3 {
				round()
			}
			if n := testing.AllocsPerRun(5, round); n > 0 {
				t.Errorf("%v allocations for %d frames", n, len(list))
			}
		})
	}
}

func BenchmarkPipeline(b *testing.B) {
	list := frames(b)
	for name, mode := range modes() {
		b.Run(name, func(b *testing.B) {
			rep, tree := mode()
			w := newTestWorker(b, rep, tree)
			bytes := 0
			for _, f := range list {
				bytes += len(f.Data)
			}
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			shift := time.Duration(0)
			for b.Loop() {
				shift += time.Hour
				for _, f := range list {
					f.Time = f.Time.Add(shift)
					w.frame(&f)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/frame")
		})
	}
}
