package corpus

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// checkValve compares A2S and Half-Life replies. Each peer has its own names.
func checkValve(t *testing.T, c *testCase, lines []object, want object) {
	switch {
	case c.Repo == "gameq":
		checkGameQValve(t, c, lines, only(t, want))
		return
	case strings.HasPrefix(c.Case, "rules_"):
		got := object{}
		for _, m := range messages(lines, "rules_reply") {
			for _, r := range rows(m, "rules") {
				got[r["key"].(string)] = r["value"]
			}
		}
		compare(t, got, want, nil)
		return
	case c.Case == "player_example":
		got := object{}
		for _, m := range messages(lines, "players_reply") {
			got["player_count"] = fields(m)["num_players"]
			for i, p := range rows(m, "players") {
				for _, k := range []string{"index", "name", "score"} {
					got[fmt.Sprintf("players[%d].%s", i, k)] = p[k]
				}
				got[fmt.Sprintf("players[%d].name_len", i)] = len(p["name"].(string))
			}
		}
		compare(t, got, want, nil)
		return
	case c.Case == "info_challenge_then_silence":
		var ids []string
		for _, l := range lines {
			if l["type"] == "finding" {
				ids = append(ids, l["findings"].([]any)[0].(object)["id"].(string))
			}
		}
		// The capture ends with the request, which is open.
		sum := lines[len(lines)-1]["requests"]
		if got, ok := sum.(object); !ok || !equal(got["open"], json.Number("1")) || len(ids) > 0 {
			t.Errorf("findings %q, requests %v", ids, sum)
		}
		return
	case c.Case == "challenge":
		if n := messages(lines, "challenge_reply"); len(n) != 1 || !equal(fields(n[0])["challenge"], want["challenge"]) {
			t.Errorf("%v, want %v", n, want)
		}
		return
	case strings.HasPrefix(c.Case, "ping"):
		if n := messages(lines, "ping_reply"); len(n) != 1 || n[0]["request_frame"] == nil {
			t.Errorf("%v", n)
		}
		return
	}
	infos := messages(lines, "info_reply")
	if len(infos) != 1 {
		t.Fatalf("%d info replies", len(infos))
	}
	f := fields(infos[0])
	got := object{}
	for ours, theirs := range map[string][]string{
		"protocol":    {"protocol", "Protocol", "info->protocol"},
		"name":        {"name", "HostName", "info->name"},
		"map":         {"map", "Map", "info->map"},
		"folder":      {"folder", "ModDir", "info->folder"},
		"game":        {"game", "ModDesc", "info->game"},
		"appid":       {"appid", "id", "AppID", "info->id"},
		"num_players": {"players", "Players", "info->players"},
		"max_players": {"max_players", "max. players", "MaxPlayers", "info->max_players"},
		"num_bots":    {"bots", "Bots", "info->bots"},
		"server_type": {"server_type", "server type", "Dedicated"},
		"os":          {"os", "environment", "Os"},
		"password":    {"password", "visibility", "Password", "info->visibility"},
		"vac":         {"vac", "Secure", "info->vac"},
		"version":     {"version", "Version", "info->version"},
		"edf":         {"edf", "ExtraDataFlags"},
		"port":        {"port", "GamePort", "info->port"},
		"steam_id":    {"SteamID", "info->steamid"},
		"stv_port":    {"stv_port"},
		"stv_name":    {"stv_name"},
		"keywords":    {"GameTags", "info->keywords"},
		"game_id":     {"gameid", "GameID", "info->gameid"},
		"mode":        {"ship_mode", "GameMode"},
		"witnesses":   {"ship_witnesses", "WitnessCount"},
		"duration":    {"ship_duration", "WitnessTime"},
		"type":        {"type"},
		"address":     {"address"},
	} {
		for _, k := range theirs {
			if v, ok := f[ours]; ok {
				got[k] = v
			}
		}
	}
	if mod, ok := f["mod"].(object); ok { // 991jo's names for the mod have no prefix
		got["link"], got["download link"], got["version"], got["size"], got["mod"] = mod["url"], mod["url_download"], mod["version"], mod["size"], f["is_mod"]
		got["type"], got["dll"] = mod["server_only"], mod["client_dll"]
	}
	compare(t, got, want, func(k string) bool {
		// Not in the message: addresses of the test, names of enumerations, lengths.
		return strings.HasPrefix(k, "_") || strings.HasSuffix(k, "_len") || k == "header" || k == "info->edf" ||
			strings.HasPrefix(fmt.Sprint(want[k]), "A2S_") || want[k] == "NULL" || k == "info->stv_port"
	})
}

func compare(t *testing.T, got, want object, ignore func(string) bool) {
	t.Helper()
	n := 0
	for k, w := range want {
		if ignore != nil && ignore(k) {
			continue
		}
		n++
		if g, ok := got[k]; !ok || !equal(g, w) {
			t.Errorf("%s: %v, want %v", k, g, w)
		}
	}
	if n == 0 && len(want) > 0 {
		t.Error("nothing compared")
	}
}

// checkGameQValve compares with GameQ, which merges all replies of a server into one
// dictionary. corpus/README.md says what that loses.
func checkGameQValve(t *testing.T, c *testCase, lines []object, want object) {
	got := object{}
	var players []object
	var listed any // the last list counts, also if it is a duplicate
	info := func(f object, ours, theirs string) {
		if v, ok := f[ours]; ok {
			got[theirs] = v
		}
	}
	for _, m := range messages(lines) {
		f := fields(m)
		switch m["message"] {
		case "info_reply":
			for ours, theirs := range map[string]string{
				"address": "address", "name": "hostname", "map": "map", "folder": "game_dir", "game": "game_descr", "appid": "steamappid",
				"num_players": "num_players", "max_players": "max_players", "num_bots": "num_bots", "server_type": "dedicated", "os": "os",
				"password": "password", "vac": "secure", "version": "version", "protocol": "protocol", "port": "port",
				"steam_id": "steam_id", "keywords": "keywords", "is_mod": "ismod",
				"mode": "game_mode", "witnesses": "witness_count", "duration": "witness_time", "stv_port": "sourcetv_port", "stv_name": "sourcetv_name",
			} {
				info(f, ours, theirs)
			}
			if id, ok := f["game_id"].(string); ok { // GameQ keeps the application of a GameID
				n, err := strconv.ParseUint(id, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got["game_id"] = n & 0xffffff
				if want["game_id"] != nil && equal(want["game_id"], id) {
					got["game_id"] = id
				}
			}
			if _, ok := want["version"].(json.Number); ok && f["type"] == "m" { // GameQ's name for the protocol of GoldSrc
				info(f, "protocol", "version")
			}
			if mod, ok := f["mod"].(object); ok {
				for ours, theirs := range map[string]string{
					"url": "mod_urlinfo", "url_download": "mod_urldl", "version": "mod_version", "size": "mod_size", "server_only": "mod_type", "client_dll": "mod_cldll",
				} {
					info(mod, ours, theirs)
				}
			}
		case "players_reply":
			listed = f["num_players"]
			players = append(players, rows(m, "players")...)
		case "rules_reply":
			if len(rows(m, "rules")) > 0 || f["chunks"] == nil {
				info(f, "num_rules", "num_rules")
			}
			for _, r := range rows(m, "rules") {
				got[r["key"].(string)] = r["value"]
			}
			if b, ok := f["server_browser"].(object); ok {
				checkArma(t, b, want)
			}
		}
	}
	if listed != nil {
		got["num_players"] = listed
	}
	if list, ok := want["players"].([]any); ok {
		comparePlayers(t, c, players, list)
	}
	compare(t, got, want, func(k string) bool {
		switch {
		case strings.HasPrefix(k, "gq_"), k == "players":
			return true
		case k == "port" && strings.HasPrefix(fmt.Sprint(want[k]), "-"): // GameQ reads it as signed
			n, _ := strconv.Atoi(fmt.Sprint(want[k]))
			return equal(got[k], n+65536)
		case c.Game == "Rust" && (k == "num_players" || k == "max_players" || k == "num_queued"): // from the keywords
			return true
		case c.Game == "Arma3": // GameQ decodes binary rules, which are compared there
			_, found := got[k]
			return !found
		}
		return false
	})
}

// comparePlayers compares the list of players. GameQ trims names.
func comparePlayers(t *testing.T, c *testCase, players []object, want []any) {
	t.Helper()
	if len(players) < len(want) {
		t.Fatalf("%d players, want %d", len(players), len(want))
	}
	// GameQ may list players of a duplicate reply twice.
	for i, w := range want {
		w := w.(object)
		for ours, theirs := range map[string]string{"index": "id", "name": "name", "score": "score", "duration_s": "time", "deaths": "deaths", "money": "money"} {
			v, ok := w[theirs]
			if !ok {
				continue
			}
			g := players[i][ours]
			if theirs == "name" {
				g = strings.TrimSpace(fmt.Sprint(g))
				v = strings.TrimSpace(fmt.Sprint(v))
			}
			if !equal(g, v) {
				t.Errorf("player %d, %s: %v, want %v", i, theirs, g, v)
			}
		}
	}
}

func checkArma(t *testing.T, got, want object) {
	t.Helper()
	number := func(v any) uint64 {
		n, err := strconv.ParseUint(fmt.Sprint(v), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	list := func(o object, k string) []any { l, _ := o[k].([]any); return l }
	if !equal(got["version"], want["rules_protocol_version"]) || !equal(got["overflow"], want["overflow"]) || !equal(got["crosshair"], want["crosshair"]) {
		t.Errorf("%v", got)
	}
	if d := number(got["difficulty"]); !equal(d&7, want["difficulty_level"]) || !equal(d>>3&7, want["difficulty_ai"]) || !equal(d>>6&1, want["advanced_flight_mode"]) || !equal(d>>7, want["3rd_person"]) {
		t.Errorf("difficulty %v", got["difficulty"])
	}
	for i, w := range list(want, "dlcs") {
		if g := list(got, "dlcs"); i >= len(g) || strconv.FormatUint(number(g[i].(object)["hash"]), 16) != w.(object)["hash"] {
			t.Errorf("add-on %d: %v", i, w)
		}
	}
	for i, w := range list(want, "mods") {
		w := w.(object)
		if g := list(got, "mods"); i >= len(g) || g[i].(object)["name"] != w["name"] || !equal(g[i].(object)["steam_id"], w["steam_id"]) ||
			strconv.FormatUint(number(g[i].(object)["hash"]), 16) != w["hash"] {
			t.Errorf("mod %d: %v", i, w)
		}
	}
	for i, w := range list(want, "signatures") {
		if g := list(got, "signatures"); i >= len(g) || g[i] != w {
			t.Errorf("signature %d: %v", i, w)
		}
	}
}
