package filter

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// maxDepth limits the nesting of parentheses and operators.
const maxDepth = 200

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
	given bool // unset if nothing applies
	in    *protocol
	dir   direction
	kind  kind
}

// A kind is the kind of an address or a number.
type kind uint8

const (
	kindHost kind = iota
	kindNet
	kindPort
	kindPortRange
	kindProto
)

func (k kind) String() string { return [...]string{"host", "net", "port", "portrange", "proto"}[k] }

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
	if t := p.peek(); t.kind != tokenEnd {
		p.fail(t, p.superfluous(t))
	}
	return x, p.err
}

func (p *parser) peek() token { return p.list[p.pos] }

func (p *parser) peekAt(n int) token { return p.list[min(p.pos+n, len(p.list)-1)] }

func (p *parser) next() token {
	t := p.list[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

// accept consumes the next token if it is this keyword or operator.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.keyword(text) || t.operator(text) {
		p.pos++
		return true
	}
	return false
}

// expect consumes an operator, or fails.
func (p *parser) expect(text, why string) {
	if t := p.peek(); !p.accept(text) {
		p.fail(t, strconv.Quote(text)+" expected "+why+before(t))
	}
}

// before describes the place where something is missing.
func before(t token) string {
	if t.kind == tokenEnd {
		return " at the end"
	}
	return " before " + nettext.Quote(t.text)
}

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

// enter increases the nesting depth. Callers call leave afterwards.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail(p.peek(), fmt.Sprintf("nested more than %d deep", maxDepth))
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

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
		x = combine(and, x, y)
	}
}

func combine(and bool, x, y expression) expression {
	if c, ok := x.(*combination); ok && c.and == and {
		c.parts = append(c.parts, y)
		return c
	}
	return &combination{and, []expression{x, y}}
}

// operand reads an operand of "and" and "or".
func (p *parser) operand(q qualifiers) (expression, qualifiers) {
	if !p.enter() {
		return everything{}, q
	}
	defer p.leave()
	t := p.peek()
	switch {
	case t.operator("not") || t.keyword("not"):
		p.next()
		x, q := p.operand(q)
		return &negation{x}, q
	case p.atRelation():
		return p.relation(), qualifiers{}
	case t.operator("("):
		p.next()
		x := p.expression(q)
		p.expect(")", "to close the parenthesis")
		return x, q
	case t.kind == tokenKeyword:
		return p.primitive()
	case t.kind == tokenEnd || t.kind == tokenOperator:
		p.fail(t, p.missing(t))
		return everything{}, q
	case !q.given:
		p.fail(t, unqualified(t))
		return everything{}, q
	}
	return p.id(q), q
}

// missing returns the error for a missing operand.
func (p *parser) missing(t token) string {
	if t.kind != tokenEnd {
		return "expression expected" + before(t)
	}
	return "expression expected after " + nettext.Quote(p.text[t.off:t.off+t.len])
}

// unqualified returns the error for a word that needs a qualifier or is not a keyword.
func unqualified(t token) string {
	w := nettext.Quote(t.text)
	switch t.kind {
	case tokenNumber:
		return w + " needs a qualifier: write port " + t.text
	case tokenIPv4, tokenIPv6:
		return w + " needs a qualifier: write host " + t.text + " or net " + t.text
	case tokenAddress:
		return w + " needs a qualifier: write ether host " + t.text
	}
	if lower := strings.ToLower(t.text); lower != t.text && IsKeyword(lower) {
		return w + " is not a keyword: keywords are lower case"
	}
	if k := similar(t.text); k != "" {
		return w + " is not a keyword: did you mean " + k + "?"
	}
	return w + " is not a keyword"
}

// superfluous returns the error for a token after a complete expression.
func (p *parser) superfluous(t token) string {
	w := nettext.Quote(t.text)
	if t.operator(")") {
		return "no parenthesis to close"
	}
	if p.pos > 0 && t.kind == tokenNumber {
		switch last := p.list[p.pos-1].text; last {
		case "tcp", "udp", "sctp":
			return fmt.Sprintf("%s after %s: write %s port %s", w, last, last, t.text)
		}
	}
	if t.kind == tokenName {
		return unqualified(t)
	}
	return `"and" or "or" expected before ` + w
}

// atRelation reports whether a relation begins here.
func (p *parser) atRelation() bool {
	t := p.peek()
	return t.keyword("len") || t.keyword("length") || t.kind == tokenKeyword && protocols[t.text] != nil && p.peekAt(1).operator("[")
}

// A comparing is what an operator compares.
type comparing struct {
	cmp     comparison
	negated bool
}

var comparisons = map[string]comparing{
	"=": {equal, false}, "!=": {equal, true}, ">": {greater, false}, "<=": {greater, true}, ">=": {atLeast, false}, "<": {atLeast, true},
}

// relation reads a comparison of the length or of bytes of a protocol with a number.
func (p *parser) relation() expression {
	first := p.next()
	x := &relation{of: protocols[first.text], mask: allBits}
	if x.of != nil {
		p.index(x)
	}
	if p.accept("&") {
		x.mask = p.number()
	}
	t := p.next()
	c, ok := comparisons[t.text]
	if t.kind != tokenOperator || !ok {
		p.fail(t, "a comparison expected"+before(t))
	}
	x.cmp, x.negated, x.number = c.cmp, c.negated, p.number()
	x.place = p.from(first)
	return x
}

// number reads a number.
func (p *parser) number() uint32 {
	t := p.next()
	switch t.kind {
	case tokenNumber:
		return t.number
	case tokenEnd:
		p.fail(t, "a number expected after "+nettext.Quote(p.text[t.off:t.off+t.len]))
	default:
		p.fail(t, "a number expected instead of "+nettext.Quote(t.text))
	}
	return 0
}

// index reads [offset] or [offset:size] after a protocol.
func (p *parser) index(x *relation) {
	p.next() // the bracket
	x.off, x.size = p.number(), 1
	if p.accept(":") {
		n := p.next()
		if n.kind != tokenNumber || n.number != 1 && n.number != 2 && n.number != 4 {
			p.fail(n, "the size is 1, 2 or 4 bytes")
		}
		x.size = uint8(n.number)
	}
	p.expect("]", "to close the bracket")
}

// primitive reads a primitive that begins with a keyword.
func (p *parser) primitive() (expression, qualifiers) {
	first := p.next()
	if refused[first.text] {
		p.fail(first, refusal(first.text))
		return everything{}, qualifiers{}
	}
	q := qualifiers{given: true, in: anyProtocol}
	if of := protocols[first.text]; of != nil {
		q.in = of
		t := p.peek()
		switch {
		case t.keyword("broadcast"), t.keyword("multicast"):
			p.next()
			return &cast{p.from(first), of, t.text == "multicast"}, qualifiers{}
		case t.kind == tokenKeyword && refused[t.text]:
			p.fail(t, refusal(t.text))
			return everything{}, qualifiers{}
		case t.kind != tokenKeyword || !qualifies[t.text]:
			return &protocolWord{p.from(first), of}, qualifiers{}
		}
		p.next()
		return p.qualified(t, q)
	}
	if qualifies[first.text] {
		return p.qualified(first, q)
	}
	return p.other(first), qualifiers{}
}

// qualifies lists the keywords that qualify an address or a number.
var qualifies = set("src dst host net port portrange proto")

// qualified reads qualifiers, beginning with t, and their operand.
func (p *parser) qualified(t token, q qualifiers) (expression, qualifiers) {
	switch t.text {
	case "src":
		q.dir = p.direction(source, "dst")
		q.kind = p.kind()
	case "dst":
		q.dir = p.direction(destination, "src")
		q.kind = p.kind()
	case "net":
		q.kind = kindNet
	case "port":
		q.kind = kindPort
	case "portrange":
		q.kind = kindPortRange
	case "proto":
		q.kind = kindProto
	}
	return p.id(q), q
}

// direction reads an optional "or dst" after "src", and the like.
func (p *parser) direction(d direction, other string) direction {
	joined := either
	switch {
	case p.accept("and"):
		joined = both
	case p.accept("or"):
	default:
		return d
	}
	if t := p.peek(); !p.accept(other) {
		p.fail(t, strconv.Quote(other)+" expected"+before(t))
	}
	return joined
}

// kind reads an optional kind after a direction.
func (p *parser) kind() kind {
	for k := kindHost; k <= kindPortRange; k++ {
		if p.accept(k.String()) {
			return k
		}
	}
	return kindHost
}

// id reads an address, a number or a name, or several in parentheses.
func (p *parser) id(q qualifiers) expression {
	if !p.enter() {
		return everything{}
	}
	defer p.leave()
	t := p.next()
	switch {
	case t.operator("not") || t.keyword("not"):
		return &negation{p.id(q)}
	case t.operator("("):
		x := p.id(q)
		for {
			and := p.accept("and")
			if !and && !p.accept("or") {
				p.expect(")", "to close the parenthesis")
				return x
			}
			x = combine(and, x, p.id(q))
		}
	case t.kind == tokenNumber:
		return p.numbered(q, t)
	case t.kind == tokenIPv4:
		return p.ipv4(q, t)
	case t.kind == tokenIPv6:
		return p.ipv6(q, t)
	case t.kind == tokenAddress:
		return p.ethernet(q, t)
	case t.kind == tokenName, t.kind == tokenKeyword && q.kind == kindProto:
		return p.name(q, t)
	case t.kind == tokenEnd:
		p.fail(t, fmt.Sprintf("operand expected after %s", nettext.Quote(p.text[t.off:t.off+t.len])))
	default:
		p.fail(t, fmt.Sprintf("%s cannot follow %s", nettext.Quote(t.text), q.kind))
	}
	return everything{}
}

// numbered reads the number of a port or protocol, or a network such as net 10.
func (p *parser) numbered(q qualifiers, t token) expression {
	switch q.kind {
	case kindPort, kindPortRange:
		return p.ports(q, t, t.number, t.number)
	case kindProto:
		return p.protocolNumber(q, t, t.number)
	}
	addr, mask := t.number, ^uint32(0)
	if p.peek().operator("/") || q.kind == kindNet {
		for addr != 0 && addr>>24 == 0 {
			addr <<= 8
			mask <<= 8
		}
	}
	return p.network(q, t, addr, mask)
}

// ipv4 reads an IPv4 address of two to four numbers. Fewer than four are a network.
func (p *parser) ipv4(q qualifiers, t token) expression {
	addr, mask, ok := dotted(t.text)
	if !ok {
		p.fail(t, nettext.Quote(t.text)+" is not an IPv4 address")
	}
	return p.network(q, t, addr, mask)
}

// dotted parses two to four numbers separated by dots.
func dotted(s string) (addr, mask uint32, ok bool) {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		v, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return 0, 0, false
		}
		addr = addr<<8 | uint32(v)
	}
	missing := 32 - 8*len(parts)
	return addr << missing, ^uint32(0) << missing, true
}

// network reads an optional prefix length or mask after an IPv4 address.
func (p *parser) network(q qualifiers, t token, addr, mask uint32) expression {
	masked := true
	switch u := p.peek(); {
	case u.operator("/"):
		p.next()
		n := p.next()
		if n.kind != tokenNumber || n.number > 32 {
			p.fail(n, "the prefix length must be 0 to 32")
			return everything{}
		}
		mask = uint32(^uint64(0) << (32 - n.number))
	default:
		masked = false
	}
	at := p.from(t)
	p.checkAddress(q, t, at, ipv4, masked, addr&^mask != 0)
	return &hostIPv4{at, q.in, q.dir, addr, mask}
}

// checkAddress fails if the qualifiers or the mask do not fit an address.
func (p *parser) checkAddress(q qualifiers, t token, at place, version *protocol, masked, outside bool) {
	carrier := q.in == version || version == ipv4 && q.in == arp
	switch {
	case masked && q.kind != kindNet:
		p.failAt(at, "only a network has a mask: write net "+p.text[at.off:at.off+at.len])
	case outside:
		p.failAt(at, "the address has bits outside of the mask")
	case q.kind > kindNet:
		p.failAt(at, fmt.Sprintf("%s takes no address", q.kind))
	case q.in == linkLayer:
		p.failAt(at, "ether takes an Ethernet address, such as 02:00:00:00:00:01")
	case carrier || q.in == anyProtocol:
	case q.in == ipv6:
		p.failAt(at, "ip6 takes an IPv6 address")
	case q.in == ipv4 || q.in == arp:
		p.failAt(at, q.in.word+" takes an IPv4 address")
	default:
		p.failAt(at, fmt.Sprintf("%s has no addresses: write %s and %s %s", q.in.word, q.in.word, q.words(), t.text))
	}
}

// words returns the qualifiers as text, without the protocol.
func (q qualifiers) words() string {
	return [...]string{"", "src ", "dst ", "src and dst "}[q.dir] + q.kind.String()
}

// ipv6 reads an address and an optional prefix length.
func (p *parser) ipv6(q qualifiers, t token) expression {
	bits, masked := uint32(128), p.accept("/")
	if masked {
		n := p.next()
		if n.kind != tokenNumber || n.number > 128 {
			p.fail(n, "the prefix length must be 0 to 128")
			return everything{}
		}
		bits = n.number
	}
	x := &hostIPv6{place: p.from(t), dir: q.dir}
	addr := netip.MustParseAddr(t.text).As16()
	outside := false
	for i := range x.addr {
		x.addr[i] = binary.BigEndian.Uint32(addr[4*i:])
		ones := min(max(int(bits)-32*i, 0), 32)
		x.mask[i] = uint32(^uint64(0) << (32 - ones))
		outside = outside || x.addr[i]&^x.mask[i] != 0
	}
	p.checkAddress(q, t, x.place, ipv6, masked && bits != 128, outside)
	return x
}

func (p *parser) ethernet(q qualifiers, t token) expression {
	if q.kind != kindHost || q.in != linkLayer {
		p.fail(t, "an Ethernet address needs ether host, ether src or ether dst")
	}
	return &hostEthernet{p.from(t), q.dir, address(t.text)}
}

func (p *parser) ports(q qualifiers, t token, lo, hi uint32) expression {
	over, ok := overTransport[q.in]
	switch {
	case !ok:
		p.fail(t, fmt.Sprintf("%s has no ports: write %s and %s %s", q.in.word, q.in.word, q.words(), t.text))
	case lo > 0xffff || hi > 0xffff:
		p.fail(t, "the largest port is 65535")
	}
	return &ports{p.from(t), over, q.dir, min(lo, hi), max(lo, hi)}
}

func (p *parser) protocolNumber(q qualifiers, t token, n uint32) expression {
	switch {
	case q.in == linkLayer && n < 0x600:
		p.fail(t, "the smallest EtherType is 0x600")
	case q.in == anyProtocol, q.in == linkLayer, q.in == ipv4, q.in == ipv6:
		return &protocolNumber{p.from(t), q.in, n}
	}
	p.fail(t, fmt.Sprintf("%s proto is not supported: only ether, ip and ip6 have it", q.in.word))
	return everything{}
}

// name reads a range of ports or the name of a protocol. It refuses other names, so that
// a filter has the same meaning on every machine.
func (p *parser) name(q qualifiers, t token) expression {
	switch q.kind {
	case kindPort:
		p.fail(t, "unknown port "+nettext.Quote(t.text)+": use its number")
	case kindPortRange:
		from, to, _ := strings.Cut(t.text, "-")
		lo, err := strconv.ParseUint(from, 10, 32)
		hi, err2 := strconv.ParseUint(to, 10, 32)
		if err == nil && err2 == nil {
			return p.ports(q, t, uint32(lo), uint32(hi))
		}
		p.fail(t, nettext.Quote(t.text)+" is not a port range such as 27015-27030")
	case kindProto:
		of := protocols[t.text]
		switch {
		case of != nil && q.in == linkLayer && of.linkType != 0:
			return p.protocolNumber(q, t, of.linkType)
		case of != nil && q.in != linkLayer && of.number != 0:
			return p.protocolNumber(q, t, of.number)
		}
		p.fail(t, "unknown protocol "+nettext.Quote(t.text)+": use its number")
	case kindNet:
		p.fail(t, "names are not resolved: use the address of the network "+nettext.Quote(t.text))
	default:
		p.fail(t, "names are not resolved: use the address of "+nettext.Quote(t.text))
	}
	return everything{}
}

// other reads the primitives without an address or a port.
func (p *parser) other(first token) expression {
	switch first.text {
	case "broadcast", "multicast":
		return &cast{p.from(first), anyProtocol, first.text == "multicast"}
	case "less", "greater":
		n := p.number()
		if first.text == "less" {
			return &relation{place: p.from(first), mask: allBits, cmp: greater, negated: true, number: n}
		}
		return &relation{place: p.from(first), mask: allBits, cmp: atLeast, number: n}
	case "vlan":
		x := &header{given: p.peek().kind == tokenNumber}
		if x.given {
			x.number = p.number()
		}
		x.place = p.from(first)
		if x.number > 0xfff {
			p.failAt(x.place, "the largest vlan number is 4095")
		}
		return x
	}
	p.fail(first, nettext.Quote(first.text)+" is not allowed here")
	return everything{}
}
