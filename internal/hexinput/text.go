package hexinput

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// folds maps characters that web pages and word processors substitute to ASCII, one to one.
var folds = strings.NewReplacer(pairs(map[byte]string{
	' ':  "\r\v\f\u00a0\u2007\u202f\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad",
	'"':  "“”„‟″",
	'\'': "‘’‚‛′",
	'-':  "‐‑‒–—―−",
	'>':  "→⇒➜➔▶►»›",
	'<':  "←⇐◀◄«‹",
})...)

func pairs(m map[byte]string) (list []string) {
	for to, from := range m {
		for _, r := range from {
			list = append(list, string(r), string(to))
		}
	}
	return list
}

// A line is one line of the text, without its end.
type line struct {
	text  string
	start int // its position in the text
}

func (l *line) blank() bool { return skipBlanks(l.text, 0) == len(l.text) }

// lineAt returns the line that begins at a position, and after the position of the next one.
func (p *parser) lineAt(at int) line {
	s, _, _ := strings.Cut(p.s[min(at, len(p.s)):], "\n")
	return line{s, at}
}

func (p *parser) line() line { return p.lineAt(p.at) }

func (p *parser) after(at int) int {
	if i := strings.IndexByte(p.s[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(p.s)
}

// decodeText removes a byte order mark, and converts UTF-16, which Windows PowerShell writes, to UTF-8.
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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isWord(c byte) bool  { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// appendHex appends the bytes of hex digits, without an odd digit at the end.
func appendHex[T string | []byte](dst []byte, digits T) []byte {
	dst, _ = hex.AppendDecode(dst, []byte(digits[:len(digits)&^1]))
	return dst
}

const blanks = " \t"

// skipBlanks returns the position of the first character from i on that is not a blank.
func skipBlanks(text string, i int) int { return len(text) - len(strings.TrimLeft(text[i:], blanks)) }

// hexEnd returns where the hex digits end that begin at i.
func hexEnd(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], "0123456789abcdefABCDEF"))
}

// window is how much text before or after something is examined.
const window = 64

// left and right return the text before and after a position, up to a window.
func left(text string, i int) string  { return text[max(0, i-window):i] }
func right(text string, i int) string { return text[i:min(len(text), i+window)] }

// stamp matches the time at the beginning of a line of a log.
var stamp = lazyregexp.New(`^[ \t]*[\[(]?(?:` +
	`\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?|` +
	`\d\d?:\d\d:\d\d(?:[.,]\d+)?)` +
	`(?:Z| ?[+-]\d\d:?\d\d)?` +
	`(?:[\])][:,]?[ \t]*|:?[ \t]+|$)(?:[-|][ \t]+)?`)

// stampOf returns the time with which a line begins, as it is written.
func (l *line) stamp() string {
	i := skipBlanks(l.text, 0)
	if i == len(l.text) || !isDigit(l.text[i]) && l.text[i] != '[' && l.text[i] != '(' {
		return ""
	}
	return stamp().FindString(right(l.text, 0))
}

// begin returns where a line begins after its time.
func (l *line) begin() int {
	if n := skipBlanks(l.text, len(l.stamp())); n < len(l.text) {
		return l.start + n
	}
	return l.start + skipBlanks(l.text, 0)
}

// time returns the time with which a line begins, in UTC if it names no zone; zero if there is none. A time of the day alone is
// one of the year 0.
func (l *line) time() time.Time {
	s := strings.NewReplacer(",", ".", "/", "-", "T", " ", " +", "+").Replace(strings.Trim(l.stamp(), " \t[](),:|-"))
	for _, layout := range [...]string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
