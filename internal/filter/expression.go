package filter

import "net/netip"

// An expression is a node of the parsed text. It does not depend on a link type.
type expression interface {
	// condition returns the condition for frames of the link type. If may is set, a
	// test of data that a later fragment lacks counts as true; see [Options].
	condition(c *compiler, may bool) *condition
}

// A place is a range of bytes in the text.
type place struct{ off, len int }

type (
	// everything is the empty expression.
	everything struct{}

	// combination joins expressions by "and" or "or".
	combination struct {
		and  bool
		x, y expression
	}

	negation struct{ of expression }

	// protocolWord is a protocol alone, such as "udp".
	protocolWord struct {
		place
		p *protocol
	}

	// host is a host or a network. in is not a protocol over IP.
	host struct {
		place
		in     *protocol
		dir    direction
		prefix netip.Prefix
	}

	// ports is a port or a range of them.
	ports struct {
		place
		over   []*protocol
		dir    direction
		lo, hi uint32
	}

	// header is "vlan". It moves everything after it in the text to the next header.
	header struct {
		place
		given  bool // whether there is a number
		number uint32
	}

	// relation compares bytes of a header or its payload, or the length of the frame,
	// with a number.
	relation struct {
		place
		of      *protocol // nil for the length
		off     uint32
		size    uint8
		mask    uint32
		cmp     comparison
		negated bool
		number  uint32
	}
)

// A direction selects the source or the destination.
type direction uint8

const (
	either direction = iota
	source
	destination
	both
)
