package main

import (
	"encoding/binary"
	"time"
)

// mumblePing is a ping, mumblePong a reply to it.
func mumblePing(id string) string { return "\x00\x00\x00\x00" + id }

func mumblePong(version, id string, numbers ...uint32) string {
	b := []byte("\x00" + version + id)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return string(b)
}

// mumblePings plays servers on the default port and on another, whose replies come
// in and out of order, and one of them twice.
func mumblePings(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:64738")
	for i, id := range []string{"\x1f\x2e\x3d\x4c\x5a\x6b\x7c\x8d", "\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		s.ask(mumblePing(id))
		s.answer(mumblePong("\x01\x03\x04", id, 5+uint32(i), 100, 128000))
		s.wait(time.Second)
	}

	const first, second = "\x9c\x0e\xd7\x11\x80\xf3\x42\x05", "\x9c\x0e\xd7\x11\x80\xf3\x61\xb7"
	s.between("192.0.2.20:50001", "198.51.100.10:12345")
	s.ask(mumblePing(first))
	s.ask(mumblePing(second))
	s.answer(mumblePong("\x01\x05\xea", second, 17, 1000, 558000))
	s.answer(mumblePong("\x01\x05\xea", first, 16, 1000, 558000))
	s.wait(200 * time.Millisecond)
	s.answer(mumblePong("\x01\x05\xea", second, 18, 1000, 558000))
	s.wait(time.Second)

	const numbers = "\x18\x80\x80\xfc\x96\xd0\x80\x40\x20\x11\x28\xe8\x07\x30\xb0\x87\x22"
	s.between("192.0.2.20:50004", "198.51.100.10:64738")
	s.ask("\x01\x08\xd2\xf4\x8c\x91\x0b\x10\x01")
	s.answer("\x01\x08\xd2\xf4\x8c\x91\x0b" + numbers)
	s.ask("\x01\x08\x8b\xda\xaa\x97\x0b\x10\x01")
	s.answer("\x01\x08\x8b\xda\xaa\x97\x0b" + numbers[:8] + numbers[10:]) // no users
}

// mumbleTrouble plays a server that sends another identifier, then more users than
// it takes, then numbers that no server has; and one that sends nothing.
func mumbleTrouble(s *stage) {
	s.between("192.0.2.20:50002", "198.51.100.11:64738")
	s.ask(mumblePing("\x00\x00\x01\x8c\xc2\x51\xf4\x00"))
	s.answer(mumblePong("\x01\x02\x13", "\x00\x00\x01\x8c\xc2\x51\xf4\x01", 3, 10, 72000))
	s.wait(time.Second)
	s.ask(mumblePing("\x00\x00\x01\x8c\xc2\x52\x00\x00"))
	s.answer(mumblePong("\x01\x02\x13", "\x00\x00\x01\x8c\xc2\x52\x00\x00", 11, 10, 72000))
	s.wait(time.Second)
	s.ask(mumblePing("\x00\x00\x01\x8c\xc2\x52\x04\x00"))
	s.answer(mumblePong("\x01\x02\x13", "\x00\x00\x01\x8c\xc2\x52\x04\x00", 1<<20, 1<<30, 0))

	s.wait(time.Second)
	s.between("192.0.2.20:50003", "198.51.100.12:64738")
	s.ask(mumblePing("\x00\x00\x01\x8c\xc2\x52\x08\x00"))
	s.wait(10 * time.Second)
	s.ask(mumblePing("\x00\x00\x01\x8c\xc2\x52\x30\x00"))
}
