package quake3

import "github.com/qdissect/qdissect/dissect"

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
)

var (
	mStatusRequest = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request,
		Doc: "getstatus: asks for all public settings and the players."}
	mStatusReply = &dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply,
		Doc: "statusResponse: the settings in one line, and a line for each player."}
	mInfoRequest = &dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request,
		Doc: "getinfo: asks for the few facts that a list of servers shows. Masters send it as well, to see whether a server is there."}
	mInfoReply = &dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply,
		Doc: "infoResponse: a few settings; also the answer of a server to its master."}
	mGameComplete = &dissect.MessageType{Name: "game_complete", Title: "game complete", Role: dissect.OneWay,
		Doc: "gameCompleteStatus: what the Wolfenstein games tell their masters at the end of a match, in the format of a status reply."}
	mChallengeRequest = &dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request,
		Doc: "getchallenge: the first step of a client that wants to play."}
	mChallengeReply = &dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply,
		Doc: "challengeResponse, or challenge from DarkPlaces: the number that the client has to send with connect."}
	mConnectRequest = &dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request,
		Doc: "connect: the second step, with what the client says of itself, packed by all but the oldest engines; its password and identifiers are in it."}
	mConnectReply = &dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply,
		Doc: "connectResponse: the client may play."}
	mDisconnect = &dissect.MessageType{Name: "disconnect", Title: "disconnect", Role: dissect.OneWay,
		Doc: "disconnect: the server does not know this client."}
	mRcon = &dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request,
		Doc: "rcon: a command for the console of the server, with its password in the clear."}
	mPrint = &dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply,
		Doc: "print: output of a remote command in one or more messages, or why a client may not connect."}
	mEcho = &dissect.MessageType{Name: "echo", Title: "echo", Role: dissect.OneWay,
		Doc: "echo: asks a client to send the text back as it is."}
	mEchoChallenge = &dissect.MessageType{Name: "echo_challenge", Title: "echo challenge", Role: dissect.Reply,
		Doc: "echo \"echoResponse getstatus TOKEN\": a server (JK2MV, OpenJK) wants to see that the client receives what is sent to its address, before it answers the query."}
	mEchoResponse = &dissect.MessageType{Name: "echo_response", Title: "echo response", Role: dissect.Request,
		Doc: "echoResponse: the client sends the query and the token of the server's echo back, which asks for the same as the query."}
	mKeyRequest = &dissect.MessageType{Name: "key_authorize_request", Title: "key authorization request", Role: dissect.Request,
		Doc: "getKeyAuthorize: a client tells the authorization server its CD key."}
	mKeyReply = &dissect.MessageType{Name: "key_authorize_reply", Title: "key authorization", Role: dissect.Reply,
		Doc: "keyAuthorize: the answer, which clients ignore."}
	mAddressRequest = &dissect.MessageType{Name: "ip_authorize_request", Title: "address authorization request", Role: dissect.Request,
		Doc: "getIpAuthorize: a server asks the authorization server whether a client at an address has shown a key."}
	mAddressReply = &dissect.MessageType{Name: "ip_authorize_reply", Title: "address authorization", Role: dissect.Reply,
		Doc: "ipAuthorize: the answer."}
	mMotdRequest = &dissect.MessageType{Name: "motd_request", Title: "motd request", Role: dissect.Request,
		Doc: "getmotd: a client tells the update server what it runs on and asks for the message of the day."}
	mMotdReply = &dissect.MessageType{Name: "motd_reply", Title: "motd", Role: dissect.Reply,
		Doc: "motd: the message of the day."}
	mUnknown = &dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay,
		Doc: "The header of a message and no word that is known."}
)

var messages = []*dissect.MessageType{
	mStatusRequest, mStatusReply, mInfoRequest, mInfoReply, mGameComplete, mChallengeRequest, mChallengeReply, mConnectRequest,
	mConnectReply, mDisconnect, mRcon, mPrint, mEcho, mEchoChallenge, mEchoResponse, mKeyRequest, mKeyReply, mAddressRequest, mAddressReply, mMotdRequest, mMotdReply,
	mUnknown,
}

// A Message is a pointer to one of the structs of this package.
type Message interface{ quake3() }

// Query is getstatus or getinfo.
type Query struct {
	// Challenge is a text that the reply brings back, "" for none.
	Challenge string
}

// StatusReply is statusResponse, or gameCompleteStatus.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player

	server dissect.Server
}

// Player is one line of a status reply. Which values it has depends on the
// game.
type Player struct {
	// Name is as on the wire: with colour codes.
	Name string
	// Score is a fraction in some modes of Xonotic.
	Score dissect.Opt[float64]
	// Ping is in milliseconds; 0 for bots.
	Ping dissect.Opt[int]
	// Team is a number whose meaning is the game's.
	Team dissect.Opt[int]
	// Address is the player's, "" if the server does not tell.
	Address string
	// Rank is that of Medal of Honor: Pacific Assault.
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
	// KeyHash is the hash of the CD key that Call of Duty tells.
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
	// Userinfo is what the client says of itself, its password among it.
	Userinfo []dissect.KeyValue
	// Packed is the size of the userinfo in bytes as it was sent, 0 if it
	// was not packed.
	Packed int
}

// ConnectReply is connectResponse.
type ConnectReply struct {
	// Challenge is "" from engines older than ioquake3.
	Challenge string
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Text is print or echo.
type Text struct{ Text string }

// Echo is what a server that wants an address proven asks a client to send back,
// or what the client sends.
type Echo struct {
	// Query is the word of the client's query, getstatus for example.
	Query string
	// Token is a text of the server's choice.
	Token string
}

// Authorize is one of the messages to and from the authorization server.
type Authorize struct {
	// Challenge and IP are those of the client in question, in
	// getIpAuthorize and ipAuthorize.
	Challenge, IP string
	// CDKey is what a client tells of its key.
	CDKey string
	// Game is the directory of the game.
	Game string
	// Verdict is the answer: accept, demo, deny, unknown.
	Verdict string
}

// Motd is getmotd or motd.
type Motd struct{ Rules []dissect.KeyValue }

// Other is a message without content, or one that is not known.
type Other struct{ Command string }

func (*Query) quake3()            {}
func (*StatusReply) quake3()      {}
func (*InfoReply) quake3()        {}
func (*ChallengeRequest) quake3() {}
func (*ChallengeReply) quake3()   {}
func (*Connect) quake3()          {}
func (*ConnectReply) quake3()     {}
func (*Rcon) quake3()             {}
func (*Text) quake3()             {}
func (*Echo) quake3()             {}
func (*Authorize) quake3()        {}
func (*Motd) quake3()             {}
func (*Other) quake3()            {}
