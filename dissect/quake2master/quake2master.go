// Package quake2master dissects what Quake 2 servers and clients say to master
// servers.
//
// A client sends the word query with a line end and a zero byte, without a header.
// The master replies with FF FF FF FF, the word servers, a blank, and an IPv4
// address and a port of six bytes in network byte order for each server; nothing
// ends the list. A server sends FF FF FF FF and heartbeat with its status, or
// shutdown. The master sends ping to see whether the server is there, and gets
// ack.
//
// Sources: qstat; Yamagi Quake II (sv_main.c).
package quake2master

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

var catalog = dissect.NewCatalog("quake2-master")

var (
	words    = quake.Declare(catalog, dissect.Public)
	fServers = catalog.Add("servers", dissect.List, "The servers.")
	fServer  = catalog.Add("servers.server", dissect.Endpoint, "Address and port of one.")
	status   = quake.DeclareStatus(catalog, &words, oddKey, cutPlayer, notPlayer)
)

const topicServers dissect.Topic = 1

var (
	mServersRequest = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "query: asks for the list of servers."})
	mServersReply   = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "servers: addresses of servers, in one or more replies."})
	mHeartbeat      = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "heartbeat: a server tells its master every five minutes that it is there, with its status."})
	mShutdown       = catalog.Message(dissect.MessageType{Name: "shutdown", Title: "shutdown", Role: dissect.OneWay, Doc: "shutdown: a server stops."})

	unanswered  = finding.NoReply(catalog, "q2master.noreply", "No reply came within the time that clients wait. The master is down or another one, or a firewall drops the request or the reply. Few masters of Quake 2 still answer over UDP.")
	unrequested = finding.Unrequested(catalog, "q2master.unrequested", "The conversation has requests in the capture, but none that this reply answers: it came too late, or it is forged. Clients that take replies from anybody can be given servers that way.")
	entryCut    = finding.Length(catalog, "q2master.cut", "an entry is cut: %d {byte is|bytes are} left",
		"The entries of six bytes do not fill the reply. Whole entries are shown; the rest is the field data.", finding.CutList)
	oddKey    = finding.OddKey(catalog, "q2master.oddkv", "Keys and values of a heartbeat do not pair up: it was cut, or a value holds a backslash.")
	cutPlayer = finding.Length(catalog, "q2master.player_cut", "cut in the middle of a line",
		"The heartbeat ends within a line. Whole lines are shown.", finding.CutList)
	notPlayer = finding.New(catalog, dissect.Warning, "q2master.line", "not a line of a player: %s",
		"A line after the settings of a heartbeat does not have the format of a player.", "A master should skip the line. On the server, look for a mod that prints into the status.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "quake2-master",
	Title:   "Quake 2 master servers",
	Group:   "Quake and Doom",
	Doc:     "Lists of servers and heartbeats of Quake 2 and of the games on its engine.",
	Source:  "qstat; Yamagi Quake II (sv_main.c)",
	Ports:   []uint16{27900},
	Starts:  append(wire.Words(quake.Header, "servers", "heartbeat", "shutdown"), query),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested),
}

const query = "query"

var (
	bare = wire.Forms{wire.Likely(query, func(rest []byte) bool { return len(rest) > 0 && len(rest) <= 2 && quake.Ends(rest) })}
	oob  = wire.Forms{
		wire.Likely("servers ", nil),
		wire.Likely("heartbeat\n\\", nil),
		wire.Possible("heartbeat", quake.Ends),
		wire.Possible("shutdown", quake.Ends),
	}
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) > 0 && b[0] == query[0] {
		return bare.Judge(b)
	}
	if len(b) < 5 || string(b[:4]) != quake.Header {
		return dissect.No
	}
	return oob.Judge(b[4:])
}

// A Message is one of *Query, *ServersReply and *Heartbeat.
type Message any

// Query asks for the servers.
type Query struct{}

// ServersReply is one of the replies that make a list.
type ServersReply struct{ Servers []netip.AddrPort }

// Heartbeat is what a server tells its master: its status, or that it stops.
type Heartbeat struct {
	// Shutdown says that the server stops.
	Shutdown bool
	Rules    []dissect.KeyValue
	Players  []quake.Player

	server dissect.Server
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	query     Query
	reply     ServersReply
	heartbeat Heartbeat
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	switch {
	case r.HasPrefix(quake.Header + "servers "):
		d.decodeServers(r, m)
	case r.HasPrefix(quake.Header):
		d.decodeHeartbeat(r, m)
	default:
		m.Type, m.Body, m.Pair.Asks = mServersRequest, &d.query, topicServers
		if !r.HasPrefix(query) {
			r.Fail(words.Command, "no such message")
			return
		}
		r.Span(words.Command, 0, 0, len(query), 0)
		words.Ending(r)
	}
}

func (d *decoder) decodeServers(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body, m.Pair.Answers = mServersReply, &d.reply, topicServers
	words.Begin(r)
	d.reply.Servers = quake.Servers(r, false, fServers, fServer, catalog.Data(), entryCut, d.reply.Servers[:0])
}

func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message) {
	h := wire.Message(m, mHeartbeat, &d.heartbeat, Heartbeat{Rules: d.heartbeat.Rules[:0], Players: d.heartbeat.Players[:0]})
	switch words.Begin(r) {
	case "shutdown":
		m.Type, h.Shutdown = mShutdown, true
	case "heartbeat":
		if r.Next('\\') {
			h.Rules, h.Players, m.Server = status.Read(r, h.Rules, h.Players)
			h.server = m.Server
		}
	default:
		r.Fail(words.Command, "no such message")
	}
	words.Finish(r)
}

// AppendSummary gives the number of servers.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Servers), "server", "servers")
}

// AppendSummary gives the name, the map and the players.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	short := m.server
	short.Version = dissect.Opt[string]{}
	return short.AppendSummary(dst)
}
