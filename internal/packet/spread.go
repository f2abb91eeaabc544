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
	b := a.As16()
	return fold(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]))
}

func fold(hi, lo uint64) uint64 {
	const shift = 17
	return bits.RotateLeft64(hi, shift) ^ lo
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

// A Key identifies an endpoint, one of IPv6 by a hash. Its lower hostBits are of the
// host, those above are the port.
type Key uint64

const hostBits = 48

// KeyOf returns the key of an endpoint.
func KeyOf(end netip.AddrPort) Key {
	k := Key(end.Port()) << hostBits
	if a := end.Addr(); a.Is4() {
		b := a.As4()
		return k | Key(binary.BigEndian.Uint32(b[:]))
	}
	b := end.Addr().As16()
	return k | host(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]))
}

// Host returns the key of the host: that of port 0.
func (k Key) Host() Key { return k & (1<<hostBits - 1) }

// host returns the key of an IPv6 address.
func host(hi, lo uint64) Key {
	const mixA, mixB = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
	return Key((hi*mixA ^ lo) * mixB >> (64 - hostBits))
}
