package main

import (
	"strings"
	"time"
)

// a2sSameID plays servers that use one split ID for all replies, and of which a
// part is lost: the last one of equal replies, then the first one of replies
// that differ.
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
}
