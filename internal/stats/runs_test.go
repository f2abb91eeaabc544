package stats

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

// TestRuns: requests that are added up before they are counted give the same counts as those that are counted one by one, whatever
// comes between them.
func TestRuns(t *testing.T) {
	p := &dissect.Protocol{Name: "p", Catalog: dissect.NewCatalog("p")}
	types := []*dissect.MessageType{p.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request}), p.Catalog.Message(dissect.MessageType{Name: "rules", Title: "rules request", Role: dissect.Request})}
	p.Catalog.Message(dissect.MessageType{Name: "reply", Role: dissect.Reply})
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
			at := start.Add(time.Duration(i) * 700 * time.Microsecond)
			if i%97 == 0 {
				at = at.Add(-3 * time.Millisecond) // out of order
			}
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(rnd.IntN(200)), byte(rnd.IntN(16)), 7}), uint16(1024+rnd.IntN(1000)))
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 1}), 27015)
			if i%50 < 3 {
				server = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(rnd.IntN(4)), byte(rnd.IntN(256))}), 27015)
			}
			of := types[min(rnd.IntN(12), 1)^1]
			r := dissect.Record{
				Protocol: p, Time: at, Src: client, Dst: server, WireLength: 25, HopLimit: uint8(rnd.IntN(60)), IPID: uint16(i), Proven: i%40 == 5,
				Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}, Sources: []dissect.Source{{Data: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}},
			}
			a.Record(&r)
			after()
			x := dissect.Exchange{Protocol: p, Type: of, Time: at, Src: client, Dst: server, Requests: 1, RequestBytes: 25, Outcome: dissect.OutcomeUnanswered}
			if rnd.IntN(3) == 0 {
				x.Outcome, x.Replies, x.ReplyBytes = dissect.OutcomeAnswered, 1, 100
				reply := dissect.Record{Protocol: p, Time: at, Src: server, Dst: client, WireLength: 100, Message: dissect.Message{Type: p.Catalog.Messages()[2]}, RequestFrame: 1}
				a.Record(&reply)
				after()
			} else if rnd.IntN(9) == 0 {
				x.Proof, x.Outcome = dissect.Unreturned, dissect.OutcomeChallenged
			} else if rnd.IntN(9) == 0 {
				x.Outcome = dissect.OutcomePartial
			}
			if asked = append(asked, x); len(asked) > 300 {
				a.Exchange(&asked[len(asked)-300])
				after()
			}
		}
		return Collect(slices.Values([]*Aggregate{a}), dissect.Stats{}).AppendBinary(nil)
	}
	summed, single := play(false), play(true)
	if !bytes.Equal(summed, single) {
		t.Errorf("%d bytes of counts, and %d bytes of others one by one", len(summed), len(single))
	}
	s := must.Get(UnmarshalBinary(summed, []*dissect.Protocol{p}, nil))(t)
	if requests, replies, unanswered := s.Messages(); requests != 20_000 || replies < 6000 || unanswered < 9000 {
		t.Errorf("%d requests, %d replies, %d unanswered", requests, replies, unanswered)
	}
}

// TestBackAgain: what became of a request that came before its server was forgotten does not count for the server that came back.
func TestBackAgain(t *testing.T) {
	a, p, of := New(), &dissect.Protocol{Name: "p"}, &dissect.MessageType{Name: "info", Role: dissect.Request}
	client := netip.MustParseAddrPort("20.1.2.3:1024")
	ask := func(second int64, n int) *dissect.Exchange {
		at, server := time.Unix(second, 0), netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 27015)
		a.Record(&dissect.Record{Protocol: p, Time: at, Src: client, Dst: server, WireLength: 25, Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}})
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
		a.Record(&dissect.Record{Protocol: p, Time: at.Add(time.Duration(i) * time.Second / 300), Src: client, Dst: server, WireLength: 25, Message: dissect.Message{Type: of, Pair: dissect.Pair{Asks: 1}}})
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
