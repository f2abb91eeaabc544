package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkMinecraft compares with the dumps in the document, with GameQ, and with the
// assertions of mcstatus.
func checkMinecraft(t *testing.T, c *testCase, lines []object, want object) {
	sameProtocol(t, lines, "minecraft")
	replies := messages(lines, "handshake_reply", "basic_stat_reply", "full_stat_reply")
	m := replies[len(replies)-1]
	rules := object{}
	for _, r := range rows(m, "rules") {
		if _, ok := rules[r["key"].(string)]; !ok {
			rules[r["key"].(string)] = r["value"]
		}
	}
	switch {
	case c.Case == "handshake":
		f := fields(m)
		compare(t, object{"session": f["session_id"], "token": f["challenge"], "type": f["type"]}, want, nil)
	case c.Case == "basic_stat":
		compare(t, fields(m), want, nil)
	case c.Case == "full_stat":
		list := rows(m, "rules")
		pairs := want["kv"].([]any)
		if len(list) != len(pairs) {
			t.Fatalf("%d keys, want %d", len(list), len(pairs))
		}
		for i, p := range pairs {
			p := p.([]any)
			if i == 0 {
				p[1] = "A Minecraft Server" // the bytes have 4D, although the text beside the dump has a lower-case m
			}
			if list[i]["key"] != p[0] || list[i]["value"] != p[1] {
				t.Errorf("%v, want %v", list[i], p)
			}
		}
		for i, name := range want["players"].([]any) {
			if players := rows(m, "players"); i >= len(players) || players[i]["name"] != name {
				t.Errorf("player %d: want %v", i, name)
			}
		}
	case c.Repo == "mcstatus":
		checkMCStatus(t, rules, want)
	default:
		want = only(t, want)
		compareTable(t, "player", rows(m, "players"), want["players"], map[string]string{"name": "player"})
		compare(t, rules, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "players" })
		checkPlugins(t, m, fmt.Sprint(want["plugins"]))
	}
}

// checkPlugins joins the list of plugins again.
func checkPlugins(t *testing.T, m object, want string) {
	t.Helper()
	var names []string
	list, _ := fields(m)["plugins"].([]any)
	for _, p := range list {
		names = append(names, p.(string))
	}
	got := fmt.Sprint(fields(m)["software"])
	if len(names) > 0 {
		got += ": " + strings.Join(names, "; ")
	}
	if got != want {
		t.Errorf("plugins %q, want %q", got, want)
	}
}

// checkMCStatus compares with assertions, which are Python calls.
func checkMCStatus(t *testing.T, rules, want object) {
	t.Helper()
	for k, w := range want {
		switch k {
		case "response.motd":
			call := w.(object)["call"].(string)
			name := strings.TrimSuffix(strings.TrimPrefix(call, "Motd.parse('"), "')")
			if w := strings.ReplaceAll(name, `\x00`, "\x00"); rules["hostname"] != w {
				t.Errorf("%q, want %q", rules["hostname"], w)
			}
		case "response.raw['game_id']":
			if rules["game_id"] != w {
				t.Errorf("%q, want %q", rules["game_id"], w)
			}
		case "response.software.version":
			if rules["version"] != w {
				t.Errorf("%q, want %q", rules["version"], w)
			}
		default:
			t.Errorf("assertion %s is not compared", k)
		}
	}
}
