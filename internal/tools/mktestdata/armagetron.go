package main

import (
	"encoding/binary"
	"strings"
	"time"
)

// armaMessage writes a message: what holds little-endian words, whose bytes are
// swapped. armaDatagram adds the number of a server, which is 0.
func armaMessage(kind byte, what string) string {
	b := append([]byte{kind, 0, 0, 0}, binary.LittleEndian.AppendUint16(nil, uint16(len(what)/2))...)
	b = append(b, what...)
	for i := 0; i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

func armaDatagram(messages ...string) string { return strings.Join(messages, "") + "\x00\x00" }

func armaWords(list ...uint32) string {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return string(b)
}

func armaTexts(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		if s != "" {
			s += "\x00"
		}
		b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(s))))
		b.WriteString(s + strings.Repeat("\x00", len(s)%2))
	}
	return b.String()
}

const (
	armaSmall    = "\x00\x34\x00\x00\x00\x00\x00\x11"
	armaBig      = "\x00\x35\x00\x00\x00\x00\x00\x11"
	armaSettings = "\x33\x33\x33\x00\x44\xfd\x3f\x09\xab\xaa\xaa\x00\xe8\xb4\x01\x00\x4e\xe0\x04\x02" // of a default server
)

// armaInfo writes the content of a big info; more follows the accounts.
func armaInfo(name string, players, limit uint32, release, names, options, url, accounts, more string) string {
	return armaWords(4534) + armaTexts("", name) + armaWords(players, 0, 17) + armaTexts(release) + armaWords(limit) + armaTexts(names, options, url, accounts) + more
}

// armagetronServers plays servers with players, old ones, and a master.
func armagetronServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:4534")
	s.ask(armaSmall)
	s.answer(armaDatagram(armaMessage(50, armaWords(4534)+armaTexts("")+armaWords(0))))
	s.ask(armaBig)
	s.answer(armaDatagram(armaMessage(51, armaInfo("0xff0000Caf\xe9 0xRESETTSumo", 3, 16, "0.2.9.1.0 unix dedicated", "Anna\nB\xf6rje\n0x00ff00Cyd\n", "Sumo, 0xffff00no rubber",
		"http://example.org", "anna@forums\n\ncyd@example.org\n", "\x05\x00"+armaWords(60, 30, 0)+armaSettings))))
	// An old server on another port, and one from before 0.2.5.
	s.between("192.0.2.20:50001", "198.51.100.11:12345")
	s.ask(armaBig)
	s.answer(armaDatagram(armaMessage(51, armaInfo("Old server", 1, 8, "0.2.8.3.5 win dedicated", "Anna\n", "No Info", "", "", ""))))
	s.between("192.0.2.20:50002", "198.51.100.12:4534")
	s.ask(armaBig)
	s.answer(armaDatagram(armaMessage(51, armaWords(4534)+armaTexts("", "Oldest server")+armaWords(2))))
	// A master lists two servers, and asks one.
	s.between("192.0.2.20:50003", "198.51.100.13:4533")
	s.ask(armaSmall)
	s.answer(armaDatagram(armaMessage(50, armaWords(4534)+armaTexts("198.51.100.10")+armaWords(7)), armaMessage(50, armaWords(12345)+armaTexts("example.org")+armaWords(8))))
	s.between("198.51.100.13:4533", "198.51.100.10:4534")
	s.ask("\x00\x37\x00\x00\x00\x00\x00\x00")
	s.answer(armaDatagram(armaMessage(54, armaInfo("Caf\xe9", 0, 16, "0.2.9.1.0 unix dedicated", "", "Default settings.", "", "", "\x00\x00"+armaWords(0, 0, 0)+armaSettings))))
}

// armagetronTrouble plays what goes wrong.
func armagetronTrouble(s *stage) {
	// The big request alone is ignored; then a wrong length, which is refused thrice.
	s.between("192.0.2.20:50000", "198.51.100.10:4534")
	s.ask(armaBig)
	s.wait(6 * time.Second)
	s.ask("\x00\x34\x00\x00\xff\xff\x00\x11")
	for range 3 {
		s.answer(armaDatagram(armaMessage(3, armaTexts("An error occurred during processing."))))
		s.wait(2 * time.Second)
	}
	// Replies that are damaged, unrequested, or end with half a word.
	s.between("192.0.2.20:50001", "198.51.100.11:4534")
	reply := armaDatagram(armaMessage(51, armaInfo("A server", 3, 16, "0.2.9.1.0 unix dedicated", "", "Default settings.", "", "", "\x00\x00"+armaWords(0, 0, 0)+armaSettings)))
	s.ask(armaBig)
	s.answer(reply[:72])
	s.ask(armaBig)
	s.answer(reply + "\x00")
	s.answer(armaDatagram(armaMessage(50, armaWords(4534)+armaTexts("")+"\x00\x00")))
	// The game itself on the same port.
	s.ask("\x00\x0b\x00\x07\x00\x02\x00\x01\x00\x02\x00\x11")
	s.answer("\x00\x01\x00\x00\x00\x01\x00\x07\x00\x00")
}
