package gamespy

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Server returns the server data in the settings. Unreal Tournament 3 sends some of
// them under the numbers of its properties, and uses mapname differently.
func Server(rules []dissect.KeyValue, style wire.Style) dissect.Server {
	s := dissect.Server{Charset: style.Charset, Style: style.Codes}
	number := func(o *dissect.Opt[int], v string) {
		if n := keyvalue.Int(v); n.OK {
			*o = n
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

// The properties of Unreal Tournament 3 for which other games have keys.
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

// AppendServer appends the name, the kind of game, the map and the players, as far as
// they are present.
func AppendServer(dst []byte, s *dissect.Server, rules []dissect.KeyValue) []byte {
	short := *s
	short.Game, short.Bots = dissect.Opt[string]{}, dissect.Opt[int]{}
	for i := range rules {
		if rules[i].Key == "gametype" {
			short.Game.Value = rules[i].Value
			break
		}
	}
	return short.AppendSummary(dst)
}

// AppendCounts appends the lengths of the lists of a reply. It omits empty lists.
func AppendCounts(dst []byte, players, others int, one, many string) []byte {
	before := nettext.Either(len(dst) > 0 && dst[len(dst)-1] != ' ', "  lists ", "lists ")
	if players > 0 {
		dst = wire.Plural(dst, before, players, "player", "players")
		before = ", "
	}
	if others > 0 {
		dst = wire.Plural(dst, before, others, one, many)
	}
	return dst
}

// AppendKeys appends the requested keys.
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
				if int(n) < len(keyNames) && n > 0 {
					dst = append(append(dst, ' '), keyNames[n]...)
				} else {
					dst = wire.Number(dst, " ", n)
				}
			}
		}
	}
	if len(dst) == start {
		dst = append(dst, "nothing"...)
	}
	return dst
}

// AppendSession appends a session id in eight hexadecimal digits.
func AppendSession(dst []byte, session uint32) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, "session 0x"...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[session>>shift&15])
	}
	return dst
}
