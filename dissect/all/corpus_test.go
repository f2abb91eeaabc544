// This file compares the dissection of recorded replies of real servers with the
// results of other clients. The recordings are not part of the project. Tests skip if
// they are missing.
package all_test

import (
	"bytes"
	"cmp"
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
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
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
	port := cmp.Or(c.ServerPort, 27015)
	var out bytes.Buffer
	w, at := mkpcap.NewWriter(&out, f.o), time.Unix(1600000000, 0)
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
		send(nettext.Either(c.Proto == "master-valve" && c.Case == "quit", "c2s", "s2c"), b)
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
			if (done+i)%must.Try(6, 1) != 0 {
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

// A vector is what must come out of the datagrams of a protocol in vectors.jsonl, beside
// the corpus.
type vector struct {
	// protocol is our name of it, port one on which it is.
	protocol string
	port     uint16
	// keys are our names of what is expected: a field anywhere in the message, or
	// "list: field field …" for rows that are lists, or values if it is one field, or several of these behind bars, of
	// which the first that is there counts. Without an entry the name is ours.
	// "-" is what is told in another form. secret must not be in the output, error must be in the id of a finding.
	keys map[string]string
}

// vectors are those by the names in the file. Protocols that are not here are not read.
var vectors = map[string]vector{
	"bzflag": {"bzflag", 5154, map[string]string{"server": "-", "rogue": "-", "red": "-", "green": "-", "observer": "-"}}, // in the capture
	// The 3-byte address is bytes here, and an error without teams no finding.
	"cube2": {"cube", 28786, map[string]string{
		"clients": "num_players", "attrs": "attributes", "max": "max_players", "time": "time_left_s|time", "seconds": "time_left_s",
		"version": "extinfo_version", "cn": "id", "frags": "score", "name": "-", "ip": "-", "error": "error",
	}},
	"assaultcube": {"cube", 28764, map[string]string{"players": "num_players", "minutes": "time_left_min", "max": "max_players", "names": "players: name"}},

	"tribes":  {"tribes", 28001, map[string]string{"players": "num_players", "max": "max_players", "pings": "players: ping"}},
	"tribes2": {"tribes", 28000, map[string]string{"query": "query_version"}},
	"savage":  {"savage", 11235, map[string]string{"max": "max_players"}},

	"odamex":     {"odamex", 10666, nil},
	"zandronum":  {"zandronum", 10666, map[string]string{"maxclients": "max_clients", "players": "players: name score ping spectator bot minutes", "reason": "code_name"}},
	"teamspeak3": {"teamspeak3", 9987, map[string]string{"random": "-", "random_reversed": "-"}}, // a number here

	"lhmp":         {"lhmp", 27016, map[string]string{"players": "num_players", "max": "max_players"}},
	"armagetron":   {"armagetron", 4534, map[string]string{"users": "num_players", "max_users": "max_players"}},
	"satisfactory": {"satisfactory", 7777, map[string]string{"state": "state_name", "version": "changelist", "substates": "sub_states: id version"}},

	"chocolate-doom": {"chocolatedoom", 2342, map[string]string{"players": "num_players", "max": "max_players"}},

	"quakeworld-master": {"quakeworld-master", 27000, map[string]string{"players": "num_players"}},
	"quake2":            {"quake2", 27910, map[string]string{"hostname": "name", "players": "num_players", "max": "max_players"}},
	"quake2-master":     {"quake2-master", 27900, nil},
	"warfork":           {"quake2", 44400, map[string]string{"hostname": "name", "max": "max_players"}},

	"battleye":   {"battleye", 2306, map[string]string{"total": "-", "index": "-"}}, // said by the finding
	"darkplaces": {"quake3", 26000, map[string]string{"command": "command_line"}},
	"netquake":   {"netquake", 26000, map[string]string{"hostname": "name", "players": "num_players", "max": "max_players", "frags": "score", "seconds": "duration_s"}},

	"raknet": {"raknet", 19132, map[string]string{"protocol": "protocol_version", "server": "server_address", "client": "client_address"}},
	"samp":   {"samp", 7777, sampKeys},
	"openmp": {"samp", 7777, sampKeys},
	"vcmp":   {"samp", 8192, sampKeys},

	"teeworlds": {"teeworlds", 8303, map[string]string{
		"crc": "map_crc", "size": "map_size", "players": "num_players", "browser_token": "token", "skill": "skill_level", "max": "max_players",
		"clients": "num_clients",
	}},
	"teeworlds-master": {"teeworlds", 8300, nil},
	"openttd": {"openttd", 3979, map[string]string{
		"version": "format_version", "script": "script_version", "clients": "num_clients", "max": "max_clients", "landscape": "landscape_name",
	}},
	"openttd-master": {"openttd", 3978, nil},
	// The version is three numbers here, and the chunks are a set of bits.
	"mumble": {"mumble", 64738, map[string]string{"max": "max_users", "version": "-"}},
	"sqp":    {"sqp", 7787, map[string]string{"players": "num_players", "max": "max_players", "type": "game_type", "chunks": "-"}},
}

var sampKeys = map[string]string{"players": "num_players|players: id name score ping", "max": "max_players", "hostname": "name", "gamemode": "game_mode"}

func TestVectors(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "..", "reference", "vectors.jsonl"))
	if os.IsNotExist(err) {
		t.Skip("the vectors are not beside the project")
	}
	must.Do(t, err)
	done := map[string]bool{}
	for line := range bytes.Lines(b) {
		var row struct {
			Protocol, Name, Dir, Hex string
			Expect                   object
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		must.Do(t, d.Decode(&row))
		v, ok := vectors[row.Protocol]
		if !ok {
			continue
		}
		done[row.Protocol] = true
		t.Run(row.Protocol+"/"+row.Name, func(t *testing.T) {
			payload := must.Get(hex.DecodeString(row.Hex))(t)
			src, dst := netip.MustParseAddrPort("192.0.2.20:40000"), netip.AddrPortFrom(netip.MustParseAddr("198.51.100.10"), v.port)
			if row.Dir == "s2c" {
				src, dst = dst, src
			}
			var out bytes.Buffer
			w := mkpcap.NewWriter(&out, mkpcap.Options{})
			w.UDP(time.Unix(1600000000, 0), src, dst, payload)
			list := messages(dissectAll(t, out.Bytes()))
			if len(list) != 1 || list[0]["protocol"] != v.protocol {
				t.Fatalf("%v, want one message of %s", list, v.protocol)
			}
			v.check(t, list[0], row.Expect)
		})
	}
	for name := range vectors {
		if !done[name] {
			t.Errorf("no vector of %s", name)
		}
	}
}

// check compares a message with what is expected.
func (v *vector) check(t *testing.T, m, want object) {
	t.Helper()
	all, f := must.Get(json.Marshal(m))(t), fields(m)
	findings := fmt.Sprint(m["findings"])
	for k, w := range want {
		if s, ok := w.(string); ok { // a remark
			w = strings.ReplaceAll(strings.TrimSuffix(s, " (cp1251)"), `\x1c`, "\x1c")
		}
		switch {
		case v.keys[k] == "-":
			continue
		case k == "secret":
			if bytes.Contains(all, []byte(w.(string))) {
				t.Errorf("%s has the secret %s", all, w)
			}
			continue
		case k == "error" && v.keys[k] == "":
			if !strings.Contains(findings, w.(string)) {
				t.Errorf("no finding of %s: %s", w, findings)
			}
			continue
		}
		var got any
		ok := false
		for key := range strings.SplitSeq(cmp.Or(v.keys[k], k), "|") {
			key, columns, isTable := strings.Cut(key, ": ")
			if got, ok = find(f, key); !ok {
				if got, ok = find(object{"server": m["server"]}, key); !ok {
					continue
				}
			}
			if list, isList := got.([]any); isList && isTable {
				for i := range list {
					cells := columnsOf(list[i].(object), strings.Fields(columns))
					if list[i] = cells; len(cells) == 1 {
						list[i] = cells[0]
					}
				}
			} else if _, isNumber := w.(json.Number); isList && isNumber {
				got = len(list)
			}
			break
		}
		if !ok || !equal(got, w) {
			t.Errorf("%s: %v, want %v, in %s", k, got, w, all)
		}
	}
}

// find looks for a field in a message, at any depth.
func find(o object, key string) (any, bool) {
	if v, ok := o[key]; ok {
		return v, true
	}
	for _, v := range o {
		if inner, ok := v.(object); ok {
			if v, ok := find(inner, key); ok {
				return v, true
			}
		}
	}
	return nil, false
}

func columnsOf(row object, names []string) []any {
	return nettext.Each(names, func(n string) any { return row[n] })
}

// Unread are the datagrams of the captures that no protocol reads, by their first
// bytes in hex, with the reason.
var unread = map[string]map[string]string{
	"openttd-tcp-udp": {
		"040009":               "says it has 4 bytes and has 3: servers ignore it",
		"03000000":             "says it has 3 bytes and has 4",
		"0b000700000000000000": "says it has 11 bytes and has 10",
	},
	"cube2":                  {"801027": "qstat asks the port after that of the infos, which nobody answers"},
	"raknet-open-connection": {"80": "a frame of the game", "c0": "acknowledges frames of the game"},
}

// Damaged are the datagrams that clients damaged on purpose, by frame.
var damaged = map[string][]string{"armagetronad": {"10"}}

// Unwritten are the captures of protocols that are not there yet.
var unwritten = map[string]string{"bzflag": "bzflag", "chocolate-doom": "chocolatedoom", "cube2": "cube", "cube2-server": "cube"}

// TestCapturesComplete checks that every datagram of every capture is recognised, or
// stands in the table.
func TestCapturesComplete(t *testing.T) {
	paths := must.Get(filepath.Glob(filepath.Join(captures, "*.pcap")))(t)
	if len(paths) == 0 {
		t.Skip("the captures of real servers are not beside the project")
	}
	names := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".pcap")
		names[name] = true
		t.Run(name, func(t *testing.T) {
			if p := unwritten[name]; p != "" && !slices.ContainsFunc(all.Protocols(), func(q *dissect.Protocol) bool { return q.Name == p }) {
				return
			}
			met := map[string]bool{}
			for _, l := range capture(t, name) {
				if l["type"] == "message" && l["protocol"] != "unknown" {
					if list, ok := l["findings"].([]any); ok && slices.ContainsFunc(list, func(f any) bool { return f.(object)["id"] == "malformed" }) &&
						!slices.Contains(damaged[name], fmt.Sprint(l["frame"])) {
						t.Errorf("frame %v is malformed: %v", l["frame"], l["summary"])
					}
				}
				if l["protocol"] != "unknown" {
					continue
				}
				found := false
				for start := range unread[name] {
					if strings.HasPrefix(l["data"].(string), start) {
						found, met[start] = true, true
					}
				}
				if !found {
					t.Errorf("frame %v, %v > %v, is not recognised: %v", l["frame"], l["src_port"], l["dst_port"], l["data"])
				}
			}
			for start, reason := range unread[name] {
				if !met[start] {
					t.Errorf("%s (%s) does not occur, or is recognised", start, reason)
				}
			}
		})
	}
	for name := range unread {
		if !names[name] {
			t.Errorf("there is no capture %s", name)
		}
	}
}

// captures is the folder with captures of real servers and clients.
var captures = filepath.Join("..", "..", "..", "shared", "captures")

// capture dissects one of them.
func capture(t *testing.T, name string) []object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name+".pcap"))
	if os.IsNotExist(err) {
		t.Skip("the captures of real servers are not beside the project")
	}
	must.Do(t, err)
	return dissectAll(t, b)
}

// known fails if a datagram is not recognised.
func known(t *testing.T, lines []object) {
	t.Helper()
	for _, l := range lines {
		if l["protocol"] == "unknown" {
			t.Errorf("frame %v is not recognised: %v", l["frame"], l["data"])
		}
	}
}
