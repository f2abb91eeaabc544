// Package savage2 dissects the query of Savage 2: A Tortured Soul.
//
// The request is the byte 1. The reply has 12 bytes of unknown meaning, texts that end
// with zero bytes, and numbers of one byte. Neither has a signature: the port and the
// request decide.
//
// Source: node-gamedig (savage2.js). No recorded traffic.
package savage2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

var catalog = dissect.NewCatalog("savage2")

var (
	fQuery      = catalog.Add("query", dissect.Uint, "1: asks for the state of the server.", dissect.Framing)
	fHead       = catalog.Add("head", dissect.Bytes, "Bytes of unknown meaning.", dissect.Framing)
	fName       = catalog.Add("name", dissect.String, "Name of the server. A caret and a letter or digits are colours.", dissect.ServerText)
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fTime       = catalog.Add("time", dissect.String, "Time that the game has been running.", dissect.Public)
	fMap        = catalog.Add("map", dissect.String, "Map being played.", dissect.Public)
	fNextMap    = catalog.Add("next_map", dissect.String, "Next map.", dissect.Public)
	fLocation   = catalog.Add("location", dissect.String, "Where the server is.", dissect.ServerText)
	fMinPlayers = catalog.Add("min_players", dissect.Uint, "Fewest players for a game.")
	fGameType   = catalog.Add("game_type", dissect.String, "Kind of game.", dissect.Public)
	fVersion    = catalog.Add("version", dissect.String, "Version of the game.", dissect.Public)
	fMinLevel   = catalog.Add("min_level", dissect.Uint, "Lowest level that players must have.")

	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, map and number of players."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "savage2",
	Title:   "Savage 2 query",
	Doc:     "The query of Savage 2: A Tortured Soul, on its port: from the source of a client, not compared with recorded traffic.",
	Source:  "node-gamedig (savage2.js)",
	Ports:   []uint16{11235},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 1 byte and no challenge, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall."),
}

const (
	query = 1

	lenHead  = 12
	minReply = lenHead + 11 // with texts of no bytes

	topicInfo dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) == 1 && b[0] == query:
		return dissect.Possible
	case len(b) >= minReply && b[lenHead] >= ' ':
		return dissect.Doubtful
	}
	return dissect.No
}

// A Message is one of *Request and *InfoReply, or nil if its kind is not known.
type Message any

// Request is the request.
type Request struct{}

// InfoReply is the state of a server.
type InfoReply struct {
	Name                                            string
	Players, MaxPlayers, MinPlayers, MinLevel       uint8
	Time, Map, NextMap, Location, GameType, Version string
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
	switch length := r.Left(); {
	case length == 1 && r.Next(query):
		m.Type, m.Body, m.Pair = mInfo, &d.request, dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		r.U8(fQuery)
		return
	case length < lenHead:
		m.Type = mUnknown
		r.Fail(fHead, "no such message")
		return
	}
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{})
	m.Pair.Answers = topicInfo
	r.Bytes(fHead, lenHead)
	p.Name = r.CString(fName)
	p.Players = r.U8(fNumPlayers)
	p.MaxPlayers = r.U8(fMaxPlayers)
	p.Time = r.CString(fTime)
	p.Map = r.CString(fMap)
	p.NextMap = r.CString(fNextMap)
	p.Location = r.CString(fLocation)
	p.MinPlayers = r.U8(fMinPlayers)
	p.GameType = r.CString(fGameType)
	p.Version = r.CString(fVersion)
	p.MinLevel = r.U8(fMinLevel)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Name), Map: dissect.Some(p.Map), Game: dissect.Some(p.GameType), Version: dissect.Some(p.Version),
		Players: dissect.Some(int(p.Players)), MaxPlayers: dissect.Some(int(p.MaxPlayers)),
	})
}
