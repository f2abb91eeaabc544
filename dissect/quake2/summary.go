package quake2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var style = summary.Style{Charset: core.QuakeChars}

// AppendSummary gives the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	if m.Arguments == "" {
		return dst
	}
	if m.Command == "info" {
		dst = append(dst, "protocol "...)
	}
	return style.Text(dst, "", m.Arguments)
}

// AppendSummary gives the name, the map and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	short := m.server
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary gives the name, the map and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	if m.Refused {
		return append(style.Quoted(dst, "", m.Name), "  wrong version"...)
	}
	return m.server.AppendSummary(dst)
}

// AppendSummary gives the number and the versions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	before := "  protocol "
	if len(m.Protocols) > 1 {
		before = "  protocols "
	}
	for _, p := range m.Protocols {
		dst = summary.Number(dst, before, p)
		before = ", "
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
	return quake.AppendText(dst, m.Text)
}
