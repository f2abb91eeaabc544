package pipeline

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// longest remembers the longest write.
type longest struct {
	bytes.Buffer
	n int
}

func (w *longest) Write(b []byte) (int, error) {
	w.n = max(w.n, len(b))
	return w.Buffer.Write(b)
}

// TestQuietAfterFlood lets a flood end: all of its requests have waited too long when the
// next frame comes, and are reported in pieces.
func TestQuietAfterFlood(t *testing.T) {
	requests := thorough.Of(30_000, 60_000)
	name := flood(t, requests, true)
	want := ""
	for _, workers := range []int{1, 3} {
		var out longest
		m := modes["jsonl"]
		if _, err := Run(Options{
			Inputs: []string{name}, Reporter: m.reporter, Analysis: dissect.Config{Protocols: all.Protocols(), Tree: m.tree}, Workers: workers, Out: &out,
		}); err != nil {
			t.Fatal(err)
		}
		s := out.String()
		if n := strings.Count(s, `"a2s.noreply"`); n != requests {
			t.Errorf("%d workers: %d unanswered requests", workers, n)
		}
		if findings := strings.Index(s, `{"type":"finding"`); out.n > (len(s)-findings)/3 {
			t.Errorf("%d workers: %d of %d bytes were written at once", workers, out.n, len(s)-findings)
		}
		if want == "" {
			want = s
		} else if s != want {
			t.Errorf("%d workers write something else", workers)
		}
	}
}

// TestRestrictFlood ends the capture with a flood: its requests are flushed in steps, and
// those that a filter chose are open, as without a filter. What was answered by a datagram that lacks a fragment was answered in part.
func TestRestrictFlood(t *testing.T) {
	const requests = 20_000
	name := flood(t, requests, false)
	for _, restrict := range []bool{false, true} {
		o := Options{
			Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return report.NewCounts() },
			Analysis: dissect.Config{Protocols: all.Protocols()},
		}
		if restrict {
			o.Choice = &Choice{New: func() Chooser { return &every{n: 1, frames: map[uint64]bool{}} }, Only: true}
		}
		s := must.Get(Run(o))(t)
		if x := s.Outcomes; s.Requests != requests+2 || x[dissect.OutcomeOpen] != requests || x[dissect.OutcomePartial] != 1 || x[dissect.OutcomeRepeated] > 0 {
			t.Errorf("restricted %v: %d requests, %+v", restrict, s.Requests, x)
		}
	}
}

// flood writes a capture: a conversation, if the flood does not end a request and the first fragment of its reply, the flood and, if it ends, a
// frame a minute later.
func flood(t *testing.T, requests int, quiet bool) (name string) {
	t.Helper()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{Link: mkpcap.Raw})
	at := time.Unix(1_700_000_000, 0)
	server := netip.MustParseAddrPort("192.0.2.1:27015")
	ask := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	client := netip.MustParseAddrPort("198.51.100.7:40000") // has both directions
	w.UDP(at, client, server, ask)
	w.UDP(at, server, client, []byte("\xff\xff\xff\xffA\x01\x02\x03\x04"))
	if !quiet {
		w.UDP(at, client, server, append(ask, 1, 2, 3, 4))
		reply := mkpcap.UDPSegment(server, client, append([]byte("\xff\xff\xff\xffI\x11"), bytes.Repeat([]byte("a"), 2000)...))
		w.Frame(at, mkpcap.IP(server.Addr(), client.Addr(), 1, 17, 0, true, true, reply[:1480]))
	}
	for i := range requests {
		at = at.Add(2 * time.Microsecond)
		jitter := time.Duration(i%100/99) * 5 * time.Microsecond // of a card with several queues
		w.UDP(at.Add(-jitter), netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1024), server, ask)
	}
	if quiet {
		w.UDP(at.Add(time.Minute), client, server, ask)
	}
	name = filepath.Join(t.TempDir(), "x.pcap")
	must.Do(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}
