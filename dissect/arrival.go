package dissect

import (
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// An arrival is a datagram, or the parts of one message, on its way through the
// analyzer. Each stage adds its result for the stages that follow.
type arrival struct {
	*Datagram
	// The conversation; flow is none until the first message.
	ends ends
	flow int32
	class
	packed core.Packed // its time and ends as numbers
	// Duplicates: sighting records what the datagram turns out to be. near says that
	// the same bytes were seen a moment ago, distinct that its IP identification
	// proves that it is not a duplicate of them.
	sighting       *sighting
	near, distinct bool
	// Parts: first is the time of the first part and part its frame (the highest
	// number for a whole datagram). claim identifies the set, 0 for a whole datagram.
	// wire is the size before joining and decompression.
	first   int64
	part    uint64
	claim   uint32
	wire    int
	again   bool  // its parts have the bytes of an earlier message
	request int32 // the request that it is, or is merged with, none if it is no request
	merged  bool
	headers bool // its parts make no message: there is nothing to decode
	partial bool // it lacks parts
	// sum is the checksum of the datagram; while it is paired, of the message.
	sum    uint32
	summed bool
	// stopped says that it goes no further: it is a duplicate, or deferred, or was taken.
	stopped bool
}

// begin sets a new arrival to a datagram. Its time and ends are known as numbers if packed has them.
func (x *arrival) begin(d *Datagram, packed *core.Packed) {
	x.Datagram, x.flow, x.protocol, x.request, x.part, x.wire = d, none, -1, none, 1<<64-1, len(d.Payload)
	if packed != nil && packed.Made {
		x.packed = *packed
	} else {
		x.packed.Made, x.packed.At, x.packed.Src, x.packed.Dst = true, nanos(d.Time), endpoint.Of(d.Src), endpoint.Of(d.Dst)
	}
	x.first = x.packed.At
	if d.First != d.Time && !d.First.IsZero() {
		x.first = nanos(d.First)
	}
}

// find looks up the conversation of an arrival.
func (a *Analyzer) find(x *arrival) {
	flows := a.tracker.flows
	if x.Stream != nil {
		x.ends.key.tcp = true
	}
	flows.endsOf(&x.ends, &x.packed.Src, &x.packed.Dst)
	x.flow = flows.find(&x.ends)
}

// began returns the first frame of a datagram.
func (x *arrival) began() uint64 {
	if len(x.Frames) > 0 {
		return x.Frames[0]
	}
	return x.Frame
}

// conversation returns the conversation of an arrival, nil if there is none.
func (a *Analyzer) conversation(x *arrival) *flow {
	if x.flow == none {
		return nil
	}
	return &a.tracker.flows.flows[x.flow]
}

// checksum returns the checksum of the payload.
func (x *arrival) checksum() uint32 {
	if !x.summed {
		x.sum, x.summed = checksum(x.Payload), true
	}
	return x.sum
}
