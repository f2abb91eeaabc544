package dissect

// A side holds values for a few entries of another table, which store a position in
// it. Position 0 holds the zero value.
type side[T any] struct {
	entries []T
	free    []int32
}

func newSide[T any]() side[T] { return side[T]{entries: make([]T, 1)} }

// at returns the value at a position for reading.
func (s *side[T]) at(place int32) *T { return &s.entries[place] }

// own returns the value at a position for writing, allocating one if it is 0. It is
// valid until the next allocation.
func (s *side[T]) own(place *int32) *T {
	switch k := len(s.free); {
	case *place > 0:
		return &s.entries[*place]
	case k > 0:
		*place = s.free[k-1]
		s.free = s.free[:k-1]
	default:
		*place = int32(len(s.entries))
		s.entries = append(s.entries, *new(T))
		return &s.entries[*place]
	}
	o := &s.entries[*place]
	*o = *new(T)
	return o
}

// release frees a position.
func (s *side[T]) release(place int32) {
	if place > 0 {
		s.free = append(s.free, place)
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
