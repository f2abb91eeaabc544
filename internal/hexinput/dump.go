package hexinput

import (
	"bytes"
	"regexp"
	"strings"
)

// expected reports whether a dump above that was indented like this goes on at an
// offset: in a stream that is followed, the offsets of each direction count on
// from datagram to datagram.
func (p *parser) expected(indent int, offset uint64) bool {
	next, ok := p.streams[indent]
	return ok && next == offset
}

// loggedRow matches the offset 0 in a line of a log.
var loggedRow = regexp.MustCompile(` (?:0{4,}(?:[^0-9a-fA-F]|$)|0[xX])`)

// dump reads the dump that begins in a line, and those that follow it.
func (p *parser) dump(l line) bool {
	r, ok := readRow(l, 0)
	ok = ok && p.begins(&r)
	if at := loggedRow.FindStringIndex(l.text); !ok && p.err == nil && at != nil && at[0] > 0 {
		r, ok = readRow(l, at[0]+1)
		ok = ok && p.begins(&r)
	}
	if !ok {
		return p.err != nil
	}
	p.endBlock()
	for ok && p.err == nil {
		var rows []row
		rows, r, ok = p.rows(r)
		for len(rows) > 0 && p.err == nil {
			rows = rows[p.takeDump(rows, !ok && r.line.number > 0):]
		}
		if !ok && r.line.number > 0 && p.err == nil {
			p.badGroup(&r)
		}
	}
	return true
}

// begins reports whether a row can be the first one of a dump. The offset of
// that is 0; if it is not, or looks like words of hex, something else must
// speak for it: the text after the bytes, the next row, or the rows before.
func (p *parser) begins(r *row) bool {
	top := r.from == 0
	base := r.otherBase()
	switch {
	case base != "" && r.zero() && top:
		p.fail(r.line, r.bad, "this dump is "+base+": dump it in hex, as hexdump -C, xxd and od -t x1 do")
		return false
	case r.bad >= 0:
		if top && (r.zero() || r.mark == x0) && (r.groups >= 2 || hasBytes(r.line.text[r.bad:])) {
			p.badGroup(r)
		}
		return false
	case r.groups == 0:
		return false
	case r.confirmed != 0, top && r.zero() && (r.mark != bare || r.group == 1 || len(r.offset) == 7 || len(r.offset) == 6):
		return true
	}
	if is, ok := r.at(16); ok && p.expected(r.indent, is) {
		return true
	}
	ahead := p.in
	l, _ := ahead.next()
	next, ok := readRow(l, r.from)
	return ok && next.like(r) && len(next.offset) == len(r.offset) && !next.zero() && next.continues(r)
}

// badGroup is the error for what stands in a row instead of bytes.
func (p *parser) badGroup(r *row) {
	where, problem := wrongDigit(&r.line, r.bad)
	p.fail(r.line, where, problem)
}

// rows returns a row and those that follow it, with ascending offsets. What ends
// them is returned alone: a row that begins another dump, or a broken one.
func (p *parser) rows(first row) (rows []row, next row, begins bool) {
	rows = []row{first}
	for {
		last := &rows[len(rows)-1]
		ahead := p.in
		l, blanks, ok := ahead.nextFull()
		if ok && blanks == 0 && strings.Trim(l.text, " \t>") == "*" {
			last.stars = true
			p.in = ahead
			continue
		}
		r, ok := readRow(l, last.from)
		if !ok || !r.like(last) || r.groups == 0 && r.zero() ||
			blanks > 0 && !r.continues(last) {
			return rows, row{}, false
		}
		if r.bad >= 0 {
			if r.groups == 0 && !hasBytes(l.text[r.bad:]) {
				r = row{} // prose that begins with a number
			}
			return rows, r, false
		}
		p.in = ahead
		is, _ := r.at(16)
		was, _ := last.at(16)
		if r.groups > 0 && (is <= was || r.indent != last.indent && p.expected(r.indent, is) || len(rows) == MaxDatagram) {
			return rows, r, true
		}
		if rows = append(rows, r); r.groups == 0 {
			return rows, row{}, false // the last offset
		}
	}
}

// radixOf returns the base in which the offsets fit the longest. The last one may
// be less, if a word was filled up.
func radixOf(rows []row) (best int) {
	most := -1
	for _, radix := range rows[0].radixes() {
		fit := 0
		for ; fit < 2*len(rows); fit += 2 {
			r := &rows[fit/2]
			is, ok := r.at(radix)
			if !ok {
				break
			}
			if fit > 0 && !r.follows(&rows[fit/2-1], radix) {
				if end := rows[fit/2-1].end(radix); r.groups == 0 && is < end && is+uint64(rows[0].group) > end {
					fit++
				}
				break
			}
		}
		if fit > most {
			best, most = radix, fit
		}
	}
	return best
}

// takeDump takes the datagram that begins with the first row, and returns how
// many rows it has. The last one is not taken if the row after it is broken. Another one begins where the offset goes back, or goes on
// after a row that was not full, as in a stream that Wireshark follows.
func (p *parser) takeDump(rows []row, broken bool) (n int) {
	first, radix := &rows[0], radixOf(rows)
	out := Datagram{Line: first.line.number, Form: Hexdump}
	if start, _ := first.at(radix); start != 0 && !p.expected(first.indent, start) {
		note(&out.Note, "the dump begins at offset 0x%x", start)
	}
	var words []byte // the data with the bytes of each group swapped
	add := func(r *row, times uint64) {
		if times > MaxDatagram || len(out.Data)+int(times)*len(r.data) > MaxDatagram {
			p.tooLong(first.line)
			return
		}
		for range times {
			out.Data, words = append(out.Data, r.data...), append(words, swap(r.data, r.group)...)
		}
	}
	orders, padding := asWritten|swapped, 0
	jumped, denied := false, false
	end := uint64(0) // where the next row should begin
	for ; n < len(rows) && p.err == nil; n++ {
		r := &rows[n]
		is, _ := r.at(radix)
		if n > 0 {
			last := &rows[n-1]
			short := len(last.data) < len(first.data) || first.isStream() && len(last.data)%8 != 0
			if r.groups > 0 && (is < end || is == end && short && !last.stars) {
				break
			}
			if last.stars && is > end {
				times := (is - end) / uint64(len(last.data))
				add(last, times)
				end += times * uint64(len(last.data))
			}
			if r.groups > 0 && is != end && !jumped {
				note(&out.Note, "offset jumps from 0x%x to 0x%x: bytes are missing", end, is)
				jumped = true
			}
		}
		if r.groups > 0 {
			add(r, 1)
			end, padding = is+uint64(len(r.data)), r.padding
		} else if little := first.isLittleEndian(orders); is != end && padding == 0 {
			if padding = int(end - is); !little || is > end || padding >= first.group || len(bytes.Trim(words[len(words)-padding:], "\x00")) > 0 {
				note(&out.Note, "the last offset is 0x%x, the bytes end at 0x%x", is, end)
				padding = 0
			}
		}
		if r.denied && !denied {
			note(&out.Note, "the column of text does not agree with the bytes at offset 0x%x", is)
			denied = true
		}
		if r.confirmed != 0 && r.group > 1 {
			orders &= r.confirmed
		}
	}
	if p.err != nil || broken && n == len(rows) {
		return n
	}
	if rows[n-1].stars {
		note(&out.Note, "how often the last row is repeated is not said")
	}
	const most = 8 // ways to indent; two directions are usual
	if len(p.streams) == most {
		clear(p.streams)
	}
	p.streams[first.indent] = end
	switch {
	case first.isLittleEndian(orders):
		out.Data = words[:len(words)-padding]
	case first.group >= 4 && orders == asWritten|swapped:
		note(&out.Note, "the groups are taken as they are written: xxd -e swaps their bytes")
	}
	p.finishDump(first, out)
	return n
}

// isLittleEndian reports whether the groups of a dump are words to be swapped.
// The column of text decides; without it, hexdump and od print words, while
// what has a colon prints bytes that stand close together.
func (r *row) isLittleEndian(orders order) bool {
	return r.group > 1 && (orders == swapped || orders != asWritten && r.mark == bare)
}

// finishDump takes the datagram of a dump, by what was said of it before.
func (p *parser) finishDump(first *row, d Datagram) {
	if first.isStream() {
		d.Src, d.Dst = p.nodes[0], p.nodes[1]
		if first.indent > 0 {
			d.Src, d.Dst = d.Dst, d.Src
		}
	}
	switch {
	case first.mark == x0 && first.group == 2:
		d.Form = Tcpdump
	case first.mark == bare && (len(first.offset) == 4 || d.Src.IsValid() || p.frame != noFrame):
		d.Form = Wireshark
	}
	if p.frame == noFrame {
		p.take(d, true)
		return
	}
	// The dump is of the frame, or of its payload alone, and so are its details.
	d.Packet = len(d.Data) != p.frameData
	p.frame, p.details = noFrame, nil
	p.take(d, true)
	p.frame = dumped
}
