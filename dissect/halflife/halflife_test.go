package halflife

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	list := []dissecttest.Sample{
		cut(one("details", "details_request", certain, "\xff\xff\xff\xffdetails\x00")),
		cut(one("details without its end", "details_request", certain, "\xff\xff\xff\xffdetails")),
		cut(one("players", "players_request", certain, "\xff\xff\xff\xffplayers\x00")),
		cut(one("rules", "rules_request", certain, "\xff\xff\xff\xffrules\x00")),
		cut(one("info", "info_request", likely, "\xff\xff\xff\xffinfo\x00")),
		cut(one("infostring", "infostring_request", certain, "\xff\xff\xff\xffinfostring\x00")),
		cut(one("ping", "ping_request", possible, "\xff\xff\xff\xffping\x00")),
		cut(one("ping with a new line", "ping_request", dissect.Doubtful, "\xff\xff\xff\xffping\n\x00")),
		cut(one("ping with CR LF", "ping_request", dissect.Doubtful, "\xff\xff\xff\xffping\r\n")),
		cut(one("rules with CR LF", "rules_request", certain, "\xff\xff\xff\xffrules\r\n")),
		cut(one("details with CR LF and a zero byte", "details_request", certain, "\xff\xff\xff\xffdetails\r\n\x00")),
		cut(one("rcon challenge", "rcon_challenge_request", certain, "\xff\xff\xff\xffchallenge rcon\n")),
		cut(one("rcon", "rcon_request", certain, "\xff\xff\xff\xffrcon 12345 \"hidden\" status\x00")),
		cut(one("rcon without quotes", "rcon_request", possible, "\xff\xff\xff\xffrcon 12345 hidden status\n")),
		cut(one("infostring reply", "infostring_reply", certain, "\xff\xff\xff\xffinfostringresponse\x00\\protocol\\48\\hostname\\A server\\players\\3\\max\\16\\map\\crossfire\x00")),
		one("info of type C", "info_reply", possible, "\xff\xff\xff\xffC192.0.2.1:27015\x00Old server\x00crossfire\x00valve\x00Half-Life\x00\x03\x10\x2e"),
	}
	odd := cut(one("infostring reply with an odd key", "infostring_reply", certain, "\xff\xff\xff\xffinfostringresponse\x00\\protocol\\48\\hostname\x00"))
	odd.Findings = []string{"halflife.oddkv"}
	list[len(list)-1].Sound = []int{len(list[len(list)-1].Parts[0]) - 1}
	return append(list, odd)
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
