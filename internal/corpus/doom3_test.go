package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkDoom3 compares replies of the Doom 3 engine with GameQ. It compares those of
// qstat, which have no expected output, with their visible content.
func checkDoom3(t *testing.T, c *testCase, lines []object, want object) {
	replies := messages(lines, "info_reply", "info_ex_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	m := replies[0]
	f := fields(m)
	players := rows(m, "players")
	if m["request_frame"] == nil {
		t.Error("the reply answers nothing")
	}
	list, _ := m["findings"].([]any)
	fits := false
	for _, l := range list {
		switch id := l.(object)["id"].(string); {
		case id == "doom3.layout":
			fits = true
		case id == "doom3.challenge.echo" && c.Game == "Etqw": // the request of GameQ is one byte short
		case strings.HasPrefix(id, "doom3."), id == "malformed", id == "trailing":
			t.Errorf("finding %v", l)
		}
	}
	if !fits {
		t.Errorf("the layout is not that of the version: %v", list)
	}
	if c.Repo == "qstat" {
		// Twelve bots without a ping and 22 people, one of them with an empty slot.
		number, first, last, bot := 12, "^9Crap^7Shoot^1-", "^3buttes", true
		if c.Case == "etqw_1_4_test2" {
			number, first, last, bot = 22, "eXa3L", "Mylgrim", false
		}
		if len(players) != number || players[0]["name"] != first || players[number-1]["name"] != last {
			t.Errorf("%d players: %v", len(players), players)
		}
		for _, p := range players {
			if p["bot"] != bot {
				t.Errorf("%v", p)
			}
		}
		return
	}

	want = only(t, want)
	got := object{"numplayers": len(players)}
	for _, r := range rows(m, "rules") {
		key := r["key"].(string)
		if c.Game == "Etqw" { // GameQ removes the prefix
			key = strings.TrimPrefix(key, "si_")
		}
		got[key] = r["value"]
	}
	for ours, theirs := range map[string]string{
		"os_mask": "osmask", "ranked": "ranked", "time_left_ms": "timeleft", "game_state": "gamestate", "server_type": "servertype",
		"interested_clients": "interested_clients",
	} {
		if v, ok := f[ours]; ok {
			got[theirs] = v
		}
	}
	theirs, _ := want["players"].([]any)
	if len(theirs) != len(players) {
		t.Fatalf("%d players, want %d", len(players), len(theirs))
	}
	for i, w := range theirs {
		p := object{}
		for ours, theirs := range map[string]string{
			"id": "id", "name": "name", "ping": "ping", "rate": "rate", "clan": "clantag", "clan_position": "clantag_pos", "bot": "bot",
			"team": "teamname", "score": "total_kills", "deaths": "total_deaths", "xp": "total_xp",
		} {
			if v, ok := players[i][ours]; ok {
				p[theirs] = v
			}
		}
		compare(t, p, w.(object), nil)
	}
	compare(t, got, want, func(k string) bool {
		switch {
		case strings.HasPrefix(k, "gq_"), k == "players":
			return true
		case k == "dedicated": // added by GameQ
			return true
		case c.Game == "Quake4" && (k == "version" || k == "NGU"):
			// GameQ reads the version two bytes too early and treats the challenge as
			// a key. It sent "PiNGPoNG", and "PiNG" came back.
			return true
		}
		return false
	})
	if v := fmt.Sprintf("%v.%v", f["protocol_major"], f["protocol_minor"]); c.Game == "Quake4" && v != "2.85" {
		t.Errorf("protocol %s", v)
	}
}
