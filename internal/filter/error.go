package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error says what is wrong with an expression, and with which word of it.
type Error struct {
	// Expression is the whole expression.
	Expression string
	// Offset and Length say where the word is, in bytes. It lies within the
	// expression and is not empty: if something is missing at the end, it is
	// the last word.
	Offset, Length int
	// Text says what is wrong.
	Text string
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter, offset %d: %s", e.Offset, e.Text)
}

// Show returns two lines, without a line feed at the end: the expression, and
// carets beneath the word.
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

// quote returns a word for a message: what does not print is escaped, and what
// is long is cut.
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
