package packet

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Spread returns a hash of the two addresses of the outermost IP header of a
// frame. It is the same in both directions, and the same for all fragments of
// a packet, so that frames which must meet in one [Decoder] do meet if frames
// are shared out by it. Frames without IP have 0.
//
// Of a tunnel it sees the endpoints only. Fragments in tunnels and fragments
// of tunnels do meet then; a conversation whose directions go through tunnels
// with unlike endpoints, or partly through none, does not. Where the result
// must not depend on the sharing, decode in one place and share out datagrams
// by [Datagram.Spread].
func Spread(linkType uint16, data []byte) uint32 {
	t, off, why := linkHeader(linkType, data)
	if why != Whole {
		return 0
	}
	return spreadType(t, data[off:], maxTunnels)
}

// spreadType is Spread for what follows an EtherType, with at most so many
// pseudowires in each other.
func spreadType(t int, b []byte, pseudowires int) uint32 {
	for {
		switch t {
		case typeIPv4:
			if len(b) < ipv4Header {
				return 0
			}
			return spread(uint64(binary.BigEndian.Uint32(b[ipv4Src:])), uint64(binary.BigEndian.Uint32(b[ipv4Dst:])))
		case typeIPv6:
			if len(b) < ipv6Header {
				return 0
			}
			return spread(fold(b[ipv6Src:]), fold(b[ipv6Dst:]))
		case typeVLAN, typeQinQ, typeQinQOld:
			if len(b) < vlanHeader {
				return 0
			}
			t, b = be16(b[2:]), b[vlanHeader:]
		case typePPPoE:
			_, next, off, why := pppoe(b)
			if why != Whole {
				return 0
			}
			t, b = next, b[off:]
		case typeMPLS, typeMPLSUp:
			_, off, why := mpls(b)
			if why != Whole {
				return 0
			}
			b = b[off:]
			if t = ipType(b); t != 0 {
				continue
			}
			if pseudowires == 0 {
				return 0
			}
			pseudowires--
			if h := spreadType(typeTEB, b, pseudowires); h != 0 {
				return h
			}
			if len(b) < controlWord || b[0]>>4 != 0 {
				return 0
			}
			t, b = typeTEB, b[controlWord:]
		case typeTEB:
			if len(b) < etherHeader {
				return 0
			}
			t, b = be16(b[12:]), b[etherHeader:]
		default:
			if t >= minEtherType {
				return 0
			}
			if t = snap(b); t < minEtherType {
				return 0
			}
			b = b[llcHeader:]
		}
	}
}

// Spread returns a hash of the two addresses of the datagram, the same in both
// directions.
func (d *Datagram) Spread() uint32 {
	src, dst := d.Src.Addr(), d.Dst.Addr()
	if src.Is4() {
		a, b := src.As4(), dst.As4()
		return spread(uint64(binary.BigEndian.Uint32(a[:])), uint64(binary.BigEndian.Uint32(b[:])))
	}
	return spread(fold16(src), fold16(dst))
}

func fold16(a netip.Addr) uint64 { b := a.As16(); return fold(b[:]) }

// fold makes 8 bytes of the 16 of an IPv6 address.
func fold(b []byte) uint64 {
	const shift = 17
	return bits.RotateLeft64(binary.BigEndian.Uint64(b), shift) ^ binary.BigEndian.Uint64(b[8:])
}

// spread mixes two numbers whose order does not matter. The constants have no
// pattern, so that their product with small numbers has none.
func spread(a, b uint64) uint32 {
	const mixA, mixB = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
	if a > b {
		a, b = b, a
	}
	hi, lo := bits.Mul64(a^mixA, b^mixB)
	h := hi ^ lo
	return uint32(h ^ h>>32)
}
