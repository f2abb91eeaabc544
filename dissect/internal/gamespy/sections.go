package gamespy

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

// The sections of a reply in the format of parts (qr2.h, qr2_key_type).
const (
	sectionServer  = 0
	sectionPlayers = 1
	sectionTeams   = 2
)

// SectionNames are the names of the sections for the declaration of a field.
func SectionNames() []dissect.Name {
	return []dissect.Name{{Value: sectionServer, Name: "server"}, {Value: sectionPlayers, Name: "players"}, {Value: sectionTeams, Name: "teams"}}
}

// SectionFields are the fields of a reply in the format of parts.
type SectionFields struct {
	Section *dissect.Field
	Pairs   keyvalue.Fields
	Players TableFields
	Teams   *TableFields // nil if the protocol has none
	// Column and Start begin a column, End is the zero bytes behind columns
	// and sections.
	Column, Start, End *dissect.Field
	// Replaced is a value that a later one stands in for.
	Replaced *dissect.Field
	// Unread are bytes that cannot be understood, where more follow.
	Unread *dissect.Field
}

// SectionFindings are what can be said of such a reply. Those that are nil are
// not said.
type SectionFindings struct {
	// NoValue: keys without a value. Takes their number.
	NoValue *dissect.FindingType
	// Gap: an empty key where the list goes on.
	Gap *dissect.FindingType
	// Overlap: values that were cut at the end of a part and came again.
	// Takes their number.
	Overlap *dissect.FindingType
	// Contradiction: values that came twice and differ. Takes their number.
	Contradiction *dissect.FindingType
	// NoEnd: the last part ends inside of a list.
	NoEnd *dissect.FindingType
	// Broken: bytes that are no section. Takes their number.
	Broken *dissect.FindingType
}

// Sections reads replies in the format of parts: sections of keys and values,
// of players and of teams, over any number of parts. Lists of players and teams
// stand column by column on the wire; they are read row by row.
//
// A part is filled to its last byte: the value or the name that no longer fits
// is cut, closed with a zero byte, and sent again whole by the next part, which
// repeats the name of the column and says at which row it goes on. So whatever
// comes later replaces what came before.
type Sections struct {
	f       *SectionFields
	finds   *SectionFindings
	players table
	teams   table
	hidden  *dissect.Field // a password that was cut and came again
	// ValueLen returns the length of the value of a key at the start of b
	// where it is not up to the first zero byte; -1 where it is.
	ValueLen func(key, b []byte) int
	// OneEnd says that the zero byte at the end of the last column ends its
	// section as well.
	OneEnd bool

	// Rules, Players and Teams are what was read.
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	// HasPlayers says that there is a list of players.
	HasPlayers bool

	rules          int // the list, while it is open
	rulesAt        place
	state          state
	bare, gaps     int
	overlaps       int
	contradictions int
	overlap        span // the first of each
	contradiction  span
	broken         int
}

type span struct {
	at place
	n  int
}

// state is how far the list of settings is.
type state uint8

const (
	before state = iota
	inside
	behind
)

// NewSections returns a reader for replies of a protocol.
func NewSections(f *SectionFields, finds *SectionFindings) Sections {
	s := Sections{f: f, finds: finds, players: newTable(&f.Players), hidden: f.Replaced.Hidden()}
	if f.Teams != nil {
		s.teams = newTable(f.Teams)
	}
	return s
}

// Begin begins a reply.
func (s *Sections) Begin() {
	s.players.reset()
	s.teams.reset()
	s.Rules, s.Players, s.Teams = s.Rules[:0], s.Players[:0], s.Teams[:0]
	s.HasPlayers, s.state = false, before
	s.bare, s.gaps, s.overlaps, s.contradictions, s.broken = 0, 0, 0, 0, 0
}

// Part reads the sections of one part, up to its end. next is the part that
// follows, from its first section; nil if none does or it is missing. last says
// that this is the last part.
func (s *Sections) Part(r *dissect.Reader, next []byte, last bool) {
	first, ended := true, false
	for r.More() {
		n := follow{}
		if len(next) > 0 && r.Next(next[0]) {
			n = follow{true, next[1:]}
		}
		switch section := r.PeekByte(0); {
		case section == sectionServer && first && s.state != behind:
			r.U8(s.f.Section)
			ended = s.readRules(r, n)
			if ended || !n.same {
				s.closeRules(r)
			}
		case section == sectionPlayers:
			s.closeRules(r)
			r.U8(s.f.Section)
			s.HasPlayers = true
			ended = s.readTable(r, &s.players, n)
		case section == sectionTeams && s.f.Teams != nil:
			s.closeRules(r)
			r.U8(s.f.Section)
			ended = s.readTable(r, &s.teams, n)
		default:
			s.breakOff(r)
		}
		first = false
	}
	if last && !ended && !r.Failed() && s.broken == 0 && s.finds.NoEnd != nil {
		r.Find(s.finds.NoEnd, nil, r.Offset(), 0)
	}
}

// Server reads a section of settings that ends with one zero byte, whatever
// stands behind it.
func (s *Sections) Server(r *dissect.Reader) {
	r.U8(s.f.Section)
	s.openRules(r)
	for r.More() && !r.Next(0) {
		key, nul := word(r.Peek())
		if !nul {
			s.fail(r, s.f.Pairs.Key)
			break
		}
		if !s.readPair(r, r.PeekTo(key), r.PeekFrom(key+1)) {
			break
		}
	}
	s.closeRules(r)
	switch {
	case r.More():
		r.Bytes(s.f.End, 1)
	case !r.Failed() && s.finds.NoEnd != nil:
		r.Find(s.finds.NoEnd, nil, r.Offset(), 0)
	}
}

// follow is what the next part says on the section that a part ends in.
type follow struct {
	same bool // it goes on with it
	b    []byte
}

// word returns the key or the column with which it does.
func (n *follow) word() []byte {
	k, _ := word(n.b)
	return n.b[:k]
}

// breakOff takes the rest of a part that cannot be understood.
func (s *Sections) breakOff(r *dissect.Reader) {
	s.broken += r.Left()
	if s.finds.Broken != nil {
		r.Find(s.finds.Broken, s.f.Unread, r.Offset(), r.Left(), dissect.Num(r.Left()))
	}
	r.Rest(s.f.Unread)
}

// fail ends the reading inside of the settings; if other parts follow, only
// that of this part.
func (s *Sections) fail(r *dissect.Reader, f *dissect.Field) {
	if r.Source()+1 < len(r.Sources()) {
		s.breakOff(r)
		return
	}
	s.closeRules(r) // while it can be done
	r.Fail(f, "no terminator")
}

// openRules opens the list of settings; closeRules closes it. It may begin in
// one part and end in another. Once it is closed there are no more settings.
func (s *Sections) openRules(r *dissect.Reader) {
	if s.state == before {
		s.state = inside
		s.rulesAt = here(r)
		s.rules = r.Begin(s.f.Pairs.List)
	}
}

func (s *Sections) closeRules(r *dissect.Reader) {
	open := s.state == inside
	s.state = behind
	if !open {
		return
	}
	back := here(r)
	if back.source != s.rulesAt.source {
		goTo(r, place{s.rulesAt.source, 1 << 30})
	}
	r.End(s.rules)
	goTo(r, back)
}

// readRules reads keys and values up to an empty key or the end of the part. It
// reports whether the end was there.
func (s *Sections) readRules(r *dissect.Reader, next follow) (ended bool) {
	s.openRules(r)
	for r.More() {
		if r.Next(0) {
			r.Bytes(s.f.End, run(r.Peek()))
			if r.PeekByte(0) <= sectionTeams {
				return true
			}
			s.gaps++
			continue
		}
		n, nul := word(r.Peek())
		key, value := r.PeekTo(n), r.PeekFrom(n+1)
		if len(value) == 0 {
			// A key at the end of the part: cut, or its value did not
			// fit.
			if next.same && bytes.HasPrefix(next.word(), key) {
				s.replaced(r)
				return false
			}
		}
		if !nul {
			s.fail(r, s.f.Pairs.Key)
			return false
		}
		if next.same && s.lastValue(value) && bytes.Equal(next.word(), key) {
			s.replaced(r)
			return false
		}
		if !s.readPair(r, key, value) {
			return false
		}
	}
	return false
}

// lastValue reports whether a value is all that is left of its part.
func (s *Sections) lastValue(b []byte) bool {
	n, nul := word(b)
	return !nul || n+1 == len(b)
}

// replaced reads the end of a part that the next part sends again.
func (s *Sections) replaced(r *dissect.Reader) {
	n, suf := r.Left(), 0
	s.overlapped(here(r), n)
	if r.PeekByte(n-1) == 0 {
		suf = 1
	}
	key, value, _ := strings.Cut(r.Span(s.f.Replaced, 0, 0, n-suf, suf), "\x00")
	r.HideSetting(s.hidden, key, value)
}

func (s *Sections) overlapped(at place, n int) {
	if s.overlaps++; s.overlaps == 1 {
		s.overlap = span{at, n}
	}
}

// readPair reads a key and its value. It reports whether the value has an end.
func (s *Sections) readPair(r *dissect.Reader, key, value []byte) bool {
	n := -1
	if s.ValueLen != nil {
		n = s.ValueLen(key, value)
	}
	none := n < 0 && noValue(key, value)
	if n < 0 && !none {
		var nul bool
		if n, nul = word(value); !nul {
			s.fail(r, s.f.Pairs.Value)
			return false
		}
	}
	pair := r.Begin(s.f.Pairs.Pair)
	kv := dissect.KeyValue{Key: r.CString(s.f.Pairs.Key)}
	if none {
		s.bare++
	} else {
		kv.Value = r.Span(s.f.Pairs.Value, 0, 0, n, 1)
		r.HideSetting(s.f.Pairs.Hidden, kv.Key, kv.Value)
	}
	r.End(pair)
	s.Rules = append(s.Rules, kv)
	return true
}

// noValue reports whether a key has no value: the next key follows at once, or
// the end of the section. The SDK writes nothing for a key that the game does
// not answer; Unreal Tournament 3 leaves one of its properties out.
func noValue(key, value []byte) bool {
	switch {
	case len(value) == 0:
		return true
	case value[0] == 0:
		return len(value) > 1 && isSection(value[1:])
	case !isProperty(key):
		return false
	}
	n, nul := word(value)
	return nul && isProperty(value[:n])
}

// isProperty reports whether b is a property of Unreal Tournament 3: p or s and
// a number.
func isProperty(b []byte) bool {
	if len(b) < 2 || b[0] != 'p' && b[0] != 's' {
		return false
	}
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isSection reports whether b begins with a section of players or teams.
func isSection(b []byte) bool {
	return len(b) > 0 && (b[0] == sectionPlayers || b[0] == sectionTeams) && (len(b) == 1 || b[1] == 0 || isColumn(b[1:]))
}

// readTable reads columns up to the end of the section or of the part. It
// reports whether the end of the section was there.
func (s *Sections) readTable(r *dissect.Reader, t *table, next follow) (ended bool) {
	t.seen = true
	for r.More() {
		if r.Next(0) {
			// The end of the section. Some games write more zero bytes
			// than one, Unreal Tournament 3 behind every column.
			r.Bytes(s.f.End, run(r.Peek()))
			if r.PeekByte(0) <= sectionTeams {
				return true
			}
			continue
		}
		if isSection(r.Peek()) {
			return true // without a zero byte before it
		}
		n, nul := word(r.Peek())
		name := r.PeekTo(n)
		if next.same && n+1 >= r.Left() && bytes.HasPrefix(next.word(), name) {
			s.replaced(r) // the name of the next column, cut
			return false
		}
		if !nul || !isKey(name) {
			s.breakOff(r)
			return false
		}
		c := t.find(r.CString(s.f.Column))
		if !r.More() {
			return false // the part ends behind the name
		}
		row := int(r.U8(s.f.Start))
		if c < 0 || !t.open(c, row) {
			s.breakOff(r)
			return false
		}
		if !s.readColumn(r, t, c, row, next) {
			return false
		}
		if s.OneEnd && !r.More() {
			return true
		}
	}
	return false
}

// readColumn notes the values of a column from a row on. It reports whether the
// end of the column was there.
func (s *Sections) readColumn(r *dissect.Reader, t *table, c, row int, next follow) bool {
	rows := len(t.rows) // of the columns before
	for r.More() {
		n, nul := word(r.Peek())
		if n > 0 {
			s.value(r, t, c, n, nul)
			row++
			continue
		}
		empty, end := emptyValues(r.Peek(), row, rows, next)
		for range empty {
			s.value(r, t, c, 0, true)
			row++
		}
		if end {
			r.Bytes(s.f.End, 1)
			return true
		}
	}
	return false
}

// value notes a value and steps over it.
func (s *Sections) value(r *dissect.Reader, t *table, c, n int, nul bool) {
	at := here(r)
	skip := n
	if nul {
		skip++
	}
	if old := t.add(c, at, n, nul); old != nil {
		was, is := cellText(r, old), r.PeekTo(n)
		if bytes.HasPrefix(is, was) {
			s.overlapped(old.at, len(was))
		} else if s.contradictions++; s.contradictions == 1 {
			s.contradiction = span{old.at, len(was)}
		}
	}
	r.Seek(at.off + skip)
}

// emptyValues tells what zero bytes in a column mean: b begins with at least
// one, row is how far the column is, rows how many rows the columns before it
// have. One zero byte ends a column, and so an empty value looks the same. It
// is a value if the column goes on behind it, or if there are enough of them to
// fill the column: ArmA 2 sends team_ so.
func emptyValues(b []byte, row, rows int, next follow) (empty int, end bool) {
	n := run(b)
	rest := b[n:]
	switch {
	case (row+n <= rows || rows == 0) && isValue(rest, next):
		return n, false
	case row >= rows:
		return 0, true
	case n > rows-row:
		return rows - row, true
	case len(rest) == 0 && next.same:
		return n, false
	}
	return 0, true
}

// isValue reports whether b begins with a value rather than with the name of
// the next column, which may be cut at the end of the part.
func isValue(b []byte, next follow) bool {
	n, nul := word(b)
	switch {
	case n == 0 || b[0] < ' ' && b[0] != 0x1b || isHeader(b):
		return false
	case nul && n+1 < len(b):
		return true
	case next.same:
		return !bytes.HasPrefix(next.word(), b[:n])
	}
	for _, name := range keyNames[1:] {
		if len(name) > n && isColumnName([]byte(name)) && name[:n] == string(b[:n]) {
			return false
		}
	}
	return true
}

// isHeader reports whether b begins with the name of a column and a row.
func isHeader(b []byte) bool {
	n := bytes.IndexByte(b[:min(len(b), 64)], 0)
	if n < 2 || b[n-1] != '_' && string(b[n-2:n]) != "_t" {
		return false
	}
	return n+1 >= len(b) || b[n+1] < ' '
}

// End reads the rows of the tables and says what was met. The reader stands at
// the end of the last part.
func (s *Sections) End(r *dissect.Reader) {
	s.closeRules(r)
	if r.Failed() {
		return // in the settings, before any table
	}
	s.Players = s.players.emit(r, s.f.Replaced, s.Players)
	s.Teams = s.teams.emit(r, s.f.Replaced, s.Teams)
	say := func(t *dissect.FindingType, n int, at span) {
		if t != nil && n > 0 {
			back := here(r)
			goTo(r, at.at)
			r.Find(t, nil, at.at.off, at.n, dissect.Num(n))
			goTo(r, back)
		}
	}
	say(s.finds.Overlap, s.overlaps, s.overlap)
	say(s.finds.Contradiction, s.contradictions, s.contradiction)
	if s.bare > 0 && s.finds.NoValue != nil {
		r.Note(s.finds.NoValue, dissect.Num(s.bare))
	}
	if s.gaps > 0 && s.finds.Gap != nil {
		r.Note(s.finds.Gap, dissect.Num(s.gaps))
	}
}
