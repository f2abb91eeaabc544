package packet

import (
	"encoding/binary"
	"net/netip"
)

const udpHeader = 8

// udp takes a UDP datagram (RFC 768): source port, destination port, length
// with the header, checksum, 2 bytes each. ip begins with the IP header; seg
// is what was captured of the datagram, wire how many bytes it had, or no more
// than that if not exact.
func (d *Decoder) udp(f *Frame, out *Datagram, ip, seg []byte, wire int, exact bool) Outcome {
	if len(seg) < udpHeader {
		return UDPCut
	}
	d.lies(HeaderUDP, seg, udpHeader)
	src, dst, said := be16(seg), be16(seg[2:]), be16(seg[4:])
	if said != wire {
		wire = out.judgeLength(said, wire, exact)
		if wire < len(seg) {
			seg = seg[:wire]
		}
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
	from, to := Addresses(ip)
	out.Src, out.Dst = netip.AddrPortFrom(from, uint16(src)), netip.AddrPortFrom(to, uint16(dst))
	out.Frame = f.Number
	out.Time = f.Time
	out.Payload = seg[udpHeader:]
	out.Missing = wire - len(seg)
	out.ID = 0
	if d.joins > 0 {
		out.Frames = d.frames
		out.First = d.first
		return Joined
	}
	if !isIPv6(ip) {
		out.ID = uint16(be16(ip[4:]))
	}
	out.Frames = nil
	out.First = f.Time
	return Whole
}

// judgeLength decides how long a datagram is whose header says another number
// than IP does.
func (out *Datagram) judgeLength(said, wire int, exact bool) int {
	// gamedigFault is what the capture writer of rust-gamedig is wrong by.
	const gamedigFault = 4
	switch {
	case said == 0:
		out.note(UDPLengthZero, 0, wire)
	case said < udpHeader:
		out.note(UDPLengthShort, said, wire)
	case said > wire:
		out.note(UDPLengthBeyond, said, wire)
	case !exact:
		return said // IP has no length, or a false one
	case wire-said == gamedigFault:
		out.note(UDPLengthFour, said, wire)
	default:
		out.note(UDPSurplus, said, wire)
		return said
	}
	return wire
}

// judgeSum checks the checksum of a joined datagram, 0 being none. Of others
// it proves nothing: on the machine that sends them, the network card fills it
// in later. Fragments have it from the beginning.
func (out *Datagram) judgeSum(ip, seg []byte) {
	said := be16(seg[6:])
	if said == 0 {
		return
	}
	if want := int(UDPChecksum(ip, seg)); said != want {
		out.note(FragmentsChecksum, said, want)
	}
}

// UDPChecksum returns the checksum of a whole datagram, whatever it says itself,
// behind the IP header that ip begins with.
func UDPChecksum(ip, seg []byte) uint16 {
	ends := ip[ipv4Src:ipv4Header]
	if isIPv6(ip) {
		ends = ip[ipv6Src:ipv6Header]
	}
	sum := addWords(uint64(protoUDP+len(seg)), ends)
	sum = addWords(sum, seg[:6])
	if c := checksum(addWords(sum, seg[udpHeader:])); c != 0 {
		return c
	}
	return 0xffff // 0 would be none
}

// Checksum returns that of b, in which the checksum is 0 (RFC 1071).
func Checksum(b []byte) uint16 { return checksum(addWords(0, b)) }

func checksum(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// addWords adds b to a sum of 16-bit numbers, the last byte as if a zero byte
// followed. The sum is to be folded; 64 bits cannot overflow within a packet.
func addWords(sum uint64, b []byte) uint64 {
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
