package cut

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"

	"github.com/qdissect/qdissect/internal/whole"
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

// An array holds numbers by index in a temporary file, so that its memory does not grow.
// A number is 0 until it is set. Only one page is in memory: an index should be near the
// one before.
type array struct {
	file *whole.File
	page [4096]byte
	at   int64 // offset of the page in the file
	err  error // the first
}

func newArray(dir string) (*array, error) {
	f, err := whole.Scratch(dir)
	return &array{file: f}, err
}

func (a *array) close() error { return errors.Join(a.err, a.file.Remove()) }

// place returns the bytes of a number.
func (a *array) place(i uint64) []byte {
	at := int64(i) * 8
	if page := at - at%int64(len(a.page)); page != a.at {
		a.flush()
		n, err := a.file.ReadAt(a.page[:], page)
		if err != nil && err != io.EOF && a.err == nil {
			a.err = err
		}
		clear(a.page[n:])
		a.at = page
	}
	return a.page[at-a.at:][:8]
}

// flush writes the page.
func (a *array) flush() {
	if _, err := a.file.WriteAt(a.page[:], a.at); err != nil && a.err == nil {
		a.err = err
	}
}

func (a *array) get(i uint64) uint64 { return binary.LittleEndian.Uint64(a.place(i)) }

func (a *array) set(i, n uint64) { binary.LittleEndian.PutUint64(a.place(i), n) }
