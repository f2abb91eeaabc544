package corpus

import (
	"strings"
	"testing"
)

// checkGameSpy1 compares with GameQ, which merges rules, players and teams into one
// dictionary.
func checkGameSpy1(t *testing.T, c *testCase, lines []object, want object) {
	want = only(t, want)
	replies := messages(lines, "status_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	reply := replies[0]
	if reply["request_frame"] == nil {
		t.Error("the reply answers nothing")
	}
	if n := severities(lines); n["error"]+n["warning"] > 0 {
		t.Errorf("findings: %v", reply["findings"])
	}
	rules := object{}
	for _, r := range rows(reply, "rules") {
		rules[r["key"].(string)] = r["value"] // GameQ keeps the last value of a key
	}
	players, teams := rows(reply, "players"), rows(reply, "teams")
	for k, w := range want {
		switch k {
		case "players":
			gs1Rows(t, k, players, w.([]any), map[string]string{"player": "name", "playername": "name", "frags": "score"})
		case "teams":
			gs1Rows(t, k, teams, w.([]any), map[string]string{"teamname": "name"})
		case "num_teams":
			if !equal(len(teams), w) {
				t.Errorf("%d teams, want %v", len(teams), w)
			}
		case "num_players":
			// GameQ counts the key playername, which only Battlefield 1942 has.
			if !equal(len(players), w) && !equal(w, 0) {
				t.Errorf("%d players, want %v", len(players), w)
			}
		case "final": // the end marker of the last datagram
		default:
			if strings.HasPrefix(k, "gq_") || k == "dedicated" && rules[k] == nil {
				continue // added by GameQ
			}
			if !equal(rules[k], w) {
				t.Errorf("rule %s: %q, want %q", k, rules[k], w)
			}
		}
	}
	for k := range rules {
		if want[k] == nil {
			t.Errorf("rule %s is not in GameQ's result", k)
		}
	}
	server := reply["server"].(object)
	for ours, theirs := range map[string]string{"name": "hostname", "map": "mapname", "game": "gamename", "version": "gamever", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], want[theirs]) {
			t.Errorf("server.%s: %v, want %v", ours, server[ours], want[theirs])
		}
	}
}

// gs1Rows compares a table by cell. names are the columns with other names.
func gs1Rows(t *testing.T, table string, got []object, want []any, names map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d %s, want %d", len(got), table, len(want))
	}
	for i, w := range want {
		w := w.(object)
		for k, v := range w {
			ours := names[k]
			if ours == "" {
				ours = k
			}
			if !equal(got[i][ours], v) {
				t.Errorf("%s %d, %s: %v, want %v", table, i, k, got[i][ours], v)
			}
		}
		if extra := len(got[i]) - len(w) - 1; extra > 0 { // added by us
			t.Errorf("%s %d has %d more: %v", table, i, extra, got[i])
		}
	}
}
