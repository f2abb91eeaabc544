package pipeline

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

// TestTally compares a tally with one that counts in its maps, with types that share places beside them.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var protocols []*dissect.Protocol
	var types []*dissect.MessageType
	var findings []*dissect.FindingType
	for i := range 300 {
		doc := strings.Repeat("x", i)
		for range 2 {
			types = append(types, &dissect.MessageType{Doc: doc})
			findings = append(findings, &dissect.FindingType{Doc: doc})
		}
		protocols = append(protocols, &dissect.Protocol{Doc: doc[:i%5]})
	}
	var got tally
	var want report.Tally
	for i := range 20000 {
		r := &dissect.Record{Protocol: protocols[rng.IntN(len(protocols))], TimeKnown: rng.IntN(2) > 0, RTT: time.Duration(rng.IntN(1000))}
		r.Type = types[rng.IntN(len(types))]
		for range rng.IntN(3) {
			r.Findings = append(r.Findings, dissect.Finding{Type: findings[rng.IntN(len(findings))]})
		}
		got.Record(r)
		want.Record(r)
		if i%5000 == 0 {
			got.settled() // what is counted twice would show
		}
	}
	all := got.settled()
	if !maps.Equal(all.Messages, want.Messages) || !maps.Equal(all.Findings, want.Findings) || len(all.RoundTrips) != len(want.RoundTrips) {
		t.Error("the counts differ")
	}
	for p, times := range want.RoundTrips {
		if got := all.RoundTrips[p]; got.Count != times.Count || got.Max != times.Max {
			t.Errorf("round trips: %+v, want %+v", got, times)
		}
	}
}
