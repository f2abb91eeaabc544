package pipeline

import (
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
)

// batch is work for all workers, and what they made of it. Whatever the items
// point to is copied into the batch.
type batch struct {
	items    []work
	bytes    []byte
	frames   []uint64
	findings []dissect.Finding
	results  []result
	left     chan struct{} // one for each worker that is done
	last     bool          // the output must be written before going on
}

// work is an item of a batch, or a sweep.
type work struct {
	item
	order uint64
	mark  bool // a sweep begins
	sweep bool // and goes through the shards
	end   bool
	now   time.Time
}

// result is what one worker wrote for a batch.
type result struct {
	out      []byte
	segments []segment
}

// The size of a batch: enough to make handing it over cheap, little enough to
// stay in the caches.
const (
	batchItems = 2048
	batchBytes = 512 << 10
)

// start starts the workers and what merges their output. Batches go round: the
// reader fills one, every worker does its part of it, the merger writes the
// output in order and gives it back.
func (e *engine) start() {
	const batches = 4
	n := len(e.workers)
	e.spare = make(chan *batch, batches)
	e.done = make(chan *batch, batches)
	e.merged = make(chan error, 1)
	for range batches {
		e.spare <- &batch{results: make([]result, n), left: make(chan struct{}, n)}
	}
	for _, w := range e.workers {
		w.in = make(chan *batch, batches)
		e.running.Go(w.run)
	}
	e.running.Go(e.merge)
	e.batch = <-e.spare
}

// close ends the goroutines.
func (e *engine) close() {
	if e.spare == nil {
		return
	}
	for _, w := range e.workers {
		close(w.in)
	}
	close(e.done)
	e.running.Wait()
}

// run does the worker's part of every batch.
func (w *worker) run() {
	for b := range w.in {
		w.segments = w.segments[:0]
		for i := range b.items {
			it := &b.items[i]
			w.order = it.order
			switch {
			case it.mark:
				w.beginSweep()
			case it.sweep:
				w.sweep(it.now, it.end)
				w.endSweep()
			case int(it.shard)%w.of != w.number:
			default:
				w.do(&it.item)
			}
		}
		r := &b.results[w.number]
		r.out = append(r.out[:0], w.reporter.Bytes()...)
		r.segments = append(r.segments[:0], w.segments...)
		w.reporter.Reset()
		b.left <- struct{}{}
	}
}

// enqueue copies an item into the batch that is being filled.
func (e *engine) enqueue(it *item) error {
	b := e.batch
	b.items = append(b.items, work{item: *it, order: orderOf(e.frameNo, e.sweeping)})
	d := &b.items[len(b.items)-1].d
	d.Payload = b.keep(d.Payload)
	if len(d.Frames) > 0 {
		n := len(b.frames)
		b.frames = append(b.frames, d.Frames...)
		d.Frames = b.frames[n:len(b.frames):len(b.frames)]
	}
	if len(d.Findings) > 0 {
		n := len(b.findings)
		for _, f := range d.Findings {
			b.findings = append(b.findings, f.Own(b))
		}
		d.Findings = b.findings[n:len(b.findings):len(b.findings)]
	}
	if it.loss {
		l := &b.items[len(b.items)-1].lost
		l.Finding = l.Own(b)
	}
	return e.full()
}

// keep copies bytes into the batch. When the buffer is full a new one is begun:
// what was copied before stays where it is.
func (b *batch) keep(p []byte) []byte {
	if len(p) == 0 {
		return p
	}
	if cap(b.bytes)-len(b.bytes) < len(p) {
		b.bytes = make([]byte, 0, max(batchBytes+(64<<10), len(p)))
	}
	n := len(b.bytes)
	b.bytes = append(b.bytes, p...)
	return b.bytes[n:len(b.bytes):len(b.bytes)]
}

// Keep copies text into the batch.
func (b *batch) Keep(s string) string {
	return view(b.keep(unsafe.Slice(unsafe.StringData(s), len(s))))
}

// enqueueSweep puts a sweep into the batch. The fragments that are given up
// belong to it.
func (e *engine) enqueueSweep(end bool) error {
	order := orderOf(e.frameNo, true)
	e.batch.items = append(e.batch.items, work{order: order, mark: true})
	e.sweepFragments(end)
	e.batch.items = append(e.batch.items, work{order: order, sweep: true, end: end, now: e.now})
	return e.full()
}

// full hands the batch to the workers if it is full.
func (e *engine) full() error {
	if len(e.batch.items) < batchItems && len(e.batch.bytes) < batchBytes || e.sweeping {
		return nil
	}
	return e.handOver()
}

// pass gives the batch to all workers and takes the next one.
func (e *engine) pass() {
	for _, w := range e.workers {
		w.in <- e.batch
	}
	e.done <- e.batch
	e.batch = <-e.spare
}

// handOver passes the batch on and tells whether the output has failed by now.
func (e *engine) handOver() error {
	e.pass()
	select {
	case err := <-e.merged:
		return err
	default:
		return nil
	}
}

// drain waits until everything has been written. It must not look into merged
// before it waits for it: the one answer would be gone.
func (e *engine) drain() error {
	e.batch.last = true
	e.pass()
	return <-e.merged
}

// merge puts the output of the workers together, batch by batch.
func (e *engine) merge() {
	var out []byte
	var failed error
	next := make([]int, len(e.workers))
	write := func() {
		if failed == nil && len(out) > 0 {
			if _, failed = e.o.Out.Write(out); failed != nil {
				e.merged <- failed
			}
		}
		out = out[:0]
	}
	for b := range e.done {
		for range e.workers {
			<-b.left
		}
		clear(next)
		for {
			best := -1
			for i := range b.results {
				if s := b.results[i].segments; next[i] < len(s) &&
					(best < 0 || s[next[i]].compare(&b.results[best].segments[next[best]]) < 0) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			s := &b.results[best].segments[next[best]]
			out = append(out, b.results[best].out[s.start:s.end]...)
			next[best]++
			if len(out) >= block {
				write()
			}
		}
		last := b.last
		b.last = false
		b.items, b.bytes, b.frames, b.findings = b.items[:0], b.bytes[:0], b.frames[:0], b.findings[:0]
		if last {
			write()
			if failed == nil {
				e.merged <- nil
			}
		}
		e.spare <- b
	}
}
