// Package pipeline runs captures through all steps: it reads frames, decodes them,
// dissects the datagrams and writes the output.
//
// One goroutine reads frames and decodes them down to UDP. Datagrams are distributed by
// their addresses over a fixed number of shards, each with its own analyzer; each worker
// serves several shards. A conversation stays in its shard, and the output of a shard does
// not depend on its worker, so the output is the same for every number of workers. It is
// merged in the order of frames.
//
// A worker hands the messages of a shard to a list of sinks: counts, conversations, what
// saves frames, and last the reporter.
package pipeline

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// errEnough ends a run after Options.Count messages.
var errEnough = errors.New("enough messages")

// Run dissects all inputs, one after the other. Unless they are a series, each starts with
// empty state. The error is that of Out or of the configuration; errors of inputs go to
// Options.Trouble.
func Run(o Options) (*report.Summary, error) {
	sum, err := run(o)
	if sum != nil && sum.Panics > 0 && o.Trouble != nil {
		o.Trouble(PanicError(sum.Panics))
	}
	return sum, err
}

func run(o Options) (*report.Summary, error) {
	e, err := newEngine(&o)
	if err != nil {
		return nil, err
	}
	defer e.pool.close()
	if live := e.o.live(); live != nil {
		err = e.live(live)
	} else if o.Source != nil {
		err = e.dissect(0, o.Source.Name, o.Source)
	}
	for i, name := range o.Inputs {
		if err = e.input(i, name); err != nil || e.ended() {
			break
		}
	}
	e.enough = err == errEnough
	if err != nil && !e.enough {
		return nil, err
	}
	if e.keeper != nil {
		e.keeper.end()
		if err := e.keeper.lost(); err != nil {
			o.Trouble(err)
		}
	}
	if o.Output != nil {
		return e.summary(), nil
	}
	return e.conclude()
}

// conclude writes the summary of an output.
func (e *engine) conclude() (*report.Summary, error) {
	sum := e.summary()
	part := *sum
	if e.o.Output != nil {
		part = sum.Since(&e.census.told)
		e.census.told = *sum
		for _, s := range e.pool.sinks {
			if s.restart != nil {
				s.restart()
			}
		}
	}
	if e.enough && e.o.Choice.Exchanges {
		if err := e.pool.writePending(); err != nil {
			return nil, err
		}
	}
	if err := e.main.End(&part); err != nil {
		return nil, err
	}
	switch c := e.o.Counts; {
	case c.Shards != nil:
		*c.Shards = *e.counts.collect(e.pool, math.MinInt64)
	case e.counts != nil:
		e.counts.fold(c.Stats, e.pool)
	}
	e.tellSlot()
	e.foldTalks()
	return sum, e.pool.write(e.main)
}

// open opens a capture by its name.
func (e *engine) open(name string) (*capture.Reader, error) {
	switch {
	case name == "-":
		return capture.NewReader(e.stdin(), "standard input")
	case capture.Waits(name):
		return capture.NewReader(e.beside(&capture.Waiting{Name: name}), name)
	}
	return capture.Open(name)
}

// input dissects one capture. An input that cannot be opened is reported as
// trouble, and the run goes on.
func (e *engine) input(number int, name string) error {
	sum := &e.census.sum
	if e.o.Output != nil {
		var err error
		if e.pool.out, err = e.o.Output(number); err != nil {
			return err
		}
		sum.First, e.census.last = time.Time{}, 0
		if !e.o.Series {
			e.reading.window = capture.Window{}
		}
	}
	if !e.o.Series {
		e.census.sides.reset()
	}
	src, err := e.open(name)
	if err != nil {
		if !e.ended() {
			e.o.Trouble(err)
		}
		return e.failed
	}
	defer src.Close()
	first, packets := sum.First, sum.Packets
	if e.o.Events.Read != nil {
		sum.First = time.Time{}
	}
	err = e.dissect(number, name, src)
	if e.o.Events.Read != nil {
		if n := sum.Packets - packets; n > 0 {
			e.o.Events.Read(number, n, sum.First, e.census.last.UTC())
		}
		if !first.IsZero() {
			sum.First = first
		}
	}
	if err == nil && e.o.Output != nil {
		_, err = e.conclude()
	}
	return err
}

// stopFrames is how many frames of a file are dissected before Options.Stop is asked again.
const stopFrames = 16

// dissect dissects the frames of input number, which src reads.
func (e *engine) dissect(number int, name string, src capture.Source) error {
	var f capture.Frame
	readErr := src.Next(&f)
	first := f.Time
	before, err := e.beginInput(number, name, src, &f, readErr == nil)
	if err != nil {
		return err
	}
	o := e.o
	plain := o.Frames.Window == nil && o.Frames.Filter == nil && o.Counts.Slots == nil && !o.keeps() // each frame is dissected, and that is all
	for ; readErr == nil && !e.done(); readErr = src.Next(&f) {
		f.Number += before
		var err error
		if plain {
			err = e.frame(&f)
		} else if e.wanted(&f) {
			err = e.take(&f)
		}
		if err != nil {
			return err
		}
		if f.Number%stopFrames == 0 {
			if e.progress(f.Number); e.stopped() {
				break
			}
		}
	}
	e.reading.last = max(before, f.Number)
	if e.failed != nil {
		return e.failed
	}
	end := nettext.Either(o.Series && number+1 < len(o.Inputs) && !e.ended(), e.pool.settle, e.flush)
	if err := end(); err != nil {
		return err
	}
	if s, ok := e.keeper.(*selection); ok && !o.Series {
		s.end() // the next input begins with frame 1
	}
	if readErr != io.EOF && !e.ended() {
		o.Trouble(readErr)
	}
	if o.Events.Ended != nil && readErr == io.EOF && !first.IsZero() && !f.Time.IsZero() {
		o.Events.Ended(name, f.LinkType, first.UTC(), f.Time.UTC())
	}
	return nil
}

// progress tells, every now and then, how many frames there were.
func (e *engine) progress(frame uint64) {
	if frame%sweepFrames != 0 {
		return
	}
	if e.o.Events.Progress != nil && frame%(sweepFrames*64) == 0 {
		e.o.Events.Progress(e.census.sum.Packets, e.census.sum.Bytes)
	}
	e.snapshot()
}

// beginInput begins an input, of which f is the first frame if any is there. It returns
// the number of frames before it in the series.
func (e *engine) beginInput(number int, name string, src capture.Source, f *capture.Frame, any bool) (before uint64, err error) {
	c := report.Capture{File: name, Number: e.census.sum.Inputs}
	if e.o.Output != nil {
		c.Number = 0 // of its output
	}
	if link, ok := src.LinkType(); ok {
		c.LinkType = capture.LinkTypeName(link)
	}
	e.census.sum.Inputs++
	if e.o.Series && number > 0 {
		before = e.reading.last
		c.FirstFrame, c.Start = before+1, e.reading.origin
	} else if any {
		e.at.now = 0
		if !f.Time.IsZero() {
			e.at.now = f.Time.UnixNano()
		}
		e.swept, e.reading.origin = e.at.now, e.at.time()
		c.Start = e.reading.origin
	}
	return before, e.begin(c)
}

// ended reports whether reading must stop.
func (e *engine) ended() bool { return e.done() || e.stopped() }

// done reports whether the output takes no more.
func (e *engine) done() bool { return e.safe.over || e.failed != nil }

func (e *engine) stopped() bool {
	select {
	case <-e.reading.stop:
		return true
	default:
		return false
	}
}

// reading is the state of the inputs.
type reading struct {
	stop   <-chan struct{}
	late   bool      // stop is delayed, for pipes
	origin time.Time // of the first frame of the series
	last   uint64    // number of the last frame of the inputs before

	matches map[uint16]func([]byte, int) bool // the filters by link type
	window  capture.Window
}

// wanted reports whether the filter accepts a frame. If the filter is invalid for a link
// type, wanted reports the error once and accepts none of its frames.
func (e *engine) wanted(f *capture.Frame) bool {
	in := e.reading
	if e.o.Frames.Window != nil && !in.window.Has(f.Time.UTC(), e.o.Frames.Window) {
		return false
	}
	if e.o.Frames.Filter == nil {
		return true
	}
	match, ok := in.matches[f.LinkType]
	if !ok {
		var err error
		if match, err = e.o.Frames.Filter(f.LinkType); err != nil {
			e.o.Trouble(err)
			match = func([]byte, int) bool { return false }
		}
		in.matches[f.LinkType] = match
	}
	return match(f.Data, f.Length)
}

// keeps reports whether frames are saved or settled one by one.
func (o *Options) keeps() bool { return o.Save.Saver != nil || o.Save.Recent != nil || o.Lines }

// take dissects and saves a frame.
func (e *engine) take(f *capture.Frame) error {
	if e.o.Counts.Slots != nil {
		if err := e.enterSlot(f.Time.UTC()); err != nil {
			return err
		}
	}
	if !e.o.keeps() {
		return e.frame(f)
	}
	if e.keeper != nil {
		e.keeper.before(f, e.at.time())
	}
	e.given = false
	err := e.frame(f)
	if e.keeper != nil {
		e.keeper.after(f, e.given, e.at.time())
	}
	recent := e.o.Save.Recent
	if (e.given && recent != nil && recent.Save(f) > maxWaiting || e.o.Lines) && err == nil {
		err = e.pool.settle()
	}
	return err
}

// maxWaiting is the number of bytes of frames that wait until the workers have seen them.
const maxWaiting = 4 << 20

// A PanicError is the number of datagrams that a decoder panicked on. It is
// reported once, at the end of a run.
type PanicError uint64

func (n PanicError) Error() string {
	return fmt.Sprintf("%s could not be dissected because of a mistake in qdissect (finding internal.panic): please report it as SECURITY.md says, with the stack of the finding, what qdissect version prints and, if you may share it, the frame", nettext.Count(int(n), "datagram"))
}

// Walk dissects a capture in one goroutine, and its messages with their fields. Before each frame it calls seen with the
// time, that of the frame before if the frame has none; an error of seen ends it. trouble is the reason why the capture
// could not be read to its end.
func Walk(in capture.Source, c dissect.Config, h dissect.Handler, seen func(time.Time) error) (trouble, err error) {
	c.Tree, c.Budget = true, reassembly.NewBudget(0)
	analyzer, err := dissect.New(c, h)
	if err != nil {
		return nil, err
	}
	decoder := packet.NewDecoder(c.Budget, reassembly.Limits{}, nil)
	tcp := streams.New(c.Protocols, c.DecodeAs, func(d *dissect.Datagram) error {
		analyzer.Datagram(d)
		return nil
	})
	var f capture.Frame
	var d packet.Datagram
	now, swept := time.Unix(0, 0).UTC(), time.Time{}
	for trouble = in.Next(&f); trouble == nil; trouble = in.Next(&f) {
		if !f.Time.IsZero() {
			now = f.Time.UTC()
		}
		if err := seen(now); err != nil {
			return nil, err
		}
		if due(now.Sub(swept), sweepTime) {
			swept = now
			decoder.Expire(now)
			tcp.Advance(now)
			analyzer.Advance(now)
		}
		switch is := decoder.Decode(&packet.Frame{Number: f.Number, Time: now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}, &d); {
		case is == packet.TCP:
			var o packet.Outline
			if decoder.OutlineSegment(&o, &d); tcp.Wants(o.Packet, o.Payload) {
				if _, err := tcp.Segment(&streams.Segment{Frame: f.Number, Time: now, Snapped: max(f.Length-len(f.Data), 0), IP: o.Packet, Data: o.Payload}); err != nil {
					return nil, err
				}
			}
		case is.OK():
			analyzer.Datagram(&dissect.Datagram{
				Frame: d.Frame, Frames: d.Frames, Time: d.Time, First: d.First, Src: d.Src, Dst: d.Dst, Payload: d.Payload, Missing: d.Missing,
			})
		}
	}
	decoder.Flush()
	tcp.Flush()
	analyzer.Flush()
	if n := analyzer.Stats().Panics; n > 0 && trouble == io.EOF {
		trouble = PanicError(n)
	}
	if trouble == io.EOF {
		trouble = nil
	}
	return trouble, nil
}
