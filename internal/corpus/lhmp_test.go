package corpus

import (
	"strings"
	"testing"
)

// checkLHMP compares with GameQ.
func checkLHMP(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "lhmp")
	got := object{}
	for _, m := range messages(lines) {
		f := fields(m)
		if m["message"] != "info_reply" {
			continue
		}
		for ours, theirs := range map[string]string{
			"protocol": "protocol", "num_players": "numplayers", "max_players": "maxplayers", "name": "servername", "mode": "gamemode", "website": "website", "map": "mapname",
		} {
			got[theirs] = f[ours]
		}
		if m["server"].(object)["password"] != false || want["password"] != "" {
			t.Errorf("password %v, want %q", m["server"], want["password"])
		}
	}
	compare(t, got, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "password" })
}
