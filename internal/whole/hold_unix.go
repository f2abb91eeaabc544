//go:build linux || darwin || freebsd || netbsd || openbsd

package whole

import (
	"os"
	"syscall"
)

// hold takes a file or folder until it is closed, and reports whether nobody else has it.
func hold(f *os.File) bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }
