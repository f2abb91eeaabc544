package wire

import (
	"fmt"
	"testing"

	"github.com/qdissect/qdissect/dissect"
)

// TestColumnsKept: at most 256 of the columns that messages name are kept. An
// evicted column gets an equal field when it is named again.
func TestColumnsKept(t *testing.T) {
	open := &dissect.Field{Path: "x.players.column", Kind: dissect.String, Doc: "A column."}
	score := &dissect.Field{Path: "x.players.score", Kind: dissect.Decimal}
	c := NewColumns(open, map[string]*dissect.Field{"score": score})
	for round := range 2 {
		for i := range 1280 {
			name := fmt.Sprintf("c%d", i)
			f := c.Field(name)
			if f == nil || f.Path != "x.players."+name || f.Column != open || f.Key() != name {
				t.Fatalf("round %d: %+v", round, f)
			}
			if want := (1280*round+i)%256 + 1; len(c.seen) != want {
				t.Fatalf("%d columns are kept, want %d", len(c.seen), want)
			}
		}
	}
	if c.Field("score") != score {
		t.Error("a column of the catalog was evicted")
	}
	if c.Field("") != nil || c.Field("a b") != nil {
		t.Error("a name that cannot be a key has a field")
	}
}
