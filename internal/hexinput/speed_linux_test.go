//go:build !race

package hexinput

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

// TestParseSpeed bounds the processor time for any text by that for as much of a usual dump, which has the same machine: a second
// for a megabyte is usual for the slowest.
func TestParseSpeed(t *testing.T) {
	const most = 16
	size := must.Try(8<<10, 1<<20)
	took := func(text string) time.Duration {
		start := processorTime(t)
		Parse([]byte(text))
		return processorTime(t) - start
	}
	usual := strings.Repeat("00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|\n", size/78)
	reference := took(usual)
	for name, text := range hostile(size) {
		best := took(text)
		for range 4 { // other work on the machine makes either longer
			if best <= most*reference {
				break
			}
			reference, best = took(usual), min(best, took(text))
		}
		t.Logf("%-24s %.2f s/MB, %.1f times as long as a dump", name, best.Seconds()*(1<<20)/float64(size), float64(best)/float64(reference))
		if best > most*reference {
			t.Errorf("%s: %v for %d bytes, and %v for a dump", name, best, len(text), reference)
		}
	}
}

// processorTime returns the processor time that the process used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
