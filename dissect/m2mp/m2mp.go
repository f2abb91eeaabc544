// Package m2mp dissects the queries of two modifications of Mafia II: Mafia 2
// Multiplayer and M2Online.
//
// A request is M2MP, M2MPi or M2Online; the reply begins with M2MP or M2Online. Texts
// follow a length that counts itself; numbers are texts. Players are names, and in
// M2Online names and pings; after those of M2MP stands an empty text.
//
// Sources: GameQ, from a recorded reply, for Mafia 2 Multiplayer; the source of
// M2Online (CQuery.cpp).
package m2mp

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"slices"
)

var catalog = dissect.NewCatalog("m2mp")

var (
	fTag        = catalog.Add("tag", dissect.String, "M2MP or M2Online: a message of this protocol.", dissect.Framing)
	fType       = catalog.Add("type", dissect.Char, "i: a request for infos.", dissect.Framing)
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fNumPlayers = catalog.Add("num_players", dissect.Decimal, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Decimal, "Maximum number of players.")
	fMode       = catalog.Add("mode", dissect.String, "Mode of the game.", dissect.Public, core.InLatin1)
	fPassword   = catalog.Add("password", dissect.Bool, "Whether the server has a password.")
	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InLatin1)
	fPing       = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds (M2Online).")
	fEnd        = catalog.Add("end", dissect.Uint, "1: the end of the players.", dissect.Framing)

	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for name, mode and players."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, mode and players."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "m2mp",
	Title:   "Mafia 2 Multiplayer",
	Doc:     "Queries of the modifications of Mafia II: Mafia 2 Multiplayer and M2Online.",
	Source:  "GameQ (M2mp.php); M2Online (CQuery.cpp)",
	Ports:   []uint16{27016},
	Starts:  []string{tag, tagOnline},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is that of the game instead of the one of the queries (one more), the server is of the other modification and expects the other word, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 4 to 8 bytes and no challenge, so its source address can be forged to flood somebody else with names of players. Limit the rate of queries in a firewall."),
}

const (
	tag       = "M2MP"
	tagOnline = "M2Online"

	topicInfo dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	rest := b
	switch {
	case len(b) >= len(tagOnline) && string(b[:len(tagOnline)]) == tagOnline:
		rest = b[len(tagOnline):]
	case len(b) >= len(tag) && string(b[:len(tag)]) == tag:
		rest = b[len(tag):]
		if len(rest) == 1 && rest[0] == 'i' {
			return dissect.Certain
		}
	default:
		return dissect.No
	}
	if len(rest) == 0 {
		return dissect.Certain
	}
	if name := rest[1:min(len(rest), max(int(rest[0]), 1))]; slices.ContainsFunc(name, func(c byte) bool { return c < ' ' }) {
		return dissect.Possible
	}
	return dissect.Certain
}

// A Message is one of *Request and *InfoReply, or nil if its kind is not known.
type Message any

// Request asks for an InfoReply.
type Request struct {
	// Online is set if the request is one of M2Online.
	Online bool
}

// InfoReply has the data of a server. Text holds the bytes of the wire, in Latin-1.
type InfoReply struct {
	// Online is set if the server is one of M2Online.
	Online bool
	Name   string
	// NumPlayers and MaxPlayers are texts on the wire, and should be numbers.
	NumPlayers, MaxPlayers string
	Mode                   string
	Password               bool
	Players                []Player
}

// A Player is a player.
type Player struct {
	Name string
	// Ping is in milliseconds, empty in Mafia 2 Multiplayer.
	Ping string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    InfoReply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	online := r.HasPrefix(tagOnline)
	switch {
	case online:
		r.Text(fTag, len(tagOnline))
	case r.HasPrefix(tag):
		r.Text(fTag, len(tag))
	default:
		r.Fail(fTag, "neither M2MP nor M2Online")
		return
	}
	if n := r.Left(); n == 0 || n == 1 && !online && r.Next('i') {
		d.request = Request{Online: online}
		m.Type, m.Body, m.Pair.Asks = mInfo, &d.request, topicInfo
		if n > 0 {
			r.U8(fType)
		}
		return
	}
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{Online: online, Players: d.info.Players[:0]})
	m.Pair.Answers = topicInfo
	p.Name = text(r, fName)
	p.NumPlayers = text(r, fNumPlayers)
	p.MaxPlayers = text(r, fMaxPlayers)
	p.Mode = text(r, fMode)
	p.Password = r.Bool(fPassword)
	if r.Failed() {
		return
	}
	m.Server = dissect.Server{
		Name: dissect.Some(p.Name), Game: dissect.Some(p.Mode), Players: number(p.NumPlayers), MaxPlayers: number(p.MaxPlayers),
		Password: dissect.Some(p.Password), Charset: dissect.Latin1,
	}
	more := func() bool { return r.More() && (online || r.Left() > 1 || !r.Next(1)) }
	p.Players = wire.Records(r, fPlayers, fPlayer, p.Players, more, func() Player {
		one := Player{Name: text(r, fPlayerName)}
		if online {
			one.Ping = text(r, fPing)
		}
		return one
	})
	if !online {
		r.U8(fEnd)
	}
}

// text reads a text after its length, which counts itself.
func text(r *dissect.Reader, f *dissect.Field) string {
	if r.Next(0) {
		r.Fail(f, "a length of 0, which does not count itself")
	}
	return core.Latin(r, f, 1, max(r.PeekByte(0)-1, 0), 0)
}

func number(s string) (n dissect.Opt[int]) {
	if v, ok := nettext.ParseInt(s); ok && v >= 0 {
		n = dissect.Some(int(v))
	}
	return n
}
