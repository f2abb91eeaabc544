package main

import (
	"fmt"
	"strings"
	"time"
)

// aseTexts writes each text behind its length, which counts itself and has
// eight bits.
func aseTexts(list ...string) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteByte(byte(len(t) + 1))
		b.WriteString(t)
	}
	return b.String()
}

// asePlayers are players as Multi Theft Auto sends them: all columns, most of
// them empty.
func asePlayers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\x3f" + aseTexts(fmt.Sprintf("Driver_%c%03d", 'A'+i%26, i), "", "", "", fmt.Sprint(20+i*13%300), ""))
	}
	return b.String()
}

const aseExtras = "\x00%d/300\x009\x0021343\x00ok\x00route 1\x0086400\x0022005"

// aseMTA plays a server of Multi Theft Auto: the long reply in IP fragments,
// the short ones, the version; and a server on a port of its own.
func aseMTA(s *stage) {
	head := aseTexts("mta", "22003", "Caf\xc3\xa9 Racing \xe2\x98\x85", "Race", "SF", "1.6", "0", "160", "300")
	rules := aseTexts("Gamemode", "race", "Weather", "", "Owner", "Zo\xc3\xab") + "\x01"
	s.between("192.0.2.20:51000", "198.51.100.10:22126")
	s.ask("s")
	s.answer("EYE1" + head + rules + asePlayers(160))
	names := make([]string, 160)
	for i := range 70 {
		names[i] = fmt.Sprintf("Driver_%c%03d", 'A'+i%26, i)
	}
	s.ask("b")
	s.answer("EYE2" + aseTexts("mta", "22003", "Caf\xc3\xa9 Racing \xe2\x98\x85", "Race", "SF"+fmt.Sprintf(aseExtras, 160), "1.6") + "\x00\x01\xa0\xff" + aseTexts(names...))
	s.ask("x")
	s.answer("EYE3" + aseTexts("mta", "Caf\xc3\xa9 Racing \xe2\x98\x85", "Race", "SF\x00160/300", "1.6") + "\x00\xa0\xff")
	s.ask("v")
	s.answer("1.6")
	s.between("192.0.2.20:51001", "198.51.100.11:40123")
	s.ask("r")
	s.answer("EYE2" + aseTexts("mta", "40000", "Elsewhere", "Freeroam", "None"+fmt.Sprintf(aseExtras, 2), "1.6") + "\x01\x00\x02\xff" + aseTexts("Anna", "B\xf6rje"))
}

// aseOthers plays other games: columns as they are needed, and replies in
// datagrams of 1364 bytes.
func aseOthers(s *stage) {
	s.between("192.0.2.20:51000", "198.51.100.10:49124")
	s.ask("s")
	s.answer("EYE1" + aseTexts("farcry", "49001", "Caf\xe9 FFA", "FFA", "mp_radio", "1.4", "1", "2", "16") + aseTexts("gr_FallDamage", "1", "gr_RespawnTime", "30") + "\x01" +
		"\x3b" + aseTexts("Anna", "red", "12", "40", "600") + "\x1b" + aseTexts("Bj\xf6rn", "2", "-3", "155"))
	var b strings.Builder
	b.WriteString(aseTexts("bfield1942", "14567", "Sixty on one map", "conquest", "guadalcanal", "1.61", "0", "60", "64") + aseTexts("dedicated", "1", "time_limit", "42") + "\x01")
	for i := range 60 {
		b.WriteString("\x1b" + aseTexts(fmt.Sprintf("A soldier with a name %02d", i), fmt.Sprint(1+i%2), fmt.Sprint(i), fmt.Sprint(30+i)))
	}
	s.between("192.0.2.20:51001", "198.51.100.11:14690")
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s.ask("s")
		parts := aseParts(b.String())
		for _, i := range order {
			s.answer(parts[i])
		}
		s.wait(time.Second)
	}
	s.between("192.0.2.20:51002", "198.51.100.12:23196")
	s.ask("p")
	s.ask("s")
	s.answer("EYE1" + aseTexts("soldat", "23073", "Nobody here", "CTF", "ctf_Ash", "1.7.1", "0", "0", "16") + "\x01")
}

// aseParts cuts a reply into datagrams.
func aseParts(reply string) (parts []string) {
	const room = 1364 - 8
	for i := 0; len(reply) > 0; i++ {
		n := min(room, len(reply))
		parts = append(parts, fmt.Sprintf("EYE%d%s\x39\x30\x00\x00", i+1, reply[:n]))
		reply = reply[n:]
	}
	return parts
}

// aseTrouble plays what goes wrong.
func aseTrouble(s *stage) {
	wide := strings.Repeat("Visit our website for the rules. ", 9) // 297 bytes
	mta := func(name, players string, rules ...string) string {
		return "EYE1" + aseTexts("mta", "22003", name, "Race", "SF", "1.6", "0", players, "32") + aseTexts(rules...) + "\x01"
	}
	// Texts whose length does not fit into its byte: of a rule, and of the
	// name of the server, once by one byte.
	s.between("192.0.2.20:51000", "198.51.100.10:22126")
	s.ask("s")
	s.answer(mta("A server", "2", "Gamemode", "race", "info", wide, "Weather", "sunny") + asePlayers(2))
	s.ask("s")
	s.answer(mta(wide, "2", "Weather", "sunny") + asePlayers(2))
	s.ask("s")
	s.answer(mta(wide[:255], "0"))
	// Replies that end too early: in a player, in the settings, before their
	// end; players with columns that do not exist; a count that does not fit.
	s.between("192.0.2.21:51000", "198.51.100.11:22126")
	whole := mta("A server", "3", "Weather", "sunny") + asePlayers(3)
	for _, n := range []int{len(whole) - 5, 60, 20} {
		s.ask("s")
		s.answer(whole[:n])
	}
	s.ask("s")
	s.answer(strings.TrimSuffix(mta("A server", "0", "Weather", "sunny"), "\x01"))
	s.between("192.0.2.22:51000", "198.51.100.11:22126")
	s.ask("s")
	s.answer(mta("A server", "3", "Weather", "sunny") + asePlayers(2) + "\xc1\x05Anna")
	s.ask("s")
	s.answer(mta("A server", "3", "Weather", "sunny") + asePlayers(2))
	// Datagrams are lost.
	var b strings.Builder
	b.WriteString(aseTexts("bfield1942", "14567", "Sixty on one map", "conquest", "guadalcanal", "1.61", "0", "60", "64") + "\x01")
	for i := range 60 {
		b.WriteString("\x1b" + aseTexts(fmt.Sprintf("A soldier with a name %02d", i), fmt.Sprint(1+i%2), fmt.Sprint(i), fmt.Sprint(30+i)))
	}
	parts := aseParts(b.String())
	s.between("192.0.2.23:51000", "198.51.100.12:14690")
	s.ask("s")
	s.answer(parts[0])
	s.between("192.0.2.24:51000", "198.51.100.12:14690")
	s.ask("s")
	s.answer(parts[1])
	// Nobody answers on the game's port; a byte of something else.
	s.between("192.0.2.25:51000", "198.51.100.10:22003")
	s.ask("s")
	s.between("192.0.2.25:51001", "198.51.100.10:22126")
	s.ask("s")
	s.wait(time.Second)
	s.ask("s")
}
