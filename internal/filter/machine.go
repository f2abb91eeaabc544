package filter

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// The lowest three bits of the code of a BPF instruction are its class
// (linux/bpf_common.h, linux/filter.h). The other bits of a load are its size and
// mode. The other bits of arithmetic and jumps are the operation and the source of the
// second operand.
const (
	classLoad       = 0x00 // A = value
	classLoadX      = 0x01 // X = value
	classStore      = 0x02 // M[K] = A
	classStoreX     = 0x03 // M[K] = X
	classArithmetic = 0x04 // A = A operation K, or X
	classJump       = 0x05
	classReturn     = 0x06
	classMove       = 0x07 // X = A, or A = X
	classMask       = 0x07

	sizeHalf = 0x08 // else a word
	sizeByte = 0x10
	sizeMask = 0x18

	modeConstant = 0x00 // K
	modeAbsolute = 0x20 // the packet at K
	modeIndirect = 0x40 // the packet at X+K
	modeScratch  = 0x60 // M[K]
	modeLength   = 0x80 // the length of the frame
	modeHeader   = 0xa0 // the length of the IPv4 header at K
	modeMask     = 0xe0

	operationMask = 0xf0
	sourceX       = 0x08 // the second operand is X, not K

	jumpAlways  = 0x00
	jumpEqual   = 0x10
	jumpGreater = 0x20
	jumpAtLeast = 0x30
	jumpBits    = 0x40 // A & operand != 0

	returnA  = 0x10 // A, not K
	moveXToA = 0x80
)

// Operations of classArithmetic.
const (
	operationAdd      = 0x00
	operationSubtract = 0x10
	operationMultiply = 0x20
	operationDivide   = 0x30
	operationOr       = 0x40
	operationAnd      = 0x50
	operationLeft     = 0x60
	operationRight    = 0x70
	operationNegate   = 0x80
	operationModulo   = 0x90
)

// sizes maps the bits of sizeMask to the size of a load.
var sizes = [4]uint8{4, 2, 1}

// codes are the instructions of Linux.
var codes = []uint16{
	0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, // load
	0x01, 0x61, 0x81, 0xb1, 0x02, 0x03,
	0x04, 0x14, 0x24, 0x34, 0x44, 0x54, 0x64, 0x74, 0x94, 0xa4, 0x84,
	0x0c, 0x1c, 0x2c, 0x3c, 0x4c, 0x5c, 0x6c, 0x7c, 0x9c, 0xac,
	0x05, 0x15, 0x25, 0x35, 0x45, 0x1d, 0x2d, 0x3d, 0x4d,
	0x06, 0x16, 0x07, 0x87,
}

// scratchWords is the size of the scratch memory M.
const scratchWords = 16

// kernelOffset is the first offset of a load that asks the Linux kernel and does not
// read the frame (SKF_AD_OFF).
const kernelOffset = 0xfffff000

// check returns why an instruction is invalid, or "". left is the number of
// instructions after it.
func check(i bpf.RawInstruction, left int) string {
	class := i.Op & classMask
	switch {
	case !slices.Contains(codes, i.Op):
		return fmt.Sprintf("unknown code %#x", i.Op)
	case class == classStore || class == classStoreX || class <= classLoadX && i.Op&modeMask == modeScratch:
		if i.K >= scratchWords {
			return fmt.Sprintf("no scratch memory at %d", i.K)
		}
	case class == classArithmetic && i.Op&sourceX == 0:
		switch i.Op & operationMask {
		case operationDivide, operationModulo:
			if i.K == 0 {
				return "division by zero"
			}
		case operationLeft, operationRight:
			if i.K > 31 {
				return "shift by more than 31 bits"
			}
		}
	case class == classJump && i.Op&operationMask != jumpAlways:
		if int(max(i.Jt, i.Jf)) >= left {
			return "jump out of the program"
		}
	case class == classJump && int32(i.K) < 0:
		return "backward jump, as in the loop of protochain"
	case class == classJump && int64(i.K) >= int64(left):
		return "jump out of the program"
	}
	return ""
}

// Matcher returns a function that runs the program. Its arguments are the captured
// bytes and the length of the frame on the wire. The function may be called by several
// goroutines at once and does not allocate.
//
// Frames in a file have no VLAN tags outside the frame. A program that asks the kernel
// for anything else matches no frame.
func (p *Program) Matcher() func(data []byte, wireLen int) bool {
	return func(data []byte, wireLen int) bool { return p.run(data, wireLen) != 0 }
}

// A machine is the state of a running program, for one frame.
type machine struct {
	a, x    uint32
	scratch [scratchWords]uint32
	data    []byte
	wire    int
}

// run returns the number of bytes of a frame that the program keeps; 0 means no match.
func (p *Program) run(data []byte, wire int) uint32 {
	m := machine{data: data, wire: wire}
	a := uint32(0) // m.a, in a register
	for pc := 0; pc < len(p.code); pc++ {
		i := &p.code[pc]
		// Most instructions of most filters. The others, and loads beyond the end of
		// the frame, come after the switch.
		switch i.Op {
		case classLoad | modeAbsolute | sizeByte:
			if off := int(i.K); off < len(data) {
				a = uint32(data[off])
				continue
			}
		case classLoad | modeAbsolute | sizeHalf:
			if off := int(i.K); off+2 <= len(data) {
				a = uint32(binary.BigEndian.Uint16(data[off:]))
				continue
			}
		case classLoad | modeAbsolute:
			if off := int(i.K); off+4 <= len(data) {
				a = binary.BigEndian.Uint32(data[off:])
				continue
			}
		case classJump | jumpEqual:
			if a == i.K {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
			continue
		case classReturn:
			return i.K
		}
		switch op := i.Op & operationMask; {
		case i.Op&classMask == classReturn:
			return a
		case i.Op&classMask != classJump:
			if m.a = a; !m.execute(i) {
				return 0
			}
			a = m.a
		case op == jumpAlways:
			pc += int(i.K)
		case compares(op, a, m.operand(i)):
			pc += int(i.Jt)
		default:
			pc += int(i.Jf)
		}
	}
	return 0
}

// operand returns the second operand of an operation or a jump.
func (m *machine) operand(i *bpf.RawInstruction) uint32 {
	if i.Op&sourceX != 0 {
		return m.x
	}
	return i.K
}

// execute runs an instruction that neither jumps nor returns. It reports false if the
// instruction has no result.
func (m *machine) execute(i *bpf.RawInstruction) (ok bool) {
	ok = true
	switch i.Op & classMask {
	case classLoad:
		m.a, ok = m.load(i)
	case classLoadX:
		m.x, ok = m.load(i)
	case classStore:
		m.scratch[i.K%scratchWords] = m.a
	case classStoreX:
		m.scratch[i.K%scratchWords] = m.x
	case classArithmetic:
		m.a, ok = operate(i.Op&operationMask, m.a, m.operand(i))
	case classMove:
		if i.Op&moveXToA != 0 {
			m.a = m.x
		} else {
			m.x = m.a
		}
	}
	return ok
}

// operate evaluates unsigned, modulo 2^32. A shift by 32 or more gives 0, as in
// libpcap; the kernel does not define it. It reports false if there is no result.
func operate(op uint16, x, y uint32) (uint32, bool) {
	switch op {
	case operationAdd:
		return x + y, true
	case operationSubtract:
		return x - y, true
	case operationMultiply:
		return x * y, true
	case operationDivide:
		return x / max(y, 1), y != 0
	case operationModulo:
		return x % max(y, 1), y != 0
	case operationAnd:
		return x & y, true
	case operationOr:
		return x | y, true
	case operationLeft:
		return x << y, true
	case operationRight:
		return x >> y, true
	case operationNegate:
		return -x, true
	}
	return x ^ y, true
}

// load returns the value of a load.
func (m *machine) load(i *bpf.RawInstruction) (v uint32, ok bool) {
	switch size := sizes[i.Op&sizeMask>>3]; i.Op & modeMask {
	case modeLength:
		return uint32(m.wire), true
	case modeScratch:
		return m.scratch[i.K%scratchWords], true
	case modeAbsolute:
		if v, ok = load(m.data, uint64(i.K), size); ok {
			return v, true
		}
		return askKernel(i.K, m.wire)
	case modeIndirect:
		return load(m.data, uint64(i.K)+uint64(m.x), size)
	case modeHeader:
		v, ok = load(m.data, uint64(i.K), 1)
		return (v & 0xf) * 4, ok
	}
	return i.K, true // a constant
}

// compares evaluates the condition of a jump.
func compares(op uint16, a, operand uint32) bool {
	switch op {
	case jumpEqual:
		return a == operand
	case jumpGreater:
		return a > operand
	case jumpAtLeast:
		return a >= operand
	}
	return a&operand != 0
}

// load reads size bytes in network order.
func load(data []byte, off uint64, size uint8) (uint32, bool) {
	if off+uint64(size) > uint64(len(data)) {
		return 0, false
	}
	b := data[off:]
	switch size {
	case 1:
		return uint32(b[0]), true
	case 2:
		return uint32(b[0])<<8 | uint32(b[1]), true
	}
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]), true
}

// askKernel answers a load from the kernel as far as that is possible for a file.
func askKernel(off uint32, wire int) (uint32, bool) {
	switch off - kernelOffset {
	case uint32(bpf.ExtLen):
		return uint32(wire), true
	case vlanTag, vlanTagPresent:
		return 0, true
	}
	return 0, false
}
