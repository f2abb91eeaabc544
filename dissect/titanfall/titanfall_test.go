package titanfall

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	instance = "\x01\x02\x12\x34\x56\x78\x0e\x02\x01\x02\x03\x04\x00\x00\x00\x00"
	basic    = "A_build\x00west europe\x00survival\x00\x97\x90PC\x003\x00\x01\x00\x00\x00des_ranked\x00"
	level    = "\x01\x3cmp_map\x00"
	empty    = "\x00\x3cmp_map\x00"
	frames   = "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40"
	match    = "\x02\x01\x00\x01\x08\x07\x10\x00\x32\x00"
	teams    = "\x02\x05\x00\x03\x07\x00\xff"
	nobody   = "\x00\x00\x00\x00\x00\x00\x00\x00"
	id       = "\x07\x00\x00\x00\x00\x00\x00\x01"
	link     = "192.0.2.1:37005\x00\x28\x00\x00\x00\x10\x27\x00\x00\x01\x00\x00\x00"
	score    = "\x64\x00\x00\x00\x05\x00\x02\x00"
)

func reply(version byte, parts ...string) string {
	return header + "N" + string(rune(version)) + strings.Join(parts, "")
}

func samples() []dissecttest.Sample {
	one := dissecttest.One
	cut := func(s dissecttest.Sample, n ...int) dissecttest.Sample { s.Sound = n; return s }
	any := func(s dissecttest.Sample) dissecttest.Sample {
		for n := 6; n < len(s.Parts[0]); n++ {
			s.Sound = append(s.Sound, n)
		}
		return s
	}
	newer := reply(9, instance, basic, "\x01\x03ps4\x00\x02", "\x02\x01\x3c\x09\x00\x00\x00mp_map\x00", frames)
	return []dissecttest.Sample{
		any(one("request", "info_request", dissect.Likely, header+"M\x07"+strings.Repeat("\x00", 1194))),
		any(one("request with a key", "info_request", dissect.Possible, header+"M\x05key\x00\x00")),
		one("version 2", "info_reply", dissect.Likely, reply(2, instance, basic, level, id, "Anna\x00\x02", nobody)),
		one("version 3", "info_reply", dissect.Likely, reply(3, instance, basic, level, match, teams, id, "Anna\x00\x02", score, nobody)),
		one("version 5", "info_reply", dissect.Likely, reply(5, instance, basic, level, frames, match, teams, id, "Anna\x00\x02", link, score, nobody)),
		one("version 7", "info_reply", dissect.Likely, reply(7, instance, basic, "\x02ps3\x00\x10pc\x00\x06", empty, frames, match, "\x06\x00", "\xff", nobody)),
		one("version 8", "info_reply", dissect.Likely, reply(8, instance, basic, "\x00", empty, frames, match, "\x06\x00", teams, nobody)),
		one("fewer players than announced", "info_reply", dissect.Likely, reply(2, instance, basic, "\x03\x3cmp_map\x00", id, "Anna\x00\x02", nobody), "titanfall.players.count"),
		one("more players than announced", "info_reply", dissect.Likely, reply(2, instance, basic, empty, id, "Anna\x00\x02", nobody), "titanfall.players.count"),
		cut(one("version 9", "info_reply", dissect.Likely, newer+"\x01\x02\x03"), len(newer), len(newer)+1, len(newer)+2),
		one("other letter", "unknown", dissect.No, header+"X\x07", "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
