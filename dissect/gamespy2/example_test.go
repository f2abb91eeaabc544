package gamespy2_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/gamespy2"
)

// Decode the reply to a query for players and teams.
func ExampleParse() {
	payload := []byte("\x00CORX" +
		"\x00\x02player_\x00score_\x00team_\x00\x00Alice\x007\x000\x00Bob\x003\x001\x00" +
		"\x00\x02team_t\x00score_t\x00\x00Red\x001\x00Blue\x000\x00")
	m, err := gamespy2.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*gamespy2.StatusReply); ok {
		for _, p := range reply.Players {
			name, _ := p.Get("player")
			score, _ := p.Get("score")
			fmt.Println(name, score)
		}
		fmt.Println(len(reply.Teams), "teams")
	}
	// Output:
	// Alice 7
	// Bob 3
	// 2 teams
}
