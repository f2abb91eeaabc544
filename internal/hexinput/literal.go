package hexinput

import (
	"regexp"
	"strconv"
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

// quoted returns the string whose quote the cursor is at. Python and Rust mark
// strings of bytes with a b before the quote.
func (c *cursor) quoted() (q quoted, ok bool) {
	text, i := c.line.text, c.i
	if c.atEnd() || strings.IndexByte("\"'`", text[i]) < 0 {
		return q, false
	}
	q = quoted{start: i, from: i + 1, to: -1, quote: text[i]}
	for q.quote != '`' && q.start > 0 && i-q.start < 2 && strings.IndexByte("bruflcBRUFLC", text[q.start-1]) >= 0 {
		q.start--
	}
	if q.start > 0 && (isWord(text[q.start-1]) || text[q.start-1] == '\\') {
		q.start = i
	}
	if q.start == i && i > 0 && (isWord(text[i-1]) && q.quote != '"' || text[i-1] == '\\') {
		return q, false
	}
	q.isBytes = strings.ContainsAny(text[q.start:i], "bB")
	if strings.IndexByte(c.open, q.quote) < 0 {
		q.to = closing(text, q.from, q.quote)
	}
	if q.to < 0 {
		c.open += string(q.quote) // and no other one of its kind ends
	}
	return q, true
}

// closing returns where the quote of a string stands whose text begins at i, -1
// if there is none.
func closing(text string, i int, quote byte) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case quote:
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// join goes on from the end of a string to the next one, if the two may be
// parts of one. It reports whether a line ends between them, and whether
// something says that they belong together: an operator, or a backslash at the
// end of the line.
func (c *cursor) join() (q quoted, newLine, explicit, backslash, ok bool) {
	explicit = c.operator()
	if !c.atEnd() && c.line.text[c.i] == '\\' && skipBlanks(c.line.text, c.i+1) == len(c.line.text) {
		explicit, backslash = true, true
		c.i = len(c.line.text)
	}
	if c.atEnd() {
		if newLine = c.nextLine(); !newLine {
			return
		}
		explicit = c.operator() || explicit
	}
	start := c.i
	for !c.atEnd() && c.i-start < 2 && isLetter(c.line.text[c.i]) {
		c.i++
	}
	q, ok = c.quoted()
	return q, newLine, explicit, backslash, ok && q.start == start
}

// operator passes blanks and the operator that joins strings: + or . or ..
func (c *cursor) operator() bool {
	rest := c.line.text[c.i:]
	n := len(rest) - len(strings.TrimLeft(rest, " \t+."))
	c.i += n
	return strings.ContainsAny(rest[:n], "+.")
}

// literal reads the string at the cursor and those that are joined to it. It
// passes all of them, but reports only whether they are a payload.
func (p *parser) literal(c *cursor) bool {
	q, ok := c.quoted()
	if !ok {
		return false
	}
	if c.i = q.from; q.to < 0 {
		if single, _ := byteEscapes(c.line.text[c.i:]); single >= 2 {
			p.wrong(c.line, c.i-1, "the string is not closed on its line", true)
		}
		return false
	}
	if p.base64String(c, q) || !q.isBytes && p.nested(c, q) {
		c.i = q.to + 1
		return true
	}
	var u unescaped
	d := Datagram{Line: c.line.number, Form: C}
	before := c.leading(q.start)
	folded, guessed, failed := false, false, false
	for {
		u.read(&c.line, q.from, q.to, q.isBytes)
		c.i = q.to + 1
		if u.wrong != "" && (q.isBytes || u.bytes >= 2) {
			p.wrong(c.line, u.at, u.wrong, true)
			return false
		}
		failed = failed || u.wrong != ""
		if q.quote == '`' || len(u.data) > MaxDatagram {
			break
		}
		ahead := *c
		next, newLine, explicit, backslash, ok := ahead.join()
		if !ok || next.to < 0 || next.isBytes != q.isBytes {
			break
		}
		if newLine && !explicit {
			var v unescaped
			if v.read(&ahead.line, next.from, next.to, false); q.isBytes && !opens(before) || !q.isBytes && isQuery(v.data) {
				break
			}
			guessed = guessed || !opens(before) && before != '='
		}
		folded = folded || backslash
		*c, q = ahead, next
	}
	if failed || len(u.data) == 0 {
		return false
	}
	query := isQuery(u.data)
	switch d.Data, d.Note = u.data, u.note; {
	case q.isBytes:
		d.Form = Python
	case folded && u.escapes == len(u.data):
		d.Form = Wireshark
	}
	if guessed {
		note(&d.Note, "strings on lines that follow each other were joined")
	}
	sure := u.bytes >= 2 || q.isBytes && (u.bytes > 0 || query) || query && u.unicode > 0 || gameSpyQuery.Match(u.data)
	if !sure && u.bytes == 0 && !q.isBytes {
		return false
	}
	p.take(d, sure)
	return true
}

// opens reports whether a string or a list after b may go on in another line.
func opens(b byte) bool { return strings.IndexByte("([{,", b) >= 0 }

// gameSpyQuery matches the payloads that are text: queries of GameSpy 1 and
// 2 and replies to them.
var gameSpyQuery = regexp.MustCompile(`^\\(?:status|info|basic|rules|players|packets|echo|secure|gamename|hostname)\\`)

// nested reads a string that holds hex digits or source text itself.
func (p *parser) nested(c *cursor, q quoted) bool {
	l := c.line
	l.text = l.text[:q.to]
	kind := labelAt(l.text, 0, q.start, named)
	if isArgument(c.line.text[q.to+1:], "hex") {
		kind = decoder
	}
	r, text := readRun(l.text, q.from), l.text[q.from:]
	decodes := kind == decoder || kind == python
	if decodes && r.wrong >= 0 && isHex(l.text[q.from]) && c.leading(q.start) == '(' {
		where, problem := r.mistake(&l)
		p.wrong(l, where, problem, true)
		return true
	}
	hex := decodes || r.wrong < 0 && r.bytes() >= shortestList && len(r.digits)%2 == 0
	if hex && strings.IndexByte(text, '\\') < 0 && p.runs(l, q.from, kind) {
		p.endBlock()
		return true
	}
	if q.quote != '`' && (len(text) < 3 || text[0] != 'b' || text[1] != '"' && text[1] != '\'' || text[len(text)-1] != text[1]) {
		return false
	}
	return p.scan(&cursor{line: l, i: q.from})
}

// isArgument reports whether what follows a string is another one that names
// its encoding.
func isArgument(rest, encoding string) bool {
	rest = strings.TrimLeft(rest[:min(len(rest), maxLabel)], " \t,")
	return strings.HasPrefix(rest, "'"+encoding+"'") || strings.HasPrefix(rest, `"`+encoding+`"`)
}

// byteEscape matches an escape, with what is before it if it is escaped itself,
// and its digits if it stands for a byte.
var byteEscape = regexp.MustCompile(`\\(\\?)x([0-9a-fA-F]{2})|\\.`)

// byteEscapes returns how many escapes there are in a text that stand for bytes
// (not counting those for terminals) and are not escaped themselves, and how
// many of those that are. It does not count beyond a few.
func byteEscapes(text string) (single, double int) {
	const few = 1000
	for _, m := range byteEscape.FindAllStringSubmatch(text, few) {
		switch {
		case m[2] == "" || m[2] == "1b":
		case m[1] == "":
			single++
		default:
			double++
		}
	}
	return single, double
}

// unescaped is what a string with escapes stands for.
type unescaped struct {
	data    []byte
	escapes int    // how many escapes stand for a byte, rather than for a character
	bytes   int    // how many of them count
	unicode int    // how many stand for a code point
	note    string // what was odd
	wrong   string // what is no escape, and where it is
	at      int
}

// Single characters after a backslash, in all languages together, and what they
// stand for. What is not among them keeps its backslash, as Python has it.
const (
	escapeNames = `nrtabfve\'"` + "`/$"
	escapeBytes = "\n\r\t\a\b\f\v\x1b\\'\"`/$"
)

// read adds a string from i to j. Escapes with \x have two digits: in C they go
// on as far as there are digits, but those who write payloads do not mean that.
func (u *unescaped) read(l *line, i, j int, isBytes bool) {
	text := l.text[:j]
	u.wrong = ""
	if single, double := byteEscapes(text[i:]); single == 0 && double >= 2 { // escaped twice, as in JSON
		once := newLine(l.number, []byte(strings.ReplaceAll(string(l.bytes(i, j)), `\\`, `\`)))
		u.read(&once, 0, len(once.text), isBytes)
		u.at = i
		return
	}
	radix := 8
	if strings.HasPrefix(text[i:], `\255\255`) || strings.HasPrefix(text[i:], `\254\25`) {
		radix = 10
		u.odd(`escapes as \255 are taken for decimal, as Lua has them`)
	}
	var end int
	for ; i < j; i = end {
		end = min(i+2, j)
		c := text[end-1]
		switch {
		case text[i] != '\\' || end == i+1:
			end = i + 1
			u.data = append(u.data, l.bytes(i, end)...)
		case c == 'x':
			end = min(hexEnd(text, end), i+4)
			if end == i+2 || end == i+3 && end < j && text[end] != '\\' {
				u.wrong, u.at = `\x takes two hex digits`, i
				return
			}
			if end == i+4 && hexEnd(text, end) > end && !isBytes {
				u.odd("hex digits behind %s are taken for text: C would have them in the escape", text[i:end])
			}
			v, _ := strconv.ParseUint(text[i+2:end], 16, 8)
			u.count(byte(v))
		case isDigit(c) && int(c-'0') < radix:
			var v uint64
			for end--; end < min(i+4, j); end++ {
				next, err := strconv.ParseUint(text[i+1:end+1], radix, 8)
				if err != nil {
					break
				}
				v = next
			}
			if u.data = append(u.data, byte(v)); end == i+4 || v == 0 || radix == 10 { // else it may be one of a regular expression
				u.data = u.data[:len(u.data)-1]
				u.count(byte(v))
			}
		case (c == 'u' || c == 'U') && !isBytes && codePoint.MatchString(text[i:min(j, i+len(`\U000000ff`))]):
			end = u.codePoint(text, i)
		case strings.IndexByte(escapeNames, c) >= 0:
			u.data = append(u.data, escapeBytes[strings.IndexByte(escapeNames, c)])
		default:
			u.data = append(u.data, l.bytes(i, end)...)
		}
	}
}

// count adds an escape for a byte. Codes for the colours of a terminal do not
// make a string a payload.
func (u *unescaped) count(b byte) {
	const escape = 0x1b
	u.data = append(u.data, b)
	if u.escapes++; b != escape {
		u.bytes++
	}
}

// odd notes the first thing that is odd.
func (u *unescaped) odd(format string, args ...any) {
	if u.note == "" {
		note(&u.note, format, args...)
	}
}

// codePoint matches \u00ff, \u{ff} and \U000000ff.
var codePoint = regexp.MustCompile(`^\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8}))`)

// codePoint adds the code point at i, and returns where it ends.
func (u *unescaped) codePoint(text string, i int) (end int) {
	m := codePoint.FindStringSubmatch(text[i:min(len(text), i+len(`\U000000ff`))])
	r, _ := strconv.ParseUint(m[1]+m[2]+m[3], 16, 32)
	end = i + len(m[0])
	u.unicode++
	if r > 0xff {
		u.data = utf8.AppendRune(u.data, rune(r))
		return end
	}
	if u.data = append(u.data, byte(r)); r >= utf8.RuneSelf {
		u.odd(`%s is taken for one byte`, text[i:end])
	}
	return end
}

// escaped reads the rest of a line that has escapes, but no quotes.
func (p *parser) escaped(l line, i int) bool {
	if single, double := byteEscapes(l.text[i:min(i+5, len(l.text))]); single+double == 0 {
		return false
	}
	var u unescaped
	u.read(&l, i, len(strings.TrimRight(l.text, " \t")), false)
	switch {
	case u.bytes < 2:
		return false
	case u.wrong != "":
		p.wrong(l, u.at, u.wrong, true)
	default:
		p.take(Datagram{Data: u.data, Line: l.number, Form: C, Note: u.note}, true)
	}
	return true
}
