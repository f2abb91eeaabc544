package main

import (
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf16"
)

// u2Words writes numbers of 32 bits, u2Texts each text behind its length, u2Wide a
// text in UTF-16.
func u2Words(list ...uint32) string {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return string(b)
}

func u2Texts(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		if s != "" {
			s += "\x00"
		}
		if n := len(s); n < 64 {
			b.WriteByte(byte(n))
		} else {
			b.Write([]byte{byte(0x40 | n&0x3f), byte(n >> 6)})
		}
		b.WriteString(s)
	}
	return b.String()
}

func u2Wide(s string) string {
	units := append(utf16.Encode([]rune(s)), 0)
	b := []byte{byte(0x80 | len(units))}
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

const u2Reply = "\x80\x00\x00\x00"

// u2Ask writes a request of a game's version.
func u2Ask(version, kind byte) string { return string([]byte{version, 0, 0, 0, kind}) }

// u2Details writes details; more are the numbers behind the most players.
func u2Details(name, level, game string, more ...uint32) string {
	return u2Reply + "\x00" + u2Words(0) + u2Texts("") + u2Words(7777, 0) + name + u2Texts(level, game) + u2Words(more...)
}

func u2Player(id uint32, name string, ping, score, stats uint32) string {
	return u2Words(id) + name + u2Words(ping, score, stats)
}

const (
	u2Red  = 0x20000000
	u2Blue = 0x40000000
)

// unreal2Servers plays servers of several games.
func unreal2Servers(s *stage) {
	// Unreal Tournament 2004, asked as gamedig asks. Mutators come one by one, names
	// in Latin-1 or UTF-16.
	s.between("192.0.2.20:50000", "198.51.100.10:7778")
	s.ask(u2Ask(0x79, 0))
	s.answer(u2Details(u2Texts("\x1b\xff\xff\x01Caf\xe9 \x1b\x01\xff\x01ONS"), "ONS-Torlan", "ONSOnslaughtGame", 4, 12, 0, 0) + u2Texts("0") + "\x00")
	s.ask(u2Ask(0x79, 1))
	s.answer(u2Reply + "\x01" + u2Texts("ServerMode", "dedicated", "AdminName", "Anna", "AdminEmail", "", "ServerVersion", "3369", "GameStats", "True",
		"MaxSpectators", "4", "Mutator", "DMMutator", "Mutator", "MutUTAN", "GamePassword", "True"))
	s.answer(u2Reply + "\x01" + u2Texts("MinPlayers", "0", "GoalScore", "1", "TimeLimit", "15", "FriendlyFireScale", "0%"))
	s.ask(u2Ask(0x79, 2))
	s.answer(u2Reply + "\x02" + u2Player(17, u2Texts("Anna"), 68, 12, u2Red) + u2Player(16, u2Wide("B\u00f6rje \u2605"), 76, 3, u2Blue) +
		u2Player(0, u2Texts("Red Team"), 0, 2, 0))
	s.answer(u2Reply + "\x02" + u2Player(15, u2Texts("Cyd"), 0, 1<<32-2, u2Blue))
	// Killing Floor: waves, and rules in three datagrams.
	s.between("192.0.2.20:50001", "198.51.100.11:7708")
	s.ask(u2Ask(0x79, 0))
	s.answer(u2Details(u2Texts("\x1b@\xb0@Sentry \x1b@\x80@Turrets\x1b\x80\x80\x80/\x1b@\xb0@Bots \x1b\xc0\xc0\xc0| \x1b@\xb0\xb0Weapons \x1b\xc0\xc0\xc0| Specimens: Default"), "KF-Harbour", "KFGameType", 2, 35, 7, 10, 0, 0x20) + u2Texts("0") + "\x00\x00")
	s.ask(u2Ask(0x79, 1))
	settings := u2Texts("ServerMode", "dedicated", "ServerVersion", "1064", "IsVacSecured", "true", "Mutator", "KillingFloorMut")
	for _, name := range []string{"Support Specialist", "Berserker", "Commando", "Field Medic", "Firebug", "Sharpshooter", "Demolitions"} {
		settings += u2Texts("Veterancy", name)
	}
	s.answer(u2Reply + "\x01" + settings)
	s.answer(u2Reply + "\x01" + u2Texts("Num trader weapons", "122", "InitialWave", "0", "FinalWave", "10", "Max runtime zombies", "60"))
	s.answer(u2Reply + "\x01" + u2Texts("Starting cash", "3000"))
	s.ask(u2Ask(0x79, 2))
	s.answer(u2Reply + "\x02" + u2Player(5763, u2Texts("Anna"), 104, 3000, u2Red) + u2Player(20, u2Texts("Borje"), 60, 3474, u2Red))
	// Unreal II XMP; and the first server again, asked for all as qstat asks.
	s.between("192.0.2.20:50002", "198.51.100.12:7778")
	s.ask(u2Ask(0x7e, 2))
	s.answer("\x7e\x00\x00\x00\x02" + u2Words(0) + u2Player(1, u2Texts("Anna"), 68, 3, 0) + "\x02" + u2Texts("team", "red", "class", "Ranger"))
	s.between("192.0.2.20:50003", "198.51.100.10:7778")
	s.ask(u2Ask(0x78, 3))
	s.answer(u2Reply + "\x01" + u2Texts("ServerMode", "dedicated", "MinPlayers", "2"))
	s.answer(u2Reply + "\x02" + u2Player(3, u2Texts("Anna"), 40, 7, u2Red))
	// The game itself asks with its own version: what it asks is what an empty server
	// answers.
	s.between("192.0.2.20:50005", "198.51.100.15:7778")
	for _, kind := range []byte{0, 1, 2} {
		s.ask(u2Ask(0x80, kind))
	}
	s.answer(u2Details(u2Texts("A quiet server"), "DM-Antalus", "xDeathMatch", 0, 16, 0, 0) + u2Texts("2.0") + "\x00")
	s.answer(u2Reply + "\x01" + u2Texts("ServerMode", "dedicated"))
	s.answer(u2Reply + "\x02")
	// A name in UTF-16 with its colours, on a port that nobody knows; and nobody there:
	// the request for players stays unanswered.
	s.between("192.0.2.20:50004", "198.51.100.14:30001")
	s.ask(u2Ask(0x79, 0))
	s.answer(u2Details(u2Wide("^#\u00ff\u0421\u0435\u0440\u0432\u0435\u0440"), "DM-Antalus", "xDeathMatch", 0, 16, 0, 0) + u2Texts("2.0") + "\x00")
	s.ask(u2Ask(0x79, 2))
	s.wait(6 * time.Second)
	s.ask(u2Ask(0x79, 0))
	s.answer(u2Details(u2Wide("^#\u00ff\u0421\u0435\u0440\u0432\u0435\u0440"), "DM-Antalus", "xDeathMatch", 0, 16, 0, 0) + u2Texts("2.0") + "\x00")
}

// unreal2Trouble plays what goes wrong, and what looks like these replies.
func unreal2Trouble(s *stage) {
	// The port of the game: nothing comes.
	s.between("192.0.2.20:50000", "198.51.100.10:7777")
	s.ask(u2Ask(0x79, 0))
	s.wait(time.Second)
	s.ask(u2Ask(0x79, 0))
	s.wait(6 * time.Second)
	// Replies cut in the middle, with more than belongs there, of another kind, to
	// nobody.
	s.between("192.0.2.21:50000", "198.51.100.11:7778")
	details := u2Details(u2Texts("A server"), "DM-Antalus", "xDeathMatch", 1, 16, 0, 0) + u2Texts("2.0") + "\x00"
	rules := u2Reply + "\x01" + u2Texts("ServerMode", "dedicated", "AdminPassword", "hidden1", "MinPlayers", "2")
	s.ask(u2Ask(0x79, 0))
	s.answer(details[:len(details)-20])
	s.ask(u2Ask(0x79, 1))
	s.answer(rules[:len(rules)-4])
	s.ask(u2Ask(0x79, 0))
	s.answer(details + "more")
	s.ask(u2Ask(0x79, 2))
	s.answer(rules)
	s.answer(u2Reply + "\x02")
	s.answer(details)
	// QUIC's version negotiation, and the first frame of RakNet, on the same port.
	s.between("192.0.2.22:50000", "198.51.100.12:7778")
	s.answer("\x80\x00\x00\x00\x00\x08\x00\x01\x02\x03\x04\x05\x06\x07\x08\x83\x94\xc8\xf0\x3e\x51\x57\x08\x00\x00\x00\x01")
	s.ask("\x80\x00\x00\x00\x00\x00\x48\x00\x00\x00\x00\x00\x00\x00\x12\x34")
}
