package factorio

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// state is a server of version 2.0.28 for 20 players that has run for 300 minutes.
func state(description string) string {
	return "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\x0eThe iron works\x02\x00\x1c\xd0\x32" + description + "\x14\x00\x2c\x01\x00\x00\x01\x00" + "\x04host\x01\x00\x01" +
		"\x02\x04base\x02\x00\x1c\x01\x02\x03\x04\x09Big-Belts\x00\xff\x2c\x01\x05\x0a\x0b\x0c\x0d\x01\x03new\x02\x04Anna\x05B\xc3\xb6rj"
}

func samples() []dissecttest.Sample {
	long := state("\xff\x2c\x01\x00\x00" + strings.Repeat("Long words. ", 25))
	few := dissecttest.One("fewer players than announced", "info_reply", dissect.Likely, "\x31"+strings.Replace(state("\x00"), "\x02\x04Anna", "\x03\x04Anna", 1))
	few.Findings = []string{"malformed"}
	first, second := "\x51\x07\x00\x00"+long[:200], "\xf1\x07\x00\x01"+long[200:]
	parts := dissecttest.Sample{Name: "two parts", Message: "info_reply", Verdict: dissect.Doubtful, Parts: [][]byte{[]byte(first), []byte(second)}}
	more := dissecttest.One("more behind the end", "info_reply", dissect.Likely, "\x31"+state("\x00")+"\x00")
	more.Findings, more.Sound = []string{"trailing"}, []int{len(state("\x00")) + 1}
	alone := dissecttest.One("a part", "info_reply", dissect.Doubtful, "\x51\x07\x00\x02data")
	alone.Findings = []string{"factorio.part.endless"}
	longName := dissecttest.One("a long name", "info_reply", dissect.Doubtful, "\x11"+strings.Replace(state("\x00"), "\x0eThe iron works", "\x40"+strings.Repeat("Works of ", 7)+"x", 1))
	return []dissecttest.Sample{
		dissecttest.One("announcement", "announcement", dissect.Possible, "\x2f\x95\x85"),
		dissecttest.One("request", "info_request", dissect.Possible, "\x30"), dissecttest.One("request without the random bit", "info_request", dissect.Possible, "\x10"),
		dissecttest.One("reply", "info_reply", dissect.Likely, "\x31"+state("\x05Hello")),
		few, more, parts, alone, longName,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
