package corpus

import (
	"encoding/hex"
	"fmt"
	"testing"
)

// TestCapturesCube: Sauerbraten and Red Eclipse as quakestat read them. It counts the
// numbers of Red Eclipse as those of Sauerbraten, so that its time left is the limit of
// players there, and names modes that are long gone; its mastermode is memory.
func TestCapturesCube(t *testing.T) {
	answered := map[string]object{}
	requests := 0
	for _, m := range capture(t, "cube2") {
		switch {
		case m["type"] == "message" && m["protocol"] == "unknown":
			if fmt.Sprint(m["dst_port"]) != "28787" {
				t.Errorf("%v is unknown", m)
			}
		case m["role"] == "request":
			requests++
		case m["role"] == "reply":
			if m["request_frame"] == nil {
				t.Errorf("%v answers nothing", m)
			}
			answered[fmt.Sprint(m["src_port"], m["message"])] = m["cube"].(object)
		}
	}
	if requests != 10 || len(answered) != 5 {
		t.Errorf("%d requests, answered: %v", requests, answered)
	}
	for _, c := range []struct{ file, reply, time, limit string }{
		{"cube2.client.json", "28786info_reply", "time_left_s", "max_players"},
		{"cube2.client-re.json", "28802info_reply", "mutators", "time_left_s"},
	} {
		got, want := answered[c.reply], documents(t, c.file)[0].([]any)[0].(object)
		rules := want["rules"].(object)
		for _, pair := range [][2]any{
			{got["description"], want["name"]}, {got["map"], want["map"]}, {got["num_players"], want["numplayers"]}, {got[c.limit], want["maxplayers"]},
			{got["protocol"], rules["attr0"]}, {got["mode"], rules["attr1"]}, {got[c.time], rules["seconds_left"]},
		} {
			if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
				t.Errorf("%s: %v, want %v", c.file, pair[0], pair[1])
			}
		}
	}
	if got := answered["28786uptime_reply"]["uptime_s"]; fmt.Sprint(got) != "6" {
		t.Errorf("uptime %v", got)
	}
}

// TestCapturesCubeServer: every request that the raw client sent to Sauerbraten is answered
// by what it got.
func TestCapturesCubeServer(t *testing.T) {
	lines := messages(capture(t, "cube2-server"))
	exchanges := documents(t, "cube2-server.client-raw.json")[0].([]any)
	if len(lines) != 2*len(exchanges) {
		t.Fatalf("%d messages of %d exchanges", len(lines), len(exchanges))
	}
	for i, e := range exchanges {
		request, reply := lines[2*i], lines[2*i+1]
		for _, c := range []struct {
			m object
			b any
		}{{request, e.(object)["sent"]}, {reply, e.(object)["replies"].([]any)[0]}} {
			b, err := hex.DecodeString(c.b.(string))
			if err != nil || fmt.Sprint(c.m["length"]) != fmt.Sprint(len(b)) || c.m["protocol"] != "cube" {
				t.Errorf("%v, want %x", c.m, b)
			}
		}
		if reply["role"] != "reply" || request["role"] != "request" || fmt.Sprint(reply["request_frame"]) != fmt.Sprint(request["frame"]) {
			t.Errorf("%v does not answer %v", reply, request)
		}
	}
}
