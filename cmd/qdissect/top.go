package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/top"
	"github.com/qdissect/qdissect/report"
)

// topOptions are the flags of top.
type topOptions struct {
	live      liveOptions
	home      []string
	once      bool
	view      string
	output    string
	keep      int
	jobs      int
	duration  time.Duration
	window    windowOptions
	protocols protocolOptions
	filter    filterOptions
	limits    limitOptions
}

// refresh is the least time between two views.
const refresh = 200 * time.Millisecond

func newTop(env environment) *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [flags] -i INTERFACE [FILTER] | FILE...",
		Short: "Watch servers in the terminal: who asks, what is wrong, down to the bytes of a message",
		Long: `Watch what happens to servers, live or in captures: servers (F1), clients (F2),
findings (F3), and verdicts with rules that would have helped (F4). Enter opens the
selected row: its conversations, their messages, the fields and bytes of a message.
? lists the keys.

A live view shows rates of the last three seconds and is refreshed up to five times a
second; the capture never waits for it. The newest frames are kept in memory (--keep)
for conversations and messages, the counts are those of the whole capture.

  qdissect top -i eth0                     all game-server queries
  qdissect top -i eth0 udp port 27015      only those, as in tcpdump
  qdissect top night.pcap                  what happened in a file
  qdissect top --once -o json night.pcap   one view for a script`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(args, env) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.live.interfaces, "interface", "i", nil, "capture from this `interface`; any means all (Linux); may be repeated")
	f.BoolVar(&o.live.promiscuous, "promiscuous", false, "live: also capture frames for other hosts")
	f.IntVarP(&o.live.buffer, "buffer-size", "B", 0, "live: size of the kernel's capture buffer in `MiB` (default 32)")
	f.DurationVar(&o.duration, "duration", 0, "live: stop capturing after this `TIME`, such as 10s or 5m (default with --once: 5s)")
	f.IntVar(&o.keep, "keep", 32, "live: keep the newest frames in `MiB` of memory, for conversations and messages")
	f.StringArrayVar(&o.home, "home", nil, "network or address of the servers, such as 198.51.100.0/24; may be repeated (default: own addresses live, the hosts that reply in files)")
	f.BoolVar(&o.once, "once", false, "print one view and exit")
	f.StringVar(&o.view, "view", "servers", "with --once: servers, clients, findings or verdicts")
	f.StringVarP(&o.output, "output", "o", "text", "with --once: output format: text, or json (the report with everything)")
	o.window.add(f)
	f.IntVarP(&o.jobs, "jobs", "j", 0, "use this many cores (default all)")
	o.protocols.add(f)
	o.filter.add(f)
	o.limits.add(f)
	return cmd
}

// A watching is a run of top.
type watching struct {
	o       *topOptions
	env     environment
	plan    plan
	so      stats.Options // of reports
	title   string
	recent  *capture.Recent // nil if the files can be read again
	trouble atomic.Pointer[string]
	ready   chan pending // the newest, if nobody has taken it
}

// rowsOfTop is the number of servers and clients that can be scrolled through.
const rowsOfTop = 200

func (o *topOptions) run(args []string, env environment) error {
	live := len(o.live.interfaces) > 0
	if o.once && live && o.duration == 0 {
		o.duration = 5 * time.Second
	}
	files, words := args, []string(nil)
	if live {
		files, words = nil, args
	}
	if err := refuse([]refusal{
		{!live && len(files) == 0, "nothing to look at: give -i INTERFACE or a capture file (- is standard input); see qdissect top --help"},
		{o.jobs < 0, fmt.Sprintf("-j %d: must be 1 or more cores, or 0 for all", o.jobs)},
		{o.keep < 1 || o.keep > maxBuffer, fmt.Sprintf("--keep %d: must be 1 to %d MiB", o.keep, maxBuffer)},
		{o.live.buffer < 0 || o.live.buffer > maxBuffer, fmt.Sprintf("-B %d: must be 1 to %d MiB", o.live.buffer, maxBuffer)},
		{!live && (o.live.promiscuous || o.live.buffer > 0 || o.duration != 0), "--promiscuous, -B and --duration need -i"},
		{live && (o.window.since != "" || o.window.until != ""), "--since and --until select from files; --duration ends a live capture"},
		{o.duration < 0, "--duration must be positive"},
		{!slices.Contains([]string{"text", "json"}, o.output), fmt.Sprintf("unknown output format %q; use text or json", o.output)},
		{!o.once && o.output != "text", "-o needs --once"},
		{!slices.Contains(top.Names[:], o.view), fmt.Sprintf("unknown view %q; use %s", o.view, strings.Join(top.Names[:], ", "))},
	}); err != nil {
		return err
	}
	if !o.once {
		if err := canDraw(env); err != nil {
			return err
		}
	}
	w := &watching{o: o, env: env, ready: make(chan pending, 1)}
	if err := w.prepare(files, words, live); err != nil {
		return err
	}
	if o.once {
		return w.once()
	}
	return w.draw()
}

// canDraw refuses terminals on which the view cannot be drawn.
func canDraw(env environment) error {
	const instead = "; use qdissect top --once, or qdissect report"
	switch {
	case !isTerminal(env.out):
		return errors.New("top needs a terminal, and standard output is none" + instead)
	case env.getenv("TERM") == "dumb" || env.getenv("TERM") == "" && filepath.Separator == '/':
		return fmt.Errorf("top cannot draw on this terminal (TERM=%s)%s", env.getenv("TERM"), instead)
	}
	return nil
}

// prepare makes the options of the run.
func (w *watching) prepare(files, words []string, live bool) error {
	o, p := w.o, &w.plan
	ro := &readOptions{jobs: o.jobs, protocols: o.protocols, filter: o.filter, limits: o.limits, live: o.live, format: formatOptions{clock: "r"}}
	*p = plan{o: ro, env: w.env, live: live}
	run := &p.run
	var err error
	if run.Window, err = o.window.window(); err != nil {
		return err
	}
	if err := p.find(files); err != nil {
		return err
	}
	if run.Analysis, err = o.protocols.config(); err != nil {
		return err
	}
	stdin := w.env.in
	if slices.Contains(run.Inputs, "-") {
		stdin = nil
	}
	if p.choose, err = o.filter.compile(words, stdin); err != nil {
		return err
	}
	if w.so.Home, err = networks(o.home); err != nil {
		return err
	}
	if w.so.Rows = rowsOfTop; len(o.home) > 0 {
		w.so.HomeBy = "option"
	} else if live {
		w.so.Home, w.so.HomeBy = o.live.addresses(), "interface"
	}
	w.title = strings.Join(o.live.interfaces, ", ")
	for _, in := range run.Inputs {
		w.so.Made.Files = append(w.so.Made.Files, stats.File{Name: in, Word: shellWord(in)})
	}
	if n := len(run.Inputs); n > 0 {
		if w.title = filepath.Base(run.Inputs[0]); n > 1 {
			w.title += fmt.Sprintf(" and %d more", n-1)
		}
	}
	w.so.Made.Version = versionText()
	run.Stdin, run.Workers, run.Out, run.Every, run.Duration = w.env.in, ro.workers(), io.Discard, refresh, o.duration
	run.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }
	run.Stats = stats.New()
	run.Trouble = func(err error) {
		p.troubled = true
		text := err.Error()
		w.trouble.Store(&text)
	}
	if live || slices.ContainsFunc(run.Inputs, capture.Waits) || slices.Contains(run.Inputs, "-") {
		w.recent = &capture.Recent{Limit: o.keep << 20}
		run.Saver = w.recent
	}
	return o.limits.apply(run)
}

// open starts the capture of interfaces, and sets the filter.
func (w *watching) open() (end func(), err error) {
	p := &w.plan
	if !p.live {
		p.run.Filter = p.choose.match()
		return func() {}, nil
	}
	live, err := w.o.live.open(p.choose)
	if err != nil {
		return nil, err
	}
	p.run.Live, p.run.Name, p.run.Filter = live, w.title, p.choose.chosen()
	return func() { live.Close() }, nil
}

// options returns the options of a report.
func (w *watching) options(sum *report.Summary) stats.Options {
	so := w.so
	so.Packets, so.OneSided = sum.Packets, sum.OneSided > 0
	return so
}

// once prints one view.
func (w *watching) once() error {
	stop, done := interrupted(context.Background())
	defer done()
	end, err := w.open()
	if err != nil {
		return err
	}
	defer end()
	w.plan.run.Stop = stop.Done()
	sum, err := pipeline.Run(w.plan.run)
	if err != nil {
		return err
	}
	trouble := w.trouble.Load()
	if trouble != nil {
		complain(w.env, errors.New(*trouble))
		if sum.Packets == 0 {
			return status(exitTrouble)
		}
	}
	s := &top.Snapshot{Report: w.plan.run.Stats.Report(w.options(sum)), Ended: true}
	if w.o.output == "json" {
		b, err := json.Marshal(s.Report)
		if err != nil {
			return err
		}
		_, err = w.env.out.Write(append(escapeUnsafe(b), '\n'))
		return cmp.Or(err, w.plan.trouble())
	}
	width := 80
	if f, ok := w.env.out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			width = n
		}
	}
	if n, err := strconv.Atoi(w.env.getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	text := top.Text(s, w.title, top.Tab(slices.Index(top.Names[:], w.o.view)), width)
	_, err = io.WriteString(w.env.out, text)
	return cmp.Or(err, w.plan.trouble())
}

// trouble returns the exit status of inputs that could not be read.
func (p *plan) trouble() error {
	if p.troubled {
		return status(exitTrouble)
	}
	return nil
}

// draw shows the view until the user leaves it.
func (w *watching) draw() error {
	end, err := w.open()
	if err != nil {
		return err
	}
	defer end()
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	w.plan.run.Stop = ctx.Done()
	w.plan.run.Snapshot = func(sum *report.Summary, a *stats.Aggregate) { w.offer(sum, a, false) }
	program := tea.NewProgram(top.New(top.Config{
		Title: w.title, Live: w.plan.live, Next: w.next, Run: w.again, Save: w.save, Export: w.export,
	}), tea.WithOutput(w.env.out), tea.WithColorProfile(colors(w.env)))
	ended := make(chan error, 1)
	go func() {
		sum, err := pipeline.Run(w.plan.run)
		if err == nil {
			w.offer(sum, w.plan.run.Stats, true)
		} else {
			program.Quit()
		}
		ended <- err
	}()
	_, err = program.Run()
	if errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	leave()
	err = cmp.Or(err, <-ended)
	if text := w.trouble.Load(); text != nil {
		complain(w.env, errors.New(*text))
	}
	return cmp.Or(err, w.plan.trouble())
}

// colors returns the colours of the terminal. The program would otherwise run tmux to find out more.
func colors(env environment) colorprofile.Profile {
	if env.getenv("NO_COLOR") != "" {
		return colorprofile.ASCII
	}
	return colorprofile.Env([]string{"TERM=" + env.getenv("TERM"), "COLORTERM=" + env.getenv("COLORTERM")})
}

// A pending snapshot lacks its report, which the view makes, so that the run need not.
type pending struct {
	*top.Snapshot
	counts *stats.Aggregate
}

// offer offers a snapshot instead of one that nobody has taken. The run calls it.
func (w *watching) offer(sum *report.Summary, a *stats.Aggregate, ended bool) {
	s := pending{&top.Snapshot{At: time.Now(), Options: w.options(sum), Ended: ended}, a}
	if text := w.trouble.Load(); text != nil {
		s.Trouble = *text
	}
	if w.recent != nil {
		s.Frames = w.recent.Frames()
	}
	select {
	case <-w.ready:
	default:
	}
	w.ready <- s
}

// next waits for a snapshot.
func (w *watching) next() *top.Snapshot {
	s := <-w.ready
	s.Report = s.counts.Report(s.Options)
	return s.Snapshot
}

// again returns the options of a run over the messages of a snapshot.
func (w *watching) again(s *top.Snapshot) pipeline.Options {
	run := w.plan.run
	o := pipeline.Options{Analysis: run.Analysis, Budget: run.Budget, Fragments: run.Fragments}
	if s.Frames != nil {
		o.Source = s.Frames.Again()
		return o
	}
	o.Inputs, o.Window, o.Filter = run.Inputs, run.Window, w.plan.choose.match()
	return o
}

// save writes the frames of the messages that match an expression.
func (w *watching) save(name string, s *top.Snapshot, expr string) (string, error) {
	if _, err := os.Lstat(name); err == nil {
		return "", fmt.Errorf("%s exists; use another name", name)
	}
	if expr == "" {
		return "", errors.New("select a server, a client or a conversation first")
	}
	f, err := display.Compile(expr)
	if err != nil {
		return "", err
	}
	c := cut.Options{Out: name, Filter: f, Comments: true, Analysis: w.plan.run.Analysis}
	if s.Frames == nil && len(w.plan.run.Inputs) == 1 && w.plan.run.Window == nil {
		c.In = w.plan.run.Inputs[0]
	} else {
		dir, err := os.MkdirTemp("", "qdissect-top-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		c.In = filepath.Join(dir, "frames.pcapng")
		if err := w.spill(c.In, s); err != nil {
			return "", err
		}
	}
	r, err := cut.Run(c)
	switch {
	case err != nil:
		return "", err
	case r.Frames == 0:
		return "", errors.New("no messages of it are in memory; no file written")
	}
	return fmt.Sprintf("%s of %d messages written to %s", count(int(r.Frames), "frame"), r.Chosen, name), nil
}

// spill writes the frames of a snapshot to a file.
func (w *watching) spill(name string, s *top.Snapshot) error {
	out, err := capture.Create(name)
	if err != nil {
		return err
	}
	o := w.again(s)
	o.Out, o.Saver, o.Only = io.Discard, saveTo{out}, func(_, _ netip.AddrPort) bool { return false }
	o.Reporter, o.Trouble = w.plan.run.Reporter, func(error) {}
	_, err = pipeline.Run(o)
	return errors.Join(err, out.Close())
}

// saveTo is a [pipeline.Saver].
type saveTo struct{ *capture.Writer }

func (s saveTo) Save(f *capture.Frame) error { return s.Write(f) }

// export writes a view as JSON, or a report in the format that the name says.
func (w *watching) export(name string, view any) (string, error) {
	if _, err := os.Lstat(name); err == nil {
		return "", fmt.Errorf("%s exists; use another name", name)
	}
	if r, ok := view.(*stats.Report); ok {
		o := reportOptions{output: name}
		return "report written to " + name, o.write(w.env, r, nil)
	}
	b, err := json.MarshalIndent(view, "", "  ")
	if err != nil {
		return "", err
	}
	return "written to " + name, os.WriteFile(name, append(escapeUnsafe(b), '\n'), 0o600)
}
