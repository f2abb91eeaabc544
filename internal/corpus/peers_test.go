package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/thorough"
)

// facts are all values in the output, by the key under which they stand. A setting stands
// under its own key, a column of a list under the name of the list as well.
type facts map[string][]any

func (f facts) add(key string, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		f["#"+key] = append(f["#"+key], len(v))
		for _, e := range v {
			f.add(key, e)
		}
	case object:
		if k, ok := v["key"].(string); ok && v["value"] != nil {
			f.add(k, v["value"])
		}
		for k, e := range v {
			f.add(k, e)
		}
	default:
		key = normal(key)
		f[key] = append(f[key], v)
	}
}

// normal returns a key without what only spelling makes different.
func normal(key string) string {
	if i := strings.LastIndexAny(key, ".>"); i >= 0 && i+1 < len(key) && key[i+1] != ' ' {
		key = key[i+1:]
	}
	key, _, _ = strings.Cut(key, "[")
	return strings.NewReplacer("_", "", " ", "", "*", "").Replace(strings.ToLower(key))
}

// has reports whether one of the values under a key is the one that a peer has. known is set
// if there is such a key.
func (f facts) has(key string, want any) (known, ok bool) {
	for _, k := range append([]string{normal(key)}, strings.Fields(synonyms[normal(key)])...) {
		for _, got := range f[k] {
			known = true
			if equal(got, want) || same(got, want) {
				return true, true
			}
		}
	}
	return known, false
}

// same compares texts as peers show them: without colour codes, and with bytes beyond ASCII
// left out or replaced.
func same(got, want any) bool {
	plain := func(v any) string {
		in, out := fmt.Sprint(v), []byte(nil)
		for i := 0; i < len(in); i++ {
			switch {
			case in[i] == '^' && i+1 < len(in):
				i++
			case in[i] > ' ' && in[i] < 0x7f && in[i] != '?':
				out = append(out, in[i])
			}
		}
		return strings.ToLower(string(out))
	}
	if n, err := strconv.ParseUint(fmt.Sprint(want), 16, 32); err == nil && fmt.Sprint(got) == fmt.Sprint(n) {
		return true // a hash
	}
	w := plain(want)
	return w != "" && plain(got) == w
}

// synonyms are our keys for those of peers.
var synonyms = map[string]string{
	"hostname": "name svhostname", "servername": "name", "gqhostname": "name", "motdline1": "name", "buildid": "build", "gamedescr": "game", "moddesc": "game",
	"gamedir": "folder gamedir", "moddir": "folder", "gameid": "appid gameid", "id": "appid id index", "mapname": "map", "players": "numplayers name", "numplayers": "numplayers players",
	"clients": "numplayers numclients clients", "clientcount": "numclients", "currentplayers": "numplayers", "maxclients": "maxplayers svmaxclients maxclients", "max.players": "maxplayers", "maxplayers": "maxplayers maxclients",
	"bots": "numbots", "dedicated": "servertype", "environment": "os", "visibility": "password", "secure": "vac", "serverversion": "version", "hostport": "hostport port",
	"gameport": "port gameport", "frags": "score", "time": "duration time minutes", "steamid": "steamid", "extradataflags": "edf", "witnesscount": "witnesses", "witnesstime": "duration",
	"gametags": "keywords", "motdline2": "level", "gamemodenumeric": "gamemodenumber", "serveruid": "serverid", "portipv4": "port4", "portipv6": "port6",
	"servers": "servers", "colors": "topcolor bottomcolor", "entcount": "entcount", "buildname": "build", "game": "game gametype", "gametype": "gametype game",
}

// beside are keys of peers that are not about the message: addresses, the name of the test,
// what they computed.
func beside(path string) bool {
	key := path[strings.LastIndexByte(path, '/')+1:]
	for _, p := range []string{"gq_", "_", "call", "note", "header", "meaning", "entry_prefix", "separator", "ip", "cc", "list"} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return strings.HasSuffix(key, "_len") || slices.ContainsFunc(differs, func(end string) bool { return strings.HasSuffix(path, end) })
}

// differs are the ends of paths whose values peers have in another form.
var differs = []string{
	"/dlcs/name", "/maplist/name", "/server_type", "/environment", "->server_type", "->environment", "->edf", "/end", // names for numbers and letters
	"/time", "/type", ".14.13:27015/version", ":28004/version", "/teams/team", ":7777/players/name", ":27733/map", // texts made of them, or without a prefix
	":27016/port", ":49505/port", ":64299/port", // as numbers with a sign
	":12204/num_players", ":7777/num_players", // counted by the peer, which lost the list
	":27733/dedicated", ":5476/dedicated", ":5476/os", ":5476/port", // read at other places
	":27315/password",
}

// walk calls f for each value of a peer's document with its path.
func walk(path string, v any, f func(path string, v any)) {
	switch v := v.(type) {
	case nil:
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(path+"/"+k, v[k], f)
		}
	case []any:
		for _, e := range v {
			walk(path, e, f)
		}
	default:
		f(path, v)
	}
}

// TestCases plays the recorded replies in all forms of captures, and looks for everything
// that other clients read in them. Nothing under a key that both have may differ.
func TestCases(t *testing.T) {
	done, found, all := 0, 0, 0
	for _, c := range manifest(t) {
		if c.name() == "masterstat/quakeworld-master/servers_1" { // a hex dump of servers_0, as text
			continue
		}
		done++
		for i, form := range slices.Sorted(maps.Keys(forms)) {
			if (done+i)%thorough.Of(6, 1) != 0 {
				continue
			}
			t.Run(c.name()+"/"+form, func(t *testing.T) {
				lines := dissectAll(t, c.record(t, form))
				known(t, lines)
				if c.ExpectError {
					if n := severities(lines); n["error"]+n["warning"] == 0 {
						t.Errorf("no finding: %v", lines)
					}
					return
				}
				ours := facts{}
				for _, m := range messages(lines) {
					ours.add("", asPeers(m))
				}
				n, of := compareFacts(t, ours, load(t, &c))
				found, all = found+n, all+of
			})
		}
	}
	if done < 152 {
		t.Errorf("only %d cases", done)
	}
	if found*100 < all*85 {
		t.Errorf("only %d of %d values of peers were found", found, all)
	}
}

func compareFacts(t *testing.T, ours facts, want any) (found, all int) {
	t.Helper()
	walk("", want, func(path string, v any) {
		if beside(path) {
			return
		}
		all++
		switch known, ok := ours.has(path[strings.LastIndexByte(path, '/')+1:], v); {
		case ok:
			found++
		case known:
			t.Errorf("%s: nothing is %v (%T)", path, v, v)
		}
	})
	return found, all
}
