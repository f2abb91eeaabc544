package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A refusal is one row of a table of flags that cannot be combined.
type refusal struct {
	when bool
	text string
}

// refuse returns the first refusal that applies.
func refuse(table []refusal) error {
	for _, r := range table {
		if r.when {
			return errors.New(r.text)
		}
	}
	return nil
}

// contradictions are the flags and arguments of read that contradict each other or lack
// another one. A row applies if every word of the first column is true of the command
// line, and no word after "!". Words with | between them count as one.
var contradictions = []struct{ when, text string }{
	{"live -r", "-i and -r cannot be combined: packets come from interfaces or from files"},
	{"-q fields", "-q and -o fields cannot be combined: rows have no summary"},
	{"unit !units", "--unit needs --series and --out"},
	{"unit !-q !jsonl|parquet", "--unit needs -o jsonl or parquet, or -q for counts only"},
	{"unit -Y|-c", "--unit cannot be combined with -Y or -c: its counts are of all messages"},
	{"shards !unit", "--shards needs --unit"},
	{"sensor !unit", "--sensor needs --unit"},
	{"series-by !series", "--series-by needs --series"},
	{"parquet !out", "-o parquet writes several files: use qdissect read -o parquet --out DIR FILE"},
	{"exchanges !json !jsonl", "--exchanges needs -o json or jsonl"},
	{"-q exchanges", "-q and --exchanges cannot be combined: a summary counts requests by what became of them"},
	{"-q parquet", "-q and -o parquet cannot be combined: tables have no summary"},
	{"force !out", "--force needs --out"},
	{"-s !live", "-s needs -i: the frames of a file are captured already"},
	{"-B !live", "-B needs -i: it is the buffer of a live capture"},
	{"netns !live", "--netns needs -i: a file has no interfaces"},
	{"user !live", "--user needs -i: reading files needs no privileges"},
	{"promiscuous !live", "--promiscuous needs -i: the frames of a file are captured already"},
	{"unit- files", "--unit - reads the list of units from standard input: leave out the captures"},
	{"!live !files !unit-", "no capture file given (- is standard input); see qdissect --help"},
	{"duration !live", "-a duration needs -i"},
	{"window live", "--since and --until select from files; -a duration:S ends a live capture"},
	{"out live|-w|metrics|on-verdict|counts|stats-interval|-a", "--out cannot be combined with -i, -w, -a, --metrics, --on-verdict, --counts or --stats-interval"},
	{"metrics-servers !metrics", "--metrics-servers needs --metrics"},
	{"on-verdict small", "--on-verdict needs --max-memory 64M or more"},
	{"on-verdict !live !waits", "--on-verdict needs -i or a pipe; for files there is qdissect report --format json"},
	{"counts -Y|-c", "--counts cannot be combined with -Y or -c: its counts are of all messages"},
	{"counts on-verdict|servers", "--counts cannot be combined with --on-verdict or counters of servers (--metrics-servers 0): it counts five minutes at a time"},
	{"counts small", "--counts needs --max-memory 64M or more"},
	{"counts !live !pipe", "--counts needs -i or a pipe; for files there is --unit"},
	{"write !-w", "-w needs a file name"},
	{"on-write-error !-w", "--on-write-error needs -w"},
	{"annotate !-w", "--annotate needs -w"},
	{"-b !-w", "-b needs -w"},
	{"filesize|filecount !-w", "-a filesize and -a files need -w"},
	{"stdout -b", "-b needs -w FILE: standard output is one stream"},
}

// said returns what is true of the command line, for the rows of contradictions.
func (p *plan) said(flags *pflag.FlagSet, files []string) map[string]bool {
	o := p.o
	return map[string]bool{
		"live": p.live, "files": len(files) > 0, "-r": len(o.files) > 0,
		"waits": slices.ContainsFunc(files, func(name string) bool { return name == "-" || capture.Waits(name) }),
		"pipe":  len(files) == 1 && (files[0] == "-" || capture.Waits(files[0])),
		"-q":    o.quiet, "-Y": o.filtered, "-c": o.count > 0, "small": o.limits.small(), "window": o.window.since != "" || o.window.until != "",
		"fields": o.format.output == "fields", "json": o.format.output == "json", "jsonl": o.format.output == "jsonl", "exchanges": o.exchanges, "parquet": o.format.output == "parquet",
		"out": o.out.dir != "", "force": o.out.force, "series": o.out.series, "series-by": o.out.by != "", "unit": o.out.unit != "", "unit-": o.out.unit == "-",
		"units": o.out.dir != "" && o.out.series, "shards": o.out.shards != "", "sensor": flags.Changed("sensor"),
		"-s": o.live.snap > 0, "-B": o.live.buffer > 0, "netns": o.live.netns != "", "user": o.live.user != "", "promiscuous": o.live.promiscuous, "-a": len(o.live.autostop) > 0,
		"duration": p.limits.duration > 0, "filesize": p.limits.size > 0, "filecount": p.limits.files > 0,
		"metrics": o.live.metrics != "", "metrics-servers": flags.Changed("metrics-servers"), "servers": o.live.metrics != "" && o.live.servers > 0,
		"on-verdict": o.live.onVerdict != "", "counts": o.live.counts != "", "stats-interval": o.live.every > 0,
		"-w": o.save.file != "", "stdout": o.save.file == "-", "write": flags.Changed("write"), "on-write-error": flags.Changed("on-write-error"),
		"annotate": o.save.annotate != "", "-b": len(o.save.rotate) > 0,
	}
}

// applies reports whether a row of contradictions applies.
func applies(when string, said map[string]bool) bool {
	for word := range strings.FieldsSeq(when) {
		word, not := strings.CutPrefix(word, "!")
		if slices.ContainsFunc(strings.Split(word, "|"), func(w string) bool { return said[w] }) == not {
			return false
		}
	}
	return true
}

// refuse returns the first reason for which the flags and arguments make no run.
func (p *plan) refuse(flags *pflag.FlagSet, files []string) error {
	o := p.o
	if err := refuse([]refusal{
		{o.jobs < 0, fmt.Sprintf("-j %d: must be 1 or more cores, or 0 for all", o.jobs)},
		{o.count == 0 && flags.Changed("count"), "-c 0: must be 1 message or more"},
		{o.out.unit != "" && (!nettext.Word(o.out.sensor, "-_.") || o.out.sensor[0] == '.'), fmt.Sprintf("--sensor %q: use letters, digits, -, _ and .", o.out.sensor)},
		{o.live.snap < 0 || o.live.snap > capture.MaxFrame, fmt.Sprintf("-s %d: must be 1 to %d bytes, or 0 for all", o.live.snap, capture.MaxFrame)},
		{o.live.buffer < 0 || o.live.buffer > maxBuffer, fmt.Sprintf("-B %d: must be 1 to %d MiB", o.live.buffer, maxBuffer)},
		{o.live.servers < 0 || o.live.servers > maxMetricServers, fmt.Sprintf("--metrics-servers %d: must be 0 to %d", o.live.servers, maxMetricServers)},
		{o.live.every < 0, fmt.Sprintf("--stats-interval %d: must be 1 second or more", o.live.every)},
		{!slices.Contains([]string{"", "line", "tree"}, o.save.annotate), fmt.Sprintf("--annotate=%s: must be line or tree", o.save.annotate)},
		{o.save.file != "" && !slices.Contains([]string{"stop", "continue"}, o.save.onError), fmt.Sprintf("--on-write-error %q: must be stop or continue", o.save.onError)},
	}); err != nil {
		return err
	}
	said := p.said(flags, files)
	for _, row := range contradictions {
		if applies(row.when, said) {
			return errors.New(row.text)
		}
	}
	return nil
}
