package filter

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/nettext"
)

// maxInstructions is the largest program that Linux accepts (BPF_MAXINSNS).
const maxInstructions = 4096

// A Program is a filter in BPF instructions. It has been checked: it ends for every
// frame.
type Program struct{ code []bpf.RawInstruction }

// Raw returns the instructions.
func (p *Program) Raw() []bpf.RawInstruction { return slices.Clone(p.code) }

// ParseProgram parses the output of tcpdump -ddd or -dd. The former is the number of
// instructions, followed by four decimal numbers for each. The latter is C.
//
// A program is valid for one link type only, but does not tell which.
func ParseProgram(r io.Reader) (*Program, error) {
	var raw []bpf.RawInstruction
	count := -1
	scan := bufio.NewScanner(r)
	line := 0
	for scan.Scan() {
		line++
		fields := strings.FieldsFunc(scan.Text(), func(c rune) bool { return strings.ContainsRune(" \t\r{},", c) })
		switch {
		case len(fields) == 0:
			continue
		case len(fields) == 1 && count < 0 && len(raw) == 0:
			n, err := strconv.ParseUint(fields[0], 10, 32)
			if err != nil || n == 0 || n > maxInstructions {
				return nil, fmt.Errorf("filter program, line %d: the number of instructions must be 1 to %d, not %s", line, maxInstructions, nettext.Quote(fields[0]))
			}
			count = int(n)
			continue
		case len(fields) != 4:
			return nil, fmt.Errorf("filter program, line %d: an instruction is four numbers, not %s", line, nettext.Quote(scan.Text()))
		case len(raw) == maxInstructions:
			return nil, fmt.Errorf("filter program, line %d: more than %d instructions", line, maxInstructions)
		}
		var v [4]uint64
		for i, bits := range [4]int{16, 8, 8, 32} {
			var err error
			if v[i], err = strconv.ParseUint(fields[i], 0, bits); err != nil {
				return nil, fmt.Errorf("filter program, line %d: %s is not a number of %d bits", line, nettext.Quote(fields[i]), bits)
			}
		}
		raw = append(raw, bpf.RawInstruction{Op: uint16(v[0]), Jt: uint8(v[1]), Jf: uint8(v[2]), K: uint32(v[3])})
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("filter program, line %d: %w", line+1, err)
	}
	if count >= 0 && count != len(raw) {
		return nil, fmt.Errorf("filter program: %d instructions announced, %d found", count, len(raw))
	}
	return newProgram(raw)
}

// newProgram checks the instructions.
func newProgram(raw []bpf.RawInstruction) (*Program, error) {
	if len(raw) == 0 {
		return nil, errors.New("filter program: no instructions")
	}
	list, _ := bpf.Disassemble(raw)
	for i, in := range list {
		switch in := in.(type) {
		case bpf.RawInstruction:
			return nil, fmt.Errorf("filter program: instruction %d: unknown code %#x %d", i, in.Op, in.K)
		case bpf.Jump:
			if int32(in.Skip) < 0 {
				return nil, fmt.Errorf("filter program: instruction %d: backward jump, as in the loop of protochain", i)
			}
		case bpf.ALUOpConstant:
			if (in.Op == bpf.ALUOpShiftLeft || in.Op == bpf.ALUOpShiftRight) && in.Val > 31 {
				return nil, fmt.Errorf("filter program: instruction %d: shift by more than 31 bits", i)
			}
		}
	}
	p := &Program{raw}
	if _, _, err := p.machine(0); err != nil {
		return nil, fmt.Errorf("filter program: %w", err)
	}
	return p, nil
}

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
