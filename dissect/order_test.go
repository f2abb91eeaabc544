package dissect_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// TestIncompleteThenPoll: parts of a reply answer the request before the first of
// them, whenever it is clear that the others do not come, and the reply to the
// next poll answers that one.
func TestIncompleteThenPoll(t *testing.T) {
	parts := func(id uint32) []string {
		a := sourceParts(1, id)
		return append([]string{a.request}, a.parts...)
	}
	for name, lost := range map[string]int{"the first part": 1, "the last part": 3} {
		s := newScript(t, dissect.Config{})
		for i, p := range parts(7) {
			if i == 0 {
				s.send(">40000:27015", p)
			} else if i != lost {
				s.send("<40000:27015", p)
			}
		}
		for id := range uint32(3) {
			s.now = s.now.Add(2 * time.Second)
			for i, p := range parts(8 + id) {
				s.send([]string{">", "<"}[min(i, 1)]+"40000:27015", p)
			}
		}
		s.wait(time.Minute)
		s.a.Flush()
		all := strings.Join(s.lines, "\n")
		for _, want := range []string{" <- 1 10ms ", " <- 4 10ms", " <- 8 10ms", " <- 12 10ms"} {
			if strings.Count(all+"\n", want) != 1 {
				t.Errorf("without %s, %q:\n%s", name, want, all)
			}
		}
		if strings.Contains(all, "time.backwards") || strings.Contains(all, ".multi") {
			t.Errorf("without %s:\n%s", name, all)
		}
		if o := s.a.Stats().Outcomes; o[dissect.OutcomePartial] != 1 || o[dissect.OutcomeAnswered] != 3 {
			t.Errorf("without %s: %+v", name, o)
		}
	}
}

// TestRefusedOneOfSeveral: an ICMP error is about one of the equal requests that
// wait, nobody knows which, and the reply to the other one has no clear round trip.
func TestRefusedOneOfSeveral(t *testing.T) {
	for n, want := range map[int]string{1: "", 2: "equal requests in frames 1 and 2", 3: "equal requests in frames 1 to 3"} {
		s := newScript(t, dissect.Config{})
		for range n {
			s.send(">40000:27015", infoShort)
			s.now = s.now.Add(100 * time.Millisecond)
		}
		s.frame++
		s.a.ICMP(&dissect.ICMPError{
			Frame: s.frame, Time: s.now, From: netip.MustParseAddr(serverHost), Type: 3, Code: 3, Length: len(infoShort),
			Src: netip.MustParseAddrPort(clientHost + ":40000"), Dst: netip.MustParseAddrPort(serverHost + ":27015"),
		})
		if n == 1 {
			if all := strings.Join(s.lines, "\n"); strings.Contains(all, "equal") || !strings.Contains(all, "port_unreachable") {
				t.Error(all)
			}
			continue
		}
		s.send("<40000:27015", infoReply)
		all := strings.Join(s.lines, "\n")
		if !strings.Contains(all, want) || !strings.Contains(all, "<- 2 ambiguous") {
			t.Errorf("%d requests:\n%s", n, all)
		}
	}
}
