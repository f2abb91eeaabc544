package gamespy1

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/nettext"
)

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
	mBasic    = catalog.Message(dissect.MessageType{Name: "basic_request", Title: "basic request", Role: dissect.Request, Doc: "Asks for the name and the version of the game."})
	mInfo     = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for basic data of a server."})
	mRules    = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings."})
	mPlayers  = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players."})
	mTeams    = catalog.Message(dissect.MessageType{Name: "teams_request", Title: "teams request", Role: dissect.Request, Doc: "Asks for the teams. Few servers support it."})
	mStatus   = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for everything: basic, info, rules and players."})
	mPackets  = catalog.Message(dissect.MessageType{Name: "packets_request", Title: "packets request", Role: dissect.Request, Doc: "Asks for basic, info, rules and players in separate datagrams: a test of the client's reassembly."})
	mProperty = catalog.Message(dissect.MessageType{Name: "property_request", Title: "property request", Role: dissect.Request, Doc: "Asks Unreal servers for a property of the level, of the game or of each player."})
	mEcho     = catalog.Message(dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "Asks the server to return a text."})
	mSecure   = catalog.Message(dissect.MessageType{Name: "secure_request", Title: "secure request", Role: dissect.Request, Doc: "A master asks the server to sign a text, which proves that it is a server of the game."})
	mCombined = catalog.Message(dissect.MessageType{Name: "combined_request", Title: "combined request", Role: dissect.Request, Doc: "Several of these queries in one datagram."})
	mUnknown  = catalog.Message(dissect.MessageType{Name: "unknown_request", Title: "unknown request", Role: dissect.Request, Doc: "A word between backslashes that is not a known query."})

	mBasicReply   = catalog.Message(dissect.MessageType{Name: "basic_reply", Title: "basic reply", Role: dissect.Reply, Doc: "Name and version of the game."})
	mInfoReply    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Basic data of a server."})
	mRulesReply   = catalog.Message(dissect.MessageType{Name: "rules_reply", Title: "rules reply", Role: dissect.Reply, Doc: "Settings."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players reply", Role: dissect.Reply, Doc: "Players."})
	mTeamsReply   = catalog.Message(dissect.MessageType{Name: "teams_reply", Title: "teams reply", Role: dissect.Reply, Doc: "Teams."})
	mStatusReply  = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "Basic data, settings and players together: the reply to status, packets and combined requests."})
	mEchoReply    = catalog.Message(dissect.MessageType{Name: "echo_reply", Title: "echo reply", Role: dissect.Reply, Doc: "The text of the request."})
	mSecureReply  = catalog.Message(dissect.MessageType{Name: "secure_reply", Title: "secure reply", Role: dissect.Reply, Doc: "The text of the request, signed: validate."})
	mEmptyReply   = catalog.Message(dissect.MessageType{Name: "empty_reply", Title: "empty reply", Role: dissect.Reply, Doc: "The end of a reply without content. A known request determines its type."})

	mHeartbeat = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "A server announces itself to a master."})
)

// A Message is one of *Request, *Reply and *Heartbeat.
type Message any

// Request is a request of one or more queries.
type Request struct{ Queries []Query }

// A Query is a word of a request with its argument: the text of echo and secure, the
// name of a property, "xserverquery", or nothing.
type Query struct{ Name, Value string }

// Reply is a reply of keys and values: of the server, its players and its teams. If it
// was split, it is the whole reply.
type Reply struct {
	// QueryID is the queryid of the datagram, such as "12.1". It is absent from a
	// joined reply and from servers that send none.
	QueryID dissect.Opt[string]
	// Final reports whether the last datagram of the reply is present.
	Final bool
	// Rules are all other pairs. A key is empty if it is in a missing datagram.
	Rules   []dissect.KeyValue
	Players []Player
	Teams   []Team
	// Echo and Validate are the replies to the queries echo and secure.
	Echo, Validate dissect.Opt[string]
}

// Player is a player: the keys with one number. Values that should be numbers but are
// not are absent here; Columns has their text.
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
	// Columns are all keys of the player without their number, in the order of the
	// wire. player_N and playername_N are both called name.
	Columns []dissect.KeyValue
}

// Team is a team: the keys with one number.
type Team struct {
	Index int
	Name  string
	Score dissect.Opt[int]
	// Columns are all keys of the team without their number. The key of its name is
	// called name.
	Columns []dissect.KeyValue
}

// Heartbeat announces a server to a master.
type Heartbeat struct {
	// Port is the server's query port.
	Port dissect.Opt[uint16]
	Game string
	// StateChanged is present when the state of the game has changed. It is empty or
	// "1", or "2" when the server shuts down.
	StateChanged dissect.Opt[string]
	// Rules are all other keys.
	Rules []dissect.KeyValue
}

var style = wire.Style{Charset: fName.Charset, Codes: fName.Style}

// AppendSummary appends the queries and their arguments, unless the title has them.
func (m *Request) AppendSummary(dst []byte) []byte {
	if len(m.Queries) == 1 {
		if w := wordOf(m.Queries[0].Name); w != nil && w.topic != topicProperty {
			return style.Text(dst, "", m.Queries[0].Value)
		}
	}
	for i, q := range m.Queries {
		if i == 8 {
			return append(dst, " …"...)
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = style.Text(dst, "", q.Name)
		switch {
		case q.Value == "":
		case nettext.SecretSetting(q.Name, q.Value):
			dst = append(dst, " ***"...)
		default:
			dst = style.Text(dst, " ", q.Value)
		}
	}
	return dst
}

// AppendSummary appends the name, the game and the players, or what the reply has
// instead.
func (p *Reply) AppendSummary(dst []byte) []byte {
	start := len(dst)
	server := dissect.Server{
		Name: keyvalue.Text(p.Rules, "hostname"), Game: keyvalue.Text(p.Rules, "gamename"), Map: keyvalue.Text(p.Rules, "mapname"),
		Players: keyvalue.Number(p.Rules, "numplayers"), MaxPlayers: keyvalue.Number(p.Rules, "maxplayers"),
		Charset: style.Charset, Style: style.Codes,
	}
	listed := len(p.Players)
	if !server.Players.OK && listed > 0 {
		server.Players, server.MaxPlayers.OK = dissect.Some(listed), false
	}
	dst = server.AppendSummary(dst)
	if listed > 0 && listed != server.Players.Value {
		dst = append(wire.Number(dst, ", ", listed), " listed"...)
	}
	rest := dissect.Server{
		Version: keyvalue.Text(p.Rules, "gamever"), Password: keyvalue.Flag(p.Rules, "password"),
		Charset: style.Charset, Style: style.Codes,
	}
	if rest.Version.Value != "" || rest.Password.Value {
		dst = rest.AppendSummary(wire.Gap(dst, start))
	}
	if len(dst) == start && len(p.Rules) > 0 {
		dst = wire.Plural(dst, "", len(p.Rules), "rule", "rules")
	}
	if len(dst) == start && len(p.Teams) > 0 {
		dst = wire.Plural(dst, "", len(p.Teams), "team", "teams")
	}
	if p.Echo.OK {
		dst = style.Quoted(wire.Gap(dst, start), "echo ", p.Echo.Value)
	}
	if p.Validate.OK {
		dst = style.Text(wire.Gap(dst, start), "validate ", p.Validate.Value)
	}
	return dst
}

// AppendSummary appends the game, the port and what happened.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Game)
	if m.Port.OK {
		dst = wire.Number(dst, ", queries on port ", m.Port.Value)
	}
	if m.StateChanged.OK {
		if m.StateChanged.Value == "2" {
			return append(dst, ", shuts down"...)
		}
		dst = append(dst, ", state changed"...)
	}
	return dst
}
