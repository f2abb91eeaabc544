package wire

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
)

// A Form is one way in which a message goes on behind its letter or its word, and
// how sure that makes a detector.
type Form struct {
	prefix  string
	fits    func(rest []byte) bool
	verdict dissect.Verdict
}

// Certain is the form of what begins with a prefix and fits behind it; nil takes
// anything.
func Certain(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Certain}
}

// Likely is [Certain] with another verdict.
func Likely(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Likely}
}

// Possible is [Certain] with another verdict.
func Possible(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Possible}
}

// No is [Certain] with another verdict: for what would fit one of the next forms.
func No(prefix string, fits func(rest []byte) bool) Form { return Form{prefix, fits, dissect.No} }

// Forms are tried in order.
type Forms []Form

// Judge returns the verdict of the first form that b has, No if it has none.
func (forms Forms) Judge(b []byte) dissect.Verdict {
	for i := range forms {
		f := &forms[i]
		n := len(f.prefix)
		if n > 0 && (len(b) < n || b[0] != f.prefix[0] || string(b[:n]) != f.prefix) {
			continue
		}
		if f.fits == nil || f.fits(b[n:]) {
			return f.verdict
		}
	}
	return dissect.No
}

// Empty reports whether nothing follows.
func Empty(rest []byte) bool { return len(rest) == 0 }

// Ends reports whether nothing that matters follows: a zero byte, or the end of a
// line, with which some senders end commands.
func Ends(rest []byte) bool {
	switch string(rest) {
	case "", "\x00", "\n", "\n\x00", "\r\n", "\r\n\x00":
		return true
	}
	return false
}

// Length returns a function that reports whether as many bytes follow as one of n
// says.
func Length(n ...int) func(rest []byte) bool {
	return func(rest []byte) bool { return slices.Contains(n, len(rest)) }
}

// AtLeast returns a function that reports whether n or more bytes follow.
func AtLeast(n int) func(rest []byte) bool {
	return func(rest []byte) bool { return len(rest) >= n }
}

// Letters returns how many bytes at the start of b are letters.
func Letters(b []byte) int {
	n := 0
	for n < len(b) && b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' {
		n++
	}
	return n
}

// Same reports whether b is a word, compared without case as the engines of id
// Software do.
func Same[T string | []byte](b T, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i := range len(word) {
		if b[i]|0x20 != word[i]|0x20 {
			return false
		}
	}
	return true
}
