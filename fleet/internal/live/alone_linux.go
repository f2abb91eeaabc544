package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// alone takes a folder for this process and those that inherit the file, and for no others.
func alone(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New(dir + ": another sensor, or a qdissect that it left behind, works in this folder")
	}
	return f, nil
}

// bind ends a process when the sensor ends, however it does, and has it keep the folder until then. The thread that starts it must
// live as long. The kernel does not do so for programs with capabilities of their own.
func bind(c *exec.Cmd, folder *os.File) {
	c.SysProcAttr, c.ExtraFiles = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}, []*os.File{folder}
}
