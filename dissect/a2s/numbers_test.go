package a2s

import (
	"slices"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// TestLimits checks the numbers of docs/limits.md: how large a message a header may
// announce.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		packed, size int
		bomb         bool
	}{
		{10, 4 << 10, false}, {10, 4<<10 + 1, true},
		{1000, 100 * 1000, false}, {1000, 100*1000 + 1, true},
		{20000, 1 << 20, false}, {20000, 1<<20 + 1, true},
	} {
		message := append([]byte("BZh9"), make([]byte, c.packed-4)...)
		r := dissecttest.Decode(t, Protocol(), cut(message, sourcePacked, 1<<31, 1200, uint32(c.size), 1)...)
		if found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == bzipBomb }); found != c.bomb {
			t.Errorf("%d bytes in %d: found %v", c.size, c.packed, found)
		}
	}
}
