package quakeworld

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/dissect/internal/quake"
)

const oob = quake.Header

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	bad := func(s dissecttest.Sample, ids ...string) dissecttest.Sample { s.Findings = ids; return s }
	settings := "\\maxfps\\77\\hostname\\A server\x87\\maxclients\\8\\needpass\\1\\map\\dm6\\*version\\MVDSV 0.35\\*gamedir\\qw\n"
	return []dissecttest.Sample{
		cut(one("status", "status_request", likely, oob+"status\n")),
		cut(one("status with a zero byte", "status_request", likely, oob+"status\x00")),
		cut(one("status without an end", "status_request", likely, oob+"status")),
		cut(one("status with bits", "status_request", likely, oob+"status 23\n")),
		cut(one("HexenWorld status", "status_request", likely, oob+"\xffstatus\n")),
		cut(one("ping", "ping_request", possible, oob+"ping\n")),
		cut(one("k", "ping_request", possible, oob+"k\n")),
		cut(one("getchallenge", "challenge_request", possible, oob+"getchallenge\n")),
		cut(one("connect", "connect_request", likely, oob+"connect 28 4321 -1447509101 \"\\name\\Alice\\password\\hidden\\team\\red\"\n")),
		cut(one("connect of FTE", "connect_request", likely, oob+"connect 28 4321 12 \"\\name\\Alice\"\n0x58455446 0x1\n")),
		cut(bad(one("connect with an odd key", "connect_request", likely, oob+"connect 28 4321 12 \"\\name\\Alice\\odd\"\n"), "qw.oddkv")),
		cut(one("rcon", "rcon_request", possible, oob+"rcon hidden status\n")),
		cut(one("rcon in the form of Half-Life", "rcon_request", possible, oob+"rcon 12 \"hidden\" status\n")),
		cut(one("rcon after many blanks", "rcon_request", possible, oob+"rcon "+strings.Repeat(" ", 300)+"hidden status\n")),
		cut(one("rcon with a password in the command", "rcon_request", possible, oob+"rcon hidden rcon_password other\n")),
		cut(one("log", "log_request", possible, oob+"log 3\n")),
		cut(one("laststats", "stats_request", likely, oob+"laststats 3\n")),
		cut(one("lastscores", "stats_request", likely, oob+"lastscores\n")),
		cut(one("qtvusers", "viewers_request", likely, oob+"qtvusers\n")),
		cut(one("dlist", "demos_request", likely, oob+"dlist duel 2026\n")),
		cut(one("ip", "proxy", possible, oob+"ip 3 192.0.2.7\n")),
		cut(one("broadcast", "proxy", possible, oob+"broadcast \"qw://192.0.2.9\" \"name\"\n")),
		cut(one("status reply", "status_reply", certain, oob+"n"+settings+
			"1 12 7 38 \"Al\xe9ce\" \"base\" 4 13 \"red\"\n2 -3 16 -25 \"\\s\\Watcher\" \"\" 0 0\n3 S 2 40 \"Other\" \"\" 0 0 \"\" \"none\" \"h\"\n\x00")),
		cut(one("status reply with accounts", "status_reply", certain, oob+"n"+settings+
			"66 2 4 38 \"NL\" \"\" 13 13 \"red\" \"SE\"\n65 -9999 16 -666 \"\\s\\[ServeMe]\" \"\" 12 11 \"lqwc\" \"\"\nqtv 1 \"A stream\" \"1@192.0.2.1:28000\" 3\n\x00")),
		cut(one("next part of a status reply", "status_reply", possible, oob+"n31 5 7 38 \"Late\" \"base\" 4 13\n\x00")),
		cut(one("streams alone", "status_reply", possible, oob+"nqtv 1 \"A stream\" \"1@192.0.2.1:28000\" 3\n\x00")),
		cut(bad(one("status reply with a strange line", "status_reply", certain, oob+"n"+settings+"hello there\n1 12 7 38 \"A\" \"base\" 4 13\n\x00"), "qw.line")),
		cut(bad(one("status reply that is cut", "status_reply", certain, oob+"n"+settings+"1 12 7 38 \"A\" \"base\" 4 13\n2 1 1 1 \"B"), "qw.cut")),
		cut(bad(one("status reply with an odd key", "status_reply", certain, oob+"n\\maxfps\\77\\map\n\x00"), "qw.oddkv")),
		cut(one("HexenWorld status reply", "status_reply", certain, oob+"\xffn\\hostname\\Hexen\\map\\demo1\n1 2 3 4 \"Paladin\" \"\" 0 0\n\x00")),
		one("ping reply", "ping_reply", possible, "l"),
		one("ping reply with a header", "ping_reply", possible, oob+"l\x00"),
		one("refusal", "nack", possible, "m"),
		cut(one("challenge", "challenge_reply", likely, oob+"c-1447509101\x00FTEX\x40\xf0\x40\x21MVD1\x21\x00\x00\x00")),
		cut(one("challenge alone", "challenge_reply", likely, oob+"c5678\x00")),
		cut(bad(one("challenge with more", "challenge_reply", likely, oob+"c5678\x00FTEX\x01"), "qw.extensions")),
		one("connected", "connect_reply", possible, oob+"j"),
		cut(one("print", "print", possible, oob+"nclients: 3\nuptime: 4\n\x00")),
		cut(one("nothing", "print", possible, oob+"n\x00")),
		cut(bad(one("refused", "print", possible, oob+"nBad rcon_password.\n\x00"), "qw.rcon.refused")),
		cut(one("print with a password", "print", possible, oob+"n\"rcon_password\" is \"hidden\"\n\x00")),
		cut(one("statistics", "stats_reply", likely, oob+"nlaststats 1\n[{\"map\": \"dm6\"}]\n\x00")),
		cut(one("viewers", "viewers_reply", likely, oob+"nqtvusers 1 \"Al\xe9ce\" \"Bob\"\n\x00")),
		cut(one("log reply", "log_reply", likely, "stdlog 12\n\\Alice\\Bob\\\n\\Bob\\Bob\\\n\x00")),
		{Name: "unknown", Parts: [][]byte{[]byte(oob + "Zhello")}, Message: "unknown", Findings: []string{"malformed"}, Cut: true},
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
