package all

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// TestKeyValueIndex compares an index with a search from the beginning: of keys that are present,
// once or twice, in another case, absent, or of the slot of another key.
func TestKeyValueIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := []string{"hostname", "HostName", "hostnams", "sv_hostname", "bots", "BOTS", "k", "K", "\u212a", "g_needpass", "mapname", "[", "{"}
	for range 200 {
		var pairs []dissect.KeyValue
		for i := range rng.IntN(300) {
			key := some[rng.IntN(len(some))]
			switch rng.IntN(8) {
			case 0:
				key = ""
			case 1, 2, 3, 4, 5, 6:
				key = strings.Repeat("x", rng.IntN(3)) + fmt.Sprint(rng.IntN(400))
			}
			pairs = append(pairs, dissect.KeyValue{Key: key, Value: fmt.Sprint(i)})
		}
		x := keyvalue.IndexOf(pairs)
		for _, key := range append(some, "1", "20", "x7", "xx300", "absent") {
			want, ok := keyvalue.Get(pairs, key)
			if got, found := x.Get(key); got != want || found != ok {
				t.Fatalf("%q among %d: %q, %v, want %q, %v", key, len(pairs), got, found, want, ok)
			}
			if got, want := x.Number("absent", key), keyvalue.Number(pairs, "absent", key); got != want {
				t.Fatalf("number of %q: %v, want %v", key, got, want)
			}
		}
	}
}

// TestColumnsKept: at most 256 of the columns that messages name are kept. An
// evicted column gets an equal field when it is named again.
func TestColumnsKept(t *testing.T) {
	open := &dissect.Field{Path: "x.players.column", Kind: dissect.String, Doc: "A column."}
	score := &dissect.Field{Path: "x.players.score", Kind: dissect.Decimal}
	c := wire.NewColumns(open, map[string]*dissect.Field{"score": score})
	first := c.Field("c0") // which is made again after each eviction, with 255 others
	for i := range 2 * 1280 {
		name := fmt.Sprintf("c%d", i%1280)
		f := c.Field(name)
		if f == nil || f.Path != "x.players."+name || f.Column != open || f.Key() != name {
			t.Fatalf("column %d: %+v", i, f)
		}
		again := c.Field("c0")
		if evicted, want := again != first, i > 1 && i%255 == 1; i < 1280 && evicted != want {
			t.Fatalf("column %d: evicted %v, want %v", i, evicted, want)
		}
		first = again
	}
	if c.Field("score") != score {
		t.Error("a column of the catalog was evicted")
	}
	if c.Field("") != nil || c.Field("a b") != nil {
		t.Error("a name that cannot be a key has a field")
	}
}
