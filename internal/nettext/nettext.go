// Package nettext escapes text from the network for terminals, and finds numbers and
// secrets in it.
package nettext

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// TreeMark begins a packet comment that holds the tree of a message: -w with
// --annotate=tree writes them, for the script of qdissect lua.
const TreeMark = "qdissect tree 1\n"

// AppendSafe appends s with everything escaped that a terminal would interpret:
// control characters, characters that reorder or hide text, and bytes that are not
// UTF-8.
func AppendSafe(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n <= 1 {
			dst = append(dst, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		} else {
			dst = AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// AppendRune appends a character, escaped as by [AppendSafe].
func AppendRune(dst []byte, r rune) []byte {
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

// Unsafe reports whether a character must not reach a terminal: controls, line separators, format characters, what
// Unicode lets fonts ignore, what is blank but not a space, private use, and what is not assigned. Those hide or reorder text,
// or look different on each terminal.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	case r >= 0x400 && r < 0x530, r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4, r >= 0x1f300 && r < 0x1f650:
		return false // the most frequent blocks, for speed
	}
	const brailleBlank = 0x2800
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == brailleBlank
}

// MaxSummary is the number of bytes of a summary that are shown, MaxFinding that of
// the text of a finding in a line. Longer ones have forged names; the fields have
// them in full.
const (
	MaxSummary = 1000
	MaxFinding = 300
)

// Shorten cuts b after most bytes from offset from on, and appends an ellipsis if it
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

// AppendDuration appends a duration in a suitable unit: 87 µs, 14.2 ms, 3.50 s.
func AppendDuration(dst []byte, d time.Duration) []byte {
	if d < 0 {
		dst = append(dst, '-')
		d = -d
	}
	switch {
	case d < time.Millisecond:
		dst = AppendUint(dst, uint64((d+time.Microsecond/2)/time.Microsecond))
		return append(dst, " µs"...)
	case d < time.Second-time.Millisecond && d%1e5 != 5e4: // without a tie, which the float decides
		tenths := uint64((d + 5e4) / 1e5)
		dst = AppendUint(dst, tenths/10)
		return append(dst, '.', byte('0'+tenths%10), ' ', 'm', 's')
	case d < time.Second:
		dst = strconv.AppendFloat(dst, float64(d)/1e6, 'f', 1, 64)
		return append(dst, " ms"...)
	}
	dst = strconv.AppendFloat(dst, d.Seconds(), 'f', 2, 64)
	return append(dst, " s"...)
}

// AppendUint appends a number in decimal. It is quicker than strconv where most numbers have few
// digits, and appends longer ones four digits at a time.
func AppendUint(dst []byte, v uint64) []byte {
	n := uint32(v)
	if at := len(dst); v <= math.MaxUint8 && cap(dst)-at >= ByteRoom {
		return dst[:at+PutByte(dst[at:at+ByteRoom], uint8(v))]
	}
	switch {
	case v < 10:
		return append(dst, '0'+byte(n))
	case v < 100:
		return append(dst, '0'+byte(n/10), '0'+byte(n%10))
	case v < 1000:
		return append(dst, '0'+byte(n/100), '0'+byte(n/10%10), '0'+byte(n%10))
	case v < 1e4:
		return AppendDigits(dst, n)
	case v < 1e5:
		return AppendDigits(append(dst, '0'+byte(n/1e4)), n%1e4)
	}
	return AppendDigits(AppendUint(dst, v/1e4), uint32(v%1e4))
}

// AppendDigits appends a number below 10,000 with four digits.
func AppendDigits(dst []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(pairs[n/100])|uint32(pairs[n%100])<<16)
}

// pairs holds the two digits of the numbers below 100, the first in the low byte.
var pairs = func() (text [100]uint16) {
	for n := range uint16(100) {
		text[n] = '0' + n/10 | ('0'+n%10)<<8
	}
	return text
}()

// AppendInt appends a number in decimal.
func AppendInt(dst []byte, v int64) []byte {
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	return AppendUint(dst, uint64(v))
}

// ParseInt parses a decimal number as servers write them: surrounded by spaces, with
// a sign, with a fraction, which is dropped. It does not allocate.
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

func digit(b byte) bool { return b >= '0' && b <= '9' }
