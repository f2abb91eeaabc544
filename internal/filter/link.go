package filter

import "cmp"

// A family is a group of link types that identify the network protocol in the same
// way.
type family uint8

const (
	familyEthernet family = iota
	familyCooked          // Linux cooked capture
	familyPPP
	familyAF // a BSD address family
	familyRaw
	familyIPv4
	familyIPv6
)

// A link describes the headers of a link type.
type link struct {
	number uint16
	name   string
	family family
	// next is the offset of the field for the network protocol, payload that of the
	// network header.
	next, payload uint32
}

// links are the supported link types, numbered as in
// https://www.tcpdump.org/linktypes.html.
var links = [...]link{
	{number: 0, name: "BSD loopback", family: familyAF, payload: 4},
	{number: 1, name: "Ethernet", family: familyEthernet, next: 12, payload: 14},
	{number: 9, name: "PPP", family: familyPPP, next: 2, payload: 4},
	{number: 12, name: "raw IP", family: familyRaw},
	{number: 14, name: "raw IP", family: familyRaw},
	{number: 50, name: "PPP", family: familyPPP, next: 2, payload: 4},
	{number: 51, name: "PPPoE", family: familyPPP, next: 6, payload: 8},
	{number: 101, name: "raw IP", family: familyRaw},
	{number: 108, name: "BSD loopback", family: familyAF, payload: 4},
	{number: 113, name: "Linux cooked", family: familyCooked, next: 14, payload: 16},
	{number: 228, name: "raw IPv4", family: familyIPv4},
	{number: 229, name: "raw IPv6", family: familyIPv6},
	{number: 276, name: "Linux cooked", family: familyCooked, next: 0, payload: 20},
}

func linkOf(number uint16) *link {
	for i := range links {
		if links[i].number == number {
			return &links[i]
		}
	}
	return nil
}

// ip returns the value at an offset in the network layer.
func (l *link) ip(off uint32, size uint8) value { return at(l.payload+off, size) }

// transport returns the value at an offset after the IPv4 header.
func (l *link) transport(off uint32, size uint8) value { return afterHeader(l.payload, off, size) }

// follows returns the condition that the frame carries a network protocol, given by
// its EtherType.
func (l *link) follows(t uint32) *condition {
	switch typ := at(l.next, 2); l.family {
	case familyEthernet, familyCooked:
		return is(typ, t)
	case familyPPP:
		return is(typ, pppType(t))
	case familyAF:
		return l.followsFamily(t)
	case familyRaw:
		switch t {
		case typeIPv4:
			return has(at(0, 1), 0xf0, 0x40)
		case typeIPv6:
			return has(at(0, 1), 0xf0, 0x60)
		}
	case familyIPv4:
		if t == typeIPv4 {
			return always
		}
	case familyIPv6:
		if t == typeIPv6 {
			return always
		}
	}
	return never
}

// pppType translates an EtherType into a PPP protocol number (RFC 1661, 2). Other
// numbers are PPP numbers already.
func pppType(t uint32) uint32 {
	return cmp.Or(map[uint32]uint32{typeIPv4: 0x0021, typeIPv6: 0x0057}[t], t)
}

// followsFamily is follows for BSD address families. The number of IPv6 depends on the
// system, and the byte order on the machine that wrote the file. The numbers do not
// collide.
func (l *link) followsFamily(t uint32) *condition {
	const (
		inet        = 2
		inet6Linux  = 10
		inet6NetBSD = 24 // OpenBSD too
		inet6Free   = 28
		inet6Darwin = 30
	)
	c := anyOf()
	for _, f := range map[uint32][]uint32{typeIPv4: {inet}, typeIPv6: {inet6NetBSD, inet6Free, inet6Darwin, inet6Linux}}[t] {
		c.parts = append(c.parts, is(at(0, 4), f<<24), is(at(0, 4), f))
	}
	return c
}
