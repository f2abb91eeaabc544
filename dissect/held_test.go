package dissect_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// TestManyHeld: only so many datagrams wait until their protocol is clear. The
// oldest is given up for the next one, and none is lost.
func TestManyHeld(t *testing.T) {
	const limit, sent = 256, 300
	s := newScript(t, dissect.Config{})
	var want []string
	for i := range sent {
		s.send(fmt.Sprintf(">%d:9999", 40000+i), single+"ping\x00")
		want = append(want, fmt.Sprintf("%d unknown", i+1))
	}
	if held := s.a.Inner(core.Only{}).State().Held; held != limit {
		t.Errorf("%d are held, want %d", held, limit)
	}
	if !slices.Equal(s.lines, want[:sent-limit]) {
		t.Errorf("given up: %q", s.lines)
	}
	// The last one is answered, the others never.
	s.send(fmt.Sprintf("<%d:9999", 40000+sent-1), single+"j\x00")
	s.wait(time.Minute)
	slices.Sort(s.lines)
	want = append(want[:sent-1], "300 halflife ping_request reply", "301 halflife ping_reply header <- 300 10ms")
	slices.Sort(want)
	if !slices.Equal(s.lines, want) {
		t.Errorf("got %q", s.lines)
	}
}
