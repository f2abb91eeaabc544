package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/dissect/quakeworldmaster"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/qdissecttest"
	"github.com/qdissect/qdissect/report"
)

// A columnsDesk writes findings through marked reporters and a Columns.
type columnsDesk struct {
	t         *testing.T
	out       bytes.Buffer
	columns   *report.Columns
	reporters []*report.Text
	frame     uint64
}

func newColumnsDesk(t *testing.T, reporters int, o report.ColumnOptions) *columnsDesk {
	d := &columnsDesk{t: t}
	d.columns = report.NewColumns(&d.out, o)
	for range reporters {
		r := report.NewText(report.TextOptions{Marked: true, Below: o.Width > 0})
		r.Begin(report.Capture{Start: time.Unix(1000, 0)})
		r.Reset()
		d.reporters = append(d.reporters, r)
	}
	return d
}

// line writes a finding; the reporters take turns.
func (d *columnsDesk) line(src, dst string, p *dissect.Protocol, f *dissect.FindingType, args ...dissect.Arg) {
	d.t.Helper()
	d.frame++
	r := d.reporters[int(d.frame)%len(d.reporters)]
	at := time.Unix(1000, 0).Add(time.Duration(d.frame) * time.Second)
	r.Finding(&dissect.FlowFinding{
		Finding: dissect.NewFinding(f, args...), Frame: d.frame, Time: at, Src: netip.MustParseAddrPort(src), Dst: netip.MustParseAddrPort(dst), Protocol: p,
	})
	must.Get(d.columns.Write(r.Bytes()))(d.t)
	r.Reset()
}

func (d *columnsDesk) text() string {
	must.Do(d.t, d.columns.Close())
	return d.out.String()
}

// TestColumns: columns grow and never shrink, a long name of a protocol moves nothing but its own line, and the number of reporters, which know of different lines, changes nothing.
func TestColumns(t *testing.T) {
	want := ""
	for reporters := 1; reporters <= 4; reporters++ {
		d := newColumnsDesk(t, reporters, report.ColumnOptions{})
		for i := range 12 {
			src, p := "192.0.2.1:1000", a2s.Protocol()
			if i%5 == 2 {
				src = fmt.Sprintf("[2001:db8::1:%x:2:3]:40000", 1<<i)
			}
			if i == 6 {
				p = quakeworldmaster.Protocol()
			}
			d.line(src, "198.51.100.10:27015", p, core.Trailing, dissect.Num(i))
		}
		text := d.text()
		if reporters == 1 {
			want = text
			lines := strings.Split(strings.TrimSpace(text), "\n")
			column := func(i int, what string) int { return len([]rune(lines[i][:strings.Index(lines[i], what)])) }
			for i := 1; i < len(lines); i++ {
				for _, what := range []string{"→", "  A2S", "QUAKEWORLD", "~"} {
					if !strings.Contains(lines[i], what) || !strings.Contains(lines[i-1], what) || what == "~" && (i == 6 || i == 7) {
						continue
					}
					if column(i, what) < column(i-1, what) || i > 7 && column(i, what) != column(7, what) {
						t.Errorf("%s of line %d moves:\n%s\n%s", what, i, lines[i-1], lines[i])
					}
				}
			}
			if d := column(8, "~") - column(8, "A2S"); d != len("A2S  ") {
				t.Errorf("the contents stand %d columns after the beginning of the protocol:\n%s", d, text)
			}
		} else if text != want {
			t.Errorf("%d reporters write\n%swant\n%s", reporters, text, want)
		}
	}
}

// TestFold: a finding of a conversation is shown three times; then it is counted, with the place of the last one.
func TestFold(t *testing.T) {
	play := func(o report.ColumnOptions) string {
		d := newColumnsDesk(t, 2, o)
		for i := range 1240 {
			d.line("192.0.2.1:1000", "198.51.100.10:27015", a2s.Protocol(), core.Trailing, dissect.Num(i))
			if i%500 == 0 {
				d.line("192.0.2.2:1000", "198.51.100.10:27015", a2s.Protocol(), core.Trailing, dissect.Num(i))
			}
		}
		return d.text()
	}
	text := play(report.ColumnOptions{Fold: true})
	if n := strings.Count(text, "192.0.2.1:1000"); n != 4 {
		t.Errorf("%d lines of the first conversation, want 4:\n%s", n, text)
	}
	if n := strings.Count(text, "bytes after"); n != 5 { // and "1 byte after"
		t.Errorf("%d findings are shown:\n%s", n, text)
	}
	const last = "  1243  1243.000000  192.0.2.1:1000        → 198.51.100.10:27015    A2S  ~ trailing: … 1,237 more like this\n"
	if !strings.HasSuffix(text, last) {
		t.Errorf("the end is not %s:\n%s", last, text)
	}
	if whole := play(report.ColumnOptions{}); strings.Count(whole, "\n") != 1243 || strings.Contains(whole, "more like this") {
		t.Errorf("without folding:\n%s", whole[len(whole)-500:])
	}
	narrow := play(report.ColumnOptions{Fold: true, Width: 60})
	for line := range strings.SplitSeq(narrow, "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(narrow, "A2S\n        ~ trailing: 1 byte after the end of the message\n") {
		t.Errorf("findings are not below:\n%s", narrow)
	}
}

// TestFoldClients: requests without a reply are counted for a server, whoever asks it; other findings for each conversation.
func TestFoldClients(t *testing.T) {
	for clients, says := range map[int]string{1: "… 37 more like this\n", 2: "… 37 more like this, of 2 clients\n", 12: "… 37 more like this, of 12 clients\n", 40: "… 37 more like this, of many clients\n"} {
		d, p := newColumnsDesk(t, 2, report.ColumnOptions{Fold: true}), a2s.Protocol()
		for i := range 40 {
			src := fmt.Sprintf("192.0.2.%d:%d", 1+i%clients, 1000+i)
			d.line(src, "198.51.100.10:27015", p, p.Pairing.Unanswered, dissect.Str("info request"), dissect.Str(" within 5 s"))
			d.line(src, "198.51.100.10:27015", p, core.Trailing, dissect.Num(2))
		}
		d.line("192.0.2.1:1000", "198.51.100.11:27015", p, p.Pairing.Unanswered, dissect.Str("info request"), dissect.Str(" within 5 s"))
		text := d.text()
		if n := strings.Count(text, p.Pairing.Unanswered.ID+": info request"); n != 4 || strings.Count(text, says) != 1 || strings.Count(text, "2 bytes after") != 40 {
			t.Errorf("%d clients: %d are shown:\n%s", clients, n, text)
		}
	}
}

// TestFoldLimit: what is evicted is said then, once, whatever floods the table.
func TestFoldLimit(t *testing.T) {
	d := newColumnsDesk(t, 1, report.ColumnOptions{Fold: true})
	said := 0
	for round := range 3 {
		for range 4 + 6*round {
			d.line("192.0.2.1:1000", "198.51.100.10:27015", a2s.Protocol(), core.Trailing, dissect.Num(2))
			said++
		}
		for i := range 10_000 {
			d.line(fmt.Sprintf("10.%d.%d.%d:1000", round, i>>8, i&255), "198.51.100.10:27015", a2s.Protocol(), core.Trailing, dissect.Num(2))
		}
	}
	shown, folded := 0, 0
	for line := range strings.Lines(d.text()) {
		if !strings.Contains(line, "192.0.2.1:1000") {
			continue
		}
		var n int
		if i := strings.Index(line, "… "); i >= 0 {
			if _, err := fmt.Sscanf(line[i:], "… %d more like this\n", &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			folded += n
		} else {
			shown++
		}
	}
	if shown+folded != said || folded == 0 {
		t.Errorf("%d findings are shown and %d counted of %d", shown, folded, said)
	}
}

// TestCut: wide characters and colours count as what they take; the time of a reply stays.
func TestCut(t *testing.T) {
	for _, color := range []bool{false, true} {
		for width := 1; width <= 130; width++ {
			var out bytes.Buffer
			c := report.NewColumns(&out, report.ColumnOptions{Width: width})
			r := report.NewText(report.TextOptions{Marked: true, Below: true, Color: color})
			m := must.Get(a2s.Parse([]byte("\xff\xff\xff\xffI\x11" + strings.Repeat("漢字😀e\u0301", 12) + "\x00de_dust2\x00cstrike\x00CS\x00\x0a\x00\x03\x10\x00dl\x00\x011.0\x00")))(t)
			rec := dissect.Record{
				Datagram: &dissect.Datagram{Frame: 7, Src: netip.MustParseAddrPort("198.51.100.10:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:1000"), Time: time.Unix(1, 0)},
				Protocol: a2s.Protocol(), RequestFrame: 6, TimeKnown: true, RTT: time.Millisecond,
			}
			rec.Body = m
			for _, mt := range rec.Protocol.Catalog.Messages() {
				if mt.Name == "info_reply" {
					rec.Type = mt
				}
			}
			r.Record(&rec)
			must.Get(c.Write(r.Bytes()))(t)
			line := out.String()
			if n := shownColumns(line); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
			if color && strings.LastIndex(line, "\x1b[") != strings.LastIndex(line, "\x1b[0m") {
				t.Errorf("a colour stays on: %q", line)
			}
			if strings.Contains(line, "← 6, 1.0 ms") != (width >= 85) {
				t.Errorf("%d columns without the round trip: %q", width, line)
			}
		}
	}
}

// shownColumns counts the columns of a line as this test wrote it.
func shownColumns(line string) (n int) {
	for _, code := range []string{"\x1b[0m", "\x1b[1;33m", "\x1b[2m", "\x1b[32m", "\x1b[36m", "\n", "\u0301"} {
		line = strings.ReplaceAll(line, code, "")
	}
	for _, r := range line {
		n++
		if strings.ContainsRune("漢字😀", r) {
			n++
		}
	}
	return n
}

var update = flag.Bool("update", false, "write testdata/forms.txt instead of comparing; read it before you commit")

// written returns what a reporter writes of a capture.
func written(t *testing.T, path string, columns report.ColumnOptions, reporter func() report.Reporter) (string, *report.Summary) {
	t.Helper()
	var b bytes.Buffer
	c := report.NewColumns(&b, columns)
	sum, err := pipeline.Run(pipeline.Options{
		Inputs: []string{path}, Out: c, All: true, Reporter: reporter, Counts: &pipeline.Counts{Detailed: true}, Workers: 1,
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true}, Trouble: func(error) {}, // some are damaged
	})
	must.Do(t, err)
	must.Do(t, c.Close())
	return b.String(), sum
}

func text(o report.TextOptions) func() report.Reporter {
	o.Marked = true
	return func() report.Reporter { return report.NewText(o) }
}

// notes writes what a message is in a packet comment.
type notes struct {
	*report.Text
	tree *report.TreeNote
	b    []byte
}

func (n *notes) Record(r *dissect.Record) error {
	n.b = append(append(report.AppendNote(n.b, r), '\n'), n.tree.Record(r, 42)...)
	return nil
}
func (n *notes) Bytes() []byte { return n.b }
func (n *notes) Reset()        { n.b = n.b[:0] }

// TestGoldens: lines of text and JSON of every capture are those that lie beside it.
func TestGoldens(t *testing.T) {
	captures, _, err := golden.Captures(filepath.Join("..", "testdata", "pcaps"), func(string, error) {})
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	for _, path := range captures {
		want := must.Get(os.ReadFile(strings.TrimSuffix(golden.Path(path), ".jsonl") + ".txt"))(t)
		lines, _, _ := strings.Cut("\n"+string(want), "\nqdissect: ") // after which follows what the program says on stderr
		got, _ := written(t, path, report.ColumnOptions{Fold: true}, text(report.TextOptions{}))
		if d := cmp.Diff(strings.Split(strings.TrimSuffix(lines, "\n"), "\n"), strings.Split(strings.TrimSuffix("\n"+got, "\n"), "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
		qdissecttest.Golden(t, path, qdissecttest.Strict())
	}
}

// TestForms: trees, bytes, colours, narrow terminals, counts, metrics and packet comments are as they stand in testdata/forms.txt.
func TestForms(t *testing.T) {
	var got strings.Builder
	for _, f := range []struct {
		capture string
		text    report.TextOptions
		columns report.ColumnOptions
	}{
		{"a2s/documents", report.TextOptions{Detail: report.Tree}, report.ColumnOptions{Wrap: true}},
		{"mumble/trouble", report.TextOptions{Detail: report.Tree, Below: true, Width: 70}, report.ColumnOptions{Width: 70, Wrap: true}},
		{"trouble/incomplete-shows-nothing", report.TextOptions{Detail: report.Hex, Color: true}, report.ColumnOptions{Wrap: true}},
		{"trouble/slow-split", report.TextOptions{Color: true, Below: true, Clock: report.Absolute, ManyFiles: true}, report.ColumnOptions{Width: 90, Fold: true}},
		{"samp/trouble", report.TextOptions{Color: true, Below: true}, report.ColumnOptions{Width: 100, Fold: true}},
		{"quake3-master/lists", report.TextOptions{Below: true}, report.ColumnOptions{Width: 150, Fold: true}},
		{"icmp/errors6", report.TextOptions{Below: true, Clock: report.Delta, Color: true}, report.ColumnOptions{Width: 110, Fold: true}},
		{"icmp/errors4", report.TextOptions{Below: true, Clock: report.Date, Zone: time.FixedZone("CET", 3600)}, report.ColumnOptions{Width: 140, Fold: true}},
	} {
		out, sum := written(t, "../testdata/pcaps/"+f.capture+".pcap", f.columns, text(f.text))
		fmt.Fprintf(&got, "== %s\n%s-- counts\n%s-- metrics\n%s", f.capture, out, report.AppendSummary(nil, sum), report.AppendMetrics(nil, sum))
	}
	for _, capture := range []string{"trouble/incomplete-shows-nothing", "quake3/darkplaces-rcon"} {
		out, _ := written(t, "../testdata/pcaps/"+capture+".pcap", report.ColumnOptions{}, func() report.Reporter {
			return &notes{Text: report.NewText(report.TextOptions{}), tree: report.NewTreeNote(false)}
		})
		fmt.Fprintf(&got, "== notes of %s\n%s", capture, out)
	}
	r := fields(t)
	play(&got, "fields", func(to report.Reporter) error { return to.Record(r) },
		report.NewText(report.TextOptions{Detail: report.Tree, Below: true, Width: 72}), report.NewText(report.TextOptions{Detail: report.Hex, Secrets: true}),
		report.NewJSON(report.JSONOptions{Array: true, Secrets: true}), report.NewJSON(report.JSONOptions{}), tree(true), tree(false))
	sides(&got)
	others(&got)
	for _, c := range [][2]uint64{{0, 0}, {1, 0}, {2, 1}, {5, 0}, {300, math.MaxUint64}} {
		s := counted(c[0], c[1])
		play(&got, fmt.Sprint("summary ", c), func(to report.Reporter) error { return to.End(s) }, report.NewJSON(report.JSONOptions{Array: true}), &report.Counts{Width: 60})
	}
	since := counted(1000, 7).Since(counted(1, 2))
	play(&got, "difference of summaries", func(to report.Reporter) error { return to.End(&since) }, report.NewJSON(report.JSONOptions{}), report.NewCounts())
	got.Write(report.AppendMetrics(nil, &since))
	var schema bytes.Buffer
	must.Do(t, report.WriteSchema(&schema, []*dissect.Protocol{r.Protocol}))
	fmt.Fprintf(&got, "== schema, a line for what it names\n%s", regexp.MustCompile("\n {6,}").ReplaceAll(schema.Bytes(), []byte(" ")))
	path := filepath.Join("testdata", "forms.txt")
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got.String()), 0o666))
	}
	if d := cmp.Diff(strings.Split(string(must.Get(os.ReadFile(path))(t)), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// TestSchema: every object of the goldens, which are what the program writes, keeps
// the schema, and so do exchanges. The library that checks it takes milliseconds to start, so it is not
// part of the tests that start the program again and again.
func TestSchema(t *testing.T) {
	var text bytes.Buffer
	must.Do(t, report.WriteSchema(&text, all.Protocols()))
	doc, c := must.Get(jsonschema.UnmarshalJSON(&text))(t), jsonschema.NewCompiler()
	must.Do(t, c.AddResource("qdissect.json", doc))
	schema := must.Get(c.Compile("qdissect.json"))(t)
	valid := func(path, line string) any {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v: %s", path, err, line)
		}
		return v
	}
	goldens, err := filepath.Glob(filepath.Join("..", "testdata", "pcaps", "*", "*.golden.jsonl"))
	if err != nil || len(goldens) < 40 {
		t.Fatalf("%d goldens (%v)", len(goldens), err)
	}
	for _, path := range must.TryCaptures(goldens) {
		b := must.Get(os.ReadFile(path))(t)
		for line := range strings.Lines(string(b)) {
			if len(line)%must.Try(2, 1) == 0 {
				valid(path, line)
			}
		}
	}
	// What the lines say of exchanges adds up to the summary.
	captures := must.TryCaptures(must.Get(filepath.Glob(filepath.Join("..", "testdata", "pcaps", "*", "*.pcap*")))(t))
	for _, path := range append(captures, polled(t)) {
		var b bytes.Buffer
		sum := must.Get(pipeline.Run(pipeline.Options{
			Inputs: []string{path}, Out: &b, Choice: &pipeline.Choice{Exchanges: true}, Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
			Analysis: dissect.Config{Protocols: all.Protocols()}, Trouble: func(error) {}, // some are damaged
		}))(t)
		var got, want = map[string]uint64{}, map[string]uint64{}
		for line := range strings.Lines(b.String()) {
			if !strings.HasPrefix(line, `{"type":"exchange"`) {
				continue
			}
			x := valid(path, line).(map[string]any)
			number := func(key string) (n int64) {
				if v, ok := x[key].(json.Number); ok {
					n = must.Get(v.Int64())(t)
				}
				return n
			}
			got[x["outcome"].(string)] += uint64(number("sent"))
			if at := number("reply_frame"); number("replies") > 0 && (at <= number("frame") || at > int64(sum.Packets)) {
				t.Errorf("%s: %s", path, line)
			}
		}
		for is, n := range sum.Outcomes {
			if n > 0 {
				want[dissect.Outcome(is).String()] = n
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, and the summary says %v", path, got, want)
		}
	}
}

// polled writes a capture of a client that sends a question twenty times and has no reply: few of them wait each for themselves.
func polled(t *testing.T) string {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	for i := range 20 {
		w.UDP(time.Unix(100, int64(i)*1e8), netip.MustParseAddrPort("192.0.2.1:5000"), netip.MustParseAddrPort("192.0.2.2:27015"),
			[]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
	}
	path := filepath.Join(t.TempDir(), "polled.pcap")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path
}

// TestNames: the names of values stand in JSON as they are declared.
func TestNames(t *testing.T) {
	named := 0
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			for _, n := range f.Names {
				named++
				if got, err := json.Marshal(n.Name); err != nil || string(got) != `"`+n.Name+`"` {
					t.Errorf("%s: the name %q of %d needs an escape", f.Path, n.Name, n.Value)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("%d names", named)
	}
}
