package minecraft

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestDocument decodes the example packets of the document.
func TestDocument(t *testing.T) {
	parse := func(payload string) Message {
		t.Helper()
		m := must.Get(Parse([]byte(payload)))(t)
		return m
	}
	if q := parse(docHandshake).(*HandshakeRequest); q.Session != 1 {
		t.Errorf("%+v", q)
	}
	if c := parse(docHandshakeReply).(*HandshakeReply); c.Session != 1 || c.Challenge != 9513307 {
		t.Errorf("%+v", c)
	}
	// The document's token does not match its handshake.
	if q := parse("\xfe\xfd\x00" + session + "\x00\x3a\x0d\x5f").(*StatRequest); q.Full || q.Challenge != dissect.Some(int32(3804511)) {
		t.Errorf("%+v", q)
	}
	if q := parse("\xfe\xfd\x00" + session + "\x00\x3a\x0d\x5f\x00\x00\x00\x00").(*StatRequest); !q.Full || q.Padding != 4 {
		t.Errorf("%+v", q)
	}
	if b := parse(docBasic).(*BasicStat); b.MOTD != "A Minecraft Server" || b.GameType != "SMP" || b.Map != "world" || b.NumPlayers != "2" ||
		b.MaxPlayers != "20" || b.HostPort != 25565 || b.HostIP != "127.0.0.1" {
		t.Errorf("%+v", b)
	}
	f := parse(docFull).(*FullStat)
	if len(f.Rules) != 10 || f.Rules[9] != (dissect.KeyValue{Key: "hostname", Value: "127.0.0.1"}) || len(f.Players) != 2 || f.Software != "" {
		t.Errorf("%+v", f)
	}
	if name, ok := f.Players[1].Get("player"); name != "Vivalahelvig" || !ok {
		t.Errorf("%+v", f.Players)
	}
	if name, _ := f.Get("hostname"); name != "A Minecraft Server" {
		t.Errorf("%q", name)
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct{ settings, name, software, plugins string }{
		{"hostname\x00A\x00" + keys, "A", "Paper on 1.21.4", "WorldEdit 7.3.9|Essentials 2.21"},
		{"hostname\x00\x00other\x00" + keys, "\x00other", "Paper on 1.21.4", "WorldEdit 7.3.9|Essentials 2.21"},
		{"hostname\x00a\x00\x00b\x00" + keys, "a\x00\x00b", "Paper on 1.21.4", "WorldEdit 7.3.9|Essentials 2.21"},
		{"hostname\x00A\x00hostip\x001.1.1.1\x00" + keys, "A", "Paper on 1.21.4", "WorldEdit 7.3.9|Essentials 2.21"},
		{"hostname\x00\x00" + keys, "", "Paper on 1.21.4", "WorldEdit 7.3.9|Essentials 2.21"},
		{"plugins\x00a 1; b 2\x00hostname\x00A\x00", "A", "", "a 1|b 2"},
		{"plugins\x00vanilla:\x00hostname\x00A\x00", "A", "vanilla", ""},
		{"plugins\x00CraftBukkit on Bukkit 1.2.5-R4.0\x00hostname\x00A\x00", "A", "CraftBukkit on Bukkit 1.2.5-R4.0", ""},
	} {
		m, err := Parse([]byte(splits + "\x00" + tc.settings + list))
		if err != nil {
			t.Errorf("%q: %v", tc.settings, err)
			continue
		}
		f := m.(*FullStat)
		if name, _ := f.Get("hostname"); name != tc.name || f.Software != tc.software || strings.Join(f.Plugins, "|") != tc.plugins {
			t.Errorf("%q: %q, software %q, plugins %q", tc.settings, name, f.Software, f.Plugins)
		}
	}
	m, err := Parse([]byte("\x09\xef\xbf\xbd\x01\xef\xbf\xbd\x02123\x00"))
	if c, ok := m.(*HandshakeReply); err != nil || !ok || c.Challenge != 123 || len(c.Mangled) != 8 {
		t.Errorf("%+v, %v", m, err)
	}
	var e *dissect.Error
	if _, err = Parse([]byte(docBasic[:len(docBasic)-1])); !errors.As(err, &e) || err.Error() != "minecraft.basic.hostip: no terminator in 9 bytes at offset 41" {
		t.Errorf("%v", err)
	}
	if _, err = Parse([]byte("\x09" + session + "nothing\x00")); err == nil || err.Error() != "minecraft.handshake.challenge: not a number at offset 5" {
		t.Errorf("%v", err)
	}
}

// TestDetect judges payloads with similar beginnings.
func TestDetect(t *testing.T) {
	for payload, want := range map[string]dissect.Verdict{
		docHandshake:   dissect.Likely,
		"\xfe\xfd\x09": dissect.No,
		"\xfe\xfd\x09\x00\x00\x00\x00\x00\x00\x00\x01":                                 dissect.Possible, // availability
		"\xfe\xfd\x00\x00\x00\x00\x01\xff\xff\xff\x01":                                 dissect.No,       // GameSpy 3
		"\xfe\xfd\x00\x00\x00\x00\x01\xff\xff\xff":                                     dissect.No,       // GameSpy 2
		"\xfe\xfd\x00\x00\x00\x00\x01\x00\x91\x29\x5b":                                 dissect.Likely,
		"\xfe\xfd\x00\x00\x00\x00\x01\x00\x91\x29\x5b\xff\xff\xff\x01":                 dissect.Likely,
		"\xfe\xfd\x00\x00\x00\x00\x01\x00\x91\x29\x5b\xff\xff\xff\x02":                 dissect.Possible, // Just Cause 2
		"\xfe\xfd\x00\x00\x00\x00\x01\x06\x01\x06\x05\x08\x0a\x04\x00\x00":             dissect.No,       // GameSpy 3
		"\xfe\xfd\x01\x00\x00\x00\x01":                                                 dissect.No,
		"\x16\xfe\xfd\x00\x00\x00\x00\x00\x00\x00":                                     dissect.No, // DTLS
		splits + "\x00hostname\x00A\x00gamever\x001\x00":                               dissect.No, // GameSpy 3
		splits + "\x00hostname\x00A long message of the day of this server, wh":        dissect.Likely,
		reply + "splitnum\x00\x00\x00hostname\x00A":                                    dissect.No, // a part
		reply + "splitnum\x00\x00\x00hostname\x00A\x00gamename\x00b\x00":               dissect.No,
		reply + "splitnum\x00\x00\x00hostname\x00A\x00gametype\x00SMP\x00":             dissect.Certain,
		reply + "splitnum\x00\x01\x00hostname\x00A\x00gametype\x00SMP\x00":             dissect.No,
		reply + "splitnum\x00\x81\x00hostname\x00A":                                    dissect.No,
		reply + "hostname\x00A server\x00mapname\x00world\x00numplayers\x002\x00":      dissect.No, // GameSpy 2
		"\x00\x01\x00\x08\x21\x12\xa4\x42\x00\x00\x00\x00":                             dissect.No, // STUN
		"\x09\x10\x20\x30\x40words\x00":                                                dissect.Possible,
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": dissect.No,
		"": dissect.No,
	} {
		if got := Detect([]byte(payload[:min(len(payload), 64)])); got != want {
			t.Errorf("%q: %v, want %v", payload, got, want)
		}
	}
}

// talk plays a conversation with a server and returns its findings.
type talk struct {
	t        *testing.T
	a        *dissect.Analyzer
	now      time.Time
	frame    uint64
	messages []string
	findings []string
}

func newTalk(t *testing.T) *talk {
	k := &talk{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	if k.a, err = dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, k); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *talk) Record(r *dissect.Record) {
	k.messages = append(k.messages, r.Type.Name)
	for i := range r.Findings {
		k.findings = append(k.findings, r.Findings[i].Type.ID)
	}
	if r.Type.Role == dissect.Reply && r.RequestFrame == 0 {
		k.t.Errorf("frame %d answers nothing", r.Frame)
	}
}
func (*talk) Unknown(*dissect.Unknown)         {}
func (k *talk) Finding(f *dissect.FlowFinding) { k.findings = append(k.findings, f.Type.ID) }

func (k *talk) say(toServer bool, wait time.Duration, payload string) {
	src, dst := netip.MustParseAddrPort("192.0.2.1:50000"), netip.MustParseAddrPort("198.51.100.1:25565")
	if !toServer {
		src, dst = dst, src
	}
	k.frame++
	k.now = k.now.Add(wait)
	k.a.Advance(k.now)
	k.a.Datagram(&dissect.Datagram{Frame: k.frame, Time: k.now, Src: src, Dst: dst, Payload: []byte(payload)})
}

// TestConversation checks findings that need several messages.
func TestConversation(t *testing.T) {
	stat := func(token uint32) string {
		return "\xfe\xfd\x00" + session + string(binary.BigEndian.AppendUint32(nil, token)) + "\x00\x00\x00\x00"
	}
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		play func(*talk)
		want string
	}{
		{"as it should be", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, docHandshakeReply)
			k.say(true, ms, stat(9513307))
			k.say(false, ms, docFull)
		}, ""},
		{"the wrong byte order", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, docHandshakeReply)
			k.say(true, ms, stat(0x5b299100))
			k.now = k.now.Add(time.Minute)
		}, "challenge.swapped mc.noreply"},
		{"silence", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, docHandshakeReply)
			k.say(true, ms, stat(9513307))
			k.now = k.now.Add(time.Minute)
		}, "mc.noreply.after_handshake"},
		{"cached", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, docHandshakeReply)
			k.say(true, ms, stat(9513307))
			k.say(false, ms, docFull)
			k.say(true, 2*time.Second, stat(9513307))
			k.say(false, ms, docFull)
			k.say(true, 9*time.Second, stat(9513307))
			k.say(false, ms, docFull)
		}, "mc.cached"},
		{"a spoilt session id", func(k *talk) {
			k.say(true, 0, "\xfe\xfd\x09\x81\x02\xff\x04")
			k.say(false, ms, "\x09\xef\xbf\xbd\x02\xef\xbf\xbd\x049513307\x00")
		}, "mc.session.mangled"},
		{"a basic stat for a full one", func(k *talk) {
			k.say(true, 0, stat(9513307))
			k.say(false, ms, docBasic)
		}, "mc.stat.other"},
		{"a full stat for a basic one", func(k *talk) {
			k.say(true, 0, stat(9513307)[:11])
			k.say(false, ms, docFull)
		}, "mc.stat.other"},
		{"either, for a request of another length", func(k *talk) {
			k.say(true, 0, stat(9513307)+"\x00\x00\x00\x00")
			k.say(false, ms, docFull)
		}, "mc.token.length"},
		{"each for its own", func(k *talk) {
			k.say(true, 0, stat(9513307))
			k.say(true, ms, stat(9513307)[:11])
			k.say(false, ms, docBasic)
			k.say(false, ms, docFull)
		}, ""},
		{"another session id", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, "\x09\x00\x00\x00\x029513307\x00")
			k.say(true, ms, stat(9513307))
			k.say(false, ms, "\x00\x00\x00\x00\x02"+docFull[5:])
		}, "mc.session.other mc.session.other"},
		{"no token at all", func(k *talk) {
			k.say(true, 0, docHandshake)
			k.say(false, ms, docHandshakeReply)
			k.say(true, ms, "\xfe\xfd\x00"+session)
			k.now = k.now.Add(time.Minute)
		}, "mc.token.missing mc.noreply"},
	} {
		k := newTalk(t)
		tc.play(k)
		k.a.Advance(k.now)
		k.a.Flush()
		if got := strings.Join(k.findings, " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

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
	if !slices.Contains(Protocol().Findings, mangled) {
		t.Error("the finding is not declared")
	}
}
