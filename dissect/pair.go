package dissect

import "time"

// pair matches the message with its counterpart. It reports false if the message is
// a duplicate.
func (a *Analyzer) pair(x *arrival) bool {
	rec, r, t := &a.record, &a.reader, a.tracker
	if x.again && rec.Type.Role == Reply && !t.awaitsReply(x, &rec.Pair) {
		a.late(x, rec.Split.Parts)
		return false
	}
	if rec.Split.Parts > 1 && !rec.Split.Partial {
		a.parts.Tag(uint32(rec.Pair.Answers))
	}
	a.visit(x)
	t.opened = none
	t.turn = Turn{Record: rec, Stated: -1, reader: r}
	if !x.summed || rec.Split.Parts > 0 || len(x.Frames) > 0 {
		x.sum, x.summed = a.sum(x), true
	}
	switch rec.Type.Role {
	case Request:
		x.noteAs(seenRequest)
		if rec.Pair.Asks != 0 {
			t.request(x, rec)
			a.stats.Requests++
		}
	case Reply:
		x.noteAs(seenReply)
		x.partial = rec.Split.Partial
		if !t.reply(x, rec, r) && !a.config.KeepCopies {
			a.copy(x)
			return false
		}
		a.stats.Replies++
	case OneWay:
		x.noteAs(seenRequest)
		if rec.Pair.May != 0 {
			t.request(x, rec)
		} else {
			t.proves(x, rec)
		}
	}
	if window := a.config.Limits.Window; rec.TimeKnown && rec.RTT <= window && rec.LastRTT > window {
		r.Note(SlowParts, Dur(rec.RTT), Dur(rec.LastRTT))
	}
	return true
}

// visit adds the message to its conversation, which may be new.
func (a *Analyzer) visit(x *arrival) {
	t, now := a.tracker, x.at
	if x.flow == none {
		x.flow = t.flows.add(&x.ends, now)
	}
	f := a.conversation(x)
	a.record.Note = f.note
	if now == a.now && !f.wentBack {
		last := f.last
		if f.requested() {
			last = max(last, f.lastRequest) // what the table of flows knows may have been set back
		}
		if last-now > int64(time.Millisecond) {
			f.wentBack = true
			a.reader.Note(TimeBack, Dur(time.Duration(last-now)))
		}
	}
	t.flows.touch(x.flow, now)
	if x.also == 0 {
		a.pin(x, f)
	} else {
		a.stats.countAmbiguous(Ambiguous{int(x.protocol), x.also})
	}
}

// pin assigns a flow to the protocol of its first message. Three messages in a row
// that belong to another protocol or cannot be decoded undo it.
func (a *Analyzer) pin(x *arrival, f *flow) {
	failed := a.reader.Failed() && !a.reader.cut
	switch {
	case f.protocol < 0 && !failed:
		f.protocol = x.protocol
	case f.protocol == x.protocol && !failed:
		f.violations = 0
	default:
		if f.violations++; f.violations >= 3 {
			f.protocol, f.violations = -1, 0
			if !failed {
				f.protocol = x.protocol
			}
		}
	}
	if x.sure && f.sure != x.protocol && !failed {
		f.sure = x.protocol
		if a.protocols[x.protocol].Wire != "" {
			a.tracker.proved(&a.record, x.protocol)
		}
	}
}

// sum returns the checksum of the message: of the datagram, or of its joined parts.
func (a *Analyzer) sum(x *arrival) uint32 {
	if len(x.Frames) > 0 && a.record.Type.Role == Reply {
		return 0 // what is said of its fragments is wanted
	}
	if a.record.Split.Parts == 0 {
		return x.checksum()
	}
	return checksum(a.reader.sources[len(a.reader.sources)-1].Data)
}

// handOver passes the message to the handler.
func (a *Analyzer) handOver(x *arrival) {
	rec, r := &a.record, &a.reader
	a.stats.Messages++
	i := x.protocol
	if rec.Protocol != a.protocols[i] {
		i = a.index(rec.Protocol) // that of the request
	}
	a.stats.ByProtocol[i]++
	if r.records > r.most {
		r.findings = append(r.findings, NewFinding(TooManyRecords, Num(r.most)))
	}
	if r.leftOut > 0 {
		r.findings = append(r.findings, NewFinding(TooManyFindings, Num(r.leftOut)))
	}
	rec.Sources, rec.Nodes, rec.fields, rec.Findings = r.sources, r.nodes, r.fields, r.findings
	for i := range rec.Findings {
		what := rec.Findings[i].Type
		a.stats.Findings[what.Severity]++
		if what == Malformed {
			a.stats.Malformed++
		}
	}
	a.handing = true
	a.handler.Record(rec)
	a.handing = false
	a.tracker.flows.flows[x.flow].note = rec.Note
	if rec.Mark {
		a.tracker.mark()
	}
	a.reportPressure(x)
}
