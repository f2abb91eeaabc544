package core

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

func TestAppendText(t *testing.T) {
	for _, tc := range []struct {
		in      string
		charset Charset
		style   Style
		want    string
	}{
		{"plain", Guessed, NoStyle, "plain"},
		{"back\\slash", Guessed, NoStyle, `back\\slash`},
		{"\x1b[31mred\x1b[0m", Guessed, NoStyle, `\x1b[31mred\x1b[0m`},
		{"a\nb\rc\td\x00\x7f", Guessed, NoStyle, `a\nb\rc\td\x00\x7f`},
		{"caf\xc3\xa9", Guessed, NoStyle, "café"},
		{"caf\xe9", Guessed, NoStyle, "café"},
		{"\xcf\xf0\xe8\xe2\xe5\xf2", Guessed, NoStyle, "Привет"},
		{"[RU] \xd1\xe5\xf0\xe2\xe5\xf0 #1", Guessed, NoStyle, "[RU] Сервер #1"},
		{"Z\xfcrich D\xfcsseldorf K\xf6ln", Guessed, NoStyle, "Zürich Düsseldorf Köln"},
		{"Resident\xa0Evil\xb1", Latin1, NoStyle, "Resident\u00a0Evil±"},
		{"\x80uro \x95 \x81", Latin1, NoStyle, `€uro • \u0081`},
		{"\xc1\xe2\xf1", QuakeChars, NoStyle, "Abq"},
		{"\x90\x12\x1b\x91", QuakeChars, NoStyle, "[09]"},
		{"\u202eevil\u202c \u200b\ufeff", Guessed, NoStyle, `\u202eevil\u202c \u200b\ufeff`},
		{"\u0085\u009b31m", Guessed, NoStyle, `\u0085\u009b31m`},
		{"tag \U000e0041", Guessed, NoStyle, `tag \U000e0041`},
		{"emoji 😀 and 名", Guessed, NoStyle, "emoji 😀 and 名"},
		{"^1red^7white^^", Guessed, Quake3, "redwhite^^"},
		{"^^11doubled", Guessed, Quake3, "doubled"},
		{"^xf00rgb^xg00", Guessed, Quake3, "rgbg00"},
		{"^c014^Iw05icon", Guessed, Doom3, "icon"},
		{"\xc2\xa7aGreen \xa7lbold", Guessed, Minecraft, "Green bold"},
		{"ч is \xd1\x87", Guessed, Minecraft, "ч is ч"},
		{"\x1b\xff\x01\x01Red", Guessed, Unreal, "Red"},
		{"\x1b\u00ff\x01\u0101Red ^#\u00ffand ^1blue", Guessed, UnrealWide, "Red and ^1blue"},
		{"ends in ^#", Guessed, UnrealWide, "ends in ^#"},
		{"0xff0000Red 0xRESETTand 0x12345 more", Guessed, Armagetron, "Red and 0x12345 more"},
		{"\x1ccOne \x1c[Dark Red]two\x1c- \x1c", Guessed, ZDoom, `One two \x1c`},
		{"\x1c[open", Guessed, ZDoom, "open"},
		{"ends in \x1b", Guessed, UnrealWide, "ends in "},
		{"ends in ^", Guessed, Quake3, "ends in ^"},
	} {
		if got := string(AppendText(nil, tc.in, tc.charset, tc.style)); got != tc.want {
			t.Errorf("%q as %v, %v: %q, want %q", tc.in, tc.charset, tc.style, got, tc.want)
		}
	}
}

// FuzzText: whatever the network sends, what comes out can be printed.
func FuzzText(f *testing.F) {
	f.Add("name \x1b[2J", uint8(0), uint8(0))
	f.Add("^1a^^\xe9", uint8(1), uint8(1))
	f.Add("\xa7\xc2\xa7l", uint8(2), uint8(3))
	f.Add("\x1bab", uint8(3), uint8(4))
	f.Fuzz(func(t *testing.T, s string, charset, style uint8) {
		c, st := Charset(charset%4), Style(style%7)
		out := AppendText(nil, s, c, st)
		if !utf8.Valid(out) {
			t.Fatalf("%q is not UTF-8", out)
		}
		for _, r := range string(out) {
			if nettext.Unsafe(r) {
				t.Fatalf("%q lets %U through", out, r)
			}
		}
		nettext.AppendSafe(nil, []byte(s))
		if plain := st.AppendPlain(nil, []byte(s)); len(plain) > len(s) || st.HasCodes([]byte(s)) != (len(plain) < len(s)) {
			t.Fatalf("%q without codes is %q", s, plain)
		}
	})
}

func TestTextAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	for _, s := range []string{"plain", "caf\xe9 ^1red", "Привет \x1b", strings.Repeat("ü", 100)} {
		if n := testing.AllocsPerRun(10, func() { AppendText(buf, s, Guessed, Quake3) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

func TestParseInt(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "12": 12, "-9999": -9999, " 152": 152, "7 ": 7, "+5": 5, "12.5": 12, "3.": 3} {
		if got, ok := nettext.ParseInt(s); !ok || got != want {
			t.Errorf("%q: %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", " ", "-", "x", "1x", "1.x", "--1", "99999999999999999999"} {
		if n, ok := nettext.ParseInt(s); ok {
			t.Errorf("%q is %d", s, n)
		}
	}
}

// TestAppendQuoted: what stands in quotes ends at the second one that has no
// backslash.
func TestAppendQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"":            `""`,
		"plain":       `"plain"`,
		`"`:           `"\""`,
		`a "b" c"`:    `"a \"b\" c\""`,
		`back\slash"`: `"back\\slash\""`,
		"new\nline":   `"new\nline"`,
	} {
		if got := string(AppendQuoted([]byte("x"), in, Guessed, NoStyle)); got != "x"+want {
			t.Errorf("%q is %s, want %s", in, got[1:], want)
		}
	}
}
