package main

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// battleyePacket is a packet of BattlEye's remote console.
func battleyePacket(body string) string {
	body = "\xff" + body
	return string(binary.LittleEndian.AppendUint32([]byte("BE"), crc32.ChecksumIEEE([]byte(body)))) + body
}

// battleyeSessions plays sessions on the default port and on another: a login,
// commands, a reply in parts and messages of the server.
func battleyeSessions(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:2306")
	s.ask(battleyePacket("\x00hidden word"))
	s.answer(battleyePacket("\x00\x01"))
	s.answer(battleyePacket("\x02\x00RCon admin #0 (192.0.2.20:50000) logged in"))
	s.ask(battleyePacket("\x02\x00"))
	s.ask(battleyePacket("\x01\x00players"))
	s.answer(battleyePacket("\x01\x00\x00\x02\x00Players on server:\n[#] [IP Address]:[Port] [Ping] [GUID] [Name]\n--------------------------------------------------\n"))
	s.answer(battleyePacket("\x01\x00\x00\x02\x010   192.0.2.30:2304       31   0123456789abcdef0123456789abcdef(OK) Alice\n(1 players in total)"))
	s.ask(battleyePacket("\x01\x01say -1 The server restarts in 5 minutes"))
	s.answer(battleyePacket("\x01\x01"))
	s.answer(battleyePacket("\x02\x01(Global) Alice: what, now?"))
	s.ask(battleyePacket("\x02\x01"))
	s.ask(battleyePacket("\x01\x02#exec maxping"))
	s.answer(battleyePacket("\x01\x02MaxPing: 250"))
	s.wait(30 * time.Second)
	s.ask(battleyePacket("\x01\x03"))
	s.answer(battleyePacket("\x01\x03"))

	s.wait(time.Second)
	s.between("192.0.2.21:50001", "198.51.100.11:40123")
	s.ask(battleyePacket("\x00hidden word"))
	s.answer(battleyePacket("\x00\x01"))
	s.ask(battleyePacket("\x01\x00RConPassword another word"))
	s.answer(battleyePacket("\x01\x00"))
}

// battleyeTrouble plays wrong passwords, a missing part, a damaged packet, a message
// that comes again, and silence.
func battleyeTrouble(s *stage) {
	s.between("192.0.2.20:50002", "198.51.100.10:2306")
	for _, word := range []string{"admin", "letmein", "dayz"} {
		s.ask(battleyePacket("\x00" + word))
		s.answer(battleyePacket("\x00\x00"))
		s.wait(time.Second)
	}
	s.between("192.0.2.21:50003", "198.51.100.10:2306")
	s.ask(battleyePacket("\x00hidden word"))
	s.answer(battleyePacket("\x00\x01"))
	s.ask(battleyePacket("\x01\x00bans"))
	s.answer(battleyePacket("\x01\x00\x00\x03\x00GUID Bans:\n[#] [GUID] [Minutes left] [Reason]\n"))
	s.answer(battleyePacket("\x01\x00\x00\x03\x02IP Bans:\n[#] [IP Address] [Minutes left] [Reason]\n"))
	s.wait(20 * time.Second)
	for range 3 {
		s.answer(battleyePacket("\x02\x00Player #0 Alice (192.0.2.30:2304) connected"))
		s.wait(3 * time.Second)
	}
	s.ask("BE\x01\x02\x03\x04\xff\x01\x01players")
	s.wait(10 * time.Second)
	s.ask(battleyePacket("\x01\x02players"))
	s.wait(10 * time.Second)
	s.ask(battleyePacket("\x00hidden word"))
	s.wait(10 * time.Second)
	s.ask(battleyePacket("\x00other word"))
}
