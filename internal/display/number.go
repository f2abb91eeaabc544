package display

import (
	"cmp"
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
		return cmp.Compare(n.i, o.i)
	case n.kind == isUint && o.kind == isUint:
		return cmp.Compare(n.u, o.u)
	case n.kind != isFloat && o.kind != isFloat: // what needs 64 bits is larger
		return cmp.Compare(n.kind, o.kind)
	}
	return cmp.Compare(n.f, o.f)
}

// An interval is a range of numbers, with or without limits.
type interval struct {
	lo, hi         num
	below, above   bool // no limit there
	loOpen, hiOpen bool // the limit is outside
}

// intervalOf returns the numbers that fulfil a comparison with n.
func intervalOf(o op, n num) interval {
	switch o {
	case less, atMost:
		return interval{hi: n, below: true, hiOpen: o == less}
	case more, atLeast:
		return interval{lo: n, above: true, loOpen: o == more}
	}
	return between(n, n)
}

func between(lo, hi num) interval { return interval{lo: lo, hi: hi} }

// empty reports whether a range with limits has no numbers.
func (v *interval) empty() bool { return v.lo.compare(v.hi) > 0 }

func (v *interval) num(n num) bool {
	if !v.below {
		if c := n.compare(v.lo); c < 0 || c == 0 && v.loOpen {
			return false
		}
	}
	if v.above {
		return true
	}
	c := n.compare(v.hi)
	return c < 0 || c == 0 && !v.hiOpen
}

// float32 compares with the limits rounded as the value is.
func (v *interval) float32(f float64) bool {
	rounded := *v
	rounded.lo, rounded.hi = floatOf(float64(float32(v.lo.f))), floatOf(float64(float32(v.hi.f)))
	return rounded.num(floatOf(f))
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

// parse parses a number with its unit for the field. A reason why it is none may be "".
func (r *read) parse(s string) (n num, ok bool, why string) {
	if n, ok = parseNum(s); ok {
		if r.strict && n.f != 0 {
			return n, false, "a unit is missing: " + s + "ms, for example; rtt_ns has nanoseconds without one"
		}
		return r.within(n)
	}
	if d, err := time.ParseDuration(s); err == nil && r.unit > 0 {
		return intOf(int64(d)).per(int64(r.unit)), true, ""
	}
	head := strings.TrimRightFunc(s, unicode.IsLetter)
	unit := s[len(head):]
	if n, ok = parseNum(head); !ok || unit == "" {
		return n, false, ""
	}
	_, noTime := time.ParseDuration("1" + unit)
	factor, isAmount := factors[strings.TrimSuffix(strings.ToLower(unit), "b")]
	switch {
	case r.unit > 0:
		return n, false, "the units of time are ns, us, ms, s, m and h"
	case unit == "m":
		return n, false, "m is minutes, and M a million"
	case noTime == nil:
		return n, false, "it has no unit of time"
	case !isAmount:
		return n, false, "the units are k, M and G, or KiB, MiB and GiB"
	}
	return r.within(n.times(factor))
}

// within says whether a number is one that the field can have.
func (r *read) within(n num) (_ num, ok bool, why string) {
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
func numberIn(s string) (num, bool) {
	const digits = "0123456789"
	unsigned := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		unsigned = s[1:]
	}
	whole, fraction, two := strings.Cut(unsigned, ".")
	if strings.Trim(whole, digits)+strings.Trim(fraction, digits) != "" || fraction == "" && (two || whole == "") {
		return num{}, false
	}
	if two {
		f, err := strconv.ParseFloat(s, 64)
		return floatOf(f), err == nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return intOf(i), true
	}
	u, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
	return uintOf(u), err == nil
}
