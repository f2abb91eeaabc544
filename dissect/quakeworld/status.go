package quakeworld

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// qtv begins the line of a stream: qtv 1 "name" "1@192.0.2.1:28000" 3
const qtv = "qtv "

// decodeStatus reads a status, or the next part of one, which has no settings.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	*s = StatusReply{Rules: s.Rules[:0], Players: s.Players[:0], Streams: s.Streams[:0]}
	m.Type, m.Body, m.Pair.Answers = mStatusReply, s, topicStatus
	if r.Next('\\') {
		at, n := r.Offset(), quake.LineLen(r)
		var odd bool
		if s.Rules, odd = keyvalue.Read(r, rules, n, s.Rules); odd {
			r.Find(oddKey, rules.List, at, n, dissect.Str(s.Rules[len(s.Rules)-1].Key))
		}
		m.Server = dissect.Server{
			Charset: core.QuakeChars,
			Name:    keyvalue.Text(s.Rules, "hostname"), Map: keyvalue.Text(s.Rules, "map"),
			Game: keyvalue.Text(s.Rules, "*gamedir"), Version: keyvalue.Text(s.Rules, "*version"),
			MaxPlayers: keyvalue.Number(s.Rules, "maxclients"), Password: keyvalue.Flag(s.Rules, "needpass"),
		}
		words.LineEnd(r)
	}
	d.readPlayers(r, m)
	d.readStreams(r)
	words.Ending(r)
	s.server = m.Server
}

// maxWhole is the size from which on a status may continue in another datagram:
// mvdsv sends one before it would have more than 1,340 bytes.
const maxWhole = 1200

var lines = quake.Lines{Words: &words, List: fPlayers, Player: fPlayer, Line: fLine, Cut: cutPlayer, NotPlayer: notPlayer}

// readPlayers reads the lines of players, and counts those who play.
func (d *decoder) readPlayers(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	more := func() bool { return r.More() && !r.Next(0) && !r.HasPrefix(qtv) }
	if !more() {
		return
	}
	playing := 0
	s.Players = quake.ReadLines(r, &lines, s.Players, more, isPlayer, func() Player {
		p := readPlayer(r)
		if !p.Spectator {
			playing++
		}
		return p
	})
	if !r.Failed() && !r.Cut() && len(s.Rules) > 0 && r.Offset() < maxWhole {
		m.Server.Players = dissect.Some(playing)
	}
}

// isPlayer reports whether b begins with the line of a player: four words, of
// which the first is a number and the second one or the letter S, and the name.
func isPlayer(b []byte) bool {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	for i := range 4 {
		if !quake.Numbered(b) && (i != 1 || !bytes.HasPrefix(b, []byte("S "))) {
			return false
		}
		n := bytes.IndexByte(b, ' ')
		if n < 0 {
			return false
		}
		b = b[n+1:]
	}
	return len(b) > 1 && b[0] == '"' && bytes.IndexByte(b[1:], '"') >= 0
}

// mark stands before the name of a spectator.
const mark = `\s\`

// readPlayer reads a line for which isPlayer holds:
// id frags minutes ping "name" "skin" top bottom ["team" ["login" ["client"]]].
func readPlayer(r *dissect.Reader) (p Player) {
	p.ID = keyvalue.Int(words.Argument(r, fID)).Value
	frags := words.Argument(r, fFrags)
	p.Score = keyvalue.Int(frags)
	p.Minutes = keyvalue.Int(words.Argument(r, fMinutes)).Value
	p.Ping = keyvalue.Int(words.Argument(r, fPing)).Value
	if p.Ping < 0 {
		p.Ping = -p.Ping
	}
	p.Spectator = frags == "S"
	if r.HasPrefix(`"` + mark) {
		p.Spectator = true
		r.Span(fSpectator, 1, 1, len(mark), 0)
		p.Name = r.Delimited(fName, 0, "\"\n", 2)
	} else {
		p.Name = words.Argument(r, fName)
	}
	p.Skin = words.Argument(r, fSkin)
	p.Top = keyvalue.Int(words.Argument(r, fTop)).Value
	p.Bottom = keyvalue.Int(words.Argument(r, fBottom)).Value
	p.Team = words.Argument(r, fTeam)
	p.Login = words.Argument(r, fLogin)
	p.Client = words.Argument(r, fClient)
	return p
}

// readStreams reads the lines of QTV streams.
func (d *decoder) readStreams(r *dissect.Reader) {
	s := &d.status
	if !r.HasPrefix(qtv) {
		return
	}
	s.Streams = wire.Records(r, fStreams, fStream, s.Streams, func() bool { return r.HasPrefix(qtv) }, func() Stream {
		words.Argument(r, fStreamTag)
		q := Stream{
			ID: words.Argument(r, fStreamID), Name: words.Argument(r, fStreamOf), Address: words.Argument(r, fStreamURL),
			Viewers: keyvalue.Int(words.Argument(r, fViewers)).Value,
		}
		words.Line(r, fLine)
		words.LineEnd(r)
		return q
	})
}
