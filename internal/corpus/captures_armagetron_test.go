package corpus

import (
	"fmt"
	"testing"
)

// TestCapturesArmagetron: all datagrams of the recorded server are known, and its infos
// are what gamedig read.
func TestCapturesArmagetron(t *testing.T) {
	want := documents(t, "armagetronad.client-gamedig.json")[0].(object)
	raw := want["raw"].(object)
	seen := map[any]int{}
	for _, m := range messages(capture(t, "armagetronad")) {
		if m["protocol"] != "armagetron" {
			t.Errorf("%v is not known", m)
			continue
		}
		seen[m["message"]]++
		if m["message"] != "big_reply" {
			continue
		}
		says := m["armagetron"].(object)
		for _, c := range [][2]any{
			{says["name"], want["name"]}, {says["num_players"], want["numplayers"]}, {says["max_players"], want["maxplayers"]}, {says["release"], want["version"]},
			{says["version_min"], raw["versionmin"]}, {says["version_max"], raw["versionmax"]}, {says["options"], raw["options"]}, {says["url"], raw["uri"]},
		} {
			if fmt.Sprint(c[0]) != fmt.Sprint(c[1]) {
				t.Errorf("frame %v: %v, want %v", m["frame"], c[0], c[1])
			}
		}
	}
	if fmt.Sprint(seen) != "map[big_reply:3 big_request:4 refusal:1 small_reply:1 small_request:2]" {
		t.Error(seen)
	}
}
