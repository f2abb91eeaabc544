package filter

import (
	"fmt"
	"strings"

	"golang.org/x/net/bpf"
)

// String returns the text of the expression.
func (f *Filter) String() string { return f.text }

// Instructions returns the program in the types of x/net/bpf.
func (p *Program) Instructions() []bpf.Instruction {
	list, _ := bpf.Disassemble(p.code)
	return list
}

// String formats the program like tcpdump -ddd, for [ParseProgram].
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(p.code))
	for _, r := range p.code {
		fmt.Fprintln(&b, r.Op, r.Jt, r.Jf, r.K)
	}
	return b.String()
}

// kernelOffset is the first offset of a load that asks the Linux kernel and does not
// read the frame (SKF_AD_OFF).
const kernelOffset = 0xfffff000

// run returns the number of bytes of a frame that the program keeps; 0 means no match.
func (p *Program) run(data []byte, wireLen int) uint32 {
	vm, _, err := p.machine(wireLen)
	if err != nil {
		panic(err)
	}
	n, err := vm.Run(data)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}
