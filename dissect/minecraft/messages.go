package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

const (
	topicHandshake dissect.Topic = 1 << iota
	topicBasic
	topicFull
)

var (
	mHandshake      = catalog.Message(dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Asks for the token that a stat request must carry."})
	mHandshakeReply = catalog.Message(dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the token, in text."})
	mBasic          = catalog.Message(dissect.MessageType{Name: "basic_stat_request", Title: "basic stat request", Role: dissect.Request, Doc: "Asks for the name, the world and the number of players. Any length but 15 bytes."})
	mBasicReply     = catalog.Message(dissect.MessageType{Name: "basic_stat_reply", Title: "basic stat", Role: dissect.Reply, Doc: "The name, the world and the number of players."})
	mFull           = catalog.Message(dissect.MessageType{Name: "full_stat_request", Title: "full stat request", Role: dissect.Request, Doc: "Asks for all data. 15 bytes."})
	mFullReply      = catalog.Message(dissect.MessageType{Name: "full_stat_reply", Title: "full stat", Role: dissect.Reply, Doc: "Name, version, plugins, world, and the players by name."})
)

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatRequest, *BasicStat and
// *FullStat.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// A Row is a player: the name in the column player, and columns that servers add.
type Row = gamespy.Row

// HandshakeRequest asks for a token.
type HandshakeRequest struct {
	// Session is chosen by the client. Servers mangle ids with bytes from 0x80 up.
	Session uint32
}

// HandshakeReply gives a token.
type HandshakeReply struct {
	// Session is that of the request, or 0 if the server mangled it; Mangled then has
	// its bytes.
	Session uint32
	Mangled []byte
	// Challenge is the token, which the client must send as a big-endian number.
	Challenge int32
}

// StatRequest asks for the basic or the full stat.
type StatRequest struct {
	Session   uint32
	Challenge dissect.Opt[int32]
	// Full reports whether the request has the length that asks for the full stat.
	Full bool
	// Padding is the number of bytes after the token.
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
	// Rules are all keys and values in their order. The first servers sent hostname
	// twice, for the name and the address.
	Rules []dissect.KeyValue
	// Software and Plugins are the parts of the setting plugins.
	Software string
	Plugins  []string
	Players  []Row
}

// Get returns the first value of a key, or "" and false if there is none.
func (m *FullStat) Get(key string) (string, bool) {
	for i := range m.Rules {
		if m.Rules[i].Key == key {
			return m.Rules[i].Value, true
		}
	}
	return "", false
}

// AppendSummary appends the session id.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary appends the token.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	return summary.Number(dst, "token ", m.Challenge)
}

// AppendSummary appends the token.
func (m *StatRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without token"...)
	}
	return summary.Number(dst, "token ", m.Challenge.Value)
}

// AppendSummary appends the name, the world and the players.
func (m *BasicStat) AppendSummary(dst []byte) []byte {
	if !m.whole {
		return style.Quoted(dst, "", m.MOTD)
	}
	s := m.server()
	rules := [...]dissect.KeyValue{{Key: "gametype", Value: m.GameType}}
	return gamespy.AppendServer(dst, &s, rules[:])
}

// AppendSummary appends the name, the world and the players, and how long the
// lists of players and plugins are.
func (m *FullStat) AppendSummary(dst []byte) []byte {
	s := gamespy.Server(m.Rules, style)
	dst = gamespy.AppendServer(dst, &s, m.Rules)
	return gamespy.AppendCounts(dst, len(m.Players), len(m.Plugins), "plugin", "plugins")
}
