package main

import (
	"cmp"
	"fmt"
	"io"

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
	return r.writeUnits(sum, nil)
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
	return r.writeUnits(sum, args)
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
	run := &r.counting.plan.run
	p := sum.Shards.Sum().Report(stats.Options{
		Home: r.home, HomeBy: r.by, Packets: sum.Packets, OneSided: sum.OneSided > 0, Unknowns: sum.Guesses(), Hide: r.hide, Made: made,
		Servers: r.o.servers(),
	})
	if r.hide == nil {
		p.Talks = sum.Talks.List(p.Findings, run.Analysis, made.Files)
	}
	return cmp.Or(r.finish(p), r.end())
}

// compare writes what changed between two captures.
func (r *reporting) compare(names []string, env environment) error {
	var list [2]*stats.Report
	var damage error
	for i, name := range names {
		c, err := r.o.plan([]string{name}, "report", 0, env)
		if err != nil {
			return err
		}
		side := &reporting{o: r.o, home: r.home, by: r.by, hide: r.hide, made: stats.Made{Version: r.made.Version}, counting: c}
		side.describe([]string{name})
		c.run.Counts.Detailed, c.run.Counts.Talks = true, talks.New()
		sum, err := c.count(stats.New())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		damage = cmp.Or(damage, c.end())
		list[i] = side.report(sum, c.run.Counts.Stats, htmlreport.MaxServers)
	}
	c := stats.Compare(list[0], list[1])
	return cmp.Or(r.o.put(env, c, func(w io.Writer) error { return htmlreport.WriteComparison(w, c) }, func() []byte { return c.AppendText(nil) }, names), damage)
}
