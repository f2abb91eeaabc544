package doom3

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const head = "\xff\xff"

func u16(n int) string     { return string(binary.LittleEndian.AppendUint16(nil, uint16(n))) }
func u32(n int) string     { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
func f32(f float32) string { return u32(int(math.Float32bits(f))) }

// reply returns an info reply, with task and size if task is set.
func reply(word string, major, minor int, task bool, rules, rest string) string {
	b := head + word + "\x00" + u32(0x11223344)
	version := u16(minor) + u16(major)
	rest = rules + "\x00\x00" + rest
	if task {
		return b + u32(-1) + version + u32(len(rest)) + rest
	}
	return b + version + rest
}

const (
	rulesDoom3    = "si_version\x00DOOM 1.3.1.1304.linux-x86\x00fs_game\x00\x00gamename\x00baseDOOM-1\x00si_name\x00^1Red ^7server\x00si_map\x00game/mp/d3dm1\x00si_maxPlayers\x004\x00si_usePass\x000\x00"
	rulesQuake4   = "si_name\x00^c123Caf\xe9 ^Iw05\x00si_map\x00mp/q4dm1\x00fs_game\x00q4mp\x00si_maxPlayers\x0012\x00si_usepass\x001\x00"
	rulesWars     = "si_name\x00^2Strogg\x00si_map\x00maps/valley.entities\x00fs_game\x00base\x00gamename\x00baseETQW-1\x00si_maxPlayers\x0024\x00si_needPass\x000\x00"
	rulesWolf     = "si_name\x00Isenstadt\x00si_map\x00maps/mp_manor.entities\x00gamename\x00baseWolfenstein-1\x00si_maxPlayers\x0016\x00"
	windows       = "\x01\x00\x00\x00"
	everySystem   = "\xff\xff\xff\xff"
	tailNormal    = windows + "\x01" + "\x40\x42\x0f\x00" + "\x02" + "\x00" + "\x03"
	tailViewers   = windows + "\x00" + "\x40\x42\x0f\x00" + "\x01" + "\x01" + "\x05\x00\x00\x00" + "\x40\x00\x00\x00"
	playersDoom3  = "\x00\x1e\x00\x80\x3e\x00\x00Marine\x00" + "\x03\xe7\x03\x00\x64\x00\x00^2Imp\x00" + "\x20"
	playersQuake4 = "\x00\x1e\x00\x80\x3e\x00\x00Kane\x00\x00" + "\x01\x25\x00\x00\x64\x00\x00^3\xc7elik\x00^c014clan\x00" + "\x20"
	playersWars   = "\x00\x2b\x00Tsu\x00\x00\x00\x00" + "\x05\x01\x00Bot\x00\x01[B]\x00\x01" + "\x20"
	playersClan   = "\x00\x2b\x00\x80\x3e\x00\x00Tsu\x00\x00\x00\x00" + "\x05\x01\x00\x80\x3e\x00\x00Bot\x00\x01[B]\x00\x01" + "\x20"
	playersFirst  = "\x00\x2b\x00\x80\x3e\x00\x00Tsu\x00\x00" + "\x05\x01\x00\x80\x3e\x00\x00Bot\x00\x01" + "\x20"
	playersBare   = "\x00\x2b\x00Tsu\x00\x00" + "\x05\x01\x00Bot\x00\x01" + "\x20"
)

// A bitMessage is written as the engine does: the lowest bits first, text and the data
// after it aligned to bytes.
type bitMessage struct {
	b   []byte
	bit int // bits used of the last byte, 0 if it is full
}

func (m *bitMessage) bits(v uint64, n int) {
	for ; n > 0; n-- {
		if m.bit == 0 {
			m.b = append(m.b, 0)
		}
		m.b[len(m.b)-1] |= byte(v&1) << m.bit
		v >>= 1
		m.bit = (m.bit + 1) % 8
	}
}

func (m *bitMessage) text(s string) {
	m.bit = 0
	m.b = append(append(m.b, s...), 0)
}

// shifted returns two players and an end as the beta of Quake Wars writes them.
func shifted(rate, clan bool) string {
	var m bitMessage
	for i, name := range []string{"Tsu", "Bot"} {
		m.bits(uint64(5*i), 8)
		m.bits(uint64(43-42*i), 16)
		if rate {
			m.bits(16000, 32)
		}
		m.text(name)
		if clan {
			m.bits(uint64(i), 8)
			m.text([]string{"", "[B]"}[i])
		}
		m.bits(uint64(i), 1)
	}
	m.bits(places, 8)
	for _, c := range []byte(tailNormal) {
		m.bits(uint64(c), 8)
	}
	return string(m.b)
}

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := func(name, message string, payload string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, certain, payload, findings...)
	}
	sound := func(s dissecttest.Sample, short ...int) dissecttest.Sample {
		for _, n := range short {
			s.Sound = append(s.Sound, len(s.Parts[0])-n)
		}
		return s
	}
	cut := func(s dissecttest.Sample) dissecttest.Sample {
		s.Cut = true
		return s
	}
	info := func(name string, major, minor int, task bool, rules, rest string, findings ...string) dissecttest.Sample {
		s := one(name, "info_reply", reply("infoResponse", major, minor, task, rules, rest), findings...)
		if !task { // the end is optional
			return sound(s, 4, 5, 9)
		}
		return s
	}
	stats := func(ids ...int) (s string) {
		for _, id := range ids {
			s += string(rune(id)) + f32(1234.5) + "strogg\x00" + u32(11) + u32(3)
		}
		return s + "\x20"
	}
	exact := reply("infoResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal)
	version := u16(41) + u16(majorDoom3)
	address := "\xc0\x00\x02\x01\x12\x6c" // 192.0.2.1:27666
	possibly := one("unknown command", "other", head+"hello\x00world", "doom3.command")
	possibly.Verdict, possibly.Cut = possible, true
	bare := one("getInfo without its zero byte", "info_request", head+"getInfo", "doom3.noterm", "doom3.challenge.short")
	bare.Verdict = likely
	return []dissecttest.Sample{
		one("getInfo", "info_request", head+"getInfo\x00\x01\x02\x03\x04"),
		one("getInfo in other letters", "info_request", head+"GETINFO\x00\x01\x02\x03\x04"),
		one("getInfoEx", "info_ex_request", head+"getInfoEx\x00\xff\xff\xff\xff"),
		one("getInfoEx of GameQ", "info_ex_request", head+"getInfoEx\x00\x00\x00\x00", "doom3.challenge.short"),
		sound(one("getInfo of gamedig", "info_request", head+"getInfo\x00PiNGPoNG\x00"), 1, 2, 3, 4, 5),
		one("getInfo without a challenge", "info_request", head+"getInfo\x00", "doom3.challenge.short"),
		bare,

		info("Doom 3", majorDoom3, 41, false, rulesDoom3, playersDoom3+everySystem),
		info("Doom 3, nobody there", majorDoom3, 41, false, rulesDoom3, "\x20"+windows),
		info("dhewm3", majorDoom3, 42, false, rulesDoom3, playersDoom3),
		info("Quake 4 without systems", majorQuake4, 85, false, rulesQuake4, playersQuake4+u32(27950)+"\x01", "enc.notutf8"),
		info("Quake Wars without systems", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal[lenOSMask:]),
		info("Quake Wars TV without systems", majorQuakeWars, 21, true, rulesWars, "\x20"+tailViewers[lenOSMask:]),
		info("Quake Wars 1.0 without systems", majorQuakeWars, 15, true, rulesWars, playersFirst+tailNormal[lenOSMask:lenState]),
		one("extended info without systems", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal[lenOSMask:]+stats(0, 5))),
		info("Prey", majorPrey, 3, false, rulesDoom3, playersDoom3+windows),
		info("Prey demo", majorPreyDemo, 1, false, rulesDoom3, playersDoom3+windows),
		info("Quake 4", majorQuake4, 85, false, rulesQuake4, playersQuake4+windows+u32(27950)+"\x01", "enc.notutf8"),
		info("Quake 4, first version", majorQuake4, 62, false, rulesQuake4, playersQuake4+windows, "enc.notutf8"),
		info("Quake Wars 1.5", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal),
		info("Quake Wars TV", majorQuakeWars, 21, true, rulesWars, "\x20"+tailViewers),
		info("Quake Wars 1.2", majorQuakeWars, 17, true, rulesWars, playersClan+tailNormal),
		info("Quake Wars 1.0", majorQuakeWars, 15, true, rulesWars, playersFirst+tailNormal[:lenState]),
		info("Quake Wars beta", majorQuakeWarsBeta, 9, true, rulesWars, shifted(true, false)),
		info("Quake Wars beta with clans", majorQuakeWarsBeta, 10, true, rulesWars, shifted(false, true)),
		info("Quake Wars beta without rates", majorQuakeWarsBeta, 13, true, rulesWars, playersBare+tailNormal[:lenRanked]),
		info("Quake Wars beta, nobody there", majorQuakeWarsBeta, 9, true, rulesWars, "\x20"+tailNormal),
		info("Wolfenstein", majorWolfenstein, 18, true, rulesWolf, strings.Replace(playersClan, "\x20", "\x10", 1)+tailNormal[:lenType]),
		info("Wolfenstein without task", majorDoom3, 41, false, rulesWolf, strings.Replace(playersDoom3, "\x20", "\x10", 1)+windows, "doom3.layout.version"),
		info("a mod of Doom 3 that is laid out as Quake 4", majorDoom3, 41, false, rulesDoom3, playersQuake4+windows, "doom3.layout.version", "enc.notutf8"),
		info("a mod of Quake Wars that kept the rate", majorQuakeWars, 22, true, rulesWars, playersClan+tailNormal, "doom3.layout.version"),
		info("a game nobody knows", 77, 1, false, rulesDoom3, playersDoom3+windows, "doom3.layout.unknown"),
		info("a game nobody knows, with a task", 77, 1, true, rulesWars, playersWars+tailNormal, "doom3.layout.unknown"),
		info("no layout fits", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal+"more", "doom3.layout.none", "trailing"),
		info("too many players", majorDoom3, 41, false, strings.Replace(rulesDoom3, "Players\x004", "Players\x001", 1), playersDoom3+windows, "doom3.players.count"),
		one("Quake Wars, cut", "info_reply", exact[:len(exact)-3], "doom3.size", "malformed"),
		one("Quake Wars, cut within a player", "info_reply", exact[:len(exact)-20], "doom3.size", "malformed"),
		one("Doom 3, cut in the settings", "info_reply", reply("infoResponse", majorDoom3, 41, false, rulesDoom3, "")[:60], "malformed"),
		one("extended info", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal+stats(0, 5))),
		one("extended info of a TV server", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, "\x20"+tailViewers+"\x20")),
		one("extended info, other players", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal+stats(0, 6)), "doom3.stats.order"),
		one("extended info, one player more", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal+stats(0, 5, 6)), "doom3.stats.order"),
		one("extended info, cut", "info_ex_reply", reply("infoExResponse", majorQuakeWars, 21, true, rulesWars, playersWars+tailNormal+stats(0)[:8]), "malformed"),

		one("getServers", "servers_request", head+"getServers\x00"+version+"\x00\x00"),
		one("getServers of a mod", "servers_request", head+"getServers\x00"+version+"d3xp\x00\x29"),
		sound(one("getServers of qstat for Quake 4", "servers_request", head+"getServers\x00"+u16(85)+u16(majorQuake4|thirdParty)+"q4mp\x00Kane\x00[B]\x00\x06"), 9),
		sound(one("servers", "servers_reply", head+"servers\x00"+address+"\xc6\x33\x64\x07\x64\x6d"), 6, 12),
		sound(one("servers, cut", "servers_reply", head+"servers\x00"+address+"\xc6\x33", "doom3.len6"), 2, 8),
		one("heartbeat", "heartbeat", head+"heartbeat\x00"),

		one("rcon", "rcon_request", head+"rcon\x00hidden\x00serverInfo\x00"),
		one("rcon without a password", "rcon_request", head+"rcon\x00\x00hidden\x00"),
		one("print", "print", head+"print\x00"+u32(2)+"si_name is:\"Red\"\n\x00"),
		one("print, refused", "print", head+"print\x00"+u32(printGameDeny)+u32(1)+"#str_07200\x00"),
		one("challenge", "challenge_request", head+"challenge\x00"+u32(4711)),
		sound(one("challengeResponse", "challenge_reply", head+"challengeResponse\x00"+u32(-559038737)+u16(7)+"\x00d3xp\x00"), 6),
		one("connect", "connect_request", head+"connect\x00"+version+u16(2)+u32(0xabcdef)+u32(-559038737)+u16(4711)+u32(16000)+"ABCDEFGHIJK\x00secret\x00\x00\x00"),
		one("connect of dhewm3", "connect_request", head+"connect\x00"+u16(42)+u16(majorDoom3)+u32(0xabcdef)+u32(-559038737)+u16(4711)+u32(16000)+"\x00\x00\x00\x00"),
		one("connectResponse", "connect_reply", head+"connectResponse\x00"+u32(3)+u32(1)+u32(60)+u32(1000)+rulesDoom3+"\x00\x00"),
		one("disconnect", "disconnect", head+"disconnect\x00"),
		cut(one("clAuth", "other", head+"clAuth\x00"+version+address+"\x01AAAABBBBCCCCDDDD\x00\x01EEEEFFFFGGGGHHHH\x00")),
		cut(one("versionCheck", "other", head+"versionCheck\x00"+version+u16(2)+"DOOM 1.3.1\x00ABCDEFGHIJK\x00")),
		cut(one("pureServer", "other", head+"pureServer\x00"+u32(0x1234)+u32(0))),
		possibly,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// FuzzLayout compares players with bits, as in the beta, with the same players in
// bytes.
func FuzzLayout(f *testing.F) {
	f.Add("Tsu", "", uint16(43), uint8(3), true, true)
	f.Add("", "\xff\xfe", uint16(65535), uint8(31), false, true)
	f.Fuzz(func(t *testing.T, name, clan string, ping uint16, n uint8, rate, withClan bool) {
		name, clan = strings.ReplaceAll(name, "\x00", ""), strings.ReplaceAll(clan, "\x00", "")
		l := layout{rate: rate, place: withClan, clan: withClan, bot: true, bits: true, end: places, tail: tailQuakeWars}
		var m bitMessage
		var plain []byte
		for id := range int(n % places) {
			bot := byte(id & 1)
			m.bits(uint64(id), 8)
			m.bits(uint64(ping), 16)
			plain = binary.LittleEndian.AppendUint16(append(plain, byte(id)), ping)
			if rate {
				m.bits(uint64(ping)*7, 32)
				plain = binary.LittleEndian.AppendUint32(plain, uint32(ping)*7)
			}
			m.text(name)
			plain = append(append(plain, name...), 0)
			if withClan {
				m.bits(uint64(id%2), 8)
				m.text(clan)
				plain = append(append(append(plain, byte(id%2)), clan...), 0)
			}
			m.bits(uint64(bot), 1)
			plain = append(plain, bot)
		}
		m.bits(places, 8)
		plain = append(plain, places)
		for _, c := range []byte(tailNormal) {
			m.bits(uint64(c), 8)
		}
		plain = append(plain, tailNormal...)
		got, ok := l.unshift(nil, m.b)
		if !ok || string(got) != string(plain) {
			t.Fatalf("%v\n%x\n%x", ok, got, plain)
		}
		if _, ok := l.fits(got, false); !ok {
			t.Errorf("does not fit: %x", got)
		}
	})
}

// TestSecrets checks that neither passwords nor keys appear in the output.
func TestSecrets(t *testing.T) {
	for _, payload := range []string{
		head + "rcon\x00hidden\x00status\x00",
		head + "connect\x00" + u16(42) + u16(1) + u32(1) + u32(2) + u16(3) + u32(4) + "\x00hidden\x00\x00\x00",
		head + "clAuth\x00" + u16(41) + u16(1) + "\x01\x02\x03\x04\x05\x06\x01hidden\x00\x01hidden\x00",
		head + "gameAuth\x00" + u16(41) + u16(1) + "\x01hidden\x00\x01hidden\x00",
	} {
		got := dissecttest.Decode(t, Protocol(), []byte(payload))
		if strings.Contains(string(got.AppendSummary(nil)), "hidden") {
			t.Errorf("%s", got.AppendSummary(nil))
		}
		for i := range got.Nodes {
			n := &got.Nodes[i]
			if strings.Contains(string(n.Value(got.Sources[n.Source].Data)), "hidden") && !n.Field.Secret {
				t.Errorf("%s is not secret", n.Field.Path)
			}
		}
	}
}
