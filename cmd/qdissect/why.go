package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/stats"
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
		Use:   "why [flags] ADDR[:PORT] FILE... | -i INTERFACE [FILTER]",
		Short: "Say why a server does not show up",
		Long: `Say in a paragraph why a server does not show up in browsers, or that nothing in the
capture stands in the way, and what to do next: whether it is asked, and by whom;
whether it answers each kind of request; ICMP errors; challenges that lead nowhere;
long replies that get lost; heartbeats to masters and their answers; floods, limits
and load; and how long replies take.

ADDR is the server's address as the packets have it: behind a NAT, on the server's
own host, the private one. Without PORT, each port that replies gets a paragraph.

With -i it captures for 30 seconds, or as -a says; an interrupt ends it earlier.

  qdissect why 198.51.100.10:27015 evening.pcapng
  qdissect why 198.51.100.10:27015 -i eth0 -a duration:120

Exit status: 0 it answers and nothing stands in the way; 1 a problem was found;
2 wrong usage, unreadable or damaged input; 3 the capture does not tell: the server
is not in it, nobody asked, or one direction is missing.`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args, env) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "output format: text, or json (an object for each paragraph, one per line)")
	o.add(cmd.Flags())
	return cmd
}

// run answers.
func (o *whyOptions) run(args []string, env environment) error {
	if len(args) == 0 {
		return errors.New("which server? Use qdissect why ADDR[:PORT] FILE; see qdissect why --help")
	}
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("unknown format %q; use text or json", o.format)
	}
	addr, port, err := parseServer(args[0])
	if err != nil {
		return err
	}
	p, err := o.plan(args[1:], "why", whyTime, env)
	if err != nil {
		return err
	}
	a := stats.NewFocused(addr)
	sum, err := p.count(a)
	if err != nil {
		return err
	}
	list := a.Why(port, stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Home: p.own()})
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
		b.Write(w.AppendText(nil))
	}
	if _, err := env.out.Write(b.Bytes()); err != nil {
		return err
	}
	if p.troubled {
		return status(exitTrouble)
	}
	switch list[0].State {
	case stats.Trouble:
		return status(exitJudged)
	case stats.Unclear:
		return status(exitUnclear)
	}
	return nil
}
