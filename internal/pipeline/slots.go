package pipeline

import (
	"time"

	"github.com/qdissect/qdissect/internal/stats"
)

// Slots divide the counts of a run by the times of frames. What is known of conversations, servers and clients goes on.
type Slots struct {
	Width time.Duration
	// Counts is called with the number of packets and the counts of a slot so far, at intervals of Every, and when the slot
	// ends.
	Counts func(start time.Time, packets uint64, s *stats.Shards)
	Every  time.Duration

	start   int64 // of the current one
	packets uint64
	told    time.Time
}

// enterSlot ends the current slot if a time is in another one.
func (e *engine) enterSlot(t time.Time) error {
	s := e.o.Slots
	if s == nil || t.IsZero() {
		return nil
	}
	start := t.Truncate(s.Width).UnixNano()
	if start == s.start {
		return nil
	}
	if s.start != 0 {
		if err := e.settle(); err != nil { // the workers are idle then
			return err
		}
		e.tellSlot()
		for _, w := range e.workers {
			var first *stats.Aggregate
			for i := range w.shards {
				w.shards[i].stats = w.shards[i].stats.Next(first)
				first = w.shards[0].stats
			}
		}
		e.stats = e.stats.Next(nil)
	}
	s.start, s.packets = start, e.sum.Packets
	return nil
}

// tellSlot hands over the counts of the current slot. The workers must be idle.
func (e *engine) tellSlot() {
	s := e.o.Slots
	if s == nil || s.start == 0 {
		return
	}
	s.told = e.clock()
	c := stats.Collect(e.aggregates, e.copies())
	start := time.Unix(0, s.start).UTC()
	for _, n := range e.evictions() {
		if n.Second >= start.Unix() {
			c.Lost(n.Second, 0, n.Requests)
		}
	}
	s.Counts(start, e.sum.Packets-s.packets, c)
}

// slots hands over the counts of the current slot if it is time to.
func (e *engine) slots() {
	if s := e.o.Slots; s == nil || e.failed != nil || e.clock().Sub(s.told) < s.Every {
		return
	}
	if e.failed = e.settle(); e.failed == nil {
		e.tellSlot()
	}
}
