//go:build !unix

package main

import (
	"context"
	"os"
)

// untilClosed returns with ctx: here a closed pipe is noticed at the next write.
func untilClosed(ctx context.Context, _ *os.File) { <-ctx.Done() }
