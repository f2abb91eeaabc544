// Package kaillera dissects how players of emulators find Kaillera servers: pings, and the hello of a client, whose reply names the port
// on which the session goes on. The session itself is not read.
//
// Messages are text with a zero byte: PING and PONG; HELLO and a version; HELLOD00D and a port, or TOO from a full server.
//
// Sources: Kaillera network protocol analysis (kailleraprotocol.txt); EmuLinker (ConnectController). No recorded traffic.
package kaillera

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("kaillera")

var (
	fCommand = catalog.Add("command", dissect.String, "PING, PONG, HELLO, HELLOD00D or TOO.", dissect.Framing, dissect.Public)
	fVersion = catalog.Add("version", dissect.String, "Version of the protocol that the client speaks: 0.83.", dissect.Public)
	fPort    = catalog.Add("port", dissect.Decimal, "Port on which the session goes on.")

	mPing  = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Measures the time to a server."})
	mPong  = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping", Role: dissect.Reply, Doc: "The reply."})
	mHello = catalog.Message(dissect.MessageType{Name: "hello_request", Title: "hello", Role: dissect.Request, Doc: "A client wants to connect."})
	mReply = catalog.Message(dissect.MessageType{Name: "hello_reply", Title: "port", Role: dissect.Reply, Doc: "The port on which the session goes on."})
	mFull  = catalog.Message(dissect.MessageType{Name: "full_reply", Title: "server full", Role: dissect.Reply, Purpose: dissect.Refusal, Doc: "The server has no place, or bans the client."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "kaillera",
	Title:   "Kaillera",
	Doc:     "Pings and hellos of Kaillera servers, on which emulators play: from documents, not compared with recorded traffic. Sessions are not read.",
	Source:  "Kaillera network protocol analysis (kailleraprotocol.txt); EmuLinker (ConnectController)",
	Ports:   []uint16{27888, 27887, 27889},
	Starts:  []string{ping, pong, full, hello + "0.", reply},
	Catalog: catalog,
	Detect:  forms.Judge,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down or has another port, it does not speak the version of the client, or a packet was lost, dropped by a firewall or not captured.",
		"The reply is much larger than the request."),
}

const (
	ping  = "PING\x00"
	pong  = "PONG\x00"
	full  = "TOO\x00"
	hello = "HELLO"
	reply = "HELLOD00D"

	topicPing  dissect.Topic = 1
	topicHello dissect.Topic = 2
)

// forms are what payloads may look like. Others send PING and PONG, too.
var forms = wire.Forms{
	wire.Possible(ping, wire.Empty), wire.Possible(pong, wire.Empty), wire.Possible(full, wire.Empty),
	wire.Certain(reply, number(2, 5)), wire.Certain(hello+"0.", number(1, 3)),
}

// number reports whether the rest is a number with a zero byte.
func number(least, most int) func([]byte) bool {
	return func(rest []byte) bool {
		n := len(rest) - 1
		if n < least || n > most || rest[n] != 0 {
			return false
		}
		_, err := strconv.ParseUint(string(rest[:n]), 10, 16)
		return err == nil
	}
}

// A Message is a *Packet.
type Message any

// Packet is any message.
type Packet struct {
	// Command is PING, PONG, HELLO, HELLOD00D or TOO, Value the version or the port.
	Command, Value string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct{ packet Packet }

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	p := &d.packet
	*p = Packet{}
	m.Body = p
	switch {
	case r.HasPrefix(reply):
		m.Type, m.Pair.Answers = mReply, topicHello
		p.Command, p.Value = r.Text(fCommand, len(reply)), r.CString(fPort)
	case r.HasPrefix(hello):
		m.Type, m.Pair.Asks = mHello, topicHello
		p.Command, p.Value = r.Text(fCommand, len(hello)), r.CString(fVersion)
	case r.HasPrefix(full):
		m.Type, m.Pair.Answers = mFull, topicHello
		p.Command = r.CString(fCommand)
	case r.HasPrefix(pong):
		m.Type, m.Pair.Answers = mPong, topicPing
		p.Command = r.CString(fCommand)
	default:
		m.Type, m.Pair.Asks = mPing, topicPing
		p.Command = r.CString(fCommand)
	}
}

// AppendSummary appends the version or the port.
func (p *Packet) AppendSummary(dst []byte) []byte {
	return core.AppendText(dst, p.Value, dissect.Guessed, dissect.NoStyle)
}
