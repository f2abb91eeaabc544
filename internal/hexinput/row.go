package hexinput

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A mark is what tells an offset from bytes.
type mark uint8

const (
	bare  mark = iota // 00000010  ff ff
	x0                // 0x0010:  ffff
	colon             // 00000010: ffff
	bars              // |00000010| ff ff
)

// rowStart matches what a row begins with, which may be quoted or code: the
// offset with its mark, and a blank or the end of the line.
var rowStart = regexp.MustCompile("^[ \t]*(?:>[ \t]+)*(?:`[ \t]*)?" +
	`(?:()([0-9a-fA-F]{4,16})|()0[xX]([0-9a-fA-F]{2,16})(?::|$)|()([0-9a-fA-F]{3,16}):|()\|([0-9a-fA-F]{4,16})\|)(?:[ \t]|$)`)

// A row is one line of a dump: an offset, and bytes in columns.
type row struct {
	columns
	line   line
	from   int // how much of a log stands before it
	indent int
	mark   mark
	offset string // its digits
	stars  bool   // a line with "*" follows, which repeats it
}

// readRow reads a line that, from a column on, begins like a row. It may be the
// last one of a dump, which has an offset only.
func readRow(l line, from int) (r row, ok bool) {
	if len(l.text) <= from {
		return r, false
	}
	text := l.text[from:]
	m := rowStart.FindStringSubmatchIndex(text[:min(len(text), maxWord)])
	if m == nil {
		return r, false
	}
	if strings.IndexByte(text[:m[1]], '`') >= 0 {
		text = strings.TrimRight(text, " \t`")
	}
	r.line, r.from = l, from
	at := 2
	for ; m[at] < 0; at += 4 {
		r.mark++
	}
	r.indent, r.offset = from+m[at], text[m[at+2]:m[at+3]]
	end := from + m[at+3]
	if r.mark != bare && end < len(l.text) {
		end++
	}
	r.columns = readColumns(l.text[:from+len(text)], end)
	return r, true
}

func (r *row) zero() bool { return strings.Trim(r.offset, "0") == "" }

// at returns the offset of the row.
func (r *row) at(radix int) (uint64, bool) {
	v, err := strconv.ParseUint(r.offset, radix, 64)
	return v, err == nil
}

// isStream reports whether a row looks as in a stream that Wireshark follows.
func (r *row) isStream() bool { return r.mark == bare && len(r.offset) == 8 && !r.barred }

// like reports whether a row may be one of the same dump as another.
func (r *row) like(other *row) bool {
	return r.mark == other.mark && (len(r.offset) == len(other.offset) || r.mark == x0)
}

// radixes returns how the offset can be read, the likeliest first.
func (r *row) radixes() []int {
	switch od := r.mark == bare && len(r.offset) == 7; {
	case r.mark == x0:
		return []int{16}
	case od && r.group == 1:
		return []int{8, 16, 10} // hexdump prints words
	case od && r.group == 2:
		return []int{16, 8, 10}
	case od:
		return []int{8, 10, 16}
	}
	return []int{16, 10}
}

// end returns the offset of the byte after the row.
func (r *row) end(radix int) uint64 {
	v, _ := r.at(radix)
	return v + uint64(len(r.data))
}

// follows reports whether the offset of a row is where another one ends.
func (r *row) follows(before *row, radix int) bool {
	is, ok := r.at(radix)
	end, n := before.end(radix), uint64(len(before.data))
	return ok && n > 0 && (is == end || before.stars && is > end && (is-end)%n == 0)
}

// continues is follows in any base.
func (r *row) continues(before *row) bool {
	return slices.ContainsFunc(r.radixes(), func(radix int) bool { return r.follows(before, radix) })
}

// otherBase returns in what a dump is, if not in hex: od and hexdump -b print
// octal, od -c and hexdump -c characters, xxd -b binary.
func (r *row) otherBase() string {
	switch {
	case r.bad >= 0 && r.groups == 0 && octal.MatchString(r.line.text[r.bad:]):
		return "octal"
	case r.bad < 0 && r.group == 4 && r.denied && strings.Trim(string(r.data), "\x00\x01\x10\x11") == "":
		return "binary"
	}
	return ""
}

var octal = regexp.MustCompile(`^[0-7]{3}(?:[0-7]{3})?(?:[ \t]|$)`)

// maxRow is how many bytes one row of a dump may have: no tool prints more
// than 64 unless it is told to.
const maxRow = 256

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

// columns is what stands in a row: bytes in groups, and after them maybe the
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
	padding   int  // how many bytes there are that the text does not have
	barred    bool // the text is between bars
	bad       int  // where something stands that should be a group; -1 if nothing does
}

// readColumns reads what stands after the offset of a row. Where the bytes end
// and the text begins is not always clear, for a text may look like hex: what
// agrees with the bytes before it is the text.
func readColumns(text string, i int) columns {
	c := columns{bad: -1}
	var ends []int // where each group ends
	wide := 0      // how many of them stand before the last wide gap
	next := 0      // where that begins which is no group
	for {
		next = skipBlanks(text, i)
		if len(ends) > 0 && next < len(text) && (next-i >= 2 || next > i && text[i] == '\t' || text[next] == '|') {
			wide = len(ends)
		}
		start, end := groupAt(text, next)
		if len(ends) > 0 && next == i && next < len(text) && text[next] == '-' {
			start, end = groupAt(text, next+1)
		}
		n := (end - start) / 2
		if len(ends) == 0 {
			c.group = n
		}
		if n == 0 || n > c.group || len(c.data) < len(ends)*c.group || len(c.data) >= maxRow {
			break // only the last group may be short
		}
		if len(ends) > 0 && c.group&(c.group-1) != 0 {
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
			c.delimiters(strings.Trim(text[c.end:], " \t"))
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
	n := len(text)
	c.barred = n >= 2 && text[0] == '|' && text[n-1] == '|' && n >= len(c.data)+2
	if n >= 2 && text[0] == '>' && text[n-1] == '<' && len(c.data) > n-2 && len(c.data)-(n-2) < c.group &&
		isTextOf(text[1:n-1], swap(c.data, c.group)[:n-2]) {
		c.padding = len(c.data) - (n - 2)
	}
}

// confirm returns the orders in which data is what the rest of its row says.
func confirm(rest string, data []byte, group int) (found order) {
	rest = strings.TrimRight(rest, " \t")
	if agrees(rest, data) {
		found = asWritten
	}
	if group > 1 && agrees(rest, swap(data, group)) {
		found |= swapped
	}
	return found
}

// agrees reports whether rest is data as text: between bars, as hexdump prints
// it, between angles, as od does, or after blanks.
func agrees(rest string, data []byte) bool {
	column := strings.TrimLeft(rest, " \t")
	n, start := len(column), len(rest)-len(column)
	if n > 1 && (column[0] == '|' && column[n-1] == '|' || column[0] == '>' && column[n-1] == '<') && isTextOf(column[1:n-1], data) {
		return true
	}
	spaces := len(data) - len(bytes.TrimLeft(data, " ")) // may be the beginning of the text
	return n > 0 && start > 0 && (isTextOf(column, data) || start > spaces && isTextOf(rest[start-spaces:], data))
}

// isTextOf reports whether a column of text is that of data. Wireshark leaves a
// blank in its middle.
func isTextOf(column string, data []byte) bool {
	const middle = 8
	return isRunOf(column, data) ||
		len(data) > middle && len(column) > middle && column[middle] == ' ' && isRunOf(column[:middle]+column[middle+1:], data)
}

func isRunOf(column string, data []byte) bool {
	for i, b := range data {
		c := byte(' ') // at the end of a line they get lost
		if i < len(column) {
			c = column[i]
		}
		if !shows(c, b) {
			return false
		}
	}
	return len(column) <= len(data) || strings.TrimRight(column[len(data):], " \t") == ""
}

// shows reports whether c may stand for a byte in a column of text. What stands
// for one that is no character is up to the tool.
func shows(c, b byte) bool {
	switch {
	case b > ' ' && b <= '~':
		return c == b
	case b == ' ':
		return c == ' ' || c == '.'
	case b < 0x80:
		return c <= ' ' || c > '~' || c == '.' || c == '?'
	}
	return !isWord(c)
}
