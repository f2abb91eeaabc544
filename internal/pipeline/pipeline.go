// Package pipeline runs captures through all steps: it reads frames, decodes them,
// dissects the datagrams and writes the output.
//
// One goroutine reads frames and decodes them down to UDP. Datagrams are distributed by
// their addresses over a fixed number of shards, each with its own analyzer; each worker
// serves several shards. A conversation stays in its shard, and the output of a shard does
// not depend on its worker, so the output is the same for every number of workers. It is
// merged in the order of frames.
package pipeline

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// Options configure a run.
type Options struct {
	// Inputs are the names of the captures, "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	// Live is a live capture. If it is not nil, there are no Inputs.
	Live Live
	// Source is a capture in memory. If it is not nil, there are no Inputs.
	Source capture.Source
	// Name is the name of Live in the output.
	Name string
	// Filter returns a filter for frames of a link type. It is nil if all frames are
	// wanted. Live has applied it already, except to ICMP errors, because the kernel
	// cannot filter by the packets that they quote.
	Filter func(linkType uint16) (func(data []byte, length int) bool, error)
	// Window, if not nil, is called with the time of the first frame (with Output: of each input that begins anew) and
	// returns the times from which on, and until which, frames are wanted; a zero time is no limit.
	Window func(first time.Time) (since, until time.Time)
	// Only, if not nil, selects the datagrams to dissect by their addresses.
	Only func(src, dst netip.AddrPort) bool
	// Keep, if not nil, gets the frames of messages, of parts, of fragments and of ICMP errors.
	Keep *capture.Recent
	// Choose, if not nil, returns what chooses the messages, unknown datagrams and findings
	// that are reported. It is called for each worker. With Restrict, only they are counted.
	// With SaveChosen, Saver gets only the frames that carried them, and the run uses one
	// worker.
	Choose     func() Chooser
	Restrict   bool
	SaveChosen bool
	// Saver saves the frames. It may be nil.
	Saver Saver
	// Annotate adds comments about messages to the frames for Saver. The run then uses one
	// worker.
	Annotate bool
	// Tree, if not nil, also adds the tree of fields to the comments. It needs Annotate and
	// Analysis.Tree. Hold is how long frames wait for what belongs to them, 0 for a time that
	// depends on the capture.
	Tree *report.TreeNote
	Hold time.Duration
	// Series says that the Inputs are one capture in several files: state is kept from one
	// file to the next, and frame numbers continue.
	Series bool
	// Out receives the output of the reporters.
	Out io.Writer
	// Output, if not nil, returns the writer for the output of an input, which then ends
	// with its own summary. It is called after the output of the previous input is
	// complete.
	Output func(input int) (io.Writer, error)
	// Reporter returns a new reporter. It is called for each worker.
	Reporter func() report.Reporter
	// Analysis configures the analyzers. Its budget and limits apply to all analyzers
	// together.
	Analysis dissect.Config
	// Budget is the number of bytes for incomplete split messages, and again for IP
	// fragments; 0 means reassembly.DefaultBudget.
	Budget int
	// Fragments limits the incomplete IP packets.
	Fragments reassembly.Limits
	// Workers is the number of goroutines that dissect. With 1 or less, the caller's
	// goroutine does all work.
	Workers int
	// All also reports datagrams that no protocol recognises.
	All bool
	// Count is the number of messages after which the run ends, 0 for no limit. The run
	// then uses one worker.
	Count uint64
	// Lines writes the output after every frame. The run then uses one worker.
	Lines bool
	// Trouble is called for inputs that cannot be read to their end, after the output so
	// far has been written. The run continues with the next input.
	Trouble func(error)
	// Ended, if not nil, is called for every input that was read to its end, with its link
	// type and the times of its first and last frame.
	Ended func(name string, link uint16, first, last time.Time)
	// Progress, if not nil, is called from time to time.
	Progress func(packets, bytes uint64)

	// Clock returns the time; nil means [time.Now]. It is used only while no frames come,
	// and for Every.
	Clock func() time.Time
	// Stop ends the run when it is closed. Frames from before that are still dissected.
	Stop <-chan struct{}
	// Duration is the duration of a live capture, 0 for no limit.
	Duration time.Duration
	// Watch is called with the statistics so far, at intervals of Every, during a live
	// capture or while reading a pipe.
	Watch func(*report.Summary)
	Every time.Duration
	// Detailed fills the tally of the summary.
	Detailed bool
	// Stats, if not nil, gets the counts of all shards at the end.
	Stats *stats.Aggregate
	// Shards, if not nil, gets the counts of each shard instead of Stats.
	Shards *stats.Shards
	// Part, if not 0, has a bit for each shard whose datagrams are dissected. What no shard gets belongs to shard 0.
	Part uint16
	// Talks, if not nil, gets the conversations of all shards at the end, and before each Snapshot those so far.
	Talks *talks.Talks
	// Snapshot, if not nil, is called with the counts so far, which it may keep, at intervals of Every or longer: making
	// the snapshots takes at most a twentieth of the time. It needs Stats.
	Snapshot func(*report.Summary, *stats.Aggregate)
	// Read, if not nil, is called when an input has been read, with the number and the times of the packets that were taken.
	Read func(number int, packets uint64, first, last time.Time)
	// Slots, if not nil, divides the counts. It needs Stats, which then get those of the last slot.
	Slots *Slots
}

// Live is a source that returns [capture.ErrQuiet] while no frames come.
type Live interface {
	capture.Source
	// Complete returns a time such that all older frames have been returned. It is valid
	// after [capture.ErrQuiet].
	Complete() time.Time
	// Counts returns the numbers of frames received and lost.
	Counts() (received, dropped uint64)
}

// A Saver saves frames.
type Saver interface {
	// Save saves a frame, which it must not keep. An error ends the run and is reported as
	// trouble, unless it is [ErrEnough].
	Save(f *capture.Frame) error
	// Flush makes all saved frames readable.
	Flush() error
}

// A sweep reports what has waited too long. It precedes every 256th frame, and every frame
// that is at least a second later than the last sweep, so its position in the output does
// not depend on the workers.
const (
	sweepFrames = 256
	sweepTime   = time.Second
)

// A frame that goes back in time by so much says that the clock did. Frames of several interfaces may be out of order by less than
// clockStepOfSeveral.
const (
	clockStep          = 100 * time.Millisecond
	clockStepOfSeveral = time.Second
)

// ErrEnough is returned by a [Saver] with the last frame that it wants.
var ErrEnough = errors.New("enough")

// budget returns the bytes for incomplete split messages in all shards together.
func (o *Options) budget() int {
	if o.Budget > 0 {
		return o.Budget
	}
	return reassembly.DefaultBudget
}

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
	defer e.close()
	if o.Live != nil {
		err = e.live()
	}
	if o.Source != nil {
		err = e.dissect(0, o.Name, o.Source)
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
	e.notes.end()
	e.selection.end()
	if err := e.selection.lost(); err != nil {
		o.Trouble(err)
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
		part = sum.Since(&e.told)
		e.told = *sum
		e.tally = report.Tally{} // that of each output begins anew
		for _, w := range e.workers {
			w.tally = tally{}
		}
	}
	if err := e.main.End(&part); err != nil {
		return nil, err
	}
	switch {
	case e.o.Shards != nil:
		*e.o.Shards = *e.collect()
	case e.stats != nil:
		e.foldStats(e.o.Stats)
	}
	e.tellSlot()
	e.foldTalks()
	return sum, e.write(e.main)
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
	if e.o.Output != nil {
		var err error
		if e.out, err = e.o.Output(number); err != nil {
			return err
		}
		e.sum.First, e.sum.Last = time.Time{}, time.Time{}
		e.windowed = e.windowed && e.o.Series && number > 0
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
	if e.o.Read == nil {
		err = e.dissect(number, name, src)
	} else {
		first, packets := e.sum.First, e.sum.Packets
		e.sum.First = time.Time{}
		err = e.dissect(number, name, src)
		if n := e.sum.Packets - packets; n > 0 {
			e.o.Read(number, n, e.sum.First, e.sum.Last)
		}
		if !first.IsZero() {
			e.sum.First = first
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
		e.swept, e.origin = e.now.UnixNano(), e.now
		c.Start = e.now
	}
	if err := e.begin(c); err != nil {
		return err
	}
	o := e.o
	plain := o.Window == nil && o.Filter == nil && o.Slots == nil && !o.keeps() // each frame is dissected, and that is all
	for ; readErr == nil && !e.over && e.failed == nil; readErr = src.Next(&f) {
		if f.Number%stopFrames == 1 && e.stopped() {
			break
		}
		f.Number += before
		e.lastFrame = f.Number
		var err error
		if plain {
			err = e.frame(&f)
		} else if e.wanted(&f) {
			err = e.take(&f)
		}
		if err != nil {
			return err
		}
		if f.Number%sweepFrames == 0 {
			if e.o.Progress != nil && f.Number%(sweepFrames*64) == 0 {
				e.o.Progress(e.sum.Packets, e.sum.Bytes)
			}
			e.snapshot()
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
	if !e.o.Series {
		e.selection.end() // the next input begins with frame 1
	}
	if readErr != nil && readErr != io.EOF && !e.ended() {
		e.o.Trouble(readErr)
	}
	if e.o.Ended != nil && readErr == io.EOF && !first.IsZero() && !f.Time.IsZero() {
		e.o.Ended(name, f.LinkType, first, f.Time)
	}
	return nil
}

// ended reports whether reading must stop.
func (e *engine) ended() bool { return e.over || e.failed != nil || e.stopped() }

func (e *engine) stopped() bool {
	select {
	case <-e.o.Stop:
		return true
	default:
		return false
	}
}

// wanted reports whether the filter accepts a frame. If the filter is invalid for a link
// type, wanted reports the error once and accepts none of its frames.
func (e *engine) wanted(f *capture.Frame) bool {
	if e.o.Window != nil && !e.inWindow(f.Time) {
		return false
	}
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

// inWindow reports whether a time is in the window. Frames without a time are.
func (e *engine) inWindow(t time.Time) bool {
	if t.IsZero() {
		return true
	}
	if !e.windowed {
		e.windowed = true
		e.since, e.until = e.o.Window(t)
	}
	return !t.Before(e.since) && (e.until.IsZero() || t.Before(e.until))
}

// keeps reports whether frames are saved or settled one by one.
func (o *Options) keeps() bool { return o.Saver != nil || o.Keep != nil || o.Lines }

// take dissects and saves a frame.
func (e *engine) take(f *capture.Frame) error {
	if e.o.Slots != nil {
		if err := e.enterSlot(f.Time); err != nil {
			return err
		}
	}
	if !e.o.keeps() {
		return e.frame(f)
	}
	if e.notes == nil && e.selection == nil {
		e.save(f)
	}
	e.selection.hold(f)
	e.given = false
	err := e.frame(f)
	e.selection.settle(e.given)
	if e.given && e.o.Keep != nil && e.o.Keep.Save(f) > maxWaiting && err == nil {
		err = e.settle()
	}
	e.notes.hold(f)
	if err == nil && e.o.Lines {
		err = e.settle()
	}
	return err
}

// maxWaiting is the number of bytes of frames that wait until the workers have seen them.
const maxWaiting = 4 << 20

// save gives a frame to the saver. If the saver returns an error, the run ends.
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
