package stats

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/endpoint"
)

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
	for name, x := range map[string]struct {
		seconds  []second
		oneSided bool
		want     string
	}{
		"forged":                   {[]second{calm, flood, calm}, false, JunkFlood},
		"forged, all the time":     {[]second{flood, flood, flood}, false, JunkFlood},
		"one source":               {[]second{calm, {1000, 0, 1, false, false}, calm}, false, JunkFlood},
		"not asked meanwhile":      {[]second{{0, 0, 0, false, true}, {1000, 0, 8, false, true}, calm}, false, JunkFlood},
		"hardly any":               {[]second{calm, {19, 0, 1000, false, false}, calm}, false, ""},
		"a lonely player":          {[]second{calm, {66, 0, 1, false, false}, calm}, false, ""},
		"players":                  {[]second{calm, players, calm}, false, ""},
		"players, all the time":    {[]second{players, players, players}, false, ""},
		"beside players":           {[]second{{100, 50, 10, false, false}, {3000, 50, 3000, false, false}, {100, 50, 10, false, false}}, false, JunkFlood},
		"players of a dead server": {[]second{players, {1000, 0, 32, true, false}, {1000, 0, 32, true, false}}, false, ""},
		"one direction":            {[]second{calm, flood, calm}, true, JunkFlood},
		"players, one direction":   {[]second{calm, {1000, 0, 32, false, false}, calm}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			p := &dissect.Protocol{Name: "p"}
			ask, tell := &dissect.MessageType{Name: "ask", Role: dissect.Request}, &dissect.MessageType{Name: "tell", Role: dissect.Reply}
			n := 0
			for i, x := range x.seconds {
				for sec := range 10 {
					at := time.Unix(int64(1000+10*i+sec), 0)
					asked := dissect.Record{Protocol: p, Time: at, Src: client(60000), Dst: server}
					asked.Type, asked.Pair.Asks = ask, 1
					if !x.unasked {
						s.Record(&asked)
					}
					for k := 0; x.unasked && k < maxMore; k++ { // others are
						asked.Dst = netip.AddrPortFrom(netip.MustParseAddr("198.51.100.11"), uint16(27000+k))
						s.Record(&asked)
					}
					if !x.dead && !x.unasked {
						told := dissect.Record{Protocol: p, Time: at, Src: server, Dst: client(60000)}
						told.Type = tell
						s.Record(&told)
					}
					for k := range x.datagrams {
						from := client(n % max(x.sources, 1))
						if x.sources >= 1000 {
							from = client(n) // never again
						}
						n++
						at := at.Add(time.Duration(k) * time.Second / time.Duration(x.datagrams))
						foreign(s, at, from, server, 100)
						if k < x.replies {
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
					t.Log(v.Text)
				}
			}
			if got != x.want {
				t.Errorf("%q, want %q: %s", got, x.want, fmt.Sprint(r.Verdicts))
			}
		})
	}
}

// foreign counts a datagram with n bytes of payload that no protocol recognises.
func foreign(a *Aggregate, at time.Time, src, dst netip.AddrPort, n int) {
	from, to := endpoint.Of(src), endpoint.Of(dst)
	a.Foreign(at.UnixNano(), &from, &to, n, 1, false)
}
