package hexinput

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// byteEscape matches an escape, with what is before it if it is escaped itself,
// and its digits if it stands for a byte.
var byteEscape = lazyregexp.New(`\\(\\?)x([0-9a-fA-F]{2})|\\.`)

// byteEscapes counts the escapes in a text that stand for bytes (those for
// terminals excepted) and are not escaped themselves, and those that are. It
// does not count beyond a few.
func byteEscapes(text string) (single, double int) {
	const few = 1000
	for _, m := range byteEscape().FindAllStringSubmatch(text, few) {
		switch {
		case m[2] == "" || m[2] == "1b":
		case m[1] == "":
			single++
		default:
			double++
		}
	}
	return single, double
}

// unescaped is what a string with escapes stands for.
type unescaped struct {
	data    []byte
	bytes   int    // how many escapes stand for bytes
	unicode int    // how many stand for a code point
	odd     string // what was odd
	wrong   int    // where something stands that is not an escape; -1 if nothing does
}

// wrongEscape is the only mistake that an escape can have.
const wrongEscape = `\x takes two hex digits`

// escape matches an escape: its digits in hex, in octal, a code point, or a
// single character. luaEscape has them in decimal.
var (
	escape    = escapeRegexp(`[0-3][0-7]{2}|[0-7]{1,2}`)
	luaEscape = escapeRegexp(`25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2}`)
)

func escapeRegexp(digits string) func() *regexp.Regexp {
	return lazyregexp.New(`(?s)[^\\]+|\\(?:x([0-9a-fA-F]{0,2})|(` + digits + `)|(u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8})|(.?))`)
}

// Single characters after a backslash, in all languages together, and what they
// stand for. Before any other the backslash remains, as in Python.
const (
	escapeNames = `nrtabfve\'"` + "`/$"
	escapeBytes = "\n\r\t\a\b\f\v\x1b\\'\"`/$"
)

// read adds a string. Escapes with \x have two digits: in C they go on as far as
// there are digits, but those who write payloads do not mean that.
func (u *unescaped) read(s string, isBytes bool) {
	u.wrong = -1
	if single, double := byteEscapes(s); single == 0 && double >= 2 { // escaped twice, as in JSON
		u.read(strings.ReplaceAll(s, `\\`, `\`), isBytes)
		u.wrong = min(u.wrong, 0)
		return
	}
	pattern, radix := escape(), 8
	if strings.HasPrefix(s, `\255\255`) || strings.HasPrefix(s, `\254\25`) {
		pattern, radix = luaEscape(), 10
		u.note(`escapes as \255 are taken for decimal, as Lua has them`)
	}
	i := 0
	for _, m := range pattern.FindAllStringSubmatch(s, MaxDatagram+1) {
		whole, hex, digits, point, name := m[0], m[1], m[2], m[3], m[4]
		i += len(whole)
		next := s[i:]
		switch {
		case strings.HasPrefix(whole, `\x`):
			if hex == "" || len(hex) == 1 && next != "" && next[0] != '\\' {
				u.wrong = i - len(whole)
				return
			}
			if hexEnd(next, 0) > 0 && !isBytes {
				u.note("hex digits behind " + whole + " are taken for text: C would have them in the escape")
			}
			v, _ := strconv.ParseUint(hex, 16, 8)
			u.count(byte(v))
		case digits != "":
			v, _ := strconv.ParseUint(digits, radix, 8)
			if len(digits) == 3 || v == 0 || radix == 10 {
				u.count(byte(v))
			} else { // it may be one of a regular expression
				u.data = append(u.data, byte(v))
			}
		case point != "" && !isBytes:
			u.codePoint(whole)
		case name != "" && strings.Contains(escapeNames, name):
			u.data = append(u.data, escapeBytes[strings.Index(escapeNames, name)])
		default:
			u.data = append(u.data, whole...)
		}
	}
}

// count adds an escape for a byte. Codes for the colours of a terminal do not
// make a string a payload.
func (u *unescaped) count(b byte) {
	const escape = 0x1b
	u.data = append(u.data, b)
	if b != escape {
		u.bytes++
	}
}

// note keeps the first thing that is odd.
func (u *unescaped) note(s string) { u.odd = cmp.Or(u.odd, s) }

// codePoint adds \u00ff, \u{ff} or \U000000ff.
func (u *unescaped) codePoint(s string) {
	r, _ := strconv.ParseUint(strings.Trim(s, `\uU{}`), 16, 32)
	u.unicode++
	if r > 0xff {
		u.data = utf8.AppendRune(u.data, rune(r))
		return
	}
	if u.data = append(u.data, byte(r)); r >= utf8.RuneSelf {
		u.note(s + " is taken for one byte")
	}
}
