package stats

import (
	"math"
	"time"
)

const day = 24 * time.Hour

// widths are the widths of buckets. Each divides the next, and buckets begin at multiples since the epoch: whatever is
// merged first, the counts are the same.
var widths = [...]int64{
	int64(10 * time.Millisecond), int64(20 * time.Millisecond), int64(100 * time.Millisecond), int64(200 * time.Millisecond),
	int64(time.Second), int64(2 * time.Second), int64(10 * time.Second), int64(30 * time.Second),
	int64(time.Minute), int64(2 * time.Minute), int64(10 * time.Minute), int64(30 * time.Minute),
	int64(time.Hour), int64(2 * time.Hour), int64(6 * time.Hour), int64(day), int64(10 * day), int64(100 * day), int64(1000 * day), int64(10000 * day),
}

// A summand is a bucket of a line. It adds what others counted at the same time, and joins a neighbour.
type summand[T any] interface {
	*T
	add(*T)
	join(next *T)
}

// A line is a list of buckets in time, at most most of them. If there are more, neighbours are merged.
type line[T any, P summand[T]] struct {
	width   int   // index in widths
	start   int64 // number of the first bucket: its time divided by the width
	buckets []T
	// The bucket that was asked for last, with its times. After a change of buckets there are no such times.
	newest   P
	from, to int64
	most     int
	room     *int // if not nil, what several lines may have together beyond leastTicks each
	least    int  // index of the narrowest width
}

// at returns the bucket of a time in nanoseconds.
func (l *line[T, P]) at(t int64) P {
	if t < l.from || t >= l.to {
		l.find(t)
	}
	return l.newest
}

func (l *line[T, P]) find(t int64) {
	l.newest = l.peek(t)
	w := widths[l.width]
	n := floorDiv(t, w)
	l.from = timeOf(n, w)
	l.to = max(l.from, l.from+w) // beyond the latest time there is none
}

// peek is as at, for a time that is not that of the next messages.
func (l *line[T, P]) peek(t int64) P {
	if i := floorDiv(t, widths[l.width]) - l.start; i >= 0 && i < int64(len(l.buckets)) {
		return &l.buckets[i]
	}
	return l.extend(t)
}

// endOf returns the end of the bucket of a time, whatever the line has.
func endOf[T any, P summand[T]](l *line[T, P], t int64) int64 {
	w := widths[l.width]
	return timeOf(floorDiv(t, w)+1, w)
}

func floorDiv(t, width int64) int64 {
	n := t / width
	if t%width < 0 {
		n--
	}
	return n
}

// timeOf returns the time at which a bucket begins, or the earliest or latest time that there is.
func timeOf(n, width int64) int64 {
	switch {
	case n < math.MinInt64/width:
		return math.MinInt64
	case n > math.MaxInt64/width:
		return math.MaxInt64
	}
	return n * width
}

// extend makes the line reach to a time.
func (l *line[T, P]) extend(t int64) P {
	l.forget()
	for {
		n := floorDiv(t, widths[l.width])
		if len(l.buckets) == 0 {
			if l.start = n; cap(l.buckets) > 0 { // most are used again
				l.buckets = l.buckets[:1]
				clear(l.buckets)
				return &l.buckets[0]
			}
		}
		first, end := min(n, l.start), max(n+1, l.start+int64(len(l.buckets)))
		if end-first > int64(l.longest()) && l.width+1 < len(widths) {
			l.widen()
			continue
		}
		if l.buckets == nil {
			l.reserve(min(l.most, 16))
		}
		l.grow(int(end - first))
		if shift := int(l.start - first); shift > 0 {
			copy(l.buckets[shift:], l.buckets)
			clear(l.buckets[:shift])
		}
		l.start = first
		return &l.buckets[n-first]
	}
}

// grow makes the line n buckets long.
func (l *line[T, P]) grow(n int) {
	if n > cap(l.buckets) {
		l.reserve(min(max(n, 4*cap(l.buckets)), max(l.longest(), n)))
	}
	old := len(l.buckets)
	l.buckets = l.buckets[:n]
	clear(l.buckets[old:])
}

// longest returns how many buckets the line may have.
func (l *line[T, P]) longest() int {
	if l.room == nil {
		return l.most
	}
	return min(l.most, max(cap(l.buckets)+*l.room, leastTicks))
}

// reserve makes room for n buckets.
func (l *line[T, P]) reserve(n int) {
	if l.room != nil {
		*l.room = max(*l.room-(n-cap(l.buckets)), 0)
	}
	l.buckets = append(make([]T, 0, n), l.buckets...)
}

// widen merges neighbours.
func (l *line[T, P]) widen() {
	l.forget()
	factor := widths[l.width+1] / widths[l.width]
	l.width++
	if len(l.buckets) == 0 {
		return
	}
	start, k := floorDiv(l.start, factor), 0
	for i := range l.buckets {
		to := int(floorDiv(l.start+int64(i), factor) - start)
		if i > 0 && to == k {
			P(&l.buckets[k]).join(&l.buckets[i])
			continue
		}
		k = to
		l.buckets[k] = l.buckets[i]
	}
	clear(l.buckets[k+1:])
	l.start, l.buckets = start, l.buckets[:k+1]
}

// merge adds the buckets of o.
func (l *line[T, P]) merge(o *line[T, P]) {
	if len(o.buckets) == 0 {
		return
	}
	if len(l.buckets) == 0 && l.width <= o.width && l.most >= o.most {
		if n := len(o.buckets); n > cap(l.buckets) && n <= l.longest() {
			l.reserve(n)
		}
		if len(o.buckets) <= cap(l.buckets) {
			l.width, l.start, l.buckets = o.width, o.start, append(l.buckets, o.buckets...)
			l.forget()
			return
		}
	}
	for l.width < o.width {
		l.widen()
	}
	l.peek(timeOf(o.start, widths[o.width]))
	l.peek(timeOf(o.start+int64(len(o.buckets)-1), widths[o.width]))
	factor := widths[l.width] / widths[o.width]
	for i := range o.buckets {
		n := o.start + int64(i)
		if factor > 1 {
			n = floorDiv(n, factor)
		}
		P(&l.buckets[n-l.start]).add(&o.buckets[i])
	}
}

func (l *line[T, P]) clear() {
	l.width, l.start, l.buckets = l.least, 0, l.buckets[:0]
	l.forget()
}

// of makes an empty line count seconds, at most so many with what is in room.
func (l *line[T, P]) of(most int, room *int) {
	l.most, l.width, l.least, l.room = most, second, second, room
	l.forget()
}

// forget forgets the newest bucket: no time is before to.
func (l *line[T, P]) forget() { l.from, l.to = 0, math.MinInt64 }

// in calls f for all buckets with their times.
func (l *line[T, P]) in(f func(from, to int64, b P)) {
	w := widths[l.width]
	for i := range l.buckets {
		f(timeOf(l.start+int64(i), w), timeOf(l.start+int64(i)+1, w), &l.buckets[i])
	}
}

// within returns how many of something came in a time: of a bucket that lies in it in part, its part.
func (l *line[T, P]) within(from, to int64, of func(P) uint64) (n float64) {
	l.in(func(start, end int64, b P) {
		n += float64(of(b)) * float64(overlap(start, end, from, to)) / float64(end-start)
	})
	return n
}

// A moment is a bucket of the timeline.
type moment struct {
	requests, replies, challenges, unanswered, unknown, bytesIn, bytesOut, lost uint64
	spare                                                                       spare
}

func (m *moment) counts() []*uint64 {
	return []*uint64{&m.requests, &m.replies, &m.challenges, &m.unanswered, &m.unknown, &m.bytesIn, &m.bytesOut, &m.lost, &m.spare.in, &m.spare.out}
}

func (m *moment) add(o *moment) { addTo(m.counts(), o.counts()) }

func (m *moment) join(next *moment) { m.add(next) }

// A peak is the number of requests in the busiest second of a bucket.
type peak uint64

// add gives an upper bound of the sum's peak.
func (p *peak) add(o *peak) { *p += *o }

func (p *peak) join(next *peak) { *p = max(*p, *next) }

// A cell is a bucket of the timeline of a server, a client or a kind.
type cell struct{ requests, replies, unanswered, bytesIn, bytesOut uint64 }

func (c *cell) counts() []*uint64 {
	return []*uint64{&c.requests, &c.replies, &c.unanswered, &c.bytesIn, &c.bytesOut}
}

func (c *cell) add(o *cell) { addTo(c.counts(), o.counts()) }

func (c *cell) join(next *cell) { c.add(next) }

// A heat counts durations by order of magnitude.
type heat [len(heatBounds)]uint32

func (h *heat) add(o *heat) {
	for i, n := range o {
		h[i] = addSaturated(h[i], n)
	}
}

func (h *heat) join(next *heat) { h.add(next) }

// heatBounds are the upper bounds of the rows of the heat map.
var heatBounds = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond, 70 * time.Millisecond,
	100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, math.MaxInt64,
}

// heatRows has the rows of the buckets of a histogram.
var heatRows = func() (rows [histogramBuckets]uint8) {
	row := 0
	for i := range rows {
		for middle(i) > heatBounds[row] {
			row++
		}
		rows[i] = uint8(row)
	}
	return rows
}()

// The lengths of lines: of the timeline, and of those of servers, clients and kinds.
const (
	maxMoments = 1000
	maxCells   = 60
)

type (
	moments = line[moment, *moment]
	peaks   = line[peak, *peak]
	cells   = line[cell, *cell]
	heats   = line[heat, *heat]
)
