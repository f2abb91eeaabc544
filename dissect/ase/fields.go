package ase

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("ase")

// Requests and the mark of replies.
var (
	fQuery = catalog.Add("query", dissect.Char, "Letter that names the query.", dissect.Names(
		dissect.Name{Value: 's', Name: "status"},
		dissect.Name{Value: 'b', Name: "light"},
		dissect.Name{Value: 'r', Name: "light, release version"},
		dissect.Name{Value: 'x', Name: "Xfire"},
		dissect.Name{Value: 'v', Name: "version"},
		dissect.Name{Value: 'p', Name: "ping"},
	))
	fMagic = catalog.Add("magic", dissect.String, "EYE1, or EYE2 and EYE3 for the shorter replies of Multi Theft Auto.", dissect.Framing)

	// The beginning of all replies.
	fGame     = catalog.Add("gamename", dissect.String, "Short name of the game, such as mta or farcry.", dissect.Public, core.InLatin1)
	fPort     = catalog.Add("port", dissect.Decimal, "Port of the game.")
	fHostName = catalog.Add("hostname", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fGameType = catalog.Add("gametype", dissect.String, "Kind of game being played.", dissect.Public, core.InLatin1)
	fMap      = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, core.InLatin1)
	fVersion  = catalog.Add("version", dissect.String, "Version of the server.", dissect.Public, core.InLatin1)

	// The reply to s.
	fPassword   = catalog.Add("password", dissect.Decimal, "1 if a password is needed.")
	fHidden     = fPassword.Hidden() // the password itself
	fNumPlayers = catalog.Add("numplayers", dissect.Decimal, "Players on the server.")
	fMaxPlayers = catalog.Add("maxplayers", dissect.Decimal, "Maximum number of players.")
	rules       = keyvalue.Declare(catalog, core.InLatin1)
	fRulesEnd   = catalog.Add("rules_end", dissect.String, "An empty text, which ends the settings.", dissect.Framing)

	// Players. Each has texts for the columns that its flags name.
	fPlayers = catalog.Add("players", dissect.List, "The players.")
	fPlayer  = catalog.Add("players.player", dissect.Group, "One player.")
	fFlags   = catalog.Add("players.columns", dissect.Uint, "Columns that follow.", dissect.Framing, dissect.Bits(
		dissect.Name{Value: hasName, Name: "name"}, dissect.Name{Value: hasTeam, Name: "team"}, dissect.Name{Value: hasSkin, Name: "skin"},
		dissect.Name{Value: hasScore, Name: "score"}, dissect.Name{Value: hasPing, Name: "ping"}, dissect.Name{Value: hasTime, Name: "time"}))
	fName  = catalog.Add("players.name", dissect.String, "Name.", dissect.PersonName, core.InLatin1)
	fTeam  = catalog.Add("players.team", dissect.Decimal, "Team, a number or a name.")
	fSkin  = catalog.Add("players.skin", dissect.String, "Character model of the player.", dissect.Public, core.InLatin1)
	fScore = catalog.Add("players.score", dissect.Decimal, "Score. Scripts of Multi Theft Auto may set it to any text.")
	fPing  = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds, as the server measures it.")
	fTime  = catalog.Add("players.duration_s", dissect.Decimal, "Time since the player connected, in seconds as in qstat.")
	fEnd   = catalog.Add("players_end", dissect.Bytes, "A player without columns, which ends the list.", dissect.Framing)

	// Columns that the server names but leaves empty, as Multi Theft Auto does with most.
	// They are not part of the output, so that a score is always a number.
	fNoTeam  = catalog.Add("players.empty.team", dissect.String, "The team is empty.", dissect.Framing)
	fNoSkin  = catalog.Add("players.empty.skin", dissect.String, "The character model is empty.", dissect.Framing)
	fNoScore = catalog.Add("players.empty.score", dissect.String, "The score is empty.", dissect.Framing)
	fNoPing  = catalog.Add("players.empty.ping", dissect.String, "The ping is empty.", dissect.Framing)
	fNoTime  = catalog.Add("players.empty.duration_s", dissect.String, "The time is empty.", dissect.Framing)

	// The shorter replies of Multi Theft Auto. Their additional data follows the name of
	// the map after a zero byte in the same text, where older clients ignore it.
	fCount       = catalog.Add("light.player_count", dissect.String, "Number of players, a slash, maximum number of players. The numeric fields are at most 255.", dissect.Public)
	fBuildType   = catalog.Add("light.build_type", dissect.Decimal, "Kind of build of the server.")
	fBuild       = catalog.Add("light.build_number", dissect.Decimal, "Number of the build of the server.")
	fPingStatus  = catalog.Add("light.ping_status", dissect.String, "Network status of the server.", dissect.ServerText, core.InLatin1)
	fNetRoute    = catalog.Add("light.net_route", dissect.String, "Network route of the server.", dissect.ServerText, core.InLatin1)
	fUptime      = catalog.Add("light.uptime_s", dissect.Decimal, "Seconds since the start of the server.")
	fHTTPPort    = catalog.Add("light.http_port", dissect.Decimal, "Port of the server's HTTP downloads.")
	fMore        = catalog.Add("light.more", dissect.String, "Data that newer servers add.", dissect.ServerText, core.InLatin1)
	fLocked      = catalog.Add("light.password", dissect.Bool, "Whether a password is needed.", core.InJSON("has_password"))
	fSerials     = catalog.Add("light.serial_verification", dissect.Bool, "Whether the server verifies the serials of clients.")
	fPlayersByte = catalog.Add("light.numplayers", dissect.Uint, "Players on the server, at most 255.")
	fMaxByte     = catalog.Add("light.maxplayers", dissect.Uint, "Maximum number of players, at most 255.")

	// The datagrams of a split reply.
	fPartMagic  = catalog.Add("part.magic", dissect.String, "EYE.", dissect.Framing)
	fPartNumber = catalog.Add("part.number", dissect.Char, "Number of the datagram, from 1.", dissect.Framing)
	fPart       = catalog.Add("part.data", dissect.Bytes, "Part of the reply. It may end in the middle of a text.", core.Becomes("joined"), dissect.Framing)
	fPartID     = catalog.Add("part.id", dissect.Uint, "Number that the datagrams of a reply share.", dissect.Framing)
)

var (
	unanswered = finding.NoReply(catalog, "ase.noreply", "The capture has no reply within the time that clients wait. The query port is the game's port plus 123. Multi Theft Auto accepts five queries from an address in six seconds and then does not answer for seven seconds; its long replies need IP fragments, which firewalls drop. The server may also be down, or a packet was lost, dropped or not captured.")
	tooOften   = catalog.Finding(dissect.FindingType{ID: "rate.limit", Severity: dissect.Note, Text: "no reply to query number %d within six seconds: Multi Theft Auto answers five",
		Doc: "The query has no reply, and the server may have refused it. A Multi Theft Auto server accepts five queries from an address in six seconds and then does not answer for seven seconds. Other servers of the protocol have no such limit. Only queries of one conversation are counted here; the server also counts those from other ports of the address."})
	unrequested   = finding.Unrequested(catalog, "ase.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several       = finding.Several(catalog, "ase.several", "The server or the network sent a reply twice, or the request of this reply is missing from the capture. Clients take the second reply for the answer to their next request.")
	amplification = catalog.Finding(dissect.FindingType{ID: "ase.amplification", Severity: dissect.Chat, Text: "data sent without a challenge: %r times the request (%d bytes for %d)", Doc: "The protocol has no challenge, and its request is one byte, so attackers can use any server to flood others. Only a rate limit helps."})

	partMissing = finding.New(catalog, dissect.Warning, "ase.part.missing", "%d of %d {datagram|datagrams} of this reply arrived; missing: %p (%p)",
		"Some datagrams of a reply are not in the capture. The data before the gap is shown.", finding.MissingParts)
	partEndless = finding.New(catalog, dissect.Warning, "ase.part.last_missing", "no last datagram: %d arrived; missing: %p (%p)",
		"A datagram of 1364 bytes is followed by others, and the last, shorter one is not in the capture. The data before the gap is shown.", finding.MissingParts)
	partDuplicate = catalog.Finding(dissect.FindingType{ID: "ase.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate datagrams: %d", Doc: "The network, the server or the capture duplicated datagrams of a reply. They are used once."})
	partReorder   = catalog.Finding(dissect.FindingType{ID: "ase.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the datagrams arrived out of order", Doc: "Clients that append datagrams as they arrive misread this reply."})
	partConflict  = finding.New(catalog, dissect.Warning, "ase.part.conflict", "datagrams that arrived again with different content: %d; the first ones are used",
		"Two different datagrams of one reply have the same number. The server reused an id, or somebody forges datagrams.", finding.MixedParts)
	partFirst = finding.New(catalog, dissect.Warning, "ase.part.unread", "the first datagram is missing: the others cannot be decoded",
		"Datagrams end in the middle of texts, so only the first one begins at a known position.", finding.FirstPart)

	lengthWrapped = finding.Length(catalog, "ase.lenwrap", "length byte %d before a text of %d {byte|bytes}",
		"The length of a text counts itself in eight bits, so a text of 255 bytes or more has a length that is 256 too small. Clients lose their position and show nonsense or nothing. The text was recognised by the data after it. The server's administrator should shorten it.", "Shorten the text that is named in the configuration of the server to less than 255 bytes. A client can look for a plausible next length.")
	noEnd = finding.Length(catalog, "ase.noterm", "the settings have no end",
		"The byte 01 that ends the settings is missing: the reply was truncated, or the server omits the byte when nobody plays.", "A client should accept the end of the data in its place.")
	playersCount = catalog.Finding(dissect.FindingType{ID: "ase.players.count", Severity: dissect.Note, Text: "%d {player|players} listed, numplayers says %d", Doc: "Multi Theft Auto counts players first and lists them later. Older servers truncate the list at the size of a datagram."})
	playersCut   = finding.Length(catalog, "ase.players.cut", "truncated in the middle of a player",
		"The reply ends within a player. Complete players are shown; the rest is in the field data.", finding.CutList)
	playersHidden  = catalog.Finding(dissect.FindingType{ID: "ase.players.hidden", Severity: dissect.Chat, Text: "omitted names: %d", Doc: "Multi Theft Auto keeps its short reply below 1350 bytes. Players without room for their names have none."})
	columnsUnknown = finding.New(catalog, dissect.Warning, "ase.columns", "unknown columns %x in a player",
		"The byte that names the columns of a player has undefined bits: the position is wrong, often because of a length before it (see ase.lenwrap), or the protocol was extended.", "Look at the text before it: if it is 255 bytes or longer, shorten it on the server. If the game is new, report it to qdissect.")
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicLight
	topicXfire
	topicVersion
	topicPing
)

var (
	mStatus       = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "s: asks for all data of a server. The reply is EYE1."})
	mLight        = catalog.Message(dissect.MessageType{Name: "light_request", Title: "light request", Role: dissect.Request, Doc: "b or r: Multi Theft Auto's browser asks for basic data and player names. The reply is EYE2."})
	mXfire        = catalog.Message(dissect.MessageType{Name: "xfire_request", Title: "Xfire request", Role: dissect.Request, Doc: "x: asks a Multi Theft Auto server for basic data. The reply is EYE3."})
	mVersion      = catalog.Message(dissect.MessageType{Name: "version_request", Title: "version request", Role: dissect.Request, Doc: "v: asks a Multi Theft Auto server for its version."})
	mPing         = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "p: asks whether the server responds."})
	mStatusReply  = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "EYE1: basic data, settings and players."})
	mLightReply   = catalog.Message(dissect.MessageType{Name: "light_reply", Title: "light reply", Role: dissect.Reply, Doc: "EYE2: basic data of a Multi Theft Auto server, and the names of the players."})
	mXfireReply   = catalog.Message(dissect.MessageType{Name: "xfire_reply", Title: "Xfire reply", Role: dissect.Reply, Doc: "EYE3: basic data of a Multi Theft Auto server."})
	mVersionReply = catalog.Message(dissect.MessageType{Name: "version_reply", Title: "version reply", Role: dissect.Reply, Doc: "The version of Multi Theft Auto."})
	mPart         = catalog.Message(dissect.MessageType{Name: "part", Title: "part of a reply", Role: dissect.Reply, Doc: "Datagrams of a reply whose first one is missing."})
)

// A Message is one of *Request, *StatusReply, *LightReply, *VersionReply and
// *Part.
type Message any

// Request is a request of one letter: s, b, r, x, v or p.
type Request struct{ Query byte }

// StatusReply is EYE1. Numbers are in the server's text form.
type StatusReply struct {
	Game, HostName, GameType, Map, Version string
	Port, Password, NumPlayers, MaxPlayers string
	Rules                                  []dissect.KeyValue
	Players                                []Player

	skimmed int // players that are not in the list
}

// Player is one player of a status reply. Values that the server omits or leaves empty
// are absent.
type Player struct {
	Name        string
	Team, Skin  dissect.Opt[string]
	Score, Ping dissect.Opt[int]
	// Seconds is the player's time on the server.
	Seconds dissect.Opt[int]
}

// LightReply is EYE2 or EYE3. EYE3 has neither port nor names.
type LightReply struct {
	Game, HostName, GameType, Map, Version string
	Port                                   string
	// Count is the number of players and the maximum, such as "3/32".
	Count                                                 string
	BuildType, Build, PingStatus, Route, Uptime, HTTPPort string
	Password                                              bool
	Serials                                               dissect.Opt[bool]
	// NumPlayers and MaxPlayers are at most 255.
	NumPlayers, MaxPlayers uint8
	// Players are the names. A name is empty if the reply had no room for it.
	Players []string

	counted bool // the reply does not end before MaxPlayers
}

// VersionReply is the version of the server.
type VersionReply struct{ Version string }

// Part is one datagram of a reply, or the datagrams of a reply without the first one.
type Part struct {
	// Number is the number of the datagram, from 1.
	Number int
	ID     uint32
}

var style = wire.Style{Charset: dissect.Latin1}

// AppendSummary appends what the title does not say.
func (m *Request) AppendSummary(dst []byte) []byte {
	if m.Query == 'r' {
		return append(dst, "of a release version"...)
	}
	return dst
}

// AppendSummary appends the name, the game and the players.
func (p *StatusReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (p *LightReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the version.
func (m *VersionReply) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Version) }

// AppendSummary appends the number of the datagram.
func (m *Part) AppendSummary(dst []byte) []byte { return wire.Number(dst, "datagram ", m.Number) }
