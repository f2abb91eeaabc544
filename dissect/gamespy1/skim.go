package gamespy1

import (
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A skimmed reply is one that nobody reads. Its type, its findings and its summary need
// all rules, but of a player only the name and the keyhash.
type skimmed struct {
	first [special + 1]int // offset of the first key of each table, or of the latest special one; -1 if there is none
	bad   badText
	part  int // of the current pair
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
//   - all datagrams are there, each key has a value, and no value goes on after a
//     backslash,
//   - no key is there twice, which may begin the teams, nor sizes of teams,
//   - a key that may belong to a player comes after one that certainly does.
//
// Other replies are read in two passes, as if somebody read them; see readPairs.
func (d *decoder) skim(r *dissect.Reader, p *Reply) bool {
	if !core.Skim(r, r.Left()) {
		return false
	}
	d.skimmed = skimmed{first: [special + 1]int{-1, -1, -1, -1}}
	d.players.reset()
	d.teams.reset()
	raw, b := r.Peek(), core.PeekText(r)
	for i := 0; i < len(d.segments); {
		run, next := d.run(i)
		if run.gap || run.open || run.to > len(b) || !d.skimRun(raw, b, run, d.segments[i:next]) {
			*p = Reply{Rules: p.Rules[:0], Players: p.Players[:0], Teams: p.Teams[:0], Final: p.Final}
			d.values = d.values[:0]
			return false
		}
		i = next
	}
	return true
}

// skimRun skims the pairs of adjacent segments.
func (d *decoder) skimRun(raw []byte, b string, run segment, parts []segment) bool {
	d.tokenise(raw, run)
	tokens := d.tokens
	if n := len(tokens); n%2 == 1 {
		if n == 1 || tokens[n-1].from < tokens[n-1].to {
			return false
		}
		tokens = tokens[:n-1] // a backslash closes the last value
	}
	s, afterName := &d.skimmed, false
	s.part = parts[0].part
	for ; len(tokens) > 1; tokens = tokens[2:] {
		k, v := &tokens[0], &tokens[1]
		key := k.of(b)
		c := classify(key)
		// The value before the key may go on; see goesOn.
		if !c.known && (c.id == noColumn && (afterName || !canBeKey(key)) || classify(v.of(b)).known) {
			return false
		}
		for len(parts) > 1 && k.from-1 >= parts[0].to {
			parts = parts[1:]
			s.part = parts[0].part
		}
		if c.id == noColumn {
			d.skimRule(b, k, v)
		} else if !d.skimCell(b, k, v, c) {
			return false
		}
		afterName = c.id == colName
	}
	return true
}

// skimRule adds a pair of b that is not in a table to the reply.
func (d *decoder) skimRule(b string, k, v *token) {
	s, p := &d.skimmed, &d.reply
	key, value := k.of(b), v.of(b)
	var f *dissect.Field
	switch {
	case key == "echo" && !p.Echo.OK:
		p.Echo, f = dissect.Some(value), fEcho
	case key == "validate" && !p.Validate.OK:
		p.Validate, f = dissect.Some(value), fValidate
	default:
		s.begin(ofRules, k)
		if k.high || v.high {
			s.judge(ofRules, 0, pairs.Key, key, k.from)
			s.judge(ofRules, 0, pairs.Value, value, v.from)
		}
		p.Rules = append(p.Rules, dissect.KeyValue{Key: key, Value: value})
		return
	}
	s.first[special] = k.from
	s.judge(special, 0, f, value, v.from)
}

// skimCell adds a pair of b to its player or team; c says which.
func (d *decoder) skimCell(b string, k, v *token, c column) bool {
	t := &d.players
	if c.team {
		t = &d.teams
	}
	f := t.declared[c.id]
	if f == nil {
		if f = t.other(c, k.of(b)); f == nil || c.id == colSize {
			return false
		}
	}
	if !t.has(c.index) && !d.skimRow(t, k, c) {
		return false
	}
	n := t.at[c.index] - 1
	row := &t.rows[n]
	if row.holds(c.id) {
		return false
	}
	row.add(c.id, d.skimmed.part)
	if v.high {
		d.skimmed.judge(c.kind(), n, f, v.of(b), v.from)
	}
	if c.team {
		return true
	}
	switch c.id {
	case colName:
		d.reply.Players[n].Name = v.of(b)
	case colKeyHash:
		d.values = append(d.values, dissect.KeyValue{Key: columnNames[colKeyHash], Value: v.of(b)})
		d.reply.Players[n].Columns = d.values[len(d.values)-1:]
	}
	return true
}

// skimRow adds the row of a cell, unless that may be a setting whose key ends with a number.
func (d *decoder) skimRow(t *table, k *token, c column) bool {
	if !c.known {
		return false
	}
	t.row(c.index)
	d.skimmed.begin(c.kind(), k)
	if c.team {
		d.reply.Teams = append(d.reply.Teams, Team{Index: int(c.index)})
	} else {
		d.reply.Players = append(d.reply.Players, Player{Index: int(c.index)})
	}
	return true
}

// begin notes where the table of a kind begins.
func (s *skimmed) begin(kind belonging, k *token) {
	if s.first[kind] < 0 {
		s.first[kind] = k.from
	}
}

// judge notes a text if it is not UTF-8.
func (s *skimmed) judge(kind belonging, row uint16, f *dissect.Field, text string, at int) {
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
			core.TextAt(r, s.bad.field, s.bad.at.at, s.bad.at.n)
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
