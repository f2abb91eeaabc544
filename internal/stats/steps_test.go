package stats

import (
	"math"
	"testing"
)

// flat returns n buckets with a rate.
func flat(n int, rate float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rate
	}
	return x
}

// plus adds a rate in some buckets.
func risen(x []float64, from, to int, rate float64) []float64 {
	for i := from; i < to; i++ {
		x[i] += rate
	}
	return x
}

func TestSurges(t *testing.T) {
	slope := flat(120, 5)
	for i := 30; i < 90; i++ {
		slope[i] += float64(i-30) * 10
	}
	for name, c := range map[string]struct {
		x       []float64
		seconds float64
		calm    float64
		want    []surge
	}{
		"nothing":                       {flat(60, 40), 1, -1, nil},
		"twice the usual":               {risen(flat(60, 40), 20, 40, 40), 1, -1, nil},
		"one":                           {risen(flat(60, 5), 20, 40, 100), 1, -1, []surge{{20, 40, 100, 5}}},
		"two apart":                     {risen(risen(flat(120, 5), 20, 40, 100), 80, 90, 500), 1, -1, []surge{{80, 90, 500, 5}, {20, 40, 100, 5}}},
		"one in another":                {risen(risen(flat(120, 5), 20, 60, 300), 30, 40, 2000), 1, -1, []surge{{30, 40, 2000, 5}, {20, 60, 300, 5}}},
		"one ends in another":           {risen(risen(flat(120, 5), 20, 50, 300), 40, 80, 1000), 1, -1, []surge{{40, 80, 1000, 5}, {20, 50, 300, 5}}},
		"another joins, the first ends": {risen(risen(flat(120, 5), 30, 80, 400), 60, 100, 1200), 1, -1, []surge{{60, 100, 1200, 5}, {30, 80, 400, 5}}},
		"short":                         {risen(flat(60, 5), 20, 22, 60), 1, -1, nil},
		"below 20 per second":           {risen(flat(60, 1), 20, 40, 18), 1, -1, nil},
		"more than half":                {risen(flat(60, 5), 20, 60, 100), 1, -1, []surge{{20, 60, 100, 5}}},
		"a peak in nearly all":          {risen(risen(flat(120, 5), 10, 110, 200), 50, 65, 2000), 1, -1, []surge{{50, 65, 2000, 5}, {10, 110, 200, 5}}},
		"a hole":                        {risen(risen(flat(200, 0), 0, 50, 60), 75, 200, 60), 1, -1, nil},
		"all of it":                     {flat(60, 100), 1, -1, nil},
		"all of it, of which 2 are":     {flat(60, 100), 1, 2, []surge{{0, 60, 98, 2}}},
		"wide buckets":                  {risen(flat(100, 60), 50, 56, 12000), 30, -1, []surge{{50, 56, 12000, 60}}},
		"half a bucket":                 {risen(risen(flat(100, 0), 50, 56, 12000), 56, 57, 6000), 30, -1, []surge{{50, 56.5, 12000, 0}}},
	} {
		got := surges(c.x, c.seconds, c.calm)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
			continue
		}
		for i, w := range c.want {
			g := got[i]
			if math.Abs(g.from-w.from) > 0.01 || math.Abs(g.to-w.to) > 0.01 || math.Abs(g.level-w.level) > 1 || g.usual != w.usual {
				t.Errorf("%s: %+v, want %+v", name, g, w)
			}
		}
	}
	if got := surges(slope, 1, -1); len(got) != 1 {
		t.Errorf("a slope: %+v", got)
	}
}
