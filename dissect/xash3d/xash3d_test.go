package xash3d

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	infoReply = "\xff\xff\xff\xffinfo\n\\p\\49\\map\\crossfire\\dm\\1\\team\\0\\coop\\0\\numcl\\3\\maxcl\\16\\gamedir\\valve\\password\\1\\host\\^1A server"
	details   = "\xff\xff\xff\xffnetinfo -7 4 \\hostname\\A server\\gamedir\\valve\\current\\3\\max\\16\\map\\crossfire\n"
	players   = "\xff\xff\xff\xffnetinfo 5 3 \\p0name\\^1Anna\\p0frags\\12\\p0time\\61.500000\\p1name\\Borje\\p1frags\\-1\\p1time\\3.000000\\players\\2\n"
)

func samples() []dissecttest.Sample {
	one := func(name, message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, verdict, payload)
		s.Findings, s.Cut = findings, true
		return s
	}
	const likely = dissect.Likely
	return []dissecttest.Sample{
		one("info request", "info_request", likely, "\xff\xff\xff\xffinfo 49"),
		one("info request of an old client", "info_request", likely, "\xff\xff\xff\xffinfo 48\n"),
		one("info request with more words", "info_request", dissect.No, "\xff\xff\xff\xffinfo 49"+strings.Repeat(" ", 201)+"more words"),
		one("many blanks", "info_request", dissect.No, "\xff\xff\xff\xffinfo "+strings.Repeat(" ", 201)+"49"),
		one("info", "info_reply", likely, infoReply),
		one("wrong version", "info_reply", dissect.Possible, "\xff\xff\xff\xffinfo\nA server: wrong version\n", "xash3d.version"),
		one("info with an odd key", "info_reply", likely, "\xff\xff\xff\xffinfo\n\\p\\49\\map", "xash3d.oddkv"),
		one("ping request", "ping_request", likely, "\xff\xff\xff\xffnetinfo 49 0 1"),
		one("rules request", "rules_request", likely, "\xff\xff\xff\xffnetinfo 49 17 2"),
		one("players request", "players_request", likely, "\xff\xff\xff\xffnetinfo 49 5 3"),
		one("details request", "details_request", likely, "\xff\xff\xff\xffnetinfo 49 -7 4"),
		one("request of another kind", "netinfo_request", likely, "\xff\xff\xff\xffnetinfo 49 5 9\n"),
		one("ping", "ping_reply", likely, "\xff\xff\xff\xffnetinfo 0 1 \n"),
		one("ping of an old server", "ping_reply", likely, "\xff\xff\xff\xffnetinfo 0 1\n"),
		one("rules", "rules_reply", likely, "\xff\xff\xff\xffnetinfo 17 2 \\mp_fraglimit\\0\\sv_password\\1\\rules\\2\n"),
		one("players", "players_reply", likely, players),
		one("no players told", "players_reply", likely, "\xff\xff\xff\xffnetinfo 5 3 \\neterror\\forbidden\n", "xash3d.refused"),
		one("details", "details_reply", likely, details),
		one("other kind", "netinfo_reply", likely, "\xff\xff\xff\xffnetinfo 5 9 \\neterror\\undefined\n", "xash3d.refused"),
		one("no line end", "details_reply", likely, details[:len(details)-1], "xash3d.noend"),
		one("text ping request", "text_ping_request", dissect.Doubtful, "\xff\xff\xff\xffping\n"),
		one("text ping", "text_ping_reply", dissect.Possible, "\xff\xff\xff\xffack"),
		one("challenge request", "challenge_request", dissect.Possible, "\xff\xff\xff\xffgetchallenge\n"),
		one("challenge request for Steam", "challenge_request", dissect.Possible, "\xff\xff\xff\xffgetchallenge steam\n"),
		one("challenge", "challenge_reply", dissect.Possible, "\xff\xff\xff\xffchallenge 12345\n"),
		one("nothing of it", "unknown", dissect.No, "\xff\xff\xff\xffnothing", "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
