package dissect_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
)

// script plays datagrams and writes what the analyzer tells, a line each.
type script struct {
	t     *testing.T
	a     *dissect.Analyzer
	now   time.Time
	frame uint64
	lines []string
	cut   int    // bytes that the capture cuts off
	id    uint16 // identification of its IP header
}

func newScript(t *testing.T, c dissect.Config) *script {
	t.Helper()
	s := &script{t: t, now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	if c.Protocols == nil {
		c.Protocols = all.Protocols()
	}
	var err error
	if s.a, err = dissect.New(c, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *script) Record(r *dissect.Record) {
	name := r.Protocol.Name
	for _, p := range r.Alternatives {
		name += "|" + p.Name
	}
	line := fmt.Sprintf("%d %s %s %s", r.Frame, name, r.Type.Name, r.Reason)
	if r.RequestFrame > 0 {
		line += fmt.Sprintf(" <- %d", r.RequestFrame)
		switch {
		case r.TimeKnown:
			line += fmt.Sprintf(" %v", r.RTT)
		case r.Ambiguous:
			line += " ambiguous"
		}
	}
	for i := range r.Findings {
		if id := r.Findings[i].Type.ID; !strings.HasSuffix(id, ".noedf") && !strings.HasSuffix(id, ".amplification") && !strings.HasSuffix(id, ".noterm") {
			line += " !" + id
		}
	}
	s.lines = append(s.lines, line)
}
func (s *script) Unknown(u *dissect.Unknown) {
	s.lines = append(s.lines, fmt.Sprintf("%d unknown", u.Frame))
}
func (s *script) Finding(f *dissect.FlowFinding) {
	s.lines = append(s.lines, fmt.Sprintf("%d !%s %s", f.Frame, f.Type.ID, f.AppendText(nil)))
}

const (
	clientHost = "192.0.2.1"
	serverHost = "198.51.100.1"
)

// send plays a datagram 10 ms after the one before. From and to are a port of
// the client and one of the server, as in ">40000:27015" and "<40000:27015".
func (s *script) send(path, payload string) {
	s.t.Helper()
	s.now = s.now.Add(10 * time.Millisecond)
	s.frame++
	client, server, ok := strings.Cut(path[1:], ":")
	if !ok {
		s.t.Fatalf("path %q", path)
	}
	d := dissect.Datagram{
		Frame: s.frame, Time: s.now, Payload: []byte(payload), Missing: s.cut, IPID: s.id,
		Src: netip.MustParseAddrPort(clientHost + ":" + client), Dst: netip.MustParseAddrPort(serverHost + ":" + server),
	}
	if path[0] == '<' {
		d.Src, d.Dst = d.Dst, d.Src
	}
	s.a.Datagram(&d)
}

func (s *script) wait(d time.Duration) {
	s.now = s.now.Add(d)
	s.a.Advance(s.now)
}

func (s *script) want(lines ...string) {
	s.t.Helper()
	got, want := strings.Join(s.lines, "\n"), strings.Join(lines, "\n")
	if got != want {
		s.t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	s.lines = nil
}

const (
	single      = "\xff\xff\xff\xff"
	infoShort   = single + "TSource Engine Query\x00"
	infoReply   = single + "I\x11Name\x00map\x00folder\x00game\x00\x0a\x00\x01\x10\x00dl\x00\x011.0\x00"
	playersNone = single + "U\xff\xff\xff\xff"
	playersHas  = single + "U\x01\x02\x03\x04"
	players     = single + "D\x01\x00Alice\x00\x01\x00\x00\x00\x00\x00\xc8\x42"
	rulesHas    = single + "V\x01\x02\x03\x04"
	rules       = single + "E\x01\x00key\x00value\x00"
	challenge   = single + "A\x01\x02\x03\x04"
	challenge2  = single + "A\x05\x06\x07\x08"
)

// TestChallengeCopiedLate: a network that duplicates a challenge shows it again while the client waits for what it asked for. The
// server refuses nothing. It does if nothing else comes, or the same again.
func TestChallengeCopiedLate(t *testing.T) {
	const has, ask, reply, refused = infoShort + "\x01\x02\x03\x04", ">40000:27015", "<40000:27015", "4 !a2s.challenge.refused the server answered a challenge with a challenge"
	type row struct {
		rest  []at
		flush bool
		want  []string
	}
	rows := []row{
		{[]at{{41, ask, has}, {80, reply, challenge}}, true, []string{"4 a2s challenge_reply header <- 3 39ms", refused}},
		{[]at{{41, ask, has}, {80, reply, challenge}, {81, ask, has}, {120, reply, challenge}}, true, []string{
			"4 a2s challenge_reply header <- 3 39ms", "5 a2s info_request header", "6 a2s challenge_reply header <- 5 39ms !a2s.challenge.refused !a2s.challenge.loop", refused,
		}},
		// It gives another one, or refuses one after copies would have come.
		{[]at{{41, ask, has}, {80, reply, challenge2}}, false, []string{"4 a2s challenge_reply header <- 3 39ms !a2s.challenge.changed !a2s.challenge.refused"}},
		{[]at{{1500, ask, has}, {1540, reply, challenge}}, false, []string{"4 a2s challenge_reply header <- 3 40ms !a2s.challenge.refused"}},
	}
	for _, late := range []float64{13, 20, 28, 35, 40, 60, 200} {
		rows = append(rows, row{[]at{{41, ask, has}, {40 + late, reply, challenge}, {41 + late + 15, reply, infoReply}}, true, []string{
			fmt.Sprintf("4 a2s challenge_reply header <- 3 %vms", late-1), fmt.Sprintf("5 a2s info_reply header <- 3 %vms", late+15),
		}})
	}
	for _, r := range rows {
		s := newScript(t, dissect.Config{})
		s.play(append([]at{{0, ask, infoShort}, {40, reply, challenge}}, r.rest...))
		if r.flush {
			s.a.Flush()
		}
		s.want(append([]string{"1 a2s info_request header", "2 a2s challenge_reply header <- 1 40ms !a2s.challenge.required", "3 a2s info_request header"}, r.want...)...)
	}
}

// TestManyAnswered: a client that asks often and gets its replies makes nobody
// forget anything.
func TestManyAnswered(t *testing.T) {
	s := newScript(t, dissect.Config{})
	for range 50 {
		s.send(">40000:27015", infoShort)
		s.send("<40000:27015", infoReply)
	}
	s.a.Flush()
	for _, line := range s.lines {
		if strings.Contains(line, "!") {
			t.Error(line)
		}
	}
	if n := s.a.Stats().RequestsEvicted; n != 0 {
		t.Errorf("%d evicted", n)
	}
}

// TestTooOften: Multi Theft Auto answers five queries in six seconds. More of them
// are worth a word if one stays unanswered.
func TestTooOften(t *testing.T) {
	const query, reply = "s", "EYE1\x04mta\x0622003\x05Name\x04MTA\x05None\x041.6\x020\x020\x0332\x01"
	s := newScript(t, dissect.Config{})
	for range 9 {
		s.send(">40000:22126", query)
		s.send("<40000:22126", reply)
	}
	s.send(">40001:22126", query)
	s.wait(7 * time.Second)
	for _, line := range s.lines {
		if strings.Contains(line, "rate.limit") {
			t.Error(line)
		}
	}
	for range 5 {
		s.send(">40000:22126", query)
		s.send("<40000:22126", reply)
	}
	s.lines = nil
	s.send(">40000:22126", query)
	s.now = s.now.Add(10 * time.Millisecond)
	s.send(">40000:22126", query)
	s.wait(7 * time.Second)
	s.want(
		"30 ase status_request flow",
		"31 ase status_request flow !request.retransmission",
		"30 !ase.noreply status request unanswered within 5 s, sent 2 times; this port answered 14 of 15 other requests",
		"31 !rate.limit no reply to query number 7 within six seconds: Multi Theft Auto answers five",
	)
	s.lines = nil
	s.send(">40000:22126", query)
	s.wait(7 * time.Second)
	s.want("32 ase status_request flow", "32 !ase.noreply status request unanswered within 5 s; this port answered 14 of 17 other requests")
}

// TestCutOff: of what the capture holds only the beginning of, nobody is blamed
// for what is not there; parts of it are not joined.
func TestCutOff(t *testing.T) {
	s := newScript(t, dissect.Config{})
	cut := func(path, payload string, n int) {
		s.cut = len(payload) - n
		s.send(path, payload[:n])
		s.cut = 0
	}
	cut(">40000:27015", infoShort, 18)
	cut("<40000:27015", infoReply, 13)
	s.send(">40000:27015", rulesHas)
	part := "\xfe\xff\xff\xff\x07\x00\x00\x00\x02%c\xe0\x04"
	cut("<40000:27015", fmt.Sprintf(part, 0)+rules[:12], 20)
	s.send("<40000:27015", fmt.Sprintf(part, 1)+rules[12:])
	s.a.Flush()
	s.want(
		"1 a2s info_request header !capture.snaplen",
		"2 a2s info_reply request <- 1 10ms !capture.snaplen",
		"3 a2s rules_request header",
		"4 !capture.snaplen the capture holds 20 of 24 bytes of this datagram",
		"5 a2s split header <- 3 20ms",
	)
	if n := s.a.Stats().Malformed; n != 0 {
		t.Errorf("%d malformed", n)
	}
}

func TestDecodeAs(t *testing.T) {
	c := dissect.Config{Protocols: all.Protocols()}
	c.DecodeAs = map[uint16]*dissect.Protocol{9999: c.Protocols[0]}
	s := newScript(t, c)
	s.send(">40000:9999", "nonsense")
	s.a.Flush()
	s.want("1 a2s unknown decode-as !a2s.type")
	c.Protocols = c.Protocols[1:]
	if _, err := dissect.New(c, s); err == nil {
		t.Error("decode-as names a protocol that is not there, and New is content")
	}
}

// TestSplitSets: parts lost, late, twice, of two messages at once, and a sender
// that uses an id again.
func TestSplitSets(t *testing.T) {
	part := func(id, total, index byte, data string) string {
		return "\xfe\xff\xff\xff" + string([]byte{id, 0, 0, 0, total, index, 0xe0, 0x04}) + data
	}
	first, second := single+"E\x02\x00key\x00val", "ue\x00other\x00thing\x00"
	s := newScript(t, dissect.Config{})
	s.send(">40000:27015", rulesHas)
	s.send("<40000:27015", part(1, 2, 1, second))
	s.send("<40000:27015", part(2, 2, 0, first))
	s.send("<40000:27015", part(1, 2, 0, first))
	s.send("<40000:27015", part(1, 2, 0, first)) // late
	s.send("<40000:27015", part(2, 2, 0, first)) // twice
	s.want(
		"1 a2s rules_request header",
		"4 a2s rules_reply header <- 1 10ms !a2s.split.reorder !a2s.split.variant !rtt",
		"5 !a2s.split.duplicate duplicate parts: 1",
	)
	s.wait(15 * time.Second)
	s.want("3 a2s rules_reply header <- 1 20ms !a2s.split.duplicate !a2s.split.missing !a2s.split.variant !a2s.info.multi")
	// The same id and the same bytes, after the request was repeated: one message.
	s.send(">40000:27015", rulesHas)
	s.send("<40000:27015", part(1, 2, 0, first))
	s.send(">40000:27015", rulesHas)
	s.send("<40000:27015", part(1, 2, 0, first))
	s.send("<40000:27015", part(1, 2, 1, second))
	s.a.Flush()
	s.want(
		"7 a2s rules_request header",
		"9 a2s rules_request header !request.retransmission",
		"11 a2s rules_reply header <- 7 10ms !a2s.split.duplicate !a2s.split.variant !rtt",
	)
}

// TestPressure: more conversations than the table takes. Those that had a reply
// outlive those that had none.
func TestPressure(t *testing.T) {
	s := newScript(t, dissect.Config{Limits: dissect.Limits{Flows: 64, Requests: 64, Peers: 16}})
	s.send(">40000:27015", infoShort)
	s.send("<40000:27015", infoReply)
	for i := range 5000 {
		s.send(fmt.Sprintf(">%d:27015", 1024+i), infoShort)
	}
	s.lines = nil
	s.now = s.now.Add(-49 * time.Second) // within the time for replies again
	s.send(">40000:27015", playersHas)
	s.send("<40000:27015", players)
	s.want(
		"5003 a2s players_request header",
		"5004 a2s players_reply header <- 5003 10ms",
	)
	stats := s.a.Stats()
	if stats.FlowsEvicted < 4900 || stats.Messages != 5004 {
		t.Errorf("%+v", stats)
	}
}

// TestClock: timestamps that jump ahead by years and back must not hold state
// for ever, nor lose what follows.
func TestClock(t *testing.T) {
	s := newScript(t, dissect.Config{})
	s.send(">40000:27015", infoShort)
	s.now = s.now.AddDate(80, 0, 0)
	s.send(">40001:27015", infoShort)
	s.a.Advance(s.now)
	s.now = s.now.AddDate(-80, 0, 0)
	s.send(">40002:27015", infoShort)
	s.send("<40002:27015", infoReply)
	s.wait(time.Second)
	s.wait(6 * time.Second)
	s.want(
		"1 a2s info_request header",
		"2 a2s info_request header",
		"1 !a2s.noreply info request unanswered within 5 s",
		"3 a2s info_request header",
		"4 a2s info_reply header <- 3 10ms",
		"2 !a2s.noreply info request unanswered within 5 s; this port answered 1 of 2 other requests",
	)
}
