package filter

// A value is a number from a frame. The zero value is none.
type value struct {
	kind valueKind
	// size is the number of bytes to read in network order: 1, 2 or 4.
	size uint8
	// k is an offset or a kernel number.
	k uint32
	// head is the offset of an IPv4 header whose length is added to the offset.
	head uint32
}

type valueKind uint8

const (
	valueNone        valueKind = iota
	valueLength                // of the frame on the wire
	valueKernel                // number k of the kernel
	valueAt                    // size bytes at k
	valueAfterHeader           // size bytes at k, after the IPv4 header at head
)

// beyond is an offset beyond the end of any frame. Larger offsets are negative for the
// kernel and have special meanings.
const beyond = 1<<31 - 1

// at returns the value at an offset in the frame.
func at(off uint32, size uint8) value { return value{kind: valueAt, k: min(off, beyond), size: size} }

// afterHeader returns the value at an offset after the IPv4 header at head.
func afterHeader(head, off uint32, size uint8) value {
	return value{kind: valueAfterHeader, head: head, k: min(head+off, beyond), size: size}
}
