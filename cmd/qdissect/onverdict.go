package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// The times of --on-verdict and --webhook.
const (
	// verdictEvery is the least time between two runs for the same verdict, and after which it is over.
	verdictEvery = time.Minute
	// verdictTime is how long the command may run, and verdictEnd how long it may go on after the capture.
	verdictTime = 10 * time.Second
	verdictEnd  = time.Second
	// maxVerdicts is how many verdicts are remembered, and maxQueued how many wait for the command.
	maxVerdicts = 256
	maxQueued   = 16
)

// A course says how verdicts are passed on.
type course struct {
	flag   string
	why    string // some were not
	queued int    // at most
	time   time.Duration
	end    time.Duration
	again  bool // once a minute while it holds
	over   bool // also when it is over
	text   func(v *stats.Verdict, over bool, now time.Time) any
}

// toCommand is the course of --on-verdict.
var toCommand = course{
	flag: "--on-verdict", why: "the command is too slow", queued: maxQueued, time: verdictTime, end: verdictEnd, again: true,
	text: func(v *stats.Verdict, _ bool, _ time.Time) any { return v },
}

// An alarm passes on verdicts, one after the other, beside the capture.
type alarm struct {
	course
	told    map[string]*told
	pending chan []byte
	left    atomic.Int64 // verdicts that were not passed on
	warn    func(error)
	stop    context.CancelFunc
	done    chan struct{}
	ended   bool
	last    time.Time // up to when the newest report goes,
	moved   time.Time // and since when
}

// told is when a verdict was passed on, and what it said.
type told struct {
	at   time.Time
	v    stats.Verdict
	held time.Time // up to when, as of the newest report
	over bool
}

// newAlarm returns an alarm that gives lines of JSON to run. The context of run ends when the line has taken too long, or after
// the capture.
func newAlarm(c course, run func(context.Context, []byte) error, warn func(error)) *alarm {
	ctx, stop := context.WithCancel(context.Background())
	a := &alarm{course: c, told: make(map[string]*told), pending: make(chan []byte, c.queued), warn: warn, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for line := range a.pending {
			one, end := ctx, context.CancelFunc(func() {})
			if c.time > 0 {
				one, end = context.WithTimeout(ctx, c.time)
			}
			err := run(one, line)
			switch {
			case err == nil:
			case ctx.Err() != nil: // the capture has ended
				a.left.Add(1)
			case one.Err() != nil:
				warn(fmt.Errorf("%s: the command was killed after %v", c.flag, c.time))
			default:
				if c.over {
					a.left.Add(1)
				}
				warn(fmt.Errorf("%s: %w", c.flag, err))
			}
			end()
		}
	}()
	return a
}

// look passes on the verdicts of a report that are new, that still hold after a minute, or that are over. It does not wait.
func (a *alarm) look(r *stats.Report, now time.Time) {
	if a.last.Before(r.To) {
		a.last, a.moved = r.To, now
	}
	latest := a.last.Add(now.Sub(a.moved)) // also if nothing comes any more
	list := slices.Clone(r.Verdicts)
	slices.SortStableFunc(list, func(a, b stats.Verdict) int { return a.To.Compare(b.To) })
	for i := range list {
		v := &list[i]
		if !v.Unusual() {
			continue
		}
		key := v.Kind + " " + cmp.Or(v.Server, v.Network)
		if v.Server+v.Network == "" && len(v.Sources) > 0 {
			key += v.Sources[0]
		}
		t, over := a.told[key], a.over && latest.Sub(v.To) > verdictEvery
		switch {
		case t != nil && v.To.Before(t.held):
			continue // an earlier one
		case t == nil, t.over && (!over || v.From.After(t.held)):
			if t == nil && len(a.told) == maxVerdicts {
				a.forget()
			}
			t = &told{at: now, v: *v, held: v.To, over: over}
			a.told[key] = t
			if a.pass(v, false, now); over && !a.again {
				a.pass(v, true, now)
			}
		case over && !t.over:
			t.over = true
			a.pass(v, true, now)
		case a.again && !over && now.Sub(t.at) >= verdictEvery && v.To.After(t.v.To):
			t.at, t.v = now, *v
			a.pass(v, false, now)
		}
		t.held = v.To
	}
	for _, key := range slices.Sorted(maps.Keys(a.told)) { // those that the report has no longer
		if t := a.told[key]; a.over && !t.over && latest.Sub(t.held) > verdictEvery && r.Totals.Verdicts <= len(list) {
			t.over = true
			a.pass(&t.v, true, now)
		}
	}
}

// pass queues what is said about a verdict.
func (a *alarm) pass(v *stats.Verdict, over bool, now time.Time) {
	line, err := json.Marshal(a.text(v, over, now))
	if err != nil {
		a.warn(err)
		return
	}
	select {
	case a.pending <- append(escapeUnsafe(line), '\n'):
	default:
		if a.left.Add(1) == 1 {
			a.warn(fmt.Errorf("%s: %d verdicts wait, and no more are queued, because %s", a.flag, a.queued, a.why))
		}
	}
}

// forget makes room for another verdict.
func (a *alarm) forget() {
	oldest := ""
	for key, t := range a.told {
		if o := a.told[oldest]; o == nil || t.at.Before(o.at) || t.at.Equal(o.at) && key < oldest {
			oldest = key
		}
	}
	delete(a.told, oldest)
}

// lost says how many verdicts were not passed on.
func (a *alarm) lost() []string {
	if n := int(a.left.Load()); n > 0 {
		return []string{fmt.Sprintf("%s: %s not passed on, because %s", a.flag, nettext.Count(n, "verdict"), a.why)}
	}
	return nil
}

// finish waits a while for what is pending. A second call does nothing.
func (a *alarm) finish() {
	if a.ended {
		return
	}
	a.ended = true
	close(a.pending)
	select {
	case <-a.done:
	case <-time.After(a.end):
	}
	a.stop()
	<-a.done
	for _, s := range a.lost() {
		a.warn(errors.New(s))
	}
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
