package gamespy

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// BodyFields has the fields of a reply in the older format, which is one packet.
type BodyFields struct {
	Pairs                keyvalue.Fields
	NumPlayers, NumTeams *dissect.Field
	Players, Teams       TableFields
	Column, End          *dissect.Field
	Values, Value        *dissect.Field // of replies to lists of single keys; nil if the protocol has none
	Data                 *dissect.Field
}

// BodyFindings has the findings about such a reply.
type BodyFindings struct {
	// Count: the number of rows differs from the announced one. Takes both numbers.
	Count *dissect.FindingType
	// NoCount: a table has no count.
	NoCount *dissect.FindingType
	// NoEnd: the zero byte at the end is missing.
	NoEnd *dissect.FindingType
	// Cut: the packet ends within a row.
	Cut *dissect.FindingType
}

// Body reads replies in the older format: keys and values, a table of players and a
// table of teams, as requested. A table is the number of its rows in two bytes, the
// names of its columns, and the values row by row.
type Body struct {
	f       *BodyFields
	finds   *BodyFindings
	players table
	teams   table

	// Rules, Players, Teams and Values are the content of the reply.
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	Values  []string
	// NumPlayers and NumTeams are the announced numbers of rows.
	NumPlayers, NumTeams dissect.Opt[int]

	skims bool // nobody reads the reply, and its text gets no finding
}

// NewBody returns a reader for replies of a protocol.
func NewBody(f *BodyFields, finds *BodyFindings) Body {
	return Body{f: f, finds: finds, players: newTable(&f.Players), teams: newTable(&f.Teams)}
}

// Begin prepares for a new reply.
func (b *Body) Begin(r *dissect.Reader) {
	b.skims = core.Skim(r, r.Left()) && core.Sound(r, r.Left())
	b.players.reset()
	b.teams.reset()
	b.Rules, b.Players, b.Teams, b.Values = b.Rules[:0], b.Players[:0], b.Teams[:0], b.Values[:0]
	b.NumPlayers, b.NumTeams = dissect.Opt[int]{}, dissect.Opt[int]{}
}

// Read reads a reply after its head.
func (b *Body) Read(r *dissect.Reader) {
	b.Begin(r)
	if !r.More() {
		return
	}
	if !beginsTable(r.Peek()) {
		if b.f.Values != nil && !ArePairs(r.Peek()) {
			// The values of the requested keys are sent without the keys.
			b.Values = wire.Values(r, b.f.Values, b.Values, func() string { return r.CString(b.f.Value) })
			return
		}
		b.readPairs(r)
	}
	b.readTables(r)
}

// ReadPairs is [Body.Read] for data that certainly begins with settings.
func (b *Body) ReadPairs(r *dissect.Reader) {
	b.Begin(r)
	b.readPairs(r)
	b.readTables(r)
}

// beginsTable reports whether a reply begins with a table, because no settings were
// requested.
func beginsTable(b []byte) bool {
	if len(b) > 0 && b[0] == 0 {
		return true
	}
	h, ok := parseHeader(b)
	return ok && h.columns > 0
}

// BeginsBody reports whether b begins like a reply in the older format: with a table,
// or with one of the keys that servers send first. The continuation of an earlier
// packet may begin with any other key, or with the zero byte that ends the settings
// before a table.
func BeginsBody(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] == 0 {
		return IsTable(b) || !GoesOn(b)
	}
	n, _ := word(b)
	return string(b[:n]) == "hostname" || string(b[:n]) == "gamever" || beginsTable(b)
}

// GoesOn reports whether b, which begins with a zero byte, may continue a reply: after
// the zero byte comes a table, a column or a value.
func GoesOn(b []byte) bool {
	b = b[1:]
	w, ok := word(b)
	return IsTable(b) || ok && w > 0 && ' ' < b[0] && b[0] < 0x7f
}

// BreaksOff reports whether a reply in the older format ends within its settings, or
// within a table that has fewer rows than announced.
func BreaksOff(b []byte) bool {
	if !beginsTable(b) {
		for len(b) > 0 && b[0] != 0 {
			key, _ := word(b)
			b = b[min(key+1, len(b)):]
			value, _ := word(b)
			b = b[min(value+1, len(b)):]
		}
		if len(b) == 0 {
			return true
		}
		b = b[1:]
	}
	for len(b) > 0 {
		h, ok := parseHeader(b)
		if !ok || !h.counted {
			return false
		}
		rows := int(b[0])<<8 | int(b[1])
		if b = b[2:]; len(b) == 0 {
			return rows > 0
		}
		for range h.columns {
			n, _ := word(b)
			b = b[min(n+1, len(b)):]
		}
		if len(b) == 0 {
			return true
		}
		b = b[1:]
		for row := 0; row < rows && h.columns > 0; row++ {
			if len(b) > 0 && b[0] == 0 && !unnamedRow(b, h.columns, dissect.Some(rows), row) {
				break
			}
			n, ok := words(b, h.columns)
			if !ok {
				return true
			}
			b = b[n:]
		}
		if n := run(b); n == len(b) {
			return false
		}
	}
	return false
}

// ArePairs reports whether b is keys and values, and not just the values of requested
// keys: the first word is a key of the SDK, or an empty key ends the list.
func ArePairs(b []byte) bool {
	if IsPairs(b) {
		return true
	}
	for {
		key, nul := word(b)
		if !nul {
			return false
		}
		if b = b[key+1:]; key == 0 {
			return len(b) == 0 || b[0] == 0
		}
		value, nul := word(b)
		if !nul {
			return false
		}
		b = b[value+1:]
	}
}

// readPairs reads keys and values up to an empty key.
func (b *Body) readPairs(r *dissect.Reader) {
	list := r.Begin(b.f.Pairs.List)
	for {
		if b.skims {
			b.Rules = skimPairs(r, b.Rules)
		}
		if !r.More() || r.Next(0) {
			break
		}
		pair := r.Begin(b.f.Pairs.Pair)
		kv := dissect.KeyValue{Key: r.CString(b.f.Pairs.Key)}
		kv.Value = r.CString(b.f.Pairs.Value)
		core.HideSetting(r, b.f.Pairs.Hidden, kv.Key, kv.Value)
		r.End(pair)
		if r.Failed() {
			break
		}
		b.Rules = append(b.Rules, kv)
	}
	r.End(list)
	b.readEnd(r)
}

// readEnd reads the zero byte at the end of a list.
func (b *Body) readEnd(r *dissect.Reader) {
	switch {
	case r.More():
		r.Bytes(b.f.End, 1)
	case !r.Failed():
		r.Find(b.finds.NoEnd, nil, r.Offset(), 0)
	}
}

// readTables reads tables up to the end of the reply.
func (b *Body) readTables(r *dissect.Reader) {
	for r.More() {
		h, ok := parseHeader(r.Peek())
		if !ok {
			break
		}
		t, num, n := &b.players, &b.NumPlayers, b.f.NumPlayers
		if h.teams || h.columns == 0 && t.seen {
			t, num, n = &b.teams, &b.NumTeams, b.f.NumTeams
		}
		if t.seen {
			break
		}
		t.seen = true
		at := r.Offset()
		if h.counted {
			num.Value, num.OK = int(r.U16BE(n)), true
		} else {
			r.Bytes(b.f.End, 1)
			if b.finds.NoCount != nil {
				r.Find(b.finds.NoCount, n, at, 1)
			}
		}
		for range h.columns {
			if t.addColumn(r.CString(b.f.Column)) < 0 {
				r.Fail(b.f.Column, "too many columns")
				break
			}
		}
		b.readEnd(r)
		cut := noteRows(r, t, *num, b.skims)
		if rows := len(t.rows); h.counted && h.columns > 0 && rows != num.Value {
			r.Find(b.finds.Count, n, at, 2, dissect.Num(num.Value), dissect.Num(rows))
		}
		if cut {
			r.Find(b.finds.Cut, nil, r.Offset(), r.Left())
			r.Rest(b.f.Data)
		}
		if t == &b.players {
			b.Players = t.emit(r, b.f.Data, b.Players, b.skims)
		} else {
			b.Teams = t.emit(r, b.f.Data, b.Teams, b.skims)
		}
	}
	if left := r.Peek(); len(left) > 0 && run(left) == len(left) && (b.players.seen || b.teams.seen) {
		r.Rest(b.f.End)
	}
}

// header is the beginning of a table.
type header struct {
	counted bool
	columns int
	teams   bool // it is a table of teams
}

// parseHeader parses the beginning of a table: the number of rows, and the names of
// columns up to an empty one. America's Army omits the lower byte of the number.
func parseHeader(b []byte) (h header, ok bool) {
	whole := b
	switch {
	case len(b) < 2 || b[0] > 3:
		return h, false
	case b[0] == 0 && isColumn(b[1:]) && !countFits(b):
		b = b[1:]
	default:
		h.counted = true
		b = b[2:]
	}
	for {
		n, nul := word(b)
		if !nul {
			return h, n == 0
		}
		if n == 0 {
			// A game may count teams but have no columns for them.
			return h, h.columns > 0 || whole[1] == 0 || len(b) == 1
		}
		if !isColumnName(b[:n]) {
			return h, false
		}
		if h.columns == 0 {
			h.teams = bytes.HasSuffix(b[:n], []byte("_t"))
		}
		h.columns++
		b = b[n+1:]
	}
}

// countFits reports whether the second byte is part of the number of rows and not the
// first letter of a column. If both are possible, it assumes at most 64 players.
func countFits(b []byte) bool {
	if !isColumn(b[2:]) {
		return false
	}
	n1, _ := word(b[1:])
	n2, _ := word(b[2:])
	switch known1, known2 := isKnownKey(b[1:1+n1]), isKnownKey(b[2:2+n2]); {
	case known1 != known2:
		return known2
	case b[1] < 'A' || b[1] > 'Z' && b[1] < 'a' || b[1] > 'z':
		return true // no column begins with this byte
	}
	return b[1] <= 64
}

// noteRows records the cells of a table row by row, up to the announced number of rows. If
// nobody reads them, the first of each row is enough. It reports whether the last row is
// truncated. The reader is then after the last complete row.
func noteRows(r *dissect.Reader, t *table, num dissect.Opt[int], skims bool) (cut bool) {
	columns := len(t.columns)
	if columns == 0 {
		return false
	}
	source := core.Current(r)
	noted := nettext.Either(skims && t.named() && core.Skim(r, 1+r.Left()), 1, columns)
	for row := 0; r.More(); row++ {
		if r.Next(0) && (!unnamedRow(r.Peek(), columns, num, row) || num.OK && row >= num.Value) {
			return false
		}
		length, ok := words(r.Peek(), columns)
		if !ok {
			// It is not a row if no more rows are announced.
			return !num.OK || row < num.Value
		}
		end := r.Offset() + length
		for c := range noted {
			n, _ := word(r.Peek())
			at := r.Offset()
			t.put(c, row, place{source, at}, n, true)
			r.Seek(at + n + 1)
		}
		r.Seek(end)
	}
	return false
}

// words returns the length of n texts at the start of b, each with its zero byte. ok is
// false if b has fewer.
func words(b []byte, n int) (length int, ok bool) {
	for range n {
		w, nul := word(b[length:])
		if !nul {
			return 0, false
		}
		length += w + 1
	}
	return length, true
}

// unnamedRow reports whether b, which begins with an empty value, is a row: the number
// of rows says so, and no other table begins here. b is the rest of the reply.
func unnamedRow(b []byte, columns int, num dissect.Opt[int], row int) bool {
	if !num.OK || row >= num.Value {
		return false
	}
	if n := run(b); n == len(b) {
		return n >= (num.Value-row)*columns
	}
	_, ok := parseHeader(b)
	return !ok
}
