package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/report"
)

// reportOptions are the flags of report.
type reportOptions struct {
	countOptions
	units     outOptions
	from      string
	output    string
	format    string
	home      []string
	every     int
	listen    string
	compare   bool
	webhook   string
	noNames   bool
	anonymize bool
	key       string
	all       bool
}

func newReport(env environment) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] FILE... | -i INTERFACE [FILTER] | --compare BEFORE AFTER",
		Short: "Say what happened to servers: floods, who asks, what would have helped",
		Long: `Say what happened to the servers in captures: forged floods, reflection at others,
clients that ask too often, scanners, servers that are down, slow or overloaded, and
what limits would have dropped. Several captures make one report.

With -o report.html it is a page: curves from which a time span can be chosen, round
trips, servers, clients, limits with rules to copy, findings, and conversations.

With -i it captures until an interrupt, or as -a says, and reports then. With --every
60 the file of -o is written again every minute, whole each time. With --listen :8080
the page is at http://127.0.0.1:8080/ and keeps itself up to date.

With --compare it says what changed from one capture to another, as before and after
a rule of a firewall: what fell, and what honest clients lost. Numbers are per second,
because captures differ in length.

The servers are the hosts that reply, or those of --home; live, the interface's own
addresses. A capture of the server's own host shows requests before the firewall of
that host drops them.

A report can be passed on: --anonymize replaces addresses and names as qdissect
anonymize does, --no-names leaves out names. Both leave out what could tell them:
conversations, and texts of findings.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(args, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "output format: text (in a terminal one screen), html (a page with pictures, one file that needs no network) or json (default by the ending of --output: .html, .json, else text)")
	f.StringVarP(&o.output, "output", "o", "", "write to this `file` instead of standard output")
	f.StringArrayVar(&o.home, "home", nil, "network or address of the servers that the report is about, such as 198.51.100.0/24; may be repeated (default: own addresses live, the hosts that reply in files)")
	f.StringVar(&o.from, "from", "", "report of the units in this `folder`, which read --unit has made, instead of captures")
	o.units.addSeries(f)
	f.IntVar(&o.every, "every", 0, "live or from a pipe: write the file of -o every `S` seconds")
	f.StringVar(&o.listen, "listen", "", "live or from a pipe: serve the page at http://`ADDR`/; :8080 listens on loopback only, for others the address has a token")
	f.StringVar(&o.webhook, "webhook", "", "post each verdict that begins, and that is over, as JSON to this `URL`, with the path /api/v2/alerts as alerts of Alertmanager")
	f.BoolVar(&o.compare, "compare", false, "say what changed between two captures: before and after a rule")
	f.BoolVar(&o.all, "all", false, "text in a terminal: all of it, not one screen")
	f.BoolVar(&o.noNames, "no-names", false, "leave out names of servers and players")
	f.BoolVar(&o.anonymize, "anonymize", false, "replace addresses and names, and leave out names and sums of files")
	f.StringVar(&o.key, "key", "", "with --anonymize: key of 32 or more hexadecimal digits, or a `FILE` with a key; equal values get equal replacements in all that is anonymized with it")
	o.add(f)
	return cmd
}

// A reporting makes reports of a run.
type reporting struct {
	*counting
	o    *reportOptions
	made stats.Made
	home []netip.Prefix
	by   string // how home is known
	hide *stats.Hiding

	alarm   *alarm // nil without --webhook
	hub     *hub   // nil without --listen
	written time.Time
}

// refused returns an error for flags that do not fit.
func (o *reportOptions) refused(args []string) error {
	return refuse([]refusal{
		{!slices.Contains([]string{"", "text", "html", "json"}, o.format), fmt.Sprintf("unknown format %q; use text, html or json", o.format)},
		{slices.Contains([]string{"text", "html", "json"}, o.output), fmt.Sprintf("-o names the file to write, and %q is a format: use --format %[1]s, or -o ./%[1]s", o.output)},
		{o.every < 0, fmt.Sprintf("--every %d: must be 1 second or more", o.every)},
		{o.every > 0 && (o.output == "" || o.output == "-"), "--every needs -o FILE"},
		{o.key != "" && !o.anonymize, "--key needs --anonymize"},
		{o.from != "" && (len(args) > 0 || len(o.live.interfaces) > 0 || o.units.series || o.every > 0 || o.listen != ""), "--from reads no captures: it cannot be combined with files, -i, --series, --every or --listen"},
		{o.compare && (len(args) != 2 || len(o.live.interfaces) > 0 || o.from != "" || o.units.series || o.every > 0 || o.listen != "" || o.webhook != ""), "--compare needs two files, before and after, and cannot be combined with -i, --from, --series, --every, --listen or --webhook"},
		{o.from != "" && (o.window.since != "" || o.window.until != ""), "--from has counts of whole captures: it cannot be combined with --since or --until"},
		{o.units.series && len(o.live.interfaces) > 0, "--series needs files"},
		{o.units.by != "" && !o.units.series, "--series-by needs --series"},
	})
}

// run makes the report.
func (o *reportOptions) run(args []string, env environment) error {
	if err := o.refused(args); err != nil {
		return err
	}
	o.format = cmp.Or(o.format, map[string]string{".html": "html", ".htm": "html", ".json": "json"}[strings.ToLower(filepath.Ext(o.output))])
	r := &reporting{o: o, made: stats.Made{Version: versionText()}}
	var err error
	if r.home, err = networks(o.home); err != nil {
		return err
	}
	if len(r.home) > 0 {
		r.by = "option"
	}
	if r.hide, err = o.hiding(); err != nil {
		return err
	}
	if o.compare {
		return r.compare(args, env)
	}
	if o.webhook != "" {
		warn := func(err error) { complain(env, err) }
		h, c, err := newHook(o.webhook, warn)
		if err != nil {
			return err
		}
		r.alarm, o.live.reach = newAlarm(c, h.post, warn), h.port
		defer r.alarm.finish()
	}
	if o.from != "" {
		return r.fromUnits(env)
	}
	if r.counting, err = o.plan(args, "report", 0, env); err != nil {
		return err
	}
	if o.units.series {
		return r.fromSeries(args)
	}
	run := &r.counting.plan.run
	waits := r.live || slices.ContainsFunc(run.Inputs, func(name string) bool { return name == "-" || capture.Waits(name) })
	if err := refuse([]refusal{
		{o.every > 0 && !waits, "--every needs -i or a pipe: a file is complete"},
		{o.listen != "" && !waits, "--listen needs -i or a pipe: of a file, -o report.html writes the page"},
	}); err != nil {
		return err
	}
	if o.listen != "" {
		if r.hub, err = newHub(o.listen, env.err); err != nil {
			return err
		}
		defer r.hub.end()
	}
	if waits && (o.every > 0 || r.hub != nil || r.alarm != nil) {
		run.Events.Every, run.Events.Snapshot, run.Events.Idle, r.written = time.Second, r.snapshot, r.idle, time.Now()
	}
	if len(r.home) == 0 && r.live {
		r.home, r.by = r.own(), "interface"
	}
	r.describe(args)
	r.made.Every = time.Duration(o.every) * time.Second
	run.Counts.Detailed, run.Counts.Talks = true, talks.New()
	run.Events.Read = func(number int, packets uint64, first, last time.Time) {
		f := &r.made.Files[number]
		f.Packets, f.First, f.Last = packets, first.UTC(), last.UTC()
	}
	r.output = o.output
	sum, err := r.count(stats.New())
	if err != nil {
		return err
	}
	r.made.Every = 0 // what is written now stays
	return cmp.Or(r.finish(r.report(sum, run.Counts.Stats, o.servers())), r.end())
}

// finish passes on the verdicts of the last report, and writes it.
func (r *reporting) finish(p *stats.Report) error {
	if r.alarm != nil {
		r.alarm.look(p, time.Now())
		r.alarm.finish()
		p.Unclear = append(p.Unclear, r.alarm.lost()...)
	}
	return r.write(p)
}

// hiding returns what the report must not tell, nil if it may tell everything.
func (o *reportOptions) hiding() (*stats.Hiding, error) {
	if !o.noNames && !o.anonymize {
		return nil, nil
	}
	h := new(stats.Hiding)
	if o.anonymize {
		key, err := readKey(o.key)
		if err != nil {
			return nil, err
		}
		v, err := anonymize.NewValues(key)
		if err != nil {
			return nil, err
		}
		h.Addr, h.Name = v.Addr, v.Text
	}
	if o.noNames {
		h.Name = nil
	}
	return h, nil
}

// describe sets how the report is made.
func (r *reporting) describe(args []string) {
	o := r.o
	list := []string{"qdissect report"}
	add := func(flag, value string) {
		if value != "" {
			list = append(list, flag+" "+shellWord(value))
		}
	}
	if o.from != "" {
		add("--from", o.from)
	}
	if o.units.series {
		list = append(list, "--series")
	}
	add("--series-by", o.units.by)
	add("--since", o.window.since)
	add("--until", o.window.until)
	for _, in := range o.live.interfaces {
		add("-i", in)
	}
	if o.anonymize {
		list = append(list, "--anonymize")
	} else {
		add("--netns", o.live.netns)
		for _, s := range o.home {
			add("--home", s)
		}
		list = append(list, nettext.Each(args, nettext.ShellWord)...)
	}
	r.made.Command = strings.Join(list, " ")
	r.made.Files = nettext.Each(r.counting.plan.run.Inputs, func(in string) stats.File { return stats.File{Name: in, Word: shellWord(in)} })
	o.number(r.made.Files)
}

// number gives files numbers in place of their names, if these must not be told.
func (o *reportOptions) number(files []stats.File) {
	for i := range files {
		if o.anonymize {
			files[i].Name = fmt.Sprintf("capture-%d", i+1)
			files[i].Word = files[i].Name
		}
	}
}

// report makes the report of the counts so far, with at least some servers.
func (r *reporting) report(sum *report.Summary, a *stats.Aggregate, servers int) *stats.Report {
	made := r.made
	made.Files = slices.Clone(made.Files)
	run := &r.counting.plan.run
	for i, in := range run.Inputs {
		if !r.o.anonymize {
			made.Files[i].SHA256 = whole.Sum(in, math.MaxInt64)
		}
	}
	so := unitfile.Options(sum)
	so.Home, so.HomeBy, so.Hide, so.Made, so.Servers = r.home, r.by, r.hide, made, servers
	p := a.Report(so)
	if r.hide == nil {
		p.Talks = run.Counts.Talks.List(p.Findings, run.Analysis, made.Files)
	}
	return p
}

// write writes a report.
func (r *reporting) write(p *stats.Report) error { return r.o.write(r.env, p, r.plan.run.Inputs) }

// servers is how many servers the report lists at least.
func (o *reportOptions) servers() int {
	return nettext.Either(o.format == "html", htmlreport.MaxServers, 0)
}

// write writes the report.
func (o *reportOptions) write(env environment, r *stats.Report, inputs []string) error {
	text := func() []byte {
		if o.all || o.output != "" && o.output != "-" || !isTerminal(env.out) {
			return r.AppendWhole(nil)
		}
		return r.AppendText(nil, 0)
	}
	return o.put(env, r, func(w io.Writer) error { return htmlreport.Write(w, r) }, text, inputs)
}

// put writes a report, or what is made of reports, in the format that is wanted.
func (o *reportOptions) put(env environment, r any, html func(io.Writer) error, text func() []byte, inputs []string) error {
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
		if err := html(&page); err != nil {
			return err
		}
		b = page.Bytes()
	default:
		b = text()
	}
	if o.output == "" || o.output == "-" {
		_, err := env.out.Write(b)
		return err
	}
	if st, err := os.Stat(o.output); err == nil {
		if among(st, filesOf(inputs, env.in)) {
			return errors.New("the report would replace one of the input files; use another file")
		}
	}
	return whole.Write(o.output, b, false)
}
