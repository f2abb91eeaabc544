package hexinput

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A quoted is a string in its quotes, on one line.
type quoted struct {
	start    int // where it begins, with the letters before its quote
	from, to int // what is between the quotes; to is -1 if the string does not end
	quote    byte
	isBytes  bool
}

// quoted returns the string whose quote is at i. Python and Rust mark strings of
// bytes with a b before the quote.
func (p *parser) quoted(i, limit int) (q quoted, ok bool) {
	s := p.s[:limit]
	if i >= limit || strings.IndexByte("\"'`", s[i]) < 0 {
		return q, false
	}
	q = quoted{start: i, from: i + 1, to: -1, quote: s[i]}
	for q.quote != '`' && q.start > 0 && i-q.start < 2 && strings.IndexByte("bruflcBRUFLC", s[q.start-1]) >= 0 {
		q.start--
	}
	if q.start > 0 && (isWord(s[q.start-1]) || s[q.start-1] == '\\') {
		q.start = i
	}
	if q.start == i && i > 0 && (isWord(s[i-1]) && q.quote != '"' || s[i-1] == '\\') {
		return q, false
	}
	q.isBytes = strings.ContainsAny(s[q.start:i], "bB")
	for j := q.from; j < limit && s[j] != '\n'; j++ {
		if s[j] == q.quote {
			q.to = j
			break
		}
		if s[j] == '\\' && j+1 < limit && s[j+1] != '\n' {
			j++
		}
	}
	return q, true
}

// joint matches what may stand between two strings that are one, and the letters
// and the quote of the second: an operator (+ or . or ..), and the end of the
// line with a backslash or without.
var joint = regexp.MustCompile(`^([ \t+.]*)(\\[ \t]*\n)?(\n)?([ \t+.]*)([A-Za-z]{0,2})["'` + "`]")

// A joined is a string that may belong to the one before it.
type joined struct {
	quoted
	newLine   bool // a line ends between them
	backslash bool // and a backslash before that
	explicit  bool // there is an operator or a backslash
}

// join returns the string after i, if it may belong to the one that ends there.
func (p *parser) join(i, limit int) (j joined, ok bool) {
	const longest = 256
	m := joint.FindStringSubmatch(p.s[i:min(limit, i+longest)])
	if m == nil {
		return j, false
	}
	at := i + len(m[0]) - 1
	j.quoted, ok = p.quoted(at, limit)
	j.backslash = m[2] != ""
	j.newLine = j.backslash || m[3] != ""
	j.explicit = j.backslash || strings.ContainsAny(m[1]+m[4], "+.")
	return j, ok && j.start == at-len(m[5]) && j.to >= 0
}

// literal reads the string whose quote is at i and those that are joined to it.
// It returns where they end, and whether they are a payload; i if there is no
// string.
func (p *parser) literal(i, limit int) (end int, found bool) {
	q, ok := p.quoted(i, limit)
	if !ok {
		return i, false
	}
	if q.to < 0 {
		rest, _, _ := strings.Cut(p.s[q.from:limit], "\n")
		if single, _ := byteEscapes(rest); single >= 2 {
			p.wrong(i, "the string is not closed on its line", true)
		}
		return q.from, false
	}
	if p.base64String(q, limit) || !q.isBytes && p.nested(q, limit) {
		return q.to + 1, true
	}
	var u unescaped
	first := q
	before := p.leading(q.start)
	opened := strings.IndexByte("([{,", before) >= 0 // it may go on in another line
	folded, guessed, failed := false, false, false
	for {
		u.read(string(p.original(q.from, q.to)), q.isBytes)
		end = q.to + 1
		if u.wrong >= 0 && (q.isBytes || u.bytes >= 2) {
			p.wrong(q.from+utf8.RuneCount(p.original(q.from, q.to)[:u.wrong]), wrongEscape, true)
			return end, false
		}
		failed = failed || u.wrong >= 0
		if q.quote == '`' || len(u.data) > MaxDatagram {
			break
		}
		next, ok := p.join(end, limit)
		if !ok || next.isBytes != q.isBytes {
			break
		}
		if next.newLine && !next.explicit {
			var v unescaped
			if v.read(string(p.original(next.from, next.to)), false); q.isBytes && !opened || !q.isBytes && isQuery(v.data) {
				break
			}
			guessed = guessed || !opened && before != '='
		}
		folded = folded || next.backslash
		q = next.quoted
	}
	query := isQuery(u.data)
	sure := u.bytes >= 2 || q.isBytes && (u.bytes > 0 || query) || query && u.unicode > 0 || gameSpyQuery.Match(u.data)
	if failed || len(u.data) == 0 || !sure && u.bytes == 0 && !q.isBytes {
		return end, false
	}
	d := Datagram{Data: u.data, at: first.from - 1, Form: C, Note: u.odd}
	switch {
	case q.isBytes:
		d.Form = Python
	case folded && u.escapes == len(u.data):
		d.Form = Wireshark
	}
	if guessed {
		d.note("strings on lines that follow each other were joined")
	}
	p.take(d, sure)
	return end, true
}

// gameSpyQuery matches the payloads that are text: queries of GameSpy 1 and
// 2 and replies to them.
var gameSpyQuery = regexp.MustCompile(`^\\(?:status|info|basic|rules|players|packets|echo|secure|gamename|hostname)\\`)

// nested reads a string that holds hex digits or source text itself.
func (p *parser) nested(q quoted, limit int) bool {
	l := line{start: q.start - len(p.before(q.start))}
	l.text = p.s[l.start:q.to]
	from, content := q.from-l.start, p.s[q.from:q.to]
	kind := labelAt(l.text, 0, q.start-l.start, named)
	if isArgument(p.s[q.to+1:limit], "hex") {
		kind = decoder
	}
	r := readRun(l.text, from)
	decodes := kind == decoder || kind == python
	if decodes && r.bad >= 0 && isHex(l.text[from]) && p.leading(q.start) == '(' {
		at, problem := p.wrongDigit(l, r.bad)
		p.wrong(at, problem, true)
		return true
	}
	hex := decodes || r.bad < 0 && r.bytes() >= shortestList && len(r.digits)%2 == 0
	if hex && strings.IndexByte(content, '\\') < 0 && p.runs(l, from, kind) {
		p.endBlock()
		return true
	}
	if q.quote != '`' && (len(content) < 3 || content[0] != 'b' || content[1] != '"' && content[1] != '\'' || content[len(content)-1] != content[1]) {
		return false
	}
	_, found := p.scan(q.from, q.to, q.to)
	return found
}

// isArgument reports whether what follows a string is another one that names
// its encoding.
func isArgument(rest, encoding string) bool {
	rest = strings.TrimLeft(right(rest, 0), " \t,")
	return strings.HasPrefix(rest, "'"+encoding+"'") || strings.HasPrefix(rest, `"`+encoding+`"`)
}

// escaped reads the rest of a line that has escapes, but no quotes.
func (p *parser) escaped(l line, i int) bool {
	if single, double := byteEscapes(l.text[i:min(i+5, len(l.text))]); single+double == 0 {
		return false
	}
	at := l.start + i
	s := p.original(at, l.start+len(strings.TrimRight(l.text, blanks)))
	var u unescaped
	switch u.read(string(s), false); {
	case u.bytes < 2:
		return false
	case u.wrong >= 0:
		p.wrong(at+utf8.RuneCount(s[:u.wrong]), wrongEscape, true)
	default:
		p.take(Datagram{Data: u.data, at: at, Form: C, Note: u.odd}, true)
	}
	return true
}
