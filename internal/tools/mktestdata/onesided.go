package main

import (
	"fmt"
	"time"
)

// oneSided plays 20 clients that ask 3 servers of one host, and keeps one
// direction of it: a request every second, or the reply to it.
func oneSided(requests bool) func(*stage) {
	return func(s *stage) {
		for i := range 60 {
			s.between(fmt.Sprintf("192.0.2.%d:%d", 20+i%20, 50000+i), fmt.Sprintf("198.51.100.10:%d", 27015+i%3))
			if requests {
				s.ask(infoAsk)
			} else {
				s.answer(single + "I\x11name\x00map\x00dir\x00game\x00\x0a\x00\x05\x10\x00dl\x00\x001.0\x00")
			}
			s.wait(time.Second)
		}
	}
}
