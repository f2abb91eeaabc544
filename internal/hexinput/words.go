package hexinput

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// maxGroup is how many digits a group of a dump may have: od -t x8 is the widest.
const maxGroup = 16

// groupAt returns where the digits of the group of a dump at i begin and end.
// Both are the same if there is none. A group is an even number of digits, maybe
// after 0x.
func groupAt(text string, i int) (start, end int) {
	start = i
	if hasPrefix0x(text, i) {
		start += 2
	}
	end = hexEnd(text, start)
	n := end - start
	if n%2 != 0 || n > maxGroup || end < len(text) && !isBlank(text[end]) && text[end] != '|' && text[end] != '-' {
		return i, i
	}
	return start, end
}

// hasBytes reports whether a text that should be none looks like bytes.
func hasBytes(text string) bool {
	text, _, _ = strings.Cut(text, "|")
	words := strings.Fields(text[:min(len(text), 4*maxRow)])
	groups := 0
	for _, w := range words {
		if start, end := groupAt(w, 0); end > start {
			groups++
		}
	}
	return groups >= 2 && groups*2 >= len(words)
}

// A run is words that belong together, on one line.
type run struct {
	start, end int    // where it stands
	digits     []byte // without what is around and between them
	words      int    // they are divided into so many words
	pairs      int    // of which so many are pairs of digits
	prefixed   bool   // there are words after 0x or \x
	separator  byte   // the first separator that is no blank, 0 if there is none
	query      int    // the index in digits of a query that does not begin at 0; 0 if there is none

	// What ends the run: the first character that does not belong there, -1 at
	// the end of the text; the digits before it, in a word that is none; whether
	// that word is nothing but digits, in an odd number; whether it is an ellipsis.
	wrong    int
	partial  string
	odd, cut bool
}

// labelWords is how many words there may be before a query in a run: a length
// or the like.
const labelWords = 3

// wordMark matches what marks a word of hex digits before them.
var wordMark = regexp.MustCompile(`^(?:\\+x?|0[xX])?`)

// readRun reads the words that begin at i.
func readRun(text string, i int) run {
	r := run{start: i, end: i, wrong: -1}
	for i < len(text) {
		prefix := wordMark.FindString(text[i:min(len(text), i+maxWord)])
		escaped := strings.HasPrefix(prefix, "\\")
		start := i + len(prefix)
		end := hexEnd(text, start)
		if escaped {
			end = min(end, start+2)
		}
		digits := text[start:end]
		whole := digits != "" && isWordEnd(text, end) && (!escaped || len(digits) == 2)
		r.odd = whole && len(digits)%2 != 0 && (prefix == "" || len(digits) != 1)
		if r.odd && r.words == 0 && prefix == "" && skipBlanks(text, end) == len(text) {
			r.odd = false // maybe the line was broken in the middle of a byte
		}
		if r.odd || !whole {
			if r.wrong, r.partial = end, digits; r.odd {
				r.wrong = i
			}
			break
		}
		if r.words > 0 && r.words <= labelWords && r.query == 0 && isQuery(firstBytes(text[i:])) {
			r.query = len(r.digits)
		}
		if r.words++; len(digits) == 2 {
			r.pairs++
		}
		if prefix != "" && len(digits) == 1 {
			r.digits = append(r.digits, '0')
		}
		r.digits = append(r.digits, digits...)
		r.prefixed = r.prefixed || prefix != ""
		r.end = end
		if i = skipBlanks(text, end); i < len(text) && isSeparator(text[i]) {
			r.separator = cmp.Or(r.separator, text[i])
			i = skipBlanks(text, i+1)
		}
	}
	r.cut = r.wrong >= 0 && isEllipsis(text, skipBlanks(text, r.end))
	return r
}

// isSeparator reports whether c may stand between two bytes.
func isSeparator(c byte) bool { return strings.IndexByte(",:;-|", c) >= 0 }

// isWordEnd reports whether a word may end at i.
func isWordEnd(text string, i int) bool {
	return i == len(text) || isBlank(text[i]) || isSeparator(text[i]) || strings.IndexByte("\\\"'`)]}>", text[i]) >= 0 || isEllipsis(text, i) ||
		strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || isBlank(text[i+1]))
}

func isEllipsis(text string, i int) bool {
	return i < len(text) && (text[i] == ellipsis || strings.HasPrefix(text[i:], "..."))
}

// comment matches what stands after hex and is not meant to be hex.
var comment = regexp.MustCompile(`^[ \t]*$|^[ \t]+(?:#|//|/\*|\(|<|=|->|--)`)

func isComment(text string, i int) bool {
	return comment.MatchString(text[i:min(len(text), i+maxLabel)])
}

func (r *run) bytes() int { return len(r.digits) / 2 }

func (r *run) letters() bool { return hasLetters(r.digits) }

func hasLetters[T string | []byte](digits T) bool {
	return bytes.ContainsAny([]byte(digits), "abcdefABCDEF")
}

// isQuery reports whether the run begins as queries do.
func (r *run) isQuery() bool {
	return isQuery(appendHex(nil, r.digits[:min(len(r.digits), 2*longestQuery)]))
}

// marks takes out what is not a digit between bytes.
var marks = strings.NewReplacer("0x", "", "0X", "", `\x`, "", `\`, "", " ", "", "\t", "", ",", "", ":", "", ";", "", "-", "", "|", "")

// firstBytes returns the first bytes of what may be a run.
func firstBytes(text string) []byte {
	const enough = 8 * longestQuery // digits, marks and separators
	digits := marks.Replace(text[:min(len(text), enough)])
	return appendHex(nil, digits[:hexEnd(digits, 0)])
}

// isAddress reports whether a run looks like a MAC address.
func (r *run) isAddress() bool {
	return r.pairs == 6 && r.words == 6 && (r.separator == ':' || r.separator == '-')
}

// longestNumber is how many digits a number may have: 64 bits make 20.
const longestNumber = 24

// isNumber reports whether a run may be a decimal number.
func (r *run) isNumber() bool {
	return r.words == 1 && !r.letters() && !r.prefixed && len(r.digits) < longestNumber
}

// judge reports whether a run after a label is a payload, and whether it
// certainly is. What it is mistaken for otherwise is numbers, times, hashes and
// hardware addresses.
func (r *run) judge(kind label) (sure, ok bool) {
	if r.isQuery() {
		return true, true
	}
	n := r.bytes()
	switch kind {
	case decoder, python:
		return true, true
	case arrow, message:
		return !r.isNumber() || n <= 1, true
	case content:
		return !r.isAddress() && (r.prefixed || r.letters() && n >= 2 || r.words > 1 && n >= 4), true
	case unlabelled, timed:
		return r.prefixed && n >= 2 || n >= 4 && !r.isAddress() && (r.letters() || r.words > 1 && n >= 8 || n >= longestNumber/2), true
	}
	return r.pairs >= 4 && r.pairs == r.words && r.letters() && !r.isAddress(), n >= 4 && r.letters()
}

// maxWord is how much of a word is looked at that is not hex.
const maxWord = 256

// isBroken reports whether what ends a run is a mistake in it, rather than the
// text that goes on after it.
func (r *run) isBroken(text string) bool {
	if r.wrong < 0 || r.words == 0 && r.partial == "" || isEllipsis(text, r.wrong) {
		return false
	}
	const between = " \t,:;-|"
	start := r.wrong
	if !r.odd {
		start -= len(r.partial)
	}
	word := text[start:min(len(text), start+maxWord)]
	if end := strings.IndexAny(word, between); end >= 0 {
		word = word[:end]
	}
	rest := strings.TrimLeft(text[start+len(word):], between)
	switch _, more := groupAt(rest, 0); {
	case word == "":
		return false
	case r.words > 0 && strings.Trim(word, "?*xX_") == "": // bytes that are not to be seen
		return true
	case strings.IndexByte("\"'`)]}>", word[0]) >= 0:
		return false
	case len(word) <= 2 && (more > 0 || rest == ""):
		return more > 0 || r.partial != ""
	}
	// Most of a longer word must be hex, and not all of it letters.
	hex := 0
	for i := range len(word) {
		if isHex(word[i]) {
			hex++
		}
	}
	return len(r.partial) >= 4 && hex*4 >= len(word)*3 && strings.ContainsAny(word, digitBytes)
}

const oddDigits = "an odd number of hex digits"

// mistake says where a run goes wrong, and how.
func (r *run) mistake(l *line) (int, string) {
	if r.odd {
		return r.wrong, oddDigits
	}
	return wrongDigit(l, r.wrong)
}

// wrongDigit says what stands at i, or after the hex digits there, instead of
// a byte.
func wrongDigit(l *line, i int) (int, string) {
	end := hexEnd(l.text, i)
	if end == len(l.text) || end > i && isWordEnd(l.text, end) {
		return i, oddDigits
	}
	return end, strconv.Quote(string(l.bytes(end, end+1))) + " is not a hex digit"
}
