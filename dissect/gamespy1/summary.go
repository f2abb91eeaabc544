package gamespy1

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/nettext"
)

var style = summary.Style{Charset: fName.Charset, Codes: fName.Style}

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
		dst = append(summary.Number(dst, ", ", listed), " listed"...)
	}
	rest := dissect.Server{
		Version: keyvalue.Text(p.Rules, "gamever"), Password: keyvalue.Flag(p.Rules, "password"),
		Charset: style.Charset, Style: style.Codes,
	}
	if rest.Version.Value != "" || rest.Password.Value {
		dst = rest.AppendSummary(summary.Gap(dst, start))
	}
	if len(dst) == start && len(p.Rules) > 0 {
		dst = summary.Count(dst, "", len(p.Rules), "rule", "rules")
	}
	if len(dst) == start && len(p.Teams) > 0 {
		dst = summary.Count(dst, "", len(p.Teams), "team", "teams")
	}
	if p.Echo.OK {
		dst = style.Quoted(summary.Gap(dst, start), "echo ", p.Echo.Value)
	}
	if p.Validate.OK {
		dst = style.Text(summary.Gap(dst, start), "validate ", p.Validate.Value)
	}
	return dst
}

// AppendSummary appends the game, the port and what happened.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Game)
	if m.Port.OK {
		dst = summary.Number(dst, ", queries on port ", m.Port.Value)
	}
	if m.StateChanged.OK {
		if m.StateChanged.Value == "2" {
			return append(dst, ", shuts down"...)
		}
		dst = append(dst, ", state changed"...)
	}
	return dst
}
