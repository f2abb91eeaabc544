//go:build !race

package hexinput

import (
	"syscall"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/thorough"
)

// TestParseSpeed bounds the processor time for a megabyte of any text. A second is
// usual for the slowest; a machine under load may need some more.
func TestParseSpeed(t *testing.T) {
	const most = 4 * time.Second
	size := thorough.Of(8<<10, 1<<20)
	for name, text := range hostile(size) {
		best := time.Hour
		for range 5 {
			start := userTime(t)
			Parse([]byte(text))
			if best = min(best, userTime(t)-start); best <= most*time.Duration(size)/(1<<20) {
				break
			}
		}
		t.Logf("%-24s %.2f s/MB", name, best.Seconds()*(1<<20)/float64(size))
		if best > most*time.Duration(size)/(1<<20) {
			t.Errorf("%s: %v for %d bytes", name, best, len(text))
		}
	}
}

// userTime returns the processor time that the process used.
func userTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano())
}
