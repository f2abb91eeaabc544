package dissect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// TestIncompleteThenPoll: parts of a reply answer the request before the first of
// them, whenever it is clear that the others do not come, and the reply to the
// next poll answers that one.
func TestIncompleteThenPoll(t *testing.T) {
	parts := func(id uint32) []string {
		a := sourceParts(1, id)
		return append([]string{a.request}, a.parts...)
	}
	for name, lost := range map[string]int{"the first part": 1, "the last part": 3} {
		s := newScript(t, dissect.Config{})
		for i, p := range parts(7) {
			if i == 0 {
				s.send(">40000:27015", p)
			} else if i != lost {
				s.send("<40000:27015", p)
			}
		}
		for id := range uint32(3) {
			s.now = s.now.Add(2 * time.Second)
			for i, p := range parts(8 + id) {
				s.send([]string{">", "<"}[min(i, 1)]+"40000:27015", p)
			}
		}
		s.wait(time.Minute)
		s.a.Flush()
		all := strings.Join(s.lines, "\n")
		for _, want := range []string{" <- 1 10ms ", " <- 4 10ms", " <- 8 10ms", " <- 12 10ms"} {
			if strings.Count(all+"\n", want) != 1 {
				t.Errorf("without %s, %q:\n%s", name, want, all)
			}
		}
		if strings.Contains(all, "time.backwards") || strings.Contains(all, ".multi") {
			t.Errorf("without %s:\n%s", name, all)
		}
		if o := s.a.Stats().Outcomes; o.Partial != 1 || o.Answered != 3 {
			t.Errorf("without %s: %+v", name, o)
		}
	}
}
