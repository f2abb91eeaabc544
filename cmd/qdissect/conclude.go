package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// conclude writes remarks about the whole run to stderr.
func (p *plan) conclude(sum *report.Summary, pieces string) error {
	o, env := p.o, p.env
	nothing := p.troubled && sum.Packets == 0 // why has been said
	if p.counters != nil && !nothing {
		if _, err := env.out.Write(append(p.unusual(sum, p.counters.Bytes()), p.counters.Bytes()...)); err != nil {
			return err
		}
	}
	if pieces != "" {
		complain(env, errors.New(pieces))
	}
	if p.aside && !nothing {
		counters := &report.Counts{Width: o.format.width}
		if counters.Width < 0 {
			counters.Width = widthOf(env.err)
		}
		if err := counters.End(sum); err != nil {
			return err
		}
		env.err.Write(append(p.unusual(sum, counters.Bytes()), counters.Bytes()...))
	} else if !o.quiet {
		if sum.MostlyDuplicates {
			complain(env, fmt.Errorf("most datagrams are duplicates, as in captures on a mirror port or on the interface any: %d duplicates are left out", sum.Duplicates))
		}
		if sum.OneSided > 0 {
			complain(env, errors.New(string(report.AppendOneSided(nil, sum))))
		}
	}
	if sum.Recognised() > 0 || sum.Chosen || nothing {
		return nil
	}
	// Say what the capture holds instead of messages.
	if p.run.Frames.Window != nil && sum.Packets == 0 {
		complain(env, p.outside())
		return nil
	}
	text := string(report.AppendUnread(nil, sum, len(o.protocols.names) > 0))
	if sum.Datagrams > 0 && !o.all {
		text += "; --all shows them"
	}
	complain(env, errors.New(text))
	return nil
}

// watchFirst records the time of the first packet, if there is a window.
func (p *plan) watchFirst() {
	if window := p.run.Frames.Window; window != nil {
		p.run.Frames.Window = func(first time.Time) (since, until time.Time) {
			p.first = first
			return window(first)
		}
	}
}

// outside says that no packet was in the window.
func (p *plan) outside() error {
	text := "no messages: no packets between --since and --until"
	if !p.first.IsZero() {
		text += "; the first packet of the capture is of " + p.first.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return errors.New(text)
}

// unusual returns the report, if it has more to say than that nothing is unusual, to be followed by the counters.
func (p *plan) unusual(sum *report.Summary, counters []byte) []byte {
	if p.run.Counts.Stats == nil || p.run.Counts.Slots != nil || p.o.format.output != "text" {
		return nil
	}
	o := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Streams: streamsOf(sum)}
	if p.live {
		o.Home, o.HomeBy = p.o.live.addresses(), "interface"
	}
	r := p.run.Counts.Stats.Report(o)
	if !r.Unusual() {
		return nil
	}
	return append(r.AppendText(nil, 1+bytes.Count(counters, []byte("\n"))), '\n')
}
