package dissect

// An arrival is a datagram on its way through the analyzer, or the parts that make
// one message: what each stage finds out about it for those that follow.
type arrival struct {
	*Datagram
	// Its conversation: the flow is none until one is known, or begun.
	ends ends
	flow int32
	// What it was taken for.
	class
	// What copies there are of it: sighting is where to note what becomes of it,
	// near says that its bytes were seen a moment ago, distinct that they were and
	// that its identification proves that it is none of those.
	sighting       *sighting
	near, distinct bool
	// What it was joined of: the time of its first part, the frame of that, the
	// highest number if it came whole, and what the set of parts is known by, 0 if it
	// came whole. wire is its size before it was joined and unpacked.
	first   int64
	part    uint64
	claim   uint32
	wire    int
	again   bool // its parts have the bytes of those of an earlier one
	headers bool // its parts make no message: there is nothing to decode
	partial bool // it lacks parts
	// given is the number of findings that stood before it was decoded.
	given int
	// sum is the checksum of the datagram; while it is paired, of the message.
	sum    uint32
	summed bool
}

// begin begins the way of a datagram. It takes a new arrival.
func (x *arrival) begin(d *Datagram) {
	x.Datagram, x.flow, x.protocol, x.part, x.wire = d, none, -1, 1<<64-1, len(d.Payload)
	if x.first = nanos(d.Time); !d.First.IsZero() {
		x.first = nanos(d.First)
	}
}

// find looks up the conversation of an arrival.
func (a *Analyzer) find(x *arrival) {
	flows := a.tracker.flows
	flows.endsOf(&x.ends, x.Src, x.Dst)
	x.flow = flows.find(&x.ends)
}

// conversation returns what is known of that of an arrival, nil for nothing.
func (a *Analyzer) conversation(x *arrival) *flow {
	if x.flow == none {
		return nil
	}
	return &a.tracker.flows.flows[x.flow]
}

// checksum returns that of the payload.
func (x *arrival) checksum() uint32 {
	if !x.summed {
		x.sum, x.summed = checksum(x.Payload), true
	}
	return x.sum
}
