package filter

// A family is a kind of link layer, as far as it matters where a frame says
// what follows, and how.
type family uint8

const (
	familyEthernet family = iota
	familyCooked          // Linux's own header
	familyPPP
	familyAF // an address family
	familyRaw
	familyIPv4
	familyIPv6
)

// A link says where the headers of a link type are.
type link struct {
	number uint16
	name   string
	family family
	// next is the offset of the field that says what follows the header, and
	// payload that of what follows.
	next, payload uint32
	// direction is the offset of what says whether this host sent the frame,
	// and directionSize its length, 0 if there is none.
	direction     uint32
	directionSize uint8
}

// links are the link types that filters know, with their numbers of
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
	{number: 113, name: "Linux cooked", family: familyCooked, next: 14, payload: 16, direction: 0, directionSize: 2},
	{number: 228, name: "raw IPv4", family: familyIPv4},
	{number: 229, name: "raw IPv6", family: familyIPv6},
	{number: 276, name: "Linux cooked", family: familyCooked, next: 0, payload: 20, direction: 10, directionSize: 1},
}

// linkCookedTwo is the second form of Linux's own header, which names the
// interface.
const linkCookedTwo = 276

func linkOf(number uint16) *link {
	for i := range links {
		if links[i].number == number {
			return &links[i]
		}
	}
	return nil
}

const (
	// maxLength is the largest length in the field of an Ethernet frame that
	// is a length or a type.
	maxLength = 1500
	// cookedLLC is what a cooked header has instead of a type if LLC follows.
	cookedLLC = 4
	// bottomOfStack marks the last MPLS label, in the third byte of the entry.
	bottomOfStack = 1
)

// layers are where the headers of a frame begin that later words of an
// expression ask for. Words such as "vlan" move them.
type layers struct {
	family  family
	name    string
	header  uint32 // of the link layer: ether[0]
	next    uint32 // the field that says what follows the link layer
	payload uint32 // what follows it
	network uint32 // the network layer, from there: labels of MPLS are between
	labels  int
	outer   bool // nothing has been moved yet
}

func (l *link) layers() layers {
	return layers{family: l.family, name: l.name, next: l.next, payload: l.payload, outer: true}
}

// ip returns bytes at an offset in the network layer.
func (l *layers) ip(off uint32, size uint8) *value { return at(l.payload+l.network+off, size) }

// transport returns bytes at an offset behind an IPv4 header.
func (l *layers) transport(off uint32, size uint8) *value {
	return behind(l.payload+l.network, off, size)
}

// follows tells whether the frame carries a protocol, by its EtherType, or by
// its service access point if t is at most maxLength.
func (l *layers) follows(t uint32) *condition {
	switch typ := at(l.next, 2); l.family {
	case familyEthernet:
		return l.followsEther(t, typ, not(compare(typ, allBits, greater, maxLength)))
	case familyCooked:
		return l.followsEther(t, typ, is(typ, cookedLLC))
	case familyPPP:
		return is(typ, pppType(t))
	case familyAF:
		return l.followsFamily(t)
	case familyRaw:
		switch t {
		case typeIPv4:
			return has(at(l.header, 1), 0xf0, 0x40)
		case typeIPv6:
			return has(at(l.header, 1), 0xf0, 0x60)
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

// followsEther is for frames with an EtherType or, under a condition, LLC.
func (l *layers) followsEther(t uint32, typ *value, llc *condition) *condition {
	switch {
	case t > maxLength:
		return is(typ, t)
	case t == sapIP || t == sapNetbeui || t == sapISO: // source and destination
		return allOf(llc, is(at(l.payload, 2), t<<8|t))
	}
	return allOf(llc, is(at(l.payload, 1), t))
}

// pppType translates an EtherType into a protocol number of PPP (RFC 1661, 2).
// What it does not know is one already.
func pppType(t uint32) uint32 {
	switch t {
	case typeIPv4:
		return 0x0021
	case sapISO:
		return 0x0023
	case sapSTP:
		return 0x0031
	case typeIPv6:
		return 0x0057
	case typeMPLS:
		return 0x0281
	}
	return t
}

// followsFamily is for the address families of BSD. The number of IPv6 is
// another one on every system, and the byte order that of the machine that
// wrote the file; they do not overlap.
func (l *layers) followsFamily(t uint32) *condition {
	const (
		inet        = 2
		inet6Linux  = 10
		inet6NetBSD = 24 // OpenBSD too
		inet6Free   = 28
		inet6Darwin = 30
	)
	var families []uint32
	switch t {
	case typeIPv4:
		families = []uint32{inet}
	case typeIPv6:
		families = []uint32{inet6NetBSD, inet6Free, inet6Darwin, inet6Linux}
	default:
		return never
	}
	c := anyOf()
	for _, f := range families {
		c.parts = append(c.parts, is(at(l.header, 4), f<<24), is(at(l.header, 4), f))
	}
	return c
}
