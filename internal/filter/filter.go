// Package filter implements capture filters in tcpdump's language (pcap-filter(7)).
// An expression becomes a BPF program. The kernel runs it for live captures, and a
// function runs it for the frames of a file.
//
// # The language
//
// Primitives:
//
//	ip ip6 arp                      the protocol that the link layer carries
//	tcp udp sctp icmp icmp6         the protocol that IP carries
//	host A, src A, dst host A       an IPv4 or IPv6 address, also in ARP;
//	                                ip, ip6 or arp before it narrows it
//	net 192.0.2.0/24, net 192.0.2,  a network
//	net 2001:db8::/32
//	port N, src port N, udp port N  a port of tcp, udp or sctp
//	portrange N-M                   a range of ports
//	less N, greater N               the length of the frame: <= N, >= N
//	vlan [N]                        a VLAN tag, with an optional number; the rest
//	                                of the text applies after it
//	udp[8:4] = N  != < <= > >=      1, 2 or 4 bytes of ip, ip6, arp, tcp, udp, sctp,
//	udp[8] & MASK = N               icmp or icmp6
//
// "src or dst" and "src and dst" may stand wherever src may. Numbers are as in C.
//
// Primitives are joined by and (&&), or (||), not (!) and parentheses. An address
// or a number without qualifiers takes those of the one before it: "port 27015 or
// 27016", "host A and not B", "port (53 or 80)".
//
// Names of hosts, networks and ports are refused, so that a filter has the same
// meaning on every machine. Whatever else the language has (Ethernet addresses, numbers of
// protocols, arithmetic, inbound) is refused with the advice to let tcpdump filter.
//
// # What may surprise
//
// All of this is as in libpcap:
//
//   - "and" and "or" have equal precedence and associate to the left: "a or b and c" is
//     "(a or b) and c".
//   - "vlan" affects everything after it in the text, also after "or" and "not":
//     "vlan or udp" looks for UDP after a tag only. Write "udp or (vlan and udp)".
//   - "port 53" without a protocol means tcp, udp and sctp. In IPv6, only the first
//     header is tested; protocols are also found after a fragment header.
//   - tcp[..], udp[..] and the like are bytes in IPv4 only, icmp6[..] in IPv6.
//   - A number with a leading 0 is octal.
//   - A frame does not match if a test needs bytes that it does not have, even under
//     "not".
//
// # Differences from libpcap
//
// Later fragments of IP packets are included unless [Options].Exact is set. In
// addition, libpcap differs in these ways:
//
//   - Its optimizer has bugs: "port 50000 and 27015 or not port 53 and not 27015"
//     matches packets from port 27015. With -O, the result is correct.
//   - If a frame is too short for a test whose result does not matter, the result
//     depends on what the optimizer removes, and the optimizers differ.
//   - It accepts one byte order of address families in null and loop, and not the
//     number of IPv6 on Linux.
//   - It refuses vlan in cooked frames and "net 10/8", and takes "host 192.0.2" for an address.
//
// # Implementation
//
// [Parse] reads the text into a tree ([parser]). For a link type, the [compiler]
// turns the tree into a [condition] with fixed offsets. The condition becomes a
// [graph] of tests without redundant ones. For frames of files the graph is followed
// ([graph.match]); for the kernel it becomes BPF instructions ([writer]).
package filter

import (
	"cmp"
	"fmt"
	"net/netip"
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
// tags, it looks after one tag and after two. TCP matches with one of some ports.
func Default(linkType uint16, tcp ...uint16) *Filter {
	packets := "udp or ip[6:2] & 0x3fff != 0 or ip6[6] = 44" + // an offset, or more fragments
		" or ((ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 60) and" +
		" (ip6[40] = 17 or ip6[40] = 44 or ip6[40] = 0 or ip6[40] = 43 or ip6[40] = 60))"
	for _, port := range tcp {
		packets += fmt.Sprintf(" or tcp port %d", port)
	}
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

// Compile returns a program for the kernel. It returns an [*Error] if the link type
// does not support the expression, such as "ether host" for raw IP.
func (f *Filter) Compile(linkType uint16, o Options) (Program, error) {
	p, err := f.program(linkType, o)
	if err == nil && len(p) > maxInstructions {
		return nil, fmt.Errorf("filter: the filter needs %d instructions, and the kernel takes %d", len(p), maxInstructions)
	}
	return p, err
}

func (f *Filter) program(linkType uint16, o Options) (Program, error) {
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
		return nettext.Either(len(s) > shown, "…", "")
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

// A condition is a boolean expression over the bytes of a frame.
//
// It is evaluated from left to right, with short circuits. A test of bytes that the
// frame does not have ends the evaluation. Then the frame does not match, even under
// "not".
type condition struct {
	kind  conditionKind
	test  test
	parts []*condition // of allOf, anyOf and not
}

type conditionKind uint8

const (
	conditionNever conditionKind = iota
	conditionAlways
	conditionTest
	conditionAll
	conditionAny
	conditionNot
)

// A test compares a value, or some of its bits, with a number.
type test struct {
	x    value
	mask uint32
	cmp  comparison
	n    uint32
}

type comparison uint8

const (
	equal comparison = iota
	greater
	atLeast
)

func (c comparison) holds(x, y uint32) bool {
	switch c {
	case equal:
		return x == y
	case greater:
		return x > y
	}
	return x >= y
}

const allBits = ^uint32(0)

var (
	never  = &condition{kind: conditionNever}
	always = &condition{kind: conditionAlways}
)

func allOf(parts ...*condition) *condition { return &condition{kind: conditionAll, parts: parts} }

func anyOf(parts ...*condition) *condition { return &condition{kind: conditionAny, parts: parts} }

func not(c *condition) *condition { return &condition{kind: conditionNot, parts: []*condition{c}} }

// is returns the condition that a value equals a number.
func is(x value, n uint32) *condition { return compare(x, allBits, equal, n) }

// has returns the condition that the masked value equals n.
func has(x value, mask, n uint32) *condition { return compare(x, mask, equal, n) }

func compare(x value, mask uint32, cmp comparison, n uint32) *condition {
	if mask == 0 { // a constant result
		return nettext.Either(cmp.holds(0, n), always, never)
	}
	return &condition{kind: conditionTest, test: test{x, mask, cmp, n}}
}
