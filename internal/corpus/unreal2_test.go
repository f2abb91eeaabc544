package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkUnreal2 compares with GameQ, which numbers the mutators and puts them among the
// settings, where the last one of a name counts: so the waves of the details are lost to
// a rule.
func checkUnreal2(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "unreal2")
	got, mutators := object{}, 0
	var players []object
	for _, m := range messages(lines) {
		f := fields(m)
		switch m["message"] {
		case "details_reply":
			for ours, theirs := range map[string]string{
				"server_id": "serverid", "game_port": "gameport", "query_port": "queryport", "map": "mapname", "game_type": "gametype",
				"num_players": "numplayers", "max_players": "maxplayers",
			} {
				got[theirs] = f[ours]
			}
			if f["wave"] != nil {
				got["currentwave"] = f["wave"]
			} else {
				got["ping"] = f["ping"]
			}
			// It takes the second byte of a length for a part of the name, and bytes from 80
			// to 9F for control characters.
			if g, w := ascii(f["name"]), strings.TrimPrefix(ascii(want["servername"]), "\x02"); g != w {
				t.Errorf("name %q, want %q", g, w)
			}
		case "rules_reply":
			for _, r := range rows(m, "rules") {
				key := strings.ToLower(fmt.Sprint(r["key"]))
				if r["key"] == "Mutator" {
					key = fmt.Sprint(key, mutators)
					mutators++
				}
				got[key] = r["value"]
			}
		case "players_reply":
			players = append(players, rows(m, "players")...)
		}
	}
	list := want["players"].([]any)
	if len(players) != len(list) {
		t.Fatalf("%d players, want %d", len(players), len(list))
	}
	for i := range list {
		for k, w := range list[i].(object) {
			if !equal(players[i][k], w) {
				t.Errorf("player %d, %s: %v, want %v", i, k, players[i][k], w)
			}
		}
	}
	compare(t, got, want, func(k string) bool {
		return strings.HasPrefix(k, "gq_") || k == "players" || k == "servername" || k == "serverip"
	})
}
