package pipeline

import (
	"slices"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// batch is work for all workers, with their output. Everything that the items point to is
// copied into the batch.
type batch struct {
	items    []item
	bytes    []byte
	frames   []uint64
	findings []dissect.Finding
	errors   []dissect.ICMPError
	losses   []loss
	sweeps   []sweep
	last     bool // drain waits until the output has been written
}

// clear forgets the work.
func (b *batch) clear() {
	b.items, b.bytes, b.frames, b.findings, b.errors = b.items[:0], b.bytes[:0], b.frames[:0], b.findings[:0], b.errors[:0]
	b.losses, b.sweeps = b.losses[:0], b.sweeps[:0]
}

// A sweep lets the shards report what has waited too long.
type sweep struct {
	now  time.Time
	end  bool   // of the input: everything that waits
	upTo uint64 // if not 0, report only what began up to this frame
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
// the caches. That of the only worker is small: what the processor has to fetch again is the code that reads
// frames, and the code of the analyzers, once for each batch and not for each frame.
const (
	batchItems = 2048
	batchBytes = 512 << 10
	aloneItems = 32
	aloneBytes = 16 << 10
)

// start starts the workers and the merger. Batches circulate: the reader fills one, every
// worker does its part of it, the merger writes the output in order and returns the batch.
func (p *pool) start() {
	const batches = 4
	const chunks = 3 // of a worker: one is filled, one waits, one is merged
	p.spare = make(chan *batch, batches)
	p.done = make(chan *batch, batches)
	p.merged = make(chan error, 1)
	for range batches {
		p.spare <- new(batch)
	}
	for _, w := range p.workers {
		w.in = make(chan *batch, batches)
		w.full, w.free = make(chan *chunk, chunks), make(chan *chunk, chunks)
		for range chunks {
			w.free <- new(chunk)
		}
		p.running.Go(w.run)
	}
	p.running.Go(p.merge)
	p.batch, p.items, p.bytes = <-p.spare, batchItems, batchBytes
}

// close ends the goroutines.
func (p *pool) close() {
	if p.spare == nil {
		return
	}
	for _, w := range p.workers {
		close(w.in)
	}
	close(p.done)
	p.running.Wait()
}

// run does the worker's part of every batch.
func (w *worker) run() {
	for b := range w.in {
		w.out.segments = w.out.segments[:0]
		for i := range b.items {
			w.part(&b.items[i])
			if !w.out.sweeping && len(w.out.reporter.Bytes()) >= spill/w.of {
				w.pass(false)
			}
		}
		w.pass(true)
	}
}

// part does the worker's part of some work.
func (w *worker) part(it *item) {
	w.out.order = it.order
	switch it.kind {
	case aMark:
		w.out.beginSweep()
	case aShare:
		w.share()
		w.out.endSweep()
	case aSweep:
		w.sweep(it.sweep)
		w.out.endSweep()
	default:
		if int(it.shard)%w.of == w.number {
			w.do(it)
		}
	}
}

// pass gives the output since the last call to the merger.
func (w *worker) pass(last bool) {
	o, c := w.out, <-w.free
	c.out = append(c.out[:0], o.reporter.Bytes()...)
	c.segments = append(c.segments[:0], o.segments...)
	c.err, c.last = o.err, last
	o.reporter.Reset()
	o.segments = o.segments[:0]
	w.full <- c
}

// next returns the place of the next item in the current batch, whose datagram is that of an earlier one.
func (p *pool) next() *item {
	b := p.batch
	n := len(b.items)
	b.items = slices.Grow(b.items, 1)
	return &b.items[:n+1][n]
}

// keepRest copies what few items point to.
func (b *batch) keepRest(it *item) {
	d, n, k := &it.d, len(b.frames), len(b.findings)
	b.frames = append(b.frames, d.Frames...)
	d.Frames = b.frames[n:len(b.frames):len(b.frames)]
	for _, f := range d.Findings {
		b.findings = append(b.findings, f.Own(b))
	}
	d.Findings = b.findings[k:len(b.findings):len(b.findings)]
	if it.kind == anICMPError {
		b.errors = append(b.errors, *it.icmp)
		it.icmp = &b.errors[len(b.errors)-1]
		it.icmp.Payload = b.keep(it.icmp.Payload)
	}
	if it.kind == aLoss || it.kind == aTunnelLoss {
		b.losses = append(b.losses, *it.lost)
		l := &b.losses[len(b.losses)-1]
		l.Finding = l.Own(b)
		it.lost = l
	}
}

// keep copies bytes into the batch. If the buffer is full it allocates another; earlier
// copies stay valid.
func (b *batch) keep(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	if cap(b.bytes)-len(b.bytes) < len(text) {
		b.bytes = make([]byte, 0, max(2*cap(b.bytes), aloneBytes+(64<<10), len(text)))
	}
	n := len(b.bytes)
	b.bytes = append(b.bytes, text...)
	return b.bytes[n:len(b.bytes):len(b.bytes)]
}

// Keep copies text into the batch.
func (b *batch) Keep(s string) string {
	return nettext.View(b.keep(unsafe.Slice(unsafe.StringData(s), len(s))))
}

// full passes the batch to the workers if it is full.
func (p *pool) full() error {
	if len(p.batch.items) < p.items && len(p.batch.bytes) < p.bytes {
		return nil
	}
	return p.handOver()
}

// pass gives the batch to all workers and takes a free one.
func (p *pool) pass() {
	for _, w := range p.workers {
		w.in <- p.batch
	}
	p.done <- p.batch
	p.batch = <-p.spare
}

// handOver passes the batch to the workers and returns an error of the output, if there is
// one by now.
func (p *pool) handOver() error {
	if p.spare == nil {
		return p.work()
	}
	p.pass()
	select {
	case err := <-p.merged:
		return err
	default:
		return nil
	}
}

// work lets the only worker do the batch.
func (p *pool) work() error {
	w, b := p.workers[0], p.batch
	for i := range b.items {
		w.part(&b.items[i])
	}
	if !w.out.sweeping && w.out.err == nil && len(w.out.reporter.Bytes()) >= block {
		w.out.err = p.write(w.out.reporter)
	}
	b.clear()
	return w.out.err
}

// merge merges the output of the workers, batch by batch.
func (p *pool) merge() {
	var out []byte
	var failed error
	next := make([]int, len(p.workers))
	chunks := make([]*chunk, len(p.workers))
	write := func() {
		if failed == nil && len(out) > 0 {
			if _, failed = p.out.Write(out); failed != nil {
				p.merged <- failed
			}
		}
		out = out[:0]
	}
	for b := range p.done {
		clear(next)
		for i, w := range p.workers {
			chunks[i] = <-w.full
		}
		for {
			best := -1
			for i := range chunks {
				// Workers never wait for each other, so the next chunk always comes.
				for next[i] == len(chunks[i].segments) && !chunks[i].last {
					p.workers[i].free <- chunks[i]
					chunks[i], next[i] = <-p.workers[i].full, 0
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
				p.merged <- failed
			}
			p.workers[i].free <- c
		}
		last := b.last
		b.last = false
		b.clear()
		if last {
			write()
			if failed == nil {
				p.merged <- nil
			}
		}
		p.spare <- b
	}
}
