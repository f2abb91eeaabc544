package reassembly

// keepBack defers a set that is complete with parts that may be late copies of the
// previous set: the real parts may still come.
func (p *Parts) keepBack(i int32) {
	if p.settling != i {
		p.release()
	}
	p.settling = i
	p.t.sets[i].settling = true
}

// settle reports the deferred set once the time for copies is over.
func (p *Parts) settle(now int64) {
	if p.settling != none && now-p.t.sets[p.settling].last > copyWindow {
		p.release()
	}
}

// release reports the deferred set, if there is one.
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
