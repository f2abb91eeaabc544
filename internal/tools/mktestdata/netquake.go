package main

import "time"

// netquakePacket is a control packet of NetQuake.
func netquakePacket(op byte, body string) string {
	n := len(body) + 5
	return string([]byte{0x80, 0, byte(n >> 8), byte(n), op}) + body
}

// netquakeGames plays what is rare: Hexen II, a server on a port that says nothing,
// ProQuake's way to connect and its remote console.
func netquakeGames(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:26900")
	s.ask(netquakePacket(0x02, "HEXENII\x00\x05"))
	s.answer(netquakePacket(0x83, "198.51.100.10:26900\x00Hammer of Thyrion\x00demo1\x00\x02\x08\x05"))
	for _, slot := range []string{"\x00", "\x01"} {
		s.ask(netquakePacket(0x03, slot))
		s.answer(netquakePacket(0x84, slot+"Paladin "+string('A'+slot[0])+"\x00\x4d\x00\x00\x00\xfe\xff\xff\xff\x3c\x00\x00\x00private\x00"))
	}
	s.ask(netquakePacket(0x04, "\x00"))
	s.answer(netquakePacket(0x85, "coop\x001\x00"))
	s.ask(netquakePacket(0x04, "coop\x00"))
	s.answer(netquakePacket(0x85, ""))

	s.wait(time.Second)
	s.between("192.0.2.21:27001", "198.51.100.11:40123")
	s.ask(netquakePacket(0x02, "QUAKE\x00\x03"))
	s.answer(netquakePacket(0x83, "0.0.0.0:26000\x00R\xf5nes and \x10more\x11\x00e1m1\x00\x00\x10\x03"))
	s.ask(netquakePacket(0x01, "QUAKE\x00\x03\x01\x22\x00\x39\x30\x00\x00"))
	s.answer(netquakePacket(0x81, "\x21\x9d\x00\x00\x01\x22\x01"))
	// The game.
	s.ask("\x00\x01\x00\x0c\x00\x00\x00\x00\x01nop")
	s.answer("\x00\x10\x00\x0d\x00\x00\x00\x01\x07\x3d\x0a\x17\x3f")
	s.ask(netquakePacket(0x05, "hidden word\x00status\x00"))
	s.answer(netquakePacket(0x86, "host:    Runes and more\nversion: ProQuake 3.4\nmap:     e1m1\nplayers: 1 active (16 max)\n\x00"))
}

// netquakeTrouble plays refusals, packets that were cut or padded, and silence.
func netquakeTrouble(s *stage) {
	s.between("192.0.2.22:27001", "198.51.100.10:26000")
	s.ask(netquakePacket(0x01, "QUAKE\x00\x02"))
	s.answer(netquakePacket(0x82, "Incompatible version.\n\x00"))
	s.wait(time.Second)
	s.ask(netquakePacket(0x02, "QUAKE\x00\x03"))
	s.answer(netquakePacket(0x83, "192.0.2.10:26000\x00Cut\x00start\x00\x01\x08\x03")[:30])
	s.wait(time.Second)
	s.ask(netquakePacket(0x03, "\x00"))
	s.answer(netquakePacket(0x84, "\x00player\x00\x00\x00\x00\x00\x05\x00\x00\x00\x3c\x00\x00\x00private\x00") + "\x00\x00")
	s.wait(time.Second)
	s.ask(netquakePacket(0x03, "\x07"))
	s.ask(netquakePacket(0x05, "wrong\x00status\x00"))
	s.answer(netquakePacket(0x85, "fraglimit\x0030\x00"))
	s.wait(10 * time.Second)
	s.ask(netquakePacket(0x02, "HEXENII\x00\x04"))
}
