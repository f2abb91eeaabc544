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
	s := e.o.Counts.Slots
	if s == nil || t.IsZero() {
		return nil
	}
	start := t.Truncate(s.Width).UnixNano()
	if start == s.start {
		return nil
	}
	if s.start != 0 {
		if err := e.pool.settle(); err != nil { // the workers are idle then
			return err
		}
		e.tellSlot()
		e.counts.next(len(e.pool.workers))
	}
	s.start, s.packets = start, e.census.sum.Packets
	return nil
}

// tellSlot hands over the counts of the current slot. The workers must be idle.
func (e *engine) tellSlot() {
	s := e.o.Counts.Slots
	if s == nil || s.start == 0 {
		return
	}
	s.told = e.o.Events.Clock()
	start := time.Unix(0, s.start).UTC()
	s.Counts(start, e.census.sum.Packets-s.packets, e.counts.collect(e.pool, start.Unix()))
}

// slots hands over the counts of the current slot if it is time to.
func (e *engine) slots() {
	if s := e.o.Counts.Slots; s == nil || e.failed != nil || e.o.Events.Clock().Sub(s.told) < s.Every {
		return
	}
	if e.failed = e.pool.settle(); e.failed == nil {
		e.tellSlot()
	}
}
