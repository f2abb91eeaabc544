package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/top"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/report"
)

// topOptions are the flags of top.
type topOptions struct {
	countOptions
	home []string
	keep int
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

qdissect report writes what it shows to a file or for a script.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(args, env) },
	}
	f := cmd.Flags()
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
	if o.keep < 1 || o.keep > maxBuffer {
		return fmt.Errorf("--keep %d: must be 1 to %d MiB", o.keep, maxBuffer)
	}
	p, err := o.plan(args, "top", 0, env)
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
	w.title = strings.Join(o.live.interfaces, ", ")
	w.title += nettext.Either(o.live.netns != "", " in "+o.live.netns, "")
	for i, in := range p.run.Inputs {
		w.so.Made.Files = append(w.so.Made.Files, stats.File{Name: in, Word: shellWord(in)})
		if w.title = filepath.Base(p.run.Inputs[0]); i > 0 {
			w.title += fmt.Sprintf(" and %d more", i)
		}
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
	const instead = "; use qdissect report"
	switch {
	case !isTerminal(env.out):
		return errors.New("top needs a terminal, and standard output is none" + instead)
	case env.getenv("TERM") == "dumb" || env.getenv("TERM") == "" && runtime.GOOS != "windows":
		return fmt.Errorf("top cannot draw on this terminal (TERM=%s)%s", env.getenv("TERM"), instead)
	}
	return nil
}

// draw shows the view until the user leaves it.
func (w *watching) draw() error {
	run := &w.run
	live, err := w.begin()
	if err != nil {
		return err
	}
	if live != nil {
		defer live.Close()
	}
	run.Events.Every, run.Counts.Stats = refresh, stats.New()
	run.Trouble = func(err error) {
		text := brief(err)
		w.trouble.Store(&text)
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	run.Stop = ctx.Done()
	run.Events.Snapshot = func(sum *report.Summary, a *stats.Aggregate) { w.offer(sum, a, false) }
	program := tea.NewProgram(top.New(top.Config{
		Title: w.title, Live: w.live, Next: w.next, Run: w.again, Save: w.save,
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
	_, err = program.Run()
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
	return nettext.Either(env.getenv("NO_COLOR") != "", colorprofile.ASCII, colorprofile.Env([]string{"TERM=" + env.getenv("TERM"), "COLORTERM=" + env.getenv("COLORTERM")}))
}

// A pending snapshot lacks its report, which the view makes, so that the run need not.
type pending struct {
	*top.Snapshot
	counts *stats.Aggregate
}

// offer offers a snapshot instead of one that nobody has taken. The run calls it.
func (w *watching) offer(sum *report.Summary, a *stats.Aggregate, ended bool) {
	s := pending{&top.Snapshot{At: time.Now(), Options: w.so, Ended: ended}, a}
	s.Options.Packets, s.Options.OneSided = sum.Packets, sum.OneSided > 0
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

// save writes the frames of the messages that match an expression, and says so.
func (w *watching) save(name string, s *top.Snapshot, expr string) string {
	text, err := w.write(name, s, expr)
	if err != nil {
		return brief(err)
	}
	return text
}

// write is save with its errors.
func (w *watching) write(name string, s *top.Snapshot, expr string) (string, error) {
	if _, err := os.Lstat(name); err == nil {
		return "", fmt.Errorf("%s exists; use another name", name)
	}
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return "", err
	}
	if expr == "" {
		return "", errors.New("select a server, a client or a conversation first")
	}
	f, err := display.Compile(expr)
	if err != nil {
		return "", err
	}
	c := cut.Options{Out: name, Filter: f, Analysis: w.run.Analysis}
	if s.Frames == nil && len(w.run.Inputs) == 1 && w.run.Frames.Window == nil {
		c.In = w.run.Inputs[0]
	} else {
		dir, err := whole.Temp("qdissect-top")
		if err != nil {
			return "", err
		}
		defer dir.Discard()
		c.In = filepath.Join(dir.Name(), "frames.pcapng")
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
	return fmt.Sprintf("%s of %d messages written to %s", nettext.Count(int(r.Frames), "frame"), r.Chosen, name), nil
}

// spill writes the frames of a snapshot to a file.
func (w *watching) spill(name string, s *top.Snapshot) error {
	out, err := capture.CreateSeries(name, capture.Rotation{}, capture.Making{}, 0)
	if err != nil {
		return err
	}
	o := w.again(s).Only(func(_, _ netip.AddrPort) bool { return false })
	o.Out, o.Save = io.Discard, &pipeline.Saving{Saver: out}
	o.Reporter, o.Trouble = w.run.Reporter, func(error) {}
	_, err = pipeline.Run(o)
	return errors.Join(err, out.Close())
}
