package hexinput

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// In the folded text, ellipsis stands for … and other for any other character
// beyond ASCII.
const (
	ellipsis = 0xfe
	other    = 0xff
)

// A text is the input. Positions in it count characters.
type text struct {
	// s has one byte for each character: see fold.
	s string
	// raw is the input itself, and offsets says where in it each character
	// begins.
	raw     []byte
	offsets []int32
}

func newText(raw []byte) text {
	t := text{raw: raw, offsets: make([]int32, 0, len(raw)+1)}
	folded := make([]byte, 0, len(raw))
	for i, r := range string(raw) {
		folded, t.offsets = append(folded, fold(r)), append(t.offsets, int32(i))
	}
	t.s, t.offsets = string(folded), append(t.offsets, int32(len(raw)))
	return t
}

// original returns the characters from i to j as they are in the input.
func (t *text) original(i, j int) []byte { return t.raw[t.offsets[i]:t.offsets[j]] }

// folds maps characters that web pages and word processors substitute to ASCII.
var folds = [...]struct {
	runes string
	as    byte
}{
	{"\r\v\f\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad", ' '},
	{"“”„‟″", '"'},
	{"‘’‚‛′", '\''},
	{"‐‑‒–—―−", '-'},
	{"→⇒➜➔▶►»›", '>'},
	{"←⇐◀◄«‹", '<'},
	{"…", ellipsis},
}

// fold returns the byte that stands for a character in the folded text.
func fold(r rune) byte {
	if r < utf8.RuneSelf && (r < '\v' || r > '\r') {
		return byte(r)
	}
	for _, f := range folds {
		if strings.ContainsRune(f.runes, r) {
			return f.as
		}
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return other
}

// A line is one line of the folded text, without its end.
type line struct {
	text  string
	start int // its position in the text
}

// before is the line before the first one.
var before = line{start: -1}

func (l *line) end() int { return l.start + len(l.text) }

func (l *line) blank() bool { return skipBlanks(l.text, 0) == len(l.text) }

// after returns the line after another one. ok is false at the end of the text.
func (t *text) after(l line) (next line, ok bool) {
	start := l.end() + 1
	if start >= len(t.s) {
		return line{start: len(t.s)}, false
	}
	s, _, _ := strings.Cut(t.s[start:], "\n")
	return line{s, start}, true
}

// afterBlanks is after, but skips blank lines and counts them.
func (t *text) afterBlanks(l line) (next line, blanks int, ok bool) {
	for next, ok = t.after(l); ok && next.blank(); next, ok = t.after(next) {
		blanks++
	}
	return next, blanks, ok
}

// decodeText removes a byte order mark, and converts UTF-16, which Windows
// PowerShell writes, to UTF-8.
func decodeText(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
		return rest
	}
	order := binary.ByteOrder(binary.BigEndian)
	if bytes.HasPrefix(text, []byte("\xff\xfe")) {
		order = binary.LittleEndian
	} else if !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return text
	}
	units, ascii := make([]uint16, len(text)/2-1), 0
	for i := range units {
		if units[i] = order.Uint16(text[2*i+2:]); units[i] < utf8.RuneSelf {
			ascii++
		}
	}
	if len(text)%2 != 0 || ascii*2 < len(units) {
		return text // a payload may begin like a byte order mark
	}
	return []byte(string(utf16.Decode(units)))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isWord(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// appendHex appends the bytes of hex digits, without an odd digit at the end.
func appendHex[T string | []byte](dst []byte, digits T) []byte {
	dst, _ = hex.AppendDecode(dst, []byte(digits[:len(digits)&^1]))
	return dst
}

const blanks = " \t"

// skipBlanks returns the position of the first character from i on that is not
// a blank.
func skipBlanks(text string, i int) int { return len(text) - len(strings.TrimLeft(text[i:], blanks)) }

// hexEnd returns where the hex digits end that begin at i.
func hexEnd(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], "0123456789abcdefABCDEF"))
}

// window is how much text before or after something is examined.
const window = 64

// left and right return the text before and after a position, up to a window.
func left(text string, i int) string { return text[max(0, i-window):i] }

func right(text string, i int) string { return text[i:min(len(text), i+window)] }

// stamp matches the time at the beginning of a line of a log.
var stamp = lazyregexp.New(`^[ \t]*[\[(]?(?:` +
	`\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?|` +
	`\d\d?:\d\d:\d\d(?:[.,]\d+)?)` +
	`(?:Z| ?[+-]\d\d:?\d\d)?` +
	`(?:[\])][:,]?[ \t]*|:?[ \t]+|$)(?:[-|][ \t]+)?`)

// mayBeTime reports whether the text from i on may begin with a time.
func mayBeTime(text string, i int) bool {
	return i < len(text) && (isDigit(text[i]) || strings.IndexByte("[(", text[i]) >= 0)
}

// timeOf returns the time with which a line begins, zero if there is none.
func timeOf(text string) time.Time {
	if !mayBeTime(text, skipBlanks(text, 0)) {
		return time.Time{}
	}
	s := strings.Trim(stamp().FindString(right(text, 0)), " \t[](),:|-")
	return parseTime(strings.NewReplacer(",", ".", "T", " ", " +", "+").Replace(s))
}

// begin returns where a line begins after its time.
func (l *line) begin() (int, label) {
	i := skipBlanks(l.text, 0)
	if mayBeTime(l.text, i) {
		if n := skipBlanks(l.text, len(stamp().FindString(right(l.text, 0)))); n > i && n < len(l.text) {
			return l.start + n, timed
		}
	}
	return l.start + i, unlabelled
}

// parseTime reads the time that a text gives: a date with a time, in UTC if it names no zone. It is zero for anything else. A time of the
// day alone is one of the year 0.
func parseTime(s string) time.Time {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006/01/02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999", "15:04:05.999999999",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
