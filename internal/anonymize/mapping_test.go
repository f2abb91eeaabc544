package anonymize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

var keyOfTests = []byte("a key for tests and not for captures")

// TestAddresses: addresses keep common prefixes and their length in text. Different
// addresses stay different, and only special ones stay unchanged.
func TestAddresses(t *testing.T) {
	m, r := newMapping(keyOfTests), rand.New(rand.NewPCG(1, 2))
	seen := map[netip.Addr]netip.Addr{}
	common := func(a, b netip.Addr) (n int) {
		x, y := a.AsSlice(), b.AsSlice()
		for n < len(x) && x[n] == y[n] {
			n++
		}
		return n
	}
	var last netip.Addr
	for i := range 20000 {
		var a netip.Addr
		if i%2 == 0 {
			a = netip.AddrFrom4([4]byte{byte(r.IntN(224)), byte(r.IntN(3)), byte(r.IntN(256)), byte(r.IntN(256))})
		} else {
			b := [16]byte{0x20, 0x01, 0x0d, 0xb8}
			for k := range r.IntN(12) {
				b[15-k] = byte(r.IntN(256))
			}
			a = netip.AddrFrom16(b)
		}
		b := m.addr(a)
		if was, ok := seen[b]; ok && was != a {
			t.Fatalf("%v and %v both become %v", was, a, b)
		}
		seen[b] = a
		if len(a.String()) != len(b.String()) {
			t.Errorf("%v becomes %v", a, b)
		}
		special := a.IsLoopback() || a.IsUnspecified() || a.Is4() && (a.As4()[0] == 0 || a.As4()[0] == 127)
		if (a == b) != special {
			t.Errorf("%v becomes %v", a, b)
		}
		if a.IsPrivate() != b.IsPrivate() || a.IsMulticast() != b.IsMulticast() || a.IsLinkLocalUnicast() != b.IsLinkLocalUnicast() {
			t.Errorf("%v becomes %v, of another kind", a, b)
		}
		if last.IsValid() && last.BitLen() == a.BitLen() {
			if other := m.addr(last); common(last, a) != common(other, b) {
				t.Errorf("%v and %v have %d bytes in common, %v and %v %d", last, a, common(last, a), other, b, common(other, b))
			}
		}
		if i%5 > 2 {
			last = a
		} else if i%2 == 0 && a.Is4() {
			last = a.Next()
		}
	}
	for _, s := range []string{"0.0.0.0", "255.255.255.255", "127.0.0.1", "239.255.0.1", "::", "::1", "ff02::1"} {
		if a := netip.MustParseAddr(s); m.addr(a) != a {
			t.Errorf("%v becomes %v", a, m.addr(a))
		}
	}
	if a := netip.MustParseAddr("::ffff:198.51.100.7"); m.addr(a).Unmap() != m.addr(a.Unmap()) {
		t.Errorf("%v becomes %v, and alone %v", a, m.addr(a), m.addr(a.Unmap()))
	}
}

// TestText: a text keeps its form and none of its letters.
func TestText(t *testing.T) {
	m := newMapping(keyOfTests)
	for _, test := range []struct {
		text  string
		style dissect.Style
	}{
		{"John Doe", dissect.NoStyle}, {"^1Jo^xF00hn^7 2", dissect.Quake3}, {"^c123Name", core.Doom3}, {"§aName", core.Minecraft},
		{"\x1b\xff\x80\x01Name", core.Unreal}, {"Ваня Ёлка", dissect.NoStyle}, {"日本語テキスト", dissect.NoStyle}, {"Bj\xf6rn", dissect.NoStyle},
		{"🎮gamer", dissect.NoStyle}, {"[TAG]x_X-99", dissect.NoStyle}, {"", dissect.NoStyle},
	} {
		b := []byte(test.text)
		m.text(b, test.style)
		if len(b) != len(test.text) || test.text != "" && string(b) == test.text {
			t.Errorf("%q becomes %q", test.text, b)
		}
		plainA := test.style.AppendPlain(nil, []byte(test.text))
		plainB := test.style.AppendPlain(nil, b)
		if len(plainA) != len(plainB) {
			t.Errorf("%q becomes %q: other codes", test.text, b)
		}
		for i := range plainA {
			letter := plainA[i]|0x20 >= 'a' && plainA[i]|0x20 <= 'z'
			if letter == (plainA[i] == plainB[i]) && plainA[i] < 0x80 && (letter || plainA[i] < '0' || plainA[i] > '9') {
				t.Errorf("%q becomes %q: byte %d", plainA, plainB, i)
			}
		}
	}
	// A name may consist of punctuation.
	b := []byte("=(*)=")
	if m.text(b, dissect.NoStyle); string(b) == "=(*)=" {
		t.Error("signs stay")
	}
}

// TestFoldJSON: texts are replaced as the source has them or by themselves, also where the JSON is cut or none; keys, escapes and numbers stay.
func TestFoldJSON(t *testing.T) {
	w := newRewriter(&Options{Key: keyOfTests}, &Counts{})
	to := []byte(`{"name":"Alice","x":"a\u00e4Bob\n","Alice":[true,12],"y":"Alice" Carol, "Da`)
	want := regexp.MustCompile(`^{"name":"Qwert","x":"[b-z]\\u00e4Yui\\n","Alice":\[true,12\],"y":"[B-Z][a-z]{4}" [A-Z][a-z]{4}, "[A-Z][a-z]$`)
	if w.foldJSON(to, []byte("AliceBob"), []byte("QwertYui")); !want.Match(to) || regexp.MustCompile(`"y":"Alice|Carol|"Da`).Match(to) {
		t.Errorf("%s", to)
	}
}

func TestNumbers(t *testing.T) {
	m := newMapping(keyOfTests)
	seen := map[int64]bool{}
	for v := int64(-3000); v < 3000; v++ {
		w := m.number(v)
		if seen[w] || len(strconv.FormatInt(v, 10)) != len(strconv.FormatInt(w, 10)) || (v == 0 || v == -1) && v != w {
			t.Errorf("%d becomes %d", v, w)
		}
		seen[w] = true
	}
	for _, v := range []int64{1<<31 - 1, -1 << 31, 1<<32 - 1, 1 << 31, 1<<63 - 1, 2000000000, 3000000000} {
		w := m.number(v)
		if v <= 1<<32-1 && int32(w) != int32(m.number(int64(int32(v)))) {
			t.Errorf("%d and the same 32 bits with a sign become different ones", v)
		}
		if len(strconv.FormatInt(v, 10)) != len(strconv.FormatInt(w, 10)) || v <= 1<<31-1 && w > 1<<31-1 || v >= -1<<31 && w < -1<<31 {
			t.Errorf("%d becomes %d", v, w)
		}
	}
	if id := m.steamID(76561197960287930); id>>32 != 76561197960287930>>32 || id == 76561197960287930 || m.steamID(1<<40) != 1<<40 {
		t.Errorf("a SteamID becomes %d", id)
	}
}

// TestSecrets: what is secret is masked, or decoded again and masked there.
func TestSecrets(t *testing.T) {
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			if f.Secret && f.Privacy != core.Key && f.Privacy != core.Carrier {
				t.Errorf("%s is secret and kept", f.Path)
			}
		}
	}
}

// TestFound: addresses and SteamIDs are replaced wherever they stand in a text.
func TestFound(t *testing.T) {
	w := newRewriter(&Options{Key: keyOfTests}, &Counts{addresses: map[uint64]struct{}{}})
	for _, s := range []string{
		"join 198.51.100.7:27015 now", "2001:db8::7", "[2001:db8::7]:27015", "id 76561197960287930.", "STEAM_0:1:11101", "[U:1:22202]",
		"2001:0db8:0000:0000:0000:0000:0000:0007", "2001:DB8::A",
	} {
		b := []byte(s)
		if spans := w.found(b); len(spans) == 0 || string(b) == s || len(b) != len(s) {
			t.Errorf("%q becomes %q", s, b)
		}
		for _, c := range []string{"join ", "STEAM_", "[U:1:"} {
			if strings.HasPrefix(s, c) && !bytes.HasPrefix(b, []byte(c)) {
				t.Errorf("%q becomes %q", s, b)
			}
		}
	}
	for _, s := range []string{"1.2.3", "12:30", "version 1", ""} {
		b := []byte(s)
		if w.found(b); string(b) != s {
			t.Errorf("%q becomes %q", s, b)
		}
	}
}

// TestKeyLike compares keyLike with a search for each thing that the name of a setting cannot have.
func TestKeyLike(t *testing.T) {
	pieces := []string{"sv_", "max", ".", "1.2.3.4", "10.0.0", "7656119", "76561198000000000", "7", "@", "é", "\xff", "a long name of a setting, "}
	rng, unlike := rand.New(rand.NewPCG(7, 8)), 0
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

func TestKnownGame(t *testing.T) {
	for text, want := range map[string]bool{
		"Counter-Strike: Source": true, "THE SHIP ": true, "": false, "Half-Life of Bob": false, "CO 10 Bob's mission": false,
	} {
		if got := knownGame([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestHostNames: beside an address in the name of a host no word stays.
func TestHostNames(t *testing.T) {
	w := newRewriter(&Options{Key: keyOfTests}, &Counts{addresses: map[uint64]struct{}{}})
	f := &core.Field{Kind: dissect.String}
	for _, text := range []string{"play.private.org///203.0.113.77:51000///1700000000", "203.0.113.77.private.org", "203.0.113.77\x00private", "private"} {
		b := []byte(text)
		if w.address(&dissect.Node{Field: f}, b); bytes.Contains(b, []byte("private")) || bytes.Contains(b, []byte("203.0.113.77")) {
			t.Errorf("%q becomes %q", text, b)
		}
	}
	b := []byte("203.0.113.77:27015")
	if w.address(&dissect.Node{Field: f}, b); !bytes.HasSuffix(b, []byte(":27015")) || bytes.HasPrefix(b, []byte("203.0")) {
		t.Errorf("an address and a port become %q", b)
	}
}

var styles = []dissect.Style{dissect.NoStyle, dissect.Quake3, core.Doom3, core.Minecraft, core.Unreal, core.UnrealWide, core.Armagetron, core.ZDoom, core.Cube}

// TestEveryCharacter: no character of any script survives in a text, be it assigned, for private use or reserved;
// nor does a byte of text that is not UTF-8.
func TestEveryCharacter(t *testing.T) {
	m := newMapping(keyOfTests)
	for r := rune(0x21); r <= unicode.MaxRune; r++ {
		if r == 0x7f || r >= 0x3400 && r < 0xd7ff && r%7 != 0 || r >= 0x20000 && r%61 != 0 || !utf8.ValidRune(r) {
			continue // ideographs and what is not assigned: samples
		}
		for _, text := range []string{string(r), "a" + string(r) + "-"} {
			b := []byte(text)
			m.text(b, dissect.NoStyle)
			if len(text) > utf8.RuneLen(r) && r < 0x80 && !unicode.In(r, unicode.L, unicode.N) {
				continue // punctuation beside a letter stays
			}
			if at := strings.IndexRune(text, r); strings.HasPrefix(string(b[at:]), string(r)) || !utf8.Valid(b) || len(b) != len(text) {
				t.Fatalf("U+%04X: %q becomes %q", r, text, b)
			}
		}
	}
	for c := 0x80; c <= 0xff; c++ {
		b := []byte{'a', byte(c), 'b'}
		if m.text(b, dissect.NoStyle); b[1] == byte(c) || b[1] < 0x80 {
			t.Errorf("byte %02x becomes %02x", c, b[1])
		}
	}
	for _, style := range styles {
		for _, text := range []string{"^1^2", "\\", "\"", "^^", ";", "\x01\x02", "§a", "\x1bJoe", "\x1b\xff\xfe\xfd", "§ё", "0x00ff00", "\fR", "\x1c[x]"} {
			b := []byte(text)
			if m.text(b, style); string(b) == text {
				t.Errorf("%v: %q stays", style, text)
			}
		}
	}
}

// blocks returns a short name from each 16 code points that have letters, digits, marks or symbols, so from each block of
// Unicode; of the blocks of thousands of ideographs, samples.
func blocks() (names []string) {
	for at := rune(0); at <= unicode.MaxRune; at += 0x10 {
		if large := at >= 0x3400 && at < 0xa000 || at >= 0xac00 && at < 0xd7a0 || at >= 0x17000 && at < 0x18d00 || at >= 0x20000; large && at%0x800 != 0 {
			continue
		}
		var name []rune
		for r := at; r < at+0x10 && len(name) < 6; r++ {
			if unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S, unicode.Co) || r >= 0x80 && unicode.IsPunct(r) {
				name = append(name, r)
			}
		}
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	return names
}

// TestEveryScript: a name in the characters of each block is replaced in each field that tells of a person or a server,
// in UTF-8, and in UTF-16 where the field may be wide.
func TestEveryScript(t *testing.T) {
	names := append(blocks(), "Ｄｏｆｆｙ", "Ⓓⓞⓕⓕⓨ", "⒟⒪⒡⒡⒴", "ｱｲｳｴ", "⠓⠑⠇⠇⠕", "╔═╗", "١٢٣٤", "१२३४", "\xc4\xeb\xe0", "\x83\x7b\x83\x43")
	if len(names) < 1500 {
		t.Fatalf("%d names", len(names))
	}
	w := newRewriter(&Options{Key: keyOfTests}, &Counts{addresses: map[uint64]struct{}{}})
	fields, keys := 0, []string{"name", "clan", "player", "hostname", "sv_hostname", "guid", "hash", "anything"}
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			r := f.Privacy
			if f.Kind != dissect.String && f.Kind != dissect.Decimal {
				continue
			}
			list := []string{""}
			if r == core.Cell && kindOf(f.Key()).fact {
				continue // of the game
			}
			switch r {
			case dissect.PersonName, dissect.FreeText, dissect.ServerText, dissect.PersonID, core.Console, dissect.Address, core.HexAddress, dissect.Token, core.Cell:
			case dissect.Setting:
				if list = keys; f.Keyed != nil { // the words of filters and queries
					list = nil
					for k, r := range f.Keyed {
						if r != dissect.Public {
							list = append(list, k)
						}
					}
				}
			default:
				continue
			}
			fields++
			for _, k := range list {
				if b := []byte("x"); k == "name" || k == "clan" {
					if w.value(&dissect.Node{Field: f}, b, r, []byte(k)); string(b) == "x" {
						t.Fatalf("%s %s: a name of one letter stays", f.Path, k)
					}
				}
				for i, text := range names {
					if (fields+i)%must.Try(6, 1) > 0 { // each name in some fields
						continue
					}
					if (k == "anything" || r == core.Cell) && digits([]byte(text)) {
						continue // most settings are numbers
					}
					b := []byte(text)
					w.value(&dissect.Node{Field: f}, b, r, []byte(k))
					if left := survivor(text, string(b)); left != "" {
						t.Fatalf("%s %s: %q becomes %q: %s", f.Path, k, text, b, left)
					}
					if !utf8.ValidString(text) {
						continue
					}
					var wide []byte
					for _, u := range utf16.Encode([]rune(text)) {
						wide = binary.LittleEndian.AppendUint16(wide, u)
					}
					was := bytes.Clone(wide)
					w.value(&dissect.Node{Field: f, Wide: true}, wide, r, []byte(k))
					if bytes.Equal(was, wide) {
						t.Fatalf("%s %s: %q stays in UTF-16", f.Path, k, text)
					}
				}
			}
		}
	}
	if fields < 100 {
		t.Errorf("%d fields", fields)
	}
}

// survivor returns what of a text is left at its place.
func survivor(was, is string) string {
	if len(was) != len(is) || was == is {
		return "as a whole"
	}
	for i, r := range was {
		if r >= 0x80 && r != utf8.RuneError && strings.HasPrefix(is[i:], string(r)) {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}
