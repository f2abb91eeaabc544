package hexinput

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// rowStart matches what a row of a dump begins with, which may be quoted or code: its offset, with a mark or without.
var rowStart = lazyregexp.New("^[ \t>`]*(0[xX][0-9a-fA-F]{2,16}:|[0-9a-fA-F]{4,16}:?)(?:[ \t]|$)")

// A row is one line of a dump: an offset, bytes in groups, and maybe the same bytes as text.
type row struct {
	line   line
	indent int
	mark   string // what tells the offset from bytes: "0x", ":", or "" if nothing does
	digits int    // of the offset
	offset uint64
	data   []byte
	group  int  // bytes in a group
	stop   int  // where the last one ends
	proved bool // the text agrees with the bytes
	denied bool // there is a text that does not
	bad    int  // where something stands that should be bytes; -1 if nothing does
}

// readRow reads a line that begins like a row.
func readRow(l line) (r row, ok bool) {
	m := rowStart().FindStringSubmatchIndex(l.text[:min(len(l.text), 256)])
	if m == nil {
		return r, false
	}
	start := l.text[m[2]:m[3]]
	r = row{line: l, indent: m[2]}
	switch {
	case strings.HasPrefix(strings.ToLower(start), "0x"):
		r.mark, start = "0x", start[2:]
	case strings.HasSuffix(start, ":"):
		r.mark = ":"
	}
	start = strings.TrimSuffix(start, ":")
	var err error
	r.offset, err = strconv.ParseUint(start, 16, 64)
	r.digits = len(start)
	text := strings.TrimRight(l.text, blanks)
	if strings.Contains(text[:m[2]], "`") {
		text = strings.TrimRight(text, blanks+"`")
	}
	r.read(text, m[3])
	return r, err == nil
}

// maxRow is how many groups one row of a dump may have: no tool prints more than 64 by default.
const maxRow = 256

// read reads the bytes from i on. Where they end and the text begins is not always clear, because text may look like hex:
// what agrees with the bytes before it is the text.
func (r *row) read(text string, i int) {
	r.bad, r.stop = -1, i
	if i >= len(text) {
		return
	}
	var ends []int // where each group ends
	for len(ends) < maxRow {
		start := skipBlanks(text, i)
		if len(ends) > 0 && start == i && strings.HasPrefix(text[i:], "-") { // in the middle of a row
			start++
		}
		end := hexEnd(text, start)
		n := (end - start) / 2
		whole := n > 0 && (end-start)%2 == 0 && (end == len(text) || strings.IndexByte(" \t|-", text[end]) >= 0)
		if !whole || len(ends) > 0 && (n > r.group || len(r.data) < len(ends)*r.group) { // only the last group may be short
			break
		}
		if len(ends) == 0 {
			r.group = n
		}
		r.data = appendHex(r.data, text[start:end])
		ends, i = append(ends, end), end
		r.stop = end
	}
	for n := len(ends); n > 0; n-- {
		if data := r.data[:min(n*r.group, len(r.data))]; isTextOf(text[ends[n-1]:], data) {
			r.data, r.stop, r.proved = data, ends[n-1], true
			return
		}
	}
	rest := text[i:]
	words := strings.Fields(rest)
	gap := len(rest) - len(strings.TrimLeft(rest, blanks))
	bytesAgain := len(words) > 1 && len(words[0]) == 2*r.group && len(words[1]) == 2*r.group
	if r.denied = len(words) > 0; r.denied && (gap < 2 && rest[0] != '\t' && rest[gap] != '|' || bytesAgain) {
		r.bad = i + gap
	}
}

// isTextOf reports whether the rest of a row is data as text: between bars, as hexdump prints it, or after blanks. Wireshark
// leaves a blank in its middle.
func isTextOf(rest string, data []byte) bool {
	column := strings.TrimLeft(rest, blanks)
	if column == "" || len(rest)-len(column) < 2 && column[0] != '|' && rest[0] != '\t' {
		return false
	}
	if column[0] == '|' && isRunOf(strings.TrimSuffix(strings.TrimRight(column[1:], blanks), "|"), data) {
		return true
	}
	spaces := len(data) - len(bytes.TrimLeft(data, " ")) // may be the beginning of the text
	const middle = 8
	return slices.ContainsFunc([]string{column, rest[max(0, len(rest)-len(column)-spaces):]}, func(c string) bool {
		return isRunOf(c, data) || len(data) > middle && len(c) > middle && c[middle] == ' ' && isRunOf(c[:middle]+c[middle+1:], data)
	})
}

// isRunOf reports whether text shows data. Each tool has its own character for bytes that are not printable.
func isRunOf(text string, data []byte) bool {
	shown := []rune(strings.TrimRight(text, blanks))
	if len(shown) > len(data) {
		return false
	}
	for i, b := range data {
		c := ' ' // at the end of a line they get lost
		if i < len(shown) {
			c = shown[i]
		}
		switch {
		case b > ' ' && b <= '~':
			if c != rune(b) {
				return false
			}
		case b == ' ' && c != ' ' && c != '.', b < 0x80 && c > ' ' && c <= '~' && c != '.' && c != '?', isWord(byte(min(c, 0x80))):
			return false
		}
	}
	return true
}

// follows reports whether a row belongs to the same dump as another.
func (r *row) follows(last *row) bool { return r.mark == last.mark && r.digits == last.digits }

// end returns the offset behind a row.
func (r *row) end() uint64 { return r.offset + uint64(len(r.data)) }

// begins reports whether a row is the first one of a dump, or continues a stream. If its offset is not 0, or the row looks like
// words of hex, something else must confirm it: the text beside the bytes, the next row, or the rows before.
func (p *parser) begins(r *row) bool {
	zero := r.offset == 0
	switch {
	case zero && r.mark == "" && r.digits == 7 && (len(r.data) > 0 || r.bad >= 0):
		p.fail(r.line.start+r.indent, true, "this dump is of od or of hexdump without -C, whose offsets and words need not be bytes in hex: dump it with hexdump -C or xxd")
	case r.bad >= 0:
		if (zero || r.mark == "0x") && (len(r.data) > r.group || r.mark != "" && len(r.data) > 0) {
			p.badRow(r)
		}
	case len(r.data) == 0:
	case r.proved, zero && (r.mark != "" || r.group == 1), p.expects(r):
		return true
	default:
		next, ok := readRow(p.line())
		return ok && next.follows(r) && next.offset == r.end()
	}
	return false
}

// expects reports whether a dump above with the same indentation continues with a row: in a stream that Wireshark follows, the
// offsets of each direction count on from datagram to datagram.
func (p *parser) expects(r *row) bool {
	next, known := p.streams[r.indent]
	return known && r.offset == next
}

// badRow is the error for what stands in a row instead of bytes.
func (p *parser) badRow(r *row) {
	at, problem := p.wrongDigit(r.line.start+r.bad, r.line.start+len(r.line.text))
	p.fail(at, true, problem)
}

// dump reads the dump that begins in a line. Another one begins where the offset goes back, or continues after a row that was not
// full, as in a stream.
func (p *parser) dump(l line) bool {
	r, ok := readRow(l)
	if !ok || !p.begins(&r) {
		return p.err != nil
	}
	p.endBlock()
	first, end := r, r.offset
	d := Datagram{at: l.start, packet: r.mark == "0x" && r.group == 2} // tcpdump
	if end != 0 && !p.expects(&r) {
		d.note("the dump begins at offset 0x%x", end)
	}
	for denied := false; ok; {
		if r.offset > end {
			d.note("offset jumps from 0x%x to 0x%x: bytes are missing", end, r.offset)
		}
		if r.denied && !denied {
			d.note("the column of text does not agree with the bytes at offset 0x%x", r.offset)
		}
		denied = denied || r.denied
		d.Data = append(d.Data, r.data...)
		end = r.end()
		if len(d.Data) > MaxDatagram {
			break
		}
		r, end, ok = p.nextRow(&d, first, r, end)
	}
	if p.err == nil {
		const most = 8 // indentations; two directions are usual
		if len(p.streams) == most {
			clear(p.streams)
		}
		p.streams[first.indent] = end
		p.take(d, true)
	}
	return true
}

// nextRow returns the row that continues a dump after its last one, if there is one. It adds the bytes of rows that are
// only marked as repeated, and skips a last line with an offset only.
func (p *parser) nextRow(d *Datagram, first, last row, end uint64) (r row, offset uint64, ok bool) {
	star, blank := false, 0
	at := p.at
	for ; at < len(p.s); at = p.after(at) {
		switch l := p.lineAt(at); {
		case l.blank():
			blank++
			continue
		case strings.Trim(l.text, " \t>") == "*":
			star, p.at = true, p.after(at)
			continue
		default:
			r, ok = readRow(l)
		}
		break
	}
	if !ok || !r.follows(&first) {
		return r, end, false
	}
	if r.bad >= 0 && len(r.data) > 0 {
		p.badRow(&r)
		return r, end, false
	}
	if star && r.offset > end {
		times := (r.offset - end) / uint64(len(last.data))
		if times > MaxDatagram || len(d.Data)+int(times)*len(last.data) > MaxDatagram {
			p.tooLong(d.at)
			return r, end, false
		}
		d.Data = append(d.Data, bytes.Repeat(last.data, int(times))...)
		end += times * uint64(len(last.data))
	}
	full := len(last.data)%8 == 0 || r.mark != "" && len(last.data) == len(first.data)
	switch {
	case r.bad >= 0, r.offset < end, blank > 0 && r.offset != end:
		return r, end, false
	case len(r.data) == 0: // the last offset
		if p.at = p.after(at); r.offset != end {
			d.note("the last offset is 0x%x, the bytes end at 0x%x", r.offset, end)
		}
		return r, end, false
	case r.offset == end && !full && !star, r.indent != first.indent:
		return r, end, false
	}
	p.at = p.after(at)
	return r, end, true
}
