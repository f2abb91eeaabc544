package dissect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// crowd returns n protocols: all those known, last, after others that could own
// every payload but never prove it.
func crowd(n int) []*dissect.Protocol {
	known := all.Protocols()
	starts := make([]string, 256)
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
