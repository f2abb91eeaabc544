package main

import (
	"encoding/binary"
	"time"
)

// ttd puts the length and the type before what a packet of OpenTTD holds.
func ttd(kind byte, body string) string {
	return string(binary.LittleEndian.AppendUint16(nil, uint16(3+len(body)))) + string(kind) + body
}

const (
	ttdGRF  = "MG\x03\x05\x2a\x6b\xc1\x0f\x5d\x90\x3e\x77\x14\xa8\xf2\x4b\x93\x06\xde\x81"
	ttdGRF2 = "BX\x00\x02\x77\x14\xa8\xf2\x4b\x93\x06\xde\x81\x2a\x6b\xc1\x0f\x5d\x90\x3e"
	// ttdWelcome is what registrations begin with.
	ttdWelcome = "OpenTTDRegister\x00"
)

// ttdCompany is a company with its name and what it has, without those who play.
func ttdCompany(number byte, name string) string {
	b := append([]byte{number}, name+"\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 1950+uint32(number))
	for _, n := range []int64{1_250_000, -100_000, 42_000} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint16(b, 556)
	b = append(b, number-1)
	for i := range uint16(10) {
		b = binary.LittleEndian.AppendUint16(b, i*uint16(number))
	}
	return string(b)
}

// openttdServers plays servers of all formats: 0.3 with format 1, 0.4 with 2, 0.5 with 3
// and the players of its companies, 1.9 with 4, 1.11 with 5, builds before 12 with 6 and
// 7; and the masters of versions 1 and 2.
func openttdServers(s *stage) {
	const (
		dates   = "\xe3\xf4\x0a\x00\xda\xcf\x0a\x00"
		limits  = "\x0f\x02\x0a"
		clients = "\x00\x19\x03\x01"
		ended   = "\x00\x04\x00\x02\x01\x01"
	)
	for i, body := range []string{
		"\x01A line\x000.3.5\x00\x01\x00\x08\x01\x00\x9c\x4a\x00\x00Random Map\x00\x00\x01\x00\x01\x00\x00",
		"\x02" + limits + "A line\x000.4.8\x00\x01\x01\x08\x01\x00\x9c\x4a\x00\x00Random Map\x00\x00\x01\x00\x01\x02\x01",
		"\x03" + dates + limits + "A line\x000.5.3\x00\x01" + clients + "Random Map\x00" + ended,
		"\x04\x02" + ttdGRF + ttdGRF2 + dates + limits + "Northern line\x001.9.3\x00\x00" + clients + "Random Map\x00" + ended,
		"\x05\x02\x00\x00\x00City growth\x00\x01" + ttdGRF + dates + limits + "Northern line\x001.11.2\x00\x00" + clients + "Random Map\x00" + ended,
		"\x06\x00\xff\xff\xff\xff\x00\x01" + ttdGRF + dates + limits + "Branch line\x0020210601-master\x00" + clients + ended,
		"\x07\x10\x32\x54\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x00\x02" + ttdGRF + "Trains\x00" + ttdGRF2 + "Ships\x00" + dates + limits + "Branch line\x0020230601-master\x00" + clients + ended,
	} {
		s.between("192.0.2.20:50000", "198.51.100."+string(rune('1'+i))+":3979")
		s.ask(ttd(0, ""))
		s.answer(ttd(1, body))
		s.wait(time.Second)
	}

	const alice, bob = "\x01alice\x00d41d8cd98f00b204\x00\xda\xcf\x0a\x00", "\x01bob\x00e9800998ecf8427e\x00\xdb\xcf\x0a\x00"
	s.between("192.0.2.20:50001", "198.51.100.3:3979")
	s.ask(ttd(2, ""))
	s.answer(ttd(3, "\x04\x02"+ttdCompany(1, "Alice Transport")+alice+"\x00"+ttdCompany(2, "Nobody & Co.")+"\x00"+bob+"\x00"))
	s.between("192.0.2.20:50001", "198.51.100.4:3979")
	s.ask(ttd(2, ""))
	s.answer(ttd(3, "\x05\x02"+ttdCompany(1, "Alice Transport")+"\x00"+ttdCompany(2, "Robot Lines")+"\x01"))
	s.ask(ttd(9, "\x02"+ttdGRF+ttdGRF2))
	s.answer(ttd(10, "\x02"+ttdGRF+"Trains\x00"+ttdGRF2+"Ships\x00"))
	s.between("192.0.2.20:50001", "198.51.100.5:3979")
	s.ask(ttd(2, ""))
	s.answer(ttd(3, "\x06\x01"+ttdCompany(1, "Alice Transport")))

	s.between("198.51.100.3:3979", "203.0.113.5:3978")
	s.ask(ttd(4, ttdWelcome+"\x01\x8b\x0f"))
	s.answer(ttd(5, ""))
	s.between("198.51.100.4:3979", "203.0.113.5:3978")
	s.ask(ttd(4, ttdWelcome+"\x02\x8b\x0f\x00\x00\x00\x00\x00\x00\x00\x00"))
	s.answer(ttd(11, "\x5e\x20\x91\xfc\x03\xbb\x47\x6a"))
	s.wait(time.Second)
	s.ask(ttd(4, ttdWelcome+"\x02\x8b\x0f\x5e\x20\x91\xfc\x03\xbb\x47\x6a"))
	s.answer(ttd(5, ""))
	s.ask(ttd(8, "\x02\x8b\x0f"))

	s.between("192.0.2.20:50002", "203.0.113.5:3978")
	s.ask(ttd(6, "\x01"))
	s.answer(ttd(7, "\x01\x02\x00\xc6\x33\x64\x03\x8b\x0f\xc6\x33\x64\x04\x8b\x0f"))
	s.wait(time.Second)
	s.ask(ttd(6, "\x02\x02"))
	s.answer(ttd(7, "\x01\x01\x00\xc6\x33\x64\x05\x8b\x0f"))
	s.answer(ttd(7, "\x02\x01\x00\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x8b\x0f"))
}

// openttdTrouble plays a server since version 12, one that answers twice, packets of
// another length than they say, an info that is cut, and silence.
func openttdTrouble(s *stage) {
	s.between("192.0.2.20:50010", "198.51.100.20:3979")
	s.ask(ttd(0, ""))
	s.answer(ttd(1, ""))
	s.ask(ttd(2, ""))
	s.ask(ttd(9, "\x01"+ttdGRF))
	s.ask("\x04\x00\x00")
	s.ask("\x03\x00\x00\x00")

	const info = "\x03\xe3\xf4\x0a\x00\xda\xcf\x0a\x00\x0f\x02\x0aTwice\x000.5.3\x00\x01\x00\x19"
	s.between("192.0.2.20:50011", "198.51.100.21:3979")
	s.ask(ttd(0, ""))
	s.answer(ttd(1, info+"\x03\x01Random Map\x00\x00\x04\x00\x02\x01\x01"))
	s.wait(200 * time.Millisecond)
	s.answer(ttd(1, info+"\x04\x01Random Map\x00\x00\x04\x00\x02\x01\x01"))
	s.wait(time.Second)
	s.ask(ttd(0, ""))
	s.answer(ttd(1, info+"\x04\x01Random Map of a server"))

	s.between("192.0.2.20:50012", "198.51.100.22:3979")
	s.ask(ttd(0, ""))
	s.wait(10 * time.Second)
	s.ask(ttd(0, ""))
}
