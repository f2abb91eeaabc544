// Package endpoint has addresses and ports as numbers, for what happens to every packet:
// comparing and hashing a [netip.AddrPort] takes several times as long.
package endpoint

import (
	"encoding/binary"
	"net/netip"
)

// An Endpoint is an address and a port.
type Endpoint struct {
	Hi, Lo uint64 // the address; that of IPv4 is ::ffff:a.b.c.d
	Port   uint16
	V4     bool
}

// Mapped is what Lo has above an IPv4 address.
const Mapped = 0xffff << 32

// Of returns an endpoint as numbers.
func Of(end netip.AddrPort) Endpoint {
	a := end.Addr()
	b := a.As16()
	return Endpoint{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), end.Port(), a.Is4()}
}

// Everybody reports whether the address is that of all hosts of a network, and of none alone: 255.255.255.255, or one of multicast.
func (e *Endpoint) Everybody() bool {
	if !e.V4 {
		return e.Hi>>56 == 0xff
	}
	return uint32(e.Lo)>>28 == 0xe || uint32(e.Lo) == 0xffffffff
}

// AddrPort returns an endpoint of numbers.
func (e *Endpoint) AddrPort() netip.AddrPort { return netip.AddrPortFrom(e.Addr(), e.Port) }

// Addr returns the address.
func (e *Endpoint) Addr() netip.Addr {
	var b [16]byte
	if e.V4 {
		binary.BigEndian.PutUint32(b[:], uint32(e.Lo))
		return netip.AddrFrom4([4]byte(b[:]))
	}
	binary.BigEndian.PutUint64(b[:], e.Hi)
	binary.BigEndian.PutUint64(b[8:], e.Lo)
	return netip.AddrFrom16(b)
}
