package main

import (
	"encoding/binary"
	"fmt"
	"time"
)

// sampHead begins a message with the address of the server.
func (s *stage) sampHead(tag, op string) string {
	ip := s.server.Addr().As4()
	return tag + string(ip[:]) + string(binary.LittleEndian.AppendUint16(nil, s.server.Port())) + op
}

// sampTexts writes texts behind lengths of some bytes.
func sampTexts(size int, list ...string) string {
	var b []byte
	for _, s := range list {
		b = append(append(b, binary.LittleEndian.AppendUint32(nil, uint32(len(s)))[:size]...), s...)
	}
	return string(b)
}

func sampWords(list ...uint16) string {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return string(b)
}

// sampAsk plays a request and what comes back behind the head.
func (s *stage) sampAsk(op string, replies ...string) {
	s.ask(s.sampHead("SAMP", op))
	for _, r := range replies {
		s.answer(s.sampHead("SAMP", op[:1]) + r)
	}
}

func sampNumber(n int32) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// sampServers plays servers of the three kinds.
func sampServers(s *stage) {
	// SA-MP, as server lists ask it: names in Windows-1251 and 1252.
	s.between("192.0.2.20:50000", "198.51.100.10:7777")
	s.sampAsk("p\x11\x22\x33\x44", "\x11\x22\x33\x44")
	s.sampAsk("i", "\x01"+sampWords(34, 350)+sampTexts(4, "\xd0\xf3\xf1\xf1\xea\xe8\xe9 \xf1\xe5\xf0\xe2\xe5\xf0", "RPG v6", "Romanian/English"))
	s.sampAsk("r", sampWords(6)+sampTexts(1, "lagcomp", "On", "mapname", "San Andreas", "version", "0.3.7-R2", "weather", "10", "weburl", "www.example.com", "worldtime", "12:00"))
	s.sampAsk("c", sampWords(2)+sampTexts(1, "Anna")+sampNumber(120)+sampTexts(1, "B\xf6rje")+sampNumber(-3))
	players := sampWords(30)
	for i := range 30 {
		players += string(rune('A'+i)) + sampTexts(1, fmt.Sprintf("Player_%d", i)) + sampNumber(int32(i*7)) + sampNumber(int32(40+i))
	}
	s.sampAsk("d", players)
	// The remote console: a command brings a datagram for each line, the next one none.
	s.sampAsk("x"+sampTexts(2, "hidden1", "players"), sampTexts(2, "ID\tName\tPing\tIP"), sampTexts(2, "0\tAnna\t41\t192.0.2.77"), sampTexts(2, ""))
	s.sampAsk("x"+sampTexts(2, "hidden1", "rcon_password hidden2"), sampTexts(2, `Console variable "rcon_password" changed.`))
	// open.mp.
	s.between("192.0.2.20:50001", "198.51.100.11:7777")
	s.sampAsk("i", "\x00"+sampWords(2, 50)+sampTexts(4, "An open.mp server", "Freeroam", "English"))
	s.sampAsk("o", sampTexts(4, "https://discord.example/abc", "https://example.com/light.png", "", "https://example.com/logo.png"))
	s.sampAsk("c", sampWords(0))
	s.sampAsk("p\x00\x00\x00\x01", "\x00\x00\x00\x01")
	// Vice City Multiplayer.
	s.between("192.0.2.20:50002", "198.51.100.12:8192")
	s.ask(s.sampHead("VCMP", "i"))
	s.answer(s.sampHead("MP04", "i") + "04rel006\x00\x00\x00\x00\x00" + sampWords(3, 50) + sampTexts(4, "A VC-MP server", "DM", "Vice City"))
	s.ask(s.sampHead("VCMP", "c"))
	s.answer(s.sampHead("MP04", "c") + sampWords(3) + sampTexts(1, "Anna", "Borje", "Cyd"))
	// The game on the same port.
	s.ask("\x08\x1e\x61\xda\x00\x00")
	s.answer("\x1a\x2b\x3c")
}

// sampTrouble plays what goes wrong.
func sampTrouble(s *stage) {
	// With more than 100 players nobody is listed, and open.mp never says more of them.
	s.between("192.0.2.20:50000", "198.51.100.10:7777")
	s.sampAsk("i", "\x00"+sampWords(412, 500)+sampTexts(4, "A full server", "RPG", "English"))
	s.sampAsk("c")
	s.sampAsk("d")
	s.sampAsk("o")
	s.sampAsk("x" + sampTexts(2, "hidden1", "gmx"))
	s.wait(6 * time.Second)
	// A wrong password; a list that is shorter than announced, one that is cut, a request
	// with more behind it, a reply to nobody.
	s.between("192.0.2.21:50000", "198.51.100.11:7777")
	s.sampAsk("x"+sampTexts(2, "hidden3", "players"), sampTexts(2, "Invalid RCON password."))
	s.sampAsk("c", sampWords(5)+sampTexts(1, "Anna")+sampNumber(1))
	s.sampAsk("r", sampWords(2)+sampTexts(1, "mapname", "San Andreas", "version", "0.3.7")[:22])
	s.ask(s.sampHead("SAMP", "i") + "\x00\x00")
	s.wait(6 * time.Second)
	s.answer(s.sampHead("SAMP", "p") + "\x01\x02\x03\x04")
	s.ask(s.sampHead("SAMP", "x") + "\x07\x00hidde")
	// Nobody is there.
	s.between("192.0.2.22:50000", "198.51.100.12:7777")
	s.sampAsk("i")
	s.wait(6 * time.Second)
	s.sampAsk("p\x01\x01\x01\x01")
	s.wait(6 * time.Second)
}
