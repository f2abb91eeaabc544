package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkGameSpy2 compares with GameQ, which merges both replies into one dictionary and
// removes underscores from column names.
func checkGameSpy2(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "gamespy2")
	got := object{}
	var players, teams []object
	for _, m := range messages(lines, "status_reply") {
		for _, r := range rows(m, "rules") {
			got[r["key"].(string)] = r["value"]
		}
		for _, k := range []string{"num_players", "num_teams"} {
			if n, ok := fields(m)[k]; ok {
				got[k] = n
			}
		}
		players = append(players, rows(m, "players")...)
		teams = append(teams, rows(m, "teams")...)
	}
	compareTable(t, "player", players, want["players"], map[string]string{"name": "player"})
	compareTable(t, "team", teams, want["teams"], map[string]string{"name": "teamt", "score": "scoret"})
	compare(t, got, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "players" || k == "teams" })
}

// sameProtocol fails if a message has another protocol, if a reply has no request, or
// if there is a finding other than an unneeded challenge.
func sameProtocol(t *testing.T, lines []object, protocol string) {
	t.Helper()
	for _, m := range messages(lines) {
		if m["protocol"] != protocol {
			t.Errorf("frame %v is said to be of %v", m["frame"], m["protocol"])
		}
		if m["role"] == "reply" && m["request_frame"] == nil {
			t.Errorf("frame %v answers nothing", m["frame"])
		}
		list, _ := m["findings"].([]any)
		for _, f := range list {
			f := f.(object)
			if s := f["severity"]; (s == "error" || s == "warning") && !strings.HasSuffix(fmt.Sprint(f["id"]), ".amplification") && f["id"] != "mc.motd.nul" {
				t.Errorf("frame %v: %v", m["frame"], f)
			}
		}
	}
}

// compareTable compares the rows of a table. names are the columns with other names.
// Peers trim names.
func compareTable(t *testing.T, what string, got []object, want any, names map[string]string) {
	t.Helper()
	list, _ := want.([]any)
	if len(got) != len(list) {
		t.Errorf("%d rows of %ss, want %d", len(got), what, len(list))
		return
	}
	for i := range list {
		w := list[i].(object)
		n := 0
		for ours, g := range got[i] {
			theirs := ours
			if names[ours] != "" {
				theirs = names[ours]
			}
			if _, ok := w[theirs]; !ok {
				if !strings.HasSuffix(ours, "_hex") && !strings.HasSuffix(ours, "_plain") && g != "" {
					t.Errorf("%s %d: %s is not expected", what, i, ours)
				}
				continue
			}
			n++
			if a, b := strings.TrimSpace(fmt.Sprint(g)), strings.TrimSpace(fmt.Sprint(w[theirs])); !equal(a, b) {
				t.Errorf("%s %d, %s: %q, want %q", what, i, ours, a, b)
			}
		}
		if n != len(w) {
			t.Errorf("%s %d: %d columns, want %d: %v", what, i, n, len(w), w)
		}
	}
}
