package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
)

// cutOptions are the flags of cut.
type cutOptions struct {
	filter     string
	frames     []string
	flows      []string
	noComments bool
	protocols  protocolOptions
}

func newCut(env environment) *cobra.Command {
	var o cutOptions
	cmd := &cobra.Command{
		Use:   "cut IN OUT -Y EXPR | --frames LIST | --flow ADDR:PORT[-ADDR:PORT]",
		Short: "Cut the smallest capture that still shows something",
		Long: `Cut the messages that matter out of a capture, with all that they need: the other
parts and IP fragments, the request of a reply and the replies of a request, and
what gave a challenge. They dissect as before; only the numbers of the frames are
others, and comments name the old ones. What of several flags chooses is added up.

An expression tests the object that -o jsonl writes of a message or a finding:

  message == players_reply and a2s.players[*].score > 5
  server.map == "de_dust2" or summary ~ "(?i)dust"
  finding == malformed                     what has this finding
  rtt_ns > 200e6 and src == 192.0.2.0/24   slow replies of a network
  frame in 3,5-9

OUT is pcap or pcapng by its extension, compressed with .gz or .zst behind it.

Exit status: 0 done; 1 nothing was chosen and nothing written; 2 trouble.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCut(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.filter, "display-filter", "Y", "", "messages and findings that fit `EXPR`")
	f.StringArrayVar(&o.frames, "frames", nil, "the frames of `LIST`, such as 3,5-9, and the messages that they carry")
	f.StringArrayVar(&o.flows, "flow", nil, "everything of an address and port, or between two of them: `ADDR:PORT[-ADDR:PORT]`")
	f.BoolVar(&o.noComments, "no-comments", false, "do not write comments with the old numbers of frames and what they hold")
	o.protocols.addDecodeAs(f)
	return cmd
}

func runCut(args []string, o *cutOptions, env environment) error {
	in, out, err := inAndOut(args, env)
	if err != nil {
		return err
	}
	c := cut.Options{In: in, Out: out, Comments: !o.noComments}
	if err := o.choose(&c); err != nil {
		return err
	}
	if in == "-" || out == "-" {
		// It is read several times, and written more than once.
		dir, err := os.MkdirTemp("", "qdissect-cut-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if in == "-" {
			if c.In, err = spool(filepath.Join(dir, "standard input"), env.in); err != nil {
				return err
			}
		}
		if out == "-" {
			c.Out = filepath.Join(dir, "out.pcapng")
		}
	}
	r, err := cut.Run(c)
	if err != nil {
		return err
	}
	if r.Trouble != nil {
		complain(env, r.Trouble)
	}
	if out == "-" && r.Frames > 0 {
		if err := copyFile(env.out, c.Out); err != nil {
			return err
		}
	}
	tellCut(&r, env)
	switch {
	case r.Trouble != nil:
		return status(exitTrouble)
	case r.Frames == 0:
		return status(exitJudged)
	}
	return nil
}

// choose reads the flags that say what to cut out.
func (o *cutOptions) choose(c *cut.Options) (err error) {
	if o.filter == "" && len(o.frames)+len(o.flows) == 0 {
		return errors.New("nothing says what to cut out: give -Y, --frames or --flow")
	}
	if o.filter != "" {
		if c.Filter, err = display.Compile(o.filter); err != nil {
			return showFilter(err)
		}
	}
	for _, s := range o.frames {
		list, err := cut.ParseFrames(s)
		if err != nil {
			return err
		}
		c.Frames = append(c.Frames, list...)
	}
	for _, s := range o.flows {
		flow, err := cut.ParseFlow(s)
		if err != nil {
			return err
		}
		c.Flows = append(c.Flows, flow)
	}
	c.Analysis, err = o.protocols.config()
	return err
}

// tellCut says what was cut out.
func tellCut(r *cut.Result, env environment) {
	if r.Frames == 0 {
		fmt.Fprintf(env.err, "nothing in %d frames was chosen; no file was written\n", r.All)
		return
	}
	fmt.Fprintf(env.err, "%d of %s, for %d that %s chosen", r.Frames, count(int(r.All), "frame"), r.Chosen, plural(r.Chosen, "was", "were"))
	if r.Added > 0 {
		fmt.Fprintf(env.err, ", with %s of the conversations before, without which they would be others", count(r.Added, "frame"))
	}
	fmt.Fprintln(env.err)
	if len(r.Changed) > 0 {
		var list []string
		for _, f := range r.Changed[:min(len(r.Changed), maxTold)] {
			list = append(list, strconv.FormatUint(f, 10))
		}
		if len(r.Changed) > maxTold {
			list = append(list, "…")
		}
		complain(env, fmt.Errorf("what these frames say is not the same without the rest of the capture: %s", strings.Join(list, ", ")))
	}
}

// maxTold is how many frames are named.
const maxTold = 10
