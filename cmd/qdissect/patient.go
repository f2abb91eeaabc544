package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// patience is how long to wait for the writer of a FIFO.
var patience = 5 * time.Second

// A patientFile is a small file named by a flag, a filter or a key. It may be a FIFO,
// for example from <(command) in a shell, that nobody ever writes to.
type patientFile struct {
	*os.File
	fifo, written bool
}

func openPatiently(name string) (*patientFile, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	return &patientFile{File: f, fifo: err == nil && st.Mode()&os.ModeNamedPipe != 0}, nil
}

// Read fails if nobody writes to a FIFO within patience.
func (p *patientFile) Read(b []byte) (int, error) {
	if !p.fifo {
		return p.File.Read(b)
	}
	until := time.Now().Add(patience)
	_ = p.SetReadDeadline(until)
	for {
		n, err := p.File.Read(b)
		switch {
		case n > 0:
			p.written = true
			return n, err
		case err == io.EOF && p.written:
			return n, err
		case time.Now().After(until):
			return 0, fmt.Errorf("a FIFO to which nobody wrote for %s", patience)
		case err != nil && err != io.EOF:
			return n, err
		}
		time.Sleep(10 * time.Millisecond) // no writer yet
	}
}
