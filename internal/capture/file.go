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

// Making configures how files are created.
type Making struct {
	// Private creates files that only their owner can read. Other files get the mode that
	// the umask leaves.
	Private bool
	// Inputs are the files that are being read. They are never overwritten.
	Inputs []os.FileInfo
}

func (m *Making) mode() fs.FileMode {
	if m.Private {
		return 0o600
	}
	return 0o666
}

// open creates a file, or truncates an existing one.
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

// Waits reports whether reading the file may block for an unknown time, as with a FIFO or
// a device.
func Waits(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// A Waiting is a file that is opened at the first read: opening a FIFO blocks until a
// writer opens it.
type Waiting struct {
	Name string
	file *os.File
}

// Read opens the file at the first call, and closes it at its end.
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

// CreateBeside creates a temporary file in the folder of name, to be renamed to name when
// it is complete. It gets the mode of the file that it will replace. If there is none, it
// gets the mode that the umask leaves, or that of a private file.
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
