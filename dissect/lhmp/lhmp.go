// Package lhmp dissects the queries of Lost Heaven Multiplayer, a modification of Mafia.
//
// A request is LHMP and a letter: o for the server, p for its players. The reply begins
// with the request. Numbers are little-endian.
//
// Sources: recorded traffic; GameQ.
package lhmp

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("lhmp")

var (
	fTag  = catalog.Add("tag", dissect.String, "LHMP: a message of this protocol.", dissect.Framing)
	fType = catalog.Add("type", dissect.Char, "Kind of data that is requested or sent.", dissect.Framing, dissect.Names(
		dissect.Name{Value: 'o', Name: "server"}, dissect.Name{Value: 'p', Name: "players"}))

	fProtocol   = catalog.Add("protocol", dissect.String, "Version of the protocol, often empty.", dissect.Public, core.InLatin1)
	fPassword   = catalog.Add("password", dissect.String, "Empty or 0 if the server has no password.", dissect.Secret, core.InLatin1)
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fMode       = catalog.Add("mode", dissect.String, "Mode of the game.", dissect.Public, core.InLatin1)
	fWebsite    = catalog.Add("website", dissect.String, "Website of the server.", dissect.ServerText, core.InLatin1)
	fMap        = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, core.InLatin1)

	fCount      = catalog.Add("count", dissect.Uint, "Number of players that follow.", dissect.Framing)
	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "A player.")
	fID         = catalog.Add("players.id", dissect.Uint, "Number of the player on the server.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InLatin1)

	mInfo         = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for name, mode, map and number of players."})
	mPlayers      = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the names of the players."})
	mInfoReply    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, mode, map and number of players."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players", Role: dissect.Reply, Doc: "Names of the players."})
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "lhmp",
	Title:   "Lost Heaven Multiplayer",
	Doc:     "Queries of Lost Heaven Multiplayer, a modification of Mafia.",
	Source:  "recorded traffic; GameQ (Lhmp.php)",
	Ports:   []uint16{27016, 27316},
	Starts:  []string{tag},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is that of the game instead of the one of the queries (one more), or a packet was lost, dropped by a firewall or not captured.",
		"The request has 5 bytes and no challenge, so its source address can be forged to flood somebody else with lists of players. Limit the rate of queries in a firewall."),
}

const (
	tag     = "LHMP"
	headLen = len(tag) + 1

	topicInfo    dissect.Topic = 1
	topicPlayers dissect.Topic = 2
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < headLen || string(b[:len(tag)]) != tag || b[len(tag)] != 'o' && b[len(tag)] != 'p' {
		return dissect.No
	}
	return dissect.Certain
}

// A Message is one of *Request, *InfoReply and *PlayersReply, or nil if its kind is not known.
type Message any

// Request is any request.
type Request struct {
	// Type is o for the server, p for its players.
	Type byte
}

// InfoReply has basic data of a server. Text holds the bytes of the wire, in Latin-1.
type InfoReply struct {
	Protocol, Password       string
	Players, MaxPlayers      uint16
	Name, Mode, Website, Map string
}

// PlayersReply has the players.
type PlayersReply struct{ Players []Player }

// A Player is a player.
type Player struct {
	ID   uint16
	Name string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    InfoReply
	players PlayersReply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	request := r.Left() == headLen
	m.Type = mUnknown
	if !r.HasPrefix(tag) {
		r.Fail(fTag, "not LHMP")
		return
	}
	r.Text(fTag, len(tag))
	kind := r.U8(fType)
	switch {
	case kind != 'o' && kind != 'p':
		r.Fail(fType, "no such query")
	case request:
		d.request = Request{Type: kind}
		m.Type, m.Body, m.Pair.Asks = mInfo, &d.request, topicInfo
		if kind == 'p' {
			m.Type, m.Pair.Asks = mPlayers, topicPlayers
		}
	case kind == 'o':
		d.decodeInfo(r, m)
	default:
		d.decodePlayers(r, m)
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{})
	m.Pair.Answers = topicInfo
	p.Protocol = r.CString(fProtocol)
	p.Password = r.CString(fPassword)
	p.Players = r.U16(fNumPlayers)
	p.MaxPlayers = r.U16(fMaxPlayers)
	p.Name = wire.Latin(r, fName)
	p.Mode = wire.Latin(r, fMode)
	p.Website = wire.Latin(r, fWebsite)
	p.Map = wire.Latin(r, fMap)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Name), Map: dissect.Some(p.Map), Game: dissect.Some(p.Mode), Players: dissect.Some(int(p.Players)), MaxPlayers: dissect.Some(int(p.MaxPlayers)),
		Password: dissect.Some(p.Password != "" && p.Password != "0"), Charset: dissect.Latin1,
	})
}

func (d *decoder) decodePlayers(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mPlayersReply, &d.players, PlayersReply{Players: d.players.Players[:0]})
	m.Pair.Answers = topicPlayers
	p.Players = wire.Counted(r, fPlayers, fPlayer, p.Players, int(r.U16(fCount)), func() Player {
		return Player{ID: r.U16(fID), Name: wire.Latin(r, fPlayerName)}
	})
}

// AppendSummary appends the number of players.
func (p *PlayersReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(p.Players), "player", "players")
}
