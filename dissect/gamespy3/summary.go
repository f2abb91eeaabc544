package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

// AppendSummary appends the session id.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary appends the challenge.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	return summary.Number(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the requested data and the challenge.
func (m *StatusRequest) AppendSummary(dst []byte) []byte {
	dst = gamespy.AppendKeys(dst, &m.Server, &m.Players, &m.Teams)
	if m.Challenge.OK {
		return summary.Number(dst, ", challenge ", m.Challenge.Value)
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
		dst = summary.Number(dst, "NAT negotiation, cookie ", m.Cookie.Value)
	case m.Type == gamespy.TypeHandshake:
		dst = append(dst, fStatus.NameOf(uint64(m.Code))...)
	}
	return dst
}
