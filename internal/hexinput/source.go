package hexinput

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// scan reads the literals, lists, base64 and hex on a line that holds other things as well. They may go on in the lines after it.
func (p *parser) scan(l line) (found bool) {
	for i := l.begin(); i < p.at && p.err == nil; {
		end, ok := i, false
		c := p.s[i]
		word := i == l.begin() || i > 0 && strings.IndexByte(" \t:=<>[](){}\"'`,;|", p.s[i-1]) >= 0
		switch {
		case c == '"' || c == '\'' || c == '`':
			end, ok = p.literal(l, i)
		case c == '\\' && word && !found:
			if end, ok = p.unquoted(l, i); !ok {
				end, ok = p.hexAt(l, i)
			}
		case strings.IndexByte("[{(", c) >= 0:
			end, ok = p.list(i)
		case c == '/' && word:
			end, ok = p.base64Word(i)
		case isHex(c) && word:
			end, ok = p.hexAt(l, i)
		}
		found = found || ok
		for i = max(end, i+1); p.at < i; p.at = p.after(p.at) { // it went on in other lines
			l = p.lineAt(p.at)
		}
	}
	return found || p.err != nil
}

// hexAt reads the run at i of a line.
func (p *parser) hexAt(l line, i int) (end int, found bool) {
	return p.hex(l, i, l.start+len(l.text), labelOf(p.s[max(l.begin(), i-window):i]))
}

// quoted matches a string in its quotes, and the b before those of Python and Rust for bytes.
var quoted = lazyregexp.New(`^([bB]?)(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|` + "`([^`\n]*)`)")

// joint matches what stands between two strings that are one: nothing, an operator, and the end of the line.
var joint = lazyregexp.New(`^[ \t]*[+.]?[ \t]*(\\?[ \t]*\n)?[ \t]*[+.]?[ \t]*`)

// A literal is a string, with what is joined to it.
type literal struct {
	data    []byte
	escapes int  // how many stand for bytes
	bytes   bool // a string of bytes
	start   int  // where it begins, with its b
	end     int
}

// read reads the string at i, and where what is between its quotes lies.
func (p *parser) read(s *literal, i int) (from, to int, ok bool) {
	m := quoted().FindStringSubmatchIndex(p.s[i:min(len(p.s), i+4*MaxDatagram+8)])
	if m == nil {
		return 0, 0, false
	}
	s.bytes, s.end = m[3] > m[2], i+m[1]
	for k := 4; k < len(m); k += 2 {
		if m[k] >= 0 {
			from, to = i+m[k], i+m[k+1]
		}
	}
	return from, to, true
}

// literal reads the string that begins at i and those that are joined to it. If they are no payload, what is in the string may
// be one: then it returns i.
func (p *parser) literal(l line, i int) (end int, found bool) {
	s := literal{start: i}
	if i > 0 && p.s[i-1]|0x20 == 'b' && (i == 1 || !isWord(p.s[i-2])) {
		s.start--
	}
	if s.start == i && i > 0 && (isWord(p.s[i-1]) && p.s[i] != '"' || p.s[i-1] == '\\') {
		return i, false
	}
	from, to, ok := p.read(&s, s.start)
	if i < p.noString {
		return i, false
	}
	if !ok {
		line := p.lineAt(i).text
		if single, _ := byteEscapes(line); single >= 2 {
			p.wrong(i, "the string is not closed on its line", true)
		}
		return i, false
	}
	if p.base64String(s.start, from, to) {
		return s.end, true
	}
	r := readRun(p.s[:to], from)
	if text := p.s[from:to]; (text == "" || !isHex(text[0])) && !s.bytes && p.s[i] != '`' && !strings.Contains(text, `\`) && !isQuery([]byte(text)) {
		return i, false
	}
	kind := labelOf(p.s[max(l.begin(), from-window):from])
	if argument := strings.TrimLeft(right(p.s, to+1), " \t,"); strings.HasPrefix(argument, "'hex'") || strings.HasPrefix(argument, `"hex"`) {
		kind = decoder
	}
	if p.s[i] != '`' && !s.bytes && !r.escaped && (kind == decoder && from < to && isHex(p.s[from]) || r.ends() && r.bytes() >= shortestList) {
		if _, found = p.hex(l, from, to, kind); found {
			return s.end, true
		}
	}
	before := strings.TrimRight(left(p.s, s.start), " \t\n")
	opened := before != "" && strings.IndexByte("([{=", before[len(before)-1]) >= 0 // it may go on in another line
	if p.s[i] == '`' && strings.ContainsAny(p.s[from:to], `"'`) || !s.bytes && strings.HasPrefix(p.s[from:to], "b") && strings.ContainsAny(p.s[from:min(to, from+2)], `"'`) {
		return i, false
	}
	for next := s; ok; {
		if wrong := s.add(p.s[from:to]); wrong >= 0 {
			if !s.bytes && s.escapes < 2 {
				return i, false
			}
			p.wrong(from+wrong, `\x takes two hex digits`, true)
			return s.end, true
		}
		gap := joint().FindStringSubmatch(right(p.s, s.end))
		next.start = s.end + len(gap[0])
		if from, to, ok = p.read(&next, next.start); !ok || next.bytes != s.bytes || len(s.data) > MaxDatagram {
			break
		}
		if gap[1] != "" && !strings.ContainsAny(gap[0], `+.\`) { // on the next line
			var other literal
			if other.add(p.s[from:to]); s.bytes && !opened || !s.bytes && isQuery(other.data) {
				break
			}
		}
		s.end = next.end
	}
	return p.takeLiteral(&s, i)
}

// takeLiteral takes a string if it is a payload.
func (p *parser) takeLiteral(s *literal, i int) (end int, found bool) {
	query := isQuery(s.data)
	sure := s.escapes >= 2 || s.bytes && (s.escapes > 0 || query) || gameSpyQuery().Match(s.data)
	if len(s.data) == 0 || !sure && s.escapes == 0 && !s.bytes {
		p.noString = s.end
		return i, false
	}
	p.take(Datagram{Data: s.data, at: i}, sure)
	return s.end, true
}

// unquoted reads escapes that stand without quotes up to the end of the line.
func (p *parser) unquoted(l line, i int) (end int, found bool) {
	s := literal{end: l.start + len(l.text)}
	if i < p.noEscape {
		return i, false
	}
	p.noEscape = s.end
	if text := strings.TrimRight(p.s[i:s.end], blanks); s.add(text) >= 0 || s.escapes < 2 || readRun(text, 0).ends() {
		return i, false
	}
	return p.takeLiteral(&s, i)
}

// gameSpyQuery matches the payloads that are text: queries of GameSpy 1 and 2 and replies to them.
var gameSpyQuery = lazyregexp.New(`^\\(?:status|info|basic|rules|players|packets|echo|secure|gamename|hostname)\\`)

// byteEscape matches an escape, with what is before it if it is escaped itself, and its digits if it stands for a byte.
var byteEscape = lazyregexp.New(`\\(\\?)x([0-9a-fA-F]{2})|\\.`)

// byteEscapes counts the escapes in a text that stand for bytes (those for terminals excepted) and are not escaped themselves,
// and those that are. It does not count beyond a few.
func byteEscapes(text string) (single, double int) {
	for _, m := range byteEscape().FindAllStringSubmatch(text, 1000) {
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

// escape matches an escape: its digits in hex or in octal, or a single character, and the text before the next one.
var escape = lazyregexp.New(`(?s)[^\\]+|\\(?:x([0-9a-fA-F]{0,2})|u00([0-9a-fA-F]{2})|([0-3][0-7]{2}|[0-7]{1,2})|(.?))`)

// Single characters after a backslash, in all languages together, and what they stand for. Before any other the backslash
// remains, as in Python.
const (
	escapeNames = `nrtabfve\'"` + "`/$"
	escapeBytes = "\n\r\t\a\b\f\v\x1b\\'\"`/$"
)

// add adds a string. Escapes with \x have two digits: in C they go on as far as there are digits, but those who write payloads
// do not mean that. It returns where an escape is wrong, -1 if none is.
func (s *literal) add(text string) (wrong int) {
	if single, double := byteEscapes(text); single == 0 && double >= 2 { // escaped twice, as in JSON
		return min(0, s.add(strings.ReplaceAll(text, `\\`, `\`)))
	}
	i := 0
	for _, m := range escape().FindAllStringSubmatch(text, -1) {
		i += len(m[0])
		switch {
		case strings.HasPrefix(m[0], `\x`) && (m[1] == "" || len(m[1]) == 1 && i < len(text) && text[i] != '\\'):
			return i - len(m[0])
		case m[1]+m[2] != "":
			s.count(m[1]+m[2], 16)
		case m[3] != "":
			s.count(m[3], 8)
		case m[4] != "" && strings.Contains(escapeNames, m[4]):
			s.data = append(s.data, escapeBytes[strings.Index(escapeNames, m[4])])
		default:
			s.data = append(s.data, m[0]...)
		}
	}
	return -1
}

// count adds an escape for a byte. Codes for the colours of a terminal, and references of regular expressions, do not make a
// string a payload.
func (s *literal) count(digits string, base int) {
	v, _ := strconv.ParseUint(digits, base, 8)
	if s.data = append(s.data, byte(v)); v != 0x1b && (base == 16 || len(digits) == 3 || v == 0) {
		s.escapes++
	}
}

const (
	// shortestList is how many values a list has that nothing else confirms.
	shortestList = 4
	// longestRoundEnd is how much of a text roundEnd depends on: bytearray( and the character before it.
	longestRoundEnd = 11
)

var (
	// listItem matches a value of a list, with its sign: a character, hex after 0x or a decimal number.
	listItem = lazyregexp.New(`^(?:\((?:byte|char|u?int8(?:_t)?|u8)\) *)?(-?)(?:b?'(\\.[0-9a-fA-F]{0,4}|[^'\\\n])'|0[xX]([0-9a-fA-F]{1,2})\b|([0-9]+)(?:_?[ui]8|[uU])?\b|0[xX]([0-9a-fA-F]{1,2})(?:_?[ui]8|[uU]))`)
	// listGap matches what stands between values: blanks, commas and comments.
	listGap = lazyregexp.New(`^(?:[ \t\n,;]+|//[^\n]*|#[^\n]*|/\*.{0,200}?\*/)*`)
	// roundEnd matches a call that takes bytes in round brackets, namedEnd a name that suggests that bytes follow.
	roundEnd = lazyregexp.New(`(?:\b(?:array|bytes\(|bytearray\()|arrayof)$`)
	namedEnd = lazyregexp.New(`\b(?:payload|packet|datagram|request|response|reply|query|data|raw|message|msg)["'\])]*[ \t:=]*(?:array)?$`)
)

// list reads the list that begins at i: decimal numbers, hex after 0x and characters between brackets. It returns i if there is none.
func (p *parser) list(i int) (end int, found bool) {
	before := left(p.s, i)
	before = strings.ToLower(before[strings.LastIndexByte(before, '\n')+1:])
	if i < p.noList || p.s[i] == '[' && i > 0 && isWord(p.s[i-1]) || p.s[i] == '(' && !roundEnd().MatchString(before[max(0, len(before)-longestRoundEnd):]) { // the second is the length of an array
		return i, false
	}
	var data []byte
	marked, negative, commas, zeros := false, false, false, false
	last := 0
	for end = i + 1; len(data) <= MaxDatagram; {
		gap := listGap().FindString(p.s[end:])
		commas = commas || strings.ContainsAny(gap, ",;")
		end += len(gap)
		m := listItem().FindStringSubmatch(right(p.s, end))
		if m == nil {
			break
		}
		v, ok := valueOf(m[1], m[2], cmp.Or(m[3], m[5]), m[4])
		if !ok {
			break
		}
		marked, negative = marked || m[3]+m[5] != "", negative || m[1] != ""
		zeros = zeros || len(m[4]) == 2 && m[4][0] == '0'
		data = append(data, v)
		end += len(m[0])
		last = end
	}
	p.noList = end // what was skipped holds no other list
	closed := end < len(p.s) && p.s[end] == map[byte]byte{'[': ']', '{': '}', '(': ')'}[p.s[i]]
	query, typed := isQuery(data), isTyped(before)
	sure := typed || query || marked && len(data) >= 2 || len(data) >= shortestList && (negative || namedEnd().MatchString(before))
	switch word := firstWord().FindString(right(p.s, end)); {
	case len(data) == 0, zeros && !commas: // the latter is hex
		return i, false
	case !closed && (typed || marked) && len(data) >= shortestList-1 && word != "" && isDigit(word[0]):
		p.wrong(end, fmt.Sprintf("%q is no byte", word), true)
		return end, true
	case closed:
		end++
	case !sure || len(data) < shortestList-1:
		return i, false
	default:
		end = last
	}
	if len(data) < shortestList && !sure {
		return i, false
	}
	d := Datagram{Data: data, at: i}
	if !closed {
		d.note("the list is not closed: the end may be missing")
	}
	p.take(d, sure)
	return end, true
}

// isTyped reports whether a text ends with a declaration or a call that says that bytes follow.
func isTyped(before string) bool {
	end := before[len(strings.TrimRight(before, `abcdefghijklmnopqrstuvwxyz0123456789_[]&*(){}:,.=!"' `)):]
	return slices.ContainsFunc([]string{"byte", "char", "int8", "u8", "buffer", "vec!", "pack"}, func(word string) bool { return strings.Contains(end, word) })
}

var firstWord = lazyregexp.New(`^\w*`)

// valueOf returns a value of a list, and reports whether it is a byte.
func valueOf(sign, char, hex, decimal string) (byte, bool) {
	digits, base := decimal, 10
	switch {
	case char != "":
		var s literal
		if s.add(char) >= 0 || len(s.data) != 1 {
			return 0, false
		}
		return s.data[0], true
	case hex != "":
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, 8)
	if err != nil || sign != "" && v > 128 {
		return 0, false
	}
	if sign != "" {
		v = -v
	}
	return byte(v), true
}

// shortestBase64 is how long a word must be to be taken for base64.
const shortestBase64 = 8

var (
	base64Word = lazyregexp.New(`^[A-Za-z0-9+/]+={0,2}`)
	base64Line = lazyregexp.New(`^[ \t]*([A-Za-z0-9+/]+={0,2})[ \t]*$`)
	// base64Name matches what announces base64, before its quote, and base64Call what decodes it.
	base64Name = lazyregexp.New(`(?:b64|base64|atob)\w*(?:\(|["']?\s*[:=]\s*)b?$`)
	base64Call = lazyregexp.New(`(?:64_?decode|decode_?64|atob)\w*\(b?$`)
)

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// encoded reads a line that is one word of base64.
func (p *parser) encoded(l line) bool {
	m := base64Line().FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	word := m[1]
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	mixed := strings.ContainsAny(word, upper) && strings.ContainsAny(word, lower) && strings.Trim(word, upper+lower) != ""
	data, err := decodeBase64(word)
	query := err == nil && isQuery(data)
	if err != nil || len(word) < shortestBase64 || len(word)%4 != 0 || !query && !mixed {
		return false
	}
	p.take(Datagram{Data: data, at: l.start}, query)
	return true
}

// base64Word reads the word at i if it is the base64 of a message that begins with ffffffff. No other beginning is recognised
// unless it is announced.
func (p *parser) base64Word(i int) (end int, found bool) {
	if !strings.HasPrefix(p.s[i:], "/////") {
		return i, false
	}
	word := base64Word().FindString(p.s[i:])
	data, err := decodeBase64(word)
	if found = len(word) >= shortestBase64 && err == nil && isQuery(data); found {
		p.take(Datagram{Data: data, at: i}, true)
	}
	return i + len(word), found
}

// base64String reads a string that is said to be base64.
func (p *parser) base64String(start, from, to int) bool {
	before := strings.ToLower(p.s[max(0, start-window/2):start])
	before = before[strings.LastIndexByte(before, '\n')+1:]
	named := (strings.Contains(before, "64") || strings.Contains(before, "atob")) && base64Name().MatchString(before) // few have either
	if !named && !strings.HasPrefix(strings.TrimLeft(right(p.s, min(len(p.s), to+1)), " \t,"), "'base64'") {
		return false
	}
	data, err := decodeBase64(strings.TrimSpace(p.s[from:to]))
	switch {
	case err == nil:
		p.take(Datagram{Data: data, at: start}, true)
	case base64Call().MatchString(before):
		p.wrong(from, "this is not base64", true)
	default:
		return false
	}
	return true
}
