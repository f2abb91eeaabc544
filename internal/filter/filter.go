package filter

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Filter is a parsed expression. It does not depend on a link type. It may be used
// by several goroutines at once.
type Filter struct {
	text string
	x    expression
}

// Options change what a filter matches.
//
// Only the first fragment of an IP packet has ports, but reassembly needs all of them.
// So a test that depends on unknown data of a later fragment counts as true: "port
// 27015" also matches later fragments of TCP, UDP and SCTP, and "udp[8:4] =
// 0xffffffff" those of UDP. "src host 192.0.2.1 and port 27015" matches those from
// that address, and "not port 53" matches all of them. In IPv6, the filter looks for
// ports after a fragment header as well. A filter with later fragments matches
// everything that it matches without them.
type Options struct {
	// Exact excludes later fragments, as tcpdump does.
	Exact bool
	// Snap is the number of bytes of a matching frame that the kernel delivers; 0
	// means 262144.
	Snap uint32
	// Live is for filters of an AF_PACKET socket on Linux. There, the kernel removes a
	// VLAN tag from the frame and stores it separately, and "vlan" tests that tag
	// first. [Filter.Matcher] ignores Live.
	Live bool
	// Lenient is for frames of several link types. What a link type does not support
	// matches nothing, and is not an error.
	Lenient bool
	// ICMPErrors adds all ICMP errors that report an undelivered packet, with up to
	// two VLAN tags. The filter does not test the packets that they quote.
	ICMPErrors bool
}

// defaultSnap is the largest snap length that tcpdump, libpcap and Wireshark accept
// for networks.
const defaultSnap = 256 << 10

// Parse parses an expression. An empty expression matches everything. The error is an
// [*Error].
func Parse(text string) (*Filter, error) {
	x, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Filter{text, x}, nil
}

// icmpErrors matches the ICMP and ICMPv6 types that report an undelivered packet (RFC
// 792; RFC 4443, 2.1).
const icmpErrors = "icmp[0] = 3 or icmp[0] = 11 or icmp[0] = 12 or (icmp6[0] > 0 and icmp6[0] < 5)"

// Default returns the filter for captures without an expression: UDP, all IP
// fragments, and ICMP errors that report an undelivered packet. In IPv6, it looks for
// UDP and fragments after one extension header. Packets with two extension headers all
// match, because programs for the kernel have no loops. Where frames may have VLAN
// tags, it looks after one tag and after two.
func Default(linkType uint16) *Filter {
	const packets = "udp or ip[6:2] & 0x3fff != 0 or ip6[6] = 44" + // an offset, or more fragments
		" or ((ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 60) and" +
		" (ip6[40] = 17 or ip6[40] = 44 or ip6[40] = 0 or ip6[40] = 43 or ip6[40] = 60))"
	return tagged(packets+" or "+icmpErrors, linkType)
}

// tagged returns a filter for packets with up to two VLAN tags, if the link type has
// tags.
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

// IncludesFragments reports whether the filter matches later fragments that it would
// not match with [Options].Exact.
func (f *Filter) IncludesFragments() bool { return includesFragments(f.x, true) }

// FragmentNote is the remark for users of a filter that includes later fragments.
const FragmentNote = "later IP fragments are included, because only the first one has ports"

func includesFragments(x expression, may bool) bool {
	switch x := x.(type) {
	case *combination:
		return includesFragments(x.x, may) || includesFragments(x.y, may)
	case *negation:
		return includesFragments(x.of, !may)
	case *ports:
		return may
	case *relation:
		return may && x.of != nil && x.of.inIPv4
	}
	return false
}

// Compile returns a program for the kernel. It returns an [*Error] if the link type
// does not support the expression, such as "ether host" for raw IP.
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
	return newGraph(c).program(cmp.Or(o.Snap, defaultSnap))
}

// Matcher returns a function that reports whether a frame matches. Its arguments are
// the captured bytes and the length of the frame on the wire. The function may be
// called by several goroutines at once and does not allocate. Its errors are those of
// [Filter.Compile].
func (f *Filter) Matcher(linkType uint16, o Options) (func(data []byte, wireLen int) bool, error) {
	o.Live = false
	c, err := f.compile(linkType, o)
	if err != nil {
		return nil, err
	}
	return newGraph(c).match, nil
}

// An Error is a syntax error in an expression, or an expression that does not fit the
// link type.
type Error struct {
	// Expression is the complete expression.
	Expression string
	// Offset and Length give the faulty word, in bytes. If something is missing at the
	// end, it is the last word. Length is never 0.
	Offset, Length int
	// Text describes the error.
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("filter, offset %d: %s", e.Offset, e.Text) }

// shown is the number of columns of an expression that Show writes before the word and
// after it.
const shown = 60

// Show returns two lines without a final newline: the expression, and carets below the
// word. What is far from the word is left out.
func (e *Error) Show() string {
	before, word, after := pieces(e.Expression[:e.Offset]), pieces(e.Expression[e.Offset:e.Offset+e.Length]), pieces(e.Expression[e.Offset+e.Length:])
	dots := func(s []rune) string {
		if len(s) > shown {
			return "…"
		}
		return ""
	}
	start := dots(before) + string(before[max(0, len(before)-shown):])
	middle := string(word[:min(len(word), shown)]) + dots(word)
	return start + middle + string(after[:min(len(after), shown)]) + dots(after) + "\n" +
		strings.Repeat(" ", width(start)) + strings.Repeat("^", max(1, width(middle)))
}

// pieces returns the characters of a text, with spaces for those that cannot be printed.
func pieces(s string) (list []rune) {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			r = ' '
		}
		list = append(list, r)
	}
	return list
}

// width returns the number of columns of a text on a terminal.
func width(s string) (n int) {
	for _, r := range s {
		n += nettext.Width(r)
	}
	return n
}
