package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestLine: whatever the order of times and of merging, the buckets are the same.
func TestLine(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, span := range []time.Duration{time.Millisecond, time.Second, 100 * time.Second, 3 * time.Hour, 900 * 24 * time.Hour, math.MaxInt64} {
		for _, origin := range []int64{0, -int64(span) / 2, time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC).UnixNano() - int64(span)/3} {
			lines := []*cells{{most: 60}, {most: 60}, {most: 60}, {most: 60}}
			for range 500 {
				at := origin + r.Int64N(int64(span))
				if span == math.MaxInt64 {
					at = int64(r.Uint64())
				}
				n := r.Uint64N(10)
				lines[0].at(at).requests += n
				lines[1+r.IntN(2)].at(at).requests += n
			}
			sum := lines[3]
			sum.merge(lines[2])
			sum.merge(lines[1])
			a, b := *lines[0], *sum
			a.newest, b.newest, a.from, b.from, a.to, b.to = nil, nil, 0, 0, 0, 0
			a.buckets, b.buckets = append([]cell(nil), a.buckets...), append([]cell(nil), b.buckets...)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%v from %v: width %v and %v, start %d and %d, %d and %d buckets", span, origin, widths[a.width], widths[b.width], a.start, b.start, len(a.buckets), len(b.buckets))
			}
			if len(a.buckets) > 60 && a.width < len(widths)-1 {
				t.Errorf("%v: %d buckets", span, len(a.buckets))
			}
		}
	}
	for i := range widths[1:] {
		if widths[i+1]%widths[i] != 0 {
			t.Errorf("%v does not divide %v", widths[i], widths[i+1])
		}
	}
}

// TestPeak: the peak of a second is exact for short captures, and never too low, also after snapshots.
func TestPeak(t *testing.T) {
	for _, seconds := range []int64{5, 300, 5000} {
		r := rand.New(rand.NewPCG(7, 8))
		shards, twins := []*Aggregate{New(), New(), New()}, []*Aggregate{New(), New(), New()}
		counts := map[int64]uint64{}
		truth := uint64(0)
		for s := range seconds {
			for range r.IntN(20) {
				at := s*1e9 + r.Int64N(1e9)
				for _, of := range [][]*Aggregate{shards, twins} {
					a := of[at%3]
					a.at(at).requests++
					if s != a.second {
						a.endSecond()
						a.second, a.inSecond = s, 0
					}
					a.inSecond++
				}
				if at%50 == 0 {
					New().Merge(twins[at%3]) // a snapshot
				}
				counts[s]++
				truth = max(truth, counts[s])
			}
		}
		sum, twin := New(), New()
		for i, a := range shards {
			sum.Merge(a)
			twin.Merge(twins[i])
		}
		if a, b := sum.Report(Options{}).Timeline.Peak, twin.Report(Options{}).Timeline.Peak; a != b {
			t.Errorf("%d seconds: peak %d, with snapshots %d", seconds, a, b)
		}
		switch got := sum.Report(Options{}).Timeline.Peak; {
		case seconds <= 300 && got != truth, got < truth, got > 3*truth:
			t.Errorf("%d seconds: peak %d, want %d", seconds, got, truth)
		}
	}
}
