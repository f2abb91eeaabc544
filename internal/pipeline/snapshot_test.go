package pipeline_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/qdissecttest"
	"github.com/qdissect/qdissect/report"
)

// TestSnapshot: snapshots grow, stay as they were, and change nothing of the report at the end; what Keep got gives the same
// report, and Only chooses from it.
func TestSnapshot(t *testing.T) {
	s := must.Get(scenes.Find("mixed"))(t)
	var file bytes.Buffer
	must.Get(s.Write(&file, scenes.Options{Span: 20 * time.Second, Clients: 100, Rate: 300}))(t)
	run := func(o pipeline.Options) (*stats.Report, *report.Summary) {
		o.Out, o.Counts = io.Discard, &pipeline.Counts{Stats: stats.New()}
		o.Analysis = dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}
		o.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }
		o.Trouble = func(err error) { t.Error(err) }
		if o.Source == nil {
			o.Inputs, o.Stdin = []string{"-"}, bytes.NewReader(file.Bytes())
		}
		sum := must.Get(pipeline.Run(o))(t)
		return o.Counts.Stats.Report(stats.Options{Packets: 1}), sum
	}
	text := func(r *stats.Report) string {
		b := must.Get(json.Marshal(r))(t)
		return string(b)
	}
	want, _ := run(pipeline.Options{Workers: 1})
	var second time.Time
	clock := func() time.Time { second = second.Add(time.Second); return second } // making one takes a second
	for _, workers := range []int{1, 3} {
		recent := &capture.Recent{Limit: 64 << 20}
		var first *stats.Aggregate
		var firstText string
		var packets []uint64
		got, _ := run(pipeline.Options{Workers: workers, Save: &pipeline.Saving{Recent: recent}, Events: &pipeline.Events{Clock: clock, Snapshot: func(sum *report.Summary, a *stats.Aggregate) {
			packets = append(packets, sum.Packets)
			if first == nil {
				first, firstText = a, text(a.Report(stats.Options{}))
			}
		}}})
		if text(got) != text(want) {
			t.Errorf("%d workers: with snapshots the report differs", workers)
		}
		if text(first.Report(stats.Options{})) != firstText {
			t.Errorf("%d workers: the first snapshot has changed", workers)
		}
		if n := len(packets); n < 2 || packets[0] >= packets[n-1] {
			t.Errorf("%d workers: snapshots after %v packets", workers, packets)
		}
		again, _ := run(pipeline.Options{Workers: 1, Source: &pipeline.Source{Source: recent.Frames()}})
		if a, b := again.Totals, want.Totals; a.Requests != b.Requests || a.Replies != b.Replies || a.Answered != b.Answered || len(again.Servers) != len(want.Servers) {
			t.Errorf("%d workers: kept frames give %+v, all %+v", workers, a, b)
		}
		server := netip.MustParseAddrPort(want.Servers[0].Address)
		only, sum := run(pipeline.Options{Workers: 1, Source: &pipeline.Source{Source: recent.Frames()}, Frames: &pipeline.Frames{Only: func(src, dst netip.AddrPort) bool { return src == server || dst == server }}})
		if only.Servers[0].Address != want.Servers[0].Address || only.Servers[0].Requests != want.Servers[0].Requests || only.Totals.Requests > want.Servers[0].Requests+20 || sum.Datagrams == 0 {
			t.Errorf("only %s: %d servers, %d requests", server, len(only.Servers), only.Totals.Requests)
		}
	}
}

// TestGoldens: what comes out for every capture is what lies beside it.
func TestGoldens(t *testing.T) {
	captures, _, err := golden.Captures(filepath.Join("..", "..", "testdata", "pcaps"), func(string, error) {})
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	for _, path := range captures {
		qdissecttest.Golden(t, path, qdissecttest.Strict())
	}
}
