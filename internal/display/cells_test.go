package display

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

type rowsOnly struct{ report.Reporter }

func (r rowsOnly) Record(rec *dissect.Record)   { _ = r.Reporter.Record(rec) }
func (r rowsOnly) Unknown(*dissect.Unknown)     {}
func (r rowsOnly) Finding(*dissect.FlowFinding) {}

// TestFormulas: a text that a spreadsheet would calculate is disarmed in CSV, and nothing else.
func TestFormulas(t *testing.T) {
	for text, want := range map[string]string{
		`=HYPERLINK("http://x")`: `"'=HYPERLINK(""http://x"")"`, "+1+1": "'+1+1", "-cmd": "'-cmd", "@SUM(1)": "'@SUM(1)", "\t=1": `'\\t=1`,
		"-12": "-12", "+3.5": "+3.5", "-": "'-", "a=b": "a=b", "": "", "--2": "'--2",
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x",
	} {
		for _, raw := range []bool{false, true} {
			var columns []*Column
			for _, name := range []string{"a2s.info.name", "frame"} {
				c := must.Get(CompileColumn(name))(t)
				columns = append(columns, c)
			}
			r := NewRows(columns, RowOptions{CSV: true, Raw: raw})
			a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Tree: true}, rowsOnly{r}))(t)
			a.Datagram(&dissect.Datagram{Frame: 1, Payload: []byte("\xff\xff\xff\xffI\x11" + text + "\x00m\x00f\x00g\x00\x0a\x00\x03\x10\x00dl\x00\x011\x00\x00")})
			a.Flush()
			plain := strings.ReplaceAll(strings.Replace(want, "'", "", 1), `\\`, `\`)
			expect := strings.ReplaceAll(want, `\\`, `\`)
			if raw {
				expect = plain
			}
			if got := string(r.Bytes()); got != expect+",1\n" {
				t.Errorf("raw %v: %q becomes %q, want %q", raw, text, got, expect)
			}
		}
	}
}
