package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect/ventrilo"
)

// ventriloRequest writes a request for a status with a password.
func ventriloRequest(command, id uint16, password string) string {
	return string(ventrilo.Seal(command, id, append([]byte(password), make([]byte, 16-len(password))...), 492)[0])
}

// ventriloStatus writes the parts of a status.
func ventriloStatus(id uint16, name string, clients ...string) (parts []string) {
	b := "NAME: " + name + "\nPHONETIC: " + name + "\nCOMMENT: Talk%2C here\nAUTH: 1\nMAXCLIENTS: 150\nVOICECODEC: 3,Speex\nVOICEFORMAT: 30,32 KHz%2C 16 bit%2C 8 Qlty\n" +
		"UPTIME: 4931211\nPLATFORM: Linux-i386\nVERSION: 3.0.6\nCHANNELCOUNT: 3\nCHANNELFIELDS: CID,PID,PROT,NAME,COMM\n"
	for i, c := range []string{"Lobby", "Raids%2C big", "Officers"} {
		b += fmt.Sprintf("CHANNEL: CID=%d,PID=%d,PROT=%d,NAME=%s,COMM=\n", 500+i, 0, i&2, c)
	}
	b += fmt.Sprintf("CLIENTCOUNT: %d\nCLIENTFIELDS: ADMIN,CID,PHAN,PING,SEC,NAME,COMM\n", len(clients))
	for i, c := range clients {
		b += fmt.Sprintf("CLIENT: ADMIN=%d,CID=%d,PHAN=0,PING=%d,SEC=%d,NAME=%s,COMM=\n", 1-min(i, 1), 500+i%3, 30+7*i, 52000-900*i, c)
	}
	for _, d := range ventrilo.Seal(3, id, []byte(b+"\x00"), 492) {
		parts = append(parts, string(d))
	}
	return parts
}

// ventriloClients are many clients.
func ventriloClients() (names []string) {
	for _, n := range strings.Fields("Anna Borje Cyd Dora Emil Fanny Gustav Hedda Ivar Jenny Kurt Lotta Malte Nora Olle Petra") {
		names = append(names, n, n+" II")
	}
	return names
}

// ventriloServers plays servers asked as GameQ and as node-gamedig ask, one of them on
// another port and with a password.
func ventriloServers(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:3784")
	// The request of GameQ, which is always the same bytes.
	s.ask("\x56\xc8\xf4\xf9\x60\xa2\x1e\xa5\x4d\xfb\x03\xcc\x51\x4e\xa1\x10\x95\xaf\xb2\x67\x17\x67\x81\x32\xfb\x57\xfd\x8e\xd2\x22\x72\x03\x34\x7a\xbb\x98")
	s.answers(ventriloStatus(0x5147, "Voice server", ventriloClients()...)...)
	s.between("192.0.2.20:50001", "198.51.100.11:4517")
	s.ask(ventriloRequest(2, 0, "hush-status"))
	parts := ventriloStatus(0, "Private voices", "Anna", "Borje")
	s.answers(parts[1], parts[0])
	s.ask(ventriloRequest(1, 9, ""))
	s.answers(string(ventrilo.Seal(3, 9, []byte("NAME: Private voices\nAUTH: 0\nMAXCLIENTS: 8\nVERSION: 2.1.2\nCLIENTCOUNT: 0\n\x00"), 492)[0]))
}

// ventriloTrouble plays what goes wrong.
func ventriloTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:3784")
	parts := ventriloStatus(1, "Voice server", ventriloClients()...)
	s.ask(ventriloRequest(2, 1, ""))
	s.answers(parts[0], parts[1], parts[1], parts[3])
	s.wait(12 * time.Second)
	damaged := []byte(ventriloStatus(2, "Voice server")[0])
	damaged[40]++
	s.ask(ventriloRequest(2, 2, ""))
	s.answer(string(damaged))
	s.ask(ventriloRequest(2, 3, ""))
	s.answers(ventriloStatus(4, "Voice server", "Anna")...)
	s.wait(12 * time.Second)
	s.ask(ventriloRequest(1, 5, ""))
	s.answers(ventriloStatus(5, "Voice server", ventriloClients()...)[1:]...)
}

// answers answers with several datagrams.
func (s *stage) answers(payloads ...string) {
	for _, p := range payloads {
		s.answer(p)
	}
}
