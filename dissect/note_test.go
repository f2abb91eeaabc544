package dissect_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// A numberer notes the number of its first message with each conversation.
type numberer struct {
	n   uint32
	out strings.Builder
}

func (*numberer) Unknown(*dissect.Unknown)     {}
func (*numberer) Finding(*dissect.FlowFinding) {}

func (h *numberer) Record(r *dissect.Record) {
	h.n++
	fmt.Fprintf(&h.out, "%d %s %d\n", r.Frame, r.Type.Name, r.Note)
	if r.Note == 0 {
		r.Note = h.n
	}
}

func (h *numberer) ended(x *dissect.Exchange) {
	fmt.Fprintf(&h.out, "exchange %d %d %v\n", x.Frame, x.Note, x.Src)
}

// TestNote: what a handler notes with a message comes with the next one of the conversation, in either direction, until the
// conversation is forgotten.
func TestNote(t *testing.T) {
	h := new(numberer)
	a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Limits: dissect.Limits{Flows: 2}, Ended: h.ended}, h))(t)
	server := netip.MustParseAddrPort("198.51.100.1:27015")
	frame := uint64(0)
	send := func(client byte, reply bool) {
		src, dst, payload := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, client}), 51000), server, "\xff\xff\xff\xffV\x01\x02\x03"+string(rune('0'+frame))
		if reply {
			src, dst, payload = dst, src, "\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00"
		}
		frame++
		a.Datagram(&dissect.Datagram{Frame: frame, Time: time.Unix(1_800_000_000, 0).Add(time.Duration(frame) * time.Millisecond), Src: src, Dst: dst, Payload: []byte(payload)})
	}
	send(1, false)
	send(2, false)
	send(2, true)
	send(1, true)
	send(3, false) // one is forgotten, the older one
	send(2, false)
	send(2, false)
	a.Advance(time.Unix(1_800_000_100, 0))
	a.Flush()
	want := `1 rules_request 0
2 rules_request 0
3 rules_reply 2
4 rules_reply 1
exchange 2 2 192.0.2.2:51000
5 rules_request 0
exchange 5 5 192.0.2.3:51000
6 rules_request 0
7 rules_request 6
exchange 1 1 192.0.2.1:51000
exchange 6 6 192.0.2.2:51000
exchange 7 6 192.0.2.2:51000
`
	if got := h.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestNoteBoth: if both ends ask, a note may be of a request in the other direction. Exchanges then have none.
func TestNoteBoth(t *testing.T) {
	h := new(numberer)
	a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Ended: h.ended}, h))(t)
	one, two := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("198.51.100.1:27015")
	for i, d := range []dissect.Datagram{
		{Src: one, Dst: two, Payload: []byte("\xff\xff\xff\xffV\x01\x02\x03\x04")},
		{Src: two, Dst: one, Payload: []byte("\xff\xff\xff\xffV\x05\x06\x07\x08")},
		{Src: two, Dst: one, Payload: []byte("\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00")},
		{Src: one, Dst: two, Payload: []byte("\xff\xff\xff\xffE\x01\x00mp_time\x0040\x00")},
	} {
		d.Frame, d.Time = uint64(1+i), time.Unix(1_800_000_000, int64(i)*int64(time.Millisecond))
		a.Datagram(&d)
	}
	a.Flush()
	const want = `1 rules_request 0
2 rules_request 1
3 rules_reply 1
4 rules_reply 1
exchange 1 0 192.0.2.1:27015
exchange 2 0 198.51.100.1:27015
`
	if got := h.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
