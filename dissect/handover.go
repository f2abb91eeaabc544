package dissect

import "github.com/qdissect/qdissect/internal/core"

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
