package hexinput

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A packet is what was found below the headers of an IP packet.
type packet struct {
	payload  []byte
	src, dst netip.AddrPort
	note     string
}

// The numbers of the headers that are read here (IANA, "Ether types" and
// "Assigned Internet Protocol Numbers").
const (
	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherVLAN    = 0x8100
	etherQinQ    = 0x88a8
	protoHop     = 0
	protoUDP     = 17
	protoRouting = 43
	protoFrag    = 44
	protoAuth    = 51
	protoOptions = 60
)

// minFrame is the length to which Ethernet fills up a frame, without its check
// sequence.
const minFrame = 60

// readPacket takes the headers off an IP packet or a frame that holds one.
//
// When exact is set, nothing but a whole packet is one: all lengths must agree
// with each other. Otherwise b is known to be a packet, and one that was cut is
// read as far as it goes. The reason is "" for success.
func readPacket(b []byte, exact bool) (p packet, reason string) {
	link := 0
	switch {
	case ipHeader(b):
	case ethernet(b) > 0 && ipHeader(b[ethernet(b):]):
		link = ethernet(b)
	case cooked(b) > 0 && ipHeader(b[cooked(b):]):
		link = cooked(b)
	case loopback(b) && ipHeader(b[4:]):
		link = 4
	case ethernet(b) > 0 && etherType(b) >= 0x0600 && !ipType(etherType(b)):
		return packet{}, fmt.Sprintf("an Ethernet frame of type 0x%04x, not IP", etherType(b))
	default:
		return packet{}, "neither an IP packet nor an Ethernet frame"
	}
	padded := link > 0 && len(b) <= minFrame
	if b[link]>>4 == 4 {
		return readIPv4(b[link:], exact, padded)
	}
	return readIPv6(b[link:], exact, padded)
}

// ipHeader reports whether b begins like IPv4 or IPv6.
func ipHeader(b []byte) bool {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		return b[0]&15 >= 5 && len(b) >= int(b[0]&15)*4 && int(binary.BigEndian.Uint16(b[2:])) >= int(b[0]&15)*4
	case len(b) >= 40 && b[0]>>4 == 6:
		return true
	}
	return false
}

func ipType(t uint16) bool { return t == etherIPv4 || t == etherIPv6 }

// etherType returns the type of an Ethernet frame, behind its VLAN tags.
func etherType(b []byte) uint16 { return binary.BigEndian.Uint16(b[ethernet(b)-2:]) }

// ethernet returns the length of an Ethernet header with its VLAN tags, 0 if b
// is too short for one.
func ethernet(b []byte) int {
	n := 14
	for range 3 {
		if len(b) < n {
			return 0
		}
		if t := binary.BigEndian.Uint16(b[n-2:]); t != etherVLAN && t != etherQinQ {
			return n
		}
		n += 4
	}
	return 0
}

// cooked returns the length of the header that tcpdump writes for -i any, 0 if
// there is none (LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2).
func cooked(b []byte) int {
	switch {
	case len(b) >= 16 && b[0] == 0 && b[1] <= 4 && ipType(binary.BigEndian.Uint16(b[14:])):
		return 16
	case len(b) >= 20 && ipType(binary.BigEndian.Uint16(b)) && b[2] == 0 && b[3] == 0 && b[10] <= 4:
		return 20
	}
	return 0
}

// loopback reports whether b begins with the address family of LINKTYPE_NULL,
// in either byte order.
func loopback(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	little, big := binary.LittleEndian.Uint32(b), binary.BigEndian.Uint32(b)
	family := min(little, big)
	return family == 2 || family == 10 || family == 24 || family == 28 || family == 30
}

func readIPv4(b []byte, exact bool, padded bool) (packet, string) {
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:])
	src, dst := netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	switch {
	case exact && total != len(b) && (!padded || total > len(b)):
		return packet{}, "the length does not agree"
	case b[9] != protoUDP:
		return packet{}, fmt.Sprintf("an IP packet of protocol %d, not UDP", b[9])
	case fragment&0x1fff != 0:
		return packet{}, fmt.Sprintf("a fragment of an IP packet, from offset %d on", fragment&0x1fff*8)
	}
	more := fragment&0x2000 != 0
	return readUDP(b[header:min(total, len(b))], total-header, src, dst, more, exact)
}

func readIPv6(b []byte, exact bool, padded bool) (packet, string) {
	const header = 40
	total := header + int(binary.BigEndian.Uint16(b[4:]))
	src, dst := netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	if exact && total != len(b) && (!padded || total > len(b)) {
		return packet{}, "the length does not agree"
	}
	end := min(total, len(b))
	next, at, more := b[6], header, false
	for {
		n := 0
		switch {
		case next == protoUDP:
			return readUDP(b[at:end], total-at, src, dst, more, exact)
		case end-at < 8:
			return packet{}, "an IPv6 packet that is cut before its payload"
		case next == protoHop || next == protoRouting || next == protoOptions:
			n = 8 + int(b[at+1])*8
		case next == protoAuth:
			n = 8 + int(b[at+1])*4
		case next == protoFrag:
			n = 8
			offset := binary.BigEndian.Uint16(b[at+2:])
			if offset&^7 != 0 {
				return packet{}, fmt.Sprintf("a fragment of an IP packet, from offset %d on", offset&^7)
			}
			more = offset&1 != 0
		default:
			return packet{}, fmt.Sprintf("an IP packet of protocol %d, not UDP", next)
		}
		next = b[at]
		at += n
		if at > end {
			return packet{}, "an IPv6 packet that is cut before its payload"
		}
	}
}

// readUDP reads a UDP datagram, b being what there is of size bytes.
func readUDP(b []byte, size int, src, dst netip.Addr, more, exact bool) (packet, string) {
	const header = 8
	if len(b) < header {
		return packet{}, "an IP packet that is cut before its payload"
	}
	p := packet{
		src: netip.AddrPortFrom(src, binary.BigEndian.Uint16(b)),
		dst: netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[2:])),
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case exact && length != size:
		return packet{}, "the length does not agree"
	case more:
		note(&p.note, "the first fragment of a larger packet")
	case length < header || length > size || length == size-4:
		// Tools that forge traffic get this field wrong, by 4 mostly.
		note(&p.note, "the UDP header gives the length as %d bytes, the IP header as %d", length, size)
	default:
		size = length
	}
	if size > len(b) {
		note(&p.note, "%d of %d bytes of payload: the packet was cut", len(b)-header, size-header)
		size = len(b)
	}
	p.payload = b[header:size]
	return p, ""
}
