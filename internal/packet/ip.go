package packet

import (
	"encoding/binary"
	"net/netip"
)

// The offsets of addresses in IP headers, and the lengths of these headers without
// options.
const (
	ipv4Hops, ipv4Src, ipv4Dst, ipv4Header = 8, 12, 16, 20
	ipv6Hops, ipv6Src, ipv6Dst, ipv6Header = 7, 8, 24, 40
)

// HeaderLength returns the length of the IP header before a payload from src, without options.
func HeaderLength(src netip.Addr) int {
	if src.Is4() {
		return ipv4Header
	}
	return ipv6Header
}

// isIPv6 reports whether the IP header that ip begins with is of version 6.
func isIPv6(ip []byte) bool { return ip[0]>>4 == 6 }

// Addresses returns the addresses in the IP header that ip begins with.
func Addresses(ip []byte) (src, dst netip.Addr) {
	if isIPv6(ip) {
		return netip.AddrFrom16([16]byte(ip[ipv6Src:])), netip.AddrFrom16([16]byte(ip[ipv6Dst:]))
	}
	return netip.AddrFrom4([4]byte(ip[ipv4Src:])), netip.AddrFrom4([4]byte(ip[ipv4Dst:]))
}

// IP protocol numbers, as IANA registers them.
const (
	protoHopByHop     = 0
	protoICMP         = 1
	protoIPv4         = 4
	protoTCP          = 6
	protoUDP          = 17
	protoIPv6         = 41
	protoRouting      = 43
	protoFragment     = 44
	protoGRE          = 47
	protoAH           = 51
	protoICMPv6       = 58
	protoDestinations = 60
	protoMobility     = 135
	protoHIP          = 139
	protoShim6        = 140
)

// maxExtensions limits the headers after the IP header, the transport header included: all
// extensions that exist, some of them twice (RFC 8200, 4.1).
const maxExtensions = 12

// ipv4 decodes an IPv4 packet (RFC 791, 3.1): version and length of the header in 4 bytes,
// 4 bits each, service 1 byte, length of the packet 2 bytes, identification 2 bytes, flags
// 3 bits, offset of the fragment 13 bits, time to live 1 byte, protocol 1 byte, checksum 2
// bytes, addresses 4 bytes each, options. b is the captured part of the packet and of what
// follows it in the frame; wire is the length of both on the wire.
func (d *Decoder) ipv4(f *Frame, out *Datagram, b []byte, wire int) Outcome {
	const (
		more       = 0x2000
		offsetMask = 0x1fff
	)
	if len(b) < ipv4Header {
		return IPCut
	}
	header, total := int(b[0]&15)*4, be16(b[2:])
	exact := true
	if b[0]>>4 != 4 || header < ipv4Header {
		return IPBad
	}
	if total < header || total > wire {
		switch {
		case d.strict:
			return IPBad
		case total == 0:
			out.note(IPLengthZero, 0, wire)
			total, exact = wire, false
		case total < header:
			return IPBad
		default:
			out.note(IPLengthBeyond, total, wire)
			exact = false
		}
	}
	if total < len(b) {
		b = b[:total] // what follows is padding
	}
	if len(b) < header {
		return IPCut
	}
	d.lies(HeaderIPv4, b, header)
	data, proto := b[header:], b[9]
	if frag := be16(b[6:]); frag&(more|offsetMask) != 0 {
		return d.fragment(f, out, piece{
			ip: b, data: data, wire: total - header, exact: exact, proto: proto,
			id: uint32(be16(b[4:])), offset: (frag & offsetMask) * fragmentUnit, more: frag&more != 0,
		})
	}
	if proto == protoUDP {
		return d.udp(f, out, b, data, total-header, exact)
	}
	return d.transport(f, out, b, proto, data, total-header, exact)
}

// ipv6 decodes an IPv6 packet (RFC 8200, 3): version 4 bits, class and flow label 28 bits,
// length of what follows the header 2 bytes, next protocol 1 byte, hop limit 1 byte,
// addresses 16 bytes each.
func (d *Decoder) ipv6(f *Frame, out *Datagram, b []byte, wire int) Outcome {
	if len(b) < ipv6Header {
		return IPCut
	}
	if b[0]>>4 != 6 {
		return IPBad
	}
	total := be16(b[4:]) + ipv6Header
	exact := true
	if total > wire {
		if d.strict {
			return IPBad
		}
		out.note(IPLengthBeyond, total, wire)
		exact = false
	} else if total == ipv6Header && wire > ipv6Header {
		if d.strict {
			return IPBad
		}
		out.note(IPLengthZero, 0, wire-ipv6Header)
		total, exact = wire, false
	}
	b = b[:min(total, len(b))]
	d.lies(HeaderIPv6, b, ipv6Header)
	if b[6] == protoUDP {
		return d.udp(f, out, b, b[ipv6Header:], total-ipv6Header, exact)
	}
	return d.transport(f, out, b, b[6], b[ipv6Header:], total-ipv6Header, exact)
}

// transport decodes data, which follows the IP header that ip begins with. It had wire
// bytes on the wire, or at most that if exact is false.
func (d *Decoder) transport(f *Frame, out *Datagram, ip []byte, proto byte, data []byte, wire int, exact bool) Outcome {
	v6 := isIPv6(ip)
	for range maxExtensions {
		length, kind := 0, HeaderOther
		switch proto {
		case protoUDP:
			return d.udp(f, out, ip, data, wire, exact)
		case protoTCP:
			d.segment, d.ip = data, ip
			return TCP
		case protoICMP, protoICMPv6:
			return d.icmpMessage(f, ip, proto, data)
		case protoIPv4, protoIPv6, protoGRE:
			return d.ipTunnel(f, out, ip, proto, data, wire)
		case protoAH:
			length = extension(data, ahUnit)
		case protoHopByHop, protoRouting, protoDestinations, protoMobility, protoHIP, protoShim6:
			if !v6 {
				return OtherProtocol
			}
			length, kind = extension(data, extensionUnit), HeaderExtension
		case protoFragment:
			if !v6 {
				return OtherProtocol
			}
			if len(data) < fragmentHeader {
				return IPCut
			}
			p := fragmentOf(ip, data, wire, exact)
			if p.offset > 0 || p.more {
				d.lies(HeaderFragment, data, fragmentHeader)
				return d.fragment(f, out, p)
			}
			length, kind = fragmentHeader, HeaderFragment // an atomic fragment is the whole packet (RFC 6946)
		default:
			return OtherProtocol
		}
		if length == 0 {
			return IPCut
		}
		d.lies(kind, data, length)
		proto = data[0]
		data, wire = data[length:], wire-length
	}
	return TooDeep
}

// Extension headers begin with the next protocol and a length in units, which does not
// count the first 8 bytes (RFC 8200, 4.3 to 4.6; RFC 4302, 2.2).
const (
	extensionLeast = 8
	extensionUnit  = 8
	ahUnit         = 4
)

// extension returns the length of the extension header that data begins with, 0 if the
// header is incomplete.
func extension(data []byte, unit int) int {
	if len(data) < extensionLeast {
		return 0
	}
	length := int(data[1])*unit + extensionLeast
	if length > len(data) {
		return 0
	}
	return length
}

// icmp distinguishes errors from other messages (RFC 792; RFC 4443, 2.1).
func icmp(proto byte, data []byte) Outcome {
	const (
		sourceQuench = 4
		redirect     = 5
		firstInfoV6  = 128
	)
	if len(data) == 0 {
		return ICMP
	}
	if proto == protoICMPv6 {
		if data[0] < firstInfoV6 {
			return ICMPError
		}
		return ICMP
	}
	switch data[0] {
	case icmpUnreachable, sourceQuench, redirect, icmpTimeExceeded, icmpParameterProblem:
		return ICMPError
	}
	return ICMP
}

// fragmentHeader is the length of the IPv6 fragment header.
const fragmentHeader = 8

// fragmentOf reads an IPv6 fragment header (RFC 8200, 4.5): next protocol 1
// byte, 1 reserved, offset 13 bits, 2 reserved, more 1 bit, identification 4
// bytes.
func fragmentOf(ip, data []byte, wire int, exact bool) piece {
	const (
		more       = 1
		offsetMask = 0xfff8 // in place, it counts bytes
	)
	at := be16(data[2:])
	return piece{
		ip: ip, data: data[fragmentHeader:], wire: wire - fragmentHeader, exact: exact, proto: data[0],
		id: binary.BigEndian.Uint32(data[4:]), offset: at & offsetMask, more: at&more != 0,
	}
}
