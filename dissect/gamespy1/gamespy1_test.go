package gamespy1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// bs returns a message with backslashes for slashes.
func bs(s string) string { return strings.ReplaceAll(s, "/", `\`) }

const (
	basicText = "/gamename/mohaa/gamever/1.11/location/1"
	infoText  = "/hostname/A server of caf\xe9s/hostport/12203/mapname/dm_mohdm6/gametype/Team-Match/numplayers/3/maxplayers/20/gamemode/openplaying"
	rulesText = "/timelimit/20/fraglimit/0/unpure_mods//rankedserver/0"
	// One player after the other, with a gap in the numbers.
	playersText = "/player_0/Anna/frags_0/-2/deaths_0/0/ping_0/ 20/player_1/B\xf6rje/frags_1/1/deaths_1/2/ping_1/ 107/player_4/Cyd/frags_4/4/deaths_4/4/ping_4/ 34"
	// Battlefield 1942: columns by name, kills beside the score, the teams.
	battleText = "/deaths_0/3/kills_0/7/ping_0/51/playername_0/Anna/score_0/19/team_0/2/keyhash_0/0aa1/deaths_1/1/kills_1/0/ping_1/19/playername_1/Borje/score_1/2/team_1/1/keyhash_1/0bb2" +
		"/teamname_0/axis/teamname_1/allied"
	// Unreal Tournament.
	unrealText = "/player_0/Anna/frags_0/5/ping_0/ 111/team_0/1/mesh_0/Female Soldier/skin_0/SGirlSkins.fwar/face_0//ngsecret_0/false/player_1/Borje/frags_1/0/ping_1/ 37/team_1/255/mesh_1/Spectator/skin_1/None/face_1//ngsecret_1/true"
	// The beginning of a reply of SWAT 4's AdminMod.
	swatText = "/statusresponse/0/hostname/A server/numplayers/2/maxplayers/16/gametype/VIP Escort/mapname/Red Library Offices/gamever/1.0/player_0/Anna/player_1/Borje"
	utTeams  = "/team_0/Red/score_0/12/size_0/1/team_1/Blue/score_1/3/size_1/0"
)

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := func(name, message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, verdict, bs(payload), findings...)
	}
	// Requests are sound wherever they end: any word is a request.
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	short := func(s dissecttest.Sample, ends ...int) dissecttest.Sample {
		for _, n := range ends {
			s.Sound = append(s.Sound, len(s.Parts[len(s.Parts)-1])-n)
		}
		return s
	}
	parts := func(name, message string, findings []string, payloads ...string) dissecttest.Sample {
		s := dissecttest.Sample{Name: name, Message: message, Verdict: certain, Findings: findings}
		for _, p := range payloads {
			s.Parts = append(s.Parts, []byte(bs(p)))
		}
		return s
	}
	const notUTF8 = "enc.notutf8"
	return []dissecttest.Sample{
		cut(one("status", "status_request", certain, "/status/")),
		cut(one("info", "info_request", certain, "/info/")),
		cut(one("basic", "basic_request", certain, "/basic/")),
		cut(one("rules", "rules_request", certain, "/rules/")),
		cut(one("players", "players_request", certain, "/players/")),
		cut(one("teams", "teams_request", certain, "/teams/")),
		cut(one("packets", "packets_request", certain, "/packets/")),
		cut(one("property", "property_request", certain, "/level_property/Author/")),
		cut(one("echo", "echo_request", certain, "/echo/hello")),
		cut(one("secure", "secure_request", certain, "/secure/ABCDEF")),
		cut(one("status of gamedig", "status_request", certain, "/status/xserverquery")),
		cut(one("status with secure", "status_request", certain, "/status/secure/ABCDEF")),
		cut(one("basic with secure, as masters ask", "basic_request", certain, "/basic//secure/wookie")),
		cut(one("several", "combined_request", certain, "/info//rules//players/")),
		cut(one("several, one backslash between", "combined_request", certain, "/info/players/")),
		cut(one("several of Unreal's browser", "combined_request", certain, "/status//echo//teams//level_property/Author//game_property/NumBots/")),
		cut(one("with a zero byte", "status_request", certain, "/status/\x00")),
		cut(one("without its end", "status_request", likely, "/status", "gs1.query.open")),
		cut(one("no query", "unknown_request", possible, "/infos/", "gs1.query.unknown")),
		cut(one("an unknown query before a known one", "players_request", possible, "/infos//players/", "gs1.query.unknown")),
		cut(one("backslashes at the end", "rules_request", certain, "/rules////")),

		one("basic reply", "basic_reply", certain, basicText+"/final//queryid/6.1"),
		one("info reply", "info_reply", certain, infoText+"/final//queryid/7.1", notUTF8),
		one("rules reply", "rules_reply", likely, rulesText+"/final//queryid/8.1"),
		one("players reply", "players_reply", certain, playersText+"/final//queryid/9.1", notUTF8),
		one("teams reply", "teams_reply", certain, utTeams+"/final//queryid/9.1"),
		one("status reply", "status_reply", certain, basicText+infoText+rulesText+playersText+"/final//queryid/5.1", notUTF8),
		one("status reply with validate", "status_reply", certain, basicText+infoText+"/validate/iA2tel80/final//queryid/5.1", notUTF8),
		cut(one("echo reply", "echo_reply", certain, "/echo/hello/final//queryid/10.1")),
		cut(one("validate", "secure_reply", certain, "/validate/iA2tel80/final//queryid/11.1")),
		cut(one("validate to a master", "secure_reply", certain, "/validate/iA2tel80")),
		one("nothing", "empty_reply", certain, "/final//queryid/3.1"),
		short(one("final behind, as Unreal Tournament writes", "basic_reply", certain, "/gamename/ut/gamever/451/queryid/20.1/final/"), 1),
		one("final without value, as Descent 3 writes", "basic_reply", certain, "/gamename/descent3/gamever/Retail 1.4/location/1/final/queryid/2.1\x00", "gs1.final.novalue"),
		one("queryid without a datagram", "basic_reply", certain, basicText+"/final//queryid/6", "gs1.queryid.short"),
		one("queryid of no number", "basic_reply", certain, basicText+"/final//queryid/abc.1", "gs1.queryid.short"),
		short(one("a backslash at the end", "basic_reply", certain, basicText+"/final//queryid/6.1/"), 1),
		one("no queryid", "basic_reply", certain, basicText+"/final/", "gs1.queryid.missing"),
		short(one("zero bytes at the end", "basic_reply", certain, basicText+"/final//queryid/6.1\x00\x00"), 1, 2),
		short(one("queryid in front", "basic_reply", certain, "/queryid/6.1"+basicText+"/final/"), 1),

		one("Battlefield 1942", "status_reply", certain, "/gamename/bfield1942/numplayers/2"+battleText+"/final//queryid/32.1"),
		one("score, frags and kills", "players_reply", certain, "/player_0/Anna/score_0/9/frags_0/3/kills_0/2/final//queryid/1.1"),
		one("kills alone", "players_reply", certain, "/player_0/Anna/kills_0/7/player_1/Borje/kills_1/8/final//queryid/1.1"),
		one("scores of teams", "status_reply", certain, "/hostname/IL-2/player_0/Anna/score_0/7/team_t0/Red/score_t0/100/rank_t0/first/final//queryid/1.1"),
		short(one("Unreal Tournament with teams", "status_reply", certain, "/gamename/ut"+unrealText+utTeams+"/queryid/86.1/final/"), 1),
		one("columns one after the other", "players_reply", certain, "/player_0/Anna/player_1/Borje/player_2/Cyd/frags_0/1/frags_1/2/frags_2/3/ping_0/10/ping_1/20/ping_2/30/final//queryid/1.1"),
		one("columns of its own", "players_reply", certain, "/player_0/Anna/honor_0/7/clan_0/Caf\xe9/player_1/Borje/honor_1/-3/clan_1//final//queryid/1.1", notUTF8),
		one("keys with numbers that are no columns", "info_reply", certain, "/hostname/A server/gametype_2/x/map_0/one/team_9999/y/rate_007/1/final//queryid/1.1"),
		one("a colour of Unreal's", "info_reply", certain, "/hostname/\x1b\x01\x7f\x01green/final//queryid/1.1"),

		one("more players than numplayers", "status_reply", certain, "/gamename/bfield1942/numplayers/1"+battleText+"/final//queryid/32.1", "gs1.stale_players"),
		one("fewer players than numplayers", "status_reply", certain, "/gamename/bfield1942/numplayers/5"+battleText+"/final//queryid/32.1", "gs1.few_players"),
		one("a player twice", "players_reply", certain, "/playername_0/Anna/keyhash_0/aa/playername_1/Borje/keyhash_1/bb/playername_2/Anna/keyhash_2/aa/final//queryid/1.1", "gs1.dup_keyhash"),
		one("a key twice", "players_reply", certain, "/player_0/Anna/frags_0/1/frags_0/2/final//queryid/1.1", "gs1.column.twice"),
		one("a player without a name", "players_reply", certain, "/player_0/Anna/frags_0/1/frags_1/2/final//queryid/1.1", "gs1.unnamed"),
		one("backslash in a name", "players_reply", certain, "/player_0/A//B/frags_0/1/final//queryid/1.1", "gs1.backslash"),
		one("backslash in a host name", "info_reply", certain, "/hostname/=(A/B)=/mapname/x/final//queryid/1.1", "gs1.backslash"),
		one("the last key without a value", "basic_reply", certain, basicText+"/language/final//queryid/6.1", "gs1.oddkv"),

		parts("split", "status_reply", []string{notUTF8}, basicText+infoText+rulesText+"/queryid/2.1", playersText+"/final//queryid/2.2"),
		parts("split, the last one empty", "status_reply", []string{notUTF8}, basicText+infoText+"/queryid/4396.1", "/final//queryid/4396.2"),
		short(parts("split as Unreal Tournament writes", "status_reply", nil, "/gamename/ut/hostname/A server/numplayers/2/queryid/86.1", unrealText+"/queryid/86.2/final/"), 1),
		parts("split inside of a player", "players_reply", nil, "/player_0/Anna/player_1/Borje/score_0/1/queryid/3.1", "/score_1/2/ping_0/3/ping_1/4/queryid/3.2", "/final//queryid/3.3"),
		parts("split, out of order", "players_reply", []string{"gs1.part.reorder"}, "/player_1/Borje/frags_1/2/final//queryid/3.2", "/player_0/Anna/frags_0/1/queryid/3.1"),
		parts("split, one datagram twice", "players_reply", []string{"gs1.part.duplicate"}, "/player_0/Anna/queryid/3.1", "/player_0/Anna/queryid/3.1", "/player_1/Borje/final//queryid/3.2"),
		parts("split, a contradiction", "players_reply", []string{"gs1.part.conflict"}, "/player_0/Anna/queryid/3.1", "/player_0/Else/queryid/3.1", "/player_1/Borje/final//queryid/3.2"),
		parts("split, the first missing", "players_reply", []string{"gs1.part.missing"}, "/player_0/Anna/queryid/3.2", "/player_1/Borje/final//queryid/3.3"),
		parts("split, the last missing", "status_reply", []string{"gs1.final.missing", notUTF8}, basicText+infoText+"/queryid/2.1", playersText+"/queryid/2.2"),
		parts("split without numbers", "status_reply", []string{notUTF8, "gs1.queryid.missing"}, basicText+infoText, playersText+"/final/"),
		parts("split without numbers of datagrams", "status_reply", []string{"gs1.queryid.short", notUTF8}, basicText+infoText+"/queryid/13", playersText+"/final//queryid/13"),
		short(parts("AdminMod of SWAT 4", "status_reply", nil, swatText+"/score_0/eof/", "/statusresponse/1/7/score_1/3/ping_0/40/ping_1/50/team_0/eof/", "/statusresponse/2/0/team_1/1/queryid/AMv1/final//eof/"), 5, 6),
		parts("AdminMod of SWAT 4, out of order", "status_reply", []string{"gs1.part.reorder"}, "/statusresponse/1/7/score_1/3/queryid/AMv1/final//eof/", swatText+"/score_0/eof/"),
		parts("AdminMod of SWAT 4, the second missing", "status_reply", []string{"gs1.part.missing"}, swatText+"/score_0/eof/", "/statusresponse/2/40/ping_1/50/queryid/AMv1/final//eof/"),
		parts("AdminMod of SWAT 4, the last missing", "status_reply", []string{"gs1.final.missing"}, swatText+"/score_0/eof/", "/statusresponse/1/7/score_1/3/ping_0/eof/"),
		short(one("AdminMod of SWAT 4 in one datagram", "status_reply", certain, swatText+"/queryid/AMv1/final//eof/"), 5, 6),
		short(parts("AdminMod of SWAT 4 with another ending", "status_reply", nil, swatText+"/score_0/queryid/0", "/statusresponse/1/7/score_1/3/queryid/1/final/"), 1),
		short(parts("GS1 modification of SWAT 4", "status_reply", nil, "/hostname/x/numplayers/2/player_0/Anna/score_0/1/queryid/1", "/player_1/Borje/score_1/2/queryid/2", "/kills_1/2/queryid/3/final/"), 1),
		parts("split with zero bytes", "status_reply", []string{"gs1.final.novalue"}, "/gamename/descent3/hostname/x/queryid/2.1\x00", "/player_0/Anna/final/queryid/2.2\x00"),

		cut(one("heartbeat", "heartbeat", certain, "/heartbeat/7778/gamename/ut")),
		cut(one("heartbeat of a change", "heartbeat", certain, "/heartbeat/12300/gamename/mohaa/statechanged/")),
		cut(one("heartbeat at the end", "heartbeat", certain, "/heartbeat/12300/gamename/mohaa/statechanged/2\x00")),
		cut(one("heartbeat with more", "heartbeat", certain, "/heartbeat/7777/nlistid/12/gamestate/3/")),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestParts reads the places of datagrams.
func TestParts(t *testing.T) {
	type part struct {
		id    uint64
		index int
		last  bool
	}
	whole := part{0, -2, false}
	for in, want := range map[string]part{
		"/a/1/queryid/20.1":                              {20, 0, false},
		"/a/1/queryid/20.3":                              {20, 2, false},
		"/a/1/final//queryid/20.3":                       {20, 2, true},
		"/a/1/queryid/20.3/final/":                       {20, 2, true},
		"/a/1/queryid/20.3/final":                        {20, 2, true},
		"/a/1/queryid/20.3/":                             {20, 2, false},
		"/a/1/final/queryid/20.3\x00":                    {20, 2, true},
		"/final//queryid/4396.2":                         {4396, 1, true},
		"/a/1/final//queryid/20.1":                       whole,
		"/final//queryid/20.1":                           whole,
		"/a/1/queryid/33":                                {33, -1, false},
		"/a/1/final//queryid/33":                         {33, -1, true},
		"/hostname/a/queryid/20":                         {0, 0, false},
		"/gamename/a/final//queryid/20":                  whole,
		"/hostname/a/queryid/1":                          {0, 0, false},
		"/hostname/a/queryid/1/final/":                   whole,
		"/a/1/queryid/0":                                 {0, -1, false},
		"/a/1/queryid/32":                                {0, 31, false},
		"/a/1/queryid/2/final/":                          {0, 1, true},
		"/statusresponse/0/a/1/eof/":                     {0, 0, false},
		"/statusresponse/0/a/eof/":                       {0, 0, false},
		"/statusresponse/1/a/1/queryid/0":                {0, 1, false},
		"/statusresponse/2/a/1/queryid/AMv1/final//eof/": {0, 2, true},
		"/statusresponse/2/a/1/queryid/2/final/":         {0, 2, true},
		"/statusresponse/0/a/1/queryid/AMv1/final//eof/": whole,
		"/statusresponse/254/a/1/eof/":                   {0, 254, false},
		"/statusresponse/255/a/1/eof/":                   whole,
		"/statusresponse//a/1/eof/":                      whole,
		"/a/1/queryid/20.0":                              {20, -1, false},
		"/a/1/b/2":                                       {0, -1, false},
		"/a/1/final/":                                    {0, -1, true},
		"/player_0/final/queryid/20.1":                   {20, 0, false},
		"/player_0/final":                                {0, -1, false},
		"/a//queryid/7.7/queryid/20.2/b/1":               {20, 1, false},
		"/queryid/20.2/a/1/final/":                       {20, 1, true},
		"/a/1/queryid/x.1":                               whole,
		"/a/1/queryid/20.x":                              whole,
		"/a/1/queryid/20.256":                            whole,
		"/a/1/queryid/1234567890123456.1":                whole,
		"/validate/xyz":                                  whole,
		"/status/":                                       whole,
		"/status/xserverquery":                           whole,
		"/heartbeat/7778/gamename/ut":                    whole,
		"/heartbeat/7778/gamename/ut/final//queryid/1.2": whole,
		"status": whole,
		"":       whole,
	} {
		got := whole
		if p, ok := readPart([]byte(bs(in)), 0); ok {
			got = part{p.ID, p.Index, p.Last}
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

// TestManyColumns has more columns than any game.
func TestManyColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("/player_0/a")
	for i := range 2000 {
		fmt.Fprintf(&b, "/c%c%d_0/%d", 'a'+i%26, i, i)
	}
	m, err := Parse([]byte(bs(b.String() + "/final//queryid/1.1")))
	if p := m.(*Reply); err != nil || len(p.Players) != 1 || len(p.Players[0].Columns)+len(p.Rules) != 2001 {
		t.Errorf("%d players, %d rules, %v", len(p.Players), len(p.Rules), err)
	}
}
