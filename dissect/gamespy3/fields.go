package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("gamespy3")

// style is the encoding of text: UTF-8 or Latin-1.
var style = summary.Style{Charset: dissect.Latin1}

var asText = core.InCharset(style.Charset)

// The head of every packet, and queries.
var (
	head = gamespy.DeclareHead(fields,
		dissect.Name{Value: gamespy.TypeQuery, Name: "query"}, dissect.Name{Value: gamespy.TypeChallenge, Name: "challenge"},
		dissect.Name{Value: gamespy.TypeEcho, Name: "echo"}, dissect.Name{Value: gamespy.TypeHeartbeat, Name: "heartbeat"},
		dissect.Name{Value: gamespy.TypeAddError, Name: "error"}, dissect.Name{Value: gamespy.TypeEchoReply, Name: "echo reply"},
		dissect.Name{Value: gamespy.TypeMessage, Name: "client message"}, dissect.Name{Value: gamespy.TypeMessageAck, Name: "client message acknowledged"},
		dissect.Name{Value: gamespy.TypeKeepAlive, Name: "keepalive"}, dissect.Name{Value: gamespy.TypeHandshake, Name: "handshake"},
		dissect.Name{Value: gamespy.TypeRegistered, Name: "registered"})

	fPadding     = fields.Add("handshake.padding", dissect.Bytes, "Bytes after a handshake request, without a meaning.")
	fGiven       = fields.Add("handshake.challenge", dissect.Decimal, "Challenge that the server gives: a signed 32-bit number in text. 0 means that it requires none.", dissect.Token, dissect.Chosen)
	fChallenge   = fields.Add("challenge", dissect.Int, "Challenge that the server gave, big-endian.", dissect.Token, dissect.Chosen)
	query        = declareQuery()
	fPart        = fields.Add("part", dissect.Group, "Head of a part after the first.", dissect.Framing)
	fSplitNum    = fields.Add("splitnum", dissect.String, "The word splitnum: the reply may have several parts.", dissect.Framing)
	fNumber      = fields.Add("number", dissect.Uint, "Number of the part, from 0; bit 7 marks the last one.", dissect.Framing, dissect.Bits(dissect.Name{Value: gamespy.Last, Name: "last"}))
	fSection     = fields.Add("section", dissect.Uint, "Section that follows.", dissect.Framing, dissect.Names(gamespy.SectionNames()...))
	fSteamID     = fields.Add("players.steamid", dissect.String, "SteamID of the player (Just Cause 2).", dissect.PersonID, asText)
	fShortPing   = fields.Add("jc2.ping", dissect.Uint, "Round-trip time to the player in milliseconds, in two bytes (Just Cause 2).")
	fValues      = fields.Add("values", dissect.List, "The values of the requested keys, in the order of the query, without the keys.")
	fValue       = fields.Add("values.value", dissect.String, "One value.", dissect.Setting, asText)
	fNumPlayers  = fields.Add("num_players", dissect.Uint, "Number of rows of the table of players.")
	fNumTeams    = fields.Add("num_teams", dissect.Uint, "Number of rows of the table of teams.")
	fColumn      = fields.Add("column", dissect.String, "Name of a column. Names of player columns end with an underscore, those of team columns with _t.", dissect.Framing)
	fStart       = fields.Add("start", dissect.Uint, "Row of the column's first value in this part.", dissect.Framing)
	fEnd         = fields.Add("end", dissect.Bytes, "Zero bytes at the end of a column or a section.", dissect.Framing)
	fReplaced    = fields.Add("replaced", dissect.String, "Value that was truncated at the end of a part and sent again in the next one.", core.Repeated, dissect.Framing, core.InCharset(style.Charset))
	fUnread      = fields.Add("unread", dissect.Bytes, "Bytes of a part that are not a section.", core.Opaque, dissect.Framing)
	pairs        = keyvalue.Declare(fields, asText)
	playerFields = gamespy.DeclarePlayers(fields, style)
	teamFields   = gamespy.DeclareTeams(fields, style)
)

func declareQuery() gamespy.QueryFields {
	f := gamespy.DeclareQuery(fields)
	f.Challenge = fChallenge
	f.Options = fields.Add("options", dissect.Uint, "Bit 0 asks for a reply in parts (SDK). 2 asks Just Cause 2 for its own list of players.",
		dissect.Bits(dissect.Name{Value: 1, Name: "parts"}, dissect.Name{Value: 2, Name: "Just Cause 2"}))
	return f
}

var sections = gamespy.SectionFields{
	Section: fSection, Pairs: pairs, Players: playerFields, Teams: &teamFields,
	Column: fColumn, Start: fStart, End: fEnd, Replaced: fReplaced, Unread: fUnread,
}

var body = gamespy.BodyFields{
	Pairs: pairs, NumPlayers: fNumPlayers, NumTeams: fNumTeams, Players: playerFields, Teams: teamFields,
	Column: fColumn, End: fEnd, Values: fValues, Value: fValue, Data: fields.Data(),
}

// Between servers and the master server.
var (
	fMasterChallenge = fields.Add("master.challenge", dissect.String, "Text that the server must encrypt with the key of its game.", dissect.PersonID, dissect.Chosen, core.InJSON("challenge_text"))
	fBackendOptions  = fields.Add("master.backend_options", dissect.String, "Options that the master server sets, in hex: 80 to require challenges from clients.", dissect.Public)
	fPublicAddress   = fields.Add("master.public_address", dissect.String, "Address and port of the server as the master server sees it, in hex.", core.HexAddress)
	fResponse        = fields.Add("master.response", dissect.String, "The challenge, encrypted and in Base64.", dissect.PersonID, dissect.Chosen)
	fEcho            = fields.Add("master.echo", dissect.Bytes, "Bytes to return, at most 32.", dissect.Chosen)
	fErrorCode       = fields.Add("master.error_code", dissect.Uint, "Reason why the server is not listed.")
	fErrorText       = fields.Add("master.error_text", dissect.String, "The reason in words.", dissect.Public, asText)
	fMessageID       = fields.Add("master.message_id", dissect.Uint, "Number of the message; the acknowledgement returns it.", dissect.Chosen)
	fMessage         = fields.Add("master.message", dissect.Bytes, "Message of a client, forwarded by the master server.")
	fNatNegMagic     = fields.Add("master.natneg", dissect.Bytes, "FD FC 1E 66 6A B2: the client asks for NAT negotiation.", dissect.Framing)
	fCookie          = fields.Add("master.cookie", dissect.Uint, "Number that identifies both sides at the NAT negotiation server.", dissect.Chosen)
	fGameName        = fields.Add("available.gamename", dissect.String, "Name of the client's game.", dissect.Public)
	fStatus          = fields.Add("available.status", dissect.Uint, "Status of the services for the game.", dissect.Names(
		dissect.Name{Value: 0, Name: "available"}, dissect.Name{Value: 1, Name: "unavailable"}, dissect.Name{Value: 2, Name: "temporarily unavailable"}))
)
