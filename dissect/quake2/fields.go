package quake2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
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

var (
	unanswered     = finding.NoReply("q2.noreply", "No reply came within the time that clients wait. The server is down, the port is another, a firewall drops the request or the reply, or the server limits how often it answers (Q2Pro, R1Q2).")
	infoUnanswered = finding.Unanswered("q2.info.noreply", "No reply came within the time that clients wait. Servers of Quake 2 answer info only if they are not for a single player. Warsow's answer only if they are neither full nor empty, unless the request has the words full and empty. Else the server is down, the port is another, or a firewall drops the request or the reply.")
	unrequested    = finding.Unrequested("q2.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification  = &dissect.FindingType{ID: "q2.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 11 bytes of status with up to 1,400. Q2Pro and R1Q2 limit how often they answer; operators of other servers limit it in the firewall."}
	oddKey         = finding.OddKey("q2.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	before         = finding.New(dissect.Warning, "q2.before", "text before the settings",
		"Something was printed before the status, in the same datagram. Clients that expect the settings in the second line read none, or reject the reply.", "A client should look for the line that begins with print or statusResponse. On the server, look for a mod or plugin that prints when it is asked.")
	cutPlayer = finding.Length("q2.cut", "cut in the middle of a line",
		"The reply ends within a line. Whole lines are shown; the rest is the field data. Servers themselves leave out players that do not fit, never half a line.", finding.CutList)
	notPlayer = finding.New(dissect.Warning, "q2.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	wrongVersion = &dissect.FindingType{ID: "q2.version", Severity: dissect.Note, Text: "the server speaks another version of the network protocol than the request names", Doc: "The number after info is the version that the client speaks: 34 in Quake 2, others in its descendants. A server with another one says so and states nothing else. A query client should ask for the status, which has no version."}
	rconRefused  = &dissect.FindingType{ID: "q2.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."}
)

var findings = []*dissect.FindingType{
	unanswered, infoUnanswered, unrequested, amplification, oddKey, before, cutPlayer, notPlayer, wrongVersion, rconRefused,
}
