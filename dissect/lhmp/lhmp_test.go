package lhmp

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	info    = "LHMPo1\x000\x00\x02\x00\x64\x00\x08A server\x0aDeathMatch\x00\x06MISE11"
	players = "LHMPp\x02\x00\x00\x00\x04Anna\x05\x00\x05B\xf6rje"
)

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, dissect.Certain, payload)
		s.Findings = findings
		if len(payload) > headLen {
			s.Sound = []int{headLen} // a request
		}
		return s
	}
	more := one("more behind the end", "players_reply", "LHMPp\x00\x00\x00", "trailing")
	more.Sound = append(more.Sound, 7)
	other := one("other kind", "unknown", "LHMPx\x00", "malformed")
	other.Verdict, other.Sound = dissect.No, nil
	return []dissecttest.Sample{
		one("info request", "info_request", "LHMPo"),
		one("players request", "players_request", "LHMPp"),
		one("info", "info_reply", info),
		one("players", "players_reply", players),
		one("no players", "players_reply", "LHMPp\x00\x00"),
		one("more players than there are", "players_reply", "LHMPp\xff\xff\x00\x00\x04Anna", "malformed"),
		more, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
