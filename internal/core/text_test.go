package core

import (
	"math/rand/v2"
	"reflect"
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

func TestPrefixed(t *testing.T) {
	f := NewCatalog("test").Add("name", String, "A text.")
	for _, tc := range []struct {
		in, want string
		left     int
		failed   bool
	}{
		{"\x02\x00abc", "ab", 1, false},
		{"\x00\x00", "", 0, false},
		{"\x03\x00ab", "", 0, true},
		{"\x03", "", 0, true},
		{"", "", 0, true},
	} {
		var r Reader
		Reset(&r, []byte(tc.in), 1, true)
		got := PString16(&r, f)
		if got != tc.want || r.Failed() != tc.failed || r.Left() != tc.left {
			t.Errorf("%q: %q, %v, %d left", tc.in, got, Err(&r), r.Left())
		}
	}
	for in, want := range map[string]string{"\x02\x00\x00\x00abc": "ab", "\xff\xff\xff\xffabc": "", "\x02\x00\x00": ""} {
		var r Reader
		Reset(&r, []byte(in), 1, true)
		if got := PString32(&r, f); got != want || r.Failed() != (want == "") {
			t.Errorf("%q: %q, %v", in, got, Err(&r))
		}
		if want != "" && string(r.nodes[0].Value(r.data)) != want {
			t.Errorf("%q: the leaf says %q", in, r.nodes[0].Value(r.data))
		}
	}
}

// TestPair compares pairs and settings that are read at once with those of which each text is read alone, as it is
// while the reads are counted: of any bytes, with few or none after them. It compares pairs that are read as a list with single ones.
func TestPair(t *testing.T) {
	c := NewCatalog("x")
	group, key, value := c.Add("pair", Group, "Pair."), c.Add("pair.key", String, "Key.", SettingName), c.Add("pair.value", String, "Value.", Setting)
	hidden, rng := value.Hidden(), rand.New(rand.NewPCG(1, 2))
	const bytes = "\x00\x00\x01ab\x7f\x80\xc3\xa4\xff"
	words := []string{"password", "sv_hostname", "\xc3\xa4"}
	type read struct {
		pairs    []KeyValue
		nodes    []Node
		findings []Finding
		left     int
		failed   bool
	}
	atOnce, fromList := 0, 0
	none := func(*Reader) []KeyValue { return nil }
	for range 20000 {
		var data []byte
		for range rng.IntN(12) {
			if rng.IntN(3) > 0 {
				data = append(data, bytes[rng.IntN(len(bytes))])
			} else {
				data = append(data, words[rng.IntN(len(words))]...)
			}
		}
		if rng.IntN(2) > 0 {
			data = append(data, make([]byte, rng.IntN(12))...)
		}
		of := func(in *Inject, first func(r *Reader) []KeyValue, one func(r *Reader) (KeyValue, bool)) (got read) {
			r := Reader{inject: in}
			Reset(&r, data, 1, true)
			got.pairs = first(&r)
			for r.More() {
				kv, ok := one(&r)
				if !ok {
					break
				}
				got.pairs = append(got.pairs, kv)
			}
			got.nodes, got.findings, got.left, got.failed = r.nodes, r.findings, len(r.data)-r.off, r.Failed()
			return got
		}
		for name, one := range map[string]func(r *Reader) (KeyValue, bool){
			"Pair": func(r *Reader) (KeyValue, bool) { return ReadPair(r, group, key, value, hidden) },
			"Setting": func(r *Reader) (KeyValue, bool) {
				kv, ok := ReadSetting(r, group, key, value, hidden, 'a', len(data))
				if !ok {
					open := r.BeginRecord(group)
					kv.Key = Element(r, key, 'a', len(data))
					if r.More() {
						kv.Value = Element(r, value, 'a', len(data))
						HideSetting(r, hidden, kv.Key, kv.Value)
					}
					ok = r.EndRecord(open)
				}
				return kv, ok
			},
		} {
			if got, want := of(nil, none, one), of(&Inject{Read: 1 << 30}, none, one); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %q: %+v, want %+v", name, data, got, want)
			}
		}
		most := rng.IntN(8)
		several := func(r *Reader) []KeyValue {
			list := ReadPairs(r, group, key, value, hidden, most, nil)
			if len(list) > most {
				t.Fatalf("%q: %d pairs, at most %d were wanted", data, len(list), most)
			}
			fromList += len(list)
			return list
		}
		pair := func(r *Reader) (KeyValue, bool) { return ReadPair(r, group, key, value, hidden) }
		if got, want := of(nil, several, pair), of(nil, none, pair); !reflect.DeepEqual(got, want) {
			t.Fatalf("Pairs: %q: %+v, want %+v", data, got, want)
		}
		if _, end, _ := twoTexts(data, 0); end > 0 {
			atOnce++
		}
	}
	if atOnce < 1000 || fromList < 1000 {
		t.Errorf("only %d were read at once, %d as a list", atOnce, fromList)
	}
}

func TestWide(t *testing.T) {
	catalog := NewCatalog("test")
	f := catalog.Add("name", String, "A text.", FreeText, InStyle(Unreal))
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"\xe2\x00\xdc\x02\x3a\x20M\x00", "\u00e2\u02dc\u203aM"}, // â˜›M
		{"\x3d\xd8\x00\xde!\x00", "\U0001f600!"},
		{"\x3d\xd8!\x00", "\ufffd!"},
		{"\x00\xde\x3d\xd8", "\ufffd\ufffd"},
	} {
		for _, tree := range []bool{false, true} {
			var r Reader
			Reset(&r, []byte("\x81\x01"+tc.in+"\x00\x00rest"), 1, tree)
			got := Wide(&r, f, 2, len(tc.in)/2, 2)
			if got != tc.want || r.Failed() || r.Left() != 4 || len(r.findings) > 0 {
				t.Errorf("%q: %q, want %q; %v, %d left, %d findings", tc.in, got, tc.want, Err(&r), r.Left(), len(r.findings))
			}
			if !tree {
				continue
			}
			n := &r.nodes[0]
			if s := string(n.Text(nil, r.data)); s != tc.want || !n.Wide || n.Style() != UnrealWide || string(n.Value(r.data)) != tc.in {
				t.Errorf("%q: the leaf says %q, %+v", tc.in, s, n)
			}
		}
	}
	var r Reader
	Reset(&r, []byte("\x83a\x00b\x00"), 1, true)
	if got := Wide(&r, f, 1, 3, 0); got != "" || !r.Failed() || len(r.nodes) != 0 {
		t.Errorf("cut: %q, %v", got, r.nodes)
	}
}

func TestSecretSetting(t *testing.T) {
	for _, key := range []string{"password", "passwd", "sv_password", "rconPassword", "ADMINPASSWORD", "x.PassWord.y", "passw", "w_passw", "wwwpasswwww", "net_serverRemoteConsolePassword"} {
		for _, value := range []string{"hunter2", "12", "-12", "x", "^", "not", "0 0", "true dat", "\xff"} {
			if !nettext.SecretSetting(key, value) {
				t.Errorf("%s %q is shown", key, value)
			}
		}
		for _, value := range []string{"", " ", "0", "1", "-1", " 1 ", "true", "FALSE", "Yes", "no", "on", "Off", "none", "N", "y", "^7", "^1^7", "^10^7", "0\x00"} {
			if nettext.SecretSetting(key, value) {
				t.Errorf("%s %q is hidden", key, value)
			}
		}
	}
	for _, key := range []string{"", "pass", "passe", "needpass", "sv_passtime", "w", "wwwwwwwwwwww", "hostname", "pas_sword", "throw", "sv_wateraccelerate", "passive", "pass word"} {
		if nettext.SecretSetting(key, "hunter2") {
			t.Errorf("%s is hidden", key)
		}
	}
}

// TestManyRecords: what a message can hold is bounded, and that it was is said.
func TestManyRecords(t *testing.T) {
	var r Reader
	list := &Field{Path: "x.list", Kind: List}
	Reset(&r, []byte("data"), 1, true)
	n := 0
	for r.More() {
		r.End(r.Begin(list))
		if n++; n > 2*MaxRecords {
			t.Fatal("there is no end")
		}
	}
	if n != MaxRecords+1 || Err(&r) == nil || r.records <= MaxRecords {
		t.Errorf("%d records, %v", n, Err(&r))
	}
}

// TestManyFindings: the findings of a message are bounded, and those left out
// are counted.
func TestManyFindings(t *testing.T) {
	var r Reader
	Reset(&r, nil, 1, false)
	for range maxFindings + 7 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != maxFindings || r.leftOut != 7 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}

// TestManySources: what a message can be unpacked to, again and again, has an
// end.
func TestManySources(t *testing.T) {
	var r Reader
	Reset(&r, []byte("x"), 1, true)
	n := 0
	for Err(&r) == nil {
		r.Open("inside", []byte("x"))
		if n++; n > 2*maxSources {
			t.Fatal("there is no end")
		}
	}
	if got := len(Sources(&r)); got != maxSources {
		t.Errorf("%d sources, %v", got, Err(&r))
	}
}

// TestReaderLimits: the numbers of docs/limits.md, said once more: so much is taken,
// and not one more.
func TestReaderLimits(t *testing.T) {
	var r Reader
	Reset(&r, []byte("x"), 1, true)
	for range 259 {
		r.Open("inside", []byte("x"))
	}
	if Err(&r) != nil || len(Sources(&r)) != 260 {
		t.Errorf("%d sources: %v", len(Sources(&r)), Err(&r))
	}
	if r.Open("inside", []byte("x")); Err(&r) == nil {
		t.Error("a source more is taken")
	}

	Reset(&r, []byte("x"), 1, true)
	for range 8192 {
		r.End(r.Begin(leftover))
	}
	if Err(&r) != nil {
		t.Errorf("8192 records: %v", Err(&r))
	}
	if r.End(r.Begin(leftover)); Err(&r) == nil {
		t.Error("a record more is taken")
	}

	Reset(&r, []byte("x"), 1, true)
	for range 33 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != 32 || r.leftOut != 1 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}
