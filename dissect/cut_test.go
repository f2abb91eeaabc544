package dissect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
)

// TestCutReplies: what the capture cuts off a reply makes it neither a request nor its
// request unanswered, also if too little is left to recognise it.
func TestCutReplies(t *testing.T) {
	const samp = "SAMP\xc6\x33\x64\x0a\x61\x1e"
	for name, c := range map[string]struct {
		path, request, reply string
		want                 []string
	}{
		"whose length tells what it is": {"40000:3979", "\x03\x00\x00", "\x2b\x00\x01\x01A line\x000.3.5", []string{
			"1 openttd info_request port", "2 !capture.snaplen the capture holds 16 of 56 bytes of this datagram", "2 unknown"}},
		"too short for a whole one": {"40000:7777", samp + "i", samp + "i\x00\x22\x00\x5e\x01\x1a\x00\x00\x00Name", []string{
			"1 samp info_request header", "2 samp info_reply header <- 1 10ms !capture.snaplen"}},
		"of the console": {"40000:7777", samp + "x\x02\x00pw\x04\x00kick", samp + "x\x20\x00Kicked", []string{
			"1 samp rcon_request header", "2 samp rcon_reply header <- 1 10ms !capture.snaplen"}},
	} {
		s := newScript(t, dissect.Config{})
		s.send(">"+c.path, c.request)
		s.cut = 40
		s.send("<"+c.path, c.reply)
		s.wait(time.Minute)
		s.a.Flush()
		if got, want := strings.Join(s.lines, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
		if o := s.a.Stats().Outcomes; o[dissect.OutcomeAnswered]+o[dissect.OutcomePartial] != 1 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestCutReplyOfSeveral: nobody knows which of two requests an unrecognised reply answers.
func TestCutReplyOfSeveral(t *testing.T) {
	s := newScript(t, dissect.Config{})
	s.send(">40000:3979", "\x03\x00\x00")
	s.send(">40000:3979", "\x03\x00\x02")
	s.cut = 40
	s.send("<40000:3979", "\x2b\x00\x01\x01A line\x000.3.5")
	s.wait(time.Minute)
	s.want("1 openttd info_request port", "2 openttd companies_request flow", "3 unknown",
		"1 !openttd.noreply info request unanswered within 5 s", "2 !openttd.details companies request unanswered within 5 s: servers since version 12 do not answer it")
}

type servers []dissect.Server

func (s *servers) Record(r *dissect.Record)   { *s = append(*s, r.Server) }
func (*servers) Unknown(*dissect.Unknown)     {}
func (*servers) Finding(*dissect.FlowFinding) {}

// TestCutPlayers: a server whose players are those listed states no number of them in a
// reply that the capture cuts off.
func TestCutPlayers(t *testing.T) {
	for _, reply := range []string{
		single + "statusResponse\n\\sv_hostname\\A\\sv_maxclients\\8\n1 20 \"Anna\"\n2 30 \"Bert\"\n",
		single + "print\n\\hostname\\A\\maxclients\\8\n1 20 \"Anna\"\n2 30 \"Bert\"\n",
		single + "n\\hostname\\A\\maxclients\\8\n1 0 1 20 \"Anna\" \"base\" 4 13\n2 0 1 20 \"Bert\" \"base\" 4 13\n\x00",
	} {
		for _, cut := range []int{0, 1, 20, len(reply) - strings.Index(reply, "\n1 ") - 1} {
			var got servers
			s := newScript(t, dissect.Config{})
			var err error
			if s.a, err = dissect.New(dissect.Config{Protocols: all.Protocols()}, &got); err != nil {
				t.Fatal(err)
			}
			s.cut = cut
			s.send("<40000:27960", reply[:len(reply)-cut])
			if len(got) != 1 || got[0].MaxPlayers.Value != 8 || got[0].Players.OK != (cut == 0) || cut == 0 && got[0].Players.Value != 2 {
				t.Errorf("%d bytes less of %q: %+v", cut, reply, got)
			}
		}
	}
}

// TestUnreadID: nothing is said of an id that a reply lost its end before.
func TestUnreadID(t *testing.T) {
	const query, reply = "\x02\x10\x01\xad\x20\x4e\x00\x00\x07\x00\x00\x00\x31\x6f\x0d\x02", "\x03\x20\x03\xad\x20\x4e\x00\x00\x07\x00\x00\x00\x31\x6f\x0d\x02"
	for n, want := range map[int]string{15: "2 odamex query_reply header <- 1 10ms !malformed", 16: "2 odamex query_reply header <- 1 10ms !malformed"} {
		s := newScript(t, dissect.Config{})
		s.send(">40000:10666", query)
		s.send("<40000:10666", reply[:n])
		if got := s.lines[1]; got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}
