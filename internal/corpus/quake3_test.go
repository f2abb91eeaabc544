package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/quake3"
	"github.com/qdissect/qdissect/dissect/quake3master"
)

// checkQuake3 compares status and info replies: all settings in both directions, and
// all players.
func checkQuake3(t *testing.T, c *testCase, lines []object, want object) {
	list := messages(lines, "status_reply", "info_reply")
	if len(list) != 1 {
		t.Fatalf("%d replies", len(list))
	}
	m := list[0]
	if m["request_frame"] == nil || m["protocol"] != "quake3" || m["detect"] != "header" {
		t.Errorf("a %v reply to %v, because of %v", m["protocol"], m["request_frame"], m["detect"])
	}
	plain := want["_strip_colors"] == true // pyq3serverlist was configured so
	got := object{}
	for _, r := range rows(m, "rules") {
		key, value := r["key"].(string), r["value"]
		if v, ok := r["value_plain"]; ok && plain {
			value = v
		}
		if c.Repo == "gameq" {
			// The peer trims keys and values.
			key, value = strings.TrimSpace(key), strings.TrimSpace(fmt.Sprint(value))
		}
		got[key] = value
	}
	if c.Repo == "gameq" {
		want = only(t, want)
		if c.Game == "Gta5m" {
			delete(got, "challenge") // the peer knows its own challenge
		} else if n := fmt.Sprint(len(rows(m, "players"))); fmt.Sprint(want["clients"]) != n {
			t.Errorf("%s players, GameQ counts %v", n, want["clients"]) // under the name of a missing setting
		}
	}
	compared := 0
	for k, w := range want {
		switch {
		case c.Repo == "gameq" && (strings.HasPrefix(k, "gq_") || k == "clients" && c.Game != "Gta5m"),
			c.Repo == "pyq3serverlist" && (k == "_strip_colors" || k == "ip" || k == "port"),
			c.Repo == "991jo" && (strings.HasPrefix(k, "_") || k == "header"), k == "players":
			continue // not in the message
		}
		compared++
		if got[k] != w {
			t.Errorf("%s: %q, want %q", k, got[k], w)
		}
		delete(got, k)
	}
	if c.Repo != "991jo" && len(got) > 0 { // the peer keeps only some keys
		t.Errorf("settings that %s does not have: %v", c.Repo, got)
	}
	if compared < 3 {
		t.Errorf("only %d settings compared", compared)
	}
	players := rows(m, "players")
	expected, _ := want["players"].([]any)
	if len(players) != len(expected) {
		t.Fatalf("%d players, want %d", len(players), len(expected))
	}
	for i, w := range expected {
		p, w := players[i], w.(object)
		name := p["name"]
		if v, ok := p["name_plain"]; ok && plain {
			name = v
		}
		if c.Repo == "gameq" {
			name = strings.TrimSpace(fmt.Sprint(name))
		}
		if name != w["name"] {
			t.Errorf("player %d: %q, want %q", i, name, w["name"])
		}
		score := w["frags"]
		if score == nil {
			score = w["score"]
		}
		if !same(p["score"], score) || !same(p["ping"], w["ping"]) {
			t.Errorf("player %d: score %v, ping %v, want %v", i, p["score"], p["ping"], w)
		}
	}
	if s := m["server"].(object); m["message"] == "status_reply" && !equal(s["players"], len(players)) {
		t.Errorf("server.players is %v of %d", s["players"], len(players))
	}
}

// same compares two numbers. Both may be missing.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// TestQuake3Foreign checks that the two detectors refuse all recorded datagrams of
// other protocols.
func TestQuake3Foreign(t *testing.T) {
	offered := 0
	offer := func(c *testCase, payload []byte) {
		offered++
		head := payload[:min(len(payload), 64)]
		if v := quake3.Detect(head); v != dissect.No && string(payload) != "\xff\xff\xff\xff" { // which any protocol could have sent
			t.Errorf("%s: quake3 is %v: %q", c.name(), v, head)
		}
		if v := quake3master.Detect(head); v != dissect.No {
			t.Errorf("%s: quake3-master is %v: %q", c.name(), v, head)
		}
	}
	for _, c := range manifest(t) {
		if c.Proto == "quake3" || c.Proto == "quake3-master" {
			continue
		}
		for _, d := range c.Datagrams {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.File)))
			if err != nil {
				t.Fatal(err)
			}
			offer(&c, b)
		}
		for _, r := range c.Requests {
			offer(&c, decodeHex(t, r.Hex))
		}
	}
	if offered < 500 {
		t.Errorf("only %d datagrams offered", offered)
	}
}
