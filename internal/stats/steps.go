package stats

import (
	"cmp"
	"iter"
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
	mostEvents  = 64
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
		list, rest = surgesAbove(counts, seconds, mean)
	}
	// Of few, the median is far from the mean, and the lowest are farther.
	if mean := meanOf(rest); len(rest) >= leastCalm && math.Abs(mean-quantileOf(rest, nil, 0.5)) < 1 {
		for s := range each(list) {
			s.level, s.usual = max(s.level+s.usual-mean, 0), mean
		}
	}
	return list
}

// surges finds the surges of what counts in a line that has nothing around it, with their times within others; calm is as for surges.
func (l *line[T, P]) surges(first, last int64, calm float64, of func(P) uint64) iter.Seq2[*surge, [2]int64] {
	counts, w := []float64{0}, widths[l.width]
	l.in(func(_, _ int64, b P) { counts = append(counts, float64(of(b))) })
	return func(yield func(*surge, [2]int64) bool) {
		for s := range each(surges(append(counts, 0), float64(w)/1e9, calm)) {
			at := func(b float64) int64 { return min(max((l.start-1)*w+int64(b*float64(w)), first), last) }
			if !yield(s, [2]int64{at(s.from), at(s.to)}) {
				return
			}
		}
	}
}

// leastCalm is how many buckets without a surge say what is usual.
const leastCalm = 5

// surgesAbove returns the surges, and what is not in them.
func surgesAbove(counts []float64, seconds, calm float64) (list []surge, rest []float64) {
	left := slices.Clone(counts)
	explained, beside := make([]bool, len(left)), make([]bool, len(left))
	for len(list) < mostEvents {
		// If what is not explained never is calm, what is usual is given, and then there is nothing lower to compare with.
		usual, sharp := quantileOf(left, explained, 0.5), false
		if calm >= 0 && calm*seconds < usual {
			usual, sharp = calm*seconds, true
		}
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
	slices.SortStableFunc(list, func(a, b surge) int { return cmp.Compare(b.excess(), a.excess()) })
	return list[:min(len(list), mostEvents)], without(left, beside)
}

// quantileOf returns a quantile of what is not explained, or of all.
func quantileOf(x []float64, explained []bool, q float64) float64 {
	rest := without(x, explained)
	if len(rest) == 0 {
		return 0
	}
	slices.Sort(rest)
	return rest[int(q*float64(len(rest)-1))]
}

// without returns what is not marked; marks are nil if nothing is.
func without(x []float64, marks []bool) []float64 {
	rest := make([]float64, 0, len(x))
	for i, v := range x {
		if marks == nil || !marks[i] {
			rest = append(rest, v)
		}
	}
	return rest
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

// A current is a surge that goes on.
type current struct{ from, since, rate, sum float64 }

// slow lets a rate fall from a time on.
func (c *current) slow(at, by float64) {
	c.sum, c.since, c.rate = c.sum+c.rate*(at-c.since), at, c.rate-by
}

// split finds what overlaps in a run: a rate that goes up twice and down twice is two surges, of which each ends with the step down
// that is as large as its step up. What ends together, or goes on more slowly, is one, as is a rate that grows or falls slowly, or goes up and down again and again.
func split(x []float64, i, j int, usual, seconds float64) (list []surge) {
	levels, whole := levelsOf(x[i:j], usual, seconds), edges(x, i, j, usual)
	if len(levels) == 0 {
		return []surge{whole}
	}
	var begun []current
	end := func(c current, at float64) {
		c.slow(at, 0)
		list = append(list, surge{from: c.from, to: at, level: c.sum / (at - c.from), usual: usual})
	}
	before := 0.0
	for k, l := range levels {
		at := either(k == 0, whole.from, float64(i)+l.exact)
		if l.rate > before {
			begun = append(begun, current{from: at, since: at, rate: l.rate - before})
		}
		for down := before - l.rate; down > 0 && len(begun) > 0; {
			best := 0
			for b := range begun {
				if math.Abs(begun[b].rate-down) < math.Abs(begun[best].rate-down) {
					best = b
				}
			}
			c := begun[best]
			if c.rate > down*4/3 {
				begun[best].slow(at, down)
				break
			}
			end(c, at)
			begun = slices.Delete(begun, best, best+1)
			if down -= c.rate; down < c.rate/4 {
				break
			}
		}
		if before = l.rate; len(begun) == 0 { // what began meanwhile, and was not seen
			begun = append(begun, current{from: at, since: at, rate: l.rate})
		}
	}
	for _, c := range begun[1:] {
		if small := begun[0]; c.sum == 0 && c.rate >= muchMore*small.rate {
			if small.rate >= eventLeast*seconds {
				end(small, c.from)
			}
			begun[0] = current{from: c.from, since: c.from, rate: small.rate + c.rate}
			continue
		}
		begun[0].slow(c.since, 0)
		begun[0].sum, begun[0].rate = begun[0].sum+c.sum, begun[0].rate+c.rate
	}
	end(begun[0], whole.to)
	return list
}

// What a step needs: so many times the noise, a part of the lower rate, and buckets on both sides, of which the first and the last may be full in part.
const (
	stepNoise  = 5
	stepPart   = 0.1
	stepWide   = 3
	mostLevels = 7
	muchMore   = 4 // times: what goes up by so much ends what came before, unless that is seen to go on
)

// levelsOf divides a run where its rate steps. If it changes in another way, or does not, there are none.
func levelsOf(x []float64, usual, seconds float64) (list []level) {
	if len(x) < 2*stepWide {
		return nil
	}
	steps := append(stepsOf(nil, x, 0, noiseOf(x), usual, eventLeast*seconds), len(x))
	from, to := 0, steps[0]
	for _, next := range append(steps[1:], len(x)+2) {
		if next < len(x)+2 && slopes(x[from+1:to-1], x[to+1:next-1]) {
			to = next
			continue
		}
		list = append(list, level{from, meanOf(x[from+1:to-1]) - usual, float64(from)})
		from, to = to, next
	}
	if len(list) < 2 || len(list) > mostLevels {
		return nil
	}
	for k := range list[1:] {
		if l := &list[k+1]; l.rate != list[k].rate {
			l.exact += min(max(2*(meanOf(x[l.from-1:l.from+1])-usual-l.rate)/(list[k].rate-l.rate), 0), 2) - 1
		}
	}
	return list
}

// stepsOf appends the buckets, after the first ones, with which another rate begins that is no accident.
func stepsOf(steps []int, x []float64, first int, noise, usual, least float64) []int {
	sum, all, best, most := 0.0, meanOf(x)*float64(len(x)), 0, stepNoise*stepNoise*noise
	for c := 1; c < len(x); c++ {
		if sum += x[c-1]; c < stepWide || len(x)-c < stepWide {
			continue
		}
		n, m := float64(c-2), float64(len(x)-c-2)
		a, b := (sum-x[0]-x[c-1])/n, (all-sum-x[c]-x[len(x)-1])/m
		if gain := (a - b) * (a - b) * n * m / (n + m); gain > most && math.Abs(a-b) >= max(stepPart*(min(a, b)-usual), least) {
			best, most = c, gain
		}
	}
	if best == 0 || len(steps) >= mostEvents {
		return steps
	}
	steps = stepsOf(steps, x[:best], first, noise, usual, least)
	return stepsOf(append(steps, first+best), x[best:], first+best, noise, usual, least)
}

// noiseOf returns the variance of counts around their rates: at least a part of what those of many senders have.
func noiseOf(x []float64) float64 {
	var squares []float64
	for k := range x[1:] {
		squares = append(squares, (x[k+1]-x[k])*(x[k+1]-x[k]))
	}
	// The median of the squares of differences is 0.91 times the variance.
	return max(quantileOf(squares, nil, 0.5)/0.91, meanOf(x)/4, 1)
}

// slopes reports whether a line explains two parts better than a step between them.
func slopes(a, b []float64) bool {
	var x, y, xx, xy, yy float64
	for i, v := range slices.Concat(a, b) {
		t := float64(i)
		x, y, xx, xy, yy = x+t, y+v, xx+t*t, xy+t*v, yy+v*v
	}
	n := float64(len(a) + len(b))
	up := xy - x*y/n
	line, ma, mb := up*up/(xx-x*x/n), meanOf(a), meanOf(b)
	return line > (ma-mb)*(ma-mb)*float64(len(a)*len(b))/n
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
		return min(max(either(p > 0.9 || (x[k]-usual) < 3*math.Sqrt(usual)+1, math.Floor(p+0.1), p), 0), 1)
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
