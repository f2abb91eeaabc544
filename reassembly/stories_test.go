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
	want := must.Get(os.ReadFile(name))(t)
	have := strings.Split(b.String(), "\n")
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
