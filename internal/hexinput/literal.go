package hexinput

import (
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// opening returns where the quote of a string stands, if the cursor is at one.
// Python and Rust mark strings of bytes with a b.
func (c *cursor) opening() (quote int, isBytes, ok bool) {
	text, i := c.line.text, c.i
	if i >= len(text) || i > 0 && (isWord(text[i-1]) && text[i] != '"' || text[i-1] == '\\') {
		return 0, false, false
	}
	for n := 0; n < 2 && i < len(text) && isLetter(text[i]); n++ {
		switch text[i] | 0x20 {
		case 'b':
			isBytes = true
		case 'r', 'u', 'f', 'l', 'c':
		default:
			return 0, false, false
		}
		i++
	}
	if i == len(text) || strings.IndexByte("\"'`", text[i]) < 0 {
		return 0, false, false
	}
	return i, isBytes, text[i] != '`' || i == c.i
}

// closing returns where the string ends whose quote is at i, -1 if it does not
// end on its line.
func (c *cursor) closing(i int) int {
	text, quote := c.line.text, c.line.text[i]
	if strings.IndexByte(c.open, quote) >= 0 {
		return -1
	}
	for i++; i < len(text); i++ {
		switch text[i] {
		case quote:
			return i
		case '\\':
			i++
		}
	}
	c.open += string(quote) // and no other one of its kind does
	return -1
}

// join goes on from the end of a string to the next one, if the two may be
// parts of one. It reports whether a line ends between them, and whether
// something says that they belong together: an operator, or a backslash at the
// end of the line.
func (c *cursor) join() (newLine, explicit, backslash, ok bool) {
	explicit = c.operator()
	if !c.atEnd() && c.line.text[c.i] == '\\' && skipBlanks(c.line.text, c.i+1) == len(c.line.text) {
		explicit, backslash = true, true
		c.i = len(c.line.text)
	}
	if c.atEnd() {
		if !c.nextLine() {
			return false, false, false, false
		}
		newLine = true
		explicit = c.operator() || explicit
	}
	_, _, ok = c.opening()
	return newLine, explicit, backslash, ok
}

// operator passes blanks and the operator that joins strings: + or . or ..
func (c *cursor) operator() bool {
	c.blanks()
	i := c.i
	for c.starts("+") || c.starts(".") {
		c.i++
	}
	found := c.i > i
	c.blanks()
	return found
}

// A chain is a string literal, or several that are joined.
type chain struct {
	unescaped
	first   line
	isBytes bool
	folded  bool // joined with backslashes, as Wireshark does
	guessed bool // joined since they stand on lines of their own
}

// stringLiteral reads the string at the cursor and those that are joined to it.
// It passes all of them, but reports only whether they are a payload.
func (p *parser) stringLiteral(c *cursor) bool {
	quote, isBytes, ok := c.opening()
	if !ok {
		return false
	}
	end := c.closing(quote)
	if end < 0 {
		if single, _ := byteEscapes(c.line.text[quote:]); single >= 2 {
			p.wrong(c.line, quote, "the string is not closed on its line")
		}
		c.i = quote + 1
		return false
	}
	text := c.line.text[quote+1 : end]
	switch {
	case !isBytes && isNested(text, c.line.text[quote]) && p.inside(c, quote+1, end),
		p.base64String(c, quote, end),
		!isBytes && p.hexString(c, quote, end):
		c.i = end + 1
		return true
	}
	ch := chain{first: c.line, isBytes: isBytes}
	open := strings.IndexByte("([{,", c.leading()) >= 0
	assigned := open || c.leading() == '='
	for {
		u := unescape(&c.line, quote+1, end, isBytes)
		if u.wrong >= 0 && (isBytes || ch.bytes+u.bytes >= 2) {
			p.wrong(c.line, u.wrong, "%s", u.note)
			return false
		}
		ch.add(u)
		c.i = end + 1
		if c.line.text[quote] == '`' || len(ch.data) > MaxDatagram {
			break
		}
		next := *c
		newLine, explicit, backslash, ok := next.join()
		if !ok {
			break
		}
		quote, isBytes, _ = next.opening()
		end = next.closing(quote)
		if end < 0 || isBytes != ch.isBytes {
			break
		}
		if newLine && !explicit {
			if isBytes && !open || !isBytes && isQuery(unescape(&next.line, quote+1, end, false).data) {
				break
			}
			ch.guessed = ch.guessed || !assigned
		}
		ch.folded = ch.folded || backslash
		*c = next
	}
	return p.takeChain(&ch)
}

// takeChain takes a string, if it is a payload and not text of some other kind.
func (p *parser) takeChain(ch *chain) bool {
	if ch.wrong >= 0 || len(ch.data) == 0 {
		return false
	}
	d := Datagram{Data: ch.data, Line: ch.first.number, Form: C, Note: ch.note}
	switch {
	case ch.isBytes:
		d.Form = Python
	case ch.folded && ch.escapes == len(ch.data):
		d.Form = Wireshark
	}
	if ch.guessed {
		note(&d.Note, "strings on lines that follow each other were joined")
	}
	query := isQuery(ch.data)
	switch {
	case ch.bytes >= 2, ch.isBytes && (ch.bytes > 0 || query), query && ch.unicode > 0, gameSpyQuery.Match(ch.data):
		p.takeSource(d, true)
	case ch.bytes == 1, ch.isBytes:
		p.takeSource(d, false)
	default:
		return false
	}
	return true
}

// gameSpyQuery matches the payloads that are text: queries of GameSpy 1 and
// 2 and replies to them.
var gameSpyQuery = regexp.MustCompile(`^\\(?:status|info|basic|rules|players|packets|echo|secure|gamename|hostname)\\`)

// isNested reports whether a string holds source text itself.
func isNested(text string, quote byte) bool {
	if quote == '`' {
		return true
	}
	if len(text) < 3 || text[0] != 'b' {
		return false
	}
	return (text[1] == '"' || text[1] == '\'') && text[len(text)-1] == text[1]
}

// byteEscapes returns how many escapes there are in a text that stand for bytes
// (not counting those for terminals) and are not escaped themselves, and how
// many of those that are.
func byteEscapes(text string) (single, double int) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		n := i
		if text[i] == '\\' {
			n++
		}
		if n+2 < len(text) && text[n] == 'x' && isHex(text[n+1]) && isHex(text[n+2]) && text[n+1:n+3] != "1b" {
			if n == i {
				single++
			} else {
				double++
			}
		}
	}
	return single, double
}

// hexString reads a string of hex digits.
func (p *parser) hexString(c *cursor, quote, end int) bool {
	l := c.line
	r := readRun(l.text[:end], quote+1)
	bad := r.words == 0 || r.wrong >= 0 || len(r.digits)%2 != 0
	if strings.IndexByte(l.text[quote:end], '\\') >= 0 || (bad || r.bytes() < shortestList) && c.leading() != '(' {
		return false
	}
	start, kind := lineStart(l.text)
	kind = labelAt(l.text, start, quote, kind)
	if kind == unlabelled || kind == timed {
		kind = named
	}
	if isArgument(l.text[end+1:], "hex") {
		kind = decoder
	}
	switch {
	case kind != decoder && (bad || r.bytes() < shortestList), bad && !isHex(l.text[quote+1]):
		return false
	case bad && r.wrong < 0:
		p.wrong(l, r.start, "%s", oddDigits)
		return true
	case bad:
		where, problem := r.mistake(&l)
		p.wrong(l, where, "%s", problem)
		return true
	}
	sure, ok := r.judge(kind)
	if !ok {
		return false
	}
	d := Datagram{Data: appendHex(nil, r.digits), Line: l.number, Form: PlainHex}
	if name := c.before(quote); strings.Contains(name, "fromhex") || strings.Contains(name, "unhexlify") {
		d.Form = Python
	}
	p.takeSource(d, sure)
	return true
}

// isArgument reports whether what follows a string is another one that names
// its encoding.
func isArgument(rest, encoding string) bool {
	rest = strings.TrimLeft(rest[:min(len(rest), maxLabel)], " \t,")
	return len(rest) > len(encoding)+1 && strings.HasPrefix(rest[1:], encoding) && rest[0] == rest[len(encoding)+1] &&
		(rest[0] == '\'' || rest[0] == '"')
}

// unescaped is what a string with escapes stands for.
type unescaped struct {
	data    []byte
	escapes int    // how many escapes stand for a byte, rather than for a character
	bytes   int    // how many of them count
	unicode int    // how many stand for a code point
	note    string // what was odd, or wrong
	wrong   int    // the column of what is no escape, -1 if there is none
}

func (u *unescaped) add(v unescaped) {
	if len(u.data) == 0 {
		u.wrong = v.wrong
	}
	u.wrong = max(u.wrong, v.wrong)
	u.data = append(u.data, v.data...)
	u.escapes += v.escapes
	u.bytes += v.bytes
	u.unicode += v.unicode
	if u.note == "" {
		u.note = v.note
	}
}

// Single characters behind a backslash, in all languages together. What is not
// among them keeps its backslash, as Python has it.
var simpleEscapes = map[byte]byte{
	'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', 'e': 0x1b,
	'\\': '\\', '\'': '\'', '"': '"', '`': '`', '/': '/', '$': '$',
}

// unescape reads a string from i to j. Escapes with \x have two digits: in C
// they go on as far as there are digits, but those who write payloads do not
// mean that.
func unescape(l *line, i, j int, isBytes bool) unescaped {
	if single, double := byteEscapes(l.text[i:j]); single == 0 && double >= 2 {
		// escaped twice, as in JSON
		single := newLine(l.number, []byte(strings.ReplaceAll(string(l.bytes(i, j)), `\\`, `\`)))
		u := unescape(&single, 0, len(single.text), isBytes)
		if u.wrong >= 0 {
			u.wrong = i
		}
		return u
	}
	u := unescaped{wrong: -1}
	decimal := strings.HasPrefix(l.text[i:j], `\255\255`) || strings.HasPrefix(l.text[i:j], `\254\25`)
	if decimal {
		note(&u.note, `escapes as \255 are taken for decimal, as Lua has them`)
	}
	text := l.text[:j]
	for i < j {
		if text[i] != '\\' || i+1 == j {
			u.data = append(u.data, l.bytes(i, i+1)...)
			i++
			continue
		}
		c := text[i+1]
		n := 0 // how long the escape is
		switch plain, ok := simpleEscapes[c]; {
		case c == 'x':
			n = u.hex(text, i, isBytes)
			if n == 0 {
				u.wrong = i
				u.note = `\x takes two hex digits`
				return u
			}
		case isDigit(c) && (decimal || c < '8'):
			n = u.number(text, i, decimal)
		case (c == 'u' || c == 'U') && !isBytes:
			n = u.codePoint(text, i)
		case ok:
			u.data = append(u.data, plain)
			n = 2
		}
		if n == 0 {
			u.data = append(u.data, l.bytes(i, i+2)...)
			n = 2
		}
		i += n
	}
	return u
}

const escape = 0x1b

// count counts an escape for a byte. Codes for the colours of a terminal do not
// make a string a payload.
func (u *unescaped) count(b byte) {
	u.data = append(u.data, b)
	u.escapes++
	if b != escape {
		u.bytes++
	}
}

// hex reads \xff.
func (u *unescaped) hex(text string, i int, isBytes bool) int {
	const long = len(`\xff`)
	switch n := hexEnd(text, i+2) - i; {
	case n == long-1 && (i+n == len(text) || text[i+n] == '\\'):
		u.count(nibble(text[i+2]))
		return n
	case n < long:
		return 0
	case n > long && !isBytes && u.note == "":
		note(&u.note, `hex digits behind %s are taken for text: C would have them in the escape`, text[i:i+long])
	}
	u.count(nibble(text[i+2])<<4 | nibble(text[i+3]))
	return long
}

// number reads \0 or \377.
func (u *unescaped) number(text string, i int, decimal bool) int {
	const longest = len(`\377`)
	radix, last := 8, byte('7')
	if decimal {
		radix, last = 10, '9'
	}
	value, n := 0, 1
	for n < longest && i+n < len(text) && text[i+n] >= '0' && text[i+n] <= last {
		next := value*radix + int(text[i+n]-'0')
		if next > 0xff {
			break
		}
		value = next
		n++
	}
	if n == longest || value == 0 || decimal {
		u.count(byte(value))
	} else {
		u.data = append(u.data, byte(value)) // as well something of a regular expression
	}
	return n
}

// codePoint reads \u00ff, \u{ff} or \U000000ff.
func (u *unescaped) codePoint(text string, i int) int {
	r, n := readCodePoint(text, i)
	if n == 0 {
		return 0
	}
	if utf16.IsSurrogate(r) {
		if low, m := readCodePoint(text, i+n); m > 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
			r, n = utf16.DecodeRune(r, low), n+m
		}
	}
	u.unicode++
	switch {
	case r < utf8.RuneSelf:
		u.data = append(u.data, byte(r))
	case r <= 0xff:
		u.data = append(u.data, byte(r))
		if u.note == "" {
			note(&u.note, `%s is taken for one byte`, text[i:i+n])
		}
	default:
		u.data = utf8.AppendRune(u.data, r)
	}
	return n
}

func readCodePoint(text string, i int) (r rune, n int) {
	if i+1 >= len(text) || text[i] != '\\' || text[i+1]|0x20 != 'u' {
		return 0, 0
	}
	start, longest := i+2, 4
	braces := start < len(text) && text[start] == '{'
	switch {
	case braces:
		start, longest = start+1, 6
	case text[i+1] == 'U':
		longest = 8
	}
	end := min(hexEnd(text, start), start+longest)
	for _, c := range []byte(text[start:end]) {
		r = r<<4 | rune(nibble(c))
	}
	switch {
	case braces && end > start && end < len(text) && text[end] == '}':
		return r, end + 1 - i
	case !braces && end-start == longest:
		return r, end - i
	}
	return 0, 0
}

// escaped reads the rest of a line that has escapes, but no quotes.
func (p *parser) escaped(l line, i int) bool {
	if single, double := byteEscapes(l.text[i:min(i+5, len(l.text))]); single+double == 0 {
		return false
	}
	end := len(strings.TrimRight(l.text, " \t"))
	u := unescape(&l, i, end, false)
	if u.bytes < 2 {
		return false
	}
	if u.wrong >= 0 {
		p.wrong(l, u.wrong, "%s", u.note)
		return true
	}
	p.takeSource(Datagram{Data: u.data, Line: l.number, Form: C, Note: u.note}, true)
	return true
}
