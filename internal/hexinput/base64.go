package hexinput

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// shortestBase64 is how long a word must be to be taken for base64.
const shortestBase64 = 8

// base64Words are what tells that a string is base64, before it.
var base64Words = regexp.MustCompile(`(?:b64|base64|atob)[\w]*(?:\(|["']?\s*[:=]\s*)(?:b)?$`)

// base64Calls are those that decode it.
var base64Calls = regexp.MustCompile(`(?:64_?decode|decode_?64|atob)\w*\(b?$`)

// base64Heading ends the line above a payload in Wireshark's YAML.
const base64Heading = "!!binary |"

func isBase64(c byte) bool { return isDigit(c) || isLetter(c) || c == '+' || c == '/' }

// base64End returns where the base64 ends that begins at i, with its padding.
func base64End(text string, i int) int {
	for i < len(text) && isBase64(text[i]) {
		i++
	}
	for n := 0; n < 2 && i < len(text) && text[i] == '='; n++ {
		i++
	}
	return i
}

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// base64Lines reads a line that is one word of base64, and those that it goes
// on in.
func (p *parser) base64Lines(l line) bool {
	known := p.base64
	p.base64 = false
	start := skipBlanks(l.text, 0)
	end := base64End(l.text, start)
	if end == start || skipBlanks(l.text, end) < len(l.text) {
		return false
	}
	words := []string{l.text[start:end]}
	width := end - start
	ahead := p.in
	for end-start == width && (known || width >= 60) {
		next, ok := ahead.next()
		if !ok {
			break
		}
		start = skipBlanks(next.text, 0)
		end = base64End(next.text, start)
		if end == start || end-start > width || skipBlanks(next.text, end) < len(next.text) {
			break
		}
		words = append(words, next.text[start:end])
		p.in = ahead
	}
	word := strings.Join(words, "")
	data, err := decodeBase64(word)
	switch query := err == nil && isQuery(data); {
	case known && err != nil:
		p.wrong(l, -1, "this is not base64")
		return true
	case err != nil || !known && (len(word) < shortestBase64 || len(word)%4 != 0 || !query && !isMixed(word)):
		return false
	default:
		p.takeSource(Datagram{Data: data, Line: l.number, Form: Base64}, known || query)
		return true
	}
}

// isMixed reports whether a word has more than letters of one kind.
func isMixed(word string) bool {
	lower, upper, more := false, false, false
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		default:
			more = true
		}
	}
	return lower && upper && more
}

// base64Word reads a word among others that is the base64 of a message that
// begins with ffffffff. No other beginning shows without being told.
func (p *parser) base64Word(c *cursor) bool {
	const begin = "/////"
	if c.atEnd() || !c.starts(begin) || c.i > 0 && isBase64(c.line.text[c.i-1]) {
		return false
	}
	end := base64End(c.line.text, c.i)
	start := c.i
	c.i = end
	if end-start < shortestBase64 {
		return false
	}
	data, err := decodeBase64(c.line.text[start:end])
	if err != nil || !isQuery(data) {
		return false
	}
	p.takeSource(Datagram{Data: data, Line: c.line.number, Form: Base64}, true)
	return true
}

// base64String reads a string that is said to be base64.
func (p *parser) base64String(c *cursor, quote, end int) bool {
	text := c.line.text
	before := c.before(quote)
	named := (strings.Contains(before, "64") || strings.Contains(before, "atob")) && base64Words.MatchString(before)
	if !named && !isArgument(text[end+1:], "base64") {
		return false
	}
	data, err := decodeBase64(strings.TrimSpace(text[quote+1 : end]))
	switch {
	case err == nil:
	case base64Calls.MatchString(before):
		p.wrong(c.line, quote+1, "this is not base64")
		return true
	default:
		return false
	}
	p.takeSource(Datagram{Data: data, Line: c.line.number, Form: Base64}, true)
	return true
}
