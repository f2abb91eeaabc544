package quake3

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
)

const (
	header = "\xff\xff\xff\xff"
	token  = "k3Zq8mT1vXc5RbN7wLs2HgY9"
	status = header + "statusResponse\n"
	info   = header + "infoResponse\n"
)

// pack packs text as the engine does.
func pack(text string) string {
	var t tree
	t.reset()
	out := []byte{byte(len(text) >> 8), byte(len(text))}
	n := 0
	put := func(bit byte) {
		if n%8 == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] |= bit << (n % 8)
		n++
	}
	var send func(node int16)
	send = func(node int16) {
		if up := t.nodes[node].parent; up != none {
			send(up)
			if t.nodes[up].children[1] == node {
				put(1)
			} else {
				put(0)
			}
		}
	}
	for i := range len(text) {
		if leaf := int16(text[i]); t.nodes[leaf].parent != none {
			send(leaf)
		} else {
			send(newByte)
			for shift := 7; shift >= 0; shift-- {
				put(text[i] >> shift & 1)
			}
		}
		t.add(text[i])
	}
	return string(out)
}

const userinfo = `"\challenge\-1446903372\qport\1359\protocol\71\name\^1Vis^7itor\password\hunter2\rate\25000\cl_guid\5F0177C2A76E"`

// digest is that of a secure command; its bytes can be blanks, line ends and zeros.
const digest = "\x97\xc2\x6c\x20\x53\x79\x0a\x02\x00\xad\xac\xee\x13\x4d\xc0\x56"

// settings are those of an ioquake3 server.
const settings = `\com_protocol\71\sv_hostname\^1Arena ^7of ^x0F0doom\sv_maxclients\16\g_needpass\0\version\ioq3 1.36 linux-x86_64\mapname\q3dm17\gamename\baseq3\sv_keywords\\ Administrator\Jane`

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	// Text may end anywhere; truncation has rows of its own.
	cut := func(name, message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := one(name, message, verdict, payload)
		s.Cut, s.Findings = true, findings
		return s
	}
	// Cut, the word is no word.
	short := func(name, message, payload string) dissecttest.Sample {
		return one(name, message, possible, payload)
	}
	reply := func(name, payload string, findings ...string) dissecttest.Sample {
		s := one(name, "status_reply", certain, payload)
		s.Findings = findings
		// The reply is complete at the end of any line.
		for i := len(status); i < len(payload); i++ {
			if payload[i-1] == '\n' {
				s.Sound = append(s.Sound, i)
			}
		}
		return s
	}
	return []dissecttest.Sample{
		cut("getstatus", "status_request", certain, header+"getstatus"),
		cut("getstatus with a new line", "status_request", certain, header+"getstatus\n"),
		cut("getstatus with a zero byte", "status_request", certain, header+"getstatus\x00"),
		cut("getstatus with both", "status_request", certain, header+"getstatus\n\x00"),
		cut("getstatus in capitals", "status_request", certain, header+"GETSTATUS\n"),
		cut("getstatus with a challenge", "status_request", certain, header+"getstatus s.QaG3{gB"),
		cut("getstatus with a quoted challenge", "status_request", certain, header+"getstatus \"two words\" more\n"),
		cut("getstatus with many blanks", "status_request", certain, header+"getstatus"+strings.Repeat(" ", 400)+"xxx"),
		cut("getstatus of Medal of Honor", "status_request", certain, header+"\x02getstatus xxx\x00"),
		cut("getstatus with a challenge that is not sent back", "status_request", certain, header+"getstatus a\\b", "q3.challenge_form"),
		cut("getstatus with a long challenge", "status_request", certain, header+"getstatus "+strings.Repeat("x", 200), "q3.challenge_form"),
		cut("getstatus with bytes behind", "status_request", certain, header+"getstatus\nmore", "trailing"),
		cut("getinfo", "info_request", certain, header+"getinfo xxx"),

		cut("secure command by time", "srcon_request", certain, header+"srcon HMAC-MD4 TIME "+digest+" 1795304546.123456 sv_gravity"),
		cut("secure command by challenge", "srcon_request", certain, header+"srcon HMAC-MD4 CHALLENGE "+digest+" Yi=h8l|CBS. set rcon_password x; status\n\x00"),
		short("ping", "ping_request", header+"ping"),
		short("ack", "ping_reply", header+"ack"),
		cut("print of DarkPlaces", "print", possible, header+"n\"sv_gravity\" is \"800\"\n"),
		cut("print of DarkPlaces that begins with letters", "print", possible, header+"nhost:     Nexuiz\nversion:  Nexuiz build\n"),
		cut("challenge of digits with keys", "challenge_reply", possible, header+"challenge 11111111111\x00vlen\x04\x00\x00\x00d0pk\x00\x01"),
		cut("challenge with keys", "challenge_reply", possible, header+"challenge Yi=h8l|CBS.\x00vlen\x04\x00\x00\x00d0pk\x00\x01"),

		reply("no players", status+settings+"\n"),
		reply("players", status+settings+"\n0 64 \"^1Fo\"\n-9999 999 \"\"\n1274390 0 \"Sarge\"\n"),
		reply("players of Medal of Honor", header+"\x01statusResponse\n\\challenge\\xxx"+settings+"\n58 \"Unnamed Soldier\"\n250 \"M@TT!@$\"\n"),
		reply("players with teams", status+settings+"\n0 0 1 \"[BOT]Lion\"\n12 33 -1 \"^xF00Red\"\n"),
		reply("players with teams behind", status+settings+"\n7 40 \"Bob\" 2\n0 5 \"Spectator\" 0 \n"),
		reply("players with addresses", status+settings+"\n2 162 \"ninja\" \"192.0.2.7:27910\"\n1 0 \"bot\" \"loopback\"\n"),
		reply("players of Pacific Assault", status+settings+"\n0 12 3 614 1 \"Private\" \"Conlin\"\n"),
		reply("fractions", status+settings+"\n12.5 17 \"clan arena\"\n+3 17 \"sign\"\n"),
		reply("more numbers than known", status+settings+"\n1 2 3 4 5 \"x\"\n1 2 3 4 \"Bob\" 5\n"),
		reply("an empty line before the players", status+settings+"\n\n0 0 1 \"[BOT]Lion\"\n"),
		reply("two new lines at the end", status+settings+"\n3700 12 \"^:freysan\"\n\n"),
		reply("a zero byte at the end", status+settings+"\n3700 12 \"^:freysan\"\n\x00"),
		reply("carriage returns", status+settings+"\r\n1 2 \"Alice\"\r\n"),
		reply("a new line in a value", status+`\fs_manifest\baseq3/13camp.pk3@319779252
 baseq3/pak100.pk3@2388798635
 \mapname\13camp`+"\n10 33 \"^z0Player\"\n", "q3.newline"),
		reply("a new line in the last value", status+"\\mapname\\13camp\\fs_manifest\\a.pk3\n b.pk3\n", "q3.newline"),
		reply("an odd number of backslashes", status+"\\key\\value\\other-key\n", "q3.oddkv"),
		reply("no backslash first", status+"key\\value\n", "q3.start"),
		reply("no new line at the end", status+"\\key\\value", "q3.noeol"),
		reply("no new line behind the players", status+settings+"\n1 2 \"Alice\"", "q3.noeol"),
		reply("cut in a name", status+settings+"\n1 2 \"Alice\"\n3 4 \"Bo", "q3.cut"),
		reply("cut in the first player", status+settings+"\n1", "q3.cut"),
		reply("quotation marks in names", status+settings+"\n1 2 \"Al\"ice\"\n3 4 \"a\" \"b\"\n5 6 \"x\"\" 1\n", "q3.name_quote", "q3.name_quote", "q3.name_quote"),
		reply("a line that is none", status+settings+"\n1 2 \"Alice\"\nmore text\n3 4 \"Bob\"\n", "q3.line"),
		reply("a last line that is none", status+settings+"\n1 2 \"Alice\"\nmore", "q3.line", "q3.noeol"),
		reply("too many players", status+"\\sv_maxclients\\1\n1 2 \"Alice\"\n3 4 \"Bob\"\n", "q3.counts"),
		reply("Call of Duty", status+"\\^5Contact^6\\admin@example.org\\gamename\\Call of Duty 2\\shortversion\\1.3\\pswrd\\1\\sv_hostname\\\x01\x01ne^5X^7us\n44 168 \"^^00East^^22|^^00wood\"\n"),
		reply("an old encoding", status+"\\sv_hostname\\Caf\xe9\n1 2 \"B\xf6b\"\n", "enc.notutf8"),
		cut("settings at once", "status_reply", certain, header+"statusResponse\\a\\b\n"),
		cut("end of a match", "game_complete", certain, header+"gameCompleteStatus\n"+settings+"\n1 2 \"Alice\"\n"),

		cut("infoResponse", "info_reply", certain, info+`\voip\opus\g_needpass\1\sv_maxclients\8\g_humanplayers\1\clients\3\mapname\oasago2\hostname\OA\challenge\s.QaG3{gB`),
		cut("infoResponse of FiveM", "info_reply", certain, info+`\sv_maxclients\30\clients\4\challenge\xxx\gamename\CitizenFX\protocol\4\hostname\RP\gametype\Freeroam\mapname\fivem-map-skater\iv\173148099`),
		cut("infoResponse with an end", "info_reply", certain, info+`\hostname\OA`+"\n\x00"),
		cut("infoResponse in quotation marks", "info_reply", certain, header+`infoResponse "\hostname\OA"`),
		cut("infoResponse of Medal of Honor", "info_reply", certain, header+"\x01infoResponse\n\\hostname\\OA"),
		cut("infoResponse with an odd key", "info_reply", certain, info+`\hostname\OA\clients`, "q3.oddkv"),
		cut("infoResponse with too many players", "info_reply", certain, info+`\hostname\OA\clients\20\sv_maxclients\16`, "q3.counts"),

		cut("getchallenge", "challenge_request", possible, header+"getchallenge"),
		cut("getchallenge of ioquake3", "challenge_request", likely, header+"getchallenge -1234567 Quake3Arena"),
		cut("getchallenge of Call of Duty", "challenge_request", likely, header+`getchallenge 0 "0123456789abcdef0123456789ABCDEF"`+"\n"),
		cut("challengeResponse", "challenge_reply", certain, header+"challengeResponse 2134398222"),
		cut("challengeResponse of ioquake3", "challenge_reply", certain, header+"challengeResponse 2134398222 -1234567 71"),
		cut("challenge of DarkPlaces", "challenge_reply", possible, header+"challenge YqUPWJtIZhJ\x00"),
		cut("connect", "connect_request", likely, header+"connect "+pack(userinfo)),
		cut("connect of old engines", "connect_request", likely, header+"connect "+userinfo+"\x00"),
		cut("connect without quotation marks", "connect_request", possible, header+`connect \name\Bob\cdkey\ABCD`),
		cut("connect with an odd key", "connect_request", likely, header+`connect "\name\Bob\odd"`, "q3.oddkv"),
		cut("connect, cut", "connect_request", likely, header+"connect "+pack(userinfo)[:60], "q3.connect.cut"),
		cut("connect in another packing", "connect_request", possible, header+"connect \x00\x10\x9a\x71\x03\xff\x17\x20", "q3.connect.packed"),
		cut("connectResponse", "connect_reply", certain, header+"connectResponse 2134398222"),
		cut("connectResponse of old engines", "connect_reply", certain, header+"connectResponse"),
		cut("disconnect", "disconnect", possible, header+"disconnect"),
		cut("rcon", "rcon_request", possible, header+"rcon s3cret status\x00"),
		cut("rcon in quotation marks", "rcon_request", possible, header+"rcon \"s3cret words\" map q3dm6\n"),
		cut("rcon behind a number", "rcon_request", possible, header+"rcon 2045268312 hunter2 g_password hunter2"),
		cut("print", "print", possible, header+"print\nmap: q3dm17\ncl score ping name\n\n"),
		cut("print of one long line", "print", possible, header+"print\n"+strings.Repeat("long é ", 30)),
		cut("print of a refusal", "print", possible, header+"print\nBad rconpassword.\n", "q3.rcon.refused"),
		cut("echo", "echo", possible, header+"echo hello"),
		cut("echo challenge", "echo_challenge", certain, header+"echo \"echoResponse getstatus "+token+"\""),
		cut("echo challenge without quotation marks", "echo_challenge", certain, header+"echo echoResponse getinfo "+token+"\n"),
		cut("echo challenge without a token", "echo_challenge", certain, header+"echo \"echoResponse getstatus\"", "malformed"),
		cut("echo response", "echo_response", certain, header+"echoResponse getstatus "+token),
		cut("echo response to something else", "echo_response", certain, header+"echoResponse getservers "+token+"\n\x00"),
		cut("getKeyAuthorize", "key_authorize_request", certain, header+"getKeyAuthorize 0 ABCDEFGHJKLMNOPQ PB 0123\x00"),
		cut("keyAuthorize", "key_authorize_reply", certain, header+"keyAuthorize"),
		cut("getIpAuthorize", "ip_authorize_request", certain, header+`getIpAuthorize 2134398222 192.0.2.7 baseq3 0 1`),
		cut("getIpAuthorize of Call of Duty", "ip_authorize_request", certain, header+`getIpAuthorize 17 192.0.2.7 "" 0 "0123456789abcdef0123456789abcdef"`),
		cut("ipAuthorize", "ip_authorize_reply", certain, header+"ipAuthorize 2134398222 accept"),
		cut("getmotd", "motd_request", certain, header+`getmotd "\challenge\17\renderer\llvmpipe\version\ioq3 1.36"`+"\n"),
		cut("motd", "motd_reply", certain, header+`motd "\challenge\17\motd\Welcome"`),
		cut("a header and nothing else", "unknown", possible, header, "q3.empty"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

func parse[T Message](t *testing.T, payload string) T {
	t.Helper()
	m, err := Parse([]byte(payload))
	if err != nil {
		t.Fatalf("%q: %v", payload, err)
	}
	got, ok := m.(T)
	if !ok {
		t.Fatalf("%q is a %T", payload, m)
	}
	return got
}

// TestWords accepts the words alone and rejects what only begins like them or belongs
// to related protocols.
func TestWords(t *testing.T) {
	const no, possible, likely, certain = dissect.No, dissect.Possible, dissect.Likely, dissect.Certain
	for payload, want := range map[string]dissect.Verdict{
		"":                                  possible, // a header alone
		"getstatus":                         certain,
		"getstatus\n":                       certain,
		"getstatus\x00":                     certain,
		"getstatus xxx":                     certain,
		"GetStatus":                         certain,
		"\x02getstatus xxx\x00":             certain,
		"\x03getstatus":                     no,
		"getstatusx":                        no,
		"getstatus\\":                       no,
		"getstatus2":                        no,
		"statusResponse\n\\a\\b":            certain,
		"\x01statusResponse\n":              certain,
		"statusResponse\\a\\b":              certain,
		"statusResponses\n":                 no,
		"getinfo":                           certain,
		"infoResponse\n":                    certain,
		"infostring\x00":                    no, // Half-Life
		"info\n":                            no,
		"infostringresponse\x00\\a\\b":      no,
		"status\n":                          no, // Quake 2, QuakeWorld
		"status 23\n":                       no,
		"n\\maxfps\\77":                     no, // QuakeWorld
		"print\n\\mapname\\q2dm1\n":         no, // Quake 2
		"print\nBad rconpassword.\n":        possible,
		"getservers 68":                     no, // a master's
		"getserversResponse\\":              no,
		"heartbeat QuakeArena-1\n":          no,
		"getchallenge":                      possible,
		"getchallenge\n":                    possible, // Quake 2, QuakeWorld
		"getchallenge -123 Quake3Arena":     likely,
		"getchallenge 0 \"0123\"":           likely, // Call of Duty
		"challengeResponse 123":             certain,
		"challenge YqUPWJtIZhJ":             possible, // DarkPlaces
		"challenge 12345678901x":            possible,
		"challenge 123":                     no, // Xash3D
		"challenge 123\n":                   no,
		"challenge 123 p=34":                no, // Quake 2
		"challenge rcon 123\n":              no, // Half-Life
		"challenge rcon":                    no,
		"challenge":                         no,
		"connect \"\\name\\Bob\"":           likely,
		"connect \x01\x3d\x44\x74\x30":      likely,
		"connect \x01\x3d\x44\x75\x30":      possible,
		"connect 28 123 456 \"\\name\\x\"":  no, // QuakeWorld, Quake 2
		"connect\\protocol\\darkplaces 3":   no, // DarkPlaces
		"connect":                           no,
		"connectResponse":                   certain,
		"disconnect":                        possible,
		"rcon secret status\x00":            possible,
		"rcon":                              no,
		"echo hello":                        possible,
		"echo \"echoResponse getstatus x\"": certain,
		"echo \"echoResponses\"":            possible,
		"echoResponse getstatus x":          certain,
		"echoResponses":                     no,
		"getmotd \"\\challenge\\1\"":        certain,
		"getmotd":                           possible,
		"getKeyAuthorize 0 ABC":             certain,
		"ipAuthorize 1 accept":              certain,
		"TSource Engine Query\x00":          no,
		"\x00\x40\x18\x01getstatus":         no, // RDP over UDP
		"\x21\x4c\x5f\xa0getstatus":         no, // Steam
	} {
		if got := Detect([]byte(header + payload)); got != want {
			t.Errorf("%q: %v, want %v", payload, got, want)
		}
	}
	for _, payload := range []string{"", "\xff", "\xff\xff\xff", "getstatus", "\xff\xffgetInfo\x00", "\xfe\xff\xff\xffgetstatus"} {
		if got := Detect([]byte(payload)); got != no {
			t.Errorf("%q: %v", payload, got)
		}
	}
}

// TestPlayers reads lines of players in all formats.
func TestPlayers(t *testing.T) {
	number := dissect.Some[int]
	score := dissect.Some[float64]
	for _, tc := range []struct {
		line string
		want Player
	}{
		{`0 64 "^1Fo"`, Player{Name: "^1Fo", Score: score(0), Ping: number(64)}},
		{`-9999 999 ""`, Player{Score: score(-9999), Ping: number(999)}},
		{`12.5 17 "Arena"`, Player{Name: "Arena", Score: score(12.5), Ping: number(17)}},
		{`  1   2   "Bob"  `, Player{Name: "Bob", Score: score(1), Ping: number(2)}},
		{"1\t2\t\"Bob\"\r", Player{Name: "Bob", Score: score(1), Ping: number(2)}},
		{`0 12 " two  words "`, Player{Name: " two  words ", Score: score(0), Ping: number(12)}},
		{`3 5 1 "Lion"`, Player{Name: "Lion", Score: score(3), Ping: number(5), Team: number(1)}},
		{`3 5 -1 "Lion"`, Player{Name: "Lion", Score: score(3), Ping: number(5), Team: number(-1)}},
		{`7 40 "Bob" 2`, Player{Name: "Bob", Score: score(7), Ping: number(40), Team: number(2)}},
		{`7 40 9 "Bob" 2`, Player{Name: "Bob", Score: score(7), Ping: number(40), Team: number(2)}},
		{`58 "Unnamed"`, Player{Name: "Unnamed", Ping: number(58)}},
		{`58 "12 "quoted" 3"`, Player{Name: `12 "quoted" 3`, Ping: number(58)}},
		{`0 12 3 614 1 "Private" "Conlin"`, Player{Name: "Conlin", Rank: "Private", Score: score(12)}},
		{`2 162 "ninja" "192.0.2.7:27910"`, Player{Name: "ninja", Score: score(2), Ping: number(162), Address: "192.0.2.7:27910"}},
		{`2 162 "ninja" "192.0.2.xxx"`, Player{Name: "ninja", Score: score(2), Ping: number(162), Address: "192.0.2.xxx"}},
		{`2 162 "ninja" "loopback"`, Player{Name: "ninja", Score: score(2), Ping: number(162), Address: "loopback"}},
		{`2 162 "nin" "ja"`, Player{Name: `nin" "ja`, Score: score(2), Ping: number(162)}},
		{`2 162 "nin"ja"`, Player{Name: `nin"ja`, Score: score(2), Ping: number(162)}},
		{`2 162 """`, Player{Name: `"`, Score: score(2), Ping: number(162)}},
		{`1 2 "a\b"`, Player{Name: `a\b`, Score: score(1), Ping: number(2)}},
		{`1 2 3 4 5 6 7 8 "x"`, Player{Name: "x", Score: score(1), Ping: number(2), Team: number(3)}},
	} {
		m := parse[*StatusReply](t, status+"\\a\\b\n"+tc.line+"\n")
		if !slices.Equal(m.Players, []Player{tc.want}) {
			t.Errorf("%s: %+v, want %+v", tc.line, m.Players, tc.want)
		}
		if !slices.Equal(m.Rules, []dissect.KeyValue{{Key: "a", Value: "b"}}) {
			t.Errorf("%s: settings %q", tc.line, m.Rules)
		}
	}
	for _, line := range []string{
		`no player`, `"no number"`, `1 2`, `1 2 name`, `1 2 "open`, `1x 2 "Bob"`, `1 2 "Bob" word`, `1 2 "Bob"3`, `- 2 "Bob"`,
		`1 2 3 4 5 6 7 8 9 "x"`, `1` + strings.Repeat(" ", 300) + `2 "x"`, `1 2 "x"` + strings.Repeat(" ", 300), `1234567890123456789 2 "x"`,
	} {
		// Between two players, so that the line is not part of the settings.
		m := parse[*StatusReply](t, status+"\\a\\b\n1 2 \"Alice\"\n"+line+"\n3 4 \"Bob\"\n")
		if len(m.Players) != 2 {
			t.Errorf("%s passes for a player: %+v", line, m.Players)
		}
	}
}

// TestSettings finds the end of the settings.
func TestSettings(t *testing.T) {
	type kv = dissect.KeyValue
	for _, tc := range []struct {
		name, body string
		want       []kv
		players    int
	}{
		{"nothing", "", nil, 0},
		{"an empty line", "\n", nil, 0},
		{"players and no settings", "\n1 2 \"x\"\n", nil, 1},
		{"one", "\\a\\b\n", []kv{{Key: "a", Value: "b"}}, 0},
		{"no new line", "\\a\\b", []kv{{Key: "a", Value: "b"}}, 0},
		{"empty values", "\\a\\\\b\\\\c\\1\n", []kv{{Key: "a"}, {Key: "b"}, {Key: "c", Value: "1"}}, 0},
		{"repeated keys", "\\a\\1\\a\\2\n", []kv{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}, 0},
		{"blanks in keys", "\\ Admin\\MooN\n", []kv{{Key: " Admin", Value: "MooN"}}, 0},
		{"tabs", "\\Info\\1Z\t\t2\n", []kv{{Key: "Info", Value: "1Z\t\t2"}}, 0},
		{"an odd key", "\\a\\b\\c\n", []kv{{Key: "a", Value: "b"}, {Key: "c"}}, 0},
		{"no first backslash", "a\\b\n", []kv{{Key: "a", Value: "b"}}, 0},
		{"a new line in a value", "\\m\\one\n two\n \\z\\1\n1 2 \"x\"\n", []kv{{Key: "m", Value: "one\n two\n "}, {Key: "z", Value: "1"}}, 1},
		{"a new line in the last value", "\\z\\1\\m\\one\n two\n1 2 \"x\"\n", []kv{{Key: "z", Value: "1"}, {Key: "m", Value: "one\n two"}}, 1},
		{"a number in a line of a value", "\\m\\one\n2 two\\z\\1\n1 2 \"x\"\n", []kv{{Key: "m", Value: "one\n2 two"}, {Key: "z", Value: "1"}}, 1},
		{"a cut player", "\\a\\b\n1 2 \"x", []kv{{Key: "a", Value: "b"}}, 0},
		{"two empty lines", "\\a\\b\n\n\n1 2 \"x\"\n\n\n", []kv{{Key: "a", Value: "b"}}, 1},
		{"zero bytes", "\\a\\b\n1 2 \"x\"\n\x00\x00", []kv{{Key: "a", Value: "b"}}, 1},
		{"many empty lines", "\\a\\b" + strings.Repeat("\n", 60000), []kv{{Key: "a", Value: "b"}}, 0},
		{"many lines", "\\a\\b" + strings.Repeat("\nx", 30000), []kv{{Key: "a", Value: "b" + strings.Repeat("\nx", 30000)}}, 0},
	} {
		b, err := Parse([]byte(status + tc.body))
		m := b.(*StatusReply)
		if ends := strings.HasSuffix(strings.TrimRight(tc.body, "\x00"), "\n"); ends != (err == nil) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !slices.Equal(m.Rules, tc.want) || len(m.Players) != tc.players {
			t.Errorf("%s: %.200q, %d players", tc.name, m.Rules, len(m.Players))
		}
	}
}

// TestServer reads the server data from the settings of different games.
func TestServer(t *testing.T) {
	for _, tc := range []struct {
		name, payload string
		want          string
	}{
		{"ioquake3", info + `\g_needpass\1\sv_maxclients\8\g_humanplayers\1\clients\3\mapname\oasago2\hostname\OA\gamename\Quake3Arena`, "OA, oasago2, Quake3Arena, , 3/8, 2 bots, password true"},
		{"fs_game", status + "\\fs_game\\modsrotu\\gamename\\CoD:UO\\shortversion\\1.41\\pswrd\\0\\sv_maxclients\\250\\sv_hostname\\^1R\n0 1 \"x\"\n", "^1R, , modsrotu, 1.41, 1/250, password false"},
		{"DarkPlaces", info + `\gamename\Nexuiz\gameversion\20000\sv_maxclients\8\clients\5\bots\5\mapname\basement\hostname\Nex`, "Nex, basement, Nexuiz, 20000, 5/8, 5 bots"},
		{"empty game", info + `\game\\gamename\baseq3`, ", , baseq3, , "},
		{"no players stated", info + `\hostname\x\g_humanplayers\0`, "x, , , , "},
		{"more people than players", info + `\clients\1\g_humanplayers\2`, ", , , , 1"},
		{"nothing", status, ", , , , 0"},
	} {
		s := dissecttest.Decode(t, Protocol(), []byte(tc.payload)).Server
		got := s.Name.Value + ", " + s.Map.Value + ", " + s.Game.Value + ", " + s.Version.Value + ", "
		if s.Players.OK {
			got += fmt.Sprint(s.Players.Value)
		}
		if s.MaxPlayers.OK {
			got += fmt.Sprintf("/%d", s.MaxPlayers.Value)
		}
		if s.Bots.OK {
			got += fmt.Sprintf(", %d bots", s.Bots.Value)
		}
		if s.Password.OK {
			got += fmt.Sprintf(", password %v", s.Password.Value)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestParse(t *testing.T) {
	for payload, want := range map[string]string{
		"getstatus":                            "",
		"getstatus \n":                         "",
		"getstatus xxx\x00":                    "xxx",
		"getinfo s.QaG3{gB":                    "s.QaG3{gB",
		"getinfo \"two words\" more":           "two words",
		"getinfo \"open":                       "open",
		"getinfo \"\"":                         "",
		"getinfo \t\t xxx yyy":                 "xxx",
		"\x02getinfo xxx\x00":                  "xxx",
		"getinfo " + strings.Repeat(" ", 1000): "",
	} {
		if m := parse[*Query](t, header+payload); m.Challenge != want {
			t.Errorf("%q: %q, want %q", payload, m.Challenge, want)
		}
	}
	for payload, want := range map[string]Rcon{
		"rcon secret status\x00":                   {"secret", "status"},
		"rcon \"two words\" say \"a b\"\n":         {"two words", `say "a b"`},
		"rcon secret":                              {"secret", ""},
		"rcon  secret  map q3dm6":                  {"secret", " map q3dm6"},
		"rcon " + strings.Repeat(" ", 300) + "x y": {"x", "y"},
	} {
		if m := parse[*Rcon](t, header+payload); *m != want {
			t.Errorf("%q: %+v, want %+v", payload, m, want)
		}
	}
	for payload, want := range map[string]ChallengeRequest{
		"getchallenge": {}, "getchallenge -5 Quake3Arena": {ClientChallenge: "-5", Game: "Quake3Arena"},
		`getchallenge 0 "0123456789abcdef0123456789ABCDEF"`: {ClientChallenge: "0", KeyHash: "0123456789abcdef0123456789ABCDEF"},
		"getchallenge 0 0123456789abcdef0123456789ABCDEF\n": {ClientChallenge: "0", KeyHash: "0123456789abcdef0123456789ABCDEF"},
		"getchallenge 0 0123456789abcdef0123456789ABCDEF0":  {ClientChallenge: "0", Game: "0123456789abcdef0123456789ABCDEF0"},
	} {
		if m := parse[*ChallengeRequest](t, header+payload); *m != want {
			t.Errorf("%q: %+v, want %+v", payload, m, want)
		}
	}
	if m := parse[*ChallengeReply](t, header+"challengeResponse 2134398222 -5 71"); *m != (ChallengeReply{"2134398222", "-5", "71"}) {
		t.Errorf("%+v", m)
	}
	if m := parse[*Text](t, header+"print\nmap: q3dm17\nline\n\x00"); m.Text != "map: q3dm17\nline" {
		t.Errorf("%+v", m)
	}
	if m := parse[*Authorize](t, header+"getIpAuthorize 17 192.0.2.7 baseq3 0 1"); *m != (Authorize{Challenge: "17", IP: "192.0.2.7", Game: "baseq3"}) {
		t.Errorf("%+v", m)
	}
	if m := parse[*InfoReply](t, header+`infoResponse "\hostname\A"`); !slices.Equal(m.Rules, []dissect.KeyValue{{Key: "hostname", Value: "A"}}) {
		t.Errorf("%+v", m)
	}
	// The result does not refer to the payload.
	payload := []byte(status + settings + "\n1 2 \"Alice\"\n")
	m := must.Get(Parse(payload))(t)
	for i := range payload {
		payload[i] = 'x'
	}
	if p := m.(*StatusReply).Players; len(p) != 1 || p[0].Name != "Alice" {
		t.Errorf("%+v", p)
	}
}

func TestParseErrors(t *testing.T) {
	for payload, want := range map[string]string{
		"":                           "quake3.header: 0 bytes at offset 0, 4 needed",
		"\xff\xff":                   "quake3.header: 2 bytes at offset 0, 4 needed",
		header + "getstatusx":        "quake3.command: no such message at offset 4",
		header + "challengeResponse": "quake3.connect.challenge: missing at offset 21",
		header + "connect":           "quake3.userinfo: missing at offset 11",
		header + "rcon":              "quake3.rcon.password: missing at offset 8",
	} {
		_, err := Parse([]byte(payload))
		var e *dissect.Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, want %s", payload, err, want)
		}
	}
}

// TestBots has replies that count only the humans.
func TestBots(t *testing.T) {
	for in, want := range map[string]dissect.Opt[int]{
		info + `\clients\5\g_humanplayers\2`:                             dissect.Some(3),
		info + `\clients\5\g_humanplayers\7`:                             {},
		info + `\clients\5\g_humanplayers\2\bots\1`:                      dissect.Some(1),
		info + `\clients\5`:                                              {},
		status + `\g_humanplayers\1` + "\n0 5 \"A\"\n3 0 \"B\"\n":        dissect.Some(1),
		status + `\bots\2\g_humanplayers\0` + "\n0 5 \"A\"\n3 0 \"B\"\n": dissect.Some(2),
	} {
		if got := dissecttest.Decode(t, Protocol(), []byte(in)).Server.Bots; got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}
