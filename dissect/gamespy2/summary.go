package gamespy2

import "github.com/qdissect/qdissect/dissect/internal/gamespy"

// AppendSummary appends the requested data.
func (m *StatusRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendKeys(dst, &m.Server, &m.Players, &m.Teams)
}

// AppendSummary appends the name, the map and the players, as far as they are present,
// and the lengths of the lists.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	s := gamespy.Server(m.Rules, style)
	dst = gamespy.AppendServer(dst, &s, m.Rules)
	return gamespy.AppendCounts(dst, len(m.Players), len(m.Teams), "team", "teams")
}
