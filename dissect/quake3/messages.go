package quake3

import (
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicInfo
	topicChallenge
	topicConnect
	topicRcon
	topicKey
	topicAddress
	topicMotd
	topicPing
	topicSrcon
)

var (
	mStatusRequest    = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "getstatus: asks for all public settings and the players."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "statusResponse: the settings in one line, and a line for each player."})
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "getinfo: asks for the basic settings that a list of servers shows. Masters send it as well, to check that a server responds."})
	mInfoReply        = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "infoResponse: basic settings. Servers also answer their master with it."})
	mGameComplete     = catalog.Message(dissect.MessageType{Name: "game_complete", Title: "game complete", Role: dissect.OneWay, Doc: "gameCompleteStatus: the Wolfenstein games report the end of a match to their masters, in the format of a status reply."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first message of a client that connects."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "challengeResponse, or challenge from DarkPlaces: the number that connect must carry."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second message of a client that connects, with its settings, among them the password and identifiers. All but the oldest engines pack them."})
	mConnectReply     = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "connectResponse: the server accepts the client."})
	mDisconnect       = catalog.Message(dissect.MessageType{Name: "disconnect", Title: "disconnect", Role: dissect.OneWay, Doc: "disconnect: the server does not know this client."})
	mRcon             = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the server's console. The password is not encrypted."})
	mSrcon            = catalog.Message(dissect.MessageType{Name: "srcon_request", Title: "secure rcon command", Role: dissect.Request, Unanswered: srconUnanswered, Doc: "srcon: a command for the console of a DarkPlaces server, with a digest in place of the password."})
	mPingRequest      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping: asks a DarkPlaces server for a sign of life."})
	mPingReply        = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "ack: a sign of life."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "print, or n from DarkPlaces: output of a remote command in one or more messages, or the reason why the server refuses a client."})
	mEcho             = catalog.Message(dissect.MessageType{Name: "echo", Title: "echo", Role: dissect.OneWay, Doc: "echo: asks a client to return the text."})
	mEchoChallenge    = catalog.Message(dissect.MessageType{Name: "echo_challenge", Title: "echo challenge", Role: dissect.Reply, Doc: "echo \"echoResponse getstatus TOKEN\": a server (JK2MV, OpenJK) verifies the client's address before it answers the query."})
	mEchoResponse     = catalog.Message(dissect.MessageType{Name: "echo_response", Title: "echo response", Role: dissect.Request, Doc: "echoResponse: the client returns the query and the token of the server's echo, which asks for the same as the query."})
	mKeyRequest       = catalog.Message(dissect.MessageType{Name: "key_authorize_request", Title: "key authorization request", Role: dissect.Request, Doc: "getKeyAuthorize: a client sends its CD key to the authorization server."})
	mKeyReply         = catalog.Message(dissect.MessageType{Name: "key_authorize_reply", Title: "key authorization", Role: dissect.Reply, Doc: "keyAuthorize: the reply, which clients ignore."})
	mAddressRequest   = catalog.Message(dissect.MessageType{Name: "ip_authorize_request", Title: "address authorization request", Role: dissect.Request, Doc: "getIpAuthorize: a server asks the authorization server whether the client at an address has sent a key."})
	mAddressReply     = catalog.Message(dissect.MessageType{Name: "ip_authorize_reply", Title: "address authorization", Role: dissect.Reply, Doc: "ipAuthorize: the verdict."})
	mMotdRequest      = catalog.Message(dissect.MessageType{Name: "motd_request", Title: "motd request", Role: dissect.Request, Doc: "getmotd: a client describes its system to the update server and asks for the message of the day."})
	mMotdReply        = catalog.Message(dissect.MessageType{Name: "motd_reply", Title: "motd", Role: dissect.Reply, Doc: "motd: the message of the day."})
	mUnknown          = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message with an unknown word or none."})
)

// A Message is a pointer to one of the structs of this package.
type Message any

// Query is getstatus or getinfo.
type Query struct {
	// Challenge is a text that the reply returns, "" for none.
	Challenge string
}

// StatusReply is statusResponse, or gameCompleteStatus.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player

	server dissect.Server
}

// Player is one line of a status reply. Its values depend on the game.
type Player struct {
	// Name holds the bytes of the wire, with colour codes.
	Name string
	// Score may have a fraction in some modes of Xonotic.
	Score dissect.Opt[float64]
	// Ping is in milliseconds; 0 for bots.
	Ping dissect.Opt[int]
	// Team is a number; its meaning depends on the game.
	Team dissect.Opt[int]
	// Address is the player's address, "" if the server does not send it.
	Address string
	// Rank is sent by Medal of Honor: Pacific Assault.
	Rank string
}

// InfoReply is infoResponse.
type InfoReply struct {
	// Rules are the settings in the order of the message.
	Rules []dissect.KeyValue

	server dissect.Server
}

// ChallengeRequest is getchallenge.
type ChallengeRequest struct {
	// ClientChallenge and Game are "" from engines older than ioquake3.
	ClientChallenge, Game string
	// KeyHash is the hash of the CD key (Call of Duty).
	KeyHash string
}

// ChallengeReply is challengeResponse or challenge.
type ChallengeReply struct {
	// Challenge is a number in text; any text from DarkPlaces.
	Challenge string
	// ClientChallenge and Protocol are "" from engines older than ioquake3.
	ClientChallenge, Protocol string
}

// Connect is connect.
type Connect struct {
	// Userinfo holds the client's settings, its password among them.
	Userinfo []dissect.KeyValue
	// Packed is the size of the packed userinfo in bytes, 0 if it was not packed.
	Packed int
}

// ConnectReply is connectResponse.
type ConnectReply struct {
	// Challenge is "" from engines older than ioquake3.
	Challenge string
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Srcon is a command for the remote console of DarkPlaces, with a digest in place of
// the password.
type Srcon struct {
	// Mode is TIME or CHALLENGE, and says which of the other two is set. Time is in
	// seconds since 1970, as text.
	Mode, Time, Challenge string
	Digest                [16]byte
	Command               string
}

// Text is print or echo.
type Text struct{ Text string }

// Echo is an echo by which a server verifies an address, or the client's answer.
type Echo struct {
	// Query is the word of the client's query, such as getstatus.
	Query string
	// Token is a text that the server chose.
	Token string
}

// Authorize is a message to or from the authorization server.
type Authorize struct {
	// Challenge and IP are those of the client, in getIpAuthorize and ipAuthorize.
	Challenge, IP string
	// CDKey is the client's key, or a part of it.
	CDKey string
	// Game is the directory of the game.
	Game string
	// Verdict is accept, demo, deny or unknown.
	Verdict string
}

// Motd is getmotd or motd.
type Motd struct{ Rules []dissect.KeyValue }

// Other is a message without content, or an unknown message.
type Other struct{ Command string }

// style is for text of players, plain for text of programs.
var (
	style = wire.Style{Charset: dissect.Guessed, Codes: dissect.Quake3}
	plain = wire.Style{Charset: dissect.Guessed}
)

// labelled appends a label and a value, or nothing if the value is empty.
func labelled(dst []byte, label, s string) []byte {
	if s == "" {
		return dst
	}
	return plain.Text(dst, label, s)
}

// AppendSummary appends the challenge.
func (m *Query) AppendSummary(dst []byte) []byte { return labelled(dst, "challenge ", m.Challenge) }

// AppendSummary appends the query and the token.
func (m *Echo) AppendSummary(dst []byte) []byte {
	dst = plain.Text(dst, "", m.Query)
	return labelled(dst, "  token ", m.Token)
}

// appendServer appends the name, the game and the players.
func appendServer(dst []byte, s *dissect.Server) []byte {
	short := *s
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the name, the game and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the client's number and the game.
func (m *ChallengeRequest) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.ClientChallenge)
	return labelled(dst, " for ", m.Game)
}

// AppendSummary appends the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte { return labelled(dst, "", m.Challenge) }

// AppendSummary appends the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	for i := range m.Userinfo {
		if kv := &m.Userinfo[i]; kv.Key == "name" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}

// AppendSummary appends the number.
func (m *ConnectReply) AppendSummary(dst []byte) []byte {
	return labelled(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	command := m.Command
	if pre, n, suf := quake.NextWord(command); keyvalue.Int(m.Password).OK && pre+n+suf > 0 {
		dst = append(dst, "*** "...)
		command = command[pre+n+suf:]
	}
	return plain.Concealed(dst, command, console.CommandSecret(command))
}

// AppendSummary appends the command, never a password.
func (m *Srcon) AppendSummary(dst []byte) []byte {
	return plain.Concealed(dst, m.Command, console.CommandSecret(m.Command))
}

// maxLine is how many bytes of a line a summary shows.
const maxLine = 60

// AppendSummary appends the first line.
func (m *Text) AppendSummary(dst []byte) []byte {
	line, rest, _ := strings.Cut(strings.TrimLeft(m.Text, " \n"), "\n")
	if n := console.Secret(line); n < len(line) {
		return style.Concealed(dst, line, n)
	}
	if len(line) > maxLine {
		n := maxLine
		for n > 0 && !utf8.RuneStart(line[n]) {
			n--
		}
		dst = style.Quoted(dst, "", line[:n])
		dst = append(dst, " …"...)
	} else {
		dst = style.Quoted(dst, "", line)
	}
	if rest != "" {
		dst = wire.Plural(dst, " and ", 1+strings.Count(rest, "\n"), "line", "lines")
	}
	return dst
}

// AppendSummary appends the address and the verdict, never the key.
func (m *Authorize) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.IP)
	return labelled(dst, "", m.Verdict)
}

// AppendSummary appends the message of the day.
func (m *Motd) AppendSummary(dst []byte) []byte {
	for i := range m.Rules {
		if kv := &m.Rules[i]; kv.Key == "motd" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}
