package mindustry

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// old is what servers of the first versions send: 3 players in wave 25 of build 104, mode
// attack, no limit.
const old = "\x13[accent]The Factory\x0bGround Zero\x00\x00\x00\x03\x00\x00\x00\x19\x00\x00\x00\x68\x08official\x02\x00\x00\x00\x00"

func samples() []dissecttest.Sample {
	reply := func(name, payload string, sound ...int) dissecttest.Sample {
		s := dissecttest.One(name, "info_reply", dissect.Likely, payload)
		s.Sound = sound
		return s
	}
	short := "\x01A\x01B\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00\x00\x00\x00\x10"
	long := dissecttest.One("a long name", "info_reply", dissect.Doubtful, "\x64[#ffd37f]"+strings.Repeat("x", 91)+short[2:])
	more := reply("more behind the end", old+"\x02Hi\x00\x19\xa7\x00", len(old), len(old)+3, len(old)+4, len(old)+6)
	more.Findings = []string{"trailing"}
	return []dissecttest.Sample{
		dissecttest.One("request", "info_request", dissect.Possible, query),
		reply("first versions", old), dissecttest.One("shortest", "info_reply", dissect.Possible, short),
		reply("with a description", old+"\x02Hi", len(old)),
		reply("with a mode of its own", old+"\x02Hi\x05Siege", len(old), len(old)+3),
		reply("with the port", old+"\x00\x00\x19\xa7", len(old), len(old)+1, len(old)+2),
		long, more,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
