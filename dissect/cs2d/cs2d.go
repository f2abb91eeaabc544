// Package cs2d dissects the queries of Counter-Strike 2D.
//
// A datagram is the bytes 01 00 and a list of messages, each of which begins with two
// bytes. In a request they are the whole message: FB 01 asks for the server, FB 05 for
// its players. A reply may hold the messages in any order, or one alone. Numbers are
// little-endian.
//
// Sources: recorded traffic; GameQ and node-gamedig, which disagree about the modes.
package cs2d

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("cs2d")

var (
	fHead = catalog.Add("head", dissect.Uint, "1: a message outside of a connection.", dissect.Framing)
	fKind = catalog.Add("kind", dissect.Uint, "Kind of message.", dissect.Framing, dissect.Names(
		dissect.Name{Value: kindInfo, Name: "server"}, dissect.Name{Value: kindPlayers, Name: "players"}, dissect.Name{Value: kindOther, Name: "third query of clients"}))

	fFlags = catalog.Add("flags", dissect.Uint,
		"Flags: 1 password, 2 for registered players only, 4 fog of war, 8 friendly fire, 32 bots, 64 Lua scripts, 128 forced light.")
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fMap        = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, core.InLatin1)
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server, bots included.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fMode       = catalog.Add("mode", dissect.Uint, "Mode of the game. Clients disagree whether it is the mode or the number of bots if the server has none.", core.Counted(0, "standard", "deathmatch", "team deathmatch", "construction", "zombies"))
	fBots       = catalog.Add("num_bots", dissect.Uint, "Bots on the server.")
	fFlags2     = catalog.Add("more_flags", dissect.Uint, "Further flags: 1 recoil, 2 damage from off the screen, 4 downloads.")

	fCount      = catalog.Add("count", dissect.Uint, "Number of players that follow.", dissect.Framing)
	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "A player.")
	fID         = catalog.Add("players.id", dissect.Uint, "Number of the player on the server.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InLatin1)
	fTeam       = catalog.Add("players.team", dissect.Uint, "Team.", core.Counted(0, "spectators", "terrorists", "counter-terrorists"))
	fScore      = catalog.Add("players.score", dissect.Int, "Score.")
	fDeaths     = catalog.Add("players.deaths", dissect.Int, "Deaths.")
)

const (
	kindInfo    = 0xfb01
	kindPlayers = 0xfb05
	kindOther   = 0xf503

	withBots = 0x20 // a flag
	locked   = 1

	topicInfo    dissect.Topic = 1
	topicPlayers dissect.Topic = 2
	topicOther   dissect.Topic = 4
)

var (
	mInfo         = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for name, map and number of players."})
	mPlayers      = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players."})
	mStatus       = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for both, or for what only some servers answer."})
	mInfoReply    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, map and number of players."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players", Role: dissect.Reply, Doc: "The players."})
	mStatusReply  = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "Both in one datagram."})
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message."})

	unanswered    = finding.NoReply(catalog, "cs2d.noreply", "The capture has no reply within the time that clients wait. The server is down, is configured to ignore queries, does not know this one, or a packet was lost, dropped by a firewall or not captured.")
	unrequested   = finding.Unrequested(catalog, "cs2d.unrequested", finding.NonePending)
	amplification = finding.Amplification(catalog, "cs2d.amplification", "The request has 4 to 8 bytes and no challenge, so its source address can be forged to flood somebody else with lists of players. Limit the rate of queries in a firewall.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "cs2d",
	Title:   "Counter-Strike 2D",
	Doc:     "Queries of Counter-Strike 2D.",
	Source:  "recorded traffic; GameQ (Cs2d.php), node-gamedig (cs2d.js)",
	Ports:   []uint16{36963},
	Starts:  []string{"\x01\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

const (
	headLen    = 2
	kindLen    = 2
	maxRequest = headLen + 3*kindLen
)

// asks returns the topics of a request without its head, 0 if it is none.
func asks(rest string) (topics dissect.Topic) {
	for ; len(rest) >= kindLen; rest = rest[kindLen:] {
		switch rest[:kindLen] {
		case "\xfb\x01":
			topics |= topicInfo
		case "\xfb\x05":
			topics |= topicPlayers
		case "\xf5\x03":
			topics |= topicOther
		default:
			return 0
		}
	}
	return nettext.Either(len(rest) > 0, 0, topics)
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < headLen+kindLen || b[0] != 1 || b[1] != 0 {
		return dissect.No
	}
	if len(b) <= maxRequest && asks(string(b[headLen:])) != 0 {
		return dissect.Likely
	}
	rest := b[headLen+kindLen:]
	name := 0 // where the length of a name stands
	switch string(b[headLen : headLen+kindLen]) {
	case "\xfb\x01":
		name = 1
	case "\xfb\x05":
		if len(rest) > 0 && rest[0] == 0 { // no players
			return nettext.Either(len(rest) > 2 && string(rest[1:3]) != "\xfb\x01", dissect.No, dissect.Likely)
		}
		name = 2
	case "\xf5\x03":
		return dissect.Possible
	default:
		return dissect.No
	}
	if len(rest) <= name || rest[name] == 0 {
		return dissect.Possible
	}
	n := int(rest[name])
	rest = rest[name+1:]
	for _, c := range rest[:min(n, len(rest))] {
		if c < ' ' {
			return dissect.No
		}
	}
	return nettext.Either(n > len(rest) && len(b) < 64, dissect.Possible, dissect.Likely)
}

// A Message is one of *Request and *Reply, or nil if its kind is not known.
type Message any

// Request is any request.
type Request struct{ Info, Players, Other bool }

// Reply has the data of a server, its players, or both.
type Reply struct {
	Info       dissect.Opt[Info]
	HasPlayers bool
	Players    []Player

	server dissect.Server
}

// Info has basic data of a server. Text holds the bytes of the wire, in Latin-1.
type Info struct {
	// Flags: 1 password, 2 for registered players only, 4 fog of war, 8 friendly fire,
	// 32 bots, 64 Lua scripts, 128 forced light.
	Flags               uint8
	Name, Map           string
	Players, MaxPlayers uint8
	// Mode is the mode of the game.
	Mode uint8
	Bots uint8
	// MoreFlags: 1 recoil, 2 damage from off the screen, 4 downloads.
	MoreFlags uint8
}

// A Player is a player.
type Player struct {
	ID            uint8
	Name          string
	Team          uint8
	Score, Deaths int32
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	reply   Reply
}

// Decode reads one datagram.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	r.U16(fHead)
	if topics := asks(core.PeekText(r)); topics != 0 {
		d.request = Request{Info: topics&topicInfo != 0, Players: topics&topicPlayers != 0, Other: topics&topicOther != 0}
		switch m.Type = mStatus; topics {
		case topicInfo:
			m.Type = mInfo
		case topicPlayers:
			m.Type = mPlayers
		}
		m.Body, m.Pair.Asks = &d.request, topics
		for r.More() {
			r.U16BE(fKind)
		}
		return
	}
	p := &d.reply
	*p = Reply{Players: p.Players[:0]}
	for first := true; first || r.More(); first = false {
		switch kind := r.U16BE(fKind); {
		case kind == kindInfo && !p.Info.OK:
			m.Body = p
			m.Pair.Answers |= topicInfo
			d.decodeInfo(r, m)
		case kind == kindPlayers && !p.HasPlayers:
			m.Body = p
			m.Pair.Answers |= topicPlayers
			d.decodePlayers(r)
		case kind == kindOther && !first:
			m.Pair.Answers |= topicOther
			r.Rest(catalog.Data()) // nobody knows its content
		default:
			r.Fail(fKind, "no such message, or one that came before")
		}
	}
	switch {
	case p.Info.OK && p.HasPlayers:
		m.Type = mStatusReply
	case p.HasPlayers:
		m.Type = mPlayersReply
	case m.Body == p:
		m.Type = mInfoReply
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := &d.reply.Info.Value
	d.reply.Info.OK = true
	i.Flags = r.U8(fFlags)
	i.Name = wire.Latin(r, fName)
	i.Map = wire.Latin(r, fMap)
	i.Players = r.U8(fNumPlayers)
	i.MaxPlayers = r.U8(fMaxPlayers)
	i.Mode = r.U8(fMode)
	if i.Flags&withBots != 0 {
		i.Bots = r.U8(fBots)
	}
	i.MoreFlags = r.U8(fFlags2)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(i.Name), Map: dissect.Some(i.Map), Players: dissect.Some(int(i.Players)), MaxPlayers: dissect.Some(int(i.MaxPlayers)),
		Bots: dissect.Opt[int]{Value: int(i.Bots), OK: i.Flags&withBots != 0}, Password: dissect.Some(i.Flags&locked != 0), Charset: dissect.Latin1,
	})
	d.reply.server = m.Server
}

func (d *decoder) decodePlayers(r *dissect.Reader) {
	p := &d.reply
	p.HasPlayers = true
	p.Players = wire.Counted(r, fPlayers, fPlayer, p.Players, int(r.U8(fCount)), func() Player {
		return Player{ID: r.U8(fID), Name: wire.Latin(r, fPlayerName), Team: r.U8(fTeam), Score: r.I32(fScore), Deaths: r.I32(fDeaths)}
	})
}

// AppendSummary appends the name, the map and the players.
func (p *Reply) AppendSummary(dst []byte) []byte {
	if dst = p.server.AppendSummary(dst); !p.Info.OK {
		dst = wire.Plural(dst, "", len(p.Players), "player", "players")
	}
	return dst
}
