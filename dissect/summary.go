package dissect

import (
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// AppendSummary appends name, game, map, players, version and password, as far as
// they are present and not empty, in the format of summaries.
func (s *Server) AppendSummary(dst []byte) []byte {
	start := len(dst)
	gap := func() {
		if len(dst) > start {
			dst = append(dst, "  "...)
		}
	}
	if s.Name.Value != "" {
		dst = AppendQuoted(dst, s.Name.Value, s.Charset, s.Style)
	}
	if s.Game.Value != "" {
		gap()
		dst = core.AppendText(dst, s.Game.Value, s.Charset, s.Style)
	}
	if s.Map.Value != "" {
		if s.Game.Value != "" {
			dst = append(dst, ' ')
		} else {
			gap()
		}
		dst = append(dst, "on "...)
		dst = core.AppendText(dst, s.Map.Value, s.Charset, s.Style)
	}
	if s.Players.OK {
		gap()
		dst = nettext.AppendInt(dst, int64(s.Players.Value))
		if s.MaxPlayers.OK {
			dst = append(dst, '/')
			dst = nettext.AppendInt(dst, int64(s.MaxPlayers.Value))
			dst = append(dst, " players"...)
		} else {
			dst = append(dst, nettext.Plural(s.Players.Value, " player", " players")...)
		}
		if n := s.Bots.Value; n > 0 {
			dst = append(dst, ", "...)
			dst = nettext.AppendInt(dst, int64(n))
			dst = append(dst, nettext.Plural(n, " bot", " bots")...)
		}
	}
	if v := s.Version.Value; v != "" {
		gap()
		if digit(v[0]) {
			dst = append(dst, 'v')
		}
		dst = core.AppendText(dst, v, s.Charset, s.Style)
	}
	if s.Password.Value {
		gap()
		dst = append(dst, "password"...)
	}
	return dst
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
