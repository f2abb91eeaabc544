package main

import (
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// countOptions are the flags of commands that only count: those of read that say what is read, from files or from interfaces.
type countOptions struct{ readOptions }

func (o *countOptions) add(f *pflag.FlagSet) {
	o.window.add(f)
	f.IntVarP(&o.jobs, "jobs", "j", 0, "use this many cores (default all); the output is the same for any number")
	f.StringArrayVarP(&o.live.interfaces, "interface", "i", nil, "capture from this `interface` instead of reading files; any means all (Linux); may be repeated")
	o.live.addPlace(f)
	f.StringArrayVarP(&o.live.autostop, "autostop", "a", nil, "stop at a `CONDITION`: duration:S (live) or packets:N")
	o.protocols.add(f)
	o.filter.add(f)
	o.limits.add(f)
}

// A counting is a run that only counts.
type counting struct {
	plan
	output string // a file that is written later
}

// plan makes a plan of the flags and the arguments: files, or with -i the words of a filter. forever is the duration of a live
// capture if -a does not say, 0 for no limit.
func (o *countOptions) plan(args []string, command string, forever time.Duration, env environment) (*counting, error) {
	o.format = formatOptions{output: "text", clock: "r", color: "never"}
	p := &counting{plan: plan{o: &o.readOptions, env: env, live: len(o.live.interfaces) > 0, run: pipeline.New()}}
	files, words := args, []string(nil)
	if p.live {
		files, words = nil, args
	} else if len(args) == 0 {
		return nil, fmt.Errorf("no capture file given (- is standard input); see qdissect %s --help", command)
	}
	v, err := conditions("a", o.live.autostop, "duration", "packets")
	if err != nil {
		return nil, err
	}
	p.limits = limits{duration: time.Duration(v["duration"]) * time.Second, packets: uint64(v["packets"])}
	if err := p.refuse(new(pflag.FlagSet), files); err != nil {
		return nil, err
	}
	if p.live && p.limits.packets == 0 && p.limits.duration == 0 {
		p.limits.duration = forever
	}
	run := &p.run
	if err := p.take(files, words); err != nil {
		return nil, err
	}
	run.Stdin, run.Workers, run.Out = env.in, o.workers(), io.Discard
	run.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }
	run.Trouble = func(err error) { p.troubled = true; complain(env, err) }
	if p.limits.packets > 0 {
		run.Save.Saver = &saver{limits: p.limits}
	}
	return p, o.limits.apply(run)
}

// count runs the plan. The error is a status if nothing was read; the reason has been said then.
func (p *counting) count(into *stats.Aggregate) (*report.Summary, error) {
	run := &p.run
	run.Counts.Stats = into
	live, err := p.begin()
	if err != nil {
		return nil, err
	}
	if live != nil {
		defer live.Close()
		if err := p.o.live.confine(folderOf(p.output)...); err != nil {
			return nil, p.o.live.blame(err)
		}
		p.o.live.announce(p.env, live)
	}
	defer p.interruptible(false)()
	sum, err := pipeline.Run(*run)
	switch {
	case err != nil || sum.Packets > 0:
	case p.troubled:
		err = status(exitTrouble)
	case run.Frames.Window != nil:
		complain(p.env, p.outside())
	}
	return sum, err
}

// folderOf returns the folder of a file, none for standard output.
func folderOf(name string) []string {
	if name == "" || name == "-" {
		return nil
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	return []string{filepath.Dir(name)}
}

// own returns the addresses of the interfaces of a live capture.
func (p *counting) own() []netip.Prefix {
	if !p.live {
		return nil
	}
	return p.o.live.addresses()
}

// networks parses the networks of --home.
func networks(list []string) (home []netip.Prefix, err error) {
	for _, s := range list {
		p, err := stats.Prefix(s)
		if err != nil {
			return nil, fmt.Errorf("--home: %w", err)
		}
		home = append(home, p)
	}
	return home, nil
}

// end returns the status of a run that has done its work.
func (p *counting) end() error { return ended(p.troubled, false) }

// parseServer parses ADDR or ADDR:PORT.
func parseServer(s string) (addr netip.Addr, port uint16, err error) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")); err == nil {
		return a.Unmap(), 0, nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Port() > 0 {
		return ap.Addr().Unmap(), ap.Port(), nil
	}
	return addr, 0, fmt.Errorf("%q is not an address such as 198.51.100.10 or 198.51.100.10:27015; names are not resolved", s)
}
