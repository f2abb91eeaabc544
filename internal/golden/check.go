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
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/report"
)

// ErrNoGolden is returned by [Check] for a capture without a golden.
var ErrNoGolden = errors.New("no golden")

// Check compares a capture with its golden. It stores at most limit differences,
// [DefaultMax] if limit is 0, and counts the rest.
//
// trouble is the reason why the capture could not be read, or not to its end. If the
// golden states the same damage, there is no difference. If the capture could not be read
// at all, the result is nil.
func Check(name string, rules Rules, limit int) (r *Result, trouble, err error) {
	path := Path(name)
	f, said, err := openGolden(path)
	if errors.Is(err, fs.ErrNotExist) {
		in, err := capture.Open(name)
		if err != nil {
			return nil, err, ErrNoGolden
		}
		return nil, in.Close(), ErrNoGolden
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	file, err := sumOf(name)
	if err != nil {
		return nil, nil, err
	}
	if rules.Conversation {
		r, troubles, err := Diff(path, name, rules, limit, nil)
		if trouble = errors.Join(troubles...); err != nil {
			return nil, trouble, err
		}
		compareFile(r, said, &file, trouble, &rules, 0)
		return r, trouble, nil
	}
	c := newChecker(f, rules, limit)
	d, err := write(c, name, nil, func(d *Dissection) { c.a.start, c.b.start = said.first, d.Start.UnixNano() })
	if err == nil {
		r, err = c.close()
	}
	if err != nil {
		return nil, d.Trouble, fmt.Errorf("%s: %w", path, err)
	}
	if !d.Opened && !r.Equal() {
		return nil, d.trouble(), nil // trouble is enough: do not list all messages as missing
	}
	compareFile(r, said, &file, d.Trouble, &rules, c.lines)
	return r, d.trouble(), nil
}

// openGolden opens a golden and reads its last object.
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

// last is what the last object of a golden states about the capture.
type last struct {
	first  int64  // the time of the first packet, in ns since 1970; 0 if unknown
	sum    string // SHA-256, "" if there is none
	damage string // of the file, "" if there is none
	stated bool   // the golden says whether the file is damaged
}

// lastObject reads the last object of a golden and rewinds the file.
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
	var d jsonl.Document
	if len(b) == 0 || d.Parse(b) != nil {
		return l, nil // the comparison reports the error
	}
	if t, err := time.Parse(time.RFC3339Nano, d.Str(0, "first_time")); err == nil {
		l.first = t.UnixNano()
	}
	if i := d.Member(0, sumKey); i >= 0 {
		l.sum = d.Str(0, sumKey)
		if b, err := hex.DecodeString(l.sum); err != nil || len(b) != sha256.Size {
			return l, fmt.Errorf("the %s of the golden does not have 64 hexadecimal digits: %s", sumKey, show(&d.Nodes[i], nil))
		}
	}
	l.damage = d.Str(0, damagedKey)
	if i := d.Member(0, damagedKey); i >= 0 && l.damage == "" {
		return l, fmt.Errorf("the golden says %s, which is not a text: %s", damagedKey, show(&d.Nodes[i], nil))
	}
	l.stated = l.sum != "" || l.damage != ""
	return l, nil
}

// A checker compares the output written to it with a golden, object by object. Objects are
// matched by frame. Both are read at the same pace: an object that differs waits for its
// counterpart; equal objects need no memory.
type checker struct {
	differ
	want    *jsonl.Reader
	sides   [2]*side
	waiting [2]map[key][]item // by side
	line    int               // line of the output
	lines   int               // line of the golden
	held    int               // bytes
	err     error
}

// A key identifies matching objects.
type key struct {
	kind, id string
	frame    uint64
}

func newChecker(want io.Reader, rules Rules, limit int) *checker {
	c := &checker{want: jsonl.NewReader(want), differ: newDiffer(rules, limit)}
	c.sides = [...]*side{&c.a, &c.b}
	c.waiting = [...]map[key][]item{make(map[key][]item), make(map[key][]item)}
	return c
}

// Write compares whole objects of the output.
func (c *checker) Write(b []byte) (int, error) {
	for got := jsonl.NewBytes(b, c.line+1); c.err == nil; {
		raw, line, err := got.Next()
		if err == io.EOF {
			return len(b), nil
		}
		if err != nil {
			c.err = fmt.Errorf("the output: %w", err)
			break
		}
		c.line = line
		want := c.next()
		if want != nil && bytes.Equal(want, raw) && !c.rules.Relative {
			continue
		}
		if want != nil {
			c.take(0, want, c.lines)
		}
		c.take(1, raw, c.line)
	}
	return 0, c.err
}

// next returns the next object of the golden, nil after the last.
func (c *checker) next() []byte {
	b, line, err := c.want.Next()
	if err != nil {
		if err != io.EOF {
			c.err = err
		}
		return nil
	}
	c.lines = line
	return b
}

// take compares an object of one side with its counterpart if that has been read, or
// stores it.
func (c *checker) take(s int, raw []byte, line int) {
	if c.err != nil {
		return
	}
	if err := c.parse(c.sides[s], raw); err != nil {
		c.err = fmt.Errorf("line %d: %w", line, err)
		return
	}
	k := key{c.sides[s].kind, c.sides[s].FindingID(), c.sides[s].Uint(0, "frame")}
	it := item{raw: raw, line: line, place: c.lines}
	other := c.waiting[1-s]
	if list := other[k]; len(list) > 0 {
		if other[k] = list[1:]; len(list) == 1 {
			delete(other, k)
		}
		if s == 0 {
			c.pair(&it, &list[0])
		} else {
			c.pair(&list[0], &it)
		}
		c.held -= list[0].size()
		return
	}
	it.raw = slices.Clone(raw)
	c.waiting[s][k] = append(c.waiting[s][k], it)
	if c.held += it.size(); c.held > maxHeld {
		c.err = fmt.Errorf("more than %d MiB of messages that differ, more than can be compared at once", maxHeld>>20)
	}
}

// close ends the output and returns the result.
func (c *checker) close() (*Result, error) {
	for want := c.next(); want != nil && c.err == nil; want = c.next() {
		c.take(0, want, c.lines)
	}
	if c.err != nil {
		return nil, c.err
	}
	// Sort objects without a counterpart into the other differences.
	changed := c.result
	c.result = Result{limit: changed.limit}
	for s, kind := range [...]Kind{Missing, New} {
		alone := slices.Concat(slices.Collect(maps.Values(c.waiting[s]))...)
		slices.SortFunc(alone, func(a, b item) int { return cmp.Compare(a.line, b.line) })
		for i := range alone {
			c.alone(kind, &alone[i], 0)
		}
		changed.Count += len(alone)
		changed.Differences = append(changed.Differences, c.result.Differences...)
		c.result = Result{limit: changed.limit}
	}
	slices.SortStableFunc(changed.Differences, func(a, b Difference) int { return cmp.Compare(a.place, b.place) })
	for i := range changed.Differences {
		c.result.add(&changed.Differences[i])
	}
	c.result.Count = changed.Count
	return &c.result, nil
}

// Members of a golden's last object that are about the capture file. The output does not
// have them.
const (
	// sumKey is the SHA-256 of the uncompressed capture. It covers bytes that no field
	// shows.
	sumKey = "sha256"
	// damagedKey is the damage of the file, absent if there is none.
	damagedKey = "damaged"
)

// A fileSum is what is known about a capture file without dissecting it.
type fileSum struct {
	sum    string // hexadecimal SHA-256; "" for a FIFO, which cannot be read twice
	damage error  // why the file could not be decompressed to its end
}

// sumOf returns the sum of a capture. For damaged compressed data, it is the sum of the
// bytes before the damage, which is what the capture reader gets.
func sumOf(name string) (s fileSum, err error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return s, err
	}
	f, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	h := sha256.New()
	z, _, err := capture.Unpack(f)
	if err == nil {
		_, err = io.Copy(h, z)
		z.Close()
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return s, path // not an error in the data
	}
	return fileSum{hex.EncodeToString(h.Sum(nil)), err}, nil
}

// damageText returns the damage of a capture as goldens state it, without file name and
// compression; "" if there is none. trouble is the reason why it could not be dissected to
// its end.
func (s *fileSum) damageText(trouble error) string {
	var text string
	var e *capture.Error
	switch {
	case errors.As(trouble, &e):
		text = e.Err.Error()
	case trouble != nil:
		text = problemText(trouble)
	}
	// The dissection does not see damage after other damage.
	if s.damage != nil && !strings.Contains(text, s.damage.Error()) {
		if text != "" {
			text += "; "
		}
		text += s.damage.Error()
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// compareFile adds differences of the capture file to the result: whether it is damaged
// and, if nothing else differs, its sum. line is the line of the golden's last object.
func compareFile(r *Result, said *last, file *fileSum, trouble error, rules *Rules, line int) {
	damage := file.damageText(trouble)
	r.Unstated = damage != "" && !said.stated
	m := Message{line, jsonl.Head{Type: "capture"}}
	var f Field
	switch {
	case said.stated && damage != said.damage && (rules.Wording || damage == "" || said.damage == "") && !rules.ignored(memberPath(damagedKey)):
		f = Field{Path: damagedKey, From: quoted(said.damage, damage), To: quoted(damage, said.damage)}
	case r.Equal() && said.sum != "" && file.sum != "" && said.sum != file.sum && rules.exact() && !rules.ignored(memberPath(sumKey)):
		const digits = 16 // are enough
		f = Field{sumKey, "bytes changed that no field shows", `"` + said.sum[:digits] + `…"`, `"` + file.sum[:digits] + `…"`}
	default:
		return
	}
	// Damage comes first, because other differences follow from it.
	r.Count++
	r.shown++
	r.Differences = slices.Insert(r.Differences, 0, Difference{Want: m, Got: m, Fields: []Field{f}})
}

func memberPath(name string) []step { return []step{{[]byte(name), noIndex}} }

// quoted formats a text that is shown beside other, "" if it is empty.
func quoted(s, other string) string {
	if s == "" {
		return ""
	}
	return show(&jsonl.Node{Kind: jsonl.Text, Value: []byte(s)}, &jsonl.Node{Kind: jsonl.Text, Value: []byte(other)})
}

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
	is, err := sumOf(f.Name()) // goldens may be large
	if was, err2 := sumOf(path); errors.Join(err, err2) == nil && is.sum == was.sum {
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
