package corpus

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

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
	"sqp": {"sqp", 7787, map[string]string{
		"players": "num_players", "max": "max_players", "type": "game_type", "chunks": "-",
	}},
}

var sampKeys = map[string]string{
	"players": "num_players|players: id name score ping", "max": "max_players", "hostname": "name", "gamemode": "game_mode",
}

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
	all := must.Get(json.Marshal(m))(t)
	f := fields(m)
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

func columnsOf(row object, names []string) (list []any) {
	for _, n := range names {
		list = append(list, row[n])
	}
	return list
}
