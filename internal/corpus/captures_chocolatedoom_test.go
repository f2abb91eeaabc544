package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCapturesChocolateDoom: all datagrams of the recorded server are known, and its state
// is what the client of the game printed, which leaves out letters that are not ASCII.
func TestCapturesChocolateDoom(t *testing.T) {
	list := messages(capture(t, "chocolate-doom"))
	b, err := os.ReadFile(filepath.Join(captures, "chocolate-doom.client-chocolate.txt"))
	if err != nil {
		t.Fatal(err)
	}
	printed, seen := string(b), map[any]int{}
	for _, m := range list {
		seen[m["message"]]++
		if m["message"] != "query_reply" {
			continue
		}
		says := m["chocolatedoom"].(object)
		players := fmt.Sprintf("%v/%v", says["num_players"], says["max_players"])
		name := strings.ReplaceAll(fmt.Sprint(says["description"]), "\u00e9", "")
		for _, want := range []string{players, name, strings.TrimPrefix(fmt.Sprint(says["version"]), "Chocolate Doom ")} {
			if !strings.Contains(printed, want) {
				t.Errorf("frame %v: the client did not print %q: %s", m["frame"], want, printed)
			}
		}
	}
	if fmt.Sprint(seen) != "map[query_reply:2 query_request:2]" {
		t.Error(seen)
	}
}
