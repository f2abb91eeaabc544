package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/whole"
)

// cutOptions are the flags of cut.
type cutOptions struct {
	filter    string
	frames    []string
	flows     []string
	window    windowOptions
	protocols protocolOptions
}

func newCut(env environment) *cobra.Command {
	var o cutOptions
	cmd := &cobra.Command{
		Use:   "cut IN OUT -Y EXPR | --frames LIST | --flow ADDR:PORT[-ADDR:PORT] | --since TIME",
		Short: "Extract messages into the smallest capture that shows them",
		Long: `Extract chosen messages from a capture, with all frames that they need: other
parts and IP fragments, the request of a reply, the replies to a request, and the
message that gave a challenge. The messages dissect as before. Only the frame
numbers change; comments give the old numbers. Several of -Y, --frames and --flow
choose the union. --since and --until choose only messages of that time, alone all of
them; what these need from before and after is kept as well.

An expression tests a message or a finding; qdissect help filter describes it:

  message == players_reply and a2s.players[*].score > 5
  server.map == "de_dust2" or summary ~ "(?i)dust"
  finding == malformed                        messages with this finding
  rtt > 200ms and src_ip == 192.0.2.0/24      slow replies of a network
  frame in 3,5-9

OUT is pcap or pcapng by its extension, and compressed if .gz or .zst follows.

Exit status: 0 done; 1 nothing chosen, no file written; 2 error.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCut(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.filter, "display-filter", "Y", "", "choose messages and findings that match `EXPR`")
	f.StringArrayVar(&o.frames, "frames", nil, "choose the frames of `LIST`, such as 3,5-9, and their messages")
	f.StringArrayVar(&o.flows, "flow", nil, "choose all datagrams of an address and port, or between two of them: `ADDR:PORT[-ADDR:PORT]`")
	o.window.add(f)
	o.protocols.addDecodeAs(f)
	return cmd
}

func runCut(args []string, o *cutOptions, env environment) error {
	in, out, err := inAndOut(args, env)
	if err != nil {
		return err
	}
	c := cut.Options{In: in, Out: out}
	if err := o.choose(&c); err != nil {
		return err
	}
	if in == "-" || out == "-" {
		// The input is read several times and the output is written more than once.
		tmp, err := whole.Temp("qdissect-cut")
		if err != nil {
			return err
		}
		defer tmp.Discard()
		dir := tmp.Name()
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
	return ended(r.Trouble != nil, r.Frames == 0)
}

// choose sets what to extract, as the flags say.
func (o *cutOptions) choose(c *cut.Options) (err error) {
	if c.Window, err = o.window.window(); err != nil {
		return err
	}
	if o.filter == "" && len(o.frames)+len(o.flows) == 0 && c.Window == nil {
		return errors.New("nothing chosen; use -Y, --frames, --flow, --since or --until")
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

// tellCut prints the result.
func tellCut(r *cut.Result, env environment) {
	if r.Frames == 0 {
		fmt.Fprintf(env.err, "nothing chosen in %d frames; no file written\n", r.All)
		return
	}
	fmt.Fprintf(env.err, "%d of %s written, %d chosen", r.Frames, nettext.Count(int(r.All), "frame"), r.Chosen)
	if r.Added > 0 {
		fmt.Fprintf(env.err, "; %s of the same conversations added so that the messages stay the same", nettext.Count(r.Added, "frame"))
	}
	fmt.Fprintln(env.err)
	if len(r.Changed) > 0 {
		list := nettext.Each(r.Changed[:min(len(r.Changed), maxTold)], func(f uint64) string { return strconv.FormatUint(f, 10) })
		if len(r.Changed) > maxTold {
			list = append(list, "…")
		}
		complain(env, fmt.Errorf("the messages of these frames differ without the rest of the capture: %s", strings.Join(list, ", ")))
	}
}

// maxTold limits the frames that a message lists.
const maxTold = 10
