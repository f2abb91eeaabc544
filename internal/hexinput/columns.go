package hexinput

import "strings"

// maxRow is how many bytes one row of a dump may have: no tool prints more
// than 64 unless it is told to.
const maxRow = 256

// maxGroup is how many digits a group may have: od -t x8 is the widest.
const maxGroup = 16

// An order is a set of ways to read the groups of a row.
type order uint8

const (
	asWritten order = 1 << iota
	swapped         // the last byte of a group comes first: words of a little-endian machine
)

// swap returns the bytes of words in the order they have in memory.
func swap(data []byte, group int) []byte {
	s := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += group {
		for j := min(i+group, len(data)) - 1; j >= i; j-- {
			s = append(s, data[j])
		}
	}
	return s
}

// columns is what stands in a row: bytes in groups, and behind them maybe the
// same bytes as text.
type columns struct {
	data   []byte // in the order in which they are written
	group  int    // bytes in a group
	groups int
	end    int // where the last group ends
	// confirmed says with which orders the text agrees; denied is set if there
	// is a text that agrees with none.
	confirmed order
	denied    bool
	// padding is how many bytes there are that the text does not have.
	padding int
	barred  bool // the text is between bars
	// bad is where something stands that should be a group, -1 if nothing
	// does.
	bad int
}

// readColumns reads what stands behind the offset of a row. Where the bytes end
// and the text begins is not always clear, for a text may look like hex: what
// agrees with the bytes before it is the text.
func readColumns(text string, i int) columns {
	c := columns{bad: -1}
	var ends []int // where each group ends
	wide := 0      // how many of them stand before the last wide gap
	next := 0      // where that begins which is no group
	for {
		next = skipBlanks(text, i)
		if len(ends) > 0 && isGap(text, i, next) {
			wide = len(ends)
		}
		start, end := groupAt(text, next, len(ends) > 0 && next == i)
		n := (end - start) / 2
		if n == 0 || len(c.data) >= maxRow {
			break
		}
		if len(ends) == 0 {
			c.group = n
		} else if n > c.group || len(c.data) < len(ends)*c.group {
			break // only the last group may be short
		} else if c.group&(c.group-1) != 0 {
			return columns{bad: ends[0] - 2*c.group} // no word has so many bytes
		}
		c.data = appendHex(c.data, text[start:end])
		ends = append(ends, end)
		i = end
	}
	for c.groups = len(ends); c.groups > 0; c.groups-- {
		data := c.data[:min(c.groups*c.group, len(c.data))]
		if c.confirmed = confirm(text[ends[c.groups-1]:], data, c.group); c.confirmed != 0 {
			c.data, c.end = data, ends[c.groups-1]
			c.delimiters(text)
			return c
		}
	}
	c.groups = len(ends)
	switch {
	case next == len(text):
	case wide == 0 || hasBytes(text[ends[wide-1]:]):
		c.bad = next
	default:
		c.data, c.groups, c.denied = c.data[:min(wide*c.group, len(c.data))], wide, true
	}
	return c
}

// delimiters sees what is around the text. Angles are those of od, which fills
// up the last word, but not the text.
func (c *columns) delimiters(text string) {
	text = strings.Trim(text[c.end:], " \t")
	n := len(text)
	if n < 2 {
		return
	}
	first, last := text[0], text[n-1]
	c.barred = first == '|' && last == '|' && n >= len(c.data)+2
	if padding := len(c.data) - (n - 2); first == '>' && last == '<' && padding > 0 && padding < c.group &&
		isRunOf(text[1:n-1], swap(c.data, c.group)[:n-2]) {
		c.padding = padding
	}
}

// groupAt returns where the digits of the group at i begin and end. Both are
// the same if there is none. A group is hex digits, maybe behind 0x. glued says
// that no blank separates it from the group before: then a hyphen must.
func groupAt(text string, i int, glued bool) (start, end int) {
	if glued {
		if i == len(text) || text[i] != '-' {
			return i, i
		}
		i++
	}
	start = i
	if hasPrefix0x(text, i) {
		start += 2
	}
	end = hexEnd(text, start)
	if n := end - start; n%2 != 0 || n > maxGroup {
		return i, i
	}
	if end < len(text) && !isBlank(text[end]) && text[end] != '|' && text[end] != '-' {
		return i, i
	}
	return start, end
}

func hasPrefix0x(text string, i int) bool {
	return i+1 < len(text) && text[i] == '0' && text[i+1]|0x20 == 'x'
}

// isGap reports whether what is between i and j, where the next thing begins,
// can separate bytes from text.
func isGap(text string, i, j int) bool {
	return j < len(text) && (j-i >= 2 || j > i && text[i] == '\t' || text[j] == '|')
}

// hasBytes reports whether a text that should be none looks like bytes.
func hasBytes(text string) bool {
	text, _, _ = strings.Cut(text, "|")
	groups, words := 0, 0
	for i := skipBlanks(text, 0); i < len(text) && words < maxRow; i = skipBlanks(text, i) {
		start, end := groupAt(text, i, false)
		if words++; end > start {
			groups++
		}
		for i < len(text) && !isBlank(text[i]) {
			i++
		}
	}
	return groups >= 2 && groups*2 >= words
}

// confirm returns the orders in which data is what the rest of its row says.
func confirm(rest string, data []byte, group int) order {
	rest = strings.TrimRight(rest, " \t")
	var found order
	if agrees(rest, data) {
		found |= asWritten
	}
	if group > 1 && agrees(rest, swap(data, group)) {
		found |= swapped
	}
	return found
}

// agrees reports whether rest is data as text: between bars, as hexdump prints
// it, between angles, as od does, or behind blanks.
func agrees(rest string, data []byte) bool {
	start := skipBlanks(rest, 0)
	if start == len(rest) {
		return false
	}
	if column := rest[start:]; len(column) >= 2 {
		switch first, last := column[0], column[len(column)-1]; {
		case first == '|' && last == '|', first == '>' && last == '<':
			if isTextOf(column[1:len(column)-1], data) {
				return true
			}
		}
	}
	if start == 0 {
		return false
	}
	// Blanks may be the beginning of the text.
	spaces := 0
	for spaces < len(data) && data[spaces] == ' ' {
		spaces++
	}
	return isTextOf(rest[start:], data) || start > spaces && isTextOf(rest[start-spaces:], data)
}

// isTextOf reports whether a column of text is that of data. Wireshark leaves a
// blank in its middle.
func isTextOf(column string, data []byte) bool {
	const middle = 8
	if isRunOf(column, data) {
		return true
	}
	return len(data) > middle && len(column) > middle && column[middle] == ' ' &&
		isRunOf(column[:middle], data[:middle]) && isRunOf(column[middle+1:], data[middle:])
}

func isRunOf(column string, data []byte) bool {
	for i, b := range data {
		c := byte(' ') // at the end of a line they get lost
		if i < len(column) {
			c = column[i]
		}
		switch {
		case b > ' ' && b <= '~':
			if c != b {
				return false
			}
		case b == ' ':
			if c != ' ' && c != '.' {
				return false
			}
		case b < 0x80:
			// What stands for it is up to the tool.
			if c > ' ' && c <= '~' && c != '.' && c != '?' {
				return false
			}
		case isWord(c):
			return false
		}
	}
	return len(column) <= len(data) || strings.TrimRight(column[len(data):], " \t") == ""
}
