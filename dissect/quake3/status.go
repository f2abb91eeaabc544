package quake3

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

func (d *decoder) decodeStatusReply(r *dissect.Reader, m *dissect.Message) {
	m.Type = mStatusReply
	m.Pair.Answers = topicStatus
	d.decodeStatus(r, m)
}

func (d *decoder) decodeGameComplete(r *dissect.Reader, m *dissect.Message) {
	m.Type = mGameComplete
	d.decodeStatus(r, m)
}

// decodeStatus reads the settings, which should be one line, and a line for each
// player (ioquake3, SVC_Status).
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	*s = StatusReply{Rules: s.Rules[:0], Players: s.Players[:0]}
	m.Body = s
	beginLine(r)
	s.Rules = readSettings(r, settingsEnd(r.Peek()), s.Rules)
	ended := r.Next('\n')
	end(r)
	list := r.Begin(fPlayers)
	for r.More() {
		n := r.Until("\n")
		if ended = n < r.Left(); !ended {
			n = len(bytes.TrimRight(r.Peek(), "\x00"))
		}
		l, ok := scan(r.PeekTo(n))
		if !ok && !ended && (r.While(0, digit) > 0 || r.Next('-')) {
			break // cut
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
		end(r)
	}
	r.End(list)
	switch {
	case r.More():
		r.Find(cutPlayer, nil, r.Offset(), r.Left())
		r.Rest(fields.Data())
	case !ended && !r.Failed():
		r.Note(noEnd)
	}

	m.Pair.ID = fingerprint(keyvalue.Text(s.Rules, "challenge").Value)
	s.server = facts(s.Rules)
	s.server.Players = dissect.Some(len(s.Players))
	countBots(&s.server, s.Rules)
	m.Server = s.server
	checkCounts(r, &s.server)
}

// decodeInfoReply reads settings and nothing else (ioquake3, SVC_Info). The
// oldest servers put quotation marks around them.
func (d *decoder) decodeInfoReply(r *dissect.Reader, m *dissect.Message) {
	i := &d.info
	*i = InfoReply{Rules: i.Rules[:0]}
	m.Type, m.Body = mInfoReply, i
	m.Pair.Answers = topicInfo
	beginLine(r)
	i.Rules = readQuoted(r, i.Rules)

	m.Pair.ID = fingerprint(keyvalue.Text(i.Rules, "challenge").Value)
	i.server = facts(i.Rules)
	i.server.Players = keyvalue.Number(i.Rules, "clients")
	countBots(&i.server, i.Rules)
	m.Server = i.server
	checkCounts(r, &i.server)
}

// countBots takes what is not human for bots, where only the humans are counted:
// ioquake3 has its bots among the clients.
func countBots(s *dissect.Server, rules []dissect.KeyValue) {
	humans := keyvalue.Number(rules, "g_humanplayers")
	if !s.Bots.OK && humans.OK && s.Players.OK && humans.Value <= s.Players.Value {
		s.Bots = dissect.Some(s.Players.Value - humans.Value)
	}
}

// decodeMotdRequest and decodeMotdReply read settings in quotation marks.
func (d *decoder) decodeMotdRequest(r *dissect.Reader, m *dissect.Message) {
	m.Type = mMotdRequest
	d.decodeMotd(r, m)
	m.Pair.Asks = topicMotd
}

func (d *decoder) decodeMotdReply(r *dissect.Reader, m *dissect.Message) {
	m.Type = mMotdReply
	d.decodeMotd(r, m)
	m.Pair.Answers = topicMotd
}

func (d *decoder) decodeMotd(r *dissect.Reader, m *dissect.Message) {
	d.motd = Motd{Rules: d.motd.Rules[:0]}
	m.Body = &d.motd
	begin(r)
	d.motd.Rules = readQuoted(r, d.motd.Rules)
	m.Pair.ID = fingerprint(keyvalue.Text(d.motd.Rules, "challenge").Value)
}

// readQuoted reads settings up to the end of the message, which may stand in
// quotation marks.
func readQuoted(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	quoted := r.Next('"')
	if quoted {
		r.Bytes(fQuote, 1)
	}
	n := textLen(r.Peek())
	closed := quoted && r.PeekByte(n-1) == '"'
	if closed {
		n--
	}
	dst = readSettings(r, n, dst)
	if closed {
		r.Bytes(fQuote, 1)
	}
	end(r)
	return dst
}

// readSettings reads the next n bytes as settings and says what is wrong with
// them.
func readSettings(r *dissect.Reader, n int, dst []dissect.KeyValue) []dissect.KeyValue {
	at := r.Offset()
	if n > 0 && !r.Next('\\') {
		r.Find(noStart, rules.List, at, 1)
	}
	dst, odd := keyvalue.Read(r, rules, n, dst)
	if odd && len(dst) > 0 {
		r.Find(oddKey, rules.List, at, n, dissect.Str(dst[len(dst)-1].Key))
	}
	for i := range dst {
		if strings.IndexByte(dst[i].Value, '\n') >= 0 {
			r.Find(newLine, rules.Value, at, n, dissect.Str(dst[i].Key))
			break
		}
	}
	return dst
}

// settingsEnd returns where the settings end that b begins with. Values may hold
// new lines: it is the first one behind which a player stands, or nothing. Where
// there is none, because the first player is cut for example, it is the first
// one behind the last backslash that is followed by a number.
func settingsEnd(b []byte) int {
	for i := bytes.IndexByte(b, '\n'); i >= 0; {
		next := i
		for next < len(b) && ender(b[next]) {
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
		if b[i] == '\n' && i+1 < len(b) && (digit(b[i+1]) || b[i+1] == '-') {
			return i
		}
	}
	n := len(b)
	for n > from && ender(b[n-1]) {
		n--
	}
	return n
}

// facts returns what settings state of a server.
func facts(rules []dissect.KeyValue) dissect.Server {
	return dissect.Server{
		Style:      dissect.Quake3,
		Name:       first(rules, "sv_hostname", "hostname"),
		Map:        first(rules, "mapname"),
		Game:       first(rules, "game", "fs_game", "gamename"),
		Version:    first(rules, "version", "shortversion", "gameversion"),
		MaxPlayers: keyvalue.Number(rules, "sv_maxclients"),
		Bots:       keyvalue.Number(rules, "bots"),
		Password:   keyvalue.Flag(rules, "g_needpass", "needpass", "pswrd"),
	}
}

// first returns the first of the keys that has a value, else one that is there.
func first(rules []dissect.KeyValue, keys ...string) (v dissect.Opt[string]) {
	for _, k := range keys {
		if s, ok := keyvalue.Get(rules, k); ok && (s != "" || !v.OK) {
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
