package nettext

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// TestValidUTF8 compares with the standard library, over pieces of text that meet at any
// place.
func TestValidUTF8(t *testing.T) {
	pieces := []string{"", "a", "plain text", "longer text, of more than four times eight bytes", "é", "Привет", "漢字", "\U0001f600", "\x80", "\xc2", "\xc1\x80", "\xdf\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\x00"}
	rng := rand.New(rand.NewPCG(1, 1))
	valid := 0
	for range 20_000 {
		text := ""
		for range rng.IntN(4) {
			text += pieces[rng.IntN(len(pieces))]
		}
		want := utf8.ValidString(text)
		if got := ValidUTF8([]byte(text)); got != want {
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

// TestTextLengths looks for a byte that is not ASCII, and for a NUL, at any place of texts of any length.
func TestTextLengths(t *testing.T) {
	for size := range 100 {
		b := bytes.Repeat([]byte{'a'}, size)
		if n := ASCIILen(b); n != size {
			t.Errorf("%d bytes of ASCII, want %d", n, size)
		}
		if n, high := UntilNUL(b); n != -1 || high {
			t.Errorf("%d bytes before a NUL, %v, in %d without one", n, high, size)
		}
		for at := range b {
			b[at] = 0x80
			if n := ASCIILen(b); n != at {
				t.Errorf("%d bytes of ASCII, want %d", n, at)
			}
			for end := range b {
				was := b[end]
				b[end] = 0
				if n, high := UntilNUL(b); n != end || high != (at < end) {
					t.Errorf("%d bytes before the NUL at %d, %v with another byte at %d", n, end, high, at)
				}
				b[end] = was
			}
			b[at] = 'a'
		}
	}
}
