package corpus

import (
	"fmt"
	"strings"
	"testing"
)

// checkRakNet compares with GameQ, which writes fields that are absent as null.
func checkRakNet(t *testing.T, _ *testCase, lines []object, want object) {
	sameProtocol(t, lines, "raknet")
	pongs := messages(lines, "pong")
	if len(pongs) != 1 {
		t.Fatalf("%d pongs", len(pongs))
	}
	f := fields(pongs[0])
	got := object{"dedicated": 1}
	for ours, theirs := range map[string]string{
		"edition": "edition", "name": "motd_line_1", "protocol": "protocol_version", "version": "version", "num_players": "num_players",
		"max_players": "max_players", "server_id": "server_uid", "level": "motd_line_2", "game_mode": "gamemode", "game_mode_number": "gamemode_numeric",
		"port4": "port_ipv4", "port6": "port_ipv6",
	} {
		got[theirs] = f[ours]
	}
	compare(t, got, only(t, want), func(k string) bool { return strings.HasPrefix(k, "gq_") })
}

// TestCapturesRakNet compares what clients of two servers printed. All but the one that
// prints the text take the name with a semicolon for two fields.
func TestCapturesRakNet(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		unknown int
	}{
		"bedrock-gophertunnel":   {fmt.Sprint(documents(t, "bedrock-gophertunnel.client.json")[0].(object)["result"]), 0},
		"raknet-open-connection": {"MCPE;JSRakNet - JS powered RakNet;408;1.16.20;0;5;7093722986345080798;JSRakNet;Creative;", 10},
	} {
		t.Run(name, func(t *testing.T) {
			lines := capture(t, name)
			unknown, pongs := 0, 0
			for _, l := range messages(lines) {
				switch {
				case l["protocol"] == "unknown":
					unknown++ // the connection
				case l["role"] == "reply" && l["request_frame"] == nil:
					t.Errorf("frame %v answers nothing", l["frame"])
				}
			}
			for _, m := range messages(lines, "pong") {
				pongs++
				f := fields(m)
				var b strings.Builder
				for _, k := range []string{"edition", "name", "protocol", "version", "num_players", "max_players", "server_id", "level", "game_mode", "game_mode_number", "port4", "port6"} {
					if f[k] != nil {
						b.WriteString(fmt.Sprint(f[k], ";"))
					}
				}
				if more := f["more"]; more != nil {
					b.WriteString(more.(string))
				}
				if b.String() != c.text {
					t.Errorf("%s, want %s", b.String(), c.text)
				}
			}
			if unknown != c.unknown || pongs < 3 {
				t.Errorf("%d not recognised, %d pongs", unknown, pongs)
			}
		})
	}
	gamedig := documents(t, "raknet-open-connection.client-gamedig.json")[0].(object)
	server := messages(capture(t, "raknet-open-connection"), "pong")[0]["server"].(object)
	for ours, theirs := range map[string]string{"name": "name", "map": "map", "version": "version", "players": "numplayers", "max_players": "maxplayers"} {
		if !equal(server[ours], gamedig[theirs]) {
			t.Errorf("%s: %v, gamedig has %v", ours, server[ours], gamedig[theirs])
		}
	}
}
