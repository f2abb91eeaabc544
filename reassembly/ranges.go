package reassembly

import (
	"bytes"
	"hash/crc32"
	"slices"
	"time"
)

// A Fragment is one piece of an IP packet.
type Fragment struct {
	// Offset is the offset of its data in the packet.
	Offset int
	// More says that this is not the last fragment.
	More bool
	// Data is its data. It may be part of the Data that the same table returned last,
	// because a fragmented tunnel may carry fragments.
	Data []byte
	// Length is the length of its data on the wire, larger than that of Data if the
	// capture cut it. A smaller value means the length of Data.
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

// NewRanges returns a table that takes its memory from b. It calls lost for every
// incomplete set that it gives up. The set is borrowed, and lost must not use the table.
func NewRanges(b *Budget, l Limits, lost func(*Fragments, Reason)) *Ranges {
	r := &Ranges{t: newTable(b, l), lost: lost}
	r.t.lost = func(i int32, why Reason) {
		if r.lost != nil {
			r.view = Fragments{s: r.t.sets[i]}
			r.lost(&r.view, why)
		}
	}
	b.tables = append(b.tables, &r.t)
	return r
}

const (
	// maxPacket is the largest length of an IP packet. A fragment that reaches beyond it
	// is invalid (the "ping of death").
	maxPacket = 1<<16 - 1
	// reuse is the age from which a fragment that contradicts a set belongs to another
	// packet: IPv4 identifications have 16 bits and repeat within seconds (RFC 4963),
	// while the fragments of one packet are sent together.
	reuse = int64(time.Second)
)

// Add adds a fragment. If the verdict is Complete, it returns the packet, which is
// borrowed until the next call. If fragments overlap, the bytes that came first are used;
// the result says whether later ones differed.
//
// A copy of a fragment of a complete packet is Late. If copies of all fragments come, the
// packet is Complete again, just as an unfragmented packet that is sent twice arrives
// twice. If some do not come, nothing is reported.
func (r *Ranges) Add(k Key, f Fragment) (*Fragments, Verdict) {
	r.reap()
	now := r.t.now(f.Time)
	f.Length = max(f.Length, len(f.Data))
	if f.Offset < 0 || f.Offset > maxPacket-f.Length {
		return nil, Refused
	}
	i, known := r.t.find(k)
	if known {
		i, known = r.settle(i, &f, now)
	}
	if !known {
		var ok bool
		if i, ok = r.t.open(k, now); !ok {
			return nil, Refused
		}
	}
	s := r.t.sets[i]
	if j := s.find(&f); j >= 0 {
		switch {
		case !s.same(&s.pieces[j], &f):
			s.tally(Conflict)
			return nil, Conflict
		case s.has(isDone):
			s.tally(Duplicate)
			return nil, Late
		}
		s.tally(Duplicate)
		return nil, Duplicate
	}
	if s.has(isDone) && len(s.pieces) == 0 {
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
		s.tally(Conflict)
	}
	s.setIf(isOutOfOrder, s.has(isOutOfOrder) || late)
	s.place(&f)
	if !s.gapless() {
		if s.has(isDone) {
			return nil, Late
		}
		return nil, Held
	}
	r.t.borrowed = i
	s.finished = now
	r.view = Fragments{s: s, data: r.join(s)}
	return &r.view, Complete
}

// settle reports whether f belongs to set i, and closes the set if not.
func (r *Ranges) settle(i int32, f *Fragment, now int64) (int32, bool) {
	s := r.t.sets[i]
	switch {
	case r.t.stale(i, now):
		r.t.drop(i, Expired)
	case s.has(isDone) && !slices.Contains(s.sums, sumOf(f.Offset, f.More, f.Data)):
		r.t.close(i) // the identification is used again
	case !s.has(isDone) && now-s.first > reuse && s.contradicts(f):
		r.t.drop(i, Superseded)
	default:
		return i, true
	}
	return none, false
}

// again prepares the complete set i to collect copies of its fragments.
func (r *Ranges) again(i int32, now int64) {
	r.t.unlink(i)
	s := r.t.sets[i]
	s.first, s.last = now, now
	s.total = unknown
	s.overlaps, s.counts = 0, [len(s.counts)]int32{Refused - Duplicate: s.counts[Refused-Duplicate]}
	s.setIf(isOutOfOrder, false)
	r.t.link(i)
}

// find returns the piece that covers the same range as f, -1 if there is none.
func (s *set) find(f *Fragment) int {
	for j := range s.pieces {
		p := &s.pieces[j]
		if int(p.pos) == f.Offset && int(p.span) == f.Length && p.last == !f.More {
			return j
		}
	}
	return -1
}

// same reports whether the captured bytes of p and f are equal.
func (s *set) same(p *piece, f *Fragment) bool {
	n := min(int(p.size), len(f.Data))
	return bytes.Equal(s.bytesOf(p)[:n], f.Data[:n])
}

func (s *set) contradicts(f *Fragment) bool {
	j := s.find(f)
	return j >= 0 && !s.same(&s.pieces[j], f)
}

// overlap reports whether f covers bytes that are already covered, and whether it
// contradicts the set: by other bytes, or by another end of the packet.
func (s *set) overlap(f *Fragment) (overlap, conflict bool) {
	end := f.Offset + f.Length
	conflict = s.total != unknown && end > int(s.total) || !f.More && end < int(s.reach)
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

// place inserts the newest piece, f, into the order by offset.
func (s *set) place(f *Fragment) {
	newest := int32(len(s.pieces) - 1)
	at := len(s.order)
	for at > 0 && int(s.pieces[s.order[at-1]].pos) > f.Offset {
		at--
	}
	s.order = slices.Insert(s.order, at, newest) // it has room for all pieces
	end := int32(f.Offset + f.Length)
	s.reach = max(s.reach, end)
	if !f.More && (s.total == unknown || end < s.total) {
		s.total = end
	}
}

// gapless reports whether the pieces cover the whole packet.
func (s *set) gapless() bool {
	end := int32(0)
	for _, j := range s.order {
		p := &s.pieces[j]
		if p.pos > end {
			break
		}
		end = max(end, p.pos+p.span)
	}
	return s.total != unknown && end >= s.total
}

// join returns the packet up to the first byte that the capture lacks. It copies the
// pieces in reverse order of arrival, so that the bytes that came first win.
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

// sumOf returns the checksum that a complete set keeps of a fragment. It covers the
// position and the bytes.
func sumOf(offset int, more bool, data []byte) uint32 {
	place := uint32(offset) << 1
	if more {
		place++
	}
	return crc32.Update(place, castagnoli, data)
}

// reap releases the set that was returned last.
func (r *Ranges) reap() {
	i := r.t.borrowed
	if i == none {
		return
	}
	r.t.borrowed = none
	s := r.t.sets[i]
	s.sums = s.sums[:0]
	for j := range s.pieces {
		p := &s.pieces[j]
		s.sums = append(s.sums, sumOf(int(p.pos), !p.last, s.bytesOf(p)))
	}
	r.t.finish(i)
}

// Expire reports and drops the sets that have waited too long at time now.
func (r *Ranges) Expire(now time.Time) { r.reap(); r.t.expire(now) }

// Flush reports and drops all incomplete sets, the oldest first.
func (r *Ranges) Flush() { r.reap(); r.t.flush() }

// Len returns the number of keys held, complete sets that are remembered for late copies
// included.
func (r *Ranges) Len() int { r.reap(); return r.t.len }

// Fragments are the fragments of one IP packet. It is borrowed from its table.
type Fragments struct {
	s    *set
	data []byte
}

// Key returns the key of the set.
func (v *Fragments) Key() Key { return v.s.key }

// Data returns the packet once it is complete, nil before. If the capture cut a fragment,
// it ends at the first missing byte and is shorter than Total.
func (v *Fragments) Data() []byte { return v.data }

// Head returns the data of the fragment with offset 0, nil if it is missing.
func (v *Fragments) Head() []byte {
	for j := range v.s.pieces {
		if v.s.pieces[j].pos == 0 {
			return v.s.bytesOf(&v.s.pieces[j])
		}
	}
	return nil
}

// Frames returns the numbers of the frames in order of arrival.
func (v *Fragments) Frames() []uint64 { return v.s.frames }

// First returns the time of the first fragment.
func (v *Fragments) First() time.Time { return fromNanos(v.s.first) }

// Last returns the time of the newest fragment.
func (v *Fragments) Last() time.Time { return fromNanos(v.s.last) }

// Total returns the length of the packet, 0 while the last fragment is missing.
func (v *Fragments) Total() int { return max(0, int(v.s.total)) }

// Have returns the number of bytes received. Overlaps count twice.
func (v *Fragments) Have() int { return len(v.s.buf) }

// A Gap is a range of bytes that no fragment covers: from From up to, but not including,
// To. To is 0 if the end is unknown because the last fragment is missing.
type Gap struct{ From, To int }

// Missing appends the gaps to dst, in order.
func (v *Fragments) Missing(dst []Gap) []Gap {
	end := 0
	for _, j := range v.s.order {
		p := &v.s.pieces[j]
		if int(p.pos) > end {
			dst = append(dst, Gap{end, int(p.pos)})
		}
		end = max(end, int(p.pos+p.span))
	}
	if v.s.total == unknown {
		dst = append(dst, Gap{From: end})
	}
	return dst
}

// OutOfOrder reports whether a fragment came before one with a lower offset.
func (v *Fragments) OutOfOrder() bool { return v.s.has(isOutOfOrder) }

// Duplicates returns the number of exact copies of fragments.
func (v *Fragments) Duplicates() int { return v.s.tallied(Duplicate) }

// Overlaps returns the number of fragments that overlap earlier ones.
func (v *Fragments) Overlaps() int { return int(v.s.overlaps) }

// Conflicts returns the number of fragments that contradict earlier ones: by other bytes,
// or by another end of the packet.
func (v *Fragments) Conflicts() int { return v.s.tallied(Conflict) }
