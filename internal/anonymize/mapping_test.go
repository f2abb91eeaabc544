package anonymize

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
)

var keyOfTests = []byte("a key for tests and not for captures")

// TestAddresses: addresses keep common prefixes and their length in text. Different
// addresses stay different, and only special ones stay unchanged.
func TestAddresses(t *testing.T) {
	m := newMapping(keyOfTests)
	r := rand.New(rand.NewPCG(1, 2))
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
	for _, v := range []int64{1<<31 - 1, -1 << 31, 1<<32 - 1, 1 << 31, 1<<63 - 1, 2000000000} {
		w := m.number(v)
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
