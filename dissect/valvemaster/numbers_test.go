package valvemaster

import (
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// TestLimits: the number of docs/limits.md, said once more.
func TestLimits(t *testing.T) {
	for groups, want := range map[int]bool{8: false, 9: true} {
		r := dissecttest.Decode(t, Protocol(), []byte(start+strings.Repeat("\\nor\\1", groups)+"\\map\\a\x00"))
		if told := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == filterDepth }); told != want {
			t.Errorf("%d groups in one another: told %v", groups, told)
		}
	}
}
