package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// A plan is a run over captures or interfaces, built from the flags.
type plan struct {
	o        *readOptions
	env      environment
	live     bool
	inputs   []unitfile.Input
	choose   *chooser
	limits   limits
	run      pipeline.Options
	aside    bool           // the summary goes to stderr
	lines    io.WriteCloser // the output, to be closed after the run
	counters *bytes.Buffer  // of -q, which come after what is unusual
	first    time.Time      // of the first packet, if there is a window
	troubled bool
}

func runRead(cmd *cobra.Command, args []string, o *readOptions, env environment) error {
	if o.live.list {
		return o.live.listInterfaces(env, slices.Concat(args, o.files, o.live.interfaces))
	}
	p, err := o.plan(cmd.Flags(), args, env)
	switch {
	case err != nil:
		return err
	case o.out.dir != "":
		p.run.Frames.Filter = p.choose.match()
		if o.out.unit != "" {
			return o.out.runUnits(p, cmd.Flags())
		}
		return o.out.runMany(p, cmd.Flags())
	}
	return p.execute()
}

// plan makes a plan of the flags and arguments.
func (o *readOptions) plan(flags *pflag.FlagSet, args []string, env environment) (*plan, error) {
	p := &plan{o: o, env: env, live: len(o.live.interfaces) > 0, run: pipeline.New()}
	files, words := o.files, args
	if !p.live && len(files) == 0 {
		files, words = args, nil // as with tcpdump, arguments after -i and -r are a filter
	}
	var err error
	if p.limits, err = o.live.limits(); err != nil {
		return nil, err
	}
	o.filtered = flags.Changed("display-filter")
	if err := p.refuse(flags, files); err != nil {
		return nil, err
	}
	if err := p.take(files, words); err != nil {
		return nil, err
	}
	if err := p.report(); err != nil {
		return nil, err
	}
	r := &p.run
	r.Stdin, r.All, r.Count, r.Workers, r.Lines = env.in, o.all, o.count, o.workers(), o.lines
	r.Series, r.Save.Annotate, r.Counts.Detailed = o.out.series, o.save.annotate != "", o.live.metrics != "" || o.format.output != "text"
	return p, o.limits.apply(r)
}

// take sets what is read of which files, and the words of a filter.
func (p *plan) take(files, words []string) (err error) {
	o := p.o
	if p.run.Frames.Window, err = o.window.window(); err != nil {
		return err
	}
	if o.out.dir == "" { // many files are read at the same time
		p.watchFirst()
	}
	if err := p.find(files); err != nil {
		return err
	}
	if p.run.Analysis, err = o.protocols.config(); err != nil {
		return err
	}
	p.choose, err = o.filter.compile(words)
	return err
}

// interruptible makes an interrupt end the run if it may wait for packets. The function that it
// returns ends that.
func (p *plan) interruptible(also bool) (end func()) {
	if !p.live && !also && !slices.Contains(p.run.Inputs, "-") && !slices.ContainsFunc(p.run.Inputs, capture.Waits) {
		return func() {}
	}
	stop, done := interrupted(context.Background())
	p.run.Stop = stop.Done()
	return done
}

// find expands the patterns and records the input files.
func (p *plan) find(files []string) error {
	o := p.o
	for _, name := range files {
		if _, err := os.Stat(name); err == nil || len(o.files) > 0 {
			continue
		}
		if o.save.annotate != "" && (name == "tree" || name == "line") {
			return fmt.Errorf("%s: no such file; for the comments, write --annotate=%s", name, name)
		}
		if filter.IsKeyword(name) {
			return fmt.Errorf("%s: no such file; for a filter, use -f FILTER or -r FILE FILTER", name)
		}
	}
	var err error
	if p.inputs, err = expand(files, func(err error) {
		complain(p.env, err)
		p.troubled = p.troubled || !errors.As(err, new(skipped))
	}); err != nil {
		return err
	}
	if o.out.series && o.out.dir == "" {
		by, err := o.out.grouping()
		if err != nil {
			return err
		}
		groups := group(p.inputs, true, by)
		if len(groups) > 1 {
			return fmt.Errorf("%s and %s are not of one series; use --out DIR for several series", groups[0][0].Path, groups[1][0].Path)
		}
		p.inputs = groups[0]
	}
	p.run.Inputs = pathsOf(p.inputs)
	return nil
}

// report chooses the reporter and its output.
func (p *plan) report() error {
	o := p.o
	rep, tree, err := o.format.reporter(p.env, len(p.inputs) > 1 && o.out.dir == "")
	if err != nil {
		return err
	}
	if p.lines = o.format.aligned(p.env, p.env.out); o.quiet {
		p.lines = unclosed{p.env.out}
	}
	p.run.Out, p.aside = p.lines, p.live && !o.quiet
	switch {
	case o.save.file == "-":
		rep, tree = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }, false
		p.run.Out, p.aside = io.Discard, true
	case o.quiet && o.format.output == "text":
		columns := o.format.columns(p.env)
		rep, tree = func() report.Reporter { return &report.Counts{Width: columns} }, false
		if o.out.dir == "" && !o.limits.small() && !o.filtered { // what is unusual among chosen messages would mislead
			p.counters = new(bytes.Buffer)
			p.run.Out, p.run.Counts.Stats = p.counters, stats.New()
		}
	case o.quiet:
		inner := rep
		rep, tree = func() report.Reporter { return report.SummaryOnly(inner()) }, false
	}
	if o.filtered {
		chosen, err := display.Compile(o.display)
		if err != nil {
			return showFilter(err)
		}
		p.run.Choice.New, p.run.Choice.Only, tree = func() pipeline.Chooser { return chosen.Matcher() }, o.quiet, tree || chosen.NeedsTree()
		p.run.Save.Chosen = o.save.file != ""
	}
	if (p.aside && o.format.output == "text" || o.live.metrics != "" && o.live.servers > 0 || o.live.onVerdict != "" || o.live.counts != "") && !o.limits.small() {
		p.run.Counts.Stats = stats.New()
	}
	o.slots(p)
	if o.save.annotate == "tree" {
		p.run.Save.Tree, tree = report.NewTreeNote(o.format.secrets), true
	}
	p.run.Reporter, p.run.Analysis.Tree, p.run.Choice.Exchanges = rep, tree, o.exchanges || o.format.output == "parquet"
	p.run.Analysis.Unreasoned = o.format.output == "text" && !o.filtered // a filter may ask for the reason
	return nil
}

// execute runs the plan and prints the closing remarks.
func (p *plan) execute() error {
	o, env, run := p.o, p.env, &p.run
	var err error
	var end func()
	bar := &progress{env: env, on: isTerminal(env.err) && (!isTerminal(env.out) || o.quiet), next: time.Now().Add(progressAfter)}
	var line *progress
	if bar.on && p.live && o.quiet {
		line = bar
	}
	if end, err = o.live.watch(env, run, line); err != nil {
		return err
	}
	defer end()
	live, err := p.begin()
	if err != nil {
		return err
	}
	if live != nil {
		defer live.Close()
	} else {
		readsFiles.Store(true)
	}
	read := filesOf(run.Inputs, env.in)
	if out, ok := regular(env.out); ok && among(out, read) {
		return errors.New("standard output is one of the input files; use another file")
	}
	save, err := o.save.saver(env, p.limits, live, o.live.snap, capture.Making{Private: o.format.secrets, Inputs: read})
	if err == nil && p.live {
		err = o.live.confine(o.folders()...)
	}
	if err != nil {
		return o.live.blame(err)
	}
	if save != nil {
		run.Save.Saver = save
	}
	defer p.interruptible(save != nil)()
	if p.live && !o.quiet {
		o.live.announce(env, live)
	}
	bar.on = bar.on && !p.live && run.Events.Watch == nil
	run.Trouble = func(err error) { p.troubled = true; bar.clear(); complain(env, err) }
	run.Events.Progress = bar.step
	var found pieces
	if !run.Series {
		run.Events.Ended = found.ended
	}
	sum, err := pipeline.Run(*run)
	err = cmp.Or(err, p.lines.Close())
	bar.clear()
	err = cmp.Or(err, save.Close())
	switch {
	case err != nil && isClosedPipe(err):
		return nil
	case err != nil:
		return err
	}
	if err := p.conclude(sum, found.String()); err != nil {
		return err
	}
	return ended(p.troubled || save.incomplete(), false)
}

// workers returns the number of cores to use. Delta times need a single worker, which
// sees all lines.
func (o *readOptions) workers() int {
	switch {
	case strings.HasPrefix(o.format.clock, "d"):
		return 1
	case o.jobs > 0:
		return o.jobs
	}
	return runtime.GOMAXPROCS(0)
}
