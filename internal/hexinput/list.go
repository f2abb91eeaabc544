package hexinput

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A list is decimal numbers, hex after 0x and characters between brackets.
type list struct {
	s        string // the text up to which it may go
	at, end  int    // where it begins, and how far it was read
	closed   bool
	data     []byte
	marked   bool // there are values after 0x
	negative bool // there are values below 0, as Java has them
	zeros    bool // there are values such as 05
	commas   bool // there are commas between them
}

// shortestList is how many values a list has that nothing else confirms.
const shortestList = 4

// closing is what closes lists, and strings of hex.
var closing = map[string]string{"[": "]", "{": "}", "(": ")", `"`: `"`, "'": "'", "<Buffer": ">"}

var (
	// opening matches what opens a list or string of hex.
	opening = lazyregexp.New(`(?:<Buffer|[\[{("'])[ \t]*$`)
	// callList matches a call that takes a list in round brackets.
	callList = lazyregexp.New(`(?:\b(?:array|bytes\(|bytearray\()|arrayof)$`)
	// listItem matches a value, with its sign: a character, hex after 0x or a
	// decimal number.
	listItem = lazyregexp.New(`^(?:\((?:unsigned |signed )?(?:byte|char|u?int8(?:_t)?|u8)\) *)?(-?)` +
		`(?:b?'(\\.[0-9a-fA-F]{0,4}|[ -&(-\[\]-~])'|(?:0[xX]([0-9a-fA-F]{1,2})|([0-9]+))(?:_?[ui]8|[uU])?\b)`)
	// namedEnd matches a name that suggests that bytes follow.
	namedEnd = lazyregexp.New(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)["'\])]*[ \t:=]*(?:array)?$`)
)

// list reads the list that begins at i. It returns i if there is none.
func (p *parser) list(i int) (end int, found bool) {
	open := p.s[i : i+1]
	closer, next := closing[open], right(p.s, i+len(open))
	switch {
	case closer == "", i < p.noList, open == "[" && i > 0 && isWord(p.s[i-1]): // the latter is the length of an array
		return i, false
	case next != "" && (open == "(" || next[0] != '(') && strings.IndexByte("([{<\"`)]}>", next[0]) >= 0:
		return i, false // most brackets in a text that is not about lists
	case open == "(" && !callList().MatchString(strings.ToLower(p.s[max(0, i-len("bytearray(_")):i])):
		return i, false
	}
	l := list{s: p.s, at: i, end: i + len(open)}
	if i < p.inside {
		l.s = p.s[:p.inside]
	}
	l.values(closer)
	if len(l.data) > 0 && p.takeList(&l) {
		return l.end, true
	}
	p.noList = l.end // what was skipped holds no other list
	return i, false
}

// values reads the values of a list and what closes it.
func (l *list) values(closer string) {
	for len(l.data) <= MaxDatagram {
		l.gap()
		if l.closed = strings.HasPrefix(l.s[l.end:], closer); l.closed {
			l.end += len(closer)
			return
		}
		rest := right(l.s, l.end)
		if rest == "" || strings.IndexByte("(-'b0123456789", rest[0]) < 0 {
			return
		}
		m := listItem().FindStringSubmatch(rest)
		if m == nil || !l.value(m[1], m[2], m[3], m[4]) {
			return
		}
		l.end += len(m[0])
	}
}

// gap skips what stands between values: blanks, commas, comments and ends of
// lines.
func (l *list) gap() {
	const longest = 512 // of a comment
	for n := -1; n != 0; l.end += n {
		rest := l.s[l.end:]
		n = len(rest) - len(strings.TrimLeft(rest, " \t\n,;"))
		l.commas = l.commas || strings.ContainsAny(rest[:n], ",;")
		switch {
		case n > 0:
		case strings.HasPrefix(rest, "#"), strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			n = len(line)
		case strings.HasPrefix(rest, "/*"):
			if i := strings.Index(rest[2:min(len(rest), longest)], "*/"); i >= 0 {
				n = i + len("/**/")
			}
		}
	}
}

// value adds a value, and reports whether it is a byte.
func (l *list) value(sign, char, hex, decimal string) bool {
	digits, base := decimal, 10
	switch {
	case char != "":
		var u unescaped
		if u.read(char, false); u.wrong >= 0 || len(u.data) != 1 {
			return false
		}
		digits = strconv.Itoa(int(u.data[0]))
	case hex != "":
		digits, base, l.marked = hex, 16, true
	}
	v, err := strconv.ParseUint(digits, base, 8)
	if err != nil || sign != "" && v > 128 {
		return false
	}
	if sign != "" {
		v, l.negative = -v, true
	}
	l.zeros = l.zeros || len(decimal) == 2 && decimal[0] == '0'
	l.data = append(l.data, byte(v))
	return true
}

// takeList takes the values of a list, if they are a payload.
func (p *parser) takeList(l *list) bool {
	n := len(l.data)
	if l.zeros && !l.commas || !l.closed && n < shortestList-1 { // the former is hex
		return false
	}
	before := p.before(l.at)
	query, typed := isQuery(l.data), isTyped(before)
	sure := typed || query || l.marked && n >= 2 || n >= shortestList && (l.negative || namedEnd().MatchString(before))
	switch {
	case !l.closed && (typed || l.marked) && p.badValue(l):
		return true
	case n < shortestList && !(sure && l.closed), !l.closed && !typed && !l.marked && !query:
		return false
	}
	d := Datagram{Data: l.data, at: l.at}
	if !l.closed {
		d.note("the list is not closed: the end may be missing")
		if line := strings.LastIndexByte(l.s[l.at:l.end], '\n'); line >= 0 && l.end < len(l.s) {
			l.end = l.at + line // what is on the last line is something else
		}
	}
	p.take(d, sure)
	return true
}

// isTyped reports whether a text ends with a declaration or a call that says that bytes
// follow.
func isTyped(before string) bool {
	end := before[len(strings.TrimRight(before, `abcdefghijklmnopqrstuvwxyz0123456789_[]&*(){}:,.=!"' `)):]
	return hasAny(end, "byte", "char", "int8", "u8", "buffer", "vec!", "pack")
}

// badValue is the error for a mistake among the values. It reports whether there
// is one: text that follows a list that was cut is not.
func (p *parser) badValue(l *list) bool {
	if len(l.data) > MaxDatagram {
		p.tooLong(l.at)
		return true
	}
	word := firstWord().FindString(right(l.s, l.end))
	if len(l.data) < shortestList-1 || word == "" || !isHex(word[0]) || !strings.ContainsAny(word, "0123456789") && len(word) > 2 {
		return false
	}
	p.wrong(l.end, fmt.Sprintf("%q is no byte", word), true)
	return true
}

var firstWord = lazyregexp.New(`^\w*`)
