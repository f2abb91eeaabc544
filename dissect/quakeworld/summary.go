package quakeworld

import (
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var style = summary.Style{Charset: core.QuakeChars}

// AppendSummary gives the word, where there are several, and the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	switch m.Command {
	case "status":
		if m.Arguments != "" {
			dst = style.Text(dst, "bits ", m.Arguments)
		}
		return dst
	case "getchallenge", "qtvusers", "ping", "":
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	if m.Arguments != "" {
		dst = style.Text(dst, " ", m.Arguments)
	}
	return dst
}

// AppendSummary gives the name, the map and the players; of a further part what it
// has.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	if len(m.Rules) > 0 {
		return m.server.AppendSummary(dst)
	}
	start := len(dst)
	if n := len(m.Players); n > 0 {
		dst = summary.Count(dst, "", n, "player", "players")
	}
	if n := len(m.Streams); n > 0 {
		dst = summary.Count(summary.Gap(dst, start), "", n, "stream", "streams")
	}
	return dst
}

// AppendSummary gives the number and the names of the extensions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	for i := range m.Extensions {
		before := " "
		if i == 0 {
			before = "  "
		}
		dst = style.Text(dst, before, m.Extensions[i].Name)
	}
	return dst
}

// AppendSummary gives the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	return style.Quoted(dst, "", keyvalue.Text(m.Userinfo, "name").Value)
}

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	return quake.AppendRcon(dst, m.Password, m.Command)
}

// AppendSummary gives the first line, never a password.
func (m *Text) AppendSummary(dst []byte) []byte {
	if m.Text == "" {
		return append(dst, "nothing"...)
	}
	return quake.AppendText(dst, m.Text)
}

// AppendSummary gives the size.
func (m *Stats) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.JSON), "byte of JSON", "bytes of JSON")
}

// AppendSummary gives the number of viewers.
func (m *Viewers) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.Names), "viewer", "viewers")
}

// AppendSummary gives the number of kills.
func (m *Log) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.Kills), "kill", "kills")
}
