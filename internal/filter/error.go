package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error is a syntax error in an expression, or an expression that does not fit the
// link type.
type Error struct {
	// Expression is the complete expression.
	Expression string
	// Offset and Length give the faulty word, in bytes. If something is missing at the
	// end, it is the last word. Length is never 0.
	Offset, Length int
	// Text describes the error.
	Text string
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter, offset %d: %s", e.Offset, e.Text)
}

// Show returns two lines without a final newline: the expression, and carets below the
// word.
func (e *Error) Show() string {
	var text, carets strings.Builder
	for i, c := range e.Expression {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		text.WriteRune(c)
		switch {
		case i >= e.Offset && i < e.Offset+e.Length:
			carets.WriteByte('^')
		case i < e.Offset:
			carets.WriteByte(' ')
		}
	}
	return text.String() + "\n" + carets.String()
}

// quote quotes a word for a message. It escapes unprintable characters and shortens
// long words.
func quote(word string) string {
	const most = 40
	if len(word) > most {
		end := most
		for end > 0 && !utf8.RuneStart(word[end]) {
			end--
		}
		word = word[:end] + "..."
	}
	return fmt.Sprintf("%q", word)
}
