package pipeline

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// itemKind says what an item is.
type itemKind uint8

const (
	aDatagram itemKind = iota
	aLoss
	aTunnelLoss // of a tunnel that may have carried datagrams
	anICMPError
	aFragment
)

// icmp gives an ICMP error to the shard of the conversation that it is about.
func (e *engine) icmp() error {
	q, ok := e.decoder.Quoted()
	if !ok {
		return nil
	}
	e.sum.ICMP++
	// The errors are shown only if a capture has no messages. Formatting allocates, so
	// only the first ones are formatted.
	if u := &e.sum.Unread; len(u.Errors) < 8 && e.sum.ICMP <= 1000 {
		says := "did not arrive"
		if v6 := q.From.Is6() && !q.From.Is4In6(); !v6 && q.Type == 3 && q.Code == 3 || v6 && q.Type == 1 && q.Code == 4 {
			says = "is unreachable"
		}
		report.Count(&u.Errors, q.Dst.Addr().String()+" "+says, q.Dst.Port())
	}
	return e.convert.Errors(q, e.giveICMP)
}

// giveICMP gives an ICMP error to a shard. The error is borrowed.
func (e *engine) giveICMP(x *dissect.ICMPError) error {
	ends := packet.Datagram{Src: x.Src, Dst: x.Dst}
	it := &e.item
	it.shard, it.kind, it.icmp = uint8(ends.Spread()%shards), anICMPError, x
	it.d = dissect.Datagram{Findings: it.d.Findings[:0]}
	return e.give(it)
}
