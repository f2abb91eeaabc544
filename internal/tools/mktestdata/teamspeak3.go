package main

import (
	"strings"
	"time"
)

const (
	tsClient = "TS3INIT1\x00\x65\x00\x00\x88"
	tsServer = "TS3INIT1\x00\x65\x88"
	tsRandom = "\xad\xe7\x6b\x61"
	tsTurned = "\x61\x6b\xe7\xad"
	tsCookie = "\xd3\x0e\x51\x7a\x88\x24\xf1\x06\x9b\x40\xc7\x35\xee\x12\x6d\xa9"
	tsBuild  = "\x0d\xd0\x57\x66"
)

// tsInit is the first step of a client of a build.
func tsInit(build, time, random string) string {
	return tsClient + build + "\x00" + time + random + "\x00\x00\x00\x00\x00\x00\x00\x00"
}

func tsPuzzle(level string) string {
	x := strings.Repeat("\x31\x7c\xe2\x98\x05\xb6\x4f\xda", 8)
	n := strings.Repeat("\xb5\x09\x6e\xf3\x2a\x81\xd4\x57", 8)
	return x + n + level + strings.Repeat("\x0f\xa3\x68\xc1\x9c", 20)
}

// teamspeakHandshakes plays a client that connects, the packets that follow, and a server
// that wants a new beginning.
func teamspeakHandshakes(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:9987")
	s.ask(tsInit(tsBuild, "\x5f\x59\x16\xe0", tsRandom))
	s.answer(tsServer + "\x01" + tsCookie + tsTurned)
	s.ask(tsClient + tsBuild + "\x02" + tsCookie + tsTurned)
	s.answer(tsServer + "\x03" + tsPuzzle("\x00\x00\x27\x10"))
	s.ask(tsClient + tsBuild + "\x04" + tsPuzzle("\x00\x00\x27\x10") + strings.Repeat("\x4b\xe6\x13\x90", 16) +
		"clientinitiv alpha=41Te9Ar7hMPx+A== omega=MEwDAgcAAgEgAiEAq2iCMfcijKDZ5tn2tuZcH+/GF+dmdxlXjDSFXLPGadACIHzUnbsPQ0FDt34Su4UXF46VFI0+4wjMDNszdoDYocu0 ot=1 ip")
	s.answer("\x9e\x11\x5c\x0a\xf0\x3b\x77\x31\x00\x00\x02\x5f\x0c\x77\xd3\x18\x92\x64\xae\xb1\x0d\x39\xf5\x40\x86")
	s.ask("\x1b\xc4\x70\x2d\x8e\x93\x06\xfa\x00\x01\x00\x03\x80\x00\x01\x04\x6f\x91\x5d\x22\xc8\x37\xeb\x94\x0e\x73\xb6")
	s.answer("\x62\xe8\x4d\x97\x01\x3f\xba\x5c\x00\x01\x00\x00\x01\x00\x07\x04\x6f\x91\x5d\x22\xc8\x37\xeb\x94\x0e\x73")
	s.ask("\x1b\xc4\x70\x2d\x8e\x93\x06\xfa\x00\x02\x00\x03\x84")
	s.answer("\x1b\xc4\x70\x2d\x8e\x93\x06\xfa\x00\x01\x85\x00\x02")

	s.between("192.0.2.20:50001", "198.51.100.11:9200")
	s.ask(tsInit("\x06\x3b\xec\xe9", "\x5f\x59\x17\x00", "\x10\x4c\x92\xe7"))
	s.answer(tsServer + "\x7f")
	s.ask(tsInit("\x06\x3b\xec\xe9", "\x5f\x59\x17\x01", "\x58\x03\xdd\xa6"))
	s.answer(tsServer + "\x01" + tsCookie + "\xa6\xdd\x03\x58")
}

// teamspeakTrouble plays a cookie that the server did not give, a puzzle that keeps the
// client busy, random bytes that are not reversed, packets that are cut, an unknown step,
// and silence.
func teamspeakTrouble(s *stage) {
	s.between("192.0.2.20:50010", "198.51.100.12:9987")
	s.ask(tsInit(tsBuild, "\x5f\x59\x16\xe0", tsRandom))
	s.answer(tsServer + "\x01" + tsCookie + tsRandom)
	s.ask(tsClient + tsBuild + "\x02" + tsCookie + tsTurned)
	s.answer(tsServer + "\x03" + tsPuzzle("\x40\x00\x00\x00"))
	s.ask(tsClient + tsBuild + "\x02" + tsCookie + tsTurned + "\x00")
	s.answer(tsServer + "\x03" + tsPuzzle("")[:100])
	s.ask(tsClient + tsBuild + "\x09" + tsCookie)
	s.between("192.0.2.20:50011", "198.51.100.12:9987")
	s.ask(tsClient + tsBuild + "\x02" + strings.Repeat("\x2c\x95", 8) + tsTurned)
	s.wait(10 * time.Second)
	s.between("192.0.2.20:50012", "198.51.100.13:9987")
	s.ask(tsInit(tsBuild, "\x5f\x59\x18\x00", "\x37\xf0\x5b\x8c"))
	s.wait(10 * time.Second)
	s.answer(tsServer + "\x01" + tsCookie + "\x8c\x5b\xf0\x37")
}
