package hexinput

import (
	"bytes"
	"strings"
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
