package reassembly

import (
	"testing"
	"time"
)

type rangeTable struct {
	*Ranges
	t    testing.TB
	b    *Budget
	lost losses
	n    uint64
}

func newRangeTable(t testing.TB, bytes int, l Limits) *rangeTable {
	r := &rangeTable{t: t, b: NewBudget(bytes)}
	r.Ranges = NewRanges(r.b, l, r.lost.ranges)
	return r
}

// add puts in a fragment with the next frame number.
func (r *rangeTable) add(id uint64, offset int, more bool, data string, at time.Time) (*Fragments, Verdict) {
	r.t.Helper()
	r.n++
	f, v := r.Ranges.Add(key(id), Fragment{Offset: offset, More: more, Data: []byte(data), Frames: []uint64{r.n}, Time: at})
	audit(r.t, r.b)
	if (f != nil) != (v == Complete) {
		r.t.Fatalf("verdict %v with fragments %v", v, f)
	}
	return f, v
}

const more, last = true, false

func (r *rangeTable) want(id uint64, offset int, more bool, data string, at time.Time, want Verdict) *Fragments {
	r.t.Helper()
	f, v := r.add(id, offset, more, data, at)
	if v != want {
		r.t.Fatalf("fragment at %d %q is %v, want %v", offset, data, v, want)
	}
	return f
}

func TestRangesJudged(t *testing.T) {
	type fragment struct {
		offset  int
		more    bool
		data    string
		verdict Verdict
	}
	for _, c := range []struct {
		name                  string
		fragments             []fragment
		whole                 string
		dups, overlaps, confl int
	}{
		{"exact copies", []fragment{{0, more, "AAAAAAAA", Held}, {0, more, "AAAAAAAA", Duplicate}, {8, last, "BB", Complete}}, "AAAAAAAABB", 1, 0, 0},
		{"same place, other bytes", []fragment{{0, more, "AAAAAAAA", Held}, {0, more, "aaaaaaaa", Conflict}, {8, last, "BB", Complete}}, "AAAAAAAABB", 0, 0, 1},
		{"overlap that agrees", []fragment{{0, more, "AAAAAAAABBBBBBBB", Held}, {8, more, "BBBBBBBBCCCCCCCC", Held}, {24, last, "D", Complete}}, "AAAAAAAABBBBBBBBCCCCCCCCD", 0, 1, 0},
		{"overlap that differs: the first to come stays", []fragment{{0, more, "AAAAAAAABBBBBBBB", Held}, {8, more, "xxxxxxxxCCCCCCCC", Held}, {24, last, "D", Complete}}, "AAAAAAAABBBBBBBBCCCCCCCCD", 0, 1, 1},
		{"overlap that differs, the later bytes first", []fragment{{8, more, "BBBBBBBBCCCCCCCC", Held}, {0, more, "AAAAAAAAxxxxxxxx", Held}, {24, last, "D", Complete}}, "AAAAAAAABBBBBBBBCCCCCCCCD", 0, 1, 1},
		{"overlap that differs behind the first fragment", []fragment{{8, more, "BBBBBBBBCCCCCCCC", Held}, {16, more, "xxxxxxxxDDDDDDDD", Held}, {0, more, "AAAAAAAA", Held}, {32, last, "E", Complete}}, "AAAAAAAABBBBBBBBCCCCCCCCDDDDDDDDE", 0, 1, 1},
		{"teardrop: the last one lies inside of the first", []fragment{{0, more, "AAAAAAAABBBBBBBBCCCCCCCC", Held}, {8, last, "xxxx", Complete}}, "AAAAAAAABBBB", 0, 1, 1},
		{"newtear: a hole filled from both sides", []fragment{{0, more, "AAAAAAAA", Held}, {16, last, "CCCC", Held}, {0, more, "aaaaaaaaBBBBBBBBcccccccc", Complete}}, "AAAAAAAABBBBBBBBCCCC", 0, 1, 1},
		{"two ends: the nearer one holds", []fragment{{16, last, "CCCC", Held}, {8, last, "BB", Held}, {0, more, "AAAAAAAA", Complete}}, "AAAAAAAABB", 0, 0, 1},
		{"data beyond the end", []fragment{{8, last, "BB", Held}, {16, more, "CCCCCCCC", Held}, {0, more, "AAAAAAAA", Complete}}, "AAAAAAAABB", 0, 0, 1},
		{"an end before what is there", []fragment{{16, more, "CCCCCCCC", Held}, {8, last, "BB", Held}, {0, more, "AAAAAAAA", Complete}}, "AAAAAAAABB", 0, 0, 1},
		{"nothing in the last fragment", []fragment{{0, more, "AAAAAAAA", Held}, {8, last, "", Complete}}, "AAAAAAAA", 0, 0, 0},
		{"nothing at all", []fragment{{0, last, "", Complete}}, "", 0, 0, 0},
		{"beyond what a packet can be", []fragment{{65528, last, "AAAAAAAA", Refused}, {65528, last, "AAAAAAA", Held}, {1 << 40, last, "", Refused}, {-8, more, "AAAAAAAA", Refused}}, "", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRangeTable(t, 0, Limits{})
			for n, f := range c.fragments {
				got, v := r.add(1, f.offset, f.more, f.data, second(float64(n)/100))
				if v != f.verdict {
					t.Fatalf("fragment %d at %d is %v, want %v", n, f.offset, v, f.verdict)
				}
				if v == Complete && (string(got.Data()) != c.whole || got.Duplicates() != c.dups || got.Overlaps() != c.overlaps || got.Conflicts() != c.confl) {
					t.Errorf("joined %q with %d duplicates, %d overlaps, %d conflicts; want %q, %d, %d, %d", got.Data(),
						got.Duplicates(), got.Overlaps(), got.Conflicts(), c.whole, c.dups, c.overlaps, c.confl)
				}
				if v == Complete && c.whole != "" && (len(got.Head()) == 0 || got.Head()[0] != c.whole[0]) {
					t.Errorf("the head is %q", got.Head())
				}
			}
			r.Flush()
			wantEmpty(t, r.b)
		})
	}
}

// A capture with a snap length has only the beginnings of fragments.
func TestRangesCut(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []Fragment
		whole  string
		total  int
	}{
		{"every fragment", []Fragment{
			{Offset: 0, More: true, Data: []byte("AAAA"), Length: 8},
			{Offset: 8, More: true, Data: []byte("BBBB"), Length: 8},
			{Offset: 16, Data: []byte("CC"), Length: 2},
		}, "AAAA", 18},
		{"the second", []Fragment{
			{Offset: 8, More: true, Data: []byte("BBBB"), Length: 8},
			{Offset: 16, Data: []byte("CC"), Length: 2},
			{Offset: 0, More: true, Data: []byte("AAAAAAAA"), Length: 8},
		}, "AAAAAAAABBBB", 18},
		{"the last", []Fragment{{Offset: 8, Data: nil, Length: 6}, {Offset: 0, More: true, Data: []byte("AAAAAAAA")}}, "AAAAAAAA", 14},
		{"the first, and another one has the rest", []Fragment{
			{Offset: 0, More: true, Data: []byte("AAAA"), Length: 16},
			{Offset: 0, More: true, Data: []byte("AAAAAAAA"), Length: 8},
			{Offset: 8, Data: []byte("BBBBBBBBCC")},
		}, "AAAAAAAABBBBBBBBCC", 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRangeTable(t, 0, Limits{})
			for n, p := range c.pieces {
				p.Time = second(0)
				f, v := r.Ranges.Add(key(1), p)
				audit(t, r.b)
				if n < len(c.pieces)-1 {
					if v != Held {
						t.Fatalf("fragment %d is %v", n, v)
					}
					continue
				}
				if v != Complete || string(f.Data()) != c.whole || f.Total() != c.total || f.Conflicts() != 0 {
					t.Fatalf("verdict %v, joined %q of %d bytes, %d conflicts", v, f.Data(), f.Total(), f.Conflicts())
				}
			}
		})
	}
}

// A switch's mirror port, or the any interface, shows every frame twice. That
// must neither lose a packet nor report one as lost.
func TestRangesLateCopies(t *testing.T) {
	r := newRangeTable(t, 0, Limits{})
	r.want(1, 0, more, "AAAAAAAA", second(0), Held)
	r.want(1, 0, more, "AAAAAAAA", second(0), Duplicate)
	r.want(1, 8, last, "BB", second(0), Complete)
	r.want(1, 8, last, "BB", second(0), Late)
	r.want(1, 8, last, "BB", second(0), Late)
	r.Flush()
	r.lost.want(t)
	wantEmpty(t, r.b)

	// Both fragments again: that is the packet again.
	r.want(2, 0, more, "AAAAAAAA", second(0), Held)
	r.want(2, 8, last, "BB", second(0), Complete)
	r.want(2, 0, more, "AAAAAAAA", second(1), Late)
	f := r.want(2, 8, last, "BB", second(2), Complete)
	if string(f.Data()) != "AAAAAAAABB" || !f.First().Equal(second(1)) || !f.Last().Equal(second(2)) || len(f.Frames()) != 2 || f.Duplicates() != 0 {
		t.Errorf("joined %q from %v to %v, frames %v, %d duplicates", f.Data(), f.First(), f.Last(), f.Frames(), f.Duplicates())
	}
	r.want(2, 0, more, "AAAAAAAA", second(3), Late)
	r.Flush()
	r.lost.want(t)
	wantEmpty(t, r.b)

	// The copy of one fragment is not the packet, though it covers all of it.
	r.want(3, 0, more, "AAAAAAAABBBBBBBB", second(0), Held)
	r.want(3, 8, last, "BB", second(0), Complete)
	r.want(3, 0, more, "AAAAAAAABBBBBBBB", second(0), Late)
	r.want(3, 8, last, "BB", second(0), Complete)
}

// The identification comes round: what was finished is no reason to take the
// next packet for a copy, and what was not finished must not spoil it.
func TestRangesIdentificationReused(t *testing.T) {
	r := newRangeTable(t, 0, Limits{})
	r.want(1, 0, more, "AAAAAAAA", second(0), Held)
	r.want(1, 8, last, "BB", second(0), Complete)
	r.want(1, 0, more, "CCCCCCCC", second(0), Held)
	if f := r.want(1, 8, last, "BB", second(0), Complete); string(f.Data()) != "CCCCCCCCBB" {
		t.Errorf("joined %q", f.Data())
	}
	r.want(1, 8, last, "BB", second(0), Late) // a copy, until the next one comes
	r.want(1, 0, more, "DDDDDDDD", second(0), Held)
	if f := r.want(1, 8, last, "DD", second(0), Complete); string(f.Data()) != "DDDDDDDDDD" || len(f.Frames()) != 2 {
		t.Errorf("joined %q of frames %v", f.Data(), f.Frames())
	}

	// The same bytes at another place are no copy.
	r.want(3, 0, more, "AAAAAAAA", second(0), Held)
	r.want(3, 8, last, "BB", second(0), Complete)
	r.want(3, 16, more, "AAAAAAAA", second(0), Held)
	r.want(3, 0, more, "AAAAAAAA", second(0), Held)
	r.want(3, 8, more, "BBBBBBBB", second(0), Held)
	r.want(3, 24, last, "", second(0), Complete)

	// Half of a packet, and seconds later another one.
	r.want(2, 0, more, "AAAAAAAA", second(0), Held)
	r.want(2, 0, more, "BBBBBBBB", second(0.9), Conflict)
	r.want(2, 0, more, "CCCCCCCC", second(5), Held)
	r.lost.want(t, "2 superseded have 8 of 0 missing [{8 0}]")
	if f := r.want(2, 8, last, "CC", second(5), Complete); string(f.Data()) != "CCCCCCCCCC" || f.Conflicts() != 0 {
		t.Errorf("joined %q with %d conflicts", f.Data(), f.Conflicts())
	}
	r.Flush()
	r.lost.want(t)
	wantEmpty(t, r.b)
}

func TestClockJumps(t *testing.T) {
	t.Run("back a little", func(t *testing.T) {
		r := newRangeTable(t, 0, Limits{Age: 10 * time.Second})
		r.want(1, 0, more, "AAAAAAAA", second(5), Held)
		r.Expire(second(0))
		f := r.want(1, 8, last, "BB", second(0), Complete)
		if !f.First().Equal(second(5)) || !f.Last().Equal(second(5)) {
			t.Errorf("from %v to %v", f.First(), f.Last())
		}
	})
	t.Run("back far", func(t *testing.T) {
		// Another capture was appended: nothing of the first may join it.
		r := newRangeTable(t, 0, Limits{Age: 10 * time.Second})
		r.want(1, 0, more, "AAAAAAAA", second(86400), Held)
		r.want(1, 8, last, "BB", second(0), Held)
		r.lost.want(t, "1 expired have 8 of 0 missing [{8 0}]")
	})
	t.Run("forth and back", func(t *testing.T) {
		// One wrong timestamp, and many sets of its time, must not keep those
		// of the right time longer than their age.
		r := newRangeTable(t, 0, Limits{Age: 10 * time.Second})
		for i := range 100 {
			r.want(uint64(i), 0, more, "AAAAAAAA", second(1e9+float64(i)), Held)
		}
		r.want(1000, 0, more, "AAAAAAAA", second(0), Held)
		r.Expire(second(0))
		if len(r.lost) != 100 || r.Len() != 1 {
			t.Fatalf("%d sets from the future are lost, %d remain", len(r.lost), r.Len())
		}
		r.lost = nil
		r.Expire(second(11))
		r.lost.want(t, "1000 expired have 8 of 0 missing [{8 0}]")
	})
	t.Run("behind one of now", func(t *testing.T) {
		r := newRangeTable(t, 0, Limits{Age: 10 * time.Second})
		r.want(1, 0, more, "AAAAAAAA", second(0), Held)
		for i := range 100 {
			r.want(uint64(10+i), 0, more, "AAAAAAAA", second(1e6), Held)
		}
		r.Expire(second(1))
		r.lost.want(t)
		r.Expire(second(10.5))
		if len(r.lost) != 101 {
			t.Errorf("%d sets are lost, want all", len(r.lost))
		}
	})
	t.Run("from end to end", func(t *testing.T) {
		// The difference of these two does not fit into 64 bits.
		early, late := time.Unix(0, -1<<63+1), time.Unix(0, 1<<63-1)
		r := newRangeTable(t, 0, Limits{})
		r.want(1, 0, more, "AAAAAAAA", early, Held)
		r.want(1, 8, last, "BB", late, Held)
		r.lost.want(t, "1 expired have 8 of 0 missing [{8 0}]")
		r.want(1, 0, more, "AAAAAAAA", early, Held)
		r.lost.want(t, "1 expired have 2 of 10 missing [{0 8}]")
	})
	t.Run("no time at all", func(t *testing.T) {
		r := newRangeTable(t, 0, Limits{})
		r.want(1, 0, more, "AAAAAAAA", time.Time{}, Held)
		r.Expire(time.Time{})
		f := r.want(1, 8, last, "BB", time.Time{}, Complete)
		if !f.First().IsZero() || !f.Last().IsZero() {
			t.Errorf("from %v to %v", f.First(), f.Last())
		}
		// A time comes only later.
		r = newRangeTable(t, 0, Limits{})
		r.want(1, 0, more, "AAAAAAAA", time.Time{}, Held)
		r.want(1, 8, more, "BBBBBBBB", second(0), Held)
		f = r.want(1, 16, last, "BB", time.Time{}, Complete)
		if !f.First().IsZero() || !f.Last().Equal(second(0)) {
			t.Errorf("from %v to %v", f.First(), f.Last())
		}
		// One frame without a time among others comes at theirs.
		r.want(2, 0, more, "AAAAAAAA", second(1), Held)
		r.Expire(time.Time{})
		f = r.want(2, 8, last, "BB", time.Time{}, Complete)
		if !f.Last().Equal(second(1)) {
			t.Errorf("last is %v", f.Last())
		}
	})
}

func TestRangesAllocateNothing(t *testing.T) {
	r := newRangeTable(t, 0, Limits{})
	r.Ranges.lost = nil
	data := make([]byte, 1480)
	frames := []uint64{1}
	at := time.Unix(1000, 0)
	id := uint64(0)
	round := func() {
		id++
		at = at.Add(time.Millisecond)
		r.Ranges.Add(key(id), Fragment{Offset: 1480, Data: data[:100], Frames: frames, Time: at})
		if _, v := r.Ranges.Add(key(id), Fragment{More: true, Data: data, Frames: frames, Time: at}); v != Complete {
			t.Fatalf("verdict %v", v)
		}
		if id%16 == 0 { // copies, and one that is never completed
			r.Ranges.Add(key(id), Fragment{More: true, Data: data, Frames: frames, Time: at})
			r.Ranges.Add(key(id+1<<32), Fragment{More: true, Data: data, Frames: frames, Time: at})
		}
		r.Expire(at)
	}
	for range 40000 {
		round()
	}
	if n := testing.AllocsPerRun(2000, round); n != 0 {
		t.Errorf("%v allocations for each packet", n)
	}
}
