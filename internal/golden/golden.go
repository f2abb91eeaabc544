// Package golden compares what captures say with what they should say.
//
// What a capture should say stands beside it in its golden: the JSON lines that
// qdissect --all -o jsonl writes of it, with its base name for its name. [Check]
// compares a capture with its golden, [Diff] two captures, or two outputs that
// were saved, as conversations. Both yield differences as values: which message,
// which of its values, from what to what. A file per format shows them.
//
// Goldens also hold the SHA-256 of the capture, because not every byte has a
// field that shows it, and what is wrong with a file that is damaged.
//
// What summaries and findings say in words is compared on request only: better
// words are no difference.
//
// Files are read that anybody may have made: nothing in them sizes an
// allocation, and what is shown of them is safe on a terminal.
package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// isCapture reports whether a file is a capture by its name.
func isCapture(name string) bool { return captureName(name) != name }

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
// belong to none. A file that is no capture by its name is one if it has a golden.
// Folders whose names begin with a dot are left out, and so are FIFOs and
// devices, which skipped is called with.
func Captures(root string, skipped func(path string, err error)) (captures, orphans []string, err error) {
	var found []string
	has := make(map[string]bool) // goldens of captures
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			skipped(path, err) // and what was listed before is looked at
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir(), !isCapture(path) && !strings.HasSuffix(path, Extension):
		case !isFile(path):
			skipped(path, ErrNoFile)
		case isCapture(path):
			found = append(found, path)
			has[Path(path)] = true
		default:
			found = append(found, path)
		}
		return nil
	})
	for _, path := range found {
		switch {
		case isCapture(path):
			captures = append(captures, path)
		case has[path]:
		default:
			name := strings.TrimSuffix(path, Extension)
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				captures = append(captures, name)
			} else {
				orphans = append(orphans, path)
			}
		}
	}
	return captures, orphans, err
}

// ErrNoFile is why FIFOs and devices in folders are skipped.
var ErrNoFile = errors.New("skipped, not a regular file; it is read only if it is named itself")

// isFile reports whether a path may be opened: nothing but a regular file, or
// what cannot be looked at, so that opening it gives the reason.
func isFile(path string) bool {
	st, err := os.Stat(path)
	return err != nil || st.Mode().IsRegular()
}

// Dissection is how a capture was dissected.
type Dissection struct {
	// Start is when its first frame was captured.
	Start time.Time
	// Trouble is why it could not be read, or not to its end; nil if it could.
	Trouble error
	// Panics is how many times a decoder panicked.
	Panics pipeline.PanicError
	// Opened says that it is a capture, even if a damaged one.
	Opened bool
}

// trouble joins everything that went wrong.
func (d *Dissection) trouble() error {
	if d.Panics > 0 {
		return errors.Join(d.Trouble, d.Panics)
	}
	return d.Trouble
}

// Write dissects a capture and writes its golden. The error is that of w.
func Write(w io.Writer, capture string) (d Dissection, err error) {
	return write(w, capture, nil, func(*Dissection) {})
}

// write does what Write does. It calls began when the capture has been opened.
// The capture - is stdin.
func write(w io.Writer, capture string, stdin io.Reader, began func(*Dissection)) (d Dissection, err error) {
	begin := func(c report.Capture) {
		d.Opened, d.Start = true, c.Start
		began(&d)
	}
	_, err = pipeline.Run(pipeline.Options{
		Inputs: []string{capture}, Stdin: stdin, Out: w,
		Reporter: func() report.Reporter { return &reporter{report.NewJSON(report.JSONOptions{}), begin} },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		All:      true,
		Detailed: true,
		Trouble: func(err error) {
			if p, ok := err.(pipeline.PanicError); ok {
				d.Panics = p
				return
			}
			d.Trouble = err
		},
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
func (r *reporter) Begin(c report.Capture) error {
	r.begin(c)
	c.File = filepath.Base(c.File)
	return r.JSON.Begin(c)
}

// Update writes the golden of a capture, and reports whether it is another one
// than before. What is no capture has none, unless it is a test of just that: a
// golden says that a file that cannot be opened has nothing in it if broken is
// true, and is left as it is otherwise.
func Update(name string, broken bool) (changed bool, d Dissection, err error) {
	path := Path(name)
	f, err := capture.CreateBeside(path, false)
	if err != nil {
		return false, d, err
	}
	defer os.Remove(f.Name())
	d, err = Write(f, name)
	if err == nil {
		err = addFile(f, name, &d)
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
	return true, d, os.Rename(f.Name(), path)
}

// addFile adds to a golden what it says of the file of the capture: in the
// summary, with which it ends.
func addFile(f *os.File, capture string, d *Dissection) error {
	const end = "}\n"
	file, err := sumOf(capture)
	if err != nil {
		return err
	}
	var b []byte
	if damage := file.damageText(d.Trouble); damage != "" {
		text, err := json.Marshal(damage)
		if err != nil {
			return err
		}
		b = fmt.Appendf(b, `,"%s":%s`, damagedKey, text)
	}
	if file.sum != "" {
		b = fmt.Appendf(b, `,"%s":"%s"`, sumKey, file.sum)
	}
	at, err := f.Seek(-int64(len(end)), io.SeekEnd)
	if err == nil {
		_, err = f.WriteAt(append(b, end...), at)
	}
	return err
}
