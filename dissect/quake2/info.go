package quake2

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeInfo reads a request or a reply: both have the same word.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	if quake.Numbered(r.Peek()) {
		m.Type = mInfoRequest
		m.Pair = dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		d.query.Arguments = words.Argument(r, fVersion)
		words.Line(r, fAsked)
		words.Ending(r)
		return
	}
	i := &d.info
	*i = InfoReply{Facts: i.Facts[:0]}
	m.Body = i
	if r.HasPrefix(`\\`) {
		d.readFacts(r)
	} else {
		d.readLine(r)
	}
	words.Ending(r)
	if r.Failed() || i.Refused {
		return
	}
	m.Server = dissect.Server{
		Charset: core.QuakeChars,
		Name:    dissect.Some(i.Name), Map: dissect.Some(i.Map), Players: dissect.Some(i.Players), MaxPlayers: dissect.Some(i.MaxPlayers),
	}
	if len(i.Facts) > 0 {
		m.Server.Charset, m.Server.Style = dissect.Guessed, dissect.Quake3
		m.Server.Game = keyvalue.Text(i.Facts, "mo", "g")
		m.Server.Password = keyvalue.Flag(i.Facts, "p")
		m.Server.Players, m.Server.MaxPlayers = i.stated()
	}
	i.server = m.Server
}

// infoLine is where the columns of a short info stand: "%16s %8s %2d/%2d". The
// name may hold blanks, the map does not.
type infoLine struct{ name, nameEnd, players, slash int }

// scan finds the columns, from the end of the line on. It reports false if the line
// has none.
func scan(b []byte) (l infoLine, ok bool) {
	for l.name < len(b) && b[l.name] == ' ' {
		l.name++
	}
	if l.slash = bytes.LastIndexByte(b, '/'); l.slash < 0 || !quake.Numbered(bytes.TrimLeft(b[l.slash+1:], " ")) {
		return l, false
	}
	for l.players = l.slash; l.players > l.name && quake.Digit(b[l.players-1]); {
		l.players--
	}
	head := bytes.TrimRight(b[:l.players], " ")
	l.nameEnd = len(bytes.TrimRight(b[:bytes.LastIndexByte(head, ' ')+1], " "))
	return l, l.players < l.slash && len(head) < l.players && l.name < l.nameEnd
}

// refused ends the line of a server that speaks another version.
const refused = ": wrong version"

// readLine reads the line of fixed width.
func (d *decoder) readLine(r *dissect.Reader) {
	i := &d.info
	n := quake.LineLen(r)
	l, ok := scan(core.PeekTo(r, n))
	if !ok {
		if !bytes.HasSuffix(core.PeekTo(r, n), []byte(refused)) {
			r.Fail(fRefusal, "neither facts nor a refusal")
			return
		}
		i.Name, i.Refused = r.Text(fHost, n-len(refused)), true
		at := r.Offset()
		r.Span(fRefusal, 0, len(": "), len(refused)-len(": "), 0)
		r.Find(wrongVersion, fRefusal, at, len(refused))
		return
	}
	i.Name = r.Span(fHost, 0, l.name, l.nameEnd-l.name, 0)
	pre := core.While(r, 0, quake.Blank)
	i.Map = r.Span(fMap, 0, pre, core.While(r, pre, func(c byte) bool { return c != ' ' })-pre, 0)
	pre = core.While(r, 0, quake.Blank)
	i.Players = keyvalue.Int(r.Span(fCount, 0, pre, l.slash-l.players, 1)).Value
	pre = core.While(r, 0, quake.Blank)
	i.MaxPlayers = keyvalue.Int(r.Span(fMax, 0, pre, core.While(r, pre, quake.Digit)-pre, 0)).Value
}

// readFacts reads what Warsow's servers state: \\n\\NAME\\m\\MAP\\u\\ 3/16...EOT.
func (d *decoder) readFacts(r *dissect.Reader) {
	i := &d.info
	more := func() bool { return r.HasPrefix(`\\`) && !r.HasPrefix(`\\EOT`) }
	i.Facts = wire.Records(r, fFacts, fFact, i.Facts, more, func() dissect.KeyValue {
		kv := dissect.KeyValue{Key: r.Delimited(fFactKey, 2, "\\\n\x00", 0)}
		if r.HasPrefix(`\\`) {
			f := fFactText
			if kv.Key == "n" {
				f = fFactName
			}
			kv.Value = r.Delimited(f, 2, "\\\n\x00", 0)
		}
		return kv
	})
	if r.HasPrefix(`\\EOT`) {
		r.Bytes(fFactsEnd, len(`\\EOT`))
	}
	i.Name, i.Map = keyvalue.Text(i.Facts, "n").Value, keyvalue.Text(i.Facts, "m").Value
	players, places := i.stated()
	i.Players, i.MaxPlayers = players.Value, places.Value
}

// stated returns the players and the places that the facts state.
func (m *InfoReply) stated() (players, places dissect.Opt[int]) {
	used, all, _ := strings.Cut(keyvalue.Text(m.Facts, "u").Value, "/")
	return keyvalue.Int(strings.TrimSpace(used)), keyvalue.Int(strings.TrimSpace(all))
}

// maxBefore is the most that may be printed before a status.
const maxBefore = 256

// beforeSettings returns how many bytes stand before the settings of a status, -1
// if b has none: a line that begins with a backslash and has another one.
func beforeSettings(b []byte) int {
	n := 0
	if len(b) > 0 && b[0] != '\\' {
		if n = bytes.Index(b[:min(len(b), maxBefore)], []byte("\n\\")) + 1; n == 0 {
			return -1
		}
	}
	line, _, _ := bytes.Cut(b[n:], []byte("\n"))
	if bytes.Count(line, []byte(`\`)) < 2 {
		return -1
	}
	return n
}

// decodeStatus reads a status after n bytes of something else.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message, n int) {
	s := &d.status
	m.Type, m.Body, m.Pair.Answers = mStatusReply, s, topicStatus
	if n > 0 {
		r.Find(before, fBefore, r.Offset(), n)
		r.Text(fBefore, n)
	}
	s.Rules, s.Players, m.Server = status.Read(r, s.Rules[:0], s.Players[:0])
	s.server = m.Server
}
