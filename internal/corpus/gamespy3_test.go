package corpus

import (
	"slices"
	"strings"
	"testing"
)

// checkGameSpy3 compares with GameQ, which merges settings and tables into one
// dictionary and trims names.
func checkGameSpy3(t *testing.T, c *testCase, lines []object, want object) {
	if c.Repo == "issues" {
		// A challenge of 0, and a query whose reply is missing.
		sameProtocol(t, lines, "gamespy3")
		m := messages(lines, "handshake_reply")
		if len(m) != 1 || !equal(fields(m[0])["challenge"], want["challenge"]) || !equal(fields(m[0])["session_id"], want["session"]) {
			t.Fatalf("%v, want %v", m, want)
		}
		list, _ := m[0]["findings"].([]any)
		if !slices.ContainsFunc(list, func(f any) bool { return f.(object)["id"] == "gs3.challenge0" }) {
			t.Errorf("%v", list)
		}
		return
	}
	want = only(t, want)
	sameProtocol(t, lines, "gamespy3")
	replies := messages(lines, "status_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	m := replies[0]
	got := object{}
	for _, r := range rows(m, "rules") {
		got[r["key"].(string)] = r["value"]
	}
	names := map[string]string{"name": "player"}
	players := rows(m, "players")
	if c.Game == "Justcause2" {
		names = nil
		// The number of players has two bytes. GameQ reads the second as the first
		// letter of the first name.
		first := want["players"].([]any)[0].(object)
		first["name"] = first["name"].(string)[1:]
	}
	compareTable(t, "player", players, want["players"], names)
	compareTable(t, "team", rows(m, "teams"), want["teams"], map[string]string{"name": "team"})
	if n := len(players); n > 0 && !equal(got["numplayers"], n) {
		t.Errorf("%d players, numplayers is %v", n, got["numplayers"])
	}
	compare(t, got, want, func(k string) bool {
		return strings.HasPrefix(k, "gq_") || k == "players" || k == "teams" ||
			c.Game == "Justcause2" && (k == "dedicated" || k == "mapname") // added by GameQ
	})
}
