package main

import "time"

// pings plays servers of three engines on one port, which have a ping each.
func pings(s *stage) {
	for i, e := range []struct{ ping, reply string }{
		{"ping\n", "ack"}, // Quake 2
		{"k\n", "l\x00"},  // QuakeWorld
		{"ping\n", "j"},   // Half-Life
		{"ping\x00", "j\x00"},
		{"ping\r\n", "j\x00"},
	} {
		s.between("192.0.2.20:5100"+string(rune('0'+i)), "198.51.100.1"+string(rune('0'+i))+":27015")
		for range 2 {
			s.ask(single + e.ping)
			s.answer(single + e.reply)
			s.wait(time.Second)
		}
	}
	s.between("192.0.2.20:52000", "198.51.100.10:27015")
	s.ask(single + "ping\n")
	s.wait(10 * time.Second)
	s.ask(single + "ping\x00")
}

// challengesTwice plays a network that brings a challenge twice, the second time long
// after the request that uses it: before its reply, after the replies to several, and
// a split header that is cut.
func challengesTwice(s *stage) {
	const (
		challenge = "\x11\x22\x33\x44"
		players   = single + "D\x01\x00bob\x00\x01\x00\x00\x00\x00\x00\x80?"
	)
	s.between("192.0.2.20:51000", "198.51.100.10:27015")
	s.ask(single + "U\xff\xff\xff\xff")
	s.answer(single + "A" + challenge)
	s.ask(single + "U" + challenge)
	s.wait(100 * time.Millisecond)
	s.answer(single + "A" + challenge)
	s.answer(players)
	s.wait(time.Second)
	s.between("192.0.2.20:51001", "198.51.100.10:27015")
	s.ask(single + "V\xff\xff\xff\xff")
	s.answer(single + "A" + challenge)
	s.ask(single + "V" + challenge)
	s.answer(single + "E\x01\x00a\x001\x00")
	s.ask(single + "U" + challenge)
	s.answer(players)
	s.wait(100 * time.Millisecond)
	s.answer(single + "A" + challenge)
	s.wait(time.Second)
	s.between("192.0.2.20:51002", "198.51.100.10:27015")
	s.ask(single + "V" + challenge)
	s.answer("\xfe\xff\xff\xff\x07\x00\x00\x00")
}
