package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Making says how files are created.
type Making struct {
	// Private files are for their owner alone; all others have what the umask
	// leaves.
	Private bool
	// Inputs are the files that are being read. None of them is written.
	Inputs []os.FileInfo
}

func (m *Making) mode() fs.FileMode {
	if m.Private {
		return 0o600
	}
	return 0o666
}

// open creates a file, or empties the one that is there.
func (m *Making) open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, m.mode())
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	for _, in := range m.Inputs {
		if err == nil && os.SameFile(st, in) {
			err = fmt.Errorf("%s is read and cannot be written at once", name)
		}
	}
	if err == nil && st.Mode().IsRegular() {
		if err = f.Truncate(0); err == nil && m.Private && st.Mode().Perm()&0o077 != 0 {
			err = f.Chmod(0o600)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Waits reports whether reading a file of that name waits for others, as a FIFO
// or a device does: there is no telling for how long.
func Waits(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// A Waiting is a file that is opened when it is first read: opening a FIFO
// waits until somebody writes.
type Waiting struct {
	Name string
	file *os.File
}

// Read opens the file if need be, and closes it at its end.
func (w *Waiting) Read(b []byte) (n int, err error) {
	if w.file == nil {
		if w.file, err = os.Open(w.Name); err != nil {
			return 0, err
		}
	}
	if n, err = w.file.Read(b); err != nil {
		w.file.Close()
	}
	return n, err
}

// CreateBeside creates a file in the folder of name, to be renamed to it when
// it is whole. It has the mode of the file that it will replace; if there is
// none, what the umask leaves, or, if it is private, that of a file for its
// owner alone.
func CreateBeside(name string, private bool) (*os.File, error) {
	m := Making{Private: private}
	dir, base := filepath.Split(name)
	for range 1000 {
		f, err := os.OpenFile(dir+".new-"+strconv.FormatUint(uint64(rand.Uint32()), 10)+"-"+base, os.O_RDWR|os.O_CREATE|os.O_EXCL, m.mode())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if old, err := os.Lstat(name); err == nil && old.Mode().IsRegular() {
			mode := old.Mode().Perm()
			if private {
				mode &= 0o600
			}
			if err := f.Chmod(mode); err != nil {
				f.Close()
				os.Remove(f.Name())
				return nil, err
			}
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: no free name for a file beside it", name)
}
