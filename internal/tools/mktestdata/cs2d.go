package main

import (
	"encoding/binary"
	"time"
)

const cs2dHead = "\x01\x00"

// cs2dInfo writes the message about a server: numbers are players, limit, mode, bots if
// there are any, and further flags.
func cs2dInfo(flags byte, name, level string, numbers ...byte) string {
	return "\xfb\x01" + string([]byte{flags}) + lhmpTexts(name, level) + string(numbers)
}

// cs2dPlayers writes the message about players, whose scores count down.
func cs2dPlayers(names ...string) string {
	b := []byte{0xfb, 5, byte(len(names))}
	for i, n := range names {
		b = append(append(b, byte(2*i+1)), lhmpTexts(n)...)
		b = append(b, byte(1+i%2))
		b = binary.LittleEndian.AppendUint32(b, uint32(10-11*i))
		b = binary.LittleEndian.AppendUint32(b, uint32(3*i))
	}
	return string(b)
}

// cs2dServers plays servers asked as GameQ and as node-gamedig ask.
func cs2dServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:36963")
	s.ask(cs2dHead + "\xfb\x01")
	s.answer(cs2dHead + cs2dInfo(0x60, "Caf\xe9 2D", "de_dust", 3, 32, 1, 2, 6))
	s.ask(cs2dHead + "\xfb\x05")
	s.answer(cs2dHead + cs2dPlayers("Anna", "B\xf6rje", "Cyd"))
	// For all: players first, then the server, in one datagram, and in two.
	s.between("192.0.2.20:50001", "198.51.100.11:12345")
	s.ask(cs2dHead + "\xfb\x01\xf5\x03\xfb\x05")
	s.answer(cs2dHead + cs2dPlayers() + cs2dInfo(0x41, "Private", "cs_office", 0, 16, 0, 4))
	s.between("192.0.2.20:50002", "198.51.100.12:36963")
	s.ask(cs2dHead + "\xfb\x01\xf5\x03\xfb\x05")
	s.answer(cs2dHead + cs2dInfo(0x20, "Bots", "as_snow", 2, 8, 4, 1, 1))
	s.answer(cs2dHead + cs2dPlayers("Anna", "Bot"))
}

// cs2dTrouble plays what goes wrong.
func cs2dTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:36963")
	s.ask(cs2dHead + "\xfb\x05")
	s.answer((cs2dHead + cs2dPlayers("Anna", "Borje", "Cyd"))[:30])
	s.answer(cs2dHead + cs2dInfo(0, "A server", "de_dust", 3, 32, 0, 0))
	s.ask(cs2dHead + "\xfb\x01")
	s.wait(6 * time.Second)
	s.ask(cs2dHead + "\xfb\x05")
	s.answer(cs2dHead + cs2dPlayers("Anna, first of those with long names", "Borje, second of those with long names"))
	// Packets of the game.
	s.ask("\x02\x00\x07\x01\x00\x00")
	s.answer("\x01\x00\x07\x01\x05\x00\x00\x01")
}
