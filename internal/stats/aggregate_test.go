package stats_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// TestNoAllocations: once its tables are full, an aggregate allocates nothing, whatever comes.
func TestNoAllocations(t *testing.T) {
	p := all.Protocols()[0]
	var ask, tell *dissect.MessageType
	for _, m := range p.Catalog.Messages() {
		switch m.Name {
		case "info_request":
			ask = m
		case "info_reply":
			tell = m
		}
	}
	a := stats.New()
	server := netip.MustParseAddrPort("198.51.100.10:27015")
	payload := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	sources := []dissect.Source{{Data: payload}}
	var r dissect.Record
	var x dissect.Exchange
	var f dissect.FlowFinding
	var d dissect.Datagram
	n := uint32(0)
	exchange := func() {
		n++
		client := nettext.Either(n%4 == 0, netip.MustParseAddrPort("192.0.2.20:27005"), netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 27005)) // another one each time
		at := time.Unix(1_800_000_000, 0).Add(time.Duration(n) * 50 * time.Millisecond)
		d = dissect.Datagram{Frame: uint64(n), Time: at, Src: client, Dst: server}
		r = dissect.Record{Protocol: p, Datagram: &d, WireLength: len(payload)}
		r.Type, r.Pair.Asks, r.Sources = ask, 1, sources
		a.Record(&r)
		d.Time, d.Src, d.Dst = at.Add(time.Millisecond), server, client
		r = dissect.Record{Protocol: p, Datagram: &d, WireLength: 100, TimeKnown: true, RTT: time.Millisecond}
		r.Type = tell
		r.Server.Name = dissect.Some("A name that is as long as names of servers are")
		a.Record(&r)
		x = dissect.Exchange{Protocol: p, Type: ask, Time: at, Src: client, Dst: server, Replies: 1, ReplyBytes: 100}
		a.Exchange(&x)
		f = dissect.FlowFinding{Finding: dissect.NewFinding(p.Pairing.Unanswered), Frame: uint64(n), Time: at, Src: client, Dst: server}
		a.Finding(&f)
		foreign(a, at, client, server, 100)
		foreign(a, at, server, client, 100)
		anywhere := netip.AddrPortFrom(client.Addr(), uint16(n))
		foreign(a, at, server, anywhere, 100)
		foreign(a, at, client, anywhere, 100)
	}
	for range 20_000 {
		exchange()
	}
	if got := testing.AllocsPerRun(2000, exchange); got != 0 {
		t.Errorf("%v allocations per exchange", got)
	}
}

// TestRules gives the rules to nft, which checks them.
func TestRules(t *testing.T) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("nft is not installed")
	}
	check := func(rules string) ([]byte, error) {
		cmd := exec.Command("unshare", "-n", nft, "-c", "-f", "-")
		cmd.Stdin = bytes.NewReader([]byte(rules))
		return cmd.CombinedOutput()
	}
	if out, err := check("table inet t { }\n"); err != nil {
		t.Skipf("nft cannot be used here: %v %s", err, out)
	}
	checked := 0
	for _, name := range []string{"forged-challenged", "reflection", "greedy"} {
		s := must.Get(scenes.Find(name))(t)
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: 300}))(t)
		for _, r := range reported(t, b.Bytes(), 1, stats.Options{}).Rules {
			if r.Format != "nftables" {
				continue
			}
			checked++
			if out, err := check(r.Text); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, out, r.Text)
			}
		}
	}
	if checked < 3 {
		t.Errorf("%d rules", checked)
	}
}

// TestOldCounts reads counts of the version before this one, which are refused with the reason.
func TestOldCounts(t *testing.T) {
	b := stats.NewShards().AppendBinary(nil)
	must.Get(stats.UnmarshalBinary(b, all.Protocols(), nil))(t)
	b[0]--
	if _, err := stats.UnmarshalBinary(b, all.Protocols(), nil); err == nil || !strings.Contains(err.Error(), "counts of version 18, of which this program reads only 19: make them again") {
		t.Error(err)
	}
}

// foreign counts a datagram with n bytes of payload that no protocol recognises.
func foreign(a *stats.Aggregate, at time.Time, src, dst netip.AddrPort, n int) {
	from, to := endpoint.Of(src), endpoint.Of(dst)
	a.Foreign(at.UnixNano(), &from, &to, n, 1, false)
}

// collected returns the counts of the shards of a capture, or of a part of it.
func collected(t *testing.T, capture []byte, workers int, since, until time.Time) (*stats.Shards, *report.Summary) {
	t.Helper()
	o := counting("-", stats.New())
	o.Stdin, o.Workers, o.Counts.Shards, o.Trouble = bytes.NewReader(capture), workers, stats.NewShards(), func(err error) { t.Error(err) }
	o.Frames = &pipeline.Frames{Window: func(time.Time) (a, b time.Time) { return since, until }}
	return o.Counts.Shards, must.Get(pipeline.Run(o))(t)
}

// carried returns counts that were written and read.
func carried(t *testing.T, s *stats.Shards) *stats.Shards {
	t.Helper()
	b := s.AppendBinary(nil)
	r := must.Get(stats.UnmarshalBinary(b, all.Protocols(), nil))(t)
	if !bytes.Equal(r.AppendBinary(nil), b) {
		t.Error("what was read is not what was written")
	}
	return r
}

// TestFold checks that the counts of shards say what the counts of a whole run say, and that those of two halves say
// nearly that.
func TestFold(t *testing.T) {
	list := scenes.All()
	if !must.TryAll() {
		list = slices.DeleteFunc(list, func(s scenes.Scene) bool { return s.Name != "mixed" })
	}
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			capture, truth := play(t, s.Name, evening(s, must.Try[uint64](0, 3)))
			want := reported(t, capture, 1, stats.Options{})
			whole, sum := collected(t, capture, 2, time.Time{}, time.Time{})
			o := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0}
			got := carried(t, whole).Sum().Report(o)
			if d := cmp.Diff(indented(t, want), indented(t, got)); d != "" {
				t.Errorf("-run +shards\n%s", d)
			}

			middle := want.From.Add(want.To.Sub(want.From) / 2)
			first, _ := collected(t, capture, 1, time.Time{}, middle)
			second, _ := collected(t, capture, 1, middle, time.Time{})
			folded := stats.NewShards()
			folded.Fold(carried(t, first))
			folded.Fold(carried(t, second))
			got = folded.Sum().Report(o)
			kinds := nettext.Each(got.Verdicts, func(v stats.Verdict) string { return v.Kind })
			for _, e := range truth.Events {
				if !slices.Contains(kinds, e.Kind) {
					t.Errorf("in two halves, the verdicts are %v, without %s", kinds, e.Kind)
				}
			}
			x, y, again := want.Totals, got.Totals, 1.0
			if s.Name == "reflection" {
				again = 10 // the first requests of one port look like copies, in each half
			}
			for _, n := range []struct {
				what string
				x, y uint64
				off  float64
			}{
				{"requests", x.Requests, y.Requests, again}, {"replies", x.Replies, y.Replies, again}, {"addresses", x.Addresses.Count, y.Addresses.Count, 1},
				{"honest", x.Honest, y.Honest, 4},
			} {
				if !near(float64(n.y), float64(n.x), n.off) {
					t.Errorf("in two halves: %d %s, in one %d", n.y, n.what, n.x)
				}
			}
			for i := range want.Servers[:min(3, len(want.Servers))] {
				p, q := &want.Servers[i], &got.Servers[i]
				if p.Address != q.Address || !near(float64(q.Clients.Count), float64(p.Clients.Count), 5) {
					t.Errorf("in two halves: %s %v clients, in one %s %v", q.Address, q.Clients, p.Address, p.Clients)
				}
			}
		})
	}
}

// TestDamaged folds counts of which some bytes are wrong.
func TestDamaged(t *testing.T) {
	s := must.Get(scenes.Find("mixed"))(t)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 5 * time.Second, Clients: 20, Rate: 20}))(t)
	shards, _ := collected(t, b.Bytes(), 1, time.Time{}, time.Time{})
	whole, r := shards.AppendBinary(nil), rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range must.Try(60, 1500) {
		x := bytes.Clone(whole)
		for range 1 + r.IntN(3) {
			x[r.IntN(min(len(x), 1<<(3+r.IntN(15))))] = byte(r.Uint32())
		}
		s, err := stats.UnmarshalBinary(x, all.Protocols(), nil)
		if err != nil {
			continue
		}
		accepted++
		sum := stats.NewShards()
		sum.Fold(s)
		sum.Fold(s)
		must.Get(json.Marshal(sum.Sum().Report(stats.Options{})))(t)
	}
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
	for n := 0; n < must.Try(200, len(whole)); n += 1 + 10*min(n/8192, 1) { // after 8 KiB, every eleventh
		if _, err := stats.UnmarshalBinary(whole[:n], all.Protocols(), nil); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(whole))
		}
	}
}

func indented(t *testing.T, r *stats.Report) string {
	t.Helper()
	b := must.Get(json.MarshalIndent(r, "", " "))(t)
	return string(b)
}

// FuzzCounts reads counts that may come from anybody, folds them and makes a report.
func FuzzCounts(f *testing.F) {
	s := must.Get(scenes.Find("mixed"))(f)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 5 * time.Second, Clients: 20, Rate: 20}))(f)
	f.Add(stats.NewShards().AppendBinary(nil))
	o := counting("-", stats.New())
	o.Stdin, o.Counts.Shards = &b, stats.NewShards()
	must.Get(pipeline.Run(o))(f)
	f.Add(o.Counts.Shards.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := stats.UnmarshalBinary(b, all.Protocols(), nil)
		if err != nil {
			return
		}
		sum := stats.NewShards()
		sum.Fold(s)
		sum.Fold(s)
		must.Get(json.Marshal(sum.Sum().Report(stats.Options{})))(t)
	})
}
