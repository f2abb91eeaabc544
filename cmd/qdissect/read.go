package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// readOptions are the flags of the commands read and live.
type readOptions struct {
	files     []string
	count     uint64
	quiet     bool
	all       bool
	protocols protocolOptions
	jobs      int
	noResolve int
	lines     bool
	filter    filterOptions
	exchanges bool
	display   string
	filtered  bool // display is given
	save      saveOptions
	live      liveOptions
	limits    limitOptions
	out       outOptions
	window    windowOptions
	format    formatOptions
}

// automatic is the width that stands for that of the terminal.
const automatic = -1

// formatOptions are the flags that choose the output format.
type formatOptions struct {
	output  string
	tree    bool
	hex     bool
	clock   string
	color   string
	secrets bool
	width   int
	noFold  bool
	pasted  bool // times are those of pasted text
	rows    rowOptions
}

func (o *formatOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "text", "output format: text, json (one array), jsonl (an object per line), fields (a row with the values of -e), or parquet (tables, with read --out)")
	o.rows.add(f)
	f.BoolVarP(&o.tree, "verbose", "V", false, "text: show all fields with offset, length and bytes")
	f.BoolVarP(&o.hex, "hex", "x", false, "text: show the bytes with the fields beside them")
	f.StringVarP(&o.clock, "time", "t", "r", "text: times: r(elative) to the first packet, d(elta) to the line before, a(bsolute), ad (with date), e(poch); a and ad are UTC, or of the zone TZ")
	f.StringVar(&o.color, "color", "auto", "text: colour: auto, always or never")
	f.IntVar(&o.width, "width", automatic, "text: cut lines to `N` columns, and break those of -V and -x; 0 for never (default: the width of the terminal; pipes and files get whole lines)")
	f.BoolVar(&o.noFold, "no-fold", false, "text: show all findings; without it, those that repeat in a conversation are counted")
	f.BoolVar(&o.secrets, "show-secrets", false, "show passwords and tickets instead of ***")
}

func (o *readOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.files, "read", "r", nil, "read this `file`; - is standard input")
	f.Uint64VarP(&o.count, "count", "c", 0, "stop after this many messages")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "write only the summary")
	f.BoolVar(&o.all, "all", false, "also show datagrams that no protocol recognises")
	f.BoolVar(&o.exchanges, "exchanges", false, "json, jsonl: also write what became of each request, in a line when no more replies are expected")
	o.protocols.add(f)
	f.IntVarP(&o.jobs, "jobs", "j", 0, "use this many cores (default all); the output is the same for any number")
	f.CountVarP(&o.noResolve, "no-resolve", "n", "accepted for compatibility with tcpdump: addresses are never resolved")
	_ = f.MarkHidden("no-resolve")
	f.BoolVarP(&o.lines, "line-buffered", "l", false, "write each line at once; without it, lines of live captures and pipes may take 0.2 s")
	o.format.add(f)
	o.filter.add(f)
	f.StringVarP(&o.display, "display-filter", "Y", "", "write only messages and findings that match `EXPR`, such as 'players > 20' or 'severity >= note': see qdissect help filter")
	o.window.add(f)
	o.save.add(f)
	o.live.add(f)
	o.limits.add(f)
}

func newRead(env environment) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "read [flags] FILE...",
		Short: "Dissect capture files (same as qdissect FILE)",
		Long: `Dissect capture files: pcap and pcapng, plain or compressed with gzip or zstd.
The content decides the format, not the name. - is standard input.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runRead(cmd, args, &o, env) },
	}
	o.add(cmd.Flags())
	o.out.add(cmd.Flags())
	return cmd
}

// reporter returns a function that makes reporters as the flags ask. It reports
// whether they need the tree of fields.
func (o *formatOptions) reporter(env environment, manyFiles bool) (r func() report.Reporter, tree bool, err error) {
	clock, ok := map[string]report.Clock{
		"r": report.Relative, "d": report.Delta, "a": report.Absolute, "ad": report.Date, "e": report.Epoch,
		"relative": report.Relative, "delta": report.Delta, "absolute": report.Absolute, "date": report.Date, "epoch": report.Epoch,
	}[o.clock]
	if !ok {
		return nil, false, fmt.Errorf("unknown time format %q; use r, d, a, ad or e", o.clock)
	}
	zone := time.UTC
	switch {
	case o.pasted: // in an unknown zone
		zone = nil
	case clock == report.Absolute || clock == report.Date:
		zone = zoneOf(env)
	}
	if o.width < automatic {
		return nil, false, fmt.Errorf("--width %d: must be 1 column or more, or 0 for whole lines", o.width)
	}
	color := false
	switch o.color {
	case "always":
		color = true
	case "never":
	case "auto":
		color = isTerminal(env.out) && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
	default:
		return nil, false, fmt.Errorf("unknown colour setting %q; use auto, always or never", o.color)
	}
	if o.output != "fields" && (len(o.rows.names) > 0 || len(o.rows.settings) > 0) {
		return nil, false, errors.New("-e and -E need -o fields")
	}
	if o.output != "fields" && o.rows.raw {
		return nil, false, errors.New("--raw-cells needs -o fields")
	}
	switch o.output {
	case "fields":
		if o.tree || o.hex {
			return nil, false, errors.New("-V and -x need -o text")
		}
		return o.rows.reporter(o.secrets)
	case "json", "jsonl", "parquet":
		if o.tree || o.hex {
			return nil, false, fmt.Errorf("-V and -x need -o text; JSON and Parquet always have all fields")
		}
		if o.output == "parquet" {
			return func() report.Reporter { return tables.NewRows(o.secrets) }, true, nil
		}
		return func() report.Reporter {
			return report.NewJSON(report.JSONOptions{Array: o.output == "json", Secrets: o.secrets})
		}, true, nil
	case "text":
		detail := nettext.Either(o.hex, report.Hex, nettext.Either(o.tree, report.Tree, report.Line))
		return func() report.Reporter {
			return report.NewText(report.TextOptions{
				Detail: detail, Clock: clock, Color: color, Secrets: o.secrets, ManyFiles: manyFiles, Marked: true, Below: o.columns(env) > 0, Width: o.columns(env), Zone: zone,
			})
		}, detail != report.Line, nil
	}
	return nil, false, fmt.Errorf("unknown output format %q; use text, json, jsonl, fields or parquet", o.output)
}

// zoneOf returns the time zone that TZ names; without it, UTC, so that output does not depend on the computer.
func zoneOf(env environment) *time.Location {
	name := strings.TrimPrefix(env.getenv("TZ"), ":")
	zone, err := time.LoadLocation(name)
	if err != nil {
		complain(env, fmt.Errorf("TZ=%s: unknown time zone; times are UTC", name))
		return time.UTC
	}
	return zone
}

// columns returns the width of lines of text, 0 for whole lines or if that of the terminal is unknown.
func (o *formatOptions) columns(env environment) int {
	n, err := strconv.Atoi(env.getenv("COLUMNS"))
	switch {
	case o.width >= 0:
		return o.width
	case !isTerminal(env.out):
		return 0
	case err == nil && n > 0:
		return n
	}
	return widthOf(env.out)
}

// widthOf returns the width of a terminal, 0 if it is unknown or w is none.
func widthOf(w any) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// aligned returns a writer that aligns the columns of text on its way to w. Close ends its output.
func (o *formatOptions) aligned(env environment, w io.Writer) io.WriteCloser {
	if o.output != "text" {
		return unclosed{w}
	}
	return report.NewColumns(w, report.ColumnOptions{Width: o.columns(env), Wrap: o.tree || o.hex, Fold: !o.noFold})
}

// unclosed is a writer that needs no closing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// conclude writes remarks about the whole run to stderr.
func (p *plan) conclude(sum *report.Summary, pieces string) error {
	o, env := p.o, p.env
	nothing := p.troubled && sum.Packets == 0 // why has been said
	if p.counters != nil && !nothing {
		if _, err := env.out.Write(append(p.unusual(sum, p.counters.Bytes()), p.counters.Bytes()...)); err != nil {
			return err
		}
	}
	if pieces != "" {
		complain(env, errors.New(pieces))
	}
	if p.aside && !nothing {
		counters := &report.Counts{Width: o.format.width}
		if counters.Width < 0 {
			counters.Width = widthOf(env.err)
		}
		if err := counters.End(sum); err != nil {
			return err
		}
		env.err.Write(append(p.unusual(sum, counters.Bytes()), counters.Bytes()...))
	} else if !o.quiet {
		if sum.MostlyDuplicates {
			complain(env, fmt.Errorf("most datagrams are duplicates, as in captures on a mirror port or on the interface any: %d duplicates are left out", sum.Duplicates))
		}
		if sum.OneSided > 0 {
			complain(env, errors.New(string(report.AppendOneSided(nil, sum))))
		}
	}
	if sum.Recognised() > 0 || sum.Chosen || nothing {
		return nil
	}
	// Say what the capture holds instead of messages.
	if p.run.Frames.Window != nil && sum.Packets == 0 {
		complain(env, p.outside())
		return nil
	}
	text := string(report.AppendUnread(nil, sum, len(o.protocols.names) > 0))
	text += nettext.Either(sum.Datagrams > 0 && !o.all, "; --all shows them", "")
	complain(env, errors.New(text))
	return nil
}

// watchFirst records the time of the first packet, if there is a window.
func (p *plan) watchFirst() {
	if window := p.run.Frames.Window; window != nil {
		p.run.Frames.Window = func(first time.Time) (since, until time.Time) {
			p.first = first
			return window(first)
		}
	}
}

// outside says that no packet was in the window.
func (p *plan) outside() error {
	text := "no messages: no packets between --since and --until"
	text += nettext.Either(!p.first.IsZero(), "; the first packet of the capture is of "+p.first.UTC().Format("2006-01-02 15:04:05")+" UTC", "")
	return errors.New(text)
}

// unusual returns the report, if it has more to say than that nothing is unusual, to be followed by the counters.
func (p *plan) unusual(sum *report.Summary, counters []byte) []byte {
	if p.run.Counts.Stats == nil || p.run.Counts.Slots != nil || p.o.format.output != "text" {
		return nil
	}
	o := unitfile.Options(sum)
	if p.live {
		o.Home, o.HomeBy = p.o.live.addresses(), "interface"
	}
	r := p.run.Counts.Stats.Report(o)
	if !r.Unusual() {
		return nil
	}
	return append(r.AppendText(nil, 1+bytes.Count(counters, []byte("\n"))), '\n')
}
