package filter

// A condition is what a frame has to fulfil for an expression to be true, with
// all offsets settled.
//
// It is evaluated from left to right, and only as far as it takes to know the
// result. A test of something that the frame has not, because it is too short
// or was cut, ends the evaluation: the frame does not match, whatever the
// condition around the test is, "not" among it.
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

// A test compares a value, or some bits of it, with another or with a number.
type test struct {
	x    *value
	mask uint32
	cmp  comparison
	n    uint32
	y    *value // instead of n, if there is one
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

// is tells whether a value equals a number.
func is(x *value, n uint32) *condition { return compare(x, allBits, equal, n) }

// has tells whether those bits of a value that the mask selects equal n.
func has(x *value, mask, n uint32) *condition { return compare(x, mask, equal, n) }

func compare(x *value, mask uint32, cmp comparison, n uint32) *condition {
	// What can be masked is masked in the test, which is where a packet
	// filter can do it at once.
	for x.kind == valueAnd {
		if x.y.kind == valueConstant {
			mask &= x.y.k
			x = x.x
		} else if x.x.kind == valueConstant {
			mask &= x.x.k
			x = x.y
		} else {
			break
		}
	}
	if x.kind == valueConstant || mask == 0 { // nothing has to be read
		if cmp.holds(x.k&mask, n) {
			return always
		}
		return never
	}
	return &condition{kind: conditionTest, test: test{x: x, mask: mask, cmp: cmp, n: n}}
}

// compareValues compares two values.
func compareValues(x *value, cmp comparison, y *value) *condition {
	switch {
	case y.kind == valueConstant:
		return compare(x, allBits, cmp, y.k)
	case x.kind == valueConstant && cmp == equal:
		return compare(y, allBits, equal, x.k)
	case x.kind == valueConstant && cmp == greater: // x > y
		return not(compare(y, allBits, atLeast, x.k))
	case x.kind == valueConstant: // x >= y
		return not(compare(y, allBits, greater, x.k))
	}
	return &condition{kind: conditionTest, test: test{x: x, mask: allBits, cmp: cmp, y: y}}
}
