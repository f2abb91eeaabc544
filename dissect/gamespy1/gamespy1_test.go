package gamespy1

import (
	"errors"
	"fmt"
	"slices"
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
		s := dissecttest.One(name, message, verdict, bs(payload))
		s.Findings = findings
		return s
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

func TestParse(t *testing.T) {
	m, err := Parse([]byte(bs("/info//rules//echo/hello")))
	if q, ok := m.(*Request); err != nil || !ok || !slices.Equal(q.Queries, []Query{{"info", ""}, {"rules", ""}, {"echo", "hello"}}) {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = Parse([]byte(bs("/heartbeat/7778/gamename/ut/statechanged/1/location/0")))
	if h, ok := m.(*Heartbeat); err != nil || !ok || h.Port != dissect.Some(uint16(7778)) || h.Game != "ut" || h.StateChanged != dissect.Some("1") ||
		!slices.Equal(h.Rules, []dissect.KeyValue{{Key: "location", Value: "0"}}) {
		t.Errorf("%+v, %v", m, err)
	}
	payload := []byte(bs(basicText + unrealText + "/queryid/86.2/final/"))
	m, err = Parse(payload)
	for i := range payload {
		payload[i] = 'x' // must not change the result
	}
	p, ok := m.(*Reply)
	if err != nil || !ok || p.QueryID != dissect.Some("86.2") || !p.Final || len(p.Rules) != 3 || len(p.Players) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if a := p.Players[0]; a.Index != 0 || a.Name != "Anna" || a.Score != dissect.Some(5) || a.Ping != dissect.Some(111) || a.Team != dissect.Some("1") || a.Deaths.OK ||
		len(a.Columns) != 8 || a.Columns[0] != (dissect.KeyValue{Key: "name", Value: "Anna"}) || a.Columns[7] != (dissect.KeyValue{Key: "ngsecret", Value: "false"}) {
		t.Errorf("%+v", a)
	}
	var e *dissect.Error
	if _, err = Parse([]byte("status")); !errors.As(err, &e) || err.Error() != "gamespy1.queries.query: no backslash at offset 0" {
		t.Errorf("%v", err)
	}
}

// table formats players or teams in a line: index:name score, and the columns without a
// field.
func tables(p *Reply) string {
	var b strings.Builder
	for _, q := range p.Players {
		fmt.Fprintf(&b, "%d:%s", q.Index, q.Name)
		if q.Score.OK {
			fmt.Fprintf(&b, " %d", q.Score.Value)
		}
		b.WriteString("; ")
	}
	b.WriteString("| ")
	for _, q := range p.Teams {
		fmt.Fprintf(&b, "%d:%s", q.Index, q.Name)
		if q.Score.OK {
			fmt.Fprintf(&b, " %d", q.Score.Value)
		}
		b.WriteString("; ")
	}
	b.WriteString("|")
	for _, r := range p.Rules {
		b.WriteString(" " + r.Key + "=" + r.Value)
	}
	return strings.TrimSpace(b.String())
}

// TestTables sorts the keys of replies into rules, players and teams.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"player by player":             {"/player_0/a/frags_0/1/player_1/b/frags_1/2", "0:a 1; 1:b 2; | |"},
		"column by column":             {"/player_0/a/player_1/b/frags_0/1/frags_1/2", "0:a 1; 1:b 2; | |"},
		"numbers out of order":         {"/player_7/a/player_2/b/frags_7/1", "7:a 1; 2:b; | |"},
		"score before frags":           {"/player_0/a/frags_0/1/score_0/9", "0:a 9; | |"},
		"frags before kills":           {"/player_0/a/kills_0/1/frags_0/2", "0:a 2; | |"},
		"kills":                        {"/playername_0/a/kills_0/3", "0:a 3; | |"},
		"one score makes it the score": {"/player_0/a/frags_0/1/player_1/b/score_1/2", "0:a; 1:b 2; | |"},
		"rules between":                {"/x/1/player_0/a/y/2/frags_0/1/z/3", "0:a 1; | | x=1 y=2 z=3"},
		"a known column alone":         {"/frags_3/5", "3: 5; | |"},
		"an unknown column alone":      {"/map_0/one/map_1/two", "| | map_0=one map_1=two"},
		"an unknown column":            {"/player_0/a/map_0/one/map_1/two", "0:a; | | map_1=two"},
		"a name by another name":       {"/player_0/a/name_0/b", "0:a; | | name_0=b"},
		"a column called index":        {"/player_0/a/index_0/9", "0:a; | | index_0=9"},
		"a suffix of the output":       {"/player_0/a/name_hex_0/9", "0:a; | | name_hex_0=9"},
		"a key twice":                  {"/player_0/a/player_0/b/frags_0/1", "0:a 1; | | player_0=b"},
		"a leading zero":               {"/player_0/a/frags_00/1", "0:a; | | frags_00=1"},
		"a number too high":            {"/player_0/a/frags_1024/1", "0:a; | | frags_1024=1"},
		"a number too long":            {"/player_0/a/frags_99999999999999999999/1", "0:a; | | frags_99999999999999999999=1"},
		"teams of Battlefield":         {"/teamname_0/axis/teamname_1/allied/tickets1/720", "| 0:axis; 1:allied; | tickets1=720"},
		"teams of IL-2":                {"/player_0/a/team_t1/Red/score_t1/100", "0:a; | 1:Red 100; |"},
		"teams with a score":           {"/teamname_0/Red/teamscore_0/5", "| 0:Red 5; |"},
		"an unknown column of a team":  {"/team_t0/Red/rank_t0/1/rank_t7/2", "| 0:Red; | rank_t7=2"},
		"teams of Unreal Tournament":   {utTeams, "| 0:Red 12; 1:Blue 3; |"},
		"players, then such teams":     {unrealText + utTeams, "0:Anna 5; 1:Borje 0; | 0:Red 12; 1:Blue 3; |"},
		"a team of a player":           {"/player_0/a/team_0/1/score_0/4", "0:a 4; | |"},
	} {
		m, err := Parse([]byte(bs(c.in + "/final//queryid/1.1")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := tables(m.(*Reply)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// TestBackslash has values that contain an unescaped backslash.
func TestBackslash(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"in a name, before a known key":       {"/player_0/A/B/frags_0/1", `0:A\B 1; | |`},
		"in a name, before an unknown column": {"/player_0/A/B/rank_0/1", `0:A\B; | |`},
		"at the end of a name":                {"/player_0/A//frags_0/1", `0:A\ 1; | |`},
		"two of them":                         {"/player_0/A//B/frags_0/1", `0:A\\B 1; | |`},
		"at the beginning of a name":          {"/player_0//A/frags_0/1", `0:\A 1; | |`},
		"before no letter":                    {"/hostname/a/1 b/x/2/mapname/y", `| | hostname=a\1 b x=2 mapname=y`},
		"an empty value":                      {"/player_0/A/face_0//frags_0/1", "0:A 1; | |"},
		"an empty value at the end":           {"/player_0/A/face_0/", "0:A; | |"},
		"an empty name":                       {"/player_0//frags_0/1", "0: 1; | |"},
		"a rule behind a name":                {"/player_0/A/rule/1/player_1/B", "0:A; 1:B; | | rule=1"},
		"validate behind a name":              {"/player_0/A/validate/xyz", "0:A; | |"},
		"keys that begin with digits":         {"/player_0/A/1fort/yes/2fort/no", "0:A; | | 1fort=yes 2fort=no"},
		"a player called final":               {"/player_0/final/frags_0/1", "0:final 1; | |"},
		"a player called queryid":             {"/player_0/queryid/frags_0/1", "0:queryid 1; | |"},
		"a rule whose value is a common key":  {"/mode/hostname/x/1", "| | mode=hostname x=1"},
		"a backslash behind the last value":   {"/a/1/b/2/", "| | a=1 b=2"},
		"no backslash before the first key":   {"a/1/b/2", "| | a=1 b=2"},
	} {
		m, err := Parse([]byte(bs(c.in + "/final//queryid/1.1")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := tables(m.(*Reply)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// TestJoined joins replies in several datagrams.
func TestJoined(t *testing.T) {
	const first = "/statusresponse/0/hostname/x/player_0/Anna/player_1/"
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"a value in the next datagram":        {[]string{first + "Eva/score_0/eof/", "/statusresponse/1/4/score_1/5/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:Eva 5; | | hostname=x"},
		"a name in the next datagram":         {[]string{first[:len(first)-1] + "/eof/", "/statusresponse/1/Eva/score_0/4/score_1/5/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:Eva 5; | | hostname=x"},
		"a name that is a key":                {[]string{first[:len(first)-1] + "/eof/", "/statusresponse/1/hostname/score_0/4/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:hostname; | | hostname=x"},
		"pairs that are whole":                {[]string{first + "Eva/score_0/4/eof/", "/statusresponse/1/score_1/5/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:Eva 5; | | hostname=x"},
		"an empty value before the cut":       {[]string{first + "Eva/vip_1//eof/", "/statusresponse/1/score_1/5/queryid/AMv1/final//eof/"}, "0:Anna; 1:Eva 5; | | hostname=x"},
		"a name cut over an empty datagram":   {[]string{first[:len(first)-1] + "/eof/", "/statusresponse/1/eof/", "/statusresponse/2/Eva/queryid/AMv1/final//eof/"}, "0:Anna; 1:Eva; | | hostname=x"},
		"a name cut inside":                   {[]string{first + "E/eof/", "/statusresponse/1va/score_0/4/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:Eva; | | hostname=x"},
		"a key cut inside":                    {[]string{first + "Eva/sc/eof/", "/statusresponse/1ore_0/4/queryid/AMv1/final//eof/"}, "0:Anna 4; 1:Eva; | | hostname=x"},
		"a key cut inside, the rest lost":     {[]string{first + "Eva/sc/eof/"}, "0:Anna; 1:Eva; | | hostname=x sc="},
		"out of order":                        {[]string{"/statusresponse/2/0/score_1/5/queryid/AMv1/final//eof/", "/statusresponse/1/Eva/score_0/eof/", first[:len(first)-1] + "/eof/"}, "0:Anna 0; 1:Eva 5; | | hostname=x"},
		"a value whose key is lost":           {[]string{"/statusresponse/1/Eva/player_2/Ida/score_0/4/queryid/AMv1/final//eof/"}, "2:Ida; 0: 4; | | =Eva"},
		"a number whose key is lost":          {[]string{first + "Eva/eof/", "/statusresponse/2/4/vip_1/5/queryid/AMv1/final//eof/"}, "0:Anna; 1:Eva; | | hostname=x =4"},
		"the other ending":                    {[]string{first + "Eva/score_0/queryid/0", "/statusresponse/1/4/score_1/5/queryid/1/final/"}, "0:Anna 4; 1:Eva 5; | | hostname=x"},
		"queryid in every datagram":           {[]string{first + "Eva/queryid/AMv1/eof/", "/statusresponse/1/score_1/5/queryid/AMv1/final//eof/"}, "0:Anna; 1:Eva 5; | | hostname=x"},
		"GS1":                                 {[]string{"/hostname/x/player_0/Anna/queryid/1", "/score_0/3/player_1/Eva/queryid/2", "/score_1/4/queryid/3/final/"}, "0:Anna 3; 1:Eva 4; | | hostname=x"},
		"GS1, the last first":                 {[]string{"/score_1/4/queryid/3/final/", "/score_0/3/player_1/Eva/queryid/2", "/hostname/x/player_0/Anna/queryid/1"}, "0:Anna 3; 1:Eva 4; | | hostname=x"},
		"GS1, a pair cut":                     {[]string{"/hostname/x/player_0/queryid/1", "/Anna/score_0/3/queryid/2/final/"}, "0:Anna 3; | | hostname=x"},
		"GameSpy: no pair crosses a datagram": {[]string{"/hostname/x/player_0/queryid/1.1", "/score_0/3/queryid/1.2/final/"}, "0: 3; | | hostname=x player_0="},
	} {
		var in [][]byte
		for _, s := range c.in {
			in = append(in, []byte(bs(s)))
		}
		if got := tables(dissecttest.Decode(t, Protocol(), in...).Body.(*Reply)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

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

// TestDetect judges first bytes.
func TestDetect(t *testing.T) {
	long := strings.Repeat("x", 64)
	for in, want := range map[string]dissect.Verdict{
		"/status/":                   dissect.Certain,
		"/status/xserverquery":       dissect.Certain,
		"/info//players/":            dissect.Certain,
		"/status":                    dissect.Likely,
		"/status\x00":                dissect.Likely,
		"/statuses":                  dissect.No,
		"/infos/":                    dissect.Possible,
		"/hostname/" + long:          dissect.Certain,
		"/player_12/x/":              dissect.Certain,
		"/score_t1/7/":               dissect.Certain,
		"/final//queryid/3.1":        dissect.Certain,
		"/heartbeat/7778/":           dissect.Certain,
		"/infos//players/":           dissect.Likely,
		"/infos//players/x":          dissect.Possible,
		"/timelimit/20/numplayers/0": dissect.Likely,
		"/timelimit/20/frags_1/0":    dissect.Likely,
		"/timelimit/20/fraglimit/0":  dissect.Doubtful,
		"/timelimit/20":              dissect.Doubtful,
		"/somekey/" + long:           dissect.Doubtful,
		"/server/share/file.txt":     dissect.Doubtful, // a path
		"/a b/c/":                    dissect.No,
		"/1/2/3/":                    dissect.No,
		"/x\x01y/1/":                 dissect.No,
		"/x/a\x02b/y/":               dissect.No,
		"/":                          dissect.No,
		"//":                         dissect.No,
		"//status//":                 dissect.No,
		"status/":                    dissect.No,
		"\xff\xff\xff\xffgetstatus/": dissect.No,
		"":                           dissect.No,
	} {
		if got := Detect([]byte(bs(in)[:min(len(in), 64)])); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// talk plays datagrams of a client, which begin with >, and of a server through an
// analyzer. It returns the names of the messages and whether they are paired.
func talk(t *testing.T, datagrams ...string) string {
	t.Helper()
	var k keeper
	for i, d := range datagrams {
		if datagrams[i] = bs(d); d[0] != '>' {
			datagrams[i] = "<" + bs(d)
		}
	}
	dissecttest.Talk(t, Protocol(), &k, 9999, datagrams...)
	return strings.Join(k, ", ")
}

type keeper []string

func (k *keeper) Record(r *dissect.Record) {
	s := r.Type.Name
	if r.RequestFrame > 0 {
		s += fmt.Sprintf(" to %d", r.RequestFrame)
	}
	for i := range r.Findings {
		if f := r.Findings[i].Type; f.Severity > dissect.Chat {
			s += " " + f.ID
		}
	}
	*k = append(*k, s)
}
func (k *keeper) Unknown(*dissect.Unknown) { *k = append(*k, "unknown") }
func (k *keeper) Finding(f *dissect.FlowFinding) {
	*k = append(*k, fmt.Sprintf("[%s of %d]", f.Type.ID, f.Frame))
}

// TestConversations pairs requests with replies, which do not say what they answer.
func TestConversations(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"status": {[]string{">/status/", basicText + "/final//queryid/1.1"}, "status_request, status_reply to 1"},
		"info with the name of the game": {[]string{">/info/", "/gamename/bfield1942/hostname/x/final//queryid/1.1"},
			"info_request, info_reply to 1"},
		"nobody plays": {[]string{">/players/", "/queryid/1.1/final/"}, "players_request, players_reply to 1"},
		"two requests, replies the other way round": {[]string{">/info/", ">/players/", "/player_0/a/final//queryid/2.1", "/hostname/x/final//queryid/1.1"},
			"info_request, players_request, players_reply to 2, info_reply to 1"},
		"combined": {[]string{">/info//players/", "/hostname/x/player_0/a/final//queryid/1.1"}, "combined_request, status_reply to 1"},
		"combined, answered one by one": {[]string{">/info//players/", "/hostname/x/final//queryid/1.1", "/player_0/a/final//queryid/2.1"},
			"combined_request, info_reply to 1, players_reply to 1 gs1.several"},
		"echo":                    {[]string{">/echo/hi", "/echo/hi/final//queryid/1.1"}, "echo_request, echo_reply to 1"},
		"echo, turned off":        {[]string{">/echo/hi", "/ignoring/hi/queryid/1.1/final/"}, "echo_request, rules_reply to 1"},
		"secure":                  {[]string{">/secure/abc", "/validate/xyz/final//queryid/1.1"}, "secure_request, secure_reply to 1"},
		"secure, without markers": {[]string{">/secure/abc", "/validate/xyz"}, "secure_request, secure_reply to 1"},
		"basic and secure":        {[]string{">/basic//secure/abc", "/gamename/ut/validate/xyz/final//queryid/1.1"}, "basic_request, basic_reply to 1"},
		"heartbeat":               {[]string{"/heartbeat/7778/gamename/ut", ">/status/", "/gamename/ut/final//queryid/1.1"}, "heartbeat, status_request, status_reply to 2"},
		"repeated":                {[]string{">/status/", ">/status/", basicText + "/final//queryid/1.1"}, "status_request, status_request request.retransmission, status_reply to 1"},
		"nobody answers":          {[]string{">/status/"}, "status_request, [gs1.noreply of 1]"},
		"nobody asked":            {[]string{basicText + "/final//queryid/1.1"}, "basic_reply"},
		"a second reply":          {[]string{">/basic/", basicText + "/final//queryid/1.1", basicText + "/final//queryid/1.1"}, "basic_request, basic_reply to 1, [capture.duplicate of 3]"},
		"another second reply":    {[]string{">/basic/", basicText + "/final//queryid/1.1", basicText + "/final//queryid/2.1"}, "basic_request, basic_reply to 1, basic_reply to 1 gs1.several"},
		"a part is lost": {[]string{">/status/", "/gamename/ut/queryid/1.1", "/player_1/b/final//queryid/1.3"},
			"status_request, status_reply to 1 gs1.part.missing"},
		"the end is lost": {[]string{">/status/", "/gamename/ut/queryid/1.1", "/player_1/b/queryid/1.2"},
			"status_request, status_reply to 1 gs1.final.missing"},
		"the same number for two replies": {[]string{">/status/", "/gamename/ut/queryid/1.1", "/final//queryid/1.2", ">/status/", "/gamename/ut/queryid/1.1", "/final//queryid/1.2"},
			"status_request, status_reply to 1, status_request, status_reply to 4"},
		"the same number after a loss": {[]string{">/status/", "/gamename/ut/queryid/1.1", ">/status/", "/gamename/ut/queryid/1.1", "/final//queryid/1.2"},
			"status_request, status_request request.retransmission, status_reply to 1 gs1.part.duplicate"},
		"AdminMod of SWAT 4, twice": {[]string{">/status/", swatText + "/score_0/eof/", "/statusresponse/1/4/queryid/AMv1/final//eof/", ">/status/", "/statusresponse/1/5/queryid/AMv1/final//eof/", swatText + "/score_0/eof/"},
			"status_request, status_reply to 1, status_request, status_reply to 4 gs1.part.reorder"},
		"GS1 modification of SWAT 4, twice": {[]string{">/status/", "/hostname/x/queryid/1", "/player_0/a/queryid/2/final/", ">/status/", "/hostname/x/queryid/1", "/player_0/b/queryid/2/final/"},
			"status_request, status_reply to 1, status_request, status_reply to 4"},
		"GS1 modification of SWAT 4, the second lost": {[]string{">/status/", "/hostname/x/queryid/1", "/player_0/b/queryid/3/final/"},
			"status_request, status_reply to 1 gs1.part.missing"},
		"a single number that counts requests": {[]string{">/status/", "/hostname/x/final//queryid/6", ">/status/", "/hostname/x/final//queryid/7"},
			"status_request, status_reply to 1 gs1.queryid.short, status_request, status_reply to 3 gs1.queryid.short"},
		"two replies mixed": {[]string{">/info/", ">/players/", "/hostname/x/queryid/1.1", "/player_0/a/queryid/2.1", "/final//queryid/1.2", "/player_1/b/final//queryid/2.2"},
			"info_request, players_request, info_reply to 1, players_reply to 2"},
		"no numbers at all": {[]string{">/info/", "/hostname/x/final/", ">/info/", "/hostname/x/final/"},
			"info_request, info_reply to 1 gs1.queryid.missing, info_request, info_reply to 3 gs1.queryid.missing"},
	} {
		if got := talk(t, c.in...); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
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
