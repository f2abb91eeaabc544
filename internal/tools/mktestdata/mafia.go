package main

import (
	"encoding/binary"
	"time"
)

// lhmpTexts writes each text after its length, m2Texts after a length that counts itself.
func lhmpTexts(list ...string) (out string) {
	for _, s := range list {
		out += string([]byte{byte(len(s))}) + s
	}
	return out
}

func m2Texts(list ...string) (out string) {
	for _, s := range list {
		out += string([]byte{byte(len(s) + 1)}) + s
	}
	return out
}

func lhmpInfo(password string, players, limit uint16, texts ...string) string {
	b := binary.LittleEndian.AppendUint16([]byte("LHMPo\x00"+password+"\x00"), players)
	return string(binary.LittleEndian.AppendUint16(b, limit)) + lhmpTexts(texts...)
}

func lhmpPlayers(names ...string) string {
	b := binary.LittleEndian.AppendUint16([]byte("LHMPp"), uint16(len(names)))
	for i, n := range names {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(3*i)), lhmpTexts(n)...)
	}
	return string(b)
}

// lhmpServers plays two servers; the replies of the first come in the other order.
func lhmpServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:27016")
	s.ask("LHMPo")
	s.ask("LHMPp")
	s.answer(lhmpPlayers("Anna", "B\xf6rje", "Cyd"))
	s.answer(lhmpInfo("", 3, 100, "Caf\xe9 Lost Heaven", "DeathMatch", "http://example.org", "MISE11-VILA"))
	s.between("192.0.2.20:50001", "198.51.100.11:12345")
	s.ask("LHMPo")
	s.answer(lhmpInfo("1", 0, 16, "Private", "Race", "", "FREERIDE"))
	s.ask("LHMPp")
	s.answer(lhmpPlayers())
}

// lhmpTrouble plays what goes wrong.
func lhmpTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:27016")
	s.ask("LHMPp")
	s.answer(lhmpPlayers("Anna", "B\xf6rje", "Cyd")[:20])
	s.wait(200 * time.Millisecond)
	s.answer(lhmpPlayers("Anna"))
	s.answer(lhmpInfo("", 3, 100, "A server", "DeathMatch", "", "MISE11-VILA"))
	s.ask("LHMPo")
	s.wait(6 * time.Second)
	s.ask("LHMPp")
	s.answer(lhmpPlayers("Anna, first of those with long names", "Borje, second of those with long names"))
}

// m2mpServers plays servers of both modifications.
func m2mpServers(s *stage) {
	head := m2Texts("Caf\xe9 Empire Bay", "2", "50", "freeroam")
	s.between("192.0.2.20:50000", "198.51.100.10:27016")
	s.ask("M2MP")
	s.answer("M2MP" + head + "\x00" + m2Texts("Anna", "B\xf6rje") + "\x01")
	s.ask("M2MPi")
	s.answer("M2MP" + m2Texts("Caf\xe9 Empire Bay", "0", "50", "freeroam") + "\x00\x01")
	s.between("192.0.2.20:50001", "198.51.100.11:12345")
	s.ask("M2Online")
	s.answer("M2Online" + head + "\x01" + m2Texts("Anna", "40", "B\xf6rje", "120"))
}

// m2mpTrouble plays what goes wrong.
func m2mpTrouble(s *stage) {
	reply := "M2MP" + m2Texts("A server", "2", "50", "freeroam") + "\x00" + m2Texts("Anna", "Borje") + "\x01"
	s.between("192.0.2.20:50000", "198.51.100.10:27016")
	s.ask("M2MP")
	s.answer(reply[:20])
	s.wait(200 * time.Millisecond)
	s.answer(reply)
	s.wait(time.Second)
	s.answer(reply + "\x01")
	s.ask("M2Online")
	s.wait(6 * time.Second)
	s.ask("M2MP")
}
