package anonymize

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestKeyLike compares keyLike with a search for each thing that the name of a setting cannot have.
func TestKeyLike(t *testing.T) {
	pieces := []string{"sv_", "max", ".", "1.2.3.4", "10.0.0", "7656119", "76561198000000000", "7", "@", "é", "\xff", "a long name of a setting, "}
	rng := rand.New(rand.NewPCG(7, 8))
	unlike := 0
	for range 20000 {
		var b []byte
		for range rng.IntN(5) {
			b = append(b, pieces[rng.IntN(len(pieces))]...)
		}
		want := len(b) <= 64 && !dotted().Match(b) && !steam64().Match(b) && bytes.IndexByte(b, '@') < 0 &&
			!bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x80 })
		if got := keyLike(b); got != want {
			t.Fatalf("%q: %t, want %t", b, got, want)
		}
		if !want {
			unlike++
		}
	}
	if unlike < 5000 || unlike > 15000 {
		t.Errorf("%d of 20000 are unlike keys", unlike)
	}
}
