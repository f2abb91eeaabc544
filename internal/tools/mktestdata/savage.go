package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

const savageMagic = "\x9e\x4c\x23\x00\x00"

// savageStatus writes settings, and teams with their players.
func savageStatus(name string, players int, teams string) string {
	b := fmt.Sprintf("name\xfe%s\xffcnum\xfe%d\xffcmax\xfe32\xffworld\xfeeden\xffpass\xfe0\xffrace1\xfehuman\xffrace2\xfebeast\xffver\xfe2.00e\xff", name, players)
	if teams != "" {
		b += "players\xfe" + teams
	}
	return b
}

// savageServers plays servers asked as qstat and as a script for Savage XR ask, and what
// goes wrong.
func savageServers(s *stage) {
	const teams = "Humans\n Anna\n B\xf6rje\nBeasts\n Cyd\nSpectators\n"
	s.between("192.0.2.20:50000", "198.51.100.10:11235")
	s.ask(savageMagic + "\xc8\x01\x21\x00\x00")
	s.answer(savageMagic + "\xcf\x01\x21\x00\x00\x00\x00" + savageStatus("Battle for Newerth", 3, ""))
	s.ask(savageMagic + "\xce\x76\x46\x00\x00")
	s.answer(savageMagic + "\xcf\x76\x46\x00\x00\x00\x00" + savageStatus("Battle for Newerth", 3, teams))
	s.between("192.0.2.20:50001", "198.51.100.11:11244")
	s.ask(savageMagic + "\xff\xff\xce\xf2\x3b\x18\x80")
	s.answer(savageMagic + "\xff\xff\xcf\xf2\x3b\x18\x80" + savageStatus("^yXR", 0, "Humans\nBeasts\n"))
	s.ask(savageMagic + "\xce")
	s.answer((savageMagic + "\xcf\x76\x46\x00\x00\x00\x00" + savageStatus("Cut", 3, teams))[:50])
	s.ask(savageMagic + "\xce\x21\x21\x21\x21")
	s.wait(6 * time.Second)
	s.ask(savageMagic + "\xce\x21\x21\x21\x22")
	s.answer(savageMagic + "\xcf\x21\x21\x21\x22\x00\x00" + savageStatus("Late", 1, "Humans\n Anna\n"))
}

// savage2Info writes a reply.
func savage2Info(name, level string, players byte) string {
	return "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + name + "\x00" + string([]byte{players, 32}) + "00:12:30\x00" + level + "\x00bunker\x00EU\x00\x02RTSS\x002.1.1.1\x00\x00"
}

// savage2Servers plays a server, twice, and what goes wrong.
func savage2Servers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:11235")
	s.ask("\x01")
	s.answer(savage2Info("^yTortured souls", "autumn", 12))
	s.between("192.0.2.21:50000", "198.51.100.10:11235")
	s.ask("\x01")
	s.answer(savage2Info("^yTortured souls", "desolation", 13))
	s.wait(6 * time.Second)
	s.ask("\x01")
	s.answer(savage2Info("^yTortured souls", "losttemple", 14))
	s.wait(6 * time.Second)
	s.ask("\x01")
	s.answer(savage2Info("^yOther souls", "mirakar", 15))
	s.wait(6 * time.Second)
	s.ask("\x01")
	s.wait(6 * time.Second)
	s.ask("\x01")
	s.answer(savage2Info("^yTortured souls", "mirakar", 16)[:40])
}

// rfactorInfo writes a reply.
func rfactorInfo(product, game, name, track string, drivers, bots, special byte) string {
	place := func(s string, size int) string { return (s + "\x00" + strings.Repeat("Interlagos ", 10))[:size] }
	b := []byte(place(product, 8) + "\x01\x02\x00\xc6\x33\x64\x0a\xe0\x00\x50\x04\x01\x00\x5d\x86\xf9\x85" + place(game, 20) + place(name, 28) + place(track, 32))
	b = append(b, place("Clean racing, please", 96)+"\x03\x04\x28\x00\x00\x03"...)
	b = append(b, drivers, 20, bots, special, 100, 1, 0, 7, 8, 0)
	b = binary.LittleEndian.AppendUint16(b, 90)
	b = binary.LittleEndian.AppendUint16(b, 16*20)
	return string(b) + "\x00\x00\x00Lotus 79|Ferrari 312\x00"
}

// rfactorServers plays servers of both games, and what goes wrong.
func rfactorServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:34297")
	s.ask("rF_S")
	s.answer(rfactorInfo("rFactor", "F1 1979", "Caf\xe9 Monza", "Monza", 5, 2, 0x12))
	s.between("192.0.2.20:50001", "198.51.100.11:34297")
	s.ask("rF_S")
	s.answer(rfactorInfo("ARCA", "ARCA 2008", "Oval", "Daytona", 0, 0, 0))
	s.between("192.0.2.20:50002", "198.51.100.12:9999")
	s.ask("rF_S")
	s.answer(rfactorInfo("rFactor", "Megane", "Cut", "Spa", 1, 0, 0)[:180])
	s.answer(rfactorInfo("rFactor", "Megane", "Again", "Spa", 1, 0, 4))
	s.ask("rF_S")
	s.wait(6 * time.Second)
	s.ask("rF_S")
	s.answer(rfactorInfo("rFactor", "Megane", "At last", "Spa", 2, 0, 0))
}
