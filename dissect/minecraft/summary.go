package minecraft

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

// AppendSummary gives the session.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary gives the token.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	dst = append(dst, "token "...)
	return strconv.AppendInt(dst, int64(m.Challenge), 10)
}

// AppendSummary gives the token.
func (m *StatRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without token"...)
	}
	dst = append(dst, "token "...)
	return strconv.AppendInt(dst, int64(m.Challenge.Value), 10)
}

// AppendSummary gives the name, the world and the players.
func (m *BasicStat) AppendSummary(dst []byte) []byte {
	if !m.whole {
		return dissect.AppendQuoted(dst, m.MOTD, style.Charset, style.Codes)
	}
	s := m.server()
	rules := [...]dissect.KeyValue{{Key: "gametype", Value: m.GameType}}
	return gamespy.AppendServer(dst, &s, rules[:])
}

// AppendSummary gives the name, the world and the players, and how long the
// lists of players and plugins are.
func (m *FullStat) AppendSummary(dst []byte) []byte {
	s := gamespy.Server(m.Rules, style)
	dst = gamespy.AppendServer(dst, &s, m.Rules)
	return gamespy.AppendCounts(dst, gamespy.Count{N: len(m.Players), One: "player", Many: "players"}, gamespy.Count{N: len(m.Plugins), One: "plugin", Many: "plugins"})
}
