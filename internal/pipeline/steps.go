package pipeline

import "github.com/qdissect/qdissect/internal/core"

import "time"

// atOnce is the number of requests, or sixteen times the number of sets of parts, that a
// shard may report at once, which bounds the output in memory after a flood.
const atOnce = 512

// flushInSteps reports incomplete sets and unanswered requests in steps, as long as there
// are many.
func (p *pool) flushInSteps(m moment) error {
	for {
		frame, _, err := p.waiting()
		if err != nil || frame == 0 {
			return err
		}
		if err := p.step(m, sweep{upTo: frame}); err != nil {
			return err
		}
	}
}

// expireInSteps lets time pass up to that of m in steps, as long as much has waited too long.
func (p *pool) expireInSteps(m moment) error {
	var last time.Time
	for {
		_, due, err := p.waiting()
		if err != nil || !due.After(last) || !due.Before(m.time()) { // sets without a time do not expire
			return err
		}
		last = due
		if err := p.step(m, sweep{now: due}); err != nil {
			return err
		}
	}
}

// waiting lets the workers finish and returns the frame up to which all shards may report
// what waits, and the time up to which they may let it expire; 0 if they may at once.
func (p *pool) waiting() (frame uint64, due time.Time, err error) {
	if err := p.settle(); err != nil { // the workers are idle then
		return 0, due, err
	}
	for a := range p.analyzers {
		f, d, more := a.Inner(core.Only{}).Waiting(atOnce)
		if !more {
			continue
		}
		if frame == 0 || f < frame {
			frame = f
		}
		if due.IsZero() || d.Before(due) {
			due = d
		}
	}
	return frame, due, nil
}

// step does a part of a sweep.
func (p *pool) step(m moment, s sweep) error {
	m.sweep = true
	order := m.order()
	p.beginSweep(order)
	err := p.endSweep(order, s)
	if err == nil && len(p.batch.items) > 0 {
		err = p.handOver() // each step is a batch of its own, to keep the output in order
	}
	return err
}

// A crowd tells when so much may have waited too long since the last sweep that it is
// reported in steps: when frames came much closer to each other than they do now, such as
// before the end of a flood.
type crowd struct {
	times [32]int64 // of the last sweeps: up to 8192 frames, half a step of all shards
	n     int
	least int64 // the shortest time that so many sweeps took
	at    int64 // when that was
}

// crowdLasts is for how long a crowd may wait: requests some seconds, sets of parts
// half a minute.
const crowdLasts = int64(2 * time.Minute)

// passes notes a sweep and reports whether the time since the one before may be too long
// for what waits.
func (c *crowd) passes(at time.Time) bool {
	now := at.UnixNano()
	last := c.times[(c.n+len(c.times)-1)%len(c.times)]
	if now < last { // frames out of order, or another file
		if last-now > crowdLasts {
			*c = crowd{}
		}
		return false
	}
	span := now - c.times[c.n%len(c.times)]
	c.times[c.n%len(c.times)] = now
	c.n++
	if c.n <= len(c.times) {
		return false
	}
	many := c.at != 0 && last-c.at < crowdLasts && now-last > c.least
	if c.at == 0 || now-c.at >= crowdLasts || span < c.least {
		c.least, c.at = span, now
	}
	return many
}
