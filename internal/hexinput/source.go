package hexinput

import "strings"

// source reads the literals, lists and words of base64 that begin in a line.
func (p *parser) source(l line) bool {
	found := false
	for i, ok := l.start, false; i < l.end() && p.err == nil; l = p.last {
		i, ok = p.scan(i, l.end(), len(p.s))
		found = found || ok
		for p.last.end() < i {
			p.last, _ = p.after(p.last)
		}
	}
	return found || p.err != nil
}

// scan reads what begins between i and end, and goes on to the limit. It returns
// where it stopped.
func (p *parser) scan(i, end, limit int) (next int, found bool) {
	for i < end && p.err == nil {
		n := strings.IndexAny(p.s[i:end], "\"'`[{(</")
		if n < 0 {
			return end, found
		}
		i += n
		next, ok := p.literal(i, limit)
		if next == i {
			next, ok = p.list(i, limit)
		}
		if next == i {
			next, ok = p.base64Word(i, end)
		}
		found = found || ok
		i = max(next, i+1)
	}
	return i, found
}

// before returns what stands before i on its line, in lower case.
func (p *parser) before(i int) string {
	s := strings.ToLower(left(p.s, i))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// leading returns the last character before i that is not a blank. It may be on
// the line before; on other lines it is the end of the line.
func (p *parser) leading(i int) byte {
	s := strings.TrimRight(left(p.s, i), blanks)
	s = strings.TrimRight(strings.TrimSuffix(s, "\n"), blanks)
	if s == "" {
		return '\n'
	}
	return s[len(s)-1]
}
