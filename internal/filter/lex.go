package filter

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// maxText is the longest expression, in bytes.
const maxText = 64 << 10

// A token is a word or an operator.
type token struct {
	kind tokenKind
	// text is the token as written. An operator has its canonical form.
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
	tokenName    // the name of a port or a protocol
	tokenIPv4    // with two to four parts: 192.0.2
	tokenIPv6    //
	tokenAddress // of Ethernet
)

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

func (t token) keyword(text string) bool  { return t.is(tokenKeyword, text) }
func (t token) operator(text string) bool { return t.is(tokenOperator, text) }

// operators maps operators to their canonical form, longest first.
var operators = [...][2]string{
	{">=", ">="}, {"<=", "<="}, {"!=", "!="}, {"==", "="}, {"&&", "and"}, {"||", "or"},
	{"/", "/"}, {"&", "&"},
	{"<", "<"}, {">", ">"}, {"=", "="}, {"!", "not"}, {"(", "("}, {")", ")"}, {"[", "["}, {"]", "]"}, {":", ":"},
}

// lex splits an expression into tokens. The final tokenEnd has the place of the last
// word, for errors at the end.
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

// word returns the first token of s, or an error. Like the scanner of libpcap, it
// takes the longest match; of equally long ones, the first.
func word(s string) (t token, why string) {
	take := func(kind tokenKind, n int) {
		if n > t.len {
			t = token{kind: kind, text: s[:n], len: n}
		}
	}
	if name := s[:nameLength(s)]; IsKeyword(name) || refused[name] {
		take(tokenKeyword, len(name))
	}
	take(tokenAddress, addressLength(s))
	take(tokenNumber, numberLength(s))
	take(tokenIPv4, dottedLength(s))
	take(tokenIPv6, ipv6Length(s))
	take(tokenName, nameLength(s))
	if n := colonsLength(s); n > t.len {
		t.len = n
		return t, nettext.Quote(s[:n]) + " is neither an IPv6 nor an Ethernet address"
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
	_, n := utf8.DecodeRuneInString(s)
	if strings.IndexByte(`+-*%^|\`, s[0]) >= 0 {
		return token{len: n}, refusal(s[:1])
	}
	return token{len: n}, nettext.Quote(s[:n]) + " is not part of the filter language"
}

// number parses a number in C syntax: 0x10, 020 and 16 are equal.
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

// span returns the length of the prefix of s whose bytes satisfy such, up to most
// bytes.
func span(s string, such func(byte) bool, most int) int {
	n := 0
	for n < len(s) && n < most && such(s[n]) {
		n++
	}
	return n
}

// nameLength returns the length of a name: letters and digits, dots except at the
// start, and hyphens and underscores inside.
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

// numberLength returns the length of a number: 16, 020, 0x10.
func numberLength(s string) int {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		if n := span(s[2:], isHex, len(s)); n > 0 {
			return 2 + n
		}
	}
	return span(s, isDigit, len(s))
}

// dottedLength returns the length of two to four numbers separated by dots.
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

// ipv6Length returns the length of an IPv6 address as [netip.ParseAddr] accepts it,
// without a zone.
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

// colonsLength returns the length of hexadecimal digits separated by colons. It finds
// misspelled addresses.
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

// addressLength returns the length of an Ethernet address: six numbers of one or two
// digits, separated by colons.
func addressLength(s string) int {
	n := 0
	for g := range 6 {
		if g > 0 {
			if !strings.HasPrefix(s[n:], ":") {
				return 0
			}
			n++
		}
		digits := span(s[n:], isHex, 2)
		if digits == 0 {
			return 0
		}
		n += digits
	}
	return n
}

// address parses an Ethernet address.
func address(s string) (a [6]byte) {
	for i, digits := range strings.Split(s, ":") {
		v, _ := strconv.ParseUint(digits, 16, 8)
		a[i] = byte(v)
	}
	return a
}

// A protocol is a keyword for a protocol.
type protocol struct {
	word     string
	linkType uint32 // the EtherType
	// number is the protocol number of IP. inIPv4 and inIPv6 tell in which version the
	// keyword looks for it.
	number         uint32
	inIPv4, inIPv6 bool
}

// EtherTypes (IANA, IEEE 802 numbers).
const (
	typeIPv4    = 0x0800
	typeARP     = 0x0806
	typeVLAN    = 0x8100
	typeQinQ    = 0x88a8
	typeQinQOld = 0x9100
	typeIPv6    = 0x86dd
)

// IP protocol numbers (IANA).
const (
	protoFragment = 44 // the fragment header of IPv6
	protoICMPv6   = 58
)

// Protocols with a special role in the parser or the compiler.
var (
	anyProtocol = &protocol{}
	linkLayer   = &protocol{word: "ether"}
	ipv4        = &protocol{word: "ip", linkType: typeIPv4}
	ipv6        = &protocol{word: "ip6", linkType: typeIPv6}
	arp         = &protocol{word: "arp", linkType: typeARP}
	tcp         = &protocol{word: "tcp", number: 6, inIPv4: true, inIPv6: true}
	udp         = &protocol{word: "udp", number: 17, inIPv4: true, inIPv6: true}
	sctp        = &protocol{word: "sctp", number: 132, inIPv4: true, inIPv6: true}
	icmp        = &protocol{word: "icmp", number: 1, inIPv4: true}
	icmp6       = &protocol{word: "icmp6", number: protoICMPv6, inIPv6: true}
)

var protocols = map[string]*protocol{
	"ether": linkLayer, "ip": ipv4, "ip6": ipv6, "arp": arp, "tcp": tcp, "udp": udp, "sctp": sctp, "icmp": icmp, "icmp6": icmp6,
}

// keywords lists the keywords that are not protocols.
var keywords = set("src dst host net port portrange proto and or not len length less greater broadcast multicast vlan")

// refused lists other keywords of tcpdump.
var refused = set("gateway protochain mask byte inbound outbound ifindex mpls pppoed pppoes geneve llc link ppp slip fddi tr wlan " +
	"rarp igmp igrp pim vrrp carp ah esp stp iso isis clnp atalk aarp decnet lat mopdl moprc ipx netbeui type subtype dir addr1 addr2 addr3 addr4")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// IsKeyword reports whether a word is a keyword or a protocol.
func IsKeyword(word string) bool { return keywords[word] || protocols[word] != nil }

// refusal is why a keyword of tcpdump is not supported.
func refusal(word string) string {
	return word + " is not supported: let tcpdump -ddd translate the filter, and give it as @FILE"
}

// overTransport are the protocols with ports, by the protocol of a port.
var overTransport = map[*protocol][]*protocol{tcp: {tcp}, udp: {udp}, sctp: {sctp}, anyProtocol: {udp, tcp, sctp}}

// similar returns the most similar keyword, or "".
func similar(word string) string {
	var list []string
	for k := range keywords {
		list = append(list, k)
	}
	for k := range protocols {
		list = append(list, k)
	}
	slices.Sort(list)
	return nettext.Closest(word, list)
}
