package ase

import (
	"slices"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// The columns of players, as bits.
const (
	hasName = 1 << iota
	hasTeam
	hasSkin
	hasScore
	hasPing
	hasTime
	allColumns = 1<<iota - 1
)

// decodeStatus reads the reply after EYE1.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mStatusReply, &d.status, StatusReply{Rules: d.status.Rules[:0], Players: d.status.Players[:0]})
	m.Pair.Answers = topicStatus
	t := &d.texts
	t.find(r.Peek())
	t.base = r.Offset()

	p.Game = t.read(r, fGame)
	p.Port = t.read(r, fPort)
	p.HostName = t.read(r, fHostName)
	p.GameType = t.read(r, fGameType)
	p.Map = t.read(r, fMap)
	p.Version = t.read(r, fVersion)
	p.Password = t.read(r, fPassword)
	core.HideSetting(r, fHidden, "password", p.Password)
	at := r.Offset()
	p.NumPlayers = t.read(r, fNumPlayers)
	p.MaxPlayers = t.read(r, fMaxPlayers)
	if r.Failed() {
		return
	}
	m.Server = p.server()
	if !p.readRules(r, t) {
		return
	}
	p.readPlayers(r, t)
	if n, listed := m.Server.Players, len(p.Players)+p.skimmed; n.OK && n.Value != listed {
		r.Find(playersCount, fNumPlayers, at, len(p.NumPlayers)+1, dissect.Num(listed), dissect.Num(n.Value))
	}
}

// server returns the server data.
func (p *StatusReply) server() dissect.Server {
	return dissect.Server{
		Name: dissect.Some(p.HostName), Map: dissect.Some(p.Map), Game: dissect.Some(p.Game), Version: dissect.Some(p.Version),
		Players: keyvalue.Int(p.NumPlayers), MaxPlayers: keyvalue.Int(p.MaxPlayers),
		Password: dissect.Some(p.Password != "0" && p.Password != ""),
		Charset:  dissect.Latin1,
	}
}

// readRules reads keys and values up to an empty key. It reports whether players may
// follow.
func (p *StatusReply) readRules(r *dissect.Reader, t *layout) bool {
	more := func() bool { return r.More() && !t.ends(r) }
	p.Rules = wire.Records(r, rules.List, rules.Pair, p.Rules, more, func() dissect.KeyValue {
		one := dissect.KeyValue{Key: t.read(r, rules.Key), Value: t.read(r, rules.Value)}
		core.HideSetting(r, rules.Hidden, one.Key, one.Value)
		return one
	})
	if r.Failed() {
		return false
	}
	if !r.More() {
		r.Note(noEnd)
		return false
	}
	r.Span(fRulesEnd, 0, 1, 0, 0)
	return true
}

// readPlayers reads the players. Each begins with a byte whose bits name the columns
// that follow; a byte without any ends the list (qstat).
func (p *StatusReply) readPlayers(r *dissect.Reader, t *layout) {
	list := r.Begin(fPlayers)
	if t.count == 0 && core.Skim(r, 0) {
		if n, length := wholePlayers(r.Peek()); core.Skim(r, n) && core.Sound(r, r.Left()) {
			p.skimmed = n
			core.Pass(r, n, length)
		}
	}
	cut := false
	for r.More() && !r.Next(0) && !cut {
		if columns := r.PeekByte(0); columns > allColumns {
			r.Find(columnsUnknown, fFlags, r.Offset(), 1, dissect.Num(columns))
			break
		}
		open := r.BeginRecord(fPlayer)
		one := readPlayer(r, t)
		if cut = !r.EndRecord(open); cut {
			core.Recover(r)
			break
		}
		p.Players = append(p.Players, one)
	}
	r.End(list)
	switch {
	case cut:
		r.Find(playersCut, nil, r.Offset(), r.Left())
		r.Rest(catalog.Data())
	case r.Next(0):
		r.Bytes(fEnd, 1)
	case r.More():
		r.Rest(catalog.Data())
	}
}

// wholePlayers returns the number of players that b begins with and the length of their
// list, 0 if one of them is damaged or has a length that could be a part of a letter.
func wholePlayers(b []byte) (n, length int) {
	at := 0
	for at < len(b) && b[at] != 0 {
		columns := b[at]
		if columns > allColumns {
			return 0, 0
		}
		for at++; columns > 0; columns &= columns - 1 {
			if at >= len(b) || b[at] == 0 || b[at] >= utf8.RuneSelf {
				return 0, 0
			}
			at += int(b[at])
		}
		n++
	}
	if at > len(b) {
		return 0, 0
	}
	return n, at
}

func readPlayer(r *dissect.Reader, t *layout) (one Player) {
	columns := r.U8(fFlags)
	if columns&hasName != 0 {
		one.Name = t.read(r, fName)
	} else {
		r.Text(fName, 0)
	}
	if columns&hasTeam != 0 {
		one.Team = t.cell(r, fTeam, fNoTeam)
	}
	if columns&hasSkin != 0 {
		one.Skin = t.cell(r, fSkin, fNoSkin)
	}
	if columns&hasScore != 0 {
		one.Score = keyvalue.Int(t.cell(r, fScore, fNoScore).Value)
	}
	if columns&hasPing != 0 {
		one.Ping = keyvalue.Int(t.cell(r, fPing, fNoPing).Value)
	}
	if columns&hasTime != 0 {
		one.Seconds = keyvalue.Int(t.cell(r, fTime, fNoTime).Value)
	}
	return one
}

// A layout records the texts of a reply whose length exceeds eight bits.
type layout struct {
	base    int // offset of the reply in its source
	wrapped [4]wrap
	count   int
	starts  []int // offsets of the texts that walk has visited
}

// A wrap is such a text: the offset of its length in the reply, and its size in bytes.
type wrap struct{ at, n int }

// at returns the wrapped text whose length is at an offset of the reply, if there is
// one.
func (l *layout) at(offset int) (w wrap, ok bool) {
	for _, w := range l.wrapped[:l.count] {
		if w.at == offset {
			return w, true
		}
	}
	return w, false
}

// read reads one text.
func (l *layout) read(r *dissect.Reader, f *dissect.Field) string {
	if w, ok := l.at(r.Offset() - l.base); ok && r.More() {
		r.Find(lengthWrapped, f, r.Offset(), 1, dissect.Num(r.PeekByte(0)), dissect.Num(w.n))
		return r.Span(f, 0, 1, w.n, 0)
	}
	return text(r, f)
}

// cell reads a text that servers may leave empty.
func (l *layout) cell(r *dissect.Reader, f, none *dissect.Field) (s dissect.Opt[string]) {
	if r.Next(1) {
		if _, ok := l.at(r.Offset() - l.base); !ok {
			r.Span(none, 0, 1, 0, 0)
			return s
		}
	}
	v := l.read(r, f)
	return dissect.Opt[string]{Value: v, OK: !r.Failed()}
}

// ends reports whether the settings end here with an empty text. A text of 256 bytes
// has the same length byte.
func (l *layout) ends(r *dissect.Reader) bool {
	_, wrapped := l.at(r.Offset() - l.base)
	return r.Next(1) && !wrapped
}

const (
	lookBack = 400 // texts before the first error that may be wrapped
	maxTries = 16  // number of them to try
)

// find walks through a reply and finds the texts with a wrapped length.
//
// Nothing marks a wrong length. But after it the position is wrong, and soon there is
// an error: text instead of a number, a player with undefined columns, or a text that
// exceeds the reply or contains the length of another one. Then the wrapped text is the
// latest one before the error with which everything fits if it has 256 bytes more.
func (l *layout) find(b []byte) {
	if l.count = 0; !mayWrap(b) {
		return
	}
	l.starts = l.starts[:0]
	reached, ok := l.walk(b, true)
	for !ok && l.count < len(l.wrapped) {
		var best wrap
		tries := 0
		l.count++
		for i := len(l.starts) - 1; i >= max(0, len(l.starts)-lookBack) && tries < maxTries && !ok; i-- {
			w, possible := wrapAt(b, l.starts[i])
			if !possible {
				continue
			}
			tries++
			l.wrapped[l.count-1] = w
			end, fits := l.walk(b, false)
			if fits || end > reached {
				best, reached, ok = w, end, fits
			}
		}
		if best.n == 0 {
			l.count--
			return
		}
		l.wrapped[l.count-1] = best
		if !ok {
			l.starts = l.starts[:0]
			l.walk(b, true)
		}
	}
}

// minWrapped is the length of the shortest text whose length exceeds eight bits.
const minWrapped = 255

// mayWrap reports whether a reply has as much text in a row as a wrapped length needs;
// see [wrapAt].
func mayWrap(b []byte) bool {
	for end := minWrapped; end <= len(b); {
		at := end
		for at > end-minWrapped && b[at-1] >= ' ' {
			at--
		}
		if at == end-minWrapped {
			return true
		}
		end = at + minWrapped
	}
	return false
}

// wrapAt returns the text of a length byte plus 256. It must be text only: the lengths
// of other texts are mostly control characters.
func wrapAt(b []byte, at int) (w wrap, ok bool) {
	w = wrap{at, (int(b[at])+255)&255 + 256}
	if b[at] == 0 {
		w.n = minWrapped
	}
	if len(b)-at-1 < w.n {
		return w, false
	}
	return w, !slices.ContainsFunc(b[at+1:at+1+w.n], func(c byte) bool { return c < ' ' })
}

// walk visits all texts. It returns the offset that it reached and whether everything
// fits.
func (l *layout) walk(b []byte, record bool) (at int, ok bool) {
	text := func() (s []byte, ok bool) {
		if at >= len(b) {
			return nil, false
		}
		if record {
			l.starts = append(l.starts, at)
		}
		n := int(b[at]) - 1
		if w, ok := l.at(at); ok {
			n = w.n
		}
		if n < 0 || len(b)-at-1 < n {
			return nil, false
		}
		s = b[at+1 : at+1+n]
		for _, c := range s {
			if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
				return nil, false // the length of another text
			}
		}
		at += 1 + n
		return s, true
	}
	for i := range 9 {
		from := at
		s, ok := text()
		isNumber := i == 1 || i >= 6 // port, password, number of players, maximum
		if !ok || isNumber && !digits(s) {
			return from, false
		}
	}
	for {
		key, ok := text()
		if !ok {
			return at, false
		}
		if len(key) == 0 {
			break
		}
		if _, ok := text(); !ok {
			return at, false
		}
	}
	for at < len(b) {
		columns := b[at]
		if columns == 0 || columns > allColumns {
			return at, columns == 0
		}
		at++
		for ; columns > 0; columns &= columns - 1 {
			if _, ok := text(); !ok {
				return at, false
			}
		}
	}
	return at, true
}

func digits(s []byte) bool {
	return !slices.ContainsFunc(s, func(c byte) bool { return c < '0' || c > '9' })
}
