package main

import (
	"encoding/binary"
	"time"

	"github.com/qdissect/qdissect/dissect/zandronum"
)

const (
	zanInfo    = "\x77\x5d\x56\x00"
	zanIgnored = "\x78\x5d\x56\x00"
	zanBanned  = "\x79\x5d\x56\x00"
	zanVersion = "3.1-r230709-1831 on Linux 6.1.0-13-amd64\x00"

	// The fields of a deathmatch, of a game in teams, and of a mod with teams.
	zanDuel = "Caf\xe9 \x1cgDuel\x1c- 24/7\x00" + "D5M1\x00" + "\x08\x02" + "\x05\x00\x00" +
		"\x03" + "\x1c[Gold]Anna\x1c-\x00\x0c\x00\x1e\x00\x00\x00\x19" + "Bj\xf6rn\x00\xfe\xff\x63\x00\x00\x00\x07" + "[Bot]Orion\x00\x00\x00\x00\x00\x01\x01\x00"
	zanFlag = "Weekend CTF\x00" + "https://wads.example/\x00" + "op@example.com\x00" + "MAP07\x00" + "\x20\x10" + "\x02zandrospree2rc2.wad\x00newtextcolours_260.pk3\x00" +
		"\x0c\x00\x00" + "DOOM II\x00" + "doom2.wad\x00" + "\x00\x01" + "\x03\x02" + "\x00\x00\x14\x00\x0b\x00\x00\x00\x05\x00\x00\x00" + "\x00\x00\x00\x3f" + "\x02" +
		"Carol\x00\x03\x00\x2a\x00\x00\x00\x00\x12" + "Dave\x00\x01\x00\x46\x00\x00\x00\x01\x04" + "\x02" + "Blue\x00Red\x00" + "\xff\x00\x00\x00\x00\x00\xff\x00" + "\x03\x00\x01\x00" +
		"\x00\x00" + "\x06\x04\x00\x40\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x01" + "\x01\x01" +
		"\x1f\x00\x00\x00" + "\x02" + "9a0364b9e99bb480dd25e1f0284c8555\x00" + "1b2f3a4d5c6e7f8091a2b3c4d5e6f708\x00" + "DEU" + "Capture The Flag\x00" + "CTF\x00" + "\x01"
)

// zan packs a message.
func zan(data string) string { return string(zandronum.Pack(nil, []byte(data))) }

func zanQuery(flags uint32, at, more string) string {
	return zan("\xc7\x00\x00\x00" + string(binary.LittleEndian.AppendUint32(nil, flags)) + at + more)
}

// zanReply is a reply without its code.
func zanReply(flags uint32, at, body string) string {
	return at + zanVersion + string(binary.LittleEndian.AppendUint32(nil, flags)) + body
}

const (
	zanDuelFlags = 0x1800b9   // name, map, limits of players, mode, players
	zanFlagFlags = 0xbbfb3fff // all but the old ones
	zanAll       = 0xffff7fff
)

// zanSegments divides a reply into segments.
func zanSegments(body string, size int) (list []string) {
	n := (len(body) + size - 1) / size
	for i := range n {
		piece := body[i*size : min((i+1)*size, len(body))]
		b := []byte{0x80, 0x5d, 0x56, 0, byte(i), byte(n)}
		for _, v := range []int{i * size, len(piece), len(body)} {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
		list = append(list, zan(string(b)+piece))
	}
	return list
}

// zandronumServers plays launchers that ask for a few things and for all, in one datagram
// and in segments of both designs, the master, and the broadcast of a server.
func zandronumServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:10666")
	s.ask(zanQuery(zanDuelFlags, "\x41\x9c\x0d\x02", ""))
	s.answer(zan(zanInfo + zanReply(zanDuelFlags, "\x41\x9c\x0d\x02", zanDuel)))
	s.wait(3 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xf9\xa7\x0d\x02", ""))
	s.answer(zan(zanIgnored + "\xf9\xa7\x0d\x02"))

	s.between("192.0.2.20:50001", "198.51.100.11:10667")
	s.ask(zanQuery(zanAll, "\x13\xb1\x0d\x02", "\x1f\x00\x00\x00"))
	s.answer(zan(zanInfo + zanReply(zanFlagFlags, "\x13\xb1\x0d\x02", zanFlag)))

	s.between("192.0.2.20:50002", "198.51.100.12:10668")
	s.ask(zanQuery(zanAll, "\x2e\xb1\x0d\x02", "\x1f\x00\x00\x00\x02"))
	for _, segment := range zanSegments(zanReply(zanFlagFlags, "\x2e\xb1\x0d\x02", zanFlag), 200) {
		s.answer(segment)
	}
	s.between("192.0.2.20:50003", "198.51.100.13:10669")
	s.ask(zanQuery(0x80000009, "\x57\xb1\x0d\x02", "\x02\x00\x00\x00\x02"))
	for i, piece := range []string{"\x57\xb1\x0d\x02" + zanVersion + "\x00\x09\x00\x00\x80" + "Old\x00" + "E1M1\x00", "\x01\x02\x00\x00\x00" + "XIP"} {
		s.answer(zan("\x7f\x5d\x56\x00" + string([]byte{byte(i * 0x81), byte(len(piece)), 0}) + piece))
	}

	s.between("192.0.2.20:50004", "198.51.100.9:15300")
	s.ask(zan("\x7c\x5d\x56\x00\x02\x00"))
	s.answer(zan("\x06\x00\x00\x00\x00\x08" + "\x01\xc6\x33\x64\x0a\xaa\x29" + "\x03\xc6\x33\x64\x0b\xaa\x29\xab\x29\xb0\x29" + "\x00\x07"))
	s.answer(zan("\x06\x00\x00\x00\x01\x08" + "\x02\xc6\x33\x64\x0c\xac\x29\xad\x29" + "\x00\x02"))
	s.wait(4 * time.Second)
	s.ask(zan("\x7c\x5d\x56\x00\x02\x00"))
	s.answer(zan("\x04\x00\x00\x00"))
	s.between("198.51.100.14:10666", "198.51.100.9:15300")
	s.ask(zan("\x74\x5d\x56\x00" + "e7c1f02ab95d4386907bd8f4a1c2536e\x00" + "\x01" + "\x80\x3f\xac\x64"))

	s.between("198.51.100.255:15101", "198.51.100.14:10666")
	s.answer(zan(zanInfo + zanReply(zanDuelFlags, "\x00\x00\x00\x00", zanDuel)))
}

// zandronumTrouble plays a banned address, segments that are missing, come twice and state
// another size, a launcher with numbers of 64 bits, a reply with another time, a flag that
// is not known, a damaged reply, and silence.
func zandronumTrouble(s *stage) {
	s.between("192.0.2.20:50010", "198.51.100.15:10666")
	s.ask(zanQuery(zanDuelFlags, "\x80\xc4\x0d\x02", ""))
	s.answer(zan(zanBanned + "\x80\xc4\x0d\x02"))

	s.between("192.0.2.20:50011", "198.51.100.16:10666")
	s.ask(zanQuery(zanAll, "\x93\xc4\x0d\x02", "\x1f\x00\x00\x00\x02"))
	list := zanSegments(zanReply(zanFlagFlags, "\x93\xc4\x0d\x02", zanFlag), 150)
	s.answer(list[1])
	s.answer(list[0])
	s.answer(list[1])
	s.wait(20 * time.Second)
	s.ask(zanQuery(zanAll, "\xb3\x12\x0e\x02", "\x1f\x00\x00\x00\x02"))
	s.answer(zanSegments(zanReply(zanFlagFlags, "\xb3\x12\x0e\x02", zanFlag), 180)[2])
	s.wait(20 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xd3\x60\x0e\x02", "\x02"))
	s.answer(zan("\x80\x5d\x56\x00\x00\x01\x00\x00\x90\x00\xa0\x00" + zanReply(zanDuelFlags, "\xd3\x60\x0e\x02", zanDuel)))

	s.between("192.0.2.20:50012", "198.51.100.17:10666")
	s.ask(zan("\xc7\x00\x00\x00\x00\x00\x00\x00\xb9\x00\x18\x00\x00\x00\x00\x00\xe0\xc4\x0d\x02\x00\x00\x00\x00"))
	s.answer(zan(zanInfo + zanReply(0, "\xb9\x00\x18\x00", "")))
	s.wait(11 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xf0\xef\x0d\x02", ""))
	s.answer(zan(zanInfo + zanReply(zanDuelFlags, "\xef\xef\x0d\x02", zanDuel)))
	s.wait(11 * time.Second)
	s.ask(zanQuery(1, "\xe8\x1a\x0e\x02", ""))
	s.answer(zan(zanInfo + zanReply(0x8001, "\xe8\x1a\x0e\x02", "Newer\x00\x01\x02")))
	s.wait(11 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xe0\x45\x0e\x02", ""))
	s.answer("\xff" + zanInfo + zanReply(zanDuelFlags, "\xe0\x45\x0e\x02", zanDuel)[:90])
	s.wait(11 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xd8\x70\x0e\x02", ""))
	s.wait(11 * time.Second)
	s.ask(zanQuery(zanDuelFlags, "\xd0\x9b\x0e\x02", ""))
}
