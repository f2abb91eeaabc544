package quake3

import (
	"encoding/hex"
	"math/rand/v2"
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

// TestManyLines: however many lines there are, none is looked at again for each other.
func TestManyLines(t *testing.T) {
	for _, tail := range []string{strings.Repeat("\n", 60000), strings.Repeat("\nx", 30000)} {
		m, _ := Parse([]byte(status + `\a\b` + tail))
		if want := "b" + strings.TrimRight(tail, "\n"); m.(*StatusReply).Rules[0].Value != want {
			t.Errorf("%d bytes, want %d", len(m.(*StatusReply).Rules[0].Value), len(want))
		}
	}
}

// recorded is a message of an OpenArena 0.8.8 client (testdata/pcaps/quake3,
// openarena-connect.pcap).
const recorded = "" +
	"ffffffff636f6e6e65637420013d4474308e050cc726c314ec8ef967301a1629d800e7c37030af0b7bc394c2d17108ec1527" +
	"c3456b185623cf2dbe6e6e2c4562c4f656a3e701358ea5c1d91efad9a721100a3c78791273867b3e82493488abf91585d8fa" +
	"2f174b6c2ac31e3d6b569f71973f487690244a55adc0c34804edddd63f449f19bf550cab9c473d9fcbfffc4937f2e7a25025" +
	"0f3c158f15f4c7891fa784e5983bee0dc479574bd3f5836b60887543f1474a7bbfeca6f60e9cc45322899bab5505decf943d" +
	"7e24cf0997d7a2fb8b5b38448502c48bd098a13649c4c87ac4a1af67c43c79c10a84737b040b3101a22844ac11e296827afe" +
	"c672b24eb0dce89a0307b3e000"

// TestRecordedConnect unpacks the userinfo of a real client.
func TestRecordedConnect(t *testing.T) {
	payload := must.Get(hex.DecodeString(recorded))(t)
	m := parse[*Connect](t, string(payload))
	var got strings.Builder
	for _, kv := range m.Userinfo {
		got.WriteString(`\` + kv.Key + `\` + kv.Value)
	}
	const want = `\challenge\1446903372\qport\1359\protocol\71\name\^1Vis^7itor  x \password\hunter2\rate\25000\snaps\20\model\sarge\headmodel\sarge\team_model\james\team_headmodel\*james\color1\4\color2\5\handicap\100\teamtask\0\sex\male\cl_anonymous\0\cg_predictItems\1\cl_voipProtocol\opus\cl_guid\5F0177C2A76EDBE1C9630DC22D02983C`
	if got.String() != want || m.Packed != len(payload)-len("....connect ") {
		t.Errorf("%s, %d bytes", got.String(), m.Packed)
	}
	// Packing it again gives the client's bytes.
	if again := header + "connect " + pack(`"`+want+`"`); again != string(payload) {
		t.Errorf("packed to %x", again)
	}
	if got := dissecttest.Decode(t, Protocol(), payload); len(got.Findings) > 0 {
		t.Errorf("%d findings", len(got.Findings))
	}
}

// TestPack packs and unpacks text of all kinds with one tree.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var tr tree
	for i := range 300 {
		text := make([]byte, rng.IntN(1+i*i/30))
		symbols := 1 + rng.IntN(256)
		for k := range text {
			text[k] = byte(rng.IntN(symbols) * rng.IntN(2))
		}
		packed := pack(string(text))
		got, whole := tr.unpack(nil, []byte(packed))
		if string(got) != string(text) || !whole {
			t.Fatalf("%q unpacks to %q", text, got)
		}
		if len(text) < 8 {
			continue
		}
		if got, whole = tr.unpack(nil, []byte(packed[:len(packed)-2])); whole || !strings.HasPrefix(string(text), string(got)) {
			t.Fatalf("%q, cut, unpacks to %q", text, got)
		}
	}
	// The longest message, with all bytes equally often; and a longer one.
	all := make([]byte, maxUnpacked)
	for i := range all {
		all[i] = byte(i)
	}
	if got, whole := tr.unpack(nil, []byte(pack(string(all)))); string(got) != string(all) || !whole {
		t.Error("the longest message does not unpack")
	}
	if got, whole := tr.unpack(nil, []byte(pack(string(all)+"x"))); len(got) != maxUnpacked || whole {
		t.Errorf("%d bytes", len(got))
	}
	for _, packed := range []string{"", "\x01", "\x00\x01", "\xff\xff\xff"} {
		if _, whole := tr.unpack(nil, []byte(packed)); whole {
			t.Errorf("%q passes for whole", packed)
		}
	}
}

// TestConnectTooLong checks that a userinfo that unpacks to too much is read as far as
// it was unpacked, and that this is reported.
func TestConnectTooLong(t *testing.T) {
	r := dissecttest.Decode(t, Protocol(), []byte(header+"connect "+pack(userinfo[:len(userinfo)-1]+strings.Repeat("x", maxUnpacked))))
	c := r.Body.(*Connect)
	n := len(r.Sources) - 1
	if got := len(r.Sources[n].Data); got != maxUnpacked || len(c.Userinfo) == 0 || len(r.Findings) != 1 || r.Findings[0].Type != connectCut {
		t.Errorf("%d bytes, %d settings, findings %v", got, len(c.Userinfo), r.Findings)
	}
}
