// Package golden compares captures with their expected output.
//
// The expected output of a capture is in a file beside it, its golden: the JSON lines that
// qdissect --all -o jsonl writes, with the base name of the capture as its file name.
// [Check] compares a capture with its golden. [Diff] compares two captures, or saved
// outputs, as conversations. Both return differences as values: the message, the field,
// the expected and the actual value. A [Format] prints them.
//
// Goldens also contain the SHA-256 of the capture, because some bytes are in no field, and
// the damage of the file, if there is any.
//
// The wording of summaries and findings is compared only on request.
//
// Files are untrusted: nothing in them sizes an allocation, and text from them is made
// safe for a terminal.
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
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/report"
)

// Extension is the file name extension of goldens.
const Extension = ".golden.jsonl"

var (
	captureExtensions     = []string{".pcap", ".pcapng", ".cap"}
	compressionExtensions = []string{".gz", ".zst"}
)

// isCapture reports whether the file name is that of a capture.
func isCapture(name string) bool { return captureName(name) != name }

// captureName removes the extensions of a capture from a name.
func captureName(name string) string {
	rest := unpackedName(name)
	for _, ext := range captureExtensions {
		if short := cutExtension(rest, ext); short != rest {
			return short
		}
	}
	return name
}

// unpackedName removes the extensions of compression from a name.
func unpackedName(name string) string {
	for _, ext := range compressionExtensions {
		name = cutExtension(name, ext)
	}
	return name
}

// cutExtension removes an extension from a name, unless nothing would be left.
func cutExtension(name, ext string) string {
	n := len(name) - len(ext)
	if n <= 0 || !strings.EqualFold(name[n:], ext) || os.IsPathSeparator(name[n-1]) {
		return name
	}
	return name[:n]
}

// Path returns the name of the golden of a capture: x.golden.jsonl for x.pcap and
// x.pcapng.gz; other names get .golden.jsonl appended.
func Path(capture string) string { return captureName(capture) + Extension }

// Captures returns the captures in a tree, in order, and orphans, the goldens without a
// capture. A file with another name is a capture if it has a golden. Folders whose names
// begin with a dot are skipped; skipped is called for unreadable folders, FIFOs and
// devices.
func Captures(root string, skipped func(path string, err error)) (captures, orphans []string, err error) {
	var found []string
	has := make(map[string]bool) // paths of goldens of captures
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			skipped(path, err) // continue with the rest
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

// ErrNoFile is the reason for skipping FIFOs and devices in folders.
var ErrNoFile = errors.New("skipped, not a regular file; it is read only if it is named itself")

// isFile reports whether a path may be opened: a regular file, or a path for which os.Stat
// fails, because opening it gives the reason.
func isFile(path string) bool {
	st, err := os.Stat(path)
	return err != nil || st.Mode().IsRegular()
}

// Dissection describes how a capture was dissected.
type Dissection struct {
	// Start is the time of its first frame.
	Start time.Time
	// Trouble is the reason why it could not be read to its end, nil if it could.
	Trouble error
	// Panics is the number of panics of decoders.
	Panics pipeline.PanicError
	// Opened says that the file is a capture, even if a damaged one.
	Opened bool
}

// trouble joins all errors.
func (d *Dissection) trouble() error {
	if d.Panics > 0 {
		return errors.Join(d.Trouble, d.Panics)
	}
	return d.Trouble
}

// Write dissects a capture and writes its golden to w. The error is that of w.
func Write(w io.Writer, capture string) (d Dissection, err error) {
	return write(w, capture, nil, func(*Dissection) {})
}

// write is Write with a callback: it calls began when the capture has been opened. The
// capture "-" is stdin.
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
		Counts:   &pipeline.Counts{Detailed: true},
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

// A reporter writes base names of captures, so that a golden does not depend on its
// folder.
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

// Update writes the golden of a capture and reports whether it changed. If the file is not
// a capture, Update writes a golden only if broken is true, for tests of such files.
func Update(name string, broken bool) (changed bool, d Dissection, err error) {
	path := Path(name)
	f, err := whole.Create(path, false)
	if err != nil {
		return false, d, err
	}
	defer f.Discard()
	d, err = Write(f, name)
	if err == nil {
		err = addFile(f.File, name, &d)
	}
	if err != nil || !d.Opened && !broken {
		return false, d, err
	}
	if same, err := sameFiles(f.Name(), path); err == nil && same {
		return false, d, nil
	}
	return true, d, f.Place()
}

// addFile adds what a golden states about the capture file to its last object, the
// summary.
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
