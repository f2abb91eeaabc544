package a2s

import (
	"math/bits"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
)

func text(dst []byte, s string) []byte {
	return dissect.AppendText(dst, s, dissect.Guessed, dissect.NoStyle)
}

func quoted(dst []byte, s string) []byte {
	return dissect.AppendQuoted(dst, s, dissect.Guessed, dissect.NoStyle)
}

func count(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

func appendChallenge(dst []byte, c dissect.Opt[int32]) []byte {
	if !c.OK {
		return append(dst, "without challenge"...)
	}
	dst = append(dst, "challenge "...)
	return strconv.AppendInt(dst, int64(c.Value), 10)
}

// AppendSummary says whether there is a challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if m.Query != query {
		dst = quoted(dst, m.Query)
		dst = append(dst, ", "...)
	}
	dst = appendChallenge(dst, m.Challenge)
	if m.Padding > 0 {
		dst = append(dst, ", "...)
		dst = count(dst, m.Padding, "byte of padding", "bytes of padding")
	}
	return dst
}

// AppendSummary says whether there is a challenge.
func (m *PlayersRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary says whether there is a challenge.
func (m *RulesRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary gives the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte {
	if m.Connect && m.Text != "" {
		return text(dst, m.Text)
	}
	dst = strconv.AppendInt(dst, int64(m.Challenge), 10)
	if m.Connect {
		dst = append(dst, " to connect"...)
	}
	return dst
}

// AppendSummary gives the content.
func (m *PingReply) AppendSummary(dst []byte) []byte { return text(dst, m.Content) }

// AppendSummary gives the name, the game and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte { return dissect.AppendServer(dst, &m.server) }

// AppendSummary gives the name, the game and the players.
func (m *GoldSrcInfoReply) AppendSummary(dst []byte) []byte {
	return dissect.AppendServer(dst, &m.server)
}

// AppendSummary gives the number of players.
func (p *PlayersReply) AppendSummary(dst []byte) []byte {
	return of(dst, len(p.Players), int(p.Count), "player", "players")
}

// of appends how many there are, and of how many if more were announced.
func of(dst []byte, n, announced int, one, many string) []byte {
	if n >= announced {
		return count(dst, n, one, many)
	}
	dst = append(strconv.AppendInt(dst, int64(n), 10), " of "...)
	return count(dst, announced, one, many)
}

// AppendSummary gives the number of rules.
func (m *RulesReply) AppendSummary(dst []byte) []byte {
	if m.Chunks > 0 {
		s := &m.ServerBrowser.Value
		dst = count(dst, len(s.Mods), "mod", "mods")
		dst = append(dst, ", "...)
		dst = count(dst, len(s.Signatures), "signature", "signatures")
		if len(m.Rules) == 0 {
			return dst
		}
		dst = append(dst, ", "...)
	}
	if m.Chunks > 0 || len(m.Rules) == int(bits.ReverseBytes16(m.Count)) {
		return count(dst, len(m.Rules), "rule", "rules")
	}
	return of(dst, len(m.Rules), int(m.Count), "rule", "rules")
}

// AppendSummary gives the number of parts.
func (m *Part) AppendSummary(dst []byte) []byte {
	if m.noID {
		return dst
	}
	dst = append(dst, "id "...)
	dst = strconv.AppendUint(dst, uint64(m.ID), 10)
	if m.Total == 0 {
		return dst // its header is damaged
	}
	dst = append(dst, ", "...)
	return count(dst, m.Total, "part", "parts")
}

// AppendSummary gives the text.
func (m *Other) AppendSummary(dst []byte) []byte {
	if m.Text != "" {
		return console.AppendConcealed(dst, m.Text, console.Secret(m.Text), dissect.Guessed, dissect.NoStyle)
	}
	if m.Type == 0 && m.Data == nil || m.Type == typeJoin {
		return dst
	}
	dst = append(dst, "type 0x"...)
	return strconv.AppendUint(dst, uint64(m.Type), 16)
}
