package doom3

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var style = summary.Style{Charset: dissect.Latin1, Codes: core.Doom3}

// AppendSummary appends the challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without a whole challenge"...)
	}
	return summary.Number(dst, "challenge ", m.Challenge.Value)
}

// AppendSummary appends the name, the game, the players and the version of the
// protocol.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	settings := keyvalue.IndexOf(m.Rules)
	s := dissect.Server{Name: settings.Text("si_name"), Charset: dissect.Latin1, Style: core.Doom3}
	if !m.whole {
		return s.AppendSummary(dst)
	}
	s.Game, s.Map = gameOf(&settings), mapName(settings.Text("si_map"))
	s.Players, s.MaxPlayers = dissect.Some(len(m.Players)), settings.Number("si_maxPlayers")
	for i := range m.Players {
		if m.Players[i].Bot.Value {
			s.Bots.Value++
		}
	}
	dst = s.AppendSummary(dst)
	if m.TVClients.OK {
		dst = summary.Count(dst, ", ", int(m.TVClients.Value), "viewer", "viewers")
	}
	dst = append(dst, "  protocol "...)
	return m.Protocol.append(dst)
}

// AppendSummary appends the version, the mod and whom to look for.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	if m.Protocol == (Version{}) {
		dst = append(dst, "any protocol"...)
	} else {
		dst = append(dst, "protocol "...)
		dst = m.Protocol.append(dst)
	}
	for _, f := range [...]struct{ before, value string }{{", mod ", m.Mod}, {", player ", m.Player.Value}, {", clan ", m.Clan.Value}} {
		if f.value != "" {
			dst = style.Quoted(dst, f.before, f.value)
		}
	}
	if m.Filter != 0 {
		dst = summary.Hex(dst, ", filter ", m.Filter)
	}
	return dst
}

// AppendSummary appends the number of addresses.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.Servers), "server", "servers")
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Command, m.secretAt())
}

// AppendSummary appends the text.
func (m *Print) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Text, console.Secret(m.Text))
}

// AppendSummary appends the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	if !m.Reply {
		return summary.Number(dst, "client ", m.ClientID)
	}
	dst = summary.Number(dst, "", m.Challenge)
	if m.Game != "" {
		dst = style.Quoted(dst, ", mod ", m.Game)
	}
	return dst
}

// AppendSummary appends the version and the challenge.
func (m *Connect) AppendSummary(dst []byte) []byte {
	dst = append(dst, "protocol "...)
	dst = m.Protocol.append(dst)
	return summary.Number(dst, ", challenge ", m.Challenge)
}

// AppendSummary appends the place of the client.
func (m *Connected) AppendSummary(dst []byte) []byte {
	return summary.Number(dst, "client ", m.ClientNumber)
}

// AppendSummary appends the command and whom it is about, never a key.
func (m *Auth) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Command)
	if m.Address != (netip.AddrPort{}) {
		dst = append(dst, ' ')
		dst = m.Address.AppendTo(dst)
	}
	if m.Text != "" {
		dst = style.Quoted(dst, " ", m.Text)
	}
	return dst
}

// AppendSummary appends the version, or where a newer one is.
func (m *NewVersion) AppendSummary(dst []byte) []byte {
	if m.Reply {
		return style.Quoted(dst, "", m.URL)
	}
	return style.Quoted(dst, "", m.Version)
}

// AppendSummary appends the command of a message that is not a query.
func (m *Other) AppendSummary(dst []byte) []byte {
	if len(m.Data) == 0 {
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	return summary.Count(dst, ", ", len(m.Data), "byte", "bytes")
}
