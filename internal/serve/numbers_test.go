package serve

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// TestLimits repeats the limits of docs/limits.md for a capture.
func TestLimits(t *testing.T) {
	const mib, of = 1 << 20, 256 // bookkeeping
	for n, fits := range map[int]bool{256*mib - of: true, 256*mib - of + 1: false} {
		if o := new(observer); o.room(n) != fits {
			t.Errorf("%d bytes: %v", n, !fits)
		}
	}
	for n, fits := range map[int]bool{mib - 1: true, mib: false} {
		if o := (&observer{events: make([]*event, n)}); o.room(0) != fits {
			t.Errorf("one message more than %d: %v", n, !fits)
		}
	}
}

// TestAnswerLimits repeats the limits of docs/limits.md for answers.
func TestAnswerLimits(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	server := netip.MustParseAddrPort("198.51.100.99:27015")
	const info = "\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x00\x00\x01\x10\x00dl\x00\x011.0\x00\x00"
	for i := range 10 {
		client := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), uint16(40000+i))
		s.Strike(client, server, "\xff\xff\xff\xffTSource Engine Query\x00")
		s.Strike(server, client, info)
	}
	client := netip.MustParseAddrPort("203.0.113.10:40000")
	s.Strike(client, server, "\xff\xff\xff\xffV\x01\x02\x03\x04")
	for i := range 600 {
		s.Strike(server, client, fmt.Sprintf("answer number %d to that", i))
	}
	in := must.Get(capture.NewReader(&b, "in"))(t)
	list, trouble, err := Read(in, dissect.Config{Protocols: all.Protocols()})
	if err != nil || trouble != nil || len(list) != 1 {
		t.Fatalf("%d servers, %v, %v", len(list), trouble, err)
	}
	c := list[0]
	if len(c.answers) != 2 || len(c.answers[0].exchanges) != 4 || c.answers[0].times[0] != 10 {
		t.Errorf("%d answers, the first %+v", len(c.answers), c.answers[0])
	}
	if x := c.answers[1].exchanges; len(x) != 1 || len(x[0].datagrams) != 512 {
		t.Errorf("%d exchanges, the first with %d datagrams", len(x), len(x[0].datagrams))
	}
}
