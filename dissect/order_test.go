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

// TestReplyOfAnotherKind: a reply that is not what the waiting request asks for
// says so, and leaves it waiting.
func TestReplyOfAnotherKind(t *testing.T) {
	s := newScript(t, dissect.Config{})
	s.send(">40000:27015", playersHas)
	s.send("<40000:27015", infoReply)
	s.send("<40000:27015", players)
	s.send(">40000:27015", infoShort)
	s.send("<40000:27015", single+"D\x00")
	s.want("1 a2s players_request header", "2 a2s info_reply header !a2s.reply.other", "3 a2s players_reply header <- 1 20ms",
		"4 a2s info_request header", "5 a2s players_reply header <- 4 10ms !a2s.reply.other")
}

// TestLateReply: a reply that only its request tells apart from other messages is
// recognised after the time for it, too, and so is a refusal; an unmistakable message
// of another protocol is not taken for it.
func TestLateReply(t *testing.T) {
	for name, c := range map[string]struct{ path, request, reply, want string }{
		"a challenge without a mark": {"40000:7787", "\x00\x00\x00\x00\x00", "\x00\x6b\x11\xf0\x24", "2 sqp challenge_reply request <- 1 5.21s !reply.late"},
		"that of the likelier one":   {"40000:26000", single + "ping", single + "ack", "2 quake3 ping_reply request <- 1 5.21s !reply.late"},
		"a refusal":                  {"40000:27960", single + "getchallenge 5 OtherGame", single + "print\nGame mismatch\n", "2 quake3 print request <- 1 5.21s !reply.late"},
		"of another protocol":        {"40000:7787", "\x00\x00\x00\x00\x00", infoReply, "2 a2s info_reply header !a2s.unrequested"},
	} {
		s := newScript(t, dissect.Config{})
		s.send(">"+c.path, c.request)
		s.wait(5200 * time.Millisecond)
		s.send("<"+c.path, c.reply)
		if got := s.lines[len(s.lines)-1]; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
