package pipeline

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
)

// TestNoteLimits: the numbers of docs/limits.md about comments, said once more.
func TestNoteLimits(t *testing.T) {
	s := &selection{o: Options{Save: &Saving{Annotate: true}}.filled()}
	s.held = make([]heldFrame, 2)
	for range 60 {
		s.held[0].note([]byte(strings.Repeat("x", 5000)))
	}
	list := s.comments(0)
	if len(list) != 51 || len(list[0]) != 4096 || list[50] != "and 10 more" {
		t.Errorf("%d comments, the first of %d bytes, the last %q", len(list), len(list[0]), list[len(list)-1])
	}
	// What is found about a frame that is written already stands at a later one.
	s.every = true
	s.held[1].Number = 9
	s.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(&dissect.FindingType{ID: "x.y", Text: "z"}), Frame: 7})
	if list := s.comments(1); len(list) != 1 || list[0] != "frame 7, chat: x.y: z" {
		t.Errorf("%q", list)
	}
	s.held[1].notes = nil
	// A character is not cut in two.
	s.held[1].note([]byte(strings.Repeat("€", 2000)))
	if list := s.comments(1); len(list) != 1 || list[0] != strings.Repeat("€", 1365) {
		t.Errorf("%q", list)
	}
}
