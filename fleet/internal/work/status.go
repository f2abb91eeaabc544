package work

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/qdissect/qdissect/internal/nettext"
)

// Status writes what is done, what runs where, and what failed and why.
func Status(ctx context.Context, conn *nats.Conn, name string, w io.Writer) error {
	q, err := newQueue(conn, name)
	if err != nil {
		return err
	}
	if err := q.open(ctx); err != nil {
		return fmt.Errorf("no run %s: %w", name, err)
	}
	r, err := q.record(ctx)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("no run %s: it has not begun", name)
	}
	workers, err := list(ctx, q, workerKey, func(s *State) string { return s.Worker })
	if err != nil {
		return err
	}
	bad, err := list(ctx, q, badKey, (*Bad).name)
	if err != nil {
		return err
	}
	left := 0
	if s, err := q.js.Stream(ctx, q.stream()); err == nil {
		left = int(s.CachedInfo().State.Msgs)
	}
	now := time.Now()
	say := func(format string, args ...any) {
		b := nettext.AppendSafe(nil, fmt.Appendf(nil, format, args...))
		w.Write(append(b, '\n'))
	}
	state := "at work"
	switch {
	case r.Ended:
		state = "ended " + r.Seen.Format(time.DateTime) + " UTC"
	case now.Sub(r.Seen) > r.Lost:
		state = "lost since " + r.Seen.Format(time.DateTime) + " UTC; the same command goes on"
	}
	say("run %s of %s (process %d), started %s UTC, %s", name, r.Host, r.PID, r.Started.Format(time.DateTime), state)
	say("output: %s in %s", r.Out, r.Dir)
	failed := 0
	for _, b := range bad {
		if b.Error != "" {
			failed++
		}
	}
	if r.Ended {
		left = failed
	}
	units := max(r.Units, left) // while they are listed, the record may be older than the queue
	say("units: %d of %d done, %d done before", units-left, units, r.Before)
	for _, s := range workers {
		switch {
		case now.Sub(s.Seen) > r.Lost && s.Ended == "":
			say("worker %s: gone since %s UTC%s, %d done", s.Worker, s.Seen.Format(time.DateTime), during(s), s.Done)
		case s.Ended != "":
			say("worker %s: ended (%s), %d done", s.Worker, s.Ended, s.Done)
		case s.Unit != "":
			say("worker %s: %s for %s, %d done", s.Worker, s.Unit, now.Sub(s.Since).Round(time.Second), s.Done)
		default:
			say("worker %s: waits, %d done", s.Worker, s.Done)
		}
	}
	for _, b := range bad {
		for _, line := range b.Lines() {
			say("%s", line)
		}
	}
	return nil
}

func during(s *State) string {
	return nettext.Either(s.Unit == "", "", " during "+s.Unit)
}

// Lines say what is bad.
func (b *Bad) Lines() []string {
	switch {
	case b.Error == "":
		return b.Trouble
	case b.Worker == "":
		return []string{b.Unit + ": " + b.Error}
	}
	return []string{fmt.Sprintf("%s: %s (%s, try %d)", b.Unit, b.Error, b.Worker, b.Try)}
}
