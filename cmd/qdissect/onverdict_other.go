//go:build !unix

package main

import (
	"context"
	"os/exec"
)

// shellCommand returns a command of the shell. The end of the context kills it.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", command)
}
