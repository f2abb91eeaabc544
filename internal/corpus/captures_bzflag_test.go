package corpus

import (
	"fmt"
	"testing"
)

// TestCapturesBZFlag: the replies of BZFlag are what bzfquery read by TCP: a game without
// players and with inertia. A request of 4 bytes gets none.
func TestCapturesBZFlag(t *testing.T) {
	lines := messages(capture(t, "bzflag"))
	if len(lines) != 5 {
		t.Fatalf("%d messages", len(lines))
	}
	for i, request := range []string{"1", "", "", "", "4"} {
		m := lines[i]
		if i == 2 && fmt.Sprint(m["findings"].([]any)[0].(object)["id"]) != "bzflag.short" {
			t.Errorf("%v is not too short", m)
		}
		if request == "" || m["role"] != "reply" {
			continue
		}
		f := m["bzflag"].(object)
		for k, want := range map[string]any{
			"version": "BZFS0221", "server_address": "map[ip:127.0.0.1 port:5154]", "game_type": 0, "options": 16, "max_players": 20, "max_shots": 3,
			"rogue": "map[max_players:10 num_players:0]", "red": "map[max_players:5 num_players:0]", "green": "map[max_players:5 num_players:0]",
			"blue": "map[max_players:0 num_players:0]", "purple": "map[max_players:0 num_players:0]", "observer": "map[max_players:3 num_players:0]",
		} {
			if fmt.Sprint(f[k]) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", k, f[k], want)
			}
		}
		if got := fmt.Sprint(m["request_frame"]); got != fmt.Sprint(lines[i-1]["frame"]) {
			t.Errorf("frame %v answers %s", m["frame"], got)
		}
	}
}
