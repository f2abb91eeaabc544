package stats

import (
	"cmp"
	"math"
	"slices"
)

// What makes an event of a series of rates: so many times the usual rate, at least so many per second, for so long or a part of a
// short capture.
const (
	eventFactor = 3
	eventLeast  = 20 // per second
	eventTime   = 3  // seconds
	eventPart   = 5
	mostEvents  = 16
	// bridged is how many buckets in a row far below the threshold do not end an event.
	bridged = 2
)

// A surge is a time in which a rate is far above the usual one. Its times are in buckets, with fractions.
type surge struct {
	from, to float64
	level    float64 // per bucket, above usual
	usual    float64 // per bucket
}

// excess returns how much more came than usual.
func (s *surge) excess() float64 { return s.level * (s.to - s.from) }

// surges finds the surges in counts per bucket, each of some seconds, the largest first. Each is subtracted before the usual rate is
// judged again. calm is the rate per second that is usual if the series never is calm, negative if that is unknown.
func surges(counts []float64, seconds, calm float64) []surge {
	list, rest := surgesAbove(counts, seconds, calm)
	if len(list) == 0 || len(rest) < leastCalm {
		return list
	}
	// While surges are among what is judged, it looks higher than it is.
	if mean := meanOf(rest) / seconds; calm < 0 || mean < calm {
		list, _ = surgesAbove(counts, seconds, mean)
	}
	return list
}

// leastCalm is how many buckets without a surge say what is usual.
const leastCalm = 5

// surgesAbove returns the surges, and what is not in them.
func surgesAbove(counts []float64, seconds, calm float64) (list []surge, rest []float64) {
	left := slices.Clone(counts)
	explained, beside := make([]bool, len(left)), make([]bool, len(left))
	for len(list) < mostEvents {
		usual, sharp := usualOf(left, explained, calm*seconds)
		i, j := hottest(left, usual, seconds)
		// If more than half is hot, what is usual is hot as well. The lowest of few buckets are low by accident, and a hole in a capture is
		// no calm.
		low := quantileOf(left, explained, min(max(0.1, 10/float64(len(left))), 0.2))
		if low == 0 {
			low = quantileOf(left, explained, 0.2)
		}
		if !sharp && (i == j && low < usual || eventFactor*low < usual) {
			if a, b := hottest(left, low, seconds); a < b && steep(left, a, b, low) {
				usual, i, j = low, a, b
			}
		}
		if i == j {
			break
		}
		found := split(left, i, j, usual, seconds)
		for k := max(i-1, 0); k < min(j+1, len(left)); k++ {
			left[k] = min(left[k], usual)
			explained[k] = explained[k] || k >= i && k < j
			beside[k] = true
		}
		list = append(list, found...)
	}
	for k, v := range left {
		if !beside[k] {
			rest = append(rest, v)
		}
	}
	slices.SortStableFunc(list, func(a, b surge) int { return cmp.Compare(b.excess(), a.excess()) })
	return list[:min(len(list), mostEvents)], rest
}

// usualOf returns the median of what is not explained. If that never is calm, it is what is given, and then there is nothing lower to
// compare with.
func usualOf(x []float64, explained []bool, calm float64) (usual float64, sharp bool) {
	usual = quantileOf(x, explained, 0.5)
	if calm >= 0 && calm < usual {
		return calm, true
	}
	return usual, false
}

// quantileOf returns a quantile of what is not explained, or of all.
func quantileOf(x []float64, explained []bool, q float64) float64 {
	var rest []float64
	for i, v := range x {
		if explained == nil || !explained[i] {
			rest = append(rest, v)
		}
	}
	if len(rest) == 0 {
		return 0
	}
	slices.Sort(rest)
	return rest[int(q*float64(len(rest)-1))]
}

// hottest returns the run of buckets with the largest excess that makes an event, or an empty one.
func hottest(x []float64, usual, seconds float64) (from, to int) {
	least := max(eventFactor*usual, usual+eventLeast*seconds, usual+5*math.Sqrt(usual))
	most, low := 0.0, (usual+least)/2
	for i := 0; i < len(x); i++ {
		if x[i] < least {
			continue
		}
		j, sum := i+1, x[i]-usual
		for k, below := j, 0; k < len(x) && below <= bridged; k++ {
			if x[k] < low {
				below++
			} else if below = 0; x[k] >= least {
				for ; j <= k; j++ {
					sum += x[j] - usual
				}
			}
		}
		long := min(eventTime, float64(len(x))*seconds/eventPart)
		if n := float64(j - i); sum > most && sum >= 0.9*n*(least-usual) && (n*seconds >= long || sum >= eventTime*5*least/seconds) {
			most, from, to = sum, i, j
		}
		i = j
	}
	return from, to
}

// steep reports whether a run begins or ends within few buckets, as what people do does not.
func steep(x []float64, i, j int, usual float64) bool {
	level := quantileOf(x[i:j], nil, 0.5) - usual
	low := func(k int) bool { return k < 0 || k >= len(x) || x[k]-usual < level/3 }
	begins := i > 0 && (low(i-1) || low(i-2)) && i+2 < len(x) && x[i+2]-usual > level*2/3
	ends := j < len(x) && (low(j) || low(j+1)) && j-3 >= 0 && x[j-3]-usual > level*2/3
	return begins || ends
}

// A level is a part of a run in which the rate stays the same, from a bucket on, with the fraction of it.
type level struct {
	from        int
	rate, exact float64
}

// split finds what overlaps in a run: a rate that goes up twice and down twice is two surges, of which each ends with the step down
// that is as large as its step up. A rate that grows or falls slowly, or goes up and down again and again, is one.
func split(x []float64, i, j int, usual, seconds float64) []surge {
	const mostLevels = 7
	levels := levelsOf(x[i:j], usual, seconds)
	if len(levels) < 2 || len(levels) > mostLevels {
		return []surge{edges(x, i, j, usual)}
	}
	type open struct{ from, rate float64 }
	var begun []open
	var list []surge
	before := 0.0
	for k := 0; k <= len(levels); k++ {
		now, at := 0.0, float64(j)
		if k < len(levels) {
			now, at = levels[k].rate, float64(i)+levels[k].exact
		}
		switch step := now - before; {
		case step > 0:
			begun = append(begun, open{at, step})
		case step < 0:
			for down := -step; len(begun) > 0 && (down > 0 && now > 0 || now == 0); {
				best := 0
				for b := range begun {
					if math.Abs(begun[b].rate-down) < math.Abs(begun[best].rate-down) {
						best = b
					}
				}
				list = append(list, surge{from: begun[best].from, to: at, level: begun[best].rate, usual: usual})
				rate := begun[best].rate
				begun = slices.Delete(begun, best, best+1)
				if down -= rate; now > 0 && down < rate/4 {
					break
				}
			}
		}
		before = now
	}
	whole := edges(x, i, j, usual)
	for k := range list {
		if list[k].from == float64(i) {
			list[k].from = whole.from
		}
		if list[k].to == float64(j) {
			list[k].to = whole.to
		}
	}
	return list
}

// levelsOf divides a run where its rate changes by a fifth or more within two buckets. If it changes in another way, there is one level.
func levelsOf(x []float64, usual, seconds float64) (list []level) {
	const width, least = 3, 2
	mean := func(from, to int) float64 {
		sum := 0.0
		for _, v := range x[from:to] {
			sum += v - usual
		}
		return sum / float64(to-from)
	}
	at, whole := 0, 1 // the bucket of a step, and one at an end, is full in part
	for k := width; k+least <= len(x); k++ {
		a, b := mean(max(whole, k-2*width), k), mean(k, min(k+width, len(x)))
		low, high := min(a, b), max(a, b)
		if high-low < max(0.2*low, eventLeast*seconds, 5*math.Sqrt(high)) {
			continue
		}
		// The step is where the buckets on both sides differ most.
		best, most := k, 0.0
		for c := max(k-1, at+1); c <= min(k+width-1, len(x)-1); c++ {
			if d := math.Abs(x[c] - x[c-1]); d > most {
				best, most = c, d
			}
		}
		if most < 0.6*(high-low) {
			return nil // no step, but a slope
		}
		if best-at < least || len(x)-best < least {
			continue // a bucket at an end that is full in part
		}
		list = append(list, level{at, mean(whole, max(best-1, whole+1)), float64(at)})
		at, whole = best, best+1
		k = max(k, best+1)
	}
	if list == nil {
		return nil
	}
	list = append(list, level{at, mean(min(whole, len(x)-least), max(len(x)-1, whole+1)), float64(at)})
	for k := range list[1:] {
		if l := &list[k+1]; l.rate != list[k].rate {
			l.exact += min(max(2*(mean(l.from-1, l.from+1)-l.rate)/(list[k].rate-l.rate), 0), 2) - 1
		}
	}
	return list
}

// edges returns the surge of a run. Buckets at its ends that are full in part give it fractions.
func edges(x []float64, i, j int, usual float64) surge {
	s := surge{from: float64(i), to: float64(j), usual: usual}
	const near = 5
	first, last := quantileOf(x[min(i+1, j-1):min(i+1+near, j)], nil, 0.5)-usual, quantileOf(x[max(j-1-near, i):max(j-1, i+1)], nil, 0.5)-usual
	part := func(k int, l float64) float64 {
		if k < 0 || k >= len(x) || l <= 0 {
			return 0
		}
		p := (x[k] - usual) / l
		if p > 0.9 || (x[k]-usual) < 3*math.Sqrt(usual)+1 {
			p = math.Floor(p + 0.1)
		}
		return min(max(p, 0), 1)
	}
	if j-i > 2 {
		s.from += 1 - part(i, first)
		s.to -= 1 - part(j-1, last)
		if p := part(i-1, first); p > 0.05 && s.from == float64(i) {
			s.from -= p
		}
		if p := part(j, last); p > 0.05 && s.to == float64(j) {
			s.to += p
		}
	}
	sum := 0.0
	for k := max(int(s.from), 0); k < min(int(math.Ceil(s.to)), len(x)); k++ {
		sum += x[k] - usual
	}
	s.level = sum / max(s.to-s.from, 1e-9)
	return s
}
