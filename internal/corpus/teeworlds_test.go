package corpus

import (
	"strings"
	"testing"
)

// checkTeeworlds compares with GameQ, whose players, flag and team are the players
// without spectators, the country, and whether somebody plays.
func checkTeeworlds(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "teeworlds")
	replies := messages(lines, "info_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	f, got := fields(replies[0]), object{}
	for ours, theirs := range map[string]string{
		"name": "hostname", "map": "map", "gametype": "game_descr", "version": "version", "flags": "flags", "num_players": "num_players",
		"max_players": "maxplayers", "num_clients": "num_players_total", "max_clients": "maxplayers_total",
	} {
		got[theirs] = f[ours]
	}
	compare(t, got, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "players" || k == "dedicated" })
	compareTable(t, "player", rows(replies[0], "players"), want["players"], map[string]string{"country": "flag", "is_player": "team"})
}

// TestCapturesTeeworlds: what a server of DDNet replies to five dialects is what
// qstat read of one of them, and fits what was asked.
func TestCapturesTeeworlds(t *testing.T) {
	lines := capture(t, "ddnet")
	known(t, lines)
	qstat := documents(t, "ddnet.client-qstat.json")[0].([]any)[0].(object)
	replies := messages(lines, "info_reply")
	if len(replies) != 6 {
		t.Fatalf("%d infos, want 6", len(replies))
	}
	for _, m := range replies {
		f := fields(m)
		if m["request_frame"] == nil || f["map"] != qstat["map"] || f["gametype"] != qstat["gametype"] || !equal(f["num_players"], qstat["numplayers"]) {
			t.Errorf("frame %v: %v", m["frame"], m)
		}
		if f["word"] == "inf3" && f["packet_version"] == nil && !equal(f["max_players"], qstat["maxplayers"]) {
			t.Errorf("frame %v: %v players at most, want %v", m["frame"], f["max_players"], qstat["maxplayers"])
		}
	}
	for _, m := range messages(lines, "token_reply") {
		if m["request_frame"] == nil {
			t.Errorf("frame %v answers nothing", m["frame"])
		}
	}
}
