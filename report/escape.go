package report

import (
	"encoding/binary"
	"math/bits"
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

// The first of the two bytes of letters of Latin, Greek, Cyrillic, Armenian and Hebrew, none of which need an escape,
// and that of marks among them, of which one does.
const firstLetter, lastLetter, marks = 0xc3, 0xd7, 0xcd

// appendEscaped is the same for text with anything in it. It reports whether that is UTF-8.
func appendEscaped(dst, s []byte) (out []byte, valid bool) {
	valid = true
	dst = append(dst, '"')
	for len(s) > 0 {
		if len(s) >= 8 {
			v := binary.LittleEndian.Uint64(s)
			n := bits.TrailingZeros64(nettext.Special(v)&nettext.HighBits) / 8
			dst = binary.LittleEndian.AppendUint64(dst, v)
			dst = dst[:len(dst)-8+n]
			if s = s[n:]; n == 8 {
				continue
			}
		}
		c := s[0]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			dst, s = append(dst, c), s[1:]
			continue
		}
		if c >= firstLetter && c <= lastLetter && c != marks && len(s) > 1 && s[1]&0xc0 == 0x80 {
			dst, s = append(dst, c, s[1]), s[2:]
			continue
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
			valid = false
		case r >= utf8.RuneSelf && !nettext.Unsafe(r):
			dst = utf8.AppendRune(dst, r)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r > 0xffff:
			r -= 0x10000
			dst = appendU(dst, 0xd800+r>>10)
			dst = appendU(dst, 0xdc00+r&0x3ff)
		default:
			dst = appendU(dst, r)
		}
		s = s[size:]
	}
	return append(dst, '"'), valid
}

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
