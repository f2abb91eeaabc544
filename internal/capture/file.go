package capture

import (
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/qdissect/qdissect/internal/whole"
)

// Making configures how files are created.
type Making struct {
	// Private creates files that only their owner can read. Other files get the mode that
	// the umask leaves.
	Private bool
	// Inputs are the files that are being read. They are never overwritten.
	Inputs []os.FileInfo
	// Whole gives files their names when they are complete. A file that is being written live
	// is readable meanwhile.
	Whole bool
}

func (m *Making) mode() fs.FileMode {
	if m.Private {
		return 0o600
	}
	return 0o666
}

// open creates a file, or truncates an existing one. The function completes it.
func (m *Making) open(name string) (*os.File, func() error, error) {
	st, err := os.Stat(name)
	if m.Whole && (err != nil || st.Mode().IsRegular()) {
		if err == nil && m.reads(st) {
			return nil, nil, m.readError(name)
		}
		f, err := whole.Create(name, m.Private)
		if err != nil {
			return nil, nil, err
		}
		return f.File, f.Place, nil
	}
	f, err := m.truncate(name)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

func (m *Making) reads(st os.FileInfo) bool {
	return slices.ContainsFunc(m.Inputs, func(in os.FileInfo) bool { return os.SameFile(st, in) })
}

func (m *Making) readError(name string) error {
	return fmt.Errorf("%s is read and cannot be written at once", name)
}

func (m *Making) truncate(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, m.mode())
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && m.reads(st) {
		err = m.readError(name)
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
