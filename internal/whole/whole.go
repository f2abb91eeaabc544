// Package whole writes files and folders that appear whole or not at all.
//
// What is written has another name in the same folder until it is complete and on the disk. The
// name begins with .new- and ends in .part, so that no pattern of the documentation matches it.
// A process that was killed leaves such a name behind. The next one that writes into the folder
// removes it, unless somebody still has the file open.
package whole

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// The begin and end of the names of what is not complete.
const (
	prefix = ".new-"
	Suffix = ".part"
)

// A File gets its name by [File.Place].
type File struct {
	*os.File
	name string
	over bool
}

// Create creates a file that will replace one or be new. What is not a file, such as a device or a
// link to nothing, is not replaced. It gets the mode of the file that it will replace. If there is
// none, it gets the mode that the umask leaves, or that of a private file.
func Create(name string, private bool) (*File, error) {
	mode := fs.FileMode(0o666)
	if private {
		mode = 0o600
	}
	old, err := os.Stat(name) // the system may refuse to follow the link of another user in a sticky folder
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if at, there := os.Lstat(name); there == nil && (err != nil || !old.Mode().IsRegular() || !os.SameFile(old, at)) {
		return nil, fmt.Errorf("%s: not a regular file or a link to one", name)
	}
	f, err := begin(name, func(tmp string) (*os.File, error) {
		return os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	})
	if err != nil {
		return nil, err
	}
	if old != nil {
		kept := old.Mode().Perm()
		if private {
			kept &= 0o600
		}
		if err := f.Chmod(kept); err != nil {
			return nil, errors.Join(err, f.Remove())
		}
	}
	return f, nil
}

// Mkdir creates a folder. The names of the files in it are to end in [Suffix]; Place takes that
// away, see [Finish].
func Mkdir(name string) (*File, error) {
	return begin(name, func(tmp string) (*os.File, error) {
		if err := os.Mkdir(tmp, 0o777); err != nil {
			return nil, err
		}
		return os.Open(tmp)
	})
}

// Temp creates a folder, for its owner alone, among the temporary files. It never gets a name; Discard removes it.
func Temp(name string) (*File, error) {
	return begin(filepath.Join(os.TempDir(), name), func(tmp string) (*os.File, error) {
		if err := os.Mkdir(tmp, 0o700); err != nil {
			return nil, err
		}
		return os.Open(tmp)
	})
}

// begin makes something beside name and holds it.
func begin(name string, create func(tmp string) (*os.File, error)) (*File, error) {
	dir, base := filepath.Split(name)
	Sweep(dir)
	for range 1000 {
		f, err := create(dir + prefix + fmt.Sprint(rand.Uint32()) + "-" + base[max(0, len(base)-200):] + Suffix) // names have 255 bytes at most
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			if at, ok := errors.AsType[*fs.PathError](err); ok {
				at.Path = name // nobody knows the other one
			}
			return nil, err
		case hold(f) && there(f):
			return &File{File: f, name: name}, nil
		default:
			f.Close() // somebody has swept it away
		}
	}
	return nil, fmt.Errorf("%s: no free name for a file beside it", name)
}

// there reports whether a file still has its name.
func there(f *os.File) bool {
	st, err := f.Stat()
	is, err2 := os.Lstat(f.Name())
	return err == nil && err2 == nil && os.SameFile(st, is)
}

// Place completes a file: it is on the disk before it gets its name.
func (f *File) Place() error {
	err := f.Sync()
	if runtime.GOOS == "windows" { // which renames no open file, and syncs no folder
		if st, bad := f.Stat(); bad == nil && st.IsDir() {
			err = nil
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), f.name)
	}
	if err != nil {
		return errors.Join(err, f.Remove())
	}
	f.over = true
	if dir, err := os.Open(filepath.Dir(f.name)); err == nil {
		_ = dir.Sync() // some file systems cannot
		dir.Close()
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	return f.Close()
}

// Discard removes a file or folder that is not complete. After Place it does nothing. What cannot be removed, the next run sweeps.
func (f *File) Discard() { _ = f.Remove() }

// Remove is Discard with the error.
func (f *File) Remove() error {
	if f.over {
		return nil
	}
	f.over = true
	err := f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(os.RemoveAll(f.Name()), err)
}

// Finish gives the files of a folder that was placed their names, last the one that says that
// all have them.
func Finish(folder, last string) error {
	if _, err := os.Stat(filepath.Join(folder, last+Suffix)); err != nil {
		return nil // all have them, or it is another folder
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range list {
		if name, part := strings.CutSuffix(e.Name(), Suffix); part && name != last {
			err = errors.Join(err, finish(folder, name))
		}
	}
	if err == nil {
		err = finish(folder, last)
	}
	return err
}

// finish gives a file its name. A process that does the same, such as one that a killed run left, may have been faster.
func finish(folder, name string) error {
	err := os.Rename(filepath.Join(folder, name+Suffix), filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		if _, bad := os.Stat(filepath.Join(folder, name)); bad == nil {
			return nil
		}
	}
	return err
}

// Write writes a file, or to a device or a pipe.
func Write(name string, b []byte, private bool) error {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return os.WriteFile(name, b, 0)
	}
	f, err := Create(name, private)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Place()
}

var swept sync.Map // folders

// Sweep removes what processes that were killed left in a folder, once in a process.
func Sweep(dir string) {
	dir = cmp.Or(dir, ".")
	if _, done := swept.LoadOrStore(filepath.Clean(dir), true); done {
		return
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return // what is written there says why
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), Suffix) || e.IsDir() && runtime.GOOS == "windows" || e.Type()&^fs.ModeDir != 0 {
			continue // to open a pipe blocks; Windows removes the files of a folder that somebody has open
		}
		name := filepath.Join(dir, e.Name())
		if f, err := os.Open(name); err == nil {
			left := hold(f)
			if left {
				_ = os.RemoveAll(name)
			}
			f.Close()
		}
	}
}

// Scratch returns a file of a folder that never gets a name. Where an open file can be removed, an interrupt leaves nothing; Discard
// removes it elsewhere.
func Scratch(dir string) (*File, error) {
	f, err := Create(filepath.Join(dir, "scratch"), true)
	if err == nil {
		_ = os.Remove(f.Name())
	}
	return f, err
}

// Sum returns the SHA-256 of the first most bytes of a regular file, "" for what cannot be read twice.
func Sum(name string, most int64) string {
	st, err := os.Stat(name)
	if name == "-" || err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
