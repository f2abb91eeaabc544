package corpus

import "testing"

// TestCapturesNetQuake: what QuakeSpasm replies to quakestat. (qstat 2.17 printed
// nothing.)
func TestCapturesNetQuake(t *testing.T) {
	lines := capture(t, "q1-quakespasm")
	known(t, lines)
	rules := object{}
	for _, m := range messages(lines) {
		if m["protocol"] != "netquake" || m["role"] == "reply" && m["request_frame"] == nil {
			t.Errorf("frame %v: %v", m["frame"], m)
		}
		if f := fields(m); m["message"] == "rule_reply" && f["key"] != nil {
			rules[f["key"].(string)] = f["value"]
		}
	}
	if s := messages(lines, "server_reply")[0]["server"].(object); s["name"] != "qdissect_QuakeSpasm" || s["map"] != "start" || !equal(s["players"], 1) || !equal(s["max_players"], 8) {
		t.Errorf("server %v", s)
	}
	if p := fields(messages(lines, "player_reply")[2]); p["name"] != "unconnected" || !equal(p["duration_s"], 6) || p["address"] != "10.77.0.2:40001" {
		t.Errorf("player %v", p)
	}
	if len(rules) != 7 || rules["sv_gravity"] != "800" {
		t.Errorf("rules %v", rules)
	}
}
