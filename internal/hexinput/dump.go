package hexinput

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// dump reads the dump that begins in a line, and those that follow it.
func (p *parser) dump(l line) bool {
	r, ok := p.firstRow(l)
	if !ok {
		return p.err != nil
	}
	p.endBlock()
	for ok && p.err == nil {
		var rows []row
		rows, r, ok = p.rows(r)
		broken := !ok && r.groups+r.bad > 0
		for len(rows) > 0 {
			rows = p.takeDump(rows, broken)
		}
		if broken {
			p.badGroup(&r)
		}
	}
	return true
}

// firstRow reads a line as the first row of a dump. The offset of that is 0. If it
// is not, or looks like words of hex, something else must confirm it: the text after
// the bytes, the next row, or the rows before.
func (p *parser) firstRow(l line) (r row, ok bool) {
	if r, ok = readRow(l); !ok {
		return r, false
	}
	switch {
	case r.ofWords():
		p.fail(l.start+max(r.bad, r.indent), true, "this dump is of od or of hexdump without -C, whose offsets and words need not be bytes in hex: dump it with hexdump -C or xxd")
		return r, false
	case r.bad >= 0:
		if (r.zero() || r.mark == 'x') && (r.groups >= 2 || hasBytes(l.text[r.bad:])) {
			p.badGroup(&r)
		}
		return r, false
	case r.groups == 0:
		return r, false
	case r.confirmed, r.zero() && (r.mark != 0 || r.group == 1 || len(r.offset) == 6), p.isExpected(&r):
		return r, true
	}
	l, _ = p.after(l)
	next, ok := readRow(l)
	return r, ok && next.like(&r) && len(next.offset) == len(r.offset) && !next.zero() && next.continues(&r)
}

// isExpected reports whether a dump above with the same indentation continues
// with a row: in a followed stream, the offsets of each direction count on from
// datagram to datagram.
func (p *parser) isExpected(r *row) bool {
	next, known := p.streams[r.indent]
	is, ok := r.value()
	return known && ok && next == is
}

// badGroup is the error for what stands in a row instead of bytes.
func (p *parser) badGroup(r *row) {
	at, problem := p.wrongDigit(r.line.start+r.bad, r.line.end())
	p.fail(at, true, problem)
}

// rows returns a row and those that follow it, with ascending offsets. What ends
// them is returned alone: a row that begins another dump, or a broken one.
func (p *parser) rows(first row) (rows []row, next row, begins bool) {
	rows = []row{first}
	p.last = first.line
	for {
		last := &rows[len(rows)-1]
		l, blankLines, ok := p.afterBlanks(p.last)
		if ok && blankLines == 0 && strings.Trim(l.text, " \t>") == "*" {
			last.stars = true
			p.last = l
			continue
		}
		r, ok := readRow(l)
		if !ok || !r.like(last) || r.groups == 0 && r.zero() || blankLines > 0 && !r.continues(last) {
			return rows, row{}, false
		}
		if r.bad >= 0 {
			if r.groups == 0 && !hasBytes(l.text[r.bad:]) {
				r = row{} // prose that begins with a number
			}
			return rows, r, false
		}
		is, _ := r.value()
		was, _ := last.value()
		if r.groups > 0 && (is <= was || r.indent != last.indent && p.isExpected(&r) || len(rows) == MaxDatagram) {
			return rows, r, true
		}
		p.last = l
		if rows = append(rows, r); r.groups == 0 {
			return rows, row{}, false // the last offset
		}
	}
}

// takeDump takes the first datagram that rows make up, and returns the rows after it:
// another one begins where the offset goes back, or continues after a row that
// was not full, as in a stream that Wireshark follows. If a broken row follows the
// rows, the last datagram is not taken.
func (p *parser) takeDump(rows []row, broken bool) (rest []row) {
	first := &rows[0]
	d := Datagram{at: first.line.start}
	end, _ := first.value() // where the next row should begin
	if end != 0 && !p.isExpected(first) {
		d.note("the dump begins at offset 0x%x", end)
	}
	add := func(data []byte, times uint64) {
		if times > MaxDatagram || len(d.Data)+int(times)*len(data) > MaxDatagram {
			p.tooLong(d.at)
			return
		}
		d.Data = append(d.Data, bytes.Repeat(data, int(times))...)
		end += times * uint64(len(data))
	}
	jumped, denied := false, false
	last := first
	for i := range rows {
		r := &rows[i]
		is, _ := r.value()
		full := len(last.data) >= len(first.data) && (!r.isStream() || len(last.data)%8 == 0)
		if i > 0 && r.groups > 0 && (is < end || is == end && !full && !last.stars) {
			rest = rows[i:]
			break
		}
		if last.stars && is > end {
			add(last.data, (is-end)/uint64(len(last.data)))
		}
		switch {
		case is == end:
		case r.groups > 0 && !jumped:
			d.note("offset jumps from 0x%x to 0x%x: bytes are missing", end, is)
			jumped = true
		case r.groups == 0:
			d.note("the last offset is 0x%x, the bytes end at 0x%x", is, end)
		}
		if r.denied && !denied {
			d.note("the column of text does not agree with the bytes at offset 0x%x", is)
			denied = true
		}
		if r.groups > 0 {
			end = is
			add(r.data, 1)
		}
		last = r
	}
	if broken && rest == nil {
		return nil
	}
	if last.stars {
		d.note("how often the last row is repeated is not said")
	}
	const most = 8 // indentations; two directions are usual
	if len(p.streams) == most {
		clear(p.streams)
	}
	p.streams[first.indent] = end
	d.packet = first.mark == 'x' && first.group == 2 // tcpdump
	p.take(d, true)
	return rest
}

// rowStart matches what a row begins with, which may be quoted or code: the
// offset with its mark, and a blank or the end of the line.
var rowStart = lazyregexp.New("^[ \t]*(?:>[ \t]+)*(?:`[ \t]*)?" +
	`([0-9a-fA-F]{4,16}|0[xX][0-9a-fA-F]{2,16}(?::|$)|[0-9a-fA-F]{3,16}:)(?:[ \t]|$)`)

// A row is one line of a dump: an offset, and bytes in columns.
type row struct {
	columns
	line   line
	indent int
	mark   byte   // what tells the offset from bytes: x before it, : after it, or 0
	offset string // its digits
	stars  bool   // a line with "*" follows, which repeats it
}

// readRow reads a line that begins like a row. The last row of a dump may have an
// offset only.
func readRow(l line) (r row, ok bool) {
	const longest = 256
	text := l.text
	m := rowStart().FindStringSubmatchIndex(text[:min(len(text), longest)])
	if m == nil {
		return r, false
	}
	if strings.IndexByte(text[:m[1]], '`') >= 0 {
		text = strings.TrimRight(text, blanks+"`")
	}
	start := text[m[2]:m[3]]
	r = row{line: l, indent: m[2], columns: readColumns(text, m[3])}
	if i := strings.IndexAny(start, "xX:"); i >= 0 {
		r.mark = start[i] | 0x20
	}
	r.offset = strings.Trim(start[strings.IndexAny(start, "xX")+1:], ":")
	return r, true
}

func (r *row) zero() bool { return strings.Trim(r.offset, "0") == "" }

// value returns the offset of the row.
func (r *row) value() (uint64, bool) {
	v, err := strconv.ParseUint(r.offset, 16, 64)
	return v, err == nil
}

// isStream reports whether a row looks like one of a followed stream in
// Wireshark.
func (r *row) isStream() bool { return r.mark == 0 && len(r.offset) == 8 && !r.barred }

// like reports whether a row may belong to the same dump as another.
func (r *row) like(other *row) bool {
	return r.mark == other.mark && (len(r.offset) == len(other.offset) || r.mark == 'x')
}

// continues reports whether the offset of a row is where another row ends, or may be because
// that one is repeated.
func (r *row) continues(last *row) bool {
	is, ok := r.value()
	was, ok2 := last.value()
	n := uint64(len(last.data))
	end := was + n
	return ok && ok2 && n > 0 && (is == end || last.stars && is > end && (is-end)%n == 0)
}

// ofWords reports whether a dump is one of od or of hexdump without -C, whose offsets and words need not be bytes in hex.
func (r *row) ofWords() bool {
	return r.mark == 0 && len(r.offset) == 7 && r.zero() && (r.groups > 0 || r.bad >= 0)
}

// maxRow is how many bytes one row of a dump may have: no tool prints more
// than 64 by default. maxGroup is how many digits a group may have.
const (
	maxRow   = 256
	maxGroup = 16
)

// groupAt returns where the digits of the group of a dump at i begin and end.
// Both are the same if there is none. A group is an even number of digits, maybe
// after 0x.
func groupAt(text string, i int) (start, end int) {
	start = i
	if strings.HasPrefix(text[i:], "0x") || strings.HasPrefix(text[i:], "0X") {
		start += 2
	}
	end = hexEnd(text, start)
	n := end - start
	if n%2 != 0 || n > maxGroup || end < len(text) && strings.IndexByte(" \t|-", text[end]) < 0 {
		return i, i
	}
	return start, end
}

// hasBytes reports whether a text that should not be bytes looks like them.
func hasBytes(text string) bool {
	text, _, _ = strings.Cut(text, "|")
	words := strings.Fields(text[:min(len(text), 4*maxRow)])
	groups := 0
	for _, w := range words {
		if start, end := groupAt(w, 0); end > start {
			groups++
		}
	}
	return groups >= 2 && groups*2 >= len(words)
}

// columns is what stands in a row: bytes in groups, and after them maybe the
// same bytes as text.
type columns struct {
	data      []byte // in the order in which they are written
	group     int    // bytes in a group
	groups    int
	end       int  // where the last group ends
	confirmed bool // the text agrees with the bytes
	denied    bool // there is a text that agrees with neither
	barred    bool // the text is between bars
	bad       int  // where something stands that should be a group; -1 if nothing does
}

// readColumns reads what stands after the offset of a row. Where the bytes end
// and the text begins is not always clear, because a text may look like hex:
// what agrees with the bytes before it is the text.
func readColumns(text string, i int) columns {
	c := columns{bad: -1}
	var ends []int // where each group ends
	wide := 0      // how many of them stand before the last wide gap
	next := 0      // where the first thing stands that is not a group
	for {
		next = skipBlanks(text, i)
		if len(ends) > 0 && next < len(text) && (next-i >= 2 || next > i && text[i] == '\t' || text[next] == '|') {
			wide = len(ends)
		}
		from := next
		if len(ends) > 0 && next == i && strings.HasPrefix(text[next:], "-") {
			from++
		}
		start, end := groupAt(text, from)
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
		if c.confirm(text[ends[c.groups-1]:], data); c.confirmed {
			c.data, c.end = data, ends[c.groups-1]
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

// confirm finds out whether the rest of the row is data as text: between bars, as hexdump
// prints it, or after blanks.
func (c *columns) confirm(rest string, data []byte) {
	rest = strings.TrimRight(rest, blanks)
	column := strings.TrimLeft(rest, blanks)
	if column == "" {
		return
	}
	n := len(column) - 2
	inner := ""
	if n >= 0 && column[0] == '|' && column[n+1] == '|' {
		inner = column[1 : n+1]
	}
	indent := len(rest) - len(column)
	agrees := func(data []byte) bool {
		spaces := len(data) - len(bytes.TrimLeft(data, " ")) // may be the beginning of the text
		return inner != "" && isTextOf(inner, data) || indent > 0 && isTextOf(column, data) ||
			indent > spaces && isTextOf(rest[indent-spaces:], data)
	}
	c.confirmed = agrees(data)
	c.barred = c.confirmed && inner != "" && n >= len(data)
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
	return len(column) <= len(data) || strings.TrimRight(column[len(data):], blanks) == ""
}

// shows reports whether c may stand for a byte in a column of text. Each tool has
// its own character for bytes that are not printable.
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
