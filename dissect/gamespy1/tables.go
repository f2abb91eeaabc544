package gamespy1

import (
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/columns"
)

// A column is a key that names one cell of a table.
type column struct {
	name   string // name of the column: "name", "score", or as on the wire
	index  int    // of the player or team
	common bool   // the key alone proves that there is a table
	team   bool   // the key always belongs to a team
}

// maxIndex bounds the numbers in keys. No game has as many players.
const maxIndex = 1024

// columnOf splits a key such as frags_12, or score_t1 of a team. The column has no name
// if the key has another form.
func columnOf(key string) (c column) {
	i := len(key)
	for i > 0 && key[i-1] >= '0' && key[i-1] <= '9' {
		i--
	}
	digits := key[i:]
	if len(digits) == 0 || len(digits) > 4 || len(digits) > 1 && digits[0] == '0' || i < 2 || i > 64 {
		return column{}
	}
	for _, digit := range []byte(digits) {
		c.index = c.index*10 + int(digit-'0')
	}
	c.name = key[:i]
	if n := len(c.name); c.name[n-1] == 't' && c.name[n-2] == '_' {
		c.team, c.name = true, c.name[:n-1]
	}
	n := len(c.name) - 1
	if n == 0 || c.name[n] != '_' || c.index >= maxIndex {
		return column{}
	}
	c.name = c.name[:n]
	switch c.name {
	case "player", "playername":
		c.name, c.common = "name", !c.team
	case "teamname":
		c.name, c.common, c.team = "name", true, true
	case "teamscore":
		c.name, c.common, c.team = "score", true, true
	case "team", "score":
		if c.common = true; c.team && c.name == "team" {
			c.name = "name"
		}
	case "frags", "kills", "deaths", "ping", "keyhash", "mesh", "skin", "face", "ngsecret":
		c.common = !c.team
	}
	return c
}

// classify reports whether a word is a key that almost every game has, or the key of a
// common column, and returns its column.
func classify(key string) (known bool, c column) {
	switch key {
	case "gamename", "gamever", "hostname", "hostport", "mapname", "gametype", "numplayers", "maxplayers", "validate", "queryid", "final", "statusresponse":
		return true, c
	}
	c = columnOf(key)
	return c.common, c
}

// A table is the players or the teams of one reply.
type table struct {
	texts, numbers *columns.Set
	rows           []row
	at             [maxIndex]uint16 // 1 + the row of each index, 0 if there is none
}

// A row is a player or a team. Its pairs form a chain.
type row struct{ index, first, last int }

func (t *table) reset() {
	for i := range t.rows {
		t.at[t.rows[i].index] = 0
	}
	t.rows = t.rows[:0]
}

func (t *table) has(index int) bool { return t.at[index] > 0 }

// row returns the row of an index, and adds it if it is new.
func (t *table) row(index int) *row {
	if t.at[index] == 0 {
		t.rows = append(t.rows, row{index: index, first: -1, last: -1})
		t.at[index] = uint16(len(t.rows))
	}
	return &t.rows[t.at[index]-1]
}

// holds reports whether a row already has a column.
func (d *decoder) holds(t *table, c column) bool {
	if !t.has(c.index) {
		return false
	}
	for i := t.row(c.index).first; i >= 0; i = d.pairs[i].next {
		if d.pairs[i].column.name == c.name {
			return true
		}
	}
	return false
}

// put makes pair i a cell of a table. It returns false if the name of the column cannot
// be a key.
func (d *decoder) put(b string, t *table, i int, c column, kind belonging) bool {
	p := &d.pairs[i]
	columns := t.texts
	if isNumber(b[p.value:p.valueEnd]) {
		columns = t.numbers
	}
	f := columns.Field(c.name)
	if f == nil || c.name == "index" {
		return false
	}
	p.kind, p.field, p.column = kind, f, c
	if row := t.row(c.index); row.last < 0 {
		row.first, row.last = i, i
	} else {
		d.pairs[row.last].next, row.last = i, i
	}
	return true
}

// isNumber reports whether a value is an integer, with or without blanks around it.
func isNumber(s string) bool {
	s = strings.Trim(s, " ")
	if len(s) > 1 && s[0] == '-' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 15 || len(s) > 1 && s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
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
		names = names || c.name == "name" && !c.team
		sizes = sizes || c.name == "size"
		if c.common && !c.team {
			d.players.row(c.index)
		}
	}
	onlyTeams := sizes && !names
	ofTeam := onlyTeams
	score, frags, echo, validate := false, false, false, false
	for i := range d.pairs {
		c := d.pairs[i].column
		if c.name == "" {
			switch d.keyOf(b, i) {
			case "echo":
				d.special(i, fEcho, &echo)
			case "validate":
				d.special(i, fValidate, &validate)
			}
			ofTeam = onlyTeams
			continue
		}
		likeTeam := c.name == "team" || c.name == "score" || c.name == "size"
		ofTeam = onlyTeams || likeTeam && (ofTeam || c.name == "team" && d.holds(&d.players, c))
		t, kind := &d.players, ofPlayers
		if c.team || ofTeam {
			if t, kind = &d.teams, ofTeams; ofTeam && c.name == "team" {
				c.name = "name"
			}
		}
		switch {
		case !c.common && !t.has(c.index):
			// a setting whose key ends with a number
		case d.holds(t, c):
			twice++
		case d.put(b, t, i, c, kind) && kind == ofPlayers:
			score = score || c.name == "score"
			frags = frags || c.name == "frags"
		}
	}
	// Without a score, the frags or kills are the score.
	instead := "frags"
	if !frags {
		instead = "kills"
	}
	for i := 0; !score && i < len(d.pairs); i++ {
		if p := &d.pairs[i]; p.kind == ofPlayers && p.column.name == instead {
			p.field = fScore
		}
	}
	return twice
}
