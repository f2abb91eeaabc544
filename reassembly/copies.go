package reassembly

import (
	"math/bits"
	"slices"
	"time"
)

// copyWindow is how long after the end of a set the network or the capture produces copies
// of its parts: captures on mirror ports and on the interface "any" contain every packet
// twice, milliseconds apart.
const copyWindow = int64(50 * time.Millisecond)

// CaptureDelay is the largest delay of copies made by the capture.
const CaptureDelay = 12 * time.Millisecond

// addCopy adds a part that also belongs to remembered sets, those whose bits are set in
// of. It may be a part of set i, which is being collected and has an equal part. Otherwise
// it is a late copy, or a part of the same message sent again. Only a message sent again
// becomes complete, so addCopy collects the copies of each remembered set in a set of
// their own.
func (p *Parts) addCopy(i int32, of uint8, in *incoming) (*Set, Verdict) {
	s := p.t.sets[i]
	before := origin{key: s.key, finished: s.finished, tag: s.tag, tagged: 1 << (s.known - 1)}
	from := int32(0)
	for g := range before.spaces {
		before.spaces[g], before.parts[g] = s.generation(g), s.ends[g]-from
		from = s.ends[g]
	}
	if !s.has(isDone) && (in.Total == 0 || s.total == unknown || in.Total == int(s.total) || in.Variant == 0) {
		if set, v := p.put(i, in, true); v == Complete {
			return set, v
		}
		before.shared = slices.ContainsFunc(p.t.sets[i].pieces, func(q piece) bool { return q.at == in.now && q.copied })
	}
	if in.waiting > in.now && !in.doubled {
		return nil, Late
	}
	verdict := Late
	for ; of != 0; of &= of - 1 {
		one := of & -of
		j, set, v := p.setAside(one, &before, in)
		switch v {
		case Complete:
			return p.repeated(j, one, &before, set, in)
		case Held:
			verdict = Held
		}
	}
	return nil, verdict
}

// An origin describes the remembered sets for their sets of copies.
type origin struct {
	key      Key
	finished int64
	spaces   [generations]uint32
	parts    [generations]int32 // their numbers of parts
	tag      uint32
	tagged   uint8 // bit of the set with the tag
	shared   bool  // the set being collected has the copy as well
}

// setAside adds a part to the set of copies of one remembered set. It also returns the
// slot of that set.
func (p *Parts) setAside(of uint8, before *origin, in *incoming) (int32, *Set, Verdict) {
	k, g := before.key, bits.TrailingZeros8(of)
	k.Space |= before.spaces[g]
	j, known := p.live(k, in.now)
	if in.Last && in.Index < 0 && before.parts[g] > 1 && (!known || len(p.t.sets[j].pieces) == 0) {
		return none, nil, Late // where nothing numbers the parts, the others come first if the message does
	}
	if known {
		if s := p.t.sets[j]; !in.doubled && in.waiting > s.last || s.over(in.now) {
			p.t.drop(j, Copied)
			known = false
		}
	}
	if !known {
		var ok bool
		if j, ok = p.t.open(k, in.now); !ok {
			return none, nil, Late
		}
		s := p.t.sets[j]
		s.delay = in.now - before.finished
		s.setIf(isOfCopies, true)
		if of == before.tagged {
			s.tag = before.tag
		}
	}
	s := p.t.sets[j]
	s.delay = min(s.delay, in.now-before.finished)
	set, v := p.put(j, in, false)
	s = p.t.sets[j]
	s.setIf(isShared, s.has(isShared) || before.shared)
	return j, set, v
}

// over reports whether a set of copies was made by the capture and the time for further
// copies has passed.
func (s *set) over(now int64) bool { return s.delay <= copyWindow && now-s.last > copyWindow }

// repeated returns a complete set of copies. If the capture holds everything twice, every
// other set was made by the capture and is dropped.
func (p *Parts) repeated(j int32, of uint8, before *origin, set *Set, in *incoming) (*Set, Verdict) {
	base, known := p.t.find(before.key)
	if !known {
		return set, Complete
	}
	s := p.t.sets[base]
	if in.doubled {
		if s.rounds ^= of; s.rounds&of != 0 {
			p.t.borrowed = none
			p.nextRound(j, in.now)
			return nil, Late
		}
	}
	s.finished = in.now
	return set, Complete
}

// takeOver moves the collected copies of the newest set into set i, which begins with a
// new part: the two messages may have equal parts.
func (p *Parts) takeOver(i int32, in *incoming) {
	s := p.t.sets[i]
	if s.known == 0 {
		return
	}
	k := s.key
	k.Space |= s.generation(int(s.known) - 1)
	j, known := p.t.find(k)
	if !known {
		return
	}
	from := p.t.sets[j]
	if from.over(in.now) {
		p.t.drop(j, Copied)
		return
	}
	if in.Variant != 0 && from.variant != 0 && in.Variant != from.variant || in.Total > 0 && from.total != unknown && in.Total != int(from.total) {
		return
	}
	variant, guess := from.variant, from.guess
	for n := 0; n < len(from.pieces); n++ { // hold may evict from
		q := from.pieces[n]
		if q.at < in.waiting {
			continue // it answers no waiting request
		}
		q.copied, q.doubt = true, s.soon(q.at)
		if !p.t.hold(i, q, from.bytesOf(&q), from.framesOf(&q), q.at) {
			break
		}
	}
	s.variant, s.guess = variant, guess
	s.recount()
	if _, known := p.t.find(k); known {
		p.t.close(j)
	}
}

// soon reports whether a part comes so soon after the previous set that it can be a copy
// of one of its parts.
func (s *set) soon(at int64) bool { return s.finished != noTime && at-s.finished <= copyWindow }

// dropCopies empties a set that consists of copies from before the newest request, because
// the next parts belong to the reply to that request. The sets of copies still have these
// parts and report them if needed.
func (p *Parts) dropCopies(s *set) {
	for len(s.pieces) > 0 {
		s.remove(len(s.pieces) - 1)
	}
	k := s.key
	for g := range int(s.known) {
		k.Space = s.key.Space | s.generation(g)
		if j, known := p.t.find(k); known {
			p.t.sets[j].setIf(isShared, false)
		}
	}
}

// nextRound restarts a complete set of copies with the parts that came more than once.
func (p *Parts) nextRound(i int32, now int64) {
	if p.cameAgain(i, noTime, -1, now); len(p.t.sets[i].pieces) == 0 {
		p.t.close(i)
	}
}
