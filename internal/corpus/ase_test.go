package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkASE compares a reply with GameQ. A column that the server leaves empty is
// missing here and empty in GameQ.
func checkASE(t *testing.T, c *testCase, lines []object, want object) {
	want = only(t, want)
	replies := messages(lines, "status_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	reply := replies[0]
	if reply["request_frame"] == nil {
		t.Error("the reply answers nothing")
	}
	if n := severities(lines); n["error"]+n["warning"]+n["note"] > 0 {
		t.Errorf("findings: %v", reply["findings"])
	}
	names := map[string]string{"servername": "hostname", "num_players": "numplayers", "max_players": "maxplayers"}
	for k, w := range want {
		if strings.HasPrefix(k, "gq_") || k == "dedicated" || k == "players" {
			continue // added by GameQ; players are compared below
		}
		ours := names[k]
		if ours == "" {
			ours = k
		}
		if !equal(fields(reply)[ours], w) {
			t.Errorf("%s: %v, want %v", k, fields(reply)[ours], w)
		}
	}
	players := rows(reply, "players")
	list := want["players"].([]any)
	if len(players) != len(list) || !equal(fields(reply)["numplayers"], len(players)) {
		t.Fatalf("%d players, want %d", len(players), len(list))
	}
	for i, w := range list {
		for k, v := range w.(object) {
			ours := k
			if k == "time" {
				ours = "duration_s"
			}
			got := players[i][ours]
			if got == nil {
				got = ""
			}
			if v == false { // PHP's representation of the empty text at the end
				v = ""
			}
			if k == "name" { // GameQ trims names
				got, v = strings.TrimSpace(fmt.Sprint(got)), strings.TrimSpace(fmt.Sprint(v))
			}
			if !equal(got, v) {
				t.Errorf("player %d, %s: %v, want %v", i, k, got, v)
			}
		}
	}
}
