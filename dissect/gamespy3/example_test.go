package gamespy3_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/gamespy3"
)

// Decode a reply in one part.
func ExampleParse() {
	payload := []byte("\x00\x10\x20\x30\x40splitnum\x00\x80\x00" +
		"hostname\x00A server\x00mapname\x00Strike at Karkand\x00numplayers\x002\x00maxplayers\x0064\x00\x00" +
		"\x01player_\x00\x00Alice\x00Bob\x00\x00score_\x00\x0014\x00-3\x00\x00\x00" +
		"\x02team_t\x00\x00MEC\x00US\x00\x00\x00")
	m, err := gamespy3.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*gamespy3.StatusReply); ok {
		fmt.Println(reply.Rules[0].Value)
		for _, p := range reply.Players {
			name, _ := p.Get("player")
			score, _ := p.Get("score")
			fmt.Println(name, score)
		}
		fmt.Println(len(reply.Teams), "teams")
	}
	// Output:
	// A server
	// Alice 14
	// Bob -3
	// 2 teams
}
