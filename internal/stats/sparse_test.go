package stats

import (
	"slices"
	"testing"

	"github.com/qdissect/qdissect/internal/coder"
)

// TestSparse writes and reads lines of few buckets among many empty ones, which take fewer bytes than they have buckets; an aggregate
// has no more of them than its lines may have together.
func TestSparse(t *testing.T) {
	room := sharedTicks
	l := &newMore(&room).pulses
	for _, s := range []int64{0, 7, 3999} {
		l.at(s * 1e9).add(&pulse{asked: 1, replied: 1, first: s * 1e9, last: s * 1e9})
	}
	w := &codec{Coder: &coder.Coder{}}
	codeLine(w, l, (*pulse).code)
	if len(l.buckets) != 4000 || len(w.B) >= len(l.buckets) {
		t.Fatalf("%d buckets in %d bytes", len(l.buckets), len(w.B))
	}
	r := &codec{Coder: &coder.Coder{Reading: true}}
	for i := range 40 {
		r.B = w.B
		got := &newMore(&room).pulses
		codeLine(r, got, (*pulse).code)
		if fits := (i+1)*len(l.buckets) <= mostBuckets; fits != (r.Err == nil) || fits && !slices.Equal(got.buckets, l.buckets) {
			t.Fatalf("line %d: %v, %d buckets", i, r.Err, len(got.buckets))
		}
		if r.Err != nil {
			return
		}
	}
	t.Error("any number of lines is read")
}
