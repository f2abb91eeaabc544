package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/golden"
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
