package dissect

import "github.com/qdissect/qdissect/internal/core"

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

// handOver passes the message to the handler.
func (a *Analyzer) handOver(x *arrival) {
	rec := &a.record
	a.stats.Messages++
	i := x.protocol
	if rec.Protocol != a.protocols[i] {
		i = a.index(rec.Protocol) // that of the request
	}
	a.stats.ByProtocol[i]++
	rec.Sources, rec.Nodes, rec.fields, rec.Findings = core.Result(&a.reader)
	a.stats.countFindings(rec.Findings)
	a.out.record(rec)
	if rec.Mark {
		a.tracker.mark(x)
	}
	a.reportPressure(x)
}

// unknown reports an unrecognised datagram.
func (a *Analyzer) unknown(x *arrival) {
	if x.Missing > 0 {
		a.cutReply(x)
	}
	a.foreign.see(x)
	a.out.unknown(Unknown{Datagram: x.Datagram, Foreign: a.config.Foreign, candidates: x.undecided, protocols: a.protocols})
}

// report reports a finding about a datagram that is not a message.
func (a *Analyzer) report(f Finding, x *arrival) {
	var p *Protocol
	if x.protocol >= 0 {
		p = a.protocols[x.protocol]
	}
	a.out.about(f, x, p)
}

// copy counts a duplicate.
func (a *Analyzer) copy(x *arrival) {
	a.out.copy(x.Datagram, false)
	if x.flow != none {
		o := a.tracker.flows.own(x.flow)
		if o.copies++; o.copies == 1 {
			o.copyFrame, o.copyTime, o.copyUp = x.Frame, x.packed.At, x.ends.up
		}
	}
}

// late reports duplicate parts of a complete message, once per conversation.
func (a *Analyzer) late(x *arrival, parts int) {
	f := a.conversation(x)
	if f == nil || a.copiedParts(x, parts) || a.tracker.flows.extra(x.flow).late {
		return
	}
	a.tracker.flows.own(x.flow).late = true
	a.report(NewFinding(a.protocols[x.protocol].Split.Duplicate, Num(parts)), x)
}

// copiedParts counts duplicate parts in a conversation with duplicate datagrams,
// where they are not reported. It reports whether it did.
func (a *Analyzer) copiedParts(x *arrival, n int) bool {
	if f := a.conversation(x); f == nil || a.tracker.flows.extra(x.flow).copies == 0 {
		return false
	}
	for range n {
		a.copy(x)
	}
	return true
}
