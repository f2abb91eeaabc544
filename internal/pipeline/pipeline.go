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
	"github.com/qdissect/qdissect/report"
)

// Options are what a run needs to know.
type Options struct {
	// Inputs are the names of the captures, "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	// Out takes what the reporters write.
	Out io.Writer
	// Reporter returns a new reporter of the wanted format. It is called for
	// each worker.
	Reporter func() report.Reporter
	// Analysis configures the analyzers. Its budget and its limits are for
	// all of them together.
	Analysis dissect.Config
	// Workers is how many goroutines dissect; 1 or less uses no others than
	// the caller's.
	Workers int
	// All hands datagrams that nothing recognised to the reporter.
	All bool
	// Count is the number of messages after which to stop, 0 for no end. It
	// makes the run use one worker.
	Count uint64
	// Trouble is told of inputs that cannot be read, or not to their end. The
	// run goes on with the next one. What was found before has been written.
	Trouble func(error)
	// Progress is called now and then; nil if nobody wants to know.
	Progress func(packets, bytes uint64)
}

// A sweep looks at what waits too long. It comes before a frame: before every
// 256th, and before one that is a second later than the last sweep, so that
// what it finds stands where it became true, wherever the work is done.
const (
	sweepFrames = 256
	sweepTime   = time.Second
)

// errEnough ends a run that has seen Options.Count messages.
var errEnough = errors.New("enough")

// Run dissects all inputs, one after the other. Each begins with empty state.
// The error is that of Out, or of the configuration; trouble with inputs is
// told.
func Run(o Options) (*report.Summary, error) {
	e, err := newEngine(&o)
	if err != nil {
		return nil, err
	}
	defer e.close()
	for _, name := range o.Inputs {
		if err = e.input(name); err != nil {
			break
		}
	}
	if err != nil && err != errEnough {
		return nil, err
	}
	sum := e.summary()
	e.main.End(sum)
	return sum, e.write(e.main)
}

// input dissects one capture.
func (e *engine) input(name string) error {
	var src *capture.Reader
	var err error
	if name == "-" {
		src, err = capture.NewReader(e.o.Stdin, "standard input")
	} else {
		src, err = capture.Open(name)
	}
	if err != nil {
		e.o.Trouble(err)
		return nil
	}
	defer src.Close()
	c := report.Capture{File: name, Number: e.sum.Inputs}
	if link, ok := src.LinkType(); ok {
		c.LinkType = capture.LinkTypeName(link)
	}
	e.sum.Inputs++
	var f capture.Frame
	readErr := src.Next(&f)
	if readErr == nil {
		e.now = time.Unix(0, 0).UTC()
		if !f.Time.IsZero() {
			e.now = f.Time
		}
		e.swept = e.now
		c.Start = e.now
	}
	if err := e.begin(c); err != nil {
		return err
	}
	for readErr == nil {
		if err := e.frame(&f); err != nil {
			return err
		}
		if e.o.Progress != nil && f.Number%(sweepFrames*64) == 0 {
			e.o.Progress(e.sum.Packets, e.sum.Bytes)
		}
		readErr = src.Next(&f)
	}
	if err := e.flush(); err != nil {
		return err
	}
	if readErr != io.EOF {
		e.o.Trouble(readErr)
	}
	return nil
}
