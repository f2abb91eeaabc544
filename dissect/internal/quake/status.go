package quake

import (
	"bytes"
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/internal/core"
)

// A Player is a line of a status of Quake 2.
type Player struct {
	// Name is in the character set of Quake.
	Name string
	// Score is in frags, Ping in milliseconds.
	Score, Ping int
	// Address is the player's, "" if the server does not tell.
	Address string
}

// Status are the fields of a status of Quake 2: settings in one line, then a line
// for each player.
type Status struct {
	Words *Fields
	Rules keyvalue.Fields
	// OddKey is a setting without a value, Cut a line without an end, NotPlayer
	// another line that is not one of a player.
	OddKey, Cut, NotPlayer *dissect.FindingType

	players, player, score, ping, name, address, line *dissect.Field
}

// DeclareStatus adds the fields to a catalog.
func DeclareStatus(c *dissect.Catalog, words *Fields, oddKey, cut, notPlayer *dissect.FindingType) Status {
	text := core.InCharset(core.QuakeChars)
	return Status{
		Words: words, Rules: keyvalue.Declare(c, text), OddKey: oddKey, Cut: cut, NotPlayer: notPlayer,
		players: c.Add("players", dissect.List, "The players."),
		player:  c.Add("players.player", dissect.Group, "One player."),
		score:   c.Add("players.score", dissect.Decimal, "Frags."),
		ping:    c.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds."),
		name:    c.Add("players.name", dissect.String, "Name.", dissect.PersonName, text),
		address: c.Add("players.address", dissect.String, "Address of the player, which a few servers tell everybody.", dissect.Address),
		line:    c.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.Framing, dissect.FreeText, text),
	}
}

// Read reads a status. It appends the settings and the players to those given, and
// returns what they state about the server.
func (s *Status) Read(r *dissect.Reader, rules []dissect.KeyValue, players []Player) ([]dissect.KeyValue, []Player, dissect.Server) {
	at, n := r.Offset(), LineLen(r)
	// Soldier of Fortune ends the settings with a backslash.
	final := n > 0 && r.PeekByte(n-1) == '\\'
	if final {
		n--
	}
	var odd bool
	if rules, odd = keyvalue.Read(r, s.Rules, n, rules); odd {
		r.Find(s.OddKey, s.Rules.List, at, n, dissect.Str(rules[len(rules)-1].Key))
	}
	if final {
		r.Bytes(s.Words.Quote, 1)
	}
	s.Words.LineEnd(r)
	players = s.readPlayers(r, players)
	server := dissect.Server{
		Charset: core.QuakeChars,
		Name:    keyvalue.Text(rules, "hostname"), Map: keyvalue.Text(rules, "mapname"),
		Game: keyvalue.Text(rules, "gamename", "gamedir", "game"), Version: keyvalue.Text(rules, "version"),
		MaxPlayers: keyvalue.Number(rules, "maxclients"), Password: keyvalue.Flag(rules, "needpass"),
	}
	server.Game.Value = strings.TrimRight(server.Game.Value, " ") // Kingpin fills it up
	if !r.Failed() && !r.Cut() {
		server.Players = dissect.Some(len(players))
	}
	s.Words.Ending(r)
	return rules, players, server
}

func (s *Status) readPlayers(r *dissect.Reader, players []Player) []Player {
	if !r.More() || r.Next(0) {
		return players
	}
	list := r.Begin(s.players)
	for r.More() && !r.Next(0) {
		if !isPlayer(r.Peek()) {
			at, n := r.Offset(), LineLen(r)
			if n == r.Left() {
				r.Find(s.Cut, s.line, at, n)
				r.Text(s.line, n)
				break
			}
			r.Find(s.NotPlayer, s.line, at, n, dissect.Str(r.Text(s.line, n)))
			s.Words.LineEnd(r)
			continue
		}
		player := r.BeginRecord(s.player)
		p := Player{Score: keyvalue.Int(s.Words.Argument(r, s.score)).Value, Ping: keyvalue.Int(s.Words.Argument(r, s.ping)).Value}
		p.Name = s.Words.Argument(r, s.name)
		p.Address = s.Words.Argument(r, s.address)
		s.Words.Line(r, s.line)
		s.Words.LineEnd(r)
		if !r.EndRecord(player) {
			break
		}
		players = append(players, p)
	}
	r.End(list)
	return players
}

// isPlayer reports whether b begins with the line of a player: frags ping "name".
func isPlayer(b []byte) bool {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	for range 2 {
		n := bytes.IndexByte(b, ' ')
		if n < 0 || !Numbered(b) {
			return false
		}
		b = b[n+1:]
	}
	return len(b) > 1 && b[0] == '"' && bytes.IndexByte(b[1:], '"') >= 0
}

// Servers reads what is left as IPv4 addresses and ports, six bytes each in network
// byte order, and appends them to dst. If bytes are left over, it reports cut and
// reads them as data.
func Servers(r *dissect.Reader, list, server, data *dissect.Field, cut *dissect.FindingType, dst []netip.AddrPort) []netip.AddrPort {
	open := r.Begin(list)
	for r.Left() >= 6 {
		addr, port := r.Endpoint4(server, false)
		dst = append(dst, netip.AddrPortFrom(netip.AddrFrom4(addr), port))
	}
	r.End(open)
	if n := r.Left(); n > 0 {
		r.Find(cut, list, r.Offset(), n, dissect.Num(n))
		r.Rest(data)
	}
	return dst
}
