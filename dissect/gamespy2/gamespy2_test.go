package gamespy2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
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

// TestManyColumns checks the largest number of columns.
func TestManyColumns(t *testing.T) {
	for n, want := range map[int]string{256: "", 257: "gamespy2.column: too many columns"} {
		_, err := Parse([]byte("\x00CORY\x00\x00" + manyColumns(n) + "\x00"))
		if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%d columns: %v", n, err)
		}
	}
}
