package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// readOptions are the flags of reading captures.
type readOptions struct {
	files     []string
	count     uint64
	quiet     bool
	all       bool
	decodeAs  []string
	protocols []string
	jobs      int
	noResolve int
	lines     bool
	filter    filterOptions
	display   string
	save      saveOptions
	live      liveOptions
	limits    limitOptions
	out       outOptions
	format    formatOptions
}

// formatOptions are the flags that choose how messages are written.
type formatOptions struct {
	output  string
	tree    bool
	hex     bool
	clock   string
	color   string
	secrets bool
}

func (o *formatOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "text", "output format: text, json (one array) or jsonl (an object per line)")
	f.BoolVarP(&o.tree, "verbose", "V", false, "text: show all fields with offset, length and bytes")
	f.BoolVarP(&o.hex, "hex", "x", false, "text: show the bytes with the fields beside them")
	f.StringVarP(&o.clock, "time", "t", "r", "text: time format: r(elative), d(elta), a(bsolute), ad (with date), e(poch)")
	f.StringVar(&o.color, "color", "auto", "text: colour: auto, always or never")
	f.BoolVar(&o.secrets, "show-secrets", false, "show passwords and tickets instead of ***")
}

func (o *readOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.files, "read", "r", nil, "read this `file`, as tcpdump and tshark call it; - is standard input")
	f.Uint64VarP(&o.count, "count", "c", 0, "stop after this many messages")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "write only the summary")
	f.BoolVar(&o.all, "all", false, "also show datagrams that no protocol recognises")
	f.StringArrayVar(&o.decodeAs, "decode-as", nil, "take all datagrams of a port for a protocol: udp.port==`N,PROTOCOL`")
	f.StringSliceVar(&o.protocols, "protocols", nil, "recognise only these protocols, for example a2s,halflife")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "use this many cores; the output is the same for any number (default all)")
	f.CountVarP(&o.noResolve, "no-resolve", "n", "accepted for tcpdump's sake: addresses are never resolved")
	_ = f.MarkHidden("no-resolve")
	f.BoolVarP(&o.lines, "line-buffered", "l", false, "write every line at once; without, within 0.2 s when live or fed by a pipe")
	o.format.add(f)
	o.filter.add(f)
	f.StringVarP(&o.display, "display-filter", "Y", "", "write only messages and findings that fit `EXPR`, such as 'server.players > 20' or 'finding'; the paths are those of the JSON")
	o.save.add(f)
	o.live.add(f)
	o.limits.add(f)
	f.SortFlags = false
}

func newRead(env environment) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "read [flags] FILE...",
		Short: "Dissect capture files (what qdissect FILE does)",
		Long: `Dissect capture files: pcap and pcapng, plain or compressed with gzip or zstd.
The format is told by the content. - is standard input.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runRead(cmd, args, &o, env) },
	}
	o.add(cmd.Flags())
	o.out.add(cmd.Flags())
	return cmd
}

// reporter returns what makes the reporters that the flags ask for, and says
// whether they need the tree of fields.
func (o *formatOptions) reporter(env environment, manyFiles bool) (r func() report.Reporter, tree bool, err error) {
	clock, ok := map[string]report.Clock{
		"r": report.Relative, "d": report.Delta, "a": report.Absolute, "ad": report.Date, "e": report.Epoch,
		"relative": report.Relative, "delta": report.Delta, "absolute": report.Absolute, "date": report.Date, "epoch": report.Epoch,
	}[o.clock]
	if !ok {
		return nil, false, fmt.Errorf("unknown time format %q: r, d, a, ad or e", o.clock)
	}
	color := false
	switch o.color {
	case "always":
		color = true
	case "never":
	case "auto":
		color = isTerminal(env.out) && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
	default:
		return nil, false, fmt.Errorf("unknown colour setting %q: auto, always or never", o.color)
	}
	switch o.output {
	case "json", "jsonl":
		if o.tree || o.hex {
			return nil, false, fmt.Errorf("-V and -x are for text output; JSON always has all fields")
		}
		return func() report.Reporter {
			return report.NewJSON(report.JSONOptions{Array: o.output == "json", Secrets: o.secrets})
		}, true, nil
	case "text":
		detail := report.Line
		if o.tree {
			detail = report.Tree
		}
		if o.hex {
			detail = report.Hex
		}
		return func() report.Reporter {
			return report.NewText(report.TextOptions{Detail: detail, Clock: clock, Color: color, Secrets: o.secrets, ManyFiles: manyFiles})
		}, detail != report.Line, nil
	}
	return nil, false, fmt.Errorf("unknown output format %q: text, json or jsonl", o.output)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// selected returns the protocols that --protocols names, all if it names none.
func selected(names []string) ([]*dissect.Protocol, error) {
	known := all.Protocols()
	if len(names) == 0 {
		return known, nil
	}
	var list []*dissect.Protocol
	for _, p := range known {
		for _, name := range names {
			if strings.EqualFold(strings.TrimSpace(name), p.Name) {
				list = append(list, p)
			}
		}
	}
	for _, name := range names {
		if lookup(known, name) == nil {
			return nil, unknownProtocol(name, known)
		}
	}
	return list, nil
}

func lookup(list []*dissect.Protocol, name string) *dissect.Protocol {
	for _, p := range list {
		if strings.EqualFold(strings.TrimSpace(name), p.Name) {
			return p
		}
	}
	return nil
}

func unknownProtocol(name string, known []*dissect.Protocol) error {
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
	}
	return fmt.Errorf("unknown protocol %q: one of %s", name, strings.Join(names, ", "))
}

// parseDecodeAs reads tshark's notation, udp.port==27015,a2s; the part before
// the number may be left out.
func parseDecodeAs(args []string, protocols []*dissect.Protocol) (map[uint16]*dissect.Protocol, error) {
	var as map[uint16]*dissect.Protocol
	for _, arg := range args {
		port, name, ok := strings.Cut(arg, ",")
		port = strings.TrimPrefix(strings.ReplaceAll(port, " ", ""), "udp.port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil || n == 0 {
			return nil, fmt.Errorf("--decode-as %q is not udp.port==N,PROTOCOL", arg)
		}
		p := lookup(protocols, name)
		if p == nil {
			return nil, unknownProtocol(name, protocols)
		}
		if as == nil {
			as = make(map[uint16]*dissect.Protocol)
		}
		as[uint16(n)] = p
	}
	return as, nil
}

func runRead(cmd *cobra.Command, args []string, o *readOptions, env environment) error {
	if o.live.list {
		return listInterfaces(env, slices.Concat(args, o.files, o.live.interfaces))
	}
	live := len(o.live.interfaces) > 0
	files, words := o.files, args
	switch {
	case live && len(o.files) > 0:
		return errors.New("-i and -r at once: packets come from interfaces or from files")
	case !live && len(o.files) == 0:
		files, words = args, nil // behind -i and -r they are a filter, as with tcpdump
		for _, name := range files {
			if _, err := os.Stat(name); err != nil && filter.IsWord(name) {
				return fmt.Errorf("%s: no such file, but a word of the filter language; a filter is given with -f, or behind -r FILE", name)
			}
		}
	}
	switch {
	case o.jobs < 0:
		return fmt.Errorf("-j %d: 1 or more cores, or 0 for all", o.jobs)
	case o.count == 0 && cmd.Flags().Changed("count"):
		return errors.New("-c 0: 1 message or more")
	case o.save.file == "" && cmd.Flags().Changed("on-write-error"):
		return errors.New("--on-write-error is for -w")
	case o.out.force && o.out.dir == "":
		return errors.New("--force is for --out")
	}
	if err := o.live.check(); err != nil {
		return err
	}
	if len(files) == 0 && !live {
		return errors.New("no capture file given; qdissect --help says how, - is standard input")
	}
	troubled := false
	inputs, err := expand(files, func(err error) {
		complain(env, err)
		troubled = troubled || !errors.As(err, new(skipped))
	})
	if err != nil {
		return err
	}
	if o.out.dir != "" && (live || o.save.file != "" || o.live.metrics != "" || o.live.every > 0 || len(o.live.autostop) > 0) {
		return errors.New("--out is for files, without -i, -w, -a and counters")
	}
	if o.out.series && o.out.dir == "" {
		groups := group(inputs, true)
		if len(groups) > 1 {
			return fmt.Errorf("%s and %s are not of one series; --out DIR works on several", groups[0][0].path, groups[1][0].path)
		}
		inputs = groups[0]
	}
	files = nil
	for _, in := range inputs {
		files = append(files, in.path)
	}
	protocols, err := selected(o.protocols)
	if err != nil {
		return err
	}
	decodeAs, err := parseDecodeAs(o.decodeAs, protocols)
	if err != nil {
		return err
	}
	stdin := env.in
	if slices.Contains(files, "-") {
		stdin = nil
	}
	choose, err := o.filter.compile(words, stdin)
	if err != nil {
		return err
	}
	rep, tree, err := o.format.reporter(env, len(files) > 1 && o.out.dir == "")
	if err != nil {
		return err
	}
	if o.display != "" {
		if o.count > 0 {
			return errors.New("-c counts messages before -Y chooses; use | head instead")
		}
		chosen, err := display.Compile(o.display)
		if err != nil {
			return showFilter(err)
		}
		inner := rep
		rep, tree = func() report.Reporter { return chosen.Reporter(inner()) }, true
	}
	out := env.out
	aside := live && !o.quiet // where the summary goes
	switch {
	case o.save.file == "-":
		rep, tree, out, aside = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }, false, io.Discard, true
	case o.quiet && o.format.output == "text":
		rep, tree = func() report.Reporter { return report.NewCounts() }, false
	case o.quiet:
		all := rep
		rep, tree = func() report.Reporter { return report.SummaryOnly(all()) }, false
	}
	stops, err := o.live.limits()
	if err != nil {
		return err
	}
	if stops.duration > 0 && !live {
		return errors.New("-a duration is for -i")
	}
	run := pipeline.Options{
		Inputs: files, Stdin: env.in, Out: out, Reporter: rep,
		Analysis: dissect.Config{Protocols: protocols, Foreign: all.Foreign(), DecodeAs: decodeAs, Tree: tree},
		All:      o.all, Count: o.count, Workers: o.workers(), Lines: o.lines,
		Series: o.out.series, Annotate: o.save.annotate, Duration: stops.duration, Detailed: o.live.metrics != "",
	}
	if err := o.limits.apply(&run); err != nil {
		return err
	}
	if o.out.dir != "" {
		run.Filter = choose.match()
		if note := choose.note(); note != "" {
			complain(env, errors.New(note))
		}
		return o.out.runMany(inputs, cmd.Flags(), &o.format, run, troubled, env)
	}
	watch, every, endWatch, err := o.live.watcher(env)
	if err != nil {
		return err
	}
	defer endWatch()
	run.Watch, run.Every = watch, every
	var from *capture.Live
	if live {
		if from, err = o.live.open(choose); err != nil {
			return err
		}
		defer from.Close()
		run.Live, run.Name = from, strings.Join(o.live.interfaces, ", ")
		run.Filter = choose.chosen()
	} else {
		run.Filter = choose.match()
	}
	if note := choose.note(); note != "" {
		complain(env, errors.New(note))
	}
	if cmd.Flags().Changed("write") && o.save.file == "" {
		return errors.New("-w needs the name of a file")
	}
	read := filesOf(files, env.in)
	if st, ok := regular(env.out); ok && slices.ContainsFunc(read, func(in os.FileInfo) bool { return os.SameFile(in, st) }) {
		return errors.New("standard output is a file that is read, and cannot be written at once")
	}
	save, err := o.save.saver(env, stops, from, o.live.snap, capture.Making{Private: o.format.secrets, Inputs: read})
	if err != nil {
		return err
	}
	if save != nil {
		run.Saver = save
	}
	if live || save != nil || slices.Contains(files, "-") || slices.ContainsFunc(files, capture.Waits) {
		stop, done := interrupted(context.Background())
		defer done()
		run.Stop = stop.Done()
	}
	if live && !o.quiet {
		o.live.announce(env, from)
	}
	progress := newProgress(env, o)
	if live || watch != nil {
		progress.on = false
	}
	run.Trouble = func(err error) { troubled = true; progress.clear(); complain(env, err) }
	run.Progress = progress.step
	var found pieces
	if !run.Series {
		run.Ended = found.ended
	}
	sum, err := pipeline.Run(run)
	progress.clear()
	if saveErr := save.Close(); saveErr != nil && err == nil {
		err = saveErr
	}
	switch {
	case err != nil && isClosedPipe(err):
		return nil
	case err != nil:
		return err
	}
	if text := found.String(); text != "" {
		complain(env, errors.New(text))
	}
	if aside {
		env.err.Write(report.AppendSummary(nil, sum))
	} else if sum.MostlyDuplicates && !o.quiet {
		fmt.Fprintf(env.err, "qdissect: most datagrams came more than once, as in captures on a mirror port or on the interface any: %d copies are left out\n", sum.Duplicates)
	}
	if sum.OneSided > 0 && !aside && !o.quiet {
		complain(env, errors.New(string(report.AppendOneSided(nil, sum))))
	}
	if !troubled || sum.Packets > 0 {
		o.neverSilent(env, sum)
	}
	if troubled || save.incomplete() {
		return status(exitTrouble)
	}
	return nil
}

// neverSilent says what a capture holds in which no message was recognised.
func (o *readOptions) neverSilent(env environment, sum *report.Summary) {
	if sum.Recognised() > 0 {
		return
	}
	text := string(report.AppendUnread(nil, sum, len(o.protocols) > 0))
	if sum.Datagrams > 0 && !o.all {
		text += "; --all shows them"
	}
	complain(env, errors.New(text))
}

// workers is how many cores to use. Times that count from the line before need
// one place where all lines pass.
func (o *readOptions) workers() int {
	switch {
	case strings.HasPrefix(o.format.clock, "d"):
		return 1
	case o.jobs > 0:
		return o.jobs
	}
	return runtime.GOMAXPROCS(0)
}

// filesOf returns what inputs are that are files, "-" being stdin.
func filesOf(names []string, stdin io.Reader) (list []os.FileInfo) {
	for _, name := range names {
		st, err := os.Stat(name)
		ok := err == nil && st.Mode().IsRegular()
		if name == "-" {
			st, ok = regular(stdin)
		}
		if ok {
			list = append(list, st)
		}
	}
	return list
}

// regular returns what a stream is if it is a file on a disk.
func regular(stream any) (os.FileInfo, bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return nil, false
	}
	st, err := f.Stat()
	return st, err == nil && st.Mode().IsRegular()
}
