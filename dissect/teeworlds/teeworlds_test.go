package teeworlds

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
)

const (
	ff       = ones + ones + "\xff\xff"
	facts    = "0.6.4\x00Somewhere\x00dm1\x00DM\x000\x00"
	alice    = "alice\x00clan\x00276\x0012\x001\x00"
	bob      = "bob\x00\x00-1\x00-9999\x000\x00"
	info     = ff + "inf3" + "5\x00" + facts + "1\x0016\x002\x0016\x00" + alice + bob
	ours     = "\xa1\xb2\xc3\xd4"
	theirs   = "\x56\x79\x5f\x3c"
	toServer = "\x21" + theirs + ours + ones
	toClient = "\x21" + ours + theirs + ones
	info7    = toClient + "inf3" + "\x88\x03" + "0.7.5\x00Somewhere\x00\x00dm1\x00DM\x00\x01\x01\x02\x08\x02\x08" +
		"alice\x00clan\x00\x94\x04\x0c\x00" + "bob\x00\x00\x40\x40\x02"
)

func ask(n int) string { return "\x04\x00\x00" + ones + "\x05" + ours + strings.Repeat("\x00", n) }

// ends notes that a list of players may end before each of the last ones.
func ends(s dissecttest.Sample, players ...string) dissecttest.Sample {
	n := len(s.Parts[0])
	for i := len(players) - 1; i >= 0; i-- {
		n -= len(players[i])
		s.Sound = append(s.Sound, n)
	}
	return s
}

func found(s dissecttest.Sample, ids ...string) dissecttest.Sample {
	s.Findings = ids
	return s
}

func samples() []dissecttest.Sample {
	one := func(name, message, payload string) dissecttest.Sample {
		return dissecttest.One(name, message, dissect.Certain, payload)
	}
	request := found(one("a token request", "token_request", ask(508)))
	short := found(dissecttest.One("a token request that is too short", "token_request", dissect.No, ask(0)), "teeworlds.token.short")
	return []dissecttest.Sample{
		one("0.6", "info_request", ff+"gie3\x05"),
		one("0.6, only the flag set", "info_request", "\x20\x00\x00\x00\x00\x00"+ones+"gie3\x05"),
		one("64 slots", "info_request", ff+"fstd\x05"),
		one("DDNet", "info_request", "xe\x12\x34\x00\x00"+ones+"gie3\x05"),
		one("0.7", "info_request", toServer+"gie3\x88\x03"),
		one("0.5", "old_info_request", ff+"gie2\x05"),
		one("0.4", "old_info_request", ff+"gief"),
		found(one("three letters", "old_info_request", ff+"gie"), "teeworlds.word"),
		one("info of 0.6", "info_reply", info),
		found(one("info of 0.6 without the players", "info_reply", ff+"inf3"+"5\x00"+facts+"1\x0016\x002\x0016\x00"), "teeworlds.players.count"),
		one("info of 0.5", "info_reply", ff+"inf2"+"5\x000.5.2\x00Old\x00dm1\x00DM\x001\x0040\x001\x008\x00alice\x003\x00"),
		one("info of 0.4", "info_reply", ff+"info"+"0.4.2\x00Old\x00dm1\x00DM\x000\x00-1\x001\x008\x00alice\x003\x00"),
		ends(one("64 slots, the first packet", "info_reply", ff+"dtsf"+"5\x00"+facts+"2\x0064\x002\x0064\x00\x00"+alice+bob), alice, bob),
		ends(one("64 slots, the second packet", "info_reply", ff+"dtsf"+"5\x00"+facts+"26\x0064\x0026\x0064\x00\x18"+alice+bob), alice, bob),
		ends(one("DDNet, the first packet", "info_reply", ff+"iext"+"1192965\x000.6.4\x00Somewhere\x00Tutorial\x00-1924373370\x001082711\x00Race\x001\x001\x0064\x001\x0064\x00\x00"+alice+"\x00"), alice+"\x00"),
		ends(one("DDNet, the second packet", "more_players_reply", ff+"iex+"+"1192965\x001\x00\x00"+alice+"\x00"+bob+"\x00"), alice+"\x00", bob+"\x00"),
		one("a server to its player", "info_notice", strings.Replace(info, "5\x00", "-1\x00", 1)),
		one("info of 0.7", "info_reply", info7),
		request, short,
		dissecttest.One("a token", "token_reply", dissect.Likely, "\x04\x00\x00"+ours+"\x05"+theirs),
		one("list", "servers_request", ff+"req2"),
		one("list of 0.7", "servers_request", toServer+"req2"),
		one("old list", "servers_request", ff+"reqt"),
		ends(one("servers", "servers_reply", ff+"lis2"+mapped+"\xc0\x00\x02\x01\x20\x6f"+six), mapped+"\xc0\x00\x02\x01\x20\x6f", six),
		ends(one("servers of 0.5", "servers_reply", ff+"list"+"\xc0\x00\x02\x01\x6f\x20"), "\xc0\x00\x02\x01\x6f\x20"),
		one("how many", "count_request", ff+"cou2"),
		one("a count", "count_reply", ff+"siz2\x01\x02"),
		one("how many, 0.5", "count_request", ff+"coun"),
		one("a count, 0.5", "count_reply", ff+"size\x00\x01"),
		one("a heartbeat", "heartbeat", ff+"bea2\x20\x6f"),
		one("a heartbeat, 0.5", "heartbeat", ff+"beat\x20\x6f"),
		one("a check", "firewall_request", ff+"fw??"),
		one("its reply", "firewall_reply", ff+"fw!!"),
		one("listed", "listed", ff+"fwok"),
		one("not listed", "not_listed", ff+"fwer"),
		one("a challenge", "challenge", ff+"chal"+"9d1c6a9e-24ff-4f4c-ae32-a2bd9ac1d3a7:tw0.6/ipv4\x00qXJ0b2tlbg\x00"),
	}
}

const (
	mapped = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
	six    = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x20\x6f"
)

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestVarint: numbers as the packets of the game have them.
func TestVarint(t *testing.T) {
	for in, want := range map[string]int64{
		"\x05": 5, "\x00": 0, "\x3f": 63, "\x80\x01": 64, "\x88\x03": 200, "\x40": -1, "\x7f": -64, "\xc0\x01": -65,
		"\xbf\xff\xff\xff\x0f": 1<<31 - 1, "\xff\xff\xff\xff\x0f": -1 << 31, "\x81\x80\x80\x80\x80\x01": 1,
	} {
		var r dissect.Reader
		core.Reset(&r, []byte(in), 1, true)
		if got := varint(&r, fToken7); got != want || int64(core.Nodes(&r)[0].Num) != want {
			t.Errorf("%x: %d, want %d", in, got, want)
		}
	}
	for _, in := range []string{"", "\x80", "\x88\x83"} {
		var r dissect.Reader
		core.Reset(&r, []byte(in), 1, true)
		if got := varint(&r, fToken7); got != 0 || !r.Failed() {
			t.Errorf("%x: %d", in, got)
		}
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
