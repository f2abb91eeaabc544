package filter

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is the longest expression, in bytes.
const maxText = 64 << 10

// A token is a word of an expression.
type token struct {
	kind tokenKind
	// text is the word as it is written, but for a name, which has no
	// backslash, and an operator that has two forms, which has the one that
	// the parser knows.
	text     string
	off, len int
	number   uint32 // of a tokenNumber
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenKeyword
	tokenOperator
	tokenNumber
	tokenName    // neither keyword nor number: the name of a port, of a protocol
	tokenIPv4    // with two to four parts: 192.0.2
	tokenIPv6    //
	tokenAddress // of Ethernet
)

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

func (t token) keyword(text string) bool  { return t.is(tokenKeyword, text) }
func (t token) operator(text string) bool { return t.is(tokenOperator, text) }

// operators are all operators, the long ones first. The second is what the
// parser knows it as.
var operators = [...][2]string{
	{">=", ">="}, {"<=", "<="}, {"!=", "!="}, {"==", "="}, {"<<", "<<"}, {">>", ">>"}, {"&&", "and"}, {"||", "or"},
	{"+", "+"}, {"-", "-"}, {"*", "*"}, {"/", "/"}, {"%", "%"}, {"&", "&"}, {"|", "|"}, {"^", "^"},
	{"<", "<"}, {">", ">"}, {"=", "="}, {"!", "not"}, {"(", "("}, {")", ")"}, {"[", "["}, {"]", "]"}, {":", ":"},
}

// lex cuts an expression into its words. The last token is a tokenEnd that
// points to the last word, so that an error there has something to show.
func lex(text string) ([]token, *Error) {
	var list []token
	fail := func(off, n int, why string) ([]token, *Error) {
		return nil, &Error{Expression: text, Offset: off, Length: n, Text: why}
	}
	if len(text) > maxText {
		return fail(0, len(text), "the expression is longer than "+strconv.Itoa(maxText)+" bytes")
	}
	for off := 0; off < len(text); {
		rest := text[off:]
		if strings.IndexByte(" \t\r\n", rest[0]) >= 0 {
			off++
			continue
		}
		t, why := word(rest)
		if why != "" {
			return fail(off, t.len, why)
		}
		t.off = off
		list = append(list, t)
		off += t.len
	}
	end := token{kind: tokenEnd}
	if n := len(list); n > 0 {
		end.off, end.len = list[n-1].off, list[n-1].len
	}
	return append(list, end), nil
}

// word returns the word that s begins with, and what is wrong with it. As the
// scanner of libpcap does, it takes the longest of all readings and, of those
// that are equally long, the one that is tried first here.
func word(s string) (t token, why string) {
	take := func(kind tokenKind, n int) {
		if n > t.len {
			t = token{kind: kind, text: s[:n], len: n}
		}
	}
	if name := s[:nameLength(s)]; isKeyword(name) || refusal(name) != "" {
		take(tokenKeyword, len(name))
	}
	take(tokenAddress, addressLength(s))
	take(tokenNumber, numberLength(s))
	take(tokenIPv4, dottedLength(s))
	take(tokenIPv6, ipv6Length(s))
	if n := nameLength(s); n > t.len {
		take(tokenName, n)
		if v, ok := constants[t.text]; ok {
			t.kind, t.number = tokenNumber, v
			return t, ""
		}
	}
	if n := colonsLength(s); n > t.len {
		t.len = n
		return t, quote(s[:n]) + " is neither an IPv6 nor an Ethernet address"
	}
	if t.kind == tokenNumber {
		t.number, why = number(t.text)
	}
	if t.len > 0 {
		return t, why
	}
	for _, o := range operators {
		if strings.HasPrefix(s, o[0]) {
			return token{kind: tokenOperator, text: o[1], len: len(o[0])}, ""
		}
	}
	if n := escapedLength(s); n > 1 {
		return token{kind: tokenName, text: s[1:n], len: n}, ""
	}
	_, n := utf8.DecodeRuneInString(s)
	return token{len: n}, quote(s[:n]) + " has no meaning"
}

// number reads a number as C does: 0x10, 020 and 16 are the same.
func number(s string) (n uint32, why string) {
	v, err := strconv.ParseUint(s, 0, 32)
	switch {
	case err == nil:
		return uint32(v), ""
	case err.(*strconv.NumError).Err == strconv.ErrRange:
		return 0, s + " does not fit into 32 bits"
	default:
		return 0, s + " begins with 0, which makes it octal, and has a digit above 7"
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func isNameStart(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// span returns how many bytes at the beginning of s are such, at most most.
func span(s string, such func(byte) bool, most int) int {
	n := 0
	for n < len(s) && n < most && such(s[n]) {
		n++
	}
	return n
}

// nameLength: letters and digits, with dots anywhere but at the beginning, and
// with - and _ inside.
func nameLength(s string) int {
	if s == "" || !isNameStart(s[0]) {
		return 0
	}
	n := span(s, func(c byte) bool { return isNameStart(c) || c == '.' || c == '-' || c == '_' }, len(s))
	for s[n-1] == '-' || s[n-1] == '_' {
		n--
	}
	return n
}

// escapedLength: a backslash, which takes from a word its meaning as keyword.
func escapedLength(s string) int {
	if s[0] != '\\' {
		return 0
	}
	return 1 + span(s[1:], func(c byte) bool { return strings.IndexByte(" !()\t\n", c) < 0 }, len(s))
}

// numberLength: 16, 020, 0x10.
func numberLength(s string) int {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		if n := span(s[2:], isHex, len(s)); n > 0 {
			return 2 + n
		}
	}
	return span(s, isDigit, len(s))
}

// dottedLength: two to four numbers with dots between them.
func dottedLength(s string) int {
	end := 0
	for n, part := 0, 0; part < 4; part++ {
		digits := span(s[n:], isDigit, len(s))
		if digits == 0 {
			break
		}
		n += digits
		if part > 0 {
			end = n
		}
		if n == len(s) || s[n] != '.' {
			break
		}
		n++
	}
	return end
}

// ipv6Length: what [netip.ParseAddr] takes for an IPv6 address, without a zone.
func ipv6Length(s string) int {
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
	n := span(s, func(c byte) bool { return isHex(c) || c == ':' || c == '.' }, longest)
	if strings.Count(s[:n], ":") < 2 {
		return 0
	}
	for ; n > 1; n-- {
		if a, err := netip.ParseAddr(s[:n]); err == nil && a.Is6() {
			return n
		}
	}
	return 0
}

// colonsLength: hexadecimal digits with at least two groups of colons behind
// them, which is meant for an address.
func colonsLength(s string) int {
	n, groups, last := 0, 0, 0
	for {
		digits := span(s[n:], isHex, len(s))
		colons := span(s[n+digits:], func(c byte) bool { return c == ':' }, len(s))
		if digits == 0 || colons == 0 {
			if groups > 1 {
				return last + digits
			}
			return 0
		}
		n += digits + colons
		groups++
		last = n
	}
}

// addressLength: an address of Ethernet in one of the forms that tcpdump knows.
func addressLength(s string) int {
	longest := 0
	for _, form := range [...]struct {
		separator   string
		groups      int
		least, most int
	}{
		{":", 6, 1, 2}, {"-", 6, 1, 2}, {".", 6, 1, 2}, {".", 3, 4, 4}, {"", 1, 12, 12},
	} {
		n := 0
		for g := range form.groups {
			if g > 0 {
				if !strings.HasPrefix(s[n:], form.separator) {
					n = 0
					break
				}
				n += len(form.separator)
			}
			digits := span(s[n:], isHex, form.most)
			if digits < form.least {
				n = 0
				break
			}
			n += digits
		}
		longest = max(longest, n)
	}
	return longest
}

// address reads an address of Ethernet.
func address(s string) (a [6]byte) {
	groups := strings.FieldsFunc(s, func(c rune) bool { return c == ':' || c == '-' || c == '.' })
	width := 12 / len(groups)
	digits := ""
	for _, g := range groups {
		digits += strings.Repeat("0", width-len(g)) + g
	}
	for i := range a {
		v, _ := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		a[i] = byte(v)
	}
	return a
}
