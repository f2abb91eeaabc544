package quake2

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/dissect/internal/quake"
)

const oob = quake.Header

func samples() []dissecttest.Sample {
	const possible, likely = dissect.Possible, dissect.Likely
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	bad := func(s dissecttest.Sample, ids ...string) dissecttest.Sample { s.Findings = ids; return s }
	settings := "\\hostname\\A server\\maxclients\\8\\needpass\\0\\mapname\\q2dm1\\version\\3.20\\gamename\\baseq2"
	return []dissecttest.Sample{
		cut(one("status", "status_request", likely, oob+"status\n")),
		cut(one("status with a zero byte", "status_request", likely, oob+"status\x00")),
		cut(one("status with bits", "status_request", likely, oob+"status 23\n")),
		cut(one("info", "info_request", likely, oob+"info 34\n")),
		cut(one("info of Warsow", "info_request", likely, oob+"info 15 full empty\n")),
		cut(one("ping", "ping_request", possible, oob+"ping\n")),
		cut(one("getchallenge", "challenge_request", possible, oob+"getchallenge\n")),
		cut(one("connect", "connect_request", likely, oob+"connect 34 4321 32590 \"\\name\\Alice\\password\\hidden\\rate\\25000\"\n")),
		cut(bad(one("connect with an odd key", "connect_request", likely, oob+"connect 34 4321 32590 \"\\name\\Alice\\odd\"\n"), "q2.oddkv")),
		cut(one("rcon", "rcon_request", possible, oob+"rcon hidden status\n")),
		cut(one("rcon in the form of Half-Life", "rcon_request", possible, oob+"rcon 12 \"hidden\" status\n")),
		cut(one("rcon after many blanks", "rcon_request", possible, oob+"rcon "+strings.Repeat(" ", 300)+"hidden status\n")),
		cut(one("rcon with a password in the command", "rcon_request", possible, oob+"rcon hidden set rcon_password other\n")),
		cut(one("status reply", "status_reply", likely, oob+"print\n"+settings+"\n3 20 \"Al\xe9ce\"\n-1 45 \"B ob\" \"192.0.2.1:27901\"\n")),
		cut(one("status reply of Soldier of Fortune", "status_reply", likely, oob+"print\n"+settings+"\\\n3 20 \"Alice\"\n")),
		cut(one("status reply with a keyword of Kingpin", "status_reply", likely, oob+"print\n\\ last map request\\none\\hostname\\K\n")),
		cut(bad(one("status reply after other text", "status_reply", possible, oob+"print\nSV_Frame: slow\n"+settings+"\n3 20 \"Alice\"\n"), "q2.before")),
		cut(bad(one("status reply with a strange line", "status_reply", likely, oob+"print\n"+settings+"\nhello there\n3 20 \"Alice\"\n"), "q2.line")),
		cut(bad(one("status reply that is cut", "status_reply", likely, oob+"print\n"+settings+"\n3 20 \"Ali"), "q2.cut")),
		cut(bad(one("status reply with an odd key", "status_reply", likely, oob+"print\n\\mapname\\q2dm1\\odd\n"), "q2.oddkv")),
		cut(one("print", "print", possible, oob+"print\nServer is full.\n")),
		cut(one("print with a password", "print", possible, oob+"print\n\"rcon_password\" is \"hidden\"\n")),
		cut(bad(one("refused", "print", possible, oob+"print\nBad rcon_password.\n"), "q2.rcon.refused")),
		cut(bad(one("info reply", "info_reply", likely, oob+"info\n        My server    q2dm1  2/ 8\n"), "*")),
		cut(bad(one("info of another version", "info_reply", likely, oob+"info\nnoname: wrong version\n"), "*")),
		cut(one("info reply of Warsow", "info_reply", likely, oob+"info\n\\\\n\\\\Test\\\\m\\\\wfdm1\\\\u\\\\ 3/16\\\\g\\\\    dm\\\\s\\\\1\\\\EOT")),
		cut(one("ack", "ping_reply", possible, oob+"ack")),
		cut(one("ack with arguments", "ping_reply", possible, oob+"ack 12 34")),
		cut(one("challenge", "challenge_reply", likely, oob+"challenge 32590 p=34,35,36")),
		cut(one("challenge without versions", "challenge_reply", possible, oob+"challenge 32590")),
		cut(one("client_connect", "connect_reply", likely, oob+"client_connect")),
		cut(one("client_connect of Q2Pro", "connect_reply", likely, oob+"client_connect ac=1 dlserver=http://192.0.2.1/ map=q2dm1")),
		{Name: "unknown", Parts: [][]byte{[]byte(oob + "Zhello")}, Message: "unknown", Findings: []string{"malformed"}, Cut: true},
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
