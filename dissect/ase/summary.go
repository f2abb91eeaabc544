package ase

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
)

func plain(dst []byte, s string) []byte {
	return dissect.AppendText(dst, s, dissect.Latin1, dissect.NoStyle)
}

// AppendSummary says nothing more than the title does.
func (m *Request) AppendSummary(dst []byte) []byte {
	if m.Query == 'r' {
		return append(dst, "of a release version"...)
	}
	return dst
}

// AppendSummary gives the name, the game and the players.
func (p *StatusReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return dissect.AppendServer(dst, &s)
}

// AppendSummary gives the name, the game and the players.
func (p *LightReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return dissect.AppendServer(dst, &s)
}

// AppendSummary gives the version.
func (m *VersionReply) AppendSummary(dst []byte) []byte { return plain(dst, m.Version) }

// AppendSummary gives the number of the datagram.
func (m *Part) AppendSummary(dst []byte) []byte {
	dst = append(dst, "datagram "...)
	return strconv.AppendInt(dst, int64(m.Number), 10)
}
