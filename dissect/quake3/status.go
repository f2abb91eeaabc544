package quake3

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeStatus reads the settings, which should be one line, and a line for each player
// (ioquake3, SVC_Status).
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	*s = StatusReply{Rules: s.Rules[:0], Players: s.Players[:0]}
	m.Body = s
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
			l.length += bit(ended)
			p := r.Begin(fPlayer)
			s.Players = append(s.Players, readPlayer(r, &l))
			r.End(p)
		} else {
			at := r.Offset()
			r.Find(notPlayer, fLine, at, n, dissect.Str(r.Span(fLine, 0, 0, n, bit(ended))))
		}
		words.Ending(r)
	}
	r.End(list)
	switch {
	case r.More():
		r.Find(cutPlayer, nil, r.Offset(), r.Left())
		r.Rest(fields.Data())
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
	i := &d.info
	*i = InfoReply{Rules: i.Rules[:0]}
	m.Body = i
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
	d.motd = Motd{Rules: d.motd.Rules[:0]}
	m.Body = &d.motd
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
	dst, odd := keyvalue.Read(r, rules, n, dst)
	if odd && len(dst) > 0 {
		r.Find(oddKey, rules.List, at, n, dissect.Str(dst[len(dst)-1].Key))
	}
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
		next := i
		for next < len(b) && quake.Ender(b[next]) {
			next++
		}
		if next == len(b) {
			return i
		}
		n := bytes.IndexByte(b[next:], '\n')
		line := b[next:]
		if n >= 0 {
			line = line[:n]
		}
		if _, ok := scan(line); ok {
			return i
		}
		if n < 0 {
			break
		}
		i = next + n
	}
	from := bytes.LastIndexByte(b, '\\') + 1
	for i := from; i < len(b); i++ {
		if b[i] == '\n' && i+1 < len(b) && (quake.Digit(b[i+1]) || b[i+1] == '-') {
			return i
		}
	}
	n := len(b)
	for n > from && quake.Ender(b[n-1]) {
		n--
	}
	return n
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
