package reassembly

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A fuzz input is a program: every step is a few bytes that say which piece
// comes when. The table is held against a model that is plain and slow, and a
// second table with tight limits against its own bookkeeping.

const modelAge = 10 * time.Second

// tight are limits that a short program reaches.
var tight = Limits{Sets: 5, Pieces: 4, SetBytes: 200, Age: modelAge}

const tightBudget = 6000

// longest is the length of a program that is run: the model is slow.
const longest = 1000

type program struct {
	rest []byte
	now  time.Time
}

func (p *program) next() byte {
	if len(p.rest) == 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

// tick moves the clock: mostly on, sometimes back, sometimes far.
func (p *program) tick() {
	switch b := p.next(); {
	case b < 200:
		p.now = p.now.Add(time.Duration(b) * 10 * time.Millisecond)
	case b < 240:
		p.now = p.now.Add(-time.Duration(b-200) * 100 * time.Millisecond)
	case b < 248:
		p.now = p.now.Add(time.Minute)
	default:
		p.now = p.now.Add(-time.Minute)
	}
}

func apart(a, b time.Time) time.Duration { return max(a.Sub(b), b.Sub(a)) }

func FuzzParts(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x02a\x00\x01\x01\x00\x02b"))
	f.Add([]byte("\x00\x00\x01\x00\x02a\x00\x00\x01\x00\x02a\x00\x00\x01\x00\x02b\xf9\x01\x01\x00\x02b\x00\x01\x01\x00\x02b"))
	f.Add([]byte("01\xd901\xd9010110\xd91\xd901\xd9"))  // with a part beyond its own total
	f.Add([]byte("010120000000010$00010000010C100102")) // with a part beyond its own total
	f.Fuzz(func(t *testing.T, in []byte) {
		p := &program{rest: in[:min(len(in), longest)], now: second(0)}
		b := NewBudget(0)
		came := map[uint64]map[string]int{} // parts of an id, and how often
		whole := func(s *Set) bool {
			for i := range s.Len() {
				if s.Index(i) != i && !s.Disagree() {
					return false
				}
			}
			return s.Len() >= s.Total() && len(s.Missing(nil)) == 0
		}
		table := NewParts(b, Limits{Age: modelAge}, func(s *Set, why Reason) {
			if s.Again() && s.Len() > 0 {
				return
			}
			if s.Len() == 0 || why == Copied && s.s.owns() || why != Copied && why != Damaged && whole(s) != (why == Settled) && !s.Disagree() && s.Total() > 0 && !s.s.has(isSettling) {
				t.Fatalf("lost %v: %d parts of %d, again %v", why, s.Len(), s.Total(), s.Again())
			}
		})
		small := NewBudget(tightBudget)
		tightParts := NewParts(small, tight, func(s *Set, _ Reason) { s.Missing(nil); joined(s) })
		tightRanges := NewRanges(small, tight, nil)
		var asked time.Time
		for len(p.rest) > 0 {
			p.tick()
			id, flags, index, total, size := uint64(p.next()%4), p.next(), int(p.next()%8), int(p.next()%8), int(p.next())
			payload := append([]byte{'s', byte(index), byte(total)}, bytes.Repeat([]byte{'c', byte(size), flags}, size%32)...)
			if flags&1 != 0 {
				asked = p.now
			}
			part := Part{ID: id, Index: index, Total: total, Header: 3, Variant: 1}
			read := func(b []byte, _ uint8) (Part, bool) {
				return Part{ID: id, Index: int(b[1]), Total: int(b[2]), Header: 3, Variant: 1}, true
			}
			set, verdict := table.Add(key(id), part, payload, []uint64{uint64(len(p.rest))}, p.now, Asked{Newest: asked, Waiting: asked}, read)
			audit(t, b)
			switch n := came[id][string(payload)]; {
			case n == 0 && (verdict == Duplicate || verdict == Late):
				t.Fatalf("a new part is %v", verdict)
			case (verdict == Complete) != (set != nil):
				t.Fatalf("verdict %v with set %v", verdict, set)
			}
			if came[id] == nil {
				came[id] = map[string]int{}
			}
			came[id][string(payload)]++
			if set != nil {
				if !whole(set) {
					t.Fatalf("complete with %d parts of %d, missing %v", set.Len(), set.Total(), set.Missing(nil))
				}
				for i := range set.Len() {
					if came[id][string(set.Payload(i))] == 0 || len(set.PartFrames(i)) != 1 {
						t.Fatalf("part %d is %q from frames %d", i, set.Payload(i), set.PartFrames(i))
					}
				}
				if len(set.Frames()) != set.Len() {
					t.Fatalf("%d frames for %d parts", len(set.Frames()), set.Len())
				}
			}
			for i := range table.t.sets {
				for _, q := range table.t.sets[i].pieces {
					if n := len(table.t.sets[i].frames); int(q.frames+q.count) > n {
						t.Fatalf("a part has frames %d to %d of %d", q.frames, q.frames+q.count, n)
					}
				}
			}

			part.Variant = flags >> 1 & 3
			part.Guess = flags >> 3 & 3
			part.Index -= int(flags >> 3 & 1)
			tightParts.Add(key(id+uint64(flags>>4)), part, payload, make([]uint64, 1+flags%3), p.now, Asked{Newest: asked, Waiting: asked}, read)
			audit(t, small)
			tightRanges.Add(key(id+uint64(flags>>4)), Fragment{Offset: 8 * index, More: total > 0, Data: payload, Frames: make([]uint64, 1), Time: p.now})
			audit(t, small)
			if flags>>6 == 3 {
				tightParts.Expire(p.now)
				audit(t, small)
			}
		}
		table.Flush()
		wantEmpty(t, b)
		tightParts.Flush()
		tightRanges.Flush()
		wantEmpty(t, small)
	})
}

type modelFragment struct {
	offset int
	more   bool
	length int
	data   string
}

func (f modelFragment) end() int { return f.offset + f.length }

type modelRanges struct {
	fragments []modelFragment
	sums      []modelFragment // what it was made of, when done
	first     time.Time
	done      bool
	dups      int
	overlaps  int
	conflicts int
}

// whole fills every byte from the first fragment that covers it.
func (m *modelRanges) whole() (data string, total int, ok bool) {
	total = -1
	for _, f := range m.fragments {
		if !f.more && (total < 0 || f.end() < total) {
			total = f.end()
		}
	}
	if total < 0 {
		return "", 0, false
	}
	var out []byte
	cut := false
	for i := range total {
		covered, known := false, false
		for _, f := range m.fragments {
			if f.offset <= i && i < f.end() {
				covered = true
				if i < f.offset+len(f.data) {
					known = true
					if !cut {
						out = append(out, f.data[i-f.offset])
					}
					break
				}
			}
		}
		if !covered {
			return "", 0, false
		}
		cut = cut || !known
	}
	return string(out), total, true
}

func (m *modelRanges) judge(f modelFragment) (overlap, conflict bool) {
	total, reach := -1, 0
	for _, g := range m.fragments {
		if !g.more && (total < 0 || g.end() < total) {
			total = g.end()
		}
		reach = max(reach, g.end())
		for i := range maxPacket {
			if i >= f.offset && i < f.end() && i >= g.offset && i < g.end() {
				overlap = true
				if i < f.offset+len(f.data) && i < g.offset+len(g.data) && f.data[i-f.offset] != g.data[i-g.offset] {
					conflict = true
				}
			}
			if i >= f.end() {
				break
			}
		}
	}
	if total >= 0 && (f.end() > total || !f.more && f.end() != total) || !f.more && reach > f.end() {
		conflict = true
	}
	return overlap, conflict
}

func FuzzRanges(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x01a\x00\x00\x00\x01\x01b"))
	f.Add([]byte("\x00\x00\x01\x00\x01a\x00\x00\x01\x01\x01b\x00\x00\x00\x02\x01b\x00\x00\x00\x02\x01b"))
	f.Add([]byte("\x00\x00\x01\x00\x03a\xff\x00\x00\x01\x01b\x00\x00\x03\x00\x07a"))
	f.Fuzz(func(t *testing.T, in []byte) {
		p := &program{rest: in[:min(len(in), longest)], now: second(0)}
		b := NewBudget(0)
		lost := map[uint64]int{}
		table := NewRanges(b, Limits{Age: modelAge}, func(f *Fragments, _ Reason) { lost[f.Key().ID]++ })
		small := NewBudget(tightBudget)
		tightRanges := NewRanges(small, tight, func(f *Fragments, _ Reason) { f.Missing(nil); f.Head() })
		model := map[uint64]*modelRanges{}
		modelLost := map[uint64]int{}
		drop := func(id uint64) {
			if m := model[id]; m != nil && !m.done {
				modelLost[id]++
			}
			delete(model, id)
		}
		for len(p.rest) > 0 {
			p.tick()
			id, flags, offset, size, fill := uint64(p.next()%3), p.next(), int(p.next()%8)*8, int(p.next()%4)*8, p.next()
			g := modelFragment{offset: offset, more: flags&1 != 0, length: size}
			if !g.more {
				g.length = max(0, size-int(fill%8))
			}
			g.data = string(bytes.Repeat([]byte{'a' + fill%2}, g.length))
			if flags&4 != 0 {
				g.data = g.data[:len(g.data)/2] // the snap length
			}
			real := Fragment{Offset: g.offset, More: g.more, Length: g.length, Data: []byte(g.data), Frames: []uint64{1}, Time: p.now}
			got, verdict := table.Add(key(id), real)

			want, m := Held, model[id]
			exact := func(h modelFragment) bool { return h.offset == g.offset && h.length == g.length && h.more == g.more }
			same := func(h modelFragment) bool {
				n := min(len(h.data), len(g.data))
				return h.data[:n] == g.data[:n]
			}
			if m != nil && apart(p.now, m.first) > modelAge {
				drop(id)
				m = nil
			}
			if m != nil && m.done && !slices.ContainsFunc(m.sums, func(h modelFragment) bool {
				return h.offset == g.offset && h.more == g.more && h.data == g.data
			}) {
				drop(id)
				m = nil
			}
			if m != nil && !m.done && p.now.Sub(m.first) > time.Second {
				if j := slices.IndexFunc(m.fragments, exact); j >= 0 && !same(m.fragments[j]) {
					drop(id)
					m = nil
				}
			}
			if m == nil {
				m = &modelRanges{first: p.now}
				model[id] = m
			}
			if j := slices.IndexFunc(m.fragments, exact); j >= 0 {
				switch {
				case !same(m.fragments[j]):
					want = Conflict
					m.conflicts++
				case m.done:
					want = Late
					m.dups++
				default:
					want = Duplicate
					m.dups++
				}
			} else {
				if m.done && len(m.fragments) == 0 {
					m.first = p.now
					m.dups, m.overlaps, m.conflicts = 0, 0, 0
				}
				overlap, conflict := m.judge(g)
				m.fragments = append(m.fragments, g)
				if overlap {
					m.overlaps++
				}
				if conflict {
					m.conflicts++
				}
				if m.done {
					want = Late
				}
				if data, total, ok := m.whole(); ok {
					want = Complete
					if got == nil {
						t.Fatalf("verdict %v, the model has the whole", verdict)
					}
					if string(got.Data()) != data || got.Total() != total || got.Duplicates() != m.dups || got.Overlaps() != m.overlaps || got.Conflicts() != m.conflicts {
						t.Fatalf("joined %q of %d bytes with %d duplicates, %d overlaps, %d conflicts, the model %q of %d, %d, %d, %d", got.Data(), got.Total(),
							got.Duplicates(), got.Overlaps(), got.Conflicts(), data, total, m.dups, m.overlaps, m.conflicts)
					}
					if !got.First().Equal(m.first) || len(got.Frames()) != len(m.fragments) {
						t.Fatalf("from %v in %d frames, the model %v in %d", got.First(), len(got.Frames()), m.first, len(m.fragments))
					}
					m.done = true
					m.sums, m.fragments = m.fragments, nil
					m.first = p.now
				}
			}
			if verdict != want {
				t.Fatalf("verdict %v, the model says %v", verdict, want)
			}
			audit(t, b)

			tightRanges.Add(key(id+uint64(flags>>4)), real)
			audit(t, small)
			if flags>>6 == 3 {
				tightRanges.Expire(p.now)
				audit(t, small)
			}
		}
		table.Flush()
		wantEmpty(t, b)
		for id := range model {
			drop(id)
		}
		if fmt.Sprint(lost) != fmt.Sprint(modelLost) {
			t.Fatalf("lost %v, the model %v", lost, modelLost)
		}
		tightRanges.Flush()
		wantEmpty(t, small)
	})
}
