package quake2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("quake2")

// Engines after Quake 2 use colour codes; those that do not have no carets.
var text = core.InCharset(core.QuakeChars)

// Every message.
var (
	words    = quake.Declare(fields, dissect.Public)
	fText    = fields.Add("text", dissect.String, "Text for people.", dissect.FreeText, text)
	fHidden  = fText.Hidden() // with a password in it
	fBits    = fields.Add("status.bits", dissect.Decimal, "What QuakeWorld's reply would hold; Quake 2 ignores it.", dissect.Public)
	fVersion = fields.Add("info.protocol", dissect.Decimal, "Version of the network protocol that the client speaks.", dissect.Public)
	fAsked   = fields.Add("info.options", dissect.String, "Warsow: full and empty ask servers that are full or empty to answer, too.", dissect.Public)

	rcon = quake.DeclareRcon(fields)

	// Connecting.
	fProtocol  = fields.Add("connect.protocol", dissect.Decimal, "Version of the network protocol: 34, or 35 and 36 of R1Q2 and Q2Pro.", dissect.Public)
	fQPort     = fields.Add("connect.qport", dissect.Decimal, "Number by which the server knows the client should a NAT change its port.", dissect.Public, dissect.Chosen)
	fChallenge = fields.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	fProtocols = fields.Add("challenge.protocols", dissect.List, "Versions of the network protocol that the server speaks.")
	fSpoken    = fields.Add("challenge.protocols.protocol", dissect.Decimal, "One of them.", dissect.Public)
	fOptions   = fields.Add("connect.options", dissect.String, "What the server tells the client: where to download from, the map.", dissect.FreeText)
	userinfo   = quake.DeclareUserinfo(fields)

	// A status.
	fBefore = fields.Add("status.before", dissect.String, "Lines before the settings, which some servers print by mistake.", dissect.FreeText, dissect.Framing, text)
	status  = quake.DeclareStatus(fields, &words, oddKey, cutPlayer, notPlayer)

	// A short info.
	fHost     = fields.Add("info.name", dissect.String, "Name of the server, cut to 16 characters.", dissect.ServerText, text)
	fMap      = fields.Add("info.map", dissect.String, "Map, cut to 8 characters.", dissect.Public)
	fCount    = fields.Add("info.num_players", dissect.Decimal, "Players on the server.")
	fMax      = fields.Add("info.max_players", dissect.Decimal, "Places on the server.")
	fRefusal  = fields.Add("info.refusal", dissect.String, "That the server speaks another version of the network protocol.", dissect.Public)
	fFacts    = fields.Add("info.facts", dissect.List, "Warsow: what the server states about itself.")
	fFact     = fields.Add("info.facts.fact", dissect.Group, "One of them.")
	fFactKey  = fields.Add("info.facts.key", dissect.String, "n the name, m the map, u players/places, g the type of game, s the skill level, p a password, mo the modification, r ranked.", dissect.Public)
	fFactText = fields.Add("info.facts.value", dissect.String, "Its value.", dissect.Public, core.InStyle(dissect.Quake3))
	fFactName = fields.Add("info.facts.name.value", dissect.String, "Name of the server.", dissect.ServerText, core.InStyle(dissect.Quake3))
	fFactsEnd = fields.Add("info.facts_end", dissect.Bytes, "The end of the list: EOT.", dissect.Framing)
)
