package dissect

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// Captures on mirror ports and on the interface any hold datagrams more than
// once. A copy follows its original within milliseconds, while other datagrams
// may already stand between the two. It is counted and not handed on.
//
// Nothing in a copy proves that it is one: a client may repeat a request, and a
// server may answer both. What separates them is what else is seen. Where copies
// are captured, everything comes twice: the same request a third time shows a
// client that repeats itself, and the second one is then taken for a message
// after all. A reply is a copy unless a further request waits that it may answer.

// copyWindow is how long after a datagram a second one with its bytes may be a
// copy; copyBurst how long after it even a third one is: a bridge shows a
// datagram on each of its interfaces at once.
const (
	copyWindow = captureDelay
	copyBurst  = time.Millisecond
	maxCopies  = 3
)

// CaptureDuplicate is said once of a conversation.
var CaptureDuplicate = &FindingType{ID: "capture.duplicate", Severity: Note, Text: "datagrams of this conversation that came twice: %d; the copies are left out",
	Doc: "The same bytes went the same way twice within 12 ms, or a reply came again whose request had been answered. Mirror ports and the interface any capture datagrams twice, networks duplicate some, and a sender may repeat itself at once. Copies are no messages of their own: they are counted here and in the summary. If most of a capture came twice, only the summary says so."}

// seenAs says what became of a datagram that may have copies.
type seenAs uint8

const (
	seenUndecided seenAs = iota
	seenRequest
	seenReply
	seenPart
)

// sighting is a datagram that was seen a moment ago.
type sighting struct {
	first, last int64
	hash, sum   uint32
	length      uint32
	copies      uint8 // maxCopies and more: the sender repeats itself
	as          seenAs
	up          bool
}

// sightings is a table of the newest datagrams. What does not fit is forgotten:
// its copies count as messages then.
type sightings [256]sighting

// place mixes a checksum with the two ends. Unlike their hash it is the same in
// every run: what the table has room for must be, or the output would not.
func (e *ends) place(sum uint32) uint32 {
	k := &e.key
	low := binary.LittleEndian.Uint32(k[12:]) ^ uint32(binary.LittleEndian.Uint16(k[16:]))<<16
	high := binary.LittleEndian.Uint32(k[30:]) ^ uint32(binary.LittleEndian.Uint16(k[34:]))<<16
	mixed := (low*0x9e3779b1 ^ high) * 0x85ebca6b
	return sum ^ mixed ^ mixed>>16
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the sum by which payloads are compared: the CRC-32C, for which
// processors have an instruction.
func Checksum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

// checksum returns that of the payload.
func (d *Datagram) checksum() uint32 {
	if !d.summed {
		d.sum, d.summed = Checksum(d.Payload), true
	}
	return d.sum
}

// A suspect is the request that was taken for a copy last.
type suspect struct {
	s       *sighting
	d       Datagram
	payload [detectBytes]byte
	text    []byte // of the findings
}

// Keep keeps a text as long as the suspect.
func (s *suspect) Keep(text string) string {
	n := len(s.text)
	s.text = append(s.text, text...)
	return view(s.text[n:])
}

// set takes a datagram, if it is short enough for a request.
func (s *suspect) set(of *sighting, d *Datagram) {
	s.s = nil
	if len(d.Payload) > len(s.payload) {
		return
	}
	findings := s.d.Findings[:0]
	s.text = s.text[:0]
	for i := range d.Findings {
		findings = append(findings, d.Findings[i].Own(s))
	}
	s.s, s.d = of, *d
	s.d.Payload, s.d.Findings = s.payload[:copy(s.payload[:], d.Payload)], findings
}

// copied reports whether a datagram is a copy of one that was seen a moment ago.
// If it is not, a.sighting is where to note what becomes of it, and a.near says
// that it could have been one.
func (a *Analyzer) copied(d *Datagram, c class) bool {
	a.sighting, a.near = nil, false
	if a.config.KeepCopies || len(d.Frames) > 0 { // copies of fragments are known before they are joined
		return false
	}
	ends := a.tracker.flows.endsOf(d)
	sum, length := d.checksum(), uint32(len(d.Payload))
	s := &a.seen[ends.place(sum)%uint32(len(a.seen))]
	a.sighting = s
	past := a.now - s.last
	if s.hash != ends.hash || s.sum != sum || s.length != length || s.up != ends.up || past > int64(copyWindow) || past < -int64(copyWindow) {
		if a.suspect.s == s {
			a.suspect.s = nil
		}
		*s = sighting{first: a.now, last: a.now, hash: ends.hash, sum: sum, length: length, up: ends.up}
		return false
	}
	s.last = a.now
	fi := a.tracker.flows.find(ends)
	if !a.isCopy(s, d, fi) {
		// Where nothing else came twice, equal replies are to several requests.
		a.near = s.as != seenReply || a.stats.Duplicates > 0
		a.clear(s, c)
		return false
	}
	a.copy(d, fi)
	if fi >= 0 {
		a.tracker.copied(fi, s)
	}
	return true
}

// isCopy judges a datagram with the bytes of s, in flow fi if that is known.
func (a *Analyzer) isCopy(s *sighting, d *Datagram, fi int32) bool {
	switch s.as {
	case seenRequest:
		burst := s.last-s.first <= int64(copyBurst)
		switch {
		case s.copies == 0:
			s.copies = 1
			if !a.mirrored() {
				a.suspect.set(s, d)
			}
			return true
		case burst && s.copies < maxCopies:
			s.copies++
			return true
		case a.mirrored():
			// The next question of a client that asks fast.
			s.first, s.copies = s.last, 0
			return false
		}
		s.copies = maxCopies
		return false
	case seenReply:
		return fi < 0 || !a.tracker.wanted(fi, s)
	}
	// The reassembly knows copies of parts, see Analyzer.copiedParts.
	return false
}

// clear takes the suspect for a message if the sender of s repeats itself.
func (a *Analyzer) clear(s *sighting, c class) {
	if a.suspect.s != s {
		return
	}
	a.suspect.s = nil
	if s.copies != maxCopies || c.protocol < 0 {
		return
	}
	d := &a.suspect.d
	a.stats.Duplicates--
	if fi := a.tracker.flows.find(a.tracker.flows.endsOf(d)); fi >= 0 {
		a.tracker.flows.flows[fi].copies--
		a.tracker.cleared(fi, s)
	}
	a.heldMessage(d, c)
	a.sighting = s
}

// mirrored reports whether so much came twice that all of it does.
func (a *Analyzer) mirrored() bool {
	const few = 8 // datagrams that say nothing of a capture
	return a.stats.Duplicates >= few && 3*a.stats.Duplicates >= a.stats.Messages+a.stats.Parts
}

// copy counts a copy.
func (a *Analyzer) copy(d *Datagram, fi int32) {
	a.stats.Duplicates++
	if fi < 0 {
		return
	}
	f := &a.tracker.flows.flows[fi]
	if f.copies++; f.copies == 1 {
		f.copyFrame, f.copyTime, f.copyUp = d.Frame, nanos(d.Time), d.ends.up
	}
}

// noteAs notes what became of the datagram that was looked for last.
func (a *Analyzer) noteAs(as seenAs) {
	if a.sighting != nil {
		a.sighting.as, a.sighting = as, nil
	}
}

// Duplicated reports whether most of what was seen came twice.
func (s *Stats) Duplicated() bool {
	const few = 8 // datagrams that say nothing of a capture
	return s.Duplicates >= few && 2*s.Duplicates >= s.Messages+s.Parts
}

// QuietCopies keeps an analyzer from reporting copies of each conversation: most
// of the input came twice, which is worth one word and not one for each.
func (a *Analyzer) QuietCopies() { a.quietCopies = true }

// tellCopies reports the copies of a conversation that ends.
func (a *Analyzer) tellCopies(f *flow) {
	if f.copies == 0 || a.quietCopies || a.stats.Duplicated() {
		return
	}
	src, dst := f.key.endpoints(f.copyUp)
	a.tracker.told = FlowFinding{
		Finding: NewFinding(CaptureDuplicate, Num(f.copies)), Frame: f.copyFrame, Time: fromNanos(f.copyTime), Src: src, Dst: dst,
	}
	if f.protocol >= 0 {
		a.tracker.told.Protocol = a.protocols[f.protocol]
	}
	a.flowFinding(&a.tracker.told)
}

// same reports whether a request has the bytes of s, or of another request.
func (q *request) sameAs(o *request) bool {
	return q.sum == o.sum && q.bytes == o.bytes && q.id == o.id && q.protocol == o.protocol && q.up == o.up && q.topic == o.topic
}

func (q *request) is(s *sighting) bool {
	return q.sum == s.sum && q.bytes == s.length && q.up == s.up
}

// cleared takes the copy of a request back.
func (t *tracker) cleared(fi int32, s *sighting) {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.is(s) {
			q.copies -= min(q.copies, 1)
			return
		}
	}
}

// wanted reports whether a further request waits for a reply with the bytes of
// s. A server gives a client the same challenge for each request, but not for
// one that carries it.
func (t *tracker) wanted(fi int32, s *sighting) bool {
	first := t.flows.flows[fi].requests
	for i := first; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if q.up == s.up || !q.had(s.sum) {
			continue
		}
		for j := first; j != none; j = t.requests[j].below {
			o := &t.requests[j]
			if !o.open() || o.late && !q.late || o.up != q.up || o.protocol != q.protocol || o.id != q.id {
				continue
			}
			if o.sameAs(q) || q.givenIn == 0 && o.topic == q.topic || q.givenIn != 0 && seeks(o) > 0 {
				return true
			}
		}
		return false
	}
	return false
}

// copied notes a copy of a message with the bytes of s. A copy of a challenge
// could be the answer to a request that used it, from a server that refuses it:
// the reply to that one is then in doubt.
func (t *tracker) copied(fi int32, s *sighting) {
	gave := false
	first := t.flows.flows[fi].requests
	for i := first; i != none; i = t.requests[i].below {
		q := &t.requests[i]
		if s.as == seenRequest && q.is(s) {
			if q.copies < maxCopies {
				q.copies++
			}
			return
		}
		gave = gave || s.as == seenReply && q.up != s.up && q.givenIn != 0 && q.had(s.sum)
	}
	for i := first; gave && i != none; i = t.requests[i].below {
		if q := &t.requests[i]; q.up != s.up && q.replies == 0 && q.challenge == ChallengeUsed {
			q.doubt = true
		}
	}
}
