package all

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/games"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// unread begins the note of a game whose servers speak a UDP protocol that is not
// read. The name of the protocol follows.
const unread = "not read yet: "

func TestGames(t *testing.T) {
	known := nettext.Each(Protocols(), func(p *dissect.Protocol) string { return p.Name })
	last := ""
	for _, g := range games.All() {
		if g.ID <= last || g.Name == "" {
			t.Errorf("%q after %q: not sorted, or without a name", g.ID, last)
		}
		last = g.ID
		for _, name := range g.Protocols {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no protocol %q", g.ID, name)
			}
		}
		if len(g.Protocols) == 0 && g.Note == "" {
			t.Errorf("%s: no protocol and no reason", g.ID)
		}
		if len(g.Protocols) > 0 && g.Port == 0 && g.Note == "" {
			t.Errorf("%s: no port", g.ID)
		}
		if name, ok := strings.CutPrefix(g.Note, unread); ok {
			name, _, _ = strings.Cut(name, ";")
			if slices.Contains(known, name) {
				t.Errorf("%s: %s is read now: put it into the column of protocols and take it out of the note", g.ID, name)
			}
		}
	}
}

func TestFindGame(t *testing.T) {
	tests := []struct {
		name, query string
		want        []string
	}{
		{"id", "killingfloor", []string{"killingfloor"}},
		{"id in capitals", "KillingFloor", []string{"killingfloor"}},
		{"words of names", "killing floor", []string{"killingfloor", "killingfloor2"}},
		{"words in any order", "tournament unreal 2004", []string{"unrealtournament2004"}},
		{"no such game", "qwertz", nil},
		{"nothing asked", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := nettext.Each(games.Find(tt.query), func(g games.Game) string { return g.ID })
			if !slices.Equal(got, tt.want) {
				t.Errorf("Find(%q) = %q, want %q", tt.query, got, tt.want)
			}
		})
	}
}

func TestNearGame(t *testing.T) {
	tests := []struct {
		name, query string
		want        []string
	}{
		{"a letter missing", "kilingfloor", []string{"killingfloor", "killingfloor2"}},
		{"a name", "Unreal Turnament 2004", []string{"unrealtournament2004", "unrealtournament2003", "unrealtournament"}},
		{"letters swapped", "minecarft", []string{"minecraft"}},
		{"nothing near", "qwertzuiop", nil},
		{"nothing asked", "", nil},
		{"far too long", strings.Repeat("minecraft", 100), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := games.Near(tt.query); !slices.Equal(got, tt.want) {
				t.Errorf("Near(%q) = %q, want %q", tt.query, got, tt.want)
			}
		})
	}
}

// TestPinned checks that the gate installs the gamedig whose games the table has.
func TestPinnedGamedig(t *testing.T) {
	gate, err := os.ReadFile("../../.ci/run")
	if err != nil || !strings.Contains(string(gate), "gamedig@"+games.Version+" ") {
		t.Errorf("gamedig %s is not what .ci/run installs (%v)", games.Version, err)
	}
}

// TestGamedig compares the table with the games of the installed gamedig: ids, names
// and ports, and that the games of one of its protocols have the same protocols here.
func TestGamedig(t *testing.T) {
	program, err := exec.LookPath("gamedig")
	if err != nil {
		t.Skip("gamedig is not installed")
	}
	program = must.Get(filepath.EvalSymlinks(program))(t)
	const script = `import(process.argv[1]).then(m => console.log(JSON.stringify(Object.entries(m.games).map(([id, {name, options: o}]) => (
		{id, name, protocol: o.protocol, port: o.port_query ?? (o.port ? o.port + [o.port_query_offset ?? 0].flat()[0] : 0)})))))`
	out := must.Get(exec.Command("node", "-e", script, filepath.Join(filepath.Dir(program), "..", "lib", "index.js")).Output())(t)
	var list []struct {
		ID, Name, Protocol string
		Port               uint16
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v in %.200s", err, out)
	}
	known := map[string]games.Game{}
	for _, g := range games.All() {
		known[g.ID] = g
	}
	known["ssl"] = games.Game{ID: "ssl", Name: "SCP: Secret Lab" + "ratory"} // misspelt there
	// gamedig's minecraft also tries the query of Bedrock, which mbe is alone.
	same := map[string][]string{"minecraft": {"minecraft-java", "minecraft", "raknet"}}
	for _, theirs := range list {
		ours, ok := known[theirs.ID]
		if delete(known, theirs.ID); !ok {
			t.Errorf("%s is missing", theirs.ID)
			continue
		}
		if ours.Name != theirs.Name || ours.Port != theirs.Port {
			t.Errorf("%s: %q, port %d; gamedig has %q, port %d", ours.ID, ours.Name, ours.Port, theirs.Name, theirs.Port)
		}
		if first, ok := same[theirs.Protocol]; ok && ours.ID != "mbe" && !slices.Equal(ours.Protocols, first) {
			t.Errorf("%s: %q, other games of gamedig's %s have %q", ours.ID, ours.Protocols, theirs.Protocol, first)
		} else if !ok {
			same[theirs.Protocol] = ours.Protocols
		}
	}
	for id := range known {
		t.Errorf("%s is not a game of gamedig", id)
	}
}
