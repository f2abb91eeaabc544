package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A stamp is stored beside an output and records how it was made. An output is done if
// its stamp equals the one that a new run would write.
type stamp struct {
	Program string   `json:"program"`
	Flags   []string `json:"flags"`
	Inputs  []source `json:"inputs"` // of the series, up to this one
	Last    bool     `json:"last"`   // the last of the series; earlier ones leave exchanges open
	Trouble []string `json:"trouble,omitempty"`
	Output  source   `json:"output"`         // as it was written
	More    []source `json:"more,omitempty"` // other files of the output
}

type source struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

func sourceOf(name string, st os.FileInfo) source {
	return source{name, st.Size(), strconv.FormatInt(st.ModTime().UnixNano(), 10)}
}

// same reports whether both stamps describe the same output.
func (s *stamp) same(o *stamp) bool {
	return s.Program == o.Program && s.Last == o.Last && slices.Equal(s.Flags, o.Flags) && slices.Equal(s.Inputs, o.Inputs)
}

// identity identifies this build of the program.
func identity() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum, err := programSum(path)
	return versionText() + " " + sum, err
}

// buildID matches what the go command writes near the start of a program, whatever its
// format. The last of the four hashes is that of the whole program.
var buildID = lazyregexp.New(`Go(\x00\x00| build ID: ")[\w-]{20}(/[\w-]{20}){3}`)

// programSum returns a checksum that differs between programs. It reads the start of the
// file if that has a build ID, because all of it takes longer than many captures.
func programSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 32<<10))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(head)
	if !buildID().Match(head) {
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func stampOf(output string) string {
	return filepath.Join(filepath.Dir(output), "."+filepath.Base(output)+".done")
}

// ours returns an error if the file at out is not the one that was written before.
func ours(out string, left source) error {
	st, err := os.Lstat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case sourceOf(filepath.Base(out), st) != left:
		return fmt.Errorf("%s: not overwritten, because --out did not write it or it has changed since; remove it or use another folder", out)
	}
	return nil
}
