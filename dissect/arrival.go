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

// A queue has what a call of the analyzer makes ready: deferred datagrams that are now
// decided, and then the datagram of the call.
type queue struct {
	own     arrival // the datagram of the call
	earlier []arrival
	n, next int      // of earlier
	behind  bool     // the datagram of the call comes after others
	on      *arrival // what is being worked on, nil if nothing is
}

// begin makes a datagram that of the call.
func (q *queue) begin(d *Datagram, packed *core.Packed) *arrival {
	q.n, q.next, q.behind = 0, 0, false
	x := &q.own
	*x = arrival{}
	x.begin(d, packed)
	return x
}

// add appends a datagram, which comes before that of the call.
func (q *queue) add(d *Datagram, e *ends, c class) {
	if q.n == len(q.earlier) {
		q.earlier = append(q.earlier, arrival{})
	}
	x := &q.earlier[q.n]
	q.n++
	q.behind = true
	*x = arrival{}
	x.begin(d, nil)
	x.ends, x.class = *e, c
}

// take returns the next datagram, nil if there is none.
func (q *queue) take() *arrival {
	if q.next < q.n {
		q.next++
		return &q.earlier[q.next-1]
	}
	q.n, q.next = 0, 0
	x := &q.own
	if x.stopped {
		return nil
	}
	x.stopped = true
	return x
}

// next returns the next message of the datagrams in the queue, which is in the reader, nil
// if there is none. What a message does to its conversation is done before the next datagram
// is looked at.
func (a *Analyzer) next() *arrival {
	for x := a.queue.take(); x != nil; x = a.queue.take() {
		a.queue.on = x
		if a.queue.behind {
			x.flow = a.tracker.flows.find(&x.ends) // it may have begun only now
		}
		switch {
		case x.protocol < 0:
			a.unknown(x)
		case a.join(x):
			return x
		}
	}
	a.queue.on = nil
	return nil
}
