package packet

import "encoding/binary"

// Link types, as https://www.tcpdump.org/linktypes.html numbers them.
const (
	linkNull     = 0
	linkEthernet = 1
	linkPPP      = 9
	linkRaw      = 12 // DLT_RAW of most systems, which some writers put into files
	linkRawBSD   = 14 // DLT_RAW of OpenBSD
	linkPPPHDLC  = 50
	linkPPPoE    = 51
	linkRawIP    = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkNFLOG    = 239
	linkSLL2     = 276
)

// EtherTypes, as IANA registers them (IEEE 802 numbers).
const (
	minEtherType = 0x0600 // below, the field is a length (IEEE 802.3)
	typeIPv4     = 0x0800
	typeTEB      = 0x6558 // transparent Ethernet bridging: a frame in GRE or Geneve
	typeVLAN     = 0x8100 // IEEE 802.1Q
	typeIPv6     = 0x86dd
	typeMPLS     = 0x8847
	typeMPLSUp   = 0x8848 // with a label that the upstream router chose
	typePPPoE    = 0x8864 // session stage
	typeQinQ     = 0x88a8 // IEEE 802.1ad
	typeERSPAN   = 0x88be // types I and II
	typeQinQOld  = 0x9100 // before it was standardised
)

const (
	etherHeader = 14
	vlanHeader  = 4
	vlanIDMask  = 0x0fff
	pppoeHeader = 6
	mplsHeader  = 4
	llcHeader   = 8
	sllHeader   = 16
	sll2Header  = 20
	afHeader    = 4
)

func be16(b []byte) int { return int(binary.BigEndian.Uint16(b)) }

// ethernet decodes an Ethernet frame that had wire bytes on the wire.
func (d *Decoder) ethernet(f *Frame, out *Datagram, b []byte, wire int) Outcome {
	if len(b) < etherHeader {
		return LinkCut
	}
	d.lies(HeaderEthernet, b, etherHeader)
	if t := be16(b[12:]); t != typeIPv4 {
		return d.etherType(f, out, t, b[etherHeader:], wire-etherHeader)
	}
	return d.ipv4(f, out, b[etherHeader:], wire-etherHeader)
}

// etherType decodes what follows an EtherType: IP, or headers between the link and IP.
func (d *Decoder) etherType(f *Frame, out *Datagram, t int, b []byte, wire int) Outcome {
	for {
		switch t {
		case typeIPv4:
			return d.ipv4(f, out, b, wire)
		case typeIPv6:
			return d.ipv6(f, out, b, wire)
		case typeVLAN, typeQinQ, typeQinQOld:
			if len(b) < vlanHeader {
				return LinkCut
			}
			if !d.enterVLAN(out, uint16(be16(b)&vlanIDMask)) {
				return TooDeep
			}
			d.lies(HeaderVLAN, b, vlanHeader)
			t = be16(b[2:])
			b, wire = b[vlanHeader:], wire-vlanHeader
		case typePPPoE:
			session, next, off, why := pppoe(b)
			if why != Whole {
				return why
			}
			if !d.enterTunnel(out, PPPoE, session, nil) {
				return TooDeep
			}
			// What follows is padding. A length of 0 is no length.
			if end := pppoeHeader + be16(b[4:]); end > off && end < wire {
				b, wire = b[:min(end, len(b))], end
			}
			d.lies(HeaderPPPoE, b, off)
			t = next
			b, wire = b[off:], wire-off
		case typeMPLS, typeMPLSUp:
			label, off, why := mpls(b)
			if why != Whole {
				return why
			}
			if !d.enterTunnel(out, MPLS, label, nil) {
				return TooDeep
			}
			d.lies(HeaderMPLS, b, off)
			b, wire = b[off:], wire-off
			if t = ipType(b); t == 0 {
				return NotIP // Ethernet, or another pseudowire
			}
		case typeTEB:
			return d.ethernet(f, out, b, wire)
		default:
			if t >= minEtherType {
				return NotIP
			}
			// IEEE 802.3: a length, and then LLC. The rest is padding.
			b, wire = b[:min(t, len(b))], min(wire, t)
			if t = snap(b); t < minEtherType {
				return NotIP
			}
			d.lies(HeaderOther, b, llcHeader)
			b, wire = b[llcHeader:], wire-llcHeader
		}
	}
}

// enterVLAN records a VLAN tag.
func (d *Decoder) enterVLAN(out *Datagram, id uint16) bool {
	if id == 0 {
		return true // a priority tag
	}
	n := out.count.vlans
	if n == maxVLANs {
		return false
	}
	out.vlans[n] = id
	out.count.vlans++
	d.within(scopeVLAN, uint64(id))
	return true
}

// ipType returns the EtherType of an IP packet by the version in its first nibble, 0 if it
// is not an IP version.
func ipType(b []byte) int {
	if len(b) > 0 {
		switch b[0] >> 4 {
		case 4:
			return typeIPv4
		case 6:
			return typeIPv6
		}
	}
	return 0
}

// snap returns the EtherType in an LLC header with SNAP (RFC 1042), 0 for other headers.
func snap(b []byte) int {
	if len(b) < llcHeader || string(b[:6]) != "\xaa\xaa\x03\x00\x00\x00" {
		return 0
	}
	return be16(b[6:])
}

// mpls reads a stack of MPLS labels (RFC 3032, 2.1): label 20 bits, traffic class 3,
// bottom of stack 1, time to live 8. It returns the lowest label that is not an entropy
// label, and the length of the stack.
func mpls(b []byte) (label uint32, off int, why Outcome) {
	// Entropy labels differ between the fragments of one packet. They follow
	// the indicator 7 (RFC 6790, 4).
	const (
		bottom           = 1 << 8
		entropyIndicator = 7
	)
	entropy := false
	for {
		if len(b)-off < mplsHeader {
			return 0, 0, LinkCut
		}
		entry := binary.BigEndian.Uint32(b[off:])
		off += mplsHeader
		switch l := entry >> 12; {
		case entropy:
			entropy = false
		case l == entropyIndicator:
			entropy = true
		default:
			label = l
		}
		if entry&bottom != 0 {
			return label, off, Whole
		}
	}
}

// pppoe reads a PPPoE session header (RFC 2516, 4) and that of PPP after it: version and
// type 4 bits each, code 1 byte, session 2 bytes, length of what follows these 6 bytes 2
// bytes. It returns the EtherType and the offset of the payload. Like receivers, it does
// not check the other fields.
func pppoe(b []byte) (session uint32, t, off int, why Outcome) {
	if len(b) < pppoeHeader {
		return 0, 0, 0, LinkCut
	}
	t, off, why = ppp(b[pppoeHeader:])
	return uint32(be16(b[2:])), t, pppoeHeader + off, why
}

// ppp reads a PPP protocol number (RFC 1661, 2), after the optional address and control
// bytes ff 03, and returns the equivalent EtherType.
func ppp(b []byte) (t, off int, why Outcome) {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 0x03 {
		off = 2
	}
	if len(b) <= off {
		return 0, 0, LinkCut
	}
	p := int(b[off])
	off++
	if p&1 == 0 { // two bytes: only the last byte is odd
		if len(b) <= off {
			return 0, 0, LinkCut
		}
		p = p<<8 | int(b[off])
		off++
	}
	if t = pppTypes[p]; t == 0 {
		return 0, 0, NotIP
	}
	return t, off, Whole
}

// pppTypes maps protocol numbers of PPP to EtherTypes.
var pppTypes = map[int]int{0x0021: typeIPv4, 0x0057: typeIPv6, 0x0281: typeMPLS, 0x0283: typeMPLSUp}

// linkHeader reads the header of a link type. It returns the EtherType and the offset of
// what follows, and Whole; or the outcome that says why there is none.
func linkHeader(linkType uint16, b []byte) (t, off int, why Outcome) {
	switch linkType {
	case linkEthernet:
		if len(b) < etherHeader {
			return 0, 0, LinkCut
		}
		return be16(b[12:]), etherHeader, Whole
	case linkRaw, linkRawBSD, linkRawIP:
		return rawIP(b, 0)
	case linkIPv4:
		return typeIPv4, 0, Whole
	case linkIPv6:
		return typeIPv6, 0, Whole
	case linkNull, linkLoop:
		return family(b)
	case linkSLL:
		// LINKTYPE_LINUX_SLL: direction, ARPHRD_ type and address length 2
		// bytes each, address 8 bytes, protocol 2 bytes.
		if len(b) < sllHeader {
			return 0, 0, LinkCut
		}
		return sllProtocol(be16(b[14:]), b, sllHeader)
	case linkSLL2:
		// LINKTYPE_LINUX_SLL2: protocol 2 bytes, 2 reserved, interface 4,
		// ARPHRD_ type 2, direction 1, address length 1, address 8.
		if len(b) < sll2Header {
			return 0, 0, LinkCut
		}
		return sllProtocol(be16(b), b, sll2Header)
	case linkPPP, linkPPPHDLC:
		return ppp(b)
	case linkPPPoE:
		return typePPPoE, 0, Whole
	case linkNFLOG:
		return nflog(b)
	}
	return 0, 0, LinkUnknown
}

func rawIP(b []byte, off int) (int, int, Outcome) {
	if len(b) <= off {
		return 0, 0, IPCut
	}
	if t := ipType(b[off:]); t != 0 {
		return t, off, Whole
	}
	return 0, 0, NotIP
}

// family reads the header of LINKTYPE_NULL and LINKTYPE_LOOP: an address family in 4
// bytes, in the byte order of the capturing machine or, for LOOP, of the network. The
// families are small numbers, so the byte order is recognised by content, also for writers
// that confuse the two.
func family(b []byte) (t, off int, why Outcome) {
	const (
		afINET        = 2
		afINET6Linux  = 10
		afINET6NetBSD = 24 // OpenBSD too
		afINET6Free   = 28
		afINET6Darwin = 30
	)
	if len(b) < afHeader {
		return 0, 0, LinkCut
	}
	af := binary.BigEndian.Uint32(b)
	if af > 0xffff {
		af = binary.LittleEndian.Uint32(b)
	}
	switch af {
	case afINET:
		return typeIPv4, afHeader, Whole
	case afINET6Linux, afINET6NetBSD, afINET6Free, afINET6Darwin:
		return typeIPv6, afHeader, Whole
	}
	return 0, 0, NotIP
}

// sllProtocol reads the protocol field of a Linux cooked header: an EtherType, or a small
// number that Linux defines, such as that of LLC.
func sllProtocol(t int, b []byte, off int) (int, int, Outcome) {
	const llc8022 = 4 // ETH_P_802_2
	if t == llc8022 {
		if t = snap(b[off:]); t >= minEtherType {
			return t, off + llcHeader, Whole
		}
	}
	if t < minEtherType {
		return 0, 0, NotIP
	}
	return t, off, Whole
}

// nflog finds the packet in LINKTYPE_NFLOG: a header of family 1 byte, version
// 1 byte and resource 2 bytes, then attributes of length 2 bytes (with these 4
// bytes), type 2 bytes and value, padded to 4. Length and type are in the byte
// order of the machine that wrote them.
func nflog(b []byte) (t, off int, why Outcome) {
	const (
		header    = 4
		attribute = 4
		payload   = 9 // NFULA_PAYLOAD
	)
	if len(b) < header {
		return 0, 0, LinkCut
	}
	for off = header; len(b)-off >= attribute; {
		length, kind := int(binary.LittleEndian.Uint16(b[off:])), int(binary.LittleEndian.Uint16(b[off+2:]))
		if kind > 0xff { // types are small, so this is the other byte order
			length, kind = be16(b[off:]), be16(b[off+2:])
		}
		if length < attribute {
			return 0, 0, NotIP
		}
		if kind == payload {
			return rawIP(b, off+attribute)
		}
		off += (length + 3) &^ 3
	}
	return 0, 0, LinkCut
}
