package report

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
)

// TestSummaryColumns checks that all values of a summary begin in the same column,
// however long the names of the protocols are.
func TestSummaryColumns(t *testing.T) {
	list := []*dissect.Protocol{{Name: "a2s"}, {Name: "quakeworld-master"}}
	for _, tt := range []struct {
		name     string
		messages []uint64
		column   int
	}{
		{"short names", []uint64{3, 0}, 14},
		{"a long name", []uint64{3, 1}, len("quakeworld-master") + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Summary{Protocols: list, Messages: tt.messages}
			for line := range strings.Lines(string(AppendSummary(nil, &s))) {
				if len(line) <= tt.column || line[tt.column-2:tt.column] != "  " || line[tt.column] == ' ' {
					t.Errorf("no value in column %d: %q", tt.column, line)
				}
			}
		})
	}
}
