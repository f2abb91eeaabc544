package unreal2

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// words writes numbers of 32 bits.
func words(list ...uint32) string {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return string(b)
}

// texts writes each text behind its length, with the zero byte that is counted.
func texts(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		if s == "" {
			b.WriteByte(0)
			continue
		}
		if n := len(s) + 1; n < 64 {
			b.WriteByte(byte(n))
		} else {
			b.Write([]byte{byte(0x40 | n&0x3f), byte(n >> 6)})
		}
		b.WriteString(s + "\x00")
	}
	return b.String()
}

// wide writes a text in UTF-16, with the zero that is counted; stray goes before it.
func wide(s, stray string) string {
	units := append(utf16.Encode([]rune(s)), 0)
	b := []byte{byte(0x80 | len(units))}
	b = append(b, stray...)
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

const (
	head     = "\x80\x00\x00\x00"
	headXMP  = "\x7e\x00\x00\x00"
	anywhere = "\x00\x00\x00\x00\x00" // no id, no address
)

var (
	ports   = words(7777, 0)
	ut2004  = head + "\x00" + anywhere + ports + texts("\x1b\xff\x01\x01www.example.com\x1b\x01\xff\x01 ONS", "ONS-Torlan", "ONSOnslaughtGame") + words(10, 12, 0, 0) + texts("0") + "\x00"
	kf      = head + "\x00" + anywhere + words(7707, 0) + texts("\x1b@\xb0@Sentry Turrets", "KF-Harbour", "KFGameType") + words(33, 35, 7, 10, 0, 0x200) + texts("0") + "\x00\x00"
	first   = "\x79\x00\x00\x00\x00" + anywhere + ports + texts("A server", "DM-Antalus", "xDeathMatch") + words(0, 16, 0)
	master  = head + "\x00" + words(17) + texts("192.0.2.4") + words(7777, 7778) + texts("A server", "DM-Antalus", "xDeathMatch") + words(0, 16, 0, 0) + texts("2.0")
	utf     = head + "\x00" + anywhere + ports + wide("^#\u00ff\u00e2\u02dc\u203a M\U0001f600", "") + texts("DM-Antalus", "xDeathMatch") + words(3, 16, 0, 0) + texts("2.0") + "\x00"
	long    = head + "\x00" + anywhere + ports + texts(strings.Repeat("A server ", 20)) + "\xc2\x01" + strings.Repeat("a\x00", 65) + "\x00\x00" + texts("xDeathMatch") + words(3, 16, 0, 0) + texts("2.0") + "\x00"
	plain   = head + "\x00" + anywhere + ports + "\x50" + strings.Repeat("A server", 9) + "1234567\x00" + texts("DM-Antalus", "xDeathMatch") + words(3, 16, 0, 0) + texts("2.0") + "\x00"
	strayed = head + "\x00" + anywhere + ports + wide("\u0416\u0416", "\x01") + texts("DM-Antalus", "xDeathMatch") + words(3, 16, 0, 0) + texts("2.0") + "\x00"
	noZero  = head + "\x00" + anywhere + ports + "\x08A server" + "\x82a\x00b\x00" + texts("xDeathMatch") + words(3, 16, 0, 0) + texts("2.0") + "\x00"
)

// The records of lists: a reply may end behind any of them.
var (
	rules = []string{
		texts("ServerMode", "dedicated"), texts("AdminName", ""), texts("ServerVersion", "3369"), texts("GamePassword", "True"),
		texts("Mutator", "MutUTAN"), texts("Mutator", ""), texts("AdminPassword", "hidden1"),
	}
	players = []string{
		words(17) + texts("Anna") + words(68, 0xffffffff, 0x20000011), words(16) + wide("B\u00f6rje", "") + words(0, 12, 0x40000000),
		words(0) + texts("Red Team") + words(0, 3, 0),
	}
	xmpPlayers = []string{
		words(1, 17) + texts("Anna") + words(68, 3, 9) + "\x02" + texts("team", "red", "class", "Ranger"),
		words(2, 18) + texts("Borje") + words(70, 1, 9) + "\x00",
	}
)

func samples() []dissecttest.Sample {
	const likely, possible = dissect.Likely, dissect.Possible
	one := func(name, message string, verdict dissect.Verdict, payload string, sound ...int) dissecttest.Sample {
		s := dissecttest.One(name, message, verdict, payload)
		s.Sound = sound
		return s
	}
	list := func(name, message, head string, records []string) dissecttest.Sample {
		payload, sound := head, []int{headLen}
		for _, r := range records {
			payload += r
			sound = append(sound, len(payload))
		}
		return one(name, message, likely, payload, sound...)
	}
	found := func(s dissecttest.Sample, ids ...string) dissecttest.Sample { s.Findings = ids; return s }
	return []dissecttest.Sample{
		one("details request", "details_request", likely, "\x79\x00\x00\x00\x00"),
		one("rules request", "rules_request", likely, "\x79\x00\x00\x00\x01"),
		one("players request", "players_request", likely, "\x78\x00\x00\x00\x02"),
		one("request for all", "all_request", likely, "\x7f\x00\x00\x00\x03"),
		one("request of the game", "details_request", possible, head+"\x00"),
		one("details of UT2004", "details_reply", likely, ut2004, len(ut2004)-1, len(ut2004)-8, 5),
		one("details of Killing Floor", "details_reply", likely, kf, len(kf)-1, len(kf)-2, len(kf)-10, len(kf)-11, len(kf)-12, len(kf)-17, 5),
		one("details of UT2003", "details_reply", likely, first, 5),
		one("details from a master", "details_reply", possible, master, len(master)-9, 5),
		one("details in UTF-16", "details_reply", likely, utf, len(utf)-1, len(utf)-10, 5),
		one("details in UTF-16 behind a byte", "details_reply", likely, strayed, len(strayed)-1, len(strayed)-10, 5),
		one("details with long texts", "details_reply", likely, long, len(long)-1, len(long)-10, 5),
		one("details with a length in one byte", "details_reply", likely, plain, len(plain)-1, len(plain)-10, 5),
		one("texts without zeros", "details_reply", possible, noZero, len(noZero)-1, len(noZero)-10, 5),
		list("rules", "rules_reply", head+"\x01", rules),
		list("players", "players_reply", head+"\x02", players),
		list("players of XMP", "players_reply", headXMP+"\x02", xmpPlayers),
		one("rules request of the game", "rules_request", possible, head+"\x01"),
		one("players request of the game", "players_request", possible, head+"\x02"),
		found(one("a pair cut in two", "rules_reply", possible, head+"\x01"+rules[0]+rules[2][:len(rules[2])-3], headLen, headLen+len(rules[0])), "malformed"),
		found(one("another query", "unknown", dissect.No, "\x79\x00\x00\x00\x07"), "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestSecrets: of the rules the password alone is masked.
func TestSecrets(t *testing.T) {
	r := dissecttest.Decode(t, Protocol(), []byte(head+"\x01"+strings.Join(rules, "")))
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if v := string(n.Value(r.Sources[0].Data)); n.Field.Secret != (v == "hidden1") {
			t.Errorf("%s %q: secret is %v", n.Field.Path, v, n.Field.Secret)
		}
	}
}
