package pipeline

import (
	"io"
	"os"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// tickTime is how long output may stay in buffers during a live capture. Together with
// LateTime and QuietTime, by which frames are delayed, the output should feel immediate.
const tickTime = capture.LateTime / 2

// ticks are the times at which something is done regularly.
type ticks struct {
	dirty   bool // frames came since the last tick
	last    time.Time
	watched time.Time
	snapped time.Time // when the next snapshot may be made
}

// live dissects frames from interfaces. Time is that of the frames, or that of the clock
// while no frames come.
func (e *engine) live(src Live) error {
	c, until, err := e.beginLive(src)
	if err != nil {
		return err
	}
	stop := e.reading.stop
	unwanted := uint64(0)
	var f capture.Frame
	for !e.done() {
		select {
		case <-stop:
			// Frames from before the signal are still dissected.
			stop = nil
			if now := e.o.Events.Clock(); until.IsZero() || now.Before(until) {
				until = now
			}
		default:
		}
		err := src.Next(&f)
		if err == capture.ErrQuiet {
			now := src.Complete()
			if err := e.quiet(now); err != nil {
				return err
			}
			if !until.IsZero() && now.After(until) {
				break
			}
			continue
		}
		if err != nil {
			e.o.Trouble(err)
			break
		}
		if !until.IsZero() && f.Time.UTC().After(until) {
			break
		}
		if c.Start.IsZero() {
			c.Start = f.Time.UTC()
			if err := e.origins(c); err != nil {
				return err
			}
		}
		if e.o.Frames.Filter != nil && packet.IsICMP(f.LinkType, f.Data) && !e.wanted(&f) {
			unwanted++
			continue
		}
		f.Number -= unwanted // numbers as in a file of the wanted frames
		if err := e.take(&f); err != nil {
			return err
		}
		if due(e.at.time().Sub(e.ticks.last), tickTime) {
			e.tick(e.at.time())
		}
	}
	if e.failed != nil {
		return e.failed
	}
	return e.flush()
}

// beginLive begins a live capture. It returns the time of the last frame; zero means no
// end.
func (e *engine) beginLive(src Live) (c report.Capture, until time.Time, err error) {
	began := e.o.Events.Clock()
	if s, ok := src.(interface{ Began() time.Time }); ok {
		began = s.Began() // frames may have come since then
	}
	e.at.now, e.swept, e.ticks.last = began.UnixNano(), began.UnixNano(), began
	c = report.Capture{File: e.o.Source.Name}
	if link, ok := src.LinkType(); ok {
		c.LinkType = capture.LinkTypeName(link)
	}
	e.census.sum.Inputs++
	if err := e.begin(c); err != nil {
		return c, until, err
	}
	if e.o.Source.Duration > 0 {
		until = began.Add(e.o.Source.Duration)
	}
	return c, until, nil
}

// origins tells the reporters of messages, once it is known, from when relative
// times count. That a capture begins has been told already.
func (e *engine) origins(c report.Capture) error {
	if err := e.pool.settle(); err != nil { // the workers are idle then
		return err
	}
	for _, w := range e.pool.workers {
		if err := w.out.reporter.Begin(c); err != nil {
			return err
		}
		w.out.reporter.Reset()
	}
	return nil
}

// quiet does the work that depends on time while no frames come. Later frames are not
// older than now.
func (e *engine) quiet(now time.Time) error {
	if now.After(e.at.time()) {
		e.at.now = now.UnixNano()
	}
	if e.at.now-e.swept >= int64(sweepTime) {
		e.swept = e.at.now
		e.at.frame = e.census.sum.Packets + 1 // after the last frame
		if err := e.sweep(false); err != nil {
			return err
		}
		e.ticks.dirty = true
	}
	if err := e.enterSlot(now); err != nil {
		return err
	}
	if e.keeper != nil {
		e.keeper.advance(e.at.time())
	}
	e.tick(e.at.time())
	return e.failed
}

// tick writes the output so far and reports progress. It stores errors in failed, because
// some callers cannot return them.
func (e *engine) tick(now time.Time) {
	t, on := e.ticks, e.o.Events
	t.last = now
	if e.failed != nil {
		return
	}
	if t.dirty || e.safe.dirty {
		t.dirty, e.safe.dirty = false, false
		if e.failed = e.pool.settle(); e.failed != nil {
			return
		}
		e.safe.flush()
	}
	if on.Watch != nil && now.Sub(t.watched) >= on.Every {
		t.watched = now
		if e.failed = e.pool.settle(); e.failed == nil {
			on.Watch(e.summary())
		}
	}
	e.snapshot()
	e.slots()
}

// snapshotShare is the least time between snapshots, in times of what the last one took.
const snapshotShare = 20

// snapshot hands over the counts so far, if it is time to.
func (e *engine) snapshot() {
	on := e.o.Events
	if on.Snapshot == nil || e.failed != nil {
		return
	}
	began := on.Clock()
	if began.Before(e.ticks.snapped) || on.Idle != nil && on.Idle() {
		return
	}
	if e.failed = e.pool.settle(); e.failed != nil { // the workers are idle then
		return
	}
	sum := stats.New()
	e.counts.fold(sum, e.pool)
	e.foldTalks()
	on.Snapshot(e.summary(), sum)
	now := on.Clock()
	e.ticks.snapped = now.Add(max(on.Every, snapshotShare*now.Sub(began)))
}

// stdin returns a reader of the standard input. A pipe is read in a goroutine, so that
// output is written while the pipe is idle and the run can be stopped.
func (e *engine) stdin() io.Reader {
	f, ok := e.o.Stdin.(*os.File)
	if !ok {
		return e.o.Stdin
	}
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		return f
	}
	return e.beside(f)
}

// beside returns a reader of src, which is read in a goroutine.
func (e *engine) beside(src io.Reader) io.Reader {
	if !e.reading.late {
		e.reading.stop, e.reading.late = later(e.reading.stop), true
	}
	p := &pipe{e: e, full: make(chan []byte), empty: make(chan []byte, 2), timer: time.NewTimer(0)}
	for range cap(p.empty) {
		p.empty <- make([]byte, pipeBuffer)
	}
	now := e.o.Events.Clock()
	e.ticks.last, e.ticks.watched = now, now
	go p.fill(src)
	return p
}

// stopTime is how long a pipe is read after a signal. ^C also reaches the program at the
// other end, which then writes the data that it holds.
const stopTime = time.Second

// later returns a channel that is closed stopTime after stop.
func later(stop <-chan struct{}) <-chan struct{} {
	if stop == nil {
		return nil
	}
	c := make(chan struct{})
	go func() {
		<-stop
		time.Sleep(stopTime)
		close(c)
	}()
	return c
}

// pipe is a reader that ticks at least every tickTime.
type pipe struct {
	e     *engine
	full  chan []byte
	empty chan []byte
	chunk []byte // the rest of the last chunk
	whole []byte // the last chunk
	err   error
	timer *time.Timer
}

const pipeBuffer = 256 << 10

// fill reads src ahead. If the reader stops, its last read blocks until the program ends.
func (p *pipe) fill(src io.Reader) {
	defer close(p.full)
	for b := range p.empty {
		n, err := src.Read(b[:cap(b)])
		p.full <- b[:n]
		if err != nil {
			p.err = err
			return
		}
	}
}

// Read returns the next bytes of the pipe. It returns io.EOF when the run has been
// stopped.
func (p *pipe) Read(b []byte) (int, error) {
	for len(p.chunk) == 0 {
		if p.whole != nil {
			p.empty <- p.whole
			p.whole = nil
		}
		now := p.e.o.Events.Clock()
		if due(now.Sub(p.e.ticks.last), tickTime) {
			p.e.tick(now)
		}
		if p.e.ended() {
			return 0, io.EOF
		}
		p.timer.Reset(tickTime)
		select {
		case chunk, ok := <-p.full:
			if !ok {
				return 0, p.err
			}
			p.chunk, p.whole = chunk, chunk
		case <-p.timer.C:
		case <-p.e.reading.stop:
		}
	}
	n := copy(b, p.chunk)
	p.chunk = p.chunk[n:]
	return n, nil
}

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
