package dissect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// TestEvictions: the newest 300 seconds in which state was given up are
// remembered, and from when on they are all.
func TestEvictions(t *testing.T) {
	s := newScript(t, dissect.Config{Limits: dissect.Limits{Flows: 1}})
	for i := range 401 { // the first takes nobody's place
		s.now = s.now.Truncate(time.Second).Add(time.Second)
		s.send(fmt.Sprintf(">%d:27015", 1024+i), infoShort)
	}
	last := s.now.Unix()
	list, since := s.a.Inner(core.Only{}).Evictions()
	if n := s.a.Stats().FlowsEvicted; n != 400 || len(list) != 300 {
		t.Fatalf("%d evicted, %d seconds", n, len(list))
	}
	if since != last-299 {
		t.Errorf("all is known from %d on, want %d", since, last-299)
	}
	for i, e := range list {
		if want := (core.Evictions{Second: since + int64(i), Flows: 1, Requests: 1}); e != want {
			t.Fatalf("%d: %+v, want %+v", i, e, want)
		}
	}
}
