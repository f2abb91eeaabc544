package pipeline

import (
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
)

// batch is work for all workers, with their output. Everything that the items point to is
// copied into the batch.
type batch struct {
	items    []work
	bytes    []byte
	frames   []uint64
	findings []dissect.Finding
	errors   []dissect.ICMPError
	last     bool // drain waits until the output has been written
}

// work is an item of a batch, or a sweep.
type work struct {
	item
	order uint64
	mark  bool // start of a sweep
	sweep bool // a sweep through the shards
	end   bool
	now   time.Time
	upTo  uint64 // if not 0, report only what began up to this frame
	share bool   // the analyzers hear each other
}

// chunk is a piece of a worker's output for a batch. Chunks go to the merger and back.
type chunk struct {
	out      []byte
	segments []segment
	err      error // of the reporter
	last     bool  // of the batch
}

// spill is the number of bytes of output that all workers together buffer before they pass
// it to the merger. The output of a datagram can be much longer than the datagram, so a
// batch of forged ones would otherwise need too much memory.
const spill = 1 << 20

// The limits of a batch: large enough to make passing it cheap, small enough to stay in
// the caches.
const (
	batchItems = 2048
	batchBytes = 512 << 10
)

// start starts the workers and the merger. Batches circulate: the reader fills one, every
// worker does its part of it, the merger writes the output in order and returns the batch.
func (e *engine) start() {
	const batches = 4
	const chunks = 3 // of a worker: one is filled, one waits, one is merged
	e.spare = make(chan *batch, batches)
	e.done = make(chan *batch, batches)
	e.merged = make(chan error, 1)
	for range batches {
		e.spare <- new(batch)
	}
	for _, w := range e.workers {
		w.in = make(chan *batch, batches)
		w.full, w.free = make(chan *chunk, chunks), make(chan *chunk, chunks)
		for range chunks {
			w.free <- new(chunk)
		}
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
			case it.share:
				w.publish()
				w.board.wait(w.of)
				w.hear()
				w.endSweep()
			case it.sweep:
				w.sweep(it)
				w.endSweep()
			case int(it.shard)%w.of != w.number:
			default:
				w.do(&it.item)
			}
			if !w.sweeping && len(w.reporter.Bytes()) >= spill/w.of {
				w.pass(false)
			}
		}
		w.pass(true)
	}
}

// pass gives the output since the last call to the merger.
func (w *worker) pass(last bool) {
	c := <-w.free
	c.out = append(c.out[:0], w.reporter.Bytes()...)
	c.segments = append(c.segments[:0], w.segments...)
	c.err, c.last = w.err, last
	w.reporter.Reset()
	w.segments = w.segments[:0]
	w.full <- c
}

// enqueue copies an item into the current batch.
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
	if it.kind == anICMPError {
		b.errors = append(b.errors, *it.icmp)
		b.errors[len(b.errors)-1].Payload = b.keep(it.icmp.Payload)
		b.items[len(b.items)-1].icmp = &b.errors[len(b.errors)-1]
	}
	if it.kind == aLoss {
		l := &b.items[len(b.items)-1].lost
		l.Finding = l.Own(b)
	}
	return e.full()
}

// keep copies bytes into the batch. If the buffer is full it allocates another; earlier
// copies stay valid.
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

// enqueueSweep adds a sweep to the batch, with the packets whose fragments it gives up.
func (e *engine) enqueueSweep(end bool) error {
	order := orderOf(e.frameNo, true)
	e.batch.items = append(e.batch.items, work{order: order, mark: true})
	e.sweepFragments(end)
	e.batch.items = append(e.batch.items, work{order: order, sweep: true, end: end, now: e.now})
	return e.full()
}

// full passes the batch to the workers if it is full.
func (e *engine) full() error {
	if len(e.batch.items) < batchItems && len(e.batch.bytes) < batchBytes || e.sweeping {
		return nil
	}
	return e.handOver()
}

// pass gives the batch to all workers and takes a free one.
func (e *engine) pass() {
	for _, w := range e.workers {
		w.in <- e.batch
	}
	e.done <- e.batch
	e.batch = <-e.spare
}

// handOver passes the batch to the workers and returns an error of the output, if there is
// one by now.
func (e *engine) handOver() error {
	e.pass()
	select {
	case err := <-e.merged:
		return err
	default:
		return nil
	}
}

// drain waits until all output has been written. It must not receive from merged before
// that, because there is only one answer.
func (e *engine) drain() error {
	e.batch.last = true
	e.pass()
	return <-e.merged
}

// merge merges the output of the workers, batch by batch.
func (e *engine) merge() {
	var out []byte
	var failed error
	next := make([]int, len(e.workers))
	chunks := make([]*chunk, len(e.workers))
	write := func() {
		if failed == nil && len(out) > 0 {
			if _, failed = e.out.Write(out); failed != nil {
				e.merged <- failed
			}
		}
		out = out[:0]
	}
	for b := range e.done {
		clear(next)
		for i, w := range e.workers {
			chunks[i] = <-w.full
		}
		for {
			best := -1
			for i := range chunks {
				// Workers never wait for each other, so the next chunk always comes.
				for next[i] == len(chunks[i].segments) && !chunks[i].last {
					e.workers[i].free <- chunks[i]
					chunks[i], next[i] = <-e.workers[i].full, 0
				}
				if s := chunks[i].segments; next[i] < len(s) &&
					(best < 0 || s[next[i]].compare(&chunks[best].segments[next[best]]) < 0) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			s := &chunks[best].segments[next[best]]
			out = append(out, chunks[best].out[s.start:s.end]...)
			next[best]++
			if len(out) >= block {
				write()
			}
		}
		for i, c := range chunks {
			if failed == nil && c.err != nil {
				failed = c.err
				e.merged <- failed
			}
			e.workers[i].free <- c
		}
		last := b.last
		b.last = false
		b.items, b.bytes, b.frames, b.findings, b.errors = b.items[:0], b.bytes[:0], b.frames[:0], b.findings[:0], b.errors[:0]
		if last {
			write()
			if failed == nil {
				e.merged <- nil
			}
		}
		e.spare <- b
	}
}
