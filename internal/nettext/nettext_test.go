package nettext

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestAppendInt(t *testing.T) {
	numbers := []int64{0, -1, math.MaxInt64, math.MinInt64}
	for p := int64(1); p <= 1e18; p *= 10 {
		numbers = append(numbers, p-1, p, p+1, -p, 7*p+5)
		if p == 1e18 {
			break
		}
	}
	for _, n := range numbers {
		if got, want := string(AppendInt(nil, n)), strconv.FormatInt(n, 10); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAppendUint(t *testing.T) {
	check := func(v uint64) {
		t.Helper()
		for _, room := range []int{0, 3, 40} {
			b := append(make([]byte, 0, room+1), '-')
			if got, want := string(AppendUint(b, v)), "-"+strconv.FormatUint(v, 10); got != want {
				t.Fatalf("%s with room for %d, want %s", got, room, want)
			}
		}
	}
	for v := range uint64(30000) {
		check(v)
	}
	for v := uint64(1); v < math.MaxUint64/10; v *= 10 {
		check(v - 1)
		check(v)
		check(v + 1)
		check(math.MaxUint64 - v)
	}
	check(math.MaxUint64)
}

// TestAppendDuration: milliseconds are rounded as strconv rounds them.
func TestAppendDuration(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		d := time.Duration(1e6 + random.Int64N(1e9-1e6))
		switch i % 3 {
		case 0:
			d = d/5e4*5e4 + time.Duration(i%2) // half a tenth, or next to it
		case 1:
			d = time.Second - time.Duration(random.Int64N(2e6)+1)
		}
		if got, want := string(AppendDuration(nil, d)), strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64)+" ms"; got != want && d >= time.Millisecond {
			t.Fatalf("%d ns: %s, want %s", d, got, want)
		}
	}
}

func TestSecretKeyAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		b := make([]byte, rng.IntN(24))
		for i := range b {
			b[i] = "passwPASSW\x00 "[rng.IntN(12)]
		}
		if at := rng.IntN(24); at+5 <= len(b) {
			copy(b[at:], "passW")
		}
		from := rng.IntN(len(b) + 1)
		want := len(b)
		if n := strings.Index(strings.ToLower(string(b[from:])), "passw"); n >= 0 {
			want = from + n
		}
		if got := SecretKeyAt(b, from); got != want {
			t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
		}
		if SecretKey(string(b[from:])) != (want < len(b)) {
			t.Fatalf("%q from %d is no key of a password, or is one", b, from)
		}
	}
}

// TestUnsafe: of all characters, letters, marks, numbers, punctuation, symbols and spaces are shown, but for those that draw nothing.
func TestUnsafe(t *testing.T) {
	blanks := []rune{0x2800, 0x13441, 0x13442, 0x16fe4, 0x1d159} // symbols and letters by their category
	for r := rune(0); r <= unicode.MaxRune; r++ {
		ignored := unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || slices.Contains(blanks, r)
		shown := unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs)
		if Unsafe(r) != (ignored || !shown) {
			t.Fatalf("U+%04X: %v", r, Unsafe(r))
		}
	}
	for _, r := range []rune{0x1d159, 0x1d173, 0x1d17a, 0x2800, 0xe000, 0xf8ff, 0x10fffd, 0x378, 0x13430, 0x600, 0xd800, -1, unicode.MaxRune + 1} {
		if !Unsafe(r) {
			t.Errorf("U+%04X is shown", r)
		}
	}
}

func TestJSONNumber(t *testing.T) {
	for in, want := range map[string]bool{
		"0": true, "-17": true, "12.50": true, "0.5": true, "123456789012345": true,
		"007": false, "": false, "1.": false, ".5": false, "1e5": false, " 152": false, "-": false, "12345678901234567890": false, "caf\xe9": false,
	} {
		got := JSONNumber([]byte(in))
		if got != want || got && !json.Valid([]byte(in)) {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"minecarft", "minecraft", 1}, {"abcd", "wxyz", 4}, {"abcde", "vwxyz", 4}} {
		if got := Distance(tt.a, tt.b, 4); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
