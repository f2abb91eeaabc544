package main

import "time"

const quakeHeader = "\xff\xff\xff\xff"

// quakeworldGames plays what is rare: HexenWorld, a status in two datagrams,
// spectators in both forms, statistics, logs, viewers, a client that connects,
// and proxies; the last one on a port that says nothing.
func quakeworldGames(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:27500")
	s.ask(quakeHeader + "status 55\n")
	s.answer(quakeHeader + "n\\maxfps\\77\\hostname\\KTX \x87 test\\maxclients\\16\\map\\dm4\\*version\\MVDSV 0.36\\*gamedir\\qw\n" +
		"1 12 7 38 \"Al\xe9ce\" \"base\" 4 13 \"red\"\n2 -9999 16 -25 \"\\s\\Watcher\" \"\" 0 0 \"\"\n\x00")
	s.answer(quakeHeader + "n3 5 7 52 \"Bob\" \"base\" 4 13 \"blue\"\n4 31 9 13 \"[\x90x\x91] Carol\" \"\" 0 0 \"blue\"\n\x00")
	s.answer(quakeHeader + "nqtv 1 \"Watch here\" \"1@198.51.100.10:28000\" 3\n\x00")
	s.wait(time.Second)
	s.ask(quakeHeader + "status 223\n")
	s.answer(quakeHeader + "n\\hostname\\KTX\\maxclients\\16\\map\\dm4\n1 12 7 38 \"Alice\" \"base\" 4 13 \"red\" \"SE\" \"h\"\n2 S 3 40 \"Watcher\" \"\" 0 0 \"\" \"\" \"h\"\n3 9 7 10 \"Bot\" \"\" 1 1 \"red\" \"none\" \"b\"\n\x00")
	s.ask(quakeHeader + "qtvusers\n")
	s.answer(quakeHeader + "nqtvusers 1 \"Dave\" \"Ev\xe5\"\n\x00")
	s.ask(quakeHeader + "laststats 1\n")
	s.answer(quakeHeader + "nlaststats 1\n[{\"date\": \"2026-11-01\", \"map\": \"dm4\", \"duration\": 600}]\n\x00")
	s.ask(quakeHeader + "lastscores\n")
	s.answer(quakeHeader + "nlastscores: none\n\x00")
	s.ask(quakeHeader + "log 3\n")
	s.answer("stdlog 4\n\\Alice\\Bob\\\n\\Bob\\Bob\\\n\x00")
	s.ask(quakeHeader + "log 4\n")
	s.answer("m")
	s.ask(quakeHeader + "dlist duel\n")
	s.answer(quakeHeader + "nduel_a_vs_b[dm4].mvd\nduel_c_vs_d[dm6].mvd\n\x00")

	s.wait(time.Second)
	s.between("192.0.2.21:27001", "198.51.100.10:27500")
	s.ask(quakeHeader + "getchallenge\n")
	s.answer(quakeHeader + "c1478522801\x00")
	s.ask(quakeHeader + "connect 28 31245 1478522801 \"\\name\\Alice\\password\\hidden\\team\\red\\topcolor\\4\"\n0x58455446 0x2140f040\n")
	s.answer(quakeHeader + "j")
	s.wait(time.Second)
	s.between("192.0.2.22:27001", "198.51.100.10:27500")
	s.ask(quakeHeader + "getchallenge\n")
	s.answer(quakeHeader + "c-12\x00FTEX\x40\xf0\x40\x21VOIP\x01\x00\x00\x00")
	s.ask(quakeHeader + "connect 28 31246 -12 \"\\name\\Mallory\"\n")
	s.answer(quakeHeader + "n\nServer is full\n\n\x00")

	s.wait(time.Second)
	s.between("198.51.100.30:30000", "198.51.100.10:27500")
	s.ask(quakeHeader + "ip 3 192.0.2.77\n")
	s.ask(quakeHeader + "broadcast \"qw://198.51.100.10:27500\" \"Alice\"\n")

	s.wait(time.Second)
	s.between("192.0.2.20:50001", "198.51.100.11:26950")
	s.ask(quakeHeader + "\xffstatus\n")
	s.answer(quakeHeader + "\xffn\\hostname\\Hexen\\map\\demo1\\maxclients\\8\n1 2 3 4 \"Paladin\" \"\" 0 0\n\x00")

	s.wait(time.Second)
	s.between("192.0.2.20:50002", "198.51.100.12:40123")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "n\\hostname\\On another port\\maxclients\\8\\map\\e1m1\n\x00")
	s.ask(quakeHeader + "ping\n")
	s.answer("l")
	s.ask(quakeHeader + "status 32\n")
	s.answer(quakeHeader + "n\x00")
}

// quakeworldTrouble plays servers that are down, that cut their replies and that
// print into them, and somebody who tries passwords.
func quakeworldTrouble(s *stage) {
	s.between("192.0.2.20:50010", "198.51.100.10:27500")
	s.ask(quakeHeader + "status 23\n")
	s.answer(quakeHeader + "n\\hostname\\Odd\\map\n1 12 7 38 \"Alice\" \"base\" 4 13\n\x00")
	s.ask(quakeHeader + "status 23\n")
	s.answer(quakeHeader + "n\\hostname\\Talks\\map\\dm4\nSZ_GetSpace: overflow\n1 12 7 38 \"Alice\" \"base\" 4 13\n\x00")
	s.ask(quakeHeader + "status 23\n")
	s.answer(quakeHeader + "n\\hostname\\Cut\\map\\dm4\n1 12 7 38 \"Alice\" \"base\" 4 13\n2 1 1 1 \"B")
	s.ask(quakeHeader + "getchallenge\n")
	s.answer(quakeHeader + "c5678\x00FTEX\x01")
	for range 2 {
		s.ask(quakeHeader + "rcon wrong status\n")
		s.answer(quakeHeader + "nBad rcon_password.\n\x00")
		s.wait(time.Second)
	}
	s.between("192.0.2.20:50011", "198.51.100.99:27500")
	s.ask(quakeHeader + "status 23\n")
	s.wait(10 * time.Second)
	s.between("192.0.2.20:50012", "198.51.100.98:41000")
	s.ask(quakeHeader + "status\n")
	s.wait(10 * time.Second)
}

// quakeworldMasters plays masters: a list in two replies, HexenWorld, a refusal, a
// server with its heartbeats, and a master that is down.
func quakeworldMasters(s *stage) {
	s.between("192.0.2.20:50020", "198.51.100.20:27000")
	s.ask("c\n\x00")
	s.answer(quakeHeader + "d\n\xc0\x00\x02\x01\x6b\x6c\xc0\x00\x02\x02\x6f\x55")
	s.answer(quakeHeader + "d\n\xc0\x00\x02\x03\x6b\x6c")
	s.wait(time.Second)
	s.ask("c\n")
	s.answer("m\nToo many requests.\n")
	s.between("198.51.100.10:27500", "198.51.100.20:27000")
	s.ask("a\n17\n4\n")
	s.wait(time.Second)
	s.answer("k\x00")
	s.ask("l")
	s.wait(time.Second)
	s.ask("C\n")
	s.between("192.0.2.20:50021", "198.51.100.21:26900")
	s.ask("\xffc\x00")
	s.answer(quakeHeader + "\xffd\n\xc0\x00\x02\x09\x69\x46")
	s.ask("\xffc\x00")
	s.answer(quakeHeader + "\xffd\n\xc0\x00\x02\x09\x69\x46\xc0")
	s.between("192.0.2.20:50022", "198.51.100.22:27000")
	s.ask("c\n\x00")
	s.wait(10 * time.Second)
	s.ask("c\n\x00")
	s.answer(quakeHeader + "d\n")
}

// quake2Games plays servers of several games of the engine, the last one on a port
// that says nothing.
func quake2Games(s *stage) {
	s.between("192.0.2.20:50030", "198.51.100.10:27910")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\Yamagi test\\maxclients\\8\\mapname\\q2dm1\\gamename\\baseq2\\version\\8.30 x86_64\\needpass\\0\n3 20 \"Al\xe9ce\"\n-1 45 \"B ob\"\n")
	s.ask(quakeHeader + "info 34\n")
	s.answer(quakeHeader + "info\n     Yamagi test    q2dm1  2/ 8\n")
	s.ask(quakeHeader + "info 26\n")
	s.answer(quakeHeader + "info\nYamagi test: wrong version\n")
	s.ask(quakeHeader + "ping\n")
	s.answer(quakeHeader + "ack")
	s.wait(time.Second)
	s.between("192.0.2.21:27901", "198.51.100.10:27910")
	s.ask(quakeHeader + "getchallenge\n")
	s.answer(quakeHeader + "challenge 32590 p=34,35,36")
	s.ask(quakeHeader + "connect 34 4321 32590 \"\\name\\Alice\\password\\hidden\\rate\\25000\"\n")
	s.answer(quakeHeader + "client_connect dlserver=http://198.51.100.10/q2/")
	s.wait(time.Second)
	s.between("192.0.2.22:27901", "198.51.100.10:27910")
	s.ask(quakeHeader + "getchallenge\n")
	s.answer(quakeHeader + "challenge 11023 p=34")
	s.ask(quakeHeader + "connect 34 4322 11023 \"\\name\\Mallory\"\n")
	s.answer(quakeHeader + "print\nServer is full.\n")
	s.wait(time.Second)

	s.between("192.0.2.20:50031", "198.51.100.11:31510") // Kingpin
	s.ask(quakeHeader + "status\x00")
	s.answer(quakeHeader + "print\n\\ last map request\\none\\hostname\\Kingpin test\\maxclients\\16\\mapname\\kpdm1\\gamename\\main            \n0 0 \"WallFly[BZZZ]\"\n12 53 \"Bob\"\n")
	s.wait(time.Second)
	s.between("192.0.2.20:50032", "198.51.100.12:28910") // Soldier of Fortune
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\SoF test\\maxclients\\8\\mapname\\dm/jpntclx\\\n7 30 \"Mullins\" \"192.0.2.40:28901\"\n")
	s.wait(time.Second)
	s.between("192.0.2.20:50033", "198.51.100.13:44400") // Warsow
	s.ask(quakeHeader + "info 15 full empty\n")
	s.answer(quakeHeader + `info` + "\n" + `\\n\\^1Warsow ^7test\\m\\wfdm1\\u\\ 3/16\\g\\    dm\\s\\1\\mo\\basewsw\\EOT`)
	s.wait(time.Second)
	s.between("192.0.2.20:50034", "198.51.100.14:40124")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\On another port\\maxclients\\8\\mapname\\q2dm8\n")
	s.ask(quakeHeader + "ping\n")
	s.answer(quakeHeader + "ack")
}

// quake2Trouble plays servers that are down, that cut their replies and that print
// into them, and somebody who tries passwords.
func quake2Trouble(s *stage) {
	s.between("192.0.2.20:50040", "198.51.100.10:27910")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\Odd\\mapname\n3 20 \"Alice\"\n")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\nSV_Frame: slow\n\\hostname\\Talks before\\mapname\\q2dm1\n3 20 \"Alice\"\n")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\Talks after\\mapname\\q2dm1\nWARNING: low memory\n3 20 \"Alice\"\n")
	s.ask(quakeHeader + "status\n")
	s.answer(quakeHeader + "print\n\\hostname\\Cut\\mapname\\q2dm1\n3 20 \"Alice\"\n4 2")
	s.ask(quakeHeader + "rcon wrong status\n")
	s.answer(quakeHeader + "print\nBad rcon_password.\n")
	s.wait(time.Second)
	s.between("192.0.2.20:50041", "198.51.100.99:27910")
	s.ask(quakeHeader + "status\n")
	s.ask(quakeHeader + "info 34\n")
	s.wait(10 * time.Second)
	s.ask(quakeHeader + "ping\n")
	s.answer(quakeHeader + "ack")
}

// quake2Masters plays masters: a list, a cut one, a server with its heartbeats, and
// a master that is down.
func quake2Masters(s *stage) {
	s.between("192.0.2.20:50050", "198.51.100.20:27900")
	s.ask("query\n\x00")
	s.answer(quakeHeader + "servers \xc0\x00\x02\x01\x6d\x06\xc0\x00\x02\x02\x6d\x07")
	s.ask("query\n\x00")
	s.answer(quakeHeader + "servers \xc0\x00\x02\x01\x6d\x06\xc0\x00")
	s.between("198.51.100.10:27910", "198.51.100.20:27900")
	s.ask(quakeHeader + "heartbeat\n\\hostname\\Yamagi test\\maxclients\\8\\mapname\\q2dm1\n3 20 \"Alice\"\n")
	s.wait(time.Second)
	s.ask(quakeHeader + "shutdown")
	s.between("192.0.2.20:50051", "198.51.100.21:27900")
	s.ask("query\x00")
	s.wait(10 * time.Second)
	s.ask("query\n\x00")
	s.answer(quakeHeader + "servers ")
}
