package filter

import "encoding/binary"

// A step is a node in a form that is fast to go through: every comparison is
// one with the ends of a range.
type step struct {
	kind            stepKind
	off, head       uint32
	mask, low, high uint32
	yes, no         *step
	test            *test // of stepTest
}

type stepKind uint8

const (
	stepReject stepKind = iota
	stepAccept
	stepByte // at off
	stepHalf
	stepWord
	stepBehindByte // at off behind the IPv4 header at head
	stepBehindHalf
	stepBehindWord
	stepTest // anything else
)

// matcher returns a function that goes through the graph.
func (g *graph) matcher() func(data []byte, wireLen int) bool {
	order := g.order()
	steps := make([]step, 2+len(order))
	steps[1].kind = stepAccept
	where := map[*node]*step{g.reject: &steps[0], g.accept: &steps[1]}
	for i, n := range order {
		where[n] = &steps[2+i]
	}
	for i, n := range order {
		steps[2+i] = makeStep(n, where)
	}
	first := where[g.root]
	return func(data []byte, wireLen int) bool { return first.match(data, wireLen) }
}

func makeStep(n *node, where map[*node]*step) step {
	t := &n.test
	s := step{kind: kindOf(t), off: t.x.k, head: t.x.head, mask: t.mask, yes: where[n.yes], no: where[n.no], test: t}
	s.low, s.high = t.cmp.span(t.n)
	// Two tests in a row for the ends of a range become one.
	if m := n.yes; s.kind != stepTest && t.cmp == atLeast && m.test.cmp == greater && m.yes == n.no &&
		m.test.x == t.x && m.test.mask == t.mask && m.test.y == nil {
		s.high, s.yes = m.test.n, where[m.no]
	}
	return s
}

// span returns the ends of the range that numbers are in for which the
// comparison holds. No number is in a range that ends before it begins.
func (c comparison) span(n uint32) (low, high uint32) {
	switch {
	case c == equal:
		return n, n
	case c == atLeast:
		return n, allBits
	case n == allBits:
		return 1, 0
	}
	return n + 1, allBits
}

func kindOf(t *test) stepKind {
	if t.y != nil {
		return stepTest
	}
	kinds := map[valueKind][3]stepKind{
		valueAt:     {stepByte, stepHalf, stepWord},
		valueBehind: {stepBehindByte, stepBehindHalf, stepBehindWord},
	}
	if k, ok := kinds[t.x.kind]; ok {
		return k[t.x.size/2]
	}
	return stepTest
}

// match goes through the steps with one frame.
func (s *step) match(data []byte, wire int) bool {
	for {
		var x uint32
		off := uint64(s.off)
		switch s.kind {
		case stepByte:
			if off >= uint64(len(data)) {
				return false
			}
			x = uint32(data[off])
		case stepHalf:
			if off+2 > uint64(len(data)) {
				return false
			}
			x = uint32(binary.BigEndian.Uint16(data[off:]))
		case stepWord:
			if off+4 > uint64(len(data)) {
				return false
			}
			x = binary.BigEndian.Uint32(data[off:])
		case stepBehindByte:
			if uint64(s.head) >= uint64(len(data)) {
				return false
			}
			off += uint64(data[s.head]&0xf) * 4
			if off+1 > uint64(len(data)) {
				return false
			}
			x = uint32(data[off])
		case stepBehindHalf:
			if uint64(s.head) >= uint64(len(data)) {
				return false
			}
			off += uint64(data[s.head]&0xf) * 4
			if off+2 > uint64(len(data)) {
				return false
			}
			x = uint32(binary.BigEndian.Uint16(data[off:]))
		case stepBehindWord:
			if uint64(s.head) >= uint64(len(data)) {
				return false
			}
			off += uint64(data[s.head]&0xf) * 4
			if off+4 > uint64(len(data)) {
				return false
			}
			x = binary.BigEndian.Uint32(data[off:])
		case stepAccept:
			return true
		case stepReject:
			return false
		default:
			yes, ok := s.test.holds(data, wire)
			if !ok {
				return false
			}
			if yes {
				s = s.yes
			} else {
				s = s.no
			}
			continue
		}
		if x &= s.mask; x >= s.low && x <= s.high {
			s = s.yes
		} else {
			s = s.no
		}
	}
}
