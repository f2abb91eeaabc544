package main

import (
	"encoding/binary"
	"time"
)

const satisfactoryMagic = "\xd5\xf6"

func satisfactoryPoll(cookie string) string { return satisfactoryMagic + "\x00\x01" + cookie + "\x01" }

// satisfactoryState writes a state: parts are pairs of a byte and 16 bits.
func satisfactoryState(cookie string, state byte, build uint32, flags, parts, name string) string {
	b := append([]byte(satisfactoryMagic+"\x01\x01"+cookie), state)
	b = append(binary.LittleEndian.AppendUint32(b, build), flags...)
	b = append(append(b, byte(len(parts)/3)), parts...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	return string(b) + name + "\x01"
}

const (
	satisfactoryPlain  = "\x00\x00\x00\x00\x00\x00\x00\x00"
	satisfactoryModded = "\x01\x00\x00\x00\x00\x00\x00\x00"
)

// satisfactoryServers plays servers of several versions.
func satisfactoryServers(s *stage) {
	const parts = "\x00\x11\x00\x01\x01\x00\x02\x03\x00\x03\x02\x00"
	s.between("192.0.2.20:50000", "198.51.100.10:7777")
	for i, cookie := range []string{"\xa2\xbe\x44\xed\x91\x01\x00\x00", "\x9b\xbf\x44\xed\x91\x01\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		s.ask(satisfactoryPoll(cookie))
		s.answer(satisfactoryState(cookie, byte(i+1), 366202, satisfactoryPlain, parts, "Caf\u00e9 \u2605 24/7"))
		s.wait(time.Second)
	}
	// On another port, with mods, and without a name: it was not claimed yet.
	s.between("192.0.2.20:50001", "198.51.100.11:12345")
	s.ask(satisfactoryPoll("\x13\x37\x44\xed\x91\x01\x00\x00"))
	s.answer(satisfactoryState("\x13\x37\x44\xed\x91\x01\x00\x00", 3, 385279, satisfactoryModded, parts+"\x04\x09\x00", "Modded"))
	s.between("192.0.2.20:50001", "198.51.100.12:7777")
	s.ask(satisfactoryPoll("\x42\x38\x44\xed\x91\x01\x00\x00"))
	s.answer(satisfactoryState("\x42\x38\x44\xed\x91\x01\x00\x00", 1, 385279, satisfactoryPlain, "", ""))
	// Before version 1.0.
	s.between("192.0.2.20:50002", "198.51.100.13:15777")
	for _, cookie := range []string{"\x11\x5c\x8b\x92\x8a\x01\x00\x00", "\x05\x60\x8b\x92\x8a\x01\x00\x00"} {
		s.ask("\x00\x00" + cookie)
		s.answer("\x01\x00" + cookie + "\x03\x0d\x42\x03\x00\x98\x3a")
	}
}

// satisfactoryTrouble plays what goes wrong.
func satisfactoryTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:7777")
	const first, second = "\xa2\xbe\x44\xed\x91\x01\x00\x00", "\x9b\xbf\x44\xed\x91\x01\x00\x00"
	s.ask(satisfactoryPoll(first))
	s.answer(satisfactoryState(first, 3, 366202, satisfactoryPlain, "", "A server"))
	s.wait(200 * time.Millisecond)
	s.answer(satisfactoryState(first, 3, 366202, satisfactoryPlain, "", "Another"))
	s.ask(satisfactoryPoll(second))
	s.answer(satisfactoryState("\x9c\xbf\x44\xed\x91\x01\x00\x00", 3, 366202, satisfactoryPlain, "", "A server"))
	s.ask(satisfactoryPoll("\x31\xc0\x44\xed\x91\x01\x00\x00"))
	s.answer(satisfactoryState("\x31\xc0\x44\xed\x91\x01\x00\x00", 3, 366202, satisfactoryPlain, "", "Damaged")[:20])
	s.ask(satisfactoryMagic + "\x00\x02\x77\xc1\x44\xed\x91\x01\x00\x00\x01")
	s.ask(satisfactoryMagic + "\x00\x01\x78\xc1\x44\xed\x91\x01\x00\x00\x00")
	s.wait(6 * time.Second)
	s.ask(satisfactoryPoll("\x79\xc1\x44\xed\x91\x01\x00\x00"))
}
