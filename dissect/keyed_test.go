package dissect

import (
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// TestKeyed: a protocol with a key is shown payloads whose third byte fits the first, on
// any port, and nothing else.
func TestKeyed(t *testing.T) {
	asked := 0
	var third [256]byte
	for i := range third {
		third[i] = byte(3 * i)
	}
	p := &Protocol{
		Name: "keyed", Title: "Keyed", Doc: "Encrypted.", Source: "this test", Keyed: &third,
		Catalog: NewCatalog("keyed"),
		Detect:  func([]byte) Verdict { asked++; return No },
		New:     func() Decoder { return nil },
	}
	p.Catalog.Message(MessageType{Name: "any", Title: "any", Doc: "Any bytes.", Role: OneWay})
	a := must.Get(New(Config{Protocols: []*Protocol{p}}, new(told)))(t)
	src, dst := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:9999")
	for payload, want := range map[string]int{
		"\x01\x00\x03": 1, "\x80\x77\x80\x01": 1, "\xff\xff\xfd\xff\xff": 1, "\x01\x00\x04": 0, "\x01\x03": 0, "\x01": 0, "": 0,
	} {
		asked = 0
		a.Inner(core.Only{}).Recognise(src, dst, []byte(payload))
		if candidate := a.Inner(core.Only{}).Candidate(src.Port(), dst.Port(), []byte(payload)); asked != want || candidate != (want == 1) {
			t.Errorf("%q: asked %d times, want %d; a candidate: %v", payload, asked, want, candidate)
		}
	}
	if p.Keyed = nil; p.Validate() == nil {
		t.Error("a protocol without first bytes and a key passes")
	}
}

// TestNobody: an analyzer without a handler is an error, not a panic at the first datagram.
func TestNobody(t *testing.T) {
	if _, err := New(Config{}, nil); err == nil {
		t.Error("New accepts no handler")
	}
}

// TestUnsigned: a protocol without first bytes is shown what comes from or goes to its
// ports, and nothing else.
func TestUnsigned(t *testing.T) {
	asked := 0
	p := &Protocol{
		Name: "bare", Title: "Bare", Doc: "Nothing to know it by.", Source: "this test", Ports: []uint16{28786},
		Catalog: NewCatalog("bare"),
		Detect:  func([]byte) Verdict { asked++; return No },
		New:     func() Decoder { return nil },
	}
	p.Catalog.Message(MessageType{Name: "any", Title: "any", Doc: "Any bytes.", Role: OneWay})
	a := must.Get(New(Config{Protocols: []*Protocol{p}}, unsignedHandler{}))(t)
	for _, c := range []struct {
		src, dst uint16
		want     int
	}{{40000, 28786, 1}, {28786, 40000, 1}, {40000, 28785, 0}, {28722, 40000, 0}} {
		asked = 0
		payload := []byte{1, 2, 3}
		host := netip.MustParseAddr("192.0.2.1")
		a.Inner(core.Only{}).Recognise(netip.AddrPortFrom(host, c.src), netip.AddrPortFrom(host, c.dst), payload)
		if asked != c.want || a.Inner(core.Only{}).Candidate(c.src, c.dst, payload) != (c.want == 1) {
			t.Errorf("%d > %d: asked %d times, want %d", c.src, c.dst, asked, c.want)
		}
	}
	if p.Ports = nil; p.Validate() == nil {
		t.Error("a protocol without first bytes and ports passes")
	}
}

type unsignedHandler struct{}

func (unsignedHandler) Record(*Record)       {}
func (unsignedHandler) Unknown(*Unknown)     {}
func (unsignedHandler) Finding(*FlowFinding) {}
