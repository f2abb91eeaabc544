package pipeline

import (
	"net/netip"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// honest remembers which request the last reply was paired with.
type honest struct {
	catcher
	request uint64
}

func (h *honest) Record(r *dissect.Record) { h.request = r.RequestFrame }

// TestFlood: conversations stay paired while forged sources fill the tables many
// times over, and the tables keep their limits. docs/performance.md has the
// figures of the same at full size.
func TestFlood(t *testing.T) {
	const flows, conversations, between = 512, 100, 300
	var h honest
	a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Limits: dissect.Limits{Flows: flows, Requests: flows}}, &h))(t)
	server := netip.MustParseAddrPort("192.0.2.1:27015")
	ask := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	reply := []byte("\xff\xff\xff\xffA\x01\x02\x03\x04")
	now := time.Unix(1_700_000_000, 0)
	frame, forged := uint64(0), 0
	send := func(src, dst netip.AddrPort, payload []byte) uint64 {
		frame++
		now = now.Add(time.Microsecond)
		a.Datagram(&dissect.Datagram{Frame: frame, Time: now, Src: src, Dst: dst, Payload: payload})
		return frame
	}
	for i := range conversations {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 40000)
		asked := send(client, server, ask)
		for range between {
			forged++
			send(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(forged >> 16), byte(forged >> 8), byte(forged)}), 1024), server, ask)
		}
		send(server, client, reply)
		if h.request != asked {
			t.Fatalf("conversation %d: the reply is paired with frame %d, want %d", i, h.request, asked)
		}
	}
	if s := a.Inner(core.Only{}).State(); s.Flows > flows || s.Requests > flows {
		t.Errorf("%d flows and %d requests are remembered, the limit is %d", s.Flows, s.Requests, flows)
	}
	if s := a.Stats(); s.FlowsEvicted < conversations*between-2*flows {
		t.Errorf("%d flows were forgotten: this was no flood", s.FlowsEvicted)
	}
}
