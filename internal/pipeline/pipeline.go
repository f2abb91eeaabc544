// Package pipeline carries frames from captures through the decoders to a
// reporter: the one way of a packet through the program.
//
// Frames are read and brought down to UDP in one place. What follows is spread
// by the addresses of the datagram over a fixed number of shards, each with an
// analyzer of its own; workers serve shards. A conversation never leaves its
// shard, and what a shard finds does not depend on who serves it, so that the
// output is the same for every number of workers. It is put together in the
// order of frames.
package pipeline

import (
	"errors"
	"io"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// Options are what a run needs to know.
type Options struct {
	// Inputs are the names of the captures, "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	// Live is what passes on interfaces. If it is not nil, there are no
	// Inputs.
	Live Live
	// Name is that of Live in the output.
	Name string
	// Filter returns what chooses frames of a link type. It is nil if all
	// frames are wanted. Live has chosen already, but for ICMP errors, of which
	// it cannot know whether what they quote is wanted.
	Filter func(linkType uint16) (func(data []byte, length int) bool, error)
	// Saver takes the frames, if it is not nil.
	Saver Saver
	// Annotate gives the frames that Saver takes comments that say what they
	// hold. It makes the run use one worker.
	Annotate bool
	// Series says that the Inputs are one capture, in several files: what is
	// begun in one can end in the next, and frames are numbered through.
	Series bool
	// Out takes what the reporters write.
	Out io.Writer
	// Output returns where the output of an input goes, if each has its own,
	// with a summary of its own. It is called when that of the one before is
	// complete.
	Output func(input int) (io.Writer, error)
	// Reporter returns a new reporter of the wanted format. It is called for
	// each worker.
	Reporter func() report.Reporter
	// Analysis configures the analyzers. Its budget and its limits are for
	// all of them together.
	Analysis dissect.Config
	// Budget is the number of bytes that unfinished split messages may take,
	// and IP fragments as many; 0 takes reassembly.DefaultBudget.
	Budget int
	// Fragments bounds the unfinished IP packets.
	Fragments reassembly.Limits
	// Workers is how many goroutines dissect; 1 or less uses no others than
	// the caller's.
	Workers int
	// All hands datagrams that nothing recognised to the reporter.
	All bool
	// Count is the number of messages after which to stop, 0 for no end. It
	// makes the run use one worker.
	Count uint64
	// Lines writes the output after every frame. It makes the run use one
	// worker.
	Lines bool
	// Trouble is told of inputs that cannot be read, or not to their end. The
	// run goes on with the next one. What was found before has been written.
	Trouble func(error)
	// Ended, if it is not nil, is told of every input that was read to its end:
	// its link type and the times of its first and last frame.
	Ended func(name string, link uint16, first, last time.Time)
	// Progress is called now and then; nil if nobody wants to know.
	Progress func(packets, bytes uint64)

	// Clock tells the time, [time.Now] if it is nil. It is asked where there
	// is nothing else to tell the time: while no frames come, and for Every.
	Clock func() time.Time
	// Stop ends the run when it is closed, with everything that came until
	// then.
	Stop <-chan struct{}
	// Duration is how long to capture, 0 for no end.
	Duration time.Duration
	// Watch is told every so often how far the run is, while it is fed live or
	// through a pipe.
	Watch func(*report.Summary)
	Every time.Duration
	// Detailed fills the tally of the summary.
	Detailed bool
}

// Live is a source that does not end and says when it is quiet.
type Live interface {
	capture.Source
	// Complete returns a time, after [capture.ErrQuiet]: whatever is older has
	// been returned.
	Complete() time.Time
	// Counts are how many frames came, and how many of them were lost.
	Counts() (received, dropped uint64)
}

// A Saver keeps frames.
type Saver interface {
	// Save takes a frame, which it must not keep. An error ends the run; it
	// is trouble, if it is not [ErrEnough].
	Save(f *capture.Frame) error
	// Flush makes everything readable that was taken.
	Flush() error
}

// A sweep looks at what waits too long. It comes before a frame: before every
// 256th, and before one that is a second later than the last sweep, so that
// what it finds stands where it became true, wherever the work is done.
const (
	sweepFrames = 256
	sweepTime   = time.Second
)

// ErrEnough is what a [Saver] returns with the last frame that it wants.
var ErrEnough = errors.New("enough")

// budget is the bytes for unfinished split messages of all shards together.
func (o *Options) budget() int {
	if o.Budget > 0 {
		return o.Budget
	}
	return reassembly.DefaultBudget
}

// errEnough ends a run that has seen Options.Count messages.
var errEnough = errors.New("enough messages")

// Run dissects all inputs, one after the other. Each begins with empty state, if
// they are no series.
// The error is that of Out, or of the configuration; trouble with inputs is
// told.
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
	defer e.close()
	if o.Live != nil {
		err = e.live()
	}
	for i, name := range o.Inputs {
		if err = e.input(i, name); err != nil || e.ended() {
			break
		}
	}
	if err != nil && err != errEnough {
		return nil, err
	}
	e.notes.end()
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
		part = sum.Since(&e.told)
		e.told = *sum
		e.tally = report.Tally{} // that of each output begins anew
		for _, w := range e.workers {
			w.tally = report.Tally{}
		}
	}
	if err := e.main.End(&part); err != nil {
		return nil, err
	}
	return sum, e.write(e.main)
}

// open opens a capture by its name.
func (e *engine) open(name string) (*capture.Reader, error) {
	e.ahead = ""
	switch {
	case name == "-":
		return capture.NewReader(e.stdin(), "standard input")
	case capture.Waits(name):
		return capture.NewReader(e.beside(&capture.Waiting{Name: name}), name)
	}
	if !e.o.Series {
		e.ahead = name
	}
	return capture.Open(name)
}

// input dissects one capture. An input that cannot be opened is reported as
// trouble, and the run goes on.
func (e *engine) input(number int, name string) error {
	if e.o.Output != nil {
		var err error
		if e.out, err = e.o.Output(number); err != nil {
			return err
		}
		e.sum.First, e.sum.Last = time.Time{}, time.Time{}
	}
	if !e.o.Series || number == 0 {
		e.sides.reset()
	}
	src, err := e.open(name)
	if err != nil {
		if !e.ended() {
			e.o.Trouble(err)
		}
		return e.failed
	}
	defer src.Close()
	if err := e.dissect(number, name, src); err != nil {
		return err
	}
	if e.o.Output != nil {
		_, err = e.conclude()
	}
	return err
}

// dissect dissects the frames of input number, which src reads.
func (e *engine) dissect(number int, name string, src *capture.Reader) error {
	c := report.Capture{File: name, Number: e.sum.Inputs}
	if e.o.Output != nil {
		c.Number = 0 // of its output
	}
	if link, ok := src.LinkType(); ok {
		c.LinkType = capture.LinkTypeName(link)
	}
	e.sum.Inputs++
	var f capture.Frame
	readErr := src.Next(&f)
	first := f.Time
	before := uint64(0) // frames of the series
	if e.o.Series && number > 0 {
		before = e.lastFrame
		c.FirstFrame, c.Start = before+1, e.origin
	} else if readErr == nil {
		e.now = time.Unix(0, 0).UTC()
		if !f.Time.IsZero() {
			e.now = f.Time
		}
		e.swept, e.origin = e.now, e.now
		c.Start = e.now
	}
	if err := e.begin(c); err != nil {
		return err
	}
	for ; readErr == nil && !e.ended(); readErr = src.Next(&f) {
		f.Number += before
		e.lastFrame = f.Number
		if e.wanted(&f) {
			if err := e.take(&f); err != nil {
				return err
			}
		}
		if e.o.Progress != nil && f.Number%(sweepFrames*64) == 0 {
			e.o.Progress(e.sum.Packets, e.sum.Bytes)
		}
	}
	if e.failed != nil {
		return e.failed
	}
	end := e.flush
	if e.o.Series && number+1 < len(e.o.Inputs) && !e.ended() {
		end = e.settle
	}
	if err := end(); err != nil {
		return err
	}
	if readErr != nil && readErr != io.EOF && !e.ended() {
		e.o.Trouble(readErr)
	}
	if e.o.Ended != nil && readErr == io.EOF && !first.IsZero() && !f.Time.IsZero() {
		e.o.Ended(name, f.LinkType, first, f.Time)
	}
	return nil
}

// ended tells whether there is a reason to read no further.
func (e *engine) ended() bool {
	if e.over || e.failed != nil {
		return true
	}
	select {
	case <-e.o.Stop:
		return true
	default:
		return false
	}
}

// wanted tells whether the filter lets a frame pass. A filter that makes no
// sense for a link type lets none of its frames pass, and that is told.
func (e *engine) wanted(f *capture.Frame) bool {
	if e.o.Filter == nil {
		return true
	}
	if e.match == nil || e.matchLink != f.LinkType {
		m, ok := e.matches[f.LinkType]
		if !ok {
			var err error
			if m, err = e.o.Filter(f.LinkType); err != nil {
				e.o.Trouble(err)
				m = func([]byte, int) bool { return false }
			}
			if e.matches == nil {
				e.matches = make(map[uint16]func([]byte, int) bool)
			}
			e.matches[f.LinkType] = m
		}
		e.match, e.matchLink = m, f.LinkType
	}
	return e.match(f.Data, f.Length)
}

// take dissects a frame and saves it.
func (e *engine) take(f *capture.Frame) error {
	if e.notes == nil {
		e.save(f)
	}
	err := e.frame(f)
	e.notes.hold(f)
	if err == nil && e.o.Lines {
		err = e.settle()
	}
	return err
}

// save hands a frame to the saver. When the saver takes no more, the run ends.
func (e *engine) save(f *capture.Frame) {
	if e.o.Saver == nil || e.over {
		return
	}
	e.saved(e.o.Saver.Save(f))
}

func (e *engine) saved(err error) {
	if err != nil {
		e.over = true
		if err != ErrEnough {
			e.o.Trouble(err)
		}
	}
}
