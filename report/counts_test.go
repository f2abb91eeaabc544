package report

import (
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

// TestSummaryColumns checks that all values of a summary begin in the same column,
// however long the names of the protocols are.
func TestSummaryColumns(t *testing.T) {
	list := []*dissect.Protocol{{Name: "a2s"}, {Name: "quakeworld-master"}}
	for _, tt := range []struct {
		name     string
		messages []uint64
		column   int
	}{
		{"short names", []uint64{3, 0}, 14},
		{"a long name", []uint64{3, 1}, len("quakeworld-master") + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Summary{Protocols: list, Messages: tt.messages}
			for line := range strings.Lines(string(AppendSummary(nil, &s))) {
				if len(line) <= tt.column || line[tt.column-2:tt.column] != "  " || line[tt.column] == ' ' {
					t.Errorf("no value in column %d: %q", tt.column, line)
				}
			}
		})
	}
}

func TestSpan(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		took time.Duration
		want string
	}{
		{91839 * time.Microsecond, "2026-01-02 03:04:05.000000 to 03:04:05.091839 UTC, 91.8 ms"},
		{21205656 * time.Microsecond, "2026-01-02 03:04:05.000000 to 03:04:26.205656 UTC, 21.21 s"},
		{3*time.Hour + 10500*time.Millisecond, "2026-01-02 03:04:05.000000 to 06:04:15.500000 UTC, 3h0m11s"},
		{24 * time.Hour, "2026-01-02 03:04:05.000000 to 2026-01-03 03:04:05.000000 UTC, 24h0m0s"},
		{-time.Second, "2026-01-02 03:04:05.000000 to 03:04:04.000000 UTC, -1.00 s"},
	} {
		if got := span(first, first.Add(tt.took)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.took, got, tt.want)
		}
	}
}

// TestSummaryWidth breaks long lines between words, and keeps all words.
func TestSummaryWidth(t *testing.T) {
	s := Summary{Protocols: []*dissect.Protocol{{Name: "a2s"}}, Messages: []uint64{3}, Requests: 1000000, Live: true}
	s.Outcomes = dissect.Outcomes{dissect.OutcomeAnswered: 1000, dissect.OutcomeLate: 1000, dissect.OutcomePartial: 1000, dissect.OutcomeRefused: 1000, dissect.OutcomeUnanswered: 1000, dissect.OutcomeRepeated: 1000, dissect.OutcomeOpen: 1000}
	whole := string(AppendSummary(nil, &s))
	for _, columns := range []int{40, 80} {
		c := Counts{Width: columns}
		must.Do(t, c.End(&s))
		for line := range strings.Lines(string(c.Bytes())) {
			if len(line) > columns+1 || strings.HasPrefix(line, " ") && !strings.HasPrefix(line, strings.Repeat(" ", 14)) {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		if got := strings.Fields(string(c.Bytes())); strings.Join(got, " ") != strings.Join(strings.Fields(whole), " ") {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}
