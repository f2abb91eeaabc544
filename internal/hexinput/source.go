package hexinput

import "strings"

// A cursor goes through a line, and the lines behind it.
type cursor struct {
	line line
	i    int
	in   input  // the lines behind
	here input  // those and this line, if it is not the first one
	tail byte   // the last character of the line before
	open string // the quotes that no other one in the line closes
}

func (c *cursor) blanks() { c.i = skipBlanks(c.line.text, c.i) }

func (c *cursor) atEnd() bool { return c.i >= len(c.line.text) }

// starts reports whether the cursor is before s.
func (c *cursor) starts(s string) bool { return strings.HasPrefix(c.line.text[c.i:], s) }

// nextLine goes on to the next line. It reports whether there is one.
func (c *cursor) nextLine() bool {
	here := c.in
	l, ok := c.in.next()
	if ok {
		c.here = here
		c.tail = lastByte(c.line.text)
		c.line, c.i, c.open = l, 0, ""
	}
	return ok
}

// lastByte returns the last character that is no blank, 0 if there is none.
func lastByte(text string) byte {
	text = strings.TrimRight(text, " \t")
	if text == "" {
		return 0
	}
	return text[len(text)-1]
}

// before returns what stands before i, in lower case.
func (c *cursor) before(i int) string {
	return strings.ToLower(c.line.text[max(0, i-maxLabel):i])
}

// leading returns the last character before the cursor that is no blank, which
// may be in the line before.
func (c *cursor) leading() byte {
	for i := c.i - 1; i >= 0 && i > c.i-maxLabel; i-- {
		if !isBlank(c.line.text[i]) {
			return c.line.text[i]
		}
	}
	return c.tail
}

// source reads the literals and lists that begin in a line, and reports whether
// there are any.
func (p *parser) source(l line) bool {
	if !strings.ContainsAny(l.text, "\"'`[{(</") {
		return false
	}
	c := cursor{line: l, in: p.in, tail: p.tail}
	found := p.scan(&c)
	p.in = c.in
	return found || p.err != nil
}

// scan reads what a line holds from the cursor on.
func (p *parser) scan(c *cursor) bool {
	found := false
	for !c.atEnd() && p.err == nil {
		number, i := c.line.number, c.i
		if p.stringLiteral(c) || p.list(c) || p.base64Word(c) {
			found = true
		}
		if c.line.number == number && c.i == i {
			c.i++
		}
	}
	return found
}

// inside reads what a string holds, from i to j.
func (p *parser) inside(c *cursor, i, j int) bool {
	l := c.line
	l.text = l.text[:j]
	return p.scan(&cursor{line: l, i: i})
}

// takeSource is take for what ends a block.
func (p *parser) takeSource(d Datagram, sure bool) {
	p.endBlock()
	p.take(d, sure)
}
