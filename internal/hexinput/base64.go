package hexinput

import (
	"encoding/base64"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

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
