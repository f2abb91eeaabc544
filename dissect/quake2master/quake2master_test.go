package quake2master

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/dissect/internal/quake"
)

const header = quake.Header

func samples() []dissecttest.Sample {
	const possible, likely = dissect.Possible, dissect.Likely
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	bad := func(s dissecttest.Sample, ids ...string) dissecttest.Sample { s.Findings = ids; return s }
	settings := "\\hostname\\A server\\maxclients\\8\\mapname\\q2dm1\n"
	return []dissecttest.Sample{
		cut(one("query", "servers_request", likely, "query\n\x00")),
		cut(one("query with a zero byte alone", "servers_request", likely, "query\x00")),
		cut(one("servers", "servers_reply", likely, header+"servers \xc0\x00\x02\x01\x6d\x06\xc0\x00\x02\x02\x6d\x07")),
		cut(one("no servers", "servers_reply", likely, header+"servers ")),
		cut(bad(one("servers with a cut entry", "servers_reply", likely, header+"servers \xc0\x00\x02\x01\x6d\x06\xc0\x00"), "q2master.cut")),
		cut(one("heartbeat", "heartbeat", likely, header+"heartbeat\n"+settings+"3 20 \"Alice\"\n4 21 \"Bob\" \"192.0.2.9\"\n")),
		cut(bad(one("heartbeat with an odd key", "heartbeat", likely, header+"heartbeat\n\\hostname\\A\\odd\n"), "q2master.oddkv")),
		cut(bad(one("heartbeat of Soldier of Fortune with another line", "heartbeat", likely, header+"heartbeat\n\\hostname\\A\\\nhello\n3 20 \"Alice\"\n"), "q2master.line")),
		cut(bad(one("heartbeat that is cut", "heartbeat", likely, header+"heartbeat\n"+settings+"3 20 \"Al"), "q2master.player_cut")),
		cut(one("shutdown with an argument", "shutdown", dissect.No, header+"shutdown\nnow")),
		cut(one("heartbeat with many blanks", "heartbeat", likely, header+"heartbeat\n"+settings+"3 20 \"Alice\""+strings.Repeat(" ", 300)+"\"192.0.2.9\"\n")),
		cut(one("shutdown", "shutdown", possible, header+"shutdown")),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
