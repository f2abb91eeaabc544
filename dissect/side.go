package dissect

import "math"

// A side holds values for a few entries of another table, which store a position in
// it. Position 0 holds the zero value.
type side[T any, P linked[T]] struct {
	entries []T
	free    uint32 // the first free position, 0 if there is none
}

// linked is a pointer to a value. next is a number in it that, where the value is free,
// is the next free position.
type linked[T any] interface {
	*T
	next() *uint32
}

func newSide[T any, P linked[T]]() side[T, P] { return side[T, P]{entries: make([]T, 1)} }

// at returns the value at a position for reading.
func (s *side[T, P]) at(place int32) *T { return &s.entries[place] }

// own returns the value at a position for writing, allocating one if it is 0. It is
// valid until the next allocation.
func (s *side[T, P]) own(place *int32) *T {
	switch {
	case *place > 0:
		return &s.entries[*place]
	case s.free > 0:
		*place = int32(s.free)
		s.free = *P(&s.entries[s.free]).next()
	default:
		*place = int32(len(s.entries))
		s.entries = append(withRoom(s.entries, math.MaxInt32), *new(T))
		return &s.entries[*place]
	}
	o := &s.entries[*place]
	*o = *new(T)
	return o
}

// release frees a position.
func (s *side[T, P]) release(place int32) {
	if place > 0 {
		*P(&s.entries[place]).next() = s.free
		s.free = uint32(place)
	}
}

// withRoom returns a slab with room for another entry, even beyond the limit. It grows by
// a factor of four up to the limit: untouched memory costs nothing, but the old slab does.
func withRoom[T any](s []T, limit int) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]T, 0, max(min(limit, 4*len(s)+64), len(s)+1)), s...)
}
