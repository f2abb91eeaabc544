package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/report"
)

// reportOptions are the flags of report.
type reportOptions struct {
	output    string
	format    string
	home      []string
	jobs      int
	window    windowOptions
	protocols protocolOptions
	filter    filterOptions
	limits    limitOptions
}

func newReport(env environment) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] FILE...",
		Short: "Say what happened to servers: floods, who asks, what would have helped",
		Long: `Say what happened to the servers in captures: forged floods, reflection at others,
clients that ask too often, scanners, servers that are down, slow or overloaded, and
what limits would have dropped. Several captures make one report.

With -o report.html it is a page: curves from which a time span can be chosen, round
trips, servers, clients, limits with rules to copy, findings, and conversations.

The servers are the hosts that reply, or those of --home. A capture of the server's
own host shows requests before the firewall of that host drops them.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(args, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "output format: text (one screen), html (a page with pictures, one file that needs no network) or json (default by the ending of --output: .html, .json, else text)")
	f.StringVarP(&o.output, "output", "o", "", "write to this `file` instead of standard output")
	f.StringArrayVar(&o.home, "home", nil, "network or address of the servers that the report is about, such as 198.51.100.0/24; may be repeated (default: the hosts that reply)")
	o.window.add(f)
	f.IntVarP(&o.jobs, "jobs", "j", 0, "use this many cores (default all); the output is the same for any number")
	o.protocols.add(f)
	o.filter.add(f)
	o.limits.add(f)
	return cmd
}

// run makes the report.
func (o *reportOptions) run(args []string, env environment) error {
	if err := refuse([]refusal{
		{!slices.Contains([]string{"", "text", "html", "json"}, o.format), fmt.Sprintf("unknown format %q; use text, html or json", o.format)},
		{len(args) == 0, "no capture file given (- is standard input); see qdissect report --help"},
		{o.jobs < 0, fmt.Sprintf("-j %d: must be 1 or more cores, or 0 for all", o.jobs)},
	}); err != nil {
		return err
	}
	home, err := networks(o.home)
	if err != nil {
		return err
	}
	ro := readOptions{jobs: o.jobs, protocols: o.protocols, filter: o.filter, limits: o.limits, format: formatOptions{output: "text", clock: "r", color: "never"}}
	p := &plan{o: &ro, env: env}
	if p.run.Window, err = o.window.window(); err != nil {
		return err
	}
	if err := p.find(args); err != nil {
		return err
	}
	if p.run.Analysis, err = o.protocols.config(); err != nil {
		return err
	}
	if p.choose, err = o.filter.compile(nil, env.in); err != nil {
		return err
	}
	p.filter(p.choose.match())
	run := &p.run
	run.Stdin, run.Workers, run.Out, run.Detailed = env.in, ro.workers(), io.Discard, true
	run.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }
	run.Trouble = func(err error) { p.troubled = true; complain(env, err) }
	run.Stats, run.Talks = stats.New(), talks.New()
	if err := o.limits.apply(run); err != nil {
		return err
	}
	sum, err := pipeline.Run(*run)
	if err != nil {
		return err
	}
	if p.troubled && sum.Packets == 0 {
		return status(exitTrouble) // nothing was read, and the reason has been said
	}
	so := stats.Options{Home: home, Packets: sum.Packets, OneSided: sum.OneSided > 0, Made: stats.Made{Version: versionText(), Command: "qdissect report " + strings.Join(words(args), " ")}}
	if len(home) > 0 {
		so.HomeBy = "option"
	}
	so.Unknowns = guesses(sum)
	for _, in := range run.Inputs {
		so.Made.Files = append(so.Made.Files, stats.File{Name: in, Word: shellWord(in), SHA256: sumOf(in)})
	}
	r := run.Stats.Report(so)
	r.Talks = run.Talks.List(r.Findings, run.Analysis, so.Made.Files)
	if err := o.write(env, r, run.Inputs); err != nil {
		return err
	}
	if p.troubled {
		return status(exitTrouble)
	}
	return nil
}

// guesses returns what most unknown datagrams look like.
func guesses(sum *report.Summary) (list []stats.Guess) {
	const most = 10
	for what, n := range sum.Tally.Guesses {
		list = append(list, stats.Guess{What: what, Count: *n})
	}
	slices.SortFunc(list, func(a, b stats.Guess) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What)) })
	return list[:min(len(list), most)]
}

// sumOf returns the SHA-256 of a regular file, "" for what cannot be read twice.
func sumOf(name string) string {
	st, err := os.Stat(name)
	if name == "-" || err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func words(args []string) []string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = shellWord(a)
	}
	return list
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

// escapeUnsafe returns JSON with escapes for the characters that must not reach a
// terminal; they stand only within strings.
func escapeUnsafe(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case !nettext.Unsafe(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// write writes the report.
func (o *reportOptions) write(env environment, r *stats.Report, inputs []string) error {
	if o.format == "" {
		o.format = map[string]string{".html": "html", ".htm": "html", ".json": "json"}[strings.ToLower(filepath.Ext(o.output))]
	}
	var b []byte
	switch o.format {
	case "json":
		var err error
		if b, err = json.Marshal(r); err != nil {
			return err
		}
		b = append(escapeUnsafe(b), '\n')
	case "html":
		var page bytes.Buffer
		if err := htmlreport.Write(&page, r); err != nil {
			return err
		}
		b = page.Bytes()
	default:
		b = r.AppendText(nil, 0)
	}
	if o.output == "" {
		_, err := env.out.Write(b)
		return err
	}
	if st, err := os.Stat(o.output); err == nil {
		if among(st, filesOf(inputs, env.in)) {
			return errors.New("the report would replace one of the input files; use another file")
		}
	}
	f, err := capture.CreateBeside(o.output, false)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(f.Close(), os.Rename(f.Name(), o.output))
}
