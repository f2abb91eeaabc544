package main

import "time"

// bzflagReply writes the reply of a server; teams are players and limits.
func bzflagReply(game, options byte, teams string) string {
	return "\x00\x38\x03\x03BZFS0221\xc6\x33\x64\x0a\x14\x22\x00\x00\x04\xc0\x00\x02\x14\x00" + string(rune(game)) + "\x00" + string(rune(options)) +
		"\x00\x03\x00\x01\x01\x2c\x00\x0a\x00\x14\x02\x58\x14" + teams + "\x00\x00\x00\x00\x00\x00"
}

// bzflagTrouble plays a game, and what goes wrong.
func bzflagTrouble(s *stage) {
	const ping = "\x00\x02\x04\x04\x00\x00"
	s.between("192.0.2.20:50000", "198.51.100.10:5154")
	s.ask(ping)
	s.answer(bzflagReply(1, 0x2a, "\x00\x00\x02\x05\x03\x05\x00\x00\x00\x00\x01\x03"))
	s.wait(time.Second)
	s.ask(ping)
	s.answer(bzflagReply(3, 0x40, "\x04\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x04")[:41])
	s.answer(bzflagReply(0, 0, "\x05\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x04"))
	s.between("192.0.2.20:50001", "198.51.100.11:20000")
	s.ask(ping)
	s.wait(6 * time.Second)
	s.between("192.0.2.20:50000", "198.51.100.10:5154")
	s.ask("\x00\x1d\x70\x73\x03\x00\x00\x00\x01\x00\x02\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16")
	s.answer("\x00\x03\x6f\x66\x00\x00\x00")
}
