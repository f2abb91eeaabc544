//go:build !race

package must

import (
	"os"
	"runtime"
	"syscall"
)

// Tests fill some hundred megabytes again and again. In pages of 2 MB, where the system has them, that takes a fifth less time. The heap
// grows into the memory that is asked for here. Programs that tests start do so little that it does not pay: they inherit GOGC (must.go).
func init() {
	if _, started := os.LookupEnv("GOGC"); !started {
		_ = syscall.Madvise(make([]byte, 512<<20), syscall.MADV_HUGEPAGE)
		runtime.GC() // the limit of the heap is not that of 512 MB in use
	}
}
