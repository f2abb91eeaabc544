package gamespy3

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
)

// handler takes the records of an analyzer.
type handler func(*dissect.Record)

func (h handler) Record(r *dissect.Record)   { h(r) }
func (handler) Unknown(*dissect.Unknown)     {}
func (handler) Finding(*dissect.FlowFinding) {}

func at(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), port)
}
