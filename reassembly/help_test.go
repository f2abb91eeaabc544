package reassembly

import (
	"fmt"
	"testing"
	"time"
)

// second returns the time n seconds into the test.
func second(n float64) time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second)))
}

func key(id uint64) Key { return Key{SrcPort: 27015, DstPort: 50000, ID: id} }

// audit compares the bookkeeping of all tables of b with their contents.
func audit(t testing.TB, b *Budget) {
	t.Helper()
	if b.used < 0 || b.used > b.high {
		t.Fatalf("%d bytes used of a budget of %d", b.used, b.high)
	}
	sum := 0
	for n, tb := range b.tables {
		seen := make(map[int32]bool)
		for _, l := range []struct {
			list
			done bool
		}{{tb.waiting, false}, {tb.finished, true}} {
			older, count := none, 0
			for i := l.oldest; i != none; i = tb.sets[i].newer {
				s := &tb.sets[i]
				if s.older != older || s.has(isDone) != l.done || seen[i] {
					t.Fatalf("table %d: the lists are broken at set %d", n, i)
				}
				if at, ok := tb.find(s.key); !ok || at != i {
					t.Fatalf("table %d: set %d is not in the index", n, i)
				}
				if want := setOverhead + 4*cap(s.sums) + s.store.size(); s.charged != want {
					t.Fatalf("table %d: set %d is charged %d bytes and holds %d", n, i, s.charged, want)
				}
				if len(s.pieces) > tb.limits.Pieces || len(s.buf) > tb.limits.SetBytes {
					t.Fatalf("table %d: set %d holds %d pieces of %d bytes", n, i, len(s.pieces), len(s.buf))
				}
				if cap(s.order) != cap(s.pieces) {
					t.Fatalf("table %d: set %d has room for %d pieces in order, %d in all", n, i, cap(s.order), cap(s.pieces))
				}
				seen[i] = true
				sum += s.charged
				older = i
				count++
			}
			if l.newest != older {
				t.Fatalf("table %d: a list ends at %d and says %d", n, older, l.newest)
			}
			if l.done && (count != tb.done || count > tb.remember+1) {
				t.Fatalf("table %d: %d finished sets, %d counted, %d allowed", n, count, tb.done, tb.remember)
			}
		}
		if len(seen) != tb.len || len(seen) > tb.limits.Sets {
			t.Fatalf("table %d: %d sets in lists, %d in the index, %d allowed", n, len(seen), tb.len, tb.limits.Sets)
		}
		for _, i := range tb.free {
			if seen[i] {
				t.Fatalf("table %d: set %d is free and in use", n, i)
			}
			seen[i] = true
		}
		if len(seen) != len(tb.sets) {
			t.Fatalf("table %d: %d sets are neither free nor in use", n, len(tb.sets)-len(seen))
		}
		idle := 0
		for _, st := range tb.spare {
			if cap(st.buf) > keepBuffer {
				t.Fatalf("table %d: a spare buffer of %d bytes", n, cap(st.buf))
			}
			idle += st.size()
		}
		if idle != tb.idle || idle > b.high-b.low {
			t.Fatalf("table %d: %d bytes idle, %d counted", n, idle, tb.idle)
		}
	}
	if sum != b.used {
		t.Fatalf("the sets are charged %d bytes, the budget counts %d", sum, b.used)
	}
}

// wantEmpty checks that nothing is charged after a flush.
func wantEmpty(t testing.TB, b *Budget) {
	t.Helper()
	audit(t, b)
	if b.Used() != 0 {
		t.Errorf("%d bytes are counted after everything was flushed", b.Used())
	}
}

// losses collects what a table reports as lost.
type losses []string

func (l *losses) parts(s *Set, why Reason) {
	if s.Again() {
		why = Copied
	}
	*l = append(*l, fmt.Sprintf("%d %v have %d of %d missing %v", s.Key().ID, why, s.Len(), s.Total(), s.Missing(nil)))
}

func (l *losses) ranges(f *Fragments, why Reason) {
	*l = append(*l, fmt.Sprintf("%d %v have %d of %d missing %v", f.Key().ID, why, f.Have(), f.Total(), f.Missing(nil)))
}

func (l *losses) want(t testing.TB, want ...string) {
	t.Helper()
	if fmt.Sprint(*l) != fmt.Sprint(losses(want)) {
		t.Errorf("lost\n %q, want\n %q", *l, want)
	}
	*l = nil
}

// sameFrames compares lists of frame numbers.
func sameFrames(have []uint64, want ...uint64) bool {
	return fmt.Sprint(have) == fmt.Sprint(want)
}
