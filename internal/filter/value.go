package filter

// A value is a number computed from a frame. Values with equal fields are the same
// number.
type value struct {
	kind valueKind
	// size is the number of bytes to read in network order: 1, 2 or 4.
	size uint8
	// k is a constant, an offset, or a kernel number.
	k uint32
	// head is the offset of an IPv4 header whose length is added to the offset.
	head uint32
	x, y *value
}

type valueKind uint8

const (
	valueConstant     valueKind = iota
	valueLength                 // of the frame on the wire
	valueKernel                 // number k of the kernel
	valueAt                     // size bytes at k
	valueAfterHeader            // size bytes at k, after the IPv4 header at head
	valueAtX                    // size bytes at k+x
	valueAfterHeaderX           // size bytes at k+x, after the IPv4 header at head

	// Operations on x and y.
	valueAdd
	valueSubtract
	valueMultiply
	valueDivide
	valueModulo
	valueAnd
	valueOr
	valueXor
	valueLeft
	valueRight
)

var operationKinds = map[string]valueKind{
	"+": valueAdd, "-": valueSubtract, "*": valueMultiply, "/": valueDivide, "%": valueModulo,
	"&": valueAnd, "|": valueOr, "^": valueXor, "<<": valueLeft, ">>": valueRight,
}

// calculate evaluates an operator on constants. It reports false if there is no
// result.
func calculate(op string, x, y uint32) (uint32, bool) { return operate(operationKinds[op], x, y) }

// operate evaluates as BPF does, unsigned and modulo 2^32. A shift by 32 or more gives
// 0, as in libpcap; the kernel does not define it.
func operate(kind valueKind, x, y uint32) (uint32, bool) {
	switch kind {
	case valueAdd:
		return x + y, true
	case valueSubtract:
		return x - y, true
	case valueMultiply:
		return x * y, true
	case valueDivide:
		if y == 0 {
			return 0, false
		}
		return x / y, true
	case valueModulo:
		if y == 0 {
			return 0, false
		}
		return x % y, true
	case valueAnd:
		return x & y, true
	case valueOr:
		return x | y, true
	case valueXor:
		return x ^ y, true
	case valueLeft:
		return x << y, true
	case valueRight:
		return x >> y, true
	}
	return 0, false
}

func known(n uint32) *value { return &value{kind: valueConstant, k: n} }

// beyond is an offset beyond the end of any frame. Larger offsets are negative for the
// kernel and have special meanings.
const beyond = 1<<31 - 1

// at returns the value at an offset in the frame.
func at(off uint32, size uint8) *value {
	return &value{kind: valueAt, k: min(off, beyond), size: size}
}

// afterHeader returns the value at an offset after the IPv4 header at head.
func afterHeader(head, off uint32, size uint8) *value {
	return &value{kind: valueAfterHeader, head: head, k: min(head+off, beyond), size: size}
}

func computed(kind valueKind, x, y *value) *value {
	if x.kind == valueConstant && y.kind == valueConstant {
		if v, ok := operate(kind, x.k, y.k); ok {
			return known(v)
		}
	}
	return &value{kind: kind, x: x, y: y}
}
