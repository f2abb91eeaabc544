package core

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Packed has the time and the ends of a message, or the times and the server of an exchange, as numbers: what is counted of every one
// of them.
type Packed struct {
	At, Newest int64 // in nanoseconds since 1970
	Src, Dst   End
	Made       bool // by an analyzer; else the numbers may be those of before
}

// An End is an address and a port; the address of IPv4 is ::ffff:a.b.c.d.
type End struct {
	Hi, Lo uint64
	Port   uint16
	V4     bool
}

// Set sets the numbers to those of times and ends.
func (p *Packed) Set(at, newest time.Time, src, dst netip.AddrPort) {
	p.At, p.Newest, p.Src, p.Dst = at.UnixNano(), newest.UnixNano(), EndOf(src), EndOf(dst)
}

// EndOf returns an endpoint as numbers.
func EndOf(end netip.AddrPort) End {
	a := end.Addr()
	b := a.As16()
	return End{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), end.Port(), a.Is4()}
}
