package quakeworld

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
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
		before := " "
		if i == 0 {
			before = "  "
		}
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
