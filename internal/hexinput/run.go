package hexinput

import "strings"

// A run is hex digits that belong together, on one line.
type run struct {
	start, end int    // where it stands
	digits     []byte // without what is around and between them
	words      int    // they are divided into so many words
	pairs      int    // of which so many are pairs of digits
	letters    bool   // there are digits from a to f
	prefixed   bool   // there are words behind 0x or \x
	separator  byte   // the first separator that is no blank, 0 if there is none
	query      int    // the index in digits of a query that does not begin at 0; 0 if there is none

	// What stands behind the run: the first character that does not belong
	// there, -1 at the end of the text; how many digits are before it, in a
	// word that is none, and whether they are not all decimal; and whether that
	// word is nothing but digits, in an odd number.
	wrong          int
	partial        int
	partialLetters bool
	odd            bool
	cut            bool // an ellipsis stands there
}

// labelWords is how many words there may be before a query in a run: a length
// or the like.
const labelWords = 3

// readRun reads the hex digits that begin at i.
func readRun(text string, i int) run {
	r := run{start: i, end: i, wrong: -1}
	for i < len(text) {
		start := i
		for start < len(text) && text[start] == '\\' {
			start++
		}
		escaped := start > i
		if escaped && start < len(text) && text[start] == 'x' {
			start++
		} else if hasPrefix0x(text, start) {
			start += 2
		}
		end := hexEnd(text, start)
		if escaped {
			end = min(end, start+2)
		}
		digits := text[start:end]
		prefixed := start > i
		whole := end > start && isWordEnd(text, end) && (!escaped || prefixed && len(digits) == 2)
		r.odd = whole && len(digits)%2 != 0 && (!prefixed || len(digits) != 1)
		switch {
		case r.odd && r.words == 0 && !prefixed && skipBlanks(text, end) == len(text):
			r.odd = false // maybe the line was broken in the middle of a byte
		case !whole:
			r.wrong, r.partial = end, len(digits)
		case r.odd:
			r.wrong, r.partial = i, len(digits)
		}
		letters := strings.ContainsAny(digits, "abcdefABCDEF")
		if r.wrong >= 0 {
			r.partialLetters = letters
			break
		}
		if r.words > 0 && r.words <= labelWords && r.query == 0 && beginsQuery(text, i) {
			r.query = len(r.digits)
		}
		if r.words++; len(digits) == 2 {
			r.pairs++
		}
		if prefixed && len(digits) == 1 {
			r.digits = append(r.digits, '0')
		}
		r.digits = append(r.digits, digits...)
		r.letters = r.letters || letters
		r.prefixed = r.prefixed || prefixed
		r.end = end
		i = skipBlanks(text, end)
		if i < len(text) && isSeparator(text[i]) {
			if r.separator == 0 {
				r.separator = text[i]
			}
			i = skipBlanks(text, i+1)
		}
	}
	r.cut = r.wrong >= 0 && isEllipsis(text, skipBlanks(text, r.end))
	return r
}

// isSeparator reports whether c may stand between two bytes.
func isSeparator(c byte) bool {
	switch c {
	case ',', ':', ';', '-', '|':
		return true
	}
	return false
}

// isWordEnd reports whether a word of hex digits may end at i.
func isWordEnd(text string, i int) bool {
	switch {
	case i == len(text) || isBlank(text[i]) || isSeparator(text[i]):
		return true
	case strings.IndexByte("\\\"'`)]}>", text[i]) >= 0, isEllipsis(text, i):
		return true
	}
	return strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || isBlank(text[i+1]))
}

func isEllipsis(text string, i int) bool {
	return i < len(text) && (text[i] == ellipsis || strings.HasPrefix(text[i:], "..."))
}

// isComment reports whether what stands at i, behind hex, is not meant to be
// hex.
func isComment(text string, i int) bool {
	j := skipBlanks(text, i)
	if j == len(text) {
		return true
	}
	if j > i {
		for _, mark := range [...]string{"#", "//", "/*", "(", "<", "=", "->", "-->", "--"} {
			if strings.HasPrefix(text[j:], mark) {
				return true
			}
		}
	}
	return false
}

func (r *run) bytes() int { return len(r.digits) / 2 }

// isQuery reports whether the run begins as queries do.
func (r *run) isQuery() bool {
	n := min(len(r.digits), 2*longestQuery)
	return isQuery(appendHex(nil, r.digits[:n]))
}

// beginsQuery is isQuery for a run that has not been read.
func beginsQuery(text string, i int) bool {
	const enough = 8 * longestQuery // digits, prefixes and separators
	r := readWords(text[i:min(i+enough, len(text))])
	return isQuery(r)
}

// readWords returns the first bytes of a run.
func readWords(text string) []byte {
	var digits []byte
	for i := 0; i < len(text) && len(digits) < 2*longestQuery; i++ {
		switch c := text[i]; {
		case c == '0' && hasPrefix0x(text, i), c == '\\':
			i++
		case isHex(c):
			digits = append(digits, c)
		case !isBlank(c) && !isSeparator(c):
			i = len(text)
		}
	}
	return appendHex(nil, digits)
}

// isAddress reports whether a run looks like a MAC address.
func (r *run) isAddress() bool {
	return r.pairs == 6 && r.words == 6 && (r.separator == ':' || r.separator == '-')
}

// longestNumber is how many digits a number may have: 64 bits make 20.
const longestNumber = 24

// isNumber reports whether a run may be a decimal number.
func (r *run) isNumber() bool {
	return r.words == 1 && !r.letters && !r.prefixed && len(r.digits) < longestNumber
}

// maxWord is how much of a word is looked at that is not hex.
const maxWord = 256

// isBroken reports whether what ends a run is a mistake in it, rather than the
// text that goes on behind it.
func (r *run) isBroken(text string) bool {
	if r.wrong < 0 || isEllipsis(text, r.wrong) {
		return false
	}
	start := r.wrong - r.partial
	if r.odd {
		start = r.wrong
	}
	end := start
	for end < len(text) && end-start < maxWord && !isBlank(text[end]) && !isSeparator(text[end]) {
		end++
	}
	word := text[start:end]
	next := skipBlanks(text, end)
	for next < len(text) && isSeparator(text[next]) {
		next = skipBlanks(text, next+1)
	}
	first, last := groupAt(text, next, false)
	switch {
	case word != "" && r.words > 0 && strings.Trim(word, "?*xX_") == "":
		return true // bytes that are not to be seen
	case word == "" || strings.IndexByte("\"'`)]}>", word[0]) >= 0:
		return false
	case len(word) <= 2 && last > first:
		return true // more hex follows
	case len(word) <= 2 && next == len(text):
		return r.partial > 0
	}
	// Most of a longer word must be hex, and not all of it letters.
	good, digits := 0, 0
	for i := range len(word) {
		if isHex(word[i]) {
			good++
		}
		if isDigit(word[i]) {
			digits++
		}
	}
	return r.partial >= 4 && good*4 >= len(word)*3 && digits > 0
}
