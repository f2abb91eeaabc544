package hexinput

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A list is decimal numbers, hex after 0x and characters between brackets.
type list struct {
	s        string // the text up to which it may go
	at, end  int    // where it begins, and how far it was read
	closed   bool
	data     []byte
	marked   bool   // there are values after 0x
	negative bool   // there are values below 0, as Java has them
	zeros    bool   // there are values such as 05
	commas   bool   // there are commas between them
	more     string // how many bytes are not shown
}

// shortestList is how many values a list has that nothing else confirms.
const shortestList = 4

// brackets are what lists stand between. Angles are those of Erlang.
var brackets = [...]struct{ open, close string }{{"[", "]"}, {"{", "}"}, {"(", ")"}, {"<<", ">>"}}

var (
	// typedList matches a declaration or a call before a list of bytes, callList
	// what calls one in round brackets, namedList a name that suggests one.
	typedList = regexp.MustCompile(`(?:byte|char|int8|u8|buffer|vec!|pack)[a-z0-9_\[\]&*(){}:,.=!"' ]*$`)
	callList  = regexp.MustCompile(`(?:\b(?:array|bytes\(|bytearray\()|arrayof)$`)
	namedList = regexp.MustCompile(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)\b["'\])]*\s*[:=]?\s*(?:array)?$`)
	moreBytes = regexp.MustCompile(`^\.\.\. ?(\d{1,9}) more (?:bytes?|items?)`)
	// listValue matches a value: its sign; a character, hex after 0x or a decimal
	// number; and what follows it.
	listValue = regexp.MustCompile(`^(?:\((?:unsigned |signed )?(?:byte|char|u?int8(?:_t)?|u8)\) *)?(-?)` +
		`(?:b?'((?:\\.)?[^'\\]*)'|0[xX]([0-9a-fA-F]{1,2})|([0-9]+))(?:_?[ui]8|[uU])?(\W|$)`)
)

// list reads the list that begins at i. It returns i if there is none.
func (p *parser) list(i int) (end int, found bool) {
	for _, b := range brackets {
		if i < p.noList || !strings.HasPrefix(p.s[i:], b.open) || b.open == "[" && i > 0 && isWord(p.s[i-1]) {
			continue // the latter is the length of an array
		}
		l := list{s: p.s, at: i, end: i + len(b.open)}
		if i < p.inside {
			l.s = p.s[:p.inside]
		}
		p.values(&l, b.close)
		if len(l.data) > 0 && p.takeList(&l, b.open) {
			return l.end, true
		}
		p.noList = l.end // what was skipped holds no other list
	}
	return i, false
}

// values reads the values of a list and what closes it.
func (p *parser) values(l *list, closer string) {
	for len(l.data) <= MaxDatagram {
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
	n, query, typed := len(l.data), isQuery(l.data), typedList.MatchString(before)
	sure := typed || query || l.marked && n >= 2 || n >= shortestList && (l.negative || namedList.MatchString(before))
	switch {
	case open == "(" && !callList.MatchString(before), l.zeros && !l.commas: // the latter is hex
		return false
	case !l.closed && (typed || l.marked) && p.badValue(l):
		return true
	case n < shortestList && !(sure && l.closed), !l.closed && !typed && !l.marked && !query:
		return false
	}
	d := Datagram{Data: l.data, at: l.at}
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
	if len(l.data) > MaxDatagram {
		p.tooLong(l.at)
		return true
	}
	word := firstWord.FindString(right(l.s, l.end))
	if len(l.data) < shortestList-1 || word == "" || !isHex(word[0]) || !strings.ContainsAny(word, "0123456789") && len(word) > 2 {
		return false
	}
	p.wrong(l.end, fmt.Sprintf("%q is no byte", word), true)
	return true
}

var firstWord = regexp.MustCompile(`^\w*`)

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
	m := listValue.FindStringSubmatchIndex(rest)
	if m == nil {
		return 0
	}
	group := func(n int) string { return rest[max(0, m[2*n]):max(0, m[2*n+1])] }
	var u unescaped
	digits, radix := group(4), 10
	switch {
	case m[4] >= 0:
		if u.read(string(p.original(l.end+m[4], l.end+m[5])), false); u.wrong >= 0 || len(u.data) != 1 {
			return 0
		}
		digits = strconv.Itoa(int(u.data[0]))
	case m[6] >= 0:
		digits, radix, l.marked = group(3), 16, true
	}
	v, err := strconv.ParseUint(digits, radix, 8)
	if negative := group(1) != ""; negative {
		l.negative = true
		if v > 128 {
			return 0
		}
		v = -v
	}
	if err != nil {
		return 0
	}
	l.zeros = l.zeros || radix == 10 && len(digits) == 2 && digits[0] == '0'
	l.data = append(l.data, byte(v))
	return m[10]
}
