package main

import (
	"strings"
	"time"
)

const (
	fromStart = "1\xff0.0.0.0:0\x00"
	listHead  = single + "f\n"
	noAddress = "\x00\x00\x00\x00\x00\x00"
)

// address makes an address of a game server, both parts in network order.
func address(last, port int) string {
	return string([]byte{198, 51, 100, byte(last), byte(port >> 8), byte(port)})
}

// masterDocuments plays the dumps of "Master Server Query Protocol".
func masterDocuments(s *stage) {
	s.between("192.0.2.20:51000", "203.0.113.10:27011")
	s.ask(unhex("31 FF 30 2E 30 2E 30 2E 30 3A 30 00 00"))
	s.answer(listHead + address(1, 27015) + address(2, 27016) + noAddress)
	s.ask(unhex("31 ff 30 2e 30 2e 30 2e 30 3a 30 00 5c 6e 61 70 70 5c 35 30 30 00"))
	s.answer(listHead + address(3, 27015) + noAddress)
	for i, heartbeat := range []struct {
		challenge int
		dump      string
	}{
		{1339895702, `30 0a 5c 70 72 6f 74 6f 63 6f 6c 5c 34 37 5c 63 68 61 6c 6c 65 6e 67 65 5c 31 33 33 39 38 39 35 37 30 32 5c 70 6c
			61 79 65 72 73 5c 30 5c 6d 61 78 5c 32 5c 62 6f 74 73 5c 30 5c 67 61 6d 65 64 69 72 5c 63 73 74 72 69 6b 65 5c 6d 61 70 5c
			64 65 5f 64 75 73 74 5c 74 79 70 65 5c 64 5c 70 61 73 73 77 6f 72 64 5c 30 5c 6f 73 5c 6c 5c 73 65 63 75 72 65 5c 30 5c 6c
			61 6e 5c 30 5c 76 65 72 73 69 6f 6e 5c 31 2e 31 2e 32 2e 35 2f 53 74 64 69 6f 5c 72 65 67 69 6f 6e 5c 32 35 35 5c 70 72 6f
			64 75 63 74 5c 63 73 74 72 69 6b 65 0a`},
		{133961823, `30 0a 5c 70 72 6f 74 6f 63 6f 6c 5c 37 5c 63 68 61 6c 6c 65 6e 67 65 5c 31 33 33 39 36 31 38 32 33 5c 70 6c 61 79
			65 72 73 5c 30 5c 6d 61 78 5c 32 5c 62 6f 74 73 5c 30 5c 67 61 6d 65 64 69 72 5c 63 73 74 72 69 6b 65 5c 6d 61 70 5c 64 65
			5f 64 75 73 74 5c 70 61 73 73 77 6f 72 64 5c 30 5c 6f 73 5c 6c 5c 6c 61 6e 5c 30 5c 72 65 67 69 6f 6e 5c 32 35 35 5c 74 79
			70 65 5c 64 5c 73 65 63 75 72 65 5c 30 5c 76 65 72 73 69 6f 6e 5c 31 2e 30 2e 30 2e 32 38 5c 70 72 6f 64 75 63 74 5c 63 73
			74 72 69 6b 65 0a`},
		{1959687399, `30 0a 5c 70 72 6f 74 6f 63 6f 6c 5c 37 5c 63 68 61 6c 6c 65 6e 67 65 5c 31 39 35 39 36 38 37 33 39 39 5c 70 6c 61
			79 65 72 73 5c 31 5c 6d 61 78 5c 34 5c 62 6f 74 73 5c 30 5c 67 61 6d 65 64 69 72 5c 74 66 5c 6d 61 70 5c 61 72 65 6e 61 5f
			62 61 64 6c 61 6e 64 73 5c 70 61 73 73 77 6f 72 64 5c 30 5c 6f 73 5c 77 5c 6c 61 6e 5c 31 5c 72 65 67 69 6f 6e 5c 2d 31 5c
			67 61 6d 65 74 79 70 65 5c 61 72 65 6e 61 5c 74 79 70 65 5c 6c 5c 73 65 63 75 72 65 5c 30 5c 76 65 72 73 69 6f 6e 5c 31 2e
			30 2e 34 2e 33 5c 70 72 6f 64 75 63 74 5c 74 66 0a`},
	} {
		s.between([]string{"198.51.100.1:27015", "198.51.100.2:27016", "198.51.100.3:27015"}[i], "203.0.113.10:27011")
		s.ask(unhex("71"))
		s.answer(unhex("FF FF FF FF 73 0A") + le32(heartbeat.challenge))
		s.ask(unhex(heartbeat.dump))
	}
	s.between("198.51.100.1:27015", "203.0.113.10:27010")
	s.ask(unhex("62 0A"))
	s.between("198.51.100.2:27016", "203.0.113.10:27011")
	s.ask(unhex("62 0A 00"))
}

// masterLists plays lists over several datagrams, filters with groups in groups,
// and the forms of Xash3D.
func masterLists(s *stage) {
	batch := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(address(1+(from+i)/100, 27000+(from+i)%100))
		}
		return b.String()
	}
	s.between("192.0.2.20:51000", "203.0.113.10:27011")
	s.ask("1\x030.0.0.0:0\x00\\gamedir\\cstrike\\nor\\2\\map\\de_dust2\\nand\\2\\secure\\1\\full\\1\\password\\0\x00")
	s.answer(listHead + batch(0, 231))
	s.ask("1\x03198.51.100.3:27030\x00\\gamedir\\cstrike\\nor\\2\\map\\de_dust2\\nand\\2\\secure\\1\\full\\1\\password\\0\x00")
	// Another list is asked for before the answer comes.
	s.ask(fromStart + "\\gamedir\\tf\\gametype\\arena,nocrits\\collapse_addr_hash\\1\x00")
	s.answer(listHead + batch(231, 231))
	s.answer(listHead + batch(600, 2) + noAddress)
	s.ask("1\x03198.51.100.5:27061\x00\\gamedir\\cstrike\\nor\\2\\map\\de_dust2\\nand\\2\\secure\\1\\full\\1\\password\\0\x00")
	s.answer(listHead + batch(462, 40) + noAddress)
	// A master that does not know how to end.
	s.between("192.0.2.21:51000", "203.0.113.11:27010")
	s.ask(fromStart + "\x00")
	s.answer(listHead + batch(0, 2))
	s.ask("1\xff198.51.100.1:27001\x00\x00")
	s.answer(listHead + batch(1, 1))
	// Xash3D: a key, an address of IPv6, a join with a number of its own.
	s.between("[2001:db8:2::20]:51000", "[2001:db8:1::10]:27010")
	s.ask("1\xff0.0.0.0:0\x00\\gamedir\\valve\\clver\\0.21\\nat\\0\\key\\deadbeef\\protocol\\49")
	s.answer(listHead + "\x7f\xef\xbe\xad\xde\x08" + "\x20\x01\x0d\xb8\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x69\x87" + strings.Repeat(noAddress, 3))
	s.between("198.51.100.7:27015", "203.0.113.12:27010")
	s.ask("q\xff\x78\x56\x34\x12")
	s.answer(single + "s\n\xfb\xff\xff\xff\x78\x56\x34\x12")
	s.ask("0\n\\protocol\\49\\challenge\\-5\\players\\1\\max\\32\\bots\\0\\gamedir\\valve\\map\\crossfire\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\0.21\\region\\255\\product\\valve\\nat\\0")
	// WON: numbers instead of addresses, and what else its masters knew.
	s.between("192.0.2.22:51000", "203.0.113.13:27010")
	s.ask("e\x00\x00\x00\x00")
	s.answer(single + "f\r\x65\x00\x00\x00" + batch(0, 3))
	s.ask("e\x65\x00\x00\x00")
	s.answer(single + "f\r\xff\xff\xff\xff" + batch(3, 2))
	s.ask("1\x00\x00\x00\x00\\gamedir\\tfc\x00")
	s.answer(single + "f\r\x00\x00\x00\x00" + batch(7, 1))
	s.ask("c\n\x00")
	s.answer(single + "d\r" + batch(0, 4))
	s.ask("v\r\n1.1.1.0/4.1\r\nCSTRIKE\r\n\x00")
	s.answer(single + "w\r" + address(50, 7002) + single + address(51, 6003) + address(52, 6003) + single + address(53, 27010) + single)
	s.ask("g\n")
	s.answer(single + "h\r\nWelcome to Half-Life\x1b[2J\x00")
	s.ask("x\r\nstart-of-list\x00")
	s.answer(single + "y\rcstrike\x001000\x002345\x00tfc\x0020\x0030\x00more-in-list\x00")
	s.ask("2\r\ntfc\x00")
	s.answer(single + "F\rgamedir\x00dmc\x00is\x002\x00ip\x007\x00end\x00end\x00end-of-list\x00")
	s.ask("i")
	s.answer(single + "j\r\n\x00")
	s.between("198.51.100.8:27015", "203.0.113.13:27010")
	s.ask("q\n")
	s.answer(single + "s\n" + le32(1234567890))
	s.ask("a\r\n1234567890\r\n5\r\n3\r\n45\r\ntfc\r\n\\map\\2fort\\max\\16\\type\\d\r\n\x00")
}

// masterTrouble plays what is wrong or missing.
func masterTrouble(s *stage) {
	list := listHead + address(1, 27015) + noAddress
	s.between("192.0.2.20:51000", "203.0.113.10:27011")
	for _, filter := range []string{
		"\\gamedir\\cstrike",                 // no zero byte
		"\\gamedir\\cstrike\\color\\red\x00", // no such code
		"\\gamedir\\cstrike\\secure\x00",     // no value
		"gamedir\\cstrike\x00",               // no backslash
		"\\nor\\3\\map\\a\\map\\b\x00",       // one condition short
		"\\nand\\all\\map\\a\x00",            // no number
		"\\map\\a\x00\x00\x00",               // more behind it
	} {
		s.ask(fromStart + filter)
		s.answer(list)
	}
	s.ask("1\x2a0.0.0.0:0\x00\x00")
	s.answer(list)
	// Lists that were cut or hold nothing.
	s.ask(fromStart + "\\map\\b\x00")
	s.answer(listHead + address(1, 27015) + address(2, 27015)[:3])
	s.ask(fromStart + "\\map\\c\x00")
	s.answer(listHead)
	s.ask(fromStart + "\\map\\d\x00")
	s.answer(list + address(9, 27015))
	// What is not an address to go on from.
	s.between("192.0.2.23:51000", "203.0.113.10:27011")
	s.ask("1\xffhl2master.steampowered.com:27011\x00\x00")
	s.between("192.0.2.24:51000", "203.0.113.10:27011")
	s.ask("1\xff" + noAddress + "\\appid\\221100\x00")
	// A server that uses a challenge that it was not given, is given another
	// one, and then is refused for its version; one without a challenge.
	s.between("198.51.100.1:27015", "203.0.113.10:27011")
	s.ask("q")
	s.answer(single + "s\n" + le32(1234567890))
	s.ask("0\n\\protocol\\7\\challenge\\49d29602\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\password\\0\n")
	s.ask("0\n\\protocol\\7\\challenge\\-771645113\\players\\5\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\password\\0\n")
	s.answer(single + "s\n" + le32(1234567891))
	s.ask("0\n\\protocol\\7\\challenge\\1234567891\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\password\\0\n")
	s.answer(single + "l\nOutdated Version. Please update your server.\n\x00")
	s.answer(single + "O\r\n\x00")
	s.ask("0\n\\protocol\\7\\challenge\n")
	// A join on a port that nobody knows; the answer tells. And one alone.
	s.between("198.51.100.2:27115", "203.0.113.14:40010")
	s.ask("q")
	s.answer(single + "s\n" + le32(1234567890))
	s.between("198.51.100.2:27115", "203.0.113.15:40010")
	s.ask("q")
	// Quake's masters use the same letters.
	s.between("192.0.2.21:51000", "203.0.113.16:27000")
	s.ask("query\n\x00")
	s.wait(20 * time.Second)
	s.between("192.0.2.20:51000", "203.0.113.10:27011")
	s.ask(fromStart + "\x00")
}
