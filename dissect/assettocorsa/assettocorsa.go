// Package assettocorsa dissects the ping of the launcher of Assetto Corsa, which finds
// out the port of the server's HTTP interface. Everything else about a server is there.
//
// The request is the byte C8. The reply is the same byte and the port, little-endian.
//
// Source: AssettoServer (ACUdpServer.cs). No recorded traffic.
package assettocorsa

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

var catalog = dissect.NewCatalog("assettocorsa")

var (
	fType = catalog.Add("type", dissect.Uint, "200: a ping.", dissect.Framing)
	fPort = catalog.Add("http_port", dissect.Uint, "TCP port of the server's HTTP interface.")

	mPing      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks for the port of the HTTP interface."})
	mPingReply = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping", Role: dissect.Reply, Doc: "The port of the HTTP interface."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})

	unanswered  = finding.NoReply(catalog, "assettocorsa.noreply", "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.")
	unrequested = finding.Unrequested(catalog, "assettocorsa.unrequested", "The capture has requests of this conversation, but no pending one. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several     = finding.Several(catalog, "assettocorsa.several", finding.Twice)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "assettocorsa",
	Title:   "Assetto Corsa ping",
	Doc:     "The ping of the launcher of Assetto Corsa: from the source of a server, not compared with recorded traffic. Servers are queried over HTTP.",
	Source:  "AssettoServer (ACUdpServer.cs)",
	Ports:   []uint16{9600, 9601, 9602, 9603, 9604, 9605, 9610},
	Starts:  []string{"\xc8"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, several),
}

const (
	ping = 0xc8

	lenRequest = 1
	lenReply   = 3

	topicPing dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if (len(b) == lenRequest || len(b) == lenReply) && b[0] == ping {
		return dissect.Possible
	}
	return dissect.No
}

// A Message is one of *Request and *Reply, or nil if its kind is not known.
type Message any

// Request is a ping.
type Request struct{}

// Reply is the reply to it.
type Reply struct {
	// Port is the TCP port of the HTTP interface.
	Port uint16
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	reply   Reply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	switch length := r.Left(); {
	case length == lenRequest && r.Next(ping):
		m.Type, m.Body, m.Pair.Asks = mPing, &d.request, topicPing
		r.U8(fType)
	case length == lenReply && r.Next(ping):
		m.Type, m.Body, m.Pair.Answers = mPingReply, &d.reply, topicPing
		r.U8(fType)
		d.reply = Reply{Port: r.U16(fPort)}
	default:
		m.Type = mUnknown
		r.Fail(fType, "no such message")
	}
}

// AppendSummary appends the port.
func (p *Reply) AppendSummary(dst []byte) []byte { return wire.Number(dst, "HTTP port ", p.Port) }
