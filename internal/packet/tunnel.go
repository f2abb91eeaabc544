package packet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A Tunnel is an encapsulation around a packet or a frame.
type Tunnel struct {
	Kind TunnelKind
	// ID distinguishes networks that share a tunnel: see the kinds.
	ID uint32
}

// A TunnelKind is a kind of encapsulation.
type TunnelKind uint8

const (
	// MPLS labels (RFC 3032). The ID is the label at the bottom, 20 bits.
	MPLS TunnelKind = iota + 1
	// PPPoE (RFC 2516). The ID is the session, 16 bits.
	PPPoE
	// IPinIP is IPv4 in IPv4 (RFC 2003). It and the next three have no ID.
	IPinIP
	// SixInFour is IPv6 in IPv4 (RFC 4213, 6in4 and 6to4).
	SixInFour
	// FourInSix is IPv4 in IPv6 (RFC 2473, DS-Lite).
	FourInSix
	// SixInSix is IPv6 in IPv6 (RFC 2473).
	SixInSix
	// GRE (RFC 2784 and 2890) with IP or Ethernet in it. The ID is the key,
	// 32 bits, 0 if there is none.
	GRE
	// ERSPAN is a mirrored Ethernet frame in GRE (draft-foschiano-erspan).
	// The ID is the session, 10 bits.
	ERSPAN
	// VXLAN (RFC 7348). The ID is the network, 24 bits.
	VXLAN
	// Geneve (RFC 8926). The ID is the network, 24 bits.
	Geneve
)

var tunnelNames = [...]string{
	MPLS: "mpls", PPPoE: "pppoe", IPinIP: "ipip", SixInFour: "6in4", FourInSix: "4in6", SixInSix: "6in6",
	GRE: "gre", ERSPAN: "erspan", VXLAN: "vxlan", Geneve: "geneve",
}

func (k TunnelKind) String() string { return nameOf(tunnelNames[:], int(k)) }

// String returns the name of the tunnel and its ID, if it has one: "vxlan 42".
func (t Tunnel) String() string {
	if t.ID == 0 {
		return t.Kind.String()
	}
	return fmt.Sprintf("%v %d", t.Kind, t.ID)
}

// UDP ports of tunnels.
const (
	portVXLAN      = 4789
	portGeneve     = 6081
	portVXLANLinux = 8472 // Linux's default, older than the RFC
)

func isTunnelPort(port int) bool {
	return port == portVXLAN || port == portGeneve || port == portVXLANLinux
}

// scopeVLAN represents a VLAN in the scope; tunnels have their own kinds.
const scopeVLAN TunnelKind = 0

// within adds a VLAN or tunnel to the scope of fragments.
func (d *Decoder) within(k TunnelKind, id uint64) {
	const (
		mix   = 0x9e3779b97f4a7c15 // odd, with no pattern: 2⁶⁴ divided by the golden ratio
		shift = 29
	)
	d.scope = bits.RotateLeft64(d.scope^id^uint64(k+1)<<56, shift) * mix
}

// enterTunnel records a tunnel. ip begins with the IP header around the tunnel, nil if
// there is none.
func (d *Decoder) enterTunnel(out *Datagram, k TunnelKind, id uint32, ip []byte) bool {
	n := out.count.tunnels
	if n == maxTunnels {
		return false
	}
	out.tunnels[n] = Tunnel{k, id}
	out.count.tunnels++
	d.sum = false
	d.within(k, uint64(id))
	if ip == nil {
		return true
	}
	ends := ip[ipv4Src:ipv4Header]
	if isIPv6(ip) {
		ends = ip[ipv6Src:ipv6Header]
	}
	for ; len(ends) > 0; ends = ends[8:] {
		d.within(k, binary.BigEndian.Uint64(ends))
	}
	if !out.count.outer {
		out.outerSrc, out.outerDst = Addresses(ip)
		out.count.outer = true
	}
	return true
}

// mark is the state before a possible tunnel is decoded.
type mark struct {
	count   counts
	scope   uint64
	strict  bool
	headers int
}

func (d *Decoder) mark(out *Datagram) mark { return mark{out.count, d.scope, d.strict, len(d.headers)} }

// reset restores the state of the mark.
func (d *Decoder) reset(out *Datagram, m mark) {
	out.count, d.scope, d.strict = m.count, m.scope, m.strict
	d.headers = d.headers[:m.headers]
}

// ipTunnel decodes a packet in an IP packet.
func (d *Decoder) ipTunnel(f *Frame, out *Datagram, ip []byte, proto byte, b []byte, wire int) Outcome {
	if proto == protoGRE {
		return d.gre(f, out, ip, b, wire)
	}
	k, inSix := SixInFour, SixInSix
	if proto == protoIPv4 {
		k, inSix = IPinIP, FourInSix
	}
	if isIPv6(ip) {
		k = inSix
	}
	if !d.enterTunnel(out, k, 0, ip) {
		return TooDeep
	}
	if proto == protoIPv4 {
		return d.ipv4(f, out, b, wire)
	}
	return d.ipv6(f, out, b, wire)
}

// The header of GRE: its least length, that of optional fields, and its flags.
const (
	greHeader       = 4
	greField        = 4
	greChecksumFlag = 0x8000
	greKeyFlag      = 0x2000
	greSequenceFlag = 0x1000
	greRoutingFlag  = 0x4000
	greRfc1701Flags = greRoutingFlag | 0x0c00
	greVersionMask  = 0x0007
)

// gre decodes a GRE packet. The header (RFC 2784, 2; RFC 2890, 2): flags and version 2
// bytes, EtherType 2 bytes, and if the flags say so, checksum and reserved 4 bytes, key 4
// bytes, sequence 4 bytes. Version 1 (RFC 2637) is PPTP, whose PPP is not read.
//
// Bits 1, 4 and 5 of version 0 are for source routes and recursion (RFC 1701); an
// implementation without these must discard the packet. Bits 6 to 12 must be ignored (RFC
// 2784, 2.3).
func (d *Decoder) gre(f *Frame, out *Datagram, ip, b []byte, wire int) Outcome {
	if len(b) < greHeader {
		return TunnelBad
	}
	flags, t := be16(b), be16(b[2:])
	switch version := flags & greVersionMask; {
	case version == 1:
		return NotIP
	case version != 0 || flags&greRfc1701Flags != 0:
		return TunnelBad
	}
	off := greHeader
	if flags&greChecksumFlag != 0 {
		off += greField
	}
	k, id := GRE, uint32(0)
	if flags&greKeyFlag != 0 {
		if len(b) < off+greField {
			return TunnelBad
		}
		id = binary.BigEndian.Uint32(b[off:])
		off += greField
	}
	if flags&greSequenceFlag != 0 {
		off += greField
	}
	if len(b) < off {
		return TunnelBad
	}
	whole := b
	b, wire = b[off:], wire-off
	switch {
	case t == typeERSPAN && flags&greSequenceFlag == 0: // type I has no header
		k, id, t = ERSPAN, 0, typeTEB
	case t == typeERSPAN:
		// Type II: version 4 bits, VLAN 12, class and flags 6, session 10, and 4 bytes
		// that do not matter here.
		const header, version, session = 8, 1, 0x03ff
		if len(b) < header || b[0]>>4 != version {
			return TunnelBad
		}
		k, id, t = ERSPAN, uint32(be16(b[2:])&session), typeTEB
		b, wire = b[header:], wire-header
	case t < minEtherType:
		return NotIP
	}
	if !d.enterTunnel(out, k, id, ip) {
		return TooDeep
	}
	d.lies(HeaderGRE, whole, len(whole)-len(b))
	return d.etherType(f, out, t, b, wire)
}

// udpTunnel decodes the payload of a datagram to the port of a tunnel. It is a tunnel if
// its header is valid and an IP packet with a correct length follows. Otherwise the
// outcome is not sane and out is unchanged.
func (d *Decoder) udpTunnel(f *Frame, out *Datagram, ip []byte, port int, b []byte, wire int) Outcome {
	k, kind := VXLAN, HeaderVXLAN
	id, t, off := vxlan(b)
	if port == portGeneve {
		k, kind = Geneve, HeaderGeneve
		id, t, off = geneve(b)
	}
	if t == 0 {
		return NotIP
	}
	save := d.mark(out)
	d.strict = true
	o := TooDeep
	if d.enterTunnel(out, k, id, ip) {
		d.lies(kind, b, off)
		o = d.etherType(f, out, t, b[off:], wire-off)
	}
	if !o.sane() {
		d.reset(out, save)
	}
	return o
}

// vxlan reads a VXLAN header (RFC 7348, 5): flags 1 byte, 3 reserved, network 3 bytes, 1
// reserved. t is 0 if the header is not valid.
func vxlan(b []byte) (network uint32, t, off int) {
	const (
		header      = 8
		networkFlag = 0x08
	)
	if len(b) < header || b[0]&networkFlag == 0 {
		return 0, 0, 0
	}
	return binary.BigEndian.Uint32(b[4:]) >> 8, typeTEB, header
}

// geneve reads a Geneve header (RFC 8926, 3.4): version 2 bits, length of the options in 4
// bytes 6 bits, flags 1 byte, EtherType 2 bytes, network 3 bytes, 1 reserved, options. t
// is 0 if the header is not valid.
func geneve(b []byte) (network uint32, t, off int) {
	const (
		header      = 8
		optionsMask = 0x3f
		optionUnit  = 4
	)
	if len(b) < header || b[0]&^optionsMask != 0 {
		return 0, 0, 0
	}
	off = header + int(b[0]&optionsMask)*optionUnit
	if len(b) < off {
		return 0, 0, 0
	}
	switch t = be16(b[2:]); t {
	case typeTEB, typeIPv4, typeIPv6:
		return binary.BigEndian.Uint32(b[4:]) >> 8, t, off
	}
	return 0, 0, 0
}
