package filter

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

// maxInstructions is the largest program that Linux accepts (BPF_MAXINSNS).
const maxInstructions = 4096

// A Program is a filter in BPF instructions.
type Program []bpf.RawInstruction

// match reports whether a frame, of which data was captured, matches. As in a program, a
// test of bytes that the frame does not have ends the evaluation.
func (g *graph) match(data []byte, wireLen int) bool {
	n := g.root
	for n != g.accept && n != g.reject {
		v, ok := n.test.x.of(data, wireLen)
		switch {
		case !ok:
			return false
		case n.test.cmp.holds(v&n.test.mask, n.test.n):
			n = n.yes
		default:
			n = n.no
		}
	}
	return n == g.accept
}

// of reads the value from a frame of a file, and reports whether the frame has it. Nothing is
// beside such a frame: what only the kernel knows is 0.
func (v *value) of(data []byte, wireLen int) (uint32, bool) {
	off := uint64(v.k)
	switch v.kind {
	case valueLength:
		return uint32(wireLen), true
	case valueKernel:
		return 0, true
	case valueAfterHeader:
		if uint64(v.head) >= uint64(len(data)) {
			return 0, false
		}
		off += uint64(data[v.head]&0xf) * 4
	}
	if off+uint64(v.size) > uint64(len(data)) {
		return 0, false
	}
	switch b := data[off:]; v.size {
	case 1:
		return uint32(b[0]), true
	case 2:
		return uint32(binary.BigEndian.Uint16(b)), true
	default:
		return binary.BigEndian.Uint32(b), true
	}
}
