package stats_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// shared returns how a scene is played here: as TestScenes plays it, so that it is written once.
func shared(s scenes.Scene) scenes.Options {
	return must.Try(evening(s, 0), scenes.Options{Span: 20 * time.Second, Clients: 400})
}

// TestTruth compares the truth of scenes with what the program counts.
func TestTruth(t *testing.T) {
	for i, s := range scenes.All() {
		if i%must.Try(6, 1) > 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			o := shared(s)
			if s.Name == "long-lost-fragments" {
				o.Span = time.Minute // fragments are given up after 30 seconds
			}
			capture, truth := play(t, s.Name, o)
			sum, err := pipeline.Run(pipeline.Options{
				Inputs: []string{"-"}, Stdin: bytes.NewReader(capture), Out: &bytes.Buffer{}, Workers: 1,
				Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
				Analysis: dissect.Config{Protocols: all.Protocols()}, Counts: &pipeline.Counts{Detailed: true},
			})
			must.Do(t, err)
			type counts struct {
				Packets, Bytes, Datagrams, Unknown, ICMP                                  uint64
				Requests, Replies, Answered, Partial, Refused, Unanswered, Open, Repeated uint64
				Messages                                                                  map[string]uint64
			}
			x, y := &truth.Totals, &sum.Outcomes
			want := counts{x.Wire.Packets, x.Wire.Frame, x.Datagrams, x.Unknown, x.ICMP, x.Requests, x.Replies, x.Answered, x.Partial, x.Refused, x.Unanswered, x.Open, x.Repeated, map[string]uint64{}}
			got := counts{sum.Packets, sum.Bytes, sum.Datagrams, sum.Unknown, sum.ICMP, sum.Requests, sum.Replies, y[dissect.OutcomeAnswered] + y[dissect.OutcomeChallenged], y[dissect.OutcomePartial], y[dissect.OutcomeRefused], y[dissect.OutcomeUnanswered] + y[dissect.OutcomeOther], y[dissect.OutcomeOpen], y[dissect.OutcomeRepeated], map[string]uint64{}}
			for protocol, list := range truth.Messages {
				for _, n := range list {
					want.Messages[protocol] += n
				}
			}
			for i, p := range sum.Protocols {
				if n := sum.Messages[i]; n > 0 {
					got.Messages[p.Name] = n
				}
			}
			if s.Name == "made-up" { // a challenge that answers another one refuses it
				got.Answered, got.Refused = got.Answered+got.Refused, 0
			}
			if s.Name == "reflection" || s.Name == "mixed" {
				// The first requests of one port within milliseconds look like copies,
				// and so do the replies.
				near := func(want *uint64, got uint64) {
					if max(*want, got)-min(*want, got) <= *want/50 {
						*want = got
					}
				}
				near(&want.Requests, got.Requests)
				near(&want.Replies, got.Replies)
				near(&want.Answered, got.Answered)
				want.Repeated = got.Repeated // the rest
				n := want.Messages["quake3"]
				near(&n, got.Messages["quake3"])
				want.Messages["quake3"] = n
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-truth +program\n%s", d)
			}
		})
	}
}

// TestSameScenes: the same options give the same bytes, and honest clients do the same in all
// scenes that do not concern them.
func TestSameScenes(t *testing.T) {
	quiet := must.Get(scenes.Find("quiet"))(t)
	_, calm := play(t, quiet.Name, shared(quiet))
	for i, s := range scenes.All() {
		a, truth := play(t, s.Name, shared(s))
		if i%must.Try(5, 1) == 0 {
			var b bytes.Buffer
			must.Get(s.Write(&b, shared(s)))(t)
			if !bytes.Equal(a, b.Bytes()) {
				t.Errorf("%s: two runs differ", s.Name)
			}
		}
		if s.Name == "drops" || s.Name == "down" || s.Name == "down-icmp" || s.Name == "long-lost" || s.Name == "long-lost-fragments" {
			continue // honest clients ask again
		}
		if d := cmp.Diff(class(calm, scenes.Honest), class(truth, scenes.Honest)); d != "" {
			t.Errorf("%s: honest traffic differs:\n%s", s.Name, d)
		}
	}
}

func class(t *scenes.Truth, name string) *scenes.Class {
	for _, c := range t.Classes {
		if c.Name == name {
			return c
		}
	}
	return &scenes.Class{}
}

// TestSources compares the counts of addresses with those in the packets.
func TestSources(t *testing.T) {
	for i, s := range scenes.All() {
		if i%must.Try(5, 1) != 0 {
			continue
		}
		o := shared(s)
		if s.Name == "forged-open" {
			o.Sources = 5000 // some come again
		}
		all := map[netip.Addr]bool{}
		to := map[string]map[netip.Addr]bool{}
		truth, err := s.Play(o, func(p *scenes.Packet) error {
			src := netip.AddrFrom4([4]byte(p.Frame[26:30]))
			all[src] = true
			if p.ToServer && p.Class != scenes.Junk && p.Class != scenes.Foreign {
				server := netip.AddrPortFrom(netip.AddrFrom4([4]byte(p.Frame[30:34])), binary.BigEndian.Uint16(p.Frame[36:])).String()
				if to[server] == nil {
					to[server] = map[netip.Addr]bool{}
				}
				to[server][src] = true
			}
			return nil
		})
		must.Do(t, err)
		if truth.Totals.Sources != uint64(len(all)) {
			t.Errorf("%s: %d sources, truth says %d", s.Name, len(all), truth.Totals.Sources)
		}
		for _, x := range truth.Servers {
			if n := uint64(len(to[x.Address])); n != x.Clients && x.Protocol != "valve-master" {
				t.Errorf("%s: %d clients of %s, truth says %d", s.Name, n, x.Address, x.Clients)
			}
		}
	}
}
