package hexinput

import "strings"

// A cursor goes through a line, and the lines after it.
type cursor struct {
	line line
	i    int
	in   input  // the lines after it
	here input  // the same with this line, if it is not the first one
	tail byte   // the last character of the line before
	open string // the quotes that no other one in the line closes
}

func (c *cursor) atEnd() bool { return c.i >= len(c.line.text) }

// starts reports whether the cursor is before s.
func (c *cursor) starts(s string) bool { return strings.HasPrefix(c.line.text[c.i:], s) }

// nextLine goes on to the next line. It reports whether there is one.
func (c *cursor) nextLine() bool {
	here := c.in
	l, ok := c.in.next()
	if ok {
		*c = cursor{line: l, in: c.in, here: here, tail: lastByte(c.line.text)}
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

// leading returns the last character before i that is no blank, which may be in
// the line before.
func (c *cursor) leading(i int) byte {
	if b := lastByte(c.line.text[max(0, i-maxLabel):i]); b != 0 {
		return b
	}
	return c.tail
}

// source reads the literals and lists that begin in a line, and reports whether
// there are any.
func (p *parser) source(l line) bool {
	c := cursor{line: l, in: p.in, tail: p.tail}
	found := p.scan(&c)
	p.in = c.in
	return found || p.err != nil
}

// scan reads what a line holds from the cursor on.
func (p *parser) scan(c *cursor) (found bool) {
	for p.err == nil {
		n := strings.IndexAny(c.line.text[c.i:], "\"'`[{(</")
		if n < 0 {
			break
		}
		c.i += n
		number, i := c.line.number, c.i
		found = p.literal(c) || p.list(c) || p.base64Word(c) || found
		if c.line.number == number && c.i == i {
			c.i++
		}
	}
	return found
}
