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
