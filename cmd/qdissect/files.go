package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/capture"
)

// openCapture opens a capture. The name "-" means standard input.
func openCapture(name string, env environment) (*capture.Reader, error) {
	if name == "-" {
		return capture.NewReader(env.in, "standard input")
	}
	return capture.Open(name)
}

// inAndOut checks the two arguments of a command that writes one capture from another.
func inAndOut(args []string, env environment) (in, out string, err error) {
	if len(args) != 2 {
		return "", "", errors.New("two arguments needed: the capture to read and the capture to write")
	}
	in, out = args[0], args[1]
	read := filesOf(args[:1], env.in)
	if out == "-" {
		if st, ok := regular(env.out); ok && among(st, read) {
			return "", "", errors.New("standard output is the input file; use another file")
		}
		return in, out, nil
	}
	switch st, err := os.Stat(out); {
	case err == nil && among(st, read):
		return "", "", fmt.Errorf("%s: input and output are the same file; use another name", out)
	case err == nil && !st.Mode().IsRegular():
		// The output is renamed into place, which would replace a device.
		return "", "", fmt.Errorf("%s: not a regular file; use another name, or - for standard output", out)
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return "", "", err
	}
	return in, out, nil
}

// filesOf returns the regular files among the inputs. The name "-" means stdin.
func filesOf(names []string, stdin io.Reader) (list []os.FileInfo) {
	for _, name := range names {
		st, err := os.Stat(name)
		ok := err == nil && st.Mode().IsRegular()
		if name == "-" {
			st, ok = regular(stdin)
		}
		if ok {
			list = append(list, st)
		}
	}
	return list
}

// regular returns the file behind a stream and reports whether it is a regular file.
func regular(stream any) (os.FileInfo, bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return nil, false
	}
	st, err := f.Stat()
	return st, err == nil && st.Mode().IsRegular()
}

// among reports whether the list contains the file.
func among(st os.FileInfo, list []os.FileInfo) bool {
	return slices.ContainsFunc(list, func(one os.FileInfo) bool { return os.SameFile(one, st) })
}

// spool copies a stream into a file.
func spool(name string, from io.Reader) (string, error) {
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	return name, errors.Join(err, f.Close())
}

func copyFile(to io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// shellWord quotes a path for a shell if necessary.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:,@%\\", r)
	}) < 0 {
		return s
	}
	// The terminal output doubles backslashes, so do not use any.
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
