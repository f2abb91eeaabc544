package stats

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// TestFocus: whatever comes to an address is counted in bounded memory, and a port that replies has a place.
func TestFocus(t *testing.T) {
	server, client := netip.MustParseAddr("198.51.100.10"), netip.MustParseAddrPort("192.0.2.1:4000")
	p := &dissect.Protocol{Name: "p"}
	a := NewFocused(server)
	if a.Sibling().focus == nil || New().Sibling().focus != nil {
		t.Fatal("a sibling differs")
	}
	purposes := map[string]dissect.Purpose{"heartbeat": dissect.Heartbeat}
	send := func(from, to netip.AddrPort, name string, role dissect.Role) {
		a.Record(&dissect.Record{
			Protocol: p, Datagram: &dissect.Datagram{Src: from, Dst: to}, Findings: []dissect.Finding{{Type: &dissect.FindingType{ID: name, Severity: dissect.Warning}}},
			Message: dissect.Message{Type: &dissect.MessageType{Name: name, Title: name, Role: role, Purpose: purposes[name]}, Pair: dissect.Pair{Asks: 1}},
		})
	}
	for port := range uint16(1000) {
		send(client, netip.AddrPortFrom(server, 1+port), "request", dissect.Request)
		send(client, netip.AddrPortFrom(server, 1), fmt.Sprint("request ", port), dissect.Request)
		send(netip.AddrPortFrom(server, 1), netip.AddrPortFrom(client.Addr(), 1+port), "heartbeat", dissect.OneWay)
	}
	send(netip.AddrPortFrom(server, 5000), client, "reply", dissect.Reply)
	sum := NewFocused(server)
	sum.Merge(a)
	for _, f := range []*focus{a.focus, sum.focus} {
		if len(f.targets) != maxTargets || len(f.of) != maxTargets || len(f.masters.list) != maxMasters || f.at(netip.AddrPortFrom(server, 5000), false) == nil {
			t.Fatalf("%d servers, %d masters", len(f.targets), len(f.masters.list))
		}
		for _, p := range f.targets {
			if len(p.kinds) > maxOfPort || len(p.noted) > maxOfPort || len(p.askers) > maxAskers {
				t.Errorf("%d kinds, %d findings, %d askers", len(p.kinds), len(p.noted), len(p.askers))
			}
		}
	}
	if w := a.Why(netip.AddrPortFrom(server, 0), Options{})[0]; w.Server != "198.51.100.10:5000" {
		t.Errorf("%s: %s", w.Server, w.Text)
	}
}

// TestSeries: buckets hold all that was added, whatever the order and the span.
func TestSeries(t *testing.T) {
	for _, times := range [][]int64{{0, 1, 2}, {100, 0, 50}, {0, 1 << 20, 3}, {5000, 4999, 0, 1 << 33}, {-7, 9}} {
		var s, o series
		for _, sec := range times {
			s.add(sec*1e9, 2, 1)
			o.add(sec*1e9, 2, 1)
		}
		s.merge(&o)
		asked, good := uint32(0), uint32(0)
		for _, b := range s.buckets {
			asked, good = asked+b.asked, good+b.good
		}
		if n := uint32(len(times)); asked != 4*n || good != 2*n {
			t.Errorf("%v: %d asked, %d good", times, asked, good)
		}
	}
}

// TestMark: the sum has the first frames of the first capture, in any order.
func TestMark(t *testing.T) {
	var a, b, c mark
	a.add(1, 1, 5)
	b.add(2, 0, 9)
	b.add(1, 0, 12)
	c.add(1, 0, 3)
	for _, list := range [][]mark{{a, b, c}, {c, b, a}, {b, a, c}} {
		var sum mark
		for _, m := range list {
			sum.merge(&m)
		}
		if sum != (mark{5, 0, [3]uint64{3, 9, 12}}) {
			t.Errorf("%+v", sum)
		}
	}
	var x target
	for i := range byte(maxNames + 1) { // the last finds no room
		x.from(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, i}), 1)).add(1, 0, 1)
	}
	if x.elsewhere[0].n != 1 {
		t.Errorf("counts of another address: %+v", x.elsewhere)
	}
}

// TestLimitOf: what chance loses is hardly ever taken for a limit, nor is a share that is always the same; a limit is found where there is one.
func TestLimitOf(t *testing.T) {
	random, found := rand.New(rand.NewPCG(3, 4)), 0
	for range 1000 {
		share, rate := random.Float64()*.85, 10+random.IntN(50)
		var s series
		for i := range rate * (5 + random.IntN(60)) {
			good := either[uint32](random.Float64() < share, 1, 0)
			s.add(int64((float64(i)+random.Float64())*1e9)/int64(rate), 1, good)
		}
		x := facts{target: new(target), beats: s}
		if x.findLimit(nil, 0); x.limit > 0 {
			found++
		}
	}
	if found > 1 {
		t.Errorf("%d limits where there are none", found)
	}
	for _, c := range []struct {
		name string
		good func(second, i, asked int) bool
		want float64
	}{
		{"twenty", func(_, i, _ int) bool { return i < 20 }, 20},
		{"six", func(_, i, _ int) bool { return i < 6 }, 6},
		{"two thirds", func(_, i, asked int) bool { return 3*i < 2*asked }, 0},
		{"all", func(int, int, int) bool { return true }, 0},
		{"none", func(int, int, int) bool { return false }, 0},
	} {
		x := facts{target: new(target)}
		for second := range 30 {
			asked := 30 + random.IntN(40)
			for i := range asked {
				good := either[uint32](c.good(second, i, asked), 1, 0)
				x.beats.add(int64(second)*1e9+int64(i)*1e9/int64(asked), 1, good)
			}
		}
		if x.findLimit(nil, 0); math.Abs(x.limit-c.want) > 0.5 {
			t.Errorf("%s: %g per second, want %g", c.name, x.limit, c.want)
		}
	}
}

// TestStrays: what is sent to a port is judged by what comes back and by who sends it, whatever else comes to other ports.
func TestStrays(t *testing.T) {
	server, other := netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("198.51.100.10:443")
	client := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 30000)
	}
	type second struct {
		datagrams, replies, sources int
		dead, unasked               bool
	}
	calm, flood := second{}, second{1000, 0, 1000, false, false}
	players := second{1000, 500, 32, false, false}
	type play struct {
		seconds  []second // each ten times
		oneSided bool
		want     string
	}
	list := map[string]play{
		"forged":                   {[]second{calm, flood, calm}, false, JunkFlood},
		"forged, all the time":     {[]second{flood, flood, flood}, false, JunkFlood},
		"one source":               {[]second{calm, {1000, 0, 1, false, false}, calm}, false, JunkFlood},
		"one source after others":  {[]second{{10, 0, 1000, false, false}, {1000, 0, 1, false, false}, calm}, false, JunkFlood},
		"not asked meanwhile":      {[]second{{0, 0, 0, false, true}, {1000, 0, 8, false, true}, calm}, false, JunkFlood},
		"hardly any":               {[]second{calm, {19, 0, 1000, false, false}, calm}, false, ""},
		"a lonely player":          {[]second{calm, {66, 0, 1, false, false}, calm}, false, ""},
		"players":                  {[]second{calm, players, calm}, false, ""},
		"players, all the time":    {[]second{players, players, players}, false, ""},
		"beside players":           {[]second{{100, 50, 10, false, false}, {3000, 50, 3000, false, false}, {100, 50, 10, false, false}}, false, JunkFlood},
		"players of a dead server": {[]second{players, {1000, 0, 32, true, false}, {1000, 0, 32, true, false}}, false, ""},
		"one direction":            {[]second{calm, flood, calm}, true, JunkFlood},
		"players, one direction":   {[]second{calm, {1000, 0, 32, false, false}, calm}, true, ""},
	}
	for seed := range uint64(60) {
		random, x := rand.New(rand.NewPCG(seed, 4)), play{want: "any"}
		for range 1 + random.IntN(4) {
			n := []int{1, 10, 15 + random.IntN(12), 40, 100 + random.IntN(300)}[random.IntN(5)]
			y := second{n, random.IntN(1 + n*random.IntN(2)), []int{1, 2, 12, 20, 200, 1000}[random.IntN(6)], random.IntN(4) == 0, random.IntN(6) == 0}
			x.seconds, x.oneSided = append(x.seconds, y), random.IntN(3) == 0
		}
		list[fmt.Sprintf("of chance %02d", seed)] = x
	}
	said := new(Said)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		x := list[name]
		t.Run(name, func(t *testing.T) {
			s := New()
			p := &dissect.Protocol{Name: "p"}
			ask, tell := &dissect.MessageType{Name: "ask", Role: dissect.Request}, &dissect.MessageType{Name: "tell", Role: dissect.Reply}
			n := 0
			for i, x := range x.seconds {
				for sec := range 10 {
					at := time.Unix(int64(1000+10*i+sec), 0)
					asked := dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: client(60000), Dst: server}}
					asked.Type, asked.Pair.Asks = ask, 1
					if !x.unasked {
						s.Record(&asked)
					}
					for k := 0; x.unasked && k < maxMore; k++ { // others are
						asked.Dst = netip.AddrPortFrom(netip.MustParseAddr("198.51.100.11"), uint16(27000+k))
						s.Record(&asked)
					}
					if !x.dead && !x.unasked {
						told := dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Time: at, Src: server, Dst: client(60000)}}
						told.Type = tell
						s.Record(&told)
					}
					for k := range x.datagrams {
						from := either(x.sources >= 1000, client(n), client(n%max(x.sources, 1))) // never again
						n++
						at := at.Add(time.Duration(k) * time.Second / time.Duration(x.datagrams))
						foreign(s, at, from, server, 100)
						if k*x.replies/x.datagrams < (k+1)*x.replies/x.datagrams {
							foreign(s, at, server, from, 100)
						}
						from = client(k)
						foreign(s, at, from, other, 1200) // of a web server
						foreign(s, at, other, from, 1200)
						anywhere := netip.AddrPortFrom(client(n).Addr(), uint16(n))
						foreign(s, at, from, anywhere, 100)
					}
				}
			}
			shard := s
			s = New()
			s.Merge(shard)
			s.Settle(slices.Values([]*Aggregate{shard}), false)
			got := ""
			r := s.Report(Options{OneSided: x.oneSided})
			for _, v := range r.Verdicts {
				if v.Kind == JunkFlood {
					got = v.Kind
				}
			}
			fmt.Fprintf(said, "%s %v\n", name, x.seconds)
			said.Verdicts(r.Verdicts)
			if got != x.want && x.want != "any" {
				t.Errorf("%q, want %q: %s", got, x.want, fmt.Sprint(r.Verdicts))
			}
		})
	}
	said.Golden(t, "testdata/strays.txt")
}

// foreign counts a datagram with n bytes of payload that no protocol recognises.
func foreign(a *Aggregate, at time.Time, src, dst netip.AddrPort, n int) {
	from, to := endpoint.Of(src), endpoint.Of(dst)
	a.Foreign(at.UnixNano(), &from, &to, n, 1, false)
}

// TestListed: servers that verdicts name stand in the list, in their order, and displace those at its end.
func TestListed(t *testing.T) {
	for name, c := range map[string]struct {
		rows    int
		verdict string
		want    []uint16
	}{
		"all":           {9, "192.0.2.1:5", []uint16{1, 2, 3, 4, 5}},
		"none in need":  {3, "", []uint16{1, 2, 3}},
		"one of these":  {3, "192.0.2.1:2", []uint16{1, 2, 3}},
		"the last":      {3, "192.0.2.1:5", []uint16{1, 2, 5}},
		"the last of 1": {1, "192.0.2.1:5", []uint16{5}},
	} {
		r := &reporting{Report: &Report{Verdicts: []Verdict{{Server: c.verdict}}}, o: &Options{Rows: c.rows}}
		for port := range uint16(5) {
			r.servers = append(r.servers, &entry[server]{key: keyOf(netip.MustParseAddr("192.0.2.1"), port+1)})
		}
		var got []uint16
		for _, e := range r.listed() {
			got = append(got, e.Port)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestEnds: addresses that differ in their last group do so when they are cut.
func TestEnds(t *testing.T) {
	for in, want := range map[string]string{
		"198.51.100.10:27015":              "198.51.100.10:27015",
		"[2001:db8:aaaa:bbbb::c101]:27015": "[2001:d…b::c101]:27015",
		"[2001:db8:aaaa:bbbb::c102]:27015": "[2001:d…b::c102]:27015",
	} {
		if got := ends(in, 22); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
