package reassembly

import (
	"bytes"
	"slices"
)

// beyond reports whether the index of a part is not below its own total.
func (q *piece) beyond() bool { return q.total > 0 && q.pos >= q.total }

// count updates the set with the index and the total of a part.
func (s *set) count(q *piece) {
	if q.beyond() {
		s.setIf(isBeyond, true) // accepted once another part states a larger total
		return
	}
	if q.total > 0 && s.stated > 0 && q.total != s.stated {
		s.setIf(isDisagreed, true)
	}
	s.stated = max(s.stated, q.total)
	s.reach = max(s.reach, q.pos+1)
	if s.stated > 0 {
		s.setIf(isDisagreed, s.has(isDisagreed) || s.reach > s.stated)
		s.total = max(s.stated, s.reach)
	}
}

// recount counts all parts again.
func (s *set) recount() {
	s.total, s.stated, s.reach = unknown, 0, 0
	s.setIf(isDisagreed|isBeyond, false)
	for j := range s.pieces {
		s.count(&s.pieces[j])
	}
}

// whole reports whether all parts are present. If the parts state different totals, the
// largest counts.
func (s *set) whole() bool {
	if s.total == unknown || len(s.pieces) < int(s.total) || len(s.pieces) == 1 && s.pieces[0].cut {
		return false
	}
	for j := range s.total {
		if s.numbered(int(j)) < 0 {
			return false
		}
	}
	return true
}

// dropTaken drops parts whose index is already taken. A copy gives way to a part
// that is not one. That happens only when the variant was decided late or not at
// all.
func (s *set) dropTaken() {
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		switch j := slices.IndexFunc(kept, func(q piece) bool { return q.pos == p.pos }); {
		case j < 0:
			kept = append(kept, p)
		case kept[j].copied:
			kept[j] = p
		case !p.copied:
			s.tally(Conflict)
		}
	}
	s.pieces = kept
}

// held returns the part with an index, -1 if there is none. If indexes are guesses, or
// count arrivals, it returns the part with the same bytes.
func (s *set) held(index int, payload []byte) int {
	if index >= 0 && s.variant != 0 {
		return s.numbered(index)
	}
	return slices.IndexFunc(s.pieces, func(q piece) bool { return bytes.Equal(s.bytesOf(&q), payload) })
}

// numbered returns the part with an index, -1 if there is none.
func (s *set) numbered(index int) int {
	// Parts mostly come in order, and sets are small.
	if index < len(s.pieces) && int(s.pieces[index].pos) == index {
		return index
	}
	for j := range s.pieces {
		if int(s.pieces[j].pos) == index {
			return j
		}
	}
	return -1
}

// remove removes part j from the set. Its bytes stay in the buffer.
func (s *set) remove(j int) {
	out := s.pieces[j]
	s.frames = slices.Delete(s.frames, int(out.frames), int(out.frames+out.count))
	s.pieces = slices.Delete(s.pieces, j, j+1)
	for k := range s.pieces {
		if q := &s.pieces[k]; q.frames > out.frames {
			q.frames -= out.count
		}
	}
	s.recount()
}

// excludes reports whether the index or the total of a part contradicts the total of the
// set.
func (s *set) excludes(part *Part) bool {
	return s.total != unknown && (part.Total > 0 && part.Total != int(s.total) || part.Index >= int(s.total))
}

// removeCopies removes the copies that contradict part, which is not a copy.
func (s *set) removeCopies(part *Part) {
	for j := len(s.pieces) - 1; j >= 0; j-- {
		if q := &s.pieces[j]; q.copied && (q.total > 0 && int(q.total) != part.Total || int(q.pos) >= part.Total) {
			s.remove(j)
		}
	}
}

// expel reports and removes the parts whose index is not below the largest total. A part
// stays if only its own total is too small.
func (p *Parts) expel(s *set) {
	for j := 0; s.has(isBeyond) && j < len(s.pieces); j++ {
		q := &s.pieces[j]
		switch {
		case !q.beyond():
		case q.pos < s.total:
			s.setIf(isDisagreed, true)
		default:
			if p.damaged = (set{key: s.key, past: new(past), variant: s.variant, guess: s.guess, last: q.at, store: store{
				pieces: append(p.damaged.pieces[:0], *q), order: p.damaged.order[:0], buf: s.buf, frames: s.framesOf(q),
			}}); !q.copied && p.lost != nil {
				p.damaged.pieces[0].frames = 0
				p.view = Set{s: &p.damaged}
				p.lost(&p.view, Damaged)
			}
			s.remove(j)
			j--
		}
	}
	p.damaged.buf, p.damaged.frames = nil, nil
}
