package reassembly

import (
	"testing"
	"time"
)

// TestLimits: the numbers of docs/limits.md, said once more; the tests of the
// tables say that they hold.
func TestLimits(t *testing.T) {
	if want := (Limits{Sets: 16384, Pieces: 255, SetBytes: 1 << 20, Age: 30 * time.Second}); DefaultLimits != want || DefaultBudget != 16<<20 {
		t.Errorf("%+v, %d bytes in all", DefaultLimits, DefaultBudget)
	}
}
