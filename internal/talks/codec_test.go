package talks_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// TestCodec checks that conversations that were written and read are shown as they were, that folding them changes nothing,
// and that damaged ones do no harm.
func TestCodec(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"a2s/trouble.pcap", "quake3/trouble.pcap", "icmp/errors4.pcap", "gamespy1/swat4.pcap"} {
		o := pipeline.Options{Inputs: []string{path(name)}, Analysis: config, Out: io.Discard, Counts: &pipeline.Counts{Stats: stats.New(), Talks: talks.New()}, Trouble: func(error) {}}
		o.Reporter = func() report.Reporter { return report.NewCounts() }
		must.Get(pipeline.Run(o))(t)
		b := o.Counts.Talks.AppendBinary(nil)
		read, err := talks.UnmarshalBinary(b, config.Protocols)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		folded := talks.New()
		folded.Fold(read)
		if !bytes.Equal(folded.AppendBinary(nil), b) {
			t.Errorf("%s: what was read is not what was written", name)
		}
		later, _ := talks.UnmarshalBinary(b, config.Protocols)
		later.Renumber(1)
		folded.Fold(later)
		files := []stats.File{{Name: name, Word: name}}
		findings := o.Counts.Stats.Report(stats.Options{}).Findings
		want, _ := json.MarshalIndent(o.Counts.Talks.List(findings, config, files), "", " ")
		got, _ := json.MarshalIndent(folded.List(findings, config, files), "", " ")
		if d := cmp.Diff(string(want), string(got)); d != "" || len(got) < 3000 {
			t.Errorf("%s: -run +folded\n%s", name, d)
		}
		accepted := 0
		for range thorough.Of(100, 3000) {
			x := bytes.Clone(b)
			for range 1 + r.IntN(3) {
				x[r.IntN(len(x))] = byte(r.Uint32())
			}
			if d, err := talks.UnmarshalBinary(x, config.Protocols); err == nil {
				d.List(findings, config, files)
				accepted++
			}
		}
		if accepted == 0 {
			t.Errorf("%s: nothing damaged is accepted", name)
		}
		for n := 0; n < len(b); n += thorough.Of(997, 61) {
			if _, err := talks.UnmarshalBinary(b[:n], config.Protocols); err == nil {
				t.Errorf("%s: %d of %d bytes are accepted", name, n, len(b))
			}
		}
	}
}
