package cs2d

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	head    = "\x01\x00"
	info    = "\xfb\x01\x60\x08A server\x07de_dust\x02\x20\x01\x01\x06"
	human   = "\xfb\x01\x41\x08A server\x07de_dust\x02\x20\x00\x06"
	players = "\xfb\x05\x02\x06\x04Anna\x01\x66\x03\x00\x00\xbf\x03\x00\x00\x02\x05B\xf6rje\x02\xfe\xff\xff\xff\x52\x02\x00\x00"
	nobody  = "\xfb\x05\x00"
)

func samples() []dissecttest.Sample {
	one := func(name, message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, verdict, payload)
		s.Findings = findings
		if len(payload) > headLen+kindLen {
			s.Sound = []int{headLen + kindLen} // a request
		}
		return s
	}
	sound := func(s dissecttest.Sample, n ...int) dissecttest.Sample { s.Sound = append(s.Sound, n...); return s }
	return []dissecttest.Sample{
		one("info request", "info_request", dissect.Likely, head+"\xfb\x01"),
		one("players request", "players_request", dissect.Likely, head+"\xfb\x05"),
		sound(one("request for all", "status_request", dissect.Likely, head+"\xfb\x01\xf5\x03\xfb\x05"), 6),
		one("info", "info_reply", dissect.Likely, head+info),
		one("info without bots", "info_reply", dissect.Likely, head+human),
		one("players", "players_reply", dissect.Likely, head+players),
		one("no players", "players_reply", dissect.Likely, head+nobody),
		sound(one("both", "status_reply", dissect.Likely, head+nobody+human), len(head+nobody)),
		sound(one("both, and what nobody knows", "status_reply", dissect.Likely, head+info+players+"\xf5\x03\x01\x02"),
			len(head+info), len(head+info+players), len(head+info+players)+2, len(head+info+players)+3),
		sound(one("info twice", "info_reply", dissect.Likely, head+human+human, "malformed"), len(head+human)),
		one("other message", "unknown", dissect.No, head+"\x07\x01", "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
