package filter

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
)

// An instruction is one of BPF's, decoded and checked.
type instruction struct {
	op     operationCode
	jt, jf uint8
	k      uint32
}

type operationCode uint8

const (
	opLoadByte operationCode = iota // A = packet at k
	opLoadHalf
	opLoadWord
	opLoadByteX // A = packet at X+k
	opLoadHalfX
	opLoadWordX
	opLoadConstant  // A = k
	opLoadLength    // A = length of the frame
	opLoadScratch   // A = M[k]
	opLoadXConstant // X = k
	opLoadXLength
	opLoadXScratch
	opLoadXHeader // X = length of the IPv4 header at k
	opStore       // M[k] = A
	opStoreX
	opAdd // A = A + k
	opSubtract
	opMultiply
	opDivide
	opModulo
	opAnd
	opOr
	opXor
	opLeft
	opRight
	opAddX // A = A + X
	opSubtractX
	opMultiplyX
	opDivideX
	opModuloX
	opAndX
	opOrX
	opXorX
	opLeftX
	opRightX
	opNegate
	opJump
	opIfEqual
	opIfGreater
	opIfAtLeast
	opIfBits
	opIfEqualX
	opIfGreaterX
	opIfAtLeastX
	opIfBitsX
	opToX
	opToA
	opReturn
	opReturnA
)

// codes are the encodings of the instructions (linux/bpf_common.h and
// linux/filter.h): class in the lowest three bits, then size and mode of loads,
// operator and source of others.
var codes = map[uint16]operationCode{
	0x30: opLoadByte, 0x28: opLoadHalf, 0x20: opLoadWord,
	0x50: opLoadByteX, 0x48: opLoadHalfX, 0x40: opLoadWordX,
	0x00: opLoadConstant, 0x80: opLoadLength, 0x60: opLoadScratch,
	0x01: opLoadXConstant, 0x81: opLoadXLength, 0x61: opLoadXScratch, 0xb1: opLoadXHeader,
	0x02: opStore, 0x03: opStoreX,
	0x04: opAdd, 0x14: opSubtract, 0x24: opMultiply, 0x34: opDivide, 0x94: opModulo,
	0x54: opAnd, 0x44: opOr, 0xa4: opXor, 0x64: opLeft, 0x74: opRight,
	0x0c: opAddX, 0x1c: opSubtractX, 0x2c: opMultiplyX, 0x3c: opDivideX, 0x9c: opModuloX,
	0x5c: opAndX, 0x4c: opOrX, 0xac: opXorX, 0x6c: opLeftX, 0x7c: opRightX,
	0x84: opNegate,
	0x05: opJump, 0x15: opIfEqual, 0x25: opIfGreater, 0x35: opIfAtLeast, 0x45: opIfBits,
	0x1d: opIfEqualX, 0x2d: opIfGreaterX, 0x3d: opIfAtLeastX, 0x4d: opIfBitsX,
	0x07: opToX, 0x87: opToA, 0x06: opReturn, 0x16: opReturnA,
}

// kernelOffset is where loads begin that ask the Linux kernel instead of the
// frame (SKF_AD_OFF).
const kernelOffset = 0xfffff000

// decode checks an instruction with left more instructions behind it.
func decode(r bpf.RawInstruction, left int) (instruction, string) {
	op, ok := codes[r.Op]
	if !ok {
		return instruction{}, fmt.Sprintf("there is no code %#x", r.Op)
	}
	i := instruction{op, r.Jt, r.Jf, r.K}
	switch op {
	case opLoadByte, opLoadHalf, opLoadWord:
		if r.K >= kernelOffset {
			i.op, i.k = opLoadConstant, 0
			switch r.K - kernelOffset {
			case uint32(bpf.ExtLen):
				i.op = opLoadLength
			case vlanTag, vlanTagPresent:
				// The tags of frames in a file are in the frames.
			default:
				i.op = opLoadWord
				i.k = r.K
			}
		}
	case opLoadScratch, opLoadXScratch, opStore, opStoreX:
		if r.K > 15 {
			return i, fmt.Sprintf("there is no scratch memory at %d", r.K)
		}
	case opDivide, opModulo:
		if r.K == 0 {
			return i, "division by zero"
		}
	case opLeft, opRight:
		if r.K > 31 {
			return i, "shift by more than 31 bits"
		}
	case opJump:
		switch {
		case int32(r.K) < 0:
			return i, "a jump goes back, as in the loop of protochain"
		case int64(r.K) >= int64(left):
			return i, "a jump leads out of the program"
		}
	case opIfEqual, opIfGreater, opIfAtLeast, opIfBits, opIfEqualX, opIfGreaterX, opIfAtLeastX, opIfBitsX:
		if int(max(r.Jt, r.Jf)) >= left {
			return i, "a jump leads out of the program"
		}
	}
	return i, ""
}

// skip returns how far a conditional jump leads.
func (i *instruction) skip(yes bool) int {
	if yes {
		return int(i.jt)
	}
	return int(i.jf)
}

// Matcher returns a function that runs the program: data is what was captured
// of a frame, and wireLen is how long it was. The function may be called by
// several goroutines at once; it allocates nothing.
//
// What a program asks the kernel has no answer in a file: there is no VLAN tag
// beside the frame, and no frame matches a program that asks for anything else.
func (p *Program) Matcher() func(data []byte, wireLen int) bool {
	return func(data []byte, wireLen int) bool { return p.run(data, wireLen) != 0 }
}

// run returns what the program does: the number of bytes to keep.
func (p *Program) run(data []byte, wire int) uint32 {
	var (
		a, x    uint32
		scratch [16]uint32
	)
	code := p.code
	for pc := 0; pc < len(code); pc++ {
		i := &code[pc]
		switch i.op {
		case opLoadByte:
			off := uint64(i.k)
			if off+1 > uint64(len(data)) {
				return 0
			}
			a = uint32(data[off])
		case opLoadHalf:
			off := uint64(i.k)
			if off+2 > uint64(len(data)) {
				return 0
			}
			a = uint32(binary.BigEndian.Uint16(data[off:]))
		case opLoadWord:
			off := uint64(i.k)
			if off+4 > uint64(len(data)) {
				return 0
			}
			a = binary.BigEndian.Uint32(data[off:])
		case opLoadByteX:
			off := uint64(i.k) + uint64(x)
			if off+1 > uint64(len(data)) {
				return 0
			}
			a = uint32(data[off])
		case opLoadHalfX:
			off := uint64(i.k) + uint64(x)
			if off+2 > uint64(len(data)) {
				return 0
			}
			a = uint32(binary.BigEndian.Uint16(data[off:]))
		case opLoadWordX:
			off := uint64(i.k) + uint64(x)
			if off+4 > uint64(len(data)) {
				return 0
			}
			a = binary.BigEndian.Uint32(data[off:])
		case opLoadConstant:
			a = i.k
		case opLoadLength:
			a = uint32(wire)
		case opLoadScratch:
			a = scratch[i.k&15]
		case opLoadXConstant:
			x = i.k
		case opLoadXLength:
			x = uint32(wire)
		case opLoadXScratch:
			x = scratch[i.k&15]
		case opLoadXHeader:
			if uint64(i.k) >= uint64(len(data)) {
				return 0
			}
			x = uint32(data[i.k]&0xf) * 4
		case opStore:
			scratch[i.k&15] = a
		case opStoreX:
			scratch[i.k&15] = x
		case opAdd:
			a += i.k
		case opSubtract:
			a -= i.k
		case opMultiply:
			a *= i.k
		case opDivide:
			a /= i.k
		case opModulo:
			a %= i.k
		case opAnd:
			a &= i.k
		case opOr:
			a |= i.k
		case opXor:
			a ^= i.k
		case opLeft:
			a <<= i.k
		case opRight:
			a >>= i.k
		case opAddX:
			a += x
		case opSubtractX:
			a -= x
		case opMultiplyX:
			a *= x
		case opDivideX:
			if x == 0 {
				return 0
			}
			a /= x
		case opModuloX:
			if x == 0 {
				return 0
			}
			a %= x
		case opAndX:
			a &= x
		case opOrX:
			a |= x
		case opXorX:
			a ^= x
		case opLeftX:
			a <<= x
		case opRightX:
			a >>= x
		case opNegate:
			a = -a
		case opJump:
			pc += int(i.k)
		case opIfEqual:
			pc += i.skip(a == i.k)
		case opIfGreater:
			pc += i.skip(a > i.k)
		case opIfAtLeast:
			pc += i.skip(a >= i.k)
		case opIfBits:
			pc += i.skip(a&i.k != 0)
		case opIfEqualX:
			pc += i.skip(a == x)
		case opIfGreaterX:
			pc += i.skip(a > x)
		case opIfAtLeastX:
			pc += i.skip(a >= x)
		case opIfBitsX:
			pc += i.skip(a&x != 0)
		case opToX:
			x = a
		case opToA:
			a = x
		case opReturn:
			return i.k
		case opReturnA:
			return a
		}
	}
	return 0
}
