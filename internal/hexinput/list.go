package hexinput

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A list is numbers between brackets.
type list struct {
	line line
	// What the values are if they are decimal, and if they are hex without a
	// prefix.
	decimal, hex       []byte
	notDecimal, notHex bool
	prefixed           bool // there are values after 0x
	negative           bool // there are values below 0, as Java has them
	zeros              bool // there are values such as 05
	commas             bool
	note               string
}

func (l *list) values() int { return len(l.decimal) }

// typeNames are what tells that a list is one of bytes, before it.
var typeNames = [...]string{"byte", "char", "int8", "u8", "buffer", "vec!", "pack"}

var (
	// namedList matches what stands before a list that is a payload, if it is
	// one of bytes.
	namedList = regexp.MustCompile(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)\b["'\])]*\s*[:=]?\s*(?:array)?$`)
	peerList  = regexp.MustCompile(`\bchar (?:peer\d+_\d+|pkt\d+(?:_\d+)?)\[\d*\] *= *$`)
	moreBytes = regexp.MustCompile(`^\.\.\. ?(\d{1,9}) more (?:bytes?|items?)`)
	// listValue matches a value: its sign; a character, hex after 0x, a decimal
	// number or hex digits; and what follows it.
	listValue = regexp.MustCompile(`^(?:\((?:unsigned |signed )?(?:byte|char|u?int8(?:_t)?|u8)\) *)?(-?)` +
		`(?:b?'((?:\\.)?[^'\\]*)'|(?:0[xX]([0-9a-fA-F]{1,2})|([0-9]+))(?:_?[ui]8|[uU])?|([0-9a-fA-F]+))(\W|$)`)
)

// isTyped reports whether a text ends in a declaration or a call that says that
// bytes follow.
func isTyped(before string) bool {
	for _, name := range typeNames {
		if i := strings.LastIndex(before, name); i >= 0 && strings.Trim(before[i:], "abcdefghijklmnopqrstuvwxyz_0123456789[]&*(){}:,.=!\"' ") == "" {
			return true
		}
	}
	return false
}

// isCall reports whether a text ends in what calls a list of bytes in round
// brackets.
func isCall(before string) bool {
	for _, name := range [...]string{"array", "bytes(", "bytearray("} {
		if rest, ok := strings.CutSuffix(before, name); ok && (rest == "" || !isWord(rest[len(rest)-1])) {
			return true
		}
	}
	return strings.HasSuffix(before, "arrayof")
}

// shortestList is how many values a list has that nothing else speaks for.
const shortestList = 4

// closers are what ends a list, by what begins it: the one of < is what node
// prints for a Buffer.
var closers = [...][2]string{{"[", "]"}, {"{", "}"}, {"(", ")"}, {"<Buffer ", ">"}, {"<<", ">>"}}

// list reads the list that begins at the cursor. If there is none, it leaves
// the cursor there.
func (p *parser) list(c *cursor) bool {
	for _, b := range closers {
		if c.atEnd() || !c.starts(b[0]) {
			continue
		}
		if b[0] == "[" && c.i > 0 && isWord(c.line.text[c.i-1]) || b[0] == "(" && !isCall(c.before(c.i)) {
			return false // the length of an array, or a call of something else
		}
		next := *c
		next.i += len(b[0])
		if p.readList(c, &next, b[1]) {
			*c = next
			return true
		}
		// What was passed holds no other list: it is not read again.
		if next.line.number != c.line.number {
			p.noLists = next.line.number
		}
	}
	return false
}

// readList reads the values of a list and takes them.
func (p *parser) readList(c, next *cursor, closer string) bool {
	l := list{line: c.line, notDecimal: closer == ">"}
	closed, ended := p.values(next, &l, closer)
	if l.values() == 0 {
		return false
	}
	before := c.before(c.i)
	typed := closer == ">" || isTyped(before)
	if !closed && (typed || l.prefixed) && p.badValue(&l, next) {
		return true
	}
	data, ok := l.data()
	query := isQuery(data)
	n := l.values()
	sure := typed || query || l.prefixed && n >= 2 || n >= shortestList && (l.negative || namedList.MatchString(before))
	switch {
	case !ok, !sure && n < shortestList, !closed && (!typed && !l.prefixed && !query || n < shortestList):
		return false
	case !closed:
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
	p.take(d, sure)
	return true
}

// values reads the values of a list and what closes it. They may end with the
// input.
func (p *parser) values(c *cursor, l *list, closer string) (closed, ended bool) {
	for l.values() <= MaxDatagram {
		if !c.gap(l, c.line.number >= p.noLists) {
			return false, true
		}
		if c.starts(closer) {
			c.i += len(closer)
			return true, false
		}
		if c.starts("...") && l.note == "" {
			if m := moreBytes.FindStringSubmatch(c.rest()); m != nil {
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

// rest returns the text at the cursor, as much of it as a value may have.
func (c *cursor) rest() string { return c.line.text[c.i:min(len(c.line.text), c.i+maxLabel)] }

// badValue is the error for what should be a value, after others that were. It
// reports whether there is one: text that follows a list which was cut is none.
func (p *parser) badValue(l *list, c *cursor) bool {
	if l.values() > MaxDatagram {
		p.tooLong(l.line)
		return true
	}
	rest := c.rest()
	word := rest[:len(rest)-len(strings.TrimLeft(rest, wordBytes))]
	if l.values() < shortestList-1 || word == "" || !isHex(word[0]) || !strings.ContainsAny(word, "0123456789") && len(word) > 2 {
		return false
	}
	p.wrong(c.line, c.i, fmt.Sprintf("%q is no byte", c.line.bytes(c.i, c.i+len(word))), true)
	return true
}

// data returns the values as bytes. Where they may be decimal or hex, zeros in
// front and the lack of commas speak for hex.
func (l *list) data() ([]byte, bool) {
	if !l.notDecimal && (l.notHex || !l.zeros || l.commas) {
		return l.decimal, true
	}
	return l.hex, !l.notHex
}

// gap passes what stands between values: blanks, commas, comments and ends of
// lines, if lines is set. It returns false at the end.
func (c *cursor) gap(l *list, lines bool) bool {
	for {
		c.i = skipBlanks(c.line.text, c.i)
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
			end := strings.Index(c.line.text[c.i:min(len(c.line.text), c.i+longest)], "*/")
			if end < 0 {
				return true
			}
			c.i += end + 2
		default:
			return true
		}
	}
}

// value reads one value of a list.
func (c *cursor) value(l *list) bool {
	rest := c.rest()
	if rest == "" || !isHex(rest[0]) && strings.IndexByte("(-'", rest[0]) < 0 {
		return false
	}
	m := listValue.FindStringSubmatchIndex(rest)
	if m == nil {
		return false
	}
	group := func(n int) string { return rest[max(0, m[2*n]):max(0, m[2*n+1])] }
	var decimal, hex byte
	notDecimal, notHex := false, false
	switch digits := group(4) + group(5); {
	case m[4] >= 0:
		var u unescaped
		if u.read(&c.line, c.i+m[4], c.i+m[5], false); u.wrong != "" || len(u.data) != 1 {
			return false
		}
		decimal, hex = u.data[0], u.data[0]
	case m[6] >= 0:
		v, _ := strconv.ParseUint(group(3), 16, 8)
		decimal, hex = byte(v), byte(v)
		l.prefixed = true
	default:
		v, err := strconv.ParseUint(digits, 10, 8)
		decimal, notDecimal = byte(v), err != nil
		if notHex = len(digits) != 2; !notHex {
			hex = appendHex(nil, digits)[0]
			l.zeros = l.zeros || digits[0] == '0'
		}
	}
	if group(1) != "" {
		if decimal > 128 {
			return false
		}
		decimal, notHex, l.negative = -decimal, true, true
	}
	if (l.notDecimal || notDecimal) && (l.notHex || notHex) {
		return false
	}
	l.notDecimal, l.notHex = l.notDecimal || notDecimal, l.notHex || notHex
	l.decimal, l.hex = append(l.decimal, decimal), append(l.hex, hex)
	c.i += m[12]
	return true
}
