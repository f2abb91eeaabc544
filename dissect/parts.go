package dissect

import (
	"bytes"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// join sets the reader to one message: a whole datagram, or all parts of a split
// message. It reports false if the datagram is a part and others are missing.
func (a *Analyzer) join(x *arrival) bool {
	a.current = x.protocol
	if p := a.protocols[x.protocol]; p.Split != nil {
		if part, ok := p.Split.Read(x.Payload, 0); ok {
			return a.part(x, part)
		}
	}
	a.whole(x)
	return true
}

// whole sets the reader to a datagram.
func (a *Analyzer) whole(x *arrival) {
	core.Reset(&a.reader, x.Payload, x.Frame, a.config.Tree)
	a.open(x)
}

// cutPart handles a part that the capture truncated. It is not joined, but its
// request is not unanswered.
func (a *Analyzer) cutPart(x *arrival) {
	x.partial = true
	if f := a.conversation(x); f != nil {
		f.set(cutShort)
		if i := a.answeredBy(x); i != none {
			a.tracker.inPart(i, x)
		}
	}
	a.report(cutOff(x.Datagram), x)
}

// cutReply handles a datagram that the capture truncated so that nothing recognises it.
// If one request is pending in its conversation, that request is not unanswered.
func (a *Analyzer) cutReply(x *arrival) {
	if x.flow = a.tracker.flows.find(&x.ends); x.flow == none {
		return
	}
	found := none
	for i := a.tracker.flows.flows[x.flow].requests; i != none; i = a.tracker.requests.list[i].below {
		if q := &a.tracker.requests.list[i]; q.up() != x.ends.up && q.answer == 0 && q.open() && !q.has(isLate) {
			if found != none {
				return
			}
			found = i
		}
	}
	if found == none {
		return
	}
	x.protocol, x.partial = a.tracker.requests.list[found].protocol, true
	a.tracker.inPart(found, x)
	a.report(cutOff(x.Datagram), x)
}

// part adds a part to its set, or the parts that the capture has as one. It reports
// whether the set is complete and in the reader.
func (a *Analyzer) part(x *arrival, part reassembly.Part) bool {
	if size := a.protocols[x.protocol].Split.glued(x.Payload, part); size > 0 && x.Missing == 0 {
		return a.unglue(x, size)
	}
	return a.onePart(x, part)
}

func (a *Analyzer) onePart(x *arrival, part reassembly.Part) bool {
	s := a.protocols[x.protocol].Split
	a.stats.Parts++
	x.noteAs(seenPart)
	k := reassembly.Key{
		Src: x.Src.Addr().As16(), Dst: x.Dst.Addr().As16(), SrcPort: x.Src.Port(), DstPort: x.Dst.Port(),
		Space: uint32(x.protocol), ID: part.ID,
	}
	if x.Missing > 0 {
		a.cutPart(x)
		return false
	}
	if part.Total == 1 && part.Index == 0 && !part.Cut {
		a.stats.Complete++
		core.Clear(&a.reader, a.config.Tree)
		core.AddPart(&a.reader, x.Payload, x.Frame, part.Header)
		a.open(x)
		a.record.Split = Split{ID: part.ID, Parts: 1, Total: 1}
		if part.Variant == 0 {
			part.Variant = part.Guess
		}
		a.unite(x, part.Variant)
		return true
	}
	frames := x.Frames
	if len(frames) == 0 {
		a.frame[0] = x.Frame
		frames = a.frame[:]
	}
	part.Sum = x.checksum()
	set, verdict := a.parts.Add(k, part, x.Payload, frames, x.Time, a.tracker.pendingFor(x), s.Read)
	x.flow = a.tracker.flows.find(&x.ends) // what was given up meanwhile may have displaced it
	switch verdict {
	case reassembly.Refused:
		a.report(NewFinding(s.Incomplete, Num(0), Num(part.Total), Str("this part"), Str("limit reached")), x)
	case reassembly.Complete:
		if set.Len() == 1 && part.Index < 0 {
			// Nothing numbers the parts, and this one is all: it came whole.
			a.stats.Parts--
			a.whole(x)
			return true
		}
		a.stats.Complete++
		x.again = set.Again() && (set.Doubt() || a.asks(x))
		a.set(x, set)
		a.unite(x, formatOf(set))
		return true
	case reassembly.Held:
		if part.Total == 0 || part.Index < part.Total { // else nothing is known to be of a reply
			a.claims(x, part)
		}
	case reassembly.Late:
		a.late(x, 1)
	}
	return false
}

// asks reports whether the conversation of an arrival has requests.
func (a *Analyzer) asks(x *arrival) bool {
	f := a.conversation(x)
	return f != nil && f.requested()
}

// claims assigns a new set of parts to the request that it answers. Its content
// matters only if several requests are pending.
func (a *Analyzer) claims(x *arrival, part reassembly.Part) {
	first := a.parts.Began()
	if first == 0 || x.flow == none {
		return
	}
	var topics Topic
	if part.Index == 0 && a.tracker.several(x.flow, !x.ends.up) {
		core.Reset(&a.reader, x.Payload[part.Header:], x.Frame, false)
		a.tried = Message{}
		a.decoders[x.protocol].Decode(&a.reader, &a.tried)
		topics = a.tried.Pair.Answers
	}
	x.part, x.claim = first, uint32(first)
	a.tracker.claims(x, topics, a.config.Limits.Parts.Age)
}

// formatOf returns the format of a set, a guess if its content does not decide.
func formatOf(set *reassembly.Set) uint8 {
	if v := set.Variant(); v != 0 {
		return v
	}
	return set.Guess()
}

// set sets the reader to the parts of a set.
func (a *Analyzer) set(x *arrival, set *reassembly.Set) {
	core.Clear(&a.reader, a.config.Tree)
	a.open(x)
	s := a.protocols[x.protocol].Split
	frames := set.Frames()
	x.first, x.part, x.claim, x.wire = nanos(set.First()), frames[0], uint32(frames[0]), 0
	for i := range set.Len() {
		core.AddPart(&a.reader, set.Payload(i), set.PartFrames(i)[0], set.Header(i))
		x.wire += len(set.Payload(i))
	}
	rec := &a.record
	rec.Frames = frames
	rec.Split.ID, rec.Split.Parts, rec.Split.Total = set.Key().ID, set.Len(), set.Total()
	if n := set.Duplicates(); n > 0 && !a.copiedParts(x, n) {
		a.reader.Note(s.Duplicate, Num(n))
	}
	if n := set.Conflicts(); n > 0 {
		a.reader.Note(s.Conflict, Num(n))
	}
	if set.OutOfOrder() {
		a.reader.Note(s.Reordered)
	}
	a.noteTotals(s, set)
	if f := a.conversation(x); f != nil && f.has(cutShort) {
		core.Break(&a.reader) // others may be among what the capture cut
	}
}

// noteTotals reports parts that state different totals or sizes.
func (a *Analyzer) noteTotals(s *Splitting, set *reassembly.Set) {
	a.text = a.text[:0]
	after := contradicts(set)
	if total, frame := set.Before(); set.Disagree() || after {
		if after {
			a.text = appendNumber(appendInt(a.text, total), " (complete in frame ", int(frame), "), ")
		}
		a.text = appendStated(a.text, set, set.Stated)
		largest := 0
		for i := range set.Len() {
			largest = max(largest, set.Stated(i))
		}
		if i := set.Len() - 1; set.Index(i) >= largest {
			a.text = appendNumber(a.text, ", number ", set.Index(i)+1, " (frame ")
			a.text = appendNumber(a.text, "", int(set.PartFrames(i)[0]), ")")
		}
		if s.Totals != nil {
			a.reader.Note(s.Totals, Str(nettext.View(a.text)))
		}
	}
	if s.Sizes != nil && differ(set, set.Size) {
		from := len(a.text)
		a.text = appendStated(a.text, set, set.Size)
		a.reader.Note(s.Sizes, Str(nettext.View(a.text[from:])))
	}
}

// contradicts reports whether a set lacks parts and states another total than the
// complete set before it with the same id.
func contradicts(set *reassembly.Set) bool {
	total, _ := set.Before()
	return total > 0 && set.Total() > set.Len() && total != set.Total()
}

// differ reports whether parts state different values; 0 states none.
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

// maxStated is the number of different values that are listed.
const maxStated = 4

// appendStated lists the values that parts state, with their frames: "3 (frames 2,
// 4), 2 (frame 3)".
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
		b = append(b, nettext.Plural(frames, " (frame ", " (frames ")...)
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

// unite lets the decoder read the split headers of the parts and open the joined
// message.
func (a *Analyzer) unite(x *arrival, variant uint8) {
	j := a.decoders[x.protocol].(Joiner)
	x.headers = !j.Join(&a.reader, variant, &a.record.Message)
	if a.reader.Cut() {
		core.SoFarBelow(&a.reader) // what a gap does to the message is not said
	}
}

// incomplete handles an evicted set of parts, or one whose duplicates or damage are
// now certain.
func (a *Analyzer) incomplete(set *reassembly.Set, why reassembly.Reason) {
	k := set.Key()
	frames := set.Frames()
	a.stand = Datagram{
		Frame: frames[len(frames)-1], Time: set.Last(), First: set.First(),
		Src: netip.AddrPortFrom(netip.AddrFrom16(k.Src).Unmap(), k.SrcPort),
		Dst: netip.AddrPortFrom(netip.AddrFrom16(k.Dst).Unmap(), k.DstPort),
	}
	var x arrival
	x.begin(&a.stand, nil)
	x.protocol = int8(k.Space)
	a.current = x.protocol
	defer a.containSet(&x)
	a.find(&x)
	switch {
	case why == reassembly.Copied || set.Again() && !a.tracker.lost(&x, set):
		a.late(&x, set.Len())
		return
	case why == reassembly.Damaged:
		a.stats.Parts--
		core.Clear(&a.reader, a.config.Tree)
		a.open(&x)
		core.AddPart(&a.reader, set.Payload(0), frames[0], set.Header(0))
		x.wire = len(set.Payload(0))
	default:
		a.set(&x, set)
		a.noteMissing(&x, set, why)
	}
	a.unite(&x, formatOf(set))
	a.message(&x)
}

// noteMissing reports the missing parts of a set.
func (a *Analyzer) noteMissing(x *arrival, set *reassembly.Set, why reassembly.Reason) {
	a.missing = set.Missing(a.missing[:0])
	if len(a.missing) == 0 && set.Total() > 0 {
		a.stats.Complete++
		return
	}
	a.stats.Incomplete++
	f := a.conversation(x)
	rec, s := &a.record, a.protocols[x.protocol].Split
	rec.Split.Partial = true
	core.SetMissing(&a.reader, set.Len()+1)
	from := len(a.text)
	a.text = appendMissing(a.text, a.missing, set.Total())
	args := [...]Arg{Num(set.Len()), Num(set.Total()), Str(nettext.View(a.text[from:])), Str(why.String())}
	switch {
	case contradicts(set):
		// What is missing came: with another total.
	case f != nil && f.has(cutShort):
		core.Break(&a.reader) // the capture lacks them, not the network
	case a.beganBefore(x, set):
		a.reader.Note(core.CaptureBegins, Num(a.missing[len(a.missing)-1]+1), args[0], args[1])
	case s.Endless != nil && set.Total() == 0:
		a.reader.Note(s.Endless, args[0], args[2], args[3])
	default:
		a.reader.Note(s.Incomplete, args[:]...)
	}
	if len(a.missing) > 0 {
		core.SetMissing(&a.reader, a.missing[0]+1)
	}
	for i := range a.missing {
		a.missing[i]++
	}
	if set.Total() == 0 {
		a.missing = append(a.missing, set.Index(set.Len()-1)+2)
	}
	rec.Missing = a.missing
}

// A message of which parts are among the first beginFrames, and come so soon after the first datagram, may have begun before
// the capture did.
const (
	beginFrames = 1000
	beginTime   = int64(100 * time.Millisecond)
)

// beganBefore reports whether the parts that a set lacks came before the capture began: they are its first ones, and so is
// their request.
func (a *Analyzer) beganBefore(x *arrival, set *reassembly.Set) bool {
	n := len(a.missing)
	if n == 0 || a.missing[n-1] != n-1 || set.Frames()[0] > beginFrames || !a.copies.begun || nanos(set.First())-a.copies.from > beginTime {
		return false
	}
	f := a.conversation(x)
	return f == nil || !f.requested()
}

// appendMissing lists the missing parts of a set, counted from 1: "part 2", "parts
// 2, 4-7", "the last part".
func appendMissing(b []byte, missing []int, total int) []byte {
	if total == 0 && len(missing) == 0 {
		return append(b, "the last part"...)
	}
	b = append(b, nettext.Plural(len(missing), "part ", "parts ")...)
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
			b = appendNumber(b, "-", missing[j]+1, "")
		}
		i = j + 1
	}
	if total == 0 {
		b = append(b, " and the last part"...)
	}
	return b
}

// pendingFor describes the pending requests that a part can answer.
func (t *tracker) pendingFor(x *arrival) (asked reassembly.Asked) {
	if x.flow == none || !t.flows.flows[x.flow].requested() {
		return asked
	}
	f, now := &t.flows.flows[x.flow], x.packed.At
	asked.Newest, asked.Doubled = fromNanos(t.flows.more[x.flow].lastRequest), t.flows.extra(x.flow).copies > 0 && !f.has(repeating) && !f.has(copying)
	waiting := now + 1 // none
	for i := f.requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() != x.ends.up && q.open() && !q.has(isLate) && t.related(q.protocol, x.protocol) && t.requests.time(q) <= now {
			waiting = t.requests.time(q)
		}
	}
	asked.Waiting = fromNanos(waiting)
	return asked
}

// captureDelay is the largest delay of duplicates that the capture makes.
const captureDelay = reassembly.CaptureDelay

// lost reports whether duplicates of parts rather belong to a new reply that lost
// parts: a request like the answered one is pending, and no capture delays
// duplicates that long.
func (t *tracker) lost(x *arrival, set *reassembly.Set) bool {
	return set.Delay() > captureDelay && t.awaitsTopics(x, Topic(set.Tag()), nil)
}

// Arriving records an IP fragment of an incomplete datagram. The ports are 0 unless
// it is the first fragment. Requests that the datagram may answer stay pending until
// it is complete or lost, if that is within the age of [reassembly.DefaultLimits].
func (a inner) Arriving(frame uint64, src, dst netip.AddrPort) {
	t := a.tracker
	if src.Port() == 0 && dst.Port() == 0 {
		if i := t.onlyBetween(frame, src.Addr(), dst.Addr()); i != none {
			t.wait(i)
		}
		return
	}
	var ends ends
	from, to := endpoint.Of(src), endpoint.Of(dst)
	t.flows.endsOf(&ends, &from, &to)
	for i := range t.waitingFor(t.flows.find(&ends), !ends.up) {
		t.wait(i)
	}
}

// wait keeps a request pending because its reply is on its way.
func (t *tracker) wait(i int32) {
	t.requests.own(&t.requests.list[i]).arriving = uint16(min(1+reassembly.DefaultLimits.Age/t.config.Limits.Window, 1<<16-1))
}

// gap handles what is no message of a connection: bytes that are missing, which x.Findings say, or which a side sends of which nothing is in
// the capture; or else the beginning of a message whose rest is still to come. Requests that it may answer are answered in part, or go on to wait.
func (a *Analyzer) gap(x *arrival) {
	x.protocol, x.partial, x.stopped = a.index(x.Stream), true, true
	if x.Missing > 0 {
		a.tracker.tell(Notice{what: unheard, of: x.ends.key.server(!x.ends.up)})
		return
	}
	for i := range a.tracker.waitingFor(x.flow, !x.ends.up) {
		if len(x.Findings) > 0 {
			a.tracker.inPart(i, x)
		} else {
			a.tracker.wait(i)
		}
	}
	for i := range x.Findings {
		a.report(x.Findings[i], x)
	}
}

// waitingFor yields the requests of a conversation, which may be none, and a direction that wait for their first reply.
func (t *tracker) waitingFor(fi int32, up bool) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if fi == none {
			return
		}
		for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
			if q := &t.requests.list[i]; q.up() == up && q.answer == 0 && !q.has(isLate) && !yield(i) {
				return
			}
		}
	}
}

// LostFragments completes a finding about a datagram with missing fragments: it adds
// the protocol, the request that the datagram answers in part, and the severity. payload is the
// beginning of the datagram, nil if the first fragment is missing.
func (a inner) LostFragments(f *FlowFinding, payload []byte) {
	t := a.tracker
	if !f.NoPorts {
		f.Protocol = a.Recognise(f.Src, f.Dst, payload)
	}
	if f.Protocol != nil {
		f.Type = core.FragmentsMissing
	}
	a.stand = Datagram{Frame: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst, Payload: payload}
	x := a.queue.begin(&a.stand, nil)
	x.part, x.partial, x.wire, x.stopped = f.Frame, true, 0, true
	a.queue.on = x
	defer a.contain()
	i := none
	note := "; they are of the reply to the request in frame "
	if f.NoPorts {
		i = t.onlyBetween(f.Frame, f.Src.Addr(), f.Dst.Addr())
		note = "; the only request that waits between these hosts is in frame "
	} else if a.find(x); f.Protocol != nil && x.flow != none {
		x.protocol = a.index(f.Protocol)
		i = a.answeredBy(x)
	}
	if i == none {
		return
	}
	q := &t.requests.list[i]
	f.Protocol, f.NoPorts, f.Reply = t.protocols[q.protocol], false, true
	f.Dst, f.Src = t.flows.flows[q.flow].key.endpoints(q.up())
	t.inPart(i, x)
	a.text = appendInt(append(a.text[:0], note...), int(q.frame))
	f.Finding = NewFinding(core.FragmentsMissing, core.Args(&f.Finding)[0], core.Args(&f.Finding)[1], Str(nettext.View(a.text)))
}

// answeredBy returns the request that the beginning of a reply answers, none if
// there is none. If that request had a reply, it is the next one with its bytes.
func (a *Analyzer) answeredBy(x *arrival) int32 {
	a.current = x.protocol
	core.Reset(&a.reader, x.Payload, x.Frame, false)
	a.tried = Message{}
	a.decoders[x.protocol].Decode(&a.reader, &a.tried)
	m := a.tracker.match(x, &a.tried.Pair)
	a.tracker.doubt(m, x)
	if m.copy || m.over {
		return none
	}
	if m.request != none && a.tracker.requests.list[m.request].answer != 0 {
		return a.tracker.repeating(m.request, x)
	}
	return m.request
}

// repeating returns the oldest unanswered request that repeats request i, none if
// there is none.
func (t *tracker) repeating(i int32, x *arrival) int32 {
	q, found := &t.requests.list[i], none
	for j := t.flows.flows[q.flow].requests; j != none && j != i; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; o.sameAs(q) && o.open() && o.answer == 0 && !o.has(isLate) && o.frame <= x.part {
			found = j
		}
	}
	return found
}

// maxBetween is the number of newest requests that onlyBetween searches.
const maxBetween = 512

// onlyBetween returns the request that fragments without ports answer: the only one
// pending for a reply from src to dst that was sent before. It returns none if there
// is none or several.
func (t *tracker) onlyBetween(frame uint64, src, dst netip.Addr) int32 {
	found := none
	from, to := addressOf(dst), addressOf(src)
	n := 0
	for i := t.requests.waiting.newest; i != none; i = t.requests.list[i].older {
		if n++; n > maxBetween {
			return none
		}
		q := &t.requests.list[i]
		if q.answer != 0 || !q.open() || q.has(isOptional) || q.frame > frame {
			continue
		}
		if key := &t.flows.flows[q.flow].key; !key.between(from, to, q.up()) {
			continue
		}
		if found != none {
			return none
		}
		found = i
	}
	return found
}

// gluedLeast is the number of bytes of a split header that repeat in all parts of a message.
const gluedLeast = 8

// glued returns the size of the parts that receive offload (GRO, LRO) joined to one payload: all are as long as the first but the
// last, so the split header repeats at each multiple of it. It returns 0 for a single part.
func (s *Splitting) glued(b []byte, first reassembly.Part) int {
	n := len(b)
	if first.Header < gluedLeast || first.Size > 0 && (n <= first.Size || n == first.Size+first.Header) {
		return 0
	}
	size := bytes.Index(b[gluedLeast:], b[:gluedLeast]) + gluedLeast
	if size <= first.Header {
		return 0
	}
	for at := size; at < n; at += size {
		part, ok := s.Read(b[at:min(at+size, n)], 0)
		if !ok || part.ID != first.ID || part.Index == first.Index {
			return 0
		}
	}
	return size
}

// unglue adds the parts that one datagram holds, of a size. It reports whether the set is complete and in the reader.
func (a *Analyzer) unglue(x *arrival, size int) bool {
	whole := x.Payload
	defer func() { x.Payload = whole }()
	glued := NewFinding(core.CaptureGlued, Num((len(whole)+size-1)/size))
	for at := 0; at < len(whole); at += size {
		x.Payload, x.summed = whole[at:min(at+size, len(whole))], false
		if part, ok := a.protocols[x.protocol].Split.Read(x.Payload, 0); ok && a.onePart(x, part) {
			a.record.Frames = slices.Compact(a.record.Frames)
			a.reader.Note(core.CaptureGlued, core.Args(&glued)[0])
			return true
		}
	}
	a.report(glued, x)
	return false
}
