package minecraft

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
)

const (
	session = "\x00\x00\x00\x01"
	token   = "\x00\x91\x29\x5b"
	reply   = "\x00" + session
	splits  = reply + "splitnum\x00\x80"
)

// The example packets of the document.
const (
	docHandshake      = "\xfe\xfd\x09" + session
	docHandshakeReply = "\x09" + session + "9513307\x00"
	docBasic          = reply + "A Minecraft Server\x00SMP\x00world\x002\x0020\x00\xddc127.0.0.1\x00"
	docFull           = splits + "\x00hostname\x00A Minecraft Server\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00version\x00Beta 1.9 Prerelease 4\x00" +
		"plugins\x00\x00map\x00world\x00numplayers\x002\x00maxplayers\x0020\x00hostport\x0025565\x00hostname\x00127.0.0.1\x00" +
		"\x00\x01player_\x00\x00barneygale\x00Vivalahelvig\x00\x00"
)

const (
	keys = "gametype\x00SMP\x00game_id\x00MINECRAFT\x00version\x001.21.4\x00plugins\x00Paper on 1.21.4: WorldEdit 7.3.9; Essentials 2.21\x00" +
		"map\x00world\x00numplayers\x001\x00maxplayers\x0020\x00hostport\x0025565\x00hostip\x00172.18.0.2\x00"
	list = "\x00\x01player_\x00\x00jeb_\x00\x00"
)

func samples() []dissecttest.Sample {
	const no, possible, likely, certain = dissect.No, dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	with := func(s dissecttest.Sample, findings ...string) dissecttest.Sample { s.Findings = findings; return s }
	sound := func(s dissecttest.Sample, at ...int) dissecttest.Sample { s.Sound = at; return s }
	// full is a full stat. It may end after the settings.
	full := func(name, settings, rest string, findings ...string) dissecttest.Sample {
		s := one(name, "full_stat_reply", likely, splits+"\x00"+settings+rest)
		n := len(splits) + 1 + len(settings)
		s.Findings, s.Sound = findings, []int{len(splits)}
		// The lists end with two zero bytes, or one after a value.
		for i := n - 1; i < len(s.Parts[0]); i++ {
			if s.Parts[0][i] == 0 && (s.Parts[0][i-1] == 0 || i == n) {
				s.Sound = append(s.Sound, i+1)
			}
		}
		return s
	}
	// bare marks where a full stat without a list may end.
	bare := func(s dissecttest.Sample, findings ...string) dissecttest.Sample {
		s.Findings, s.Sound = findings, []int{13, 15, bytes.Index(s.Parts[0], []byte("\x01player_")), len(s.Parts[0]) - 1}
		return s
	}
	return []dissecttest.Sample{
		one("handshake", "handshake_request", likely, docHandshake),
		sound(one("handshake with more", "handshake_request", likely, docHandshake+"\x00\x00\x00\x00"), 7, 8, 9, 10),
		with(one("challenge", "handshake_reply", likely, docHandshakeReply)),
		one("negative token", "handshake_reply", likely, "\x09\x10\x20\x30\x40-1079383103\x00"),
		one("token 0", "handshake_reply", possible, "\x09\x10\x20\x30\x400\x00"),
		with(one("spoilt session id", "handshake_reply", likely, "\x09\xef\xbf\xbd\x01\xef\xbf\xbd\x029513307\x00"), "mc.session.mangled"),
		with(one("token without its end", "handshake_reply", likely, "\x09"+session+"9513307"), "mc.token.noterm"),
		one("basic stat request", "basic_stat_request", likely, "\xfe\xfd\x00"+session+token),
		sound(one("full stat request", "full_stat_request", likely, "\xfe\xfd\x00"+session+token+"\x00\x00\x00\x00"), 11),
		sound(one("full stat request of GameSpy's clients", "full_stat_request", likely, "\xfe\xfd\x00"+session+token+"\xff\xff\xff\x01"), 11),
		with(one("stat request without token", "basic_stat_request", possible, "\xfe\xfd\x00"+session), "mc.token.missing"),
		with(one("stat request with half a token", "basic_stat_request", possible, "\xfe\xfd\x00"+session+"\x00\x91"), "mc.token.missing"),
		sound(with(one("stat request of another length", "basic_stat_request", possible, "\xfe\xfd\x00"+session+token+"\x00\x00"), "mc.token.length"), 11),
		sound(with(one("token as text", "full_stat_request", likely, "\xfe\xfd\x00"+session+"9513307\x00"), "mc.token.text"), 11),
		one("basic stat", "basic_stat_reply", likely, docBasic),
		one("basic stat with colours", "basic_stat_reply", likely, reply+"qdissect \xc2\xa7bNukkit\x00SMP\x00unknown\x000\x0033\x00\xbcJ0.0.0.0\x00"),
		with(one("basic stat with zero bytes in the name", "basic_stat_reply", likely, reply+"\x00*K\x00SMP\x00world\x002\x0020\x00\xddc127.0.0.1\x00"), "mc.motd.nul"),
		one("basic stat of another kind", "basic_stat_reply", likely, reply+"Name\x00Survival\x00world\x002\x0020\x00\xddc127.0.0.1\x00"),
		bare(one("full stat", "full_stat_reply", certain, docFull)),
		full("full stat with plugins", "hostname\x00\xc2\xa7aA \xc2\xa7lserver\x00"+keys, list),
		full("old colours", "hostname\x00\xa7aCaf\xe9\x00"+keys, list, "enc.notutf8"),
		full("zero bytes in the name", "hostname\x00\x00*K\xd5\x00"+keys, list, "enc.notutf8", "mc.motd.nul"),
		full("a word behind a zero byte in the name", "hostname\x00\x00other\x00"+keys, list, "mc.motd.nul"),
		full("two words behind zero bytes in the name", "hostname\x00one\x00two\x00three\x00"+keys, list, "mc.motd.nul"),
		full("several zero bytes in the name", "hostname\x00A \x00B \x00C\x00"+keys, list, "mc.motd.nul"),
		full("a key between the name and the kind of game", "hostname\x00A server\x00hostip\x00192.0.2.1\x00"+keys, list),
		full("no software", "hostname\x00A proxy\x00gametype\x00SMP\x00plugins\x00one; two ;three\x00", list),
		full("software alone", "hostname\x00A server\x00gametype\x00SMP\x00plugins\x00Nukkit 1.0dev\x00", list),
		full("a list of more than names", "hostname\x00A server\x00gametype\x00SMP\x00numplayers\x001\x00",
			"\x00\x01player_\x00\x00jeb_\x00\x00score_\x00\x005\x00\x00ping_\x00\x0020\x00\x00team_\x00\x00Red\x00\x00k:d_\x00\x001.5\x00\x00deaths_\x00\x002\x00\x00\x00"),
		full("a name that came twice", "hostname\x00A server\x00gametype\x00SMP\x00", "\x00\x01player_\x00\x00jeb_\x00\x00player_\x00\x00jeb_2\x00\x00\x00"),
		full("nobody there", "hostname\x00A server\x00gametype\x00SMP\x00numplayers\x000\x00", "\x00\x01player_\x00\x00\x00"),
		full("another number of players", "hostname\x00A server\x00gametype\x00SMP\x00numplayers\x0091\x00", list, "mc.players.count"),
		full("a gap in the settings", "hostname\x00A\x00gametype\x00SMP\x00", "\x00\x00version\x001\x00"+list, "mc.gap"),
		full("a key without a value", "hostname\x00A\x00gametype\x00SMP\x00hostip\x00", list, "mc.novalue"),
		full("no end", "hostname\x00A\x00gametype\x00SMP\x00", "\x00\x01player_\x00\x00jeb_\x00", "mc.end"),
		full("no list", "hostname\x00A\x00gametype\x00SMP\x00", list+"\x07what", "mc.section"),
		bare(one("full stat without the mark of the last part", "full_stat_reply", certain, reply+"splitnum\x00\x00\x00hostname\x00A\x00"+keys+list), "mc.number"),
		bare(one("full stat of Geyser", "full_stat_reply", certain, reply+"GeyserMC\x00\x80\x00hostname\x00Geyser\x00hostip\x001.1.1.1\x00plugins\x00\x00numplayers\x001\x00gametype\x00SMP\x00"+
			"maxplayers\x00100\x00hostport\x0019132\x00version\x00Geyser 1.18.10\x00map\x00Geyser\x00game_id\x00MINECRAFT\x00\x00\x01player_\x00\x00\x00"), "mc.players.count"),
		bare(one("full stat behind zeros", "full_stat_reply", likely, reply+strings.Repeat("\x00", 11)+"hostname\x00A server\x00"+keys+list)),
		with(one("a stat of nothing known", "basic_stat_reply", no, reply+"\x01\x02"), "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestMangled has session ids as Java encodes invalid UTF-8.
func TestMangled(t *testing.T) {
	for hexID, want := range map[string]int{
		"00000001313233":             0,
		"efbfbd000001313233":         6,
		"efbfbdefbfbdefbfbdefbfbd31": 12,
		"01efbfbd0203313233":         6,
		"efbfbd01313233":             0, // an id that is EF BF BD 01 itself
		"01020304efbfbd":             0,
		"efbfbd":                     0,
	} {
		b := must.Get(hex.DecodeString(hexID))(t)
		if got := mangledID(append(b, 0)); got != want {
			t.Errorf("%s: %d, want %d", hexID, got, want)
		}
	}
	if !slices.Contains(Protocol().Catalog.Findings(), mangled) {
		t.Error("the finding is not declared")
	}
}
