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
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/qdissect/qdissect/internal/jsonl"
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
// belong to none. A file that is no capture by its name is one if it has a golden.
// Folders whose names begin with a dot are left out, and so are FIFOs and
// devices, which skipped is called with.
func Captures(root string, skipped func(path string, err error)) (captures, orphans []string, err error) {
	var found []string
	has := make(map[string]bool) // goldens of captures
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir(), !IsCapture(path) && !strings.HasSuffix(path, Extension):
		case !isFile(path):
			skipped(path, ErrNoFile)
		case IsCapture(path):
			found = append(found, path)
			has[Path(path)] = true
		default:
			found = append(found, path)
		}
		return nil
	})
	for _, path := range found {
		switch {
		case IsCapture(path):
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
	Panics dissect.PanicError
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
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		All:      true,
		Trouble: func(err error) {
			if p, ok := err.(dissect.PanicError); ok {
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
// of what it says: a capture that is damaged as its golden says is as it should
// be. There is no result if it could not be read at all.
func Check(capture string, rules Rules, limit int) (r *Result, trouble, err error) {
	path := Path(capture)
	f, said, err := openGolden(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, openable(capture), ErrNoGolden
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	file, err := sumOf(capture)
	if err != nil {
		return nil, nil, err
	}
	c := NewComparer(f, rules, limit)
	d, err := write(c, capture, func(d *Dissection) { c.SetStarts(said.first, d.Start.UnixNano()) })
	if err == nil {
		r, err = c.Close()
	}
	if err != nil {
		return nil, d.Trouble, fmt.Errorf("%s: %w", path, err)
	}
	trouble = d.Trouble
	if d.Panics > 0 {
		trouble = errors.Join(trouble, d.Panics)
	}
	if !d.Opened && !r.Equal() {
		return nil, trouble, nil // no need to say that all messages are missing
	}
	compareFile(r, said, &file, d.Trouble, &rules, c.lines)
	return r, trouble, nil
}

// CheckConversation compares a capture with its golden as [Diff] does, for
// captures that are taken again all the time. The results are as those of
// [Check].
func CheckConversation(capture string, rules Rules, limit int) (r *Result, trouble, err error) {
	path := Path(capture)
	f, said, err := openGolden(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, openable(capture), ErrNoGolden
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	file, err := sumOf(capture)
	if err != nil {
		return nil, nil, err
	}
	r, troubles, err := Diff(path, capture, DiffOptions{Rules: rules, Max: limit})
	trouble = errors.Join(troubles...)
	if err == nil {
		said.sum = "" // another recording has other bytes
		compareFile(r, said, &file, trouble, &rules, 0)
	}
	return r, trouble, err
}

// openGolden opens a golden, and returns what its last object says.
func openGolden(path string) (*os.File, *last, error) {
	if !isFile(path) {
		return nil, nil, fmt.Errorf("%s: no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	said, err := lastObject(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, &said, nil
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
	first  int64  // the time of the first packet, in ns since 1970; 0 if unknown
	sum    string // "" if there is none
	former bool   // there is the sum of an earlier version instead
	damage string // of the file, "" if it has none
	stated bool   // that the file is damaged or that it is not
}

// lastObject reads the last object of a golden, and rewinds the file.
func lastObject(f *os.File) (l last, err error) {
	var b []byte
	for o := jsonl.NewReader(f); ; {
		next, _, err := o.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return l, err
		}
		b = append(b[:0], next...)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return l, err
	}
	var s side
	if len(b) == 0 || s.parse(b, false) != nil {
		return l, nil // the comparison says what is wrong
	}
	if t, err := time.Parse(time.RFC3339Nano, s.Str(0, "first_time")); err == nil {
		l.first = t.UnixNano()
	}
	if i := s.Member(0, sumKey); i >= 0 {
		l.sum = s.Str(0, sumKey)
		if b, err := hex.DecodeString(l.sum); err != nil || len(b) != sha256.Size {
			return l, fmt.Errorf("the %s of the golden does not have 64 hexadecimal digits: %s", sumKey, show(&s.Nodes[i], nil))
		}
	}
	l.former = l.sum == "" && s.Member(0, formerKey) >= 0
	l.damage = s.Str(0, damagedKey)
	if i := s.Member(0, damagedKey); i >= 0 && l.damage == "" {
		return l, fmt.Errorf("the golden says %s, which is not a text: %s", damagedKey, show(&s.Nodes[i], nil))
	}
	l.stated = l.sum != "" || l.former || l.damage != ""
	return l, nil
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
