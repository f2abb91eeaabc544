package gamespy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/internal/core"
)

// The sections of a reply in parts (qr2.h, qr2_key_type).
const (
	sectionServer  = 0
	sectionPlayers = 1
	sectionTeams   = 2
)

// SectionNames returns the sections as names of values.
func SectionNames() []dissect.Name {
	return []dissect.Name{{Value: sectionServer, Name: "server"}, {Value: sectionPlayers, Name: "players"}, {Value: sectionTeams, Name: "teams"}}
}

// SectionFields has the fields of a reply in parts.
type SectionFields struct {
	Section *dissect.Field
	Pairs   keyvalue.Fields
	Players TableFields
	Teams   *TableFields // nil if the protocol has none
	// Column and Start begin a column. End is the zero bytes after columns and
	// sections.
	Column, Start, End *dissect.Field
	// Replaced is a value that a later one replaces.
	Replaced *dissect.Field
	// Unread is data that cannot be decoded, before other data that can.
	Unread *dissect.Field
}

// SectionFindings has the findings about such a reply. Those that are nil are not
// reported.
type SectionFindings struct {
	// NoValue: keys without a value. Takes their number.
	NoValue *dissect.FindingType
	// Gap: an empty key within the settings.
	Gap *dissect.FindingType
	// Overlap: values that were truncated at the end of a part and sent again. Takes
	// their number.
	Overlap *dissect.FindingType
	// Contradiction: values that were sent twice and differ. Takes their number.
	Contradiction *dissect.FindingType
	// NoEnd: the last part ends within a list.
	NoEnd *dissect.FindingType
	// Broken: bytes that are not a section. Takes their number.
	Broken *dissect.FindingType
}

// Sections reads replies in parts: sections of settings, of players and of teams, over
// any number of parts. On the wire, lists of players and teams are column by column;
// they are read row by row.
//
// Servers fill a part to its last byte. A value or name that does not fit is truncated
// and ended with a zero byte, and the next part sends it again completely: it repeats
// the name of the column and the row at which it continues. So a later value replaces
// an earlier one.
type Sections struct {
	f       *SectionFields
	finds   *SectionFindings
	players table
	teams   table
	hidden  *dissect.Field // a truncated password
	// NameLen returns the length of the value of hostname at the start of b if the value
	// contains zero bytes, otherwise -1.
	NameLen func(b []byte) int
	// OneEnd reports that the zero byte at the end of the last column also ends its
	// section.
	OneEnd bool

	// Rules, Players and Teams are the content of the reply.
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	// HasPlayers reports whether there is a list of players.
	HasPlayers bool

	rules          int // the list of settings, while it is open
	rulesAt        place
	state          state
	bare, gaps     int
	overlaps       int
	contradictions int
	overlap        span // the first overlap
	contradiction  span
	broken         int
	skims          bool // nobody reads the reply, and its text gets no finding
}

type span struct {
	at place
	n  int
}

// state is the state of the list of settings.
type state uint8

const (
	before state = iota
	inside
	after
)

// NewSections returns a reader for replies of a protocol.
func NewSections(f *SectionFields, finds *SectionFindings) Sections {
	s := Sections{f: f, finds: finds, players: newTable(&f.Players), hidden: f.Replaced.Hidden()}
	if f.Teams != nil {
		s.teams = newTable(f.Teams)
	}
	return s
}

// Begin prepares for a new reply.
func (s *Sections) Begin() {
	s.players.reset()
	s.teams.reset()
	s.Rules, s.Players, s.Teams = s.Rules[:0], s.Players[:0], s.Teams[:0]
	s.HasPlayers, s.state = false, before
	s.bare, s.gaps, s.overlaps, s.contradictions, s.broken = 0, 0, 0, 0, 0
	s.skims = true // until a part shows otherwise
}

// Part reads the sections of one part. next is the following part from its first
// section, or nil if it is missing or there is none. last reports whether this is the
// last part.
func (s *Sections) Part(r *dissect.Reader, next []byte, last bool) {
	first, ended := true, false
	s.skims = s.skims && core.Skim(r, r.Left()) && core.Sound(r, r.Left())
	for r.More() {
		n := follow{}
		if len(next) > 0 && r.Next(next[0]) {
			n = follow{true, next[1:]}
		}
		switch section := r.PeekByte(0); {
		case section == sectionServer && first && s.state != after:
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

// Server reads a section of settings that ends with one zero byte, whatever follows it.
func (s *Sections) Server(r *dissect.Reader) {
	r.U8(s.f.Section)
	s.openRules(r)
	for r.More() && !r.Next(0) {
		key, nul := word(r.Peek())
		if !nul {
			s.fail(r, s.f.Pairs.Key)
			break
		}
		if !s.readPair(r, core.PeekTo(r, key), core.PeekFrom(r, key+1)) {
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

// A follow is the beginning of the next part, after the section with which the current
// part ends.
type follow struct {
	same bool // it continues this section
	b    []byte
}

// word returns the key or the column with which the next part begins.
func (n *follow) word() []byte {
	k, _ := word(n.b)
	return n.b[:k]
}

// breakOff reads the rest of a part as undecoded data.
func (s *Sections) breakOff(r *dissect.Reader) {
	s.broken += r.Left()
	if s.finds.Broken != nil {
		r.Find(s.finds.Broken, s.f.Unread, r.Offset(), r.Left(), dissect.Num(r.Left()))
	}
	r.Rest(s.f.Unread)
}

// fail ends the reading of settings: of this part if other parts follow, otherwise of
// the message.
func (s *Sections) fail(r *dissect.Reader, f *dissect.Field) {
	if core.Current(r)+1 < len(core.Sources(r)) {
		s.breakOff(r)
		return
	}
	s.closeRules(r) // before the failure
	r.Fail(f, "no terminator")
}

// openRules opens the list of settings and closeRules closes it. It may begin in one
// part and end in another. Once closed, it is not opened again.
func (s *Sections) openRules(r *dissect.Reader) {
	if s.state == before {
		s.state = inside
		s.rulesAt = here(r)
		s.rules = r.Begin(s.f.Pairs.List)
	}
}

func (s *Sections) closeRules(r *dissect.Reader) {
	open := s.state == inside
	s.state = after
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

// readRules reads keys and values up to an empty key or the end of the part. It reports
// whether the empty key was present.
func (s *Sections) readRules(r *dissect.Reader, next follow) (ended bool) {
	s.openRules(r)
	for r.More() {
		if s.skims {
			s.Rules = skimPairs(r, s.Rules)
		}
		if r.Next(0) {
			r.Bytes(s.f.End, run(r.Peek()))
			if r.PeekByte(0) <= sectionTeams {
				return true
			}
			s.gaps++
			continue
		}
		n, nul := word(r.Peek())
		key, value := core.PeekTo(r, n), core.PeekFrom(r, n+1)
		if len(value) == 0 {
			// A truncated key at the end of the part, or a key whose value did not
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

// lastValue reports whether a value extends to the end of its part.
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
	core.HideSetting(r, s.hidden, key, value)
}

func (s *Sections) overlapped(at place, n int) {
	if s.overlaps++; s.overlaps == 1 {
		s.overlap = span{at, n}
	}
}

// readPair reads a key and its value. It returns false if the value has no end.
func (s *Sections) readPair(r *dissect.Reader, key, value []byte) bool {
	n := -1
	if s.NameLen != nil && string(key) == "hostname" {
		n = s.NameLen(value)
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
		core.HideSetting(r, s.f.Pairs.Hidden, kv.Key, kv.Value)
	}
	r.End(pair)
	s.Rules = append(s.Rules, kv)
	return true
}

// skimPairs appends the next settings to dst without reading them, up to the first for
// which more must be known than where its key and its value end.
func skimPairs(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	pairs, n := plainPairs(core.PeekText(r), dst)
	core.Pass(r, len(pairs)-len(dst), n)
	return pairs
}

// plainPairs appends the settings at the start of text, and returns their length. It ends
// before hostname, whose value may contain zero bytes, before a key that may have no
// value, see noValue, and before the last value.
func plainPairs(text string, dst []dissect.KeyValue) (pairs []dissect.KeyValue, n int) {
	for left := text; ; left = text[n:] {
		key := strings.IndexByte(left, 0)
		if key <= 0 || left[:key] == "hostname" || (left[0] == 'p' || left[0] == 's') && left[1] <= '9' {
			return dst, n
		}
		rest := left[key+1:]
		value := strings.IndexByte(rest, 0)
		if value < 0 || value+1 == len(rest) || value == 0 && rest[1] <= sectionTeams {
			return dst, n
		}
		dst = append(dst, dissect.KeyValue{Key: left[:key], Value: rest[:value]})
		n += key + 1 + value + 1
	}
}

// noValue reports whether a key has no value: the next key or the end of the section
// follows at once. The SDK writes nothing for a key that the game does not answer;
// Unreal Tournament 3 omits one of its properties.
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

// isProperty reports whether b is a property of Unreal Tournament 3: p or s and a
// number.
func isProperty(b []byte) bool {
	return len(b) >= 2 && (b[0] == 'p' || b[0] == 's') && !slices.ContainsFunc(b[1:], func(c byte) bool { return c < '0' || c > '9' })
}

// isSection reports whether b begins with a section of players or teams.
func isSection(b []byte) bool {
	return len(b) > 0 && (b[0] == sectionPlayers || b[0] == sectionTeams) && (len(b) == 1 || b[1] == 0 || isColumn(b[1:]))
}

// readTable reads columns up to the end of the section or of the part. It reports
// whether the section ended.
func (s *Sections) readTable(r *dissect.Reader, t *table, next follow) (ended bool) {
	t.seen = true
	for r.More() {
		if r.Next(0) {
			// The end of the section. Some games send more than one zero byte,
			// Unreal Tournament 3 after every column.
			r.Bytes(s.f.End, run(r.Peek()))
			if r.PeekByte(0) <= sectionTeams {
				return true
			}
			continue
		}
		if isSection(r.Peek()) {
			return true // the next section, without a zero byte before it
		}
		n, nul := word(r.Peek())
		name := core.PeekTo(r, n)
		if next.same && n+1 >= r.Left() && bytes.HasPrefix(next.word(), name) {
			s.replaced(r) // the truncated name of the next column
			return false
		}
		if !nul || !isKey(name) {
			s.breakOff(r)
			return false
		}
		c := t.find(r.CString(s.f.Column))
		if !r.More() {
			return false // the part ends after the name
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

// readColumn records the values of a column from a row on. It reports whether the
// column ended.
func (s *Sections) readColumn(r *dissect.Reader, t *table, c, row int, next follow) bool {
	rows := len(t.rows) // of the earlier columns
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

// value records a value and skips it.
func (s *Sections) value(r *dissect.Reader, t *table, c, n int, nul bool) {
	at := here(r)
	skip := n
	if nul {
		skip++
	}
	if old := t.add(c, at, n, nul); old != nil {
		was, is := cellText(r, old), core.PeekTo(r, n)
		if bytes.HasPrefix(is, was) {
			s.overlapped(old.at, len(was))
		} else if s.contradictions++; s.contradictions == 1 {
			s.contradiction = span{old.at, len(was)}
		}
	}
	r.Seek(at.off + skip)
}

// emptyValues returns how many empty values b begins with, and whether the column ends
// after them. b begins with a zero byte; row is the current row, and rows the number of
// rows of the earlier columns. One zero byte ends a column, but an empty value looks
// the same. It is a value if the column continues after it, or if there are enough zero
// bytes to fill the column: ArmA 2 sends team_ so.
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

// isValue reports whether b begins with a value and not with the name of the next
// column, which may be truncated at the end of the part.
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
	return !slices.ContainsFunc(keyNames[1:], func(name string) bool {
		return len(name) > n && isColumnName([]byte(name)) && name[:n] == string(b[:n])
	})
}

// isHeader reports whether b begins with the name of a column and a row.
func isHeader(b []byte) bool {
	n := bytes.IndexByte(b[:min(len(b), 64)], 0)
	return n >= 2 && (b[n-1] == '_' || string(b[n-2:n]) == "_t") && (n+1 >= len(b) || b[n+1] < ' ')
}

// End emits the rows of the tables and reports findings. The reader is at the end of
// the last part.
func (s *Sections) End(r *dissect.Reader) {
	s.closeRules(r)
	if r.Failed() {
		return // within the settings, before any table
	}
	s.Players = s.players.emit(r, s.f.Replaced, s.Players, s.skims)
	s.Teams = s.teams.emit(r, s.f.Replaced, s.Teams, s.skims)
	report := func(t *dissect.FindingType, n int, at span) {
		if t != nil && n > 0 {
			back := here(r)
			goTo(r, at.at)
			r.Find(t, nil, at.at.off, at.n, dissect.Num(n))
			goTo(r, back)
		}
	}
	report(s.finds.Overlap, s.overlaps, s.overlap)
	report(s.finds.Contradiction, s.contradictions, s.contradiction)
	if s.bare > 0 && s.finds.NoValue != nil {
		r.Note(s.finds.NoValue, dissect.Num(s.bare))
	}
	if s.gaps > 0 && s.finds.Gap != nil {
		r.Note(s.finds.Gap, dissect.Num(s.gaps))
	}
}
