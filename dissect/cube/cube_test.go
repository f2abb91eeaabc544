package cube

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

var (
	test       = dissect.NewCatalog("test")
	fAnyNumber = test.Add("number", dissect.Int, "A number.")
	fAnyText   = test.Add("text", dissect.String, "A text.", dissect.FreeText, core.InCharset(core.CubeChars))
)

// TestNumbers: the forms of a number, and those that are cut.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  int32
		size  int
	}{
		{"\x00", 0, 1}, {"\x7f", 127, 1}, {"\xff", -1, 1}, {"\x82\x00", -126, 1}, {"\x80\x04\x01", 260, 3}, {"\x80\xff\xff\x00", -1, 3},
		{"\x81\x39\x30\x00\x00\x01", 12345, 5}, {"\x81\xff\xff\xff\xff", -1, 5}, {"", 0, 0}, {"\x80\x01", 0, 0}, {"\x81\x01\x02\x03", 0, 0},
	} {
		var r dissect.Reader
		core.Reset(&r, []byte(c.bytes), 1, true)
		if got := readInt(&r, fAnyNumber); got != c.want || r.Offset() != c.size || r.Failed() != (c.size == 0) {
			t.Errorf("%x: %d in %d bytes, %v", c.bytes, got, r.Offset(), core.Err(&r))
		}
		if n := core.Nodes(&r); c.size > 0 && (len(n) != 1 || n[0].Int() != int64(c.want) || int(n[0].Len) != c.size) {
			t.Errorf("%x: %v", c.bytes, n)
		}
	}
}

// TestTexts: texts with characters of one and of three bytes, and as people see them.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		bytes, want, shown string
		size               int
	}{
		{"\x00", "", "", 1},
		{"Test Caf\xc3\xa9\x00more", "Test Caf\xc3\xa9", "Test Café", 11},
		{"na\x8bve\x00", "na\x8bve", "naéve", 6},
		{"\x80\x80\xff\x80\x81\xff\x00", "\x80\x80\xff\x80\x81\xff", "Ýß", 7},
		{"\xc3\x80\x80\xff la carte\x00", "\xc3\x80\x80\xff la carte", "À la carte", 14},
		{"\x08a \x1f \x7f\xff\x00", "\x08a \x1f \x7f\xff", "Ça Û Üґ", 8},
		{"\x0c3red \x0cs\x0c[12]Clan\x0cz01 \x0cr\x00", "\x0c3red \x0cs\x0c[12]Clan\x0cz01 \x0cr", "red Clan ", 25},
		{"a\x81\x42\x00\x00\x00\x80\x00\x01", "a\x81\x42\x00\x00\x00", "aB", 9}, // the low byte of the number counts
		{"no end", "", "", 0},
		{"cut\x80\x80", "", "", 0},
	} {
		var r dissect.Reader
		core.Reset(&r, []byte(c.bytes), 1, true)
		got := readText(&r, fAnyText)
		shown := string(core.AppendText(nil, got, core.CubeChars, core.Cube))
		if got != c.want || shown != c.shown || r.Offset() != c.size || r.Failed() != (c.size == 0) || len(core.Sources(&r)[0].Data) != len(c.bytes) {
			t.Errorf("%q: %q, shown as %q, in %d bytes, %v", c.bytes, got, shown, r.Offset(), core.Err(&r))
		}
		if n := core.Nodes(&r); c.size > 0 && string(n[0].Value([]byte(c.bytes))) != c.want {
			t.Errorf("%q: %q", c.bytes, n[0].Value([]byte(c.bytes)))
		}
	}
}

// TestScan: looking at bytes ends with them.
func TestScan(t *testing.T) {
	s := scan("\x05\x80\x04\x01map\x00\x00\x07")
	if !s.Skip(1) || !s.Between(256, 300) || !s.Texts(2) || s.Between(8, 9) || len(s) != 0 {
		t.Errorf("%x is left", s)
	}
	if s.Skip(1) || s.Texts(1) || s.Between(0, 0) {
		t.Error("something is at the end")
	}
}
