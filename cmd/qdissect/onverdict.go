package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// The times of --on-verdict.
const (
	// verdictEvery is the least time between two runs for the same verdict.
	verdictEvery = time.Minute
	// verdictTime is how long the command may run, and verdictEnd how long it may go on after the capture.
	verdictTime = 10 * time.Second
	verdictEnd  = time.Second
	// maxVerdicts is how many verdicts are remembered, and maxQueued how many wait for the command.
	maxVerdicts = 256
	maxQueued   = 16
)

// An alarm runs a command with verdicts, one after the other, beside the capture.
type alarm struct {
	told    map[string]told
	pending chan []byte
	left    int // verdicts for which there was no room
	warn    func(error)
	stop    context.CancelFunc
	done    chan struct{}
}

// told is when a verdict was passed on, and up to when it held.
type told struct{ at, to time.Time }

// newAlarm returns an alarm that gives lines of JSON to run. The context of run ends when the line has taken too long, or after
// the capture.
func newAlarm(run func(context.Context, []byte) error, warn func(error)) *alarm {
	ctx, stop := context.WithCancel(context.Background())
	a := &alarm{told: make(map[string]told), pending: make(chan []byte, maxQueued), warn: warn, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for line := range a.pending {
			one, end := context.WithTimeout(ctx, verdictTime)
			err := run(one, line)
			switch {
			case ctx.Err() != nil:
				err = nil // the capture has ended
			case one.Err() != nil:
				err = fmt.Errorf("--on-verdict: the command was killed after %v", verdictTime)
			case err != nil:
				err = fmt.Errorf("--on-verdict: %w", err)
			}
			end()
			if err != nil {
				warn(err)
			}
		}
	}()
	return a
}

// look passes on the verdicts of a report that are new, or that still hold after a minute. It does not wait.
func (a *alarm) look(r *stats.Report, now time.Time) {
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if !v.Unusual() {
			continue
		}
		key := v.Kind + " " + v.Server
		if v.Server == "" && len(v.Sources) > 0 {
			key += v.Sources[0]
		}
		last, known := a.told[key]
		if known && (now.Sub(last.at) < verdictEvery || !v.To.After(last.to)) {
			continue
		}
		line, err := json.Marshal(v)
		if err != nil {
			a.warn(err)
			continue
		}
		select {
		case a.pending <- append(escapeUnsafe(line), '\n'):
		default:
			a.left++
			continue
		}
		if !known && len(a.told) == maxVerdicts {
			a.forget()
		}
		a.told[key] = told{now, v.To}
	}
}

// forget makes room for another verdict.
func (a *alarm) forget() {
	oldest := ""
	for key, t := range a.told {
		if o := a.told[oldest]; oldest == "" || t.at.Before(o.at) || t.at.Equal(o.at) && key < oldest {
			oldest = key
		}
	}
	delete(a.told, oldest)
}

// end ends the command.
func (a *alarm) end() {
	if a.left > 0 {
		a.warn(fmt.Errorf("--on-verdict: %s not passed on, because the command is too slow", nettext.Count(a.left, "verdict")))
	}
	close(a.pending)
	select {
	case <-a.done:
	case <-time.After(verdictEnd):
	}
	a.stop()
	<-a.done
}

// runWith returns a function that runs a command of the shell with a text on its standard input. Its output goes to stderr.
func runWith(command string, stderr io.Writer) func(context.Context, []byte) error {
	return func(ctx context.Context, text []byte) error {
		cmd := shellCommand(ctx, command)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), stderr, stderr
		cmd.WaitDelay = verdictEnd // for what it started and left behind
		if err := cmd.Run(); !errors.Is(err, exec.ErrWaitDelay) {
			return err
		}
		return nil
	}
}
