package gamespy1_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/gamespy1"
)

// Decode a datagram from a socket or a bug report.
func ExampleParse() {
	payload := []byte(`\gamename\mohaa\hostname\A server\numplayers\2\maxplayers\20` +
		`\player_0\Anna\frags_0\12\ping_0\ 40\player_3\Borje\frags_3\-1\ping_3\ 107\final\\queryid\12.1`)
	m, err := gamespy1.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.(*gamespy1.Reply)
	for _, rule := range r.Rules {
		fmt.Println(rule.Key, "=", rule.Value)
	}
	for _, p := range r.Players {
		fmt.Println(p.Index, p.Name, p.Score.Value, p.Ping.Value)
	}
	// Output:
	// gamename = mohaa
	// hostname = A server
	// numplayers = 2
	// maxplayers = 20
	// 0 Anna 12 40
	// 3 Borje -1 107
}
