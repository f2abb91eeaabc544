// Package nettext escapes text from the network for terminals, and finds numbers and
// secrets in it.
package nettext

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// TreeMark begins a packet comment that holds the tree of a message: -w with
// --annotate=tree writes them, for the script of qdissect lua.
const TreeMark = "qdissect tree 1\n"

// AppendSafe appends s with everything escaped that a terminal would interpret:
// control characters, characters that reorder or hide text, and bytes that are not
// UTF-8.
func AppendSafe(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n <= 1 {
			dst = append(dst, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		} else {
			dst = AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// AppendRune appends a character, escaped as by [AppendSafe].
func AppendRune(dst []byte, r rune) []byte {
	if r >= 0x20 && r < 0x7f && r != '\\' {
		return append(dst, byte(r))
	}
	if r == '\\' || Unsafe(r) {
		return appendEscape(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

const hexDigits = "0123456789abcdef"

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '\\':
		return append(dst, '\\', '\\')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	letter, digits := byte('u'), 4
	switch {
	case r < 0x80:
		letter, digits = 'x', 2
	case r > 0xffff:
		letter, digits = 'U', 8
	}
	dst = append(dst, '\\', letter)
	for digits--; digits >= 0; digits-- {
		dst = append(dst, hexDigits[r>>(4*digits)&15])
	}
	return dst
}

// Unsafe reports whether a character must not reach a terminal: controls, line separators, format characters, what
// Unicode lets fonts ignore, what is blank but not a space, private use, and what is not assigned. Those hide or reorder text,
// or look different on each terminal.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	case r >= 0x400 && r < 0x530, r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4, r >= 0x1f300 && r < 0x1f650:
		return false // the most frequent blocks, for speed
	}
	switch r {
	case 0x2800, 0x13441, 0x13442, 0x16fe4, 0x1d159: // blank in Braille, hieroglyphs, Khitan and music
		return true
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// MaxSummary is the number of bytes of a summary that are shown, MaxFinding that of
// the text of a finding in a line. Longer ones have forged names; the fields have
// them in full.
const (
	MaxSummary = 1000
	MaxFinding = 300
)

// Shorten cuts b after most bytes from offset from on, and appends an ellipsis if it
// did.
func Shorten(b []byte, from, most int) []byte {
	if len(b)-from <= most {
		return b
	}
	return append(b[:from+len(Cut(b[from:], most))], " …"...)
}

// Cut returns at most the first bytes of text. If it is UTF-8, no character is cut in two.
func Cut[T string | []byte](s T, most int) T {
	n := min(len(s), most)
	for n < len(s) && n > max(0, most-utf8.UTFMax) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// AppendDuration appends a duration in a suitable unit: 87 µs, 14.2 ms, 3.50 s.
func AppendDuration(dst []byte, d time.Duration) []byte {
	if d < 0 {
		dst = append(dst, '-')
		d = -d
	}
	switch {
	case d < time.Millisecond:
		dst = AppendUint(dst, uint64((d+time.Microsecond/2)/time.Microsecond))
		return append(dst, " µs"...)
	case d < time.Second-time.Millisecond && d%1e5 != 5e4: // without a tie, which the float decides
		tenths := uint64((d + 5e4) / 1e5)
		dst = AppendUint(dst, tenths/10)
		return append(dst, '.', byte('0'+tenths%10), ' ', 'm', 's')
	case d < time.Second:
		dst = strconv.AppendFloat(dst, float64(d)/1e6, 'f', 1, 64)
		return append(dst, " ms"...)
	}
	dst = strconv.AppendFloat(dst, d.Seconds(), 'f', 2, 64)
	return append(dst, " s"...)
}

// AppendUint appends a number in decimal. It is quicker than strconv where most numbers have few
// digits, and appends longer ones four digits at a time.
func AppendUint(dst []byte, v uint64) []byte {
	n := uint32(v)
	if at := len(dst); v <= math.MaxUint8 && cap(dst)-at >= ByteRoom {
		return dst[:at+PutByte(dst[at:at+ByteRoom], uint8(v))]
	}
	switch {
	case v < 10:
		return append(dst, '0'+byte(n))
	case v < 100:
		return append(dst, '0'+byte(n/10), '0'+byte(n%10))
	case v < 1000:
		return append(dst, '0'+byte(n/100), '0'+byte(n/10%10), '0'+byte(n%10))
	case v < 1e4:
		return AppendDigits(dst, n)
	case v < 1e5:
		return AppendDigits(append(dst, '0'+byte(n/1e4)), n%1e4)
	}
	return AppendDigits(AppendUint(dst, v/1e4), uint32(v%1e4))
}

// AppendDigits appends a number below 10,000 with four digits.
func AppendDigits(dst []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(pairs[n/100])|uint32(pairs[n%100])<<16)
}

// pairs holds the two digits of the numbers below 100, the first in the low byte.
var pairs = func() (text [100]uint16) {
	for n := range uint16(100) {
		text[n] = '0' + n/10 | ('0'+n%10)<<8
	}
	return text
}()

// AppendInt appends a number in decimal.
func AppendInt(dst []byte, v int64) []byte {
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	return AppendUint(dst, uint64(v))
}

// ParseInt parses a decimal number as servers write them: surrounded by spaces, with
// a sign, with a fraction, which is dropped. It does not allocate.
func ParseInt(s string) (int64, bool) {
	s = strings.TrimLeft(s, " ")
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	n, digits := int64(0), 0
	for digits < len(s) && Digit(s[digits]) {
		if digits == 18 {
			return 0, false
		}
		n = n*10 + int64(s[digits]-'0')
		digits++
	}
	if digits == 0 {
		return 0, false
	}
	if rest := strings.TrimLeft(s[digits:], " "); rest != "" && (rest[0] != '.' || strings.Trim(rest[1:], "0123456789 ") != "") {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// JSONNumber reports whether the text of a number is one in JSON: no plus, no leading
// zeros, at most 15 digits.
func JSONNumber(s []byte) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 16 || len(s) > 1 && s[0] == '0' && s[1] != '.' || s[0] < '0' || s[0] > '9' {
		return false
	}
	digits := 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c != '.' || i == len(s)-1 || digits < i:
			return false
		}
	}
	return digits <= 15
}

// Digit reports whether a byte is a decimal digit.
func Digit(b byte) bool { return b >= '0' && b <= '9' }

// The numbers of UDP and TCP among the protocols of IP.
const (
	TCP = 6
	UDP = 17
)

// AppendFlowID appends the Community ID, version 1 with seed 0, of a conversation:
// the same text in both directions, and the same as Zeek, Suricata and Arkime give.
// See https://github.com/corelight/community-id-spec.
func AppendFlowID(b []byte, protocol uint8, src, dst netip.AddrPort) []byte {
	if src.Compare(dst) > 0 {
		src, dst = dst, src
	}
	var hashed [2 + 16 + 16 + 2 + 4]byte // seed, addresses, protocol and padding, ports
	in := hashed[:2]
	in, _ = src.Addr().WithZone("").AppendBinary(in) // never an error
	in, _ = dst.Addr().WithZone("").AppendBinary(in)
	in = append(in, protocol, 0)
	in = binary.BigEndian.AppendUint16(in, src.Port())
	in = binary.BigEndian.AppendUint16(in, dst.Port())
	sum := sha1.Sum(in)
	return base64.StdEncoding.AppendEncode(append(b, "1:"...), sum[:])
}

// Closest returns the name of a list that a misspelt word is most similar to, or "".
func Closest(word string, list []string) string {
	best, least := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, s := range list {
		if d := Distance(strings.ToLower(word), strings.ToLower(s), least); d < least {
			best, least = s, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, s := range list { // part of a longer name
		if strings.Contains(s, strings.ToLower(word)) && (best == "" || len(s) < len(best)) {
			best = s
		}
	}
	return best
}

// maxWord is the number of characters beyond which words are not compared.
const maxWord = 100

// Distance returns how many characters have to be inserted, removed, replaced or swapped
// with their neighbour to make b of a. If it is enough or more, it returns enough.
func Distance(a, b string, enough int) int {
	if d := len(a) - len(b); len(a) > maxWord || len(b) > maxWord || d >= 4*enough || -d >= 4*enough {
		return enough
	}
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := Either(x[i] == y[j], 0, 1)
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], enough)
}

// Quote quotes a word for a message and shortens a long one.
func Quote(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// ASCIILen returns the number of bytes of b before the first that is not ASCII.
func ASCIILen(b []byte) int {
	blocks := 0
	for blocks <= len(b)-32 && allASCII((*[32]byte)(b[blocks:blocks+32])) {
		blocks += 32
	}
	n := 0
	b = b[blocks:]
	for n <= len(b)-8 {
		if x := binary.LittleEndian.Uint64(b[n:n+8]) & HighBits; x != 0 {
			return blocks + n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return blocks + n
}

func allASCII(b *[32]byte) bool {
	return (binary.LittleEndian.Uint64(b[:])|binary.LittleEndian.Uint64(b[8:])|binary.LittleEndian.Uint64(b[16:])|binary.LittleEndian.Uint64(b[24:]))&HighBits == 0
}

// ValidUTF8 is [utf8.Valid], quicker for words with letters of two bytes among ASCII.
func ValidUTF8(b []byte) bool {
	for {
		b = b[ASCIILen(b):]
		for len(b) >= 8 && fourLetters(binary.LittleEndian.Uint64(b)) {
			b = b[8:]
		}
		for len(b) >= 2 && b[0] >= 0xc2 && b[0] <= 0xdf && b[1]&0xc0 == 0x80 {
			b = b[2:]
		}
		if len(b) == 0 {
			return true
		}
		if b[0] >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(b)
			if n == 1 {
				return false
			}
			b = b[n:]
		}
	}
}

// fourLetters reports whether eight bytes are four letters of two bytes each: 110xxxxx and 10xxxxxx,
// of which the first is not C0 or C1.
func fourLetters(b uint64) bool {
	const each = 0x0001000100010001
	return b&(0xc0e0*each) == 0x80c0*each && (b&(0x1e*each)+0x1e*each)&(0x20*each) == 0x20*each
}

// UntilNUL returns the number of bytes of b before the first NUL, -1 if there is none, and
// whether any of them is not ASCII. Most text is short: it is read once, by words.
func UntilNUL(b []byte) (n int, high bool) {
	all := uint64(0)
	for n <= len(b)-8 {
		x := binary.LittleEndian.Uint64(b[n : n+8])
		if zero := (x - ones) &^ x & HighBits; zero != 0 { // the lowest bit is that of the first NUL
			all |= x & (zero ^ (zero - 1))
			return n + bits.TrailingZeros64(zero)/8, all&HighBits != 0
		}
		all |= x
		n += 8
	}
	for ; n < len(b); n++ {
		if b[n] == 0 {
			return n, all&HighBits != 0
		}
		all |= uint64(b[n])
	}
	return -1, false
}

// Next returns the bytes and the columns of the next character on a terminal, or of a change of colour.
func Next(s []byte) (n, columns int) {
	switch {
	case s[0] == 0x1b:
		return max(1, bytes.IndexByte(s, 'm')+1), 0
	case s[0] < utf8.RuneSelf:
		return 1, 1
	}
	r, n := utf8.DecodeRune(s)
	return n, Width(r)
}

// AppendWrapped appends a line, broken where it is longer than width columns: at a space if
// there is one in the second half, in the first line after indent. What follows is indented, by so much that it has room.
// The line must not be in b.
func AppendWrapped(b, line []byte, width, indent int) []byte {
	const least = 20
	indent = max(0, min(indent, width-least))
	for room, from := width, indent; ; room, from = width-indent, 0 {
		at, columns, space := 0, 0, 0
		for at < len(line) {
			n, w := Next(line[at:])
			if columns+w > room && columns > 0 {
				break
			}
			if line[at] == ' ' && columns > max(room/2, from) {
				space = at
			}
			columns += w
			at += n
		}
		switch {
		case at == len(line):
			return append(b, line...)
		case line[at] == ' ' || space == 0:
		default:
			at = space
		}
		b = append(bytes.TrimRight(append(b, line[:at]...), " "), '\n')
		b = append(b, strings.Repeat(" ", indent)...)
		line = bytes.TrimLeft(line[at:], " ")
	}
}

// Wrap appends words in lines of at most width columns, of which the first has an indent already, and ends the last line.
func Wrap(b *strings.Builder, words []string, width int, indent string) {
	column := utf8.RuneCountInString(indent)
	for i, word := range words {
		w := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+w > width:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += w
	}
	b.WriteByte('\n')
}

// Width returns the number of columns that a character takes on a terminal: 2 for wide
// ones of East Asian scripts and emoji, 0 for those that combine with the one before.
func Width(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}

// wide are the blocks of wide characters (Unicode Standard Annex 11) and of emoji.
var wide = [...][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x26aa, 0x26ab}, {0x26bd, 0x26be},
	{0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6},
	{0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f64f}, {0x1f680, 0x1f6ff},
	{0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}

// Plural returns the form of a word that a number needs.
func Plural(n int, one, many string) string { return Either(n == 1, one, many) }

// Either returns one of two values: the first if something is so.
func Either[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// Count returns a number and a noun: "1 server", "2 servers".
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Plural(n, noun, noun+"s") }

// Each returns what of makes of each element of a list, such as its text, and nil of an empty list.
func Each[T, U any](list []T, of func(T) U) (all []U) {
	for _, e := range list {
		all = append(all, of(e))
	}
	return all
}

// Sum returns the sum of what elements of a list have of something.
func Sum[T any, N int | uint64 | float64](list []T, of func(T) N) (sum N) {
	for _, e := range list {
		sum += of(e)
	}
	return sum
}

// Bytes returns the bytes of a string without a copy; they must only be read.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// View returns b as a string without a copy, for as long as b does not change.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// EscapeJSON returns JSON with escapes for the characters that must not reach a
// terminal; they stand only within strings.
func EscapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case !Unsafe(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// ShellWord quotes a path for a shell if necessary.
func ShellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:,@%\\", r)
	}) < 0 {
		return s
	}
	// The terminal output doubles backslashes, so do not use any.
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// Word reports whether s consists of letters of ASCII, digits, and the characters of more.
func Word(s, more string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(more, c)
	})
}
