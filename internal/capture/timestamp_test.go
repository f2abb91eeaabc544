package capture

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// Every resolution, against arithmetic with all digits.
func TestResolution(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1000, 123456789, 1700000000_123456, 1700000000_123456789, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for i := range 64 {
		stamps = append(stamps, 1<<i+1, 1<<i-1, 0x9e3779b97f4a7c15>>i)
	}
	billion := big.NewInt(1e9)
	for code := range 256 {
		base := int64(10)
		if code >= 128 {
			base = 2
		}
		one := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(code%128)), nil)
		for _, stamp := range stamps {
			n := new(big.Int).SetUint64(stamp)
			n.Mul(n, billion).Div(n, one)
			var rest big.Int
			n.DivMod(n, billion, &rest)
			seconds, nanoseconds := resolution(code).split(stamp)
			if seconds != n.Uint64() || nanoseconds != rest.Uint64() {
				t.Fatalf("resolution %#x, stamp %d: %d s %d ns, want %v s %v ns", code, stamp, seconds, nanoseconds, n, &rest)
			}
		}
	}
}

// A time is one that UnixNano can express, or none.
func TestTimeRange(t *testing.T) {
	const seconds resolution = 0
	for _, test := range []struct {
		stamp  uint64
		offset int64
		want   int64
		none   bool
	}{
		{0, 0, 0, false},
		{5, -10, -5, false},
		{maxSeconds, 0, maxSeconds, false},
		{maxSeconds + 1, 0, 0, true},
		{maxSeconds + 1, -1, maxSeconds, false},
		{0, minSeconds, minSeconds, false},
		{0, minSeconds - 1, 0, true},
		{1, minSeconds - 1, minSeconds, false},
		{1 << 62, -1 << 62, 0, true},
		{math.MaxInt64 / 2, -math.MaxInt64 / 2, 0, false},
		{math.MaxUint64, 1, 0, true},
		{math.MaxUint64, math.MinInt64, 0, true},
		{math.MaxUint64, math.MaxInt64, 0, true},
		{1, math.MaxInt64, 0, true},
		{0, math.MinInt64, 0, true},
	} {
		got := seconds.time(test.stamp, test.offset)
		if got.IsZero() != test.none || !test.none && got.Unix() != test.want {
			t.Errorf("%d%+d: %v", test.stamp, test.offset, got)
		}
		if !test.none && !time.Unix(0, got.UnixNano()).Equal(got) {
			t.Errorf("%d%+d: %v is not what UnixNano says", test.stamp, test.offset, got)
		}
	}
}
