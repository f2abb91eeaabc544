package filter

// A value is a number that a frame has. Values are compared as structures: two
// that are equal are the same number.
type value struct {
	kind valueKind
	// size is how many bytes are read, 1, 2 or 4, in network order.
	size uint8
	// k is a constant, an offset, or the number of something in the kernel.
	k uint32
	// head is where an IPv4 header begins whose length comes on top.
	head uint32
	x, y *value
}

type valueKind uint8

const (
	valueConstant valueKind = iota
	valueLength             // of the frame on the wire
	valueKernel             // something the kernel knows of the frame: k
	valueAt                 // size bytes at k
	valueBehind             // size bytes at k, behind the IPv4 header at head
	valueAtX                // size bytes at k+x
	valueBehindX            // size bytes at k+x, behind the IPv4 header at head

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

// calculate applies an operator to constants. It is false if there is no
// result.
func calculate(op string, x, y uint32) (uint32, bool) { return operate(operationKinds[op], x, y) }

// operate does what BPF does: everything is modulo 2^32 and without a sign.
// A shift by 32 or more gives 0, as in libpcap; the kernel leaves it open.
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

// beyond is an offset that no frame reaches. Greater ones, which are negative
// to the kernel, mean something else there.
const beyond = 1<<31 - 1

// at returns size bytes at an offset from the beginning of the frame.
func at(off uint32, size uint8) *value {
	return &value{kind: valueAt, k: min(off, beyond), size: size}
}

// behind returns size bytes at an offset behind the IPv4 header at head.
func behind(head, off uint32, size uint8) *value {
	return &value{kind: valueBehind, head: head, k: min(head+off, beyond), size: size}
}

func computed(kind valueKind, x, y *value) *value {
	if x.kind == valueConstant && y.kind == valueConstant {
		if v, ok := operate(kind, x.k, y.k); ok {
			return known(v)
		}
	}
	return &value{kind: kind, x: x, y: y}
}
