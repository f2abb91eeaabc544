package teamspeak3

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	client = "TS3INIT1\x00\x65\x00\x00\x88"
	server = "TS3INIT1\x00\x65\x88"
	build  = "\x0d\xd0\x57\x66" // 2020-05-06
	random = "\xad\xe7\x6b\x61"
	turned = "\x61\x6b\xe7\xad"
	cookie = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"

	initial = client + build + "\x00\x5f\x59\x16\xe0" + random + "\x00\x00\x00\x00\x00\x00\x00\x00"
	command = "clientinitiv alpha=AAAA omega=MEsDAgcA ot=1 ip"
)

// puzzle is a puzzle of a level.
func puzzle(level string) string {
	return strings.Repeat("\x5a", lenNumber) + strings.Repeat("\xc3", lenNumber) + level + strings.Repeat("\x3c", lenOwn)
}

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, dissect.Certain, payload, findings...)
	}
	solved := client + build + "\x04" + puzzle("\x00\x00\x27\x10") + strings.Repeat("\x77", lenNumber)
	solution := one("solution", "solution", solved+command)
	for n := len(solved); n < len(solution.Parts[0]); n++ {
		solution.Sound = append(solution.Sound, n)
	}
	again := one("restart with more", "restart", server+"\x7f\x01\x02", "ts3.restart")
	again.Cut = true
	more := one("more after the end", "init_request", initial+"\x00", "trailing")
	more.Sound = []int{len(initial)}
	type8 := one("another type", "unknown", client[:12]+"\x82"+build, "malformed")
	type8.Verdict = dissect.No
	return []dissecttest.Sample{
		one("init", "init_request", initial),
		one("cookie", "init_reply", server+"\x01"+cookie+turned),
		one("cookie returned", "puzzle_request", client+build+"\x02"+cookie+turned),
		one("puzzle", "puzzle_reply", server+"\x03"+puzzle("\x00\x00\x27\x10")),
		one("hard puzzle", "puzzle_reply", server+"\x03"+puzzle("\x7f\xff\xff\xff"), "ts3.level"),
		solution, again, type8,
		one("restart", "restart", server+"\x7f", "ts3.restart"),
		one("unknown step", "unknown", server+"\x00", "malformed"),
		more,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
