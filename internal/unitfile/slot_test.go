package unitfile_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// reported returns the report of a capture, as a whole or as the sum of slots that were written and read.
func reported(t *testing.T, capture []byte, width time.Duration) *stats.Report {
	t.Helper()
	sum := unitfile.NewSum()
	o := pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(capture), Out: io.Discard, Workers: 2, Counts: &pipeline.Counts{Stats: stats.New()},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Trouble:  func(err error) { t.Error(err) },
	}
	if width > 0 {
		o.Counts.Slots = &pipeline.Slots{Width: width, Counts: func(start time.Time, packets uint64, s *stats.Shards) {
			u := &unitfile.Unit{Captures: "slot", Part: unitfile.All, Packets: packets, Shards: s}
			b, err := unitfile.AppendSmall(nil, u, unitfile.SlotBytes)
			must.Do(t, err)
			if u, err = unitfile.ReadSmall(b, all.Protocols(), unitfile.SlotBounds(start)); err != nil {
				t.Fatal(start, err)
			}
			sum.Add(u)
		}}
	}
	c := must.Get(pipeline.Run(o))(t)
	if width == 0 {
		return o.Counts.Stats.Report(stats.Options{Packets: c.Packets})
	}
	return sum.Shards.Sum().Report(stats.Options{Packets: sum.Packets})
}

// TestSlots checks that the sum of slots says what the whole capture says: nothing is lost or counted twice at their borders, and
// nobody is judged otherwise.
func TestSlots(t *testing.T) {
	for _, s := range scenes.All() {
		if s.Name == "scanner" || !must.TryAll() && s.Name != "mixed" { // it asks more servers than a slot has
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			must.Get(s.Write(&b, scenes.Options{Seed: 3, Span: 40 * time.Second, Clients: 300}))(t)
			want, got := reported(t, b.Bytes(), 0), reported(t, b.Bytes(), 7*time.Second)
			what := func(r *stats.Report) (list []string) {
				for i := range r.Verdicts {
					list = append(list, r.Verdicts[i].Kind+" "+r.Verdicts[i].Server)
				}
				return list
			}
			if d := cmp.Diff(what(want), what(got)); d != "" {
				t.Errorf("verdicts: -whole +slots\n%s", d)
			}
			for _, r := range []*stats.Report{want, got} { // what tables and sketches may say otherwise
				for i := range r.Servers {
					r.Servers[i].Clients, r.Servers[i].ByInterval = stats.Distinct{}, nil
				}
				for i := range r.Clients {
					r.Clients[i].ByInterval, r.Clients[i].Kind = nil, ""
				}
				for i := range r.Findings {
					r.Findings[i].Examples = nil
				}
				r.Findings = slices.DeleteFunc(r.Findings, func(f stats.Finding) bool { return f.Severity == "note" })
				r.Totals.Addresses = stats.Distinct{}
			}
			// Who is a server to datagrams of no protocol is a guess from the first one, which a loss makes wrong: a thousandth.
			within := func(part uint64, want, got *uint64) {
				if *want-min(*want, *got)+*got-min(*want, *got) <= *want/part {
					*got = *want
				}
			}
			like := func(want, got *uint64) { within(1000, want, got) }
			if s.Name == "busy" && len(want.Servers) == len(got.Servers) {
				like(&want.Totals.BytesIn, &got.Totals.BytesIn)
				like(&want.Totals.BytesOut, &got.Totals.BytesOut)
				for i := range want.Servers {
					w, g := &want.Servers[i], &got.Servers[i]
					like(&w.Unknown, &g.Unknown)
					like(&w.BytesIn, &g.BytesIn)
					like(&w.BytesOut, &g.BytesOut)
				}
			}
			if d := cmp.Diff(want.Totals, got.Totals); d != "" {
				t.Errorf("totals: -whole +slots\n%s", d)
			}
			if d := cmp.Diff(want.Servers, got.Servers); d != "" {
				t.Errorf("servers: -whole +slots\n%s", d)
			}
			if d := cmp.Diff(want.Kinds, got.Kinds); d != "" {
				t.Errorf("kinds: -whole +slots\n%s", d)
			}
			full := slices.ContainsFunc(got.Clients, func(c stats.Client) bool { return c.Error > 0 }) // more than the tables hold
			if d := cmp.Diff(want.Clients, got.Clients); d != "" && !full {
				t.Errorf("clients: -whole +slots\n%s", d)
			}
			for i := range got.Limits.PerAddress {
				if full && i < len(want.Limits.PerAddress) { // what was forgotten of clients is estimated
					within(15, &want.Limits.PerAddress[i].Honest, &got.Limits.PerAddress[i].Honest)
				}
			}
			if d := cmp.Diff(want.Limits, got.Limits); d != "" {
				t.Errorf("limits: -whole +slots\n%s", d)
			}
			if d := cmp.Diff(want.Findings, got.Findings); d != "" {
				t.Errorf("findings: -whole +slots\n%s", d)
			}
		})
	}
}

// TestSlotLimits reads units of slots that are not within their bounds, or have what they must not have.
func TestSlotLimits(t *testing.T) {
	start := time.Date(2026, 3, 14, 19, 5, 0, 0, time.UTC)
	var b bytes.Buffer
	must.Get(scenes.All()[0].Write(&b, scenes.Options{Seed: 3, Span: 10 * time.Second, Clients: 10}))(t)
	unit := func(change func(*unitfile.Unit)) []byte {
		u := &unitfile.Unit{Captures: "slot", Part: unitfile.All, Packets: 7, Shards: stats.NewShards(), Talks: talks.New()}
		if change != nil {
			change(u)
		}
		out := must.Get(unitfile.Append(nil, u))(t)
		return out
	}
	counted := func(u *unitfile.Unit) { // at 19:00
		o := pipeline.Options{
			Inputs: []string{"-"}, Stdin: bytes.NewReader(b.Bytes()), Out: io.Discard, Counts: &pipeline.Counts{Stats: stats.New(), Shards: u.Shards, Talks: u.Talks},
			Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
			Analysis: dissect.Config{Protocols: all.Protocols()},
			Trouble:  func(err error) { t.Error(err) },
		}
		must.Get(pipeline.Run(o))(t)
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":         {unit(nil), ""},
		"many packets":  {unit(func(u *unitfile.Unit) { u.Packets = 1 << 60 }), "not a unit of counts"},
		"many lost":     {unit(func(u *unitfile.Unit) { u.Shards.Lost(start.Unix(), 1<<60, 0) }), "out of bounds"},
		"lost long ago": {unit(func(u *unitfile.Unit) { u.Shards.Lost(start.Unix()-3600, 1, 0) }), "out of bounds"},
		"guesses":       {unit(func(u *unitfile.Unit) { u.Guesses = []stats.Guess{{What: "DNS", Count: 1}} }), "not a unit of counts"},
		"a part":        {unit(func(u *unitfile.Unit) { u.Part = 1 }), "not a unit of counts"},
		"another time":  {unit(counted), "out of bounds"},
		"conversations": {unit(func(u *unitfile.Unit) { counted(u); u.Shards = stats.NewShards() }), "there are conversations"},
	} {
		_, err := unitfile.ReadSmall(c.b, all.Protocols(), unitfile.SlotBounds(start))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// countsOf returns counts of some seconds.
func countsOf(f *testing.F) *stats.Shards {
	f.Helper()
	var b bytes.Buffer
	must.Get(scenes.All()[0].Write(&b, scenes.Options{Seed: 3, Span: 2 * time.Second, Clients: 10}))(f)
	shards := stats.NewShards()
	o := pipeline.Options{
		Inputs: []string{"-"}, Stdin: &b, Out: io.Discard, Counts: &pipeline.Counts{Stats: stats.New(), Shards: shards},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols()}, Trouble: func(err error) { f.Error(err) },
	}
	must.Get(pipeline.Run(o))(f)
	return shards
}

// FuzzRead reads units that may come from anybody. What can be read is joined, reported and written again.
func FuzzRead(f *testing.F) {
	whole := must.Get(unitfile.Append(nil, &unitfile.Unit{Captures: "a", Names: []string{"a"}, Part: unitfile.All, Packets: 7, Shards: countsOf(f), Talks: talks.New()}))(f)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := unitfile.Read(bytes.NewReader(b), all.Protocols())
		if err != nil {
			return
		}
		must.Get(unitfile.Append(nil, u))(t)
		sum := unitfile.NewSum()
		sum.Add(u)
		sum.Guesses()
		u.Shards.Sum().Report(stats.Options{})
	})
}

// FuzzSmall reads units of slots that come from anybody, and adds and reports what can be read.
func FuzzSmall(f *testing.F) {
	start := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	f.Add(countsOf(f).Compact(16).AppendBinary(nil))
	f.Fuzz(func(t *testing.T, counts []byte) {
		s, err := stats.UnmarshalBinary(counts, all.Protocols(), unitfile.SlotBounds(start))
		if err != nil {
			return
		}
		again, err := unitfile.AppendSmall(nil, &unitfile.Unit{Part: unitfile.All, Shards: s}, unitfile.SlotBytes)
		if err != nil {
			return // too much to be made small
		}
		u := must.Get(unitfile.Read(bytes.NewReader(again), all.Protocols()))(t)
		sum := stats.NewShards()
		sum.Fold(u.Shards)
		sum.Sum().Report(stats.Options{})
	})
}
