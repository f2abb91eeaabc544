package dissect

// open begins the record of the message in the reader.
func (a *Analyzer) open(x *arrival) {
	if a.others = a.others[:0]; x.also != 0 {
		a.others = appendSet(a.others, a.protocols, x.also)
	}
	rec, r := &a.record, &a.reader
	r.skim = a.config.Skim
	rec.clear()
	d := x.Datagram
	rec.Protocol = a.protocols[x.protocol] // one by one: in one assignment, all would be copied twice
	rec.Frame = d.Frame
	rec.Frames = d.Frames
	rec.Time = d.Time
	rec.Src = d.Src
	rec.Dst = d.Dst
	rec.IPID, rec.HopLimit, rec.VLAN = d.IPID, d.HopLimit, d.VLAN
	rec.Interface = d.Interface
	rec.Reason, rec.Alternatives, rec.also, rec.Foreign, rec.stats = x.reason, a.others, x.also, a.config.Foreign, &a.stats
	if len(x.Frames) > 0 {
		x.part = x.Frames[0]
	}
	for i := range x.Findings {
		if i == maxFindings {
			r.leftOut += len(x.Findings) - i
			break
		}
		r.findings = append(r.findings, x.Findings[i]) // one by one: mostly it is one, and more are copied by a call
	}
	if r.cut = x.Missing > 0; r.cut {
		r.findings = append(r.findings, cutOff(x.Datagram))
	}
	x.lowerFindings = len(r.findings)
	r.below = x.lowerFindings
}

func cutOff(d *Datagram) Finding {
	return NewFinding(CaptureCut, Num(len(d.Payload)), Num(len(d.Payload)+d.Missing))
}

// decode decodes the message in the reader.
func (a *Analyzer) decode(x *arrival) {
	rec, r := &a.record, &a.reader
	p := rec.Protocol
	rec.Length, rec.WireLength = x.wire, x.wire+x.Missing
	if !x.headers {
		rec.Length = r.length()
		r.asked = place{a.tracker, x.flow, x.protocol, x.ends.up}
		a.decoders[x.protocol].Decode(r, &rec.Message)
	}
	rec.Split.Variant, rec.Split.Compressed = rec.Message.Variant, rec.Message.Compressed
	rec.Split.Partial = rec.Split.Partial || rec.Type.Role == Reply && rec.Pair.Damaged
	r.conclude(p.Fields)
	if r.cut {
		// The capture truncated it: its fields are reported without findings about
		// the sender.
		r.findings = r.findings[:min(x.lowerFindings, len(r.findings))]
		rec.Pair.Lists = false
	}
}
