// Package games lists games with the protocols that their servers speak.
package games

import (
	_ "embed"
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Game is a row of the table.
type Game struct {
	// ID is the game's id in gamedig, Name its name.
	ID, Name string
	// Port is the UDP port that servers are queried on by default, 0 if there is none.
	Port uint16
	// Protocols are the names of the protocols that its servers answer. If it is
	// empty, Note says why.
	Protocols []string
	// Note is a remark for users, "" if there is none.
	Note string
}

// Version is the version of gamedig whose games the table has.
const Version = "5.3.3"

// The table has one line for each game of gamedig (lib/games.js), sorted by id: id,
// name, port, protocols ("-" for none) and note, separated by tabs.
//
//go:embed games.tsv
var table string

// All returns all games, sorted by id.
var All = sync.OnceValue(func() []Game {
	var list []Game
	for line := range strings.Lines(table) {
		columns := append(strings.Split(strings.TrimRight(line, "\n"), "\t"), "")
		port, _ := strconv.ParseUint(columns[2], 10, 16)
		g := Game{ID: columns[0], Name: columns[1], Port: uint16(port), Note: columns[4]}
		if columns[3] != "-" {
			g.Protocols = strings.Split(columns[3], ",")
		}
		list = append(list, g)
	}
	return list
})

// Of returns the games whose servers answer a protocol.
func Of(protocol string) []Game {
	return slices.DeleteFunc(slices.Clone(All()), func(g Game) bool { return !slices.Contains(g.Protocols, protocol) })
}

// Find returns the game whose id is s. If there is none, it returns the games whose
// names contain all words of s. Case does not matter.
func Find(s string) []Game {
	var list []Game
	words := strings.Fields(strings.ToLower(s))
	for _, g := range All() {
		if strings.EqualFold(g.ID, s) {
			return []Game{g}
		}
		name, found := strings.ToLower(g.Name), len(words) > 0
		for _, w := range words {
			found = found && strings.Contains(name, w)
		}
		if found {
			list = append(list, g)
		}
	}
	return list
}

// Near returns the ids of at most three games whose id or name resembles s, the
// nearest first.
func Near(s string) []string {
	s = squeeze(s)
	type match struct {
		id    string
		edits int
	}
	var list []match
	enough := len(s)/3 + 1
	for _, g := range All() {
		if n := min(nettext.Distance(s, g.ID, enough), nettext.Distance(s, squeeze(g.Name), enough)); n < enough {
			list = append(list, match{g.ID, n})
		}
	}
	slices.SortStableFunc(list, func(a, b match) int { return a.edits - b.edits })
	return nettext.Each(list[:min(3, len(list))], func(m match) string { return m.id })
}

// squeeze reduces a name to what ids have: lower case letters and digits.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		return nettext.Either(r >= 'a' && r <= 'z' || r >= '0' && r <= '9', r, -1)
	}, strings.ToLower(s))
}

// The requests of clients, in the order in which they ask, as the captures of testdata have them: a protocol and a payload in a line, as
// in a string of Go. What stands in braces depends on the server: a challenge in either order of bytes, or one behind the rest if there is
// one, and the server's address.
//
//go:embed requests.tsv
var requests string

// A Request is a payload that a client sends.
type Request string

// Requests returns what clients of a protocol ask, nil if that is not known.
func Requests(protocol string) (list []Request) {
	for line := range strings.Lines(requests) {
		if name, payload, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t"); name == protocol {
			list = append(list, Request(payload))
		}
	}
	return list
}

// Challenged reports whether the payload depends on a challenge.
func (r Request) Challenged() bool {
	return strings.Contains(string(r), "{") && !strings.Contains(string(r), "{address}")
}

// To returns the payload for a server with the challenge that it gave, which is -1 as long as it gave none.
func (r Request) To(server netip.AddrPort, challenge int32) []byte {
	s, err := strconv.Unquote(`"` + string(r) + `"`)
	if err != nil {
		panic(err)
	}
	ip := server.Addr().As16()
	more := ""
	little := string(binary.LittleEndian.AppendUint32(nil, uint32(challenge)))
	if challenge != -1 {
		more = little
	}
	return []byte(strings.NewReplacer("{little}", little, "{big}", string(binary.BigEndian.AppendUint32(nil, uint32(challenge))), "{more}", more,
		"{address}", string(ip[12:])+string(binary.LittleEndian.AppendUint16(nil, server.Port()))).Replace(s))
}
