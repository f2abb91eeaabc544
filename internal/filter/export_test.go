package filter

import (
	"fmt"
	"strings"

	"golang.org/x/net/bpf"
)

// String returns the text of the expression.
func (f *Filter) String() string { return f.text }

// Instructions returns the program in the types of x/net/bpf.
func (p Program) Instructions() []bpf.Instruction {
	list, _ := bpf.Disassemble(p)
	return list
}

// String formats the program like tcpdump -ddd.
func (p Program) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(p))
	for _, r := range p {
		fmt.Fprintln(&b, r.Op, r.Jt, r.Jf, r.K)
	}
	return b.String()
}

// kernelOffset is the first offset of a load that asks the Linux kernel and does not
// read the frame (SKF_AD_OFF).
const kernelOffset = 0xfffff000

// run returns the number of bytes of a frame that the program keeps; 0 means no match.
func (p Program) run(data []byte, wireLen int) uint32 {
	list := p.Instructions()
	for i, in := range list {
		switch in := in.(type) {
		case bpf.LoadExtension:
			list[i] = bpf.RetConstant{} // frames of files have nothing beside them
			if to := bpf.Register(p[i].Op & 1); in.Num == bpf.ExtLen {
				list[i] = bpf.LoadConstant{Dst: to, Val: uint32(wireLen)}
			} else if in.Num == vlanTag || in.Num == vlanTagPresent {
				list[i] = bpf.LoadConstant{Dst: to}
			}
		case bpf.NegateA: // which the machine lacks
			list[i] = bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: allBits}
		}
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		panic(err)
	}
	n, err := vm.Run(data)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

// matches reports whether a frame matches.
func (p Program) matches(data []byte, wireLen int) bool { return p.run(data, wireLen) != 0 }
