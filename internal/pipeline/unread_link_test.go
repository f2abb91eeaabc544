package pipeline

import (
	"io"
	"slices"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

// TestUnreadLinks: packets of a link type that is not read are counted under its name.
func TestUnreadLinks(t *testing.T) {
	e, err := newEngine(&Options{
		Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }, Out: io.Discard, Workers: 1,
		Analysis: dissect.Config{Protocols: all.Protocols()},
	})
	must.Do(t, err)
	defer e.pool.close()
	for i, link := range []uint16{127, 117, 127} {
		must.Do(t, e.frame(&capture.Frame{Number: uint64(i + 1), LinkType: link, Data: make([]byte, 60), Length: 60}))
	}
	want := []report.Likeness{{Name: "ieee802_11_radiotap", Packets: 2}, {Name: "pflog", Packets: 1}}
	if got := e.census.sum.Unread.Links; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
