package filter

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/qdissect/qdissect/internal/nettext"
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

// shown is the number of columns of an expression that Show writes before the word and
// after it.
const shown = 60

// Show returns two lines without a final newline: the expression, and carets below the
// word. What is far from the word is left out.
func (e *Error) Show() string {
	before, word, after := pieces(e.Expression[:e.Offset]), pieces(e.Expression[e.Offset:e.Offset+e.Length]), pieces(e.Expression[e.Offset+e.Length:])
	dots := func(s []rune) string {
		if len(s) > shown {
			return "…"
		}
		return ""
	}
	start := dots(before) + string(before[max(0, len(before)-shown):])
	middle := string(word[:min(len(word), shown)]) + dots(word)
	return start + middle + string(after[:min(len(after), shown)]) + dots(after) + "\n" +
		strings.Repeat(" ", width(start)) + strings.Repeat("^", max(1, width(middle)))
}

// pieces returns the characters of a text, with spaces for those that cannot be printed.
func pieces(s string) (list []rune) {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			r = ' '
		}
		list = append(list, r)
	}
	return list
}

// width returns the number of columns of a text on a terminal.
func width(s string) (n int) {
	for _, r := range s {
		n += nettext.Width(r)
	}
	return n
}
