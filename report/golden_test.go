package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/qdissecttest"
	"github.com/qdissect/qdissect/report"
)

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
		{"icmp/errors4", report.TextOptions{Below: true, Clock: report.Date, Zone: time.FixedZone("CET", 3600)}, report.ColumnOptions{Width: 120, Fold: true}},
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
	doc := must.Get(jsonschema.UnmarshalJSON(&text))(t)
	c := jsonschema.NewCompiler()
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
			valid(path, line)
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
