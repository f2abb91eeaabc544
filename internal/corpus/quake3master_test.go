package corpus

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
)

// checkQuake3Master compares the servers of a reply.
func checkQuake3Master(t *testing.T, _ *testCase, lines []object, want object) {
	var got, expected []string
	replies := messages(lines, "servers_reply")
	for _, m := range replies {
		for _, s := range fields(m)["servers"].([]any) {
			got = append(got, s.(string))
		}
		if m["request_frame"] == nil || m["protocol"] != "quake3-master" || m["detect"] != "header" {
			t.Errorf("a %v reply to %v, because of %v", m["protocol"], m["request_frame"], m["detect"])
		}
	}
	for _, s := range want["servers"].([]any) {
		var a, b, c, d, port int
		if _, err := fmt.Sscanf(s.(object)["call"].(string), "Server('%d.%d.%d.%d', %d)", &a, &b, &c, &d, &port); err != nil {
			t.Fatal(err)
		}
		expected = append(expected, fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port))
	}
	if len(replies) != 1 || len(expected) == 0 || !slices.Equal(got, expected) {
		t.Errorf("%q in %d replies, want %q", got, len(replies), expected)
	}
}

func decodeHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
