package corpus

import (
	"fmt"
	"testing"
)

// checkSQP compares with go-svrquery's own tests, which ask for one kind of chunk each.
// The requests of the cases were made for them, with challenge 1 where the replies have
// 256: that is said of both.
func checkSQP(t *testing.T, c *testCase, lines []object, want object) {
	said := map[string]int{}
	for _, m := range messages(lines) {
		list, _ := m["findings"].([]any)
		for _, f := range list {
			if f := f.(object); f["severity"] != "chat" {
				said[fmt.Sprint(f["id"])]++
			}
		}
		if m["protocol"] != "sqp" || m["role"] == "reply" && m["request_frame"] == nil {
			t.Errorf("%v", m)
		}
	}
	delete(said, "sqp.part.reorder") // in info_multi
	if len(said) != 2 || said["sqp.challenge.mismatch"] != 1 || said["sqp.challenge.other"] != 1 {
		t.Errorf("findings: %v", said)
	}
	replies := messages(lines, "query_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	f, got := fields(replies[0]), object{}
	switch c.Case {
	case "info_multi":
		for ours, theirs := range map[string]string{
			"num_players": "current_players", "max_players": "max_players", "name": "server_name", "game_type": "game_type", "build": "build_id",
			"map": "map", "port": "port",
		} {
			got[theirs] = f[ours]
		}
		compare(t, got, want, nil)
	case "rules":
		for _, r := range rows(replies[0], "rules") {
			got[fmt.Sprint(r["key"])] = r["value"]
		}
		compare(t, got, want, nil)
	case "team":
		compareTable(t, "team", rows(replies[0], "entries"), want["list"], nil)
	default:
		t.Errorf("nobody knows the case %s", c.Case)
	}
}
