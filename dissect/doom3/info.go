package doom3

import (
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeInfoReply reads infoResponse (idAsyncServer, ProcessGetInfoMessage) and
// infoExResponse.
func (d *decoder) decodeInfoReply(r *dissect.Reader, m *dissect.Message) {
	i, extended := &d.info, m.Type == mInfoExReply
	*i = InfoReply{Extended: extended, Rules: i.Rules[:0], Players: i.Players[:0]}
	m.Body = i
	i.Challenge = r.I32(fChallenge)
	m.Pair.ID = pairID(i.Challenge)
	task := hasTask(r.Peek())
	if task {
		i.Task = dissect.Some(r.I32(fTask))
	}
	version := r.Offset()
	i.Protocol = readVersion(r)
	if task {
		at := r.Offset()
		if size := r.U32(fSize); !r.Failed() && int64(size) != int64(r.Left()) {
			r.Find(sizeWrong, fSize, at, 4, dissect.Num(size), dissect.Num(r.Left()))
		}
	}
	i.Rules = readRules(r, i.Rules)
	if r.Failed() {
		d.facts(m)
		return
	}

	c := d.choose(r.Peek(), i.Protocol, task, extended)
	i.Layout = c.layout.name
	major, minor := dissect.Num(i.Protocol.Major), dissect.Num(i.Protocol.Minor)
	switch first, _, _ := promised(i.Protocol, task); {
	case !c.fits:
	case !c.known:
		r.Find(layoutUnknown, fMajor, version, 4, major, minor, dissect.Str(c.layout.name))
	case !c.asPromised:
		r.Find(layoutOther, fMajor, version, 4, major, minor, dissect.Str(layouts[first].name), dissect.Str(c.layout.name))
	default:
		r.Note(layoutUsed, dissect.Str(c.layout.name))
	}
	base := r.Offset()
	if c.fits && c.layout.bits {
		r.Rest(fBits)
		r.Open("unshifted", d.unshifted)
		base = 0
	}
	stats := base + c.stats
	d.readPlayers(r, &c, base)
	d.readTail(r, &c, stats)
	if i.whole = !r.Failed(); i.whole && !c.fits {
		r.Note(layoutNone, dissect.Str(c.layout.name))
	}
	d.facts(m)
	if m.Server.MaxPlayers.OK && i.whole && len(i.Players) > m.Server.MaxPlayers.Value {
		r.Note(tooMany, dissect.Num(len(i.Players)), dissect.Num(m.Server.MaxPlayers.Value))
	}
}

// readRules reads a dictionary (idBitMsg, WriteDeltaDict): names and values up
// to an empty name with an empty value.
func readRules(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	list := r.Begin(rules.List)
	for r.More() && (!r.Next(0) || r.PeekByte(1) > 0) {
		rule, ok := core.ReadPair(r, rules.Pair, rules.Key, rules.Value, rules.Hidden)
		if !ok {
			break
		}
		dst = append(dst, rule)
	}
	r.End(list)
	r.Bytes(fRulesEnd, 2)
	return dst
}

// readPlayers reads the list of players. In an extended reply, a second list has the
// result of each. If both lists have the same players, they are read together. base is
// the offset after the settings.
func (d *decoder) readPlayers(r *dissect.Reader, c *choice, base int) {
	i, l := &d.info, c.layout
	stats := 0
	if i.Extended && c.fits {
		stats = base + c.stats
		if first, second := l.count(r.Peek(), c.stats); first != second {
			r.Find(statsOrder, fStats, stats, 0, dissect.Num(first), dissect.Num(second))
			stats = 0
		}
	}
	list := r.Begin(fPlayers)
	for r.More() && !r.Next(l.end) {
		group := r.BeginRecord(fPlayer)
		p := Player{ID: r.U8(fPlayerID), Ping: r.U16(fPing)}
		if l.rate {
			p.Rate = dissect.Some(r.U32(fRate))
		}
		p.Name = r.CString(fPlayerName)
		if l.place {
			p.ClanPosition = dissect.Some(r.U8(fClanPlace))
		}
		if l.clan {
			p.Clan = dissect.Some(r.CString(fClan))
		}
		if l.bot {
			p.Bot = dissect.Some(r.Bool(fBot))
		}
		if stats > 0 {
			next := r.Offset()
			r.Seek(stats)
			r.U8(fStatsID)
			p.Result = dissect.Some(readResult(r))
			stats = r.Offset()
			r.Seek(next)
		}
		if !r.EndRecord(group) {
			break
		}
		i.Players = append(i.Players, p)
	}
	r.End(list)
	r.U8(fPlayerEnd)
	c.stats = stats
}

func readResult(r *dissect.Reader) Result {
	return Result{XP: r.F32(fXP), Team: r.CString(fTeam), Kills: r.I32(fScore), Deaths: r.I32(fDeaths)}
}

// count returns the length of the first list of an extended reply, and how many entries
// of the second are the same players in the same order. b follows the settings.
func (l *layout) count(b []byte, stats int) (first, second int) {
	s, t := scanner{b: b}, scanner{b: b[min(stats, len(b)):]}
	same := true
	for id := s.u8(); id != l.end && !s.failed; id = s.u8() {
		first++
		l.skipPlayer(&s)
		if l.bot {
			s.skip(1)
		}
		if other := t.u8(); same && other == id && !t.failed {
			second++
			t.skip(4)
			t.text()
			t.skip(8)
		} else {
			same = false
		}
	}
	if same && t.u8() != l.end {
		second++
	}
	return first, second
}

// readTail reads the data after the players. Old versions end earlier. stats is the
// offset of the second list.
func (d *decoder) readTail(r *dissect.Reader, c *choice, stats int) {
	i := &d.info
	n := r.Left()
	if i.Extended && c.fits {
		n = stats - r.Offset()
	}
	if (c.fits || n == 0) && !c.layout.tail.masked(n) && !r.Failed() {
		r.Note(noMask)
	} else {
		i.OSMask = dissect.Some(r.U32(fOSMask))
	}
	if !r.More() { // dhewm3 ends here
		return
	}
	switch c.layout.tail {
	case tailQuake4:
		if r.Left() == lenQuake4-lenOSMask {
			i.NetPort = dissect.Some(r.U32(fNetPort))
			r.U8(fNetFlag)
		}
		return
	case tailDoom3:
		return
	}
	if !r.More() {
		return
	}
	i.Ranked = dissect.Some(r.Bool(fRanked))
	if !r.More() {
		return
	}
	i.TimeLeft = dissect.Some(time.Duration(r.U32(fTimeLeft)) * time.Millisecond)
	i.State = dissect.Some(r.U8(fState))
	if !r.More() {
		return
	}
	kind := r.U8(fServerType)
	i.ServerType = dissect.Some(kind)
	switch {
	case !r.More():
	case kind == serverNormal:
		i.Interested = dissect.Some(r.U8(fInterested))
	case kind == serverTV:
		i.TVClients = dissect.Some(r.U32(fTVClients))
		i.TVMax = dissect.Some(r.U32(fTVMax))
	}
	if i.Extended {
		d.readStats(r, c)
	}
}

// readStats reads the second list of an extended reply, of which readPlayers has read
// the entries if they match.
func (d *decoder) readStats(r *dissect.Reader, c *choice) {
	if c.stats > 0 {
		r.Seek(c.stats)
		r.U8(fStatsEnd)
		return
	}
	more := func() bool { return r.More() && !r.Next(c.layout.end) }
	wire.Records(r, fStats, fStat, nil, more, func() (none struct{}) {
		r.U8(fPlayerID)
		readResult(r)
		return none
	})
	r.U8(fStatsEnd)
}

// facts sets the server data from the settings and the players.
func (d *decoder) facts(m *dissect.Message) {
	i := &d.info
	s := &m.Server
	*s = serverOf(i.Rules)
	if !i.whole {
		return
	}
	s.Players = dissect.Some(len(i.Players))
	bots, stated := 0, false
	for k := range i.Players {
		stated = i.Players[k].Bot.OK
		if i.Players[k].Bot.Value {
			bots++
		}
	}
	if stated {
		s.Bots = dissect.Some(bots)
	}
}

// serverOf returns the server data in the settings.
func serverOf(rules []dissect.KeyValue) dissect.Server {
	settings := keyvalue.IndexOf(rules)
	return dissect.Server{
		Charset: dissect.Latin1, Style: core.Doom3,
		Name: settings.Text("si_name"), Map: mapName(settings.Text("si_map")), Game: gameOf(&settings),
		Version: settings.Text("si_version"), MaxPlayers: settings.Number("si_maxPlayers"),
		Password: settings.Flag("si_usePass", "si_needPass"),
	}
}

// mapName removes what Quake Wars and Wolfenstein add to the name of a map:
// maps/valley.entities.
func mapName(name dissect.Opt[string]) dissect.Opt[string] {
	name.Value = strings.TrimPrefix(strings.TrimSuffix(name.Value, ".entities"), "maps/")
	return name
}

// gameOf returns the directory of the mod, or the name that the game code has if there
// is no directory or it is base, which all games of the engine share.
func gameOf(settings *keyvalue.Index) dissect.Opt[string] {
	game := settings.Text("fs_game")
	if game.Value == "" || game.Value == "base" {
		if name := settings.Text("gamename"); name.Value != "" {
			return name
		}
	}
	return game
}
