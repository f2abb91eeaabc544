package golden

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/jsonl"
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
		var alone []item
		for _, list := range c.waiting[s] {
			alone = append(alone, list...)
		}
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

// sameFiles reports whether two files are equal. It hashes them, because goldens may be
// large.
func sameFiles(a, b string) (bool, error) {
	x, err := sumOf(a)
	y, err2 := sumOf(b)
	return x.sum == y.sum, errors.Join(err, err2)
}
