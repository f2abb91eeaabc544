package stats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/coder"
	"github.com/qdissect/qdissect/internal/must"
)

// TestKindLost: of how many requests of a kind a loss is said, and how surely.
func TestKindLost(t *testing.T) {
	for _, c := range []struct {
		good, n, othersGood, others uint64
		want                        Certainty
	}{
		{0, 2, 100, 100, ""}, {0, 3, 100, 100, Possible}, {0, 4, 100, 100, Possible}, {0, 5, 100, 100, Likely}, // one more is sure
		{1, 4, 100, 100, ""}, {2, 6, 100, 100, Likely}, {3, 6, 100, 100, ""}, // half of them
		{0, 3, 95, 100, Possible}, {0, 3, 94, 100, ""}, {0, 5, 94, 100, Likely}, // others are lost as well
		{0, 4, 5, 5, Possible}, {0, 3, 5, 5, ""}, {0, 4, 4, 4, ""}, {0, 9, 0, 0, ""}, // few others: once in 1/7^n
		{0, 10, 51, 100, Likely}, {0, 10, 50, 100, ""}, {1, 10, 51, 100, ""}, // 5.1 of 10, and three times 1.58 less
	} {
		if got := kindLost(c.good, c.n, c.othersGood, c.others, 0, 0); got != c.want {
			t.Errorf("%d of %d, of others %d of %d: %q, want %q", c.good, c.n, c.othersGood, c.others, got, c.want)
		}
	}
	if kindLost(75, 100, 200, 200, 200, 200) != Likely || kindLost(75, 100, 200, 200, 200, 260) != "" || kindLost(75, 100, 200, 200, 90, 200) != "" {
		t.Error("a kind of which three quarters are answered: others have to be at once, and as many of them")
	}
}

// TestLimits: which series of requests with answers show a limit, and which one.
func TestLimits(t *testing.T) {
	same := func(n int, asked, good uint32) (list []beat) {
		for range n {
			list = append(list, beat{asked: asked, good: good})
		}
		return list
	}
	mixed := func(few, many, less, more uint32) (list []beat) { // twenty, of each number with each
		for i := range 20 {
			list = append(list, beat{asked: []uint32{few, many}[i/2%2], good: []uint32{less, more}[i%2]})
		}
		return list
	}
	for _, c := range []struct {
		name string
		list []beat
		row  bool
		want float64
	}{
		{"five", same(5, 20, 10), false, 10},
		{"four", same(4, 20, 10), false, 0},
		{"three answers each", same(5, 12, 3), false, 3},
		{"two answers each", same(5, 12, 2), false, 0},
		{"three without one", same(5, 15, 12), false, 12},
		{"two without one", same(5, 12, 10), false, 0},
		{"1.2 times as many as are answered", same(5, 24, 20), false, 20},
		{"hardly as many", same(5, 23, 20), false, 0},
		{"in a row, without the first and the last", same(7, 20, 10), true, 10},
		{"too short a row", same(6, 20, 10), true, 0},
		{"a row that ends early", append(same(7, 20, 10), same(3, 0, 0)...), true, 10},
		{"interrupted", slices.Concat(same(4, 20, 10), same(1, 9, 9), same(5, 20, 10)), true, 10},
		{"always half", []beat{{asked: 20, good: 10}, {asked: 40, good: 20}, {asked: 60, good: 30}, {asked: 80, good: 40}, {asked: 100, good: 50}}, false, 0},
		{"9 or 11 of 20 or 60", mixed(20, 60, 9, 11), false, 10}, // a spread of 20, of which chance has 150
		{"7 or 13 of 20 or 60", mixed(20, 60, 7, 13), false, 0},
		{"9 or 11 of 40", mixed(40, 40, 9, 11), false, 10},
		{"9 of 36 or 11 of 44", slices.Concat(same(10, 36, 9), same(10, 44, 11)), false, 0},
	} {
		if got := limitOf(c.list, c.row, 1); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// TestWithout: what is known of forged requests is taken away from what is seen, and never more than there is.
func TestWithout(t *testing.T) {
	for _, c := range []struct {
		requests   float64
		hops, nets [3]uint32
	}{
		{0, [3]uint32{80, 10, 10}, [3]uint32{40, 40, 20}},
		{50, [3]uint32{30, 10, 10}, [3]uint32{20, 20, 10}},
		{88, [3]uint32{0, 10, 10}, [3]uint32{4, 4, 2}}, // nine tenths of 88 may have the hop limit of 80
		{89, [3]uint32{8, 1, 1}, [3]uint32{4, 4, 2}},
		{100, [3]uint32{}, [3]uint32{}},
		{200, [3]uint32{}, [3]uint32{}},
	} {
		l := looks{n: 100}
		for i := range 3 {
			l.hops[50+i], l.nets[30+i] = [3]uint32{80, 10, 10}[i], [3]uint32{40, 40, 20}[i]
		}
		l.without(c.requests, nil)
		if hops, nets := [3]uint32(l.hops[50:]), [3]uint32(l.nets[30:]); hops != c.hops || nets != c.nets {
			t.Errorf("without %g: hop limits %d, networks %d, want %d and %d", c.requests, hops, nets, c.hops, c.nets)
		}
	}
}

// TestLearnedFlood: requests of a flood that came in seconds that looked calm are no evidence of what is usual.
func TestLearnedFlood(t *testing.T) {
	a := New()
	a.first, a.last = 0, 100e9
	for requests, want := range map[float64]int{1000: 1, 1050: 1, 1051: 0, 606: 0} { // too few are left, or hardly any are missing
		m := &more{hot: bursts{{looks: looks{n: 600}}}, calm: looks{n: 500}}
		m.hot[0].hops[47], m.calm.hops[47], m.calm.hops[60] = 600, 450, 50
		ev := event{server: &entry[server]{v: server{tally: tally{more: m}}}, to: 1e9, requests: requests}
		if (&reporting{a: a}).weighEvidence(&ev, nil); ev.strong != want {
			t.Errorf("of %g requests: %q", requests, ev.because)
		}
	}
}

// TestCutDatagrams: a datagram that the capture holds in part is noted if the server of the report sent or got it.
func TestCutDatagrams(t *testing.T) {
	server, client, other := netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("192.0.2.2:4000")
	for _, c := range []struct {
		from, to     netip.AddrPort
		missing, has int
		want         [2]uint64 // cut, and too short to be read
	}{
		{client, server, 0, 5, [2]uint64{0, 0}}, {client, server, 1, 5, [2]uint64{1, 1}}, {server, client, 1, 5, [2]uint64{1, 1}}, {client, other, 1, 5, [2]uint64{0, 1}},
		{client, server, 1, mostHead - 1, [2]uint64{1, 1}}, {client, server, 1, mostHead, [2]uint64{1, 0}},
	} {
		f := newFocus(server.Addr(), new(masters))
		f.foreign(&dissect.Unknown{Datagram: &dissect.Datagram{Src: c.from, Dst: c.to, Missing: c.missing, Payload: make([]byte, c.has)}})
		if got := [2]uint64{f.partial.n, f.beside.n}; got != c.want {
			t.Errorf("%d bytes from %s to %s, %d are missing: %d, want %d", c.has, c.from, c.to, c.missing, got, c.want)
		}
	}
}

// TestAllServers: without an address, there is an answer for each server that was asked; with one, there is always one, and of the busiest ports.
func TestAllServers(t *testing.T) {
	const ports = maxAnswers + 5
	list := sent(10*ports, 0, 40, func(i int, x *made) { x.from, x.to = person(i), fmt.Sprintf("198.51.100.10:%d", 27015+i%ports) })
	all := play(list, "198.51.100.10")
	for _, c := range []struct {
		of   *Aggregate
		at   string
		want int
	}{
		{all, "198.51.100.10:0", maxAnswers}, {all, "198.51.100.10:27016", 1}, {all, "198.51.100.10:5", 1}, {all, "198.51.100.99:0", 1},
		{all, "", ports}, {NewFocused(netip.Addr{}), "", 0}, {NewFocused(netip.MustParseAddr("198.51.100.10")), "198.51.100.10:0", 1},
	} {
		at := netip.AddrPort{}
		if c.at != "" {
			at = netip.MustParseAddrPort(c.at)
		}
		if got := c.of.Why(at, Options{}); len(got) != c.want {
			t.Errorf("%d answers about %q, want %d", len(got), c.at, c.want)
		}
	}
}

// TestHidden: a report whose addresses are replaced says the same of what stands for them, and nothing else of them.
func TestHidden(t *testing.T) {
	list := slices.Concat(evening(60), sent(600, 20, 30, func(i int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven }),
		sent(160, 10, 16, func(i int, x *made) { x.from, x.port, x.back = fmt.Sprintf("203.0.114.%d", 1+i%8), 80, 300 }))
	report := func(o Options) *Report {
		o.Home, o.Rows = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, 4
		return play(list, "198.51.100.10").Report(o)
	}
	replace := func(a netip.Addr) netip.Addr { // the order stays
		b := a.As4()
		b[0] = 100 + b[0]/2
		return netip.AddrFrom4(b)
	}
	plain, got := report(Options{}), report(Options{Hide: &Hiding{Addr: replace}})
	plain.Unclear = append(plain.Unclear, hidden)
	want := strings.NewReplacer("198.51.", "199.51.", "203.0.", "201.0.", `"24.`, `"112.`, " 24.", " 112.").Replace(string(must.Get(json.MarshalIndent(plain, "", " "))(t)))
	if d := gocmp.Diff(want, string(must.Get(json.MarshalIndent(got, "", " "))(t))); d != "" {
		t.Error(d)
	}
}

// TestParts: what is counted in parts, as live captures are, is the same as what is counted in one.
func TestParts(t *testing.T) {
	list := slices.Concat(evening(60), sent(600, 20, 30, func(i int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven }))
	records := slices.SortedStableFunc(slices.Values(list), func(a, b made) int { return int(1e9*a.at) - int(1e9*b.at) })
	p := &dissect.Protocol{Name: "p", Catalog: dissect.NewCatalog("p")}
	ask := p.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request})
	tell := p.Catalog.Message(dissect.MessageType{Name: "reply", Role: dissect.Reply})
	start := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	report := func(parts int) string {
		a, sum := New(), NewShards()
		fold := func() { sum.Join(Collect(slices.Values([]*Aggregate{a}), dissect.Stats{})) }
		for i, x := range records {
			at, src, dst := start.Add(time.Duration(x.at*1e9)), netip.AddrPortFrom(netip.MustParseAddr(x.from), 40000), netip.AddrPortFrom(netip.MustParseAddr(x.to), 27015)
			r := dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Frame: uint64(i), Time: at, Src: src, Dst: dst, HopLimit: x.hops}, WireLength: 25, Proven: x.proof == dissect.Proven, Message: dissect.Message{Type: ask, Pair: dissect.Pair{Asks: 1}}}
			a.Record(&r)
			if parts > 1 && i%(len(records)/parts) == 7 { // its reply comes in the next
				n := a.Next(nil)
				fold()
				a = n
			}
			a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Frame: uint64(i), Time: at, Src: dst, Dst: src}, WireLength: 100, Message: dissect.Message{Type: tell}, RequestFrame: 1, TimeKnown: true, RTT: time.Millisecond})
			a.Exchange(&dissect.Exchange{Protocol: p, Type: ask, Time: at, Src: src, Dst: dst, Requests: 1, RequestBytes: 25, Replies: 1, ReplyBytes: 100, Proof: x.proof})
		}
		fold()
		r := sum.Sum().Report(Options{Rows: 4})
		for i := range r.Clients {
			r.Clients[i].ByInterval = nil // at which times they asked is known less exactly
		}
		return string(must.Get(json.MarshalIndent(r, "", " "))(t))
	}
	if d := gocmp.Diff(report(1), report(6)); d != "" {
		t.Errorf("-one +six\n%s", d)
	}
}

// TestBeginnings: what is said just where it begins to be, or from what is seldom known.
func TestBeginnings(t *testing.T) {
	victim := func(ofOther int) []made { // in whose name 100 are asked, some of them for something else
		return slices.Concat(evening(60), sent(100, 10, 10, func(i int, x *made) {
			x.from, x.port, x.back, x.to = "203.0.113.77", 80, 300, fmt.Sprintf("198.51.100.%d", 10+i%4)
			if i < ofOther {
				x.of = 1
			}
		}))
	}
	flood := func(f func(i int, x *made)) []made {
		people := sent(300, 0, 5, func(i int, x *made) {
			x.from, x.hops, x.port, x.id = person(i), uint8(40+i%20), uint16(1024+i*17%60000), uint16(i*4001)
		})
		return append(people, sent(400, 30, 80, func(i int, x *made) {
			x.from, x.hops, x.port = person(5000+i), uint8(40+i%20), uint16(1024+i*31%60000)
			f(i, x)
		})...)
	}
	victims := func(single int) []made { // of which some are a network
		return slices.Concat(evening(60), sent(150*single, 20, 15*float64(single), func(i int, x *made) {
			x.from, x.port, x.hops, x.back = somebody(70_000+i%single), 80, 47, 300
		}), sent(160, 20, 16, func(i int, x *made) { x.from, x.port, x.back = fmt.Sprintf("203.0.113.%d", 1+i%8), 80, 300 }))
	}
	hours := func(silent func(at float64) bool) []made {
		return sent(2400, 0, 1./30, func(i int, x *made) {
			if x.from, x.proof = person(i), dissect.Proven; silent(x.at) {
				x.silent, x.outcome, x.proof = true, dissect.OutcomeUnanswered, dissect.Unproven
			}
		})
	}
	for _, c := range []struct {
		name      string
		play      []made
		want, not string
	}{
		{"nine tenths of one kind", victim(10), "likely Reflection at 203.0.113.77: 100 p info requests", "Nothing unusual"},
		{"less than nine tenths", victim(11), "certain Nothing unusual", "Reflection"},
		{"identifications 256 apart", flood(func(i int, x *made) { x.id = uint16(i * 256) }), "that their IP identifications count up as those of one machine do", "Nothing unusual"},
		{"identifications 257 apart", flood(func(i int, x *made) { x.id = uint16(i * 257) }), "Crowd or forged at 198.51.100.10:27015: 400 p info requests", "identifications"},
		{"six victims and a network", victims(6), "Reflection at 135.181.127.115: 150", "Greedy"},
		{"eight victims and a network", victims(8), "Reflection at 203.0.113.0/24: 160", "Reflection at 135"},
		{"an hour of twenty", hours(func(at float64) bool { return at >= 36_600 && at < 40_200 }), "did not reply for 60.2 min, from 05:09:50 UTC to 06:10:00 UTC: none of about 120 requests got a reply.", "Nothing unusual"},
		{"long replies, and one from elsewhere", slices.Concat(evening(60), sent(21, 0, 1, func(i int, x *made) {
			if x.from, x.of = person(i), 1; i == 20 {
				x.silent, x.outcome = true, dissect.OutcomeElsewhere
			} else if i%2 == 0 {
				x.outcome = dissect.OutcomePartial
			}
		})), "certain Long replies lost: 198.51.100.10:27015", "Cannot tell"},
	} {
		got := ""
		for _, v := range play(c.play, "198.51.100.10").Report(Options{Rows: 1}).Verdicts {
			got += string(v.Certainty) + " " + v.Text + "\n"
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s\nwant %s, not %s", c.name, got, c.want, c.not)
		}
	}
}

// TestHeard: what several captures know of a server is the same in any order.
func TestHeard(t *testing.T) {
	a, b := keyOf(netip.MustParseAddr("198.51.100.12"), 27016), keyOf(netip.MustParseAddr("198.51.100.13"), 27016)
	list := []heard{{icmp: "the port is closed", icmpFrame: 5, cut: 1}, {from: b, unread: 2}, {icmp: "no route", icmpFrame: 9, large: 3}, {from: a, bounced: 4}}
	for from := range list {
		var sum heard
		for i := range list {
			sum.merge(&list[(from+i)%len(list)])
		}
		if sum != (heard{icmp: "no route", icmpFrame: 9, from: a, cut: 1, unread: 2, large: 3, bounced: 4}) {
			t.Errorf("from %d on: %+v", from, sum)
		}
	}
}

// TestImpossible: the first and the last address of what RFC 6890 takes out of the internet, and those beside them.
func TestImpossible(t *testing.T) {
	for s, want := range map[string]bool{
		"0.0.0.0": true, "0.255.255.255": true, "1.0.0.0": false, "9.255.255.255": false, "10.0.0.0": true, "10.255.255.255": true, "11.0.0.0": false, "100.64.0.1": false,
		"126.255.255.255": false, "127.0.0.0": true, "128.0.0.0": false, "169.253.255.255": false, "169.254.0.0": true, "169.255.0.0": false, "168.254.0.1": false,
		"172.15.255.255": false, "172.16.0.0": true, "172.31.255.255": true, "172.32.0.0": false, "173.16.0.1": false,
		"192.0.0.1": true, "192.0.1.1": false, "192.0.2.1": true, "192.0.3.1": false, "192.0.4.1": false, "192.1.0.1": false, "192.167.255.255": false, "192.168.0.0": true, "192.169.0.0": false,
		"198.17.255.255": false, "198.18.0.0": true, "198.19.255.255": true, "198.20.0.0": false, "198.51.99.1": false, "198.51.100.1": true, "198.51.101.1": false, "198.52.100.1": false,
		"203.0.112.1": false, "203.0.113.1": true, "203.0.114.1": false, "203.1.113.1": false, "223.255.255.255": false, "224.0.0.0": true, "255.255.255.255": true,
	} {
		if got := impossible(netip.MustParseAddr(s).As4()); got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
}

// TestHopLimits: from which share on one or two hop limits are those of few machines.
func TestHopLimits(t *testing.T) {
	type hops map[int]uint32
	all := func(values int, first uint32) hops { // one of each, and more of the first
		h := hops{20: first}
		for i := range values - 1 {
			h[21+i] = 1
		}
		return h
	}
	of := func(h hops) (l looks) {
		for at, n := range h {
			l.hops[at] = n
			l.n += uint64(n)
		}
		return l
	}
	for _, c := range []struct {
		hot, calm hops
		requests  float64
		want      string
	}{
		{hops{47: 80, 50: 10, 51: 10}, nil, 100, "80 % of the packets have the hop limit 47"},
		{hops{47: 79, 50: 11, 51: 10}, nil, 100, ""},
		{hops{0: 100}, nil, 100, ""}, {hops{0: 99, 47: 1}, nil, 100, ""}, // unknown
		{hops{0: 1, 47: 99}, nil, 100, "99 % of the packets have the hop limit 47"},
		{hops{47: 80, 50: 10, 51: 10}, hops{47: 65, 60: 35}, 100, "80 % of the packets have the hop limit 47"},
		{hops{47: 80, 50: 10, 51: 10}, hops{47: 66, 50: 10, 51: 10, 60: 14}, 100, ""},
		{hops{47: 80, 50: 10, 51: 10}, hops{47: 66, 60: 34}, 100, "90 % of the packets have the hop limit 47 or 50"},
		{hops{47: 80, 50: 20}, nil, 50, "100 % of the packets have the hop limit 47"}, // the others are no part of it
		{hops{47: 80, 50: 20}, hops{47: 50, 60: 50}, 80, "84 % of the packets have the hop limit 47"},
		{hops{30: 45, 47: 45, 50: 10}, hops{60: 100}, 100, "90 % of the packets have the hop limit 30 or 47"},
		{hops{30: 40, 47: 50, 50: 10}, hops{60: 100}, 100, "90 % of the packets have the hop limit 47 or 30"},
		{hops{30: 50, 47: 40, 50: 10}, hops{60: 100}, 100, "90 % of the packets have the hop limit 30 or 47"},
		{hops{30: 44, 47: 45, 50: 11}, hops{60: 100}, 100, ""},
		{hops{30: 45, 47: 45, 50: 10}, nil, 100, ""},
		{hops{30: 45, 47: 45, 50: 10}, hops{30: 37, 47: 38, 60: 25}, 100, "90 % of the packets have the hop limit 30 or 47"},
		{hops{30: 45, 47: 45, 50: 10}, hops{30: 38, 47: 38, 60: 24}, 100, ""},
		{all(200, 1), nil, 200, "their hop limits are made up"}, {all(199, 1), nil, 199, ""},
		{all(200, 10), nil, 209, "their hop limits are made up"}, {all(200, 11), nil, 210, ""}, // a twentieth
	} {
		hot, calm := of(c.hot), of(c.calm)
		if got, ok := hot.oneHop(&calm, calm.n > 0, c.requests, alike); got != c.want || ok != (c.want != "") {
			t.Errorf("%v, usually %v, %g requests: %q, want %q", c.hot, c.calm, c.requests, got, c.want)
		}
	}
}

// TestGlances: what each request adds to what is known of their looks.
func TestGlances(t *testing.T) {
	var l looks
	var payload uint64
	for _, c := range []struct {
		from       string
		id, before uint16
		port       uint16
		payload    uint64
		want       glance
		most       uint16 // the port that most have, and by how many more
		votes      int64
	}{
		{"24.10.1.2", 0, 9, 40000, 7, glance{50, 24, 40000, false, false, true}, 40000, 1},
		{"10.1.2.3", 10, 9, 65535, 7, glance{50, 10, 65535, true, true, true}, 40000, 0},
		{"24.10.1.2", 265, 9, 39999, 8, glance{50, 24, 39999, false, true, false}, 39999, 1},
		{"24.10.1.2", 266, 9, 41000, 0, glance{50, 24, 41000, false, false, false}, 39999, 0},
		{"24.10.1.2", 9, 9, 0, 7, glance{50, 24, 0, false, false, true}, 0, 1},
		{"24.10.1.2", 5, 65535, 1, 7, glance{50, 24, 1, false, true, true}, 0, 0},
		{"24.10.1.2", 0, 65535, 1, 7, glance{50, 24, 1, false, false, true}, 1, 1},
		{"2400:cb00:2048::1", 9, 9, 1, 7, glance{50, 0xcb, 1, false, true, true}, 1, 2}, // the third octet; of one network
		{"2001:db8::1", 0, 9, 1, 7, glance{50, 0x0d, 1, true, false, true}, 1, 3},
		{"2001:db9::1", 0, 9, 1, 7, glance{50, 0x0d, 1, false, false, true}, 1, 4},
		{"1fff::1", 0, 9, 1, 7, glance{50, 0, 1, true, false, true}, 1, 5},
		{"3fff::1", 0, 9, 1, 7, glance{50, 0, 1, false, false, true}, 1, 6},
		{"4000::1", 0, 9, 1, 7, glance{50, 0, 1, true, false, true}, 1, 7},
	} {
		m := message{other: keyOf(netip.MustParseAddr(c.from), 0), hops: 50, id: c.id, port: c.port, payload: c.payload}
		got := glanceAt(&m, c.before, &payload)
		if l.count(got, 1); got != c.want || l.port != c.most || l.votes != c.votes || payload != 7 {
			t.Errorf("%+v: %+v, port %d, votes %d, payload %d", c, got, l.port, l.votes, payload)
		}
	}
}

// TestSteadyClients: what clients send that ask one server all the time counts, if they send most of what it gets and it leaves much without a reply.
func TestSteadyClients(t *testing.T) {
	steady := func() *client { // one request a second for 100 s, half of them with a reply
		c := &client{requests: 100, lived: lived{began: true, first: 0, last: 100e9}, least: 4001, most: 4000, past: &past{replies: 50, peak: 5}}
		c.past.asks(77)
		return c
	}
	for _, c := range []struct {
		name               string
		change             func(c *client)
		requests, repeated uint64
		waited             uint64 // before they were sent again
		want               [2]uint64
	}{
		{"steady", func(*client) {}, 100, 10, 0, [2]uint64{100, 50}},
		{"hardly any is repeated", func(*client) {}, 100, 9, 0, [2]uint64{}},
		{"half of what comes", func(*client) {}, 200, 20, 0, [2]uint64{100, 50}},
		{"less than half", func(*client) {}, 201, 21, 0, [2]uint64{}},
		{"of another server", func(c *client) { c.servers = [8]uint64{0, 1} }, 100, 10, 0, [2]uint64{}},
		{"of two servers", func(c *client) { c.past.asks(78) }, 100, 10, 0, [2]uint64{}},
		{"of two ports", func(c *client) { c.most++ }, 100, 10, 0, [2]uint64{}},
		{"in bursts", func(c *client) { c.peak = 6 }, 100, 10, 0, [2]uint64{}},
		{"of ten", func(c *client) { c.requests, c.last, c.replies = 10, 10e9, 2 }, 20, 10, 0, [2]uint64{10, 2}},
		{"of nine", func(c *client) { c.requests, c.last, c.replies = 9, 9e9, 2 }, 18, 10, 0, [2]uint64{}},
		{"more replies than requests", func(c *client) { c.replies = 200 }, 100, 10, 0, [2]uint64{}},
		{"most have one", func(c *client) { c.replies = 80 }, 100, 10, 0, [2]uint64{100, 80}},
		{"sent again", func(c *client) { c.most++ }, 100, 30, 30, [2]uint64{100, 70}},
		{"sent again at once", func(c *client) { c.most++ }, 100, 30, 10, [2]uint64{}},
		{"sent again although there were replies", func(c *client) { c.most++ }, 100, 30, 60, [2]uint64{100, 70}},
		{"nearly all have one", func(c *client) { c.replies = 95 }, 100, 10, 0, [2]uint64{}},
	} {
		a, v := New(), steady()
		c.change(v)
		k := keyOf(netip.MustParseAddr("24.10.0.1"), 0)
		a.newClient(&k, k.hash()).v = *v
		e := &entry[server]{sum: 77}
		e.v.requests, e.v.fates[dissect.OutcomeAnswered], e.v.fates[dissect.OutcomeRepeated] = c.requests, c.requests-c.repeated, c.waited
		if own, heard, _ := a.sendings(e); [2]uint64{own, heard} != c.want {
			t.Errorf("%s: %d, %d of them with a reply, want %d", c.name, own, heard, c.want)
		}
	}
}

// TestRefusedCounts: counts that cannot be are refused with the reason, and those at the bounds are read.
func TestRefusedCounts(t *testing.T) {
	list := slices.Concat(evening(20), sent(200, 10, 30, func(i int, x *made) {
		x.from, x.outcome, x.proof = somebody(i), dissect.OutcomeChallenged, dissect.Unreturned
	}))
	const start, end = 1773514800e9, 1773514819501e6 // in seconds, 19:00:00 to 19:00:19.501
	within := func(from, to int64, most uint64) *Bounds { return &Bounds{From: from, To: to, Most: most} }
	for _, c := range []struct {
		name   string
		change func(s *sums, a *Aggregate)
		within *Bounds
		want   string
	}{
		{"as they are", func(*sums, *Aggregate) {}, nil, ""},
		{"an error as large as a count", func(_ *sums, a *Aggregate) { e := &a.clients.entries[0]; e.err = e.count }, nil, ""},
		{"a larger error", func(_ *sums, a *Aggregate) { e := &a.clients.entries[0]; e.err = e.count + 1 }, nil, "an error that is larger than its count"},
		{"a client twice", func(_ *sums, a *Aggregate) { a.clients.entries[1].key = a.clients.entries[0].key }, nil, "a key is there twice"},
		{"the last kind", func(s *sums, a *Aggregate) { a.clients.entries[0].v.own(&a.pasts).kinds[0].kind = uint16(len(s.kinds)) }, nil, ""},
		{"a kind that is not there", func(s *sums, a *Aggregate) {
			a.clients.entries[0].v.own(&a.pasts).kinds[0].kind = uint16(len(s.kinds)) + 1
		}, nil, "an index that points nowhere"},
		{"a protocol that is not there", func(s *sums, a *Aggregate) { a.servers.entries[0].v.protocol = uint16(len(s.protocols)) + 1 }, nil, "an index that points nowhere"},
		{"another protocol", func(s *sums, _ *Aggregate) { s.kinds[0].protocol = "zzz" }, nil, `the message info of "zzz" is not known here`},
		{"a kind twice", func(s *sums, _ *Aggregate) { s.kinds = append(s.kinds, s.kinds[0]) }, nil, "a kind of request is there twice"},
		{"all bytes alike", func(s *sums, _ *Aggregate) { s.kinds[0].alike = 16 }, nil, ""},
		{"more than all bytes", func(s *sums, _ *Aggregate) { s.kinds[0].alike = 17 }, nil, "too many common bytes"},
		{"a challenge at the end", func(s *sums, _ *Aggregate) { s.kinds[0].token = token{at: 5, length: 9} }, nil, ""},
		{"a challenge after the end", func(s *sums, _ *Aggregate) { s.kinds[0].token = token{at: 6, length: 9} }, nil, "a challenge after the end of its message"},
		{"a start after all times", func(s *sums, _ *Aggregate) { s.moments.start = 1 << 62 }, nil, "a time line outside of time"},
		{"a start before all times", func(s *sums, _ *Aggregate) { s.moments.start = -1 << 62 }, nil, "a time line outside of time"},
		{"too many buckets", func(s *sums, _ *Aggregate) { s.moments.buckets = make([]moment, s.moments.most+1) }, nil, "too many buckets"},
		{"within bounds", func(*sums, *Aggregate) {}, within(start, end, 1<<40), ""},
		{"before them", func(*sums, *Aggregate) {}, within(start+1, end, 1<<40), "a time or a number is out of bounds"},
		{"after them", func(*sums, *Aggregate) {}, within(start, end-1e6, 1<<40), "a time or a number is out of bounds"},
		{"above them", func(*sums, *Aggregate) {}, within(start, end, 1000), "a time or a number is out of bounds"},
		{"an early time line", func(s *sums, _ *Aggregate) { s.moments.start -= 9 }, within(start, end, 1<<40), "a time or a number is out of bounds"},
		{"a late time line", func(s *sums, _ *Aggregate) { s.moments.start += 40 }, within(start, end, 1<<40), "a time or a number is out of bounds"},
	} {
		played := play(list, "198.51.100.10")
		s := Collect(slices.Values([]*Aggregate{played}), dissect.Stats{})
		var known []*dissect.Protocol
		for _, k := range s.sums.kinds[:1] {
			known = append(known, &dissect.Protocol{Name: k.protocol, Catalog: dissect.NewCatalog(k.protocol)})
			known[0].Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request})
		}
		c.change(s.sums, s.list[0])
		w := codec{Coder: &coder.Coder{}}
		s.code(&w)
		read, err := UnmarshalBinary(w.B, known, c.within)
		if err = cmp.Or(w.Err, err); err == nil && !bytes.Equal(read.AppendBinary(nil), w.B) {
			t.Errorf("%s: what was read is not what was written", c.name)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestMasters: heartbeats since a master sent something are those of the newest part in which it did, and of later ones.
func TestMasters(t *testing.T) {
	from, to := netip.MustParseAddr("198.51.100.10"), netip.MustParseAddrPort("203.0.113.5:27010")
	part := func(since, sent uint64) *focus {
		f := newFocus(from, new(masters))
		m := f.add(from, to)
		m.since, m.sent.n = since, sent
		return f
	}
	for _, c := range []struct {
		first, second *focus
		since, sent   uint64
	}{
		{part(3, 0), part(2, 0), 5, 0}, {part(3, 0), part(2, 1), 2, 1}, {part(3, 1), part(2, 0), 5, 1}, {part(3, 4), part(0, 2), 0, 6},
	} {
		c.first.masters.merge(c.second.masters)
		if m := c.first.masters.list[0]; m.since != c.since || m.sent.n != c.sent {
			t.Errorf("%d since, %d sent, want %d and %d", m.since, m.sent.n, c.since, c.sent)
		}
	}
}

// TestNoKind: replies to a kind of request that a damaged file of counts does not name are those of none.
func TestNoKind(t *testing.T) {
	s := &server{kinds: [6]asked{{kind: 1, good: 1}, {good: 3}}}
	if got := (&reporting{a: play(evening(5), "")}).speaks(s); len(got) != 1 || !got["p"] {
		t.Errorf("%v", got)
	}
}

// TestFewOfMany: of what was forgotten in a part, as much may be missing of others there, so that those with few requests are left out of the sum.
func TestFewOfMany(t *testing.T) {
	p, ask := &dissect.Protocol{Name: "p"}, &dissect.MessageType{Name: "info", Role: dissect.Request}
	client, server := netip.MustParseAddrPort("24.10.0.1:40000"), netip.MustParseAddrPort("198.51.100.10:27015")
	for _, c := range []struct {
		requests, forgotten uint64
		want                int
	}{
		{leastKept - 1, 0, 1}, {leastKept - 1, 1, 0}, {leastKept, 1, 1}, {1, 0, 1},
	} {
		part, sum := New(), New()
		for i := range c.requests {
			part.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: time.Unix(int64(i), 0), Src: client, Dst: server}, WireLength: 25, Message: dissect.Message{Type: ask, Pair: dissect.Pair{Asks: 1}}})
		}
		part.endRuns()
		part.clients.gone, part.servers.gone = c.forgotten, c.forgotten
		sum.Merge(part)
		if clients, servers := len(sum.clients.entries), len(sum.servers.entries); clients != c.want || servers != c.want {
			t.Errorf("%d requests, %d forgotten: %d clients and %d servers, want %d", c.requests, c.forgotten, clients, servers, c.want)
		}
	}
}

// TestElsewhere: another end that replies to what a server is asked is known; a request that a reply refuses got an answer, without data.
func TestElsewhere(t *testing.T) {
	p, ask := &dissect.Protocol{Name: "p"}, &dissect.MessageType{Name: "info", Role: dissect.Request}
	client, server, other := netip.MustParseAddrPort("24.10.0.1:40000"), netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("198.51.100.12:27016")
	for _, c := range []struct {
		outcome dissect.Outcome
		byReply bool
		from    netip.AddrPort
		counts  dissect.Outcome
		want    key
	}{
		{dissect.OutcomeElsewhere, false, other, dissect.OutcomeElsewhere, keyOf(other.Addr(), other.Port())},
		{dissect.OutcomeUnanswered, false, netip.AddrPort{}, dissect.OutcomeUnanswered, key{}},
		{dissect.OutcomeRefused, false, netip.AddrPort{}, dissect.OutcomeRefused, key{}},
		{dissect.OutcomeRefused, true, netip.AddrPort{}, dissect.OutcomeChallenged, key{}}, // it got no more than that
	} {
		a, at := New(), time.Unix(1000, 0)
		a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: client, Dst: server}, WireLength: 25, Message: dissect.Message{Type: ask, Pair: dissect.Pair{Asks: 1}}})
		a.Exchange(&dissect.Exchange{Protocol: p, Type: ask, Time: at, Src: client, Dst: server, From: c.from, Requests: 1, RequestBytes: 25, Outcome: c.outcome, ByReply: c.byReply})
		a.endRuns()
		var got key
		v := &a.known(&server).v
		if v.heard != nil {
			got = v.heard.from
		}
		if got != c.want || v.fates[c.counts] != 1 {
			t.Errorf("%v, by a reply %v: from %+v, %v, want %+v and %v", c.outcome, c.byReply, got, v.fates, c.want, c.counts)
		}
	}
}

// TestEndedAlike: requests that end as the one before are counted at once, or later from the queue, with the same result.
func TestEndedAlike(t *testing.T) {
	p, ask := &dissect.Protocol{Name: "p"}, &dissect.MessageType{Name: "info", Role: dissect.Request}
	server, random := netip.MustParseAddrPort("198.51.100.10:27015"), rand.New(rand.NewPCG(1, 1))
	now, later, atOnce := New(), New(), 0
	for i := range 2000 {
		at, n := time.Unix(1000, int64(i)*20e6), 1+random.IntN(3)
		client := netip.AddrPortFrom(netip.MustParseAddr(person(i/8)), 40000)
		x := dissect.Exchange{Protocol: p, Type: ask, Time: at, Newest: at, Src: client, Dst: server, Requests: n, Repeated: random.IntN(n), RequestBytes: 25 * n, Outcome: dissect.OutcomeUnanswered, Proof: dissect.Proof(i / 300 % 4)}
		if random.IntN(9) > 0 {
			x.Replies, x.ReplyBytes, x.Outcome = 1+random.IntN(2), random.IntN(900), dissect.OutcomeAnswered
		}
		if random.IntN(9) == 0 {
			x.Newest = at.Add(time.Duration(random.IntN(3)) * time.Second / 2)
		}
		for _, a := range []*Aggregate{now, later} {
			a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: client, Dst: server}, WireLength: 25, Message: dissect.Message{Type: ask, Pair: dissect.Pair{Asks: 1}}})
			if a == now && a.ending.to > at.UnixNano() {
				atOnce++
			}
			y := x
			if a.Exchange(&y); a == now {
				a.count()
			}
		}
	}
	of := func(a *Aggregate) []byte {
		return Collect(slices.Values([]*Aggregate{a}), dissect.Stats{}).AppendBinary(nil)
	}
	if atOnce < 500 || !bytes.Equal(of(now), of(later)) {
		t.Errorf("what is counted at once, %d times, is not what is counted later", atOnce)
	}
}
