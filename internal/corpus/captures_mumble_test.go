package corpus

import (
	"fmt"
	"testing"
)

// TestCapturesMumble: what a Mumble server replies to qstat, to gamedig and to a
// ping over IPv6, is what gamedig read. (qstat says version 1.2.3 of any server.)
func TestCapturesMumble(t *testing.T) {
	lines := messages(capture(t, "mumble-ping"))
	if len(lines) != 6 {
		t.Fatalf("%d messages, want 6", len(lines))
	}
	want := documents(t, "mumble-ping.client-gamedig.json")[0].(object)
	raw := want["raw"].(object)
	for i := 0; i < len(lines); i += 2 {
		request, reply := lines[i], lines[i+1]
		ask, says := request["mumble"].(object), reply["mumble"].(object)
		if request["message"] != "ping_request" || reply["message"] != "ping_reply" || reply["request_frame"] != request["frame"] || says["id"] != ask["id"] {
			t.Errorf("%v is not answered by %v", request, reply)
		}
		version := says["version"].(object)
		for _, c := range [][2]any{
			{says["users"], want["numplayers"]}, {says["max_users"], want["maxplayers"]}, {says["bandwidth"], raw["allowedbandwidth"]},
			{version["major"], raw["versionMajor"]}, {version["minor"], raw["versionMinor"]}, {version["patch"], raw["versionPatch"]},
		} {
			if fmt.Sprint(c[0]) != fmt.Sprint(c[1]) {
				t.Errorf("frame %v: %v, want %v", reply["frame"], c[0], c[1])
			}
		}
	}
}
