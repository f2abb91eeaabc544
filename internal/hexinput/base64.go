package hexinput

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// shortestBase64 is how long a word must be to be taken for base64.
const shortestBase64 = 8

var (
	// base64Word matches a word of base64.
	base64Word = regexp.MustCompile(`^[A-Za-z0-9+/]+={0,2}`)
	// base64Line matches a line that is nothing else.
	base64Line = regexp.MustCompile(`^[ \t]*([A-Za-z0-9+/]+={0,2})[ \t]*$`)
	// base64Name matches what announces base64, before its quote.
	base64Name = regexp.MustCompile(`(?:b64|base64|atob)\w*(?:\(|["']?\s*[:=]\s*)b?$`)
	// base64Call matches what decodes it.
	base64Call = regexp.MustCompile(`(?:64_?decode|decode_?64|atob)\w*\(b?$`)
)

// base64Heading ends the line above a payload in Wireshark's YAML.
const base64Heading = "!!binary |"

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// encoded reads a line of base64 that nothing announces.
func (p *parser) encoded(l line) bool { return p.base64Lines(l, false) }

// base64Lines reads a line that is one word of base64, and those that it goes
// on in. It may be known that it is.
func (p *parser) base64Lines(l line, known bool) bool {
	m := base64Line.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	width, all := len(m[1]), []string{m[1]}
	for len(m[1]) == width && (known || width >= 60) {
		ahead := p.in
		next, _ := ahead.next()
		if m = base64Line.FindStringSubmatch(next.text); m == nil || len(m[1]) > width {
			break
		}
		all, p.in = append(all, m[1]), ahead
	}
	word := strings.Join(all, "")
	data, err := decodeBase64(word)
	query := err == nil && isQuery(data)
	switch {
	case known && err != nil:
		p.wrong(l, -1, "this is not base64", true)
	case err != nil || !known && (len(word) < shortestBase64 || len(word)%4 != 0 || !query && !isMixed(word)):
		return false
	default:
		p.take(Datagram{Data: data, Line: l.number, Form: Base64}, known || query)
	}
	return true
}

// isMixed reports whether a word has more than letters of one kind.
func isMixed(word string) bool {
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	return strings.ContainsAny(word, upper) && strings.ContainsAny(word, lower) && strings.Trim(word, upper+lower) != ""
}

// base64Word reads a word among others that is the base64 of a message that
// begins with ffffffff. No other beginning shows without being told.
func (p *parser) base64Word(c *cursor) bool {
	const begin = "/////"
	if c.atEnd() || !c.starts(begin) || c.i > 0 && base64Word.MatchString(c.line.text[c.i-1:c.i]) {
		return false
	}
	word := base64Word.FindString(c.line.text[c.i:])
	c.i += len(word)
	data, err := decodeBase64(word)
	if len(word) < shortestBase64 || err != nil || !isQuery(data) {
		return false
	}
	p.take(Datagram{Data: data, Line: c.line.number, Form: Base64}, true)
	return true
}

// base64String reads a string that is said to be base64.
func (p *parser) base64String(c *cursor, q quoted) bool {
	text, before := c.line.text, c.before(q.start)
	named := (strings.Contains(before, "64") || strings.Contains(before, "atob")) && base64Name.MatchString(before)
	if !named && !isArgument(text[q.to+1:], "base64") {
		return false
	}
	data, err := decodeBase64(strings.TrimSpace(text[q.from:q.to]))
	switch {
	case err == nil:
		p.take(Datagram{Data: data, Line: c.line.number, Form: Base64}, true)
	case base64Call.MatchString(before):
		p.wrong(c.line, q.from, "this is not base64", true)
	default:
		return false
	}
	return true
}
