package reassembly

import (
	"bytes"
	"hash/crc32"
	"math/bits"
	"slices"
	"time"
)

// A Part is what the header of a split packet says.
type Part struct {
	// ID tells the sets of one sender apart.
	ID uint64
	// Index is the place of the part, from 0; -1 if the header does not say
	// and parts count in the order of their arrival.
	Index int
	// Total is the number of parts of the whole, 0 if this part does not
	// know (GameSpy: only the last one does). A part with an Index that is not
	// below its own Total has its place if others state a larger one.
	Total int
	// Cut says that the part is all by its Total, and that the message in it is
	// cut short: others can come that state a larger Total.
	Cut bool
	// Last says that no part comes behind this one. It is for parts without
	// an index, whose Total nobody knows before they are there.
	Last bool
	// Size is what else must be the same in all parts of a set, for formats
	// that are told apart by it; 0 if there is nothing.
	Size int
	// Header is the number of bytes before the part's own data.
	Header int
	// Variant is the protocol's number for the format of the header, at most
	// [MaxVariant] where formats have to be guessed; 0 if this part alone does
	// not decide it, and Index and Total are a guess. A protocol with one
	// format only gives it a number as well.
	Variant uint8
	// Guess is the format that Index and Total are read in while Variant is 0.
	// The parts of a set are read in another one if that alone fits all.
	Guess uint8
}

// MaxVariant is the highest number of a format that is tried in a guess.
const MaxVariant = 8

// A ReadPart reads a split header in the format of variant, or decides the
// format by the content if variant is 0. It reports false for a payload that
// is no part, or none of this format.
type ReadPart func(payload []byte, variant uint8) (Part, bool)

// copyWindow is how long after the end of a set copies of its parts come that
// the network or the capture made: ports that mirror both directions and the
// interface "any" hold every packet twice, milliseconds apart.
const copyWindow = int64(50 * time.Millisecond)

// CaptureDelay is how late the copies are that the capture makes.
const CaptureDelay = 12 * time.Millisecond

// Asked is what is known of the requests to a sender of parts. The times are zero
// where nothing is.
type Asked struct {
	// Newest is when the newest request was sent: a part with other bytes in a
	// place that is taken can be the answer to it.
	Newest time.Time
	// Waiting is when the oldest one was sent that waits for a reply. Late parts
	// from before it answer nothing.
	Waiting time.Time
	// Doubled says that the capture holds the datagrams of this conversation
	// twice: every other set of copies is what the capture made.
	Doubled bool
}

// Parts joins pieces that carry an index.
type Parts struct {
	t    table
	lost func(*Set, Reason)
	view Set
	ripe int32 // the set that waits to be settled
	// began is the first frame of the set that holds the newest part, 0 if none
	// that is under way does.
	began uint64
	one   set // a part without a place
}

// NewParts returns a table that takes its memory from b. lost is called for
// every set that is put out before it is complete, sets of late copies among them
// (see [Set.Again]), and for those that are [Settled], and for parts without a place ([Damaged]); the set is borrowed, and the call must not use the table.
func NewParts(b *Budget, l Limits, lost func(*Set, Reason)) *Parts {
	p := &Parts{t: newTable(b, l), lost: lost, ripe: none}
	p.t.lost = p.giveUp
	b.tables = append(b.tables, &p.t)
	return p
}

// giveUp hands out a set that was never complete. Copies of the set before it
// are none of its parts.
func (p *Parts) giveUp(i int32, why Reason) {
	s := &p.t.sets[i]
	if p.lost == nil || s.shared {
		return
	}
	if s.own == 0 {
		why = Copied
	}
	for j := len(s.pieces) - 1; j >= 0 && !s.ripe; j-- {
		if q := &s.pieces[j]; q.doubt && q.at-s.finished <= int64(CaptureDelay) {
			s.remove(j)
		}
	}
	s.firstStays()
	if p.expel(s); len(s.pieces) == 0 {
		return
	}
	p.view = Set{s: s}
	p.lost(&p.view, why)
}

// expel hands out the parts that have no place in their set: their index is not
// below the largest total. Those whose own total alone is too small stay.
func (p *Parts) expel(s *set) {
	for j := 0; s.beyond && j < len(s.pieces); j++ {
		q := &s.pieces[j]
		switch {
		case !q.beyond():
		case q.pos < s.total:
			s.disagree = true
		default:
			if p.one = (set{key: s.key, variant: s.variant, guess: s.guess, last: q.at, own: 1, store: store{
				pieces: append(p.one.pieces[:0], *q), order: p.one.order[:0], buf: s.buf, frames: s.framesOf(q),
			}}); !q.copied && p.lost != nil {
				p.one.pieces[0].frames = 0
				p.view = Set{s: &p.one}
				p.lost(&p.view, Damaged)
			}
			s.remove(j)
			j--
		}
	}
	p.one.buf, p.one.frames = nil, nil
}

// beyond reports whether the index of a part is not below its own total.
func (q *piece) beyond() bool { return q.total > 0 && q.pos >= q.total }

// Add puts in one part: payload is the whole datagram with its split header,
// which read has understood as part.
//
// A part in a place that is taken begins another set if a request came since the
// first part: the sender answers it under the same key. If it has the bytes of the
// part that is there, it does so only later than copies come; until then, or
// without such a request, it is a copy. Other bytes are a conflict without one.
// The same goes for a part before one that is there, which comes that late.
//
// A part with the bytes of one of the set before, which is complete, is a late
// copy. As long as a request waits it is held: it can be of the reply to the same
// request asked again. If such parts complete a set, [Set.Again] says so; if they
// do not, nothing needs to be lost.
//
// With Complete it returns the set, which lives until the next call. A set of
// one part is complete at once.
func (p *Parts) Add(k Key, part Part, payload []byte, frames []uint64, at time.Time, asked Asked, read ReadPart) (*Set, Verdict) {
	p.reap()
	p.began = 0
	now, newest, waiting := p.t.now(at), nanos(asked.Newest), nanos(asked.Waiting)
	p.settle(now)
	i, known := p.live(k, now)
	if known {
		if of := p.t.sets[i].remembers(payload); of != 0 {
			return p.addCopy(i, of, part, payload, frames, now, newest, waiting, asked.Doubled, read)
		}
	}
	if !known {
		var ok bool
		if i, ok = p.t.open(k, now); !ok {
			return nil, Refused
		}
	}
	if p.t.sets[i].done {
		p.t.reopen(i, now)
		p.takeOver(i, &part, now, waiting)
	}
	return p.put(i, part, payload, frames, now, newest, false, read)
}

// Began returns the first frame of the set under way that [Parts.Add] put the
// newest part in, 0 if there is none.
func (p *Parts) Began() uint64 { return p.began }

// Tag notes a number with the set that was handed out last. Sets of copies of its
// parts carry it.
func (p *Parts) Tag(tag uint32) {
	if p.t.lent != none {
		p.t.sets[p.t.lent].tag = tag
	}
}

// live returns the set of a key unless it is too old.
func (p *Parts) live(k Key, now int64) (int32, bool) {
	i, known := p.t.index[k]
	if known && p.t.stale(i, now) {
		p.t.drop(i, Expired)
		known = false
	}
	return i, known
}

// addCopy puts in a part that has the bytes of one of the sets of before: those
// whose bits are set in of. It can be a part of the set that is under way, which
// has it in common with them; or a late copy, or the same message once more, for
// which the copies of each of those sets are held apart.
func (p *Parts) addCopy(i int32, of uint8, part Part, payload []byte, frames []uint64, now, newest, waiting int64, doubled bool, read ReadPart) (*Set, Verdict) {
	s := &p.t.sets[i]
	k, finished, tag, remembered := s.key, s.finished, s.tag, s.known
	var spaces [generations]uint32
	for g := range spaces {
		spaces[g] = s.generation(g)
	}
	shared := false // it stands in the set that is under way
	if !s.done && (part.Total == 0 || s.total <= 0 || part.Total == int(s.total) || part.Variant == 0) {
		if set, v := p.put(i, part, payload, frames, now, newest, true, read); v == Complete {
			return set, v
		}
		shared = slices.ContainsFunc(p.t.sets[i].pieces, func(q piece) bool { return q.at == now && q.copied })
	}
	if waiting > now && !doubled {
		return nil, Late
	}
	verdict := Late
	for ; of != 0; of &= of - 1 {
		aside := k
		aside.Space |= spaces[bits.TrailingZeros8(of)]
		j, known := p.live(aside, now)
		if known {
			if s := &p.t.sets[j]; !doubled && waiting > s.last || s.delay <= copyWindow && now-s.last > copyWindow {
				p.t.drop(j, Copied) // older than any request that waits, or made by the capture
				known = false
			}
		}
		if !known {
			var ok bool
			if j, ok = p.t.open(aside, now); !ok {
				continue
			}
			p.t.sets[j].aside, p.t.sets[j].delay = true, now-finished
			if of == 1<<(remembered-1) {
				p.t.sets[j].tag = tag
			}
		}
		from := &p.t.sets[j]
		from.delay = min(from.delay, now-finished)
		set, v := p.put(j, part, payload, frames, now, newest, false, read)
		p.t.sets[j].shared = p.t.sets[j].shared || shared
		if v == Complete {
			if base, ok := p.t.index[k]; ok {
				one := of & -of
				if s := &p.t.sets[base]; doubled {
					if s.rounds ^= one; s.rounds&one != 0 {
						p.t.lent = none
						p.nextRound(j, now)
						return nil, Late
					}
				}
				p.t.sets[base].finished = now
			}
			return set, v
		}
		if v == Held {
			verdict = Held
		}
	}
	return nil, verdict
}

// asideShift is where the space of a key says that a set holds copies: they are
// not mixed with the set that is under way.
const asideShift = 24

// takeOver moves what has come of the copies of the newest set into a set that
// begins: the two may have parts in common.
func (p *Parts) takeOver(i int32, part *Part, now, waiting int64) {
	s := &p.t.sets[i]
	k := s.key
	if s.known == 0 {
		return
	}
	k.Space |= s.generation(int(s.known) - 1)
	j, known := p.t.index[k]
	if !known {
		return
	}
	from := &p.t.sets[j]
	if from.delay <= copyWindow && now-from.last > copyWindow {
		p.t.drop(j, Copied)
		return
	}
	if part.Variant != 0 && from.variant != 0 && part.Variant != from.variant || part.Total > 0 && from.total > 0 && part.Total != int(from.total) {
		return
	}
	variant, guess := from.variant, from.guess
	for n := 0; n < len(p.t.sets[j].pieces); n++ { // until it makes room itself
		q := p.t.sets[j].pieces[n]
		if q.at < waiting {
			continue // it answers nothing that waits
		}
		q.copied, q.doubt = true, s.finished != noTime && q.at-s.finished <= copyWindow
		if !p.t.hold(i, q, from.bytesOf(&q), from.framesOf(&q), q.at) {
			break
		}
	}
	s.variant, s.guess = variant, guess
	s.recount()
	if _, known := p.t.index[k]; known {
		p.t.close(j)
	}
}

// put adds a part to set i. copied says that it has the bytes of one of a set
// before.
func (p *Parts) put(i int32, part Part, payload []byte, frames []uint64, now, newest int64, copied bool, read ReadPart) (*Set, Verdict) {
	s := &p.t.sets[i]
	if len(s.pieces) == 0 {
		s.variant, s.guess = part.Variant, part.Guess
	}
	part = s.agree(part, payload, read)
	if part.Last {
		part.Total = part.Index + 1
	}
	if copied && s.total > 0 && (part.Total > 0 && part.Total != int(s.total) || part.Index >= int(s.total)) {
		return nil, Late // it has no place in the set that came after its own
	}
	for j := len(s.pieces) - 1; j >= 0 && !copied && part.Total > 0; j-- {
		if q := &s.pieces[j]; q.copied && (q.total > 0 && int(q.total) != part.Total || int(q.pos) >= part.Total) {
			s.remove(j) // it had none
		}
	}
	asked := s.own > 0 && newest > s.began // and the set began before that
	anew := false
	if j := s.held(part.Index, payload); j >= 0 {
		q := &s.pieces[j]
		equal := bytes.Equal(s.bytesOf(q), payload)
		switch {
		case equal && asked && now-q.at > copyWindow:
			anew = true
		case equal && s.own == 0 && newest > q.at && now-q.at > copyWindow:
			p.newCopies(i, newest)
		case equal:
			q.again, q.againIn = now, lastOf(frames)
			if q.copied {
				return nil, Late
			}
			s.duplicates++
			return nil, Duplicate
		case copied:
			return nil, Late
		case q.copied:
			s.remove(j)
		case newest > s.began:
			anew = true
		default:
			s.conflicts++
			return nil, Conflict
		}
	}
	if part.Index < 0 {
		part.Index = len(s.pieces)
	}
	if part.Last {
		part.Total = part.Index + 1
	}
	before := false // one that is there
	if n := len(s.pieces); n > 0 {
		before = int(s.pieces[n-1].pos) > part.Index && !s.pieces[n-1].beyond()
	}
	switch {
	case anew || before && asked && now-s.last > copyWindow:
		if p.supersede(i, int32(part.Index), newest, now); len(s.pieces) == 0 {
			s.variant, s.guess = part.Variant, part.Guess
		}
	case before:
		s.outOfOrder = true
	}
	part.Header = min(part.Header, len(payload))
	one := piece{pos: int32(part.Index), header: int32(part.Header), total: int32(part.Total), at: now, again: noTime}
	one.span, one.cut = int32(part.Size), part.Cut
	one.copied, one.doubt = copied, copied && s.finished != noTime && now-s.finished <= copyWindow
	if !p.t.hold(i, one, payload, frames, now) {
		if len(p.t.sets[i].pieces) == 0 {
			p.t.close(i)
		}
		return nil, Refused
	}
	s = &p.t.sets[i]
	if !copied {
		if s.own++; s.own == 1 {
			s.began = now
			if newest > s.finished {
				s.before = 0
			}
		}
	}
	s.count(&s.pieces[len(s.pieces)-1])
	if s.variant == 0 && part.Guess != 0 {
		s.fit(read)
	}
	if !s.whole() {
		if len(s.frames) > 0 {
			p.began = s.frames[0]
		}
		return nil, Held
	}
	s.firstStays()
	p.expel(s)
	if slices.ContainsFunc(s.pieces, func(q piece) bool { return q.doubt }) {
		p.ripen(i)
		return nil, Held
	}
	s.ripe, s.finished, s.finishedIn = false, now, lastOf(frames)
	p.t.lent = i
	p.view = Set{s: s}
	p.view.sort()
	return &p.view, Complete
}

// newCopies drops the parts of set i from before the newest request: all of them
// are copies, and one came again as a part of the reply to it. What those parts
// were, the sets of copies say that they stand in.
func (p *Parts) newCopies(i int32, newest int64) {
	s := &p.t.sets[i]
	for j := len(s.pieces) - 1; j >= 0; j-- {
		if s.pieces[j].at < newest {
			s.remove(j)
		}
	}
	k := s.key
	for g := range int(s.known) {
		k.Space = s.key.Space | s.generation(g)
		if j, known := p.t.index[k]; known {
			p.t.sets[j].shared = false
		}
	}
}

// nanos returns a time as the table counts it.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func lastOf(frames []uint64) uint64 {
	if len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1]
}

// ripen keeps back a set that is complete with parts that may be late copies of
// the set before it: their place may be that of parts still to come.
func (p *Parts) ripen(i int32) {
	if p.ripe != i {
		p.release()
	}
	p.ripe = i
	p.t.sets[i].ripe = true
}

// settle hands out the set that was kept back, once no copy can come any more.
func (p *Parts) settle(now int64) {
	if p.ripe != none && now-p.t.sets[p.ripe].last > copyWindow {
		p.release()
	}
}

// release hands out the set that was kept back, if it still is.
func (p *Parts) release() {
	i := p.ripe
	if p.ripe = none; i == none || !p.t.sets[i].ripe {
		return
	}
	p.giveUp(i, Settled)
	s := &p.t.sets[i]
	s.ripe, s.finished, s.finishedIn = false, s.last, lastOf(s.frames)
	s.remember()
	p.t.finish(i)
}

// agree brings a part and its set to one reading of the header. The first part
// that decides the variant decides it for those that came before.
func (s *set) agree(part Part, payload []byte, read ReadPart) Part {
	switch {
	case s.variant == 0 && part.Variant != 0:
		s.variant = part.Variant
		s.reread(s.variant, read)
	case part.Variant != s.variant:
		if again, ok := read(payload, s.variant); ok {
			return again
		}
	case s.variant == 0 && part.Guess != s.guess:
		if again, ok := read(payload, s.guess); ok {
			return again
		}
	}
	return part
}

// reread reads the headers of all parts in a format.
func (s *set) reread(variant uint8, read ReadPart) {
	for j := range s.pieces {
		q := &s.pieces[j]
		if again, ok := read(s.bytesOf(q), variant); ok {
			q.pos, q.header, q.total, q.span = int32(again.Index), int32(again.Header), int32(again.Total), int32(again.Size)
		}
	}
	s.recount()
}

// fit finds the format in which all parts of an undecided set agree.
func (s *set) fit(read ReadPart) {
	if s.unfit || s.fits(s.guess, read) {
		return
	}
	for v := uint8(1); v <= MaxVariant; v++ {
		if s.fits(v, read) {
			s.guess = v
			s.reread(v, read)
			return
		}
	}
	s.unfit = true
}

// fits reports whether all parts, read in a format, have places of their own in
// one whole.
func (s *set) fits(variant uint8, read ReadPart) bool {
	var taken [4]uint64
	var first Part
	for j := range s.pieces {
		q, ok := read(s.bytesOf(&s.pieces[j]), variant)
		if j == 0 {
			first = q
		}
		if !ok || q.Total != first.Total || q.Total > 0 && q.Index >= q.Total || q.Size != first.Size || q.Index < 0 || q.Index > 255 || taken[q.Index>>6]>>(q.Index&63)&1 != 0 {
			return false
		}
		taken[q.Index>>6] |= 1 << (q.Index & 63)
	}
	return true
}

// count takes the place and the total of a part into account.
func (s *set) count(q *piece) {
	if q.beyond() {
		s.beyond = true // what it says is believed once others say more
		return
	}
	if q.total > 0 && s.stated > 0 && q.total != s.stated {
		s.disagree = true
	}
	s.stated = max(s.stated, q.total)
	s.reach = max(s.reach, q.pos+1)
	if s.stated > 0 {
		s.disagree = s.disagree || s.reach > s.stated
		s.total = max(s.stated, s.reach)
	}
}

func (s *set) recount() {
	s.total, s.stated, s.reach, s.disagree, s.beyond, s.own = -1, 0, 0, false, false, 0
	for j := range s.pieces {
		s.count(&s.pieces[j])
		if !s.pieces[j].copied {
			s.own++
		}
	}
}

// whole reports whether all parts are there: as many as the largest total says,
// where they contradict each other.
func (s *set) whole() bool {
	if s.total < 1 || len(s.pieces) < int(s.total) || len(s.pieces) == 1 && s.pieces[0].cut {
		return false
	}
	for j := range s.total {
		if s.numbered(int(j)) < 0 {
			return false
		}
	}
	return true
}

// firstStays drops parts whose index is taken by an earlier one, or by one that
// is no copy. There are none, unless the variant was decided late or not at all.
func (s *set) firstStays() {
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		switch j := slices.IndexFunc(kept, func(q piece) bool { return q.pos == p.pos }); {
		case j < 0:
			kept = append(kept, p)
		case kept[j].copied:
			kept[j] = p
		case !p.copied:
			s.conflicts++
		}
	}
	s.pieces = kept
}

// held returns the part in a place, -1 if there is none. Where the places are
// guesses, or count by arrival, it is the part with the same bytes.
func (s *set) held(index int, payload []byte) int {
	if index >= 0 && s.variant != 0 {
		return s.numbered(index)
	}
	return slices.IndexFunc(s.pieces, func(q piece) bool { return bytes.Equal(s.bytesOf(&q), payload) })
}

func (s *set) numbered(index int) int {
	// Parts mostly come in order, and sets are small.
	if index < len(s.pieces) && int(s.pieces[index].pos) == index {
		return index
	}
	for j := range s.pieces {
		if int(s.pieces[j].pos) == index {
			return j
		}
	}
	return -1
}

// remove takes part j out of the set. Its bytes stay in the buffer.
func (s *set) remove(j int) {
	out := s.pieces[j]
	s.frames = slices.Delete(s.frames, int(out.frames), int(out.frames+out.count))
	s.pieces = slices.Delete(s.pieces, j, j+1)
	for k := range s.pieces {
		if q := &s.pieces[k]; q.frames > out.frames {
			q.frames -= out.count
		}
	}
	s.recount()
}

// supersede hands out a set whose sender began anew, and keeps those of its
// parts that came again since then: they are the new set's. The part in place
// index is not kept.
func (p *Parts) supersede(i, index int32, newest, now int64) {
	p.giveUp(i, Superseded)
	s := &p.t.sets[i]
	had := cap(s.sums)
	s.remember()
	if cost := 4 * (cap(s.sums) - had); p.t.budget.reserve(&p.t, i, cost) {
		s.charged += cost
	} else {
		s.sums, s.known = nil, 0
		p.t.budget.release(4 * had)
		s.charged -= 4 * had
	}
	s.finished = s.last
	p.cameAgain(i, newest, index, now)
	p.t.sets[i].before = 0
}

// nextRound keeps of a complete set of copies those that came more than once.
func (p *Parts) nextRound(i int32, now int64) {
	if p.cameAgain(i, noTime, -1, now); len(p.t.sets[i].pieces) == 0 {
		p.t.close(i)
	}
}

// cameAgain begins a set anew with those of its parts of which a copy came after
// a time, but for the one in place index.
func (p *Parts) cameAgain(i int32, since int64, index int32, now int64) {
	s := &p.t.sets[i]
	pieces, buf, variant, guess := s.pieces, s.buf, s.variant, s.guess
	p.t.restart(i, now)
	s.variant, s.guess = variant, guess
	for _, q := range pieces {
		if q.again <= since || q.pos == index {
			continue
		}
		data := buf[q.off : q.off+q.size]
		q.off, q.frames, q.count = int32(len(s.buf)), int32(len(s.frames)), 0
		if len(s.frames) < cap(s.frames) {
			s.frames, q.count = append(s.frames, q.againIn), 1
		}
		q.at, q.again, q.copied, q.doubt = q.again, noTime, false, false
		s.buf, s.pieces = append(s.buf, data...), append(s.pieces, q)
	}
	s.recount()
	s.began = now
}

// castagnoli is the polynomial that processors compute. A seeded hash would
// make the verdict on a forged collision differ from run to run.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

// generations is how many sets with the same key are remembered.
const generations = 4

// remembers returns a bit for each of the sets before that has a part with these
// bytes, the oldest first.
func (s *set) remembers(payload []byte) (of uint8) {
	if len(s.sums) == 0 {
		return 0
	}
	x, from := sum(payload), int32(0)
	for g, to := range s.ends[:s.known] {
		if slices.Contains(s.sums[from:to], x) {
			of |= 1 << g
		}
		from = to
	}
	return of
}

// generation returns what stands in the space of a key for copies of one of the
// sets that are remembered.
func (s *set) generation(g int) uint32 {
	return (1 + uint32(s.serial-s.known+uint8(g))%255) << asideShift
}

// remember keeps the sums of the parts. The oldest set is forgotten for it.
func (s *set) remember() {
	if s.known == generations {
		n := s.ends[0]
		s.sums = slices.Delete(s.sums, 0, int(n))
		s.rounds >>= 1
		for g := range s.ends[1:] {
			s.ends[g] = s.ends[g+1] - n
		}
		s.known--
	}
	for j := range s.pieces {
		s.sums = append(s.sums, sum(s.bytesOf(&s.pieces[j])))
	}
	s.ends[s.known] = int32(len(s.sums))
	s.known++
	s.serial++
}

// reap finishes the set that was handed out last. What stays of it for a while
// is the sums of its parts, to know late copies.
func (p *Parts) reap() {
	i := p.t.lent
	if i == none {
		return
	}
	p.t.lent = none
	if p.t.sets[i].aside {
		p.nextRound(i, p.t.clock)
		return
	}
	p.t.sets[i].remember()
	p.t.finish(i)
}

// Expire reports and forgets the sets that waited too long at time now.
func (p *Parts) Expire(now time.Time) {
	p.reap()
	p.settle(p.t.now(now))
	p.t.expire(now)
}

// Waiting reports whether more than n sets are unfinished, and the newest of the
// first frames of the n oldest.
func (p *Parts) Waiting(n int) (frame uint64, more bool) {
	i := p.t.waiting.oldest
	for ; i != none && n > 0; n-- {
		if f := p.t.sets[i].frames; len(f) > 0 {
			frame = max(frame, f[0])
		}
		i = p.t.sets[i].newer
	}
	return frame, i != none
}

// FlushTo reports and forgets the oldest unfinished sets, up to the first that
// began after a frame.
func (p *Parts) FlushTo(frame uint64) {
	p.reap()
	p.release()
	for i := p.t.waiting.oldest; i != none; i = p.t.waiting.oldest {
		if f := p.t.sets[i].frames; len(f) > 0 && f[0] > frame {
			return
		}
		p.t.drop(i, Ended)
	}
}

// Flush reports and forgets all unfinished sets, the oldest first.
func (p *Parts) Flush() {
	p.reap()
	p.release()
	p.t.flush()
}

// Forget drops all sets whose keys match, without a word.
func (p *Parts) Forget(match func(*Key) bool) {
	p.reap()
	for k, i := range p.t.index {
		if match(&k) {
			p.t.close(i)
		}
	}
}

// Len returns the number of keys held, finished ones that wait for late copies
// among them.
func (p *Parts) Len() int { return len(p.t.index) }

// A Set is the parts of one message. It is borrowed from its table.
type Set struct{ s *set }

func (v *Set) sort() {
	s := v.s
	s.order = s.order[:0] // it has room for all pieces
	for j := range s.pieces {
		s.order = append(s.order, int32(j))
	}
	for a := 1; a < len(s.order); a++ {
		for b := a; b > 0 && s.pieces[s.order[b]].pos < s.pieces[s.order[b-1]].pos; b-- {
			s.order[b], s.order[b-1] = s.order[b-1], s.order[b]
		}
	}
}

// Key returns the key of the set.
func (v *Set) Key() Key {
	k := v.s.key
	k.Space &= 1<<asideShift - 1
	return k
}

// Variant returns the number of the split format, 0 if nothing decided it.
func (v *Set) Variant() uint8 { return v.s.variant }

// Guess returns the format in which an undecided set is read.
func (v *Set) Guess() uint8 { return v.s.guess }

// Total returns the number of parts of the whole, 0 while unknown: the one that
// most parts state, the larger of two, and not less than the parts show.
func (v *Set) Total() int {
	if !v.s.disagree {
		return max(int(v.s.total), 0)
	}
	total, most := 0, 0
	for i := range v.s.pieces {
		q, n := int(v.s.pieces[i].total), 0
		for j := range v.s.pieces {
			if int(v.s.pieces[j].total) == q {
				n++
			}
		}
		if q > 0 && (n > most || n == most && q > total) {
			total, most = q, n
		}
	}
	for i := range v.s.pieces {
		total = max(total, int(v.s.pieces[i].pos)+1)
	}
	return total
}

// Disagree reports whether the parts state different totals, or one has a place
// beyond the total.
func (v *Set) Disagree() bool { return v.s.disagree }

// Before returns the total of the set with the same key that was complete when
// this one began, and the frame that completed it, if no request came between
// the two; 0 otherwise.
func (v *Set) Before() (total int, frame uint64) { return int(max(v.s.before, 0)), v.s.finishedIn }

// Again reports whether all parts have the bytes of those of one set before.
func (v *Set) Again() bool { return v.s.aside }

// Tag returns the tag of the set that the parts are copies of, 0 if it has none.
// See [Parts.Tag].
func (v *Set) Tag() uint32 { return v.s.tag }

// Delay returns how long after that set was complete the first of them came.
func (v *Set) Delay() time.Duration { return time.Duration(v.s.delay) }

// Doubt reports whether that is so soon that they can be copies which the network
// or the capture made.
func (v *Set) Doubt() bool { return v.s.aside && v.s.delay <= copyWindow }

// Len returns the number of parts present.
func (v *Set) Len() int { return len(v.s.pieces) }

// First returns the time of the first part.
func (v *Set) First() time.Time {
	first := v.s.last
	for i := range v.s.pieces {
		first = min(first, v.s.pieces[i].at)
	}
	return fromNanos(first)
}

// Last returns the time of the newest part.
func (v *Set) Last() time.Time { return fromNanos(v.s.last) }

// OutOfOrder reports whether a part came before one of a lower index.
func (v *Set) OutOfOrder() bool { return v.s.outOfOrder }

// Duplicates returns how many copies of present parts came.
func (v *Set) Duplicates() int { return int(v.s.duplicates) }

// Conflicts returns how many parts came with the index of a present one and
// other bytes.
func (v *Set) Conflicts() int { return int(v.s.conflicts) }

// Refused returns how many parts a limit kept out.
func (v *Set) Refused() int { return int(v.s.refused) }

func (v *Set) at(i int) *piece {
	if len(v.s.order) != len(v.s.pieces) {
		v.sort()
	}
	return &v.s.pieces[v.s.order[i]]
}

// Index returns the index that the i-th part by index carries. It differs from
// i only in a set with parts missing.
func (v *Set) Index(i int) int { return int(v.at(i).pos) }

// Stated returns the total that the i-th part by index states, 0 if it states
// none.
func (v *Set) Stated(i int) int { return int(v.at(i).total) }

// Size returns the [Part.Size] of the i-th part by index.
func (v *Set) Size(i int) int { return int(v.at(i).span) }

// Payload returns the i-th part by index as it arrived, split header included.
func (v *Set) Payload(i int) []byte { return v.s.bytesOf(v.at(i)) }

// Header returns the length of the split header of the i-th part by index.
func (v *Set) Header(i int) int { return int(v.at(i).header) }

// Data returns the i-th part by index without its split header.
func (v *Set) Data(i int) []byte { p := v.at(i); return v.s.bytesOf(p)[p.header:] }

// PartFrames returns the numbers of the frames that carried the i-th part by
// index: more than one if IP fragmented it.
func (v *Set) PartFrames(i int) []uint64 { return v.s.framesOf(v.at(i)) }

// Frames returns the numbers of all frames in the order of their arrival.
func (v *Set) Frames() []uint64 { return v.s.frames }

// Missing appends the indexes that are not there to dst: those below the total
// where it is known, below the highest present otherwise.
func (v *Set) Missing(dst []int) []int {
	end := v.Total()
	if end == 0 {
		end = int(v.s.reach)
	}
	for i, next := 0, 0; i < end; i++ {
		for next < v.Len() && v.Index(next) < i {
			next++
		}
		if next >= v.Len() || v.Index(next) != i {
			dst = append(dst, i)
		}
	}
	return dst
}
