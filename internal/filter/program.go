package filter

import (
	"bufio"
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
