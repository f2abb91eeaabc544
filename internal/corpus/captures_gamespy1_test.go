package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCapturesGameSpy1 compares with the output of clients that queried a server of
// GameSpy's SDK, and with seven queries of a script.
func TestCapturesGameSpy1(t *testing.T) {
	for _, name := range []string{"gs1-qr1", "gs1-qr1-split"} {
		t.Run(name, func(t *testing.T) {
			lines := capture(t, name)
			known(t, lines)
			checkQstatGameSpy1(t, name, gs1Reply(t, lines, "status_request", 0))
			checkGamedigGameSpy1(t, name, gs1Reply(t, lines, "status_request", 1))
			checkGameQGameSpy1(t, name, gs1Reply(t, lines, "status_request", 2))
			checkRawGameSpy1(t, name, lines)
			unasked := 0
			for _, m := range messages(lines) {
				if m["role"] == "reply" && m["request_frame"] == nil {
					unasked++
				}
			}
			// The server also answers qstat's query for another protocol.
			if unasked != 1 {
				t.Errorf("%d replies answer nothing", unasked)
			}
			if n := severities(lines); n["error"]+n["warning"] > 0 {
				t.Errorf("%v", n)
			}
		})
	}
}

// gs1Reply returns the reply to the nth request of a kind.
func gs1Reply(t *testing.T, lines []object, request string, n int) object {
	t.Helper()
	requests := messages(lines, request)
	if n >= len(requests) {
		t.Fatalf("%d of %s", len(requests), request)
	}
	for _, m := range messages(lines) {
		if m["request_frame"] != nil && equal(m["request_frame"], requests[n]["frame"]) {
			return m
		}
	}
	t.Fatalf("frame %v has no reply", requests[n]["frame"])
	return nil
}

func gs1Rules(m object) object {
	rules := object{}
	for _, r := range rows(m, "rules") {
		rules[r["key"].(string)] = r["value"]
	}
	return rules
}

// checkQstatGameSpy1 compares with qstat, which drops non-ASCII characters and sorts
// players by score.
func checkQstatGameSpy1(t *testing.T, name string, m object) {
	t.Helper()
	want := documents(t, name+".client.json")[0].([]any)[0].(object)
	server := m["server"].(object)
	for ours, theirs := range map[string]string{"name": "name", "map": "map", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], want[theirs]) {
			t.Errorf("qstat, %s: %v, want %v", theirs, server[ours], want[theirs])
		}
	}
	rules := gs1Rules(m)
	for k, w := range want["rules"].(object) {
		if !equal(rules[k], w) {
			t.Errorf("qstat, rule %s: %v, want %v", k, rules[k], w)
		}
	}
	row := func(p object) string {
		return fmt.Sprint(ascii(p["name"]), " ", p["score"], " ", p["deaths"], " ", p["ping"])
	}
	got := map[string]bool{}
	for _, p := range rows(m, "players") {
		got[row(p)] = true
	}
	list := want["players"].([]any)
	for _, w := range list {
		if !got[row(w.(object))] {
			t.Errorf("qstat, player %v is not there", w)
		}
	}
	if len(got) != len(list) {
		t.Errorf("%d players, qstat has %d", len(got), len(list))
	}
}

// checkGamedigGameSpy1 compares with gamedig, which has no score for this game and
// keeps the names of columns.
func checkGamedigGameSpy1(t *testing.T, name string, m object) {
	t.Helper()
	want := documents(t, name+".client-gamedig-gs1.json")[0].(object)
	server := m["server"].(object)
	for ours, theirs := range map[string]string{"name": "name", "map": "map", "version": "version", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], want[theirs]) {
			t.Errorf("gamedig, %s: %v, want %v", theirs, server[ours], want[theirs])
		}
	}
	rules := gs1Rules(m)
	for k, w := range want["raw"].(object) {
		if k != "teams" && !equal(rules[k], w) { // added by gamedig: an empty list of teams
			t.Errorf("gamedig, rule %s: %v, want %v", k, rules[k], w)
		}
	}
	players := rows(m, "players")
	list := want["players"].([]any)
	if len(players) != len(list) {
		t.Fatalf("%d players, gamedig has %d", len(players), len(list))
	}
	for i, w := range list {
		raw := w.(object)["raw"].(object)
		if players[i]["name"] != w.(object)["name"] || !equal(players[i]["score"], raw["frags"]) || !equal(players[i]["deaths"], raw["deaths"]) || !equal(players[i]["ping"], raw["ping"]) {
			t.Errorf("player %v, gamedig has %v", players[i], w)
		}
	}
}

// checkGameQGameSpy1 compares with GameQ.
func checkGameQGameSpy1(t *testing.T, name string, m object) {
	t.Helper()
	want := only(t, documents(t, name+".client-gameq-gs1.json")[0].(object))
	rules := gs1Rules(m)
	for k, w := range want {
		switch {
		case strings.HasPrefix(k, "gq_"), k == "final", k == "num_players", k == "num_teams": // added by GameQ
		case k == "players":
			players := rows(m, k)
			list := w.([]any)
			if len(players) != len(list) {
				t.Fatalf("%d players, GameQ has %d", len(players), len(list))
			}
			for i, w := range list {
				w := w.(object)
				if players[i]["name"] != w["player"] || !equal(players[i]["score"], w["frags"]) || !equal(players[i]["deaths"], w["deaths"]) || !equal(players[i]["ping"], w["ping"]) {
					t.Errorf("player %v, GameQ has %v", players[i], w)
				}
			}
		case k == "teams":
			if len(w.([]any)) != len(rows(m, k)) {
				t.Errorf("%d teams, GameQ has %v", len(rows(m, k)), w)
			}
		default:
			if !equal(rules[k], w) {
				t.Errorf("GameQ, rule %s: %v, want %v", k, rules[k], w)
			}
		}
	}
}

// checkRawGameSpy1 compares with a script that sent each query of the SDK once and
// printed the datagrams as Python literals.
func checkRawGameSpy1(t *testing.T, name string, lines []object) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name+".client-raw.txt"))
	if err != nil {
		t.Fatal(err)
	}
	datagrams := map[string]int{}
	for line := range strings.Lines(string(b)) {
		query, _, ok := strings.Cut(line, " b'")
		if !ok {
			t.Fatalf("%q", line)
		}
		datagrams[query]++
	}
	for query, n := range datagrams {
		words := strings.FieldsFunc(query, func(r rune) bool { return r == '\\' })
		answered := false
		for _, m := range messages(lines) {
			if m["role"] != "request" || m["protocol"] != "gamespy1" {
				continue
			}
			var got []string
			for _, q := range rows(m, "queries") {
				got = append(got, q["query"].(string))
				if v := q["value"]; v != nil {
					got = append(got, v.(string))
				}
			}
			if strings.Join(got, " ") != strings.Join(words, " ") {
				continue
			}
			for _, a := range messages(lines) {
				if a["request_frame"] == nil || !equal(a["request_frame"], m["frame"]) {
					continue
				}
				parts := 1
				if list, ok := a["frames"].([]any); ok {
					parts = len(list)
				}
				answered = answered || parts == n
			}
		}
		if !answered {
			t.Errorf("no reply to %s in %d datagrams", query, n)
		}
	}
}
