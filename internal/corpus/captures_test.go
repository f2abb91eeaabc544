package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// captures is the folder with captures of real servers and clients.
var captures = filepath.Join("..", "..", "..", "shared", "captures")

// capture dissects one of them.
func capture(t *testing.T, name string) []object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name+".pcap"))
	if os.IsNotExist(err) {
		t.Skip("the captures of real servers are not beside the project")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dissectAll(t, b)
}

// documents returns all JSON documents in the output of a client.
func documents(t *testing.T, name string) (list []any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name))
	if os.IsNotExist(err) {
		t.Skip("the captures of real servers are not beside the project")
	}
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, v)
	}
	return list
}

// known fails if a datagram is not recognised.
func known(t *testing.T, lines []object) {
	t.Helper()
	for _, l := range lines {
		if l["protocol"] == "unknown" {
			t.Errorf("frame %v is not recognised: %v", l["frame"], l["data"])
		}
	}
}

// asQstat formats text like qstat, without colour codes and with bytes from 128
// reduced by 128.
func asQstat(s any) string {
	in := []byte(fmt.Sprint(s))
	var out []byte
	for i := 0; i < len(in); i++ {
		if in[i] == '^' && i+1 < len(in) && in[i+1] >= '0' && in[i+1] <= '9' {
			i++
			continue
		}
		out = append(out, in[i]&0x7f)
	}
	return string(out)
}

func ascii(v any) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return -1
		}
		return r
	}, fmt.Sprint(v))
}

// checkQstat compares the first exchange of a capture with the output of qstat.
func checkQstat(t *testing.T, name string, lines []object) {
	t.Helper()
	servers := documents(t, name+".client.json")[0].([]any)
	if len(servers) != 1 {
		t.Fatalf("%d servers in what qstat printed", len(servers))
	}
	want := servers[0].(object)
	server := object{}
	var players []object
	rules := object{}
	for _, m := range messages(lines) {
		if m["role"] != "reply" || m["dst_ip"] != lines[1]["src_ip"] || m["dst_port"] != lines[1]["src_port"] {
			continue // another client
		}
		if s, ok := m["server"].(object); ok {
			for k, v := range s {
				if server[k] == nil {
					server[k] = v
				}
			}
		}
		if list := rows(m, "players"); len(list) > 0 && players == nil {
			players = list
		}
		for _, r := range rows(m, "rules") {
			rules[r["key"].(string)] = r["value"]
		}
	}
	for ours, theirs := range map[string]string{"name": "name", "map": "map", "game": "gametype", "players": "numplayers", "max_players": "maxplayers"} {
		if g := asQstat(server[ours]); g != asQstat(want[theirs]) {
			t.Errorf("%s: %q, qstat has %q", ours, g, want[theirs])
		}
	}
	compared := 0
	for k, w := range want["rules"].(object) {
		if g, ok := rules[k]; ok {
			compared++
			if ascii(g) != ascii(w) { // qstat drops other bytes from rules
				t.Errorf("rule %s: %q, qstat has %q", k, g, w)
			}
		}
	}
	if compared*2 < len(rules) {
		t.Errorf("only %d of %d rules compared", compared, len(rules))
	}
	list := func(players []object, convert func(any) string) (rows []string) {
		for _, p := range players {
			rows = append(rows, fmt.Sprintf("%s %v", convert(p["name"]), p["score"]))
		}
		sort.Strings(rows)
		return rows
	}
	var theirs []object
	for _, p := range want["players"].([]any) {
		theirs = append(theirs, p.(object))
	}
	g, w := list(players, asQstat), list(theirs, func(v any) string { return fmt.Sprint(v) })
	if strings.Join(g, "\n") != strings.Join(w, "\n") {
		t.Errorf("players:\n%s\nqstat has:\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

// checkPHP compares with xPaw's PHP-Source-Query, whose exchange is in the capture.
func checkPHP(t *testing.T, name string, lines []object) {
	t.Helper()
	for _, doc := range documents(t, name+".client-php-source-query.json") {
		for call, want := range doc.(object) {
			switch call {
			case "GetInfo":
				want := want.(object)
				f := fields(messages(lines, "info_reply")[0])
				for ours, theirs := range map[string]string{
					"address": "Address", "name": "HostName", "map": "Map", "folder": "ModDir", "game": "ModDesc", "num_players": "Players",
					"max_players": "MaxPlayers", "protocol": "Protocol", "server_type": "Dedicated", "os": "Os", "password": "Password",
					"is_mod": "IsMod", "vac": "Secure", "num_bots": "Bots", "version": "Version", "appid": "AppID",
				} {
					if want[theirs] != nil && !equal(f[ours], want[theirs]) {
						t.Errorf("%s: %v, PHP has %v", ours, f[ours], want[theirs])
					}
				}
			case "GetPlayers":
				if !someReply(lines, "players_reply", func(m object) bool {
					players := rows(m, "players")
					for i, w := range want.([]any) {
						w := w.(object)
						if i >= len(players) || players[i]["name"] != w["Name"] || !equal(players[i]["score"], w["Frags"]) {
							return false
						}
					}
					return true
				}) {
					t.Errorf("no players reply is what PHP printed")
				}
			case "GetRules":
				if !someReply(lines, "rules_reply", func(m object) bool {
					rules := object{}
					for _, r := range rows(m, "rules") {
						rules[r["key"].(string)] = r["value"]
					}
					for k, w := range want.(object) {
						if rules[k] != w {
							return false
						}
					}
					return len(rules) == len(want.(object))
				}) {
					t.Errorf("no rules reply is what PHP printed")
				}
			}
		}
	}
}

func someReply(lines []object, name string, is func(object) bool) bool {
	for _, m := range messages(lines, name) {
		if is(m) {
			return true
		}
	}
	return false
}

func TestCapturesValve(t *testing.T) {
	for _, name := range []string{"a2s-goldsrc", "a2s-goldsrc-split", "a2s-xash3d", "a2s-xash3d-ipv6"} {
		t.Run(name, func(t *testing.T) {
			lines := capture(t, name)
			known(t, lines)
			if name != "a2s-xash3d-ipv6" {
				checkQstat(t, name, lines)
			}
			checkPHP(t, name, lines)
			for _, m := range messages(lines) {
				if m["role"] == "reply" && m["request_frame"] == nil {
					t.Errorf("frame %v answers nothing", m["frame"])
				}
			}
		})
	}
}
