// Package quakeworldmaster dissects what QuakeWorld and HexenWorld servers and
// clients say to master servers.
//
// Most messages have no header: they are a letter and a line end. A client sends
// c, a line end and a zero byte. The master replies with FF FF FF FF, d, a line
// end, and an IPv4 address and a port of six bytes in network byte order for each
// server; nothing ends the list. A server sends a with a number that grows and the
// number of its players, each on a line, or C when it stops. The master sends k to
// see whether the server is there, and gets l. HexenWorld has FF before c, and five
// of them before d.
//
// Sources: qstat; mvdsv (sv_master.c).
package quakeworldmaster

import (
	"bytes"

	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("quakeworld-master")

var (
	fHeader   = catalog.Add("header", dissect.Bytes, "Four times FF; five times, or once, in HexenWorld.", dissect.Framing)
	fType     = catalog.Add("type", dissect.Char, "The letter that says which message it is.")
	fEnd      = catalog.Add("end", dissect.Bytes, "Line ends and zero bytes.", dissect.Framing)
	fSequence = catalog.Add("sequence", dissect.Decimal, "Number of the heartbeat.")
	fPlayers  = catalog.Add("num_players", dissect.Decimal, "Players on the server.")
	fText     = catalog.Add("text", dissect.String, "Why the master refuses.", dissect.FreeText)
	fServers  = catalog.Add("servers", dissect.List, "The servers.")
	fServer   = catalog.Add("servers.server", dissect.Endpoint, "Address and port of one.")
)

const (
	topicServers dissect.Topic = 1 << iota
	topicPing
)

var (
	mServersRequest = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "Letter c: asks for the list of servers."})
	mServersReply   = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "Letter d: addresses of servers, in one or more replies."})
	mRefusal        = catalog.Message(dissect.MessageType{Name: "refusal", Title: "refusal", Role: dissect.Reply, Doc: "Letter m: the master does not answer, with the reason."})
	mHeartbeat      = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "Letter a: a server tells its master every five minutes that it is there."})
	mShutdown       = catalog.Message(dissect.MessageType{Name: "shutdown", Title: "shutdown", Role: dissect.OneWay, Doc: "Letter C: a server stops."})
	mPingRequest    = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Letter k: the master asks a server whether it is there."})
	mPingReply      = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "Letter l: it is."})

	unanswered    = finding.NoReply(catalog, "qwmaster.noreply", "No reply came within the time that clients wait. The master is down or another one, or a firewall drops the request or the reply. A ping without a reply: the server stopped without saying so, or a NAT keeps the master's datagrams from it.")
	unrequested   = finding.Unrequested(catalog, "qwmaster.unrequested", "The conversation has requests in the capture, but none that this reply answers: it came too late, or it is forged. Clients that take replies from anybody can be given servers that way.")
	amplification = catalog.Finding(dissect.FindingType{ID: "qwmaster.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "The request has three bytes and no challenge: whoever forges its address makes the master flood that address. Operators limit it in the firewall."})
	entryCut      = finding.Length(catalog, "qwmaster.cut", "an entry is cut: %d {byte is|bytes are} left",
		"The entries of six bytes do not fill the reply. Whole entries are shown; the rest is the field data.", finding.CutList)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "quakeworld-master",
	Title:   "QuakeWorld master servers",
	Group:   "Quake and Doom",
	Doc:     "Lists of servers and heartbeats of QuakeWorld and HexenWorld.",
	Source:  "qstat; mvdsv (sv_master.c)",
	Ports:   []uint16{27000, 27006, 26900},
	Starts:  []string{listHeader, hexenList, "c\n", "\xffc", "m\n", "a\n", "C\n", "k", "l\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, finding.Amplified(amplification, 10)),
}

const (
	listHeader = quake.Header + "d\n"
	hexenList  = "\xff" + listHeader
)

var forms = wire.Forms{
	wire.Likely(listHeader, entries),
	wire.Likely(hexenList, entries),
	wire.Possible(listHeader, nil),
	wire.Possible(hexenList, nil),
	wire.Possible("c\n", quake.Ends),
	wire.Possible("\xffc", quake.Ends),
	wire.Possible("m\n", func(rest []byte) bool { // text
		return len(rest) > 0 && !bytes.ContainsFunc(rest, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != 0 })
	}),
	wire.Possible("a\n", wire.AtLeast(3)),
	wire.Possible("C\n", quake.Ends),
	wire.Possible("k", wire.Length(1)),
	wire.Possible("l", wire.Empty),
}

// headBytes is how much of a payload a detector sees.
const headBytes = 64

// entries reports whether b can be entries of six bytes.
func entries(b []byte) bool { return len(b)%6 == 0 || len(b) >= headBytes-len(hexenList) }

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict { return forms.Judge(b) }

// A Message is one of *Sign, *ServersReply, *Refusal and *Heartbeat.
type Message any

// A Sign is a message of one letter: c, C, k or l.
type Sign struct{ Letter byte }

// ServersReply is one of the replies that make a list.
type ServersReply struct{ Servers []netip.AddrPort }

// Refusal says why a master does not answer.
type Refusal struct{ Text string }

// Heartbeat is what a server tells its master.
type Heartbeat struct{ Sequence, Players int }

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	sign      Sign
	reply     ServersReply
	refusal   Refusal
	heartbeat Heartbeat
}

// signs are the messages of one letter.
var signs = map[byte]struct {
	what          *dissect.MessageType
	asks, answers dissect.Topic
	challenge     dissect.Challenge
}{
	'c': {mServersRequest, topicServers, 0, dissect.ChallengeAbsent},
	'C': {mShutdown, 0, 0, dissect.NoChallenge},
	'k': {mPingRequest, topicPing, 0, dissect.NoChallenge},
	'l': {mPingReply, 0, topicPing, dissect.NoChallenge},
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mServersRequest, &d.sign, Sign{})
	core.BytesWhile(r, fHeader, func(c byte) bool { return c == 0xff })
	letter := r.U8(fType)
	switch letter {
	case 'd':
		d.decodeServers(r, m)
		return
	case 'm':
		m.Type, m.Body, m.Pair.Answers = mRefusal, &d.refusal, topicServers
		core.BytesWhile(r, fEnd, quake.Ender)
		d.refusal = Refusal{Text: r.Text(fText, quake.TextLen(r.Peek()))}
	case 'a':
		m.Type, m.Body = mHeartbeat, &d.heartbeat
		core.BytesWhile(r, fEnd, quake.Ender)
		d.heartbeat.Sequence = keyvalue.Int(r.Delimited(fSequence, 0, "\n\x00", 1)).Value
		d.heartbeat.Players = keyvalue.Int(r.Delimited(fPlayers, 0, "\n\x00", 1)).Value
	default:
		s, ok := signs[letter]
		if !ok {
			r.Fail(fType, "no such message")
			return
		}
		d.sign = Sign{letter}
		m.Type = s.what
		m.Pair = dissect.Pair{Asks: s.asks, Answers: s.answers, Challenge: s.challenge}
	}
	core.BytesWhile(r, fEnd, quake.Ender)
}

func (d *decoder) decodeServers(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body, m.Pair.Answers = mServersReply, &d.reply, topicServers
	if r.Next('\n') {
		r.Bytes(fEnd, 1)
	}
	d.reply.Servers = quake.Servers(r, false, fServers, fServer, catalog.Data(), entryCut, d.reply.Servers[:0])
}

// AppendSummary gives the number of servers.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Servers), "server", "servers")
}

// AppendSummary gives the reason.
func (m *Refusal) AppendSummary(dst []byte) []byte {
	return wire.Style{Charset: core.QuakeChars}.Quoted(dst, "", m.Text)
}

// AppendSummary gives the number of players.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", m.Players, "player", "players")
}
