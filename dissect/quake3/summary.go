package quake3

import (
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

// style is for text of players, plain for text of programs.
var (
	style = summary.Style{Charset: dissect.Guessed, Codes: dissect.Quake3}
	plain = summary.Style{Charset: dissect.Guessed}
)

// labelled appends a label and a value, or nothing if the value is empty.
func labelled(dst []byte, label, s string) []byte {
	if s == "" {
		return dst
	}
	return plain.Text(dst, label, s)
}

// AppendSummary appends the challenge.
func (m *Query) AppendSummary(dst []byte) []byte { return labelled(dst, "challenge ", m.Challenge) }

// AppendSummary appends the query and the token.
func (m *Echo) AppendSummary(dst []byte) []byte {
	dst = plain.Text(dst, "", m.Query)
	return labelled(dst, "  token ", m.Token)
}

// appendServer appends the name, the game and the players.
func appendServer(dst []byte, s *dissect.Server) []byte {
	short := *s
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the name, the game and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the client's number and the game.
func (m *ChallengeRequest) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.ClientChallenge)
	return labelled(dst, " for ", m.Game)
}

// AppendSummary appends the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte { return labelled(dst, "", m.Challenge) }

// AppendSummary appends the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	for i := range m.Userinfo {
		if kv := &m.Userinfo[i]; kv.Key == "name" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}

// AppendSummary appends the number.
func (m *ConnectReply) AppendSummary(dst []byte) []byte {
	return labelled(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	command := m.Command
	if pre, n, suf := quake.NextWord(command); keyvalue.Int(m.Password).OK && pre+n+suf > 0 {
		dst = append(dst, "*** "...)
		command = command[pre+n+suf:]
	}
	return plain.Concealed(dst, command, console.CommandSecret(command))
}

// AppendSummary appends the command, never a password.
func (m *Srcon) AppendSummary(dst []byte) []byte {
	return plain.Concealed(dst, m.Command, console.CommandSecret(m.Command))
}

// maxLine is how many bytes of a line a summary shows.
const maxLine = 60

// AppendSummary appends the first line.
func (m *Text) AppendSummary(dst []byte) []byte {
	line, rest, _ := strings.Cut(strings.TrimLeft(m.Text, " \n"), "\n")
	if n := console.Secret(line); n < len(line) {
		return style.Concealed(dst, line, n)
	}
	if len(line) > maxLine {
		n := maxLine
		for n > 0 && !utf8.RuneStart(line[n]) {
			n--
		}
		dst = style.Quoted(dst, "", line[:n])
		dst = append(dst, " …"...)
	} else {
		dst = style.Quoted(dst, "", line)
	}
	if rest != "" {
		dst = summary.Count(dst, " and ", 1+strings.Count(rest, "\n"), "line", "lines")
	}
	return dst
}

// AppendSummary appends the address and the verdict, never the key.
func (m *Authorize) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.IP)
	return labelled(dst, "", m.Verdict)
}

// AppendSummary appends the message of the day.
func (m *Motd) AppendSummary(dst []byte) []byte {
	for i := range m.Rules {
		if kv := &m.Rules[i]; kv.Key == "motd" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}
