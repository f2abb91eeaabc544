package corpus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
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
	must.Do(t, err)
	return dissectAll(t, b)
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
