package main

import (
	"fmt"
	"time"
)

const xash3dHead = "\xff\xff\xff\xff"

// xash3dPlayers writes the settings about players.
func xash3dPlayers(names ...string) (out string) {
	for i, n := range names {
		out += fmt.Sprintf(`\p%[1]dname\%[2]s\p%[1]dfrags\%[3]d\p%[1]dtime\%[4]d.250000`, i, n, 20-7*i, 60*i+5)
	}
	return out + fmt.Sprintf(`\players\%d`, len(names))
}

// xash3dServers plays a server that is asked for all kinds of data.
func xash3dServers(s *stage) {
	s.between("192.0.2.20:27005", "198.51.100.10:27015")
	s.ask(xash3dHead + "info 49")
	s.answer(xash3dHead + "info\n" + `\p\49\map\crossfire\dm\1\team\0\coop\0\numcl\3\maxcl\16\gamedir\valve\password\0\host\^2Green ^7server`)
	for kind, settings := range []string{
		1: "",
		2: `\mp_fraglimit\20\mp_timelimit\30\sv_password\0\rules\3`,
		3: xash3dPlayers("Anna", "^1Borje", "Cyd"),
		4: `\hostname\^2Green ^7server\gamedir\valve\current\3\max\16\map\crossfire`,
	} {
		if kind > 0 {
			s.ask(fmt.Sprintf("%snetinfo 49 %d %d", xash3dHead, 100+kind, kind))
			s.answer(fmt.Sprintf("%snetinfo %d %d %s\n", xash3dHead, 100+kind, kind, settings))
		}
	}
	// Two requests under way; the replies come in the other order.
	s.between("192.0.2.21:27005", "198.51.100.11:9999")
	s.ask(xash3dHead + "netinfo 49 7 3")
	s.ask(xash3dHead + "netinfo 49 8 4")
	s.answer(xash3dHead + `netinfo 8 4 \hostname\Empty server\gamedir\cstrike\current\0\max\8\map\de_dust` + "\n")
	s.answer(xash3dHead + "netinfo 7 3 " + xash3dPlayers() + "\n")
}

// xash3dTrouble plays what goes wrong.
func xash3dTrouble(s *stage) {
	s.between("192.0.2.20:27005", "198.51.100.10:27015")
	s.ask(xash3dHead + "info 48")
	s.answer(xash3dHead + "info\nGreen server: wrong version\n")
	s.ask(xash3dHead + "netinfo 48 -5 4")
	s.answer(xash3dHead + `netinfo -5 4 \neterror\protocol` + "\n")
	s.ask(xash3dHead + "netinfo 49 6 3")
	s.answer(xash3dHead + `netinfo 6 3 \neterror\forbidden` + "\n")
	s.ask(xash3dHead + "netinfo 49 7 2")
	s.answer(xash3dHead + `netinfo 7 2 \mp_fraglimit\20\mp_timelimit\30\mp_falldamage\0\mp_friendlyfire\1\mp_weaponstay\0\decalfrequency\30\allow_monsters\0\mp_flash`)
	s.ask(xash3dHead + "netinfo 49 8 9")
	s.answer(xash3dHead + `netinfo 9 9 \neterror\undefined` + "\n")
	s.wait(6 * time.Second)
	s.answer(xash3dHead + "info\n" + `\p\49\map\crossfire\numcl\3\maxcl\16\gamedir\valve\password\1\host\Behind a NAT`)
}
