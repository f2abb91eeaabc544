package dissect

// An outlet hands to the handler what is found. What it hands out is kept here, so that
// this allocates nothing.
type outlet struct {
	handler Handler
	copied  func(*Datagram, bool) // see Config.Copied
	closed  func(*Exchange)       // see Config.Ended
	// onlyCounted says that closed reads only what countedOf states.
	onlyCounted bool
	stats       *Stats
	handing     bool // the handler has it
	flow        FlowFinding
	lost        Unknown
	ended       Exchange
	server      Server      // of ended
	text        []byte      // of flow
	others      []*Protocol // of flow
}

// finding hands out the finding in o.flow, or another one.
func (o *outlet) finding(f *FlowFinding) {
	o.stats.Findings[f.Type.Severity]++
	o.handing = true
	o.handler.Finding(f)
	o.handing = false
}

// about hands out a finding about a datagram that is no message of p, which may be nil.
func (o *outlet) about(f Finding, x *arrival, p *Protocol) {
	o.flow = FlowFinding{Finding: f, Frame: x.Frame, Time: x.Time, Src: x.Src, Dst: x.Dst, VLAN: x.VLAN, Interface: x.Interface, Protocol: p}
	o.finding(&o.flow)
}

// count counts requests with an outcome, of which some were repeated.
func (o *outlet) count(is Outcome, requests, repeated int) {
	o.stats.Outcomes[is] += uint64(requests - repeated)
	o.stats.Outcomes[OutcomeRepeated] += uint64(repeated)
}

// exchange hands out the exchange in o.ended and counts it.
func (o *outlet) exchange() {
	o.count(o.ended.Outcome, o.ended.Requests, o.ended.Repeated)
	o.handing = true
	o.closed(&o.ended)
	o.handing = false
}

// record hands out a message.
func (o *outlet) record(r *Record) {
	o.handing = true
	o.handler.Record(r)
	o.handing = false
}

// unknown hands out a datagram that is no message.
func (o *outlet) unknown(u Unknown) {
	o.stats.Unknown++
	u.shown = o.lost.shown
	o.lost, o.handing = u, true
	o.handler.Unknown(&o.lost)
	o.handing = false
}

// copy hands out a duplicate; with back, one that is none.
func (o *outlet) copy(d *Datagram, back bool) {
	if back {
		o.stats.Duplicates--
	} else {
		o.stats.Duplicates++
	}
	if o.copied != nil {
		o.handing = true
		o.copied(d, back)
		o.handing = false
	}
}
