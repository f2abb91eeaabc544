package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	teeHead  = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	teeOurs  = "\xa1\xb2\xc3\xd4"
	teeFacts = "0.6.4, 18.1\x00Cliffs & Caves\x00"
)

// teePlayers returns players from one number on, with what follows each of them.
func teePlayers(from, n int, extra string) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, "tee %d\x00night\x00%d\x00%d\x00%d\x00%s", i, 276+i%3, -60-i, min(1, i%7), extra)
	}
	return b.String()
}

// teeworldsGames plays servers of all versions with players: 0.4, 0.5, 0.6, 0.7, and
// one with 64 slots that lists 30 players in several packets.
func teeworldsGames(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:8303")
	s.ask(teeHead + "gie3\x07")
	s.answer(teeHead + "inf37\x000.6.4\x00A small server\x00ctf2\x00CTF\x001\x002\x0012\x003\x0016\x00" +
		"alice\x00red\x00276\x0012\x001\x00bob\x00red\x00-1\x000\x001\x00carol\x00\x00840\x000\x000\x00")

	s.between("192.0.2.20:50001", "198.51.100.11:8304")
	s.ask(teeHead + "fstd\x21")
	for at := 0; at < 30; at += 24 {
		s.answer(teeHead + "dtsf33\x00" + teeFacts + "Kobra\x00DDraceNetwork\x000\x0026\x0060\x0030\x0064\x00" +
			string(rune(at)) + teePlayers(at, min(24, 30-at), ""))
	}
	s.wait(time.Second)
	s.ask("xe\x5e\x02\x00\x00\xff\xff\xff\xffgie3\x9c")
	const facts = "Kobra\x00-1924373370\x001082711\x00DDraceNetwork\x000\x0026\x0060\x0030\x0064\x00\x00"
	s.answer(teeHead + "iext6161052\x00" + teeFacts + facts + teePlayers(0, 20, "\x00"))
	s.answer(teeHead + "iex+6161052\x001\x00\x00" + teePlayers(20, 10, "\x00"))

	s.between("192.0.2.20:50002", "198.51.100.12:8305")
	s.ask(teeHead + "gief")
	s.answer(teeHead + "info0.4.2\x00An old one\x00dm1\x00DM\x000\x00-1\x001\x008\x00dave\x003\x00")
	s.ask(teeHead + "gie2\x09")
	s.answer(teeHead + "inf29\x000.5.2\x00An old one\x00dm1\x00DM\x000\x0040\x001\x008\x00dave\x003\x00")

	const token = "\x56\x79\x5f\x3c"
	s.between("192.0.2.20:50003", "198.51.100.13:8303")
	s.ask("\x04\x00\x00\xff\xff\xff\xff\x05" + teeOurs + strings.Repeat("\x00", 508))
	s.answer("\x04\x00\x00" + teeOurs + "\x05" + token)
	s.ask("\x21" + token + teeOurs + "\xff\xff\xff\xffgie3\x88\x03")
	s.answer("\x21" + teeOurs + token + "\xff\xff\xff\xffinf3\x88\x030.7.5\x00New\x00tee.example\x00ctf5\x00CTF\x00\x01\x02\x01\x08\x02\x10" +
		"erin\x00\x00\x94\x04\x0c\x00frank\x00\x00\x40\x00\x01")
}

// teeworldsMasters plays game servers and clients with master servers of 0.5, 0.6 and
// 0.7, and that of DDNet.
func teeworldsMasters(s *stage) {
	const mapped = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
	s.between("192.0.2.20:50010", "203.0.113.5:8300")
	s.ask(teeHead + "cou2")
	s.answer(teeHead + "siz2\x00\x03")
	s.ask(teeHead + "req2")
	s.answer(teeHead + "lis2" + mapped + "\xc6\x33\x64\x0a\x20\x6f" + mapped + "\xc6\x33\x64\x0b\x20\x70")
	s.answer(teeHead + "lis2" + "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x20\x6f")
	s.wait(time.Second)
	s.ask("\x20\x00\x00\x00\x00\x00\xff\xff\xff\xffreqt")
	s.answer(teeHead + "list\xc6\x33\x64\x0c\x71\x20")

	s.between("198.51.100.10:8303", "203.0.113.5:8300")
	s.ask(teeHead + "bea2\x20\x6f")
	s.between("203.0.113.5:8301", "198.51.100.10:8303")
	s.ask(teeHead + "fw??")
	s.answer(teeHead + "fw!!")
	s.between("203.0.113.5:8300", "198.51.100.10:8303")
	s.ask(teeHead + "fwok")
	s.between("203.0.113.5:8300", "198.51.100.14:8303")
	s.ask(teeHead + "fwer")

	s.between("192.0.2.20:50011", "203.0.113.6:8283")
	s.ask("\x04\x00\x00\xff\xff\xff\xff\x05" + teeOurs + strings.Repeat("\x00", 508))
	s.answer("\x04\x00\x00" + teeOurs + "\x05\x0a\x0b\x0c\x0d")
	s.ask("\x21\x0a\x0b\x0c\x0d" + teeOurs + "\xff\xff\xff\xffreq2")
	s.answer("\x21" + teeOurs + "\x0a\x0b\x0c\x0d\xff\xff\xff\xfflis2" + mapped + "\xc6\x33\x64\x0d\x20\x6f")

	s.between("203.0.113.7:8300", "198.51.100.11:8304")
	s.ask(teeHead + "chal9d1c6a9e-24ff-4f4c-ae32-a2bd9ac1d3a7:tw0.6/ipv4\x00qXJ0b2tlbg\x00")
}

// teeworldsTrouble plays a server that lists no players because it is busy, one that
// answers twice, one that tells its players unasked, clients with the wrong token and
// with short requests, packets of a running game, and silence.
func teeworldsTrouble(s *stage) {
	const facts = "0.6.4\x00Busy\x00dm1\x00DM\x000\x00"
	s.between("192.0.2.20:50020", "198.51.100.15:8303")
	s.ask(teeHead + "gie3\x01")
	s.answer(teeHead + "inf31\x00" + facts + "9\x0016\x009\x0016\x00")
	s.wait(200 * time.Millisecond)
	s.answer(teeHead + "inf31\x00" + facts + "0\x0016\x000\x0016\x00")
	s.wait(time.Second)
	s.answer(teeHead + "inf3-1\x00" + facts + "0\x0016\x000\x0016\x00")
	s.ask(teeHead + "gie3\x02")
	s.answer(teeHead + "inf377\x00" + facts + "0\x0016\x000\x0016\x00")

	s.between("192.0.2.20:50021", "198.51.100.16:8303")
	s.ask("\x04\x00\x00\xff\xff\xff\xff\x05\xa1\xb2\xc3\xd3")
	s.wait(time.Second)
	s.ask("\x04\x00\x00\xff\xff\xff\xff\x05" + teeOurs + strings.Repeat("\x00", 508))
	s.answer("\x04\x00\x00" + teeOurs + "\x05\x56\x79\x5f\x3c")
	s.ask("\x21\x3c\x5f\x79\x56" + teeOurs + "\xff\xff\xff\xffgie3\x05")
	s.ask("\x21\x11\x22\x33\x44" + teeOurs + "\xff\xff\xff\xffgie3\x06")
	s.ask("\x00\x00\x01\x56\x79\x5f\x3c\x40\x10\x01\x02\x03\x04\x05\x06\x07\x08") // of a running game
	s.answer("\x10\x00\x00\x4b\x20\x13\x9f\x80\x07\x00")

	s.between("192.0.2.20:50022", "198.51.100.17:8303")
	for _, q := range []string{"gie", "gief", "gie2\x03", "gie3\x03"} {
		s.ask(teeHead + q)
	}
	s.wait(10 * time.Second)
	s.ask(teeHead + "inf34\x000.6.4\x00A name that is cu")
}
