package reassembly

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// The split format of these tests has a header of three bytes: the format's
// letter, the index and the total. Format 'b' has the index and the total the
// other way round, and only the letter at the beginning of the data of part 0
// tells it from 'a': that is how GoldSrc and Source differ.
func readTest(payload []byte, variant uint8) (Part, bool) {
	if len(payload) < 3 || payload[0] != 's' {
		return Part{}, false
	}
	if variant == 0 && len(payload) > 3 {
		switch payload[3] {
		case 'A':
			variant = 'a'
		case 'B':
			variant = 'b'
		}
	}
	p := Part{Index: int(payload[1]), Total: int(payload[2]), Header: 3, Variant: variant}
	if variant == 'b' {
		p.Index, p.Total = p.Total, p.Index
	}
	return p, true
}

// partTable is a table with the calls that the tests need.
type partTable struct {
	*Parts
	t    testing.TB
	b    *Budget
	lost losses
}

func newPartTable(t testing.TB, bytes int, l Limits) *partTable {
	p := &partTable{t: t, b: NewBudget(bytes)}
	p.Parts = NewParts(p.b, l, p.lost.parts)
	return p
}

func (p *partTable) add(id uint64, payload string, at time.Time) (*Set, Verdict) {
	p.t.Helper()
	return p.addFrame(id, payload, 1, at, nil)
}

func (p *partTable) addFrame(id uint64, payload string, frame uint64, at time.Time, fresh func(time.Time) bool) (*Set, Verdict) {
	p.t.Helper()
	part, ok := readTest([]byte(payload), 0)
	if !ok {
		p.t.Fatalf("%q is no part", payload)
	}
	s, v := p.Parts.Add(key(id), part, []byte(payload), []uint64{frame}, at, fresh, readTest)
	audit(p.t, p.b)
	if (s != nil) != (v == Complete) {
		p.t.Fatalf("verdict %v with set %v", v, s)
	}
	return s, v
}

func (p *partTable) want(id uint64, payload string, at time.Time, want Verdict) *Set {
	p.t.Helper()
	s, v := p.add(id, payload, at)
	if v != want {
		p.t.Fatalf("part %q is %v, want %v", payload, v, want)
	}
	return s
}

func joined(s *Set) string {
	var b []byte
	for i := range s.Len() {
		b = append(b, s.Data(i)...)
	}
	return string(b)
}

func TestPartsInAnyOrder(t *testing.T) {
	parts := []string{"s\x00\x04Aone ", "s\x01\x04two ", "s\x02\x04three ", "s\x03\x04four"}
	permutations(len(parts), func(order []int) {
		p := newPartTable(t, 0, Limits{})
		ordered := true
		for n, i := range order {
			s, v := p.addFrame(7, parts[i], uint64(10+i), second(float64(n)), nil)
			ordered = ordered && (n == 0 || order[n-1] < i)
			if n < len(order)-1 {
				if v != Held {
					t.Fatalf("order %v: part %d is %v", order, i, v)
				}
				continue
			}
			if v != Complete {
				t.Fatalf("order %v: the last part is %v", order, v)
			}
			if got := joined(s); got != "Aone two three four" {
				t.Errorf("order %v: joined %q", order, got)
			}
			if s.OutOfOrder() == ordered {
				t.Errorf("order %v: out of order is %v", order, s.OutOfOrder())
			}
			if s.Key() != key(7) || s.Total() != 4 || s.Variant() != 'a' || len(s.Missing(nil)) > 0 {
				t.Errorf("order %v: key %v, %d parts of variant %q, missing %v", order, s.Key(), s.Total(), s.Variant(), s.Missing(nil))
			}
			if !s.First().Equal(second(0)) || !s.Last().Equal(second(3)) {
				t.Errorf("order %v: from %v to %v", order, s.First(), s.Last())
			}
			for j := range s.Len() {
				if s.Index(j) != j || s.Header(j) != 3 || string(s.Payload(j)) != parts[j] || !sameFrames(s.PartFrames(j), uint64(10+j)) {
					t.Errorf("order %v: part %d is %d %q from frames %v", order, j, s.Index(j), s.Payload(j), s.PartFrames(j))
				}
			}
			for k, f := range s.Frames() {
				if f != uint64(10+order[k]) {
					t.Errorf("order %v: frames %v", order, s.Frames())
				}
			}
		}
		p.Flush()
		p.lost.want(t)
		wantEmpty(t, p.b)
	})
}

func TestPartsInterleaved(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	for i := range 50 {
		p.want(uint64(i), fmt.Sprintf("s\x00\x02Afirst of %d, ", i), second(1), Held)
	}
	for i := range 50 {
		s := p.want(uint64(i), fmt.Sprintf("s\x01\x02second of %d", i), second(2), Complete)
		if want := fmt.Sprintf("Afirst of %d, second of %d", i, i); joined(s) != want {
			t.Errorf("joined %q, want %q", joined(s), want)
		}
	}
	p.Flush()
	p.lost.want(t)
	wantEmpty(t, p.b)
}

func TestPartOfOne(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	if s := p.want(1, "s\x00\x01Aalone", second(0), Complete); joined(s) != "Aalone" {
		t.Errorf("joined %q", joined(s))
	}
}

func TestPartShorterThanItsHeader(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	s, v := p.Parts.Add(key(1), Part{Index: 0, Total: 1, Header: 12}, []byte("short"), nil, second(0), nil, readTest)
	if v != Complete || len(s.Data(0)) != 0 || s.Header(0) != 5 {
		t.Errorf("verdict %v, header %d, data %q", v, s.Header(0), s.Data(0))
	}
}

// The total stands in the last part only: GameSpy.
func TestPartsWithLateTotal(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	p.want(1, "s\x00\x00Aone ", second(0), Held)
	p.want(1, "s\x02\x03three", second(0), Held)
	if s := p.want(1, "s\x01\x00two ", second(0), Complete); joined(s) != "Aone two three" {
		t.Errorf("joined %q", joined(s))
	}
	p.want(2, "s\x01\x00two ", second(0), Held)
	p.want(2, "s\x04\x00five", second(0), Held)
	p.Flush()
	p.lost.want(t, "2 input ended have 2 of 0 missing [0 2 3]")
}

// Parts without an index count in the order of their arrival.
func TestPartsWithoutIndex(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	for i, v := range []Verdict{Held, Held, Complete} {
		s, got := p.Parts.Add(key(1), Part{Index: -1, Total: 3}, fmt.Appendf(nil, "%d", i), nil, second(0), nil, readTest)
		if got != v {
			t.Fatalf("part %d is %v, want %v", i, got, v)
		}
		if v == Complete && joined(s) != "012" {
			t.Errorf("joined %q", joined(s))
		}
	}
}

func TestPartsDuplicateConflictLate(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	p.want(1, "s\x00\x02Aone ", second(0), Held)
	p.want(1, "s\x00\x02Aone ", second(1), Duplicate)
	p.want(1, "s\x00\x02Aother ", second(2), Conflict)
	s := p.want(1, "s\x01\x02two", second(3), Complete)
	if joined(s) != "Aone two" || s.Duplicates() != 1 || s.Conflicts() != 1 {
		t.Errorf("joined %q with %d duplicates and %d conflicts", joined(s), s.Duplicates(), s.Conflicts())
	}
	p.want(1, "s\x00\x02Aone ", second(4), Late)
	p.want(1, "s\x01\x02two", second(5), Late)
	if p.Len() != 1 {
		t.Errorf("%d sets, want the finished one", p.Len())
	}
	// The identification is used again, for something else.
	p.want(1, "s\x01\x02zwei", second(6), Held)
	if s := p.want(1, "s\x00\x02Aeins ", second(6), Complete); joined(s) != "Aeins zwei" {
		t.Errorf("joined %q", joined(s))
	}
	p.Flush()
	p.lost.want(t)
	wantEmpty(t, p.b)
}

// A server that answers a second request with the same split id sends what
// looks like copies: only the request tells.
func TestPartsFresh(t *testing.T) {
	asked := second(100)
	fresh := func(since time.Time) bool { return asked.After(since) }
	p := newPartTable(t, 0, Limits{})
	p.addFrame(1, "s\x00\x02Aone ", 1, second(0), fresh)
	asked = second(-1)
	if _, v := p.addFrame(1, "s\x00\x02Aone ", 2, second(1), fresh); v != Duplicate {
		t.Errorf("a copy is %v, want duplicate", v)
	}
	asked = second(1.5)
	if _, v := p.addFrame(1, "s\x00\x02Aone ", 3, second(2), fresh); v != Held {
		t.Errorf("the first part after another request is %v, want held", v)
	}
	p.lost.want(t, "1 superseded have 1 of 2 missing [1]")
	s, v := p.addFrame(1, "s\x01\x02two", 4, second(2), fresh)
	if v != Complete || !sameFrames(s.Frames(), 3, 4) {
		t.Fatalf("verdict %v, frames %v", v, s.Frames())
	}
	asked = second(1.9)
	if _, v := p.addFrame(1, "s\x00\x02Aone ", 5, second(2.5), fresh); v != Late {
		t.Errorf("a late copy is %v", v)
	}
	asked = second(2.6)
	if _, v := p.addFrame(1, "s\x00\x02Aone ", 6, second(2.7), fresh); v != Held {
		t.Errorf("a part after another request is %v, want held", v)
	}
}

// Parts are read again once the variant is known: whatever came before part 0
// was guessed.
func TestPartsVariantDecidedLate(t *testing.T) {
	parts := []string{"s\x03\x00Bone ", "s\x03\x01two ", "s\x03\x02three"}
	permutations(len(parts), func(order []int) {
		p := newPartTable(t, 0, Limits{})
		for n, i := range order {
			s, v := p.add(1, parts[i], second(0))
			if n < 2 && v != Held {
				t.Fatalf("order %v: part %d is %v", order, i, v)
			}
			if n == 2 && (v != Complete || joined(s) != "Bone two three" || s.Variant() != 'b' || s.Total() != 3) {
				t.Fatalf("order %v: verdict %v", order, v)
			}
		}
		p.Flush()
		p.lost.want(t)
		wantEmpty(t, p.b)
	})
}

// As long as nothing has decided the variant, two parts with one index are no
// conflict: it may be the guess that is wrong.
func TestPartsGuessedIndex(t *testing.T) {
	t.Run("never decided", func(t *testing.T) {
		p := newPartTable(t, 0, Limits{})
		p.want(1, "s\x00\x02one ", second(0), Held)
		p.want(1, "s\x00\x02eins ", second(0), Held)
		p.want(1, "s\x00\x02one ", second(0), Duplicate)
		s := p.want(1, "s\x01\x02two", second(0), Complete)
		if joined(s) != "one two" || s.Len() != 2 || s.Conflicts() != 1 || s.Variant() != 0 {
			t.Errorf("joined %q of %d parts with %d conflicts", joined(s), s.Len(), s.Conflicts())
		}
		if !sameFrames(s.PartFrames(1), 1) || len(s.Frames()) != 3 {
			t.Errorf("frames %v and %v", s.PartFrames(1), s.Frames())
		}
		p.want(2, "s\x01\x03two ", second(0), Held)
		p.want(2, "s\x01\x03zwei ", second(0), Held)
		p.Flush()
		p.lost.want(t, "2 input ended have 1 of 3 missing [0 2]")
		wantEmpty(t, p.b)
	})
	t.Run("decided for it", func(t *testing.T) {
		p := newPartTable(t, 0, Limits{})
		p.want(1, "s\x01\x03two ", second(0), Held)
		p.want(1, "s\x01\x03zwei ", second(0), Held)
		p.want(1, "s\x00\x03Aone ", second(0), Held)
		p.want(1, "s\x01\x03deux ", second(0), Conflict)
		s := p.want(1, "s\x02\x03three", second(0), Complete)
		if joined(s) != "Aone two three" || s.Conflicts() != 2 {
			t.Errorf("joined %q with %d conflicts", joined(s), s.Conflicts())
		}
	})
	t.Run("the total was a guess too", func(t *testing.T) {
		p := newPartTable(t, 0, Limits{})
		p.want(1, "s\x00\x03four", second(0), Held) // not part 0 of 3, but part 3
		p.want(1, "s\x00\x00B", second(0), Held)
		p.Flush()
		p.lost.want(t, "1 input ended have 2 of 0 missing [1 2]")
	})
}

func TestPartsAge(t *testing.T) {
	p := newPartTable(t, 0, Limits{Age: 10 * time.Second})
	p.want(1, "s\x00\x02Aone ", second(0), Held)
	p.want(2, "s\x00\x02Aone ", second(5), Held)
	p.Expire(second(10))
	p.lost.want(t)
	p.Expire(second(10.5))
	p.lost.want(t, "1 expired have 1 of 2 missing [1]")
	// Without a call of Expire, a late part does not join what is too old.
	p.want(2, "s\x01\x02two", second(16), Held)
	p.lost.want(t, "2 expired have 1 of 2 missing [1]")
	p.Expire(second(100))
	p.lost.want(t, "2 expired have 1 of 2 missing [0]")
	wantEmpty(t, p.b)
}

// A finished set that waits for late copies must not keep those that began
// before it was finished.
func TestPartsFinishedDoesNotDelayOthers(t *testing.T) {
	p := newPartTable(t, 0, Limits{Age: 10 * time.Second})
	p.want(1, "s\x00\x02Aone ", second(0), Held)
	p.want(2, "s\x00\x02Aone ", second(1), Held)
	p.want(1, "s\x01\x02two", second(9), Complete)
	p.Expire(second(12))
	p.lost.want(t, "2 expired have 1 of 2 missing [1]")
	p.want(1, "s\x01\x02two", second(12), Late)
	p.Expire(second(20))
	wantEmpty(t, p.b)
}

// The set that is handed out is borrowed until the next call on its table.
// Another table that needs room must not take it away, nor may its memory be
// counted twice afterwards.
func TestPartsLentSetSurvivesOtherTables(t *testing.T) {
	b := NewBudget(16 << 10)
	p := NewParts(b, Limits{}, nil)
	r := NewRanges(b, Limits{}, nil)
	big := append([]byte("s\x00\x01A"), bytes.Repeat([]byte("x"), 4000)...)
	part, _ := readTest(big, 0)
	s, v := p.Add(key(1), part, big, []uint64{1}, second(0), nil, readTest)
	if v != Complete {
		t.Fatalf("verdict %v", v)
	}
	for i := range 100 {
		r.Add(key(uint64(i)), Fragment{More: true, Data: make([]byte, 1000), Time: second(1)})
		audit(t, b)
	}
	if !bytes.Equal(s.Payload(0), big) {
		t.Error("the set was overwritten")
	}
	p.Flush()
	r.Flush()
	wantEmpty(t, b)
}

func TestPartsAllocateNothing(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	p.Parts.lost = nil
	first, second := []byte("s\x00\x02Aone "), []byte("s\x01\x02two")
	frames := []uint64{1}
	at := time.Unix(1000, 0)
	id := uint64(0)
	round := func() {
		id++
		at = at.Add(time.Millisecond)
		a, _ := readTest(second, 0)
		p.Parts.Add(key(id), a, second, frames, at, nil, readTest)
		p.Parts.Add(key(id), a, second, frames, at, nil, readTest)
		a, _ = readTest(first, 0)
		if _, v := p.Parts.Add(key(id), a, first, frames, at, nil, readTest); v != Complete {
			t.Fatalf("verdict %v", v)
		}
		// And one that is never completed.
		p.Parts.Add(key(id+1<<32), a, first, frames, at, nil, readTest)
		p.Expire(at)
	}
	for range 40000 {
		round() // more than the age, more than the finished sets that are remembered
	}
	if n := testing.AllocsPerRun(2000, round); n != 0 {
		t.Errorf("%v allocations for each message", n)
	}
}
