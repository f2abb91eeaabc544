package filter

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/nettext"
)

const (
	// maxText is the longest expression, in bytes.
	maxText = 64 << 10
	// maxDepth limits the nesting of parentheses and operators.
	maxDepth = 200
)

// A token is a word or an operator. The kind of a word shows where it stands: the number of a port, an address.
type token struct {
	text     string // of an operator, its canonical form; "" at the end
	operator bool
	off, len int
}

var (
	operator = lazyregexp.New(`^(?:>=|<=|!=|==|&&|\|\||[&<>=!()\[\]:])`)
	// word matches a word, wordInside one between brackets, where a colon is an operator.
	word       = lazyregexp.New(`^[0-9A-Za-z:](?:[0-9A-Za-z._:/-]*[0-9A-Za-z_:])?`)
	wordInside = lazyregexp.New(`^[0-9A-Za-z]+`)
	// canonical are the operators that have another form.
	canonical = map[string]string{"==": "=", "&&": "and", "||": "or", "!": "not"}
)

// lex splits an expression into tokens. The last one is the end, with the place of the last word, for errors.
func lex(text string) (list []token, err *Error) {
	if len(text) > maxText {
		return nil, &Error{text, 0, len(text), fmt.Sprintf("the expression is longer than %d bytes", maxText)}
	}
	end, inside := token{operator: true}, false
	for off := 0; ; {
		rest, form := strings.TrimLeft(text[off:], " \t\r\n"), word
		if off = len(text) - len(rest); rest == "" {
			return append(list, end), nil
		}
		if inside {
			form = wordInside
		}
		t := token{text: form().FindString(rest), off: off}
		if t.operator = t.text == "" || t.text == "and" || t.text == "or" || t.text == "not"; t.text == "" {
			t.text = operator().FindString(rest)
		}
		if t.len = len(t.text); t.len == 0 {
			_, t.len = utf8.DecodeRuneInString(rest)
			why := nettext.Either(strings.IndexByte(`+-*/%^|\`, rest[0]) >= 0, refusal(rest[:1]), nettext.Quote(rest[:t.len])+" is not part of the filter language")
			return nil, &Error{text, off, t.len, why}
		}
		if t.operator && canonical[t.text] != "" {
			t.text = canonical[t.text]
		}
		inside = t.text == "[" || inside && t.text != "]"
		list = append(list, t)
		end.off, end.len = off, t.len
		off += t.len
	}
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
	ipv4        = &protocol{word: "ip", linkType: typeIPv4}
	ipv6        = &protocol{word: "ip6", linkType: typeIPv6}
	arp         = &protocol{word: "arp", linkType: typeARP}
	tcp         = &protocol{word: "tcp", number: 6, inIPv4: true, inIPv6: true}
	udp         = &protocol{word: "udp", number: 17, inIPv4: true, inIPv6: true}
	sctp        = &protocol{word: "sctp", number: 132, inIPv4: true, inIPv6: true}
	icmp        = &protocol{word: "icmp", number: 1, inIPv4: true}
	icmp6       = &protocol{word: "icmp6", number: protoICMPv6, inIPv6: true}
)

var (
	protocols = map[string]*protocol{"ip": ipv4, "ip6": ipv6, "arp": arp, "tcp": tcp, "udp": udp, "sctp": sctp, "icmp": icmp, "icmp6": icmp6}
	// kinds are the keywords for the kind of an address or a number.
	kinds = []string{"host", "net", "port", "portrange"}
	// keywords are all words but protocols.
	keywords = append([]string{"src", "dst", "and", "or", "not", "less", "greater", "vlan"}, kinds...)
	// refused are other keywords of tcpdump.
	refused = strings.Fields("ether proto len length broadcast multicast gateway protochain mask byte inbound outbound ifindex mpls pppoed pppoes geneve llc link ppp " +
		"slip fddi tr wlan rarp igmp igrp pim vrrp carp ah esp stp iso isis clnp atalk aarp decnet lat mopdl moprc ipx netbeui type subtype dir addr1 addr2 addr3 addr4")
)

// IsKeyword reports whether a word is a keyword or a protocol.
func IsKeyword(word string) bool { return slices.Contains(keywords, word) || protocols[word] != nil }

// refusal is why a keyword or operator of tcpdump is not supported.
func refusal(word string) string {
	return word + " is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -"
}

// overTransport are the protocols with ports, by the protocol of a port.
var overTransport = map[*protocol][]*protocol{tcp: {tcp}, udp: {udp}, sctp: {sctp}, anyProtocol: {udp, tcp, sctp}}

// A parser reads an expression from left to right. It keeps the first error and then
// skips to the end.
type parser struct {
	text  string
	list  []token
	pos   int
	depth int
	err   *Error
}

// qualifiers give a meaning to an address or a number. Those of an operand apply to
// the next one that has none, as in "port 80 or 443".
type qualifiers struct {
	in   *protocol // nil if nothing applies
	dir  direction
	kind string
}

func parse(text string) (expression, *Error) {
	list, err := lex(text)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		return everything{}, nil
	}
	p := &parser{text: text, list: list}
	x := p.expression(qualifiers{})
	if t := p.peek(); t.text != "" {
		p.fail(t, p.superfluous(t))
	}
	return x, p.err
}

func (p *parser) peek() token { return p.list[p.pos] }

func (p *parser) next() token {
	t := p.list[p.pos]
	if t.text != "" {
		p.pos++
	}
	return t
}

// accept consumes the next token if it is this keyword or operator.
func (p *parser) accept(text string) bool {
	if p.peek().text == text {
		p.pos++
		return true
	}
	return false
}

// expect consumes a word or operator, or fails.
func (p *parser) expect(text, why string) {
	if t := p.peek(); !p.accept(text) {
		p.fail(t, strconv.Quote(text)+" expected"+why+before(t))
	}
}

// before describes the place where something is missing.
func before(t token) string {
	return nettext.Either(t.text == "", " at the end", " before "+nettext.Quote(t.text))
}

// last returns the text of a token, at the end that of the last one.
func (p *parser) last(t token) string { return nettext.Quote(p.text[t.off : t.off+t.len]) }

func (p *parser) fail(t token, why string) { p.failAt(place{t.off, t.len}, why) }

func (p *parser) failAt(at place, why string) {
	if p.err == nil {
		p.err = &Error{Expression: p.text, Offset: at.off, Length: at.len, Text: why}
	}
	p.pos = len(p.list) - 1
}

// from returns the place from a token to the last one consumed.
func (p *parser) from(t token) place {
	last := p.list[max(p.pos-1, 0)]
	return place{t.off, max(last.off+last.len-t.off, t.len)}
}

// expression reads operands joined by "and" and "or", which have equal precedence and
// associate to the left. The qualifiers of an operand apply to the next.
func (p *parser) expression(q qualifiers) expression {
	x, q := p.operand(q)
	for {
		and := p.accept("and")
		if !and && !p.accept("or") {
			return x
		}
		var y expression
		y, q = p.operand(q)
		x = &combination{and, x, y}
	}
}

// operand reads an operand of "and" and "or".
func (p *parser) operand(q qualifiers) (expression, qualifiers) {
	p.depth++
	defer func() { p.depth-- }()
	t := p.peek()
	if p.depth > maxDepth {
		p.fail(t, fmt.Sprintf("nested more than %d deep", maxDepth))
		return everything{}, q
	}
	switch {
	case p.accept("not"):
		x, q := p.operand(q)
		return &negation{x}, q
	case p.accept("("):
		x := p.expression(q)
		p.expect(")", " to close the parenthesis")
		return x, q
	case t.operator && t.text == "":
		p.fail(t, "expression expected after "+p.last(t))
	case t.operator:
		p.fail(t, "expression expected"+before(t))
	case slices.Contains(refused, t.text):
		p.fail(t, refusal(t.text))
	case IsKeyword(t.text):
		return p.primitive()
	case q.in == nil:
		p.fail(t, unqualified(t))
	default:
		return p.id(q), q
	}
	return everything{}, q
}

// unqualified returns the error for a word that needs a qualifier or is not a keyword.
func unqualified(t token) string {
	w := nettext.Quote(t.text)
	if number().MatchString(t.text) {
		return w + " needs a qualifier: write port " + t.text
	}
	if _, err := netip.ParseAddr(t.text); err == nil {
		return w + " needs a qualifier: write host " + t.text + " or net " + t.text
	}
	if lower := strings.ToLower(t.text); lower != t.text && IsKeyword(lower) {
		return w + " is not a keyword: keywords are lower case"
	}
	all := slices.AppendSeq(slices.Clone(keywords), maps.Keys(protocols))
	slices.Sort(all)
	if k := nettext.Closest(t.text, all); k != "" {
		return w + " is not a keyword: did you mean " + k + "?"
	}
	return w + " is not a keyword"
}

// superfluous returns the error for a token after a complete expression.
func (p *parser) superfluous(t token) string {
	w := nettext.Quote(t.text)
	switch last := p.list[max(p.pos-1, 0)].text; {
	case t.text == ")":
		return "no parenthesis to close"
	case number().MatchString(t.text) && (last == "tcp" || last == "udp" || last == "sctp"):
		return fmt.Sprintf("%s after %s: write %s port %s", w, last, last, t.text)
	case !t.operator && !IsKeyword(t.text) && !number().MatchString(t.text):
		return unqualified(t)
	}
	return `"and" or "or" expected before ` + w
}

// primitive reads a primitive, which begins with a keyword.
func (p *parser) primitive() (expression, qualifiers) {
	first := p.next()
	q := qualifiers{in: anyProtocol, kind: "host"}
	switch first.text {
	case "less":
		n := p.number()
		return &relation{place: p.from(first), mask: allBits, cmp: greater, negated: true, number: n}, qualifiers{}
	case "greater":
		n := p.number()
		return &relation{place: p.from(first), mask: allBits, cmp: atLeast, number: n}, qualifiers{}
	case "vlan":
		x := &header{given: number().MatchString(p.peek().text)}
		if x.given {
			x.number = p.number()
		}
		if x.place = p.from(first); x.number > 0xfff {
			p.failAt(x.place, "the largest vlan number is 4095")
		}
		return x, qualifiers{}
	}
	if of := protocols[first.text]; of != nil {
		if p.peek().text == "[" {
			return p.relation(first), qualifiers{}
		}
		t := p.peek()
		switch q.in = of; {
		case slices.Contains(refused, t.text):
			p.fail(t, refusal(t.text))
			return everything{}, qualifiers{}
		case t.text != "src" && t.text != "dst" && !slices.Contains(kinds, t.text):
			return &protocolWord{p.from(first), of}, qualifiers{}
		}
		first = p.next()
	}
	switch first.text {
	case "src":
		q.dir = p.direction(source, "dst")
	case "dst":
		q.dir = p.direction(destination, "src")
	default:
		q.kind = first.text
	}
	if q.dir != either || first.text == "src" || first.text == "dst" {
		if t := p.peek(); slices.Contains(kinds, t.text) {
			q.kind = p.next().text
		}
	}
	switch t := p.peek(); {
	case t.text == "":
		p.fail(t, "operand expected after "+p.last(t))
	case t.operator && t.text != "(" && t.text != "not", IsKeyword(t.text) && t.text != "not":
		p.fail(t, fmt.Sprintf("%s cannot follow %s", nettext.Quote(t.text), q.kind))
	default:
		return p.operand(q)
	}
	return everything{}, q
}

// direction reads an optional "or dst" after "src", and the like.
func (p *parser) direction(d direction, other string) direction {
	switch {
	case p.accept("and"):
		d = both
	case p.accept("or"):
		d = either
	default:
		return d
	}
	p.expect(other, "")
	return d
}

// id reads an address or a number.
func (p *parser) id(q qualifiers) expression {
	t := p.next()
	switch q.kind {
	case "host", "net":
		return p.address(q, t)
	}
	over, ok := overTransport[q.in]
	from, to, two := strings.Cut(t.text, "-")
	if !two {
		to = from
	}
	lo, err := strconv.ParseUint(from, 0, 32)
	hi, err2 := strconv.ParseUint(to, 0, 32)
	switch w := nettext.Quote(t.text); {
	case err == nil && err2 == nil && (!two || q.kind == "portrange"):
	case number().MatchString(t.text):
		p.fail(t, notNumber(t.text))
	case strings.ContainsAny(t.text, ".:"):
		p.fail(t, q.kind+" takes no address")
	case q.kind == "portrange":
		p.fail(t, w+" is not a port range such as 27015-27030")
	default:
		p.fail(t, "unknown port "+w+": use its number")
	}
	switch {
	case !ok:
		p.fail(t, fmt.Sprintf("%s has no ports: write %s and %s %s", q.in.word, q.in.word, q.words(), t.text))
	case lo > 0xffff || hi > 0xffff:
		p.fail(t, "the largest port is 65535")
	}
	return &ports{p.from(t), over, q.dir, uint32(min(lo, hi)), uint32(max(lo, hi))}
}

// words returns the qualifiers as text, without the protocol.
func (q qualifiers) words() string {
	return [...]string{"", "src ", "dst ", "src and dst "}[q.dir] + q.kind
}

// dotted matches an IPv4 address or, for a network, its first numbers.
var dotted = lazyregexp.New(`^\d+(?:\.\d+)*(?:/\d+)?$`)

// address reads the address of a host or a network.
func (p *parser) address(q qualifiers, t token) expression {
	text, bits, masked := strings.Cut(t.text, "/")
	length := -1
	if dots := strings.Count(text, "."); q.kind == "net" && dots < 3 && dotted().MatchString(text) { // 192.0.2 is 192.0.2.0/24
		text += strings.Repeat(".0", 3-dots)
		length = 8 * (dots + 1)
	}
	addr, err := netip.ParseAddr(text)
	w := nettext.Quote(t.text)
	switch {
	case err == nil && addr.Zone() == "":
	case dotted().MatchString(t.text):
		p.fail(t, w+" is not an IPv4 address")
	case strings.Contains(t.text, ":"):
		p.fail(t, w+" is not an IPv6 address")
	case q.kind == "net":
		p.fail(t, "names are not resolved: use the address of the network "+w)
	default:
		p.fail(t, "names are not resolved: use the address of "+w)
	}
	if length < 0 {
		length = addr.BitLen()
	}
	if masked {
		if length, err = strconv.Atoi(bits); err != nil || length > addr.BitLen() {
			p.fail(t, fmt.Sprintf("the prefix length must be 0 to %d", addr.BitLen()))
		}
	}
	prefix := netip.PrefixFrom(addr, length)
	switch {
	case p.err != nil:
	case masked && q.kind == "host":
		p.fail(t, "only a network has a mask: write net "+t.text)
	case prefix.Masked() != prefix:
		p.fail(t, "the address has bits outside of the mask")
	case addr.Is4() && (q.in == ipv4 || q.in == arp), addr.Is6() && q.in == ipv6, q.in == anyProtocol:
	case q.in == ipv6:
		p.fail(t, "ip6 takes an IPv6 address")
	case q.in.linkType != 0:
		p.fail(t, q.in.word+" takes an IPv4 address")
	default:
		p.fail(t, fmt.Sprintf("%s has no addresses: write %s and %s %s", q.in.word, q.in.word, q.words(), t.text))
	}
	return &host{p.from(t), q.in, q.dir, prefix}
}

// A comparing is what an operator compares.
type comparing struct {
	cmp     comparison
	negated bool
}

var comparisons = map[string]comparing{
	"=": {equal, false}, "!=": {equal, true}, ">": {greater, false}, "<=": {greater, true}, ">=": {atLeast, false}, "<": {atLeast, true},
}

// relation reads a comparison of bytes of a protocol with a number: [offset:size] after its name.
func (p *parser) relation(first token) expression {
	x := &relation{of: protocols[first.text], size: 1, mask: allBits}
	p.next() // the bracket
	x.off = p.number()
	if p.accept(":") {
		if t := p.next(); t.text != "1" && t.text != "2" && t.text != "4" {
			p.fail(t, "the size is 1, 2 or 4 bytes")
		} else {
			x.size = t.text[0] - '0'
		}
	}
	p.expect("]", " to close the bracket")
	if p.accept("&") {
		x.mask = p.number()
	}
	t := p.next()
	c, ok := comparisons[t.text]
	if !ok {
		p.fail(t, "a comparison expected"+before(t))
	}
	x.cmp, x.negated, x.number = c.cmp, c.negated, p.number()
	x.place = p.from(first)
	return x
}

// number matches a number, in C syntax: 0x10, 020 and 16 are equal.
var number = lazyregexp.New(`^(?:0[xX][0-9a-fA-F]+|[0-9]+)$`)

// number reads a number.
func (p *parser) number() uint32 {
	t := p.next()
	v, err := strconv.ParseUint(t.text, 0, 32)
	switch {
	case t.text == "":
		p.fail(t, "a number expected after "+p.last(t))
	case !number().MatchString(t.text):
		p.fail(t, "a number expected instead of "+nettext.Quote(t.text))
	case err != nil:
		p.fail(t, notNumber(t.text))
	}
	return uint32(v)
}

// notNumber says what is wrong with a number.
func notNumber(s string) string {
	if _, err := strconv.ParseUint(s, 0, 32); err.(*strconv.NumError).Err == strconv.ErrRange {
		return s + " does not fit into 32 bits"
	}
	return s + " begins with 0, which makes it octal, and has a digit above 7"
}

// A value is a number from a frame. The zero value is none.
type value struct {
	kind valueKind
	// size is the number of bytes to read in network order: 1, 2 or 4.
	size uint8
	// k is an offset or a kernel number.
	k uint32
	// head is the offset of an IPv4 header whose length is added to the offset.
	head uint32
}

type valueKind uint8

const (
	valueNone        valueKind = iota
	valueLength                // of the frame on the wire
	valueKernel                // number k of the kernel
	valueAt                    // size bytes at k
	valueAfterHeader           // size bytes at k, after the IPv4 header at head
)

// beyond is an offset beyond the end of any frame. Larger offsets are negative for the
// kernel and have special meanings.
const beyond = 1<<31 - 1

// at returns the value at an offset in the frame.
func at(off uint32, size uint8) value { return value{kind: valueAt, k: min(off, beyond), size: size} }

// afterHeader returns the value at an offset after the IPv4 header at head.
func afterHeader(head, off uint32, size uint8) value {
	return value{kind: valueAfterHeader, head: head, k: min(head+off, beyond), size: size}
}
