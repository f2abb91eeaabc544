package dissect_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
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
	s.a = must.Get(dissect.New(c, s))(t)
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

func TestDecodeAs(t *testing.T) {
	c := dissect.Config{Protocols: all.Protocols()}
	tcp := c.Protocols[slices.IndexFunc(c.Protocols, func(p *dissect.Protocol) bool { return p.Stream != nil })]
	c.DecodeAs = map[uint16]*dissect.Protocol{9999: c.Protocols[0], 9998: tcp} // which no datagram is of
	s := newScript(t, c)
	s.send(">40000:9999", "nonsense")
	s.a.Flush()
	s.want("1 a2s unknown decode-as !a2s.type")
	for port, want := range map[uint16]bool{9999: true, 9998: false} {
		if s.a.Inner(core.Only{}).Candidate(40000, port, []byte("nonsense")) != want || s.a.Inner(core.Only{}).Candidate(port, 40000, []byte("nonsense")) != want {
			t.Errorf("port %d: nonsense is a candidate: %v", port, !want)
		}
	}
	c.Protocols = c.Protocols[1:]
	if _, err := dissect.New(c, s); err == nil {
		t.Error("decode-as names a protocol that is not there, and New is content")
	}
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

// What Minecraft and GameSpy 3 have in common, and what only one of them sends.
const (
	mcHandshake = "\xfe\xfd\x09\x01\x02\x03\x04"
	mcToken     = "\x09\x01\x02\x03\x049513307\x00"
	mcBasic     = "\xfe\xfd\x00\x01\x02\x03\x04\x00\x91\x29\x5b"
	mcFull      = mcBasic + "\x00\x00\x00\x00"
	gsQuery     = mcBasic + "\xff\xff\xff\x01" // as GameSpy 3 asks, and many clients of Minecraft
	mcFullReply = "\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00A Minecraft Server\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00" +
		"version\x001.20.4\x00plugins\x00\x00map\x00world\x00numplayers\x000\x00maxplayers\x0020\x00hostport\x0025565\x00hostip\x00127.0.0.1\x00\x00" +
		"\x01player_\x00\x00\x00"
	mcBasicReply = "\x00\x01\x02\x03\x04A Minecraft Server\x00SMP\x00world\x002\x0020\x00\xdd\x63127.0.0.1\x00"
	gsReply      = "\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00A server\x00gamever\x002.5\x00mapname\x00de_dust\x00gametype\x00ctf\x00numplayers\x000\x00maxplayers\x0016\x00gamemode\x00open\x00\x00" +
		"\x01player_\x00\x00\x00\x00\x02team_t\x00\x00\x00\x00"
)

// TestLayersBelow: what was noticed below a datagram changes nothing that is
// recognised, nor do IP fragments.
func TestLayersBelow(t *testing.T) {
	play := func(d dissect.Datagram) []string {
		s := newScript(t, dissect.Config{})
		d.Src, d.Dst = netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:9999")
		send := func(payload string) {
			d.Frame++
			if d.Frames != nil {
				d.Frames = []uint64{d.Frame, 100 + d.Frame}
			}
			d.Payload, d.Time = []byte(payload), s.now
			e := d
			s.a.Datagram(&e)
			d.Src, d.Dst = d.Dst, d.Src
		}
		send("s")
		send("EYE1\x04mta\x0622003\x05name\x05type\x04map\x041.6\x020\x020\x0332\x01")
		send(mcHandshake)
		send(mcToken)
		send(gsQuery)
		send(gsReply)
		s.a.Flush()
		for i, line := range s.lines {
			s.lines[i] = strings.ReplaceAll(line, " !packet.vlan", "")
		}
		return s.lines
	}
	plain := play(dissect.Datagram{})
	if len(plain) != 6 || !strings.Contains(plain[0], "ase status_request reply") {
		t.Fatalf("got %q", plain)
	}
	for name, d := range map[string]dissect.Datagram{
		"VLAN":      {Findings: []dissect.Finding{dissect.NewFinding(core.Tagged, dissect.Str("12"))}},
		"fragments": {Frames: []uint64{1, 2}},
	} {
		if got := play(d); strings.Join(got, "\n") != strings.Join(plain, "\n") {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(plain, "\n"))
		}
	}
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
			s.a = must.Get(dissect.New(dissect.Config{Protocols: all.Protocols()}, &got))(t)
			s.cut = cut
			s.send("<40000:27960", reply[:len(reply)-cut])
			if len(got) != 1 || got[0].MaxPlayers.Value != 8 || got[0].Players.OK != (cut == 0) || cut == 0 && got[0].Players.Value != 2 {
				t.Errorf("%d bytes less of %q: %+v", cut, reply, got)
			}
		}
	}
}

// TestManyHeld: only so many datagrams wait until their protocol is clear. The
// oldest is given up for the next one, and none is lost.
func TestManyHeld(t *testing.T) {
	const limit, sent = 256, 300
	s := newScript(t, dissect.Config{})
	var want []string
	for i := range sent {
		s.send(fmt.Sprintf(">%d:9999", 40000+i), single+"ping\x00")
		want = append(want, fmt.Sprintf("%d unknown", i+1))
	}
	if held := s.a.Inner(core.Only{}).State().Held; held != limit {
		t.Errorf("%d are held, want %d", held, limit)
	}
	if !slices.Equal(s.lines, want[:sent-limit]) {
		t.Errorf("given up: %q", s.lines)
	}
	// The last one is answered, the others never.
	s.send(fmt.Sprintf("<%d:9999", 40000+sent-1), single+"j\x00")
	s.wait(time.Minute)
	slices.Sort(s.lines)
	want = append(want[:sent-1], "300 halflife ping_request reply", "301 halflife ping_reply header <- 300 10ms")
	slices.Sort(want)
	if !slices.Equal(s.lines, want) {
		t.Errorf("got %q", s.lines)
	}
}

// TestEvictions: the newest 300 seconds in which state was given up are
// remembered, and from when on they are all.
func TestEvictions(t *testing.T) {
	s := newScript(t, dissect.Config{Limits: dissect.Limits{Flows: 1}})
	for i := range 401 { // the first takes nobody's place
		s.now = s.now.Truncate(time.Second).Add(time.Second)
		s.send(fmt.Sprintf(">%d:27015", 1024+i), infoShort)
	}
	last := s.now.Unix()
	list, since := s.a.Inner(core.Only{}).Evictions()
	if n := s.a.Stats().FlowsEvicted; n != 400 || len(list) != 300 {
		t.Fatalf("%d evicted, %d seconds", n, len(list))
	}
	if since != last-299 {
		t.Errorf("all is known from %d on, want %d", since, last-299)
	}
	for i, e := range list {
		if want := (core.Evictions{Second: since + int64(i), Flows: 1, Requests: 1}); e != want {
			t.Fatalf("%d: %+v, want %+v", i, e, want)
		}
	}
}

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

// crowd returns n protocols: all those known, last, after others that could own
// every payload but never prove it.
func crowd(n int) []*dissect.Protocol {
	known, starts := all.Protocols(), make([]string, 256)
	for i := range starts {
		starts[i] = string([]byte{byte(i)})
	}
	var list []*dissect.Protocol
	for i := range n - len(known) {
		name := fmt.Sprintf("idle%d", i)
		c := dissect.NewCatalog(name)
		d := idle{c.Add("text", dissect.String, "Text.", dissect.FreeText), c.Message(dissect.MessageType{Name: "text", Title: "text", Doc: "Text."})}
		list = append(list, &dissect.Protocol{
			Name: name, Title: "Idle", Doc: "Idle.", Source: "none", Starts: starts, Catalog: c,
			Detect: func([]byte) dissect.Verdict { return dissect.Possible },
			New:    func() dissect.Decoder { return d },
		})
	}
	return append(list, known...)
}

// TestNotHeld: a message that two protocols find as likely does not wait for its reply where they share no wire format.
func TestNotHeld(t *testing.T) {
	list := crowd(2 + len(all.Protocols()))[:2]
	for _, p := range list {
		p.Detect = func([]byte) dissect.Verdict { return dissect.Likely }
	}
	s := newScript(t, dissect.Config{Protocols: list})
	s.send(">40000:40001", "hello")
	s.want("1 idle0|idle1 text header")
}

type idle struct {
	text    *dissect.Field
	message *dissect.MessageType
}

func (d idle) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = d.message
	r.Text(d.text, r.Left())
}

// TestManyProtocols: 64 protocols, of which those that speak have the highest
// numbers. Ports, requests, challenges, alternatives and guesses are right.
func TestManyProtocols(t *testing.T) {
	list := crowd(64)
	s := newScript(t, dissect.Config{Protocols: list})
	s.send(">40000:40001", playersNone)
	s.send("<40000:40001", challenge)
	s.send(">40000:40001", playersNone)
	s.send(">41000:25575", mcHandshake)
	s.send("<41000:25575", mcToken)
	s.send(">41000:6500", mcHandshake)
	s.send("<41000:6500", mcToken)
	s.wait(time.Minute)
	s.want(
		"1 a2s players_request header",
		"2 a2s challenge_reply header <- 1 10ms",
		"3 a2s players_request header !a2s.challenge.missing",
		"4 minecraft|gamespy3 handshake_request header",
		"5 minecraft|gamespy3 handshake_reply header <- 4 10ms",
		"6 gamespy3 handshake_request port",
		"7 gamespy3 handshake_reply port <- 6 10ms",
		"3 !a2s.noreply players request unanswered within 5 s; this port answered the one other request",
	)
	stats := s.a.Stats()
	gamespy3 := slices.IndexFunc(list, func(p *dissect.Protocol) bool { return p.Name == "gamespy3" })
	minecraft := slices.IndexFunc(list, func(p *dissect.Protocol) bool { return p.Name == "minecraft" })
	if len(stats.Ambiguous) != 1 || stats.Ambiguous[dissect.Ambiguous{Protocol: minecraft, Others: 1 << gamespy3}] == 0 {
		t.Errorf("ambiguous: %+v", stats.Ambiguous)
	}

	var g guesses
	a := must.Get(dissect.New(dissect.Config{Protocols: list}, &g))(t)
	a.Datagram(&dissect.Datagram{Frame: 1, Time: s.now, Payload: []byte("s")})
	a.Flush()
	if len(g) != 1 || !strings.HasPrefix(g[0], "could be idle0, idle1, ") || !strings.HasSuffix(g[0], fmt.Sprintf(", idle%d or ase", 63-len(all.Protocols()))) {
		t.Errorf("guesses: %q", g)
	}

	if _, err := dissect.New(dissect.Config{Protocols: crowd(65)}, s); err == nil || err.Error() != "65 protocols, at most 64 are possible" {
		t.Errorf("65 protocols: %v", err)
	}
}

// guesses are what an analyzer says of unknown datagrams.
type guesses []string

func (g *guesses) Record(*dissect.Record)       {}
func (g *guesses) Finding(*dissect.FlowFinding) {}
func (g *guesses) Unknown(u *dissect.Unknown)   { *g = append(*g, string(u.AppendGuess(nil))) }

// bomb is a protocol whose decoder panics over payloads with "boom" in them,
// and leaves its scratch state broken.
func bomb() *dissect.Protocol {
	c := dissect.NewCatalog("bomb")
	text := c.Add("text", dissect.String, "Text.", dissect.FreeText)
	m := c.Message(dissect.MessageType{Name: "text", Title: "text", Doc: "Text.", Role: dissect.Request})
	return &dissect.Protocol{
		Name: "bomb", Title: "Bomb", Doc: "Bomb.", Source: "none", Starts: []string{"!"}, Catalog: c,
		Detect: func(b []byte) dissect.Verdict {
			if bytes.HasPrefix(b, []byte("!detect")) {
				panic("detect")
			}
			return dissect.Certain
		},
		New: func() dissect.Decoder { return &bombDecoder{text: text, message: m} },
	}
}

type bombDecoder struct {
	text    *dissect.Field
	message *dissect.MessageType
	broken  bool
	body    bombBody
}

type bombBody struct{ Text string }

func (b *bombBody) AppendSummary(dst []byte) []byte {
	if dst = append(dst, b.Text...); strings.HasSuffix(b.Text, "summary") {
		panic("summary")
	}
	return dst
}

func (d *bombDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if d.broken {
		panic("used after it panicked")
	}
	m.Type, m.Body = d.message, &d.body
	m.Pair.Asks = 1
	d.broken = true
	if bytes.Contains(r.Peek(), []byte("boom")) {
		var none []byte
		_ = none[r.Left()]
	}
	d.broken = false
	d.body.Text = r.Text(d.text, r.Left())
}

// heard notes what a handler is told.
type heard struct {
	messages, unknown []string
	summaries         []string
	findings          []dissect.FlowFinding
	texts             []string
	panics            bool
}

func (h *heard) Record(r *dissect.Record) {
	if h.panics {
		panic("the handler's own")
	}
	h.messages = append(h.messages, string(r.Sources[0].Data))
	h.summaries = append(h.summaries, fmt.Sprintf("%s, %s, %d", r.AppendSummary([]byte("> ")), r.AppendSummary(nil), len(r.Findings)))
}
func (h *heard) Unknown(u *dissect.Unknown) {
	if u.Panicked {
		h.unknown = append(h.unknown, string(u.Payload))
	}
}
func (h *heard) Finding(f *dissect.FlowFinding) {
	if f.Type == core.Panicked {
		h.findings = append(h.findings, *f)
		h.texts = append(h.texts, string(f.AppendText(nil)))
	}
}

// TestContainment: a panic costs its datagram and the state of its flow, and
// nothing else.
func TestContainment(t *testing.T) {
	p := bomb()
	var h heard
	var shards [2]*dissect.Analyzer
	for i := range shards {
		shards[i] = must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{p}, Share: shards[0]}, &h))(t)
	}
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, payload := range []string{"!one", "!boom", "!two", "!boom again", "!detect", "!three", "!summary"} {
		shards[i%2].Datagram(&dissect.Datagram{
			Frame: uint64(i + 1), Time: at, Src: netip.MustParseAddrPort("192.0.2.1:1000"), Dst: netip.MustParseAddrPort("192.0.2.2:2000"), Payload: []byte(payload),
		})
	}
	if got := len(h.messages); got != 4 {
		t.Errorf("messages %q", h.messages)
	}
	if want := []string{"> text  !one, text  !one, 0", "> text  !two, text  !two, 0", "> text  !three, text  !three, 0", "> text, text, 1"}; !slices.Equal(h.summaries, want) {
		t.Errorf("summaries and findings %q, want %q", h.summaries, want)
	}
	if len(h.unknown) != 3 || h.unknown[0] != "!boom" {
		t.Errorf("shown as data: %q", h.unknown)
	}
	if len(h.findings) != 3 || h.findings[0].Frame != 2 || h.findings[0].Protocol != p || h.findings[0].Type.Severity != dissect.Failed {
		t.Fatalf("findings %+v", h.findings)
	}
	if h.texts[0] != h.texts[1] || h.texts[0] == h.texts[2] {
		t.Errorf("the stacks of two panics in one place and of one elsewhere: %q", h.texts)
	}
	a, b := shards[0].Stats(), shards[1].Stats()
	if n, failed := a.Panics+b.Panics, a.Findings[dissect.Failed]+b.Findings[dissect.Failed]; n != 4 || failed != 4 {
		t.Errorf("%d panics counted, and %d findings", n, failed)
	}
	h.panics = true
	defer func() {
		if recover() == nil {
			t.Error("the panic of a handler is kept from its owner")
		}
	}()
	shards[0].Datagram(&dissect.Datagram{Time: at, Src: netip.MustParseAddrPort("192.0.2.1:1000"), Dst: netip.MustParseAddrPort("192.0.2.2:2000"), Payload: []byte("!four")})
}

// TestDeclarations: a protocol that lacks what it has to declare, or declares what does not go together, is refused with the reason.
func TestDeclarations(t *testing.T) {
	type of = *dissect.Protocol
	stream := func([]byte) (int, bool) { return 0, false }
	catalog := func(add func(c *dissect.Catalog)) func(of) {
		return func(p of) {
			p.Catalog = dissect.NewCatalog(p.Name)
			p.Catalog.Message(dissect.MessageType{Name: "note", Title: "note", Doc: "A note."})
			add(p.Catalog)
		}
	}
	named := func(name string) func(of) { return func(p of) { p.Name = name; catalog(func(*dissect.Catalog) {})(p) } }
	field := func(path, doc string) func(of) {
		return catalog(func(c *dissect.Catalog) { c.Add(path, dissect.Uint, doc) })
	}
	message := func(m dissect.MessageType) func(of) { return catalog(func(c *dissect.Catalog) { c.Message(m) }) }
	finding := func(f dissect.FindingType) func(of) {
		return catalog(func(c *dissect.Catalog) {
			c.Finding(dissect.FindingType{ID: "a2s.x", Text: "x", Doc: "X."})
			c.Finding(f)
		})
	}
	for want, changes := range map[string][]func(of){
		"": {named("a"), named("z9"), named("a-b"), field("a.b-c_d0", "A."),
			message(dissect.MessageType{Name: "a_b", Title: "a", Doc: "A."}), finding(dissect.FindingType{ID: "a.b-c_d", Text: "a", Doc: "A."})},
		"is not lower case":    {named(""), named("9a"), named("A"), named("{"), named("a.b"), named("a_b"), named("-a")},
		"title, doc or source": {func(p of) { p.Title = "" }, func(p of) { p.Doc = "" }, func(p of) { p.Source = "" }},
		"are for datagrams":    {func(p of) { p.Stream = stream }, func(p of) { p.Stream, p.Starts = stream, nil }, func(p of) { p.Stream, p.Split = stream, nil }},
		"either starts":        {func(p of) { p.Sized = true }, func(p of) { p.Keyed = new([256]byte) }},
		"a start is empty":     {func(p of) { p.Starts = []string{"x", ""} }},
		"no key and no ports":  {func(p of) { p.Starts, p.Ports = nil, nil }},
		"detect or new is missing": {func(p of) { p.Catalog = nil }, func(p of) { p.Catalog = dissect.NewCatalog("a2s") },
			func(p of) { p.Detect = nil }, func(p of) { p.New = nil }},
		"its catalog is that of b": {func(p of) { named("b")(p); p.Name = "a" }},
		"split and join":           {func(p of) { p.Split = nil }, func(p of) { p.New = func() dissect.Decoder { return idle{} } }},
		"a part of split": {func(p of) { p.Split.Read = nil }, func(p of) { p.Split.Incomplete = nil },
			func(p of) { p.Split.Duplicate = nil }, func(p of) { p.Split.Reordered = nil }, func(p of) { p.Split.Conflict = nil }},
		"bad path or no doc": {field("A", "A."), field("a..b", "A."), field("a.", "A."), field("a", "")},
		"bad or repeated name": {message(dissect.MessageType{Name: "a-b", Title: "a", Doc: "A."}),
			message(dissect.MessageType{Name: "a", Doc: "A."}), message(dissect.MessageType{Name: "a", Title: "a"}),
			message(dissect.MessageType{Name: "note", Title: "a", Doc: "A."})},
		"bad or repeated id": {finding(dissect.FindingType{ID: "a b", Text: "a", Doc: "A."}), finding(dissect.FindingType{ID: "a", Doc: "A."}),
			finding(dissect.FindingType{ID: "a", Text: "a"}), finding(dissect.FindingType{ID: "a2s.x", Text: "a", Doc: "A."})},
	} {
		for i, change := range changes {
			p := *all.Protocols()[0]
			split := *p.Split
			p.Split = &split
			if change(&p); want == "" {
				if err := p.Validate(); err != nil {
					t.Errorf("declaration %d is right: %v", i, err)
				}
			} else if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d: %v", want, i, err)
			}
		}
	}
}

// TestPrivacy: a protocol whose text does not say what it reveals is refused. Other fields
// are replaced by their kind unless they say otherwise, and what is hidden is never kept.
func TestPrivacy(t *testing.T) {
	of := func(kind dissect.Kind, options ...dissect.Option) (*dissect.Field, error) {
		p := *all.Protocols()[0]
		p.Catalog = dissect.NewCatalog(p.Name)
		p.Catalog.Message(dissect.MessageType{Name: "note", Title: "note", Doc: "A note."})
		f := p.Catalog.Add("note", kind, "A field.", options...)
		return f, p.Validate()
	}
	if _, err := of(dissect.String); err == nil || !strings.Contains(err.Error(), "does not say what its text reveals") {
		t.Errorf("text without a privacy: %v", err)
	}
	for _, c := range []struct {
		kind    dissect.Kind
		options []dissect.Option
		want    dissect.Privacy
	}{
		{dissect.String, []dissect.Option{dissect.Public}, dissect.Public},
		{dissect.String, []dissect.Option{dissect.PersonName, dissect.Secret}, core.Key},
		{dissect.String, []dissect.Option{dissect.Framing}, dissect.Public},
		{dissect.String, []dissect.Option{core.ByKey(map[string]dissect.Privacy{"name": dissect.PersonName})}, dissect.Setting},
		{dissect.Bytes, nil, core.Opaque},
		{dissect.Bytes, []dissect.Option{core.Becomes("joined"), dissect.Secret}, core.Carrier},
		{dissect.ID, nil, core.SteamID},
		{dissect.Endpoint, nil, dissect.Address},
		{dissect.Decimal, nil, core.Cell},
		{dissect.Uint, nil, dissect.Public},
		{dissect.Uint, []dissect.Option{dissect.Token}, dissect.Token},
	} {
		f, err := of(c.kind, c.options...)
		if err != nil || f.Privacy != c.want {
			t.Errorf("%v %v: privacy %d, want %d (%v)", c.kind, c.options, f.Privacy, c.want, err)
		}
		if f.Hidden().Privacy == dissect.Public {
			t.Errorf("%v %v: hidden and kept", c.kind, c.options)
		}
	}
}
