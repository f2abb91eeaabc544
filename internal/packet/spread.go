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

// A Key identifies an endpoint, one of IPv6 by a hash. Its lower hostBits are of the
// host, those above are the port.
type Key uint64

const hostBits = 48

// KeyOf returns the key of an endpoint.
func KeyOf(end netip.AddrPort) Key {
	k := Key(end.Port()) << hostBits
	if a := end.Addr(); a.Is4() {
		return k | host4(a)
	}
	return k | host16(end.Addr())
}

// Keys returns the keys of Src and Dst.
func (d *Datagram) Keys() (src, dst Key) {
	src, dst = Key(d.Src.Port())<<hostBits, Key(d.Dst.Port())<<hostBits
	a, b := d.Src.Addr(), d.Dst.Addr()
	if a.Is4() {
		return src | host4(a), dst | host4(b)
	}
	return src | host16(a), dst | host16(b)
}

// Host returns the key of the host: that of port 0.
func (k Key) Host() Key { return k & (1<<hostBits - 1) }

// host4 returns the key of an IPv4 address.
func host4(a netip.Addr) Key {
	b := a.As4()
	return Key(binary.BigEndian.Uint32(b[:]))
}

// host16 returns the key of an IPv6 address.
func host16(a netip.Addr) Key {
	const mixA, mixB = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
	b := a.As16()
	return Key((binary.BigEndian.Uint64(b[:])*mixA ^ binary.BigEndian.Uint64(b[8:])) * mixB >> (64 - hostBits))
}
