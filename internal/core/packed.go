package core

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// Packed has the time and the ends of a message, or the times and the server of an exchange, as numbers: what is counted of every one
// of them.
type Packed struct {
	At, Newest int64 // in nanoseconds since 1970
	Src, Dst   endpoint.Endpoint
	Made       bool // by an analyzer; else the numbers may be those of before
}

// Set sets the numbers to those of times and ends.
func (p *Packed) Set(at, newest time.Time, src, dst netip.AddrPort) {
	p.At, p.Newest, p.Src, p.Dst = at.UnixNano(), newest.UnixNano(), endpoint.Of(src), endpoint.Of(dst)
}
