package stats

import (
	"bytes"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

// TestLine: whatever the order of times and of merging, the buckets are the same.
func TestLine(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, span := range []time.Duration{time.Millisecond, time.Second, 100 * time.Second, 3 * time.Hour, 900 * 24 * time.Hour, math.MaxInt64} {
		for _, origin := range []int64{0, -int64(span) / 2, time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC).UnixNano() - int64(span)/3} {
			lines := []*cells{{most: 60}, {most: 60}, {most: 60}, {most: 60}}
			for range 500 {
				at := origin + r.Int64N(int64(span))
				if span == math.MaxInt64 {
					at = int64(r.Uint64())
				}
				n := r.Uint64N(10)
				lines[0].at(at).requests += n
				lines[1+r.IntN(2)].at(at).requests += n
			}
			sum := lines[3]
			sum.merge(lines[2])
			sum.merge(lines[1])
			a, b := *lines[0], *sum
			a.newest, b.newest, a.from, b.from, a.to, b.to = nil, nil, 0, 0, 0, 0
			a.buckets, b.buckets = append([]cell(nil), a.buckets...), append([]cell(nil), b.buckets...)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%v from %v: width %v and %v, start %d and %d, %d and %d buckets", span, origin, widths[a.width], widths[b.width], a.start, b.start, len(a.buckets), len(b.buckets))
			}
			if len(a.buckets) > 60 && a.width < len(widths)-1 {
				t.Errorf("%v: %d buckets", span, len(a.buckets))
			}
		}
	}
	for i := range widths[1:] {
		if widths[i+1]%widths[i] != 0 {
			t.Errorf("%v does not divide %v", widths[i], widths[i+1])
		}
	}
}

// TestPeak: the peak of a second is exact for short captures, and never too low, also after snapshots.
func TestPeak(t *testing.T) {
	for _, seconds := range []int64{5, 300, 5000} {
		r := rand.New(rand.NewPCG(7, 8))
		shards, twins := []*Aggregate{New(), New(), New()}, []*Aggregate{New(), New(), New()}
		counts := map[int64]uint64{}
		truth := uint64(0)
		for s := range seconds {
			for range r.IntN(20) {
				at := s*1e9 + r.Int64N(1e9)
				for _, of := range [][]*Aggregate{shards, twins} {
					a := of[at%3]
					a.at(at).requests++
					if s != a.second {
						a.endSecond()
						a.second, a.inSecond = s, 0
					}
					a.inSecond++
				}
				if at%500 == 0 {
					New().Merge(twins[at%3]) // a snapshot
				}
				counts[s]++
				truth = max(truth, counts[s])
			}
		}
		sum, twin := New(), New()
		for i, a := range shards {
			sum.Merge(a)
			twin.Merge(twins[i])
		}
		if a, b := sum.Report(Options{}).Timeline.Peak, twin.Report(Options{}).Timeline.Peak; a != b {
			t.Errorf("%d seconds: peak %d, with snapshots %d", seconds, a, b)
		}
		switch got := sum.Report(Options{}).Timeline.Peak; {
		case seconds <= 300 && got != truth, got < truth, got > 3*truth:
			t.Errorf("%d seconds: peak %d, want %d", seconds, got, truth)
		}
	}
}

// flat returns n buckets with a rate.
func flat(n int, rate float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rate
	}
	return x
}

// plus adds a rate in some buckets.
func risen(x []float64, from, to int, rate float64) []float64 {
	for i := from; i < to; i++ {
		x[i] += rate
	}
	return x
}

func TestSurges(t *testing.T) {
	slope := flat(120, 5)
	for i := 30; i < 90; i++ {
		slope[i] += float64(i-30) * 10
	}
	for name, c := range map[string]struct {
		x       []float64
		seconds float64
		calm    float64
		want    []surge
	}{
		"nothing":                       {flat(60, 40), 1, -1, nil},
		"twice the usual":               {risen(flat(60, 40), 20, 40, 40), 1, -1, nil},
		"one":                           {risen(flat(60, 5), 20, 40, 100), 1, -1, []surge{{20, 40, 100, 5}}},
		"two apart":                     {risen(risen(flat(120, 5), 20, 40, 100), 80, 90, 500), 1, -1, []surge{{80, 90, 500, 5}, {20, 40, 100, 5}}},
		"one in another":                {risen(risen(flat(120, 5), 20, 60, 300), 30, 40, 2000), 1, -1, []surge{{30, 40, 2000, 5}, {20, 60, 300, 5}}},
		"one ends in another":           {risen(risen(flat(120, 5), 20, 50, 300), 40, 80, 1000), 1, -1, []surge{{40, 80, 1000, 5}, {20, 50, 300, 5}}},
		"another joins, the first ends": {risen(risen(flat(120, 5), 30, 80, 400), 60, 100, 1200), 1, -1, []surge{{60, 100, 1200, 5}, {30, 80, 400, 5}}},
		"a small one begins in a large": {risen(risen(flat(120, 5), 20, 50, 400), 40, 80, 50), 1, -1, []surge{{20, 50, 400, 5}, {40, 80, 50, 5}}},
		"one goes on more slowly":       {risen(risen(flat(120, 5), 20, 60, 150), 20, 40, 150), 1, -1, []surge{{20, 60, 225, 5}}},
		"short":                         {risen(flat(60, 5), 20, 22, 60), 1, -1, nil},
		"below 20 per second":           {risen(flat(60, 1), 20, 40, 18), 1, -1, nil},
		"more than half":                {risen(flat(60, 5), 20, 60, 100), 1, -1, []surge{{20, 60, 100, 5}}},
		"a peak in nearly all":          {risen(risen(flat(120, 5), 10, 110, 200), 50, 65, 2000), 1, -1, []surge{{50, 65, 2000, 5}, {10, 110, 200, 5}}},
		"a hole":                        {risen(risen(flat(200, 0), 0, 50, 60), 75, 200, 60), 1, -1, nil},
		"all of it":                     {flat(60, 100), 1, -1, nil},
		"all of it, of which 2 are":     {flat(60, 100), 1, 2, []surge{{0, 60, 98, 2}}},
		"wide buckets":                  {risen(flat(100, 60), 50, 56, 12000), 30, -1, []surge{{50, 56, 12000, 60}}},
		"half a bucket":                 {risen(risen(flat(100, 0), 50, 56, 12000), 56, 57, 6000), 30, -1, []surge{{50, 56.5, 12000, 0}}},
	} {
		got := surges(c.x, c.seconds, c.calm)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
			continue
		}
		for i, w := range c.want {
			g := got[i]
			if math.Abs(g.from-w.from) > 0.01 || math.Abs(g.to-w.to) > 0.01 || math.Abs(g.level-w.level) > 1 || g.usual != w.usual {
				t.Errorf("%s: %+v, want %+v", name, g, w)
			}
		}
	}
	if got := surges(slope, 1, -1); len(got) != 1 {
		t.Errorf("a slope: %+v", got)
	}
	for name, c := range map[string]struct {
		x     []float64
		i, j  int
		usual float64
		want  bool
	}{
		"from one bucket to the next": {[]float64{50, 5, 90, 90, 90, 90, 60, 40, 30}, 2, 6, 5, true},
		"within two":                  {[]float64{5, 5, 60, 90, 90, 90, 90, 60, 40, 30}, 3, 7, 5, true},
		"within three":                {[]float64{5, 50, 60, 90, 90, 90, 90, 60, 50, 40}, 3, 7, 5, false},
		"the second of a capture":     {[]float64{60, 90, 90, 90, 90, 60, 50, 40}, 1, 5, 5, true},
		"slowly from much":            {[]float64{100, 100, 104, 108, 112, 130, 130, 130, 130, 120, 120}, 2, 9, 100, false},
		"the end":                     {[]float64{40, 50, 60, 90, 90, 90, 90, 5}, 3, 7, 5, true},
		"the end, within two":         {[]float64{40, 50, 60, 90, 90, 90, 90, 60, 5}, 3, 7, 5, true},
		"the end of a capture":        {[]float64{40, 50, 60, 90, 90, 90, 90}, 3, 7, 5, false},
		"its last three":              {[]float64{5, 5, 90, 90, 90}, 2, 5, 5, true},
		"its last two":                {[]float64{5, 5, 90, 90}, 2, 4, 5, false},
		"its first three":             {[]float64{90, 90, 90, 5, 5}, 0, 3, 5, true},
		"its first two":               {[]float64{90, 90, 5, 5}, 0, 2, 5, false},
		"from a third to two thirds":  {[]float64{40, 40, 100, 100, 71, 100, 70, 100, 100, 39, 40}, 2, 9, 10, false},
		"from less, to less":          {[]float64{39, 40, 100, 100, 70, 100, 70, 100, 100, 40, 39}, 2, 9, 10, false},
		"from less":                   {[]float64{39, 40, 100, 100, 71, 100, 70, 100, 100, 40, 40}, 2, 9, 10, true},
		"to less":                     {[]float64{40, 40, 100, 100, 71, 100, 71, 100, 100, 40, 39}, 2, 9, 10, true},
	} {
		if got := steep(c.x, c.i, c.j, c.usual); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestRuns: requests that are added up before they are counted give the same counts as those that are counted one by one, whatever
// comes between them.
func TestRuns(t *testing.T) {
	p := &dissect.Protocol{Name: "p", Catalog: dissect.NewCatalog("p")}
	types := []*dissect.MessageType{p.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request}), p.Catalog.Message(dissect.MessageType{Name: "rules", Title: "rules request", Role: dissect.Request})}
	p.Catalog.Message(dissect.MessageType{Name: "reply", Role: dissect.Reply})
	another := &dissect.Protocol{Name: "q", Catalog: dissect.NewCatalog("q")}
	ask := another.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request})
	start := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	play := func(each bool) []byte {
		a := New()
		after := func() {
			if each {
				a.endRuns()
			}
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		var asked []dissect.Exchange
		for i := range 20_000 {
			at := start.Add(time.Duration(i)*700*time.Microsecond - either(i%97 == 0, 3*time.Millisecond, 0)) // some out of order
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(rnd.IntN(200)), byte(rnd.IntN(16)), 7}), uint16(1024+rnd.IntN(1000)))
			server := either(i%50 < 3, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(rnd.IntN(4)), byte(rnd.IntN(256))}), 27015), netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 1}), 27015))
			of := types[min(rnd.IntN(12), 1)^1]
			r := dissect.Record{
				Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: client, Dst: server, HopLimit: uint8(rnd.IntN(60)), IPID: uint16(i)}, WireLength: 25, Proven: i%40 == 5,
				Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}, Sources: []dissect.Source{{Data: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}},
			}
			a.Record(&r)
			after()
			x := dissect.Exchange{Protocol: p, Type: of, Time: at, Src: client, Dst: server, Requests: 1, RequestBytes: 25, Outcome: dissect.OutcomeUnanswered}
			if rnd.IntN(3) == 0 {
				x.Outcome, x.Replies, x.ReplyBytes = dissect.OutcomeAnswered, 1, 100
				reply := dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: server, Dst: client}, WireLength: 100, Message: dissect.Message{Type: p.Catalog.Messages()[2]}, RequestFrame: 1}
				a.Record(&reply)
				after()
			} else if rnd.IntN(9) == 0 {
				x.Proof, x.Outcome = dissect.Unreturned, dissect.OutcomeChallenged
			} else if n := rnd.IntN(30); n < 5 {
				x.Outcome = []dissect.Outcome{dissect.OutcomePartial, dissect.OutcomeElsewhere, dissect.OutcomeRefused, dissect.OutcomeRepeated, dissect.OutcomeLate}[n]
				x.ByReply, x.From = i%2 == 0, netip.AddrPortFrom(server.Addr(), 27016)
			}
			if asked = append(asked, x); len(asked) > 300 {
				a.Exchange(&asked[len(asked)-300])
				after()
			}
		}
		a.Record(&dissect.Record{Protocol: another, Datagram: &dissect.Datagram{Time: start, Src: asked[0].Src, Dst: netip.MustParseAddrPort("198.52.0.1:27015")}, Message: dissect.Message{Type: ask, Pair: dissect.Pair{Asks: 1}}})
		return Collect(slices.Values([]*Aggregate{a}), dissect.Stats{}).AppendBinary(nil)
	}
	summed, single := play(false), play(true)
	if !bytes.Equal(summed, single) {
		t.Errorf("%d bytes of counts, and %d bytes of others one by one", len(summed), len(single))
	}
	s := must.Get(UnmarshalBinary(summed, []*dissect.Protocol{p, another}, nil))(t)
	if requests, replies, unanswered := s.Messages(); requests != 20_001 || replies < 6000 || unanswered < 9000 {
		t.Errorf("%d requests, %d replies, %d unanswered", requests, replies, unanswered)
	}
	servers := s.Sum().Report(Options{Servers: 2000}).Servers
	if i := slices.IndexFunc(servers, func(v Server) bool { return v.Address == "198.52.0.1:27015" }); i < 0 || servers[i].Protocol != "q" || servers[0].Protocol != "p" {
		t.Errorf("%d of %d, of %s, speaks another protocol", i, len(servers), servers[0].Protocol)
	}
}

// TestBackAgain: what became of a request that came before its server was forgotten does not count for the server that came back.
func TestBackAgain(t *testing.T) {
	a, p, of := New(), &dissect.Protocol{Name: "p"}, &dissect.MessageType{Name: "info", Role: dissect.Request}
	client := netip.MustParseAddrPort("20.1.2.3:1024")
	ask := func(second int64, n int) *dissect.Exchange {
		at, server := time.Unix(second, 0), netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 27015)
		a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: client, Dst: server}, WireLength: 25, Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}})
		return &dissect.Exchange{Protocol: p, Type: of, Time: at, Src: client, Dst: server, Requests: 1, Outcome: dissect.OutcomeUnanswered}
	}
	before := ask(10, 0)
	for n := range 4 * maxServers {
		ask(20, n+1)
	}
	for i, x := range []*dissect.Exchange{before, ask(30, 0)} {
		a.Exchange(x)
		if e := a.known(&x.Dst); e.err == 0 || e.v.fates[dissect.OutcomeUnanswered] != uint64(i) {
			t.Errorf("after %d: %+v", i, e.v.fates)
		}
	}
}

// TestSendings: the sendings that share an exchange count at their times, and not all at that of the first.
func TestSendings(t *testing.T) {
	a, p := New(), &dissect.Protocol{Name: "p", Catalog: dissect.NewCatalog("p")}
	of := p.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request})
	at, client, server := time.Unix(1000, 0), netip.MustParseAddrPort("20.1.2.3:80"), netip.MustParseAddrPort("198.51.100.1:27015")
	for i := range 3000 {
		a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at.Add(time.Duration(i) * time.Second / 300), Src: client, Dst: server}, WireLength: 25, Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}})
	}
	for i := range 2 {
		first := at.Add(time.Duration(i) * 5 * time.Second)
		a.Exchange(&dissect.Exchange{
			Protocol: p, Type: of, Time: first, Newest: first.Add(5*time.Second - 1), Src: client, Dst: server, Requests: 1500, Repeated: 1499, RequestBytes: 1500 * 25, Outcome: dissect.OutcomeUnanswered,
		})
	}
	a.endRuns()
	seconds := 0
	a.known(&server).v.more.known()[0].ticks.in(func(from, to int64, k *tick) {
		if seconds++; to-from != int64(time.Second) || k.by[unproven] != 300 || k.in != 300*(25+28) {
			t.Errorf("%d requests with %d bytes in %s", k.by[unproven], k.in, time.Duration(to-from))
		}
	})
	if seconds != 10 {
		t.Errorf("%d seconds", seconds)
	}
}
