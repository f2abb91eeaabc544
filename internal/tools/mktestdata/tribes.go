package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// tribesStatus writes a reply of Tribes to a request with a challenge.
func tribesStatus(challenge, name string, players ...string) string {
	b := "c" + challenge + "b" + lhmpTexts("Tribes", "1.40", name) + "\x01\x00" + string([]byte{byte(len(players)), 32}) + "\xbc\x02" +
		lhmpTexts("base", "Capture the Flag", "Broadside", "Admin: Anna\nE-mail: anna@example.org") + "\x02" +
		lhmpTexts("\x10Team Name\t\xd6Score", "\x18Player Name\t\x55Team\t\xc5Score\t\xe0Ping\t\xffPL") + lhmpTexts("Diamond Sword", "%t\t 1", "Blood Eagle", "%t\t 3")
	for i, p := range players {
		b += string([]byte{byte(10 + 5*i), byte(i), byte(i % 2)}) + lhmpTexts(p, fmt.Sprintf("%%n\t%%t\t %d\t%%p\t%%l", 25-4*i))
	}
	return b
}

// starsiegeStatus writes a reply of Starsiege.
func starsiegeStatus(name string, players ...string) string {
	b := []byte("s\x01\x00r" + lhmpTexts("Starsiege", "1.004", name) + "\x01\x01\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(players)))
	b = binary.LittleEndian.AppendUint32(b, 8)
	b = append(b, "\x01"+lhmpTexts("DM_Moonstrike")+"\x2c\x01\x00\x01"...)
	for _, limit := range []uint32{0, 25, 20, 10, 30000, 200, uint32(len(players))} {
		b = binary.LittleEndian.AppendUint32(b, limit)
	}
	for i, p := range players {
		b = append(append(b, lhmpTexts(p)...), 1<<(i%4))
	}
	return string(b)
}

// tribes2Details writes a reply of Tribes 2 about teams and players.
func tribes2Details(key, info string, players ...string) string {
	text := fmt.Sprintf("2\nStorm\t300\nInferno\t%d\n%d\n", 50*len(players), len(players))
	for i, p := range players {
		text += fmt.Sprintf("\x10\x08%s\x11\t%s\t%d\n", p, []string{"Storm", "Inferno"}[i%2], 12-5*i)
	}
	return "\x14\x02" + key + lhmpTexts("base", "CTF", "Katabatic") + string([]byte{7, byte(len(players)), 64, 1}) + "\xbc\x02" + lhmpTexts(info) +
		string(binary.LittleEndian.AppendUint16(nil, uint16(len(text)))) + text
}

// tribesServers plays a server of each game.
func tribesServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:28001")
	s.ask("`**")
	s.answer("a**b" + lhmpTexts("Tribes", "1.40", "Caf\xe9 Broadside") + "\x01\x00\x02\x20")
	s.ask("b++")
	s.answer(tribesStatus("++", "Caf\xe9 Broadside", "Anna", "B\xf6rje"))
	s.between("192.0.2.20:50001", "198.51.100.11:29001")
	s.ask("r\x01\x00")
	s.answer(starsiegeStatus("Hercs and tanks", "Anna", "Cyd", "Dora"))
	s.between("192.0.2.20:50002", "198.51.100.12:28000")
	s.ask("\x0e\x02\x01\x02\x03\x04")
	s.answer("\x10\x02\x01\x02\x03\x04" + lhmpTexts("VER5") + "\x1a\x00\x00\x00\x18\x00\x00\x00\xca\x61\x00\x00" + lhmpTexts("Katabatic all day"))
	s.ask("\x12\x02\x01\x02\x03\x05")
	s.answer(tribes2Details("\x01\x02\x03\x05", "Welcome", "Anna", "\x0bTag\x08B\xf6rje"))
}

// tribesMasters plays a master of each game.
func tribesMasters(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:28000")
	s.ask("\x10\x03\xff\x00\x01\x02")
	s.answer("\x10\x06\x01\x02\x01\x02\x00\x66" + lhmpTexts("Tribes Master", "Read www.example.org") + "\x00\x02" + "\x06\xc6\x33\x64\x0a\x61\x6d\x06\xc6\x33\x64\x0b\x62\x6d")
	s.answer("\x10\x06\x02\x02\x01\x02\x00\x66\x00\x01\x06\xc6\x33\x64\x0c\x63\x6d")
	s.between("192.0.2.20:50001", "198.51.100.11:28002")
	s.ask("\x06\x80\x0b\x0c\x0d\x0e\xff" + lhmpTexts("any", "any") + "\x00\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\xff\x00\x00\x00")
	s.answer("\x08\x00\x0b\x0c\x0d\x0e\x00\x02\x02\x00\xc6\x33\x64\x0d\x60\x6d\xc6\x33\x64\x0e\x60\x6d")
	s.answer("\x08\x00\x0b\x0c\x0d\x0e\x01\x02\x01\x00\xc6\x33\x64\x0f\x60\x6d")
}

// tribesTrouble plays what goes wrong.
func tribesTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:28001")
	s.ask("b\x01\x02")
	s.answer(tribesStatus("\x01\x02", "A server", "Anna", "Borje")[:150])
	s.ask("b\x03\x04")
	s.answer(strings.Replace(tribesStatus("\x03\x04", "A server", "Anna"), "\x01\x20\xbc", "\x02\x20\xbc", 1))
	s.ask("b\x05\x06")
	s.answer(tribesStatus("\x05\x07", "A server"))
	s.wait(6 * time.Second)
	s.between("192.0.2.20:50002", "198.51.100.12:28000")
	s.ask("\x12\x02\x01\x02\x03\x04")
	s.answer(tribes2Details("\x01\x02\x03\x04", "Welcome", "Anna")[:70])
}
