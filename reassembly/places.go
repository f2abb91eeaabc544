package reassembly

import (
	"bytes"
	"slices"
)

// beyond reports whether the index of a part is not below its own total.
func (q *piece) beyond() bool { return q.total > 0 && q.pos >= q.total }

// count takes the place and the total of a part into account.
func (s *set) count(q *piece) {
	if q.beyond() {
		s.beyond = true // what it says is believed once others say more
		return
	}
	if q.total > 0 && s.stated > 0 && q.total != s.stated {
		s.disagree = true
	}
	s.stated = max(s.stated, q.total)
	s.reach = max(s.reach, q.pos+1)
	if s.stated > 0 {
		s.disagree = s.disagree || s.reach > s.stated
		s.total = max(s.stated, s.reach)
	}
}

// recount counts all parts anew.
func (s *set) recount() {
	s.total, s.stated, s.reach, s.disagree, s.beyond, s.own = -1, 0, 0, false, false, 0
	for j := range s.pieces {
		s.count(&s.pieces[j])
		if !s.pieces[j].copied {
			s.own++
		}
	}
}

// whole reports whether all parts are there: as many as the largest total says,
// where they contradict each other.
func (s *set) whole() bool {
	if s.total < 1 || len(s.pieces) < int(s.total) || len(s.pieces) == 1 && s.pieces[0].cut {
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
			s.conflicts++
		}
	}
	s.pieces = kept
}

// held returns the part in a place, -1 if there is none. Where the places are
// guesses, or count by arrival, it is the part with the same bytes.
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

// remove takes part j out of the set. Its bytes stay in the buffer.
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

// excludes reports whether a part has no place in a set, or states another
// total.
func (s *set) excludes(part *Part) bool {
	return s.total > 0 && (part.Total > 0 && part.Total != int(s.total) || part.Index >= int(s.total))
}

// removeCopies takes the copies out of a set that contradict a part which is none.
func (s *set) removeCopies(part *Part) {
	for j := len(s.pieces) - 1; j >= 0; j-- {
		if q := &s.pieces[j]; q.copied && (q.total > 0 && int(q.total) != part.Total || int(q.pos) >= part.Total) {
			s.remove(j)
		}
	}
}

// expel hands out the parts that have no place in their set: their index is not
// below the largest total. Those whose own total alone is too small stay.
func (p *Parts) expel(s *set) {
	for j := 0; s.beyond && j < len(s.pieces); j++ {
		q := &s.pieces[j]
		switch {
		case !q.beyond():
		case q.pos < s.total:
			s.disagree = true
		default:
			if p.damaged = (set{key: s.key, variant: s.variant, guess: s.guess, last: q.at, own: 1, store: store{
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
