package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// checkOpenTTD compares with GameQ, which takes the spectators for clients' limits where
// others do, and writes the list of NewGRFs flat.
func checkOpenTTD(t *testing.T, _ *testCase, lines []object, want object) {
	want = only(t, want)
	sameProtocol(t, lines, "openttd")
	replies := messages(lines, "info_reply")
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	f, got := fields(replies[0]), object{}
	for ours, theirs := range map[string]string{
		"format_version": "protocol_version", "name": "hostname", "revision": "version", "map": "map", "num_clients": "clients",
		"max_clients": "max_clients", "num_spectators": "spectators", "max_spectators": "spectators_max", "num_companies": "companies_on",
		"max_companies": "companies_max", "date": "game_date", "start_date": "start_date", "language": "language", "password": "password",
		"width": "map_width", "height": "map_height", "landscape": "map_type", "dedicated": "dedicated", "num_grfs": "num_grfs",
	} {
		got[theirs] = f[ours]
	}
	for i, g := range rows(replies[0], "grfs") {
		got[fmt.Sprintf("grfs_%d_ID", i)] = strings.ToUpper(fmt.Sprint(g["id"]))
		got[fmt.Sprintf("grfs_%d_MD5", i)] = strings.ToUpper(fmt.Sprint(g["md5"]))
	}
	compare(t, got, want, func(k string) bool { return strings.HasPrefix(k, "gq_") || k == "language_icon" })
}

// TestCapturesOpenTTD: a server of version 13 answers each request for its info with a
// pong and nothing else; three packets of the script have another length than they say,
// so that they are of no protocol.
func TestCapturesOpenTTD(t *testing.T) {
	lines := capture(t, "openttd-tcp-udp")
	var said, unknown []string
	for _, l := range lines {
		switch {
		case l["type"] != "message":
		case l["protocol"] == "unknown":
			unknown = append(unknown, fmt.Sprint(l["frame"]))
		default:
			said = append(said, fmt.Sprint(l["protocol"], " ", l["message"], " ", l["request_frame"]))
		}
	}
	want := []string{
		"openttd info_request <nil>", "openttd pong 11", "openttd info_request <nil>", "openttd pong 13", "openttd companies_request <nil>",
	}
	if !slices.Equal(said, want) || !slices.Equal(unknown, []string{"16", "17", "18"}) {
		t.Errorf("%q, unknown %q", said, unknown)
	}
}
