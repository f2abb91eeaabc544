package dissect

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// TestValidUTF8 compares with the standard library, over pieces of text that meet at any
// place.
func TestValidUTF8(t *testing.T) {
	pieces := []string{"", "a", "plain text", "é", "Привет", "漢字", "\U0001f600", "\x80", "\xc2", "\xc1\x80", "\xdf\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\x00"}
	rng := rand.New(rand.NewPCG(1, 1))
	valid := 0
	for range 20_000 {
		text := ""
		for range rng.IntN(4) {
			text += pieces[rng.IntN(len(pieces))]
		}
		want := utf8.ValidString(text)
		if got := validUTF8([]byte(text)); got != want {
			t.Fatalf("%q: %v", text, got)
		}
		if want {
			valid++
		}
	}
	if valid < 4000 || valid > 16_000 {
		t.Errorf("%d of 20000 texts are UTF-8", valid)
	}
}
