package filter

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A compiler translates an expression into a condition on frames of one link type. It
// works in the order of the text, because a word such as "vlan" moves the layers for
// everything after it, regardless of parentheses.
type compiler struct {
	// link has the offsets of the headers for the rest of the expression, which words such as "vlan" change.
	link
	outer bool // no word has moved them yet
	text  string
	o     Options
	// stripped is set if the kernel has removed the VLAN tag from the frame.
	stripped bool
	// asked is set if the condition depends on stripped.
	asked bool
	err   *Error
}

// compile returns the condition of a filter for a link type.
func (f *Filter) compile(linkType uint16, o Options) (*condition, error) {
	c, err := f.expression(linkType, o)
	if err != nil || !o.ICMPErrors {
		return c, err
	}
	o.Exact = true
	errors, err := tagged(icmpErrors, linkType).expression(linkType, o)
	if err != nil {
		return nil, err
	}
	return anyOf(errors, c), nil // errors first, because c may read beyond the end of an ICMP error
}

// expression returns the condition without that for ICMP errors.
func (f *Filter) expression(linkType uint16, o Options) (*condition, error) {
	l := linkOf(linkType)
	if l == nil {
		return nil, fmt.Errorf("filter: frames of link type %d cannot be filtered", linkType)
	}
	run := func(stripped bool) (*condition, *compiler) {
		c := &compiler{link: *l, outer: true, text: f.text, o: o, stripped: stripped}
		return f.x.condition(c, !o.Exact), c
	}
	x, c := run(false)
	if c.err != nil {
		return nil, c.err
	}
	if !c.asked {
		return x, nil
	}
	// A Linux socket usually stores the outermost tag outside the frame. Then the tag
	// moves no offsets.
	y, _ := run(true)
	tagged := is(kernel(vlanTagPresent), 1)
	return anyOf(allOf(tagged, y), allOf(not(tagged), x)), nil
}

// Data of the Linux kernel about a frame (linux/filter.h).
const (
	vlanTag        = 44
	vlanTagPresent = 48
)

func kernel(number uint32) value { return value{kind: valueKernel, k: number, size: 4} }

func (c *compiler) fail(p place, format string, args ...any) *condition {
	if c.err == nil && !c.o.Lenient {
		c.err = &Error{Expression: c.text, Offset: p.off, Length: p.len, Text: fmt.Sprintf(format, args...)}
	}
	return never
}

func (everything) condition(*compiler, bool) *condition { return always }

func (x *combination) condition(c *compiler, may bool) *condition {
	a, b := x.x.condition(c, may), x.y.condition(c, may)
	if x.and {
		return allOf(a, b)
	}
	return anyOf(a, b)
}

func (x *negation) condition(c *compiler, may bool) *condition {
	return not(x.of.condition(c, !may && !c.o.Exact))
}

func (x *protocolWord) condition(c *compiler, _ bool) *condition {
	if x.p.linkType != 0 {
		return c.follows(x.p.linkType)
	}
	y := anyOf()
	if x.p.inIPv4 {
		y.parts = append(y.parts, c.carries(ipv4, x.p.number))
	}
	if x.p.inIPv6 {
		y.parts = append(y.parts, c.carries(ipv6, x.p.number))
	}
	return y
}

// carries returns the condition that IPv4 or IPv6 carries a protocol. In IPv6, it
// tests the first header and the header after a fragment header.
func (c *compiler) carries(version *protocol, number uint32) *condition {
	if version == ipv4 {
		return allOf(c.follows(typeIPv4), is(c.ip(ipv4Protocol, 1), number))
	}
	next := c.ip(ipv6Next, 1)
	return allOf(c.follows(typeIPv6),
		anyOf(is(next, number), allOf(is(next, protoFragment), is(c.ip(ipv6Header, 1), number))))
}

// Offsets in the headers of IPv4 (RFC 791, 3.1), IPv6 (RFC 8200, 3 and 4.5), ARP (RFC
// 826) and transport protocols.
const (
	ipv4Fragment    = 6
	ipv4Protocol    = 9
	ipv4Source      = 12
	ipv4Destination = 16
	ipv4Offset      = 0x1fff // mask of the fragment offset

	ipv6Next        = 6
	ipv6Source      = 8
	ipv6Destination = 24
	ipv6Header      = 40
	fragmentOffset  = 2 // in the fragment header
	fragmentHeader  = 8
	ipv6Offset      = 0xfff8 // mask of the fragment offset

	arpSource      = 14
	arpDestination = 24

	sourcePort      = 0
	destinationPort = 2
)

// towards applies a condition to the source, the destination, or both.
func towards(d direction, condition func(d direction) *condition) *condition {
	switch d {
	case either:
		return anyOf(condition(source), condition(destination))
	case both:
		return allOf(condition(source), condition(destination))
	}
	return condition(d)
}

func (x *host) condition(c *compiler, _ bool) *condition {
	in := func(version *protocol, src, dst uint32) *condition {
		return allOf(c.follows(version.linkType), towards(x.dir, func(d direction) *condition {
			off := nettext.Either(d == destination, dst, src)
			all, addr := allOf(), x.prefix.Addr().AsSlice()
			for i := 0; i < len(addr); i += 4 {
				mask := ^uint32(0) << (32 - min(max(x.prefix.Bits()-8*i, 0), 32))
				all.parts = append(all.parts, has(c.ip(off+uint32(i), 4), mask, binary.BigEndian.Uint32(addr[i:])))
			}
			return all
		}))
	}
	y := anyOf()
	if x.prefix.Addr().Is6() {
		return in(ipv6, ipv6Source, ipv6Destination)
	}
	if x.in != arp {
		y.parts = append(y.parts, in(ipv4, ipv4Source, ipv4Destination))
	}
	if x.in != ipv4 {
		y.parts = append(y.parts, in(arp, arpSource, arpDestination))
	}
	return y
}

// condition implements expression. Later fragments have no ports. If may is set, they
// match by protocol alone. Then the first fragment of an IPv6 packet matches by its
// ports as well, which libpcap does not find after the fragment header.
func (x *ports) condition(c *compiler, may bool) *condition {
	right := func(v value) *condition {
		y := anyOf()
		for _, p := range x.over {
			y.parts = append(y.parts, is(v, p.number))
		}
		return y
	}
	match := func(read func(off uint32, size uint8) value) *condition {
		return towards(x.dir, func(d direction) *condition {
			off := nettext.Either(d == destination, destinationPort, uint32(sourcePort))
			port := read(off, 2)
			if x.lo == x.hi {
				return is(port, x.lo)
			}
			return allOf(compare(port, allBits, atLeast, x.lo), not(compare(port, allBits, greater, x.hi)))
		})
	}
	afterIPv6 := func(extra uint32) func(uint32, uint8) value {
		return func(off uint32, size uint8) value { return c.ip(ipv6Header+extra+off, size) }
	}
	in6 := allOf(right(c.ip(ipv6Next, 1)), match(afterIPv6(0)))
	if may {
		first := has(c.ip(ipv6Header+fragmentOffset, 2), ipv6Offset, 0)
		in6 = anyOf(allOf(
			is(c.ip(ipv6Next, 1), protoFragment),
			right(c.ip(ipv6Header, 1)),
			anyOf(not(first), match(afterIPv6(fragmentHeader)))), in6)
	}
	return anyOf(
		allOf(c.follows(typeIPv4), right(c.ip(ipv4Protocol, 1)), c.ifFirst(may, match(c.transport))),
		allOf(c.follows(typeIPv6), in6))
}

// ifFirst applies a condition to the first fragment of an IPv4 packet. If may is set,
// later fragments match.
func (c *compiler) ifFirst(may bool, x *condition) *condition {
	first := has(c.ip(ipv4Fragment, 2), ipv4Offset, 0)
	if may {
		return anyOf(not(first), x)
	}
	return allOf(first, x)
}

func (x *header) condition(c *compiler, _ bool) *condition {
	const idMask = 0x0fff
	switch {
	case c.family != familyEthernet && c.family != familyCooked:
		return c.fail(x.place, "there is no VLAN tag in %s", c.name)
	case c.o.Live && c.outer:
		c.asked, c.outer = true, false
		if c.stripped {
			return x.with(always, kernel(vlanTag), idMask, x.number)
		}
	}
	tag := anyOf(c.follows(typeVLAN), c.follows(typeQinQ), c.follows(typeQinQOld))
	y := x.with(tag, c.ip(0, 2), idMask, x.number)
	c.outer = false
	c.next = c.payload + 2
	c.payload += 4
	return y
}

// with adds the condition on the number of the header, if given.
func (x *header) with(present *condition, v value, mask, n uint32) *condition {
	if !x.given {
		return present
	}
	return allOf(present, has(v, mask, n))
}

func (x *relation) condition(c *compiler, may bool) *condition {
	test := func(v value) *condition {
		y := compare(v, x.mask, x.cmp, x.number)
		return nettext.Either(x.negated, not(y), y)
	}
	switch {
	case x.of == nil:
		return test(value{kind: valueLength})
	case x.of.linkType != 0:
		return allOf(c.follows(x.of.linkType), test(c.ip(x.off, x.size)))
	case x.of == icmp6:
		return allOf(c.follows(typeIPv6), is(c.ip(ipv6Next, 1), protoICMPv6), test(c.ip(ipv6Header+x.off, x.size)))
	}
	// As in libpcap, transport protocols are tested in IPv4 only.
	return allOf(c.carries(ipv4, x.of.number), c.ifFirst(may, test(c.transport(x.off, x.size))))
}

// maxInstructions is the largest program that Linux accepts (BPF_MAXINSNS).
const maxInstructions = 4096

// A Program is a filter in BPF instructions.
type Program []bpf.RawInstruction

// match reports whether a frame, of which data was captured, matches. As in a program, a
// test of bytes that the frame does not have ends the evaluation.
func (g *graph) match(data []byte, wireLen int) bool {
	n := g.root
	for n != g.accept && n != g.reject {
		v, ok := n.test.x.of(data, wireLen)
		switch {
		case !ok:
			return false
		case n.test.cmp.holds(v&n.test.mask, n.test.n):
			n = n.yes
		default:
			n = n.no
		}
	}
	return n == g.accept
}

// of reads the value from a frame of a file, and reports whether the frame has it. Nothing is
// beside such a frame: what only the kernel knows is 0.
func (v *value) of(data []byte, wireLen int) (uint32, bool) {
	off := uint64(v.k)
	switch v.kind {
	case valueLength:
		return uint32(wireLen), true
	case valueKernel:
		return 0, true
	case valueAfterHeader:
		if uint64(v.head) >= uint64(len(data)) {
			return 0, false
		}
		off += uint64(data[v.head]&0xf) * 4
	}
	if off+uint64(v.size) > uint64(len(data)) {
		return 0, false
	}
	switch b := data[off:]; v.size {
	case 1:
		return uint32(b[0]), true
	case 2:
		return uint32(binary.BigEndian.Uint16(b)), true
	default:
		return binary.BigEndian.Uint32(b), true
	}
}
