package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// firstTime returns the time of the first packet of a file, the zero time if it has none or cannot be read.
func firstTime(path string) time.Time {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return time.Time{}
	}
	r, err := capture.Open(path)
	if err != nil {
		return time.Time{}
	}
	defer r.Close()
	var f capture.Frame
	if r.Next(&f) != nil {
		return time.Time{}
	}
	return f.Time.UTC()
}

// readUnit reads the counts of a unit.
func readUnit(r io.Reader) (*unitfile.Unit, error) {
	u, err := unitfile.Read(r, all.Protocols())
	if err != nil {
		return nil, err
	}
	if u.Words = strings.Join(nettext.Each(u.Names, nettext.ShellWord), " "); u.Series {
		u.Words = "--series " + u.Words
	}
	return u, nil
}

// fromUnits returns the sum of all units in a folder, in the order of their folders, and says what trouble they had.
func fromUnits(dir string, trouble func(error)) (*unitfile.Sum, error) {
	var names []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."): // not complete
			return fs.SkipDir
		case d.Name() == aggregateFile:
			names = append(names, path)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no units; qdissect read --series --unit 1/1 --out DIR makes them", dir)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	sum := unitfile.NewSum()
	var u *unitfile.Unit
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		part, err := readUnit(f)
		f.Close()
		switch {
		case err != nil:
		case u == nil:
			u = part
		default:
			err = u.Join(part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if s, err := unitBefore(filepath.Dir(name)); err == nil && s != nil {
			for _, text := range s.Trouble {
				trouble(errors.New(text))
			}
		}
		if i+1 < len(names) && wholeUnit(names[i+1]) == wholeUnit(name) {
			continue
		}
		if u.Part != unitfile.All {
			return nil, fmt.Errorf("%s: only a part of the unit: the shards %s are missing", wholeUnit(name), missingShards(u.Part))
		}
		sum.Add(u)
		u = nil
	}
	return sum, nil
}

// wholeUnit returns the folder of the unit of a file.
func wholeUnit(name string) string {
	folder := filepath.Dir(name)
	return nettext.Either(strings.HasPrefix(filepath.Base(folder), "shards="), filepath.Dir(folder), folder)
}

// missingShards lists the shards that are not in a part.
func missingShards(part uint16) string {
	var list []string
	for i := range 4 {
		if part>>i&1 == 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ", ")
}

// fromSeries returns the sum of the units of captures, which this process dissects one after the other.
func fromSeries(inputs []unitfile.Input, by *regexp.Regexp, run pipeline.Options) (*unitfile.Sum, error) {
	list, err := unitsOf(inputs, by, "none")
	if err != nil {
		return nil, err
	}
	sum := unitfile.NewSum()
	for _, u := range list {
		c, _, err := u.count(run)
		if err != nil {
			return nil, err
		}
		// What is read of a file is what was counted, but for the places in tables.
		b, err := unitfile.Append(nil, c)
		if err != nil {
			return nil, err
		}
		if c, err = readUnit(bytes.NewReader(b)); err != nil {
			return nil, err
		}
		sum.Add(c)
	}
	return sum, nil
}

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
	r.o.number(made.Files)
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
