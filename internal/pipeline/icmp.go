package pipeline

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// itemKind says what an item is.
type itemKind uint8

const (
	aDatagram itemKind = iota
	aLoss
	aTunnelLoss // of what may have carried datagrams
	anICMPError
	aFragment
)

// icmp hands an ICMP error to the shard of the conversation that it is about.
func (e *engine) icmp() error {
	q, ok := e.decoder.Quoted()
	if !ok {
		return nil
	}
	e.sum.ICMP++
	x := &e.refusal
	*x = dissect.ICMPError{
		Frame: q.Frame, Time: q.Time, From: q.From, Type: q.Type, Code: q.Code, MTU: mtu(q),
		Src: q.Src, Dst: q.Dst, Payload: q.Payload, Length: q.Length,
	}
	// They are named only if there is nothing else, and formatting allocates.
	if u := &e.sum.Unread; len(u.Errors) < 8 && e.sum.ICMP <= 1000 {
		says := "did not arrive"
		if v6 := q.From.Is6() && !q.From.Is4In6(); !v6 && q.Type == 3 && q.Code == 3 || v6 && q.Type == 1 && q.Code == 4 {
			says = "is unreachable"
		}
		report.Count(&u.Errors, q.Dst.Addr().String()+" "+says, q.Dst.Port())
	}
	if err := e.giveICMP(x); err != nil {
		return err
	}
	// A NAT that does not translate what errors quote shows an address of the
	// other side there. Who is told the error is who sent the datagram; and a
	// private address that somebody with a public one speaks for is his own.
	x.Guess = true
	src, dst := q.Src, q.Dst
	if src.Addr() != q.To {
		x.Src = netip.AddrPortFrom(q.To, src.Port())
		if err := e.giveICMP(x); err != nil {
			return err
		}
	}
	if dst.Addr().IsPrivate() && !q.From.IsPrivate() {
		x.Dst = netip.AddrPortFrom(q.From, dst.Port())
		return e.giveICMP(x)
	}
	return nil
}

// giveICMP hands on the error of the engine, which is copied if it is kept.
func (e *engine) giveICMP(x *dissect.ICMPError) error {
	ends := packet.Datagram{Src: x.Src, Dst: x.Dst}
	it := &e.item
	it.shard, it.kind, it.icmp = uint8(ends.Spread()%shards), anICMPError, x
	it.d = dissect.Datagram{Findings: it.d.Findings[:0]}
	return e.give(it)
}

// mtu returns what an error says of the largest packet that passes (RFC 1191, 4;
// RFC 4443, 3.2), 0 if it says nothing.
func mtu(q *packet.Refusal) uint32 {
	const (
		unreachable, fragmentationNeeded = 3, 4
		tooBig6                          = 2
	)
	switch {
	case q.From.Is4() && q.Type == unreachable && q.Code == fragmentationNeeded:
		return q.Info & 0xffff
	case q.From.Is6() && q.Type == tooBig6:
		return q.Info
	}
	return 0
}
