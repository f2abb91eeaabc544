package main

import (
	"runtime"
	"syscall"
)

// preferHugePages asks for pages of 2 MB for the next n bytes by which the heap grows.
func preferHugePages(n int) {
	_ = syscall.Madvise(make([]byte, n), syscall.MADV_HUGEPAGE) // untouched, so it takes no memory; if there are none, small ones do
	runtime.GC()                                                // it is free for the tables
}
