package gamespy1

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

func text(dst []byte, s string) []byte {
	return dissect.AppendText(dst, s, fName.Charset, fName.Style)
}

func quoted(dst []byte, s string) []byte {
	return dissect.AppendQuoted(dst, s, fName.Charset, fName.Style)
}

// AppendSummary gives the words and what stands behind them, as far as the title
// does not say it.
func (m *Request) AppendSummary(dst []byte) []byte {
	if len(m.Queries) == 1 {
		if w := wordOf(m.Queries[0].Name); w != nil && w.topic != topicProperty {
			return text(dst, m.Queries[0].Value)
		}
	}
	for i, q := range m.Queries {
		if i == 8 {
			return append(dst, " …"...)
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = text(dst, q.Name)
		switch {
		case q.Value == "":
		case dissect.SecretSetting(q.Name, q.Value):
			dst = append(dst, " ***"...)
		default:
			dst = append(dst, ' ')
			dst = text(dst, q.Value)
		}
	}
	return dst
}

// AppendSummary gives the name, the game and the players, or what there is
// instead.
func (p *Reply) AppendSummary(dst []byte) []byte {
	start := len(dst)
	next := func() {
		if len(dst) > start {
			dst = append(dst, "  "...)
		}
	}
	if s := keyvalue.Text(p.Rules, "hostname"); s.Value != "" {
		dst = quoted(dst, s.Value)
	}
	game, mapName := keyvalue.Text(p.Rules, "gamename"), keyvalue.Text(p.Rules, "mapname")
	if game.Value != "" || mapName.Value != "" {
		next()
		dst = text(dst, game.Value)
		if mapName.Value != "" {
			if game.Value != "" {
				dst = append(dst, ' ')
			}
			dst = append(dst, "on "...)
			dst = text(dst, mapName.Value)
		}
	}
	online, most := keyvalue.Number(p.Rules, "numplayers"), keyvalue.Number(p.Rules, "maxplayers")
	switch {
	case online.OK:
		next()
		if most.OK {
			dst = strconv.AppendInt(dst, int64(online.Value), 10)
			dst = append(dst, '/')
			dst = strconv.AppendInt(dst, int64(most.Value), 10)
			dst = append(dst, " players"...)
		} else {
			dst = count(dst, online.Value, " player", " players")
		}
		if n := len(p.Players); n > 0 && n != online.Value {
			dst = append(dst, ", "...)
			dst = strconv.AppendInt(dst, int64(n), 10)
			dst = append(dst, " listed"...)
		}
	case len(p.Players) > 0:
		next()
		dst = count(dst, len(p.Players), " player", " players")
	}
	if v := keyvalue.Text(p.Rules, "gamever"); v.OK && v.Value != "" {
		next()
		if v.Value[0] >= '0' && v.Value[0] <= '9' {
			dst = append(dst, 'v')
		}
		dst = text(dst, v.Value)
	}
	if keyvalue.Flag(p.Rules, "password").Value {
		next()
		dst = append(dst, "password"...)
	}
	if len(dst) == start && len(p.Rules) > 0 {
		dst = count(dst, len(p.Rules), " rule", " rules")
	}
	if len(dst) == start && len(p.Teams) > 0 {
		dst = count(dst, len(p.Teams), " team", " teams")
	}
	if p.Echo.OK {
		next()
		dst = append(dst, "echo "...)
		dst = quoted(dst, p.Echo.Value)
	}
	if p.Validate.OK {
		next()
		dst = append(dst, "validate "...)
		dst = text(dst, p.Validate.Value)
	}
	return dst
}

func count(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// AppendSummary gives the game, the port and what happened.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = text(dst, m.Game)
	if m.Port.OK {
		dst = append(dst, ", queries on port "...)
		dst = strconv.AppendUint(dst, uint64(m.Port.Value), 10)
	}
	if m.StateChanged.OK {
		if m.StateChanged.Value == "2" {
			return append(dst, ", shuts down"...)
		}
		dst = append(dst, ", state changed"...)
	}
	return dst
}
