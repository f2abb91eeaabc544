package display

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A token is a word or an operator.
type token struct {
	kind     tokenKind
	text     string // of a quoted text, the content
	at, size int
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	quoted
	operator // == != < <= > >= ~ !~
	sign     // ( ) { } , ! and && ||
)

const (
	blanks = " \t\r\n"
	// stops are the bytes that end a word.
	stops = blanks + "()=!<>~,&|\"'"
)

// maxText is the number of bytes of an expression.
const maxText = 64 << 10

// lex splits the text into tokens.
func (p *parser) lex() error {
	s := p.text
	if len(s) > maxText {
		return p.fail(token{kind: word, size: len(s)}, "the expression is longer than %d bytes", maxText)
	}
	braces := 0
	for i := 0; i < len(s); {
		c := s[i]
		t := token{kind: sign, at: i, size: 1}
		two := ""
		if i+1 < len(s) {
			two = s[i : i+2]
		}
		switch {
		case strings.IndexByte(blanks, c) >= 0:
			i++
			continue
		case c == '"' || c == '\'':
			n, text := quotedText(s[i:])
			t.kind, t.text, t.size = quoted, text, n
			if n == 0 {
				t.size = len(s) - i
				return p.fail(t, "unclosed quotation mark")
			}
		case slices.Contains([]string{"==", "!=", "<=", ">=", "!~", "=~"}, two):
			if t.kind, t.text, t.size = operator, two, 2; two == "=~" {
				t.text = "~"
			}
		case two == "&&" || two == "||":
			t.kind, t.text, t.size = sign, two, 2
		case strings.IndexByte("=<>~", c) >= 0:
			t.kind, t.text = operator, s[i:i+1]
			if c == '=' {
				t.text = "=="
			}
		case strings.IndexByte("()!,{", c) >= 0, c == '}' && braces > 0:
			switch c {
			case '{':
				braces++
			case '}':
				braces--
			}
			t.kind, t.text = sign, s[i:i+1]
		case strings.IndexByte(stops, c) >= 0:
			return p.fail(t, "%q is not an operator; use and, or, && or ||", s[i:i+1])
		default:
			end := stops
			if braces > 0 {
				end += "}"
			}
			n := strings.IndexAny(s[i:], end)
			if n < 0 {
				n = len(s) - i
			}
			if !utf8.ValidString(s[i : i+n]) {
				t.size = n
				return p.fail(t, "the expression is not valid UTF-8")
			}
			t.kind, t.text, t.size = word, s[i:i+n], n
		}
		i += t.size
		p.tokens = append(p.tokens, t)
	}
	p.tokens = append(p.tokens, token{kind: end, at: len(s)})
	return nil
}

// quotedText returns the length of a quoted text and its content, 0 if it is not closed.
// A backslash escapes a quotation mark or a backslash. Before other characters it stands
// for itself, as regular expressions need it.
func quotedText(s string) (n int, text string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1, b.String()
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == s[0] || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return 0, ""
}
