package cut

import (
	"math/bits"
	"slices"
)

// pageFrames is the number of frames per page.
const pageFrames = 1 << 10

// A frameSet is a set of frame numbers, stored as a sparse bitmap. Frames come in
// runs, so each takes little more than a bit.
type frameSet struct {
	pages map[uint64]*[pageFrames / 64]uint64
	n     int
}

// at returns the word and the bit of a frame, or nil if its page does not exist.
func (s *frameSet) at(frame uint64) (word *uint64, bit uint64) {
	p := s.pages[frame/pageFrames]
	if p == nil {
		return nil, 0
	}
	return &p[frame%pageFrames/64], 1 << (frame % 64)
}

func (s *frameSet) has(frame uint64) bool {
	word, bit := s.at(frame)
	return word != nil && *word&bit != 0
}

// add adds a frame. It reports whether the frame is new.
func (s *frameSet) add(frame uint64) bool {
	word, bit := s.at(frame)
	if word == nil {
		if s.pages == nil {
			s.pages = make(map[uint64]*[pageFrames / 64]uint64)
		}
		s.pages[frame/pageFrames] = new([pageFrames / 64]uint64)
		word, bit = s.at(frame)
	}
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	s.n++
	return true
}

func (s *frameSet) remove(frame uint64) {
	if word, bit := s.at(frame); word != nil && *word&bit != 0 {
		*word &^= bit
		s.n--
	}
}

// list returns the frames in ascending order.
func (s *frameSet) list() []uint64 {
	var numbers []uint64
	for p := range s.pages {
		numbers = append(numbers, p)
	}
	slices.Sort(numbers)
	list := make([]uint64, 0, s.n)
	for _, number := range numbers {
		for i, word := range s.pages[number] {
			for ; word != 0; word &= word - 1 {
				list = append(list, number*pageFrames+uint64(i*64+bits.TrailingZeros64(word)))
			}
		}
	}
	return list
}
