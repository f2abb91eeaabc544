package gamespy1

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// decodeReply reads a reply, or one datagram of it.
func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message, at markers) {
	p := &d.reply
	*p = Reply{Rules: p.Rules[:0], Players: p.Players[:0], Teams: p.Teams[:0], Final: at.final.n > 0}
	m.Body = p
	raw := r.Peek()
	b := core.PeekText(r)
	d.values = d.values[:0]
	if r.Failed() { // joining failed
		p.classify(m)
		return
	}
	if d.joined {
		at = markers{body: len(b)}
		p.Final = d.final
	} else {
		d.whole = p.Final && placeOf(raw, at, 0).number <= 1
	}
	d.segment(b, at)
	if d.skim(r, p) {
		d.readSkimmed(r, p, at)
	} else {
		d.readPairs(r, p, at)
	}
	r.Seek(at.body)
	core.Remaining(r, fEnd)
	p.classify(m)
	d.check(r, p, at, m.Server.Players)
}

// readPairs reads the pairs and the markers of a reply.
func (d *decoder) readPairs(r *dissect.Reader, p *Reply, at markers) {
	raw, b := r.Peek(), core.PeekText(r)
	d.find(b, r)
	if twice := d.sort(b); twice > 0 {
		r.Note(columnTwice, dissect.Num(twice))
	}
	left := at.inOrder()
	read := [special]bool{} // the kinds of pairs that have been read
	for i := range d.pairs {
		one := &d.pairs[i]
		for len(left) > 0 && left[0].at <= one.at {
			p.readMarker(r, raw, left[0], at)
			left = left[1:]
		}
		switch {
		case one.kind == special:
			if v := dissect.Some(one.read(r)); one.field == fEcho {
				p.Echo = v
			} else {
				p.Validate = v
			}
		case read[one.kind]:
		case one.kind == ofRules:
			p.Rules = d.readRules(r, i, p.Rules)
		case one.kind == ofPlayers:
			d.readPlayers(r, i, p)
		case one.kind == ofTeams:
			d.readTeams(r, i, p)
		}
		if one.kind < special {
			read[one.kind] = true
		}
	}
	for _, marker := range left {
		p.readMarker(r, raw, marker, at)
	}
}

func (p *Reply) readMarker(r *dissect.Reader, b []byte, s span, at markers) {
	r.Seek(s.at)
	reported := false
	if v := readMarker(r, s, at, &inWhole, placeOf(b, at, 0).how, &reported); s == at.queryID {
		p.QueryID = dissect.Some(v)
	}
}

// read reads a pair, key and value, into its field. Blanks around a number are not part
// of the value: Unreal Tournament pads pings.
func (p *pair) read(r *dissect.Reader) string {
	r.Seek(p.at)
	return p.readFrom(r, p.at)
}

func (p *pair) readFrom(r *dissect.Reader, from int) string {
	lo, hi := p.value, p.valueEnd
	if p.field.Kind == dissect.Decimal {
		for lo < hi && hi-lo < 64 && r.PeekByte(lo-from) == ' ' {
			lo++
		}
		for hi > lo && hi-lo < 64 && r.PeekByte(hi-1-from) == ' ' {
			hi--
		}
	}
	v := r.Span(p.field, 0, lo-from, hi-lo, p.end-hi)
	if p.split {
		shown := nettext.Either(p.field.Secret, "***", v)
		r.Find(backslash, p.field, p.value, p.valueEnd-p.value, dissect.Str(shown))
	}
	return v
}

// runEnd returns the end of the pairs of a table from pair i on that are adjacent.
func (d *decoder) runEnd(i int) int {
	kind, end := d.pairs[i].kind, d.pairs[i].end
	for i++; i < len(d.pairs) && d.pairs[i].at == end && d.pairs[i].kind == kind; i++ {
		end = d.pairs[i].end
	}
	return end
}

// readRules reads all pairs that are not in a table. Pair i is the first of them.
func (d *decoder) readRules(r *dissect.Reader, i int, dst []dissect.KeyValue) []dissect.KeyValue {
	r.Seek(d.pairs[i].at)
	list := r.Begin(pairs.List)
	end := d.pairs[i].at // of the rules that are adjacent
	for ; i < len(d.pairs); i++ {
		p := &d.pairs[i]
		if p.kind != ofRules {
			continue
		}
		if p.at == end {
			end = p.end
		}
		r.Seek(p.at)
		open := r.Begin(pairs.Pair)
		one := dissect.KeyValue{Key: r.Span(pairs.Key, 0, p.key-p.at, p.keyEnd-p.key, 0)}
		if p.value >= 0 {
			p.field = pairs.Value
			if p.split && nettext.SecretSetting(one.Key, "with a backslash") {
				p.field = pairs.Hidden
			}
			one.Value = p.readFrom(r, r.Offset())
			core.HideSetting(r, pairs.Hidden, one.Key, one.Value)
		}
		r.End(open)
		dst = append(dst, one)
	}
	r.Seek(end)
	r.End(list)
	return dst
}

// readRow reads all pairs of a player or a team, and calls got with each. The key of
// the first pair gives the index.
func (d *decoder) readRow(r *dissect.Reader, row row, group, index, name *dissect.Field, got func(*pair, string)) []dissect.KeyValue {
	from := len(d.values)
	i := row.first
	first := &d.pairs[i]
	r.Seek(first.at)
	open := r.Begin(group)
	r.Span(index, uint64(row.index), 0, first.value-first.at, 0)
	end, named := first.at, false
	for ; i >= 0; i = d.pairs[i].next {
		p := &d.pairs[i]
		if p.at == end { // adjacent to the one before
			end = p.end
		}
		v := ""
		if p == first {
			v = p.readFrom(r, p.value)
		} else {
			v = p.read(r)
		}
		named = named || p.field == name
		d.values = append(d.values, dissect.KeyValue{Key: p.columnName(), Value: v})
		got(p, v)
	}
	r.Seek(end)
	if !named {
		r.Text(name, 0)
	}
	r.End(open)
	return d.values[from:len(d.values):len(d.values)]
}

// readPlayers reads the table of players. Pair i is its first pair.
func (d *decoder) readPlayers(r *dissect.Reader, i int, p *Reply) {
	r.Seek(d.pairs[i].at)
	list := r.Begin(fPlayers)
	end := d.runEnd(i)
	for _, row := range d.players.rows {
		if row.first < 0 {
			continue
		}
		p.Players = append(p.Players, Player{Index: int(row.index)})
		one := &p.Players[len(p.Players)-1]
		one.Columns = d.readRow(r, row, fPlayer, fIndex, fName, func(c *pair, v string) {
			switch c.field {
			case fName:
				one.Name = v
			case fScore:
				one.Score = keyvalue.Int(v)
			case fDeaths:
				one.Deaths = keyvalue.Int(v)
			case fPing:
				one.Ping = keyvalue.Int(v)
			case fTeam:
				one.Team = dissect.Some(v)
			}
		})
	}
	r.Seek(end)
	r.End(list)
}

// readTeams reads the table of teams. Pair i is its first pair.
func (d *decoder) readTeams(r *dissect.Reader, i int, p *Reply) {
	r.Seek(d.pairs[i].at)
	list := r.Begin(fTeams)
	end := d.runEnd(i)
	for _, row := range d.teams.rows {
		p.Teams = append(p.Teams, Team{Index: int(row.index)})
		one := &p.Teams[len(p.Teams)-1]
		one.Columns = d.readRow(r, row, fOneTeam, fTeamIndex, fTeamName, func(c *pair, v string) {
			switch c.field {
			case fTeamName:
				one.Name = v
			case fTeamScore:
				one.Score = keyvalue.Int(v)
			}
		})
	}
	r.Seek(end)
	r.End(list)
}

// classify determines the type of a reply from its keys, and which queries it may
// answer. If the request is known, it determines the type instead; see [named].
func (p *Reply) classify(m *dissect.Message) {
	const whole = topicStatus | topicPackets
	game, facts, others := false, false, false
	for i := range p.Rules {
		switch p.Rules[i].Key {
		case "gamename":
			game = true
		case "gamever", "gamesubver", "mingamever", "minnetver", "location", "language":
		case "hostname", "hostport", "mapname", "maptitle", "gametype", "numplayers", "maxplayers", "gamemode":
			facts = true
		default:
			others = others || classify(p.Rules[i].Key).id == noColumn
		}
	}
	pair := &m.Pair
	pair.Also = anyTopic &^ (topicEcho | topicSecure)
	switch {
	case (game || facts || others) && len(p.Players)+len(p.Teams) > 0, game && (facts || others):
		m.Type, pair.Answers = mStatusReply, anyTopic&^(topicEcho|topicSecure|topicTeams)
	case facts:
		m.Type, pair.Answers = mInfoReply, topicInfo|whole
	case game:
		m.Type, pair.Answers = mBasicReply, topicBasic|whole
	case others || len(p.Players)+len(p.Teams) == 0 && len(p.Rules) > 0:
		m.Type, pair.Answers = mRulesReply, topicRules|topicInfo|topicProperty|topicOther|whole
		pair.Also |= topicEcho // Unreal Tournament answers echo with other keys
	case len(p.Players) > 0:
		m.Type, pair.Answers = mPlayersReply, topicPlayers|topicProperty|whole
	case len(p.Teams) > 0:
		m.Type, pair.Answers = mTeamsReply, topicTeams|topicPlayers|whole
	case p.Echo.OK:
		m.Type, pair.Also = mEchoReply, 0
	case p.Validate.OK:
		m.Type, pair.Also = mSecureReply, 0
	default:
		m.Type, pair.Answers = mEmptyReply, anyTopic
	}
	if p.Echo.OK {
		pair.Answers |= topicEcho
	}
	if p.Validate.OK {
		pair.Answers |= topicSecure
	}
	settings := keyvalue.IndexOf(p.Rules)
	m.Server = dissect.Server{
		Name: settings.Text("hostname"), Map: settings.Text("mapname"), Game: settings.Text("gamename"), Version: settings.Text("gamever"),
		Players: settings.Number("numplayers"), MaxPlayers: settings.Number("maxplayers"),
		Bots: settings.Number("numbots", "bots"), Password: settings.Flag("password"),
		Charset: fName.Charset, Style: fName.Style,
	}
}

// check reports findings about a whole reply, in which numplayers is n.
func (d *decoder) check(r *dissect.Reader, p *Reply, at markers, n dissect.Opt[int]) {
	if p.Final && (d.joined && !d.numbered || !d.joined && at.queryID.n == 0) {
		r.Note(queryIDMissing)
	}
	if len(p.Rules)+len(p.Players)+len(p.Teams) == 0 && !p.Echo.OK && !p.Validate.OK {
		r.Note(empty)
	}
	if len(p.Players) == 0 {
		return
	}
	if n.OK && len(p.Players) > n.Value {
		r.Note(stalePlayers, dissect.Num(len(p.Players)), dissect.Num(n.Value))
	} else if n.OK && len(p.Players) < n.Value && d.whole {
		r.Note(fewPlayers, dissect.Num(len(p.Players)), dissect.Num(n.Value))
	}
	nameless, inParts := 0, 0
	for i := range p.Players {
		if p.Players[i].Name == "" {
			nameless++
		}
	}
	for i := range d.players.rows {
		if d.players.rows[i].spread {
			inParts++
		}
	}
	if nameless > 0 {
		r.Note(unnamed, dissect.Num(nameless))
	}
	if inParts > 0 {
		r.Note(spread, dissect.Num(inParts))
	}
	if n := d.sameKeyHash(p); n > 0 {
		r.Note(duplicateKeyHash, dissect.Num(n))
	}
}

// maxHashes is how many players are compared with each other.
const maxHashes = 256

// sameKeyHash counts the players whose keyhash an earlier player has.
func (d *decoder) sameKeyHash(p *Reply) (n int) {
	d.hashes = d.hashes[:0]
	for i := range p.Players[:min(len(p.Players), maxHashes)] {
		for _, c := range p.Players[i].Columns {
			if c.Key != "keyhash" || c.Value == "" {
				continue
			}
			if slices.Contains(d.hashes, c.Value) {
				n++
			} else {
				d.hashes = append(d.hashes, c.Value)
			}
		}
	}
	return n
}
