package filter

import "fmt"

// A Filter is an expression that has been read. It is not bound to a link type
// yet, and may be used by several goroutines at once.
type Filter struct {
	text string
	x    expression
}

// Options change what a filter means for a frame.
//
// A port is in the first fragment of an IP packet only. Whoever wants to put
// packets together again needs the others as well, so what cannot be known of
// them is taken to fit: "port 27015" also matches later fragments of TCP, UDP
// and SCTP, "udp[8:4] = 0xffffffff" those of UDP, and so do "src host
// 192.0.2.1 and port 27015" for those from that address, and "not port 53".
// In IPv6 a fragment header is looked behind for this purpose, so that the
// first fragment is found by its ports. A filter with later fragments matches
// whatever it matches without them.
type Options struct {
	// Exact leaves those later fragments out, as tcpdump does.
	Exact bool
	// Snap is how many bytes of a frame that matches the kernel hands over; 0
	// stands for 262144.
	Snap uint32
	// Live is for filters of an AF_PACKET socket on Linux, which takes a VLAN
	// tag out of a frame and keeps it beside: "vlan" looks there first.
	// Without, and in files, it only looks into the frame. "inbound",
	// "outbound" and "ifindex" ask the kernel, where frames say nothing about
	// it. [Filter.Matcher] is for files and takes no notice of it.
	Live bool
	// Lenient is for filters of frames of several link types, one of which
	// the user did not ask for: what makes no sense for that link type
	// matches nothing, and is no error.
	Lenient bool
	// ICMPErrors adds the ICMP errors that say that a packet did not arrive,
	// with one VLAN tag, two, or none, whatever they quote: whoever captures
	// packets wants the errors about them. What they quote does not always fit
	// the expression: that remains to be seen.
	ICMPErrors bool
}

// defaultSnap is the largest snap length that tcpdump, libpcap and Wireshark
// take for networks.
const defaultSnap = 256 << 10

// Parse reads an expression. The empty one matches everything. The error is an
// [*Error].
func Parse(text string) (*Filter, error) {
	x, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Filter{text, x}, nil
}

// icmpErrors are the types of ICMP and ICMPv6 that say that a packet did not
// arrive (RFC 792; RFC 4443, 2.1).
const icmpErrors = "icmp[0] = 3 or icmp[0] = 11 or icmp[0] = 12 or (icmp6[0] > 0 and icmp6[0] < 5)"

// Default returns the filter of those who give none: all of UDP, all IP
// fragments, and the ICMP errors that say that a packet did not arrive; UDP and
// fragments in IPv6 also behind another header (hop-by-hop options, routing,
// options of the destination). Packets with two of these are all found: programs
// for the kernel have no loops. Where frames may have VLAN tags, it also finds
// all that behind one tag and behind two.
func Default(linkType uint16) *Filter {
	const packets = "udp or ip[6:2] & 0x3fff != 0 or ip6[6] = 44" + // an offset, or more fragments
		" or ((ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 60) and" +
		" (ip6[40] = 17 or ip6[40] = 44 or ip6[40] = 0 or ip6[40] = 43 or ip6[40] = 60))"
	return tagged(packets+" or "+icmpErrors, linkType)
}

// tagged returns a filter for packets with one VLAN tag, two or none, where
// frames may have such.
func tagged(packets string, linkType uint16) *Filter {
	text := packets
	if l := linkOf(linkType); l != nil && (l.family == familyEthernet || l.family == familyCooked) {
		text = fmt.Sprintf("%s or (vlan and (%s or (vlan and (%s))))", packets, packets, packets)
	}
	x, err := parse(text)
	if err != nil {
		panic(err.Show()) // the text is a constant
	}
	return &Filter{text, x}
}

// IncludesFragments tells whether the filter matches later fragments that it
// would not match with [Options].Exact.
func (f *Filter) IncludesFragments() bool { return includesFragments(f.x, true) }

// FragmentNote is what to tell a user when a filter includes later fragments.
const FragmentNote = "later IP fragments are included: a port is in the first one only"

func includesFragments(x expression, may bool) bool {
	switch x := x.(type) {
	case *combination:
		for _, p := range x.parts {
			if includesFragments(p, may) {
				return true
			}
		}
	case *negation:
		return includesFragments(x.of, !may)
	case *ports:
		return may
	case *relation:
		return may && (readsTransport(x.x) || readsTransport(x.y))
	}
	return false
}

// readsTransport tells whether a term asks for what only a first fragment has.
func readsTransport(x term) bool {
	switch x := x.(type) {
	case *index:
		return x.of.inIPv4 || readsTransport(x.off)
	case *operation:
		return readsTransport(x.x) || readsTransport(x.y)
	case minus:
		return readsTransport(x.of)
	}
	return false
}

// Compile returns a program for the kernel. The error is an [*Error] if the
// expression makes no sense for that link type, such as "ether host" for raw
// IP.
func (f *Filter) Compile(linkType uint16, o Options) (*Program, error) {
	p, err := f.program(linkType, o)
	if err == nil && len(p.code) > maxInstructions {
		return nil, fmt.Errorf("filter: the filter needs %d instructions, and the kernel takes %d", len(p.code), maxInstructions)
	}
	return p, err
}

func (f *Filter) program(linkType uint16, o Options) (*Program, error) {
	c, err := f.compile(linkType, o)
	if err != nil {
		return nil, err
	}
	if o.Snap == 0 {
		o.Snap = defaultSnap
	}
	return newGraph(c).program(o.Snap)
}

// Matcher returns a function that tells whether a frame matches: data is what
// was captured of it, and wireLen is how long it was. The function may be
// called by several goroutines at once; it allocates nothing. The errors are
// those of [Filter.Compile].
func (f *Filter) Matcher(linkType uint16, o Options) (func(data []byte, wireLen int) bool, error) {
	o.Live = false
	p, err := f.program(linkType, o)
	if err != nil {
		return nil, err
	}
	return p.Matcher(), nil
}
