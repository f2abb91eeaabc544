package pipeline

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/stats"
)

// counted is a worker whose shards have aggregates. Only these need the outcome of every request.
type counted struct{ *worker }

// Exchange counts what became of a request.
func (c *counted) Exchange(x *dissect.Exchange) {
	c.stats().Exchange(x)
	c.figures.exchange(x)
}

// restricted is a worker that counts only what was chosen.
type restricted struct{ *worker }

// Exchange counts what became of a request.
func (r restricted) Exchange(x *dissect.Exchange) { r.figures.exchange(x) }

// Copy counts a duplicate.
func (c *counted) Copy(d *dissect.Datagram, back bool) { c.stats().Copy(d, back) }

// stats returns the aggregate of the current shard, nil without Options.Stats.
func (w *worker) stats() *stats.Aggregate { return w.served.stats }

// aggregates yields the aggregates in the order of shards, and then that of the datagrams that no shard gets. The workers
// must be idle.
func (e *engine) aggregates(yield func(*stats.Aggregate) bool) {
	n := len(e.workers)
	for i := range shards {
		if !yield(e.workers[i%n].shards[i/n].stats) {
			return
		}
	}
	yield(e.stats)
}

// foldStats adds all aggregates to one. The workers must be idle.
func (e *engine) foldStats(into *stats.Aggregate) {
	for a := range e.aggregates {
		into.Merge(a)
	}
	into.Settle(e.aggregates, !e.mostlyDuplicates())
	for _, s := range e.evictions() {
		into.Lost(s.Second, 0, s.Requests) // what else was evicted had been counted
	}
}

// collect returns the counts of each shard. The workers must be idle.
func (e *engine) collect() *stats.Shards {
	s := stats.Collect(e.aggregates, e.copies())
	for _, n := range e.evictions() {
		s.Lost(n.Second, 0, n.Requests)
	}
	return s
}

// snapshotShare is the least time between snapshots, in times of what the last one took.
const snapshotShare = 20

// snapshot hands over the counts so far, if it is time to.
func (e *engine) snapshot() {
	if e.o.Snapshot == nil || e.failed != nil {
		return
	}
	began := e.clock()
	if began.Before(e.snapped) {
		return
	}
	if e.failed = e.settle(); e.failed != nil { // the workers are idle then
		return
	}
	sum := stats.New()
	e.foldStats(sum)
	e.foldTalks()
	e.o.Snapshot(e.summary(), sum)
	now := e.clock()
	e.snapped = now.Add(max(e.o.Every, snapshotShare*now.Sub(began)))
}

// countDropped records what the kernel dropped since the last call.
func (e *engine) countDropped() {
	if e.stats == nil || e.o.Live == nil {
		return
	}
	if _, n := e.o.Live.Counts(); n > e.dropped {
		e.stats.Lost(e.now.Unix(), n-e.dropped, 0)
		e.dropped = n
	}
}
