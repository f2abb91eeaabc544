package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
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
	mHandshake        = &dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Doc: "Asks for the challenge that a query needs (SDK: prequery IP verify). The answer to an availability check looks the same."}
	mHandshakeReply   = &dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the challenge, a signed number in text; 0 if none is wanted."}
	mStatus           = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for any of the settings, the players and the teams of a server, in one packet or in parts."}
	mStatusReply      = &dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The settings, the players and the teams of a server."}
	mHeartbeat        = &dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Doc: "A server tells the master server that it is there, with all that a query would be answered with."}
	mKeepAlive        = &dissect.MessageType{Name: "keepalive", Title: "keepalive", Role: dissect.OneWay, Doc: "A server keeps the way from the master server open; the master server says that it knows the server."}
	mChallengeRequest = &dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Doc: "The master server wants a server to prove that it is of the game, and tells it its public address."}
	mChallengeReply   = &dissect.MessageType{Name: "challenge_reply", Title: "challenge response", Role: dissect.Reply, Doc: "A server proves that it is of the game."}
	mRegistered       = &dissect.MessageType{Name: "registered", Title: "registered", Role: dissect.OneWay, Doc: "The master server has put the server on its list."}
	mError            = &dissect.MessageType{Name: "error", Title: "error", Role: dissect.OneWay, Doc: "The master server does not list the server, and says why."}
	mEchoRequest      = &dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "The master server asks for a sign of life."}
	mEchoReply        = &dissect.MessageType{Name: "echo_reply", Title: "echo", Role: dissect.Reply, Doc: "A sign of life."}
	mMessage          = &dissect.MessageType{Name: "message_request", Title: "client message", Role: dissect.Request, Doc: "The master server passes on a message of a client, mostly the wish to negotiate a way through NAT."}
	mMessageAck       = &dissect.MessageType{Name: "message_reply", Title: "client message acknowledged", Role: dissect.Reply, Doc: "The server has got the message."}
	mAvailable        = &dissect.MessageType{Name: "available_request", Title: "availability request", Role: dissect.Request, Doc: "A game asks whether GameSpy's services for it are there."}
	mAvailableReply   = &dissect.MessageType{Name: "available_reply", Title: "availability", Role: dissect.Reply, Doc: "Whether they are."}
)

var messages = []*dissect.MessageType{
	mHandshake, mHandshakeReply, mStatus, mStatusReply, mHeartbeat, mKeepAlive, mChallengeRequest, mChallengeReply, mRegistered, mError,
	mEchoRequest, mEchoReply, mMessage, mMessageAck, mAvailable, mAvailableReply,
}

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatusRequest,
// *StatusReply, *Heartbeat and *Master.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes
// it safe to print.
type Message interface{ gamespy3() }

// Keys are the keys of one kind that a request asks for: all, none, or single
// ones by their numbers in the SDK.
type Keys = gamespy.Keys

// A Row is a player or a team: the values in the order of the wire, each by
// the name of its column without the underscore or _t at its end.
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
	// Challenge is to be sent with the query, big-endian; 0 means that the
	// query must not carry one.
	Challenge int32
}

// StatusRequest asks for the settings, the players, the teams.
type StatusRequest struct {
	Session                uint32
	Challenge              dissect.Opt[int32]
	Server, Players, Teams Keys
	// Options is the last byte, where there is one: 1 asks for the format of
	// parts, 2 for the list of Just Cause 2.
	Options dissect.Opt[uint8]
}

// StatusReply holds what was asked for.
type StatusReply struct {
	Session uint32
	// Parts is the number of parts that the reply came in.
	Parts   int
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	// Values answer a query for single keys: their values, in its order.
	Values []string
	// JustCause is the list of players of Just Cause 2 Multiplayer.
	JustCause []JustCausePlayer
}

// JustCausePlayer is a player of Just Cause 2 Multiplayer.
type JustCausePlayer struct {
	Name, SteamID string
	Ping          uint16 // milliseconds
}

// Heartbeat is what a server tells the master server.
type Heartbeat struct {
	// Key is chosen by the server; every packet between the two carries it.
	Key     uint32
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
}

// Master is any other message between a server, or a game, and the servers of
// GameSpy. Only the fields that the message has are set.
type Master struct {
	Type uint8
	Key  uint32
	// Text is the challenge, the response, the error, the name of the game.
	Text string
	// Code is the number of the error or of the message, the cookie of a NAT
	// negotiation, the status of the services.
	Code   uint32
	Cookie dissect.Opt[uint32]
	Data   []byte
}

func (*HandshakeRequest) gamespy3() {}
func (*HandshakeReply) gamespy3()   {}
func (*StatusRequest) gamespy3()    {}
func (*StatusReply) gamespy3()      {}
func (*Heartbeat) gamespy3()        {}
func (*Master) gamespy3()           {}
