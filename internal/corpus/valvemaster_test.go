package corpus

import (
	"strings"
	"testing"
)

// checkMasterValve compares with the document about the master server.
func checkMasterValve(t *testing.T, c *testCase, lines []object, want object) {
	switch {
	case strings.HasPrefix(c.Case, "query_"):
		requests, replies := messages(lines, "servers_request"), messages(lines, "servers_reply")
		if len(requests) != 1 || len(replies) != 1 {
			t.Fatalf("%d requests, %d replies", len(requests), len(replies))
		}
		q, f := fields(requests[0]), fields(replies[0])
		if q["region_name"] != "rest of the world" || q["seed"] != "0.0.0.0:0" || replies[0]["request_frame"] == nil {
			t.Errorf("%v %v", requests[0], replies[0])
		}
		if filters, _ := q["filters"].([]any); c.Case == "query_napp500" &&
			(q["filter"] != `\napp\500` || len(filters) != 1 || filters[0].(object)["key"] != "napp" || filters[0].(object)["value"] != "500") {
			t.Errorf("%v", q)
		}
		_, end := f["end"]
		compare(t, object{"servers": f["servers"], "end": end}, want, nil)
	case strings.HasPrefix(c.Case, "join_"):
		if n := messages(lines, "join"); len(n) != 1 {
			t.Errorf("%d joins", len(n))
		}
		replies, heartbeats := messages(lines, "challenge_reply"), messages(lines, "heartbeat")
		if len(replies) != 1 || len(heartbeats) != 1 || replies[0]["request_frame"] == nil {
			t.Fatalf("%v %v", replies, heartbeats)
		}
		if !equal(fields(replies[0])["challenge"], want["challenge"]) {
			t.Errorf("challenge %v, want %v", fields(replies[0])["challenge"], want["challenge"])
		}
		got := object{}
		for _, r := range rows(heartbeats[0], "rules") {
			got[r["key"].(string)] = r["value"]
		}
		pairs := want["heartbeat"].(object)
		compare(t, got, pairs, nil)
		if len(got) != len(pairs) {
			t.Errorf("%d keys, want %d", len(got), len(pairs))
		}
		engine := map[string]string{"join_goldsource": "GoldSrc", "join_source": "Source", "join_orangebox": "Orange Box"}[c.Case]
		if s, _ := heartbeats[0]["summary"].(string); !strings.HasPrefix(s, "heartbeat  "+engine+"  ") {
			t.Errorf("%q", s)
		}
		for _, l := range heartbeats[0]["findings"].([]any) {
			if l.(object)["severity"] != "chat" {
				t.Errorf("%v", l)
			}
		}
		server := heartbeats[0]["server"].(object)
		for ours, theirs := range map[string]string{
			"map": "map", "game": "gamedir", "version": "version", "players": "players", "max_players": "max", "bots": "bots", "password": "password",
		} {
			if !equal(server[ours], pairs[theirs]) {
				t.Errorf("%s: %v, want %v", ours, server[ours], pairs[theirs])
			}
		}
	case c.Case == "quit":
		var got []any
		for _, m := range messages(lines, "quit") {
			got = append(got, strings.ToLower(strings.TrimPrefix(m["summary"].(string), "quit  ")))
		}
		compare(t, object{"quit": got}, want, nil)
	default:
		t.Errorf("nothing compared")
	}
}
