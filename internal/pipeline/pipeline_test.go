package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/report"
)

// damaged is the frame of compressed.pcapng with a damaged stream, which costs a
// new decompressor.
const damaged = 13

// frames returns the frames of the project's captures, with times that go on. Their data is nobody's to change.
func frames(t testing.TB) []capture.Frame {
	t.Helper()
	list := must.Get(readFrames())(t)
	if len(list) == 0 {
		t.Fatal("no frames")
	}
	return slices.Clone(list)
}

var readFrames = sync.OnceValues(func() (list []capture.Frame, err error) {
	now := time.Unix(1700000000, 0)
	err = filepath.WalkDir(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, _ fs.DirEntry, err error) error {
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
				return nettext.Either(err == io.EOF, nil, err)
			}
			if filepath.Base(path) == "compressed.pcapng" && f.Number == damaged {
				continue
			}
			now = now.Add(3 * time.Millisecond)
			list = append(list, capture.Frame{Number: uint64(len(list) + 1), Time: capture.StampOf(now), LinkType: f.LinkType, Data: bytes.Clone(f.Data), Length: f.Length})
		}
	})
	return list, err
})

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
	e.at.now = p.list[0].Time.UnixNano()
	must.Do(t, e.begin(report.Capture{File: "x", Start: e.at.time()}))
	return p
}

func (p *player) play() {
	for i := range p.list {
		f := &p.list[i]
		f.Time += capture.Stamp(time.Hour)
		f.Number += uint64(len(p.list))
		must.Do(p.t, p.e.frame(f))
	}
}

// TestNoAllocations: once warm, no frame and no message allocates, in any mode.
func TestNoAllocations(t *testing.T) {
	for mode := range modes {
		if mode != "hex" && mode != "jsonl" && !must.TryAll() {
			continue // hex has the others
		}
		few := nettext.Either(mode == "jsonl", 2, 1)
		for workers := must.Try(few, 1); workers <= must.Try(few, 2); workers++ {
			t.Run(fmt.Sprintf("%s, %d workers", mode, workers), func(t *testing.T) {
				p := newPlayer(t, mode, workers, io.Discard)
				for range 10 { // errors of ICMP are named until there are a thousand, which the tries may add
					p.play()
				}
				n := 1.0
				for tries := 0; n > 0 && tries < 5; tries++ { // of several workers, the buffers that go round are warm one after the other
					n = testing.AllocsPerRun(must.Try(3, 10), p.play)
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
	var out longest // it grows once
	for mode := range modes {
		if (mode == "tree" || mode == "counts") && !must.TryAll() {
			continue // hex has both
		}
		want := ""
		for workers := 1; workers <= must.Try(3, 5); workers += must.Try(2, 1) {
			out.Reset()
			out.writes = 0
			p := newPlayer(t, mode, workers, &out)
			for range must.Try(2, 3) {
				p.play()
			}
			must.Do(t, p.e.flush())
			p.e.main.End(p.e.summary())
			must.Do(t, p.e.pool.write(p.e.main))
			if n := out.Len()/block + 10; out.writes > n {
				t.Errorf("%s: %d bytes are written in %d pieces", mode, out.Len(), out.writes)
			}
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
			p, size := newPlayer(b, mode, 1, io.Discard), 0
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

// TestTally compares a tally with one that counts in its maps, with types that share places beside them.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var protocols []*dissect.Protocol
	var types []*dissect.MessageType
	var findings []*dissect.FindingType
	for i := range 300 {
		doc := strings.Repeat("x", i)
		for range 2 {
			types = append(types, &dissect.MessageType{Doc: doc})
			findings = append(findings, &dissect.FindingType{Doc: doc})
		}
		protocols = append(protocols, &dissect.Protocol{Doc: doc[:i%5]})
	}
	var got tally
	var want report.Tally
	for i := range 20000 {
		r := &dissect.Record{Protocol: protocols[rng.IntN(len(protocols))], Datagram: &dissect.Datagram{}, TimeKnown: rng.IntN(2) > 0, RTT: time.Duration(rng.IntN(1000))}
		r.Type = types[rng.IntN(len(types))]
		for range rng.IntN(3) {
			r.Findings = append(r.Findings, dissect.Finding{Type: findings[rng.IntN(len(findings))]})
		}
		got.Record(r)
		want.Record(r)
		if i%5000 == 0 {
			got.settled() // what is counted twice would show
		}
	}
	all := got.settled()
	if !maps.Equal(all.Messages, want.Messages) || !maps.Equal(all.Findings, want.Findings) || len(all.RoundTrips) != len(want.RoundTrips) {
		t.Error("the counts differ")
	}
	for p, times := range want.RoundTrips {
		if got := all.RoundTrips[p]; got.Count != times.Count || got.Max != times.Max {
			t.Errorf("round trips: %+v, want %+v", got, times)
		}
	}
}

var errReporter = errors.New("the reporter failed")

// failing is a reporter that fails at one of what it gets.
type failing struct {
	*report.JSON
	t    *testing.T
	left int
}

func (f *failing) next(err error) error {
	if f.left--; f.left < 0 {
		f.t.Error("a reporter that has failed gets more")
	} else if f.left == 0 {
		return errReporter
	}
	return err
}

func (f *failing) Record(r *dissect.Record) error       { return f.next(f.JSON.Record(r)) }
func (f *failing) Unknown(u *dissect.Unknown) error     { return f.next(f.JSON.Unknown(u)) }
func (f *failing) Finding(x *dissect.FlowFinding) error { return f.next(f.JSON.Finding(x)) }
func (f *failing) Exchange(*dissect.Exchange) error     { return f.next(nil) }

// TestReporterError: the first error of a reporter ends the run, whatever it is about, and nothing of what
// comes after it is written.
func TestReporterError(t *testing.T) {
	for left := range 50 {
		workers := []int{1, 4}[left%2]
		var out bytes.Buffer
		_, err := Run(Options{
			Inputs: []string{"../../testdata/pcaps/a2s/trouble.pcap"}, Out: &out, Workers: workers, Choice: &Choice{Exchanges: left%3 > 0}, All: true,
			Reporter: func() report.Reporter { return &failing{report.NewJSON(report.JSONOptions{}), t, left/workers + 1} },
			Analysis: dissect.Config{Protocols: all.Protocols()}, Trouble: func(err error) { t.Error(err) },
		})
		if err != errReporter && left < 20 {
			t.Errorf("%d workers: %v", workers, err)
		}
		if n := strings.Count(out.String(), `"type":"message"`); n > left+workers {
			t.Errorf("%d workers: %d messages", workers, n)
		}
	}
}

// longest remembers the longest write.
type longest struct {
	bytes.Buffer
	n, writes int
}

func (w *longest) Write(b []byte) (int, error) {
	w.n, w.writes = max(w.n, len(b)), w.writes+1
	return w.Buffer.Write(b)
}

// TestQuietAfterFlood lets a flood end: all of its requests have waited too long when the
// next frame comes, and are reported in pieces.
func TestQuietAfterFlood(t *testing.T) {
	requests := must.Try(30_000, 60_000)
	name := flood(t, requests, true)
	var want []byte
	for _, workers := range []int{1, 3} {
		var out longest
		m := modes["jsonl"]
		must.Get(Run(Options{
			Inputs: []string{name}, Reporter: m.reporter, Analysis: dissect.Config{Protocols: all.Protocols(), Tree: m.tree}, Workers: workers, Out: &out,
		}))(t)
		b := out.Bytes()
		if n := bytes.Count(b, []byte(`"a2s.noreply"`)); n != requests-1 {
			t.Errorf("%d workers: %d unanswered requests", workers, n)
		}
		if findings := bytes.Index(b, []byte(`{"type":"finding"`)); out.n > (len(b)-findings)/3 {
			t.Errorf("%d workers: %d of %d bytes were written at once", workers, out.n, len(b)-findings)
		}
		if want == nil {
			want = b
		} else if !bytes.Equal(b, want) {
			t.Errorf("%d workers write something else", workers)
		}
	}
}

// flood writes a capture: a conversation, if the flood does not end a request and the first fragment of its reply, the flood and, if it ends, a
// frame a minute later.
func flood(t *testing.T, requests int, quiet bool) (name string) {
	t.Helper()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{Link: mkpcap.Raw})
	at, server := time.Unix(1_700_000_000, 0), netip.MustParseAddrPort("192.0.2.1:27015")
	ask := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	client := netip.MustParseAddrPort("198.51.100.7:40000") // has both directions
	w.UDP(at, client, server, ask)
	w.UDP(at, server, client, []byte("\xff\xff\xff\xffA\x01\x02\x03\x04"))
	if !quiet {
		w.UDP(at, client, server, append(ask, 1, 2, 3, 4))
		reply := mkpcap.UDPSegment(server, client, append([]byte("\xff\xff\xff\xffI\x11"), bytes.Repeat([]byte("a"), 2000)...))
		w.Frame(at, mkpcap.IP(server.Addr(), client.Addr(), 1, 17, 0, true, true, reply[:1480]))
	}
	for i := range requests {
		at = at.Add(2 * time.Microsecond)
		jitter := time.Duration(i%100/99) * 5 * time.Microsecond // of a card with several queues
		w.UDP(at.Add(-jitter), netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1024), server, ask)
	}
	if quiet { // a second later, no request has waited too long
		w.UDP(at.Add(time.Second), server, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10}), 1024), []byte("\xff\xff\xff\xffA\x01\x02\x03\x04"))
		w.UDP(at.Add(time.Minute), client, server, ask)
	}
	name = filepath.Join(t.TempDir(), "x.pcap")
	must.Do(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}
