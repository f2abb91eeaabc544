package quake3

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
)

func quoted(dst []byte, s string) []byte {
	return dissect.AppendQuoted(dst, s, dissect.Guessed, dissect.Quake3)
}

func count(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// labelled appends a value behind what it is, if there is one.
func labelled(dst []byte, label, s string) []byte {
	if s == "" {
		return dst
	}
	dst = append(dst, label...)
	return dissect.AppendText(dst, s, dissect.Guessed, dissect.NoStyle)
}

// AppendSummary gives the challenge.
func (m *Query) AppendSummary(dst []byte) []byte { return labelled(dst, "challenge ", m.Challenge) }

// AppendSummary gives the query and the token.
func (m *Echo) AppendSummary(dst []byte) []byte {
	dst = dissect.AppendText(dst, m.Query, dissect.Guessed, dissect.NoStyle)
	return labelled(dst, "  token ", m.Token)
}

// appendServer gives the name, the game and the players.
func appendServer(dst []byte, s *dissect.Server) []byte {
	short := *s
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return dissect.AppendServer(dst, &short)
}

// AppendSummary gives the name, the game and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary gives the name, the game and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary gives the client's number and the game.
func (m *ChallengeRequest) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.ClientChallenge)
	return labelled(dst, " for ", m.Game)
}

// AppendSummary gives the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte { return labelled(dst, "", m.Challenge) }

// AppendSummary gives the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	for i := range m.Userinfo {
		if kv := &m.Userinfo[i]; kv.Key == "name" {
			return quoted(dst, kv.Value)
		}
	}
	return dst
}

// AppendSummary gives the number.
func (m *ConnectReply) AppendSummary(dst []byte) []byte {
	return labelled(dst, "challenge ", m.Challenge)
}

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	command := m.Command
	if pre, n, suf := word(command); isNumber(m.Password) && pre+n+suf > 0 {
		dst = append(dst, "*** "...)
		command = command[pre+n+suf:]
	}
	return console.AppendConcealed(dst, command, console.CommandSecret(command), dissect.Guessed, dissect.NoStyle)
}

// maxLine is how much of a line of text a summary shows.
const maxLine = 60

// AppendSummary gives the first line.
func (m *Text) AppendSummary(dst []byte) []byte {
	line, rest, _ := strings.Cut(strings.TrimLeft(m.Text, " \n"), "\n")
	if n := console.Secret(line); n < len(line) {
		return console.AppendConcealed(dst, line, n, dissect.Guessed, dissect.Quake3)
	}
	if len(line) > maxLine {
		n := maxLine
		for n > 0 && !utf8.RuneStart(line[n]) {
			n--
		}
		dst = quoted(dst, line[:n])
		dst = append(dst, " …"...)
	} else {
		dst = quoted(dst, line)
	}
	if rest != "" {
		dst = append(dst, " and "...)
		dst = count(dst, 1+strings.Count(rest, "\n"), " line", " lines")
	}
	return dst
}

// AppendSummary gives the address and the verdict, never the key.
func (m *Authorize) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.IP)
	return labelled(dst, "", m.Verdict)
}

// AppendSummary gives the message of the day.
func (m *Motd) AppendSummary(dst []byte) []byte {
	for i := range m.Rules {
		if kv := &m.Rules[i]; kv.Key == "motd" {
			return quoted(dst, kv.Value)
		}
	}
	return dst
}

// AppendSummary says nothing more than the title does.
func (m *Other) AppendSummary(dst []byte) []byte { return dst }
