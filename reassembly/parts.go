package reassembly

import (
	"bytes"
	"hash/crc32"
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
	// know (GameSpy: only the last one does).
	Total int
	// Last says that no part comes behind this one. It is for parts without
	// an index, whose Total nobody knows before they are there.
	Last bool
	// Header is the number of bytes before the part's own data.
	Header int
	// Variant is the protocol's number for the format of the header; 0 if
	// this part alone does not decide it, and Index and Total are a guess. A
	// protocol with one format only gives it a number as well.
	Variant uint8
}

// A ReadPart reads a split header in the format of variant, or decides the
// format by the content if variant is 0. It reports false for a payload that
// is no part.
type ReadPart func(payload []byte, variant uint8) (Part, bool)

// Parts joins pieces that carry an index.
type Parts struct {
	t    table
	lost func(*Set, Reason)
	view Set
}

// NewParts returns a table that takes its memory from b. lost is called for
// every unfinished set that is put out; the set is borrowed, and the call must
// not use the table.
func NewParts(b *Budget, l Limits, lost func(*Set, Reason)) *Parts {
	p := &Parts{t: newTable(b, l), lost: lost}
	p.t.lost = func(i int32, why Reason) {
		if p.lost != nil {
			s := &p.t.sets[i]
			s.firstStays()
			p.view = Set{s: s}
			p.lost(&p.view, why)
		}
	}
	b.tables = append(b.tables, &p.t)
	return p
}

// Add puts in one part: payload is the whole datagram with its split header,
// which read has understood as part. fresh says that a request went to this
// sender since the set began, so that a part seen before may be the beginning
// of a new set with the same key.
//
// With Complete it returns the set, which lives until the next call. A set of
// one part is complete at once.
func (p *Parts) Add(k Key, part Part, payload []byte, frames []uint64, at time.Time, fresh func(since time.Time) bool, read ReadPart) (*Set, Verdict) {
	p.reap()
	now := p.t.now(at)
	i, known := p.t.index[k]
	if known && p.t.stale(i, now) {
		p.t.drop(i, Expired)
		known = false
	}
	if known && p.t.sets[i].done {
		s := &p.t.sets[i]
		if isLateCopy(s, payload) && !(fresh != nil && fresh(fromNanos(s.finished))) {
			s.duplicates++
			return nil, Late
		}
		p.t.close(i)
		known = false
	}
	for {
		if !known {
			var ok bool
			if i, ok = p.t.open(k, now); !ok {
				return nil, Refused
			}
			p.t.sets[i].variant = part.Variant
		}
		s := &p.t.sets[i]
		part = p.agree(s, part, payload, read)
		at := p.find(s, part.Index)
		if at < 0 {
			break
		}
		same := bytes.Equal(s.bytesOf(&s.pieces[at]), payload)
		if fresh != nil && fresh(fromNanos(s.first)) {
			p.t.drop(i, Superseded)
			known = false
			continue
		}
		if same {
			s.duplicates++
			return nil, Duplicate
		}
		if s.variant == 0 {
			break // two indexes that were guessed prove nothing
		}
		s.conflicts++
		return nil, Conflict
	}
	s := &p.t.sets[i]
	if part.Index < 0 {
		part.Index = len(s.pieces)
	}
	if part.Last {
		part.Total = part.Index + 1
	}
	if n := len(s.pieces); n > 0 && int(s.pieces[n-1].pos) > part.Index {
		s.outOfOrder = true
	}
	if part.Header > len(payload) {
		part.Header = len(payload)
	}
	if !p.t.hold(i, piece{pos: int32(part.Index), header: int32(part.Header)}, payload, frames, now) {
		if len(p.t.sets[i].pieces) == 0 {
			p.t.close(i)
		}
		return nil, Refused
	}
	s = &p.t.sets[i]
	if part.Total > 0 {
		s.total = int32(part.Total)
	}
	if s.total < 1 || len(s.pieces) < int(s.total) {
		return nil, Held
	}
	for j := int32(0); j < s.total; j++ {
		if p.find(s, int(j)) < 0 {
			return nil, Held
		}
	}
	s.firstStays()
	p.t.lent = i
	s.finished = now
	p.view = Set{s: s}
	p.view.sort()
	return &p.view, Complete
}

// agree brings a part and its set to one reading of the header. The first part
// that decides the variant decides it for those that came before.
func (p *Parts) agree(s *set, part Part, payload []byte, read ReadPart) Part {
	switch {
	case s.variant == 0 && part.Variant != 0:
		s.variant = part.Variant
		s.total = -1
		for j := range s.pieces {
			q := &s.pieces[j]
			if again, ok := read(s.bytesOf(q), s.variant); ok {
				q.pos, q.header = int32(again.Index), int32(again.Header)
				if again.Total > 0 {
					s.total = int32(again.Total)
				}
			}
		}
	case s.variant != 0 && part.Variant != s.variant:
		if again, ok := read(payload, s.variant); ok {
			return again
		}
	}
	return part
}

// firstStays takes out the parts with the index of an earlier one. There are
// none, unless the variant was decided late or not at all.
func (s *set) firstStays() {
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		if slices.ContainsFunc(kept, func(q piece) bool { return q.pos == p.pos }) {
			s.conflicts++
			continue
		}
		kept = append(kept, p)
	}
	s.pieces = kept
}

func (p *Parts) find(s *set, index int) int {
	if index < 0 {
		return -1
	}
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

// castagnoli is the polynomial that processors compute. A seeded hash would
// make the verdict on a forged collision differ from run to run.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

func isLateCopy(s *set, payload []byte) bool { return slices.Contains(s.sums, sum(payload)) }

// reap finishes the set that was handed out last. What stays of it for a while
// is the sums of its parts, to know late copies.
func (p *Parts) reap() {
	i := p.t.lent
	if i == none {
		return
	}
	p.t.lent = none
	s := &p.t.sets[i]
	for j := range s.pieces {
		s.sums = append(s.sums, sum(s.bytesOf(&s.pieces[j])))
	}
	p.t.finish(i)
}

// Expire reports and forgets the sets that waited too long at time now.
func (p *Parts) Expire(now time.Time) { p.reap(); p.t.expire(now) }

// Flush reports and forgets all unfinished sets, the oldest first.
func (p *Parts) Flush() { p.reap(); p.t.flush() }

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
func (v *Set) Key() Key { return v.s.key }

// Variant returns the number of the split format, 0 if nothing decided it.
func (v *Set) Variant() uint8 { return v.s.variant }

// Total returns the number of parts of the whole, 0 while unknown.
func (v *Set) Total() int {
	if v.s.total < 0 {
		return 0
	}
	return int(v.s.total)
}

// Len returns the number of parts present.
func (v *Set) Len() int { return len(v.s.pieces) }

// First and Last return the times of the first and the newest part.
func (v *Set) First() time.Time { return fromNanos(v.s.first) }

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
	end := int(v.s.total)
	if end < 0 {
		for j := range v.s.pieces {
			end = max(end, int(v.s.pieces[j].pos))
		}
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
