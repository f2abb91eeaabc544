package hexinput

import (
	"strconv"
	"strings"
)

// A mark is what tells an offset from bytes.
type mark uint8

const (
	bare  mark = iota // 00000010  ff ff
	colon             // 00000010: ffff
	x0                // 0x0010:  ffff
	bars              // |00000010| ff ff
)

// A row is one line of a dump.
type row struct {
	columns
	line   line
	from   int // how much of a log stands before it
	indent int
	mark   mark
	offset string // its digits
}

// readRow reads a line that, from a column on, begins like a row. It may be the
// last one of a dump, which has an offset only.
func readRow(l line, from int) (row, bool) {
	text := l.text
	if len(text) <= from {
		return row{}, false
	}
	r := row{line: l, from: from}
	i := skipBlanks(text, from)
	for i+1 < len(text) && text[i] == '>' && isBlank(text[i+1]) {
		i = skipBlanks(text, i+1) // a quotation
	}
	if i+1 < len(text) && text[i] == '`' && isHex(text[i+1]) {
		text = strings.TrimRight(text, " \t`")
		i++
	}
	r.indent = i
	shortest := 4
	switch {
	case hasPrefix0x(text, i):
		r.mark, shortest = x0, 2
		i += 2
	case i < len(text) && text[i] == '|':
		r.mark = bars
		i++
	}
	end := hexEnd(text, i)
	r.offset = text[i:end]
	i = end
	if i < len(text) && text[i] == ':' {
		if r.mark == bare {
			r.mark, shortest = colon, 3
		}
		i++
	} else if r.mark == x0 && i < len(text) {
		return row{}, false // a number among others
	} else if r.mark == bars {
		if i == len(text) || text[i] != '|' {
			return row{}, false
		}
		i++
	}
	if n := len(r.offset); n < shortest || n > 16 || i < len(text) && !isBlank(text[i]) {
		return row{}, false
	}
	r.columns = readColumns(text, i)
	return r, true
}

// loggedRow returns where the offset 0 stands in a line of a log, 0 if none
// does.
func loggedRow(text string) int {
	for i := 1; i < len(text); i++ {
		n := strings.Index(text[i:], " 0")
		if n < 0 {
			return 0
		}
		i += n + 1
		if end := hexEnd(text, i); end-i >= 4 && strings.Trim(text[i:end], "0") == "" || hasPrefix0x(text, i) {
			return i
		}
	}
	return 0
}

func (r *row) zero() bool { return strings.Trim(r.offset, "0") == "" }

// isStream reports whether a row looks as in a stream that Wireshark follows.
func (r *row) isStream() bool { return r.mark == bare && len(r.offset) == 8 && !r.barred }

// A base is a way to read the offsets of a dump: od counts in octal.
type base struct {
	radix int
	start uint64 // the offset of the first row
}

// A dump is a datagram that grows row by row.
type dump struct {
	first     row
	bases     []base // those that fit all rows so far
	data      []byte // as written
	words     []byte // the same with the groups swapped, if they are words
	order     order  // those that agree with every column of text so far
	last      []byte // the bytes of the row above, which "*" repeats
	lastWords []byte // the same with the groups swapped
	repeat    bool   // there was a "*"
	padding   int    // how many bytes of the last row fill up a word
	note      string
	jumped    bool // the offsets did, and note says so
	denied    bool // a column of text did, and note says so
}

// A stream is one direction of a followed stream, in which the offsets count
// on from datagram to datagram.
type stream struct {
	used   bool
	indent int
	next   uint64 // the offset at which it goes on
}

// dump reads the dump that begins in a line.
func (p *parser) dump(l line) bool {
	r, ok := readRow(l, 0)
	if !ok || !p.begins(&r) {
		if p.err != nil {
			return true
		}
		if r, ok = readRow(l, loggedRow(l.text)); !ok || r.from == 0 || !p.begins(&r) {
			return false
		}
	}
	p.endBlock()
	if p.err != nil {
		return true
	}
	d := p.newDump(r)
	for p.err == nil {
		ahead := p.in
		l, blanks, ok := ahead.nextFull()
		if !ok {
			break
		}
		if blanks == 0 && strings.Trim(l.text, " \t>") == "*" {
			d.repeat = true
			p.in = ahead
			continue
		}
		next, ok := readRow(l, r.from)
		if !ok || next.mark != r.mark || len(next.offset) != len(r.offset) && next.mark != x0 {
			break
		}
		if next.groups == 0 && next.zero() {
			break
		}
		if blanks > 0 && !d.fits(&next) {
			break
		}
		if next.bad >= 0 {
			if next.groups == 0 && !hasBytes(l.text[next.bad:]) {
				break // prose that begins with a number
			}
			p.badGroup(&next)
			break
		}
		p.in = ahead
		switch {
		case next.groups == 0:
			p.lastOffset(&d, &next)
			p.endDump(&d)
			return true
		case p.follows(&d, &next):
			p.endDump(&d)
			d = p.newDump(next)
		default:
			p.extend(&d, &next)
		}
	}
	p.endDump(&d)
	return true
}

// begins reports whether a row can be the first one of a dump. The offset of
// that is 0; if it is not, or looks like words of hex, something else must
// speak for it: the text behind the bytes, the next row, or the rows before.
func (p *parser) begins(r *row) bool {
	if base := r.otherBase(); base != "" && r.zero() && r.from == 0 {
		p.fail(r.line, r.bad, "this dump is %s: dump it in hex, as hexdump -C, xxd and od -t x1 do", base)
		return true
	}
	if r.bad >= 0 {
		if r.from == 0 && (r.zero() || r.mark == x0) && (r.groups >= 2 || hasBytes(r.line.text[r.bad:])) {
			p.badGroup(r)
		}
		return p.err != nil
	}
	switch {
	case r.groups == 0:
		return false
	case r.confirmed != 0:
		return true
	case r.from == 0 && r.zero() && (r.mark != bare || r.group == 1 || len(r.offset) == 7 || len(r.offset) == 6):
		return true
	}
	if v, err := strconv.ParseUint(r.offset, 16, 64); err == nil && p.expected(r.indent, v) {
		return true
	}
	ahead := p.in
	l, ok := ahead.next()
	if !ok {
		return false
	}
	next, ok := readRow(l, r.from)
	if !ok || next.mark != r.mark || len(next.offset) != len(r.offset) {
		return false
	}
	d := dump{bases: bases(r), data: r.data}
	return d.fits(&next) && !next.zero()
}

// badGroup is the error for what stands in a row instead of bytes.
func (p *parser) badGroup(r *row) {
	where, problem := wrongDigit(&r.line, r.bad)
	p.fail(r.line, where, "%s", problem)
}

// otherBase returns in what a dump is, if not in hex: od and hexdump -b print
// octal, od -c and hexdump -c characters, xxd -b binary.
func (r *row) otherBase() string {
	text := r.line.text
	if r.bad >= 0 && r.groups == 0 {
		end := r.bad
		for end < len(text) && text[end] >= '0' && text[end] <= '7' {
			end++
		}
		if n := end - r.bad; (n == 3 || n == 6) && (end == len(text) || isBlank(text[end])) {
			return "octal"
		}
		return ""
	}
	if r.group != 4 || !r.denied {
		return ""
	}
	for _, b := range r.data {
		if b&^0x11 != 0 {
			return ""
		}
	}
	return "binary"
}

// bases returns how the offsets can be read that begin with that of r, the
// likeliest first.
func bases(r *row) []base {
	order := []int{16, 10}
	switch {
	case r.mark == x0:
		order = []int{16}
	case r.mark == bare && len(r.offset) == 7 && r.group == 1:
		order = []int{8, 16, 10} // od; hexdump prints words
	case r.mark == bare && len(r.offset) == 7 && r.group == 2:
		order = []int{16, 8, 10}
	case r.mark == bare && len(r.offset) == 7:
		order = []int{8, 10, 16}
	}
	var all []base
	for _, radix := range order {
		if v, err := strconv.ParseUint(r.offset, radix, 64); err == nil {
			all = append(all, base{radix, v})
		}
	}
	return all
}

func (p *parser) newDump(r row) dump {
	d := dump{first: r, bases: bases(&r), order: asWritten | swapped}
	if start := d.bases[0].start; start != 0 && !p.expected(r.indent, start) {
		note(&d.note, "the dump begins at offset 0x%x", start)
	}
	p.extend(&d, &r)
	return d
}

// stream returns the direction that is indented like this. There are two at
// most: what is neither takes the place of the second.
func (p *parser) stream(indent int) *stream {
	for i := range p.streams {
		if s := &p.streams[i]; s.used && s.indent == indent {
			return s
		}
	}
	i := 0
	if p.streams[0].used {
		i = 1
	}
	p.streams[i].used, p.streams[i].indent, p.streams[i].next = true, indent, 0
	return &p.streams[i]
}

// expected reports whether a stream that is indented like this goes on at an
// offset.
func (p *parser) expected(indent int, offset uint64) bool {
	for _, s := range p.streams {
		if s.used && s.indent == indent && s.next == offset {
			return true
		}
	}
	return false
}

// fits reports whether r comes next, and forgets the bases in which it does
// not.
func (d *dump) fits(r *row) bool {
	var fitting []base
	for _, b := range d.bases {
		v, err := strconv.ParseUint(r.offset, b.radix, 64)
		next := b.start + uint64(len(d.data))
		if err != nil || v < next {
			continue
		}
		if v == next || d.repeat && (v-next)%uint64(len(d.last)) == 0 {
			fitting = append(fitting, b)
		}
	}
	if len(fitting) == 0 {
		return false
	}
	d.bases = fitting
	return true
}

// at returns the offset of r and the one that was expected.
func (d *dump) at(r *row) (is, expected uint64) {
	b := d.bases[0]
	is, _ = strconv.ParseUint(r.offset, b.radix, 64)
	return is, b.start + uint64(len(d.data))
}

// follows reports whether a row begins another datagram: its offset is 0, or
// goes back, or goes on behind a row that was not full or is indented otherwise,
// as in a stream that Wireshark follows.
func (p *parser) follows(d *dump, r *row) bool {
	if r.zero() {
		return true
	}
	is, expected := d.at(r)
	if r.indent != d.first.indent && p.expected(r.indent, is) {
		return true
	}
	if d.fits(r) {
		return !d.repeat && (len(d.last) < len(d.first.data) || d.first.isStream() && len(d.last)%8 != 0)
	}
	return is < expected
}

// extend adds the bytes of a row to its datagram.
func (p *parser) extend(d *dump, r *row) {
	if d.repeat {
		p.fill(d, r)
	}
	is, expected := d.at(r)
	if len(d.data) > 0 && !d.fits(r) {
		if !d.jumped {
			note(&d.note, "offset jumps from 0x%x to 0x%x: bytes are missing", expected, is)
		}
		d.jumped = true
		for i := range d.bases {
			d.bases[i].start += is - expected // the rows below count from here
		}
	}
	if r.denied && !d.denied {
		note(&d.note, "the column of text does not agree with the bytes at offset 0x%x", is)
		d.denied = true
	}
	if r.confirmed != 0 && r.group > 1 {
		d.order &= r.confirmed
	}
	d.last, d.padding = r.data, r.padding
	if d.first.group > 1 {
		d.lastWords = swap(r.data, r.group)
	}
	p.grow(d, 1)
}

// grow adds the last row n times.
func (p *parser) grow(d *dump, n uint64) {
	if n > MaxDatagram || len(d.data)+int(n)*len(d.last) > MaxDatagram {
		p.fail(d.first.line, -1, "a datagram of more than %d bytes", MaxDatagram)
		return
	}
	for range n {
		d.data = append(d.data, d.last...)
		d.words = append(d.words, d.lastWords...)
	}
}

// fill does what "*" asks for: it repeats the last row until the offset of r.
func (p *parser) fill(d *dump, r *row) {
	if d.fits(r) && len(d.bases) > 1 {
		p.chooseBase(d, r)
	}
	is, expected := d.at(r)
	d.repeat = false
	if is > expected {
		p.grow(d, (is-expected)/uint64(len(d.last)))
	}
}

// chooseBase keeps the bases in which the row behind r fits r.
func (p *parser) chooseBase(d *dump, r *row) {
	ahead := p.in
	l, ok := ahead.next()
	if !ok {
		return
	}
	next, ok := readRow(l, r.from)
	if !ok || len(r.data) == 0 {
		return
	}
	var fitting []base
	for _, b := range d.bases {
		v, _ := strconv.ParseUint(r.offset, b.radix, 64)
		w, err := strconv.ParseUint(next.offset, b.radix, 64)
		end := v + uint64(len(r.data))
		if err == nil && w <= end && end-w < uint64(d.first.group) {
			fitting = append(fitting, b)
		}
	}
	if len(fitting) > 0 {
		d.bases = fitting
	}
}

// lastOffset reads the offset behind the last row, which is the length.
func (p *parser) lastOffset(d *dump, r *row) {
	if d.repeat {
		p.fill(d, r)
	}
	if d.padding > 0 || d.fits(r) {
		return
	}
	if d.littleEndian() {
		for _, b := range d.bases {
			if n, ok := d.unpadded(r, b); ok {
				d.data, d.words, d.bases = d.data[:n], d.words[:n], []base{b}
				return
			}
		}
	}
	is, expected := d.at(r)
	note(&d.note, "the last offset is 0x%x, the bytes end at 0x%x", is, expected)
}

// unpadded returns how many bytes a dump has, if the last word was filled up
// with zeros.
func (d *dump) unpadded(r *row, b base) (int, bool) {
	v, err := strconv.ParseUint(r.offset, b.radix, 64)
	if err != nil || v < b.start || v-b.start >= uint64(len(d.data)) {
		return 0, false
	}
	n := int(v - b.start)
	return n, len(d.data)-n < d.first.group && strings.Trim(string(d.words[n:]), "\x00") == ""
}

// littleEndian reports whether the groups of a dump are words to be swapped.
// The column of text decides; without it, hexdump and od print words, while
// what has a colon prints bytes that stand close together.
func (d *dump) littleEndian() bool {
	if d.first.group == 1 || len(d.words) != len(d.data) {
		return false
	}
	switch d.order {
	case asWritten:
		return false
	case swapped:
		return true
	}
	return d.first.mark == bare
}

func (p *parser) endDump(d *dump) {
	if p.err != nil {
		return
	}
	p.stream(d.first.indent).next = d.bases[0].start + uint64(len(d.data))
	if d.repeat {
		note(&d.note, "how often the last row is repeated is not said")
	}
	out := Datagram{Data: d.data, Line: d.first.line.number, Form: Hexdump, Note: d.note}
	if d.first.isStream() {
		out.Src, out.Dst = p.nodes[0], p.nodes[1]
		if d.first.indent > 0 {
			out.Src, out.Dst = out.Dst, out.Src
		}
	}
	switch {
	case d.littleEndian():
		out.Data = d.words[:len(d.words)-d.padding]
	case d.first.group >= 4 && d.order == asWritten|swapped:
		note(&out.Note, "the groups are taken as they are written: xxd -e swaps their bytes")
	}
	switch {
	case d.first.mark == x0 && d.first.group == 2:
		out.Form = Tcpdump
	case d.first.mark == bare && (len(d.first.offset) == 4 || out.Src.IsValid() || p.frame != noFrame):
		out.Form = Wireshark
	}
	frame := p.frame
	if frame != noFrame {
		// The dump is of the frame, or of its payload alone.
		out.Packet = len(d.data) != p.frameData
		p.frame, p.details = noFrame, nil
	}
	p.take(out, true)
	if frame != noFrame {
		p.frame = dumped
	}
}
