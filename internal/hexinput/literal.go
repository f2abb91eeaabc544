package hexinput

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A quoted is a string in its quotes, on one line.
type quoted struct {
	start    int // where it begins, with the letters before its quote
	from, to int // what is between the quotes; to is -1 if the string does not end
	quote    byte
	isBytes  bool
	alone    bool // it begins a line, and nothing joins it to the string before
}

// quoted returns the string that begins with the quote at i; with an escape, it
// goes up to the end of the line. Python and Rust mark strings of bytes with a b
// before the quote.
func (p *parser) quoted(i int) (q quoted, ok bool) {
	s := p.s
	if p.s[i] == '\\' {
		line := strings.TrimRight(p.last.text, blanks)
		q = quoted{start: i, from: i, to: p.last.start + len(line)}
		single, double := byteEscapes(s[i:min(i+5, len(s))])
		return q, single+double > 0
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
	for j := q.from; j < len(s) && s[j] != '\n'; j++ {
		if s[j] == q.quote {
			q.to = j
			break
		}
		if s[j] == '\\' && j+1 < len(s) && s[j+1] != '\n' {
			j++
		}
	}
	return q, true
}

// joint matches what may stand between two strings that are one, and the letters
// and the quote of the second: an operator (+ or . or ..), and the end of the
// line with a backslash or without.
var joint = lazyregexp.New(`^([ \t+.]*)(\\[ \t]*\n)?(\n)?([ \t+.]*)([A-Za-z]{0,2})["']`)

// join returns the string after i, if it may belong to the one that ends there.
func (p *parser) join(i int) (q quoted, ok bool) {
	const longest = 256
	m := joint().FindStringSubmatch(p.s[i:min(len(p.s), i+longest)])
	if m == nil {
		return q, false
	}
	at := i + len(m[0]) - 1
	q, ok = p.quoted(at)
	q.alone = m[3] != "" && !strings.ContainsAny(m[1]+m[2]+m[4], `+.\`)
	return q, ok && q.start == at-len(m[5]) && q.to >= 0
}

// literal reads the string that begins at i and those that are joined to it. It
// returns where they end, and whether they are a payload; otherwise what is in
// the string may be one.
func (p *parser) literal(i int) (end int, found bool) {
	q, ok := p.quoted(i)
	switch {
	case !ok || i < p.noString:
		return i, false
	case q.to < 0:
		rest, _, _ := strings.Cut(p.s[q.from:], "\n")
		if single, _ := byteEscapes(rest); single >= 2 {
			p.wrong(i, "the string is not closed on its line", true)
		}
		return q.from, false
	case q.quote != 0 && p.base64String(q):
		return q.to + 1, true
	}
	if q.quote != 0 {
		p.inside = max(p.inside, q.to)
	}
	if q.quote == '`' && strings.ContainsAny(p.s[q.from:q.to], `"'`) || q.quote != 0 && !q.isBytes && bytesInside().MatchString(p.s[q.from:q.to]) {
		return q.from, false
	}
	var u unescaped
	d := Datagram{at: i}
	from := q.from
	before := p.leading(q.start)
	opened := strings.IndexByte("([{,", before) >= 0 // it may go on in another line
	guessed, failed := false, false
	for {
		u.read(string(p.original(q.from, q.to)), q.isBytes)
		if end = q.to; q.quote != 0 {
			end++
		}
		if u.wrong >= 0 && (q.isBytes || u.bytes >= 2) {
			p.wrong(q.from+utf8.RuneCount(p.original(q.from, q.to)[:u.wrong]), wrongEscape, true)
			return end, true
		}
		failed = failed || u.wrong >= 0
		if q.quote == '`' || q.quote == 0 || len(u.data) > MaxDatagram {
			break
		}
		next, ok := p.join(end)
		if !ok || next.isBytes != q.isBytes {
			break
		}
		if next.alone {
			var v unescaped
			if v.read(string(p.original(next.from, next.to)), false); q.isBytes && !opened || !q.isBytes && isQuery(v.data) {
				break
			}
			guessed = guessed || !opened && before != '='
		}
		q = next
	}
	query := isQuery(u.data)
	sure := u.bytes >= 2 || q.isBytes && (u.bytes > 0 || query) || query && u.unicode > 0 || q.quote != 0 && gameSpyQuery().Match(u.data)
	if failed || len(u.data) == 0 || !sure && (u.bytes == 0 || q.quote == 0) && !q.isBytes {
		p.noString = end
		return max(i, from), false
	}
	d.Data, d.Note = u.data, u.odd
	if guessed {
		d.note("strings on lines that follow each other were joined")
	}
	p.take(d, sure)
	return end, true
}

// bytesInside matches the content of a string that is a literal of bytes itself.
var bytesInside = lazyregexp.New(`^b(?:"[^\n]*"|'[^\n]*')$`)

// gameSpyQuery matches the payloads that are text: queries of GameSpy 1 and
// 2 and replies to them.
var gameSpyQuery = lazyregexp.New(`^\\(?:status|info|basic|rules|players|packets|echo|secure|gamename|hostname)\\`)

// isArgument reports whether what follows a string is another one that names
// its encoding.
func isArgument(rest, encoding string) bool {
	rest = strings.TrimLeft(right(rest, 0), " \t,")
	return strings.HasPrefix(rest, "'"+encoding+"'") || strings.HasPrefix(rest, `"`+encoding+`"`)
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

// shortestBase64 is how long a word must be to be taken for base64.
const shortestBase64 = 8

var (
	// base64Word matches a word of base64.
	base64Word = lazyregexp.New(`^[A-Za-z0-9+/]+={0,2}`)
	// base64Line matches a line that is nothing else.
	base64Line = lazyregexp.New(`^[ \t]*([A-Za-z0-9+/]+={0,2})[ \t]*$`)
	// base64Name matches what announces base64, before its quote.
	base64Name = lazyregexp.New(`(?:b64|base64|atob)\w*(?:\(|["']?\s*[:=]\s*)b?$`)
	// base64Call matches what decodes it.
	base64Call = lazyregexp.New(`(?:64_?decode|decode_?64|atob)\w*\(b?$`)
)

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// encoded reads a line that is one word of base64, and those in which it continues.
func (p *parser) encoded(l line) bool {
	m := base64Line().FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	const wrapped = 60
	width, all, last := len(m[1]), []string{m[1]}, l
	for len(m[1]) == width && width >= wrapped {
		next, _ := p.after(last)
		if m = base64Line().FindStringSubmatch(next.text); m == nil || len(m[1]) > width {
			break
		}
		all, last = append(all, m[1]), next
	}
	word := strings.Join(all, "")
	data, err := decodeBase64(word)
	query := err == nil && isQuery(data)
	if err != nil || len(word) < shortestBase64 || len(word)%4 != 0 || !query && !isMixed(word) {
		return false
	}
	p.take(Datagram{Data: data, at: l.start}, query)
	p.last = last
	return true
}

// isMixed reports whether a word has more than letters of one kind.
func isMixed(word string) bool {
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	return strings.ContainsAny(word, upper) && strings.ContainsAny(word, lower) && strings.Trim(word, upper+lower) != ""
}

// base64Word reads the word at i if it is the base64 of a message that begins
// with ffffffff. No other beginning is recognised unless it is announced.
func (p *parser) base64Word(i int) (end int, found bool) {
	text := p.s[:p.last.end()]
	if !strings.HasPrefix(text[i:], "/////") || i > 0 && base64Word().MatchString(text[i-1:i]) {
		return i, false
	}
	word := base64Word().FindString(text[i:])
	data, err := decodeBase64(word)
	found = len(word) >= shortestBase64 && err == nil && isQuery(data)
	if found {
		p.take(Datagram{Data: data, at: i}, true)
	}
	return i + len(word), found
}

// base64String reads a string that is said to be base64.
func (p *parser) base64String(q quoted) bool {
	const longest = 32
	before := p.before(q.start)
	before = before[max(0, len(before)-longest):]
	named := (strings.Contains(before, "64") || strings.Contains(before, "atob")) && base64Name().MatchString(before)
	if !named && !isArgument(p.s[q.to+1:], "base64") {
		return false
	}
	data, err := decodeBase64(strings.TrimSpace(p.s[q.from:q.to]))
	switch {
	case err == nil:
		p.take(Datagram{Data: data, at: q.start}, true)
	case base64Call().MatchString(before):
		p.wrong(q.from, "this is not base64", true)
	default:
		return false
	}
	return true
}

// byteEscape matches an escape, with what is before it if it is escaped itself,
// and its digits if it stands for a byte.
var byteEscape = lazyregexp.New(`\\(\\?)x([0-9a-fA-F]{2})|\\.`)

// byteEscapes counts the escapes in a text that stand for bytes (those for
// terminals excepted) and are not escaped themselves, and those that are. It
// does not count beyond a few.
func byteEscapes(text string) (single, double int) {
	const few = 1000
	for _, m := range byteEscape().FindAllStringSubmatch(text, few) {
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
	bytes   int    // how many escapes stand for bytes
	unicode int    // how many stand for a code point
	odd     string // what was odd
	wrong   int    // where something stands that is not an escape; -1 if nothing does
}

// wrongEscape is the only mistake that an escape can have.
const wrongEscape = `\x takes two hex digits`

// escape matches an escape: its digits in hex, in octal, a code point, or a
// single character. luaEscape has them in decimal.
var (
	escape    = escapeRegexp(`[0-3][0-7]{2}|[0-7]{1,2}`)
	luaEscape = escapeRegexp(`25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2}`)
)

func escapeRegexp(digits string) func() *regexp.Regexp {
	return lazyregexp.New(`(?s)[^\\]+|\\(?:x([0-9a-fA-F]{0,2})|(` + digits + `)|(u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8})|(.?))`)
}

// Single characters after a backslash, in all languages together, and what they
// stand for. Before any other the backslash remains, as in Python.
const (
	escapeNames = `nrtabfve\'"` + "`/$"
	escapeBytes = "\n\r\t\a\b\f\v\x1b\\'\"`/$"
)

// read adds a string. Escapes with \x have two digits: in C they go on as far as
// there are digits, but those who write payloads do not mean that.
func (u *unescaped) read(s string, isBytes bool) {
	u.wrong = -1
	if single, double := byteEscapes(s); single == 0 && double >= 2 { // escaped twice, as in JSON
		u.read(strings.ReplaceAll(s, `\\`, `\`), isBytes)
		u.wrong = min(u.wrong, 0)
		return
	}
	pattern, radix := escape(), 8
	if strings.HasPrefix(s, `\255\255`) || strings.HasPrefix(s, `\254\25`) {
		pattern, radix = luaEscape(), 10
		u.note(`escapes as \255 are taken for decimal, as Lua has them`)
	}
	i := 0
	for _, m := range pattern.FindAllStringSubmatch(s, MaxDatagram+1) {
		whole, hex, digits, point, name := m[0], m[1], m[2], m[3], m[4]
		i += len(whole)
		next := s[i:]
		switch {
		case strings.HasPrefix(whole, `\x`):
			if hex == "" || len(hex) == 1 && next != "" && next[0] != '\\' {
				u.wrong = i - len(whole)
				return
			}
			if hexEnd(next, 0) > 0 && !isBytes {
				u.note("hex digits behind " + whole + " are taken for text: C would have them in the escape")
			}
			v, _ := strconv.ParseUint(hex, 16, 8)
			u.count(byte(v))
		case digits != "":
			v, _ := strconv.ParseUint(digits, radix, 8)
			if len(digits) == 3 || v == 0 || radix == 10 {
				u.count(byte(v))
			} else { // it may be one of a regular expression
				u.data = append(u.data, byte(v))
			}
		case point != "" && !isBytes:
			u.codePoint(whole)
		case name != "" && strings.Contains(escapeNames, name):
			u.data = append(u.data, escapeBytes[strings.Index(escapeNames, name)])
		default:
			u.data = append(u.data, whole...)
		}
	}
}

// count adds an escape for a byte. Codes for the colours of a terminal do not
// make a string a payload.
func (u *unescaped) count(b byte) {
	const escape = 0x1b
	u.data = append(u.data, b)
	if b != escape {
		u.bytes++
	}
}

// note keeps the first thing that is odd.
func (u *unescaped) note(s string) { u.odd = cmp.Or(u.odd, s) }

// codePoint adds \u00ff, \u{ff} or \U000000ff.
func (u *unescaped) codePoint(s string) {
	r, _ := strconv.ParseUint(strings.Trim(s, `\uU{}`), 16, 32)
	u.unicode++
	if r > 0xff {
		u.data = utf8.AppendRune(u.data, rune(r))
		return
	}
	if u.data = append(u.data, byte(r)); r >= utf8.RuneSelf {
		u.note(s + " is taken for one byte")
	}
}
