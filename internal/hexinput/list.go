package hexinput

import (
	"regexp"
	"strconv"
	"strings"
)

// A list is numbers between brackets.
type list struct {
	line   line
	values int
	// What the values are if they are decimal, and if they are hex without a
	// prefix; nil if they cannot be.
	decimal, hex []byte
	notDecimal   bool
	notHex       bool
	prefixed     bool // there are values behind 0x
	negative     bool // there are values below 0, as Java has them
	zeros        bool // there are values such as 05
	commas       bool
	note         string
}

// typeNames are what tells that a list is one of bytes, before it.
var typeNames = [...]string{"byte", "char", "int8", "u8", "buffer", "vec!", "pack"}

var (
	// namedList matches what stands before a list that is a payload, if it is
	// one of bytes.
	namedList = regexp.MustCompile(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)\b["'\])]*\s*[:=]?\s*(?:array)?$`)
	peerList  = regexp.MustCompile(`\bchar (?:peer\d+_\d+|pkt\d+(?:_\d+)?)\[\d*\] *= *$`)
	moreBytes = regexp.MustCompile(`^\.\.\. ?(\d{1,9}) more (?:bytes?|items?)`)
	castList  = regexp.MustCompile(`^\((?:unsigned |signed )?(?:byte|char|u?int8(?:_t)?|u8)\) *`)
)

// isTyped reports whether a text ends in a declaration or a call that says that
// bytes follow.
func isTyped(before string) bool {
	for _, name := range typeNames {
		if i := strings.LastIndex(before, name); i >= 0 {
			rest := strings.TrimLeft(before[i:], "abcdefghijklmnopqrstuvwxyz_0123456789[]&*(){}:,.=!\"' ")
			if rest == "" {
				return true
			}
		}
	}
	return false
}

// isCall reports whether a text ends in what calls a list of bytes in round
// brackets.
func isCall(before string) bool {
	if before == "" || before[len(before)-1] == 'f' {
		return strings.HasSuffix(before, "arrayof")
	}
	for _, name := range [...]string{"array", "bytes(", "bytearray("} {
		if rest, ok := strings.CutSuffix(before, name); ok && (rest == "" || !isWord(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

// shortestList is how many values a list has that nothing else speaks for.
const shortestList = 4

// bufferList begins what node prints for a Buffer.
const bufferList = "<Buffer "

// list reads the list that begins at the cursor. If there is none, it leaves
// the cursor there.
func (p *parser) list(c *cursor) bool {
	closer, width := c.bracket()
	if width == 0 {
		return false
	}
	next := *c
	next.i += width
	if p.readList(c, &next, closer) {
		*c = next
		return true
	}
	if next.line.number != c.line.number {
		// What was passed holds no other list: it is not read again.
		p.noLists = next.line.number
	}
	return false
}

// readList reads the values of a list and takes them.
func (p *parser) readList(c, next *cursor, closer string) bool {
	l := list{line: c.line, notDecimal: closer == ">"}
	closed, ended := p.values(next, &l, closer)
	if l.values == 0 {
		return false
	}
	before := c.before(c.i)
	typed := closer == ">" || isTyped(before)
	if !closed && (typed || l.prefixed) && p.badValue(&l, next) {
		return true
	}
	data, ok := l.data()
	if !ok {
		return false
	}
	query := isQuery(data)
	if !closed {
		if !typed && !l.prefixed && !query || l.values < shortestList {
			return false
		}
		note(&l.note, "the list is not closed: the end may be missing")
		if !ended && next.line.number != c.line.number {
			*next = cursor{line: c.line, i: len(c.line.text), in: next.here, tail: c.tail}
		}
	}
	d := Datagram{Data: data, Line: l.line.number, Form: C, Note: l.note}
	switch {
	case strings.Contains(before, "bytes(") || strings.Contains(before, "bytearray("):
		d.Form = Python
	case peerList.MatchString(before):
		d.Form = Wireshark
	}
	switch {
	case typed, query, l.prefixed && l.values >= 2, l.values >= shortestList && (l.negative || namedList.MatchString(before)):
		p.takeSource(d, true)
	case l.values >= shortestList:
		p.takeSource(d, false)
	default:
		return false
	}
	return true
}

// bracket returns what ends the list at the cursor, and the width of what begins
// it, 0 if nothing does.
func (c *cursor) bracket() (closer string, width int) {
	switch {
	case c.atEnd():
	case c.starts("[") && (c.i == 0 || !isWord(c.line.text[c.i-1])): // else it is the length of an array
		return "]", 1
	case c.starts("{"):
		return "}", 1
	case c.starts("(") && isCall(c.before(c.i)):
		return ")", 1
	case c.starts(bufferList):
		return ">", len(bufferList)
	case c.starts("<<"):
		return ">>", 2
	}
	return "", 0
}

// values reads the values of a list and what closes it. They may end with the
// input.
func (p *parser) values(c *cursor, l *list, closer string) (closed, ended bool) {
	for l.values <= MaxDatagram {
		if !c.gap(l, c.line.number >= p.noLists) {
			return false, true
		}
		if c.starts(closer) {
			c.i += len(closer)
			return true, false
		}
		rest := c.line.text[c.i:min(len(c.line.text), c.i+maxLabel)]
		if strings.HasPrefix(rest, "...") && l.note == "" {
			if m := moreBytes.FindStringSubmatch(rest); m != nil {
				note(&l.note, "%s more bytes are not shown", m[1])
				c.i += len(m[0])
				continue
			}
		}
		if !c.value(l) {
			break
		}
	}
	return false, false
}

// badValue is the error for what should be a value, after others that were. It
// reports whether there is one: text that follows a list which was cut is none.
func (p *parser) badValue(l *list, c *cursor) bool {
	if l.values > MaxDatagram {
		p.fail(l.line, -1, "a datagram of more than %d bytes", MaxDatagram)
		return true
	}
	text := c.line.text
	end := c.i
	for end < len(text) && end-c.i < maxLabel && isWord(text[end]) {
		end++
	}
	word := text[c.i:end]
	if l.values < shortestList-1 || word == "" || !isHex(word[0]) || !strings.ContainsAny(word, "0123456789") && len(word) > 2 {
		return false
	}
	p.wrong(c.line, c.i, "%q is no byte", c.line.bytes(c.i, end))
	return true
}

// data returns the values as bytes. Where they may be decimal or hex, zeros in
// front and the lack of commas speak for hex.
func (l *list) data() ([]byte, bool) {
	switch {
	case !l.notDecimal && !l.notHex && l.zeros && !l.commas:
		return l.hex, true
	case !l.notDecimal:
		return l.decimal, true
	}
	return l.hex, !l.notHex
}

// gap passes what stands between values: blanks, commas, comments and ends of
// lines, if lines is set. It returns false at the end.
func (c *cursor) gap(l *list, lines bool) bool {
	for {
		c.blanks()
		switch {
		case c.atEnd(), c.starts("//"), c.starts("#"):
			if !lines || !c.nextLine() {
				return false
			}
		case c.starts(","), c.starts(";"):
			l.commas = true
			c.i++
		case c.starts("/*"):
			const longest = 512
			rest := c.line.text[c.i+2 : min(len(c.line.text), c.i+longest)]
			end := strings.Index(rest, "*/")
			if end < 0 {
				return true
			}
			c.i += 2 + end + 2
		default:
			return true
		}
	}
}

// value reads one value of a list.
func (c *cursor) value(l *list) bool {
	rest := c.line.text[c.i:min(len(c.line.text), c.i+maxLabel)]
	at := 0
	if c.starts("(") {
		at = len(castList.FindString(rest))
	}
	negative := at < len(rest) && rest[at] == '-'
	if negative {
		at++
	}
	if at == len(rest) {
		return false
	}
	var decimal, hex byte
	notDecimal, notHex := false, false
	var end int
	switch {
	case rest[at] == '\'' || strings.HasPrefix(rest[at:], "b'"):
		quote := at + strings.IndexByte(rest[at:], '\'')
		lit := cursor{line: c.line, i: c.i + quote}
		close := lit.closing(c.i + quote)
		if close < 0 || close > c.i+maxLabel {
			return false
		}
		u := unescape(&c.line, c.i+quote+1, close, false)
		if u.wrong >= 0 || len(u.data) != 1 {
			return false
		}
		decimal, hex = u.data[0], u.data[0]
		end = close + 1 - c.i
	case hasPrefix0x(rest, at):
		end = hexEnd(rest, at+2)
		digits := rest[at+2 : end]
		if len(digits) == 0 || len(digits) > 2 {
			return false
		}
		v, _ := strconv.ParseUint(digits, 16, 8)
		decimal, hex = byte(v), byte(v)
		l.prefixed = true
		end += len(suffix(rest[end:]))
	default:
		end = hexEnd(rest, at)
		digits := rest[at:end]
		v, err := strconv.ParseUint(digits, 10, 8)
		if decimal = byte(v); err != nil {
			notDecimal = true
		}
		if notHex = len(digits) != 2; !notHex {
			hex = nibble(digits[0])<<4 | nibble(digits[1])
			l.zeros = l.zeros || digits[0] == '0'
		}
		if !notDecimal {
			end += len(suffix(rest[end:]))
		}
	}
	if negative {
		if notHex = true; decimal > 128 {
			return false
		}
		l.negative = true
		decimal = -decimal
	}
	if end < len(rest) && isWord(rest[end]) || (l.notDecimal || notDecimal) && (l.notHex || notHex) {
		return false
	}
	l.notDecimal, l.notHex = l.notDecimal || notDecimal, l.notHex || notHex
	l.decimal, l.hex = append(l.decimal, decimal), append(l.hex, hex)
	l.values++
	c.i += end
	return true
}

// suffix returns the type of a number, as C and Rust write it.
func suffix(text string) string {
	for _, s := range [...]string{"_u8", "u8", "_i8", "i8", "U", "u"} {
		if strings.HasPrefix(text, s) {
			return s
		}
	}
	return ""
}
