//go:build unix

package main

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand returns a command of the shell. The end of the context kills it with what it has started.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C ends the capture, which ends the command
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
