package main

import (
	"encoding/binary"
	"time"
)

const (
	odaQuery   = "\x02\x10\x01\xad"
	odaVersion = "\x01\x20\x03\xad"
	odaOlder   = "\x02\x20\x03\xad"
	odaInfo    = "\x03\x20\x03\xad"

	// Versions of the game and of the protocol.
	oda11 = "\x0b\x0b\x00\x00\x07\x00\x00\x00"
	oda10 = "\x14\x0a\x00\x00\x06\x00\x00\x00"

	odaHash = "\x10\x98\x4e\x67\x8a\x1d\x25\xc3\x0f\x7b\xee\x44\x01\x5a\x90\x3c\xd2"
	odaWADs = "\x02odamex.wad\x00" + odaHash + "doom2.wad\x00\x10\x25\xe1\x83\x2c\xa7\x9c\x40\xb5\xd1\x68\x0f\x3a\x91\xee\x07\x54"

	odaCoop = "\x03sv_hostname\x00\x06Coop \xe0 la carte\x00sv_maxclients\x00\x02\x10sv_monstersrespawn\x00\x01" + "\x00" + "MAP01\x00" + "\x00" + odaWADs +
		"\x02Anna\x00\x00\x00\xff\x00\x28\x00\x03\x00\x00\x00\x00\x51\x00\x02\x00" + "Bj\xf6rn\x00\x00\x00\x00\xff\x63\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"
	odaFlag = "\x06sv_hostname\x00\x06Weekend CTF\x00sv_maxclients\x00\x02\x20sv_gametype\x00\x02\x03sv_timelimit\x00\x0520\x00sv_gravity\x00\x04\x20\x03\x00\x00sv_email\x00\x06op@example.com\x00" +
		"\x10\x5f\x4d\xcc\x3b\x5a\xa7\x65\xd6\x1d\x83\x27\xde\xb8\x82\xcf\x99" + "MAP07\x00\x0b\x00" + "\x02Blue\x00\xff\x00\x00\x00\x03\x00Red\x00\x00\x00\xff\x00\xfe\xff" + "\x01ctf.deh\x00" + odaWADs +
		"\x01Carol\x00\x00\x00\xff\x00\x01\x2a\x00\x12\x00\x00\x07\x00\x00\x00\x03\x00"
)

// odaList is a list of a master.
func odaList(servers ...string) string {
	list := binary.LittleEndian.AppendUint16([]byte("\xa3\xdb\x0b\x00"), uint16(len(servers)))
	for _, s := range servers {
		list = append(list, s...)
	}
	return string(list)
}

// odamexServers plays launchers that ask a master, a cooperative game, a game in teams,
// and a server for its version.
func odamexServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.9:15000")
	s.ask("\xa3\xdb\x0b\x00")
	s.answer(odaList("\xc6\x33\x64\x0a\xaa\x29", "\xc6\x33\x64\x0b\xab\x29", "\xc6\x33\x64\x0c\x98\x3a"))
	s.between("198.51.100.10:10666", "198.51.100.9:15000")
	s.ask("\xd4\xd6\x54\x00\xaa\x29")

	s.between("192.0.2.20:50001", "198.51.100.10:10666")
	s.ask(odaQuery + oda11 + "\x31\x7a\x0d\x02")
	s.answer(odaInfo + oda11 + "\x31\x7a\x0d\x02" + "\x07\x00\x00\x00" + "11.1.1 (g5e8f2a1c0)\x00" + odaCoop)
	s.between("192.0.2.20:50001", "198.51.100.11:10667")
	s.ask(odaQuery + oda10 + "\x4c\x7a\x0d\x02")
	s.answer(odaInfo + oda10 + "\x4c\x7a\x0d\x02" + "\x06\x00\x00\x00" + "\xff\xff\xff\xff" + odaFlag)
	s.between("192.0.2.20:50001", "198.51.100.12:15000")
	s.ask("\x01\x10\x01\xad" + oda11 + "\x67\x7a\x0d\x02")
	s.answer(odaVersion + oda11 + "\x67\x7a\x0d\x02")
	// A launcher that sends the tag alone.
	s.between("192.0.2.21:50002", "198.51.100.10:10666")
	s.ask(odaQuery)
	s.answer(odaInfo + oda11 + "\xff\xff\xff\xff" + "\x07\x00\x00\x00" + "11.1.1 (g5e8f2a1c0)\x00" + odaCoop)
}

// odamexTrouble plays a launcher that is too old, a reply with another time, a reply that
// is cut, an unknown type, and silence.
func odamexTrouble(s *stage) {
	s.between("192.0.2.20:50010", "198.51.100.13:10666")
	s.ask(odaQuery + oda10 + "\x80\x7a\x0d\x02")
	s.answer(odaOlder + oda11 + "\x80\x7a\x0d\x02")
	s.ask(odaQuery + oda11 + "\x99\x7a\x0d\x02")
	s.answer(odaInfo + oda11 + "\x98\x7a\x0d\x02" + "\x07\x00\x00\x00" + "11.1.1\x00" + odaFlag)
	s.ask(odaQuery + oda11 + "\xb2\x7a\x0d\x02")
	s.answer((odaInfo + oda11 + "\xb2\x7a\x0d\x02" + "\x07\x00\x00\x00" + "11.1.1\x00" + odaFlag)[:120])
	s.ask("\x02\x10\x01\xad" + oda11)
	s.wait(10 * time.Second)
	s.ask(odaQuery + oda11 + "\xcb\x7a\x0d\x02")
	s.wait(10 * time.Second)
	s.ask(odaQuery + oda11 + "\xe4\x7a\x0d\x02")
}
