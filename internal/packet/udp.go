package packet

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

const udpHeader = 8

// udp decodes a UDP datagram (RFC 768): source port, destination port, length with the
// header, checksum, 2 bytes each. ip begins with the IP header. seg is the captured part
// of the datagram, which had wire bytes on the wire, or at most that if exact is false.
func (d *Decoder) udp(f *Frame, out *Datagram, ip, seg []byte, wire int, exact bool) Outcome {
	if len(seg) < udpHeader {
		return UDPCut
	}
	d.lies(HeaderUDP, seg, udpHeader)
	src, dst, said := be16(seg), be16(seg[2:]), be16(seg[4:])
	if said != wire {
		wire = out.judgeLength(said, wire, exact)
		seg = seg[:min(wire, len(seg))]
	}
	if d.sum {
		d.sum = false
		if said == wire && wire == len(seg) {
			out.judgeSum(ip, seg)
		}
	}
	if isTunnelPort(dst) {
		if o := d.udpTunnel(f, out, ip, dst, seg[udpHeader:], wire-udpHeader); o.sane() {
			return o
		}
	}
	out.ID = 0
	if isIPv6(ip) {
		out.HopLimit = ip[ipv6Hops]
		out.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(ip[ipv6Src:])), uint16(src))
		out.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(ip[ipv6Dst:])), uint16(dst))
	} else {
		out.HopLimit = ip[ipv4Hops]
		out.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[ipv4Src:])), uint16(src))
		out.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[ipv4Dst:])), uint16(dst))
		if d.joins == 0 {
			out.ID = uint16(be16(ip[4:]))
		}
	}
	payload := seg[udpHeader:]
	out.Frame = f.Number
	out.Time = f.Time // pointers in a row need one check of the write barrier
	out.First = f.Time
	out.Payload = payload
	out.Frames = nil
	out.Missing = wire - len(seg)
	if d.joins > 0 {
		out.Frames = d.frames
		out.First = d.first
		return Joined
	}
	return Whole
}

// judgeLength returns the length of a datagram whose UDP length differs from that of IP.
func (out *Datagram) judgeLength(said, wire int, exact bool) int {
	// gamedigFault is the error of the capture writer of rust-gamedig.
	const gamedigFault = 4
	switch {
	case said == 0:
		out.note(UDPLengthZero, 0, wire)
	case said < udpHeader:
		out.note(UDPLengthShort, said, wire)
	case said > wire:
		out.note(UDPLengthBeyond, said, wire)
	case !exact:
		return said // IP has no length, or a wrong one
	case wire-said == gamedigFault:
		out.note(UDPLengthFour, said, wire)
	default:
		out.note(UDPSurplus, said, wire)
		return said
	}
	return wire
}

// judgeSum verifies the checksum of a joined datagram; 0 means none. Other datagrams are
// not verified: on the sending machine, the network card fills in the checksum after the
// capture. Fragments have it from the start.
func (out *Datagram) judgeSum(ip, seg []byte) {
	said := be16(seg[6:])
	if said == 0 {
		return
	}
	if want := int(UDPChecksum(ip, seg)); said != want {
		out.note(FragmentsChecksum, said, want)
	}
}

// UDPChecksum returns the correct checksum of a complete datagram that follows the IP
// header at the start of ip.
func UDPChecksum(ip, seg []byte) uint16 {
	sum := addWords(pseudoHeader(ip, protoUDP, len(seg)), seg[:6])
	return cmp.Or(checksum(addWords(sum, seg[udpHeader:])), 0xffff) // 0 means no checksum
}

// TCPChecksum returns the correct checksum of a complete segment that follows the IP header at the start of ip. Its own must be 0.
func TCPChecksum(ip, seg []byte) uint16 {
	return checksum(addWords(pseudoHeader(ip, protoTCP, len(seg)), seg))
}

// pseudoHeader returns the sum of the addresses, the protocol and the length (RFC 768, RFC 9293 section 3.1).
func pseudoHeader(ip []byte, proto, length int) uint64 {
	ends := ip[ipv4Src:ipv4Header]
	if isIPv6(ip) {
		ends = ip[ipv6Src:ipv6Header]
	}
	return addWords(uint64(proto+length), ends)
}

// Checksum returns the Internet checksum of b (RFC 1071). The checksum field in b must be
// 0.
func Checksum(b []byte) uint16 { return checksum(addWords(0, b)) }

func checksum(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// addWords adds b to a sum of 16-bit numbers, padded with a zero byte if its length is
// odd. The caller folds the sum; 64 bits cannot overflow within a packet.
func addWords(sum uint64, b []byte) uint64 {
	for len(b) >= 16 {
		p := (*[16]byte)(b)
		x, y := binary.BigEndian.Uint64(p[:]), binary.BigEndian.Uint64(p[8:])
		sum += x>>32 + x&(1<<32-1) + y>>32 + y&(1<<32-1)
		b = b[16:]
	}
	for len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(be16(b))
		b = b[2:]
	}
	if len(b) > 0 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
