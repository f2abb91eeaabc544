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
	"github.com/qdissect/qdissect/report"
)

// A refusal is one row of a table of flags that cannot be combined.
type refusal struct {
	when bool
	text string
}

// refuse returns the first refusal that applies.
func refuse(table []refusal) error {
	for _, r := range table {
		if r.when {
			return errors.New(r.text)
		}
	}
	return nil
}

// A plan is a run over captures or interfaces, built from the flags.
type plan struct {
	o        *readOptions
	env      environment
	live     bool
	inputs   []input
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
		p.filter(p.choose.match())
		if o.out.unit != "" {
			return o.out.runUnits(p, cmd.Flags())
		}
		return o.out.runMany(p, cmd.Flags())
	}
	return p.execute()
}

// plan makes a plan of the flags and arguments.
func (o *readOptions) plan(flags *pflag.FlagSet, args []string, env environment) (*plan, error) {
	p := &plan{o: o, env: env, live: len(o.live.interfaces) > 0}
	files, words := o.files, args
	if !p.live && len(files) == 0 {
		files, words = args, nil // as with tcpdump, arguments after -i and -r are a filter
	}
	var err error
	if p.limits, err = o.live.limits(); err != nil {
		return nil, err
	}
	o.filtered = flags.Changed("display-filter")
	if err := refuse(p.refusals(flags, files)); err != nil {
		return nil, err
	}
	if p.run.Window, err = o.window.window(); err != nil {
		return nil, err
	}
	if o.out.dir == "" { // many files are read at the same time
		p.watchFirst()
	}
	if err := p.find(files); err != nil {
		return nil, err
	}
	if p.run.Analysis, err = o.protocols.config(); err != nil {
		return nil, err
	}
	stdin := env.in
	if slices.Contains(p.run.Inputs, "-") {
		stdin = nil
	}
	if p.choose, err = o.filter.compile(words, stdin); err != nil {
		return nil, err
	}
	if err := p.report(); err != nil {
		return nil, err
	}
	r := &p.run
	r.Stdin, r.All, r.Count, r.Workers, r.Lines = env.in, o.all, o.count, o.workers(), o.lines
	r.Series, r.Annotate, r.Duration, r.Detailed = o.out.series, o.save.annotate != "", p.limits.duration, o.live.metrics != "" || o.format.output != "text"
	return p, o.limits.apply(r)
}

// refusals lists the flags and arguments that contradict each other or lack another
// one.
func (p *plan) refusals(flags *pflag.FlagSet, files []string) []refusal {
	o, live := p.o, p.live
	save := o.save.file != ""
	return []refusal{
		{live && len(o.files) > 0, "-i and -r cannot be combined: packets come from interfaces or from files"},
		{o.jobs < 0, fmt.Sprintf("-j %d: must be 1 or more cores, or 0 for all", o.jobs)},
		{o.count == 0 && flags.Changed("count"), "-c 0: must be 1 message or more"},
		{o.quiet && o.format.output == "fields", "-q and -o fields cannot be combined: rows have no summary"},
		{o.out.unit != "" && (o.out.dir == "" || !o.out.series), "--unit needs --series and --out"},
		{o.out.unit != "" && !o.quiet && o.format.output != "jsonl" && o.format.output != "parquet", "--unit needs -o jsonl or parquet, or -q for counts only"},
		{o.out.unit != "" && (o.filtered || o.count > 0), "--unit cannot be combined with -Y or -c: its counts are of all messages"},
		{o.out.shards != "" && o.out.unit == "", "--shards needs --unit"},
		{o.out.unit == "" && flags.Changed("sensor"), "--sensor needs --unit"},
		{o.out.unit != "" && !folderName(o.out.sensor), fmt.Sprintf("--sensor %q: use letters, digits, -, _ and .", o.out.sensor)},
		{o.out.by != "" && !o.out.series, "--series-by needs --series"},
		{o.format.output == "parquet" && o.out.dir == "", "-o parquet writes several files: use qdissect read -o parquet --out DIR FILE"},
		{o.quiet && o.format.output == "parquet", "-q and -o parquet cannot be combined: tables have no summary"},
		{o.out.force && o.out.dir == "", "--force needs --out"},
		{o.live.snap < 0 || o.live.snap > capture.MaxFrame, fmt.Sprintf("-s %d: must be 1 to %d bytes, or 0 for all", o.live.snap, capture.MaxFrame)},
		{o.live.buffer < 0 || o.live.buffer > maxBuffer, fmt.Sprintf("-B %d: must be 1 to %d MiB", o.live.buffer, maxBuffer)},
		{!live && o.live.snap > 0, "-s needs -i: the frames of a file are captured already"},
		{!live && o.live.buffer > 0, "-B needs -i: it is the buffer of a live capture"},
		{!live && o.live.netns != "", "--netns needs -i: a file has no interfaces"},
		{!live && o.live.promiscuous, "--promiscuous needs -i: the frames of a file are captured already"},
		{o.out.unit == "-" && len(files) > 0, "--unit - reads the list of units from standard input: leave out the captures"},
		{!live && len(files) == 0 && o.out.unit != "-", "no capture file given (- is standard input); see qdissect --help"},
		{!live && p.limits.duration > 0, "-a duration needs -i"},
		{live && (o.window.since != "" || o.window.until != ""), "--since and --until select from files; -a duration:S ends a live capture"},
		{o.out.dir != "" && (live || save || o.live.metrics != "" || o.live.onVerdict != "" || o.live.counts != "" || o.live.every > 0 || len(o.live.autostop) > 0), "--out cannot be combined with -i, -w, -a, --metrics, --on-verdict, --counts or --stats-interval"},
		{o.live.metrics == "" && flags.Changed("metrics-servers"), "--metrics-servers needs --metrics"},
		{o.live.servers < 0 || o.live.servers > maxMetricServers, fmt.Sprintf("--metrics-servers %d: must be 0 to %d", o.live.servers, maxMetricServers)},
		{o.live.onVerdict != "" && o.limits.small(), "--on-verdict needs --max-memory 64M or more"},
		{o.live.onVerdict != "" && !live && !slices.ContainsFunc(files, func(name string) bool { return name == "-" || capture.Waits(name) }), "--on-verdict needs -i or a pipe; for files there is qdissect report --format json"},
		{o.live.counts != "" && (o.filtered || o.count > 0), "--counts cannot be combined with -Y or -c: its counts are of all messages"},
		{o.live.counts != "" && (o.live.onVerdict != "" || o.live.metrics != "" && o.live.servers > 0), "--counts cannot be combined with --on-verdict or counters of servers (--metrics-servers 0): it counts five minutes at a time"},
		{o.live.counts != "" && o.limits.small(), "--counts needs --max-memory 64M or more"},
		{o.live.counts != "" && !live && (len(files) != 1 || files[0] != "-" && !capture.Waits(files[0])), "--counts needs -i or a pipe; for files there is --unit"},
		{o.live.every < 0, fmt.Sprintf("--stats-interval %d: must be 1 second or more", o.live.every)},
		{!save && flags.Changed("write"), "-w needs a file name"},
		{!save && flags.Changed("on-write-error"), "--on-write-error needs -w"},
		{!save && o.save.annotate != "", "--annotate needs -w"},
		{!slices.Contains([]string{"", "line", "tree"}, o.save.annotate), fmt.Sprintf("--annotate=%s: must be line or tree", o.save.annotate)},
		{!save && len(o.save.rotate) > 0, "-b needs -w"},
		{!save && (p.limits.size > 0 || p.limits.files > 0), "-a filesize and -a files need -w"},
		{save && !slices.Contains([]string{"stop", "continue"}, o.save.onError), fmt.Sprintf("--on-write-error %q: must be stop or continue", o.save.onError)},
		{o.save.file == "-" && len(o.save.rotate) > 0, "-b needs -w FILE: standard output is one stream"},
	}
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
			return fmt.Errorf("%s and %s are not of one series; use --out DIR for several series", groups[0][0].path, groups[1][0].path)
		}
		p.inputs = groups[0]
	}
	for _, in := range p.inputs {
		p.run.Inputs = append(p.run.Inputs, in.path)
	}
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
		p.lines = whole{p.env.out}
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
			p.run.Out, p.run.Stats = p.counters, stats.New()
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
		p.run.Choose, tree = func() pipeline.Chooser { return chosen.Matcher() }, tree || chosen.NeedsTree()
		p.run.Restrict, p.run.SaveChosen = o.quiet, o.save.file != ""
	}
	if (p.aside && o.format.output == "text" || o.live.metrics != "" && o.live.servers > 0 || o.live.onVerdict != "" || o.live.counts != "") && !o.limits.small() {
		p.run.Stats = stats.New()
	}
	o.slots(p)
	if o.save.annotate == "tree" {
		p.run.Tree, tree = report.NewTreeNote(o.format.secrets), true
	}
	p.run.Reporter, p.run.Analysis.Tree = rep, tree
	p.run.Analysis.Unreasoned = o.format.output == "text" && !o.filtered // a filter may ask for the reason
	return nil
}

// filter sets the filter of the run and prints the note about fragments.
func (p *plan) filter(f func(uint16) (func([]byte, int) bool, error)) {
	p.run.Filter = f
	if note := p.choose.note(); note != "" {
		complain(p.env, errors.New(note))
	}
}

// execute runs the plan and prints the closing remarks.
func (p *plan) execute() error {
	o, env, run := p.o, p.env, &p.run
	var err error
	var end func()
	bar := newProgress(env, o)
	var line *progress
	if bar.on && p.live && o.quiet {
		line = bar
	}
	if end, err = o.live.watch(env, run, line); err != nil {
		return err
	}
	defer end()
	var live *capture.Live
	if p.live {
		if live, err = o.live.open(p.choose); err != nil {
			return err
		}
		defer live.Close()
		run.Live, run.Name = live, strings.Join(o.live.interfaces, ", ")
		p.filter(p.choose.chosen())
	} else {
		p.filter(p.choose.match())
		readsFiles.Store(true)
	}
	read := filesOf(run.Inputs, env.in)
	if out, ok := regular(env.out); ok && among(out, read) {
		return errors.New("standard output is one of the input files; use another file")
	}
	save, err := o.save.saver(env, p.limits, live, o.live.snap, capture.Making{Private: o.format.secrets, Inputs: read})
	if err != nil {
		return err
	}
	if save != nil {
		run.Saver = save
	}
	if p.live || save != nil || slices.Contains(run.Inputs, "-") || slices.ContainsFunc(run.Inputs, capture.Waits) {
		stop, done := interrupted(context.Background())
		defer done()
		run.Stop = stop.Done()
	}
	if p.live && !o.quiet {
		o.live.announce(env, live)
	}
	bar.on = bar.on && !p.live && run.Watch == nil
	run.Trouble = func(err error) { p.troubled = true; bar.clear(); complain(env, err) }
	run.Progress = bar.step
	var found pieces
	if !run.Series {
		run.Ended = found.ended
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
	if p.troubled || save.incomplete() {
		return status(exitTrouble)
	}
	return nil
}

// conclude writes remarks about the whole run to stderr.
func (p *plan) conclude(sum *report.Summary, pieces string) error {
	o, env := p.o, p.env
	if p.counters != nil {
		if _, err := env.out.Write(append(p.unusual(sum, p.counters.Bytes()), p.counters.Bytes()...)); err != nil {
			return err
		}
	}
	if pieces != "" {
		complain(env, errors.New(pieces))
	}
	if p.aside {
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
	if sum.Recognised() > 0 || sum.Chosen || p.troubled && sum.Packets == 0 {
		return nil
	}
	// Say what the capture holds instead of messages.
	if p.run.Window != nil && sum.Packets == 0 {
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
	if window := p.run.Window; window != nil {
		p.run.Window = func(first time.Time) (since, until time.Time) {
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
	if p.run.Stats == nil || p.run.Slots != nil || p.o.format.output != "text" {
		return nil
	}
	o := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0}
	if p.live {
		o.Home, o.HomeBy = p.o.live.addresses(), "interface"
	}
	r := p.run.Stats.Report(o)
	if !r.Unusual() {
		return nil
	}
	return append(r.AppendText(nil, 1+bytes.Count(counters, []byte("\n"))), '\n')
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
