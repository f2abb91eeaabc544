package doom3

import (
	"net/netip"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

func text(dst []byte, s string) []byte {
	return dissect.AppendText(dst, s, dissect.Latin1, dissect.Doom3)
}

func quoted(dst []byte, s string) []byte {
	return dissect.AppendQuoted(dst, s, dissect.Latin1, dissect.Doom3)
}

func count(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// AppendSummary gives the challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without a whole challenge"...)
	}
	dst = append(dst, "challenge "...)
	return strconv.AppendInt(dst, int64(m.Challenge.Value), 10)
}

// AppendSummary gives the name, the game, the players and the version of the
// protocol.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	s := dissect.Server{Name: keyvalue.Text(m.Rules, "si_name"), Charset: dissect.Latin1, Style: dissect.Doom3}
	if !m.whole {
		return dissect.AppendServer(dst, &s)
	}
	s.Game, s.Map = gameOf(m.Rules), mapName(keyvalue.Text(m.Rules, "si_map"))
	s.Players, s.MaxPlayers = dissect.Some(len(m.Players)), keyvalue.Number(m.Rules, "si_maxPlayers")
	for i := range m.Players {
		if m.Players[i].Bot.Value {
			s.Bots.Value++
		}
	}
	dst = dissect.AppendServer(dst, &s)
	if m.TVClients.OK {
		dst = append(dst, ", "...)
		dst = count(dst, int(m.TVClients.Value), "viewer", "viewers")
	}
	dst = append(dst, "  protocol "...)
	return m.Protocol.append(dst)
}

// AppendSummary gives the version, the mod and whom to look for.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	if m.Protocol == (Version{}) {
		dst = append(dst, "any protocol"...)
	} else {
		dst = append(dst, "protocol "...)
		dst = m.Protocol.append(dst)
	}
	for _, f := range [...]struct{ what, value string }{{"mod", m.Mod}, {"player", m.Player.Value}, {"clan", m.Clan.Value}} {
		if f.value != "" {
			dst = append(dst, ", "...)
			dst = append(dst, f.what...)
			dst = append(dst, ' ')
			dst = quoted(dst, f.value)
		}
	}
	if m.Filter != 0 {
		dst = append(dst, ", filter 0x"...)
		dst = strconv.AppendUint(dst, uint64(m.Filter), 16)
	}
	return dst
}

// AppendSummary gives the number of addresses.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	return count(dst, len(m.Servers), "server", "servers")
}

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	return console.AppendConcealed(dst, m.Command, m.secretAt(), dissect.Latin1, dissect.Doom3)
}

// AppendSummary gives the text.
func (m *Print) AppendSummary(dst []byte) []byte {
	return console.AppendConcealed(dst, m.Text, console.Secret(m.Text), dissect.Latin1, dissect.Doom3)
}

// AppendSummary gives the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	if !m.Reply {
		dst = append(dst, "client "...)
		return strconv.AppendInt(dst, int64(m.ClientID), 10)
	}
	dst = strconv.AppendInt(dst, int64(m.Challenge), 10)
	if m.Game != "" {
		dst = append(dst, ", mod "...)
		dst = quoted(dst, m.Game)
	}
	return dst
}

// AppendSummary gives the version and the challenge.
func (m *Connect) AppendSummary(dst []byte) []byte {
	dst = append(dst, "protocol "...)
	dst = m.Protocol.append(dst)
	dst = append(dst, ", challenge "...)
	return strconv.AppendInt(dst, int64(m.Challenge), 10)
}

// AppendSummary gives the place of the client.
func (m *Connected) AppendSummary(dst []byte) []byte {
	dst = append(dst, "client "...)
	return strconv.AppendUint(dst, uint64(m.ClientNumber), 10)
}

// AppendSummary gives the command and whom it is about, never a key.
func (m *Auth) AppendSummary(dst []byte) []byte {
	dst = text(dst, m.Command)
	if m.Address != (netip.AddrPort{}) {
		dst = append(dst, ' ')
		dst = m.Address.AppendTo(dst)
	}
	if m.Text != "" {
		dst = append(dst, ' ')
		dst = quoted(dst, m.Text)
	}
	return dst
}

// AppendSummary gives the version, or where a newer one is.
func (m *NewVersion) AppendSummary(dst []byte) []byte {
	if m.Reply {
		return quoted(dst, m.URL)
	}
	return quoted(dst, m.Version)
}

// AppendSummary gives the command of a message that is not a query.
func (m *Other) AppendSummary(dst []byte) []byte {
	if len(m.Data) == 0 {
		return dst
	}
	dst = text(dst, m.Command)
	dst = append(dst, ", "...)
	return count(dst, len(m.Data), "byte", "bytes")
}
