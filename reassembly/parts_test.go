package reassembly

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
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
	for _, order := range must.Permutations(len(parts)) {
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
	}
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
		{"the last part is lost, then the first", []float64{0, 2}, []step{{1, a1, Held, nil}, {1, a2, Held, nil}, {3, a2, Held, nil}, {3, a3, Held, nil}},
			[]string{"1 superseded have 2 of 3 missing [2]", "1 input ended have 2 of 3 missing [0]"}},
		{"the first part is lost", []float64{0, 2}, []step{
			{1, a2, Held, nil}, {1, a3, Held, nil}, {3, a1, Held, nil}, {3, a2, Held, nil}, {3, a3, Complete, []uint64{3, 4, 5}}},
			[]string{"1 superseded have 2 of 3 missing [0]"}},
		{"the first part comes late", []float64{0, 1.001}, []step{{1, a2, Held, nil}, {1, a3, Held, nil}, {1.05, a1, Complete, []uint64{1, 2, 3}}}, nil},
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
	p.Parts.lost = nil // nobody asks for a part beyond all totals either
	p.want(0, "s\x05\x02x", second(0), Held)
	p.want(0, "s\x00\x02Aa", second(0), Held)
	p.want(0, "s\x01\x02b", second(0), Complete)
	first, second := []byte("s\x00\x02Aone "), []byte("s\x01\x02two")
	frames := []uint64{1}
	at, id := time.Unix(1000, 0), uint64(0)
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
		{"the same as the last one", []fragment{{0, more, "AAAAAAAA", Held}, {0, last, "AAAAAAAA", Complete}}, "AAAAAAAA", 0, 1, 0},
		{"the largest packet", []fragment{{0, last, strings.Repeat("A", 65535), Complete}}, strings.Repeat("A", 65535), 0, 0, 0},
		{"nothing in the last fragment", []fragment{{0, more, "AAAAAAAA", Held}, {8, last, "", Complete}}, "AAAAAAAA", 0, 0, 0},
		{"nothing at all", []fragment{{0, last, "", Complete}}, "", 0, 0, 0},
		{"beyond what a packet can be", []fragment{{65528, last, "AAAAAAAA", Refused}, {65528, last, "AAAAAAA", Held}, {1 << 40, last, "", Refused}, {-8, more, "AAAAAAAA", Refused}}, "", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRangeTable(t, 0, Limits{})
			disordered, newest := false, 0
			for n, f := range c.fragments {
				got, v := r.add(1, f.offset, f.more, f.data, second(float64(n)/100))
				if v != f.verdict {
					t.Fatalf("fragment %d at %d is %v, want %v", n, f.offset, v, f.verdict)
				}
				disordered, newest = disordered || f.offset < newest, f.offset
				if v == Complete && (string(got.Data()) != c.whole || got.Duplicates() != c.dups || got.Overlaps() != c.overlaps || got.Conflicts() != c.confl || got.OutOfOrder() != disordered) {
					t.Errorf("joined %q with %d duplicates, %d overlaps, %d conflicts, out of order %v; want %q, %d, %d, %d, %v", got.Data(),
						got.Duplicates(), got.Overlaps(), got.Conflicts(), got.OutOfOrder(), c.whole, c.dups, c.overlaps, c.confl, disordered)
				}
				if v == Complete && c.whole != "" && (len(got.Head()) == 0 || got.Head()[0] != c.whole[0]) {
					t.Errorf("the head is %q", got.Head())
				}
				if v == Complete && c.confl == 0 && len(got.Missing(nil)) > 0 {
					t.Errorf("a complete packet lacks %v", got.Missing(nil))
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

	// Half of a copy is not lost, however late the next packet comes.
	r.want(3, 8, last, "BB", second(1), Late)
	r.want(3, 8, last, "BB", second(60), Held)
	r.lost.want(t)
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
	r.want(2, 0, more, "BBBBBBBB", second(1), Conflict)
	r.want(2, 0, more, "AAAAAAAA", second(2), Duplicate)
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
	at, id := time.Unix(1000, 0), uint64(0)
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

// TestGenerations: the numbers of remembered sets and of that being collected (0) differ, however often a key was used.
func TestGenerations(t *testing.T) {
	for serial := range serials {
		s := set{past: &past{serial: uint8(serial), known: generations}}
		seen := map[uint32]bool{0: true}
		for g := range generations {
			n := s.generation(g)
			if seen[n] {
				t.Errorf("serial %d: set %d has number %#x of another", serial, g, n)
			}
			seen[n] = true
		}
	}
}

// TestSpareBuffers: a set gets the smallest sufficient buffer, but none of more than eight times what it needs, unless it is of at most 1024 bytes.
func TestSpareBuffers(t *testing.T) {
	for _, c := range []struct {
		need  int
		spare []int
		want  int
	}{
		{100, []int{300, 200, 800}, 200}, {100, []int{200, 300}, 200}, {100, []int{99}, 0}, {100, []int{100}, 100},
		{1, []int{1024}, 1024}, {1, []int{1025}, 0}, {200, []int{1600}, 1600}, {200, []int{1601}, 0},
	} {
		r := newRangeTable(t, 0, Limits{})
		i, _ := r.Ranges.t.open(key(1), 0)
		for _, n := range c.spare {
			r.Ranges.t.spare = append(r.Ranges.t.spare, store{buf: make([]byte, 0, n)})
		}
		if r.Ranges.t.equip(i, c.need); cap(r.Ranges.t.sets[i].buf) != c.want {
			t.Errorf("%d of %v: %d, want %d", c.need, c.spare, cap(r.Ranges.t.sets[i].buf), c.want)
		}
	}
}
