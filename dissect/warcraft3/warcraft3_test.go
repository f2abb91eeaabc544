package warcraft3

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// settings are flags 0x00004802, a map of 124 by 116 with the checksum 1, and two texts;
// 7 bytes after each mask, even ones are one more.
const settings = "\x01\x03\x49\x01\x01\x01\x7d\x01" + "\x89\x75\x01\x01\x01\x01\x01\x4d" + "\xab\x61\x71\x73\x5d\x41\x2f\x77" + "\x93\x33\x79\x01\x41\x6f\x6f\x61" + "\x01\x01\x01"

const game = "\xf7\x30\x56\x00PX3W\x1a\x00\x00\x00\x01\x00\x00\x00\x11\x22\x33\x44A game\x00\x00" + settings + "\x00" +
	"\x0c\x00\x00\x00\x09\x00\x00\x00\x03\x00\x00\x00\x08\x00\x00\x00\x2d\x00\x00\x00\xe0\x17"

func samples() []dissecttest.Sample {
	one := func(message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(message, message, verdict, payload)
		s.Findings = findings
		return s
	}
	more := one("game", dissect.No, game+"\x00", "warcraft3.length")
	more.Name, more.Sound = "more behind the end", []int{len(game)}
	return []dissecttest.Sample{
		one("search", dissect.Certain, "\xf7\x2f\x10\x003RAW\x1a\x00\x00\x00\x00\x00\x00\x00"),
		one("game", dissect.Certain, game),
		one("created", dissect.Certain, "\xf7\x31\x10\x00PX3W\x1a\x00\x00\x00\x01\x00\x00\x00"),
		one("refreshed", dissect.Likely, "\xf7\x32\x10\x00\x01\x00\x00\x00\x03\x00\x00\x00\x08\x00\x00\x00"),
		one("closed", dissect.Likely, "\xf7\x33\x08\x00\x01\x00\x00\x00"),
		one("search", dissect.No, "\xf7\x34\x08\x00\x01\x00\x00\x00", "malformed"), more,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestSettings: the settings are those that were encoded.
func TestSettings(t *testing.T) {
	m, err := Parse([]byte(game))
	if g, ok := m.(*Game); err != nil || !ok || g.Map != `Maps\A.w3x` || g.Host != "Anna" || g.SettingFlags != 0x4802 {
		t.Errorf("%+v, %v", m, err)
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
