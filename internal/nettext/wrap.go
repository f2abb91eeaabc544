package nettext

import (
	"bytes"
	"unicode/utf8"
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
