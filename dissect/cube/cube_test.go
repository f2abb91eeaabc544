package cube

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
)

// Replies as servers send them, without the request that they begin with.
const (
	sauer    = "\x02\x05\x80\x04\x01\x0b\x80\x58\x02\x0c\x00forge\x00\x0c3My server\x00"
	slow     = "\x00\x07\x80\x04\x01\x00\x00\x08\x04\x01\x32\x00Caf\x8b\x00"
	frontier = "\x01\x06\x80\x86\x00\x02\x00\x0a\x10\x00deadsimple\x00A server\x00"
	red      = "\x02\x0f\x80\xe6\x00\x05\x00\x80X\x02\x20\x00\x80\x86\x13\x00\x01\x06\x00\x02\x40\x00\x00enyo\x00My RE\x00stable\x00Anna\x00\x0cyB\x00anna\x00\x00"
	redNone  = "\x00\x0f\x80\xe6\x00\x05\x00\x80X\x02\x20\x00\x80\x86\x13\x00\x01\x06\x00\x02\x40\x00\x00enyo\x00My RE\x00\x00"
	newer    = "\x00\x11\x80\xe6\x00\x05\x00\x80X\x02\x20\x00\x80\x86\x13\x00\x01\x06\x00\x02\x40\x00\x00\x07\x08enyo\x00My RE\x00\x00"
	older    = "\x00\x0a\x80\xc8\x00\x02\x00\x0a\x10\x00\x00\x00\x01\x02map\x00Old RE\x00"
	tess     = "\x02\x03\x10\x03\x00\x80\x2c\x01\x00steelrat\x00A server\x00"
	assault  = "\x80\xb1\x04\x05\x02\x0aac_desert\x00Test\x00\x10\x01"
	names    = "\x01Alice\x00Bob\x00\x00"
	text     = "\x02en\x00Welcome!\x00No swearing.\x00\x00"
	noText   = "\x02\x00"
	rotation = "\x03\x02ac_desert\x00\x05\x0fac_mines\x00\x00\x0a\x00"
	uplink   = "\x04\x11\x22\x33"

	head     = "\xff\x69"
	player   = "\x00\xf5\x03\x28nam\x80\x80\xff\x00good\x00\x07\x01\x02\x00\x21\x64\x00\x06\x00\x00\xc0\x00\x02"
	scores   = "\x00\x09\x80\x2c\x01good\x00\x20\x02\x01\x03evil\x00\x00\xffugly\x00\x01\x00"
	acScores = "\xff\x68\x00\x05\x0aRVSF\x00\x1f\x02\xffCLA\x00\x07\xff\xff"
)

// requests returns the lengths at which a payload ends after one to four numbers: what is
// left then is a request, if the second number is small.
func requests(payload string) (list []int) {
	for n, at := 0, 0; n < 4 && at < len(payload); n++ {
		c := payload[at]
		if n == 1 && c > 9 {
			break
		}
		switch c {
		case 0x80:
			at += 3
		case 0x81:
			at += 5
		default:
			at++
		}
		list = append(list, at)
	}
	return list
}

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, sound ...int) dissecttest.Sample {
		s := dissecttest.One(name, message, dissect.Possible, payload)
		if len(payload) == 1 {
			s.Verdict = dissect.Doubtful
		}
		s.Sound = append(requests(payload), sound...)
		return s
	}
	says := func(s dissecttest.Sample, findings ...string) dissecttest.Sample { s.Findings = findings; return s }
	const client = "\x05"
	list := []dissecttest.Sample{
		one("info request", "info_request", "\x80\xe8\x03"),
		one("info request of 32 bits", "info_request", "\x81\x39\x30\x00\x00\x01"),
		one("request for text", "info_request", "\x01\x02en"),
		one("request of Tesseract", "info_request", "\xff\xff\x05", 2),
		one("request of Tesseract without a number", "info_request", "\xff\xff"),
		one("uptime request", "uptime_request", "\x00\x00\x01"),
		one("uptime request without a command", "uptime_request", "\x00"),
		one("players request", "players_request", "\x00\x01\xff"),
		one("teams request", "teams_request", "\x00\x02"),
		one("other command", "extended_request", "\x00\x07"),

		one("uptime", "uptime_reply", "\x00\x00"+head+"\x80\x10\x27"),
		one("uptime of a modified server", "uptime_reply", "\x00\x00\x01"+head+"\x09\xf8\x01\x02", 6, 7, 8),
		one("player numbers", "player_ids_reply", "\x00\x01\xff"+head+"\x00\xf6\x00\x01\x80\x80\x00", 7, 8, 9),
		says(one("no player", "refusal", "\x00\x01\x09"+head+"\x01"), "cube.refused"),
		says(one("no such command", "refusal", "\x00\x07"+head+"\x01"), "cube.refused"),
		one("player", "player_reply", "\x00\x01\xff"+head+player),
		one("player with more", "player_reply", "\x00\x01\xff"+head+player+"\x05", len(player)+5),
		one("teams", "teams_reply", "\x00\x02"+head+scores, 9, 18, 25),
		one("teams of AssaultCube", "teams_reply", "\x00\x02"+acScores, 7, 14, 15, 21),
		one("no teams", "teams_reply", "\x00\x02"+head+"\x01\x00\x00"),

		one("Sauerbraten", "info_reply", client+sauer),
		one("paused", "info_reply", client+slow),
		one("Blood Frontier", "info_reply", client+frontier),
		one("Red Eclipse", "info_reply", client+red),
		one("Red Eclipse without players", "info_reply", client+redNone),
		one("more numbers", "info_reply", client+newer),
		one("older numbers", "info_reply", client+older),
		one("Tesseract", "info_reply", client+tess),
		one("AssaultCube", "info_reply", client+assault),
		one("AssaultCube with names", "info_reply", client+assault+names, 24),
		says(one("AssaultCube with fewer names than players", "info_reply", client+"\x80\xb1\x04\x05\x03"+assault[5:]+names, 24), "cube.players.count"),
		says(one("AssaultCube with more names than players", "info_reply", client+"\x80\xb1\x04\x05\x01"+assault[5:]+names, 24), "cube.players.count"),
		one("AssaultCube with text", "info_reply", client+assault+text, 24),
		one("AssaultCube without text", "info_reply", client+assault+noText, 24),
		one("AssaultCube with rotation", "info_reply", client+assault+rotation, 24),
		one("AssaultCube with uplink", "info_reply", client+assault+uplink, 24, 25, 26, 27),
	}
	neither := says(one("neither", "unknown", "\x05\x06\x07\x08\x09\x0a\x0b"), "malformed")
	neither.Verdict = dissect.No
	return append(list, neither, says(one("broken off", "info_reply", client+sauer[:12]), "malformed"))
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

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
