package gamespy

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
)

// Server returns what settings state of a server. Unreal Tournament 3 has some
// of them under the numbers of its properties, and another meaning for mapname.
func Server(rules []dissect.KeyValue, style Style) dissect.Server {
	s := dissect.Server{Charset: style.Charset, Style: style.Codes}
	number := func(o *dissect.Opt[int], v string) {
		if n, ok := dissect.ParseInt(v); ok {
			*o = dissect.Some(int(n))
		}
	}
	first := func(o *dissect.Opt[string], v string) {
		if !o.OK {
			*o = dissect.Some(v)
		}
	}
	for i := range rules {
		switch v := rules[i].Value; rules[i].Key {
		case "hostname":
			first(&s.Name, v)
		case "mapname", "map":
			first(&s.Map, v)
		case "gamename", "game_id":
			first(&s.Game, v)
		case "gamever", "version":
			first(&s.Version, v)
		case "numplayers":
			number(&s.Players, v)
		case "maxplayers":
			number(&s.MaxPlayers, v)
		case "numbots", "bots", propertyBots:
			number(&s.Bots, v)
		case "password", propertyPassword:
			s.Password = dissect.Some(isYes(v))
		case propertyMap:
			s.Map = dissect.Some(v)
		case propertyName:
			if v != "" {
				s.Name = dissect.Some(v)
			}
		case "EngineVersion":
			first(&s.Version, v)
		}
	}
	return s
}

// The properties of Unreal Tournament 3 that state what others have names for.
const (
	propertyMap      = "p1073741825"
	propertyName     = "p1073741827"
	propertyBots     = "p268435703"
	propertyPassword = "s7"
)

func isYes(v string) bool {
	switch v {
	case "", "0", "false", "False", "FALSE", "no", "No", "none", "None":
		return false
	}
	return true
}

// AppendServer appends the name, the kind of game, the map and the players, as
// far as they are stated.
func AppendServer(dst []byte, s *dissect.Server, rules []dissect.KeyValue) []byte {
	start := len(dst)
	gap := func() {
		if len(dst) > start {
			dst = append(dst, "  "...)
		}
	}
	text := func(v string) { dst = dissect.AppendText(dst, v, s.Charset, s.Style) }
	if s.Name.Value != "" {
		dst = dissect.AppendQuoted(dst, s.Name.Value, s.Charset, s.Style)
	}
	kind := ""
	for i := range rules {
		if rules[i].Key == "gametype" {
			kind = rules[i].Value
			break
		}
	}
	if kind != "" || s.Map.Value != "" {
		gap()
		text(kind)
		if s.Map.Value != "" {
			if kind != "" {
				dst = append(dst, ' ')
			}
			dst = append(dst, "on "...)
			text(s.Map.Value)
		}
	}
	if s.Players.OK {
		gap()
		dst = strconv.AppendInt(dst, int64(s.Players.Value), 10)
		if s.MaxPlayers.OK {
			dst = append(dst, '/')
			dst = strconv.AppendInt(dst, int64(s.MaxPlayers.Value), 10)
		}
		dst = append(dst, " player"...)
		if s.MaxPlayers.OK || s.Players.Value != 1 {
			dst = append(dst, 's')
		}
	}
	if s.Version.Value != "" {
		gap()
		if c := s.Version.Value[0]; c >= '0' && c <= '9' {
			dst = append(dst, 'v')
		}
		text(s.Version.Value)
	}
	if s.Password.Value {
		gap()
		dst = append(dst, "password"...)
	}
	return dst
}

// A Count is how long a list is, with its name in singular and plural.
type Count struct {
	N         int
	One, Many string
}

// AppendCounts appends how long the lists of a reply are; those that are empty
// are left out.
func AppendCounts(dst []byte, counts ...Count) []byte {
	said := false
	for _, c := range counts {
		if c.N == 0 {
			continue
		}
		switch {
		case said:
			dst = append(dst, ", "...)
		default:
			if len(dst) > 0 && dst[len(dst)-1] != ' ' {
				dst = append(dst, "  "...)
			}
			dst = append(dst, "lists "...)
		}
		said = true
		dst = strconv.AppendInt(dst, int64(c.N), 10)
		dst = append(dst, ' ')
		if c.N == 1 {
			dst = append(dst, c.One...)
		} else {
			dst = append(dst, c.Many...)
		}
	}
	return dst
}

// AppendKeys appends what a query asks for.
func AppendKeys(dst []byte, server, players, teams *Keys) []byte {
	start := len(dst)
	for i, k := range [...]*Keys{server, players, teams} {
		if !k.Any() {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(dst, [...]string{"settings", "players", "teams"}[i]...)
		if len(k.Numbers) > 0 {
			dst = append(dst, ':')
			for _, n := range k.Numbers {
				dst = append(dst, ' ')
				if int(n) < len(keyNames) && n > 0 {
					dst = append(dst, keyNames[n]...)
				} else {
					dst = strconv.AppendUint(dst, uint64(n), 10)
				}
			}
		}
	}
	if len(dst) == start {
		dst = append(dst, "nothing"...)
	}
	return dst
}

// AppendSession appends a session id as it stands in dumps.
func AppendSession(dst []byte, session uint32) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, "session 0x"...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[session>>shift&15])
	}
	return dst
}
