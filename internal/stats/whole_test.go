package stats_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/scenes"
	"github.com/qdissect/qdissect/internal/stats"
)

// TestWholeFlood has a capture of nothing but a flood. Its verdict names the kind of request
// that the flood consists of, whichever kind came first.
func TestWholeFlood(t *testing.T) {
	s, err := scenes.Find("forged-challenged")
	if err != nil {
		t.Fatal(err)
	}
	const span = 3 * time.Second
	for seed := uint64(1); seed <= 2; seed++ {
		var b bytes.Buffer
		if _, err := s.Write(&b, scenes.Options{Seed: seed, Span: span, From: time.Nanosecond, To: span, Rate: 2000, Clients: 20}); err != nil {
			t.Fatal(err)
		}
		r := reported(t, b.Bytes(), 1, stats.Options{})
		if len(r.Verdicts) == 0 || r.Verdicts[0].Kind != stats.ForgedFlood || !strings.Contains(r.Verdicts[0].Text, " a2s info requests in ") {
			t.Errorf("seed %d: %+v", seed, r.Verdicts)
		}
	}
}
