package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

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
