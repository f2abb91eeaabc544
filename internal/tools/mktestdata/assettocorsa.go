package main

import "time"

// assettoPings plays servers that answer and one that does not.
func assettoPings(s *stage) {
	for i, port := range []string{"\x91\x1f", "\x92\x1f", "\x80\x25", "\x50\x00"} {
		s.between("192.0.2.20:50000", []string{"198.51.100.10:9600", "198.51.100.11:9600", "198.51.100.12:9601", "198.51.100.13:9600"}[i])
		s.ask("\xc8")
		s.answer("\xc8" + port)
	}
	s.between("192.0.2.20:50000", "198.51.100.14:9600")
	s.ask("\xc8")
	s.wait(6 * time.Second)
	s.between("192.0.2.21:50000", "198.51.100.10:9600")
	s.ask("\xc8")
	s.answer("\xc8\x91\x1f")
}
