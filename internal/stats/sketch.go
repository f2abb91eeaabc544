package stats

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A histogram counts durations in buckets whose bounds grow by 2 %, from 1 µs to ten minutes: a quantile is within
// 1 % of the truth, and merging is addition. A nil histogram is empty.
type histogram struct {
	n      uint64
	counts [histogramBuckets]uint32
}

const (
	histogramBuckets = 1024
	perOctave        = 35 // buckets: 2^(1/35) is 1.02
	firstOctave      = 10 // durations below 2^10 ns are in the first bucket
)

// octave has the bounds of the buckets of an octave, as the 16 bits after the leading one.
var octave = func() (bounds [perOctave]uint32) {
	for i := range bounds {
		bounds[i] = uint32(math.Round((math.Exp2(float64(i)/perOctave) - 1) * (1 << 16)))
	}
	return bounds
}()

// guess has the first bucket of an octave that begins with the same 6 bits. Each bucket has at least as many values as these.
var guess = func() (buckets [64]uint8) {
	i := uint8(0)
	for bits := range buckets {
		for i+1 < perOctave && octave[i+1] <= uint32(bits)<<10 {
			i++
		}
		buckets[bits] = i
	}
	return buckets
}()

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	n := bits.Len64(v) - 1
	if n < firstOctave {
		return 0
	}
	m := uint32(v<<((63-n)&63)>>47) & 0xffff
	i := int(guess[m>>10])
	for i+1 < perOctave && octave[i+1] <= m {
		i++
	}
	return min((n-firstOctave)*perOctave+i, histogramBuckets-1)
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket == 0 {
		return 1 << firstOctave
	}
	n := uint(bucket/perOctave + firstOctave)
	low, high := octave[bucket%perOctave], uint32(1<<16)
	if i := bucket%perOctave + 1; i < perOctave {
		high = octave[i]
	}
	return time.Duration(uint64(1<<17+low+high) << n >> 17)
}

func (h *histogram) add(bucket int) {
	h.n++
	h.counts[bucket]++
}

func (h *histogram) merge(o *histogram) {
	h.n += o.n
	for i, n := range o.counts {
		if n > 0 { // most are not
			h.counts[i] = addSaturated(h.counts[i], n)
		}
	}
}

func addSaturated(a, b uint32) uint32 {
	if a+b < a {
		return math.MaxUint32
	}
	return a + b
}

// quantile returns the shortest duration that permille of all do not exceed, 0 if there are none.
func (h *histogram) quantile(permille uint64) time.Duration {
	if h == nil || h.n == 0 {
		return 0
	}
	rank, seen := max((h.n*permille+999)/1000, 1), uint64(0)
	for i, n := range h.counts {
		if seen += uint64(n); seen >= rank {
			return middle(i)
		}
	}
	return middle(histogramBuckets - 1)
}

// above returns how many durations are longer.
func (h *histogram) above(d time.Duration) uint64 {
	return nettext.Sum(h.counts[bucketOf(d)+1:], func(n uint32) uint64 { return uint64(n) })
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// A registers is a HyperLogLog sketch (Flajolet and others, 2007): the maximum number of leading zeros of hashes by
// their first bits. Its length is a power of two.
type registers []uint8

// add adds a hash to 1<<n registers.
func (r registers) add(hash uint64, n uint) { r.raise(hash>>(64-n), hash<<n|1<<(n-1)) }

// raise raises a register to the rank of the rest of a hash.
func (r registers) raise(i, rest uint64) {
	if rank := uint8(bits.LeadingZeros64(rest) + 1); i < uint64(len(r)) && rank > r[i] {
		r[i] = rank
	}
}

// estimate returns the number of distinct hashes by the estimator of Ertl (2017, arXiv:1702.01284, algorithm 6), which
// has no bias. No register is full, as some would be of 2^50 hashes.
func (r registers) estimate() uint64 {
	var counts [256]uint32
	for _, rank := range r {
		counts[rank]++
	}
	m, z := float64(len(r)), 0.0
	for k := 64; k > 0; k-- {
		z = 0.5 * (z + float64(counts[k]))
	}
	z += m * sigma(float64(counts[0])/m)
	return uint64(math.Round(m * m / (2 * math.Ln2) / z))
}

func sigma(x float64) float64 {
	for y, z := 1.0, x; ; {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

// The sizes of sketches: the standard errors are 0.8 % and 1.6 %, so that 95 % of the numbers are within 1.6 % and
// 3.3 %. What is counted in several shards has a smaller error.
const (
	largeBits   = 14
	largeSketch = 1 << largeBits
	smallBits   = 12
	smallSketch = 1 << smallBits
	// fewHashes is how many hashes are kept as they are.
	fewHashes = 24
	// maxSketches is how many servers have one.
	maxSketches = 64
)

// A distinct counts distinct hashes: exactly while there are few, then by a sketch.
type distinct struct {
	n      uint8
	more   bool              // there are more, and no room to count them
	sketch registers         // nil while there are few
	few    [fewHashes]uint64 // in order of arrival, or sorted
	// others are the hashes of other shards, of which none is counted here, and squares the sum of the squares of those
	// that are estimates.
	others, squares uint64
}

func (d *distinct) add(hash uint64, room *stock[registers]) {
	switch r := d.sketch; len(r) {
	case 0:
		d.addFew(hash, room)
	case smallSketch:
		r.add(hash, smallBits)
	default:
		r.add(hash, largeBits)
	}
}

func (d *distinct) addFew(hash uint64, room *stock[registers]) {
	if d.n > 0 && d.few[d.n-1] == hash || slices.Contains(d.few[:d.n], hash) {
		return
	}
	if int(d.n) < len(d.few) {
		d.few[d.n] = hash
		d.n++
		return
	}
	if r := room.take(); r != nil {
		d.spread(r)
		d.add(hash, room)
		return
	}
	d.more = true
}

// spread moves the hashes to a sketch.
func (d *distinct) spread(r registers) {
	few := d.few[:d.n]
	for d.sketch, d.n = r, 0; len(few) > 0; few = few[1:] {
		d.add(few[0], nil)
	}
}

// merge adds the hashes of o, whose sketch has the same size.
func (d *distinct) merge(o *distinct, room *stock[registers]) {
	for _, h := range o.few[:o.n] {
		d.add(h, room)
	}
	if o.sketch == nil {
		return
	}
	if d.sketch == nil {
		r := room.take()
		if r == nil {
			d.more = true
			return
		}
		d.spread(r)
	}
	for i := 0; i < len(o.sketch); i += 8 {
		if binary.LittleEndian.Uint64(o.sketch[i:]) == 0 {
			continue // most are, while there are few addresses
		}
		for k := i; k < i+8; k++ {
			d.sketch[k] = max(d.sketch[k], o.sketch[k])
		}
	}
}

// sum adds the hashes of another shard, which d does not have.
func (d *distinct) sum(o *distinct) {
	d.more = d.more || o.more
	d.others += uint64(o.n) + o.others
	d.squares += o.squares
	if o.sketch != nil {
		n := o.sketch.estimate()
		d.others += n
		d.squares += n * n
	}
}

// clear empties the counter. Its sketch goes back to room.
func (d *distinct) clear(room *stock[registers]) {
	if d.sketch != nil {
		clear(d.sketch)
		room.give(d.sketch)
	}
	d.sketch, d.n, d.more = nil, 0, false
}

// count returns the number with its standard error in percent, rounded up.
func (d *distinct) count() Distinct {
	n := uint64(d.n) + d.others
	switch {
	case d.more:
		return Distinct{n, 100}
	case d.sketch != nil:
		return Distinct{d.sketch.estimate(), 1} // a large one
	case d.squares > 0:
		return Distinct{n, int(math.Ceil(1.65 * math.Sqrt(float64(d.squares)) / float64(n)))}
	}
	return Distinct{Count: n}
}

// sketches returns room for some sketches of a size.
func sketches(size, most int) stock[registers] {
	return stock[registers]{left: most, make: func() registers { return make(registers, size) }}
}
