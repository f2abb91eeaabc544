package corpus

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkCS2D compares with GameQ, which has a key for each flag.
func checkCS2D(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "cs2d")
	got := object{}
	var players []object
	for _, m := range messages(lines) {
		f := fields(m)
		players = append(players, rows(m, "players")...)
		if f["name"] == nil {
			continue
		}
		for ours, theirs := range map[string]string{
			"name": "servername", "map": "mapname", "num_players": "num_players", "max_players": "max_players", "mode": "game_mode", "num_bots": "num_bots",
		} {
			got[theirs] = f[ours]
		}
		flags, err := f["flags"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		for k, bit := range map[string]int64{"password": 1, "registered_only": 2, "fog_of_war": 4, "friendly_fire": 8, "bots_enabled": 32, "lua_scripts": 64} {
			got[k] = flags&bit != 0
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
	compare(t, got, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "players" || k == "dedicated" })
}
