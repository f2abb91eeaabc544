package dissect

import (
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

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
