package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

const (
	topicHandshake dissect.Topic = 1 << iota
	topicBasic
	topicFull
)

var (
	mHandshake      = &dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Doc: "Asks for the token that a stat request needs."}
	mHandshakeReply = &dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the token, in text."}
	mBasic          = &dissect.MessageType{Name: "basic_stat_request", Title: "basic stat request", Role: dissect.Request, Doc: "Asks for the name, the world and the number of players: any length but 15 bytes."}
	mBasicReply     = &dissect.MessageType{Name: "basic_stat_reply", Title: "basic stat", Role: dissect.Reply, Doc: "The name, the world and the number of players."}
	mFull           = &dissect.MessageType{Name: "full_stat_request", Title: "full stat request", Role: dissect.Request, Doc: "Asks for everything: 15 bytes."}
	mFullReply      = &dissect.MessageType{Name: "full_stat_reply", Title: "full stat", Role: dissect.Reply, Doc: "Name, version, plugins, world, and the players by name."}
)

var messages = []*dissect.MessageType{mHandshake, mHandshakeReply, mBasic, mBasicReply, mFull, mFullReply}

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatRequest,
// *BasicStat and *FullStat.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes
// it safe to print.
type Message interface{ minecraft() }

// A Row is a player: the name in the column player, and what servers add.
type Row = gamespy.Row

// HandshakeRequest asks for a token.
type HandshakeRequest struct {
	// Session is chosen by the client. Servers spoil ids with bytes from 80
	// up.
	Session uint32
}

// HandshakeReply gives a token.
type HandshakeReply struct {
	// Session is that of the request; 0 if the server spoilt it, which is in
	// Mangled then.
	Session uint32
	Mangled []byte
	// Challenge is the token, to be sent big-endian.
	Challenge int32
}

// StatRequest asks for the basic or the full stat.
type StatRequest struct {
	Session   uint32
	Challenge dissect.Opt[int32]
	// Full says that the request has the length that asks for the full stat.
	Full bool
	// Padding is the number of bytes behind the token.
	Padding int
}

// BasicStat is the short reply.
type BasicStat struct {
	Session                uint32
	MOTD, GameType, Map    string
	NumPlayers, MaxPlayers string // numbers in text
	HostPort               uint16
	HostIP                 string

	whole bool
}

// FullStat is the long reply.
type FullStat struct {
	Session uint32
	// Rules are all keys and values in their order. The first servers had
	// hostname twice: the name and the address.
	Rules []dissect.KeyValue
	// Software and Plugins are what the setting plugins holds.
	Software string
	Plugins  []string
	Players  []Row
}

// Get returns the first value of a key; "" and false if there is none.
func (m *FullStat) Get(key string) (string, bool) {
	for i := range m.Rules {
		if m.Rules[i].Key == key {
			return m.Rules[i].Value, true
		}
	}
	return "", false
}

func (*HandshakeRequest) minecraft() {}
func (*HandshakeReply) minecraft()   {}
func (*StatRequest) minecraft()      {}
func (*BasicStat) minecraft()        {}
func (*FullStat) minecraft()         {}
