package ase

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/reassembly"
)

// texts returns the texts, each after its length, which counts itself and has eight
// bits.
func texts(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteByte(byte(len(s) + 1))
		b.WriteString(s)
	}
	return b.String()
}

var (
	header   = texts("mta", "22003", "A server of caf\xe9s", "Race", "SF \xe2\x98\x85", "1.6", "0", "2", "32")
	settings = texts("Mode", "Race", "Weather", "", "admin", "\xc5ke") + "\x01"
	// Multi Theft Auto names all columns and fills two or three.
	mtaPlayers = "\x3f" + texts("Anna", "", "", "7", "154", "") + "\x3f" + texts("B\xf6rje", "", "", "", "", "")
	// Other servers name the columns that they have.
	farCryPlayers = "\x1b" + texts("Anna", "red", "12", "40") + "\x3b" + texts("Borje", "2", "-3", "55", "3600")
	mapExtras     = texts("SF\x0012/300\x009\x0021343\x00ok\x00route 1\x0086400\x0022005")
	light         = "EYE2" + texts("mta", "22003", "A server", "Race") + mapExtras + texts("1.6") + "\x01\x00\x0c\xff"
	lightNames    = texts("Anna", "B\xf6rje", "", "Cyd", "Dan", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "")
	xfire         = "EYE3" + texts("mta", "A server", "Race", "SF\x002/32", "1.6") + "\x00\x02\x20"
)

// long is a reply that exceeds one datagram, as texts.
func long() string {
	var b strings.Builder
	b.WriteString(texts("bfield1942", "14567", "A server with many players", "conquest", "guadalcanal", "1.61", "0", "60", "64"))
	b.WriteString(texts("dedicated", "1", "time_limit", "42") + "\x01")
	for i := range 60 {
		b.WriteString("\x1b" + texts("A player with a name "+string(rune('A'+i%26))+string(rune('a'+i/26)), "1", "12", "40"))
	}
	return b.String()
}

// cut splits a reply into datagrams of at most 1364 bytes.
func cut(reply string) (parts [][]byte) {
	const room = fullPart - minPart
	for i := 0; len(reply) > 0; i++ {
		n := min(room, len(reply))
		parts = append(parts, []byte(magic+string(rune('1'+i))+reply[:n]+"\xd2\x04\x00\x00"))
		reply = reply[n:]
	}
	return parts
}

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	loose := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	split := func(name, message string, parts [][]byte, findings ...string) dissecttest.Sample {
		return dissecttest.Sample{Name: name, Parts: parts, Message: message, Verdict: likely, Findings: findings}
	}
	const notUTF8 = "enc.notutf8"
	parts := cut(long())
	empty := texts("farcry", "49001", "A server", "FFA", "mp_radio", "1.4", "1", "0", "16")
	wide := strings.Repeat("A very long text. ", 15) // 270 bytes
	listEnd := one("the list ended by a player without columns", "status_reply", certain, "EYE1"+texts("farcry", "49001", "A server", "FFA", "mp_radio", "1.4", "1", "1", "16")+"\x01\x09"+texts("Anna", "3")+"\x00")
	listEnd.Sound = []int{len(listEnd.Parts[0]) - 1}
	return []dissecttest.Sample{
		one("s", "status_request", possible, "s"),
		one("b", "light_request", possible, "b"),
		one("r", "light_request", possible, "r"),
		one("x", "xfire_request", possible, "x"),
		one("v", "version_request", possible, "v"),
		one("p", "ping_request", possible, "p"),
		one("status of Multi Theft Auto", "status_reply", certain, "EYE1"+header+settings+mtaPlayers, notUTF8),
		one("status with columns as needed", "status_reply", certain, "EYE1"+texts("farcry", "49001", "A server", "FFA", "mp_radio", "1.4", "1", "2", "16")+settings+farCryPlayers, notUTF8),
		one("status of an empty server", "status_reply", certain, "EYE1"+empty+"\x01"),
		listEnd,
		one("players without a name", "status_reply", certain, "EYE1"+texts("farcry", "49001", "A server", "FFA", "mp_radio", "1.4", "1", "1", "16")+"\x01\x0c"+texts("skin 4", "3")),
		loose(one("light", "light_reply", certain, light+lightNames, notUTF8)),
		one("light, no players", "light_reply", certain, "EYE2"+texts("mta", "22003", "A server", "Race", "SF\x000/32\x009\x0021343\x00\x00\x00", "1.6")+"\x00\x01\x00\x20"),
		one("light of a newer server", "light_reply", certain, "EYE2"+texts("mta", "22003", "A server", "Race", "SF\x000/32\x009\x0021343\x00\x00\x001\x0022005\x00more", "1.6")+"\x00\x01\x00\x20"),
		one("xfire", "xfire_reply", certain, xfire),
		loose(one("version", "version_reply", possible, "1.6")),

		split("in two datagrams", "status_reply", parts),
		split("in two datagrams, the last first", "status_reply", [][]byte{parts[1], parts[0]}, "ase.part.reorder"),
		split("in two datagrams, one twice", "status_reply", [][]byte{parts[0], parts[0], parts[1]}, "ase.part.duplicate"),
		split("the last datagram missing", "status_reply", parts[:1], "ase.part.last_missing", "ase.players.cut", "ase.players.count"),
		split("the first datagram missing", "part", parts[1:], "ase.part.missing", "ase.part.unread"),

		one("a rule of 270 bytes", "status_reply", certain, "EYE1"+header+texts("Mode", "Race", "info", wide, "Weather", "")+"\x01"+mtaPlayers, notUTF8, "ase.lenwrap"),
		one("a name of 255 bytes", "status_reply", certain, "EYE1"+texts("mta", "22003", wide[:255], "Race", "SF", "1.6", "0", "2", "32")+settings+mtaPlayers, "ase.lenwrap", notUTF8),
		one("two long texts", "status_reply", certain, "EYE1"+texts("mta", "22003", wide, "Race", wide, "1.6", "0", "2", "32")+settings+mtaPlayers, "ase.lenwrap", "ase.lenwrap", notUTF8),
		one("no end of the settings", "status_reply", certain, "EYE1"+empty+texts("Mode", "Race"), "ase.noterm"),
		one("fewer players than announced", "status_reply", certain, "EYE1"+header+settings+"\x3f"+texts("Anna", "", "", "", "31", ""), notUTF8, "ase.players.count"),
		one("cut in a player", "status_reply", certain, "EYE1"+header+settings+mtaPlayers[:len(mtaPlayers)-5], notUTF8, "ase.players.cut", "ase.players.count"),
		one("columns that do not exist", "status_reply", certain, "EYE1"+header+settings+mtaPlayers+"\xc1\x05Anna", notUTF8, "ase.columns"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestWrap has texts of every length around the limit, in every place.
func TestWrap(t *testing.T) {
	place := []string{"hostname", "gametype", "map", "version", "key", "value", "last value", "player", "last player"}
	for _, n := range []int{253, 254, 255, 256, 257, 258, 270, 300, 383, 384, 400, 509, 510} {
		for i, name := range place {
			part := []string{"A server", "Race", "SF", "1.6", "Mode", "Race", "clear", "Anna", "Borje"}
			part[i] = strings.Repeat("Words and words. ", 40)[:n]
			b := "EYE1" + texts("mta", "22003", part[0], part[1], part[2], part[3], "0", "2", "32", part[4], part[5], "Weather", part[6]) + "\x01" +
				"\x3f" + texts(part[7], "", "", "7", "154", "") + "\x3f" + texts(part[8], "", "", "", "31", "")
			m, err := Parse([]byte(b))
			p := m.(*StatusReply)
			// The length byte has no room for 255 bytes and more, so the reply contradicts itself.
			wrapped := err != nil && strings.Contains(err.Error(), fmt.Sprintf(": length byte %d before a text of %d bytes at offset ", byte(n+1), n))
			if wrapped != (n >= 255) || !wrapped && err != nil || len(p.Players) != 2 || p.Players[0].Name != part[7] || p.Players[1].Name != part[8] || len(p.Rules) != 2 ||
				p.Rules[0].Key != part[4] || p.Rules[1].Value != part[6] || p.Map != part[2] {
				t.Errorf("%s of %d bytes: %v, %d rules, %d players", name, n, err, len(p.Rules), len(p.Players))
			}
		}
	}
}

// TestNoWrap has replies with other errors, in which no text may absorb its neighbours.
func TestNoWrap(t *testing.T) {
	whole := header + settings + mtaPlayers
	for n := range len(whole) {
		var l layout
		if l.find([]byte(whole[:n])); l.count > 0 {
			t.Errorf("cut after %d bytes: a text of %d bytes at %d", n, l.wrapped[0].n, l.wrapped[0].at)
		}
	}
	long := texts("farcry", "49001", strings.Repeat("n", 200), strings.Repeat("t", 200), strings.Repeat("m", 200), "1.4", "yes", "1", "16") + "\x01\x09" + texts("Anna", "3")
	var l layout
	if l.find([]byte(long)); l.count > 0 {
		t.Errorf("long texts: one of %d bytes at %d", l.wrapped[0].n, l.wrapped[0].at)
	}
}

func TestParts(t *testing.T) {
	parts := cut(long())
	if len(parts) != 2 || len(parts[0]) != fullPart {
		t.Fatalf("%d parts, the first of %d bytes", len(parts), len(parts[0]))
	}
	p, ok := readPart(parts[0], 0)
	if want := (reassembly.Part{ID: 1234, Header: 4, Variant: 1}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	p, ok = readPart(parts[1], 0)
	if want := (reassembly.Part{ID: 1234, Index: 1, Total: 2, Header: 4, Variant: 1}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	// A reply of Multi Theft Auto of exactly this size.
	name := strings.Repeat("n", 100)
	same := "EYE1" + texts("mta", "22003", "A server", "Race", "SF", "1.6", "0", "12", "32") + "\x01"
	for range 11 {
		same += "\x3f" + texts(name, "", "", "", "31", "")
	}
	same += "\x3f" + texts(strings.Repeat("n", fullPart-len(same)-9), "", "", "", "31", "")
	if _, ok := readPart([]byte(same), 0); len(same) != fullPart || ok {
		t.Errorf("%d bytes: %v", len(same), ok)
	}
	for name, in := range map[string]string{
		"a whole reply":                       "EYE1" + header + settings + mtaPlayers,
		"the short reply of Multi Theft Auto": light + lightNames,
		"Xfire":                               xfire,
		"too short":                           "EYE2abc",
		"a request":                           "s",
	} {
		if p, ok := readPart([]byte(in), 0); ok {
			t.Errorf("%s is part %+v", name, p)
		}
	}
}
