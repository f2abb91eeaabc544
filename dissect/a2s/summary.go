package a2s

import (
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

var style = summary.Style{Charset: dissect.Guessed}

func appendChallenge(dst []byte, c dissect.Opt[int32]) []byte {
	if !c.OK {
		return append(dst, "without challenge"...)
	}
	return summary.Number(dst, "challenge ", c.Value)
}

// AppendSummary appends the challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if m.Query != query {
		dst = append(style.Quoted(dst, "", m.Query), ", "...)
	}
	dst = appendChallenge(dst, m.Challenge)
	if m.Padding > 0 {
		dst = summary.Count(dst, ", ", m.Padding, "byte of padding", "bytes of padding")
	}
	return dst
}

// AppendSummary appends the challenge.
func (m *PlayersRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary appends the challenge.
func (m *RulesRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary appends the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte {
	if m.Connect && m.Text != "" {
		return style.Text(dst, "", m.Text)
	}
	dst = summary.Number(dst, "", m.Challenge)
	if m.Connect {
		dst = append(dst, " to connect"...)
	}
	return dst
}

// AppendSummary appends the content.
func (m *PingReply) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Content) }

// AppendSummary appends the name, the game and the players.
func (m *GoldSrcInfoReply) AppendSummary(dst []byte) []byte {
	return m.server.AppendSummary(dst)
}

// AppendSummary appends the number of players.
func (p *PlayersReply) AppendSummary(dst []byte) []byte {
	return of(dst, len(p.Players)+p.skimmed, int(p.Count), "player", "players")
}

// of appends the number of entries, and the announced number if it is larger.
func of(dst []byte, n, announced int, one, many string) []byte {
	if n >= announced {
		return summary.Count(dst, "", n, one, many)
	}
	return summary.Count(summary.Number(dst, "", n), " of ", announced, one, many)
}

// AppendSummary appends the number of rules.
func (m *RulesReply) AppendSummary(dst []byte) []byte {
	if m.Chunks > 0 {
		s := &m.ServerBrowser.Value
		dst = summary.Count(dst, "", len(s.Mods), "mod", "mods")
		dst = summary.Count(dst, ", ", len(s.Signatures), "signature", "signatures")
		if m.rules() == 0 {
			return dst
		}
		dst = append(dst, ", "...)
	}
	if m.Chunks > 0 || m.rules() == int(bits.ReverseBytes16(m.Count)) {
		return summary.Count(dst, "", m.rules(), "rule", "rules")
	}
	return of(dst, m.rules(), int(m.Count), "rule", "rules")
}

// AppendSummary appends the number of parts.
func (m *Part) AppendSummary(dst []byte) []byte {
	if m.noID {
		return dst
	}
	dst = summary.Number(dst, "id ", m.ID)
	if m.Total == 0 {
		return dst // damaged header
	}
	return summary.Count(dst, ", ", m.Total, "part", "parts")
}

// AppendSummary appends the text.
func (m *Other) AppendSummary(dst []byte) []byte {
	if m.Text != "" {
		return style.Concealed(dst, m.Text, console.Secret(m.Text))
	}
	if m.Type == 0 && m.Data == nil || m.Type == typeJoin {
		return dst
	}
	return summary.Hex(dst, "type ", m.Type)
}
