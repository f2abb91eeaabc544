package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkTitanfall compares with what the test of go-svrquery expects.
func checkTitanfall(t *testing.T, _ *testCase, lines []object, want object) {
	sameProtocol(t, lines, "titanfall")
	infos := messages(lines, "info_reply")
	if len(infos) != 1 {
		t.Fatalf("%d infos", len(infos))
	}
	f := fields(infos[0])
	for ours, theirs := range map[string]string{"build": "BuildName", "datacenter": "Datacenter", "game_mode": "GameMode", "map": "Map", "port": "Port"} {
		if fmt.Sprint(f[ours]) != fmt.Sprint(want[theirs]) {
			t.Errorf("%s: %v, want %v", ours, f[ours], want[theirs])
		}
	}
	if strings.Contains(fmt.Sprint(infos[0]["findings"]), "id:titanfall") || infos[0]["request_frame"] == nil {
		t.Errorf("%v", infos[0])
	}
}
