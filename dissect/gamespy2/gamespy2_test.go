package gamespy2

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
)

// The sections of replies, as the SDK writes them. A bar marks where a reply may also
// end; it is not part of the reply.
const (
	info = "hostname\x00A server\x00gamever\x001.04\x00hostport\x002302\x00mapname\x00bloodgulch\x00gametype\x00CTF\x00" +
		"numplayers\x002\x00maxplayers\x0016\x00password\x001\x00gamename\x00halor\x00empty\x00\x00\x00"
	players = "|\x00|\x02player_\x00score_\x00ping_\x00team_\x00\x00Alice\x007\x0042\x000\x00Bob\x00-1\x00113\x00\x00"
	teams   = "|\x00|\x02team_t\x00score_t\x00\x00Red\x003\x00Blue\x009\x00"
	none    = "|\x00|\x00\x00" // a table without columns
)

func plain(s string) string { return strings.ReplaceAll(s, "|", "") }

func samples() []dissecttest.Sample {
	const possible, likely = dissect.Possible, dissect.Likely
	request := func(name string, v dissect.Verdict, rest string) dissecttest.Sample {
		return dissecttest.One(name, "status_request", v, "\xfe\xfd\x00\x10\x20\x30\x40"+rest)
	}
	reply := func(name string, v dissect.Verdict, rest string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, "status_reply", v, "\x00CORY"+plain(rest))
		n := 5
		s.Sound = []int{n}
		for piece := range strings.SplitSeq(rest, "|") {
			n += len(piece)
			s.Sound = append(s.Sound, n)
		}
		s.Findings = findings
		return s
	}
	parts := func(name string, findings []string, bodies ...string) dissecttest.Sample {
		s := dissecttest.Sample{Name: name, Message: "status_reply", Verdict: likely, Findings: findings, Cut: true}
		for _, b := range bodies {
			s.Parts = append(s.Parts, []byte("\x00CORY"+plain(b)))
		}
		return s
	}
	list := []dissecttest.Sample{
		request("everything", likely, "\xff\xff\xff"),
		request("settings", likely, "\xff\x00\x00"),
		request("players and teams", likely, "\x00\xff\xff"),
		request("nothing", possible, "\x00\x00\x00"),
		request("single keys", possible, "\x03\x01\x05\x33\x01\x15\x01\x1c"),
		reply("settings", likely, info),
		reply("players and teams", likely, players+teams),
		reply("everything", likely, info+players+teams),
		reply("players, no teams", likely, players+none),
		reply("teams alone", likely, teams),
		reply("nobody there", likely, "\x00|\x00player_\x00team_\x00score_\x00deaths_\x00\x00"+none),
		reply("nothing there", possible, none+none),
		reply("teams counted without keys", likely, players+"|\x00|\x02\x00"),
		reply("an unnamed player", likely, "\x00|\x02player_\x00score_\x00\x00\x005\x00Bob\x006\x00"+none),
		reply("only unnamed players", likely, "\x00|\x02player_\x00\x00\x00\x00"+none),
		reply("without any data", possible, ""),
		reply("settings of a game's own", possible, "squad\x00alpha\x00\x00"),
		reply("America's Army: no count, colours", likely,
			"hostname\x00\x1b\xff\x01\x01Honor\x1b\x80\x80\x80 Server\x00mapname\x00Bridge\x00\x00"+
				"|\x00|player_\x00leader_\x00honor_\x00\x00|\x1b\x01\xff\x01Alice\x00\x0010\x00|Bob\x00Bob\x0064\x00", "enc.notutf8", "gs2.table.nocount"),
		reply("Latin-1", likely, "hostname\x00Caf\xe9\x00\x00|\x00|\x01player_\x00\x00J\xfcrgen\x00"+none, "enc.notutf8"),
		reply("extra columns", likely, "\x00|\x01player_\x00name_\x00k:d_\x00a/b_\x00score_\x00score_\x00deaths_\x00AIBot_\x00\x00Alice\x00a\x000.5\x00x\x001\x002\x0010\x000\x00"+
			"|\x00|\x01team_t\x00score_t\x00avgping_t\x00c/d_t\x00score_t\x00\x00Red\x001\x0050\x00?\x002\x00"),
		reply("count too low", likely, "\x00|\x01player_\x00score_\x00\x00Alice\x007\x00|Bob\x003\x00"+none, "gs2.table.count"),
		reply("count too high", likely, strings.Replace(players, "\x02", "\x05", 1)+teams, "gs2.table.count"),
		reply("cut inside of a row", likely, info+players[:len(players)-3], "gs2.table.count", "gs2.table.cut"),
		reply("settings without their end", likely, info[:len(info)-1], "gs2.part.end", "gs2.end"),
		reply("columns without their end", likely, "\x00|\x00player_\x00score_\x00", "gs2.part.end", "gs2.end"),
		reply("one zero byte more", likely, players+"|\x00"),
		reply("bytes behind the tables", likely, players+teams+"|more", "trailing"),
		parts("in two datagrams, cut between settings", nil, info[:31], info[31:]+players+teams+"\x00"),
		parts("in two datagrams, cut between a key and its value", nil, info[:9], info[9:]+players+none),
		parts("in two datagrams, cut before the end of the settings", nil, info[:len(info)-1], "\x00"+players+teams+"\x00"),
		parts("in two datagrams, cut between rows", nil, info+players[:strings.Index(players, "Bob")], "Bob\x00-1\x00113\x00\x00"+teams+"\x00"),
		parts("in three datagrams, cut inside of a row", nil, info[:31], info[31:]+players[:strings.Index(players, "42")], "42\x000\x00Bob\x00-1\x00113\x00\x00"+teams+"\x00"),
		parts("in two datagrams, the first twice", []string{"gs2.part.duplicate"}, info[:31], info[:31], info[31:]+players+none),
		parts("in two datagrams, the second lost", []string{"gs2.part.end", "gs2.end"}, info[:31]),
		parts("in two datagrams, cut between rows, the second lost", []string{"gs2.part.end", "gs2.table.count"}, info+players[:strings.Index(players, "Bob")]),
		reply("too many columns", likely, "\x00|\x00"+manyColumns(300)+"\x00", "malformed"),
	}
	list[len(list)-1].Allocates = true
	return list
}

func manyColumns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c%d_\x00", i)
	}
	return b.String()
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

func TestParse(t *testing.T) {
	m, err := Parse([]byte("\x00CORY" + plain(info+players+teams)))
	must.Do(t, err)
	p := m.(*StatusReply)
	if p.Session != 0x434f5259 || len(p.Rules) != 10 || p.Rules[9] != (dissect.KeyValue{Key: "empty"}) ||
		p.NumPlayers != dissect.Some(2) || p.NumTeams != dissect.Some(2) {
		t.Errorf("%+v", p)
	}
	if want := []Row{
		{{Key: "player", Value: "Alice"}, {Key: "score", Value: "7"}, {Key: "ping", Value: "42"}, {Key: "team", Value: "0"}},
		{{Key: "player", Value: "Bob"}, {Key: "score", Value: "-1"}, {Key: "ping", Value: "113"}, {Key: "team", Value: ""}},
	}; !reflect.DeepEqual(p.Players, want) {
		t.Errorf("%+v", p.Players)
	}
	if want := []Row{{{Key: "team", Value: "Red"}, {Key: "score", Value: "3"}}, {{Key: "team", Value: "Blue"}, {Key: "score", Value: "9"}}}; !reflect.DeepEqual(p.Teams, want) {
		t.Errorf("%+v", p.Teams)
	}
	if v, ok := p.Players[1].Get("ping"); v != "113" || !ok {
		t.Errorf("%q, %v", v, ok)
	}
	m, err = Parse([]byte("\xfe\xfd\x00\x00\x00\x00\x01\xff\x00\x02\x1c\x32"))
	if q, ok := m.(*StatusRequest); err != nil || !ok || q.Session != 1 || !q.Server.All || q.Players.Any() || string(q.Teams.Numbers) != "\x1c\x32" {
		t.Errorf("%+v, %v", m, err)
	}
	var e *dissect.Error
	if _, err = Parse([]byte("\x00CORYhostname\x00A ser")); !errors.As(err, &e) || err.Error() != "gamespy2.rules.value: no terminator in 5 bytes at offset 14" {
		t.Errorf("%v", err)
	}
}

func TestServer(t *testing.T) {
	r := dissecttest.Decode(t, Protocol(), []byte("\x00CORY"+info))
	s := r.Server
	if s.Name != dissect.Some("A server") || s.Map != dissect.Some("bloodgulch") || s.Game != dissect.Some("halor") || s.Version != dissect.Some("1.04") ||
		s.Players != dissect.Some(2) || s.MaxPlayers != dissect.Some(16) || s.Password != dissect.Some(true) || s.Bots.OK {
		t.Errorf("%+v", s)
	}
	if got, want := string(r.AppendSummary(nil)), `status  "A server"  CTF on bloodgulch  2/16 players  v1.04  password`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestJoined checks that replies in several datagrams decode like those in one.
func TestJoined(t *testing.T) {
	whole := plain(info + players + teams + "\x00")
	want := dissecttest.Decode(t, Protocol(), []byte("\x00CORY"+whole)).BodyText
	table := strings.Index(whole, "Alice")
	for i := len("hostname\x00A server\x00gamever\x00"); i < len(plain(info+players)); i++ {
		if whole[i-1] != 0 || i >= len(info) && i < table || whole[i] == 0 && i != len(info)-1 {
			continue // in the middle of a text, where a table begins, or before an empty cell
		}
		got := dissecttest.Decode(t, Protocol(), []byte("\x00CORY"+whole[:i]), []byte("\x00CORY"+whole[i:])).BodyText
		if got != want {
			t.Errorf("cut before %q:\n%s, want\n%s", whole[i:min(len(whole), i+12)], got, want)
		}
	}
}

// TestDetect judges payloads with similar beginnings.
func TestDetect(t *testing.T) {
	dissecttest.Detects(t, Protocol(), map[string]dissect.Verdict{
		"\xfe\xfd\x00\x10\x20\x30\x40\xff\xff\xff":                             dissect.Likely,
		"\xfe\xfd\x00\x10\x20\x30\x40\xff\xff\xff\x01":                         dissect.No, // GameSpy 3
		"\xfe\xfd\x09\x10\x20\x30\x40":                                         dissect.No, // a handshake
		"\xfe\xfd\x00\x10\x20\x30\x40\x00\x3a\x0d\x5f":                         dissect.No, // Minecraft
		"\x16\xfe\xfd\x00\x00\x00\x00\x00\x00\x00":                             dissect.No, // DTLS
		"\x00\x10\x20\x30\x40splitnum\x00\x80\x00":                             dissect.No, // GameSpy 3
		"\x00CORYhostname\x00":                                                 dissect.Likely,
		"\x00CORX\x00\x0dplayer_\x00":                                          dissect.Likely,
		"\x00CORX\x00player_\x00":                                              dissect.Likely, // America's Army
		"\x00\x01\x00\x08\x21\x12\xa4\x42":                                     dissect.No,     // STUN
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01": dissect.No,
		"\x00CORY": dissect.Possible,
		"\x00COR":  dissect.No,
		"":         dissect.No,
	})
}

// TestManyColumns checks the largest number of columns.
func TestManyColumns(t *testing.T) {
	for n, want := range map[int]string{256: "", 257: "gamespy2.column: too many columns"} {
		_, err := Parse([]byte("\x00CORY\x00\x00" + manyColumns(n) + "\x00"))
		if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%d columns: %v", n, err)
		}
	}
}

// TestCount decides whether a table begins with the number of its rows in two bytes, or
// with only one.
func TestCount(t *testing.T) {
	row := "Alice\x001\x00"
	for _, tc := range []struct {
		table string
		count dissect.Opt[int]
		rows  int
	}{
		{"\x00\x01player_\x00score_\x00\x00" + row, dissect.Some(1), 1},
		{"\x00player_\x00score_\x00\x00" + row, dissect.Opt[int]{}, 1},
		{"\x00score_\x00player_\x00\x00" + row + row, dissect.Opt[int]{}, 2},
		{"\x00\x28player_\x00score_\x00\x00" + strings.Repeat(row, 40), dissect.Some(40), 40},
		{"\x00\x70player_\x00score_\x00\x00" + strings.Repeat(row, 112), dissect.Some(112), 112}, // 112 is p
		{"\x01\x2cplayer_\x00score_\x00\x00" + strings.Repeat(row, 300), dissect.Some(300), 300},
		{"\x00honor_\x00rank_\x00\x00" + row, dissect.Opt[int]{}, 1},
		{"\x00\x1ehonor_\x00rank_\x00\x00" + strings.Repeat(row, 30), dissect.Some(30), 30},
	} {
		m, err := Parse([]byte("\x00CORX" + tc.table))
		if err != nil {
			t.Errorf("%q: %v", tc.table, err)
			continue
		}
		if p := m.(*StatusReply); p.NumPlayers != tc.count || len(p.Players) != tc.rows {
			t.Errorf("%.30q: %+v announced, %d rows, want %+v, %d", tc.table, p.NumPlayers, len(p.Players), tc.count, tc.rows)
		}
	}
}
