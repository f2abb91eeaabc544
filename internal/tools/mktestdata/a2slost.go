package main

import (
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// a2sSameID plays servers that use one split ID for all replies, and of which a
// part is lost: the last one of equal replies, then the first one of replies
// that differ. A third client asks twice before the reply comes.
func a2sSameID(s *stage) {
	for n, lost := range []int{2, 0} {
		s.between([]string{"192.0.2.20:51000", "192.0.2.21:51000"}[n], "198.51.100.10:27015")
		for poll := range 5 {
			message := rules(130)
			if n > 0 {
				message = strings.ReplaceAll(message, "setting", []string{"morning", "evening", "lasting", "passing", "nothing"}[poll])
			}
			start := s.now
			s.ask(rulesHas)
			for i, p := range split(0x2db2, 1248, message, true) {
				if poll != 2 || i != lost {
					s.answer(p)
				}
			}
			s.now = start.Add(time.Second)
		}
	}
	s.between("192.0.2.22:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	s.wait(time.Second)
	s.ask(rulesHas)
	for _, p := range split(0x2db2, 1248, rules(130), true) {
		s.answer(p)
	}
}

// a2sFragmentsLost plays replies of which an IP fragment is lost: one of the later
// ones; the first one, which has the ports; that of one of two replies to the same
// host; and one of a reply that is sent once more.
func a2sFragmentsLost(s *stage) {
	lose := func(id uint16, which ...int) {
		segment := mkpcap.UDPSegment(s.server, s.client, []byte(rules(130)))
		s.wait(10 * time.Millisecond)
		s.fragment(string(segment), 1480, id, which...)
	}
	s.between("192.0.2.20:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	lose(1, 0, 2)
	s.between("192.0.2.21:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	lose(2, 1, 2)
	s.between("192.0.2.22:51001", "198.51.100.10:27015")
	s.ask(rulesHas)
	s.between("192.0.2.22:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	lose(3, 1, 2)
	s.between("192.0.2.23:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	lose(4, 0)
	s.wait(40 * time.Second)
	s.ask(infoHas)
	s.answer(info("A server", "", 240, 0, 3, 16))
	s.ask(infoHas)
	lose(5, 1)
	s.answer(info("A server", "", 240, 0, 3, 16))
}
