package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// The files of a unit. The summary is written last.
const (
	aggregateFile = "aggregate.bin"
	summaryFile   = "summary.json"
)

// A unit is a series of captures that one process dissects.
type unit struct {
	inputs []unitfile.Input
	folder string // relative to that of all units
}

// unitsOf groups inputs into series and returns them in the order of their folders. A folder names the sensor, the day and
// the hour of the first packet (UTC), and the first file, as Hive does, so that databases read all units as one table.
func unitsOf(list []unitfile.Input, by *regexp.Regexp, sensor string) ([]unit, error) {
	var us []unit
	folders := map[string]string{}
	for _, g := range group(list, true, by) {
		day, hour := "none", "none"
		if t := firstTime(g[0].Path); !t.IsZero() {
			day, hour = t.UTC().Format("2006-01-02"), t.UTC().Format("15")
		}
		name := filepath.ToSlash(g[0].Name)
		for ext := filepath.Ext(name); ext != "" && (isCapture(name) || ext == ".gz" || ext == ".zst"); ext = filepath.Ext(name) {
			name = strings.TrimSuffix(name, ext)
		}
		folder := filepath.Join("sensor="+sensor, "date="+day, "hour="+hour, "unit="+strings.ReplaceAll(name, "/", "~"))
		if other, ok := folders[folder]; ok {
			return nil, fmt.Errorf("%s and %s would have the same unit, %s", other, g[0].Path, folder)
		}
		folders[folder] = g[0].Path
		us = append(us, unit{g, folder})
	}
	slices.SortFunc(us, func(a, b unit) int { return strings.Compare(a.folder, b.folder) })
	return us, nil
}

// captures names the captures of a unit, for people and by paths or a pattern.
func (u *unit) captures() (name string, names []string) {
	names = pathsOf(u.inputs)
	first, last, n := names[0], names[len(names)-1], len(names)
	switch {
	case n == 1:
		return first, names
	case n > 3:
		names = []string{digits.ReplaceAllString(first, "[0-9]*")}
	}
	return fmt.Sprintf("%s to %s (%s)", first, filepath.Base(last), nettext.Count(n, "capture")), names
}

var digits = regexp.MustCompile("[0-9]+")

// count dissects a unit as a run says, and returns what it counts.
func (u *unit) count(run pipeline.Options) (*unitfile.Unit, *report.Summary, error) {
	c := &unitfile.Unit{Part: cmp.Or(run.Counts.Part, unitfile.All), Shards: stats.NewShards(), Talks: talks.New()}
	c.Captures, c.Names = u.captures()
	c.Series = len(u.inputs) > 1
	run.Inputs, run.Series, run.Output = pathsOf(u.inputs), true, nil
	run.Counts = &pipeline.Counts{Detailed: true, Stats: stats.New(), Shards: c.Shards, Talks: c.Talks, Part: run.Counts.Part}
	sum, err := pipeline.Run(run)
	if err != nil {
		return nil, nil, err
	}
	c.Packets, c.OneSided, c.Guesses = sum.Packets, uint64(sum.OneSided), unitfile.GuessesOf(sum)
	return c, sum, nil
}

// parsePart parses I/N.
func parsePart(s string) (i, n int, err error) {
	a, b, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return 0, 0, fmt.Errorf("--unit %q: must be I/N, such as 2/10 for the second of ten parts, list or -", s)
	}
	return i, n, nil
}

// parseShards parses A/4 or A-B/4 and returns a bit for each shard, 0 without shards.
func parseShards(s string) (uint16, error) {
	if s == "" {
		return 0, nil
	}
	list, ok := strings.CutSuffix(s, "/4")
	from, to, several := strings.Cut(list, "-")
	if !several {
		to = from
	}
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || a < 0 || a > b || b > 3 {
		return 0, fmt.Errorf("--shards %q: must be A/4 or A-B/4, of 0 to 3, such as 0-1/4", s)
	}
	return uint16(1<<(b+1) - 1<<a), nil
}

// runUnits dissects one part of all units, each into a folder of its own, or lists those that are not done, or dissects
// those of such a list.
func (o *outOptions) runUnits(p *plan, flags *pflag.FlagSet) error {
	var part, parts int
	var below string // the unit's folder
	var err error
	if o.unit != "list" && o.unit != "-" {
		if part, parts, err = parsePart(o.unit); err != nil {
			return err
		}
	}
	if p.run.Counts.Part, err = parseShards(o.shards); err != nil {
		return err
	} else if o.shards != "" {
		below = "shards=" + strings.TrimSuffix(o.shards, "/4")
	}
	by, err := o.grouping()
	if err != nil {
		return err
	}
	m, end, err := o.newMany(p, flags)
	if err != nil {
		return err
	}
	defer end()
	if o.unit == "-" {
		return m.ordered(p)
	}
	list, err := unitsOf(p.inputs, by, o.sensor)
	if err != nil {
		return err
	}
	for i, u := range list {
		if parts > 0 && i%parts != part-1 {
			continue
		}
		u.folder = filepath.Join(u.folder, below)
		s, err := m.describe(u)
		if err != nil {
			m.trouble(nil, err)
			continue
		}
		if parts == 0 {
			err = m.order(u, s)
		} else {
			err = m.unit(u, s, p.o.quiet)
		}
		if err != nil {
			return err
		}
		if m.stop.Err() != nil {
			return errors.New("interrupted; the next run skips the units that are done")
		}
	}
	if text := m.remarks.String(); text != "" {
		complain(p.env, errors.New(text))
	}
	if parts > 0 {
		fmt.Fprintf(p.env.err, "%s dissected, %d done before\n", nettext.Count(m.new, "unit"), m.done)
	} else if err := json.NewEncoder(p.env.out).Encode(unitfile.Order{Done: &m.done}); err != nil {
		return err
	}
	return ended(m.troubled, false)
}

// order lists a unit unless it is done.
func (m *many) order(u unit, s *unitSummary) error {
	before, err := unitBefore(filepath.Join(m.o.dir, u.folder))
	if err != nil {
		return err
	}
	if before != nil && !m.o.force && before.same(s) {
		m.finished(before)
		return nil
	}
	return json.NewEncoder(m.env.out).Encode(unitfile.Order{Unit: u.folder, Inputs: u.inputs})
}

// ordered dissects the units that are listed on standard input, and says on standard output what became of each.
func (m *many) ordered(p *plan) error {
	in, out := json.NewDecoder(p.env.in), json.NewEncoder(p.env.out)
	for {
		var line unitfile.Order
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("--unit -: standard input is not a list of units: %w", err)
		case line.Done != nil:
			continue
		case !filepath.IsLocal(line.Unit) || len(line.Inputs) == 0:
			return fmt.Errorf("--unit -: %q is not a unit", line.Unit)
		}
		u := unit{line.Inputs, line.Unit}
		result := unitfile.Outcome{Unit: u.folder}
		before := m.done
		s, err := m.describe(u)
		if err == nil {
			err = m.unit(u, s, p.o.quiet)
		}
		switch {
		case m.stop.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			result.Error = err.Error()
		default:
			result.Version = digest(s.Program, s.Flags, s.Inputs)
			result.SHA256 = digest(s.Outputs)
			result.Packets, result.Messages, result.Before, result.Trouble = s.Packets, s.Messages, m.done > before, s.Trouble
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
}
