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
