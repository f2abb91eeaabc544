package capture

import (
	"math"
	"math/bits"
	"time"
)

// A resolution is the unit in which an interface of a pcapng file counts time,
// in the form of if_tsresol (draft-ietf-opsawg-pcapng section 4.2): 2 to the
// power of minus the lower seven bits, in seconds, if the highest bit is set,
// otherwise 10 to the power of that.
type resolution uint8

// microseconds is the default resolution of an interface.
const microseconds resolution = 6

var powersOf10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// split returns the seconds and nanoseconds of a time stamp, rounded down to whole
// nanoseconds. It is exact for every resolution.
func (t resolution) split(stamp uint64) (seconds, nanoseconds uint64) {
	exp := uint(t &^ 0x80)
	binary := t&0x80 != 0
	switch {
	case binary && exp < 64:
		high, low := bits.Mul64(stamp&(1<<exp-1), 1e9)
		return stamp >> exp, high<<(64-exp) | low>>exp
	case binary:
		high, _ := bits.Mul64(stamp, 1e9)
		return 0, high >> (exp - 64)
	case exp <= 9:
		one := powersOf10[exp]
		return stamp / one, stamp % one * powersOf10[9-exp]
	case exp <= 19:
		one := powersOf10[exp]
		return stamp / one, stamp % one / powersOf10[exp-9]
	case exp-9 <= 19:
		return 0, stamp / powersOf10[exp-9]
	}
	return 0, 0
}

// The range, in seconds, of times that UnixNano can express.
const (
	minSeconds = math.MinInt64/1_000_000_000 + 1
	maxSeconds = math.MaxInt64/1_000_000_000 - 1
)

// time returns the time of a stamp plus offset seconds, or the zero time if it is outside
// the range of Frame.Time.
func (t resolution) time(stamp uint64, offset int64) time.Time {
	seconds, nanoseconds := t.split(stamp)
	// This prevents an overflow of the sum.
	if seconds > math.MaxInt64/2 || offset > math.MaxInt64/2 {
		return time.Time{}
	}
	sum := int64(seconds) + offset
	if sum < minSeconds || sum > maxSeconds {
		return time.Time{}
	}
	return time.Unix(sum, int64(nanoseconds)).UTC()
}
