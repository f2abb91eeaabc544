package gamespy

import (
	"bytes"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// A Row is a player or a team: its values in the order of the wire. The key of a value
// is the name of its column without the underscore or _t at its end.
type Row []dissect.KeyValue

// Get returns the value in a column, or "" and false if the row has none.
func (r Row) Get(column string) (string, bool) {
	for i := range r {
		if r[i].Key == column {
			return r[i].Value, true
		}
	}
	return "", false
}

// TableFields has the fields of one table.
type TableFields struct {
	List, Row *dissect.Field
	// open is the field of unknown columns.
	open *dissect.Field
	// cells is the list of the values of columns whose names cannot be keys.
	cells, cell *dissect.Field
	known       map[string]*dissect.Field
	suffix      string
}

// Name returns the field for the names of players or teams.
func (f *TableFields) Name() *dissect.Field {
	if f.suffix == "_" {
		return f.known["player"]
	}
	return f.known["team"]
}

// DeclarePlayers adds the fields of a table of players to a catalog.
func DeclarePlayers(c *dissect.Catalog, s wire.Style) TableFields {
	f := declareTable(c, s, "players", "player", "_")
	f.known = map[string]*dissect.Field{
		"player": c.Add("players.name", dissect.String, "Name of the player (column player_).", dissect.PersonName, core.InCharset(s.Charset), core.InStyle(s.Codes)),
		"score":  c.Add("players.score", dissect.Decimal, "Score (score_)."),
		"ping":   c.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds, as the server measures it (ping_)."),
		"team":   c.Add("players.team", dissect.Decimal, "Team, a number or a name (team_).", core.InCharset(s.Charset)),
	}
	return f
}

// DeclareTeams adds the fields of a table of teams to a catalog.
func DeclareTeams(c *dissect.Catalog, s wire.Style) TableFields {
	f := declareTable(c, s, "teams", "team", "_t")
	f.known = map[string]*dissect.Field{
		"team":  c.Add("teams.name", dissect.String, "Name of the team (column team_t).", dissect.ServerText, core.InCharset(s.Charset), core.InStyle(s.Codes)),
		"score": c.Add("teams.score", dissect.Decimal, "Score of the team (score_t)."),
	}
	return f
}

func declareTable(c *dissect.Catalog, s wire.Style, rows, row, suffix string) TableFields {
	return TableFields{
		List:   c.Add(rows, dissect.List, "The "+rows+"."),
		Row:    c.Add(rows+"."+row, dissect.Group, "One "+row+"."),
		open:   c.Add(rows+".other", dissect.Decimal, "Any other column, under its own name without the "+suffix+" at its end.", core.Open, core.InCharset(s.Charset)),
		cells:  c.Add(rows+".cells", dissect.List, "Values of columns whose names cannot be keys, in the order of the columns."),
		cell:   c.Add(rows+".cells.cell", dissect.String, "One value.", dissect.FreeText, core.InCharset(s.Charset), core.InStyle(s.Codes)),
		suffix: suffix,
	}
}

// Limits for one message. The SDK has 254 keys and splits a reply into at most 7 parts.
// Forged messages may have more and are not read further.
const (
	maxColumns  = 256
	maxSegments = 16 // of one column
)

// A table collects the cells of a table in the order of the wire and chains them by
// row: columns may follow one another, over several parts.
type table struct {
	f       *TableFields
	names   *wire.Columns
	columns []column
	pieces  []segment
	cells   []cell
	rows    []chain
	seen    bool // the reply has such a table
	// first is the place of the first cell, and end the end of the last cell in the
	// same part.
	first, end place
	// values are the values of the emitted rows.
	values []dissect.KeyValue
}

// A place is an offset in a source of the reader.
type place struct{ source, off int }

type column struct {
	name  string         // as on the wire
	key   string         // the name without its suffix
	field *dissect.Field // nil if the name cannot be a key
	last  int32          // latest segment
	count int            // of segments
}

// A segment is a run of cells of one column.
type segment struct {
	older    int32
	row, len int32
	cell     int32
}

type cell struct {
	at     place
	len    int32 // of the value
	nul    bool
	dead   bool // a later value replaces it
	column uint16
	next   int32 // next cell of the row
}

type chain struct{ head, tail int32 }

const none = int32(-1)

func newTable(f *TableFields) table { return table{f: f, names: wire.NewColumns(f.open, f.known)} }

func (t *table) reset() {
	t.columns, t.pieces, t.cells, t.rows, t.values = t.columns[:0], t.pieces[:0], t.cells[:0], t.rows[:0], t.values[:0]
	t.seen = false
}

// find returns the index of a column and adds it if it is new. It returns -1 if there
// are too many.
func (t *table) find(name string) int {
	for i := range t.columns {
		if t.columns[i].name == name {
			return i
		}
	}
	return t.addColumn(name)
}

// addColumn adds a column. It returns -1 if there are too many.
func (t *table) addColumn(name string) int {
	if len(t.columns) >= maxColumns {
		return -1
	}
	key := name
	if n := len(name) - len(t.f.suffix); n > 0 && name[n:] == t.f.suffix {
		key = name[:n]
	}
	// Two columns must not have the same key.
	field := t.field(key)
	if field == nil {
		key = name
		field = t.field(key)
	}
	t.columns = append(t.columns, column{name: name, key: key, field: field, last: none})
	return len(t.columns) - 1
}

// field returns the field of a key, or nil if the key is in use or not valid.
func (t *table) field(key string) *dissect.Field {
	f := t.names.Field(key)
	if f == nil || f.Key() == t.f.cells.Key() {
		return nil
	}
	for i := range t.columns {
		if g := t.columns[i].field; g != nil && g.Key() == f.Key() {
			return nil
		}
	}
	return f
}

// open begins a segment of a column. It returns false if there are too many.
func (t *table) open(column, row int) bool {
	c := &t.columns[column]
	if c.count >= maxSegments {
		return false
	}
	t.pieces = append(t.pieces, segment{older: c.last, row: int32(row), cell: int32(len(t.cells))})
	c.last = int32(len(t.pieces) - 1)
	c.count++
	return true
}

// add appends a value to the open segment. It returns the cell that the value replaces,
// or nil.
func (t *table) add(column int, at place, n int, nul bool) (before *cell) {
	s := &t.pieces[len(t.pieces)-1]
	row := s.row + s.len
	for older := s.older; older != none; older = t.pieces[older].older {
		o := &t.pieces[older]
		if row < o.row || row >= o.row+o.len {
			continue
		}
		if c := &t.cells[o.cell+row-o.row]; !c.dead {
			c.dead = true
			before = c
		}
	}
	t.put(column, int(row), at, n, nul)
	s.len++
	return before
}

// put appends a cell and adds it to its row.
func (t *table) put(column, row int, at place, n int, nul bool) {
	i := int32(len(t.cells))
	c := cell{at: at, len: int32(n), nul: nul, column: uint16(column), next: none}
	if i == 0 {
		t.first = at
	}
	if at.source == t.first.source {
		t.end = c.after()
	}
	t.cells = append(t.cells, c)
	for row >= len(t.rows) {
		t.rows = append(t.rows, chain{none, none})
	}
	if c := &t.rows[row]; c.head == none {
		*c = chain{i, i}
	} else {
		t.cells[c.tail].next = i
		c.tail = i
	}
}

// goTo moves the reader to a place in any source.
func goTo(r *dissect.Reader, p place) {
	if core.Current(r) != p.source {
		r.Seek(1 << 30)
		r.Part(p.source)
	}
	r.Seek(p.off)
}

func here(r *dissect.Reader) place { return place{core.Current(r), r.Offset()} }

// emit reads the cells again, row by row, so that the values of a player are adjacent,
// and appends the rows to dst. Replaced values become leaves of the field replaced. The
// reader returns to its place. If nobody reads the rows, they are only counted.
func (t *table) emit(r *dissect.Reader, replaced *dissect.Field, dst []Row, skims bool) []Row {
	if !t.seen {
		return dst
	}
	if skims && len(t.cells) > 0 && t.named() && core.Skim(r, 1+len(t.rows)) {
		for i := range t.rows {
			if t.alive(t.rows[i].head) != none {
				dst = append(dst, nil)
			}
		}
		core.Pass(r, 1+len(dst), 0)
		return dst
	}
	back := here(r)
	for i := range t.cells {
		if c := &t.cells[i]; c.dead {
			t.read(r, c, replaced)
		}
	}
	if len(t.cells) == 0 {
		goTo(r, back)
		r.End(r.Begin(t.f.List))
		return dst
	}
	goTo(r, t.first)
	list := r.Begin(t.f.List)
	for i := range t.rows {
		if row := t.row(r, t.rows[i].head); row != nil {
			dst = append(dst, row)
		}
	}
	goTo(r, t.end)
	r.End(list)
	goTo(r, back)
	return dst
}

// row reads the row that begins with a cell. It returns nil if all its cells were
// replaced.
func (t *table) row(r *dissect.Reader, i int32) Row {
	if i = t.alive(i); i == none {
		return nil
	}
	first := &t.cells[i]
	goTo(r, first.at)
	group := r.Begin(t.f.Row)
	n := len(t.values)
	unnamed := none
	for ; i != none; i = t.cells[i].next {
		c := &t.cells[i]
		col := &t.columns[c.column]
		switch {
		case c.dead:
		case col.field == nil:
			if unnamed == none {
				unnamed = i
			}
		default:
			t.values = append(t.values, dissect.KeyValue{Key: col.key, Value: t.read(r, c, col.field)})
		}
	}
	if unnamed != none {
		goTo(r, t.cells[unnamed].at)
		list := r.Begin(t.f.cells)
		for i := unnamed; i != none; i = t.cells[i].next {
			if c := &t.cells[i]; !c.dead && t.columns[c.column].field == nil {
				t.values = append(t.values, dissect.KeyValue{Key: t.columns[c.column].name, Value: t.read(r, c, t.f.cell)})
			}
		}
		goTo(r, t.cells[unnamed].after())
		r.End(list)
	}
	// The other values of the row follow the first one at any distance.
	goTo(r, first.after())
	r.End(group)
	return t.values[n:len(t.values):len(t.values)]
}

// alive returns the first cell of a row, from cell i on, that no other replaces.
func (t *table) alive(i int32) int32 {
	for i != none && t.cells[i].dead {
		i = t.cells[i].next
	}
	return i
}

// named reports whether the names of all columns can be keys.
func (t *table) named() bool {
	return !slices.ContainsFunc(t.columns, func(c column) bool { return c.field == nil })
}

func (c *cell) after() place {
	p := place{c.at.source, c.at.off + int(c.len)}
	if c.nul {
		p.off++
	}
	return p
}

// read reads one cell.
func (t *table) read(r *dissect.Reader, c *cell, f *dissect.Field) string {
	goTo(r, c.at)
	return r.Span(f, 0, 0, int(c.len), core.Bit[int](c.nul))
}

// cellText returns the bytes of a cell.
func cellText(r *dissect.Reader, c *cell) []byte {
	return core.Sources(r)[c.at.source].Data[c.at.off : c.at.off+int(c.len)]
}

// run returns the number of zero bytes at the start of b.
func run(b []byte) int { return wire.While(b, func(c byte) bool { return c == 0 }) }

// word returns the length of the text at the start of b, and whether a zero byte ends
// it.
func word(b []byte) (n int, nul bool) {
	if n = bytes.IndexByte(b, 0); n >= 0 {
		return n, true
	}
	return len(b), false
}
