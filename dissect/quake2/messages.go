package quake2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicInfo
	topicPing
	topicChallenge
	topicConnect
	topicRcon
)

var (
	mStatusRequest    = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "status: asks for the settings and the players."}
	mStatusReply      = &dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "print: the settings in one line, and a line for each player. At most about 1,390 bytes: players that do not fit are missing."}
	mInfoRequest      = &dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Unanswered: infoUnanswered, Doc: "info: asks for name, map and number of players, with the version of the protocol that the client speaks."}
	mInfoReply        = &dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "info: name, map and number of players in one line; or that the server speaks another version."}
	mPingRequest      = &dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping: asks for a sign of life."}
	mPingReply        = &dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "ack: a sign of life."}
	mChallengeRequest = &dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first step of a client that wants to play."}
	mChallengeReply   = &dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "challenge: the number that the client has to send with connect, and the versions that the server speaks."}
	mConnectRequest   = &dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second step, with the challenge and with what the client states about itself, its password included."}
	mConnectReply     = &dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "client_connect: the client may play. A refusal is a print."}
	mRcon             = &dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the console of the server, with its password in the clear."}
	mPrint            = &dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "print: text, such as the output of a remote command, or why a client may not connect."}
	mUnknown          = &dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message and no word that is known."}
)

var messages = []*dissect.MessageType{
	mStatusRequest, mStatusReply, mInfoRequest, mInfoReply, mPingRequest, mPingReply, mChallengeRequest, mChallengeReply,
	mConnectRequest, mConnectReply, mRcon, mPrint, mUnknown,
}

// A Message is a pointer to one of the structs of this package.
type Message any

// A Query is a message of a word and arguments.
type Query struct{ Command, Arguments string }

// StatusReply is the reply to status.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player

	server dissect.Server
}

// A Player is one line of a status.
type Player = quake.Player

// InfoReply is the reply to info.
type InfoReply struct {
	// Name and Map are cut to 16 and 8 characters, unless Facts are there.
	Name, Map           string
	Players, MaxPlayers int
	// Refused says that the server speaks another version of the protocol. Only
	// Name is set then.
	Refused bool
	// Facts are what Warsow's servers state.
	Facts []dissect.KeyValue

	server dissect.Server
}

// Challenge is the reply to getchallenge.
type Challenge struct {
	Challenge string
	// Protocols are the versions that the server speaks.
	Protocols []int
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

var style = summary.Style{Charset: core.QuakeChars}

// AppendSummary gives the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	if m.Arguments == "" {
		return dst
	}
	if m.Command == "info" {
		dst = append(dst, "protocol "...)
	}
	return style.Text(dst, "", m.Arguments)
}

// AppendSummary gives the name, the map and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	short := m.server
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary gives the name, the map and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	if m.Refused {
		return append(style.Quoted(dst, "", m.Name), "  wrong version"...)
	}
	return m.server.AppendSummary(dst)
}

// AppendSummary gives the number and the versions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	before := "  protocol "
	if len(m.Protocols) > 1 {
		before = "  protocols "
	}
	for _, p := range m.Protocols {
		dst = summary.Number(dst, before, p)
		before = ", "
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
func (m *Text) AppendSummary(dst []byte) []byte { return quake.AppendText(dst, m.Text) }
