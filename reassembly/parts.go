package reassembly

import (
	"bytes"
	"slices"
	"time"
)

// Parts joins pieces that carry an index.
type Parts struct {
	t        table
	lost     func(*Set, Reason)
	view     Set
	settling int32 // the deferred set, see settle
	// began is the first frame of the incomplete set with the newest part, 0 if there is
	// none.
	began   uint64
	damaged set // a part without a valid index
}

// NewParts returns a table that takes its memory from b. It calls lost for every
// incomplete set that it gives up, sets of late copies included (see [Set.Again]); for
// sets that are [Settled]; and for parts without a valid index ([Damaged]). The set is
// borrowed, and lost must not use the table.
func NewParts(b *Budget, l Limits, lost func(*Set, Reason)) *Parts {
	p := &Parts{t: newTable(b, l), lost: lost, settling: none}
	p.t.lost = p.giveUp
	b.tables = append(b.tables, &p.t)
	return p
}

// Add adds a part. payload is the datagram with its split header, from which read returned
// part.
//
// A part with the index and the bytes of a part that is held is a duplicate. If it comes
// later than duplicates do, and after a request that is newer than the set, it starts
// another set: the sender answers with the same key. So does a part with a lower index
// than the newest one at that time, and, after such a request, a part with a taken index
// and other bytes. Without a request, other bytes are a conflict.
//
// A part with the bytes of a part of an earlier, complete set is a late copy. While a
// request waits it is held, because it may belong to the reply to a repeated request. If
// such parts complete a set, [Set.Again] is true; if they do not, no message is lost.
//
// If the verdict is Complete, Add returns the set, which is borrowed until the next call.
// A set of one part is complete at once.
func (p *Parts) Add(k Key, part Part, payload []byte, frames []uint64, at time.Time, asked Asked, read ReadPart) (*Set, Verdict) {
	p.reap()
	p.began = 0
	in := &incoming{
		Part: part, payload: payload, frames: frames, read: read, now: p.t.now(at),
		newest: nanos(asked.Newest), waiting: nanos(asked.Waiting), doubled: asked.Doubled,
	}
	p.settle(in.now)
	i, known := p.live(k, in.now)
	if known {
		if of := p.t.sets[i].remembers(in); of != 0 {
			return p.addCopy(i, of, in)
		}
	} else {
		var ok bool
		if i, ok = p.t.open(k, in.now); !ok {
			return nil, Refused
		}
	}
	if p.t.sets[i].has(isDone) {
		p.t.restart(i, in.now, p.t.sets[i].total)
		p.takeOver(i, in)
	}
	return p.put(i, in, false)
}

// put adds a part to set i. copied says that an earlier set has a part with the same
// bytes.
func (p *Parts) put(i int32, in *incoming, copied bool) (*Set, Verdict) {
	s := p.t.sets[i]
	if !s.owns() && in.newest > s.last && in.now-s.last > copyWindow {
		p.dropCopies(s)
	}
	if len(s.pieces) == 0 {
		s.variant, s.guess = in.Variant, in.Guess
	}
	part := s.agree(in)
	if part.Last {
		part.Total = part.Index + 1
	}
	if copied && s.excludes(&part) {
		return nil, Late
	}
	if part.Total > 0 {
		s.removeCopies(&part)
	}
	anew, verdict := p.place(i, &part, in, copied)
	if verdict != Held {
		return nil, verdict
	}
	if anew {
		if p.supersede(i, int32(part.Index), in.newest, in.now); len(s.pieces) == 0 {
			s.variant, s.guess = part.Variant, part.Guess
		}
	}
	first := !copied && !s.owns()
	q := in.piece(&part)
	q.copied, q.doubt = copied, copied && s.soon(in.now)
	if !p.t.hold(i, q, in.payload, in.frames, in.now) {
		if len(p.t.sets[i].pieces) == 0 {
			p.t.close(i)
		}
		return nil, Refused
	}
	s = p.t.sets[i]
	if first {
		s.begin(in)
	}
	s.count(&s.pieces[len(s.pieces)-1])
	if s.variant == 0 {
		s.fit(in.read)
	}
	if s.whole() {
		return p.complete(i, in)
	}
	if len(s.frames) > 0 {
		p.began = s.frames[0]
	}
	return nil, Held
}

// place decides whether a part enters set i; if not, the verdict differs from Held. anew
// says that the part starts another set.
func (p *Parts) place(i int32, part *Part, in *incoming, copied bool) (anew bool, v Verdict) {
	s := p.t.sets[i]
	asked := in.newest > s.began // the next reply may come
	if j := s.held(part.Index, in.payload); j >= 0 {
		q := &s.pieces[j]
		equal, late := bytes.Equal(s.bytesOf(q), in.payload), in.now-q.at > copyWindow
		switch {
		case equal && late && asked:
			anew = true
		case equal && q.copied:
			q.again, q.againIn = in.now, lastOf(in.frames)
			return false, Late
		case equal:
			q.again, q.againIn = in.now, lastOf(in.frames)
			s.tally(Duplicate)
			return false, Duplicate
		case copied:
			return false, Late
		case q.copied:
			s.remove(j)
		case in.newest > s.began:
			anew = true
		default:
			s.tally(Conflict)
			return false, Conflict
		}
	}
	if part.Index < 0 {
		part.Index = len(s.pieces)
	}
	if part.Last {
		part.Total = part.Index + 1
	}
	n := len(s.pieces)
	before := n > 0 && int(s.pieces[n-1].pos) > part.Index && !s.pieces[n-1].beyond()
	anew = anew || before && asked && in.now-s.last > copyWindow
	s.setIf(isOutOfOrder, s.has(isOutOfOrder) || before && !anew)
	return anew, Held
}

// owns reports whether the set has a part that is not a copy.
func (s *set) owns() bool {
	return slices.ContainsFunc(s.pieces, func(p piece) bool { return !p.copied })
}

// begin records the first part that is not a copy.
func (s *set) begin(in *incoming) {
	s.began = in.now
	if in.newest > s.finished {
		s.before = 0
	}
}

// complete returns set i, which has all parts, or defers it if some of them may be late
// copies.
func (p *Parts) complete(i int32, in *incoming) (*Set, Verdict) {
	s := p.t.sets[i]
	s.dropTaken()
	p.expel(s)
	if slices.ContainsFunc(s.pieces, func(q piece) bool { return q.doubt }) {
		p.keepBack(i)
		return nil, Held
	}
	s.finished, s.finishedIn = in.now, lastOf(in.frames)
	s.setIf(isSettling, false)
	p.t.borrowed = i
	p.view = Set{s: s}
	p.view.sort()
	return &p.view, Complete
}

// giveUp reports an incomplete set, without copies of the previous set.
func (p *Parts) giveUp(i int32, why Reason) {
	s := p.t.sets[i]
	if p.lost == nil || s.has(isShared) {
		return
	}
	if !s.owns() {
		why = Copied
	}
	for j := len(s.pieces) - 1; j >= 0 && !s.has(isSettling); j-- {
		if q := &s.pieces[j]; q.doubt && q.at-s.finished <= int64(CaptureDelay) {
			s.remove(j)
		}
	}
	s.dropTaken()
	if p.expel(s); len(s.pieces) == 0 {
		return
	}
	p.view = Set{s: s}
	p.lost(&p.view, why)
}

// reap releases the set that was returned last. The table keeps the checksums of its parts
// for a while, to recognise late copies.
func (p *Parts) reap() {
	i := p.t.borrowed
	if i == none {
		return
	}
	p.t.borrowed = none
	if p.t.sets[i].has(isOfCopies) {
		p.nextRound(i, p.t.clock)
		return
	}
	p.t.sets[i].remember()
	p.t.finish(i)
}

// live returns the set of a key unless it is too old.
func (p *Parts) live(k Key, now int64) (int32, bool) {
	i, known := p.t.find(k)
	if known && p.t.stale(i, now) {
		p.t.drop(i, Expired)
		known = false
	}
	return i, known
}

// Began returns the first frame of the incomplete set to which [Parts.Add] added the
// newest part, 0 if there is none.
func (p *Parts) Began() uint64 { return p.began }

// Tag attaches a number to the set that was returned last. Sets of copies of its parts get
// it too.
func (p *Parts) Tag(tag uint32) {
	if p.t.borrowed != none {
		p.t.sets[p.t.borrowed].tag = tag
	}
}

// Expire reports and drops the sets that have waited too long at time now.
func (p *Parts) Expire(now time.Time) {
	p.reap()
	p.settle(p.t.now(now))
	p.t.expire(now)
}

// Waiting reports whether more than n sets are incomplete, and returns the highest of the
// first frames of the n oldest, and when these will have waited too long.
func (p *Parts) Waiting(n int) (frame uint64, due time.Time, more bool) {
	i := p.t.waiting.oldest
	first := int64(noTime)
	for ; i != none && n > 0; n-- {
		s := p.t.sets[i]
		if len(s.frames) > 0 {
			frame = max(frame, s.frames[0])
		}
		first = max(first, s.first)
		i = s.newer
	}
	return frame, time.Unix(0, first).Add(p.t.limits.Age + 1), i != none
}

// FlushTo reports and drops the oldest incomplete sets, up to the first one that began
// after frame.
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

// Flush reports and drops all incomplete sets, the oldest first.
func (p *Parts) Flush() {
	p.reap()
	p.release()
	p.t.flush()
}

// Forget drops all sets whose keys match, without reporting them.
func (p *Parts) Forget(match func(*Key) bool) {
	p.reap()
	for _, l := range []*list{&p.t.waiting, &p.t.finished} {
		for i := l.oldest; i != none; {
			next := p.t.sets[i].newer
			if match(&p.t.sets[i].key) {
				p.t.close(i)
			}
			i = next
		}
	}
}

// Len returns the number of keys held, complete sets that are remembered for late copies
// included.
func (p *Parts) Len() int { return p.t.len }

// A Part is the content of a split header.
type Part struct {
	// ID distinguishes the sets of one sender.
	ID uint64
	// Index is the index of the part, from 0; -1 if the header has none and parts are in
	// order of arrival.
	Index int
	// Total is the number of parts, 0 if this part does not state it (in GameSpy only the
	// last one does). A part whose Index is not below its own Total is accepted if other
	// parts state a larger Total.
	Total int
	// Cut says that by its Total this is the only part, but the message in it is cut
	// short: other parts with a larger Total may follow.
	Cut bool
	// Last says that this is the last part. It is for parts without an index, whose Total
	// is unknown until then.
	Last bool
	// Size is another number that must be equal in all parts of a set, for variants that
	// are distinguished by it; 0 if there is none.
	Size int
	// Header is the length of the split header.
	Header int
	// Variant is the protocol's number for the format of the header, at most [MaxVariant]
	// if formats are guessed. It is 0 if this part alone does not decide the format; then
	// Index and Total are guesses. A protocol with a single format uses a number other
	// than 0 too.
	Variant uint8
	// Guess is the variant in which Index and Total were read while Variant is 0. The
	// parts of a set are read in another variant if only that fits all of them.
	Guess uint8
	// Sum is a checksum of the payload with the split header, if the caller of [Parts.Add]
	// has one of all parts, otherwise 0. A [ReadPart] leaves it 0.
	Sum uint32
}

// MaxVariant is the highest variant that is guessed.
const MaxVariant = 8

// A ReadPart reads a split header in the given variant, or decides the variant by the
// content if it is 0. It reports false if the payload is not a part in this variant.
type ReadPart func(payload []byte, variant uint8) (Part, bool)

// Asked is what is known about requests to the sender of parts. Unknown times are zero.
type Asked struct {
	// Newest is the time of the newest request. A part with a taken index and other bytes
	// may answer it.
	Newest time.Time
	// Waiting is the time of the oldest unanswered request. Late parts from before it
	// answer no request.
	Waiting time.Time
	// Doubled says that the capture holds the datagrams of this conversation twice, so
	// that it made every other set of copies.
	Doubled bool
}

// incoming is a part that is being added, with its context.
type incoming struct {
	Part
	payload         []byte // with the split header
	frames          []uint64
	read            ReadPart
	now             int64
	newest, waiting int64 // requests, see [Asked]
	doubled         bool
}

// piece returns the piece that the table keeps for a part.
func (in *incoming) piece(part *Part) piece {
	return piece{
		pos: int32(part.Index), header: int32(min(part.Header, len(in.payload))), total: int32(part.Total),
		span: int32(part.Size), cut: part.Cut, sum: in.Sum, at: in.now, again: noTime,
	}
}

// nanos returns a time in nanoseconds since 1970, noTime for the zero time.
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

// supersede reports a set whose sender started another reply after the newest request.
// Parts that came again since then belong to the new set, except the part with the given
// index.
func (p *Parts) supersede(i, index int32, newest, now int64) {
	p.giveUp(i, Superseded)
	s := p.t.sets[i]
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

// cameAgain restarts a set with those of its parts that came again after since, except the
// part with the given index.
func (p *Parts) cameAgain(i int32, since int64, index int32, now int64) {
	s := p.t.sets[i]
	pieces, buf, variant, guess := s.pieces, s.buf, s.variant, s.guess
	p.t.restart(i, now, s.before)
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
