// Package golden compares what captures say with what they should say.
//
// What a capture should say stands beside it in its golden: the JSON lines that
// qdissect --all -o jsonl writes of it, with its base name for its name. [Check]
// compares a capture with its golden, [Diff] two captures, or two outputs that
// were saved, as conversations. Both yield differences as values: which message,
// which of its values, from what to what. A file per format shows them.
//
// Not every byte of a capture has a value: [Update] also writes a sum of them
// all, which [Check] compares and by which it finds and names the byte that is
// another.
//
// Files are read that anybody may have made: nothing in them sizes an
// allocation, and what is shown of them is safe on a terminal.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// Extension is what the name of a golden ends in.
const Extension = ".golden.jsonl"

var (
	captureExtensions     = []string{".pcap", ".pcapng", ".cap", ".snoop"}
	compressionExtensions = []string{".gz", ".zst"}
)

// IsCapture reports whether a file is a capture by its name.
func IsCapture(name string) bool { return captureName(name) != name }

// captureName takes the extensions of a capture off a name, if there are any.
func captureName(name string) string {
	rest := unpackedName(name)
	for _, ext := range captureExtensions {
		if short := cutExtension(rest, ext); short != rest {
			return short
		}
	}
	return name
}

// unpackedName takes the extensions of compression off a name.
func unpackedName(name string) string {
	for _, ext := range compressionExtensions {
		name = cutExtension(name, ext)
	}
	return name
}

// cutExtension takes an extension off a name, if something is left of it.
func cutExtension(name, ext string) string {
	n := len(name) - len(ext)
	if n <= 0 || !strings.EqualFold(name[n:], ext) || os.IsPathSeparator(name[n-1]) {
		return name
	}
	return name[:n]
}

// Path returns the name of the golden of a capture: that of x.pcap and of
// x.pcapng.gz is x.golden.jsonl, that of any other file has .golden.jsonl behind
// its name.
func Path(capture string) string { return captureName(capture) + Extension }

// Captures returns the captures in a tree, in order, and the goldens in it that
// belong to none. Folders whose names begin with a dot are left out.
func Captures(root string) (captures, orphans []string, err error) {
	var goldens []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir():
		case IsCapture(path):
			captures = append(captures, path)
		case strings.HasSuffix(path, Extension):
			goldens = append(goldens, path)
		}
		return nil
	})
	for _, g := range goldens {
		if !slices.ContainsFunc(captures, func(c string) bool { return Path(c) == g }) {
			orphans = append(orphans, g)
		}
	}
	return captures, orphans, err
}

// Dissection is how a capture was dissected.
type Dissection struct {
	// Start is when its first frame was captured.
	Start time.Time
	// Trouble is why it could not be read, or not to its end; nil if it could.
	Trouble error
	// Opened says that it is a capture, even if a damaged one.
	Opened bool
}

// Write dissects a capture and writes its golden. The error is that of w.
func Write(w io.Writer, capture string) (d Dissection, err error) {
	return write(w, capture, func(d *Dissection) {})
}

func write(w io.Writer, capture string, began func(*Dissection)) (d Dissection, err error) {
	begin := func(c report.Capture) {
		d.Opened, d.Start = true, c.Start
		began(&d)
	}
	_, err = pipeline.Run(pipeline.Options{
		Inputs: []string{capture}, Out: w,
		Reporter: func() report.Reporter { return &reporter{report.NewJSON(report.JSONOptions{}), begin} },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		All:      true,
		Trouble:  func(err error) { d.Trouble = err },
	})
	return d, err
}

// A reporter names captures by their base names: a golden is the same wherever
// it lies.
type reporter struct {
	*report.JSON
	begin func(report.Capture)
}

// Begin writes the line of the capture.
func (r *reporter) Begin(c report.Capture) {
	r.begin(c)
	c.File = filepath.Base(c.File)
	r.JSON.Begin(c)
}

// ErrNoGolden is what [Check] says of a capture that has none.
var ErrNoGolden = errors.New("no golden")

// Check compares a capture with its golden. limit is as in [NewComparer].
//
// trouble is why the capture could not be read, or not to its end. That is part
// of what it says: a capture that is damaged and equal to its golden is as it
// should be. There is no result if it could not be read at all.
func Check(capture string, rules Rules, limit int) (r *Result, trouble, err error) {
	path := Path(capture)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, openable(capture), ErrNoGolden
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	said, err := lastObject(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	c := NewComparer(f, rules, limit)
	d, err := write(c, capture, func(d *Dissection) { c.SetStarts(said.first, d.Start.UnixNano()) })
	if err == nil {
		r, err = c.Close()
	}
	if err != nil {
		return nil, d.Trouble, fmt.Errorf("%s: %w", path, err)
	}
	equal := r.Equal()
	if !d.Opened && !equal {
		r = &Result{Messages: r.Messages} // that all messages are missing is no news
	}
	if said.summed && rules.exact() {
		if err := r.compareBytes(capture, said.sum, equal); err != nil {
			return nil, d.Trouble, err
		}
	}
	if !equal && r.Equal() {
		return nil, d.Trouble, nil
	}
	return r, d.Trouble, nil
}

// openable returns why a file cannot be read as a capture, nil if it can.
func openable(name string) error {
	r, err := capture.Open(name)
	if err != nil {
		return err
	}
	return r.Close()
}

// last is what the last object of a golden says of the capture.
type last struct {
	first  int64 // the time of the first packet, in ns since 1970; 0 if unknown
	sum    uint64
	summed bool // there is a sum
}

// lastObject reads the end of a golden, and leaves the file where it began.
func lastObject(f *os.File) (l last, err error) {
	const tail = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return l, err
	}
	b := make([]byte, min(tail, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil && err != io.EOF {
		return l, err
	}
	b = bytes.TrimRight(b, " \r\n")
	var s side
	if s.parse(b[bytes.LastIndexByte(b, '\n')+1:], false) != nil {
		return l, nil // the comparison will say so
	}
	if t, err := time.Parse(time.RFC3339Nano, s.str(0, "first_time")); err == nil {
		l.first = t.UnixNano()
	}
	l.sum, l.summed = parseSum(s.str(0, sumKey))
	return l, nil
}

// Update writes the golden of a capture, and reports whether it is another one
// than before. What is no capture has none, unless it is a test of just that: a
// golden says that a file that cannot be opened has nothing in it if broken is
// true, and is left as it is otherwise.
func Update(capture string, broken bool) (changed bool, d Dissection, err error) {
	path := Path(capture)
	f, err := os.CreateTemp(filepath.Dir(path), ".golden-*")
	if err != nil {
		return false, d, err
	}
	defer os.Remove(f.Name())
	d, err = Write(f, capture)
	if err == nil {
		err = addSum(f, capture)
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil || !d.Opened && !broken {
		return false, d, err
	}
	if same, err := sameFiles(f.Name(), path); err == nil && same {
		return false, d, nil
	}
	// The mode of a file of its own, not that of a temporary one.
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.Chmod(f.Name(), mode); err != nil {
		return false, d, err
	}
	return true, d, os.Rename(f.Name(), path)
}

// addSum adds the sum of a capture to the summary, with which its golden ends.
func addSum(f *os.File, capture string) error {
	const end = "}\n"
	sum, _, ok, err := sumOf(capture)
	if err != nil || !ok {
		return err
	}
	at, err := f.Seek(-int64(len(end)), io.SeekEnd)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, `,"%s":"%s"%s`, sumKey, formatSum(sum), end), at)
	}
	return err
}

func sameFiles(a, b string) (bool, error) {
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return string(x) == string(y), err
}
