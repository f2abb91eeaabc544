package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("minecraft")

// style is the encoding of text: UTF-8 today, once the lower byte of every character,
// which is Latin-1, with codes after a section sign.
var style = summary.Style{Charset: dissect.Latin1, Codes: core.Minecraft}

var asText = dissect.InText(style.Charset, style.Codes)

var (
	head       = gamespy.DeclareHead(fields, dissect.Name{Value: gamespy.TypeQuery, Name: "stat"}, dissect.Name{Value: gamespy.TypeHandshake, Name: "handshake"})
	fMangled   = fields.Add("handshake.mangled_session_id", dissect.Bytes, "Session id that the server mangled: EF BF BD replaces bytes that are not valid UTF-8.", dissect.Public, dissect.Chosen)
	fGiven     = fields.Add("handshake.challenge", dissect.Decimal, "Challenge token, a 32-bit number in text.", dissect.Token, dissect.Chosen)
	fChallenge = fields.Add("challenge", dissect.Int, "Challenge token, big-endian.", dissect.Token, dissect.Chosen)
	fPadding   = fields.Add("padding", dissect.Bytes, "Bytes after the token. Four bytes of any value ask for the full stat.", dissect.Public, core.Ignored)

	fMOTD       = fields.Add("basic.motd", dissect.String, "Message of the day: the name of the server.", dissect.ServerText, asText)
	fGameType   = fields.Add("basic.gametype", dissect.String, "SMP.", dissect.Public, asText)
	fMap        = fields.Add("basic.map", dissect.String, "Name of the world.", dissect.Public, asText)
	fNumPlayers = fields.Add("basic.numplayers", dissect.Decimal, "Players on the server.")
	fMaxPlayers = fields.Add("basic.maxplayers", dissect.Decimal, "Maximum number of players.")
	fHostPort   = fields.Add("basic.hostport", dissect.Uint, "Port of the server, little-endian, contrary to the document.")
	fHostIP     = fields.Add("basic.hostip", dissect.String, "The server's own address as it knows it.", dissect.Address, asText)

	fSplitNum = fields.Add("splitnum", dissect.String, "Nine bytes without meaning: the word splitnum, or GeyserMC from Geyser.", dissect.Framing)
	fNumber   = fields.Add("number", dissect.Uint, "80: the first and last part.", dissect.Framing, dissect.Bits(dissect.Name{Value: gamespy.Last, Name: "last"}))
	full      = gamespy.SectionFields{
		Section:  fields.Add("section", dissect.Uint, "Section that follows.", dissect.Framing, dissect.Names(gamespy.SectionNames()...)),
		Pairs:    keyvalue.Declare(fields, asText),
		Players:  gamespy.DeclarePlayers(fields, style),
		Column:   fields.Add("column", dissect.String, "Name of a column: player_.", dissect.Framing),
		Start:    fields.Add("start", dissect.Uint, "Row of the column's first value.", dissect.Framing),
		End:      fields.Add("end", dissect.Bytes, "Zero bytes at the end of a list.", dissect.Framing),
		Replaced: fields.Add("replaced", dissect.String, "A value that a later one replaces.", core.Repeated, dissect.Framing, core.InCharset(style.Charset)),
		Unread:   fields.Add("unread", dissect.Bytes, "Bytes that are not a list.", core.Opaque, dissect.Framing),
	}

	fSoftware = fields.Add("software", dissect.String, "Software of the server, from the setting plugins.", dissect.Public, asText)
	fPlugins  = fields.Add("plugins", dissect.List, "Plugins of the server, from the setting of that name.")
	fPlugin   = fields.Add("plugins.plugin", dissect.String, "Name and version of one plugin.", dissect.Public, asText)
)
