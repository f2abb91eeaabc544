package quakeworld

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("quakeworld")

var text = core.InCharset(core.QuakeChars)

// Every message.
var (
	words  = quake.Declare(fields, dissect.FreeText)
	fFifth = fields.Add("fifth", dissect.Uint, "The fifth FF of HexenWorld.", dissect.Framing)
	fType  = fields.Add("type", dissect.Char, "The letter that says which reply it is.", dissect.Names(
		dissect.Name{Value: 'n', Name: "print"}, dissect.Name{Value: 'c', Name: "challenge"}, dissect.Name{Value: 'j', Name: "connection"},
		dissect.Name{Value: 'l', Name: "acknowledgement"}, dissect.Name{Value: 'm', Name: "negative acknowledgement"}))
	fText   = fields.Add("text", dissect.String, "Text for people.", dissect.FreeText, text)
	fHidden = fText.Hidden() // with a password in it

	// Requests.
	fBits = fields.Add("status.bits", dissect.Decimal, "What the reply is to hold, as a sum: 1 settings, 2 players, 4 spectators, 8 spectators in the form of players, 16 teams, 32 QTV streams, 64 accounts, 128 types of clients.", dissect.Public)
	fGame = fields.Add("stats.match", dissect.Decimal, "Number of the match, counted from the newest, or how many of them.", dissect.Public)

	rcon = quake.DeclareRcon(fields)

	// Connecting.
	fProtocol   = fields.Add("connect.protocol", dissect.Decimal, "Version of the network protocol: 28 since 2.40.", dissect.Public)
	fQPort      = fields.Add("connect.qport", dissect.Decimal, "Number by which the server knows the client should a NAT change its port.", dissect.Public, dissect.Chosen)
	fChallenge  = fields.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	userinfo    = quake.DeclareUserinfo(fields)
	fExtensions = fields.Add("extensions", dissect.List, "Extensions of the protocol that the server offers.")
	fExtension  = fields.Add("extensions.extension", dissect.Group, "One extension.")
	fName4      = fields.Add("extensions.name", dissect.String, "Name: FTEX and FTE2 of FTE, MVD1 of mvdsv, VOIP.", dissect.Public)
	fMask       = fields.Add("extensions.bits", dissect.Uint, "Which parts of it, one bit each.")

	// A status.
	rules      = keyvalue.Declare(fields, text)
	fPlayers   = fields.Add("players", dissect.List, "The players and the spectators.")
	fPlayer    = fields.Add("players.player", dissect.Group, "One of them.")
	fID        = fields.Add("players.id", dissect.Decimal, "Number that the server gave, which grows with every client.")
	fFrags     = fields.Add("players.score", dissect.Decimal, "Frags; −9999, or the letter S, for spectators.", dissect.Public)
	fMinutes   = fields.Add("players.minutes", dissect.Decimal, "Minutes on the server.")
	fPing      = fields.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 666 for bots, 999 while connecting. Negated for spectators.")
	fSpectator = fields.Add("players.spectator", dissect.Bool, `The mark \s\ before the name of a spectator.`)
	fName      = fields.Add("players.name", dissect.String, "Name.", dissect.PersonName, text)
	fSkin      = fields.Add("players.skin", dissect.String, "Skin.", dissect.Public, text)
	fTop       = fields.Add("players.top_color", dissect.Decimal, "Colour of the shirt, 0 to 16.")
	fBottom    = fields.Add("players.bottom_color", dissect.Decimal, "Colour of the trousers, 0 to 16.")
	fTeam      = fields.Add("players.team", dissect.String, "Team.", dissect.PersonName, text)
	fLogin     = fields.Add("players.login", dissect.String, "Account, or the country of it.", dissect.PersonName, text)
	fClient    = fields.Add("players.client", dissect.String, "Type of the client: b for a bot, h for a human.", dissect.Public)
	fLine      = fields.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.FreeText, dissect.Framing, text)
	fStreams   = fields.Add("streams", dissect.List, "QTV streams of the match.")
	fStream    = fields.Add("streams.stream", dissect.Group, "One stream.")
	fStreamTag = fields.Add("streams.tag", dissect.String, "The word qtv.", dissect.Framing)
	fStreamID  = fields.Add("streams.id", dissect.Decimal, "Number of the stream.")
	fStreamOf  = fields.Add("streams.name", dissect.String, "Name of the QTV server.", dissect.ServerText, text)
	fStreamURL = fields.Add("streams.address", dissect.String, "Address to watch it at.", dissect.ServerText)
	fViewers   = fields.Add("streams.num_viewers", dissect.Decimal, "Viewers.")

	// Other replies.
	fUsersTag = fields.Add("qtvusers.id", dissect.Decimal, "Number of the QTV stream.")
	fUsers    = fields.Add("viewers", dissect.List, "Viewers of the stream.")
	fUser     = fields.Add("viewers.name", dissect.String, "Name of a viewer.", dissect.PersonName, text)
	fStats    = fields.Add("stats.json", dissect.String, "The statistics, as JSON.", dissect.FreeText, text)
	fLogStart = fields.Add("log.number", dissect.Decimal, "Number of the log.")
	fLogRows  = fields.Add("log.kills", dissect.List, "Who killed whom.")
	fLogRow   = fields.Add("log.kills.kill", dissect.Group, "One kill.")
	fKiller   = fields.Add("log.kills.killer", dissect.String, "Name of the player who killed.", dissect.PersonName, text)
	fVictim   = fields.Add("log.kills.victim", dissect.String, "Name of the player who was killed.", dissect.PersonName, text)
)

var (
	unanswered    = finding.NoReply("qw.noreply", "No reply came within the time that clients wait. The server is down, the port is another, or a firewall drops the request or the reply. To log, laststats, lastscores and qtvusers only servers answer that know them (mvdsv with KTX); others stay silent.")
	unrequested   = finding.Unrequested("qw.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification = &dissect.FindingType{ID: "qw.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 10 bytes of status with 60 times as many, laststats with more than 200 times. mvdsv does not limit queries; operators limit them in the firewall."}
	oddKey        = finding.OddKey("qw.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	cutPlayer     = finding.Length("qw.cut", "cut in the middle of a line",
		"The reply ends within a line. Whole lines are shown; the rest is the field data.", finding.CutList)
	notPlayer = finding.New(dissect.Warning, "qw.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	rconRefused  = &dissect.FindingType{ID: "qw.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."}
	extensionCut = finding.New(dissect.Warning, "qw.extensions", "%d {byte|bytes} after the challenge {is|are} not an extension",
		"After the challenge stand extensions of eight bytes each: a name of four letters and a number. What is left over is shorter. The reply was cut, or the server writes something else there.", "A client should ignore what is left over, or ask for another challenge.")
)

var findings = []*dissect.FindingType{unanswered, unrequested, amplification, oddKey, cutPlayer, notPlayer, rconRefused, extensionCut}
