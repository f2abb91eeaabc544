package reassembly

import (
	"cmp"
	"hash/crc32"
	"slices"
	"time"
)

// A Set contains the parts of one message. It is borrowed from its table.
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
	k.Space &= 1<<copiesShift - 1
	return k
}

// Variant returns the variant of the split headers, 0 if it is undecided.
func (v *Set) Variant() uint8 { return v.s.variant }

// Guess returns the variant in which an undecided set is read.
func (v *Set) Guess() uint8 { return v.s.guess }

// Total returns the number of parts, 0 while unknown. If parts state different totals, it
// is the most frequent one, the larger one of two equally frequent ones, and at least the
// highest index plus one.
func (v *Set) Total() int {
	if !v.s.has(isDisagreed) {
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

// Disagree reports whether the parts state different totals, or an index is not below the
// total.
func (v *Set) Disagree() bool { return v.s.has(isDisagreed) }

// Before returns the total of the previous, complete set with the same key, and the frame
// that completed it, if no request came between the two sets; otherwise 0.
func (v *Set) Before() (total int, frame uint64) { return int(max(v.s.before, 0)), v.s.finishedIn }

// Again reports whether all parts are copies of the parts of one earlier set.
func (v *Set) Again() bool { return v.s.has(isOfCopies) }

// Tag returns the tag of that earlier set, 0 if it has none. See [Parts.Tag].
func (v *Set) Tag() uint32 { return v.s.tag }

// Delay returns the time from the completion of that set to the first copy.
func (v *Set) Delay() time.Duration { return time.Duration(v.s.delay) }

// Doubt reports whether the network or the capture may have made the copies, because they
// came so soon.
func (v *Set) Doubt() bool { return v.s.has(isOfCopies) && v.s.delay <= copyWindow }

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

// OutOfOrder reports whether a part came before one with a lower index.
func (v *Set) OutOfOrder() bool { return v.s.has(isOutOfOrder) }

// Duplicates returns the number of copies of parts.
func (v *Set) Duplicates() int { return v.s.tallied(Duplicate) }

// Conflicts returns the number of parts with the index of an earlier part and other bytes.
func (v *Set) Conflicts() int { return v.s.tallied(Conflict) }

// Refused returns the number of parts that were refused because of a limit.
func (v *Set) Refused() int { return v.s.tallied(Refused) }

func (v *Set) at(i int) *piece {
	if len(v.s.order) != len(v.s.pieces) {
		v.sort()
	}
	return &v.s.pieces[v.s.order[i]]
}

// Index returns the index of the i-th part. It differs from i only if parts are missing.
// In this and the following methods, parts are ordered by index.
func (v *Set) Index(i int) int { return int(v.at(i).pos) }

// Stated returns the total that the i-th part states, 0 if it states none.
func (v *Set) Stated(i int) int { return int(v.at(i).total) }

// Size returns the [Part.Size] of the i-th part.
func (v *Set) Size(i int) int { return int(v.at(i).span) }

// Payload returns the i-th part with its split header.
func (v *Set) Payload(i int) []byte { return v.s.bytesOf(v.at(i)) }

// Header returns the length of the split header of the i-th part.
func (v *Set) Header(i int) int { return int(v.at(i).header) }

// Data returns the i-th part without its split header.
func (v *Set) Data(i int) []byte { p := v.at(i); return v.s.bytesOf(p)[p.header:] }

// PartFrames returns the numbers of the frames that carried the i-th part: several if IP
// fragmented it.
func (v *Set) PartFrames(i int) []uint64 { return v.s.framesOf(v.at(i)) }

// Frames returns the numbers of all frames in order of arrival.
func (v *Set) Frames() []uint64 { return v.s.frames }

// Missing appends the missing indexes to dst: those below the total or, if it is unknown,
// below the highest index present.
func (v *Set) Missing(dst []int) []int {
	end := cmp.Or(v.Total(), int(v.s.reach))
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

// castagnoli has hardware support. A seeded hash would make the verdict on a forged
// collision differ from run to run.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the checksum of a payload, which is known if it is not 0.
func sum(payload []byte, known uint32) uint32 {
	if known != 0 {
		return known
	}
	return crc32.Checksum(payload, castagnoli)
}

// generations is the number of complete sets that are remembered per key.
const generations = 4

// remembers returns a bit for each remembered set with a part of these bytes. Bit 0 is the
// oldest set.
func (s *set) remembers(in *incoming) (of uint8) {
	if len(s.sums) == 0 {
		return 0
	}
	x, from := sum(in.payload, in.Sum), int32(0)
	for g, to := range s.ends[:s.known] {
		if slices.Contains(s.sums[from:to], x) {
			of |= 1 << g
		}
		from = to
	}
	return of
}

// copiesShift is the position, in the space of a key, of the number that distinguishes
// sets of copies from the set being collected and from each other.
const copiesShift = 24

// serials is how many of these numbers there are: what fits above copiesShift, without 0.
const serials = 255

// generation returns that number, in position, for the copies of remembered set g.
func (s *set) generation(g int) uint32 {
	return (1 + (serials+uint32(s.serial)-uint32(s.known)+uint32(g))%serials) << copiesShift
}

// remember keeps the checksums of the parts. If the maximum of sets is remembered, it
// drops the oldest.
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
	s.sums = slices.Grow(s.sums, len(s.pieces))
	for j := range s.pieces {
		q := &s.pieces[j]
		s.sums = append(s.sums, sum(s.bytesOf(q), q.sum))
	}
	s.ends[s.known] = int32(len(s.sums))
	s.known++
	s.serial = (s.serial + 1) % serials
}
