package capture

import (
	"testing"

	"golang.org/x/net/bpf"
)

// TestKernelLimit: the kernel's number of docs/limits.md (BPF_MAXINSNS), said
// once more.
func TestKernelLimit(t *testing.T) {
	for n, want := range map[int]bool{4096: true, 4097: false} {
		program := make([]bpf.Instruction, n)
		for i := range program {
			program[i] = bpf.RetConstant{}
		}
		if _, err := assemble(program); (err == nil) != want {
			t.Errorf("%d instructions: %v", n, err)
		}
	}
}
