package valvemaster

import (
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// TestLimits checks the number of docs/limits.md.
func TestLimits(t *testing.T) {
	for groups, want := range map[int]bool{8: false, 9: true} {
		r := dissecttest.Decode(t, Protocol(), []byte(start+strings.Repeat("\\nor\\1", groups)+"\\map\\a\x00"))
		if found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == filterDepth }); found != want {
			t.Errorf("%d nested groups: found %v", groups, found)
		}
	}
}
