package packet

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Spread returns a hash of the two addresses of the datagram. It is the same in both
// directions, so distributing datagrams by it keeps a conversation together.
func (d *Datagram) Spread() uint32 {
	src, dst := d.Src.Addr(), d.Dst.Addr()
	if src.Is4() {
		a, b := src.As4(), dst.As4()
		return spread(uint64(binary.BigEndian.Uint32(a[:])), uint64(binary.BigEndian.Uint32(b[:])))
	}
	return spread(fold16(src), fold16(dst))
}

// fold16 reduces the 16 bytes of an IPv6 address to 8.
func fold16(a netip.Addr) uint64 {
	const shift = 17
	b := a.As16()
	return bits.RotateLeft64(binary.BigEndian.Uint64(b[:]), shift) ^ binary.BigEndian.Uint64(b[8:])
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
