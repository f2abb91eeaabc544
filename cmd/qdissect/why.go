package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// exitUnclear is the status of why if the capture does not tell.
const exitUnclear = 3

// whyTime is how long why captures if nothing else is said.
const whyTime = 30 * time.Second

// whyOptions are the flags of why.
type whyOptions struct {
	countOptions
	format string
}

func newWhy(env environment) *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why [flags] [ADDR[:PORT]] FILE... | -i INTERFACE [FILTER]",
		Short: "Say why a server does not show up",
		Long: `Say in a paragraph why a server does not show up in browsers, or that nothing in the
capture stands in the way, and what to do next: whether it is asked, and by whom;
whether it answers each kind of request; ICMP errors; challenges that lead nowhere;
long replies that get lost; heartbeats to masters and their answers; floods, limits
and load; and how long replies take. docs/causes.md lists all causes with the evidence
that each needs; qdissect explain CAUSE has one.

ADDR is the server's address as the packets have it: behind a NAT, on the server's
own host, the private one. Without PORT, each port that replies gets a paragraph;
without ADDR, each server of the capture, the worst first.

With -i it captures for 30 seconds, or as -a says; an interrupt ends it earlier.

  qdissect why 198.51.100.10:27015 evening.pcapng
  qdissect why evening.pcapng
  qdissect why 198.51.100.10:27015 -i eth0 -a duration:120

Exit status: 0 it answers and nothing stands in the way; 1 a problem was found;
2 wrong usage, unreadable or damaged input; 3 the capture does not tell: the server
is not in it, nobody asked, or one direction is missing. Without ADDR, it is 1 if any
server has a problem, and 3 only if the capture tells nothing of any.`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args, env) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "output format: text, or json (an object for each paragraph, one per line; a last one of type more: there are more servers)")
	o.add(cmd.Flags())
	return cmd
}

// server takes the address from the arguments, if they begin with one. A file that exists is none.
func (o *whyOptions) server(args []string) (at netip.AddrPort, rest []string, err error) {
	if len(args) == 0 {
		if len(o.live.interfaces) > 0 {
			return at, nil, nil
		}
		return at, nil, errors.New("which server, or which capture? Use qdissect why [ADDR[:PORT]] FILE; see qdissect why --help")
	}
	addr, port, err := parseServer(args[0])
	if err == nil {
		return netip.AddrPortFrom(addr, port), args[1:], nil
	}
	_, missing := os.Stat(args[0])
	live := len(o.live.interfaces) > 0
	if i := slices.IndexFunc(args, isServer); i > 0 && missing == nil && !live {
		return at, nil, fmt.Errorf("the server stands before the captures: qdissect why %s %s", args[i], args[0])
	}
	filter := live && !strings.ContainsAny(args[0], ".:")
	if errors.Is(missing, fs.ErrNotExist) && args[0] != "-" && !filter && (live || len(args) > 1) {
		return at, nil, err
	}
	return at, args, nil
}

func isServer(s string) bool { _, _, err := parseServer(s); return err == nil }

// run answers.
func (o *whyOptions) run(args []string, env environment) error {
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("unknown format %q; use text or json", o.format)
	}
	server, args, err := o.server(args)
	if err != nil {
		return err
	}
	p, err := o.plan(args, "why", whyTime, env)
	if err != nil {
		return err
	}
	a := stats.NewFocused(server.Addr())
	p.run.Counts.Detailed = true // what unknown datagrams look like
	sum, err := p.countShown(a)
	if err != nil {
		return err
	}
	so := unitfile.Options(sum)
	so.Home = p.own()
	so.Made.Files = nettext.Each(p.run.Inputs, func(name string) stats.File { return stats.File{Name: name} })
	list := a.Why(server, so)
	for i := 0; i < len(so.Streams) && len(list) == i && !server.Addr().IsValid(); i++ { // TCP is all there is
		list = append(list, a.Why(so.Streams[i].Server, so)...)
	}
	if len(list) == 0 {
		text := string(report.AppendUnread(nil, sum, len(o.protocols.names) > 0))
		if n := sum.Recognised(); n > 0 {
			text = fmt.Sprintf("nobody asked a server: none of %d messages is a request; name an address to see what passed there", n)
		}
		complain(env, errors.New(text))
		return status(exitUnclear)
	}
	if err := o.write(list, a.Left(), server.Addr().IsValid(), env); err != nil {
		return err
	}
	if p.troubled {
		return status(exitTrouble)
	}
	switch state := list[0].State; {
	case state == stats.Trouble:
		return status(exitJudged)
	case state == stats.Unclear && (server.IsValid() || server.Addr().IsValid() || list[len(list)-1].State == stats.Unclear):
		return status(exitUnclear)
	}
	return nil
}

// write writes the answers, for one server or for all. left is how many servers there was no room for.
func (o *whyOptions) write(list []*stats.Answer, left uint64, one bool, env environment) error {
	var b bytes.Buffer
	for i, w := range list {
		if o.format == "json" {
			line, err := json.Marshal(w)
			if err != nil {
				return err
			}
			b.Write(append(escapeUnsafe(line), '\n'))
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if !one && w.State == stats.Answers {
			w.Advice = nil // it says that there is nothing to do
		}
		b.Write(w.AppendText(nil))
	}
	if left > 0 && !one {
		const text = "More servers were asked than there is room for: qdissect why ADDR FILE answers for one."
		if o.format == "json" {
			fmt.Fprintf(&b, `{"type":"more","text":%q}`+"\n", text)
		} else {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	_, err := env.out.Write(b.Bytes())
	return err
}

// countShown counts, and shows what a live capture has seen so far: each second on a terminal, else a line every ten seconds.
func (p *counting) countShown(into *stats.Aggregate) (*report.Summary, error) {
	bar, began := &progress{env: p.env}, time.Now()
	show, every := bar.show, time.Second
	if !isTerminal(p.env.err) {
		every = 10 * time.Second
		show = func(line string) {
			if time.Since(began) > time.Second {
				fmt.Fprintln(p.env.err, line)
			}
		}
	}
	if p.live {
		p.run.Events.Every = every
		p.run.Events.Watch = func(s *report.Summary) {
			line := fmt.Sprintf("%.0f s: %d %s, %d %s, %d %s", time.Since(began).Seconds(), s.Packets, nettext.Plural(int(s.Packets), "packet", "packets"),
				s.Requests, nettext.Plural(int(s.Requests), "request", "requests"), s.Replies, nettext.Plural(int(s.Replies), "reply", "replies"))
			line += nettext.Either(p.limits.duration > 0, fmt.Sprintf("; %.0f s to go, ^C ends it", max(0, (p.limits.duration-time.Since(began)).Seconds())), "")
			show(line)
		}
	}
	defer bar.clear()
	return p.count(into)
}
