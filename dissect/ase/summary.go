package ase

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

var style = summary.Style{Charset: dissect.Latin1}

// AppendSummary appends what the title does not say.
func (m *Request) AppendSummary(dst []byte) []byte {
	if m.Query == 'r' {
		return append(dst, "of a release version"...)
	}
	return dst
}

// AppendSummary appends the name, the game and the players.
func (p *StatusReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (p *LightReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the version.
func (m *VersionReply) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Version) }

// AppendSummary appends the number of the datagram.
func (m *Part) AppendSummary(dst []byte) []byte {
	return summary.Number(dst, "datagram ", m.Number)
}
