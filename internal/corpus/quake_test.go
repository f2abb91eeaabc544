package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkQuakeWorld compares statuses of serverstat.
func checkQuakeWorld(t *testing.T, c *testCase, lines []object, want object) {
	list := messages(lines, "status_reply")
	if len(list) != 1 {
		t.Fatalf("%d replies", len(list))
	}
	m := list[0]
	settings, _ := want["settings"].(object)
	if len(rows(m, "rules")) < max(len(settings), 2) {
		t.Errorf("settings %v", rows(m, "rules"))
	}
	for _, r := range rows(m, "rules") {
		if w, ok := settings[r["key"].(string)]; len(settings) > 0 && (!ok || w != r["value"]) {
			t.Errorf("%v, want %v", r, w)
		}
	}
	clients, _ := want["clients"].([]any)
	players := rows(m, "players")
	if want["note"] == nil && len(players) != len(clients) {
		t.Fatalf("%d players, want %d", len(players), len(clients))
	}
	for i, w := range clients {
		p, w := players[i], w.(object)
		colors := w["colors"].([]any)
		for key, expected := range map[string]any{
			"id": w["id"], "score": w["frags"], "minutes": w["time"], "ping": w["ping"], "name": w["name"], "skin": w["skin"], "team": w["team"],
			"top_color": colors[0], "bottom_color": colors[1], "login": w["cc"], "spectator": w["spectator"],
		} {
			got := p[key]
			if key == "login" && got == nil {
				got = ""
			}
			if fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("player %d: %s is %v, want %v", i, key, got, expected)
			}
		}
	}
}

// checkQuake2 compares statuses of GameQ, which trims what it reads.
func checkQuake2(t *testing.T, c *testCase, lines []object, want object) {
	want = only(t, want)
	list := messages(lines, "status_reply")
	if len(list) != 1 || list[0]["protocol"] != "quake2" || list[0]["request_frame"] == nil {
		t.Fatalf("%v", list)
	}
	compared := 0
	for _, r := range rows(list[0], "rules") {
		key := strings.TrimSpace(r["key"].(string))
		if w, ok := want[key]; !ok || w != strings.TrimSpace(r["value"].(string)) {
			t.Errorf("%s is %q, want %q", key, r["value"], w)
		}
		compared++
	}
	players, expected := rows(list[0], "players"), want["players"]
	if w, _ := expected.([]any); len(w) != len(players) || fmt.Sprint(want["clients"]) != fmt.Sprint(len(players)) || compared < 10 {
		t.Fatalf("%d players, %d settings, want %v", len(players), compared, expected)
	}
	for i, p := range players {
		w := expected.([]any)[i].(object)
		if p["name"] != w["name"] || !equal(p["score"], w["frags"]) || !equal(p["ping"], w["ping"]) {
			t.Errorf("player %d: %v, want %v", i, p, w)
		}
	}
}

// checkQuakeWorldMaster compares lists of masterstat.
func checkQuakeWorldMaster(t *testing.T, c *testCase, lines []object, want object) {
	list := messages(lines, "servers_reply")
	if len(list) != 1 || fmt.Sprint(fields(list[0])["servers"]) != fmt.Sprint(want["servers"]) {
		t.Errorf("%v, want %v", list, want["servers"])
	}
}

// TestCapturesQuake: all that real servers of QuakeWorld and Alien Arena say is
// recognised, and each reply has its request.
func TestCapturesQuake(t *testing.T) {
	for name, replies := range map[string]int{"qw-mvdsv": 12, "q2-alienarena": 3} {
		lines := capture(t, name)
		known(t, lines)
		n := 0
		for _, m := range messages(lines) {
			if m["role"] == "reply" {
				if n++; m["request_frame"] == nil {
					t.Errorf("%s: frame %v has no request", name, m["frame"])
				}
			}
		}
		if n != replies {
			t.Errorf("%s: %d replies, want %d", name, n, replies)
		}
	}
}
