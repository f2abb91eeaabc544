package reassembly

// supersede reports a set whose sender started another reply after the newest request.
// Parts that came again since then belong to the new set, except the part with the given
// index.
func (p *Parts) supersede(i, index int32, newest, now int64) {
	p.giveUp(i, Superseded)
	s := &p.t.sets[i]
	had := cap(s.sums)
	s.remember()
	if cost := 4 * (cap(s.sums) - had); p.t.budget.reserve(&p.t, i, cost) {
		s.charged += cost
	} else {
		s.sums, s.known = nil, 0
		p.t.budget.release(4 * had)
		s.charged -= 4 * had
	}
	s.finished = s.last
	p.cameAgain(i, newest, index, now)
	p.t.sets[i].before = 0
}

// cameAgain restarts a set with those of its parts that came again after since, except the
// part with the given index.
func (p *Parts) cameAgain(i int32, since int64, index int32, now int64) {
	s := &p.t.sets[i]
	pieces, buf, variant, guess := s.pieces, s.buf, s.variant, s.guess
	p.t.restart(i, now, s.before)
	s.variant, s.guess = variant, guess
	for _, q := range pieces {
		if q.again <= since || q.pos == index {
			continue
		}
		data := buf[q.off : q.off+q.size]
		q.off, q.frames, q.count = int32(len(s.buf)), int32(len(s.frames)), 0
		if len(s.frames) < cap(s.frames) {
			s.frames, q.count = append(s.frames, q.againIn), 1
		}
		q.at, q.again, q.copied, q.doubt = q.again, noTime, false, false
		s.buf, s.pieces = append(s.buf, data...), append(s.pieces, q)
	}
	s.recount()
	s.began = now
}
