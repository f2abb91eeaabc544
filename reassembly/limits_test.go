package reassembly

import (
	"fmt"
	"testing"
	"time"
)

// Complete sets are evicted before incomplete ones, because nothing is lost with them.
// They are at most a quarter of all sets.
func TestLimitOfFinishedSets(t *testing.T) {
	p := newPartTable(t, 0, Limits{Sets: 8})
	p.want(1, "s\x00\x02Aone ", second(0), Held)
	for i := range 10 {
		p.want(uint64(100+i), "s\x00\x01Aalone", second(1), Complete)
	}
	if s := p.want(107, "s\x00\x01Aalone", second(1), Complete); s.Again() {
		t.Error("a set that was forgotten is known")
	}
	if s := p.want(109, "s\x00\x01Aalone", second(1), Complete); !s.Again() {
		t.Error("a set that is remembered is not known")
	}
	for i := range 7 {
		p.want(uint64(200+i), "s\x00\x02Aone ", second(2), Held)
	}
	p.lost.want(t)
	if p.Len() != 8 {
		t.Errorf("%d sets, want 8", p.Len())
	}
	p.want(1, "s\x01\x02two", second(3), Complete)
	p.Flush()
	wantEmpty(t, p.b)
}

func TestLimitOfPieces(t *testing.T) {
	r := newRangeTable(t, 0, Limits{Pieces: 3})
	for i := range 3 {
		r.want(1, 8*i, more, "AAAAAAAA", second(0), Held)
	}
	r.want(1, 24, last, "A", second(0), Refused)
	r.Flush()
	r.lost.want(t, "1 input ended have 24 of 0 missing [{24 0}]")

	p := newPartTable(t, 0, Limits{Pieces: 2})
	p.want(1, "s\x00\x03Aone ", second(0), Held)
	p.want(1, "s\x01\x03two ", second(0), Held)
	p.want(1, "s\x02\x03three", second(0), Refused)
	p.Flush()
	p.lost.want(t, "1 input ended have 2 of 3 missing [2]")
}

func TestLimitOfSetBytes(t *testing.T) {
	r := newRangeTable(t, 0, Limits{SetBytes: 20})
	r.want(1, 0, more, "AAAAAAAA", second(0), Held)
	r.want(1, 8, more, "BBBBBBBB", second(0), Held)
	r.want(1, 16, more, "CCCCCCCC", second(0), Refused)
	if f := r.want(1, 16, last, "CCCC", second(0), Complete); string(f.Data()) != "AAAAAAAABBBBBBBBCCCC" {
		t.Errorf("joined %q", f.Data())
	}
	r.want(2, 0, last, "AAAAAAAABBBBBBBBCCCCC", second(0), Refused)
	if r.Len() != 1 {
		t.Errorf("%d sets: the refused one stays", r.Len())
	}
	r.Flush()
	r.lost.want(t)
	wantEmpty(t, r.b)
}

// One budget bounds both tables, and the oldest set of both is evicted first.
func TestBudgetOfTwoTables(t *testing.T) {
	const budget = 64 << 10
	b := NewBudget(budget)
	var order []string
	p := NewParts(b, Limits{}, func(s *Set, why Reason) { order = append(order, fmt.Sprint("part ", s.Key().ID, " ", why)) })
	r := NewRanges(b, Limits{}, func(f *Fragments, why Reason) { order = append(order, fmt.Sprint("range ", f.Key().ID, " ", why)) })
	payload := append([]byte("s\x00\x02A"), make([]byte, 1200)...)
	part, _ := readTest(payload, 0)
	for i := range 200 {
		if i%2 == 0 {
			p.Add(key(uint64(i)), part, payload, []uint64{1}, second(float64(i)/100), Asked{}, readTest)
		} else {
			r.Add(key(uint64(i)), Fragment{More: true, Data: payload, Frames: []uint64{1}, Time: second(float64(i) / 100)})
		}
		audit(t, b)
	}
	if len(order) == 0 || b.Used() < budget*3/4 {
		t.Fatalf("%d sets were put out, %d bytes are used of %d", len(order), b.Used(), budget)
	}
	for i, got := range order {
		want := fmt.Sprint([]string{"part ", "range "}[i%2], i, " evicted")
		if got != want {
			t.Fatalf("set %d to go is %q, want %q", i, got, want)
		}
	}
	if len(order)+p.Len()+r.Len() != 200 {
		t.Errorf("%d sets lost and %d held of 200", len(order), p.Len()+r.Len())
	}
	p.Flush()
	r.Flush()
	wantEmpty(t, b)
}

// A set that outgrows the budget evicts all others, and is then refused further pieces.
func TestBudgetSmallerThanASet(t *testing.T) {
	r := newRangeTable(t, 4<<10, Limits{})
	r.want(1, 0, more, "AAAAAAAA", second(0), Held)
	big := string(make([]byte, 1024))
	verdicts := ""
	for i := range 8 {
		_, v := r.add(2, 1024*i, more, big, second(1))
		verdicts += v.String() + " "
	}
	if verdicts != "held held refused refused refused refused refused refused " {
		t.Errorf("verdicts are %s", verdicts)
	}
	r.lost.want(t, "1 evicted have 8 of 0 missing [{8 0}]")
	// A piece that can never fit evicts nothing.
	r.want(3, 0, more, string(make([]byte, 8<<10)), second(2), Refused)
	if r.Len() != 1 {
		t.Errorf("%d sets remain, want the second", r.Len())
	}
	r.Flush()
	wantEmpty(t, r.b)

	tiny := newRangeTable(t, 100, Limits{})
	tiny.want(1, 0, more, "AAAAAAAA", second(0), Refused)
	wantEmpty(t, tiny.b)
}

// A flood of incomplete packets costs no more than its budget and does not harm honest
// packets.
func TestFlood(t *testing.T) {
	const budget = 1 << 20
	r := newRangeTable(t, budget, Limits{})
	lost := 0
	r.Ranges.lost = func(*Fragments, Reason) { lost++ }
	junk := make([]byte, 1480)
	at := second(0)
	complete := 0
	for i := range 20000 {
		at = at.Add(10 * time.Microsecond)
		r.Ranges.Add(Key{SrcPort: 1, ID: uint64(i)}, Fragment{More: true, Data: junk, Frames: []uint64{1}, Time: at})
		if i%20 == 0 {
			r.Ranges.Add(Key{SrcPort: 2, ID: uint64(i)}, Fragment{More: true, Data: junk, Frames: []uint64{1}, Time: at})
		}
		if i%20 == 5 {
			if _, v := r.Ranges.Add(Key{SrcPort: 2, ID: uint64(i - 5)}, Fragment{Offset: 1480, Data: junk, Frames: []uint64{1}, Time: at}); v == Complete {
				complete++
			}
		}
		if r.b.Used() > budget {
			t.Fatalf("%d bytes used", r.b.Used())
		}
	}
	audit(t, r.b)
	if complete != 1000 || lost < 19000 {
		t.Errorf("%d honest packets of 1000 are complete, %d were put out", complete, lost)
	}
	if n := len(r.Ranges.t.sets); n > 2000 {
		t.Errorf("the slab grew to %d sets", n)
	}
	r.Flush()
	wantEmpty(t, r.b)
}

func TestNames(t *testing.T) {
	var names []string
	for r := range Ended + 2 {
		names = append(names, r.String())
	}
	for v := range Refused + 2 {
		names = append(names, v.String())
	}
	if got := fmt.Sprint(names); got != "[expired evicted superseded settled copied damaged input ended unknown held complete duplicate conflict late refused unknown]" {
		t.Error(got)
	}
}

// TestLimits: the numbers of docs/limits.md, said once more; the tests of the
// tables say that they hold.
func TestLimits(t *testing.T) {
	if want := (Limits{Sets: 16384, Pieces: 255, SetBytes: 1 << 20, Age: 30 * time.Second}); DefaultLimits != want || DefaultBudget != 16<<20 {
		t.Errorf("%+v, %d bytes in all", DefaultLimits, DefaultBudget)
	}
}
