package golden

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/jsonl"
)

// Members that the last object of a golden has and the output has not: they are
// about the file of the capture.
const (
	// sumKey is the SHA-256 of the capture, of what it unpacks to if it is
	// packed. It covers bytes that no field shows.
	sumKey = "sha256"
	// damagedKey says what is wrong with the file; it is absent if nothing is.
	damagedKey = "damaged"
)

// A fileSum is what is known of a capture without dissecting it.
type fileSum struct {
	sum    string // hexadecimal; "" for a pipe, which cannot be read twice
	damage error  // why the file could not be unpacked, or not to its end
}

// sumOf returns the sum of a capture. That of a damaged file is the sum of its
// sound beginning, which is what the reader of captures gets to see.
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
		return s, path // nothing that the file says
	}
	return fileSum{hex.EncodeToString(h.Sum(nil)), err}, nil
}

// damageText says what is wrong with a capture as goldens have it: nothing of its
// name or of how it is packed. trouble is why it could not be dissected, or not to
// its end; "" if there is nothing.
func (s *fileSum) damageText(trouble error) string {
	var text string
	var e *capture.Error
	switch {
	case errors.As(trouble, &e):
		text = e.Err.Error()
	case trouble != nil:
		text = problemText(trouble)
	}
	// What is wrong after other damage, the dissection did not get to see.
	if s.damage != nil && !strings.Contains(text, s.damage.Error()) {
		if text != "" {
			text += "; "
		}
		text += s.damage.Error()
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// compareFile adds to the result what differs in the file of a capture: whether
// it is damaged, and, if nothing else differs, its sum. line is that of the last
// object of the golden.
func compareFile(r *Result, said *last, file *fileSum, trouble error, rules *Rules, line int) {
	damage := file.damageText(trouble)
	r.Unstated = damage != "" && !said.stated
	m := Message{line, jsonl.Head{Type: "capture"}}
	var f Field
	switch {
	case said.stated && damage != said.damage && (rules.Wording || damage == "" || said.damage == "") && !rules.ignored(memberPath(damagedKey)):
		f = Field{Path: damagedKey, From: quoted(said.damage, damage), To: quoted(damage, said.damage)}
	case r.Equal() && said.sum != "" && file.sum != "" && said.sum != file.sum && rules.exact() && !rules.ignored(memberPath(sumKey)):
		const digits = 16 // are enough to be shown
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

// quoted is a text as it is shown beside another one, "" if there is none.
func quoted(s, other string) string {
	if s == "" {
		return ""
	}
	return show(&jsonl.Node{Kind: jsonl.Text, Value: []byte(s)}, &jsonl.Node{Kind: jsonl.Text, Value: []byte(other)})
}

// sameFiles reports whether two files have the same content. Goldens may be large.
func sameFiles(a, b string) (bool, error) {
	x, err := sumOf(a)
	y, err2 := sumOf(b)
	return x.sum == y.sum, errors.Join(err, err2)
}
