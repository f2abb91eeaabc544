package stats_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// TestWholeFlood has a capture of nothing but a flood. Its verdict names the kind of request
// that the flood consists of, whichever kind came first.
func TestWholeFlood(t *testing.T) {
	s := must.Get(scenes.Find("forged-challenged"))(t)
	const span = 3 * time.Second
	for seed := uint64(1); seed <= 2; seed++ {
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Seed: seed, Span: span, From: time.Nanosecond, To: span, Rate: 2000, Clients: 20}))(t)
		r := reported(t, b.Bytes(), 1, stats.Options{})
		if len(r.Verdicts) == 0 || r.Verdicts[0].Kind != stats.ForgedFlood || !strings.Contains(r.Verdicts[0].Text, " a2s info requests in ") {
			t.Errorf("seed %d: %+v", seed, r.Verdicts)
		}
	}
}

// TestFirstSeconds has a report of a time in which replies came and no outcome is known yet,
// as the first seconds of a live view.
func TestFirstSeconds(t *testing.T) {
	s, err := scenes.Find("quiet")
	must.Do(t, err)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 3 * time.Second, Clients: 20}))(t)
	a := stats.New()
	if _, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: &b, Out: io.Discard, Counts: &pipeline.Counts{Stats: a}, Count: 60,
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
	}); err != nil {
		t.Fatal(err)
	}
	v := a.Report(stats.Options{}).Verdicts[0]
	if v.Kind != stats.NothingUnusual || strings.Contains(v.Text, "answered") || !strings.Contains(v.Text, "), half of the replies within ") {
		t.Errorf("%+v", v)
	}
}
