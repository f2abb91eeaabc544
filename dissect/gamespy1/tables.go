package gamespy1

import (
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A column is a key that names one cell of a table.
type column struct {
	id    columnID
	index uint16 // of the player or team
	known bool   // it is certainly a key, of a table if there is an id
	team  bool   // the key always belongs to a team
}

// A columnID is the meaning of a column.
type columnID uint8

const (
	noColumn    columnID = iota // the key is not that of a table
	otherColumn                 // has only the name on the wire
	colName
	colScore
	colTeam
	colFrags
	colKills
	colDeaths
	colPing
	colKeyHash
	colMesh
	colSkin
	colFace
	colSize
	columnCount
)

var columnNames = [columnCount]string{
	colName: "name", colScore: "score", colTeam: "team", colFrags: "frags", colKills: "kills", colDeaths: "deaths", colPing: "ping",
	colKeyHash: "keyhash", colMesh: "mesh", colSkin: "skin", colFace: "face", colSize: "size",
}

// name returns the name of the column of a key: that of its meaning, or as on the wire.
func (c column) name(key string) string {
	if c.id == otherColumn {
		return key[:strings.LastIndexByte(key, '_')]
	}
	return columnNames[c.id]
}

// kind returns the table to which the key of a column belongs.
func (c column) kind() belonging {
	if c.team {
		return ofTeams
	}
	return ofPlayers
}

// maxIndex bounds the numbers in keys. No game has as many players.
const maxIndex = 1024

// classify splits a key such as frags_12, or score_t1 of a team. The column has no id if the
// word has another form. It also says whether the word is certainly a key: one that almost
// every game has, or that of a common column.
func classify(word string) (c column) {
	n, index, unit := len(word)-1, 0, 1
	for ; n >= 0 && word[n]-'0' <= 9 && unit <= maxIndex; n-- {
		index += unit * int(word[n]-'0')
		unit *= 10
	}
	if unit == 1 {
		switch word {
		case "gamename", "gamever", "hostname", "hostport", "mapname", "gametype", "numplayers", "maxplayers", "validate", "queryid", "final", "statusresponse":
			c.known = true
		}
		return c
	}
	if n < 1 || n >= 64 || word[n+1] == '0' && unit > 10 || index >= maxIndex {
		return c
	}
	if word[n] == 't' && word[n-1] == '_' {
		c.team = true
		n--
	}
	if n == 0 || word[n] != '_' {
		return column{}
	}
	c.index = uint16(index)
	switch word[:n] {
	case "player", "playername":
		c.id, c.known = colName, !c.team
	case "teamname":
		c.id, c.known, c.team = colName, true, true
	case "teamscore":
		c.id, c.known, c.team = colScore, true, true
	case "team":
		if c.id, c.known = colTeam, true; c.team {
			c.id = colName
		}
	case "ngsecret":
		c.id, c.known = otherColumn, !c.team
	case "score":
		c.id, c.known = colScore, true
	case "frags":
		c.id, c.known = colFrags, !c.team
	case "kills":
		c.id, c.known = colKills, !c.team
	case "deaths":
		c.id, c.known = colDeaths, !c.team
	case "ping":
		c.id, c.known = colPing, !c.team
	case "keyhash":
		c.id, c.known = colKeyHash, !c.team
	case "mesh":
		c.id, c.known = colMesh, !c.team
	case "skin":
		c.id, c.known = colSkin, !c.team
	case "face":
		c.id, c.known = colFace, !c.team
	case "name":
		c.id = colName
	case "size":
		c.id = colSize
	default:
		c.id = otherColumn
	}
	return c
}

// A table is the players or the teams of one reply.
type table struct {
	declared       *[columnCount]*dissect.Field // of the columns in the catalog
	texts, numbers *wire.Columns                // the other columns
	rows           []row
	at             [maxIndex]uint16 // 1 + the row of each index, 0 if there is none
}

// A row is a player or a team. Its pairs form a chain.
type row struct {
	index       uint16
	has         uint32 // the ids of its columns, a bit each
	first, last int
	part        int  // the datagram of the first pair
	spread      bool // other pairs are in other datagrams
}

// holds reports whether the row has a column.
func (r *row) holds(id columnID) bool { return r.has>>(id&31)&1 > 0 }

// add adds a column that is in a datagram.
func (r *row) add(id columnID, part int) {
	if r.has == 0 {
		r.part = part
	}
	r.has |= 1 << (id & 31)
	r.spread = r.spread || part != r.part
}

func (t *table) reset() {
	for i := range t.rows {
		t.at[t.rows[i].index] = 0
	}
	t.rows = t.rows[:0]
}

func (t *table) has(index uint16) bool { return t.at[index] > 0 }

// other returns the field of a column that is not in the catalog, nil if its name cannot be
// a key.
func (t *table) other(c column, key string) *dissect.Field {
	name := c.name(key)
	if name == "index" {
		return nil
	}
	return t.texts.Field(name)
}

// row returns the row of an index, and adds it if it is new.
func (t *table) row(index uint16) *row {
	if t.at[index] == 0 {
		t.rows = append(t.rows, row{index: index, first: -1, last: -1})
		t.at[index] = uint16(len(t.rows))
	}
	return &t.rows[t.at[index]-1]
}

// twice reports whether a row that has a column with the meaning of that of pair i has the
// same column.
func (d *decoder) twice(b string, row *row, c column, i int) bool {
	if c.id != otherColumn {
		return true
	}
	name := c.name(d.keyOf(b, i))
	for k := row.first; k >= 0; k = d.pairs[k].next {
		if d.pairs[k].columnName() == name {
			return true
		}
	}
	return false
}

// columnName returns the name of the column of a pair in a table.
func (p *pair) columnName() string {
	if p.column.id == otherColumn {
		return p.field.Key()
	}
	return columnNames[p.column.id]
}

// put makes pair i a cell of a row of a table. It returns false if the name of the column
// cannot be a key.
func (d *decoder) put(b string, t *table, row *row, i int, c column) bool {
	p := &d.pairs[i]
	f := t.declared[c.id]
	if f == nil {
		name, set := c.name(d.keyOf(b, i)), t.texts
		if isNumber(b[p.value:p.valueEnd]) {
			set = t.numbers
		}
		if f = set.Field(name); f == nil || name == "index" {
			return false
		}
	}
	p.kind, p.field, p.column = c.kind(), f, c
	row.add(c.id, p.part)
	if row.last < 0 {
		row.first = i
	} else {
		d.pairs[row.last].next = i
	}
	row.last = i
	return true
}

// isNumber reports whether a value is an integer, with or without blanks around it.
func isNumber(s string) bool {
	s = strings.Trim(s, " ")
	if len(s) > 1 && s[0] == '-' {
		s = s[1:]
	}
	return len(s) > 0 && len(s) <= 15 && (len(s) == 1 || s[0] != '0') && strings.Trim(s, "0123456789") == ""
}

// special gives pair i a field of its own, unless an earlier pair has that field.
func (d *decoder) special(i int, f *dissect.Field, taken *bool) {
	if p := &d.pairs[i]; p.value >= 0 && !*taken {
		p.kind, p.field = special, f
		*taken = true
	}
}

// sort assigns the pairs to players and teams. It returns the number of duplicate keys
// of players and teams.
//
// Any key with a number may belong to a player, in any order. An unknown key belongs to
// a player only if the player also has a common one. Unreal Tournament names the
// columns of teams like those of players (\team_0\Red\score_0\5\size_0\3, after the
// players): a second team of a player begins the teams, and so do sizes without any
// player.
func (d *decoder) sort(b string) (twice int) {
	d.players.reset()
	d.teams.reset()
	names, sizes := false, false
	for i := range d.pairs {
		c := &d.pairs[i].column
		names = names || c.id == colName && !c.team
		sizes = sizes || c.id == colSize
		if c.id != noColumn && c.known && !c.team {
			d.players.row(c.index)
		}
	}
	onlyTeams := sizes && !names
	ofTeam := onlyTeams
	score, frags, echo, validate := false, false, false, false
	for i := range d.pairs {
		c := d.pairs[i].column
		if c.id == noColumn {
			switch d.keyOf(b, i) {
			case "echo":
				d.special(i, fEcho, &echo)
			case "validate":
				d.special(i, fValidate, &validate)
			}
			ofTeam = onlyTeams
			continue
		}
		likeTeam := c.id == colTeam || c.id == colScore || c.id == colSize
		ofTeam = onlyTeams || likeTeam && (ofTeam || c.id == colTeam && d.players.row(c.index).holds(colTeam))
		t := &d.players
		if c.team = c.team || ofTeam; c.team {
			if t = &d.teams; ofTeam && c.id == colTeam {
				c.id = colName
			}
		}
		if !c.known && !t.has(c.index) {
			continue // a setting whose key ends with a number
		}
		row := t.row(c.index)
		if row.holds(c.id) && d.twice(b, row, c, i) {
			twice++
		} else if d.put(b, t, row, i, c) && !c.team {
			score = score || c.id == colScore
			frags = frags || c.id == colFrags
		}
	}
	// Without a score, the frags or kills are the score.
	instead := nettext.Either(frags, colFrags, colKills)
	for i := 0; !score && i < len(d.pairs); i++ {
		if p := &d.pairs[i]; p.kind == ofPlayers && p.column.id == instead {
			p.field = fScore
		}
	}
	return twice
}
