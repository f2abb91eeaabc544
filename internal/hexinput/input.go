package hexinput

import (
	"bytes"
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

// fold returns the byte that stands for a character in the text of a line:
// itself, the ASCII character that a web page or a word processor made it from,
// or other.
func fold(r rune) byte {
	switch r {
	case '\r', '\v', '\f', 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2060, 0xfeff, 0xad:
		return ' '
	case '“', '”', '„', '‟', '″':
		return '"'
	case '‘', '’', '‚', '‛', '′':
		return '\''
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '→', '⇒', '➜', '➔', '▶', '►', '»', '›':
		return '>'
	case '←', '⇐', '◀', '◄', '«', '‹':
		return '<'
	case '…':
		return ellipsis
	}
	switch {
	case r < utf8.RuneSelf:
		return byte(r)
	case unicode.IsSpace(r):
		return ' '
	}
	return other
}

func newLine(number int, raw []byte) line {
	l := line{number: number, raw: raw}
	plain := true
	for _, c := range raw {
		if c >= utf8.RuneSelf || c == '\r' || c == '\v' || c == '\f' {
			plain = false
			break
		}
	}
	if plain {
		l.text = string(raw)
		return l
	}
	text := make([]byte, 0, len(raw))
	l.offsets = make([]int32, 0, len(raw)+1)
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		c := fold(r)
		if r == utf8.RuneError {
			c = other
		}
		text = append(text, c)
		l.offsets = append(l.offsets, int32(i))
		i += n
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

// short reports whether the next line has no more than n bytes.
func (in *input) short(n int) bool {
	return len(in.rest) <= n || bytes.IndexByte(in.rest[:n+1], '\n') >= 0
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
	if len(text) < 2 || len(text)%2 != 0 {
		return text
	}
	high, low := 1, 0
	switch string(text[:2]) {
	case "\xff\xfe":
	case "\xfe\xff":
		high, low = 0, 1
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2-1)
	ascii := 0
	for i := 2; i < len(text); i += 2 {
		u := uint16(text[i+high])<<8 | uint16(text[i+low])
		if u < utf8.RuneSelf {
			ascii++
		}
		units = append(units, u)
	}
	if ascii*2 < len(units) {
		return text // a payload may begin like a byte order mark
	}
	return []byte(string(utf16.Decode(units)))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' }

// nibble returns the value of a hex digit.
func nibble(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// appendHex appends the bytes of an even number of hex digits.
func appendHex[T string | []byte](dst []byte, digits T) []byte {
	for i := 0; i+1 < len(digits); i += 2 {
		dst = append(dst, nibble(digits[i])<<4|nibble(digits[i+1]))
	}
	return dst
}

func skipBlanks(text string, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// hexEnd returns where the hex digits end that begin at i.
func hexEnd(text string, i int) int {
	for i < len(text) && isHex(text[i]) {
		i++
	}
	return i
}
