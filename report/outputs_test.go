package report_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/wireshark"
	"github.com/qdissect/qdissect/report"
)

// chosen passes on the messages that match.
type chosen struct {
	report.Reporter
	matcher *display.Matcher
}

func (c *chosen) Record(r *dissect.Record) error {
	if !c.matcher.Record(r) {
		return nil
	}
	return c.Reporter.Record(r)
}

// trees is a reporter that writes messages as trees.
type trees struct {
	report.Reporter
	note *report.TreeNote
	b    []byte
}

func (t *trees) Record(r *dissect.Record) error {
	t.b = append(t.b, t.note.Record(r, 0)...)
	return nil
}

func (t *trees) Bytes() []byte { return t.b }
func (t *trees) Reset()        { t.b = t.b[:0] }

// output returns what a reporter writes of a capture with two pings and their replies.
func output(t *testing.T, out io.Writer, reporter func() report.Reporter) {
	t.Helper()
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"../testdata/pcaps/mumble/pings.pcap"}, Out: out, Workers: 1, Reporter: reporter,
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true}, Trouble: func(err error) { t.Error(err) },
	})
	must.Do(t, err)
}

// TestNewKey adds keys to the list and finds them in all outputs: one that all messages have, one of replies, and one of some.
func TestNewKey(t *testing.T) {
	if os.Getenv("QDISSECT_NEW_KEY") == "" { // the fields of filters are listed once in a process
		cmd := exec.Command(must.Get(os.Executable())(t), "-test.run=^TestNewKey$", "-test.v")
		cmd.Env = append(os.Environ(), "QDISSECT_NEW_KEY=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNewKey") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	before := envelope.Keys
	defer func() { envelope.Keys = before }()
	envelope.Keys = append(slices.Clone(before),
		envelope.Key{Name: "tripled_length", Kind: envelope.Count, In: envelope.Message, Doc: "three times the length", Schema: "Three times the length.",
			OfMessage: func(r *dissect.Record) (uint64, bool) { return 3 * uint64(r.Length), true }},
		envelope.Key{Name: "turnaround_ns", Kind: envelope.Nanoseconds, In: envelope.Answer, Doc: "time of the answer", Schema: "Time of the answer.",
			OfMessage: func(r *dissect.Record) (uint64, bool) { return uint64(r.RTT), r.TimeKnown }},
		envelope.Key{Name: "is_long", Kind: envelope.Mark, In: envelope.Message, Doc: "it is long", Schema: "It is long.",
			OfMessage: func(r *dissect.Record) (uint64, bool) { return 1, r.Length == 24 }})

	var text strings.Builder
	output(t, &text, func() report.Reporter { return report.NewJSON(report.JSONOptions{}) })
	contains(t, "JSON", text.String(), `"length":12,`, `"tripled_length":36`, `"tripled_length":72`, `"turnaround_ns":`, `"is_long":true`)

	text.Reset()
	must.Do(t, report.WriteSchema(&text, all.Protocols()))
	contains(t, "schema", text.String(), `"tripled_length": {`, `"Three times the length."`, `"turnaround_ns": {`, `"is_long": {`)

	f := must.Get(display.Compile("tripled_length == 72 and turnaround > 1ns and is_long"))(t)
	var columns []*display.Column
	for _, name := range []string{"role", "tripled_length", "is_long"} {
		c := must.Get(display.CompileColumn(name))(t)
		columns = append(columns, c)
	}
	text.Reset()
	output(t, &text, func() report.Reporter { return &chosen{display.NewRows(columns, display.RowOptions{}), f.Matcher()} })
	if got := strings.Split(text.String(), "\n"); len(got) < 2 || got[0] != "reply\t72\ttrue" {
		t.Errorf("-Y and -o fields: %q", got)
	}
	names := nettext.Each(display.Names(), func(n display.Name) string { return fmt.Sprintf("%s: %s (%s)", n.Name, n.Doc, n.Type) })
	contains(t, "docs", strings.Join(names, "\n"), "tripled_length: three times the length (number)", "turnaround: turnaround_ns, with a unit", "is_long: it is long (true or false)")

	text.Reset()
	output(t, &text, func() report.Reporter {
		return &trees{Reporter: report.NewJSON(report.JSONOptions{}), note: report.NewTreeNote(false)}
	})
	contains(t, "tree", text.String(), "1|tripled_length|||36\n", "1|turnaround_ns|||0.", "1|is_long|||true\n")
	contains(t, "Lua", wireshark.Script(all.Protocols(), "test"), "u tripled_length Three times the length.\n", "t turnaround_ns ", "b is_long ")

	text.Reset()
	must.Do(t, tables.WriteDuckDB(&text, all.Protocols(), nil, ""))
	contains(t, "SQL", text.String(), "tripled_length UINTEGER,\n  turnaround_ns BIGINT,\n  is_long BOOLEAN", "rtt_ambiguous, tripled_length, turnaround_ns, is_long, alternatives")

	var file bytes.Buffer
	p := tables.NewParquet([...]io.Writer{&file, io.Discard, io.Discard})
	output(t, p, func() report.Reporter { return tables.NewRows(false) })
	must.Do(t, p.Close())
	type row struct {
		Length  int32  `parquet:"length"`
		Tripled int32  `parquet:"tripled_length"`
		Time    *int64 `parquet:"turnaround_ns"`
		Long    *bool  `parquet:"is_long"`
		Data    string `parquet:"data"`
	}
	rows := must.Get(parquet.Read[row](bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	if len(rows) < 4 || rows[1].Time == nil || rows[1].Long == nil {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, r := range rows {
		if r.Tripled != 3*r.Length || (r.Long != nil) != (r.Length == 24) || r.Data != "" {
			t.Errorf("%+v", r)
		}
	}
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q: %.400s", what, p, text)
		}
	}
}
