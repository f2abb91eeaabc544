package gamespy1

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
)

// A skimmed reply is one that nobody reads. Its type, its findings and its summary need
// all rules, but of a player only the name and the keyhash.
type skimmed struct {
	first [special + 1]int // offset of the first pair of each table, or of the latest special one; -1 if there is none
	odd   span             // the last key of a segment, if it has no value
	bad   badText
	sound bool // all text is UTF-8

	part, keyAt, valueAt int // of the current pair
}

// A badText is the first text that is not UTF-8, in the order of the tables.
type badText struct {
	field *dissect.Field // nil if there is none
	at    span
	table int // offset of the first pair of its table
	row   uint16
}

// skim fills a reply that nobody reads and reports findings about its text. It reports
// false, and has done nothing, unless
//   - all datagrams are there, and no value goes on after a backslash,
//   - no key is there twice, which may begin the teams, nor sizes of teams,
//   - a key that may belong to a player comes after one that certainly does.
//
// Other replies are read in two passes, as if somebody read them; see readPairs.
func (d *decoder) skim(r *dissect.Reader, p *Reply) bool {
	if !r.Skim(r.Left()) {
		return false
	}
	d.skimmed = skimmed{first: [special + 1]int{-1, -1, -1, -1}, sound: r.Sound(r.Left())}
	d.players.reset()
	d.teams.reset()
	raw, b := r.Peek(), r.PeekText()
	for i := 0; i < len(d.segments); {
		run, next := d.run(i)
		if run.gap || run.open || run.to > len(b) || !d.skimRun(raw, b, run, d.segments[i:next]) {
			*p = Reply{Rules: p.Rules[:0], Players: p.Players[:0], Teams: p.Teams[:0], Final: p.Final}
			d.values = d.values[:0]
			return false
		}
		i = next
	}
	if s := d.skimmed.odd; s.n > 0 {
		r.Find(oddKey, pairs.Key, s.at, s.n)
	}
	return true
}

// skimRun skims the pairs of adjacent segments.
func (d *decoder) skimRun(raw []byte, b string, run segment, parts []segment) bool {
	s := &d.skimmed
	raw, b = raw[:run.to], b[:run.to]
	at := run.from
	if raw[at] == '\\' {
		at++
	}
	end := wordEnd(raw, at)
	key := b[at:end]
	for c := classify(key); ; {
		for len(parts) > 1 && at-1 >= parts[0].to {
			parts = parts[1:]
		}
		s.part, s.keyAt, s.valueAt = parts[0].part, at, end+1
		if end == len(raw) {
			return d.skimOdd(key)
		}
		end = wordEnd(raw, s.valueAt)
		if !d.skimPair(key, b[s.valueAt:end], c) {
			return false
		}
		if at = end + 1; at >= len(raw) { // a backslash may close the last value
			return true
		}
		afterName := c.id == colName
		end = wordEnd(raw, at)
		key = b[at:end]
		if c = classify(key); c.known {
			continue
		}
		// The value may go on; see goesOn.
		if c.id == noColumn && (afterName || !canBeKey(key)) || end < len(raw) && classify(b[end+1:wordEnd(raw, end+1)]).known {
			return false
		}
	}
}

// wordEnd returns the offset of the next backslash, or the length of b. Words are short:
// they are read eight bytes at a time.
func wordEnd(b []byte, at int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; at <= len(b)-8; at += 8 {
		x := binary.LittleEndian.Uint64(b[at:]) ^ '\\'*ones
		if found := (x - ones) &^ x & tops; found != 0 { // the lowest bit is that of the first
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(b) && b[at] != '\\' {
		at++
	}
	return at
}

// skimOdd adds a key without a value.
func (d *decoder) skimOdd(key string) bool {
	s, p := &d.skimmed, &d.reply
	if s.odd.n > 0 || key == "" {
		return false
	}
	s.odd = span{s.keyAt, len(key)}
	s.note(ofRules, 0, pairs.Key, key, s.keyAt)
	p.Rules = append(p.Rules, dissect.KeyValue{Key: key})
	return true
}

// skimPair adds a pair to the reply.
func (d *decoder) skimPair(key, value string, c column) bool {
	s, p := &d.skimmed, &d.reply
	if c.id == noColumn {
		switch {
		case key == "":
			return false
		case key == "echo" && !p.Echo.OK:
			p.Echo = dissect.Some(value)
			s.note(special, 0, fEcho, value, s.valueAt)
			return true
		case key == "validate" && !p.Validate.OK:
			p.Validate = dissect.Some(value)
			s.note(special, 0, fValidate, value, s.valueAt)
			return true
		}
		if !s.sound {
			s.note(ofRules, 0, pairs.Key, key, s.keyAt)
			s.note(ofRules, 0, pairs.Value, value, s.valueAt)
		}
		p.Rules = append(p.Rules, dissect.KeyValue{Key: key, Value: value})
		return true
	}
	t, kind := &d.players, ofPlayers
	if c.team {
		t, kind = &d.teams, ofTeams
	}
	f := t.declared[c.id]
	if f == nil {
		name := c.name(key)
		if f = t.texts.Field(name); f == nil || name == "index" || c.id == colSize {
			return false
		}
	}
	if !t.has(c.index) {
		if !c.known {
			return false
		}
		if c.team {
			p.Teams = append(p.Teams, Team{Index: int(c.index)})
		} else {
			p.Players = append(p.Players, Player{Index: int(c.index)})
		}
	}
	row := t.row(c.index)
	if row.has>>c.id&1 > 0 {
		return false
	}
	row.add(c.id, s.part)
	if !s.sound {
		s.note(kind, t.at[c.index], f, value, s.valueAt)
	}
	if c.team {
		return true
	}
	switch one := &p.Players[t.at[c.index]-1]; c.id {
	case colName:
		one.Name = value
	case colKeyHash:
		d.values = append(d.values, dissect.KeyValue{Key: columnNames[colKeyHash], Value: value})
		one.Columns = d.values[len(d.values)-1:]
	}
	return true
}

// note notes the kind of a pair, and its text if that is not UTF-8.
func (s *skimmed) note(kind belonging, row uint16, f *dissect.Field, text string, at int) {
	if s.first[kind] < 0 || kind == special {
		s.first[kind] = s.keyAt
	}
	before, old := s.first[kind], &s.bad
	first := old.field == nil || before < old.table || before == old.table && row < old.row
	if first && f.Kind == dissect.String && !utf8.ValidString(text) {
		*old = badText{f, span{at, len(text)}, before, row}
	}
}

// readSkimmed reads what is left of a reply after skim: the markers. It reports findings
// in the order of the tables.
func (d *decoder) readSkimmed(r *dissect.Reader, p *Reply, at markers) {
	s := &d.skimmed
	report := func() {
		if s.bad.field != nil {
			r.TextAt(s.bad.field, s.bad.at.at, s.bad.at.n)
			s.bad.field = nil
		}
	}
	raw := r.Peek()
	for _, marker := range at.inOrder() {
		if marker.at > s.bad.table {
			report()
		}
		p.readMarker(r, raw, marker, at)
	}
	report()
}
