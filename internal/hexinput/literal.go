package hexinput

import (
	"encoding/base64"
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
