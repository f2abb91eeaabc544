// Package corpus compares the dissection of recorded replies of real servers with the
// results of other clients. The recordings are not part of the project. Tests skip if
// they are missing.
package corpus

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// root is the folder with the recordings, relative to this package.
var root = filepath.Join("..", "..", "..", "shared", "corpus")

// A testCase is an entry of MANIFEST.json.
type testCase struct {
	Repo, Proto, Case, Game string
	ServerPort              uint16 `json:"server_port"`
	Requests                []struct {
		Hex, Dir  string
		Synthetic bool
		Before    int // negative if after the datagrams
	}
	Datagrams   []struct{ File, Role string }
	Expected    string
	ExpectError bool `json:"expect_error"`
}

func (c *testCase) name() string { return c.Repo + "/" + c.Proto + "/" + c.Case }

func manifest(t *testing.T) (cases []testCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "MANIFEST.json"))
	if os.IsNotExist(err) {
		t.Skip("the recorded replies are not beside the project")
	}
	must.Do(t, err)
	must.Do(t, json.Unmarshal(b, &cases))
	return cases
}

// forms are the ways to put a case into a capture.
var forms = map[string]struct {
	o  mkpcap.Options
	v6 bool
}{
	"plain":                {},
	"fragmented":           {o: mkpcap.Options{MTU: 576}},
	"fragmented, reversed": {o: mkpcap.Options{MTU: 576, Reverse: true}},
	"vlan":                 {o: mkpcap.Options{VLAN: 5}},
	"sll":                  {o: mkpcap.Options{Link: mkpcap.SLL}},
	"sll2, pcapng":         {o: mkpcap.Options{Link: mkpcap.SLL2, Ng: true}},
	"ipv6":                 {v6: true},
	"ipv6, fragmented":     {o: mkpcap.Options{MTU: 1280}, v6: true},
	"raw":                  {o: mkpcap.Options{Link: mkpcap.Raw}},
	"null, big-endian":     {o: mkpcap.Options{Link: mkpcap.Null, BigEndian: true}},
	"nanosecond":           {o: mkpcap.Options{Nano: true}},
	"big-endian pcapng":    {o: mkpcap.Options{Ng: true, BigEndian: true}},
}

// record writes the capture of a case.
func (c *testCase) record(t *testing.T, form string) []byte {
	t.Helper()
	f := forms[form]
	client, server := netip.MustParseAddr("192.0.2.20"), netip.MustParseAddr("198.51.100.10")
	if f.v6 {
		client, server = netip.MustParseAddr("2001:db8:2::20"), netip.MustParseAddr("2001:db8:1::10")
	}
	port := c.ServerPort
	if port == 0 {
		port = 27015
	}
	var out bytes.Buffer
	w := mkpcap.NewWriter(&out, f.o)
	at := time.Unix(1600000000, 0)
	send := func(dir string, payload []byte) {
		src, dst := netip.AddrPortFrom(client, 40000), netip.AddrPortFrom(server, port)
		if dir == "s2c" {
			src, dst = dst, src
		}
		w.UDP(at, src, dst, payload)
		at = at.Add(10 * time.Millisecond)
	}
	request := func(after bool) {
		for _, r := range c.Requests {
			if r.Before < 0 == after {
				b := must.Get(hex.DecodeString(r.Hex))(t)
				send(r.Dir, b)
			}
		}
	}
	request(false)
	for _, d := range c.Datagrams {
		b := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(d.File))))(t)
		dir := "s2c"
		if c.Proto == "master-valve" && c.Case == "quit" {
			dir = "c2s"
		}
		send(dir, b)
	}
	request(true)
	must.Do(t, w.Err())
	return out.Bytes()
}

type object = map[string]any

// dissectAll returns the JSON lines for a capture.
func dissectAll(t *testing.T, file []byte) (lines []object) {
	t.Helper()
	var out bytes.Buffer
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(file), Out: &out, All: true,
		Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		Trouble:  func(err error) { t.Errorf("trouble: %v", err) },
	})
	must.Do(t, err)
	d := json.NewDecoder(&out)
	d.UseNumber()
	for d.More() {
		var o object
		must.Do(t, d.Decode(&o))
		lines = append(lines, o)
	}
	return lines
}

// messages returns the messages of a protocol or its relatives, optionally only those
// with some names.
func messages(lines []object, names ...string) (list []object) {
	for _, l := range lines {
		if l["type"] == "message" && (len(names) == 0 || slices.Contains(names, fmt.Sprint(l["message"]))) {
			list = append(list, l)
		}
	}
	return list
}

// fields returns the fields of a message in the form of the peers: addresses as text,
// and numbers that JSON has as text under the name of the number.
func fields(m object) object {
	return asPeers(m[strings.ReplaceAll(m["protocol"].(string), "-", "_")]).(object)
}

func asPeers(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = asPeers(v[i])
		}
		return list
	case object:
		if ip, ok := v["ip"].(string); ok && len(v) == 2 && v["port"] != nil {
			return net.JoinHostPort(ip, fmt.Sprint(v["port"]))
		}
		o := object{}
		for k, e := range v {
			if base := strings.TrimSuffix(k, core.TextSuffix); v[base] == nil {
				k = base
			}
			o[k] = asPeers(e)
		}
		return o
	}
	return v
}

// equal compares a value with the expectation of a peer, which may be a number as
// text, a boolean as a number, or a float with fewer digits.
func equal(got, want any) bool {
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	if g == w {
		return true
	}
	switch {
	case g == "true" && w == "1", g == "false" && w == "0", g == "1" && w == "true", g == "0" && w == "false":
		return true
	}
	var a, b float64
	if n, _ := fmt.Sscanf(g, "%g", &a); n == 1 {
		if n, _ := fmt.Sscanf(w, "%g", &b); n == 1 {
			return a == b || math.Abs(a-b) < 1e-5*math.Abs(b)
		}
	}
	return false
}

func load(t *testing.T, c *testCase) (o object) {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(c.Expected))))(t)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	must.Do(t, d.Decode(&v))
	if list, ok := v.([]any); ok {
		return object{"list": list}
	}
	return v.(object)
}

// severities counts the findings of messages by severity.
func severities(lines []object) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		list, _ := l["findings"].([]any)
		for _, f := range list {
			n[f.(object)["severity"].(string)]++
		}
	}
	return n
}

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
