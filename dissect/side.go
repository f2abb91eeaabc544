package dissect

// side is a table of what only some entries of another table have. Such an entry
// holds its place here; those without one hold 0, where nothing but the zero value
// stands.
type side[T any] struct {
	entries []T
	free    []int32
}

func newSide[T any]() side[T] { return side[T]{entries: make([]T, 1)} }

// at returns what stands at a place, to be read.
func (s *side[T]) at(place int32) *T { return &s.entries[place] }

// own returns the same to be written, at a place of its own. It is valid until the
// next place is taken.
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
	}
	o := &s.entries[*place]
	*o = *new(T)
	return o
}

// release gives a place back.
func (s *side[T]) release(place int32) {
	if place > 0 {
		s.free = append(s.free, place)
	}
}

// withRoom returns a slab with room for one more, and when it has to grow for four
// times as many, never beyond the limit: room that is not touched takes no memory,
// but what is left behind when a slab grows does.
func withRoom[T any](s []T, limit int) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]T, 0, min(limit, 4*len(s)+64)), s...)
}
