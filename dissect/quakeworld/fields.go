package quakeworld

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("quakeworld")

var text = core.InCharset(core.QuakeChars)

// Every message.
var (
	words  = quake.Declare(catalog, dissect.FreeText)
	fFifth = catalog.Add("fifth", dissect.Uint, "The fifth FF of HexenWorld.", dissect.Framing)
	fType  = catalog.Add("type", dissect.Char, "The letter that says which reply it is.", dissect.Names(
		dissect.Name{Value: 'n', Name: "print"}, dissect.Name{Value: 'c', Name: "challenge"}, dissect.Name{Value: 'j', Name: "connection"},
		dissect.Name{Value: 'l', Name: "acknowledgement"}, dissect.Name{Value: 'm', Name: "negative acknowledgement"}))
	fText   = catalog.Add("text", dissect.String, "Text for people.", dissect.FreeText, text)
	fHidden = fText.Hidden() // with a password in it

	// Requests.
	fBits = catalog.Add("status.bits", dissect.Decimal, "What the reply is to hold, as a sum: 1 settings, 2 players, 4 spectators, 8 spectators in the form of players, 16 teams, 32 QTV streams, 64 accounts, 128 types of clients.", dissect.Public)
	fGame = catalog.Add("stats.match", dissect.Decimal, "Number of the match, counted from the newest, or how many of them.", dissect.Public)

	rcon = quake.DeclareRcon(catalog)

	// Connecting.
	fProtocol   = catalog.Add("connect.protocol", dissect.Decimal, "Version of the network protocol: 28 since 2.40.", dissect.Public)
	fQPort      = catalog.Add("connect.qport", dissect.Decimal, "Number by which the server knows the client should a NAT change its port.", dissect.Public, dissect.Chosen)
	fChallenge  = catalog.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	userinfo    = quake.DeclareUserinfo(catalog)
	fExtensions = catalog.Add("extensions", dissect.List, "Extensions of the protocol that the server offers.")
	fExtension  = catalog.Add("extensions.extension", dissect.Group, "One extension.")
	fName4      = catalog.Add("extensions.name", dissect.String, "Name: FTEX and FTE2 of FTE, MVD1 of mvdsv, VOIP.", dissect.Public)
	fMask       = catalog.Add("extensions.bits", dissect.Uint, "Which parts of it, one bit each.")

	// A status.
	rules      = keyvalue.Declare(catalog, text)
	fPlayers   = catalog.Add("players", dissect.List, "The players and the spectators.")
	fPlayer    = catalog.Add("players.player", dissect.Group, "One of them.")
	fID        = catalog.Add("players.id", dissect.Decimal, "Number that the server gave, which grows with every client.")
	fFrags     = catalog.Add("players.score", dissect.Decimal, "Frags; −9999, or the letter S, for spectators.", dissect.Public)
	fMinutes   = catalog.Add("players.minutes", dissect.Decimal, "Minutes on the server.")
	fPing      = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 666 for bots, 999 while connecting. Negated for spectators.")
	fSpectator = catalog.Add("players.spectator", dissect.Bool, `The mark \s\ before the name of a spectator.`)
	fName      = catalog.Add("players.name", dissect.String, "Name.", dissect.PersonName, text)
	fSkin      = catalog.Add("players.skin", dissect.String, "Skin.", dissect.Public, text)
	fTop       = catalog.Add("players.top_color", dissect.Decimal, "Colour of the shirt, 0 to 16.")
	fBottom    = catalog.Add("players.bottom_color", dissect.Decimal, "Colour of the trousers, 0 to 16.")
	fTeam      = catalog.Add("players.team", dissect.String, "Team.", dissect.PersonName, text)
	fLogin     = catalog.Add("players.login", dissect.String, "Account, or the country of it.", dissect.PersonName, text)
	fClient    = catalog.Add("players.client", dissect.String, "Type of the client: b for a bot, h for a human.", dissect.Public)
	fLine      = catalog.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.FreeText, dissect.Framing, text)
	fStreams   = catalog.Add("streams", dissect.List, "QTV streams of the match.")
	fStream    = catalog.Add("streams.stream", dissect.Group, "One stream.")
	fStreamTag = catalog.Add("streams.tag", dissect.String, "The word qtv.", dissect.Framing)
	fStreamID  = catalog.Add("streams.id", dissect.Decimal, "Number of the stream.")
	fStreamOf  = catalog.Add("streams.name", dissect.String, "Name of the QTV server.", dissect.ServerText, text)
	fStreamURL = catalog.Add("streams.address", dissect.String, "Address to watch it at.", dissect.ServerText)
	fViewers   = catalog.Add("streams.num_viewers", dissect.Decimal, "Viewers.")

	// Other replies.
	fUsersTag = catalog.Add("qtvusers.id", dissect.Decimal, "Number of the QTV stream.")
	fUsers    = catalog.Add("viewers", dissect.List, "Viewers of the stream.")
	fUser     = catalog.Add("viewers.name", dissect.String, "Name of a viewer.", dissect.PersonName, text)
	fStats    = catalog.Add("stats.json", dissect.String, "The statistics, as JSON.", dissect.FreeText, text)
	fLogStart = catalog.Add("log.number", dissect.Decimal, "Number of the log.")
	fLogRows  = catalog.Add("log.kills", dissect.List, "Who killed whom.")
	fLogRow   = catalog.Add("log.kills.kill", dissect.Group, "One kill.")
	fKiller   = catalog.Add("log.kills.killer", dissect.String, "Name of the player who killed.", dissect.PersonName, text)
	fVictim   = catalog.Add("log.kills.victim", dissect.String, "Name of the player who was killed.", dissect.PersonName, text)
)

var (
	unanswered    = finding.NoReply(catalog, "qw.noreply", "No reply came within the time that clients wait. The server is down, the port is another, or a firewall drops the request or the reply. To log, laststats, lastscores and qtvusers only servers answer that know them (mvdsv with KTX); others stay silent.")
	unrequested   = finding.Unrequested(catalog, "qw.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification = catalog.Finding(dissect.FindingType{ID: "qw.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 10 bytes of status with 60 times as many, laststats with more than 200 times. mvdsv does not limit queries; operators limit them in the firewall."})
	oddKey        = finding.OddKey(catalog, "qw.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	cutPlayer     = finding.Length(catalog, "qw.cut", "cut in the middle of a line",
		"The reply ends within a line. Whole lines are shown; the rest is the field data.", finding.CutList)
	notPlayer = finding.New(catalog, dissect.Warning, "qw.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	rconRefused  = catalog.Finding(dissect.FindingType{ID: "qw.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."})
	extensionCut = finding.New(catalog, dissect.Warning, "qw.extensions", "%d {byte|bytes} after the challenge {is|are} not an extension",
		"After the challenge stand extensions of eight bytes each: a name of four letters and a number. What is left over is shorter. The reply was cut, or the server writes something else there.", "A client should ignore what is left over, or ask for another challenge.")
)
