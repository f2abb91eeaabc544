package core

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Style is the set of colour and formatting codes that a text may contain.
type Style uint8

const (
	// NoStyle text has no codes.
	NoStyle Style = iota
	// Quake3 codes are a caret and any character but a caret; Xonotic's ^x
	// with three hexadecimal digits and Call of Duty's doubled ^^77 are known
	// as well (reference: the engines' Q_IsColorString and its descendants).
	Quake3
	// Doom3 codes are those of Quake 3, ^c with three digits, and ^I or ^N
	// with three characters for icons and buttons (Quake 4, ETQW).
	Doom3
	// Minecraft codes are a section sign, as UTF-8 or Latin-1, and one
	// character.
	Minecraft
	// Unreal codes are the byte 0x1b and three bytes of colour (Unreal
	// engine 2, America's Army).
	Unreal
	// UnrealWide codes are those of wide text: ^# and one character (Unreal II),
	// or 0x1b and three.
	UnrealWide
	// Armagetron codes are 0x and six characters: hexadecimal digits, or RESETT.
	Armagetron
	// ZDoom codes are the byte 0x1c and a letter, or a name in brackets.
	ZDoom
	// Cube codes are a form feed and one character, a word in brackets, or z and two
	// characters.
	Cube
)

var styleNames = [...]string{"none", "quake3", "doom3", "minecraft", "unreal", "unreal-wide", "armagetron", "zdoom", "cube"}

func (s Style) String() string { return styleNames[s] }

// Wide returns the kind of codes that wide text holds where other text holds those of s.
func (s Style) Wide() Style {
	return nettext.Either(s == Unreal, UnrealWide, s)
}

// code returns the length of the code at the start of s, 0 if there is none.
func (s Style) code(b string) int {
	switch s {
	case Quake3, Doom3:
		return caretCode(b, s == Doom3)
	case Minecraft:
		if len(b) >= 3 && b[0] == 0xc2 && b[1] == 0xa7 {
			return 3
		}
		if len(b) >= 2 && b[0] == 0xa7 {
			return 2
		}
	case Unreal:
		if len(b) >= 4 && b[0] == 0x1b {
			return 4
		}
	case Armagetron:
		if len(b) >= 8 && b[0] == '0' && b[1] == 'x' && (b[2:8] == "RESETT" || hexDigits(b[2:8])) {
			return 8
		}
	case ZDoom:
		if len(b) < 2 || b[0] != 0x1c {
			return 0
		}
		if end := strings.IndexByte(b, ']'); b[1] == '[' && end > 0 {
			return end + 1
		}
		return 2
	case Cube:
		return cubeCode(b)
	case UnrealWide:
		switch {
		case len(b) > 2 && b[0] == '^' && b[1] == '#':
			return 2 + runes(b[2:], 1)
		case len(b) > 0 && b[0] == 0x1b:
			return 1 + runes(b[1:], 3)
		}
	}
	return 0
}

// caretCode returns the length of the code of Quake 3, or of Doom 3, at the start of b.
func caretCode(b string, doom3 bool) int {
	if len(b) < 2 || b[0] != '^' {
		return 0
	}
	switch c := b[1]; {
	case c == '^':
		return nettext.Either(len(b) >= 4 && nettext.Digit(b[2]) && b[2] == b[3], 4, 0)
	case doom3 && (c == 'c' || c == 'C') && len(b) >= 5 && nettext.Digit(b[2]) && nettext.Digit(b[3]) && nettext.Digit(b[4]):
		return 5
	case doom3 && (c == 'I' || c == 'i' || c == 'N' || c == 'n') && len(b) >= 5:
		return 5
	case !doom3 && (c == 'x' || c == 'X') && len(b) >= 5 && hexDigits(b[2:5]):
		return 5
	case c < 0x20:
		return 0
	}
	return 2
}

// cubeCode returns the length of the code of the Cube engine at the start of b.
func cubeCode(b string) int {
	if len(b) < 2 || b[0] != '\f' {
		return 0
	}
	switch b[1] {
	case '[', '(', '{':
		closing := b[1] + 2
		if b[1] == '(' {
			closing = ')'
		}
		if n := strings.IndexByte(b, closing); n > 0 {
			return n + 1
		}
	case 'z':
		return min(4, len(b))
	}
	return 2
}

func hexDigits(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// runes returns how many bytes the first n characters of s have.
func runes(s string, n int) (size int) {
	for ; n > 0 && size < len(s); n-- {
		_, k := utf8.DecodeRuneInString(s[size:])
		size += k
	}
	return size
}

// firstBytes begin the codes of each style; wide text has a caret as well.
var firstBytes = [...]byte{Quake3: '^', Doom3: '^', Minecraft: 0xa7, Unreal: 0x1b, UnrealWide: 0x1b, Armagetron: '0', ZDoom: 0x1c, Cube: '\f'}

// next returns the offset of the first byte of text, from offset i on, with which a code may begin, or the length of text.
func (s Style) next(text string, i int) int {
	if s == NoStyle {
		return len(text)
	}
	at := strings.IndexByte(text[i:], firstBytes[s])
	if s == UnrealWide {
		if caret := strings.IndexByte(text[i:], '^'); at < 0 || caret >= 0 && caret < at {
			at = caret
		}
	}
	switch {
	case at < 0:
		return len(text)
	case s == Minecraft && at > 0 && text[i+at-1] == 0xc2: // the section sign in UTF-8
		at--
	}
	return i + at
}

// codeAt returns the length of the code that begins at offset i of s, 0 if
// there is none.
func (s Style) codeAt(text string, i int) int {
	if s == NoStyle {
		return 0
	}
	n := s.code(text[i:])
	if s == Minecraft && n == 2 && i > 0 && text[i-1] >= 0xc0 {
		// The byte of a section sign in Latin-1 may also be the last one of
		// a character in UTF-8.
		return 0
	}
	return n
}

// AppendPlain appends text without its codes.
func (s Style) AppendPlain(dst, text []byte) []byte {
	v := nettext.View(text)
	for i := 0; i < len(v); {
		if n := s.codeAt(v, i); n > 0 {
			i += n
			continue
		}
		end := s.next(v, i+1)
		dst = append(dst, v[i:end]...)
		i = end
	}
	return dst
}

// HasCodes reports whether text contains a code.
func (s Style) HasCodes(text []byte) bool {
	v := nettext.View(text)
	for i := s.next(v, 0); i < len(v); i = s.next(v, i+1) {
		if s.codeAt(v, i) > 0 {
			return true
		}
	}
	return false
}

// AppendText appends text from the network for people: decoded, without colour
// codes, and safe for a terminal.
func AppendText(dst []byte, s string, c Charset, style Style) []byte {
	// Most names are plain ASCII: nothing to decode, strip or escape.
	if style != Armagetron && nettext.Plain(nettext.Bytes(s)) {
		return append(dst, s...)
	}
	n := plainASCII(s, style)
	dst = append(dst, s[:n]...)
	if n == len(s) {
		return dst
	}
	valid := c.IsUTF8(nettext.Bytes(s))
	if !valid {
		c = c.Resolve(nettext.Bytes(s))
	}
	for i := n; i < len(s); {
		if n := style.codeAt(s, i); n > 0 {
			i += n
			continue
		}
		if n := plainASCII(s[i:], style); n > 0 {
			dst = append(dst, s[i:i+n]...)
			i += n
			continue
		}
		if !valid {
			r, n := rune(0), 1
			if c < CubeChars {
				r = c.rune(s[i])
			} else {
				r, n = c.next(s[i:])
			}
			dst = nettext.AppendRune(dst, r)
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = nettext.AppendRune(dst, r)
		i += n
	}
	return dst
}

// plainASCII returns the number of bytes at the start of s that are printable ASCII, are not escaped, and begin no code.
func plainASCII(s string, style Style) int {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < 0x20 || b >= 0x7f || b == '\\' || b == '^' || b == '0' && style == Armagetron {
			return i
		}
	}
	return len(s)
}

// AppendQuoted appends text as [AppendText] does, in double quotes. Quotes in the
// text are escaped by a backslash.
func AppendQuoted(dst []byte, s string, c Charset, style Style) []byte {
	dst = append(dst, '"')
	from := len(dst)
	dst = AppendText(dst, s, c, style)
	if n := bytes.Count(dst[from:], []byte{'"'}); n > 0 {
		i := len(dst) - 1
		dst = append(dst, make([]byte, n)...)
		for to := len(dst) - 1; to > i; i, to = i-1, to-1 { // from the end, so that each byte moves once
			if dst[to] = dst[i]; dst[i] == '"' {
				to--
				dst[to] = '\\'
			}
		}
	}
	return append(dst, '"')
}
