package dissect

import (
	"strings"
	"testing"
)

// TestFacts: texts about servers have a limit, and what is forgotten makes room.
func TestFacts(t *testing.T) {
	table := newRequestTable()
	var got [300]answer
	server := func(i int) *Server {
		return &Server{Name: Opt[string]{Value: strings.Repeat(string(rune('a'+i%26)), 10_000), OK: true}}
	}
	kept := 0
	for i := range got {
		if table.keepFacts(&got[i], server(i)); got[i].facts != 0 {
			kept++
		}
	}
	if kept != maxFacts/10_000 {
		t.Errorf("%d of %d are kept", kept, len(got))
	}
	table.releaseFacts(got[0].facts)
	if table.keepFacts(&got[299], server(299)); got[299].facts != got[0].facts {
		t.Error("what was forgotten makes no room")
	}
	if s := table.facts.at(got[299].facts).server.Value(); s != *server(299) {
		t.Errorf("%.20q", s.Name.Value)
	}
}
