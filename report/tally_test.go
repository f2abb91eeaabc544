package report

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestTimes: percentiles are exact for few durations and near for many, and do not depend
// on how the durations are spread over lists that are merged.
func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 99, 100, 101, maxExact, maxExact + 1, 20000} {
		var all []time.Duration
		var whole Times
		var parts [5]Times
		for range n {
			d := time.Duration(rng.Uint64() >> (20 + rng.IntN(44)))
			all = append(all, d)
			whole.Add(d)
			parts[rng.IntN(len(parts))].Add(d)
		}
		slices.Sort(all)
		var merged Times
		for i := range parts {
			merged.Merge(&parts[i])
		}
		got, again := whole.Percentiles(50, 90, 99), merged.Percentiles(50, 90, 99)
		if !slices.Equal(got, again) || whole.Min != merged.Min || whole.Max != merged.Max || whole.Count != merged.Count {
			t.Errorf("%d durations: %v, merged %v", n, got, again)
		}
		if whole.Min != all[0] || whole.Max != all[n-1] || whole.Count != uint64(n) {
			t.Errorf("%d durations: %d from %s to %s", n, whole.Count, whole.Min, whole.Max)
		}
		for i, p := range []int{50, 90, 99} {
			want := all[(n*p+99)/100-1]
			if off := got[i] - want; off < 0 || off > want/64 || n <= maxExact && off != 0 {
				t.Errorf("%d durations: p%d is %s, want %s", n, p, got[i], want)
			}
		}
	}
}
