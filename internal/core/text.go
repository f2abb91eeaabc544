package core

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"github.com/qdissect/qdissect/internal/nettext"
)

// AppendText appends text from the network for people: decoded, without colour
// codes, and safe for a terminal.
func AppendText(dst []byte, s string, c Charset, style Style) []byte {
	// Most names are plain ASCII: nothing to decode, strip or escape.
	if style != Armagetron && nettext.Plain(unsafeBytes(s)) {
		return append(dst, s...)
	}
	n := plainASCII(s, style)
	dst = append(dst, s[:n]...)
	if n == len(s) {
		return dst
	}
	valid := c.IsUTF8(unsafeBytes(s))
	if !valid {
		c = c.Resolve(unsafeBytes(s))
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
	for i := from; ; i += 2 {
		n := bytes.IndexByte(dst[i:], '"')
		if n < 0 {
			break
		}
		i += n
		dst = append(dst, 0)
		copy(dst[i+1:], dst[i:])
		dst[i] = '\\'
	}
	return append(dst, '"')
}

// unsafeBytes returns the bytes of s without copying them; they must only be
// read.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
