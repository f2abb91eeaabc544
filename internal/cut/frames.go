package cut

import (
	"math/bits"
	"slices"
)

// A frameSet is a set of frames, with a bit for each frame of the capture.
type frameSet struct {
	words []uint64
	n     int
}

func (s *frameSet) has(frame uint64) bool {
	return frame/64 < uint64(len(s.words)) && s.words[frame/64]&(1<<(frame%64)) != 0
}

// add adds a frame. It reports whether the frame is new.
func (s *frameSet) add(frame uint64) bool {
	if s.has(frame) {
		return false
	}
	if more := int(frame/64) + 1 - len(s.words); more > 0 {
		s.words = append(s.words, make([]uint64, more)...)
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

// all yields the frames in ascending order.
func (s *frameSet) all(yield func(uint64) bool) {
	for i, word := range s.words {
		for ; word != 0; word &= word - 1 {
			if !yield(uint64(i)*64 + uint64(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// An order finds the frames of a set by their position.
type order struct {
	words []uint64
	upTo  []uint64 // the number of frames in the words up to each
}

func (s *frameSet) order() order {
	o := order{words: s.words}
	n := uint64(0)
	for _, word := range s.words {
		n += uint64(bits.OnesCount64(word))
		o.upTo = append(o.upTo, n)
	}
	return o
}

// frame returns the nth frame, 0 if there is none.
func (o *order) frame(n uint64) uint64 {
	i, _ := slices.BinarySearch(o.upTo, n)
	if n == 0 || i == len(o.upTo) {
		return 0
	}
	word := o.words[i]
	for skip := n + uint64(bits.OnesCount64(word)) - o.upTo[i]; skip > 1; skip-- {
		word &= word - 1
	}
	return uint64(i)*64 + uint64(bits.TrailingZeros64(word))
}
