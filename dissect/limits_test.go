package dissect

import (
	"fmt"
	"testing"
)

// TestManySources: what a message can be unpacked to, again and again, has an
// end.
func TestManySources(t *testing.T) {
	var r Reader
	r.Reset([]byte("x"), 1, true)
	n := 0
	for r.Err() == nil {
		r.Open("inside", []byte("x"))
		if n++; n > 2*maxSources {
			t.Fatal("there is no end")
		}
	}
	if got := len(r.Sources()); got != maxSources {
		t.Errorf("%d sources, %v", got, r.Err())
	}
}

// TestColumnsKept: of the columns that messages name, so many are kept, and
// those that are met again are the same as before.
func TestColumnsKept(t *testing.T) {
	open := &Field{Path: "x.players.column", Kind: String, Doc: "A column."}
	score := &Field{Path: "x.players.score", Kind: Decimal}
	c := NewColumns(open, map[string]*Field{"score": score})
	for round := range 2 {
		for i := range 5 * maxColumns {
			name := fmt.Sprintf("c%d", i)
			f := c.Field(name)
			if f == nil || f.Path != "x.players."+name || f.Column != open || f.Key() != name {
				t.Fatalf("round %d: %+v", round, f)
			}
			if len(c.met) > maxColumns {
				t.Fatalf("%d columns are kept", len(c.met))
			}
		}
	}
	if c.Field("score") != score {
		t.Error("a column of the catalog is forgotten")
	}
}
