package corpus

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exchanges returns the replies to each client, in the order in which the clients
// appear.
func exchanges(lines []object, names ...string) (replies []object) {
	for _, m := range messages(lines, names...) {
		if m["request_frame"] != nil {
			replies = append(replies, m)
		}
	}
	return replies
}

func ruleMap(m object) object {
	rules := object{}
	for _, r := range rows(m, "rules") {
		rules[r["key"].(string)] = r["value"]
	}
	return rules
}

// document returns the first JSON document in the output of a client.
func document(t *testing.T, name string) object {
	t.Helper()
	switch d := documents(t, name)[0].(type) {
	case object:
		return d
	case []any:
		return d[0].(object)
	}
	t.Fatalf("%s is not an object", name)
	return nil
}

// TestCapturesGameSpy3 compares with the output of clients that queried the sample
// server of GameSpy's SDK. Four got a reply. Queries without a challenge, and those of
// GameSpy 2, got none.
func TestCapturesGameSpy3(t *testing.T) {
	const name = "gs-qr2-challenge"
	lines := capture(t, name)
	known(t, lines)
	replies := exchanges(lines, "status_reply")
	if len(replies) != 4 {
		t.Fatalf("%d replies", len(replies))
	}
	if n := len(exchanges(lines, "handshake_reply")); n != 4 {
		t.Errorf("%d handshakes", n)
	}
	unanswered := map[string]int{}
	for _, l := range lines {
		if l["type"] == "finding" {
			unanswered[fmt.Sprint(l["findings"].([]any)[0].(object)["id"])]++
		}
	}
	// The last request is open at the end of the capture.
	if !maps.Equal(unanswered, map[string]int{"gs3.noreply": 1, "gs2.noreply": 1}) {
		t.Errorf("%v", unanswered)
	}
	checkSBQueryTest(t, name, replies[0])
	checkQstatGameSpy3(t, document(t, name+".client-qstat-gs4.json"), replies[1])
	checkGamedigGameSpy3(t, document(t, name+".client-gamedig-gs3.json"), replies[2])

	gameq := only(t, document(t, name+".client-gameq-gs3.json"))
	ignore := func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "players" || k == "teams" }
	compare(t, ruleMap(replies[3]), gameq, ignore)
	for _, table := range []string{"players", "teams"} {
		for _, row := range gameq[table].([]any) {
			maps.DeleteFunc(row.(object), func(k string, _ any) bool { return strings.HasPrefix(k, "gq_") })
		}
	}
	compareTable(t, "player", rows(replies[3], "players"), gameq["players"], map[string]string{"name": "player"})
	compareTable(t, "team", rows(replies[3], "teams"), gameq["teams"], map[string]string{"name": "team"})
}

// checkSBQueryTest compares with the client of the SDK, which prints each value with
// its row.
func checkSBQueryTest(t *testing.T, name string, m object) {
	t.Helper()
	got := object{}
	for k, v := range ruleMap(m) {
		got[k] = v
	}
	for i, p := range rows(m, "players") {
		for k, v := range p {
			if k == "name" {
				k = "player"
			}
			got[k+"_"+strconv.Itoa(i)] = v
		}
	}
	for i, p := range rows(m, "teams") {
		for k, v := range p {
			if k == "name" {
				k = "team"
			}
			got[k+"_t"+strconv.Itoa(i)] = v
		}
	}
	b, err := os.ReadFile(filepath.Join(captures, name+".client-sbquerytest.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		k, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		if !ok {
			continue
		}
		n++
		if !equal(got[k], want) {
			t.Errorf("%s: %v, the SDK has %q", k, got[k], want)
		}
	}
	if n != len(got) {
		t.Errorf("%d values, the SDK has %d", len(got), n)
	}
}

// checkQstatGameSpy3 compares with qstat. qstat counts teams from 1, so players have
// the wrong team, and it lists teams among the rules.
func checkQstatGameSpy3(t *testing.T, want, m object) {
	t.Helper()
	rules := ruleMap(m)
	for ours, theirs := range map[string]string{"hostname": "name", "gametype": "gametype", "mapname": "map", "numplayers": "numplayers", "maxplayers": "maxplayers"} {
		if !equal(rules[ours], want[theirs]) {
			t.Errorf("%s: %v, qstat has %v", ours, rules[ours], want[theirs])
		}
	}
	for i, team := range rows(m, "teams") {
		rules["team_t"+strconv.Itoa(i)], rules["score_t"+strconv.Itoa(i)], rules["avgping_t"+strconv.Itoa(i)] = team["name"], team["score"], team["avgping"]
	}
	compare(t, rules, want["rules"].(object), nil)
	list := want["players"].([]any)
	slices.Reverse(list) // the newest first
	for i, p := range list {
		delete(p.(object), "team")
		list[i] = p
	}
	players := rows(m, "players")
	for _, p := range players {
		delete(p, "team")
	}
	compareTable(t, "player", players, want["players"], nil)
}

func checkGamedigGameSpy3(t *testing.T, want, m object) {
	t.Helper()
	raw := want["raw"].(object)
	compare(t, ruleMap(m), raw, func(k string) bool { return k == "playerTeamInfo" })
	info := raw["playerTeamInfo"].(object)
	compareTable(t, "player", rows(m, "players"), info[""], map[string]string{"name": "player"})
	compareTable(t, "team", rows(m, "teams"), info["t"], map[string]string{"name": "team"})
	server := m["server"].(object)
	for ours, theirs := range map[string]string{"name": "name", "map": "map", "version": "version", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], want[theirs]) {
			t.Errorf("%s: %v, gamedig has %v", ours, server[ours], want[theirs])
		}
	}
}

// TestCapturesMinecraft compares with the output of seven clients that queried a
// server of the Pocket Edition.
func TestCapturesMinecraft(t *testing.T) {
	const name = "gs4-nukkit"
	lines := capture(t, name)
	for _, l := range lines {
		// gamedig tries all protocols.
		want := any("minecraft")
		if equal(l["frame"], 22) || equal(l["frame"], 23) {
			want = "raknet"
		}
		if l["protocol"] != nil && l["protocol"] != want {
			t.Errorf("frame %v is said to be of %v", l["frame"], l["protocol"])
		}
	}
	full := exchanges(lines, "full_stat_reply")
	if len(full) != 7 {
		t.Fatalf("%d full stats", len(full))
	}
	if n := len(exchanges(lines, "handshake_reply")); n != 7 {
		t.Errorf("%d handshakes", n)
	}
	for i, m := range full {
		if fields(m)["software"] != "Nukkit 1.0dev" || len(rows(m, "players")) != 0 {
			t.Errorf("full stat %d: %v", i, fields(m))
		}
	}
	rules := ruleMap(full[0])

	qstat := document(t, name+".client.json")
	compare(t, rules, qstat["rules"].(object), nil)
	server := full[0]["server"].(object)
	for ours, theirs := range map[string]string{"map": "map", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], qstat[theirs]) {
			t.Errorf("%s: %v, qstat has %v", ours, server[ours], qstat[theirs])
		}
	}
	xpaw := document(t, name+".client-xpaw-php.json")["info"].(object)
	for ours, theirs := range map[string]string{
		"gametype": "GameType", "game_id": "GameName", "version": "Version", "map": "Map", "numplayers": "Players", "maxplayers": "MaxPlayers",
		"hostip": "HostIp", "hostport": "HostPort", "plugins": "RawPlugins",
	} {
		if !equal(rules[ours], xpaw[theirs]) {
			t.Errorf("%s: %v, xPaw has %v", ours, rules[ours], xpaw[theirs])
		}
	}
	if software := fields(full[1])["software"]; software != xpaw["Software"] {
		t.Errorf("software %v, xPaw has %v", software, xpaw["Software"])
	}
	tunnel := document(t, name+".client-gophertunnel.json")["result"].(object)
	compare(t, rules, tunnel, func(k string) bool { return k == "players" })
	for _, file := range []string{".client-gameq.json", ".client-gameq-pe.json"} {
		// UTF-8 was encoded twice.
		compare(t, rules, only(t, document(t, name+file)), func(k string) bool {
			return strings.HasPrefix(k, "gq_") || k == "players" || k == "teams" || k == "hostname"
		})
	}
	gamedig := document(t, name+".client-gamedig.json")["raw"].(object)["gamespy"].(object)["raw"].(object)
	compare(t, rules, gamedig, func(k string) bool { return k == "playerTeamInfo" })
	if rules["hostname"] != gamedig["hostname"] || server["name"] != "qdissect Nukkit" {
		t.Errorf("hostname %q, name %q", rules["hostname"], server["name"])
	}

	basic := exchanges(lines, "basic_stat_reply")
	if len(basic) != 1 {
		t.Fatalf("%d basic stats", len(basic))
	}
	compare(t, fields(basic[0]), object{
		"motd": "qdissect §bNukkit", "gametype": "SMP", "map": "unknown", "numplayers": 0, "maxplayers": 33, "hostport": 19132, "hostip": "0.0.0.0",
	}, nil)
}
