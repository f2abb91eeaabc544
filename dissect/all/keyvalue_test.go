package all

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
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
