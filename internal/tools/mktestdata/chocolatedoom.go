package main

import "time"

const (
	chocolateQuery = "\x00\x0d"
	chocolateNew   = "\x00\x0eChocolate Doom 3.1.0\x00\x00\x02\x04\x02\x01Caf\xe9 24/7\x00\x01CHOCOLATE_DOOM_0\x00"
	chocolateGame  = "\x00\x0eCrispy Doom 7.0\x00\x02\x04\x04\x03\x00Episode 4\x00\x01CHOCOLATE_DOOM_0\x00"
	chocolateOld   = "\x00\x0eChocolate Doom 2.3.0\x00\x01\x00\x04\x04\x00An old server\x00"
	chocolateOther = "\x00\x0eInternational Doom 7.4\x00\x00\x01\x04\x02\x01Welcome\x00\x01CHOCOLATE_DOOM_0\x00"
)

// chocolateServers plays the master, to which a server registers and which a client asks
// for servers, servers of several programs and versions, and packets of a game.
func chocolateServers(s *stage) {
	s.between("198.51.100.10:2342", "198.51.100.9:2342")
	s.ask("\x00\x00")
	s.answer("\x00\x01\x00\x01")
	s.between("192.0.2.20:50000", "198.51.100.9:2342")
	s.ask("\x00\x02")
	s.ask("\x00\x0b")
	s.answer("\x00\x03198.51.100.10:2342\x00198.51.100.11:2342\x00198.51.100.12:5029\x00")
	s.ask("\x00\x0a198.51.100.11:2342\x00")
	s.between("198.51.100.9:2342", "198.51.100.11:2342")
	s.ask("\x00\x0a192.0.2.20:50000\x00")
	s.wait(time.Second)

	s.between("192.0.2.20:50001", "198.51.100.10:2342")
	s.ask(chocolateQuery)
	s.answer(chocolateNew)
	s.between("192.0.2.20:50001", "198.51.100.11:2342")
	s.ask(chocolateQuery)
	s.answer(chocolateGame)
	s.between("192.0.2.20:50001", "198.51.100.12:5029")
	s.ask(chocolateQuery)
	s.answer(chocolateOld)
	s.between("192.0.2.20:50001", "198.51.100.13:2342")
	s.ask(chocolateQuery)
	s.answer(chocolateOther)

	s.between("192.0.2.20:50002", "198.51.100.10:2342")
	s.ask("\x00\x00\x56\xab\xe1\x8cChocolate Doom 3.1.0\x00\x01CHOCOLATE_DOOM_0\x00\x02\x01\x00\x00\x04\x00")
	s.answer("\x00\x00Chocolate Doom 3.1.0\x00CHOCOLATE_DOOM_0\x00")
	s.ask("\x80\x0f\x00")
	s.answer("\x00\x0a\x01")
	s.ask("\x00\x06\x00\x00\x00\x02\x00\x01\x00\x00\x00\x03\x19\x00\x01\x00\x04\x19\x00")
	s.answer("\x00\x07\x00\x00\x00\x03")
	s.ask("\x00\x03")
}

// chocolateTrouble plays a refused registration, a reply that is cut, and silence.
func chocolateTrouble(s *stage) {
	s.between("198.51.100.14:2342", "198.51.100.9:2342")
	s.ask("\x00\x00")
	s.answer("\x00\x01\x00\x00")
	s.between("192.0.2.20:50010", "198.51.100.15:2342")
	s.ask(chocolateQuery)
	s.answer(chocolateNew[:len(chocolateNew)-5])
	s.wait(10 * time.Second)
	s.ask(chocolateQuery)
	s.wait(2 * time.Second)
	s.ask(chocolateQuery)
	s.wait(10 * time.Second)
	s.answer(chocolateNew)
}
