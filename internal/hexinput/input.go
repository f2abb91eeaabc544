package hexinput

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// other stands for a character beyond ASCII in the text of a line.
const other = 0xff

// ellipsis stands for … in the text of a line.
const ellipsis = 0xfe

// A line is one line of the input, without its end.
type line struct {
	number int
	// text has one byte for each character, so that an index is a column:
	// see fold.
	text string
	// raw is the line as it was, for what a string literal holds.
	raw []byte
	// offsets says where in raw each character of text begins, and last where
	// raw ends. It is nil for a line in ASCII.
	offsets []int32
}

// bytes returns what the characters from i to j were in the input.
func (l *line) bytes(i, j int) []byte {
	if l.offsets == nil {
		return l.raw[i:j]
	}
	return l.raw[l.offsets[i]:l.offsets[j]]
}

func (l *line) blank() bool { return skipBlanks(l.text, 0) == len(l.text) }

// folds are the characters that a web page or a word processor makes of those of
// ASCII.
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

// fold returns the byte that stands for a character in the text of a line:
// itself, the ASCII character that it was made of, or other.
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

func newLine(number int, raw []byte) line {
	l := line{number: number, raw: raw, text: string(raw)}
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf || r == '\r' || r == '\v' || r == '\f' }) {
		return l
	}
	text := make([]byte, 0, len(raw))
	l.offsets = make([]int32, 0, len(raw)+1)
	for i, r := range l.text {
		text = append(text, fold(r))
		l.offsets = append(l.offsets, int32(i))
	}
	l.offsets = append(l.offsets, int32(len(raw)))
	l.text = string(text)
	return l
}

// An input hands out lines. Its copy looks ahead without taking anything.
type input struct {
	rest   []byte
	number int
}

func (in *input) next() (line, bool) {
	if len(in.rest) == 0 {
		return line{}, false
	}
	raw, rest, _ := bytes.Cut(in.rest, []byte{'\n'})
	in.rest = rest
	in.number++
	return newLine(in.number, bytes.TrimSuffix(raw, []byte{'\r'})), true
}

// nextFull is next without the blank lines, of which it returns the number.
func (in *input) nextFull() (l line, blanks int, ok bool) {
	for l, ok = in.next(); ok && l.blank(); l, ok = in.next() {
		blanks++
	}
	return l, blanks, ok
}

// decodeText takes away a byte order mark, and UTF-16, which is what Windows
// PowerShell writes into a file.
func decodeText(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
		return rest
	}
	little := bytes.HasPrefix(text, []byte("\xff\xfe"))
	if len(text)%2 != 0 || !little && !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return text
	}
	units, ascii := make([]uint16, len(text)/2-1), 0
	for i := range units {
		if units[i] = binary.BigEndian.Uint16(text[2*i+2:]); little {
			units[i] = bits.ReverseBytes16(units[i])
		}
		if units[i] < utf8.RuneSelf {
			ascii++
		}
	}
	if ascii*2 < len(units) {
		return text // a payload may begin like a byte order mark
	}
	return []byte(string(utf16.Decode(units)))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' }

// appendHex appends the bytes of hex digits. An odd one at the end is left out.
func appendHex[T string | []byte](dst []byte, digits T) []byte {
	dst, _ = hex.AppendDecode(dst, []byte(digits[:len(digits)&^1]))
	return dst
}

func hasPrefix0x(text string, i int) bool {
	return i+1 < len(text) && text[i] == '0' && text[i+1]|0x20 == 'x'
}

// Sets of characters.
const (
	blankBytes = " \t"
	digitBytes = "0123456789"
	hexBytes   = digitBytes + "ABCDEFabcdef"
	wordBytes  = digitBytes + "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
)

// spanEnd returns where the characters of a set end that begin at i.
func spanEnd(text string, i int, set string) int {
	return len(text) - len(strings.TrimLeft(text[i:], set))
}

func skipBlanks(text string, i int) int { return spanEnd(text, i, blankBytes) }

// hexEnd returns where the hex digits end that begin at i.
func hexEnd(text string, i int) int { return spanEnd(text, i, hexBytes) }
