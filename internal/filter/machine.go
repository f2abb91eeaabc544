package filter

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

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

// Matcher returns a function that runs the program for frames of files. Its arguments are the
// captured bytes and the length of the frame on the wire. The function may be called by
// several goroutines at once.
//
// Frames in a file have no VLAN tags outside the frame. A program that asks the kernel
// for anything else matches no frame.
func (p *Program) Matcher() func(data []byte, wireLen int) bool {
	vm, measures, _ := p.machine(0) // newProgram has tried
	return func(data []byte, wireLen int) bool {
		vm := vm
		if measures {
			vm, _, _ = p.machine(wireLen)
		}
		n, err := vm.Run(data)
		return err == nil && n != 0
	}
}

// machine returns a machine that runs the program for frames of a length on the wire, and
// whether it asks for that.
func (p *Program) machine(wireLen int) (vm *bpf.VM, measures bool, err error) {
	list, _ := bpf.Disassemble(p.code)
	for i, in := range list {
		switch in := in.(type) {
		case bpf.LoadExtension:
			to := bpf.Register(p.code[i].Op & 1)
			switch in.Num {
			case bpf.ExtLen:
				list[i], measures = bpf.LoadConstant{Dst: to, Val: uint32(wireLen)}, true
			case vlanTag, vlanTagPresent:
				list[i] = bpf.LoadConstant{Dst: to}
			default:
				list[i] = bpf.RetConstant{}
			}
		case bpf.NegateA: // which the machine lacks
			list[i] = bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: allBits}
		}
	}
	vm, err = bpf.NewVM(list)
	return vm, measures, err
}
