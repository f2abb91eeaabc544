package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

const (
	topicHandshake dissect.Topic = 1 << iota
	topicStatus
	topicMaster
	topicEcho
	topicMessage
	topicAvailable
)

var (
	mHandshake        = catalog.Message(dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Asks for the challenge that a query must carry (SDK: prequery IP verify). The reply to an availability check may look the same."})
	mHandshakeReply   = catalog.Message(dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the challenge, a signed number in text; 0 if none is required."})
	mStatus           = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for the settings, the players or the teams of a server, in one packet or in parts."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The settings, the players and the teams of a server."})
	mHeartbeat        = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat, Doc: "A server announces itself to the master server, with all data of its query replies."})
	mKeepAlive        = catalog.Message(dissect.MessageType{Name: "keepalive", Title: "keepalive", Role: dissect.OneWay, Doc: "A server keeps the path from the master server open, or the master server confirms that it knows the server."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "The master server asks a server to prove that it belongs to the game, and sends it its public address."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge response", Role: dissect.Reply, Doc: "A server proves that it belongs to the game."})
	mRegistered       = catalog.Message(dissect.MessageType{Name: "registered", Title: "registered", Role: dissect.OneWay, Purpose: dissect.Listing, Doc: "The master server has added the server to its list."})
	mError            = catalog.Message(dissect.MessageType{Name: "error", Title: "error", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "The master server does not list the server and gives the reason."})
	mEchoRequest      = catalog.Message(dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "The master server asks whether the server responds."})
	mEchoReply        = catalog.Message(dissect.MessageType{Name: "echo_reply", Title: "echo", Role: dissect.Reply, Doc: "The server responds."})
	mMessage          = catalog.Message(dissect.MessageType{Name: "message_request", Title: "client message", Role: dissect.Request, Doc: "The master server forwards a message of a client, usually a request for NAT negotiation."})
	mMessageAck       = catalog.Message(dissect.MessageType{Name: "message_reply", Title: "client message acknowledged", Role: dissect.Reply, Doc: "The server has received the message."})
	mAvailable        = catalog.Message(dissect.MessageType{Name: "available_request", Title: "availability request", Role: dissect.Request, Doc: "A game asks whether GameSpy's services for it are available."})
	mAvailableReply   = catalog.Message(dissect.MessageType{Name: "available_reply", Title: "availability", Role: dissect.Reply, Doc: "Whether the services are available."})
)

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatusRequest, *StatusReply,
// *Heartbeat and *Master.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// Keys are the requested keys of one kind: all, none, or single ones by their numbers
// in the SDK.
type Keys = gamespy.Keys

// A Row is a player or a team: its values in the order of the wire. The key of a value
// is the name of its column without the underscore or _t at its end.
type Row = gamespy.Row

// HandshakeRequest asks for a challenge.
type HandshakeRequest struct {
	// Session is chosen by the client; every packet of the exchange carries
	// it.
	Session uint32
}

// HandshakeReply gives a challenge.
type HandshakeReply struct {
	Session uint32
	// Challenge is the number that the query must carry, big-endian. 0 means that the
	// query must not carry one.
	Challenge int32
}

// StatusRequest asks for the settings, the players or the teams.
type StatusRequest struct {
	Session                uint32
	Challenge              dissect.Opt[int32]
	Server, Players, Teams Keys
	// Options is the optional last byte: 1 asks for parts, 2 for the list of Just
	// Cause 2.
	Options dissect.Opt[uint8]
}

// StatusReply has the requested data.
type StatusReply struct {
	Session uint32
	// Parts is the number of parts of the reply; 0 in the format without parts.
	Parts   int
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	// Values are the reply to a query for single keys: their values, in the order of
	// the query.
	Values []string
	// JustCause is the list of players of Just Cause 2 Multiplayer.
	JustCause []JustCausePlayer
}

// JustCausePlayer is a player of Just Cause 2 Multiplayer.
type JustCausePlayer struct {
	Name, SteamID string
	Ping          uint16 // milliseconds
}

// Heartbeat announces a server to the master server.
type Heartbeat struct {
	// Key is a number that the server chose; every packet between the two carries it.
	Key     uint32
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
}

// Master is any other message between a server or a game and the servers of GameSpy.
// Only the fields of the message are set.
type Master struct {
	Type uint8
	Key  uint32
	// Text is the challenge, the response, the error or the name of the game.
	Text string
	// Code is the number of the error or of the message, or the status of the
	// services.
	Code   uint32
	Cookie dissect.Opt[uint32]
	Data   []byte
}

// AppendSummary appends the session id.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary appends the challenge.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	return wire.Number(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the requested data and the challenge.
func (m *StatusRequest) AppendSummary(dst []byte) []byte {
	dst = gamespy.AppendKeys(dst, &m.Server, &m.Players, &m.Teams)
	if m.Challenge.OK {
		return wire.Number(dst, ", challenge ", m.Challenge.Value)
	}
	return append(dst, ", without challenge"...)
}

// AppendSummary appends the name, the map and the players, as far as they are present,
// and the lengths of the lists.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	if len(m.Values) > 0 {
		for i, v := range m.Values {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = style.Quoted(dst, "", v)
		}
		return dst
	}
	return appendServer(dst, m.Rules, len(m.Players)+len(m.JustCause), len(m.Teams))
}

func appendServer(dst []byte, rules []dissect.KeyValue, players, teams int) []byte {
	s := gamespy.Server(rules, style)
	dst = gamespy.AppendServer(dst, &s, rules)
	return gamespy.AppendCounts(dst, players, teams, "team", "teams")
}

// AppendSummary appends the name, the map and the players, and whether the server shuts
// down.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = appendServer(dst, m.Rules, len(m.Players), len(m.Teams))
	for i := range m.Rules {
		if m.Rules[i].Key == "statechanged" && m.Rules[i].Value == "2" {
			dst = append(dst, "shutting down"...)
		}
	}
	return dst
}

// AppendSummary appends the content of the message.
func (m *Master) AppendSummary(dst []byte) []byte {
	switch {
	case m.Text != "":
		dst = style.Quoted(dst, "", m.Text)
	case m.Cookie.OK:
		dst = wire.Number(dst, "NAT negotiation, cookie ", m.Cookie.Value)
	case m.Type == gamespy.TypeHandshake:
		dst = append(dst, fStatus.NameOf(uint64(m.Code))...)
	}
	return dst
}
