package gamespy1

import "github.com/qdissect/qdissect/dissect"

// The topics of requests. A combined request has several.
const (
	topicBasic dissect.Topic = 1 << iota
	topicInfo
	topicRules
	topicPlayers
	topicTeams
	topicStatus
	topicPackets
	topicProperty
	topicEcho
	topicSecure
	topicOther

	anyTopic = 1<<iota - 1
)

var (
	mBasic    = &dissect.MessageType{Name: "basic_request", Title: "basic request", Role: dissect.Request, Doc: "Asks for the name and the version of the game."}
	mInfo     = &dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the facts of a server."}
	mRules    = &dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings."}
	mPlayers  = &dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players."}
	mTeams    = &dissect.MessageType{Name: "teams_request", Title: "teams request", Role: dissect.Request, Doc: "Asks for the teams. Few servers know it."}
	mStatus   = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for everything: basic, info, rules and players."}
	mPackets  = &dissect.MessageType{Name: "packets_request", Title: "packets request", Role: dissect.Request, Doc: "Asks for everything, each kind in datagrams of its own: a test of the client's reassembly."}
	mProperty = &dissect.MessageType{Name: "property_request", Title: "property request", Role: dissect.Request, Doc: "Asks Unreal servers for a property of the level, of the game or of each player."}
	mEcho     = &dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "Asks for its own text."}
	mSecure   = &dissect.MessageType{Name: "secure_request", Title: "secure request", Role: dissect.Request, Doc: "A master asks the server to sign a text, to see that it is a server of the game."}
	mCombined = &dissect.MessageType{Name: "combined_request", Title: "combined request", Role: dissect.Request, Doc: "Several of these queries in one datagram."}
	mUnknown  = &dissect.MessageType{Name: "unknown_request", Title: "unknown request", Role: dissect.Request, Doc: "A word between backslashes that is no query known."}

	mBasicReply   = &dissect.MessageType{Name: "basic_reply", Title: "basic reply", Role: dissect.Reply, Doc: "Name and version of the game."}
	mInfoReply    = &dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Facts of a server."}
	mRulesReply   = &dissect.MessageType{Name: "rules_reply", Title: "rules reply", Role: dissect.Reply, Doc: "Settings."}
	mPlayersReply = &dissect.MessageType{Name: "players_reply", Title: "players reply", Role: dissect.Reply, Doc: "Players."}
	mTeamsReply   = &dissect.MessageType{Name: "teams_reply", Title: "teams reply", Role: dissect.Reply, Doc: "Teams."}
	mStatusReply  = &dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "Facts, settings and players together: the answer to status, to packets and to combined requests."}
	mEchoReply    = &dissect.MessageType{Name: "echo_reply", Title: "echo reply", Role: dissect.Reply, Doc: "The text of the request."}
	mSecureReply  = &dissect.MessageType{Name: "secure_reply", Title: "secure reply", Role: dissect.Reply, Doc: "The text of the request, signed: validate."}
	mEmptyReply   = &dissect.MessageType{Name: "empty_reply", Title: "empty reply", Role: dissect.Reply, Doc: "Nothing but the end of a reply. If its request is known it is called after it."}

	mHeartbeat = &dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Doc: "A server tells a master that it is there."}

	messages = []*dissect.MessageType{
		mBasic, mInfo, mRules, mPlayers, mTeams, mStatus, mPackets, mProperty, mEcho, mSecure, mCombined, mUnknown,
		mBasicReply, mInfoReply, mRulesReply, mPlayersReply, mTeamsReply, mStatusReply, mEchoReply, mSecureReply, mEmptyReply,
		mHeartbeat,
	}
)

// A Message is one of *Request, *Reply and *Heartbeat.
type Message interface{ gamespy1() }

// Request asks a server.
type Request struct{ Queries []Query }

// A Query is one of the words of a request, with what stands behind it: the
// text of echo and secure, the name of a property, "xserverquery", or nothing.
type Query struct{ Name, Value string }

// Reply is keys and values: of the server, of its players and of its teams. If
// it was split, it is all of it.
type Reply struct {
	// QueryID is that of the datagram, "12.1"; it is absent from a reply that
	// was joined from several, and from those of servers that send none.
	QueryID dissect.Opt[string]
	// Final says that the last datagram of the reply is there.
	Final bool
	// Rules are all other pairs. A key is empty where it stands in a datagram
	// that is missing.
	Rules   []dissect.KeyValue
	Players []Player
	Teams   []Team
	// Echo and Validate answer the queries echo and secure.
	Echo, Validate dissect.Opt[string]
}

// Player is what the keys with one number say. Numbers that are not numbers
// are absent here, and in Columns as they are.
type Player struct {
	// Index is the number in the keys.
	Index int
	Name  string
	// Score is score_N, or frags_N or kills_N if the reply has no other.
	Score, Deaths dissect.Opt[int]
	// Ping is in milliseconds.
	Ping dissect.Opt[int]
	// Team is a number or a name.
	Team dissect.Opt[string]
	// Columns are all keys of the player without their number, in the order
	// of the wire. player_N and playername_N are both called name.
	Columns []dissect.KeyValue
}

// Team is what the keys with one number say.
type Team struct {
	Index int
	Name  string
	Score dissect.Opt[int]
	// Columns are all keys of the team without their number. What gives the
	// name is called name.
	Columns []dissect.KeyValue
}

// Heartbeat tells a master that a server is there.
type Heartbeat struct {
	// Port is where the server answers queries.
	Port dissect.Opt[uint16]
	Game string
	// StateChanged is given when the state of the game has changed: empty or
	// "1", or "2" when the server shuts down.
	StateChanged dissect.Opt[string]
	// Rules are all other keys.
	Rules []dissect.KeyValue
}

func (*Request) gamespy1()   {}
func (*Reply) gamespy1()     {}
func (*Heartbeat) gamespy1() {}
