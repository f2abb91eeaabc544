package quake3

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeStatus reads the settings, which should be one line, and a line for each player
// (ioquake3, SVC_Status).
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	s := wire.Body(m, &d.status, StatusReply{Rules: d.status.Rules[:0], Players: d.status.Players[:0]})
	words.Word(r)
	s.Rules = readSettings(r, settingsEnd(r.Peek()), s.Rules)
	ended := r.Next('\n')
	words.Ending(r)
	list := r.Begin(fPlayers)
	for r.More() {
		n := r.Until("\n")
		if ended = n < r.Left(); !ended {
			n = len(bytes.TrimRight(r.Peek(), "\x00"))
		}
		l, ok := scan(core.PeekTo(r, n))
		if !ok && !ended && (core.While(r, 0, quake.Digit) > 0 || r.Next('-')) {
			break // truncated
		}
		if ok {
			l.length += core.Bit[int](ended)
			p := r.Begin(fPlayer)
			s.Players = append(s.Players, readPlayer(r, &l))
			r.End(p)
		} else {
			at := r.Offset()
			r.Find(notPlayer, fLine, at, n, dissect.Str(r.Span(fLine, 0, 0, n, core.Bit[int](ended))))
		}
		words.Ending(r)
	}
	r.End(list)
	switch {
	case r.More():
		r.Find(cutPlayer, nil, r.Offset(), r.Left())
		r.Rest(catalog.Data())
	case !ended && !r.Failed():
		r.Note(noEnd)
	}

	settings := keyvalue.IndexOf(s.Rules)
	m.Pair.ID = fingerprint(settings.Text("challenge").Value)
	s.server = facts(&settings)
	if !r.Cut() {
		s.server.Players = dissect.Some(len(s.Players))
	}
	countBots(&s.server, &settings)
	m.Server = s.server
	checkCounts(r, &s.server)
}

// decodeInfoReply reads settings (ioquake3, SVC_Info). The oldest servers put them in
// quotation marks.
func (d *decoder) decodeInfoReply(r *dissect.Reader, m *dissect.Message) {
	i := wire.Body(m, &d.info, InfoReply{Rules: d.info.Rules[:0]})
	words.Word(r)
	i.Rules = readQuoted(r, i.Rules)

	settings := keyvalue.IndexOf(i.Rules)
	m.Pair.ID = fingerprint(settings.Text("challenge").Value)
	i.server = facts(&settings)
	i.server.Players = settings.Number("clients")
	countBots(&i.server, &settings)
	m.Server = i.server
	checkCounts(r, &i.server)
}

// countBots derives the number of bots where a server counts only its humans. ioquake3
// has bots among the clients.
func countBots(s *dissect.Server, settings *keyvalue.Index) {
	humans := settings.Number("g_humanplayers")
	if !s.Bots.OK && humans.OK && s.Players.OK && humans.Value <= s.Players.Value {
		s.Bots = dissect.Some(s.Players.Value - humans.Value)
	}
}

// decodeMotd reads getmotd and motd: settings in quotation marks.
func (d *decoder) decodeMotd(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.motd, Motd{Rules: d.motd.Rules[:0]})
	words.LineWord(r)
	d.motd.Rules = readQuoted(r, d.motd.Rules)
	m.Pair.ID = fingerprint(keyvalue.Text(d.motd.Rules, "challenge").Value)
}

// readQuoted reads settings up to the end of the message, with or without quotation
// marks.
func readQuoted(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	quoted := r.Next('"')
	if quoted {
		r.Bytes(words.Quote, 1)
	}
	n := quake.TextLen(r.Peek())
	closed := quoted && r.PeekByte(n-1) == '"'
	if closed {
		n--
	}
	dst = readSettings(r, n, dst)
	if closed {
		r.Bytes(words.Quote, 1)
	}
	words.Ending(r)
	return dst
}

// readSettings reads the next n bytes as settings and reports findings about them.
func readSettings(r *dissect.Reader, n int, dst []dissect.KeyValue) []dissect.KeyValue {
	at, lines := r.Offset(), bytes.IndexByte(core.PeekTo(r, n), '\n') >= 0
	if n > 0 && !r.Next('\\') {
		r.Find(noStart, rules.List, at, 1)
	}
	dst = keyvalue.ReadPairs(r, rules, n, oddKey, dst)
	if lines {
		for i := range dst {
			if strings.IndexByte(dst[i].Value, '\n') >= 0 {
				r.Find(newLine, rules.Value, at, n, dissect.Str(dst[i].Key))
				break
			}
		}
	}
	return dst
}

// settingsEnd returns the length of the settings at the start of b. Values may contain
// new lines, so the settings end at the first new line before a player or before the
// end of the message. If there is none, for example because the first player is
// truncated, they end at the first new line after the last backslash that a number
// follows.
func settingsEnd(b []byte) int {
	for i := bytes.IndexByte(b, '\n'); i >= 0; {
		next := i + wire.While(b[i:], quake.Ender)
		if next == len(b) {
			return i
		}
		line, _, more := bytes.Cut(b[next:], []byte("\n"))
		if _, ok := scan(line); ok {
			return i
		}
		if !more {
			break
		}
		i = next + len(line)
	}
	from := bytes.LastIndexByte(b, '\\') + 1
	for i := from; i < len(b); i++ {
		if b[i] == '\n' && i+1 < len(b) && (quake.Digit(b[i+1]) || b[i+1] == '-') {
			return i
		}
	}
	return from + quake.TextLen(b[from:])
}

// facts returns the server data in the settings.
func facts(settings *keyvalue.Index) dissect.Server {
	return dissect.Server{
		Style:      dissect.Quake3,
		Name:       first(settings, "sv_hostname", "hostname"),
		Map:        first(settings, "mapname"),
		Game:       first(settings, "game", "fs_game", "gamename"),
		Version:    first(settings, "version", "shortversion", "gameversion"),
		MaxPlayers: settings.Number("sv_maxclients"),
		Bots:       settings.Number("bots"),
		Password:   settings.Flag("g_needpass", "needpass", "pswrd"),
	}
}

// first returns the value of the first key that has one, or "" if a key is present
// without a value.
func first(settings *keyvalue.Index, keys ...string) (v dissect.Opt[string]) {
	for _, k := range keys {
		if s, ok := settings.Get(k); ok && (s != "" || !v.OK) {
			if v = dissect.Some(s); s != "" {
				return v
			}
		}
	}
	return v
}

func checkCounts(r *dissect.Reader, s *dissect.Server) {
	if s.MaxPlayers.OK && s.MaxPlayers.Value > 0 && s.Players.Value > s.MaxPlayers.Value {
		r.Note(counts, dissect.Num(s.Players.Value), dissect.Num(s.MaxPlayers.Value))
	}
}

// maxNumbers is the largest number of numbers before a name.
const maxNumbers = 8

// A piece is the range of a value in a line.
type piece struct{ lo, hi int }

// A playerLine has the ranges of the parts of a player's line. The games put
// different numbers before the name, and Warsow one after it:
//
//	score ping "name"                     Quake 3 and most
//	score ping team "name"                Nexuiz, Xonotic, Soldier of Fortune II
//	score ping "name" team                Warsow
//	score ping "name" "address"           a few servers, as in Quake 2
//	ping "name"                           Medal of Honor
//	? score ? time ? "rank" "name"        Medal of Honor: Pacific Assault
type playerLine struct {
	numbers [maxNumbers]piece
	n       int
	first   piece // text in quotation marks: the name, or the rank
	second  piece // second text in quotation marks: the address, or the name
	two     bool  // there is a second
	team    piece // the number after the name
	hasTeam bool
	pacific bool // the format of Pacific Assault
	odd     bool // the name holds a quotation mark
	length  int  // of the line
}

// scan finds the parts of a line without its new line. It returns false if the line is
// not one of a player.
func scan(b []byte) (l playerLine, ok bool) {
	l.length = len(b)
	i := 0
	for {
		at := i
		if i = len(b) - len(bytes.TrimLeft(b[i:], " \t")); i == len(b) || i-at > quake.MaxBlanks {
			return l, false
		}
		if b[i] == '"' {
			break
		}
		n := number(b[i:])
		if n == 0 || l.n == maxNumbers || i+n == len(b) || b[i+n] != ' ' && b[i+n] != '\t' {
			return l, false
		}
		l.numbers[l.n] = piece{i, i + n}
		l.n++
		i += n
	}
	j := bytes.LastIndexByte(b, '"')
	if j == i || l.n == 0 {
		return l, false
	}
	// After the last quotation mark: only blanks, or one number.
	tail := j + 1 + wire.While(b[j+1:], quake.Blank)
	if tail < len(b) {
		n := number(b[tail:])
		if n == 0 || tail == j+1 || tail-j > quake.MaxBlanks || len(bytes.Trim(b[tail+n:], " \r\t")) > 0 || len(b)-tail-n > quake.MaxBlanks {
			return l, false
		}
		l.team, l.hasTeam = piece{tail, tail + n}, true
	} else if len(b)-j > quake.MaxBlanks {
		return l, false
	}
	l.first = piece{i + 1, j}
	text := b[i+1 : j]
	if k := bytes.Index(text, []byte(`" "`)); k >= 0 && bytes.IndexByte(text[k+3:], '"') < 0 {
		second := piece{i + 1 + k + 3, j}
		l.pacific = l.n == 5 && !l.hasTeam
		if l.pacific || isAddress(b[second.lo:second.hi]) {
			l.first.hi, l.second, l.two = i+1+k, second, true
		}
	}
	name := l.first
	if l.pacific {
		name = l.second
	}
	l.odd = bytes.IndexByte(b[name.lo:name.hi], '"') >= 0
	return l, true
}

// number returns the length of the number at the start of b: a sign, digits, a
// fraction.
func number(b []byte) int {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
	}
	digits := i
	i += wire.While(b[i:], quake.Digit)
	if i == digits || i-digits > 18 {
		return 0
	}
	if i+1 < len(b) && b[i] == '.' && quake.Digit(b[i+1]) {
		for i++; i < len(b) && quake.Digit(b[i]); i++ {
		}
	}
	if i > 40 {
		return 0
	}
	return i
}

// isAddress reports whether b looks like the address of a player: an IP address,
// perhaps partly hidden, or a word that engines use instead.
func isAddress(b []byte) bool {
	switch string(b) {
	case "loopback", "localhost", "bot", "BOT":
		return true
	}
	marks := 0
	for _, c := range b {
		switch {
		case c == '.' || c == ':':
			marks++
		case !quake.Digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') && c != 'x' && c != 'X' && c != '*' && c != '[' && c != ']':
			return false
		}
	}
	return marks >= 2
}

// readPlayer reads a line whose parts scan has found.
func readPlayer(r *dissect.Reader, l *playerLine) (p Player) {
	at := 0 // offset in the line up to which it has been read
	base := r.Offset()
	take := func(f *dissect.Field, v piece, to int) string {
		s := r.Span(f, 0, v.lo-at, v.hi-v.lo, to-v.hi)
		at = to
		return s
	}
	take1 := func(i int, f *dissect.Field) string { // number i, with the blanks after it
		to := l.first.lo - 1
		if i+1 < l.n {
			to = l.numbers[i+1].lo
		}
		return take(f, l.numbers[i], to)
	}
	switch {
	case l.pacific:
		take1(0, fColumn1)
		p.Score = float(take1(1, fScore))
		take1(2, fColumn3)
		take1(3, fPlaying)
		take1(4, fColumn5)
	case l.n == 1:
		p.Ping = keyvalue.Int(take1(0, fPing))
	default:
		p.Score = float(take1(0, fScore))
		p.Ping = keyvalue.Int(take1(1, fPing))
		more := 2
		if l.n > more && !l.hasTeam {
			p.Team = keyvalue.Int(take1(more, fTeam))
			more++
		}
		if l.n > more {
			list := r.Begin(fColumns)
			for ; more < l.n; more++ {
				take1(more, fColumn)
			}
			r.End(list)
		}
	}
	behind := l.length
	if l.hasTeam {
		behind = l.team.lo
	}
	name := base + l.first.lo
	switch {
	case l.pacific:
		p.Rank = take(fRank, l.first, l.second.lo-1)
		name = base + l.second.lo
		p.Name = take(fName, l.second, behind)
	case l.two:
		p.Name = take(fName, l.first, l.second.lo-1)
		p.Address = take(fAddress, l.second, behind)
	default:
		p.Name = take(fName, l.first, behind)
	}
	if l.hasTeam {
		p.Team = keyvalue.Int(take(fTeam, l.team, l.length))
	}
	if l.odd {
		r.Find(nameQuote, fName, name, len(p.Name), dissect.Str(p.Name))
	}
	return p
}

func float(s string) dissect.Opt[float64] {
	v, err := strconv.ParseFloat(s, 64)
	return dissect.Opt[float64]{Value: v, OK: err == nil}
}
