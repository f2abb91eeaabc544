//go:build unix

package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// untilClosed returns when the reader of a pipe has closed it, or with ctx. Without that,
// a program with nothing to write would not notice.
func untilClosed(ctx context.Context, pipe *os.File) {
	fd := int32(pipe.Fd())
	for ctx.Err() == nil {
		list := []unix.PollFd{{Fd: fd}}
		if n, err := unix.Poll(list, 200); n > 0 || err != nil && err != unix.EINTR {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
