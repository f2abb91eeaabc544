// Package savage dissects the queries of Savage: The Battle for Newerth and of Savage XR.
//
// A message begins with 9E 4C 23 00 00. Clients of Savage XR have FF FF next. A type
// follows, and mostly four bytes that the client chose. Seven bytes behind the first five
// a reply has settings: a key, FE, a value, FF. The last one is the list of players, text
// in lines: the name of a team, then its players behind blanks.
//
// Sources: qstat (config), LGSL (function 17), the status script of Savage XR. No recorded
// traffic.
package savage

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("savage")

var (
	fMagic  = catalog.Add("magic", dissect.Bytes, "9E 4C 23 00 00.", dissect.Framing)
	fMarker = catalog.Add("marker", dissect.Bytes, "FF FF: a client of Savage XR.", dissect.Framing)
	fType   = catalog.Add("type", dissect.Uint, "Kind of message.", dissect.Framing, dissect.Names(
		dissect.Name{Value: info, Name: "info request"}, dissect.Name{Value: status, Name: "status request"}, dissect.Name{Value: 0xcf, Name: "reply"}))
	fToken = catalog.Add("token", dissect.Bytes, "Bytes that the client chose, or what the reply has in their place.", dissect.Framing)
	fRest  = catalog.Add("rest", dissect.Bytes, "Bytes of unknown meaning.", dissect.Framing)
	pairs  = keyvalue.Declare(catalog, core.InLatin1)

	fPlayersKey = catalog.Add("players_key", dissect.String, "players: the list of players follows.", dissect.Framing)
	fTeams      = catalog.Add("teams", dissect.List, "The teams with their players.")
	fTeam       = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamName   = catalog.Add("teams.name", dissect.String, "Name of the team.", dissect.Public, core.InLatin1)
	fPlayers    = catalog.Add("teams.players", dissect.List, "Names of its players.")
	fPlayer     = catalog.Add("teams.players.name", dissect.String, "Name of a player.", dissect.PersonName, core.InLatin1)
	fEnd        = catalog.Add("end", dissect.Bytes, "Zero bytes at the end.", dissect.Framing)

	mInfo        = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the settings."})
	mStatus      = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for settings and players."})
	mStatusReply = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "Settings, and players if they were asked for."})
	mUnknown     = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "savage",
	Title:   "Savage queries",
	Doc:     "Queries of Savage: The Battle for Newerth and Savage XR: from the source of clients, not compared with recorded traffic.",
	Source:  "qstat; LGSL (lgsl_protocol.php, 17); status script of Savage XR",
	Ports:   []uint16{11235, 11244},
	Starts:  []string{magic},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 6 to 12 bytes and no challenge, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall."),
}

const (
	magic  = "\x9e\x4c\x23\x00\x00"
	marker = "\xff\xff"

	info   = 0xc8
	status = 0xce

	lenMarker = 2
	lenToken  = 4
	lenHead   = 12
	most      = lenHead // of a request

	topicInfo   dissect.Topic = 1
	topicStatus dissect.Topic = 2
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) <= len(magic) || string(b[:len(magic)]) != magic {
		return dissect.No
	}
	rest := b[len(magic):]
	if len(rest) > lenMarker && string(rest[:lenMarker]) == marker {
		rest = rest[lenMarker:]
	}
	if len(b) > most || (rest[0] == info || rest[0] == status) && (len(rest) == 1 || len(rest) == 1+lenToken) {
		return dissect.Likely
	}
	return dissect.Possible
}

// A Message is one of *Request and *Status, or nil if its kind is not known.
type Message any

// Request is any request.
type Request struct {
	// Players says that players are wanted too.
	Players bool
}

// Status has the settings of a server, and its players. Text holds the bytes of the wire.
type Status struct {
	Rules   []dissect.KeyValue
	Players []Player
}

// A Player is a player of a team.
type Player struct{ Name, Team string }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	status  Status
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	if !r.HasPrefix(magic) {
		r.Fail(fMagic, "not 9E 4C 23 00 00")
		return
	}
	length := r.Left()
	at := len(magic)
	if r.PeekByte(at) == 0xff && r.PeekByte(at+1) == 0xff {
		at += lenMarker
	}
	kind := r.PeekByte(at)
	if length > most || kind != info && kind != status {
		d.decodeStatus(r, m, at)
		return
	}
	d.request = Request{Players: kind == status}
	m.Type, m.Body, m.Pair = mInfo, &d.request, dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
	if d.request.Players {
		m.Type, m.Pair.Asks = mStatus, topicStatus
	}
	head(r, at)
	if r.More() { // gsQuery has no token
		r.Bytes(fToken, lenToken)
	}
}

// head reads a message up to its type, which is at an offset.
func head(r *dissect.Reader, at int) {
	r.Bytes(fMagic, len(magic))
	if at > len(magic) {
		r.Bytes(fMarker, lenMarker)
	}
	r.U8(fType)
}

func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message, at int) {
	p := wire.Message(m, mStatusReply, &d.status, Status{Rules: d.status.Rules[:0], Players: d.status.Players[:0]})
	m.Pair.Answers = topicInfo | topicStatus
	head(r, at)
	r.Bytes(fToken, lenToken)
	if n := lenHead - 1 - lenToken - at; n > 0 {
		r.Bytes(fRest, n)
	}
	more := func() bool { return r.More() && !r.Next(0) && !r.HasPrefix("players\xfe") }
	p.Rules = wire.Records(r, pairs.List, pairs.Pair, p.Rules, more, func() dissect.KeyValue {
		rule := dissect.KeyValue{Key: upTo(r, pairs.Key, 0xfe), Value: upTo(r, pairs.Value, 0xff)}
		core.HideSetting(r, pairs.Hidden, rule.Key, rule.Value)
		return rule
	})
	if r.HasPrefix("players\xfe") {
		upTo(r, fPlayersKey, 0xfe)
		p.lines(r)
	}
	core.BytesWhile(r, fEnd, func(c byte) bool { return c == 0 || c == 0xff })
	m.Server = dissect.Server{
		Name: keyvalue.Text(p.Rules, "name"), Map: keyvalue.Text(p.Rules, "world"), Version: keyvalue.Text(p.Rules, "ver"),
		Players: keyvalue.Number(p.Rules, "cnum"), MaxPlayers: keyvalue.Number(p.Rules, "cmax"), Password: keyvalue.Flag(p.Rules, "pass"),
		Charset: dissect.Latin1,
	}
}

// upTo reads text up to a byte, which ends it.
func upTo(r *dissect.Reader, f *dissect.Field, end byte) string {
	n := core.While(r, 0, func(c byte) bool { return c != end })
	if r.PeekByte(n) < 0 {
		r.Fail(f, "no end")
		return ""
	}
	return core.Latin(r, f, 0, n, 1)
}

// lines reads teams and players.
func (p *Status) lines(r *dissect.Reader) {
	wire.Each(r, fTeams, fTeam, func() bool { return lineHere(r) }, func() {
		team := ""
		if !r.Next(' ') {
			team = line(r, fTeamName, 0)
		}
		p.Players = wire.Items(r, fPlayers, nil, p.Players, func() bool { return r.Next(' ') }, func() Player { return Player{line(r, fPlayer, 1), team} })
	})
}

// lineHere reports whether there is a line.
func lineHere(r *dissect.Reader) bool { return r.More() && !r.Next(0) && !r.Next(0xff) }

// line reads a line after pre bytes.
func line(r *dissect.Reader, f *dissect.Field, pre int) string {
	n, suf := core.While(r, pre, func(c byte) bool { return c != '\n' && c != 0 && c != 0xff })-pre, 0
	if r.PeekByte(pre+n) == '\n' {
		suf = 1
	}
	return core.Latin(r, f, pre, n, suf)
}
