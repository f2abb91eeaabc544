package reassembly

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

var update = flag.Bool("update", false, "write testdata/stories.txt anew")

// stories is how many are told in testdata/stories.txt.
const stories = 250

// TestPartsStories plays replies in parts with copies, losses, requests and clocks
// at the edges of all windows, by chance and always the same, and holds everything
// that the table says of them against testdata/stories.txt. Who changes what
// becomes of parts reads the difference:
//
//	go test ./reassembly -run Stories -update && git diff reassembly/testdata
func TestPartsStories(t *testing.T) {
	var b bytes.Buffer
	for seed := range uint64(stories) {
		tell(t, &b, seed)
	}
	tell(t, &b, 8899) // a set of copies is evicted while it is taken over
	const name = "testdata/stories.txt"
	if *update {
		must.Do(t, os.WriteFile(name, b.Bytes(), 0o666))
	}
	want, have := must.Get(os.ReadFile(name))(t), strings.Split(b.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(have) || have[i] != line {
			t.Fatalf("line %d is\n%s, want\n%s", i+1, have[min(i, len(have)-1)], line)
		}
	}
}

// readStory reads parts whose first byte is their kind. Those of kind s and S have
// three formats: which of the two bytes after it is the total, and what is added to
// the index, is guessed as long as no letter A, B or H says it. Of kind l the last
// has a mark and none a total, and those of kind n have no number either.
func readStory(b []byte, variant uint8) (Part, bool) {
	p := Part{Header: 3, Index: int(b[1]), Total: int(b[2])}
	switch b[0] {
	case 'n':
		p.Index = -1
		fallthrough
	case 'l':
		p.Last, p.Total, p.Variant = p.Total > 0, 0, 1
		return p, true
	}
	switch {
	case variant == 0 && b[3] == 'A':
		variant = 1
	case variant == 0 && b[3] == 'B':
		variant = 2
	case variant == 0 && b[3] == 'H':
		variant = MaxVariant
	}
	p.Variant, p.Size = variant, int(b[len(b)-1])
	if variant == 0 {
		p.Guess = 1
		if b[0] == 'S' {
			p.Guess = 2
		}
		variant = p.Guess
	}
	switch variant {
	case 2:
		p.Index, p.Total = p.Total, p.Index
	case MaxVariant:
		p.Index -= MaxVariant
	}
	return p, variant <= 2 && (p.Total == 0 || p.Index < p.Total) || variant == MaxVariant && p.Index >= 0
}

// message returns the parts of one of a few messages that have parts in common.
func message(random *rand.Rand) (parts []string) {
	total, text := 1+random.IntN(4), random.IntN(3)
	kind, format, wrong := "ssssSSln"[random.IntN(8)], random.IntN(3), 3+random.IntN(20)
	size, hidden := "", random.IntN(2) == 0
	if random.IntN(4) > 0 {
		size = "z" // all parts end alike
	}
	for i := range total {
		a, b, body := i, total, fmt.Sprint(text)
		switch {
		case kind == 'l' || kind == 'n':
			b = 0
			if i == total-1 {
				b = 1
			}
		case format == 1:
			a, b = b, a
			if i == 0 && !hidden {
				body = "B" + body
			}
		case format == 2:
			if a += MaxVariant; i == 0 && !hidden {
				body = "H" + body
			}
		case i == 0 && !hidden:
			body = "A" + body
		}
		if i == 1 {
			body = "same"
		}
		if random.IntN(wrong) == 0 {
			b = random.IntN(5) // it says something else
		}
		parts = append(parts, string([]byte{kind, byte(a), byte(b)})+body+size)
	}
	return parts
}

// steps are how far the clock goes at a time.
var steps = []time.Duration{0, 0, 0, time.Nanosecond, time.Millisecond, 5 * time.Millisecond, CaptureDelay, CaptureDelay + 1,
	time.Duration(copyWindow), time.Duration(copyWindow) + 1, 100 * time.Millisecond, time.Second, -time.Millisecond, 11 * time.Second}

// since returns what times are counted from: there may be none.
func since(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return second(0)
}

// story returns all that a set says of itself.
func (v *Set) story() string {
	var b strings.Builder
	total, frame := v.Before()
	fmt.Fprintf(&b, "%d of %d, missing %v, format %d/%d:", v.Len(), v.Total(), v.Missing(nil), v.Variant(), v.Guess())
	for i := range v.Len() {
		fmt.Fprintf(&b, " %d/%d %q %v", v.Index(i), v.Stated(i), v.Data(i), v.PartFrames(i))
	}
	fmt.Fprintf(&b, ", %v, %v-%v, before %d %d, tag %d", v.Frames(), v.First().Sub(since(v.First())), v.Last().Sub(since(v.Last())), total, frame, v.Tag())
	if v.Duplicates()+v.Conflicts()+v.Refused() > 0 {
		fmt.Fprintf(&b, ", %d duplicates, %d conflicts, %d refused", v.Duplicates(), v.Conflicts(), v.Refused())
	}
	if v.Again() {
		fmt.Fprintf(&b, ", again after %v", v.Delay())
	}
	if v.Doubt() {
		b.WriteString(", doubt")
	}
	if v.Key() != storyKey {
		b.WriteString(", of another key")
	}
	if v.Disagree() {
		b.WriteString(", disagree")
	}
	if v.OutOfOrder() {
		b.WriteString(", out of order")
	}
	return b.String()
}

var storyKey = Key{SrcPort: 27015, Space: 1<<copiesShift - 1, ID: 1}

// tell writes one story.
func tell(t *testing.T, b *bytes.Buffer, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	limits, memory := Limits{Age: 10 * time.Second}, 0
	switch random.IntN(8) {
	case 0:
		limits.Sets = 1 + random.IntN(4)
	case 1:
		limits.Pieces = 1 + random.IntN(4)
	case 2, 3:
		memory = 1000 + random.IntN(3000)
	}
	untimed, odd := random.IntN(10) == 0, random.IntN(4) == 0
	budget := NewBudget(memory)
	now, asked := second(1), Asked{Doubled: random.IntN(3) == 0}
	fmt.Fprintf(b, "story %d: %d sets, %d pieces, %d bytes, doubled %v\n", seed, limits.Sets, limits.Pieces, memory, asked.Doubled)
	p := NewParts(budget, limits, func(s *Set, why Reason) { fmt.Fprintf(b, "\t%v: %s\n", why, s.story()) })
	var parts, sent []string
	next := 0
	for frame := range uint64(8 + random.IntN(25)) {
		now = now.Add(steps[random.IntN(1+random.IntN(len(steps)))])
		switch n := random.IntN(20); {
		case n < 3:
			asked.Newest = now
			if asked.Waiting.IsZero() || asked.Waiting.After(now) || n == 0 {
				asked.Waiting = now
			}
			fmt.Fprintf(b, "%v asked\n", now.Sub(second(0)))
			continue
		case n == 3:
			asked.Waiting = now.Add(time.Hour)
		case n == 4:
			p.Expire(now)
		}
		if n := random.IntN(10); parts == nil || n == 0 || next >= len(parts) {
			if n < 5 || parts == nil {
				parts = message(random)
			}
			next = 0
			if random.IntN(4) == 0 {
				random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			}
		}
		payload := parts[next]
		if len(sent) > 0 && random.IntN(3) == 0 {
			payload = sent[max(0, len(sent)-1-random.IntN(8))]
		} else {
			next++
			sent = append(sent, payload)
		}
		wait := asked
		if wait.Waiting.After(now) {
			wait.Waiting = now.Add(1)
		}
		part, ok := readStory([]byte(payload), 0)
		if !ok {
			continue
		}
		frames, at := []uint64{frame}, now
		if odd { // captures have fragments, and frames without a time
			frames = make([]uint64, random.IntN(3))
		}
		if untimed {
			at, wait = time.Time{}, Asked{Doubled: asked.Doubled}
		}
		set, verdict := p.Add(storyKey, part, []byte(payload), frames, at, wait, readStory)
		audit(t, budget)
		fmt.Fprintf(b, "%v %q %v, %d\n", now.Sub(second(0)), payload, verdict, p.Len())
		if set != nil {
			fmt.Fprintf(b, "\t%s\n", set.story())
			p.Tag(uint32(frame))
		}
	}
	p.Flush()
	wantEmpty(t, budget)
}

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
	big, verdicts := string(make([]byte, 1024)), ""
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
	junk, at := make([]byte, 1480), second(0)
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
				s := tb.sets[i]
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
			if st.size() == 0 || cap(st.buf) > keepBuffer || len(st.buf)+len(st.pieces)+len(st.order)+len(st.frames) > 0 {
				t.Fatalf("table %d: a spare buffer of %d bytes, %d of them in use by %d pieces", n, cap(st.buf), len(st.buf), len(st.pieces))
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
