package reassembly

import (
	"hash/crc32"
	"slices"
)

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

// generation returns that number, in position, for the copies of remembered set g.
func (s *set) generation(g int) uint32 {
	return (1 + uint32(s.serial-s.known+uint8(g))%255) << copiesShift
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
	s.serial++
}
