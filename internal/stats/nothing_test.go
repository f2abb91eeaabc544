package stats_test

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// calm checks that nothing is called usual where a server leaves requests without a complete reply, or where there are errors.
func calm(t *testing.T, name string, r *stats.Report) {
	t.Helper()
	text := string(r.AppendText(nil, 0))
	if !strings.Contains(text, "Nothing unusual") && !strings.Contains(text, "There is nothing to do") {
		return
	}
	for _, s := range r.Servers {
		o := s.Outcome
		good := o.Answered + o.ChallengeOnly // those who came back with their challenges
		if all := good + o.Late + o.Partial + o.Refused + o.Unanswered; all >= 20 && 10*good < 9*all {
			t.Errorf("%s: nothing is unusual, and %s: %+v", name, s.Address, o)
		}
	}
	if i := slices.IndexFunc(r.Findings, func(f stats.Finding) bool { return f.Severity == "error" }); i >= 0 {
		t.Errorf("%s: nothing is unusual, and %d × %s", name, r.Findings[i].Count, r.Findings[i].ID)
	}
}

// TestNothingUnusual goes over all captures and scenes.
func TestNothingUnusual(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../testdata/pcaps/*.pcap*", "../../testdata/pcaps/*/*.pcap*", "../../../shared/captures/*.pcap*", "../../../shared/cases/*.pcap*", "../../../shared/cases/*/*.pcap*"} {
		list := must.Get(filepath.Glob(pattern))(t)
		if len(list) == 0 && strings.Contains(pattern, "shared") {
			t.Logf("%s: there are none", pattern)
		}
		paths = append(paths, list...)
	}
	if len(paths) < 100 {
		t.Fatalf("%d captures", len(paths))
	}
	said := 0
	for _, path := range thorough.Captures(paths) {
		a := stats.New()
		sum, err := pipeline.Run(pipeline.Options{
			Inputs: []string{path}, Out: io.Discard, Counts: &pipeline.Counts{Stats: a}, Workers: 1,
			Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
			Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
			Trouble:  func(error) {}, // some are damaged
		})
		if err != nil {
			continue
		}
		r := a.Report(stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Rows: 1000})
		if r.Verdicts[0].Kind == stats.NothingUnusual {
			said++
		}
		calm(t, path, r)
	}
	if said == 0 {
		t.Error("everything is unusual")
	}
	for i, s := range scenes.All() {
		if i%thorough.Of(6, 1) > 0 {
			continue
		}
		capture, _ := play(t, s.Name, evening(s, thorough.Of[uint64](0, 1))) // by default as TestScenes
		calm(t, s.Name, reported(t, capture, 1, stats.Options{Rows: 1000}))
	}
}
