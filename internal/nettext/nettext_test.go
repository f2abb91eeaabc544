package nettext

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
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
		from, want := rng.IntN(len(b)+1), len(b)
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

func isSpecial(c byte) bool { return c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '^' }

func TestSpecial(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			v := uint64(0x6162636465666768)&^(0xff<<(8*at)) | uint64(c)<<(8*at)
			want := Either(isSpecial(byte(c)), 8*at+7, 64)
			if got := bits.TrailingZeros64(Special(v) & HighBits); got != want {
				t.Fatalf("byte %#x at %d: bit %d, want %d", c, at, got, want)
			}
			if c == '^' {
				want = 64
			}
			if got := bits.TrailingZeros64(Escaped(v) & HighBits); got != want {
				t.Fatalf("byte %#x at %d, escaped: bit %d, want %d", c, at, got, want)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	for n := range 20 {
		s := []byte("abcdefghijklmnopqrst"[:n])
		if !Plain(s) {
			t.Errorf("%q is not plain", s)
		}
		for at := range s {
			was := s[at]
			for c := range 256 {
				s[at] = byte(c)
				if Plain(s) == isSpecial(byte(c)) {
					t.Errorf("%q: %v", s, Plain(s))
				}
			}
			s[at] = was
		}
	}
}

func TestAppendAddr(t *testing.T) {
	for c := range 256 {
		for _, a := range []netip.Addr{
			netip.AddrFrom4([4]byte{byte(c), 0, 9, 10}), netip.AddrFrom4([4]byte{99, 100, 255, byte(c)}), netip.AddrFrom16([16]byte{15: byte(c)}), {},
		} {
			for room := range 24 {
				b := append(make([]byte, 0, room+1), '-')
				if got, want := string(AppendAddr(b, a)), "-"+a.String(); got != want && a.IsValid() || !a.IsValid() && got != "-" {
					t.Fatalf("%s with room for %d, want %s", got, room, want)
				}
			}
		}
	}
}

func TestAppendAddr6(t *testing.T) {
	for zeros := range 256 { // a bit for each group
		for _, group := range []uint16{1, 0xa0, 0xbcd, 0xffff} {
			var b [16]byte
			for i := range 8 {
				if zeros>>i&1 == 0 {
					b[2*i], b[2*i+1] = byte(group>>8), byte(group)
				}
			}
			for _, a := range []netip.Addr{netip.AddrFrom16(b), netip.AddrFrom16(b).WithZone("eth0")} {
				if got := string(AppendAddr(nil, a)); got != a.String() {
					t.Fatalf("%s, want %s", got, a)
				}
				end := netip.AddrPortFrom(a, 27015)
				if got := string(AppendAddrPort(nil, end)); got != end.String() {
					t.Fatalf("%s, want %s", got, end)
				}
			}
		}
	}
	for _, s := range []string{"::ffff:1.2.3.4", "1.2.3.4", "255.255.255.255"} {
		end := netip.AddrPortFrom(netip.MustParseAddr(s), 65535)
		if got := string(AppendAddrPort(nil, end)); got != end.String() {
			t.Fatalf("%s, want %s", got, end)
		}
	}
	if got, want := string(AppendAddrPort(nil, netip.AddrPort{})), string(netip.AddrPort{}.AppendTo(nil)); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"de_dust2", 8}, {"Café", 4}, {"Cafe\u0301", 4}, {"日本語", 6}, {"한국", 4}, {"Привет", 6}, {"ｆｕｌｌ", 8}, {"🎮", 2}, {"→ ≥ …", 5}, {"a\u200bb", 2}, {"", 0},
	} {
		n := 0
		for _, r := range c.text {
			n += Width(r)
		}
		if n != c.want {
			t.Errorf("%q: %d columns, want %d", c.text, n, c.want)
		}
	}
}

func TestAppendWrapped(t *testing.T) {
	for _, c := range []struct {
		line          string
		width, indent int
		want          string
	}{
		{"fits", 4, 0, "fits"},
		{"", 4, 0, ""},
		{"one two three four", 9, 0, "one two\nthree\nfour"},
		{"exactly 21 columns is too long", 21, 1, "exactly 21 columns is\n too long"},
		{"a:                    bc de fg hi jk lm", 32, 22, "a:                    bc de fg\n            hi jk lm"}, // 20 columns have room
		{"abcdefghij", 4, 0, "abcd\nefgh\nij"},                                                                      // no space
		{"a bcdefghij", 6, 0, "a bcde\nfghij"},                                                                      // its only space is in the first half
		{"            key: value", 22, 2, "            key: value"},
		{"            key: values", 22, 2, "            key:\n  values"},
		{"名無しさん", 5, 0, "名無\nしさ\nん"},                                  // two columns each
		{"\x1b[33mab cd ef\x1b[0m", 5, 0, "\x1b[33mab cd\nef\x1b[0m"}, // colours have no width
		{"名", 1, 0, "名"}, // does not fit at all
	} {
		got := string(AppendWrapped([]byte("before:"), []byte(c.line), c.width, c.indent))
		if got != "before:"+c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.width, got, c.want)
		}
	}
	long := strings.Repeat("x", 1000)
	if got := string(AppendWrapped(nil, []byte(long), 1, 9)); strings.ReplaceAll(got, "\n", "") != long {
		t.Error("characters are lost")
	}
}

// TestValidUTF8 compares with the standard library, over pieces of text that meet at any
// place.
func TestValidUTF8(t *testing.T) {
	pieces := []string{"", "a", "plain text", "longer text, of more than four times eight bytes", "é", "Привет", "漢字", "\U0001f600", "\x80", "\xc2", "\xc1\x80", "\xdf\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\x00"}
	rng, valid := rand.New(rand.NewPCG(1, 1)), 0
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
