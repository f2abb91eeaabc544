package stats_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/scenes"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// reported makes the report of a capture.
func reported(t *testing.T, capture []byte, workers int, o stats.Options) *stats.Report {
	t.Helper()
	a := stats.New()
	sum, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(capture), Out: io.Discard, Workers: workers, Stats: a,
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Trouble:  func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Packets, o.OneSided = sum.Packets, sum.OneSided > 0
	return a.Report(o)
}

// reportSchema compiles the schema of reports.
func reportSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := stats.WriteSchema(&b); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("report.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// near reports whether a number is within some percent of the truth.
func near(got, want, percent float64) bool {
	return math.Abs(got-want) <= math.Abs(want)*percent/100+0.5
}

// TestScenes compares the report of each scene with its truth.
func TestScenes(t *testing.T) {
	schema := reportSchema(t)
	for _, s := range scenes.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			truth, err := s.Write(&b, scenes.Options{Span: 40 * time.Second, Clients: 1300})
			if err != nil {
				t.Fatal(err)
			}
			r := reported(t, b.Bytes(), 1, stats.Options{})
			other, err := json.Marshal(reported(t, b.Bytes(), 3, stats.Options{}))
			if mine, _ := json.Marshal(r); err != nil || !bytes.Equal(mine, other) {
				t.Errorf("with 3 workers the report differs: %v", err)
			}
			if v, err := jsonschema.UnmarshalJSON(bytes.NewReader(other)); err != nil {
				t.Error(err)
			} else if err := schema.Validate(v); err != nil {
				t.Errorf("the report does not satisfy its schema: %v", err)
			}
			verdicts(t, r, truth)
			totals(t, r, truth)
			servers(t, r, truth)
			text(t, r)
			for _, rule := range r.Rules {
				if rule.Format == "capture_filter" {
					if _, err := filter.Parse(strings.TrimSpace(rule.Text)); err != nil {
						t.Errorf("filter %s: %v", rule.Text, err)
					}
				}
			}
		})
	}
}

// TestSmallFlood: a flood that is far above what is usual at its server, and not above what all servers are asked.
func TestSmallFlood(t *testing.T) {
	for _, name := range []string{"forged-open", "forged-challenged"} {
		s, err := scenes.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		truth, err := s.Write(&b, scenes.Options{Seed: 3, Span: 45 * time.Second, Clients: 1500, Rate: 400})
		if err != nil {
			t.Fatal(err)
		}
		verdicts(t, reported(t, b.Bytes(), 1, stats.Options{}), truth)
	}
}

// verdicts compares the verdicts with the events.
func verdicts(t *testing.T, r *stats.Report, truth *scenes.Truth) {
	t.Helper()
	if len(truth.Events) == 0 {
		if len(r.Verdicts) != 1 || r.Verdicts[0].Kind != stats.NothingUnusual {
			t.Errorf("verdicts %+v", r.Verdicts)
		}
		return
	}
	if len(r.Verdicts) != len(truth.Events) {
		t.Errorf("%d verdicts, %d events: %+v", len(r.Verdicts), len(truth.Events), r.Verdicts)
	}
	for _, e := range truth.Events {
		i := slices.IndexFunc(r.Verdicts, func(v stats.Verdict) bool {
			return v.Kind == e.Kind && (len(e.Sources) == 0 || slices.Equal(v.Sources, e.Sources))
		})
		if i < 0 {
			t.Errorf("no verdict for %s of %v at %v", e.Kind, e.Sources, e.Servers)
			continue
		}
		v := &r.Verdicts[i]
		if len(e.Servers) == 1 && v.Server != e.Servers[0] {
			t.Errorf("%s: server %s, want %s", v.Kind, v.Server, e.Servers[0])
		}
		if n := utf8.RuneCountInString(v.Text); n > 300 || n == 0 || !strings.ContainsAny(v.Text, "0123456789") || v.Advice == "" || len(v.Evidence) == 0 {
			t.Errorf("verdict %q, advice %q", v.Text, v.Advice)
		}
		number := func(name string) float64 {
			for _, n := range v.Evidence {
				if n.Name == name {
					return n.Value
				}
			}
			t.Errorf("%s: no %s among the evidence", v.Kind, name)
			return 0
		}
		if e.Own.Requests > 0 {
			if got := number("requests"); !near(got, float64(e.Own.Requests), 2) {
				t.Errorf("%s: %v requests, want %d", v.Kind, got, e.Own.Requests)
			}
		}
		switch e.Kind {
		case stats.ForgedFlood:
			if got := number("sources"); !near(got, float64(e.OwnSources), 3) {
				t.Errorf("%v sources, want %d", got, e.OwnSources)
			}
			if d := v.From.Sub(e.From).Abs() + v.To.Sub(e.To).Abs(); d > time.Second {
				t.Errorf("from %v to %v, want %v to %v", v.From, v.To, e.From, e.To)
			}
		case stats.Scanner:
			if got := number("servers"); !near(got, 1000, 15) && !near(got, float64(e.Own.Requests), 15) {
				t.Errorf("%v servers", got)
			}
		}
	}
}

// totals compares the totals.
func totals(t *testing.T, r *stats.Report, truth *scenes.Truth) {
	t.Helper()
	x := &truth.Totals
	for _, n := range []struct {
		what      string
		got, want uint64
		percent   float64
	}{
		{"packets", r.Totals.Packets, x.Wire.Packets, 0}, {"requests", r.Totals.Requests, x.Requests, 2}, {"challenges", r.Totals.Challenges, x.Challenges, 0},
		{"unknown", r.Totals.Unknown, x.Unknown, 0}, {"clients", r.Totals.Addresses.Count, x.Clients, 3}, {"notices", r.Totals.Notices, x.Notices, 0},
	} {
		if !near(float64(n.got), float64(n.want), n.percent) {
			t.Errorf("%s: %d, want %d", n.what, n.got, n.want)
		}
	}
	var requests, kinds uint64
	for _, n := range r.Timeline.Requests {
		requests += n
	}
	for _, k := range r.Kinds {
		o := k.Outcome
		kinds += k.Requests
		if sum := o.Answered + o.ChallengeOnly + o.Late + o.Partial + o.Refused + o.Unanswered + o.Other; sum != k.Requests {
			t.Errorf("%s: %d requests, outcomes %+v", k.Message, k.Requests, o)
		}
	}
	if requests != r.Totals.Requests || kinds != r.Totals.Requests {
		t.Errorf("%d requests, %d in the timeline and %d by kind", r.Totals.Requests, requests, kinds)
	}
}

// servers compares the busiest servers.
func servers(t *testing.T, r *stats.Report, truth *scenes.Truth) {
	t.Helper()
	for i, s := range r.Servers {
		k := slices.IndexFunc(truth.Servers, func(x *scenes.Server) bool { return x.Address == s.Address })
		if k < 0 {
			t.Errorf("server %s", s.Address)
			continue
		}
		x := truth.Servers[k]
		if !near(float64(s.Requests), float64(x.Requests), 2) {
			t.Errorf("%s: %d requests, want %d", s.Address, s.Requests, x.Requests)
		}
		allowed := 10.
		if i < 5 {
			allowed = 3
		}
		if !near(float64(s.Clients.Count), float64(x.Clients), allowed) {
			t.Errorf("%s: %d clients, want %d", s.Address, s.Clients.Count, x.Clients)
		}
	}
}

// text judges the form of the text.
func text(t *testing.T, r *stats.Report) {
	t.Helper()
	b := string(r.AppendText(nil, 0))
	lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 || strings.TrimRight(l, " ") != l {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if !strings.HasPrefix(b, "* ") {
		t.Errorf("the verdict does not come first: %s", lines[0])
	}
}

// TestHome: servers of other networks are not judged, and listed last.
func TestHome(t *testing.T) {
	s, err := scenes.Find("down")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := s.Write(&b, scenes.Options{Span: 60 * time.Second, Clients: 500}); err != nil {
		t.Fatal(err)
	}
	for home, want := range map[string]string{"198.51.100.12": stats.ServerDown, "198.51.100.10/32": stats.NothingUnusual, "198.51.100.0/24": stats.ServerDown} {
		p, err := stats.Prefix(home)
		if err != nil {
			t.Fatal(err)
		}
		r := reported(t, b.Bytes(), 1, stats.Options{Home: []netip.Prefix{p}, HomeBy: "option"})
		if r.Verdicts[0].Kind != want {
			t.Errorf("home %s: %+v", home, r.Verdicts)
		}
		if !r.Servers[0].Home {
			t.Errorf("home %s: first is %s", home, r.Servers[0].Address)
		}
	}
	for _, bad := range []string{"", "198.51.100", "198.51.100.0/33", "x"} {
		if _, err := stats.Prefix(bad); err == nil {
			t.Errorf("%q is a network", bad)
		}
	}
}
