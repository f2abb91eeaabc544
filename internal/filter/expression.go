package filter

// An expression is what a filter says, as it was read: which link layer it
// meets, and what that makes of it, comes later.
type expression interface {
	// condition returns what a frame has to fulfil. If may is set, what
	// cannot be known of a frame, because it is a later fragment, is taken for
	// fulfilled; see [Options].
	condition(c *compiler, may bool) *condition
}

// A place is where in the text something stands, in bytes.
type place struct{ off, len int }

type (
	// everything is the empty expression.
	everything struct{}

	// combination joins two or more expressions by "and" or by "or".
	combination struct {
		and   bool
		parts []expression
	}

	negation struct{ of expression }

	// protocolWord is a protocol alone, such as "udp".
	protocolWord struct {
		place
		p *protocol
	}

	// protocolNumber is "proto N", in the header of a protocol.
	protocolNumber struct {
		place
		in     *protocol
		number uint32
	}

	// hostIPv4 is a host or a network.
	hostIPv4 struct {
		place
		in         *protocol
		dir        direction
		addr, mask uint32
	}

	hostIPv6 struct {
		place
		dir        direction
		addr, mask [4]uint32
	}

	hostEthernet struct {
		place
		dir  direction
		addr [6]byte
	}

	// ports is a port or a range of them.
	ports struct {
		place
		over   []*protocol
		dir    direction
		lo, hi uint32
	}

	// cast is "broadcast" or "multicast", of a protocol.
	cast struct {
		place
		in    *protocol
		multi bool
	}

	// course is "inbound" or "outbound".
	course struct {
		place
		out bool
	}

	ifindex struct {
		place
		number uint32
	}

	// header is a word that says that there is one more header, and moves
	// everything that follows in the text behind it: vlan, mpls, pppoes.
	header struct {
		place
		word   string
		given  bool // the number is
		number uint32
	}

	// pppoeDiscovery is "pppoed", which moves nothing.
	pppoeDiscovery struct{ place }

	// relation compares two terms.
	relation struct {
		place
		op   string // = != < <= > >=
		x, y term
	}
)

// A direction says which of two addresses or ports is meant.
type direction uint8

const (
	either direction = iota
	source
	destination
	both
)

// A term is a number: given, or out of a frame.
type term interface {
	// value returns the number for a frame, and the conditions under which
	// the frame has it.
	value(c *compiler) (v *value, guards guards)
}

type (
	constant uint32

	frameLength struct{}

	// index is bytes of a protocol's header, or behind it.
	index struct {
		place
		of   *protocol
		off  term
		size uint8
	}

	operation struct {
		place
		op   string // + - * / % & | ^ << >>
		x, y term
	}

	minus struct{ of term }
)
