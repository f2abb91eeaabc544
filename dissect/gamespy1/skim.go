package gamespy1

import (
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A badText is the first text that is not UTF-8, in the order of the tables.
type badText struct {
	field *dissect.Field // nil if there is none
	at    span
	table int // offset of the first key of its table
	row   uint16
}

// skim fills a reply that nobody reads: its type, its findings and its summary need all rules, but of a player only the name and
// the keyhash. It reports false, and has done nothing, unless
//   - all datagrams are there, each key has a value, and no value goes on after a backslash,
//   - no key is there twice, which may begin the teams, nor sizes of teams,
//   - a key that may belong to a player comes after one that certainly does.
//
// Other replies are read in two passes, as if somebody read them; see readPairs.
func (d *decoder) skim(r *dissect.Reader, p *Reply) bool {
	if !core.Skim(r, r.Left()) {
		return false
	}
	d.bad, d.firsts = badText{}, [special]int{-1, -1, -1}
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
	afterName := false
	for ; len(tokens) > 1; tokens = tokens[2:] {
		key, value := tokens[0].of(b), tokens[1].of(b)
		c := classify(key)
		// The value before the key may go on; see goesOn.
		if !c.known && (c.id == noColumn && (afterName || !canBeKey(key)) || classify(value).known) {
			return false
		}
		for len(parts) > 1 && tokens[0].from-1 >= parts[0].to {
			parts = parts[1:]
		}
		if c.id == noColumn {
			d.skimRule(b, &tokens[0], &tokens[1])
		} else if !d.skimCell(b, &tokens[0], &tokens[1], c, parts[0].part) {
			return false
		}
		afterName = c.id == colName
	}
	return true
}

// skimRule adds a pair of b that is not in a table to the reply.
func (d *decoder) skimRule(b string, k, v *token) {
	p, key, value := &d.reply, k.of(b), v.of(b)
	switch {
	case key == "echo" && !p.Echo.OK:
		p.Echo = dissect.Some(value)
		d.judge(k.from, 0, fEcho, v, b)
	case key == "validate" && !p.Validate.OK:
		p.Validate = dissect.Some(value)
		d.judge(k.from, 0, fValidate, v, b)
	default:
		first := d.begins(ofRules, k)
		d.judge(first, 0, pairs.Key, k, b)
		d.judge(first, 0, pairs.Value, v, b)
		p.Rules = append(p.Rules, dissect.KeyValue{Key: key, Value: value})
	}
}

// begins returns where the table of a kind begins, of which there is a key.
func (d *decoder) begins(kind belonging, k *token) int {
	if d.firsts[kind] < 0 {
		d.firsts[kind] = k.from
	}
	return d.firsts[kind]
}

// judge notes a text of b if it is not UTF-8.
func (d *decoder) judge(table int, row uint16, f *dissect.Field, t *token, b string) {
	if old := &d.bad; t.high && (old.field == nil || table < old.table || table == old.table && row < old.row) && f.Kind == dissect.String && !utf8.ValidString(t.of(b)) {
		*old = badText{f, span{t.from, t.to - t.from}, table, row}
	}
}

// skimCell adds a pair of b in a datagram to its player or team; c says which. It reports false if that may be a setting whose key
// ends with a number.
func (d *decoder) skimCell(b string, k, v *token, c column, part int) bool {
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
	if !t.has(c.index) {
		if !c.known {
			return false
		}
		t.row(c.index)
		if c.team {
			d.reply.Teams = append(d.reply.Teams, Team{Index: int(c.index)})
		} else {
			d.reply.Players = append(d.reply.Players, Player{Index: int(c.index)})
		}
	}
	n := t.at[c.index] - 1
	row := &t.rows[n]
	if row.holds(c.id) {
		return false
	}
	row.add(c.id, part)
	d.judge(d.begins(c.kind(), k), n, f, v, b)
	switch {
	case c.team:
	case c.id == colName:
		d.reply.Players[n].Name = v.of(b)
	case c.id == colKeyHash:
		d.values = append(d.values, dissect.KeyValue{Key: columnNames[colKeyHash], Value: v.of(b)})
		d.reply.Players[n].Columns = d.values[len(d.values)-1:]
	}
	return true
}

// readSkimmed reads what is left of a reply after skim: the markers. It reports the text that is not UTF-8 in the order of the tables.
func (d *decoder) readSkimmed(r *dissect.Reader, p *Reply, at markers) {
	raw, reported := r.Peek(), d.bad.field == nil
	report := func() {
		if !reported {
			core.TextAt(r, d.bad.field, d.bad.at.at, d.bad.at.n)
			reported = true
		}
	}
	for _, marker := range at.inOrder() {
		if marker.at > d.bad.table {
			report()
		}
		p.readMarker(r, raw, marker, at)
	}
	report()
}
