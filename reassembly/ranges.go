package reassembly

import (
	"bytes"
	"hash/crc32"
	"slices"
	"time"
)

// A Fragment is one piece of an IP packet.
type Fragment struct {
	// Offset is where its bytes begin in the whole, in bytes.
	Offset int
	// More says that this is not the last one.
	More bool
	// Data is what it carries. It may lie in the Data of the whole that the
	// same table returned last: fragments travel in tunnels that were
	// fragmented themselves.
	Data []byte
	// Length is the number of bytes that it carried on the wire, more than
	// Data has if the capture cut it. Less than that means just Data.
	Length int
	// Frames are the numbers of the frames that carried it.
	Frames []uint64
	// Time is when it was captured.
	Time time.Time
}

// Ranges joins pieces that carry a byte offset.
type Ranges struct {
	t    table
	lost func(*Fragments, Reason)
	view Fragments
	out  []byte
}

// NewRanges returns a table that takes its memory from b. lost is called for
// every unfinished set that is put out; it is borrowed, and the call must not
// use the table.
func NewRanges(b *Budget, l Limits, lost func(*Fragments, Reason)) *Ranges {
	r := &Ranges{t: newTable(b, l), lost: lost}
	r.t.lost = func(i int32, why Reason) {
		if r.lost != nil {
			r.view = Fragments{s: &r.t.sets[i]}
			r.lost(&r.view, why)
		}
	}
	b.tables = append(b.tables, &r.t)
	return r
}

const (
	// maxPacket is the most that the length of an IP packet can express. What
	// reaches beyond it cannot be one (the "ping of death").
	maxPacket = 1<<16 - 1
	// reuse is the age from which on a set is not given the blame if a
	// fragment contradicts it: IPv4 identifications are 16 bits and come
	// round within seconds (RFC 4963), while the fragments of one packet
	// leave together.
	reuse = int64(time.Second)
)

// Add puts in one fragment. With Complete it returns the whole, which lives
// until the next call. Where fragments overlap, the bytes that came first
// stay; the result tells whether the later ones differed.
//
// A copy of a fragment that comes after its whole was complete is Late and is
// no loss if the others do not come again; if they do, the whole is Complete
// once more, as an unfragmented packet that is sent twice comes twice.
func (r *Ranges) Add(k Key, f Fragment) (*Fragments, Verdict) {
	r.reap()
	now := r.t.now(f.Time)
	f.Length = max(f.Length, len(f.Data))
	if f.Offset < 0 || f.Length > maxPacket || f.Offset > maxPacket-f.Length {
		return nil, Refused
	}
	i, known := r.t.index[k]
	if known {
		i, known = r.settle(i, &f, now)
	}
	if !known {
		var ok bool
		if i, ok = r.t.open(k, now); !ok {
			return nil, Refused
		}
	}
	s := &r.t.sets[i]
	if j := s.find(&f); j >= 0 {
		switch {
		case !s.same(&s.pieces[j], &f):
			s.conflicts++
			return nil, Conflict
		case s.done:
			s.duplicates++
			return nil, Late
		}
		s.duplicates++
		return nil, Duplicate
	}
	if s.done && len(s.pieces) == 0 {
		r.again(i, now)
	}
	overlap, conflict := s.overlap(&f)
	late := len(s.pieces) > 0 && int(s.pieces[len(s.pieces)-1].pos) > f.Offset
	p := piece{pos: int32(f.Offset), span: int32(f.Length), last: !f.More}
	if !r.t.hold(i, p, f.Data, f.Frames, now) {
		if len(s.pieces) == 0 {
			r.t.close(i)
		}
		return nil, Refused
	}
	if overlap {
		s.overlaps++
	}
	if conflict {
		s.conflicts++
	}
	if late {
		s.outOfOrder = true
	}
	s.place(&f)
	if !s.gapless() {
		if s.done {
			return nil, Late
		}
		return nil, Held
	}
	r.t.borrowed = i
	s.finished = now
	r.view = Fragments{s: s, data: r.join(s)}
	return &r.view, Complete
}

// settle decides whether f still belongs to set i, and closes the set if not.
func (r *Ranges) settle(i int32, f *Fragment, now int64) (int32, bool) {
	s := &r.t.sets[i]
	switch {
	case r.t.stale(i, now):
		r.t.drop(i, Expired)
	case s.done && !slices.Contains(s.sums, sumOf(f.Offset, f.More, f.Data)):
		r.t.close(i) // the identification is used again
	case !s.done && now-s.first > reuse && s.contradicts(f):
		r.t.drop(i, Superseded)
	default:
		return i, true
	}
	return none, false
}

// again makes the finished set i ready to collect copies of its fragments.
func (r *Ranges) again(i int32, now int64) {
	r.t.unlink(i)
	s := &r.t.sets[i]
	s.first, s.last = now, now
	s.total = -1
	s.outOfOrder, s.duplicates, s.overlaps, s.conflicts = false, 0, 0, 0
	r.t.link(i)
}

// find returns the piece that covers just what f covers, -1 if there is none.
func (s *set) find(f *Fragment) int {
	for j := range s.pieces {
		p := &s.pieces[j]
		if int(p.pos) == f.Offset && int(p.span) == f.Length && p.last == !f.More {
			return j
		}
	}
	return -1
}

// same compares what the capture has of p and of f.
func (s *set) same(p *piece, f *Fragment) bool {
	n := min(int(p.size), len(f.Data))
	return bytes.Equal(s.bytesOf(p)[:n], f.Data[:n])
}

func (s *set) contradicts(f *Fragment) bool {
	j := s.find(f)
	return j >= 0 && !s.same(&s.pieces[j], f)
}

// overlap reports whether f covers bytes that are covered already, and whether
// it contradicts them: by other bytes, or by another end of the whole.
func (s *set) overlap(f *Fragment) (overlap, conflict bool) {
	end := f.Offset + f.Length
	if s.total >= 0 && end > int(s.total) || !f.More && (end < int(s.reach) || s.total >= 0 && end != int(s.total)) {
		conflict = true
	}
	for j := range s.pieces {
		p := &s.pieces[j]
		lo := max(int(p.pos), f.Offset)
		if lo >= min(int(p.pos+p.span), end) {
			continue
		}
		overlap = true
		hi := min(int(p.pos+p.size), f.Offset+len(f.Data))
		if lo < hi && !bytes.Equal(s.bytesOf(p)[lo-int(p.pos):hi-int(p.pos)], f.Data[lo-f.Offset:hi-f.Offset]) {
			conflict = true
		}
	}
	return overlap, conflict
}

// place sorts the newest piece, which is f, in with the others.
func (s *set) place(f *Fragment) {
	newest := int32(len(s.pieces) - 1)
	at := len(s.order)
	for at > 0 && int(s.pieces[s.order[at-1]].pos) > f.Offset {
		at--
	}
	s.order = slices.Insert(s.order, at, newest) // it has room for all pieces
	end := int32(f.Offset + f.Length)
	s.covered += int32(f.Length)
	s.reach = max(s.reach, end)
	if !f.More && (s.total < 0 || end < s.total) {
		s.total = end
	}
}

// gapless reports whether the whole is covered.
func (s *set) gapless() bool {
	if s.total < 0 || s.covered < s.total {
		return false
	}
	end := int32(0)
	for _, j := range s.order {
		p := &s.pieces[j]
		if p.pos > end {
			break
		}
		end = max(end, p.pos+p.span)
	}
	return end >= s.total
}

// join puts the whole together, as far as the capture has it without a hole.
// It writes the pieces in the reverse order of their arrival, so that the
// first one to come has the last word.
func (r *Ranges) join(s *set) []byte {
	if r.out == nil {
		r.out = make([]byte, maxPacket)
	}
	for j := len(s.pieces) - 1; j >= 0; j-- {
		copy(r.out[s.pieces[j].pos:], s.bytesOf(&s.pieces[j]))
	}
	have := int32(0)
	for _, j := range s.order {
		p := &s.pieces[j]
		if p.pos > have {
			break
		}
		have = max(have, p.pos+p.size)
	}
	return r.out[:min(have, s.total)]
}

// sumOf is what a finished set remembers of a fragment: a sum of its bytes that
// begins with its place.
func sumOf(offset int, more bool, data []byte) uint32 {
	place := uint32(offset) << 1
	if more {
		place++
	}
	return crc32.Update(place, castagnoli, data)
}

// reap finishes the set that was handed out last.
func (r *Ranges) reap() {
	i := r.t.borrowed
	if i == none {
		return
	}
	r.t.borrowed = none
	s := &r.t.sets[i]
	s.sums = s.sums[:0]
	for j := range s.pieces {
		p := &s.pieces[j]
		s.sums = append(s.sums, sumOf(int(p.pos), !p.last, s.bytesOf(p)))
	}
	r.t.finish(i)
}

// Expire reports and forgets the sets that waited too long at time now.
func (r *Ranges) Expire(now time.Time) { r.reap(); r.t.expire(now) }

// Flush reports and forgets all unfinished sets, the oldest first.
func (r *Ranges) Flush() { r.reap(); r.t.flush() }

// Len returns the number of keys held, finished ones that wait for late copies
// among them.
func (r *Ranges) Len() int { r.reap(); return len(r.t.index) }

// Fragments is what is there of one IP packet. It is borrowed from its table.
type Fragments struct {
	s    *set
	data []byte
}

// Key returns the key of the set.
func (v *Fragments) Key() Key { return v.s.key }

// Data returns the whole once it is complete, nil before. It is shorter than
// Total if the capture cut a fragment: it ends where the first byte is
// missing.
func (v *Fragments) Data() []byte { return v.data }

// Head returns the bytes of the fragment with offset 0, nil if it is missing.
func (v *Fragments) Head() []byte {
	for j := range v.s.pieces {
		if v.s.pieces[j].pos == 0 {
			return v.s.bytesOf(&v.s.pieces[j])
		}
	}
	return nil
}

// Frames returns the numbers of the frames in the order of their arrival.
func (v *Fragments) Frames() []uint64 { return v.s.frames }

// First returns the time of the first fragment.
func (v *Fragments) First() time.Time { return fromNanos(v.s.first) }

// Last returns the time of the newest fragment.
func (v *Fragments) Last() time.Time { return fromNanos(v.s.last) }

// Total returns the length of the whole, 0 while the last fragment is missing.
func (v *Fragments) Total() int { return max(0, int(v.s.total)) }

// Have returns how many bytes came, overlaps counted twice.
func (v *Fragments) Have() int { return len(v.s.buf) }

// A Gap is bytes of a whole that no fragment covered: from From up to To. To
// is 0 where the end is not known because the last fragment is missing.
type Gap struct{ From, To int }

// Missing appends the gaps to dst, in their order.
func (v *Fragments) Missing(dst []Gap) []Gap {
	end := 0
	for _, j := range v.s.order {
		p := &v.s.pieces[j]
		if int(p.pos) > end {
			dst = append(dst, Gap{end, int(p.pos)})
		}
		end = max(end, int(p.pos+p.span))
	}
	if v.s.total < 0 {
		dst = append(dst, Gap{From: end})
	}
	return dst
}

// OutOfOrder reports whether a fragment came before one of a lower offset.
func (v *Fragments) OutOfOrder() bool { return v.s.outOfOrder }

// Duplicates returns how many exact copies of present fragments came.
func (v *Fragments) Duplicates() int { return int(v.s.duplicates) }

// Overlaps returns how many fragments covered bytes that were there already.
func (v *Fragments) Overlaps() int { return int(v.s.overlaps) }

// Conflicts returns how many fragments said something else than those that
// were there already: other bytes, or another end of the whole.
func (v *Fragments) Conflicts() int { return int(v.s.conflicts) }
