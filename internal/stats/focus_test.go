package stats

import (
	"fmt"
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
	send := func(from, to netip.AddrPort, name string, role dissect.Role) {
		a.Record(&dissect.Record{
			Protocol: p, Src: from, Dst: to, Findings: []dissect.Finding{{Type: &dissect.FindingType{ID: name, Severity: dissect.Warning}}},
			Message: dissect.Message{Type: &dissect.MessageType{Name: name, Title: name, Role: role}, Pair: dissect.Pair{Asks: 1}},
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
		if len(f.ports) != maxPorts || len(f.masters) != maxMasters || f.at(5000, false) == nil {
			t.Fatalf("%d ports, %d masters", len(f.ports), len(f.masters))
		}
		for i := range f.ports {
			if p := &f.ports[i]; len(p.kinds) > maxOfPort || len(p.noted) > maxOfPort {
				t.Errorf("%d kinds, %d findings", len(p.kinds), len(p.noted))
			}
		}
	}
	if w := a.Why(0, Options{})[0]; w.Server != "198.51.100.10:5000" {
		t.Errorf("%s: %s", w.Server, w.Text)
	}
}
