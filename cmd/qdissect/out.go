package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// outOptions are the flags for many files.
type outOptions struct {
	dir    string
	series bool
	by     string // what names a series
	force  bool
	unit   string // the part of the units to dissect
	shards string // of them
	sensor string
}

func (o *outOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "out", "", "write one output per input into this `folder`, and skip inputs that are done")
	o.addSeries(f)
	f.StringVar(&o.unit, "unit", "", "with --series and --out: dissect part `I/N` of the series, each into a folder of its own, for report --from; list says what is not done, - dissects such a list from standard input")
	f.StringVar(&o.shards, "shards", "", "with --unit: dissect only conversations of the `SHARDS` A-B/4 (0 to 3), so that several processes share a long series")
	f.StringVar(&o.sensor, "sensor", "none", "with --unit: `NAME` of where the captures are from")
	f.BoolVar(&o.force, "force", false, "with --out: also dissect inputs that are done")
}

// addSeries adds the flags for series.
func (o *outOptions) addSeries(f *pflag.FlagSet) {
	f.BoolVar(&o.series, "series", false, "read files whose names differ only in numbers, and that follow each other, as one capture")
	f.StringVar(&o.by, "series-by", "", "with --series: files are of one series if `REGEX` matches the same text in their paths (of its groups, if it has some)")
}

// grouping returns the expression of --series-by, nil without.
func (o *outOptions) grouping() (*regexp.Regexp, error) {
	if o.by == "" {
		return nil, nil
	}
	by, err := regexp.Compile(o.by)
	if err != nil {
		return nil, fmt.Errorf("--series-by: %w", err)
	}
	return by, nil
}

// many is a run that writes one output per input.
type many struct {
	o         *outOptions
	env       environment
	run       pipeline.Options
	stop      context.Context
	ext       string
	more      []string // names of further files beside the output, which are tables
	program   string
	flags     []string
	format    *formatOptions
	private   bool // readable by the owner only, because secrets are shown
	troubled  bool
	done, new int
	pieces    pieces
	remarks   remarks
}

// remarks counts captures by remark, so that each remark is printed once.
type remarks struct {
	silent, doubled, sided int
	first                  string // of the silent captures
}

// add records the summary of n captures that were read as one.
func (r *remarks) add(name string, n int, sum *report.Summary) {
	if sum.Recognised() == 0 {
		if r.silent == 0 {
			r.first = name
		}
		r.silent += n
	}
	if sum.MostlyDuplicates {
		r.doubled += n
	}
	if sum.OneSided > 0 {
		r.sided += n
	}
}

// String returns the remarks, or "" if there are none.
func (r *remarks) String() string {
	var parts []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, nettext.Count(n, "capture")+" "+fmt.Sprintf(format, args...))
		}
	}
	say(r.silent, "without messages, for example %s; qdissect says what it holds if it is read alone", r.first)
	say(r.doubled, "with mostly duplicate datagrams: the duplicates are left out")
	say(r.sided, "of one direction only, or without a server that answers")
	return strings.Join(parts, "; ")
}

// outNames are the flags that do not change the output.
var outNames = []string{"out", "force", "unit", "sensor", "jobs", "read", "line-buffered"}

// runMany executes a plan with one output per input.
func (o *outOptions) runMany(p *plan, flags *pflag.FlagSet) error {
	m, end, err := o.newMany(p, flags)
	if err != nil {
		return err
	}
	defer end()
	by, err := o.grouping()
	if err != nil {
		return err
	}
	env := p.env
	outputs := map[string]string{}
	for _, in := range p.inputs {
		if in.Path == "-" {
			return errors.New("--out cannot read standard input, because an output is named after its input")
		}
		out := m.output(in)
		if other, ok := outputs[out]; ok {
			return fmt.Errorf("%s and %s would have the same output, %s: give a pattern for a folder above them, such as 'captures/**'", other, in.Path, out)
		}
		outputs[out] = in.Path
	}
	for _, g := range group(p.inputs, o.series, by) {
		if err := m.group(g); err != nil {
			return err
		}
	}
	for _, text := range []string{m.pieces.String(), m.remarks.String()} {
		if text != "" {
			complain(env, errors.New(text))
		}
	}
	fmt.Fprintf(env.err, "%s dissected, %d done before\n", nettext.Count(m.new, "capture"), m.done)
	return ended(m.troubled, false)
}

// newMany returns a run as a plan says, which an interrupt stops. The function ends waiting for interrupts.
func (o *outOptions) newMany(p *plan, flags *pflag.FlagSet) (m *many, end func(), err error) {
	format := &p.o.format
	m = &many{
		o: o, env: p.env, run: p.run, private: format.secrets, format: format, troubled: p.troubled, flags: []string{},
		ext: map[string]string{"text": ".txt", "json": ".json", "jsonl": ".jsonl", "fields": format.rows.extension()}[format.output],
	}
	if format.output == "parquet" {
		m.ext, m.more = "/"+tables.Names[0], tables.Names[1:]
	}
	if m.program, err = identity(); err != nil {
		return nil, nil, err
	}
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(outNames, f.Name) {
			m.flags = append(m.flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	m.stop, end = interrupted(context.Background())
	m.run.Stop = m.stop.Done()
	return m, end, nil
}

func (m *many) output(in unitfile.Input) string {
	return filepath.FromSlash(filepath.Join(m.o.dir, in.Name) + m.ext)
}

// outputs returns all files of an output.
func (m *many) outputs(in unitfile.Input) []string {
	first := m.output(in)
	return append([]string{first}, nettext.Each(m.more, func(name string) string { return filepath.Join(filepath.Dir(first), name) })...)
}

// trouble reports an error and records it in the stamp for later runs.
func (m *many) trouble(s *stamp, err error) {
	m.troubled = true
	complain(m.env, err)
	if s != nil {
		s.Trouble = append(s.Trouble, err.Error())
	}
}

// rowOptions are the flags of -o fields.
type rowOptions struct {
	names    []string
	settings []string
	raw      bool
}

func (o *rowOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.names, "field", "e", nil, "with -o fields: write the values of this `NAME`, such as frame or server.name; see qdissect help filter")
	f.StringArrayVarP(&o.settings, "field-option", "E", nil, "with -o fields: header=y writes the names first, separator=, writes CSV instead of TSV")
	f.BoolVar(&o.raw, "raw-cells", false, "with -E separator=,: no apostrophe before texts that a spreadsheet would take for formulas")
}

// reporter returns what writes the rows.
func (o *rowOptions) reporter(secrets bool) (r func() report.Reporter, tree bool, err error) {
	if len(o.names) == 0 {
		return nil, false, errors.New("-o fields needs -e NAME, such as -e frame -e server.name")
	}
	var columns []*display.Column
	for _, name := range o.names {
		c, err := display.CompileColumn(name)
		if wrong, ok := errors.AsType[*filter.Error](err); ok {
			return nil, false, fmt.Errorf("-e: %s", wrong.Text)
		}
		if err != nil {
			return nil, false, err
		}
		columns, tree = append(columns, c), tree || c.NeedsTree()
	}
	rows := display.RowOptions{Secrets: secrets, Raw: o.raw}
	for _, s := range o.settings {
		switch strings.TrimSpace(s) {
		case "header=y":
			rows.Header = true
		case "header=n":
			rows.Header = false
		case "separator=,":
			rows.CSV = true
		case "separator=/t", "separator=\t":
			rows.CSV = false
		default:
			return nil, false, fmt.Errorf("-E %s: use header=y, header=n, separator=, or separator=/t", s)
		}
	}
	return func() report.Reporter { return display.NewRows(columns, rows) }, tree, nil
}

// extension returns that of files with rows.
func (o *rowOptions) extension() string {
	if slices.ContainsFunc(o.settings, func(s string) bool { return strings.TrimSpace(s) == "separator=," }) {
		return ".csv"
	}
	return ".tsv"
}
