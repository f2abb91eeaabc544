package cut

import (
	"maps"
	"math/bits"
	"slices"
)

// A frameSet is a set of frame numbers. Frames come in runs, so each word of the map
// holds the bits of 64 consecutive frames.
type frameSet struct {
	words map[uint64]uint64
	n     int
}

func (s *frameSet) has(frame uint64) bool { return s.words[frame/64]&(1<<(frame%64)) != 0 }

// add adds a frame. It reports whether the frame is new.
func (s *frameSet) add(frame uint64) bool {
	if s.has(frame) {
		return false
	}
	if s.words == nil {
		s.words = make(map[uint64]uint64)
	}
	s.words[frame/64] |= 1 << (frame % 64)
	s.n++
	return true
}

func (s *frameSet) remove(frame uint64) {
	if s.has(frame) {
		s.words[frame/64] &^= 1 << (frame % 64)
		s.n--
	}
}

// list returns the frames in ascending order.
func (s *frameSet) list() []uint64 {
	list := make([]uint64, 0, s.n)
	for _, i := range slices.Sorted(maps.Keys(s.words)) {
		for word := s.words[i]; word != 0; word &= word - 1 {
			list = append(list, i*64+uint64(bits.TrailingZeros64(word)))
		}
	}
	return list
}
