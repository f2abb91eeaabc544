package hexinput

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A list is numbers between brackets.
type list struct {
	s       string // the text up to which it may go
	at, end int    // where it begins, and how far it was read
	closed  bool
	// The values if they are decimal, and if they are hex without a prefix.
	decimal, hex       []byte
	notDecimal, notHex bool
	marked             bool // there are values after 0x
	negative           bool // there are values below 0, as Java has them
	zeros              bool // there are values such as 05
	commas             bool
	more               string // how many bytes are not shown
}

// shortestList is how many values a list has that nothing else confirms.
const shortestList = 4

// brackets are what lists stand between. Angles are what node prints for a
// Buffer, and Erlang.
var brackets = [...]struct{ open, close string }{{"[", "]"}, {"{", "}"}, {"(", ")"}, {"<Buffer ", ">"}, {"<<", ">>"}}

var (
	// typedList matches a declaration or a call before a list of bytes, callList
	// what calls one in round brackets, namedList a name that suggests one.
	typedList = regexp.MustCompile(`(?:byte|char|int8|u8|buffer|vec!|pack)[a-z0-9_\[\]&*(){}:,.=!"' ]*$`)
	callList  = regexp.MustCompile(`(?:\b(?:array|bytes\(|bytearray\()|arrayof)$`)
	namedList = regexp.MustCompile(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)\b["'\])]*\s*[:=]?\s*(?:array)?$`)
	peerList  = regexp.MustCompile(`\bchar (?:peer\d+_\d+|pkt\d+(?:_\d+)?)\[\d*\] *= *$`)
	moreBytes = regexp.MustCompile(`^\.\.\. ?(\d{1,9}) more (?:bytes?|items?)`)
	// listValue matches a value: its sign; a character, hex after 0x, a decimal
	// number or hex digits; and what follows it.
	listValue = regexp.MustCompile(`^(?:\((?:unsigned |signed )?(?:byte|char|u?int8(?:_t)?|u8)\) *)?(-?)` +
		`(?:b?'((?:\\.)?[^'\\]*)'|(?:0[xX]([0-9a-fA-F]{1,2})|([0-9]+))(?:_?[ui]8|[uU])?|([0-9a-fA-F]+))(\W|$)`)
)

// list reads the list that begins at i. It returns i if there is none.
func (p *parser) list(i, limit int) (end int, found bool) {
	for _, b := range brackets {
		if i < p.noLists || !strings.HasPrefix(p.s[i:limit], b.open) || b.open == "[" && i > 0 && isWord(p.s[i-1]) {
			continue // the latter is the length of an array
		}
		l := list{at: i, end: i + len(b.open), s: p.s[:limit], notDecimal: b.close == ">"}
		p.values(&l, b.close)
		if len(l.decimal) > 0 && p.takeList(&l, b.open) {
			return l.end, true
		}
		p.noLists = l.end // what was skipped holds no other list
	}
	return i, false
}

// values reads the values of a list and what closes it.
func (p *parser) values(l *list, closer string) {
	for len(l.decimal) <= MaxDatagram {
		l.gap()
		if l.closed = strings.HasPrefix(l.s[l.end:], closer); l.closed {
			l.end += len(closer)
			return
		}
		rest := right(l.s, l.end)
		if m := moreBytes.FindStringSubmatch(rest); m != nil && l.more == "" {
			l.more = m[1]
			l.end += len(m[0])
		} else if n := p.value(l, rest); n > 0 {
			l.end += n
		} else {
			return
		}
	}
}

// takeList takes the values of a list, if they are a payload.
func (p *parser) takeList(l *list, open string) bool {
	before := p.before(l.at)
	if open == "(" && !callList.MatchString(before) {
		return false
	}
	n := len(l.decimal)
	typed := open == "<Buffer " || typedList.MatchString(before)
	if !l.closed && (typed || l.marked) && p.badValue(l) {
		return true
	}
	data, ok := l.data()
	query := isQuery(data)
	sure := typed || query || l.marked && n >= 2 || n >= shortestList && (l.negative || namedList.MatchString(before))
	if !ok || !sure && n < shortestList || !l.closed && (!typed && !l.marked && !query || n < shortestList) {
		return false
	}
	d := Datagram{Data: data, at: l.at, Form: C}
	switch {
	case strings.Contains(before, "bytes(") || strings.Contains(before, "bytearray("):
		d.Form = Python
	case peerList.MatchString(before):
		d.Form = Wireshark
	}
	if l.more != "" {
		d.note("%s more bytes are not shown", l.more)
	}
	if !l.closed {
		d.note("the list is not closed: the end may be missing")
		if line := strings.LastIndexByte(l.s[l.at:l.end], '\n'); line >= 0 && l.end < len(l.s) {
			l.end = l.at + line // what is on the last line is something else
		}
	}
	p.take(d, sure)
	return true
}

// badValue is the error for a mistake among the values. It reports whether there
// is one: text that follows a list that was cut is not.
func (p *parser) badValue(l *list) bool {
	if len(l.decimal) > MaxDatagram {
		p.tooLong(l.at)
		return true
	}
	word := firstWord.FindString(right(l.s, l.end))
	if len(l.decimal) < shortestList-1 || word == "" || !isHex(word[0]) || !strings.ContainsAny(word, "0123456789") && len(word) > 2 {
		return false
	}
	p.wrong(l.end, fmt.Sprintf("%q is no byte", word), true)
	return true
}

var firstWord = regexp.MustCompile(`^\w*`)

// data returns the values as bytes. Where they may be decimal or hex, leading
// zeros and the lack of commas speak for hex.
func (l *list) data() ([]byte, bool) {
	if !l.notDecimal && (l.notHex || !l.zeros || l.commas) {
		return l.decimal, true
	}
	return l.hex, !l.notHex
}

// gap skips what stands between values: blanks, commas, comments and ends of
// lines.
func (l *list) gap() {
	for l.end < len(l.s) {
		rest := l.s[l.end:]
		switch c := rest[0]; {
		case isBlank(c) || c == '\n':
			l.end++
		case c == ',' || c == ';':
			l.commas = true
			l.end++
		case c == '#' || strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			l.end += len(line)
		case strings.HasPrefix(rest, "/*"):
			const longest = 512
			end := strings.Index(rest[:min(len(rest), longest)], "*/")
			if end < 0 {
				return
			}
			l.end += end + len("*/")
		default:
			return
		}
	}
}

// value reads the value that a list continues with, and returns its length; 0 if
// there is none.
func (p *parser) value(l *list, rest string) int {
	if rest == "" || !isHex(rest[0]) && strings.IndexByte("(-'", rest[0]) < 0 {
		return 0
	}
	m := listValue.FindStringSubmatchIndex(rest)
	if m == nil {
		return 0
	}
	group := func(n int) string { return rest[max(0, m[2*n]):max(0, m[2*n+1])] }
	var decimal, hex byte
	notDecimal, notHex := false, false
	switch digits := group(4) + group(5); {
	case m[4] >= 0:
		var u unescaped
		if u.read(string(p.original(l.end+m[4], l.end+m[5])), false); u.wrong >= 0 || len(u.data) != 1 {
			return 0
		}
		decimal, hex = u.data[0], u.data[0]
	case m[6] >= 0:
		v, _ := strconv.ParseUint(group(3), 16, 8)
		decimal, hex = byte(v), byte(v)
		l.marked = true
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
			return 0
		}
		decimal, notHex, l.negative = -decimal, true, true
	}
	if (l.notDecimal || notDecimal) && (l.notHex || notHex) {
		return 0
	}
	l.notDecimal, l.notHex = l.notDecimal || notDecimal, l.notHex || notHex
	l.decimal, l.hex = append(l.decimal, decimal), append(l.hex, hex)
	return m[12]
}
