package main

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

const oob = "\xff\xff" // what messages of the Doom 3 engine begin with

func le16(n int) string { return string(binary.LittleEndian.AppendUint16(nil, uint16(n))) }

func le32(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func float(f float32) string { return le32(int(math.Float32bits(f))) }

// dict makes the settings of a server.
func dict(pairs ...string) string { return strings.Join(pairs, "\x00") + "\x00\x00\x00" }

// infoOf makes an info reply of Doom 3, Quake 4 and Prey.
func infoOf(challenge string, major, minor int, rest string) string {
	return oob + "infoResponse\x00" + challenge + le16(minor) + le16(major) + rest
}

// taskOf makes an info reply of Quake Wars and Wolfenstein.
func taskOf(word, challenge string, major, minor int, rest string) string {
	return oob + word + "\x00" + challenge + le32(-1) + le16(minor) + le16(major) + le32(len(rest)) + rest
}

// soldier is a player in all layouts.
type soldier struct {
	id, ping, rate int
	name, clan     string
	behind, bot    bool
}

var soldiers = []soldier{
	{0, 48, 16000, "^1Marine", "", false, false},
	{2, 107, 25600, "Caf\xc3\xa9 ^c090noir", "^3[USMC]", true, false},
	{7, 0, 16000, "^0Johnny ^7Bot", "", false, true},
}

func flag(b bool) string {
	if b {
		return "\x01"
	}
	return "\x00"
}

// troop writes the soldiers; the parts say what each layout has.
func troop(end byte, rate, clan, place, bot bool) string {
	var b strings.Builder
	for _, s := range soldiers {
		b.WriteString(string([]byte{byte(s.id)}) + le16(s.ping))
		if rate {
			b.WriteString(le32(s.rate))
		}
		b.WriteString(s.name + "\x00")
		if place {
			b.WriteString(flag(s.behind))
		}
		if clan {
			b.WriteString(s.clan + "\x00")
		}
		if bot {
			b.WriteString(flag(s.bot))
		}
	}
	return b.String() + string([]byte{end})
}

// bitTroop writes the soldiers as the beta of Quake Wars does: whether one is a
// bot is a bit, and numbers stand across bytes until the next text.
func bitTroop(end byte, tail string) string {
	var out []byte
	bit := 0
	put := func(v uint64, n int) {
		for ; n > 0; n-- {
			if bit == 0 {
				out = append(out, 0)
			}
			out[len(out)-1] |= byte(v&1) << bit
			v >>= 1
			bit = (bit + 1) % 8
		}
	}
	for _, s := range soldiers {
		put(uint64(s.id), 8)
		put(uint64(s.ping), 16)
		put(uint64(s.rate), 32)
		bit = 0
		out = append(append(out, s.name...), 0)
		put(uint64(flag(s.bot)[0]), 1)
	}
	put(uint64(end), 8)
	for _, c := range []byte(tail) {
		put(uint64(c), 8)
	}
	return string(out)
}

var (
	doomRules = dict("si_version", "DOOM 1.3.1.1304.linux-x86 Jan 16 2007", "fs_game_base", "", "fs_game", "d3xp", "gamename", "baseDOOM-1",
		"si_name", "^1Mars ^7City", "si_gameType", "Team DM", "si_map", "game/mp/d3dm1", "si_maxPlayers", "8", "si_usePass", "0")
	quakeRules = dict("si_version", "Quake4  V1.4.2 linux-x86 Jun 15 2007", "fs_game", "q4mp", "si_name", "^c123\xdcber^7 load^Iw05", "si_gameType", "DM",
		"si_map", "mp/q4dm1", "si_maxPlayers", "12", "si_usepass", "1")
	warsRules = dict("si_version", "ETQW 1.5.12663.12663  linux-x86", "fs_game", "base", "gamename", "baseETQW-1", "si_name", "^2Strogg ^7landing",
		"si_map", "maps/valley.entities", "si_maxPlayers", "24", "si_needPass", "0")
	wolfRules = dict("si_version", "Wolfenstein 1.2", "gamename", "baseWolfenstein-1", "si_name", "Isenstadt", "si_map", "maps/mp_manor.entities",
		"si_maxPlayers", "16", "si_needPass", "0")
	warsTail = "\x05\x00\x00\x00" + "\x01" + le32(1234567) + "\x02" + "\x00" + "\x03"
	tvTail   = "\x05\x00\x00\x00" + "\x00" + le32(600000) + "\x01" + "\x01" + le32(17) + le32(64)
)

const (
	askInfo   = oob + "getInfo\x00"
	askInfoEx = oob + "getInfoEx\x00"
)

// doom3Family plays every game of the engine in every layout, and its master.
func doom3Family(s *stage) {
	exchange := func(server, ask, answer string) {
		s.between("192.0.2.20:51000", server)
		s.ask(ask)
		s.answer(answer)
	}
	c := le32(0x1badcafe)
	exchange("198.51.100.10:27666", askInfo+c, infoOf(c, 1, 41, doomRules+troop(32, true, false, false, false)+le32(-1)))
	exchange("198.51.100.11:27666", askInfo+c, infoOf(c, 1, 42, doomRules+troop(32, true, false, false, false)))
	exchange("198.51.100.12:28004", askInfo+c, infoOf(c, 2, 85, quakeRules+troop(32, true, true, false, false)+le32(5)+le32(28004)+"\x01"))
	exchange("198.51.100.13:27719", askInfo+c, infoOf(c, 3, 3, doomRules+troop(32, true, false, false, false)+le32(1)))
	exchange("198.51.100.14:27733", askInfo+c, taskOf("infoResponse", c, 10, 15, warsRules+troop(32, true, false, false, true)+warsTail[:5]))
	exchange("198.51.100.15:27733", askInfo+c, taskOf("infoResponse", c, 10, 17, warsRules+troop(32, true, true, true, true)+warsTail[:10]))
	exchange("198.51.100.16:27733", askInfo+c, taskOf("infoResponse", c, 10, 22, warsRules+troop(32, false, true, true, true)+warsTail))
	exchange("198.51.100.17:27733", askInfo+c, taskOf("infoResponse", c, 10, 22, warsRules+"\x20"+tvTail))
	exchange("198.51.100.18:27733", askInfo+c, taskOf("infoResponse", c, 13, 9, warsRules+bitTroop(32, warsTail)))
	exchange("198.51.100.19:27758", askInfo+c, taskOf("infoResponse", c, 30, 18, wolfRules+troop(16, true, true, true, true)+warsTail[:11]))
	var results string
	for i, p := range soldiers {
		results += string([]byte{byte(p.id)}) + float(1234.5*float32(i)) + []string{"gdf", "strogg", "spectating"}[i] + "\x00" + le32(11-3*i) + le32(4*i)
	}
	exchange("198.51.100.16:27733", askInfoEx+c, taskOf("infoExResponse", c, 10, 22, warsRules+troop(32, false, true, true, true)+warsTail+results+"\x20"))

	// The master: a server tells that it is there and is asked, a game and
	// qstat ask for the list.
	s.between("198.51.100.10:27666", "203.0.113.5:27650")
	s.ask(oob + "heartbeat\x00")
	s.answer(askInfo + c)
	s.ask(infoOf(c, 1, 41, doomRules+"\x20"+le32(-1)))
	s.between("192.0.2.21:27666", "203.0.113.5:27650")
	s.ask(oob + "getServers\x00" + le16(41) + le16(1) + "d3xp\x00\x26")
	s.answer(oob + "servers\x00" + "\xc6\x33\x64\x0a\x12\x6c" + "\xc6\x33\x64\x0b\x12\x6c")
	s.between("192.0.2.22:51000", "203.0.113.5:27650")
	s.ask(oob + "getServers\x00" + le16(85) + le16(0x8002) + "q4mp\x00Kane\x00\x00\x04")
	s.answer(oob + "servers\x00" + "\xc6\x33\x64\x0c\x64\x6d")
	s.answer(oob + "servers\x00")
}

// doom3Trouble plays what is rare and what goes wrong.
func doom3Trouble(s *stage) {
	players := troop(32, true, false, false, false)
	s.between("192.0.2.20:51000", "198.51.100.16:27733")
	// GameQ sends three bytes of challenge, and one of the server's memory
	// comes back; gamedig sends nine bytes; an article has no zero byte.
	s.ask(askInfo + "\x00\x00\x00")
	s.answer(taskOf("infoResponse", "\x00\x00\x00\xba", 10, 21, warsRules+"\x20"+warsTail))
	s.between("192.0.2.20:51001", "198.51.100.10:27666")
	s.ask(askInfo + "PiNGPoNG\x00")
	s.answer(infoOf("PiNG", 1, 41, doomRules+players+le32(-1)))
	s.between("192.0.2.20:51002", "198.51.100.10:27666")
	s.ask(oob + "getInfo")
	s.answer(infoOf(le32(-1), 1, 41, doomRules+players+le32(-1)))
	s.between("192.0.2.20:51003", "198.51.100.10:27666")
	s.ask(oob + "GETINFO\x00" + le32(7))
	s.answer(infoOf(le32(8), 1, 41, doomRules+players+le32(-1)))
	// Mods and unknown games: the version promises one layout, another fits.
	s.between("192.0.2.21:51000", "198.51.100.20:27666")
	s.ask(askInfo + le32(1))
	s.answer(infoOf(le32(1), 1, 41, doomRules+troop(32, true, true, false, false)+le32(4)))
	s.ask(askInfo + le32(2))
	s.answer(infoOf(le32(2), 77, 1, doomRules+players+le32(4)))
	s.ask(askInfo + le32(3))
	s.answer(taskOf("infoResponse", le32(3), 10, 22, warsRules+troop(32, false, true, true, true)+warsTail+"something new"))
	// No systems behind the players: Quake Wars, and what goes on without them.
	s.ask(askInfo + le32(11))
	s.answer(taskOf("infoResponse", le32(11), 10, 22, warsRules+troop(32, false, true, true, true)+warsTail[4:]))
	s.ask(askInfo + le32(12))
	s.answer(infoOf(le32(12), 1, 41, doomRules+players))
	// Cut replies, and a size that lies.
	whole := taskOf("infoResponse", le32(4), 10, 22, warsRules+troop(32, false, true, true, true)+warsTail)
	s.ask(askInfo + le32(4))
	s.answer(whole[:len(whole)-30])
	s.ask(askInfo + le32(5))
	s.answer(infoOf(le32(5), 1, 41, doomRules)[:90])
	s.ask(askInfo + le32(6))
	s.answer(strings.Replace(taskOf("infoResponse", le32(6), 10, 22, warsRules+"\x20"+warsTail), le32(len(warsRules+"\x20"+warsTail)), le32(99), 1))
	s.ask(askInfo + le32(7))
	s.answer(infoOf(le32(7), 1, 41, strings.Replace(doomRules, "si_maxPlayers\x008", "si_maxPlayers\x002", 1)+players+le32(-1)))
	// The second list is not of the same players.
	s.ask(askInfoEx + le32(8))
	s.answer(taskOf("infoExResponse", le32(8), 10, 22, warsRules+troop(32, false, true, true, true)+warsTail+"\x00"+float(5)+"gdf\x00"+le32(1)+le32(2)+"\x20"))
	// The remote console, and a client that connects.
	s.between("192.0.2.22:27666", "198.51.100.10:27666")
	s.ask(oob + "rcon\x00hunter2\x00serverInfo\x00")
	s.answer(oob + "print\x00" + le32(2) + "^1si_name is:\"Mars City\"\x1b[31m\n\x00")
	s.ask(oob + "rcon\x00wrong\x00quit\x00")
	s.answer(oob + "print\x00" + le32(0) + "#str_04847\x00")
	s.ask(oob + "challenge\x00" + le32(4711))
	s.answer(oob + "challengeResponse\x00" + le32(-559038737) + le16(7) + "\x00d3xp\x00")
	connect := oob + "connect\x00" + le16(41) + le16(1) + le16(2) + le32(0x12345678) + le32(-559038737) + le16(4711) + le32(16000) + "ABCDEFGHIJK\x00hunter2\x00\x00\x00"
	s.ask(connect)
	s.answer(oob + "print\x00" + le32(3) + le32(1) + "#str_07121\x00")
	s.ask(connect)
	s.answer(oob + "connectResponse\x00" + le32(3) + le32(1) + le32(600) + le32(10000) + doomRules)
	s.wait(10 * time.Second)
	s.answer(oob + "disconnect\x00")
	s.between("192.0.2.22:27666", "203.0.113.5:27650")
	s.ask(oob + "clAuth\x00" + le16(41) + le16(1) + "\xc6\x33\x64\x0a\x12\x6c\x01AAAABBBBCCCCDDDD\x00\x01EEEEFFFFGGGGHHHH\x00")
	s.answer(oob + "authKey\x00\x00\x02\x00")
	s.ask(oob + "versionCheck\x00" + le16(41) + le16(1) + le16(2) + "DOOM 1.3.1\x00ABCDEFGHIJK\x00")
	// Others that begin with FF FF, and words that nobody knows.
	s.between("192.0.2.23:51000", "198.51.100.30:5055")
	s.ask("\xff\xff\x00\x01\x00\x00\x00\x00")
	s.between("192.0.2.23:51000", "198.51.100.10:27666")
	s.ask(oob + "getStatus\x00\x01\x02\x03\x04")
	// A list that breaks off, and a server that is not there.
	s.between("192.0.2.24:51000", "203.0.113.5:27650")
	s.ask(oob + "getServers\x00" + le32(0) + "\x00\x00")
	s.answer(oob + "servers\x00" + "\xc6\x33\x64\x0a\x12\x6c" + "\xc6\x33\x64")
	s.between("192.0.2.24:51000", "198.51.100.31:27666")
	s.ask(askInfo + le32(9))
	s.wait(20 * time.Second)
	s.ask(askInfo + le32(10))
}
