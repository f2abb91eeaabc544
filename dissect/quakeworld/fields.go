package quakeworld

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
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
	declined     = finding.Declined(catalog, "qw.refused", mPrint, mConnectRequest, mChallengeRequest)
	rconRefused  = catalog.Finding(dissect.FindingType{ID: "qw.rcon.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."})
	extensionCut = finding.New(catalog, dissect.Warning, "qw.extensions", "%d {byte|bytes} after the challenge {is|are} not an extension",
		"After the challenge stand extensions of eight bytes each: a name of four letters and a number. What is left over is shorter. The reply was cut, or the server writes something else there.", "A client should ignore what is left over, or ask for another challenge.")
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicPing
	topicChallenge
	topicConnect
	topicRcon
	topicLog
	topicStats
	topicUsers
	topicDemos
)

var (
	mStatusRequest    = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "status: asks for the settings and the players, or for the parts that a sum of bits names."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "The settings in one line, a line for each player, and a line for each QTV stream. A long reply continues in further datagrams, which begin with a player."})
	mPingRequest      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping or k: asks for a sign of life."})
	mPingReply        = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "The single byte l, without a header."})
	mNack             = catalog.Message(dissect.MessageType{Name: "nack", Title: "refusal", Role: dissect.Reply, Doc: "The single byte m, without a header: the server has no log, or nothing new in it."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first step of a client that wants to play."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "The number that the client has to send with connect, and the extensions of the protocol that the server offers."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second step, with the challenge and with what the client states about itself, its password included."})
	mConnectReply     = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "The letter j: the client may play. A refusal is a print."})
	mRcon             = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the console of the server, with its password in the clear."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "Text: the output of a remote command, a list of demos, why a client may not connect. An empty one says that there is nothing."})
	mLogRequest       = catalog.Message(dissect.MessageType{Name: "log_request", Title: "log request", Role: dissect.Request, Doc: "log: asks for the kills since the log with a number."})
	mLogReply         = catalog.Message(dissect.MessageType{Name: "log_reply", Title: "log", Role: dissect.Reply, Doc: "stdlog: who killed whom, without a header."})
	mStatsRequest     = catalog.Message(dissect.MessageType{Name: "stats_request", Title: "statistics request", Role: dissect.Request, Doc: "laststats or lastscores: asks for the statistics of the last matches (KTX)."})
	mStatsReply       = catalog.Message(dissect.MessageType{Name: "stats_reply", Title: "statistics", Role: dissect.Reply, Doc: "laststats: the statistics of matches as JSON."})
	mUsersRequest     = catalog.Message(dissect.MessageType{Name: "viewers_request", Title: "viewers request", Role: dissect.Request, Doc: "qtvusers: asks who watches the match through QTV."})
	mUsersReply       = catalog.Message(dissect.MessageType{Name: "viewers_reply", Title: "viewers", Role: dissect.Reply, Doc: "qtvusers: the viewers of a QTV stream."})
	mDemosRequest     = catalog.Message(dissect.MessageType{Name: "demos_request", Title: "demos request", Role: dissect.Request, Doc: "dlist, demolist and their relatives: asks for the list of recorded matches."})
	mProxy            = catalog.Message(dissect.MessageType{Name: "proxy", Title: "proxy notice", Role: dissect.OneWay, Doc: "ip or broadcast: what proxies and QTV servers tell a server. Nothing answers it."})
	mUnknown          = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message and no word or letter that is known."})
)

// A Message is a pointer to one of the structs of this package.
type Message any

// A Query is a request or a notice of a word and arguments.
type Query struct{ Command, Arguments string }

// StatusReply is the reply to status, or one datagram of it.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player
	Streams []Stream

	server dissect.Server
}

// A Player is one line of a status.
type Player struct {
	ID int
	// Score is not set if the server shows a spectator as the letter S.
	Score dissect.Opt[int]
	// Minutes is the time on the server, Ping is in milliseconds, never negative.
	Minutes, Ping int
	// Name, Skin and Team are in the character set of Quake.
	Name, Skin, Team string
	// Top and Bottom are the colours of shirt and trousers.
	Top, Bottom int
	Spectator   bool
	// Login and Client are "" unless the request asks for them.
	Login, Client string
}

// A Stream is a QTV stream of the match.
type Stream struct {
	ID            string
	Name, Address string
	Viewers       int
}

// Challenge is the reply to getchallenge.
type Challenge struct {
	Challenge  string
	Extensions []Extension
}

// An Extension of the protocol, with a bit for each of its parts.
type Extension struct {
	Name string
	Bits uint32
}

// Connect is connect.
type Connect struct {
	Protocol, QPort, Challenge string
	// Userinfo is what the client states about itself, its password included.
	Userinfo []dissect.KeyValue
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Text is what a server prints.
type Text struct{ Text string }

// A Sign is a message of one letter: j, l or m.
type Sign struct{ Letter byte }

// Stats is the reply to laststats.
type Stats struct {
	// Matches is the number of matches, JSON their statistics.
	Matches, JSON string
}

// Viewers is the reply to qtvusers.
type Viewers struct {
	Stream string
	Names  []string
}

// Log is the reply to log.
type Log struct {
	Number string
	Kills  []Kill
}

// A Kill is a row of a log.
type Kill struct{ Killer, Victim string }

var style = wire.Style{Charset: core.QuakeChars}

// AppendSummary gives the word, where there are several, and the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	switch m.Command {
	case "status":
		if m.Arguments != "" {
			dst = style.Text(dst, "bits ", m.Arguments)
		}
		return dst
	case "getchallenge", "qtvusers", "ping", "":
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	if m.Arguments != "" {
		dst = style.Text(dst, " ", m.Arguments)
	}
	return dst
}

// AppendSummary gives the name, the map and the players; of a further part what it
// has.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	if len(m.Rules) > 0 {
		return m.server.AppendSummary(dst)
	}
	start := len(dst)
	if n := len(m.Players); n > 0 {
		dst = wire.Plural(dst, "", n, "player", "players")
	}
	if n := len(m.Streams); n > 0 {
		dst = wire.Plural(wire.Gap(dst, start), "", n, "stream", "streams")
	}
	return dst
}

// AppendSummary gives the number and the names of the extensions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	for i := range m.Extensions {
		before := nettext.Either(i == 0, "  ", " ")
		dst = style.Text(dst, before, m.Extensions[i].Name)
	}
	return dst
}

// AppendSummary gives the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	return style.Quoted(dst, "", keyvalue.Text(m.Userinfo, "name").Value)
}

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte { return quake.AppendRcon(dst, m.Password, m.Command) }

// AppendSummary gives the first line, never a password.
func (m *Text) AppendSummary(dst []byte) []byte {
	if m.Text == "" {
		return append(dst, "nothing"...)
	}
	return quake.AppendText(dst, m.Text)
}

// AppendSummary gives the size.
func (m *Stats) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.JSON), "byte of JSON", "bytes of JSON")
}

// AppendSummary gives the number of viewers.
func (m *Viewers) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Names), "viewer", "viewers")
}

// AppendSummary gives the number of kills.
func (m *Log) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Kills), "kill", "kills")
}
