package nettext

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// Next returns the bytes and the columns of the next character on a terminal, or of a change of colour.
func Next(s []byte) (n, columns int) {
	switch {
	case s[0] == 0x1b:
		return max(1, bytes.IndexByte(s, 'm')+1), 0
	case s[0] < utf8.RuneSelf:
		return 1, 1
	}
	r, n := utf8.DecodeRune(s)
	return n, Width(r)
}

// AppendWrapped appends a line, broken where it is longer than width columns: at a space if
// there is one in the second half. What follows is indented, by so much that it has room.
// The line must not be in b.
func AppendWrapped(b, line []byte, width, indent int) []byte {
	const least = 20
	indent = max(0, min(indent, width-least))
	for room := width; ; room = width - indent {
		at, columns, space := 0, 0, 0
		for at < len(line) {
			n, w := Next(line[at:])
			if columns+w > room && columns > 0 {
				break
			}
			if line[at] == ' ' && columns > max(room/2, indent) {
				space = at
			}
			columns += w
			at += n
		}
		switch {
		case at == len(line):
			return append(b, line...)
		case line[at] == ' ' || space == 0:
		default:
			at = space
		}
		b = append(bytes.TrimRight(append(b, line[:at]...), " "), '\n')
		for range indent {
			b = append(b, ' ')
		}
		line = bytes.TrimLeft(line[at:], " ")
	}
}

// Width returns the number of columns that a character takes on a terminal: 2 for wide
// ones of East Asian scripts and emoji, 0 for those that combine with the one before.
func Width(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}

// wide are the blocks of wide characters (Unicode Standard Annex 11) and of emoji.
var wide = [...][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x26aa, 0x26ab}, {0x26bd, 0x26be},
	{0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6},
	{0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f64f}, {0x1f680, 0x1f6ff},
	{0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}

// Plural returns the form of a word that a number needs.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns a number and a noun: "1 server", "2 servers".
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Plural(n, noun, noun+"s") }

// View returns b as a string without a copy, for as long as b does not change.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
