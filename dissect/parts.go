package dissect

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// part takes a part of a split message and goes on with the message once all
// parts are there.
func (a *Analyzer) part(d *Datagram, c class, part reassembly.Part) {
	p := a.protocols[c.protocol]
	a.stats.Parts++
	a.noteAs(seenPart)
	if d.Missing > 0 {
		// What is joined of it would be a message that nobody sent.
		a.tell(cutOff(d), d, p)
		return
	}
	k := reassembly.Key{
		Src: d.Src.Addr().As16(), Dst: d.Dst.Addr().As16(), SrcPort: d.Src.Port(), DstPort: d.Dst.Port(),
		Space: uint32(c.protocol), ID: part.ID,
	}
	if part.Total == 1 && part.Index == 0 && !part.Cut {
		a.stats.Complete++
		a.reader.clear(a.config.Tree)
		a.reader.addPart(d.Payload, d.Frame, part.Header)
		a.begin(d, c)
		rec := &a.record
		rec.Split.ID, rec.Split.Parts, rec.Split.Total = part.ID, 1, 1
		variant := part.Variant
		if variant == 0 {
			variant = part.Guess
		}
		a.join(d, c, variant, len(d.Payload))
		return
	}
	frames := d.Frames
	var one [1]uint64
	if len(frames) == 0 {
		one[0] = d.Frame
		frames = one[:]
	}
	set, verdict := a.parts.Add(k, part, d.Payload, frames, d.Time, a.tracker.asked(d, c.protocol), p.Split.Read)
	switch verdict {
	case reassembly.Refused:
		a.tell(NewFinding(p.Split.Incomplete, Num(0), Num(part.Total), Str("this part"), Str("limit reached")), d, p)
	case reassembly.Complete:
		if set.Len() == 1 && part.Index < 0 {
			// Nothing numbers the parts, and this one is all: it came whole.
			a.stats.Parts--
			a.reader.Reset(d.Payload, d.Frame, a.config.Tree)
			a.begin(d, c)
			a.decode(d, c, len(d.Payload))
			return
		}
		a.stats.Complete++
		d.First = set.First()
		a.fromSet(d, c, set)
		a.claim = claimOf(set)
		a.again = set.Again() && (set.Doubt() || a.tracker.heard(d))
		a.join(d, c, formatOf(set), wireBytes(set))
	case reassembly.Held:
		if part.Total > 0 && part.Index >= part.Total {
			return // nothing is known to be of a reply
		}
		a.claims(d, c.protocol, part)
	case reassembly.Late:
		a.late(d, p, 1)
	}
}

// claims lets a set of parts whose first one came claim the request that it
// answers. What the set says matters only if several requests wait.
func (a *Analyzer) claims(d *Datagram, protocol int8, part reassembly.Part) {
	first := a.parts.Began()
	if first == 0 {
		return
	}
	t := a.tracker
	var topics Topic
	if fi := t.flows.find(t.flows.endsOf(d)); part.Index == 0 && fi >= 0 && t.several(fi, !d.ends.up) {
		a.reader.Reset(d.Payload[part.Header:], d.Frame, false)
		a.tried = Message{}
		a.decoders[protocol].Decode(&a.reader, &a.tried)
		topics = a.tried.Pair.Answers
	}
	t.claims(d, protocol, first, topics, a.config.Limits.Parts.Age)
}

// claimOf returns what a set is known by to the requests that it may answer: its
// first frame.
func claimOf(set *reassembly.Set) uint32 { return uint32(set.Frames()[0]) }

// formatOf returns the format of a set: a guess if nothing decides it.
func formatOf(set *reassembly.Set) uint8 {
	if v := set.Variant(); v != 0 {
		return v
	}
	return set.Guess()
}

// late notes copies of the parts of a message that was complete. It is said once
// of a conversation.
func (a *Analyzer) late(d *Datagram, p *Protocol, parts int) {
	i := a.tracker.flows.find(a.tracker.flows.endsOf(d))
	if i < 0 || a.copiedParts(d, parts) || a.tracker.flows.flows[i].copied {
		return
	}
	a.tracker.flows.flows[i].copied = true
	a.tell(NewFinding(p.Split.Duplicate, Num(parts)), d, p)
}

// copiedParts counts copies of parts where whole datagrams come twice: there they
// are no news.
func (a *Analyzer) copiedParts(d *Datagram, n int) bool {
	i := a.tracker.flows.find(a.tracker.flows.endsOf(d))
	if i < 0 || a.tracker.flows.flows[i].copies == 0 {
		return false
	}
	for range n {
		a.copy(d, i)
	}
	return true
}

// fromSet begins a record with the parts of a set.
func (a *Analyzer) fromSet(d *Datagram, c class, set *reassembly.Set) {
	a.reader.clear(a.config.Tree)
	a.begin(d, c)
	s := a.protocols[c.protocol].Split
	for i := range set.Len() {
		a.reader.addPart(set.Payload(i), set.PartFrames(i)[0], set.Header(i))
	}
	rec := &a.record
	rec.Frames = set.Frames()
	rec.Split.ID, rec.Split.Parts, rec.Split.Total = set.Key().ID, set.Len(), set.Total()
	if n := set.Duplicates(); n > 0 && !a.copiedParts(d, n) {
		a.reader.Note(s.Duplicate, Num(n))
	}
	if n := set.Conflicts(); n > 0 {
		a.reader.Note(s.Conflict, Num(n))
	}
	if set.OutOfOrder() {
		a.reader.Note(s.Reordered)
	}
	a.text = a.text[:0]
	after := contradicts(set)
	if total, frame := set.Before(); set.Disagree() || after {
		if after {
			a.text = appendInt(a.text, total)
			a.text = append(a.text, " (complete in frame "...)
			a.text = appendInt(a.text, int(frame))
			a.text = append(a.text, "), "...)
		}
		a.text = appendStated(a.text, set, set.Stated)
		largest := 0
		for i := range set.Len() {
			largest = max(largest, set.Stated(i))
		}
		if i := set.Len() - 1; set.Index(i) >= largest {
			a.text = append(a.text, ", number "...)
			a.text = appendInt(a.text, set.Index(i)+1)
			a.text = append(a.text, " (frame "...)
			a.text = appendInt(a.text, int(set.PartFrames(i)[0]))
			a.text = append(a.text, ')')
		}
		if s.Totals != nil {
			a.reader.Note(s.Totals, Str(view(a.text)))
		}
	}
	if s.Sizes != nil && differ(set, set.Size) {
		from := len(a.text)
		a.text = appendStated(a.text, set, set.Size)
		a.reader.Note(s.Sizes, Str(view(a.text[from:])))
	}
}

// contradicts reports whether a set lacks parts and states another total than the
// one with the same id that was complete before it.
func contradicts(set *reassembly.Set) bool {
	total, _ := set.Before()
	return total > 0 && set.Total() > set.Len() && total != set.Total()
}

// differ reports whether parts state different values; 0 is none.
func differ(set *reassembly.Set, stated func(int) int) bool {
	first := 0
	for i := range set.Len() {
		if v := stated(i); first == 0 {
			first = v
		} else if v != 0 && v != first {
			return true
		}
	}
	return false
}

// maxStated is how many different values are named.
const maxStated = 4

// appendStated names the values that parts state, and the frames of those that
// do: "3 (frames 2, 4), 2 (frame 3)".
func appendStated(b []byte, set *reassembly.Set, stated func(int) int) []byte {
	values := 0
	for i := range set.Len() {
		v := stated(i)
		known := v == 0
		for j := 0; j < i && !known; j++ {
			known = stated(j) == v
		}
		if known {
			continue
		}
		if values++; values > maxStated {
			return append(b, " and others"...)
		}
		if values > 1 {
			b = append(b, ", "...)
		}
		b = appendInt(b, v)
		frames := 0
		for j := i; j < set.Len(); j++ {
			if stated(j) == v {
				frames++
			}
		}
		b = append(b, plural(frames, " (frame ", " (frames ")...)
		named := 0
		for j := i; j < set.Len() && named < maxStated; j++ {
			if stated(j) != v {
				continue
			}
			if named++; named > 1 {
				b = append(b, ", "...)
			}
			b = appendInt(b, int(set.PartFrames(j)[0]))
		}
		if frames > maxStated {
			b = append(b, " and more"...)
		}
		b = append(b, ')')
	}
	return b
}

func wireBytes(set *reassembly.Set) int {
	n := 0
	for i := range set.Len() {
		n += len(set.Payload(i))
	}
	return n
}

func (a *Analyzer) join(d *Datagram, c class, variant uint8, wire int) {
	j := a.decoders[c.protocol].(Joiner)
	rec := &a.record
	whole := j.Join(&a.reader, variant, &rec.Message)
	if a.reader.cut {
		a.given = len(a.reader.findings) // what a gap does to the message is not said
	}
	if !whole {
		rec.Length = wire
		a.finish(d, c, wire)
		return
	}
	a.decode(d, c, wire)
}

// incomplete takes a set of parts that is given up, or that is settled.
func (a *Analyzer) incomplete(set *reassembly.Set, why reassembly.Reason) {
	k := set.Key()
	c := class{protocol: int8(k.Space)}
	s := a.protocols[c.protocol].Split
	frames := set.Frames()
	d := &a.givenUp
	*d = Datagram{
		Frame: frames[len(frames)-1], Time: set.Last(), First: set.First(),
		Src: netip.AddrPortFrom(netip.AddrFrom16(k.Src).Unmap(), k.SrcPort),
		Dst: netip.AddrPortFrom(netip.AddrFrom16(k.Dst).Unmap(), k.DstPort),
	}
	a.current = c.protocol
	defer a.containSet(d)
	if why == reassembly.Copied || set.Again() && !a.tracker.open(d, c.protocol, set) {
		a.late(d, a.protocols[c.protocol], set.Len())
		return
	}
	if why == reassembly.Damaged {
		a.stats.Parts--
		a.reader.clear(a.config.Tree)
		a.begin(d, c)
		a.reader.addPart(set.Payload(0), frames[0], set.Header(0))
		a.join(d, c, formatOf(set), wireBytes(set))
		return
	}
	a.fromSet(d, c, set)
	a.claim = claimOf(set)
	rec := &a.record
	a.missing = set.Missing(a.missing[:0])
	whole := len(a.missing) == 0 && set.Total() > 0
	if whole {
		a.stats.Complete++
	} else {
		a.stats.Incomplete++
		rec.Split.Partial, a.reader.gap = true, set.Len()
		from := len(a.text)
		a.text = appendMissing(a.text, a.missing, set.Total())
		args := [...]Arg{Num(set.Len()), Num(set.Total()), Str(view(a.text[from:])), Str(why.String())}
		switch {
		case contradicts(set):
			// What is missing came: with another total.
		case s.Endless != nil && set.Total() == 0:
			a.reader.Note(s.Endless, args[0], args[2], args[3])
		default:
			a.reader.Note(s.Incomplete, args[:]...)
		}
		if len(a.missing) > 0 {
			a.reader.gap = a.missing[0]
		}
		for i := range a.missing {
			a.missing[i]++
		}
		if set.Total() == 0 {
			a.missing = append(a.missing, set.Index(set.Len()-1)+2)
		}
		rec.Missing = a.missing
	}
	a.join(d, c, formatOf(set), wireBytes(set))
}

// appendMissing says which parts of a set are not there, counted from 1 as
// people count them: "part 2", "parts 2, 4-7", "the last part".
func appendMissing(b []byte, missing []int, total int) []byte {
	if total == 0 && len(missing) == 0 {
		return append(b, "the last part"...)
	}
	b = append(b, plural(len(missing), "part ", "parts ")...)
	for i := 0; i < len(missing); {
		j := i
		for j+1 < len(missing) && missing[j+1] == missing[j]+1 {
			j++
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendInt(b, missing[i]+1)
		if j > i {
			b = append(b, '-')
			b = appendInt(b, missing[j]+1)
		}
		i = j + 1
	}
	if total == 0 {
		b = append(b, " and the last part"...)
	}
	return b
}

// asked returns what is known of the requests that a part can answer.
func (t *tracker) asked(d *Datagram, proto int8) (asked reassembly.Asked) {
	ends := t.flows.endsOf(d)
	fi := t.flows.find(ends)
	if fi < 0 || !t.flows.flows[fi].requested {
		return asked
	}
	f := &t.flows.flows[fi]
	asked.Newest, asked.Doubled = fromNanos(f.lastRequest), f.copies > 0 && !f.repeats && !f.proven
	asked.Waiting = d.Time.Add(time.Nanosecond) // none
	for i := f.requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up != ends.up && q.open() && !q.late && t.kin(q.protocol, proto) && q.time <= nanos(d.Time) {
			asked.Waiting = fromNanos(q.time)
		}
	}
	return asked
}

// heard reports whether requests were seen in the conversation of a datagram.
func (t *tracker) heard(d *Datagram) bool {
	fi := t.flows.find(t.flows.endsOf(d))
	return fi >= 0 && t.flows.flows[fi].requested
}

// captureDelay is how late the copies are that the capture makes.
const captureDelay = reassembly.CaptureDelay

// open reports whether copies of parts are rather those of a reply that lost some
// of its own: a request waits that is like the one which the earlier reply
// answered, and no capture makes copies that late.
func (t *tracker) open(d *Datagram, proto int8, set *reassembly.Set) bool {
	return set.Delay() > captureDelay && t.waits(d, proto, Topic(set.Tag()), nil)
}

// wants reports whether a request waits for a reply like this one.
func (t *tracker) wants(rec *Record, d *Datagram, proto int8) bool {
	return t.waits(d, proto, rec.Pair.Answers, &rec.Pair.ID)
}

// waits reports whether a request that was sent before the first part of a reply
// waits for one on these topics, and with this id if it is known.
func (t *tracker) waits(d *Datagram, proto int8, topics Topic, id *uint64) bool {
	ends := t.flows.endsOf(d)
	fi := t.flows.find(ends)
	if fi < 0 {
		return false
	}
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if q.up != ends.up && q.open() && !q.late && t.kin(q.protocol, proto) && q.topic&topics != 0 && (id == nil || sameID(q.id, *id)) && q.time <= nanos(d.First) {
			return true
		}
	}
	return false
}
