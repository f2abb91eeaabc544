package main

import (
	"encoding/binary"
	"strings"
	"time"
)

const (
	rakMagic  = "\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78"
	rakClient = "\x66\x09\x07\xa0\xd7\x17\x58\xa6"
	rakServer = "\x62\x71\xf7\x78\xd0\x1f\x27\xde"
)

func rakTime(ms uint64) string { return string(binary.BigEndian.AppendUint64(nil, ms)) }

func rakPong(ms uint64, text string) string {
	return "\x1c" + rakTime(ms) + rakServer + rakMagic + string(binary.BigEndian.AppendUint16(nil, uint16(len(text)))) + text
}

// rakAsk plays a ping and what comes back.
func (s *stage) rakAsk(ms uint64, text string) {
	s.ask("\x01" + rakTime(ms) + rakMagic + rakClient)
	s.answer(rakPong(ms, text))
}

// raknetGames plays what differs from game to game and from server to server.
func raknetGames(s *stage) {
	// Mojang's server, asked again after a second; a proxy that leaves fields off, with
	// more players than it takes; PocketMine with colours; an old Nukkit.
	s.between("192.0.2.20:50000", "198.51.100.10:19132")
	const dedicated = "MCPE;Dedicated Server;844;1.21.110;1;10;13253860892328930865;Bedrock level;Survival;1;19132;19133;0;"
	s.rakAsk(1000, dedicated)
	s.wait(time.Second)
	s.rakAsk(2014, dedicated)
	s.between("192.0.2.20:50001", "198.51.100.11:19132")
	s.rakAsk(1000, "MCPE;\xc2\xa7f\xc2\xa79EU: DUELS\xee\x84\x81;545;1;18605;1000;11858815792528425134;Lobby;Survival;1")
	s.between("192.0.2.20:50002", "198.51.100.12:30001")
	s.rakAsk(1000, "MCPE;\xc2\xa7aGreen \xc2\xa7lserver;545;1.19.21;111;300;-305653527360353208;PocketMine-MP;Survival;1;30001;-1;")
	s.between("192.0.2.20:50003", "198.51.100.13:19132")
	s.rakAsk(1000, "MCPE;A server;201;;0;33;9c8f254d-8afd-4040-b43b-4585814290c0;second line;Survival;")
	s.between("192.0.2.20:50004", "198.51.100.14:19132")
	s.rakAsk(1000, "MCEE;A class\\; of one;390;1.14.70;1;30;42;Class;Creative;1;19132;19133;")
	// Other games: one says something in its own form, one does not say how long that is,
	// one says nothing; and a client that has no number.
	s.between("192.0.2.20:50005", "198.51.100.15:26900")
	s.rakAsk(1000, "Seven days")
	s.between("192.0.2.20:50006", "198.51.100.16:28015")
	s.ask("\x02" + rakTime(1000) + rakMagic + rakClient)
	s.answer("\x1c" + rakTime(1000) + rakServer + rakMagic + "rust\x01\x02")
	s.between("192.0.2.20:50007", "198.51.100.17:60000")
	s.ask("\x01" + rakTime(1000) + rakMagic)
	s.answer("\x1c" + rakTime(1000) + rakServer + rakMagic)
	// A connection with a cookie, and one over IPv6: the first request has to become
	// smaller twice.
	open := func(size int) string { return "\x05" + rakMagic + "\x0b" + strings.Repeat("\x00", size-18) }
	s.between("192.0.2.20:50008", "198.51.100.10:19132")
	s.ask(open(1464))
	s.answer("\x06" + rakMagic + rakServer + "\x01\x0a\x0b\x0c\x0d\x05\xd4")
	s.ask("\x07" + rakMagic + "\x0a\x0b\x0c\x0d\x00" + "\x04\x39\xcc\x9b\xf5\x4a\xbc\x05\xd4" + rakClient)
	s.answer("\x08" + rakMagic + rakServer + "\x04\x3f\xff\xfd\xeb\xc3\x58\x05\xd4\x00")
	s.between("[2001:db8:2::20]:50009", "[2001:db8:1::10]:19133")
	const (
		there = "\x06\x17\x00\x4a\xbd\x00\x00\x00\x00\x20\x01\x0d\xb8\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00"
		here  = "\x06\x17\x00\xc3\x59\x00\x00\x00\x00\x20\x01\x0d\xb8\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x00"
	)
	for _, size := range []int{1464, 1372, 548} {
		s.ask(open(size))
		s.wait(500 * time.Millisecond)
	}
	s.answer("\x06" + rakMagic + rakServer + "\x00\x02\x40")
	s.ask("\x07" + rakMagic + there + "\x02\x40" + rakClient)
	s.answer("\x08" + rakMagic + rakServer + here + "\x02\x40\x00")
	// What follows is not read.
	s.ask("\x84\x00\x00\x00\x40\x00\x90\x00\x00\x00\x09" + rakClient + rakTime(3000) + "\x00")
	s.answer("\xc0\x00\x01\x01\x00\x00\x00")
}

// raknetTrouble plays what goes wrong.
func raknetTrouble(s *stage) {
	// A name that shifts all fields, a length that lies, numbers that are none, another
	// time, a pong to nobody.
	s.between("192.0.2.20:50000", "198.51.100.10:19132")
	s.rakAsk(1000, "MCPE;A server; the best;545;1.19.21;3;30;1;Level;Survival;1;19132;19133;")
	s.ask("\x01" + rakTime(1100) + rakMagic + rakClient)
	s.answer(strings.Replace(rakPong(1100, "MCPE;A server;545;1.19.21;3;30;1;Level;Survival;1;"), "\x00\x32MCPE", "\x00\x20MCPE", 1))
	s.rakAsk(1200, "MCPE;A server;many;1.19.21;few;some;1;Level;Survival;1;none;none;")
	s.ask("\x01" + rakTime(1300) + rakMagic + rakClient)
	s.answer(rakPong(0, "MCPE;A server;545;1.19.21;3;30;1;Level;Survival;1;"))
	s.answer(rakPong(1<<40, "MCPE;A server;545;1.19.21;3;30;1;Level;Survival;1;"))
	s.ask("\x01" + rakTime(1400) + rakMagic + rakClient)
	s.answer(rakPong(1400, "MCPE;A server;545;1.19.21;3;30;1;Level;Survival;1;")[:30])
	s.ask("\x01" + rakTime(1500) + rakMagic + rakClient)
	s.answer(rakPong(1500, "MCPE;"+strings.Repeat("A long name ", 40)+";545;1.19.21;3;30;1;Level;Survival;1;"))
	// A full server is silent to one ping; nobody is there for the other.
	s.between("192.0.2.21:50000", "198.51.100.11:19132")
	s.ask("\x02" + rakTime(1000) + rakMagic + rakClient)
	s.wait(time.Second)
	s.rakAsk(2000, "MCPE;A full server;545;1.19.21;30;30;1;Level;Survival;1;")
	s.between("192.0.2.22:50000", "198.51.100.12:19132")
	s.ask("\x01" + rakTime(1000) + rakMagic + rakClient)
	s.wait(6 * time.Second)
	// Refusals.
	s.between("192.0.2.23:50000", "198.51.100.13:19132")
	open := "\x05" + rakMagic + "\x0a" + strings.Repeat("\x00", 100)
	s.ask(open)
	s.answer("\x19\x0b" + rakMagic + rakServer)
	for _, id := range []string{"\x12", "\x14", "\x17", "\x1a"} {
		s.wait(time.Second)
		s.ask(open)
		s.answer(id + rakMagic + rakServer)
	}
	s.wait(time.Second)
	s.ask(open)
	s.wait(6 * time.Second)
}
