package dissect

import (
	"unicode/utf8"
	"unsafe"
)

// AppendSafe appends s so that no terminal obeys it: control characters and
// marks that reorder or hide text are written as escapes, and so are bytes that
// are not UTF-8.
func AppendSafe(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n <= 1 {
			dst = append(dst, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		} else {
			dst = appendSafeRune(dst, r)
		}
		i += n
	}
	return dst
}

func appendSafeRune(dst []byte, r rune) []byte {
	if r >= 0x20 && r < 0x7f && r != '\\' {
		return append(dst, byte(r))
	}
	if r == '\\' || Unsafe(r) {
		return appendEscape(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

const hexDigits = "0123456789abcdef"

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '\\':
		return append(dst, '\\', '\\')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	letter, digits := byte('u'), 4
	switch {
	case r < 0x80:
		letter, digits = 'x', 2
	case r > 0xffff:
		letter, digits = 'U', 8
	}
	dst = append(dst, '\\', letter)
	for digits--; digits >= 0; digits-- {
		dst = append(dst, hexDigits[r>>(4*digits)&15])
	}
	return dst
}

// Unsafe reports whether a character must not reach a terminal as it is: C0
// and C1 controls, marks that change the direction of text, characters that
// take no room, line separators, and code points that nobody may draw.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	case r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true // fillers and marks that draw nothing
	case r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true // zero width, direction, line separators
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true // variation selectors, byte order mark, annotations
	case r >= 0xe0000 && r <= 0xe0fff:
		return true // tags
	case r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef:
		return true // not characters
	}
	return false
}

// AppendText appends text from the network for people: decoded from its
// encoding, without colour codes, and safe on a terminal.
func AppendText(dst []byte, s string, c Charset, style Style) []byte {
	// Most names are plain ASCII: nothing to decode, strip or escape.
	if plainASCII(s) && (style == NoStyle || !style.present(s)) {
		return append(dst, s...)
	}
	valid := utf8.ValidString(s)
	if !valid {
		c = c.Resolve(unsafeBytes(s))
	}
	for i := 0; i < len(s); {
		if n := style.codeAt(s, i); n > 0 {
			i += n
			continue
		}
		if !valid {
			dst = appendSafeRune(dst, c.rune(s[i]))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = appendSafeRune(dst, r)
		i += n
	}
	return dst
}

// MaxSummary is how many bytes of a summary are shown, and MaxFindingText of what
// a finding says in a line of text. Names of 64 KiB are forged; the fields have
// them whole.
const (
	MaxSummary     = 1000
	MaxFindingText = 300
)

// Shorten cuts what stands in b from from on to most bytes, and shows that it
// did.
func Shorten(b []byte, from, most int) []byte {
	if len(b)-from <= most {
		return b
	}
	end := from + most
	for end > from && !utf8.RuneStart(b[end]) {
		end--
	}
	return append(b[:end], " …"...)
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < 0x20 || b >= 0x7f || b == '\\' {
			return false
		}
	}
	return true
}

// AppendQuoted is [AppendText] in double quotes. Quotes within the text have a
// backslash before them, so that nobody takes them for the end of it.
func AppendQuoted(dst []byte, s string, c Charset, style Style) []byte {
	dst = append(dst, '"')
	from := len(dst)
	dst = AppendText(dst, s, c, style)
	for i := from; i < len(dst); i++ {
		if dst[i] == '"' {
			dst = append(dst, 0)
			copy(dst[i+1:], dst[i:])
			dst[i] = '\\'
			i++
		}
	}
	return append(dst, '"')
}

// unsafeBytes returns the bytes of s without copying them; they must only be
// read.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// ParseInt reads a decimal number as servers write them: with blanks around,
// with a sign, cut off at a fraction. It allocates nothing.
func ParseInt(s string) (int64, bool) {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	n, digits := int64(0), 0
	for digits < len(s) && digit(s[digits]) {
		if digits == 18 {
			return 0, false
		}
		n = n*10 + int64(s[digits]-'0')
		digits++
	}
	if digits == 0 {
		return 0, false
	}
	for i := digits; i < len(s); i++ {
		if s[i] == '.' {
			for i++; i < len(s); i++ {
				if !digit(s[i]) && s[i] != ' ' {
					return 0, false
				}
			}
		} else if s[i] != ' ' {
			return 0, false
		}
	}
	if negative {
		n = -n
	}
	return n, true
}
