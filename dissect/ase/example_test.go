package ase_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/ase"
)

// A datagram from a socket or from a bug report.
func ExampleParse() {
	payload := []byte("EYE1\x04mta\x0622003\x09A server\x05Race\x03SF\x041.6\x020\x022\x0332\x01" +
		"\x3f\x05Anna\x01\x01\x027\x0331\x01" +
		"\x3f\x06Borje\x01\x01\x01\x04154\x01")
	m, err := ase.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := m.(*ase.StatusReply)
	fmt.Println(s.HostName, s.Map, s.NumPlayers, s.MaxPlayers)
	for _, p := range s.Players {
		fmt.Println(p.Name, p.Ping.Value)
	}
	// Output:
	// A server SF 2 32
	// Anna 31
	// Borje 154
}
