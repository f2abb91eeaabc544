package gamespy3

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	session = "\x10\x20\x30\x40"
	part0   = "\x00" + session + "splitnum\x00\x00"
	part1   = "\x00" + session + "splitnum\x00\x01"
	last0   = "\x00" + session + "splitnum\x00\x80"
	last1   = "\x00" + session + "splitnum\x00\x81"
	last2   = "\x00" + session + "splitnum\x00\x82"
)

// The sections of replies, as the SDK writes them. A bar marks where a reply may also
// end; it is not part of the reply.
const (
	server = "\x00hostname\x00A server\x00gamename\x00battlefield2\x00gamever\x001.5\x00mapname\x00Strike at Karkand\x00gametype\x00gpm_cq\x00" +
		"numplayers\x002\x00maxplayers\x0064\x00password\x000\x00bf2_sponsorlogo_url\x00\x00|\x00"
	players = "|\x01player_\x00\x00 Alice\x00=X= Bob\x00\x00score_\x00\x007\x00-1\x00\x00ping_\x00\x0042\x00113\x00\x00" +
		"team_\x00\x001\x002\x00\x00AIBot_\x00\x000\x000\x00\x00|\x00"
	teams = "|\x02team_t\x00\x00MEC\x00US\x00\x00score_t\x00\x003\x009\x00\x00|\x00"
)

func plain(s string) string { return strings.ReplaceAll(s, "|", "") }

// ends returns where a reply of these sections may end.
func ends(head, pieces string) (at []int) {
	n := len(head)
	for piece := range strings.SplitSeq(pieces, "|") {
		n += len(piece)
		at = append(at, n)
	}
	return at
}

func samples() []dissecttest.Sample {
	const no, possible, likely = dissect.No, dissect.Possible, dissect.Likely
	with := func(s dissecttest.Sample, findings ...string) dissecttest.Sample { s.Findings = findings; return s }
	sound := func(s dissecttest.Sample, at ...int) dissecttest.Sample { s.Sound = append(s.Sound, at...); return s }
	request := func(name, message string, v dissect.Verdict, rest string) dissecttest.Sample {
		return dissecttest.One(name, message, v, "\xfe\xfd"+rest)
	}
	whole := func(name, pieces string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, "status_reply", likely, last0+plain(pieces))
		s.Sound = append(ends(last0, pieces), len(last0), 5)
		return with(s, findings...)
	}
	split := func(name string, findings []string, parts ...string) dissecttest.Sample {
		s := dissecttest.Sample{Name: name, Message: "status_reply", Verdict: likely, Findings: findings, Sound: []int{5}}
		for _, p := range parts {
			s.Parts = append(s.Parts, []byte(plain(p)))
		}
		return s
	}
	old := func(name string, v dissect.Verdict, pieces string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, "status_reply", v, "\x00"+session+plain(pieces))
		s.Sound = append(ends("\x00"+session, pieces), 5)
		return with(s, findings...)
	}
	beat := func(name, pieces string) dissecttest.Sample {
		s := dissecttest.One(name, "heartbeat", likely, "\x03"+session+plain(pieces))
		s.Sound = append(ends("\x03"+session, pieces), 5)
		return s
	}
	all := server + players + teams
	list := []dissecttest.Sample{
		request("handshake", "handshake_request", likely, "\x09"+session),
		sound(request("handshake with more", "handshake_request", likely, "\x09\x00\x00\x00\x01\x00\x00\x00\x00"), 7, 8, 9, 10),
		dissecttest.One("challenge", "handshake_reply", likely, "\x09"+session+"1234567890\x00"),
		dissecttest.One("negative challenge", "handshake_reply", likely, "\x09"+session+"-1591017602\x00"),
		with(dissecttest.One("no challenge", "handshake_reply", likely, "\x09\x00\x00\x00\x010\x00"), "gs3.challenge0"),
		sound(request("query with challenge", "status_request", likely, "\x00"+session+"\x49\x96\x02\xd2\xff\xff\xff\x01"), 14),
		sound(request("query without challenge", "status_request", likely, "\x00"+session+"\xff\xff\xff\x01"), 10),
		sound(request("query of Just Cause 2", "status_request", likely, "\x00"+session+"\x49\x96\x02\xd2\xff\xff\xff\x02"), 14),
		request("query with challenge for one packet", "status_request", likely, "\x00"+session+"\x49\x96\x02\xd2\xff\x00\x00"),
		request("query for single keys", "status_request", likely, "\x00"+session+"\x06\x01\x06\x05\x08\x0a\x04\x00\x00"),
		request("query for single keys with challenge", "status_request", likely, "\x00"+session+"\x49\x96\x02\xd2\x02\x01\x32\x01\x15\x01\x1c"),
		request("query for nothing", "status_request", possible, "\x00"+session+"\x00\x00\x00"),
		sound(with(request("query with challenge 0", "status_request", likely, "\x00"+session+"\x00\x00\x00\x00\xff\xff\xff\x01"), "gs3.challenge.zero"), 10, 11),
		whole("everything", all),
		whole("nobody there", "\x00hostname\x00Crysis\x00timeleft\x00-\x00|\x00|\x01|\x00|\x02|\x00"),
		whole("without players and teams", server),
		whole("Unreal Tournament 3", "\x00hostname\x00UT3\x00hostport\x007777\x00mapname\x00OwningPlayerId=1\x00numplayers\x001\x00maxplayers\x0012\x00EngineVersion\x003810\x00"+
			"s0\x002\x00s7\x001\x00p1073741825\x00DM-Deck\x00p1073741827\x00The name\x00p268435703\x002\x00p1073741828\x00\x1cA mutator\x1c\x00p268435968\x00p268435969\x000|\x00|\x00"+
			"|\x01player_\x00\x00Sierra\x00\x00\x00\x00score_\x00\x000\x00\x00\x00\x00ping_\x00\x0096\x00\x00\x00\x00team_\x00\x00\x00\x00\x00\x00deaths_\x00\x001\x00\x00\x00\x00pid_\x00\x00289\x00\x00|\x00|\x00|\x00"+
			"|\x02|\x00|\x00|\x00", "gs3.novalue"),
		whole("a key without a value at the end", "\x00hostname\x00A server\x00last\x00|\x00|\x01player_\x00\x00\x00|\x00|\x02|\x00", "gs3.novalue"),
		whole("ArmA 2: empty teams", "\x00hostname\x00ArmA\x00numplayers\x003\x00|\x00|\x01player_\x00\x00Alice\x00Bob\x00Carl\x00\x00team_\x00\x00|\x00|\x00|\x00|\x00score_\x00\x001\x002\x003\x00\x00"+
			"deaths_\x00\x00|\x00|\x00|\x00|\x00|\x00|\x02|\x00"),
		whole("empty values in between", "\x00hostname\x00A\x00numplayers\x003\x00|\x00|\x01player_\x00\x00Alice\x00\x00Carl\x00\x00team_\x00\x00Red\x00\x00Blue\x00\x00clan_\x00\x00|\x00|\x00|X\x00\x00|\x00|\x02|\x00"),
		whole("other columns", "\x00hostname\x00A\x00numplayers\x001\x00|\x00|\x01player_\x00\x00Alice\x00\x00k:d_\x00\x000.5\x00\x00name_\x00\x00a\x00\x00b:c_\x00\x00x\x00\x00|\x00"+
			"|\x02team_t\x00\x00Red\x00\x00a:b_t\x00\x00y\x00\x00avgping_t\x00\x0050\x00\x00|\x00"),
		whole("another number of players", strings.Replace(server, "numplayers\x002", "numplayers\x005", 1)+players, "gs3.players.count"),
		whole("a gap in the settings", "\x00hostname\x00A\x00|\x00|\x00|gamever\x001\x00|\x00", "gs3.gap"),
		whole("Latin-1", "\x00hostname\x00Caf\xe9\x00|\x00", "enc.notutf8"),
		whole("ends inside of the settings", "\x00hostname\x00A server\x00", "gs3.end"),
		whole("ends inside of a column", "\x00hostname\x00A\x00|\x00|\x01player_\x00\x00Alice\x00", "gs3.end"),
		whole("ends inside of the name of a column", "\x00hostname\x00A\x00|\x00|\x01player_\x00\x00Alice\x00\x00sco\x00", "gs3.end"),
		whole("ends without the end of a value", "\x00hostname\x00A\x00|\x00|\x01player_\x00\x00Alice", "gs3.end"),
		whole("no section", "\x00hostname\x00A\x00|\x00|\x01player_\x00\x00Alice\x00\x00|\x00|\x07what", "gs3.section"),
		whole("a bad column", "\x00hostname\x00A\x00|\x00|\x01player_\x00\x00Alice\x00\x00s re_\x00\x001\x00\x00|\x00", "gs3.section"),
		whole("a column twice", "\x00hostname\x00A\x00numplayers\x002\x00|\x00|\x01player_\x00\x00Alice\x00Bob\x00\x00player_\x00\x01Carl\x00\x00|\x00", "gs3.split.contradiction"),

		split("two parts", nil, part0+server+players, last1+teams),
		split("a value cut", []string{"gs3.split.overlap"}, part0+server+"\x01player_\x00\x00 Alice\x00=X=\x00",
			last1+"\x01player_\x00\x01=X= Bob\x00\x00score_\x00\x007\x00-1\x00\x00\x00"+teams),
		split("a number cut, a blank sent before", []string{"gs3.split.overlap"}, part0+server+"\x01player_\x00\x00 Alice\x00 \x00",
			part1+"\x01player_\x00\x01 Bob\x00\x00score_\x00\x007\x001\x00", last2+"\x01score_\x00\x01113\x00\x00\x00"+teams),
		split("the name of a column cut", []string{"gs3.split.overlap"}, part0+server+"\x01player_\x00\x00 Alice\x00=X= Bob\x00\x00sco\x00",
			last1+"\x01score_\x00\x007\x00-1\x00\x00\x00"),
		split("the name of a column alone", []string{"gs3.split.overlap"}, part0+server+"\x01player_\x00\x00 Alice\x00=X= Bob\x00\x00score_\x00",
			last1+"\x01score_\x00\x007\x00-1\x00\x00\x00"),
		split("a column goes on", nil, part0+server+"\x01player_\x00\x00 Alice\x00", last1+"\x01player_\x00\x01=X= Bob\x00\x00\x00"),
		split("a column of empty values goes on", nil, part0+server+"\x01player_\x00\x00 Alice\x00Bob\x00\x00team_\x00\x00\x00", last1+"\x01team_\x00\x01\x00\x00\x00"),
		split("settings cut in a value", []string{"gs3.split.overlap"}, part0+"\x00hostname\x00A ser\x00", last1+"\x00hostname\x00A server\x00gamever\x001\x00\x00"),
		split("settings cut in a key", []string{"gs3.split.overlap"}, part0+"\x00hostname\x00A server\x00gam\x00", last1+"\x00gamever\x001\x00\x00"+teams),
		split("settings cut behind a key", []string{"gs3.split.overlap"}, part0+"\x00hostname\x00A server\x00gamever\x00", last1+"\x00gamever\x001\x00\x00"+teams),
		split("settings cut without a zero byte", []string{"gs3.split.overlap"}, part0+"\x00hostname\x00A server\x00gam", last1+"\x00gamever\x001\x00\x00"+teams),
		sound(split("settings go on", nil, part0+"\x00hostname\x00A server\x00", last1+"\x00gamever\x001\x00\x00"+teams), 27),
		split("settings after players", []string{"gs3.section"}, part0+server+players, last1+"\x00gamever\x001\x00\x00"),
		split("players, and settings after them that are cut", []string{"gs3.section"}, part0+"\x01score_\x00\x00-1\x00\x00\x00", last1+"\x00hostname\x00A"),
		split("a part is missing", []string{"gs3.split.missing"}, part0+server+"\x01player_\x00\x00 Alice\x00=X=\x00", last2+teams),
		split("the last part is missing", []string{"gs3.split.endless"}, part0+server+players),

		{Name: "Just Cause 2", Parts: [][]byte{[]byte(part0 + "\x00hostname\x00JC2\x00maxplayers\x00400\x00numplayers\x002\x00password\x00False\x00version\x00948\x00\x00" +
			"\x00\x02Moonman\x00STEAM_0:0:1\x00\x00\x27R\xc3\xb6sa\x00STEAM_0:1:2\x00\x00\xe8")}, Message: "status_reply", Verdict: likely, Sound: []int{5}},
		{Name: "Just Cause 2, nobody there", Parts: [][]byte{[]byte(part0 + "\x00hostname\x00JC2\x00\x00\x00\x00")}, Message: "status_reply", Verdict: likely, Sound: []int{5}},
		{Name: "Just Cause 2, cut", Parts: [][]byte{[]byte(part0 + "\x00hostname\x00JC2\x00\x00\x00\x02Moonman\x00STEAM_0:0:1\x00\x00\x27R\xc3\xb6s")}, Message: "status_reply", Verdict: likely,
			Findings: []string{"gs3.table.count", "gs3.table.cut"}, Sound: []int{5}},
		sound(with(dissecttest.One("Just Cause 2, count too high", "status_reply", likely, part0+"\x00hostname\x00JC2\x00\x00\x00\x03Moonman\x00STEAM_0:0:1\x00\x00\x27"), "gs3.table.count"), 5),

		old("settings in one packet", possible, "hostname\x00A server\x00numplayers\x001\x00\x00"),
		old("everything in one packet", possible, "hostname\x00A server\x00\x00|\x00|\x01player_\x00score_\x00\x00Alice\x007\x00|\x00|\x01team_t\x00\x00Red\x00"),
		old("players in one packet", possible, "\x00|\x01player_\x00\x00Alice\x00|\x00|\x00\x00"),
		old("values alone", possible, "A server\x00|gpm_cq\x00|Karkand\x00|2\x00|64\x00|16567\x00"),
		old("values alone, the port last", possible, "A server\x00|Karkand\x00|2\x00|64\x00|16567\x00"), // the words of a basic stat of Minecraft
		old("an empty reply", possible, ""),

		beat("heartbeat", "localip0\x00192.0.2.1\x00localport\x006500\x00natneg\x001\x00statechanged\x003\x00gamename\x00gmtest\x00"+
			"hostname\x00A server\x00\x00|\x00|\x01player_\x00\x00Alice\x00|\x00|\x00\x00"),
		beat("last heartbeat", "localport\x006500\x00natneg\x000\x00statechanged\x002\x00gamename\x00gmtest\x00\x00"),
		dissecttest.One("keepalive", "keepalive", possible, "\x08"+session),
		request("keepalive of the master server", "keepalive", likely, "\x08"+session),
		request("challenge of the master server", "challenge_request", likely, "\x01"+session+"ABCDEF80C00002011964\x00"),
		request("challenge without an address", "challenge_request", likely, "\x01"+session+"ABCDEF\x00"),
		dissecttest.One("response to the master server", "challenge_reply", possible, "\x01"+session+"dGVzdHRlc3R0ZXN0\x00"),
		request("registered", "registered", likely, "\x0a"+session),
		request("error", "error", likely, "\x04"+session+"\x01Bad secret key\x00"),
		sound(request("echo request", "echo_request", likely, "\x02"+session+"some bytes"), 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		sound(dissecttest.One("echo", "echo_reply", possible, "\x05"+session+"some bytes"), 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
		sound(request("client message", "message_request", likely, "\x06"+session+"\x00\x00\x00\x07hello"), 11, 12, 13, 14, 15),
		sound(request("client message for NAT negotiation", "message_request", likely, "\x06"+session+"\x00\x00\x00\x07\xfd\xfc\x1e\x66\x6a\xb2\x00\x00\x30\x39"), 11, 12, 13, 14, 15, 16, 17, 18, 19, 20),
		dissecttest.One("client message acknowledged", "message_reply", possible, "\x07"+session+"\x00\x00\x00\x07"),
		dissecttest.One("availability request", "available_request", likely, "\x09\x00\x00\x00\x00gmtest\x00"),
		sound(request("availability", "available_reply", likely, "\x09\x00\x00\x00\x00\x00\x00\x00\x02"), 7, 8, 9, 10),
	}
	cut := with(dissecttest.One("no such type", "keepalive", no, "\x08"+session+"more"), "trailing")
	cut.Sound = []int{5}
	return append(list, cut)
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// FuzzParts joins two parts of any content.
func FuzzParts(f *testing.F) {
	for _, s := range samples() {
		if len(s.Parts) == 2 {
			f.Add(s.Parts[0][len(part0):], s.Parts[1][len(part0):])
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		dissecttest.Check(t, Protocol(), append([]byte(part0), a...), append([]byte(last1), b...))
	})
}

// TestSplit reads the numbers of parts.
func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		payload      string
		index, total int
		ok           bool
	}{
		{part0 + "\x00hostname\x00A\x00\x00", 0, 0, true},
		{part1, 1, 0, true},
		{last2, 2, 3, true},
		{last0, 0, 0, false},
		{part0 + "\x00hostname\x00A\x00\x00\x00\x01x\x00STEAM_0\x00\x00\x01", 0, 0, false},
		{"\x00" + session + "hostname\x00", 0, 0, false},
	} {
		p, ok := readSplit([]byte(tc.payload), 0)
		if ok != tc.ok || p.Index != tc.index || p.Total != tc.total {
			t.Errorf("%q: %+v, %v", tc.payload, p, ok)
		}
	}
}

// TestForged checks that expensive forged messages cost little.
func TestForged(t *testing.T) {
	var columns, repeats strings.Builder
	columns.WriteString(last0 + "\x01")
	repeats.WriteString(last0 + "\x01")
	for i := range 4000 {
		fmt.Fprintf(&columns, "c%d_\x00\x00x\x00\x00", i)
		repeats.WriteString("player_\x00\x00x\x00y\x00\x00")
	}
	for _, payload := range []string{
		columns.String(), repeats.String(),
		last0 + "\x01player_\x00\xff" + strings.Repeat("\x00", 60000),
		last0 + "\x01player_\x00\xff" + strings.Repeat("x\x00", 30000),
		last0 + strings.Repeat("\x01", 60000),
	} {
		dissecttest.Check(t, Protocol(), []byte(payload))
	}
}
