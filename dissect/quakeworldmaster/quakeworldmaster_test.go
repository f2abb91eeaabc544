package quakeworldmaster

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func samples() []dissecttest.Sample {
	const possible, likely = dissect.Possible, dissect.Likely
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	bad := func(s dissecttest.Sample, ids ...string) dissecttest.Sample { s.Findings = ids; return s }
	return []dissecttest.Sample{
		cut(one("query", "servers_request", possible, "c\n\x00")),
		cut(one("query of HexenWorld", "servers_request", possible, "\xffc\x00")),
		cut(one("servers", "servers_reply", likely, listHeader+"\xc0\x00\x02\x01\x6b\x6c\xc0\x00\x02\x02\x6f\x55")),
		cut(one("no servers", "servers_reply", likely, listHeader)),
		cut(one("servers of HexenWorld", "servers_reply", likely, hexenList+"\xc0\x00\x02\x01\x69\x46")),
		cut(bad(one("servers with a cut entry", "servers_reply", possible, listHeader+"\xc0\x00\x02\x01\x6b\x6c\xc0"), "qwmaster.cut")),
		cut(one("refusal", "refusal", possible, "m\nBanned.\n")),
		cut(one("heartbeat", "heartbeat", possible, "a\n17\n4\n")),
		cut(one("shutdown", "shutdown", possible, "C\n")),
		cut(one("ping", "ping_request", possible, "k\x00")),
		one("ping reply", "ping_reply", possible, "l"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
