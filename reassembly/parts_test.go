package reassembly

import (
	"bytes"
	"fmt"
	"strings"
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
	return p.addFrame(id, payload, 1, at, time.Time{})
}

func (p *partTable) addFrame(id uint64, payload string, frame uint64, at, asked time.Time) (*Set, Verdict) {
	p.t.Helper()
	part, ok := readTest([]byte(payload), 0)
	if !ok {
		p.t.Fatalf("%q is no part", payload)
	}
	s, v := p.Parts.Add(key(id), part, []byte(payload), []uint64{frame}, at, Asked{Newest: asked, Waiting: asked}, readTest)
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
			s, v := p.addFrame(7, parts[i], uint64(10+i), second(float64(n)), time.Time{})
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
	s, v := p.Parts.Add(key(1), Part{Index: 0, Total: 1, Header: 12}, []byte("short"), nil, second(0), Asked{}, readTest)
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
		s, got := p.Parts.Add(key(1), Part{Index: -1, Total: 3}, fmt.Appendf(nil, "%d", i), nil, second(0), Asked{}, readTest)
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
	p.want(1, "s\x00\x02Aone ", second(4), Held)
	if s := p.want(1, "s\x01\x02two", second(5), Complete); !s.Again() {
		t.Error("a set of copies is not said to be one")
	}
	p.want(1, "s\x01\x02two", second(5), Held)
	if p.Len() != 2 {
		t.Errorf("%d sets, want the finished one and a copy", p.Len())
	}
	// The identification is used again, for something else.
	p.want(1, "s\x01\x02zwei", second(6), Held)
	if s := p.want(1, "s\x00\x02Aeins ", second(6), Complete); joined(s) != "Aeins zwei" {
		t.Errorf("joined %q", joined(s))
	}
	p.Flush()
	p.lost.want(t, "1 copied have 1 of 2 missing [0]")
	wantEmpty(t, p.b)
}

// step is a part of set 1 with the expected result.
type step struct {
	at      float64 // seconds
	part    string
	verdict Verdict
	frames  []uint64 // of the set, if it is complete; frames count from 1
}

// play adds parts to a new table. asked are the times of requests.
func play(t *testing.T, steps []step, asked ...float64) *partTable {
	t.Helper()
	p := newPartTable(t, 0, Limits{Age: 10 * time.Second})
	for i, s := range steps {
		var newest time.Time
		for _, a := range asked {
			if a <= s.at {
				newest = second(a)
			}
		}
		set, v := p.addFrame(1, s.part, uint64(i+1), second(s.at), newest)
		if v != s.verdict {
			t.Errorf("part %d, %q after %v s, is %v, want %v", i+1, s.part, s.at, v, s.verdict)
		}
		if set != nil && !sameFrames(set.Frames(), s.frames...) {
			t.Errorf("part %d: frames %v, want %v", i+1, set.Frames(), s.frames)
		}
	}
	return p
}

// What becomes of parts that come again, and of parts with the id of earlier
// ones. The bytes decide, and where they do not, the requests.
func TestPartsCopies(t *testing.T) {
	const a1, a2, a3 = "s\x00\x03Aone ", "s\x01\x03two ", "s\x02\x03three"
	const b1, b2, b3 = "s\x00\x03Aeins ", "s\x01\x03zwei ", "s\x02\x03drei"
	const c1, c2 = "s\x00\x02Aun ", "s\x01\x02deux"
	const d3 = "s\x02\x03tres"
	for _, test := range []struct {
		name  string
		asked []float64
		steps []step
		lost  []string
	}{
		{"a copy after the next request", []float64{0, 1.001}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1.05, a2, Duplicate, nil}, {2, a3, Complete, []uint64{1, 2, 4}}}, nil},
		{"the same bytes too late for a copy", []float64{0, 1.001}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1.051, a1, Held, nil}, {1.052, a2, Held, nil}, {1.053, a3, Complete, []uint64{3, 4, 5}}},
			[]string{"1 superseded have 2 of 3 missing [2]"}},
		{"and none of a newer request", []float64{0, 1}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {3, a1, Duplicate, nil}, {3, a2, Duplicate, nil}, {3, a3, Complete, []uint64{1, 2, 5}}}, nil},
		{"the last part of one of equal replies is lost", []float64{0, 2, 4, 6}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a1, Held, nil}, {3, a2, Held, nil},
			{5, a1, Held, nil}, {5, a2, Held, nil}, {5, a3, Complete, []uint64{6, 7, 8}}, {7, a1, Held, nil}, {7, a2, Held, nil}, {7, a3, Complete, []uint64{9, 10, 11}}},
			[]string{"1 copied have 2 of 3 missing [2]"}},
		{"the last part is lost, then the first", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {3, a2, Held, nil}, {3, a3, Held, nil}},
			[]string{"1 superseded have 2 of 3 missing [2]", "1 input ended have 2 of 3 missing [0]"}},
		{"the first part is lost", []float64{0, 2}, []step{
			{1, a2, Held, nil}, {1, a3, Held, nil}, {3, a1, Held, nil}, {3, a2, Held, nil}, {3, a3, Complete, []uint64{3, 4, 5}}},
			[]string{"1 superseded have 2 of 3 missing [0]"}},
		{"the first part comes late", []float64{0, 1.001}, []step{
			{1, a2, Held, nil}, {1, a3, Held, nil}, {1.05, a1, Complete, []uint64{1, 2, 3}}}, nil},
		{"replies with a part in common lose parts", []float64{0, 2, 4, 6}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, b1, Held, nil}, {3, a2, Held, nil},
			{5, a2, Held, nil}, {5, b3, Held, nil}, {7, b1, Held, nil}, {7, a2, Held, nil}, {7, b3, Complete, []uint64{8, 9, 10}}},
			[]string{"1 superseded have 2 of 3 missing [2]", "1 superseded have 2 of 3 missing [0]"}},
		{"replies that differ in the last part lose the first, then the last", []float64{0, 2, 4, 6}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a2, Held, nil}, {3, b3, Held, nil},
			{5, a1, Held, nil}, {5, a2, Held, nil}, {7, a1, Held, nil}, {7, a2, Held, nil}, {7, d3, Complete, []uint64{8, 9, 10}}},
			[]string{"1 superseded have 2 of 3 missing [0]", "1 copied have 2 of 3 missing [2]", "1 copied have 1 of 3 missing [0 2]"}},
		{"a slow reply with parts in common", []float64{0, 2, 5}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a2, Held, nil}, {3, b3, Held, nil},
			{5, a1, Held, nil}, {5, a2, Held, nil}, {7, a1, Late, nil}, {7, d3, Complete, []uint64{6, 7, 9}}},
			[]string{"1 superseded have 2 of 3 missing [0]"}},
		{"one that is asked for again before it is whole", []float64{0, 2, 4, 5.01}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a2, Held, nil}, {3, b3, Held, nil},
			{5, a1, Held, nil}, {5, a2, Held, nil}, {5.05, d3, Complete, []uint64{6, 7, 8}}},
			[]string{"1 superseded have 2 of 3 missing [0]"}},
		{"three copies of each part", nil, []step{
			{1, a1, Held, nil}, {1, a1, Duplicate, nil}, {1, a1, Duplicate, nil}, {1, a2, Held, nil}, {1, a2, Duplicate, nil},
			{1, a3, Complete, []uint64{1, 4, 6}}, {1, a3, Held, nil}, {1, a2, Held, nil}, {1, a3, Late, nil}},
			[]string{"1 copied have 2 of 3 missing [0]"}},
		{"late copies, and the next request", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a3, Held, nil}, {3, a1, Held, nil}},
			[]string{"1 copied have 2 of 3 missing [1]"}},
		{"the same reply to the same request", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}},
			{3, a1, Held, nil}, {3, a2, Held, nil}, {3, a3, Complete, []uint64{4, 5, 6}}}, nil},
		{"and a copy before that request", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {1.5, a3, Held, nil},
			{3, a1, Held, nil}, {3, a2, Held, nil}, {3, a3, Complete, []uint64{5, 6, 7}}},
			[]string{"1 copied have 1 of 3 missing [0 1]"}},
		{"and a copy after it", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {2.5, a1, Held, nil},
			{3, a1, Late, nil}, {3, a2, Held, nil}, {3, a3, Complete, []uint64{4, 6, 7}}},
			[]string{"1 copied have 1 of 3 missing [1 2]"}},
		{"another reply with the same id", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}},
			{3, b1, Held, nil}, {3, b2, Held, nil}, {3, b3, Complete, []uint64{4, 5, 6}}, {3, a1, Held, nil}, {3, b1, Held, nil}},
			[]string{"1 copied have 1 of 3 missing [1 2]", "1 copied have 1 of 3 missing [1 2]"}},
		{"one of another length", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {2.5, a2, Held, nil},
			{3, c1, Held, nil}, {3, a1, Held, nil}, {3, c2, Complete, []uint64{5, 7}}},
			[]string{"1 copied have 2 of 3 missing [2]"}},
		{"one with a part in common", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}},
			{3, a1, Held, nil}, {3, b2, Held, nil}, {3, a3, Complete, []uint64{4, 5, 6}}}, nil},
		{"copies within another reply", []float64{0, 1.001}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}},
			{1.002, a3, Held, nil}, {1.003, b1, Held, nil}, {1.003, a1, Held, nil}, {1.004, b2, Held, nil},
			{1.005, b3, Complete, []uint64{5, 7, 8}}, {1.006, a2, Held, nil}, {1.007, b1, Held, nil}, {1.008, b3, Held, nil}},
			[]string{"1 copied have 2 of 3 missing [2]", "1 copied have 2 of 3 missing [1]"}},
		{"a part in common at once", []float64{0, 1.001}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}},
			{1.002, a1, Held, nil}, {1.003, b2, Held, nil}, {1.004, b3, Held, nil}, {1.06, c1, Held, nil}},
			[]string{"1 settled have 3 of 3 missing []", "1 input ended have 1 of 2 missing [1]"}},
		{"the reply before was never complete", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {3, b1, Held, nil}, {3, b2, Held, nil}, {3, b3, Complete, []uint64{3, 4, 5}}, {3, a2, Held, nil}},
			[]string{"1 superseded have 2 of 3 missing [2]", "1 copied have 1 of 3 missing [0 2]"}},
		{"and has a part in common", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {3, a1, Held, nil}, {3, b2, Held, nil}, {3, b3, Complete, []uint64{3, 4, 5}}},
			[]string{"1 superseded have 2 of 3 missing [2]"}},
		{"other bytes without a request", []float64{0}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {3, b1, Conflict, nil}, {3, b2, Conflict, nil}, {4, a3, Complete, []uint64{1, 2, 5}}}, nil},
		{"nothing but copies is no loss", []float64{0, 2}, []step{
			{1, a1, Held, nil}, {1, a2, Held, nil}, {1, a3, Complete, []uint64{1, 2, 3}}, {3, a3, Held, nil}, {14, a1, Held, nil}},
			[]string{"1 copied have 1 of 3 missing [0 1]", "1 input ended have 1 of 3 missing [1 2]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := play(t, test.steps, test.asked...)
			p.Flush()
			p.lost.want(t, test.lost...)
			wantEmpty(t, p.b)
		})
	}
}

// Copies come at most this long after the set whose parts they are; the next
// nanosecond it is a part of the next set.
func TestPartsCopyWindow(t *testing.T) {
	const a1, a2, b2, b3 = "s\x00\x02Aone ", "s\x01\x02two", "s\x01\x02zwei", "s\x00\x02Aeins "
	at := second(1)
	for _, test := range []struct {
		after time.Duration
		want  Verdict
	}{{50 * time.Millisecond, Held}, {50*time.Millisecond + 1, Complete}} {
		p := newPartTable(t, 0, Limits{})
		p.addFrame(1, a1, 1, at, second(0))
		p.addFrame(1, a2, 2, at, second(0))
		p.addFrame(1, a1, 3, at.Add(test.after), second(1))
		if _, v := p.addFrame(1, b2, 4, at.Add(test.after), second(1)); v != test.want {
			t.Errorf("a set with a part that came %v after its copy is %v, want %v", test.after, v, test.want)
		}
		if test.want == Held {
			p.Expire(at.Add(2 * test.after))
			p.lost.want(t)
			p.Expire(at.Add(2*test.after + 1))
			p.lost.want(t, "1 settled have 2 of 2 missing []")
		}
		// A copy that was taken aside without a request is forgotten when it
		// is as old.
		p = newPartTable(t, 0, Limits{})
		p.addFrame(1, a1, 1, at, time.Time{})
		p.addFrame(1, a2, 2, at, time.Time{})
		p.addFrame(1, a2, 3, at.Add(time.Millisecond), time.Time{})
		if _, v := p.addFrame(1, b3, 4, at.Add(time.Millisecond+test.after), time.Time{}); v != Held {
			t.Errorf("the first part of another set is %v", v)
		}
		p.Flush()
		want := "1 settled have 2 of 2 missing []"
		if test.want == Complete {
			p.lost.want(t, "1 copied have 1 of 2 missing [0]", "1 input ended have 1 of 2 missing [1]")
			continue
		}
		p.lost.want(t, want)
	}
	// It is one that the network or the capture made if it came as soon.
	for _, test := range []struct {
		after time.Duration
		want  Verdict
	}{{50 * time.Millisecond, Held}, {50*time.Millisecond + 1, Complete}} {
		p := newPartTable(t, 0, Limits{})
		p.addFrame(1, a1, 1, at, time.Time{})
		p.addFrame(1, a2, 2, at, time.Time{})
		p.addFrame(1, a2, 3, at.Add(test.after), time.Time{})
		if _, v := p.addFrame(1, b3, 4, at.Add(test.after+50*time.Millisecond+1), time.Time{}); v != test.want {
			t.Errorf("a set that begins after a copy that came after %v is %v, want %v", test.after, v, test.want)
		}
		p.Flush()
		if test.want == Held {
			p.lost.want(t, "1 copied have 1 of 2 missing [0]", "1 input ended have 1 of 2 missing [1]")
		}
	}
	// Those that the capture can have made are no parts of a set that is given up.
	for after, want := range map[time.Duration]string{
		12 * time.Millisecond:   "1 input ended have 1 of 3 missing [1 2]",
		12*time.Millisecond + 1: "1 input ended have 2 of 3 missing [2]",
	} {
		p := newPartTable(t, 0, Limits{})
		for i, part := range []string{"s\x00\x03Aone ", "s\x01\x03two ", "s\x02\x03three"} {
			p.addFrame(1, part, uint64(i), at, second(0))
		}
		p.addFrame(1, "s\x00\x03Aeins ", 4, at.Add(2*time.Millisecond), at.Add(time.Millisecond))
		p.addFrame(1, "s\x01\x03two ", 5, at.Add(after), at.Add(time.Millisecond))
		p.Flush()
		p.lost.want(t, want)
	}
}

// Four sets of an id are remembered, and none for which there is no room.
func TestPartsRemembered(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	for n := range 5 {
		p.want(1, fmt.Sprintf("s\x00\x02A%d", n), second(0), Held)
		p.want(1, fmt.Sprintf("s\x01\x02%d", n), second(0), Complete)
	}
	p.want(1, "s\x01\x021", second(0), Held)
	p.want(1, "s\x01\x020", second(0), Held)
	p.Flush()
	p.lost.want(t, "1 copied have 1 of 2 missing [0]", "1 input ended have 1 of 2 missing [0]")

	p = newPartTable(t, 0, Limits{})
	p.addFrame(1, "s\x00\x03Aone", 1, second(0), time.Time{})
	p.addFrame(1, "s\x00\x03Aun ", 2, second(2), second(1)) // the first set is remembered
	p.addFrame(1, "s\x01\x03deux", 3, second(2), second(1))
	p.b.high, p.b.low = p.b.Used(), p.b.Used()
	for i, want := range []Verdict{Held, Duplicate, Conflict} {
		if _, v := p.addFrame(1, []string{"s\x00\x03Adue", "s\x00\x03Adue", "s\x00\x03Aone"}[i], 4, second(4), second(3)); v != want {
			t.Errorf("part %d without room for sums is %v, want %v", i, v, want)
		}
	}
	p.Flush()
	wantEmpty(t, p.b)
}

// A set says whether its parts are those of the set before.
func TestPartsAgain(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	p.addFrame(1, "s\x00\x02Aone ", 1, second(1), second(0))
	if s, _ := p.addFrame(1, "s\x01\x02two", 2, second(1), second(0)); s.Again() || s.Doubt() {
		t.Error("the first set is said to be a copy")
	}
	p.addFrame(1, "s\x00\x02Aone ", 3, second(1.01), second(1.005))
	if s, _ := p.addFrame(1, "s\x01\x02two", 4, second(1.02), second(1.005)); !s.Again() || !s.Doubt() || !s.First().Equal(second(1.01)) {
		t.Errorf("copies at once: again %v, doubt %v, first %v", s.Again(), s.Doubt(), s.First())
	}
	p.addFrame(1, "s\x00\x02Aone ", 5, second(3), second(2))
	if s, _ := p.addFrame(1, "s\x01\x02two", 6, second(3), second(2)); !s.Again() || s.Doubt() {
		t.Errorf("copies a second later: again %v, doubt %v", s.Again(), s.Doubt())
	}
	p.addFrame(1, "s\x00\x02Aone ", 7, second(5), second(4))
	if s, _ := p.addFrame(1, "s\x01\x02zwei", 8, second(5), second(4)); s.Again() || s.Doubt() {
		t.Errorf("one copy: again %v, doubt %v", s.Again(), s.Doubt())
	}
}

// Parts that state different totals make a set only when the largest is there.
func TestPartsDisagree(t *testing.T) {
	for _, test := range []struct {
		name    string
		parts   []string
		whole   bool
		total   int
		missing string
	}{
		{"3, 2, 3", []string{"s\x00\x03Aa", "s\x01\x02b", "s\x02\x03c"}, true, 3, "[]"},
		{"2, 3, 3", []string{"s\x00\x02Aa", "s\x01\x03b", "s\x02\x03c"}, true, 3, "[]"},
		{"3, 3, 4", []string{"s\x00\x03Aa", "s\x01\x03b", "s\x02\x04c"}, false, 3, "[]"},
		{"3, 3, 2", []string{"s\x00\x03Aa", "s\x01\x03b", "s\x02\x02c"}, true, 3, "[]"},
		{"2 of 2 first", []string{"s\x02\x02c", "s\x00\x03Aa", "s\x01\x03b"}, true, 3, "[]"},
		{"2 of 2 between", []string{"s\x01\x03b", "s\x02\x02c", "s\x00\x03Aa"}, true, 3, "[]"},
		{"1, 3, 3", []string{"s\x01\x03b", "s\x00\x01Aa", "s\x02\x03c"}, true, 3, "[]"},
		{"2 of 2, and 4", []string{"s\x02\x02c", "s\x00\x04Aa"}, false, 4, "[1 3]"},
		{"3, 4", []string{"s\x00\x03Aa", "s\x01\x04b"}, false, 4, "[2 3]"},
		{"4, 3", []string{"s\x01\x04b", "s\x00\x03Aa"}, false, 4, "[2 3]"},
		{"a place beyond the total", []string{"s\x00\x00Aa", "s\x02\x00c", "s\x01\x02b"}, true, 3, "[]"},
		{"and a gap", []string{"s\x00\x00Aa", "s\x03\x00c", "s\x01\x02b"}, false, 4, "[2]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartTable(t, 0, Limits{})
			check := func(s *Set, why Reason) {
				if whole := why == Settled; !s.Disagree() || s.Total() != test.total || whole != test.whole || fmt.Sprint(s.Missing(nil)) != test.missing {
					t.Errorf("disagree %v, total %d, whole %v, missing %v", s.Disagree(), s.Total(), whole, s.Missing(nil))
				}
			}
			p.Parts.lost = check
			for i, part := range test.parts {
				if s, v := p.add(1, part, second(0)); v == Complete {
					if i < len(test.parts)-1 {
						t.Fatalf("complete with %d parts", i+1)
					}
					check(s, Settled)
				}
			}
			p.Flush()
		})
	}
	p := newPartTable(t, 0, Limits{})
	p.want(1, "s\x00\x02Aa", second(0), Held)
	if s := p.want(1, "s\x01\x02b", second(0), Complete); s.Disagree() || s.Stated(0) != 2 || s.Stated(1) != 2 {
		t.Error("parts that agree are said not to")
	}
	// What a part states that comes after the set is complete.
	p.Parts.lost = func(s *Set, _ Reason) {
		if total, frame := s.Before(); total != 2 || frame != 1 {
			t.Errorf("before: %d parts, frame %d", total, frame)
		}
	}
	p.addFrame(1, "s\x02\x03c", 3, second(0), second(-1))
	p.Flush()
	for _, asked := range []float64{1.5, 1} {
		p.add(1, "s\x00\x02Aa", second(1))
		p.add(1, "s\x01\x02b", second(1))
		p.Parts.lost = func(s *Set, _ Reason) {
			if total, _ := s.Before(); total != 0 == (asked > 1) {
				t.Errorf("asked after %v s: %d parts before", asked, total)
			}
		}
		p.addFrame(1, "s\x02\x03c", 3, second(2), second(asked))
		p.Flush()
	}
}

// A part with an index that is below no stated total has no place.
func TestPartsBeyond(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	var out []string
	p.Parts.lost = func(s *Set, why Reason) {
		out = append(out, fmt.Sprint(why, " ", s.Len(), "/", s.Total(), " ", s.Index(0), " ", joined(s), " ", s.Frames(), s.PartFrames(0), " ", s.First().Equal(second(1))))
	}
	p.want(1, "s\x00\x03Aa", second(0), Held)
	p.addFrame(1, "s\x07\x03x", 7, second(1), time.Time{})
	p.want(1, "s\x02\x03c", second(2), Held)
	if s := p.want(1, "s\x01\x03b", second(3), Complete); joined(s) != "Aabc" || s.Disagree() || !s.OutOfOrder() {
		t.Errorf("%q, disagree %v", joined(s), s.Disagree())
	}
	p.addFrame(2, "s\x03\x03y", 8, second(1), time.Time{})
	p.addFrame(3, "s\x01\x01z", 9, second(1), time.Time{})
	p.addFrame(4, "s\x00\x03Aa", 10, second(1), time.Time{})
	p.addFrame(4, "s\x03\x03u", 11, second(1), time.Time{})
	p.Flush()
	if want := "[damaged 1/0 7 x [7] [7] true damaged 1/0 3 y [8] [8] true damaged 1/0 1 z [9] [9] true damaged 1/0 3 u [11] [11] true " +
		"input ended 1/3 0 Aa [10] [10] true]"; fmt.Sprint(out) != want {
		t.Errorf("%v, want %v", out, want)
	}
	p.Parts.lost = nil
	p.want(5, "s\x00\x03Aa", second(2), Held)
	p.want(5, "s\x07\x03x", second(2), Held)
	p.want(5, "s\x01\x03b", second(2), Held)
	if s := p.want(5, "s\x02\x03c", second(2), Complete); s.OutOfOrder() {
		t.Error("a part before one without a place is out of order")
	}
	p.Flush()
	wantEmpty(t, p.b)
}

// A single cut part waits for others.
func TestPartsCut(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	whole := ""
	p.Parts.lost = func(s *Set, _ Reason) { whole += fmt.Sprint(joined(s), s.Total(), s.Missing(nil)) }
	cut := func(id uint64) Verdict {
		_, v := p.Parts.Add(key(id), Part{Total: 1, Header: 3, Variant: 'a', Cut: true}, []byte("s\x00\x01Aa"), []uint64{1}, second(0), Asked{}, readTest)
		return v
	}
	if v := cut(1); v != Held {
		t.Error(v)
	}
	if s := p.want(1, "s\x01\x02b", second(0), Complete); !s.Disagree() || joined(s) != "Aab" {
		t.Error(joined(s))
	}
	cut(2)
	if p.Flush(); whole != "Aa1 []" {
		t.Error(whole)
	}
}

// Formats 1 and 2 of this test differ in which of two bytes is the total; format 3
// is format 1 with a total that is larger by one.
func TestPartsFit(t *testing.T) {
	read := func(b []byte, v uint8) (Part, bool) {
		p := Part{Header: 3, Guess: max(v, 1), Size: int(b[0])}
		switch p.Guess {
		case 1:
			p.Index, p.Total = int(b[1]), int(b[2])
		case 2:
			p.Index, p.Total = int(b[2]), int(b[1])
		case 3:
			p.Index, p.Total = int(b[1]), int(b[2])+1
		default:
			return p, false
		}
		return p, v != 1 || b[3] != 'x'
	}
	for _, test := range []struct {
		name  string
		parts []string
		guess uint8
		lost  string
	}{
		{"the guess is right", []string{"s\x01\x03b", "s\x02\x03c"}, 1, "1 input ended have 2 of 3 missing [0]"},
		{"one index again and again", []string{"s\x01\x03b", "s\x01\x03c"}, 1, "1 input ended have 1 of 3 missing [0 2]"},
		{"the other format", []string{"s\x05\x02b", "s\x05\x03c", "s\x05\x01d"}, 2, "1 input ended have 3 of 5 missing [0 4]"},
		{"a format with another total", []string{"s\x02\x02b", "s\x01\x02c"}, 3, "1 input ended have 2 of 3 missing [0]"},
		{"no part in the guess", []string{"s\x01\x03x", "s\x02\x03c"}, 3, "1 input ended have 2 of 4 missing [0 3]"},
		{"more than 64 parts", []string{"s\x01\x41b", "s\x41\x41c"}, 3, "1 input ended have 2 of 66 missing [0 2"},
		{"more than 64 parts, the other way round", []string{"s\x41\x41b", "s\x01\x41c"}, 3, "1 input ended have 2 of 66 missing [0 2"},
		{"other sizes", []string{"s\x01\x03b", "t\x02\x03c"}, 1, "1 input ended have 2 of 3 missing [0]"},
		{"the highest index", []string{"s\xff\x02b", "s\xff\xfec"}, 2, "1 input ended have 2 of 255 missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartTable(t, 0, Limits{})
			guess := uint8(0)
			p.Parts.lost = func(s *Set, why Reason) {
				guess = s.Guess()
				p.lost.parts(s, why)
			}
			for _, s := range test.parts {
				part, _ := read([]byte(s), 0)
				p.Parts.Add(key(1), part, []byte(s), []uint64{1}, second(0), Asked{}, read)
			}
			p.Flush()
			if guess != test.guess {
				t.Errorf("read in format %d, want %d", guess, test.guess)
			}
			if len(p.lost) != 1 || !strings.HasPrefix(p.lost[0], test.lost) {
				t.Errorf("lost %q, want %q", p.lost, test.lost)
			}
		})
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
	// Without a call of Expire, a late part does not join a set that is too old.
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
	p.want(1, "s\x01\x02two", second(12), Held)
	p.Expire(second(22))
	if p.Len() != 1 {
		t.Errorf("%d sets, want the one that holds a late copy", p.Len())
	}
	p.Expire(second(22).Add(1))
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
	s, v := p.Add(key(1), part, big, []uint64{1}, second(0), Asked{}, readTest)
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
		p.Parts.Add(key(id), a, second, frames, at, Asked{}, readTest)
		p.Parts.Add(key(id), a, second, frames, at, Asked{}, readTest)
		a, _ = readTest(first, 0)
		if _, v := p.Parts.Add(key(id), a, first, frames, at, Asked{}, readTest); v != Complete {
			t.Fatalf("verdict %v", v)
		}
		// And one that is never completed.
		p.Parts.Add(key(id+1<<32), a, first, frames, at, Asked{}, readTest)
		p.Expire(at)
	}
	for range 40000 {
		round() // more than the age, more than the finished sets that are remembered
	}
	if n := testing.AllocsPerRun(2000, round); n != 0 {
		t.Errorf("%v allocations for each message", n)
	}
}

// Copies of the parts of any set are held apart from all others, however many sets
// the sender has made of one id.
func TestPartsOfManySets(t *testing.T) {
	p := newPartTable(t, 0, Limits{Age: 2 * time.Second})
	for n := range 600 {
		at := second(float64(n))
		p.want(1, fmt.Sprintf("s\x00\x02A%d", n), at, Held)
		p.want(1, fmt.Sprintf("s\x01\x02%d", n), at, Complete)
		p.want(1, fmt.Sprintf("s\x01\x02%d", n), at, Held)
		p.Expire(at)
		if p.Len() != 2 { // the finished one, and the copy
			t.Fatalf("%d sets after %d messages", p.Len(), n+1)
		}
	}
}

// The oldest sets go first, up to the frame that a step of the end asks for.
func TestPartsFlushTo(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	waiting := func(n int, frame uint64, more bool) {
		t.Helper()
		if f, _, m := p.Waiting(n); f != frame || m != more {
			t.Errorf("waiting beyond %d: frame %d, more %v, want %d, %v", n, f, m, frame, more)
		}
	}
	waiting(0, 0, false)
	p.FlushTo(5)
	for i, frames := range [][]uint64{nil, {10, 11}, {5}, {20}} {
		part, _ := readTest([]byte("s\x00\x02A"), 0)
		p.Parts.Add(key(uint64(i)), part, []byte("s\x00\x02A"), frames, second(0), Asked{}, readTest)
	}
	waiting(0, 0, true)
	waiting(1, 0, true)
	waiting(2, 10, true)
	waiting(3, 10, true)
	waiting(4, 20, false)
	waiting(5, 20, false)
	p.FlushTo(9)
	p.lost.want(t, "0 input ended have 1 of 2 missing [1]")
	p.FlushTo(10)
	p.lost.want(t, "1 input ended have 1 of 2 missing [1]", "2 input ended have 1 of 2 missing [1]")
	p.FlushTo(19)
	p.lost.want(t)
	p.FlushTo(20)
	p.lost.want(t, "3 input ended have 1 of 2 missing [1]")
	wantEmpty(t, p.b)
}

// The first frame of the set that holds the newest part, as long as it is under way.
func TestPartsBegan(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	for i, test := range []struct {
		part    string
		verdict Verdict
		began   uint64
	}{
		{"s\x01\x03two ", Held, 1}, {"s\x02\x03three", Held, 1}, {"s\x02\x03three", Duplicate, 0}, {"s\x00\x03Aone ", Complete, 0},
	} {
		_, v := p.addFrame(1, test.part, uint64(i+1), second(0), time.Time{})
		if v != test.verdict || p.Began() != test.began {
			t.Errorf("part %d is %v and of a set that began in frame %d, want %v and %d", i+1, v, p.Began(), test.verdict, test.began)
		}
	}
}
