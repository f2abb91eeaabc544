package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/dissect"
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
			Protocol: p, Src: from, Dst: to, Findings: []dissect.Finding{{Type: &dissect.FindingType{ID: name, Severity: dissect.Warning}}},
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
		if len(f.targets) != maxTargets || len(f.of) != maxTargets || len(f.masters) != maxMasters || f.at(netip.AddrPortFrom(server, 5000), false) == nil {
			t.Fatalf("%d servers, %d masters", len(f.targets), len(f.masters))
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
}

// TestLimitOf: what chance loses is hardly ever taken for a limit, nor is a share that is always the same; a limit is found where there is one.
func TestLimitOf(t *testing.T) {
	random, found := rand.New(rand.NewPCG(3, 4)), 0
	for range 1000 {
		share, rate := random.Float64()*.85, 10+random.IntN(50)
		var s series
		for i := range rate * (5 + random.IntN(60)) {
			good := uint32(0)
			if random.Float64() < share {
				good = 1
			}
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
				good := uint32(0)
				if c.good(second, i, asked) {
					good = 1
				}
				x.beats.add(int64(second)*1e9+int64(i)*1e9/int64(asked), 1, good)
			}
		}
		if x.findLimit(nil, 0); math.Abs(x.limit-c.want) > 0.5 {
			t.Errorf("%s: %g per second, want %g", c.name, x.limit, c.want)
		}
	}
}
