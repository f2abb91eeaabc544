package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/top"
	"github.com/qdissect/qdissect/report"
	"github.com/spf13/cobra"
)

// topOptions are the flags of top.
type topOptions struct {
	countOptions
	home   []string
	once   bool
	view   string
	output string
	keep   int
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
	f.BoolVar(&o.once, "once", false, "print one view and exit; live after 5 seconds, or when -a says")
	f.StringVar(&o.view, "view", "servers", "with --once: servers, clients, findings or verdicts")
	f.StringVarP(&o.output, "output", "o", "text", "with --once: output format: text, or json (the report with everything)")
	f.IntVar(&o.keep, "keep", keepByDefault, "live: keep the newest frames in `MiB` of memory, for conversations and messages")
	f.StringArrayVar(&o.home, "home", nil, "network or address of the servers, such as 198.51.100.0/24; may be repeated (default: own addresses live, the hosts that reply in files)")
	o.add(f)
	return cmd
}

// A watching is a run of top.
type watching struct {
	*counting
	env     environment
	so      stats.Options // of reports
	title   string
	recent  *capture.Recent // nil if the files can be read again
	trouble atomic.Pointer[string]
	ready   chan pending // the newest, if nobody has taken it
}

// keepByDefault is the memory for frames, in MiB.
const keepByDefault = 32

// rowsOfTop is the number of servers and clients that can be scrolled through.
const rowsOfTop = 200

func (o *topOptions) run(args []string, env environment) error {
	if err := refuse([]refusal{
		{o.keep < 1 || o.keep > maxBuffer, fmt.Sprintf("--keep %d: must be 1 to %d MiB", o.keep, maxBuffer)},
		{!slices.Contains([]string{"text", "json"}, o.output), fmt.Sprintf("unknown output format %q; use text or json", o.output)},
		{!o.once && o.output != "text", "-o needs --once"},
		{!slices.Contains(top.Names[:], o.view), fmt.Sprintf("unknown view %q; use %s", o.view, strings.Join(top.Names[:], ", "))},
	}); err != nil {
		return err
	}
	forever := time.Duration(0)
	if o.once {
		forever = 5 * time.Second
	}
	p, err := o.plan(args, "top", forever, env)
	if err != nil {
		return err
	}
	w := &watching{counting: p, env: env, ready: make(chan pending, 1), so: stats.Options{Rows: rowsOfTop, Home: p.own(), HomeBy: "interface"}}
	if !p.live {
		w.so.HomeBy = ""
	}
	if len(o.home) > 0 {
		if w.so.Home, err = networks(o.home); err != nil {
			return err
		}
		w.so.HomeBy = "option"
	}
	command := []string{"qdissect", "top"}
	for _, in := range o.live.interfaces {
		command = append(command, "-i", in)
	}
	w.title = strings.Join(o.live.interfaces, ", ")
	if o.live.netns != "" {
		command = append(command, "--netns", o.live.netns)
		w.title += " in " + o.live.netns
	}
	for i, in := range p.run.Inputs {
		w.so.Made.Files = append(w.so.Made.Files, stats.File{Name: in, Word: shellWord(in)})
		if w.title = filepath.Base(p.run.Inputs[0]); i > 0 {
			w.title += fmt.Sprintf(" and %d more", i)
		}
	}
	w.so.Made.Version, w.so.Made.Command = versionText(), strings.Join(words(append(command, args...)), " ")
	if o.once {
		return w.once(o)
	}
	if err := canDraw(env); err != nil {
		return err
	}
	if p.live || slices.ContainsFunc(p.run.Inputs, capture.Waits) || slices.Contains(p.run.Inputs, "-") {
		w.recent = &capture.Recent{Limit: o.keep << 20}
		p.run.Save.Recent = w.recent
	}
	return w.draw()
}

// canDraw refuses terminals on which the view cannot be drawn.
func canDraw(env environment) error {
	const instead = "; use qdissect top --once, or qdissect report"
	switch {
	case !isTerminal(env.out):
		return errors.New("top needs a terminal, and standard output is none" + instead)
	case env.getenv("TERM") == "dumb" || env.getenv("TERM") == "" && runtime.GOOS != "windows":
		return fmt.Errorf("top cannot draw on this terminal (TERM=%s)%s", env.getenv("TERM"), instead)
	}
	return nil
}

// options returns the options of a report.
func (w *watching) options(sum *report.Summary) stats.Options {
	so := w.so
	so.Packets, so.OneSided = sum.Packets, sum.OneSided > 0
	return so
}

// once prints one view.
func (w *watching) once(o *topOptions) error {
	counts := stats.New()
	sum, err := w.count(counts)
	if err != nil {
		return err
	}
	s := &top.Snapshot{Report: counts.Report(w.options(sum)), Ended: true}
	if o.output == "json" {
		b, err := json.Marshal(s.Report)
		if err != nil {
			return err
		}
		_, err = w.env.out.Write(append(escapeUnsafe(b), '\n'))
		return cmp.Or(err, w.end())
	}
	width := cmp.Or(terminalWidth(w.env), 80)
	_, err = io.WriteString(w.env.out, top.Text(s, w.title, top.Tab(slices.Index(top.Names[:], o.view)), width))
	return cmp.Or(err, w.end())
}

// draw shows the view until the user leaves it.
func (w *watching) draw() error {
	run := &w.run
	if run.Frames.Filter = w.choose.match(); w.live {
		live, err := w.o.live.open(w.choose)
		if err != nil {
			return err
		}
		defer live.Close()
		run.Source = &pipeline.Source{Source: live, Name: w.title, Duration: w.limits.duration}
		run.Frames.Filter = w.choose.chosen()
	}
	run.Events.Every, run.Counts.Stats, run.Counts.Talks = refresh, stats.New(), talks.New()
	run.Events.Read = func(number int, packets uint64, first, last time.Time) {
		files := slices.Clone(w.so.Made.Files) // earlier snapshots have them
		files[number].Packets, files[number].First, files[number].Last = packets, first.UTC(), last.UTC()
		w.so.Made.Files = files
	}
	run.Trouble = func(err error) {
		text := err.Error()
		w.trouble.Store(&text)
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	run.Stop = ctx.Done()
	run.Events.Snapshot = func(sum *report.Summary, a *stats.Aggregate) { w.offer(sum, a, false) }
	program := tea.NewProgram(top.New(top.Config{
		Title: w.title, Live: w.live, Next: w.next, Run: w.again, Save: w.save, Export: w.export,
	}), tea.WithOutput(w.env.out), tea.WithColorProfile(colors(w.env)))
	ended := make(chan error, 1)
	go func() {
		sum, err := pipeline.Run(*run)
		if err == nil {
			w.offer(sum, run.Counts.Stats, true)
		} else {
			program.Quit()
		}
		ended <- err
	}()
	_, err := program.Run()
	if errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	leave()
	err = cmp.Or(err, <-ended)
	if text := w.trouble.Load(); text != nil {
		complain(w.env, errors.New(*text))
		w.troubled = true
	}
	return cmp.Or(err, w.end())
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
	kept := *w.run.Counts.Talks // the next snapshot has others
	s.Talks = func() []stats.Talk { return kept.List(s.Report.Findings, w.run.Analysis, s.Options.Made.Files) }
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
	run := w.run
	o := pipeline.Options{Analysis: run.Analysis, Limits: run.Limits}
	if s.Frames != nil {
		o.Source = &pipeline.Source{Source: s.Frames.Again()}
		return o
	}
	o.Inputs, o.Frames = run.Inputs, &pipeline.Frames{Window: run.Frames.Window, Filter: w.choose.match()}
	return o
}
