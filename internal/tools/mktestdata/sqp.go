package main

import (
	"encoding/binary"
	"time"
)

const (
	sqpInfo    = "\x00\x03\x00\x10\x0bBlue Canyon\x0bElimination\x071.4.212\x06canyon\x22\x60"
	sqpRules   = "\x09time_left\x01\x01\x2c\x04seed\x03\x00\x10\x00\x00\x00\x00\x00\x01\x06region\x04\x0aeu-central\x05ratio\x05\x3f\x40\x00\x00"
	sqpPlayers = "\x00\x03\x03\x04name\x04\x05score\x02\x04ping\x01" + "\x05alice\x00\x00\x00\x0c\x00\x1e" + "\x03bob\x00\x00\x00\x03\x00\x63" + "\x05carol\x00\x00\x00\x00\x00\x2a"
	sqpTeams   = "\x00\x02\x02\x04name\x04\x05score\x02" + "\x03red\x00\x00\x00\x0c" + "\x04blue\x00\x00\x00\x03"
	sqpMetrics = "\x02\x41\xf0\x00\x00\x3f\x00\x00\x00"
)

// sqpChunks are chunks, each behind its length.
func sqpChunks(chunks ...string) string {
	var b []byte
	for _, c := range chunks {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(c))), c...)
	}
	return string(b)
}

// sqpPacket is one packet of a reply.
func sqpPacket(challenge string, current, last byte, data string) string {
	return "\x01" + challenge + "\x00\x01" + string([]byte{current, last, byte(len(data) >> 8), byte(len(data))}) + data
}

func sqpQuery(challenge string, chunks byte) string {
	return "\x01" + challenge + "\x00\x01" + string(rune(chunks))
}

// sqpServers plays clients that ask for each kind of chunk, for several, and for all, and
// replies in one packet and in three, in order and not.
func sqpServers(s *stage) {
	const challenge = "\x6b\x11\xf0\x24"
	s.between("192.0.2.20:50000", "198.51.100.10:7787")
	s.ask("\x00\x00\x00\x00\x00")
	s.answer("\x00" + challenge)
	for i, c := range []string{sqpInfo, sqpRules, sqpPlayers, sqpTeams, sqpMetrics} {
		s.ask(sqpQuery(challenge, 1<<i))
		s.answer(sqpPacket(challenge, 0, 0, sqpChunks(c)))
	}
	s.ask(sqpQuery(challenge, 3))
	s.answer(sqpPacket(challenge, 0, 0, sqpChunks(sqpInfo+"\x00\x01", sqpRules)))
	s.wait(time.Second)

	const other = "\xc2\x05\x8d\x71"
	all := sqpChunks(sqpInfo, sqpRules, sqpPlayers, sqpTeams, sqpMetrics)
	s.between("192.0.2.20:50001", "198.51.100.11:9100")
	s.ask("\x00\x00\x00\x00\x00")
	s.answer("\x00" + other)
	s.ask(sqpQuery(other, 31))
	for i, piece := range []string{all[:50], all[50:100], all[100:]} {
		s.answer(sqpPacket(other, byte(i), 2, piece))
	}
	s.wait(20 * time.Second)
	s.ask(sqpQuery(other, 15))
	four := sqpChunks(sqpInfo, "", sqpPlayers, "\x00\x00")
	s.answer(sqpPacket(other, 1, 1, four[60:]))
	s.answer(sqpPacket(other, 0, 1, four[:60]))
}

// sqpTrouble plays a client with the challenge of another server, replies of which
// packets are missing or came twice, a chunk that is none of those known, a packet that is
// cut, a reply with another challenge, and silence.
func sqpTrouble(s *stage) {
	const challenge = "\x6b\x11\xf0\x24"
	all := sqpChunks(sqpInfo, sqpRules, sqpPlayers)
	s.between("192.0.2.20:50010", "198.51.100.12:7787")
	s.ask("\x00\x00\x00\x00\x00")
	s.answer("\x00" + challenge)
	s.ask(sqpQuery(challenge, 7))
	s.answer(sqpPacket(challenge, 0, 2, all[:60]))
	s.answer(sqpPacket(challenge, 2, 2, all[120:]))
	s.wait(20 * time.Second)
	s.ask(sqpQuery(challenge, 7))
	s.answer(sqpPacket(challenge, 1, 2, all[60:120]))
	s.wait(20 * time.Second)
	s.ask(sqpQuery(challenge, 1))
	s.answer(sqpPacket(challenge, 0, 0, sqpChunks("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")))
	s.ask(sqpQuery(challenge, 1))
	s.answer(sqpPacket(challenge, 0, 0, sqpChunks(sqpInfo)))
	s.wait(300 * time.Millisecond)
	s.answer(sqpPacket(challenge, 0, 0, sqpChunks(sqpInfo+"\x01")))
	s.ask(sqpQuery(challenge, 2))
	cut := sqpPacket(challenge, 0, 0, sqpChunks(sqpRules))
	s.answer(cut[:len(cut)-20])
	s.wait(time.Second)
	s.ask(sqpQuery(challenge, 1))
	s.answer(sqpPacket("\x00\x00\x01\x00", 0, 0, sqpChunks(sqpInfo)))

	s.between("192.0.2.20:50012", "198.51.100.14:7787")
	s.ask("\x00\x00\x00\x00\x00")
	s.answer("\x00" + challenge)
	s.ask(sqpQuery("\x24\xf0\x11\x6b", 1))
	s.ask(sqpQuery("\x01\x02\x03\x04", 1))

	s.between("192.0.2.20:50011", "198.51.100.13:7787")
	s.ask("\x00\x00\x00\x00\x00")
	s.wait(10 * time.Second)
	s.ask("\x00\x00\x00\x00\x00")
}
