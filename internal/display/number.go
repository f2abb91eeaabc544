package display

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A num is a number: i if it is whole and fits, u if it is larger, otherwise only f.
type num struct {
	f    float64
	i    int64
	u    uint64
	kind numKind
}

type numKind uint8

const (
	isInt numKind = iota
	isUint
	isFloat
)

func intOf(i int64) num { return num{f: float64(i), i: i} }

func uintOf(u uint64) num {
	if u <= math.MaxInt64 {
		return intOf(int64(u))
	}
	return num{f: float64(u), u: u, kind: isUint}
}

func floatOf(f float64) num {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return intOf(int64(f))
	}
	return num{f: f, kind: isFloat}
}

// times multiplies, exactly if the result is an integer that fits.
func (n num) times(by int64) num {
	if p := n.i * by; n.kind == isInt && by != 0 && p/by == n.i && (p < 0) == (n.i < 0) {
		return intOf(p)
	}
	return floatOf(n.f * float64(by))
}

func (n num) per(by int64) num {
	if n.kind == isInt && n.i%by == 0 {
		return intOf(n.i / by)
	}
	return floatOf(n.f / float64(by))
}

// compare returns -1, 0 or 1.
func (n num) compare(o num) int {
	switch {
	case n.kind == isInt && o.kind == isInt:
		return order(n.i < o.i, n.i > o.i)
	case n.kind == isUint && o.kind == isUint:
		return order(n.u < o.u, n.u > o.u)
	}
	return order(n.f < o.f, n.f > o.f)
}

func order(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

// An interval is a range of numbers. It has the limits for each form that a value can
// have, so that a test is two comparisons.
type interval struct {
	lo, hi         int64 // for values up to MaxInt64
	ulo, uhi       uint64
	flo, fhi       float64
	loOpen, hiOpen bool // for floats
}

var everything = interval{lo: math.MinInt64, hi: math.MaxInt64, ulo: 0, uhi: math.MaxUint64, flo: math.Inf(-1), fhi: math.Inf(1)}

// from sets the lower limit.
func (v *interval) from(n num, open bool) {
	v.flo, v.loOpen = n.f, open
	i, u, above := ceil(n, open)
	switch {
	case above: // all values are smaller
		v.lo, v.hi, v.ulo, v.uhi = 1, 0, 1, 0
	case u > math.MaxInt64:
		v.lo, v.hi, v.ulo = 1, 0, u
	default:
		v.lo, v.ulo = i, 0
	}
}

// to sets the upper limit. It comes after from.
func (v *interval) to(n num, open bool) {
	v.fhi, v.hiOpen = n.f, open
	i, u, above := ceil(n, !open) // the first value beyond
	switch {
	case above:
	case u > math.MaxInt64:
		v.uhi = min(v.uhi, u-1)
	case i == math.MinInt64:
		v.lo, v.hi, v.ulo, v.uhi = 1, 0, 1, 0
	default:
		v.hi = min(v.hi, i-1)
		if v.lo > v.hi {
			v.lo, v.hi = 1, 0
		}
		v.ulo, v.uhi = 1, 0
	}
}

// ceil returns the smallest whole number that is at least n, or above n if open is set:
// as i, and as u if it is positive. above says that it does not fit.
func ceil(n num, open bool) (i int64, u uint64, above bool) {
	switch n.kind {
	case isInt:
		switch {
		case !open:
			i = n.i
		case n.i == math.MaxInt64:
			return 0, 1 << 63, false
		default:
			i = n.i + 1
		}
		return i, uint64(max(i, 0)), false
	case isUint:
		switch {
		case !open:
			return 0, n.u, false
		case n.u == math.MaxUint64:
			return 0, 0, true
		}
		return 0, n.u + 1, false
	}
	f := math.Ceil(n.f)
	if open && f == n.f {
		f++
	}
	switch {
	case f < math.MinInt64:
		return math.MinInt64, 0, false
	case f >= math.MaxUint64:
		return 0, 0, true
	case f >= math.MaxInt64:
		return 0, uint64(f), false
	}
	return int64(f), uint64(max(f, 0)), false
}

// intervalOf returns the numbers that fulfil a comparison with n.
func intervalOf(o op, n num) interval {
	v := everything
	switch o {
	case less:
		v.to(n, true)
	case atMost:
		v.to(n, false)
	case more:
		v.from(n, true)
	case atLeast:
		v.from(n, false)
	default:
		v.from(n, false)
		v.to(n, false)
	}
	return v
}

func between(lo, hi num) interval {
	v := everything
	v.from(lo, false)
	v.to(hi, false)
	return v
}

func (v *interval) int(i int64) bool { return i >= v.lo && i <= v.hi }

func (v *interval) uint(u uint64) bool { return u >= v.ulo && u <= v.uhi }

func (v *interval) float(f float64) bool {
	return (f > v.flo || f == v.flo && !v.loOpen) && (f < v.fhi || f == v.fhi && !v.hiOpen)
}

// float32 compares with the limits rounded as the value is.
func (v *interval) float32(f float64) bool {
	lo, hi := float64(float32(v.flo)), float64(float32(v.fhi))
	return (f > lo || f == lo && !v.loOpen) && (f < hi || f == hi && !v.hiOpen)
}

func (v *interval) num(n num) bool {
	switch n.kind {
	case isInt:
		return v.int(n.i)
	case isUint:
		return v.uint(n.u)
	}
	return v.float(n.f)
}

// numeric reports whether a text begins like a number. "inf" and "nan" are not
// numbers.
func numeric(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s != "" && (s[0] == '.' || s[0] >= '0' && s[0] <= '9')
}

// parseNum parses a number without a unit: 20, 0x14, 2e1, -1.5.
func parseNum(s string) (num, bool) {
	if !numeric(s) {
		return num{}, false
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return intOf(i), true
	}
	if u, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 0, 64); err == nil {
		return uintOf(u), true
	}
	f, err := strconv.ParseFloat(s, 64)
	return floatOf(f), err == nil
}

// factors are the units of amounts.
var factors = map[string]int64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}

// units are the units of time.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour,
}

// parse parses a number with its unit for the field. A reason why it is none may be "".
func (r *read) parse(s string) (n num, ok bool, why string) {
	if n, ok = parseNum(s); ok {
		if r.strict && n.f != 0 {
			return n, false, "a unit is missing: " + s + "ms, for example; rtt_ns has nanoseconds without one"
		}
		if r.most > 0 && (n.f < 0 || n.f > float64(r.most)) {
			return n, false, "it is at most " + strconv.FormatUint(r.most, 10)
		}
		return n, true, ""
	}
	head := strings.TrimRightFunc(s, unicode.IsLetter)
	unit := s[len(head):]
	n, ok = parseNum(head)
	if !ok || unit == "" {
		if d, err := time.ParseDuration(s); err == nil && r.unit > 0 { // 1m30s
			return intOf(int64(d)).per(int64(r.unit)), true, ""
		}
		return n, false, ""
	}
	scale, isTime := units[unit]
	factor, isAmount := factors[strings.TrimSuffix(strings.ToLower(unit), "b")]
	isAmount = isAmount && unit != "m"
	switch {
	case r.unit > 0 && isTime:
		return n.times(int64(scale)).per(int64(r.unit)), true, ""
	case r.unit > 0:
		return n, false, "the units of time are ns, us, ms, s, m and h"
	case isTime && unit == "m":
		return n, false, "m is minutes, and M a million"
	case isTime:
		return n, false, "it has no unit of time"
	case !isAmount:
		return n, false, "the units are k, M and G, or KiB, MiB and GiB"
	}
	n = n.times(factor)
	if r.most > 0 && (n.f < 0 || n.f > float64(r.most)) {
		return n, false, "it is at most " + strconv.FormatUint(r.most, 10)
	}
	return n, true, ""
}

// span splits a range such as 5-9, 1k-2k or -5..5.
func (r *read) span(s string) (v interval, ok bool) {
	for i := 1; i < len(s)-1; i++ {
		n := 0
		switch {
		case s[i] == '-':
			n = 1
		case strings.HasPrefix(s[i:], ".."):
			n = 2
		default:
			continue
		}
		lo, okLo, _ := r.parse(s[:i])
		hi, okHi, _ := r.parse(s[i+n:])
		if okLo && okHi {
			return between(lo, hi), true
		}
	}
	return v, false
}

// numberIn returns the number that a text on the wire is: a sign, digits, a dot and
// digits.
func numberIn(s []byte) (num, bool) {
	t := s
	negative := len(t) > 0 && t[0] == '-'
	if len(t) > 0 && (t[0] == '-' || t[0] == '+') {
		t = t[1:]
	}
	whole, digits, fraction := uint64(0), 0, -1
	for _, c := range t {
		switch {
		case c >= '0' && c <= '9':
			whole = whole*10 + uint64(c-'0')
			if digits > 0 || c != '0' {
				digits++
			}
			if fraction >= 0 {
				fraction++
			}
		case c == '.' && fraction < 0:
			fraction = 0
		default:
			return num{}, false
		}
	}
	if len(t) == 0 || fraction == 0 || digits > 19 {
		return num{}, false
	}
	if fraction > 0 {
		if digits > 15 || fraction > 22 {
			return num{}, false
		}
		f := float64(whole) / math.Pow10(fraction)
		if negative {
			f = -f
		}
		return floatOf(f), true
	}
	switch {
	case !negative:
		return uintOf(whole), true
	case whole <= math.MaxInt64:
		return intOf(-int64(whole)), true
	}
	return num{}, false
}
