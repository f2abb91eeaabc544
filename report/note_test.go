package report

import (
	"slices"
	"testing"

	"github.com/qdissect/qdissect/dissect"
)

// TestWithoutNotes: notes of an earlier run are recognised, and nothing that people write.
func TestWithoutNotes(t *testing.T) {
	p := &dissect.Protocol{Name: "a2s", Catalog: dissect.NewCatalog("a2s")}
	p.Catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request"})
	p.Catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply"})
	for _, c := range []struct {
		comment string
		note    bool
	}{
		{"a2s: info request", true},
		{"a2s: info request  without challenge", true},
		{"a2s: info reply  \"x\"  ← frame 3, 12.3 ms", true},
		{"warning: a2s.split.totals: parts with the same id", true},
		{"note: rtt: x", true},
		{"frame 12, note: a2s.noreply: info request unanswered within 5 s", true},
		{"a2s: info requests are broken here", false},
		{"a2s: look at this", false},
		{"quake3: info request", false},
		{"warning: look at frame 7", false},
		{"warning: this is odd: see above", false},
		{"frame 12, here it begins", false},
		{"frame x, note: a2s.noreply: y", false},
		{"and 3 more", false},
		{"", false},
	} {
		left := WithoutNotes(nil, []string{c.comment}, []*dissect.Protocol{p})
		if note := len(left) == 0; note != c.note {
			t.Errorf("%q: %v", c.comment, note)
		}
	}
	got := WithoutNotes(nil, []string{"mine", "a2s: info request", "note: rtt: x", "and 7 more", "and 7 more beers", "yours", "and 8 more"}, []*dissect.Protocol{p})
	if want := []string{"mine", "and 7 more beers", "yours", "and 8 more"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
