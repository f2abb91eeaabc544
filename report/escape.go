package report

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

const hexDigits = "0123456789abcdef"

// plain reports whether all eight bytes of v can stand in a JSON string as they
// are: printable ASCII but the quote and the backslash.
func plain(v uint64) bool {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	quote := v ^ ones*'"'
	slash := v ^ ones*'\\'
	del := v ^ ones*0x7f
	// A byte below 0x20, equal to one of the three, or above 0x7f leaves
	// its high bit set.
	return ((v-ones*0x20)|(quote-ones)|(slash-ones)|(del-ones)|v)&high == 0
}

// printable reports whether text can stand in a JSON string as it is. Most does,
// and most is short: the last bytes are looked at with the ones before them
// rather than one by one.
func printable(s []byte) bool {
	const letters = 'a' * 0x0101010101
	n := len(s)
	switch {
	case n >= 8:
		if !plain(binary.LittleEndian.Uint64(s[n-8:])) {
			return false
		}
		for ; len(s) > 8; s = s[8:] {
			if !plain(binary.LittleEndian.Uint64(s)) {
				return false
			}
		}
		return true
	case n >= 4:
		return plain(uint64(binary.LittleEndian.Uint32(s)) | uint64(binary.LittleEndian.Uint32(s[n-4:]))<<32)
	case n > 0:
		return plain(uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | letters<<24)
	}
	return true
}

// appendString appends text, which must be UTF-8, as a JSON string with its
// quotes. What a terminal would obey is escaped although JSON allows it.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

func appendEscaped(dst, s []byte) []byte {
	for {
		n := 0
		for n+8 <= len(s) && plain(binary.LittleEndian.Uint64(s[n:])) {
			n += 8
		}
		for n < len(s) && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			return dst
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case !nettext.Unsafe(r):
			dst = append(dst, s[:size]...)
		case r > 0xffff:
			r -= 0x10000
			dst = appendU(dst, 0xd800+r>>10)
			dst = appendU(dst, 0xdc00+r&0x3ff)
		default:
			dst = appendU(dst, r)
		}
		s = s[size:]
	}
}

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}
