package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// fromUnits writes the report of the units in a folder.
func (r *reporting) fromUnits(env environment) error {
	c, err := r.o.protocols.config()
	if err != nil {
		return err
	}
	r.counting = &counting{plan: plan{env: env}}
	r.counting.plan.run.Analysis = c
	sum, err := fromUnits(r.o.from, func(err error) { r.troubled = true; complain(env, err) })
	if err != nil {
		return err
	}
	if err := r.writeUnits(sum, nil); err != nil {
		return err
	}
	return r.end()
}

// fromSeries writes the report of captures, each series of which is a unit.
func (r *reporting) fromSeries(args []string) error {
	by, err := r.o.units.grouping()
	if err != nil {
		return err
	}
	r.counting.run.Frames.Filter = r.choose.match()
	sum, err := fromSeries(r.counting.plan.inputs, by, r.counting.plan.run)
	if err != nil {
		return err
	}
	if err := r.writeUnits(sum, args); err != nil {
		return err
	}
	return r.end()
}

// writeUnits writes the report of units.
func (r *reporting) writeUnits(sum *unitfile.Sum, args []string) error {
	r.describe(args)
	made := r.made
	made.Files = sum.Files
	for i := range made.Files {
		if r.o.anonymize {
			made.Files[i].Name = fmt.Sprintf("capture-%d", i+1)
			made.Files[i].Word = made.Files[i].Name
		}
	}
	if r.by = "option"; len(r.home) == 0 {
		r.by = ""
	}
	run := &r.counting.plan.run
	p := sum.Shards.Sum().Report(stats.Options{
		Home: r.home, HomeBy: r.by, Packets: sum.Packets, OneSided: sum.OneSided > 0, Unknowns: sum.Guesses(), Hide: r.hide, Made: made,
		Servers: r.o.servers(),
	})
	if r.hide == nil {
		p.Talks = sum.Talks.List(p.Findings, run.Analysis, made.Files)
	}
	return r.finish(p)
}

// compare writes what changed between two captures or reports.
func (r *reporting) compare(names []string, env environment) error {
	var list [2]*stats.Report
	for i, name := range names {
		side, err := (&reporting{o: r.o, home: r.home, by: "option", hide: r.hide, made: stats.Made{Version: r.made.Version}}).side(name, env)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		list[i] = side
	}
	c := stats.Compare(list[0], list[1])
	return r.o.put(env, c, func(w io.Writer) error { return htmlreport.WriteComparison(w, c) }, func() []byte { return c.AppendText(nil) }, names)
}

// maxSaved is the largest report in JSON that is read.
const maxSaved = 256 << 20

// side returns the report that a file holds, or that of a capture.
func (r *reporting) side(name string, env environment) (*stats.Report, error) {
	if f, err := os.Open(name); err == nil {
		defer f.Close()
		var first [1]byte
		if _, err := f.ReadAt(first[:], 0); err == nil && first[0] == '{' {
			if r.hide != nil {
				return nil, errors.New("a report in JSON has what --anonymize or --no-names leaves out: make it with that flag")
			}
			var p stats.Report
			err := json.NewDecoder(io.LimitReader(f, maxSaved)).Decode(&p)
			if err == nil && p.Schema != stats.Schema {
				err = fmt.Errorf("not a report of qdissect, whose schema is %s: make it with --format json", stats.Schema)
			}
			return &p, err
		}
	}
	c, err := r.o.plan([]string{name}, "report", 0, env)
	if err != nil {
		return nil, err
	}
	if r.counting = c; len(r.home) == 0 {
		r.by = ""
	}
	r.describe([]string{name})
	c.run.Counts.Detailed, c.run.Counts.Talks = true, talks.New()
	sum, err := c.count(stats.New())
	if err != nil {
		return nil, err
	}
	return r.report(sum, c.run.Counts.Stats, htmlreport.MaxServers), nil
}
