package reassembly

// keepBack defers a set that is complete with parts that may be late copies of the
// set before: the right parts may still come.
func (p *Parts) keepBack(i int32) {
	if p.settling != i {
		p.release()
	}
	p.settling = i
	p.t.sets[i].settling = true
}

// settle hands out the set that was kept back, once the time of copies is over.
func (p *Parts) settle(now int64) {
	if p.settling != none && now-p.t.sets[p.settling].last > copyWindow {
		p.release()
	}
}

// release hands out the set that was kept back, if it still is.
func (p *Parts) release() {
	i := p.settling
	if p.settling = none; i == none || !p.t.sets[i].settling {
		return
	}
	p.giveUp(i, Settled)
	s := &p.t.sets[i]
	s.settling, s.finished, s.finishedIn = false, s.last, lastOf(s.frames)
	s.remember()
	p.t.finish(i)
}
