package dissect

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"time"
)

// Captures on mirror ports and on the interface any have datagrams more than once.
// A duplicate follows its original within milliseconds, with other datagrams
// possibly in between. It is counted and not decoded.
//
// The IPv4 identification proves a duplicate if the header has one; see identities.
// Without it the evidence is indirect, since a client may repeat a request and a
// server may answer both. A request that keeps coming shows a client that repeats
// itself: its earlier suspects are then messages, unless an equal reply was a
// duplicate as well. A reply is a duplicate unless another request that it may
// answer is pending, or equal replies keep coming for longer than duplicates do.

// A datagram within copyWindow of an earlier one with its bytes may be a duplicate.
// Within copyBurst even a third one may be: a bridge shows a datagram on each of its
// interfaces at once.
const (
	copyWindow = captureDelay
	copyBurst  = time.Millisecond
	maxCopies  = 3
	// networkDelay bounds the delay of duplicates made by the network.
	networkDelay = time.Second
	// soon bounds the delay of duplicates made by the capture.
	soon = 100 * time.Millisecond
)

// seenAs says what a recent datagram turned out to be.
type seenAs uint8

const (
	seenUndecided seenAs = iota
	seenRequest
	seenReply
	seenPart
)

// A sighting is a recent datagram.
type sighting struct {
	first, last int64 // of those that may be one message
	lag         int64 // of the first copy
	hash, sum   uint32
	length      uint32
	ids         [8]uint16 // identifications of the newest, a ring; 0 is none
	next        uint8     // in the ring
	copies      uint8
	as          seenAs
	up          bool
	repeats     bool // the sender repeats itself
	after       bool // the first copy came after a reply
	// messages and duplicates count what came without a pause.
	messages, duplicates uint16
}

// oftenSame is the number of equal messages after which their number tells whether they
// are sent again and again or duplicated by the capture, which duplicates all of them.
const oftenSame = 32

// keepsComing reports whether too few of the datagrams with the bytes of s were taken for
// duplicates for a capture that duplicates them: they are sent again and again, as by
// those who flood a victim with replies. Of datagrams whose identifications all differ, more may be.
func (s *sighting) keepsComing(numbered bool) bool {
	m, d := uint32(s.messages), uint32(s.duplicates)
	return s.as != seenPart && m >= oftenSame && (2*d < m || numbered && 4*d < 3*m)
}

// sightings is a set-associative table of the newest datagrams, four per set.
// Duplicates of evicted datagrams count as messages.
type sightings struct {
	sets [sightingSets]sightingSet
	list [sightingSets][sightingWays]sighting
}

const (
	sightingBits = 7
	sightingSets = 1 << sightingBits
	sightingWays = 4
)

// A sightingSet tells by the checksums of four datagrams which of them to look at. order
// has their numbers, a byte each, that of the newest in the lowest byte; 0 is any order.
type sightingSet struct {
	sums  [sightingWays]uint32
	order uint32
}

// find returns the sighting of a datagram, or the oldest of its set.
func (t *sightings) find(e *ends, sum, length uint32) (s *sighting, known bool) {
	place := e.place(sum)
	set, list := &t.sets[place], &t.list[place]
	if n := &set.sums; n[0] == sum || n[1] == sum || n[2] == sum || n[3] == sum { // copies are rare
		for i := range n {
			if s = &list[i]; n[i] == sum && s.hash == e.hash && s.length == length && s.up == e.up {
				set.renew(uint32(i))
				return s, true
			}
		}
	}
	if set.order == 0 {
		set.order = 0x03020100
	}
	set.order = bits.RotateLeft32(set.order, 8)
	i := set.order % sightingWays
	set.sums[i] = sum
	return &list[i], false
}

// renew makes a datagram the newest.
func (s *sightingSet) renew(number uint32) {
	order := number
	for i, n := 0, 8; i < sightingWays; i++ {
		if other := s.order >> (8 * i) & 0xff; other != number {
			order |= other << n
			n += 8
		}
	}
	s.order = order
}

// place returns the position of a datagram in the table of sightings. Unlike the
// hash of a flow it is the same in every run, and so is what the table evicts.
func (e *ends) place(sum uint32) uint32 {
	k := &e.key
	addresses := uint64(bits.ReverseBytes32(uint32(k.low.lo)))<<32 | uint64(bits.ReverseBytes32(uint32(k.high.lo)))
	ports := uint64(bits.ReverseBytes16(k.lowPort))<<16 | uint64(bits.ReverseBytes16(k.highPort))
	const odd = 0x9e3779b97f4a7c15 // spreads every bit to the upper ones, which are used
	x := (addresses*odd ^ ports) * odd
	return uint32((x ^ uint64(sum)) * odd >> (64 - sightingBits)) // the topmost bits depend on all others
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns a number by which payloads are compared: the CRC-32C, for which
// processors have an instruction, or for a short payload, as all requests are, a hash that
// is done before that begins. Both are the same in every run.
func checksum(payload []byte) uint32 {
	if len(payload) < 8 || len(payload) > detectBytes {
		return crc32.Checksum(payload, castagnoli)
	}
	// The last word may overlap the one before. Both halves of a product are used, so that
	// what a number changes in one of them is not undone by what it changes in the other.
	hash := uint64(len(payload))
	for rest := payload; len(rest) >= 8; rest = rest[8:] {
		hash = fold(hash ^ binary.LittleEndian.Uint64(rest))
	}
	hash = fold(hash ^ binary.LittleEndian.Uint64(payload[len(payload)-8:]))
	return uint32(hash ^ hash>>32)
}

// fold mixes the bits of a word.
func fold(word uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	hi, lo := bits.Mul64(word, odd)
	return hi ^ lo
}

// suspects are the requests with the bytes of one sighting that were last treated as
// duplicates, as long as they may turn out to be messages.
type suspects struct {
	of   *sighting
	n    int
	list [maxCopies]kept
}

// add adds a datagram that is short enough for a request.
func (l *suspects) add(of *sighting, d *Datagram) {
	if l.of != of {
		l.of, l.n = of, 0
	}
	if l.n == len(l.list) || len(d.Payload) > detectBytes {
		return
	}
	l.list[l.n].keep(d)
	l.n++
}

// drop stops a datagram that is a duplicate of a recent one.
func (a *Analyzer) drop(x *arrival) {
	if x.protocol >= 0 || x.undecided != 0 {
		x.stopped = a.copied(x)
	}
}

// copies is what is known of duplicates.
type copies struct {
	begun      bool
	from       int64      // time of the first datagram, if begun
	seen       *sightings // nil or empty until then
	suspects   suspects
	identities identities
}

// forget forgets all. It keeps the table, which is large.
func (c *copies) forget() {
	*c = copies{seen: c.seen}
	if c.seen != nil {
		*c.seen = sightings{}
	}
}

// copied reports whether a datagram is a duplicate of a recent one. If not, it sets
// x.sighting.
func (a *Analyzer) copied(x *arrival) bool {
	if a.config.KeepCopies || len(x.Frames) > 0 || x.Stream != nil { // copies of fragments and segments are known before they are joined
		return false
	}
	if c := a.copies; !c.begun {
		c.begun, c.from = true, a.now
		if c.seen == nil {
			c.seen = new(sightings)
		}
	}
	x.sum, x.summed = checksum(x.Payload), true
	sum, length := x.sum, uint32(len(x.Payload)+x.Missing)
	s, known := a.copies.seen.find(&x.ends, sum, length)
	x.sighting = s
	a.copies.identities.see(x.IPID, sum)
	past := a.now - s.last
	if !known || past > int64(networkDelay) || past < -int64(copyWindow) {
		if a.copies.suspects.of == s {
			a.copies.suspects.of = nil
		}
		*s = sighting{}
		s.first, s.last, s.hash, s.sum, s.length, s.up = a.now, a.now, x.ends.hash, sum, length, x.ends.up
		s.ids[0], s.next, s.messages = x.IPID, 1, 1
		return false
	}
	if a.duplicated(x, s, past) {
		s.duplicates = increased(s.duplicates)
		return true
	}
	s.messages = increased(s.messages)
	return false
}

// duplicated judges a datagram that came past nanoseconds after the last one with its
// bytes.
func (a *Analyzer) duplicated(x *arrival, s *sighting, past int64) bool {
	switch a.copies.identities.judge(s, x.IPID, past) {
	case oneDatagram:
		a.clear(x) // it is the one with another identification that was none
		a.copy(x)
		if f := a.conversation(x); f != nil {
			f.set(copying)
		}
		return true
	case twoDatagrams:
		x.distinct = true
		a.renewSighting(s)
		return false
	}
	// Of what the capture cut, equal bytes may have unequal ones after them.
	if past > int64(copyWindow) || x.Missing > 0 && !a.mirrored() {
		a.renewSighting(s)
		s.repeats = false
		return false
	}
	if numbered := x.IPID != 0; s.keepsComing(numbered) && (numbered || !a.mirrored()) {
		x.distinct = true
		a.renewSighting(s)
		s.repeats = false
		return false
	}
	s.last = a.now
	if a.isCopy(x, past) {
		a.copy(x)
		if x.flow != none {
			a.tracker.copied(x.flow, s)
		}
		return true
	}
	return false
}

// renewSighting restarts s with a datagram that is not a duplicate.
func (a *Analyzer) renewSighting(s *sighting) {
	if a.copies.suspects.of == s {
		a.copies.suspects.of = nil
	}
	s.first, s.last, s.copies, s.as = a.now, a.now, 0, seenUndecided
}

// isCopy judges a datagram with the bytes of its sighting if the IP identification
// proves nothing.
func (a *Analyzer) isCopy(x *arrival, past int64) bool {
	s := x.sighting
	switch s.as {
	case seenRequest:
		return a.isRequestCopy(x, past)
	case seenReply:
		if x.flow == none || !a.tracker.expected(x.flow, s) {
			// Copies end soon: what goes on is sent again and again, as to the victim of a reflection.
			long := abs(s.last-s.first) > int64(copyWindow) && s.duplicates >= maxCopies
			if x.distinct = long && (x.IPID != 0 || past > int64(copyBurst) || s.copies >= maxCopies); x.distinct {
				s.copies = 0
			} else if s.copies < maxCopies {
				s.copies++
			}
			return !x.distinct
		}
		// Where nothing else came twice, equal replies are to several requests.
		x.near = a.stats.Duplicates > 0 && !a.conversation(x).has(repeating)
		s.first = s.last
		return false
	}
	// The reassembly knows copies of parts, see Analyzer.copiedParts.
	x.near = true
	return false
}

// isRequestCopy judges a request that came past nanoseconds after the last one with
// its bytes.
func (a *Analyzer) isRequestCopy(x *arrival, past int64) bool {
	s, t, fi := x.sighting, a.tracker, x.flow
	lag := s.last - s.first
	within, mirrored := abs(lag) <= int64(copyWindow), a.mirrored()
	balanced, answered := fi != none && t.balanced(fi, s), fi != none && t.answered(fi, s)
	switch {
	case s.repeats && !mirrored:
		x.near = !balanced
		s.first = s.last
		return false
	case within && (s.copies == 0 || s.copies < maxCopies && (lag <= int64(copyBurst) || fi != none && !answered)):
	case mirrored, !within && s.copies <= 1 && !(s.after && balanced) && abs(past-s.lag) > int64(copyBurst):
		// The next question of a client that asks fast.
		x.near = mirrored
		s.first, s.copies, s.repeats = s.last, 0, false
		return false
	case s.after && balanced:
		// What was asked was answered as often as it was: this is the next
		// question, of a client that repeats itself.
		a.repeats(x)
		a.copies.suspects.of = nil
		return false
	default:
		x.near = true
		a.repeats(x)
		a.clear(x)
		return false
	}
	if s.copies++; s.copies == 1 {
		s.lag, s.after = lag, answered
	}
	if f := a.conversation(x); f != nil {
		f.clear(repeating)
	}
	if !mirrored {
		a.copies.suspects.add(s, x.Datagram)
	}
	return true
}

// repeats records that the sender of an arrival repeats itself.
func (a *Analyzer) repeats(x *arrival) {
	x.sighting.repeats, x.sighting.first = true, x.sighting.last
	if f := a.conversation(x); f != nil {
		f.set(repeating)
	}
}

// clear treats the suspects as messages: the sender of x repeats itself.
func (a *Analyzer) clear(x *arrival) {
	if a.copies.suspects.of != x.sighting {
		return
	}
	a.copies.suspects.of = nil
	if x.protocol < 0 {
		return
	}
	for i := range a.copies.suspects.n {
		d := &a.copies.suspects.list[i].Datagram
		a.out.copy(d, true)
		if x.flow != none {
			a.tracker.flows.own(x.flow).copies--
			if i == 0 {
				a.tracker.cleared(x.flow, x.sighting)
			}
		}
		a.queue.add(d, &x.ends, x.class)
	}
}

// mirrored reports whether so many datagrams were duplicated that the capture
// duplicates all of them.
func (a *Analyzer) mirrored() bool {
	const few = 8 // datagrams that say nothing of a capture
	return a.stats.Duplicates >= few && 3*a.stats.Duplicates >= a.stats.Messages+a.stats.Parts
}

// noteAs records what a datagram turned out to be.
func (x *arrival) noteAs(as seenAs) {
	if x.sighting != nil {
		x.sighting.as, x.sighting = as, nil
	}
}

// Duplicated reports whether most of the input was duplicated.
func (s *Stats) Duplicated() bool {
	const few = 8 // datagrams that say nothing of a capture
	return s.Duplicates >= few && 2*s.Duplicates >= s.Messages+s.Parts
}

// QuietCopies disables the findings about duplicates of single conversations. Call
// it if most of the input is duplicated, which the summary reports once.
func (a inner) QuietCopies() { a.tracker.quiet = true }

// cleared takes back the duplicate of a request.
func (t *tracker) cleared(fi int32, s *sighting) {
	if q := t.newest(fi, s); q != nil && t.requests.rare(q).copies > 0 {
		t.requests.rare(q).copies--
	}
}

// expected reports whether another request is pending for a reply with the bytes of
// s. A server sends a client the same challenge for each request that does not carry
// it. An answered request may get another reply if it was sent after the first reply
// and nothing in the conversation was duplicated.
func (t *tracker) expected(fi int32, s *sighting) bool {
	f := &t.flows.flows[fi]
	for i := f.requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		got := t.requests.answered(q)
		if q.up() == s.up || !got.had(s.sum) {
			continue
		}
		for j := f.requests; j != none; j = t.requests.list[j].below {
			o := &t.requests.list[j]
			if o.has(isLate) && !q.has(isLate) || o.up() != q.up() || o.protocol != q.protocol || o.id != q.id {
				continue
			}
			if !o.open() {
				if o.topic == q.topic && o.since(got, s.sum) && (t.flows.extra(fi).copies == 0 || f.has(repeating)) {
					return true
				}
				continue
			}
			next := t.protocols[q.protocol].Pairing.Paged // another page has other bytes
			if o.sameAs(q) || got.issuedIn == 0 && o.topic == q.topic && !next || got.issuedIn != 0 && seeks(o) > 0 {
				return true
			}
		}
		return false
	}
	return false
}

// newest returns the newest request with the bytes of s.
func (t *tracker) newest(fi int32, s *sighting) *request {
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.of(s) {
			return q
		}
	}
	return nil
}

// balanced reports whether the newest request with the bytes of s was answered as
// often as it was seen.
func (t *tracker) balanced(fi int32, s *sighting) bool {
	q := t.newest(fi, s)
	if q == nil || q.answer == 0 {
		return false
	}
	got, more := t.requests.answered(q), t.requests.rare(q)
	return int(got.n)+int(got.copies) > int(more.copies)+int(more.merged)
}

// answered reports whether the newest request with the bytes of s had a reply.
func (t *tracker) answered(fi int32, s *sighting) bool {
	q := t.newest(fi, s)
	return q != nil && q.answer != 0
}

// copied records a duplicate of a message with the bytes of s. The duplicate of a
// challenge may be the answer of a server that refuses the challenge; the reply to
// the request that used it is then in doubt.
func (t *tracker) copied(fi int32, s *sighting) {
	gave, echoed := false, false
	first := t.flows.flows[fi].requests
	for i := first; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if s.as == seenRequest && q.of(s) {
			if o := t.requests.own(q); o.copies < maxCopies {
				o.copies++
			}
			return
		}
		if s.as == seenReply && q.up() != s.up && t.requests.answered(q).had(s.sum) {
			got := t.requests.answered(q)
			if !echoed && got.copies < maxCopies {
				got.copies++
			}
			echoed, gave = true, gave || got.issuedIn != 0
		}
	}
	for i := first; gave && i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() != s.up && q.answer == 0 && q.challenge == ChallengeUsed {
			q.set(isInDoubt)
		}
	}
}

// identities evaluates the identification of IPv4 headers. Two datagrams with the
// same bytes and the same identification are one. Different identifications prove
// that the bytes were sent twice only if the duplicates of this capture are known to
// keep their identification: tools that write captures may number duplicates as
// well.
type identities struct {
	proofs   uint32 // datagrams that were seen again with the same identification
	others   uint32 // and with another one, at once
	constant uint32 // datagrams with the identification of the one before and other bytes
	last     uint16
	sum      uint32
}

// sameness says whether two datagrams with the same bytes are one.
type sameness uint8

const (
	undecided sameness = iota
	oneDatagram
	twoDatagrams
)

// fewProofs is more than chance produces.
const fewProofs = 2

// see records the next datagram and the checksum of its payload.
func (n *identities) see(id uint16, sum uint32) {
	if id != 0 && id == n.last && sum != n.sum {
		n.constant++
	}
	n.last, n.sum = id, sum
}

// judge compares a datagram with those of s, the last of which came past nanoseconds
// ago, and records its identification.
func (n *identities) judge(s *sighting, id uint16, past int64) sameness {
	if id == 0 {
		return undecided
	}
	known := false
	for _, seen := range s.ids {
		if seen != id {
			known = known || seen != 0
			continue
		}
		if past <= int64(soon) {
			n.proofs++
		}
		// Some senders number all of their datagrams alike.
		if n.constant > n.proofs/16 || past > int64(soon) && n.proofs < fewProofs {
			return undecided
		}
		return oneDatagram
	}
	s.ids[s.next%uint8(len(s.ids))] = id
	s.next++
	if known && past <= int64(copyWindow) {
		n.others++
	}
	if known && n.proofs == 0 && n.constant == 0 && n.others >= oftenSame && past > int64(copyBurst) {
		return twoDatagrams // a capture that numbers its duplicates has them at once
	}
	if !known || n.proofs < fewProofs || n.others > 8*n.proofs || n.constant > n.proofs/16 {
		return undecided
	}
	return twoDatagrams
}
