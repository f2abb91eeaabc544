package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// windowOptions are the flags that select frames by time.
type windowOptions struct {
	since, until string
}

func (o *windowOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.since, "since", "", "files: read only packets from this `TIME` on: 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 (of the first packet's day) or +30s (after the first packet); UTC unless it says otherwise")
	f.StringVar(&o.until, "until", "", "files: read only packets before this `TIME`")
}

// A moment is a time, or one that depends on the first packet.
type moment func(first time.Time) time.Time

// window returns a function that returns the times for a first packet; zero times are no limit. It is nil if no flag is
// given.
func (o *windowOptions) window() (func(first time.Time) (since, until time.Time), error) {
	if o.since == "" && o.until == "" {
		return nil, nil
	}
	never := func(time.Time) time.Time { return time.Time{} }
	since, until := moment(never), moment(never)
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
	now := time.Unix(0, 0)
	if a, b := since(now), until(now); !a.IsZero() && !b.IsZero() && !a.Before(b) && strings.Contains(o.since, "-") == strings.Contains(o.until, "-") &&
		strings.HasPrefix(o.since, "+") == strings.HasPrefix(o.until, "+") {
		return nil, errors.New("--until must be after --since")
	}
	return func(first time.Time) (time.Time, time.Time) { return since(first), until(first) }, nil
}

// parseMoment parses a time.
func parseMoment(s string) (moment, error) {
	if after, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q is not a time after the first packet such as +30s or +1h30m", s)
		}
		return func(first time.Time) time.Time { return first.Add(d) }, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return func(time.Time) time.Time { return t }, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return func(first time.Time) time.Time {
				day := first.UTC().Truncate(24 * time.Hour)
				at := day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond()))
				if at.Before(first.Add(-12 * time.Hour)) {
					return at.Add(24 * time.Hour) // the capture goes on after midnight
				}
				return at
			}, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time such as 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 or +30s", s)
}
