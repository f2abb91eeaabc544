package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkVentrilo compares with GameQ, which has the keys of the wire in small letters and
// unpacks what is escaped.
func checkVentrilo(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "ventrilo")
	got := object{}
	list := map[string][]object{}
	for _, m := range messages(lines) {
		if findings := fmt.Sprint(m["findings"]); strings.Contains(findings, "ventrilo.crc") || strings.Contains(findings, "ventrilo.length") {
			t.Errorf("a sound message has %s", findings)
		}
		f := fields(m)
		for _, r := range rows(m, "rules") {
			got[strings.ToLower(r["key"].(string))] = strings.ReplaceAll(r["value"].(string), "%2C", ",")
		}
		got["channelcount"], got["clientcount"] = f["channel_count"], f["client_count"]
		list["teams"] = append(list["teams"], rows(m, "channels")...)
		list["players"] = append(list["players"], rows(m, "players")...)
	}
	for name, keys := range map[string]map[string]string{
		"teams":   {"cid": "id", "pid": "parent_id", "prot": "protection", "name": "name", "comm": "comment"},
		"players": {"cid": "channel_id", "admin": "admin", "phan": "phantom", "ping": "ping", "sec": "duration_s", "name": "name", "comm": "comment"},
	} {
		theirs, ok := want[name].([]any)
		if !ok || len(theirs) != len(list[name]) {
			t.Fatalf("%d %s, want %d", len(list[name]), name, len(theirs))
		}
		for i := range theirs {
			for k, w := range theirs[i].(object) {
				if keys[k] != "" && !equal(list[name][i][keys[k]], w) {
					t.Errorf("%s %d, %s: %v, want %v", name, i, k, list[name][i][keys[k]], w)
				}
			}
		}
	}
	compare(t, got, want, func(k string) bool {
		return strings.HasPrefix(k, "gq_") || k == "players" || k == "teams" || k == "dedicated"
	})
}
