package cut

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// TestFrameSet compares with a map.
func TestFrameSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s frameSet
	want := map[uint64]bool{}
	for range 20_000 {
		f := r.Uint64N(3000)
		if s.has(f) != want[f] {
			t.Fatalf("%d: %v", f, !want[f])
		}
		if r.IntN(3) == 0 {
			s.remove(f)
			delete(want, f)
		} else if s.add(f) == want[f] {
			t.Fatalf("%d is news: %v", f, want[f])
		} else {
			want[f] = true
		}
	}
	list := slices.Sorted(maps.Keys(want))
	if got := slices.Collect(s.all); !slices.Equal(got, list) || s.n != len(list) {
		t.Errorf("%d frames, %d are listed, of %d", s.n, len(got), len(list))
	}
	o := s.order()
	for i, f := range list {
		if got := o.frame(uint64(i + 1)); got != f {
			t.Fatalf("frame %d of the set is %d, want %d", i+1, got, f)
		}
	}
	if o.frame(0) != 0 || o.frame(uint64(len(list)+1)) != 0 {
		t.Error("there are frames beyond the set")
	}
}

// TestArray compares with a map.
func TestArray(t *testing.T) {
	dir := t.TempDir()
	a, r := must.Get(newArray(dir))(t), rand.New(rand.NewPCG(1, 2))
	want := map[uint64]uint64{}
	for range 20_000 {
		i := r.Uint64N(3000)
		if r.IntN(4) == 0 {
			a.set(i, i+7)
			want[i] = i + 7
		} else if got := a.get(i); got != want[i] {
			t.Fatalf("%d is %d, want %d", i, got, want[i])
		}
	}
	must.Do(t, a.close())
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v is left (%v)", list, err)
	}
	a.set(3000, 1)
	if a.err == nil {
		t.Error("no error of a closed file")
	}
}

// TestRules compares with a linear search.
func TestRules(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	end := func() netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(3))}), uint16(r.IntN(2)))
	}
	at := func(n int) time.Time {
		if n < 0 {
			return time.Time{}
		}
		return time.Unix(1e9+int64(n), 0)
	}
	for range 300 {
		u := rules{anyPort: r.IntN(2) == 0}
		var list []func(src, dst netip.AddrPort, now time.Time) bool
		same := func(f Flow, src, dst netip.AddrPort) bool {
			if u.anyPort {
				strip := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr(), 0) }
				f.A, f.B, src, dst = strip(f.A), strip(f.B), strip(src), strip(dst)
			}
			return f.holds(src, dst)
		}
		if r.IntN(4) == 0 {
			f := Flow{A: end()}
			u.flows = append(u.flows, f)
			list = append(list, func(src, dst netip.AddrPort, _ time.Time) bool { return f.holds(src, dst) })
		}
		for range r.IntN(8) {
			begin := r.IntN(40) - 10
			f, from := Flow{end(), end()}, at(begin)
			to := at(max(begin, 0) + r.IntN(10))
			u.between(f, from, to)
			list = append(list, func(src, dst netip.AddrPort, now time.Time) bool {
				return same(f, src, dst) && !now.Before(from) && !now.After(to)
			})
		}
		if u.empty() != (len(list) == 0) {
			t.Fatalf("empty: %v, with %d rules", u.empty(), len(list))
		}
		for range 50 {
			src, dst, now := end(), end(), at(r.IntN(45))
			want := false
			for _, holds := range list {
				want = want || holds(src, dst, now)
			}
			if got := u.take(src, dst, now); got != want {
				t.Fatalf("%v > %v at %v: %v, want %v", src, dst, now, got, want)
			}
		}
	}
}

// TestRuleCost checks the memory per rule in docs/limits.md, with a rule for each
// conversation.
func TestRuleCost(t *testing.T) {
	const n, most = 50_000, 240 // bytes
	before := inUse()
	var u rules
	for i := range n {
		f := Flow{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1), netip.MustParseAddrPort("192.0.2.1:2")}
		u.between(f, time.Unix(1, 0), time.Unix(2, 0))
	}
	cost := float64(inUse()-before) / n
	if t.Logf("%.1f bytes for each rule", cost); cost > most || len(u.times) != n {
		t.Errorf("%.1f bytes for each of %d rules", cost, len(u.times))
	}
	runtime.KeepAlive(&u)
}

// flood writes n messages of different conversations to a file. If nobody answers,
// each has a finding.
func flood(t *testing.T, name string, n int) string {
	t.Helper()
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for _, f := range hostile.Floods() {
		if f.Name == name {
			f.Play(s, n)
		}
	}
	if s.W.Frames < uint64(n) {
		t.Fatalf("%s: %d frames", name, s.W.Frames)
	}
	path := filepath.Join(t.TempDir(), name+".pcap")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func expr(t *testing.T, s string) *display.Filter {
	t.Helper()
	f := must.Get(display.Compile(s))(t)
	return f
}

// TestManyChosen checks the memory per chosen message in docs/limits.md.
func TestManyChosen(t *testing.T) {
	const most = 10 // bytes, most of them for buffers
	want := must.Try(8000, 30_000)
	c, err := newCutter(&Options{
		In: flood(t, "forged-info", want), Out: filepath.Join(t.TempDir(), "out.pcapng"), Filter: expr(t, "protocol"),
		Analysis: dissect.Config{Protocols: all.Protocols()},
	})
	must.Do(t, err)
	defer c.close()
	before := inUse()
	must.Do(t, c.dissect(c.o.In, ptr(c.chooser())))
	must.Do(t, c.complete())
	n := c.chosen.n
	cost := float64(inUse()-before) / float64(n)
	if t.Logf("%.1f bytes for each message", cost); cost > most || n < want || c.frames.n < n {
		t.Errorf("%.1f bytes for each of %d messages, in %d frames", cost, n, c.frames.n)
	}
	runtime.KeepAlive(c)
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyIncomplete checks that findings take no more time than messages.
func TestManyIncomplete(t *testing.T) {
	n, out := must.Try(2000, 20_000), filepath.Join(t.TempDir(), "out.pcapng")
	began := time.Now()
	r, err := Run(Options{In: flood(t, "first-parts", n), Out: out, Filter: expr(t, "finding == a2s.split.missing"), Analysis: dissect.Config{Protocols: all.Protocols()}})
	if err != nil || r.Chosen != n || r.Frames != uint64(n) {
		t.Errorf("%+v, %v", r, err)
	}
	t.Log(time.Since(began))
}

// TestJournal checks that events come back as they were added.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j := must.Get(newJournal(dir))(t)
	v4, v6 := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("[fe80::1%eth0]:1")
	want := []event{
		{frame: 7, role: dissect.Reply, used: dissect.ChallengeIssued, request: 3, given: 5, says: 6, time: -1, ends: appendEnds(nil, v4, v6), frames: []uint64{6, 7}},
		{frame: 3, ends: appendEnds(nil, v6, v4), frames: slices.Repeat([]uint64{1 << 40}, 9000)},
		{frame: 8, icmp: 9, finding: true, matches: true},
	}
	for i := range want {
		must.Do(t, j.add(&want[i]))
	}
	for range 2 {
		var got []event
		must.Do(t, j.replay(func(e *event) {
			other := *e
			other.frames, other.ends = slices.Clone(e.frames), slices.Clone(e.ends)
			got = append(got, other)
		}))
		if diff := fmt.Sprint(got) != fmt.Sprint(want); diff {
			t.Errorf("%v, want %v", got, want)
		}
	}
	must.Do(t, j.close())
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v is left (%v)", list, err)
	}
}

// TestBeside checks that temporary files are in the folder of the output, which may be
// on another disk, and are removed.
func TestBeside(t *testing.T) {
	in := must.Get(filepath.Abs("../../testdata/pcaps/a2s/source.pcap"))(t)
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(dir, "none"))
	}
	for _, out := range []string{"out.pcapng", filepath.Join(dir, "absolute.pcapng")} {
		_, err := Run(Options{In: in, Out: out, Filter: expr(t, "a2s"), Analysis: dissect.Config{Protocols: all.Protocols()}})
		if err != nil {
			t.Error(err)
		}
	}
	var names []string
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
		names = append(names, d.Name())
		return nil
	})
	if len(names) != 3 {
		t.Errorf("left: %v", names)
	}
}

func ptr[T any](v T) *T { return &v }
