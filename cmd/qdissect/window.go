package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
)

// windowOptions are the flags that select frames by time.
type windowOptions struct {
	since, until string
}

func (o *windowOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.since, "since", "", "files: read only packets from this `TIME` on: 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 (UTC, of the first packet's day) or +30s (after the first packet)")
	f.StringVar(&o.until, "until", "", "files: read only packets before this `TIME`")
}

// A moment is a time, or one that depends on the first packet. daily says that it is a time of day.
type moment struct {
	of    func(first time.Time) time.Time
	daily bool
	kind  byte // moments of one kind can be compared before a packet is known
}

// window returns a function that returns the times for a first packet; zero times are no limit. It is nil if no flag is
// given.
func (o *windowOptions) window() (func(first time.Time) (since, until time.Time), error) {
	if o.since == "" && o.until == "" {
		return nil, nil
	}
	var since, until moment
	var err error
	if o.since != "" {
		if since, err = parseMoment(o.since); err != nil {
			return nil, fmt.Errorf("--since: %w", err)
		}
	}
	if o.until != "" {
		if until, err = parseMoment(o.until); err != nil {
			return nil, fmt.Errorf("--until: %w", err)
		}
	}
	window := func(first time.Time) (from, to time.Time) {
		if since.of != nil {
			from = since.of(first)
		}
		if until.of != nil {
			to = until.of(first)
		}
		if since.daily && until.daily && to.Before(from) {
			to = to.Add(24 * time.Hour) // the window goes on after midnight
		}
		return from, to
	}
	if from, to := window(time.Unix(0, 0)); since.kind == until.kind && !from.Before(to) {
		return nil, fmt.Errorf("--until %s must be after --since %s", o.until, o.since)
	}
	return window, nil
}

// open opens a capture, of which the frames in the window are read. The name "-" means standard input.
func (o *windowOptions) open(name string, env environment) (src capture.Source, err error) {
	window, err := o.window()
	if err != nil {
		return nil, err
	}
	if name == "-" {
		src, err = capture.NewReader(env.in, "standard input")
	} else {
		src, err = capture.Open(name)
	}
	if err != nil || window == nil {
		return src, err
	}
	return &windowed{Source: src, of: window}, nil
}

// windowed is a source of the frames in a window.
type windowed struct {
	capture.Source
	of     func(first time.Time) (since, until time.Time)
	window capture.Window
}

func (w *windowed) Next(f *capture.Frame) error {
	for {
		if err := w.Source.Next(f); err != nil || w.window.Has(f.Time.UTC(), w.of) {
			return err
		}
	}
}

// parseMoment parses a time.
func parseMoment(s string) (moment, error) {
	if after, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return moment{}, fmt.Errorf("%q is not a time after the first packet such as +30s or +1h30m", s)
		}
		return moment{of: func(first time.Time) time.Time { return first.Add(d) }, kind: '+'}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return moment{of: func(time.Time) time.Time { return t }, kind: '-'}, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return moment{daily: true, kind: ':', of: func(first time.Time) time.Time {
				day := first.UTC().Truncate(24 * time.Hour)
				at := day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond()))
				if at.Before(first.Add(-12 * time.Hour)) {
					return at.Add(24 * time.Hour) // the capture goes on after midnight
				}
				return at
			}}, nil
		}
	}
	return moment{}, fmt.Errorf("%q is not a time such as 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 or +30s", s)
}
