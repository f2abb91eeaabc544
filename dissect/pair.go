package dissect

import "github.com/qdissect/qdissect/internal/core"

import "time"

// pair matches the message with its counterpart. It reports false if the message is
// a duplicate.
func (a *Analyzer) pair(x *arrival) bool {
	rec, r, t := &a.record, &a.reader, a.tracker
	if x.again && rec.Type.Role == Reply && !t.awaitsTopics(x, rec.Pair.Answers, &rec.Pair.ID) {
		a.late(x, rec.Split.Parts)
		return false
	}
	if rec.Split.Parts > 1 && !rec.Split.Partial {
		a.parts.Tag(uint32(rec.Pair.Answers))
	}
	a.visit(x)
	t.turn = Turn{Record: rec, Stated: -1, reader: r}
	if !x.summed || rec.Split.Parts > 0 || len(x.Frames) > 0 {
		x.sum, x.summed = a.sum(x), true
	}
	switch rec.Type.Role {
	case Request:
		x.noteAs(seenRequest)
		if rec.Sum = x.sum; rec.Pair.Asks != 0 {
			rec.Proven = t.request(x, rec)
			a.stats.Requests++
		}
	case Reply:
		x.noteAs(seenReply)
		x.partial = rec.Split.Partial
		m := t.match(x, &rec.Pair)
		if t.doubt(m, x); !m.copy {
			t.reply(x, rec, r, m)
		} else if rec.RequestFrame = t.requests.list[m.request].frame; !a.config.KeepCopies {
			a.copy(x)
			return false
		}
		a.stats.Replies++
	case OneWay:
		x.noteAs(seenRequest)
		if rec.Pair.May != 0 {
			rec.Proven = t.request(x, rec)
		} else {
			peer := x.ends.key.peer(x.ends.up, x.protocol)
			t.challenges.proves(rec, &peer, &t.turn)
		}
	}
	if window := a.config.Limits.Window; rec.TimeKnown && rec.RTT <= window && rec.LastRTT > window {
		r.Note(core.SlowParts, Dur(rec.RTT), Dur(rec.LastRTT))
	}
	return true
}

// visit adds the message to its conversation, which may be new.
func (a *Analyzer) visit(x *arrival) {
	t, now := a.tracker, x.packed.At
	if x.flow == none {
		x.flow = t.flows.add(&x.ends, now)
	}
	f, more := &t.flows.flows[x.flow], &t.flows.more[x.flow]
	if now == a.now && !f.has(wentBack) && x.Stream == nil { // what waited for a lost segment comes late
		last := f.last
		if f.requested() {
			last = max(last, more.lastRequest) // what the table of flows knows may have been set back
		}
		if last-now > int64(time.Millisecond) {
			f.set(wentBack)
			a.reader.Note(core.TimeBack, Dur(time.Duration(last-now)))
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
	failed := a.reader.Failed() && !a.reader.Cut()
	switch {
	case f.protocol < 0 && !failed:
		f.protocol = x.protocol
	case f.protocol == x.protocol && !failed:
		f.clear(violations)
	default:
		if f.violate() {
			f.protocol = -1
			if !failed {
				f.protocol = x.protocol
			}
		}
	}
	first := x.sure && f.sure != x.protocol && !failed
	if first {
		f.sure = x.protocol
	}
	if (first || !x.sure && x.reason == core.ByRequest && !failed) && a.protocols[x.protocol].Wire != "" {
		a.tracker.servers.speaks(&x.ends, a.record.Type.Role == Request, x.protocol)
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
	all := core.Sources(&a.reader)
	return checksum(all[len(all)-1].Data)
}
