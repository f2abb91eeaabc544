package report

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

const hexDigits = "0123456789abcdef"

// putPlain writes text as a JSON string with its quotes and returns its length, or 0 if a byte
// of it is special or there is not enough room. Most texts are plain, and most are short: the
// last bytes are copied with the ones before them rather than one by one.
func putPlain(to, s []byte) int {
	const letters = 'a' * 0x0101010101010101
	n := uint(len(s))
	if uint(len(to)) < n+16 {
		return 0
	}
	to[0] = '"'
	last, found := uint64(letters), uint64(0)
	switch {
	case n >= 8:
		last = binary.LittleEndian.Uint64(s[n-8:])
		for at := to[1:]; len(s) > 8 && len(at) > 8; s, at = s[8:], at[8:] {
			v := binary.LittleEndian.Uint64(s)
			found |= nettext.Special(v)
			binary.LittleEndian.PutUint64(at, v)
		}
		binary.LittleEndian.PutUint64(to[n-7:], last)
	case n >= 4:
		last = letters<<(8*n&63) | uint64(binary.LittleEndian.Uint32(s)) | uint64(binary.LittleEndian.Uint32(s[n-4:]))<<((8*n-32)&63)
		binary.LittleEndian.PutUint64(to[1:], last)
	case n > 0:
		last = letters<<(8*n&63) | uint64(s[0]) | uint64(s[n/2])<<(n/2*8&63) | uint64(s[n-1])<<((8*n-8)&63)
		binary.LittleEndian.PutUint64(to[1:], last)
	}
	to[n+1] = '"'
	if (found|nettext.Special(last))&nettext.HighBits != 0 {
		return 0
	}
	return int(n) + 2
}

// appendShort appends s, which is short and has memory after its end.
func appendShort(dst, s []byte) []byte {
	const most = 16
	if n := len(dst); len(s) <= most && cap(s) >= most && cap(dst)-n >= most {
		*(*[most]byte)(dst[n : n+most]) = *(*[most]byte)(s[:most])
		return dst[:n+len(s)]
	}
	return append(dst, s...)
}

// appendString appends text, which must be UTF-8, as a JSON string with its
// quotes. What a terminal would obey is escaped although JSON allows it.
func appendString(dst, s []byte) []byte {
	if n := putPlain(dst[len(dst):cap(dst)], s); n > 0 {
		return dst[:len(dst)+n]
	}
	dst, _ = appendEscaped(dst, s)
	return dst
}

// kinds says of a byte what it is in text that is escaped: one that stands for itself; one that a backslash precedes; the first of
// the two bytes of a letter of Latin or Cyrillic, of which none needs an escape; or another one.
var kinds = func() (of [256]kind) {
	for c := range of {
		switch {
		case c == '"' || c == '\\':
			of[c] = quoted
		case c >= ' ' && c < 0x7f:
			of[c] = plain
		case c >= 0xc3 && c <= 0xd3 && c != 0xcd && c != 0xce: // after 0xcd and 0xce, some are not assigned
			of[c] = letter
		}
	}
	return of
}()

type kind uint8

const (
	other kind = iota
	plain
	quoted
	letter
)

// appendEscaped is the same for text with anything in it. It reports whether that is UTF-8.
func appendEscaped(dst, s []byte) (out []byte, valid bool) {
	const word = 8
	valid = true
	dst = append(slices.Grow(dst, 1+len(s)+word), '"')
	b, at := dst[:cap(dst)], len(dst)
	for i := 0; i < len(s); {
		// b has room for all that is left of s, and a word.
		if left := len(s) - i; len(s) >= word {
			v := uint64(0)
			if left >= word {
				v = binary.LittleEndian.Uint64(s[i : i+word])
			} else { // the end of the last word, and NULs
				v = binary.LittleEndian.Uint64(s[len(s)-word:]) >> (8 * uint(word-left) & 63)
			}
			binary.LittleEndian.PutUint64(b[at:at+word], v)
			n := bits.TrailingZeros64(nettext.Escaped(v)&nettext.HighBits) / 8
			i, at = i+n, at+n
			if n == word || n == left {
				continue
			}
		}
		c := s[i]
		switch kinds[c] {
		case plain:
			b[at] = c
			i, at = i+1, at+1
			continue
		case quoted:
			b[at], b[at+1] = '\\', c
			i, at = i+1, at+2
			if len(b)-at >= len(s)-i+word {
				continue
			}
		case letter:
			from := i
			for i+1 < len(s) && kinds[s[i]] == letter && s[i+1]&0xc0 == 0x80 {
				b[at], b[at+1] = s[i], s[i+1]
				i, at = i+2, at+2
			}
			if i > from {
				continue
			}
			fallthrough
		default:
			r, size := utf8.DecodeRune(s[i:])
			i += size
			valid = valid && (r != utf8.RuneError || size > 1)
			dst = appendRune(b[:at], r, size)
			b, at = dst[:cap(dst)], len(dst)
		}
		dst = slices.Grow(b[:at], len(s)-i+word)
		b = dst[:cap(dst)]
	}
	return append(b[:at], '"'), valid
}

// appendRune appends a character that has size bytes.
func appendRune(dst []byte, r rune, size int) []byte {
	switch {
	case r == utf8.RuneError && size == 1:
		return append(dst, `\ufffd`...)
	case r >= utf8.RuneSelf && !nettext.Unsafe(r):
		return utf8.AppendRune(dst, r)
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	case r > 0xffff:
		r -= 0x10000
		return appendU(appendU(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return appendU(dst, r)
}

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
