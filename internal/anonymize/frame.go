package anonymize

import (
	"encoding/binary"
	"net/netip"

	"github.com/qdissect/qdissect/internal/packet"
)

// A layout says where the headers of a frame stand, down to the datagram, or to
// the fragment of one.
type layout struct {
	macs     []span
	scrub    []span // options and the like, which may hold addresses
	ips      []int  // IPv4 and IPv6 headers, from outer to inner
	tunnels  []int  // UDP headers that carry tunnels
	gres     []int  // GRE headers with a checksum
	pppoes   []int  // PPPoE headers
	gtps     []int  // GTP-U headers
	segment  int    // what follows the last IP header and its extensions
	fragment bool
	offset   int // of the fragment, in bytes
	more     bool
	end      int // of the last IP packet, as far as it was captured
}

type span struct{ at, n int }

// The numbers that are needed here, as package packet names them.
const (
	linkNull, linkEthernet, linkRaw, linkRawBSD, linkRawIP, linkLoop = 0, 1, 12, 14, 101, 108
	linkSLL, linkIPv4, linkIPv6, linkSLL2                            = 113, 228, 229, 276

	typeIPv4, typeIPv6, typeTEB           = 0x0800, 0x86dd, 0x6558
	typeVLAN, typeQinQ, typeQinQOld       = 0x8100, 0x88a8, 0x9100
	typeMPLS, typeMPLSUp, typePPPoE       = 0x8847, 0x8848, 0x8864
	typeERSPAN                            = 0x88be
	protoIPv4, protoUDP, protoIPv6        = 4, 17, 41
	protoRouting, protoFragment, protoGRE = 43, 44, 47
	protoHopByHop, protoDestinations      = 0, 60

	udpHeader  = 8
	maxHeaders = 24
)

func be16(b []byte) int { return int(binary.BigEndian.Uint16(b)) }

// lay finds the headers of a frame. tunnels says how many ports of tunnels are
// to be believed. It reports false if it does not understand what the datagram
// is wrapped in: such a frame cannot be made anonymous.
func lay(link uint16, b []byte, tunnelled bool) (l layout, ok bool) {
	p := walker{b: b, tunnelled: tunnelled}
	p.l.end = len(b)
	switch link {
	case linkEthernet:
		ok = p.ethernet(0)
	case linkSLL:
		if len(b) >= 16 {
			p.hardware(6, be16(b[4:]))
			ok = p.etherType(be16(b[14:]), 16)
		}
	case linkSLL2:
		if len(b) >= 20 {
			p.hardware(12, int(b[11]))
			ok = p.etherType(be16(b), 20)
		}
	case linkNull, linkLoop:
		ok = len(b) > 4 && p.ip(4)
	case linkRaw, linkRawBSD, linkRawIP, linkIPv4, linkIPv6:
		ok = p.ip(0)
	}
	return p.l, ok
}

type walker struct {
	b         []byte
	l         layout
	tunnelled bool
	deep      int
}

// hardware notes the address field of a Linux cooked header, which has 8 bytes.
func (p *walker) hardware(at, n int) {
	if n == 6 {
		p.l.macs = append(p.l.macs, span{at, 6})
		p.l.scrub = append(p.l.scrub, span{at + 6, 2})
		return
	}
	p.l.scrub = append(p.l.scrub, span{at, 8})
}

func (p *walker) has(at, n int) bool {
	p.deep++
	return p.deep < maxHeaders && at >= 0 && len(p.b)-at >= n
}

func (p *walker) ethernet(at int) bool {
	if !p.has(at, 14) {
		return false
	}
	p.l.macs = append(p.l.macs, span{at, 6}, span{at + 6, 6})
	return p.etherType(be16(p.b[at+12:]), at+14)
}

func (p *walker) etherType(t, at int) bool {
	switch t {
	case typeIPv4, typeIPv6:
		return p.ip(at)
	case typeVLAN, typeQinQ, typeQinQOld:
		return p.has(at, 4) && p.etherType(be16(p.b[at+2:]), at+4)
	case typePPPoE:
		if !p.has(at, 8) {
			return false
		}
		p.l.pppoes = append(p.l.pppoes, at)
		return (be16(p.b[at+6:]) == 0x21 || be16(p.b[at+6:]) == 0x57) && p.ip(at+8)
	case typeMPLS, typeMPLSUp:
		for p.has(at, 4) {
			if at += 4; p.b[at-2]&1 != 0 {
				return p.ip(at)
			}
		}
	case typeTEB:
		return p.ethernet(at)
	}
	return false
}

func (p *walker) ip(at int) bool {
	if !p.has(at, 20) {
		return false
	}
	b := p.b[at:]
	switch b[0] >> 4 {
	case 4:
		header := int(b[0]&15) * 4
		if header < 20 || len(b) < header {
			return false
		}
		p.l.ips = append(p.l.ips, at)
		p.l.scrub = append(p.l.scrub, span{at + 20, header - 20})
		if total := be16(b[2:]); total >= header {
			p.l.end = min(p.l.end, at+total)
		}
		if f := be16(b[6:]); f&0x3fff != 0 {
			return p.fragmented(int(b[9]), at+header, f&0x1fff*8, f&0x2000 != 0)
		}
		return p.transport(int(b[9]), at+header, false)
	case 6:
		if len(b) < 40 {
			return false
		}
		p.l.ips = append(p.l.ips, at)
		if total := be16(b[4:]); total > 0 {
			p.l.end = min(p.l.end, at+40+total)
		}
		return p.transport(int(b[6]), at+40, true)
	}
	return false
}

func (p *walker) fragmented(proto, at, offset int, more bool) bool {
	p.l.segment, p.l.fragment, p.l.offset, p.l.more = at, true, offset, more
	return proto == protoUDP && at <= p.l.end
}

func (p *walker) transport(proto, at int, v6 bool) bool {
	for p.has(at, udpHeader) {
		b := p.b[at:]
		switch proto {
		case protoUDP:
			return p.udp(at)
		case protoIPv4, protoIPv6:
			return p.ip(at)
		case protoGRE:
			return p.gre(at)
		case protoHopByHop, protoDestinations, protoRouting:
			n := int(b[1])*8 + 8
			if !v6 || len(b) < n {
				return false
			}
			// Zeros are padding, and a route over nobody.
			skip := 2
			if proto == protoRouting {
				skip = 4
			}
			p.l.scrub = append(p.l.scrub, span{at + skip, n - skip})
			proto, at = int(b[0]), at+n
		case protoFragment:
			f := be16(b[2:])
			if f&0xfff9 != 0 {
				return p.fragmented(int(b[0]), at+8, f&0xfff8, f&1 != 0)
			}
			proto, at = int(b[0]), at+8
		default:
			return false
		}
	}
	return false
}

func (p *walker) gre(at int) bool {
	flags, t, n := be16(p.b[at:]), be16(p.b[at+2:]), 4
	if flags&0x4007 != 0 {
		return false
	}
	for _, f := range [...]int{0x8000, 0x2000, 0x1000} {
		if flags&f != 0 {
			n += 4
		}
	}
	if flags&0x8000 != 0 {
		p.l.gres = append(p.l.gres, at)
	}
	if t == typeERSPAN {
		if t = typeTEB; flags&0x1000 != 0 {
			n += 8
		}
	}
	return p.etherType(t, at+n)
}

func (p *walker) udp(at int) bool {
	if p.tunnelled {
		b := p.b[at+udpHeader:]
		save := p.l
		p.l.tunnels = append(p.l.tunnels, at)
		inner := false
		switch port := be16(p.b[at+2:]); {
		case (port == 4789 || port == 8472) && len(b) > 8 && b[0]&8 != 0:
			inner = p.ethernet(at + udpHeader + 8)
		case port == 6081 && len(b) > 8 && b[0]&0xc0 == 0:
			options := int(b[0]&0x3f) * 4
			p.l.scrub = append(p.l.scrub, span{at + udpHeader + 8, options})
			inner = p.etherType(be16(b[2:]), at+udpHeader+8+options)
		case port == 2152 && len(b) > 12 && b[0]&0xf0 == 0x30 && b[0]&4 == 0:
			n := 8
			if b[0]&3 != 0 {
				n += 4
			}
			p.l.gtps = append(p.l.gtps, at+udpHeader)
			inner = p.ip(at + udpHeader + n)
		}
		if inner {
			return true
		}
		p.l = save
	}
	p.l.segment = at
	return true
}

// addresses returns those of the last IP header.
func (l *layout) addresses(b []byte) (src, dst netip.Addr) {
	ip := b[l.ips[len(l.ips)-1]:]
	if ip[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
	}
	return netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
}

// headers replaces what the headers of a frame say of its ends.
func (w *rewriter) headers(l *layout, b []byte) {
	for _, s := range l.macs {
		if w.m.mac(b[s.at : s.at+s.n]) {
			w.counts.MACs++
		}
	}
	for _, s := range l.scrub {
		clear(b[s.at:min(s.at+max(s.n, 0), len(b))])
	}
	for _, at := range l.ips {
		if b[at]>>4 == 6 {
			for _, at := range [...]int{at + 8, at + 24} {
				a := w.addr(netip.AddrFrom16([16]byte(b[at:]))).As16()
				copy(b[at:], a[:])
			}
			continue
		}
		for _, at := range [...]int{at + 12, at + 16} {
			a := w.addr(netip.AddrFrom4([4]byte(b[at:]))).As4()
			copy(b[at:], a[:])
		}
	}
}

// resize returns the frame with what follows the last header at from replaced
// by data, and all lengths made right. What stood behind the packet is gone.
func (l *layout) resize(b, data []byte, from int) []byte {
	grown := from + len(data) - l.end
	if grown == 0 {
		copy(b[from:], data)
		clear(b[l.end:])
		return b
	}
	b = append(b[:from:from], data...)
	add := func(at int) { binary.BigEndian.PutUint16(b[at:], uint16(be16(b[at:])+grown)) }
	for _, at := range l.ips {
		if b[at]>>4 == 6 {
			add(at + 4)
		} else {
			add(at + 2)
		}
	}
	for _, at := range l.tunnels {
		add(at + 4)
	}
	for _, at := range l.pppoes {
		add(at + 4)
	}
	for _, at := range l.gtps {
		add(at + 2)
	}
	return b
}

// sums makes the checksums of all headers right, from the inner to the outer.
// whole says that nothing of the frame was cut off when it was captured: of what
// was cut there is no checksum.
func (l *layout) sums(b []byte, whole bool) {
	if !l.fragment {
		l.udpSum(b, l.segment, l.ips[len(l.ips)-1], whole)
	}
	for i := len(l.gres) - 1; i >= 0; i-- {
		at := l.gres[i]
		clear(b[at+4 : at+6])
		binary.BigEndian.PutUint16(b[at+4:], packet.Checksum(b[at:]))
	}
	for i := len(l.tunnels) - 1; i >= 0; i-- {
		ip := l.ips[0]
		for _, at := range l.ips {
			if at < l.tunnels[i] {
				ip = at
			}
		}
		l.udpSum(b, l.tunnels[i], ip, whole)
	}
	for _, at := range l.ips {
		if b[at]>>4 == 4 {
			header := b[at : at+int(b[at]&15)*4]
			clear(header[10:12])
			binary.BigEndian.PutUint16(header[10:], packet.Checksum(header))
		}
	}
}

// udpSum sets the checksum of the UDP header at an offset.
func (l *layout) udpSum(b []byte, at, ip int, whole bool) {
	v6 := b[ip]>>4 == 6
	segment := b[at:]
	if had := be16(segment[6:]); had == 0 && !v6 {
		return // none
	}
	n := be16(segment[4:])
	if n > len(segment) || n < udpHeader {
		whole, n = false, len(segment)
	}
	if !whole && !v6 {
		clear(segment[6:8])
		return
	}
	setSum(segment[:n], b[ip:])
}

// setSum sets the checksum of a whole segment behind an IP header.
func setSum(segment, ip []byte) {
	binary.BigEndian.PutUint16(segment[6:], packet.UDPChecksum(ip, segment))
}
