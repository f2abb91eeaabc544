package filter

import (
	"fmt"
	"strings"

	"golang.org/x/net/bpf"
)

// String returns the expression as it was written.
func (f *Filter) String() string { return f.text }

// Instructions returns the program as x/net/bpf has it.
func (p *Program) Instructions() []bpf.Instruction {
	list, _ := bpf.Disassemble(p.code)
	return list
}

// RejectsAll tells whether no frame can match, as with "arp" for raw IP.
func (p *Program) RejectsAll() bool {
	return p.code[0].Op == classReturn && p.code[0].K == 0
}

// String returns the program in the form of tcpdump -ddd, which [ParseProgram]
// reads.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(p.code))
	for _, r := range p.code {
		fmt.Fprintln(&b, r.Op, r.Jt, r.Jf, r.K)
	}
	return b.String()
}
