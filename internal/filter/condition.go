package filter

// A condition is a boolean expression over the bytes of a frame.
//
// It is evaluated from left to right, with short circuits. A test of bytes that the
// frame does not have ends the evaluation. Then the frame does not match, even under
// "not".
type condition struct {
	kind  conditionKind
	test  test
	parts []*condition // of allOf, anyOf and not
}

type conditionKind uint8

const (
	conditionNever conditionKind = iota
	conditionAlways
	conditionTest
	conditionAll
	conditionAny
	conditionNot
)

// A test compares a value, or some of its bits, with a number.
type test struct {
	x    value
	mask uint32
	cmp  comparison
	n    uint32
}

type comparison uint8

const (
	equal comparison = iota
	greater
	atLeast
)

func (c comparison) holds(x, y uint32) bool {
	switch c {
	case equal:
		return x == y
	case greater:
		return x > y
	}
	return x >= y
}

const allBits = ^uint32(0)

var (
	never  = &condition{kind: conditionNever}
	always = &condition{kind: conditionAlways}
)

func allOf(parts ...*condition) *condition { return &condition{kind: conditionAll, parts: parts} }

func anyOf(parts ...*condition) *condition { return &condition{kind: conditionAny, parts: parts} }

func not(c *condition) *condition { return &condition{kind: conditionNot, parts: []*condition{c}} }

// is returns the condition that a value equals a number.
func is(x value, n uint32) *condition { return compare(x, allBits, equal, n) }

// has returns the condition that the masked value equals n.
func has(x value, mask, n uint32) *condition { return compare(x, mask, equal, n) }

func compare(x value, mask uint32, cmp comparison, n uint32) *condition {
	if mask == 0 { // a constant result
		if cmp.holds(0, n) {
			return always
		}
		return never
	}
	return &condition{kind: conditionTest, test: test{x, mask, cmp, n}}
}
