package dissect_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A protocol of its own, with nothing but this package: "PING" and a number, which is
// answered by "PONG", the same number, and a name that ends with a zero byte.
var (
	pings = dissect.NewCatalog("ping")

	fWord = pings.Add("word", dissect.String, "PING or PONG.", dissect.Framing)
	fID   = pings.Add("id", dissect.Uint, "Chosen by the client; the reply carries the same.", dissect.Chosen)
	fName = pings.Add("name", dissect.String, "The name of the server.", dissect.ServerText)

	pingRequest = pings.Message(dissect.MessageType{Name: "ping_request", Title: "ping", Role: dissect.Request, Doc: "Asks whether a server is there."})
	pingReply   = pings.Message(dissect.MessageType{Name: "ping_reply", Title: "pong", Role: dissect.Reply, Doc: "Says that it is there."})

	noPong = pings.Finding(dissect.FindingType{ID: "ping.noreply", Severity: dissect.Warning, Text: "no reply within %t", Doc: "The server did not answer.", Advice: "Look whether it is running."})

	pingProtocol = &dissect.Protocol{
		Name: "ping", Title: "Pings", Doc: "An example.", Source: "this file", Ports: []uint16{4321}, Starts: []string{"PING", "PONG"},
		Catalog: pings,
		Detect: func(b []byte) dissect.Verdict {
			if len(b) >= 8 && (string(b[:4]) == "PING" || string(b[:4]) == "PONG") {
				return dissect.Certain
			}
			return dissect.No
		},
		New:     func() dissect.Decoder { return new(pingDecoder) },
		Pairing: dissect.Pairing{Unanswered: noPong},
	}
)

// A Ping is a request, or a reply with a name.
type Ping struct {
	ID   uint32
	Name string
}

// AppendSummary appends the name.
func (p *Ping) AppendSummary(b []byte) []byte {
	if p.Name == "" {
		return b
	}
	return dissect.AppendQuoted(b, p.Name, dissect.Guessed, dissect.NoStyle)
}

type pingDecoder struct{ ping Ping }

// Decode reads one message. A failed read returns zero, and so do all after it.
func (d *pingDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	const topic dissect.Topic = 1
	d.ping = Ping{}
	m.Type, m.Body = pingRequest, &d.ping
	if r.HasPrefix("PONG") {
		m.Type = pingReply
	}
	r.Text(fWord, 4)
	d.ping.ID = r.U32BE(fID)
	if m.Type == pingRequest {
		m.Pair = dissect.Pair{Asks: topic, ID: uint64(d.ping.ID)}
		return
	}
	m.Pair = dissect.Pair{Answers: topic, ID: uint64(d.ping.ID)}
	d.ping.Name = r.CString(fName)
	m.Server.Name = dissect.Some(d.ping.Name)
}

// ExampleProtocol dissects a protocol that is not part of this module.
func ExampleProtocol() {
	m, _, err := dissect.Parse(pingProtocol, []byte("PONG\x00\x00\x00\x07My serv"))
	fmt.Println(m.Type.Title, m.Body.(*Ping).ID, err)
	_, _, err = dissect.Parse(pingProtocol, []byte("PING\x00\x00\x00\x07more"))
	fmt.Println(err)

	a, err := dissect.New(dissect.Config{Protocols: []*dissect.Protocol{pingProtocol}}, printer{})
	if err != nil {
		panic(err)
	}
	client, server := netip.MustParseAddrPort("192.0.2.1:51000"), netip.MustParseAddrPort("198.51.100.1:4321")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a.Datagram(&dissect.Datagram{Frame: 1, Time: start, Src: client, Dst: server, Payload: []byte("PING\x00\x00\x00\x07")})
	a.Datagram(&dissect.Datagram{Frame: 2, Time: start.Add(time.Millisecond), Src: server, Dst: client, Payload: []byte("PONG\x00\x00\x00\x07My server\x00")})
	a.Flush()
	// Output:
	// pong 7 ping.name: no terminator in 7 bytes at offset 8
	// ping.trailing: 4 bytes after the end of the message at offset 8
	// 192.0.2.1:51000 > 198.51.100.1:4321 ping
	// 198.51.100.1:4321 > 192.0.2.1:51000 pong  "My server", answers frame 1 after 1ms
}
