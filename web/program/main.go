// Command program is the part of the site that reads captures. It runs in a browser, once for each task: the task is its argument, the
// captures are its files, and what it finds is its output.
package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

var version = "(devel)" // set by the build

func main() {
	debug.SetGCPercent(15) // decoding makes next to no garbage, and the memory of a browser does not shrink
	var t task
	err := json.Unmarshal([]byte(os.Args[1]), &t)
	if err == nil {
		err = map[string]func(*task) error{"open": (*task).read, "list": (*task).read, "talk": (*task).talk, "expect": (*task).expect, "save": (*task).save}[t.Do](&t)
	}
	if err != nil {
		complain(err)
		os.Exit(1)
	}
}

func complain(err error) {
	text := err.Error()
	if e := new(filter.Error); errors.As(err, &e) && e.Expression != "" {
		text += "\n" + e.Show()
	}
	fmt.Fprintln(os.Stderr, text)
}

// A task is what the page asks for.
type task struct {
	Do           string
	Files        []string
	Expr         string    // of messages
	Since, Until time.Time // zero for no limit
	// The message whose conversation is wanted.
	File     int
	Frame    uint64
	Src, Dst netip.AddrPort
	As       string // the form of a download, or the part of Expr that stays when a word is completed
}

// options returns the options of a run that writes text.
func (t *task) options(r func() report.Reporter, out io.Writer) (pipeline.Options, error) {
	o := pipeline.New()
	o.Inputs, o.Out, o.Workers, o.Trouble, o.Reporter = t.Files, out, 1, complain, r
	o.Analysis = dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Limits: dissect.DefaultLimits}
	if !t.Since.IsZero() || !t.Until.IsZero() {
		o.Frames.Window = t.window
	}
	if t.Expr == "" {
		return o, nil
	}
	f, err := display.Compile(t.Expr)
	if err == nil {
		o.Choice.New, o.Analysis.Tree = func() pipeline.Chooser { return f.Matcher() }, f.NeedsTree()
	}
	return o, err
}

func (t *task) window(time.Time) (since, until time.Time) { return t.Since, t.Until }

// read writes the messages as lines, and if it is to open the captures, the report to files.
func (t *task) read() error {
	lines := report.NewColumns(os.Stdout, report.ColumnOptions{Fold: true})
	o, err := t.options(func() report.Reporter {
		return report.NewText(report.TextOptions{ManyFiles: len(t.Files) > 1, Marked: true, Zone: time.UTC})
	}, lines)
	if err != nil {
		return err
	}
	made := stats.Made{Version: version, Command: "qdissect report"}
	for _, name := range t.Files {
		made.Command += " " + nettext.ShellWord(name)
		made.Files = append(made.Files, stats.File{Name: name, Word: nettext.ShellWord(name)})
	}
	if t.Do == "open" {
		o.Counts.Detailed, o.Counts.Stats, o.Counts.Talks = true, stats.New(), talks.New()
	}
	o.Events.Read = func(number int, packets uint64, first, last time.Time) {
		f := &made.Files[number]
		f.Packets, f.First, f.Last = packets, first.UTC(), last.UTC()
	}
	sum, err := pipeline.Run(o)
	if err = cmp.Or(err, lines.Close()); err != nil || t.Do == "list" {
		return err
	}
	debug.FreeOSMemory()         // what reading took, for the reports
	b, _ := os.ReadFile("/sums") // the worker always has it
	sums := string(b)
	for i := range made.Files {
		made.Files[i].SHA256, sums, _ = strings.Cut(sums, "\n")
	}
	so := unitfile.Options(sum)
	so.Made = made
	// What the program writes as JSON lists fewer servers than the page.
	for _, form := range []struct {
		name    string
		servers int
		write   func(io.Writer, *stats.Report) error
	}{{"report.json", 0, writeJSON}, {"report.html", htmlreport.MaxServers, htmlreport.Write}} {
		so.Servers = form.servers
		p := o.Counts.Stats.Report(so)
		p.Talks = o.Counts.Talks.List(p.Findings, o.Analysis, made.Files)
		if err := create(form.name, func(w io.Writer) error { return form.write(w, p) }); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, r *stats.Report) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = w.Write(append(nettext.EscapeJSON(b), '\n'))
	}
	return err
}

// outputs is the folder whose files the page takes.
const outputs = "/out"

func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(path.Join(outputs, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// expect writes what is wrong with an expression, and what may follow it.
func (t *task) expect() error {
	var answer struct {
		Trouble string
		Words   []string
	}
	if _, err := display.Compile(t.Expr); err != nil {
		answer.Trouble = err.Error()
	}
	answer.Words = display.Expected(t.As)
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// The conversation of a message: so many messages before and after it, with the first bytes and fields of each, and more of the message
// itself.
const (
	around      = 20
	shownBytes  = 512
	shownFields = 128
	mostBytes   = 64 << 10
	mostFields  = 4096
	talkPage    = 8 << 20
)

// A listener keeps the conversation of a message.
type listener struct {
	report.Reporter
	*task
	talk  stats.Talk
	at    int // of the message, -1 before it
	after int
}

var errHeard = errors.New("heard enough")

func (l *listener) Record(r *dissect.Record) error {
	wanted := r.Frame == l.Frame && l.at < 0
	if wanted {
		l.talk.Protocol, l.at = r.Protocol.Name, len(l.talk.Messages)
		if l.talk.Client, l.talk.Server = r.Src.String(), r.Dst.String(); r.Type.Role == dissect.Reply {
			l.talk.Client, l.talk.Server = l.talk.Server, l.talk.Client
		}
	}
	m := stats.TalkLine{Frame: r.Frame, Time: r.Time.UTC(), Up: r.Src == l.Src} // until it is known who the client is
	if r.TimeKnown {
		m.RTT = r.RTT
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Type.Severity > dissect.Chat {
			m.Findings = append(m.Findings, f.Type.Severity.String()+": "+string(f.AppendText(nil)))
		}
	}
	bytes, fields := shownBytes, shownFields
	if wanted {
		bytes, fields = mostBytes, mostFields
	}
	talks.Fill(&m, r, bytes, fields)
	if l.at < 0 && len(l.talk.Messages) == around {
		l.talk.Messages = slices.Delete(l.talk.Messages, 0, 1)
	}
	l.talk.Messages = append(l.talk.Messages, m)
	if l.at >= 0 {
		if l.after++; l.after > around {
			return errHeard
		}
	}
	return nil
}

// Finding takes nothing: the list has what no message says.
func (*listener) Finding(*dissect.FlowFinding) error { return nil }

// talk writes the conversation of a message as a page, and the place of the message in it.
func (t *task) talk() error {
	l := &listener{Reporter: report.SummaryOnly(report.NewCounts()), task: t, at: -1}
	t.Expr, t.Files = "", t.Files[t.File:][:1]
	o, err := t.options(func() report.Reporter { return l }, io.Discard)
	if err != nil {
		return err
	}
	o.Analysis.Tree = true
	o = o.Only(func(src, dst netip.AddrPort) bool {
		return src == t.Src && dst == t.Dst || src == t.Dst && dst == t.Src
	})
	if _, err := pipeline.Run(o); err != nil && err != errHeard {
		return err
	}
	if l.at < 0 {
		return errors.New("frame " + strconv.FormatUint(t.Frame, 10) + " has no message of its own")
	}
	for i := range l.talk.Messages {
		l.talk.Messages[i].Up = l.talk.Messages[i].Up == (l.talk.Client == t.Src.String())
	}
	l.talk.Command = "qdissect -V -Y " + nettext.ShellWord(fmt.Sprintf("addr == %s and addr == %s", l.talk.Client, l.talk.Server)) + " " + nettext.ShellWord(t.Files[0])
	fmt.Println(l.at)
	return create("talk.html", func(w io.Writer) error { return htmlreport.WriteTalk(w, &l.talk) })
}

// save writes the chosen messages of each capture, in a form: pcapng, anonymized or jsonl.
func (t *task) save() error {
	if t.As == "jsonl" {
		return create("qdissect.jsonl", func(w io.Writer) error {
			o, err := t.options(func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }, w)
			if err == nil {
				o.Analysis.Tree, o.Counts.Detailed = true, true
				_, err = pipeline.Run(o)
			}
			return err
		})
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	for i, in := range t.Files {
		name := map[string]string{"pcapng": "qdissect", "anonymized": "anonymized"}[t.As]
		if err := t.saveOne(in, path.Join(outputs, fmt.Sprintf("%s-%d.pcapng", name, i+1)), key); err != nil {
			return err
		}
	}
	return nil
}

// saveOne writes the chosen messages of a capture to a file.
func (t *task) saveOne(in, out string, key []byte) error {
	o, err := t.options(nil, nil)
	if err != nil {
		return err
	}
	if t.As != "anonymized" || t.Expr != "" || o.Frames.Window != nil {
		c := cut.Options{In: in, Out: out, Window: o.Frames.Window, Analysis: o.Analysis}
		c.Analysis.Tree = false
		if t.Expr != "" {
			c.Filter, _ = display.Compile(t.Expr)
		}
		if t.As == "anonymized" {
			c.Out = "/tmp/chosen.pcapng"
		}
		r, err := cut.Run(c)
		if err = cmp.Or(err, r.Trouble); err != nil || r.Frames == 0 || t.As != "anonymized" {
			return err
		}
		in = c.Out
	}
	o.Analysis.Tree = false
	a := anonymize.Options{Key: key, Analysis: o.Analysis}
	a.Witness = anonymize.NewWitness(a)
	src, err := capture.Open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	to, err := capture.Create(out)
	if err != nil {
		return err
	}
	counts, err := anonymize.Run(src, to, a)
	if err = cmp.Or(err, to.Close()); err != nil {
		return err
	}
	if counts.Written == 0 {
		return os.Remove(out)
	}
	// Nothing that tells of people may be left.
	written, err := capture.Open(out)
	if err != nil {
		return err
	}
	defer written.Close()
	if leaks, err := a.Witness.Search(written); err != nil || len(leaks) > 0 {
		return errors.Join(err, os.Remove(out), fmt.Errorf("%d values are still there after anonymizing: nothing is written", len(leaks)))
	}
	return nil
}
