package all

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/dissect/valvemaster"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// askAll begins a request to a master server for the servers of all regions. The filter follows it.
const askAll = "1\xff0.0.0.0:0\x00"

// TestFilterDepth checks that groups are nested to the limit of docs/limits.md, and that deeper ones are
// reported.
func TestFilterDepth(t *testing.T) {
	for groups := range 11 {
		r := dissecttest.Decode(t, byName("valve-master"), []byte(askAll+strings.Repeat("\\nor\\1", groups)+"\\map\\a\x00"))
		list := r.Body.(*valvemaster.ServersRequest).Conditions
		found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type.ID == "master.filter.depth" })
		if last := list[len(list)-1]; found != (groups > 8) || !found && last != (valvemaster.Condition{Key: "map", Value: "a", Depth: groups}) {
			t.Errorf("%d groups: %+v at the end, found %v", groups, last, found)
		}
	}
}

// FuzzFilter checks that the conditions joined by backslashes are the filter, and that
// groups nest as their counts say.
func FuzzFilter(f *testing.F) {
	f.Add("\\gamedir\\cstrike\\nor\\2\\map\\a\\nand\\1\\secure\\1")
	f.Add("\\nor\\9\\nand\\-1\\x")
	f.Fuzz(func(t *testing.T, filter string) {
		filter = strings.ReplaceAll(filter, "\x00", "")
		m, err := valvemaster.Parse([]byte(askAll + filter + "\x00"))
		q, ok := m.(*valvemaster.ServersRequest)
		if err != nil && !strings.Contains(err.Error(), " conditions, but has ") || !ok || q.Filter != filter {
			t.Fatalf("%v, %+v", err, m)
		}
		var b strings.Builder
		for i, c := range q.Conditions {
			b.WriteString("\\" + c.Key + "\\" + c.Value)
			if c.Depth < 0 || c.Depth > 8 || i > 0 && c.Depth > q.Conditions[i-1].Depth+1 {
				t.Fatalf("depth %d: %+v", c.Depth, q.Conditions)
			}
			if i > 0 && c.Depth > q.Conditions[i-1].Depth && !slices.Contains([]string{"nor", "nand", "or", "and"}, q.Conditions[i-1].Key) {
				t.Fatalf("%s belongs to %s", c.Key, q.Conditions[i-1].Key)
			}
		}
		// The last code may lack a value, and the first backslash may be missing.
		want := strings.TrimPrefix(filter, "\\")
		if got := strings.TrimPrefix(b.String(), "\\"); got != want && got != want+"\\" {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestSeeds: a request goes on behind an address; what is no address is reported.
func TestSeeds(t *testing.T) {
	for s, want := range map[string]string{
		"0.0.0.0:0": "0.0.0.0:0", "192.0.2.1:27015": "192.0.2.1:27015", "255.255.255.255:65535": "255.255.255.255:65535", "[::1]:5": "[::1]:5",
		"": "", "1.2.3:4": "", "1.2.3.4": "", "1.2.3.4:": "", "1.2.3.256:1": "", "1.2.3.4:65536": "", "1.2.3.4:1 ": "", "1.2.3.4:1x": "",
		"a.b.c.d:1": "", "[::1:5": "", "1.2.3.4.5:1": "", "123456.1.1.1:1": "",
	} {
		r := dissecttest.Decode(t, byName("valve-master"), []byte("1\xff"+s+"\x00\x00"))
		q := r.Body.(*valvemaster.ServersRequest)
		ok := !slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type.ID == "master.seed" })
		if q.Seed != s || ok != (want != "") || ok && q.Address.String() != want || len(r.Findings) > 1 || len(r.Findings) > 0 && ok {
			t.Errorf("%q: %v, %v, %v", s, q.Address, q.Seed, r.Findings)
		}
	}
}

// TestFilterMeaning checks the explanations of codes and values.
func TestFilterMeaning(t *testing.T) {
	for payload, want := range map[string]string{
		askAll + "\\type\\d\\secure\\1\\map\\x\\nor\\1\\empty\\1\x00": "servers of this kind, dedicated, servers with anti-cheat (VAC), servers on this map, not those that match any of the next conditions, servers that are not empty",
		askAll + "\\secure\\0\\nonsense\\1\\type\\q\x00":              "servers of this kind",
		"0\n\\protocol\\48\\type\\l\\os\\w\\region\\-1\\map\\d\n":     "listen, Windows, rest of the world",
	} {
		r := dissecttest.Decode(t, byName("valve-master"), []byte(payload))
		var got []string
		for i := range r.Nodes {
			if n := &r.Nodes[i]; n.Field.Kind == dissect.String && n.Num != 0 {
				got = append(got, n.Field.NameOf(n.Num))
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: %q, want %q", payload, got, want)
		}
	}
}

// TestLists checks that only the lists of the newest clients are followed, over IPv6.
func TestLists(t *testing.T) {
	var k dissecttest.Keeper
	a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{byName("valve-master")}, Limits: dissect.Limits{Peers: 16}}, &k))(t)
	master := netip.MustParseAddrPort("198.51.100.10:27011")
	at := time.Unix(1600000000, 0)
	send := func(client, port int, payload string, reply bool) {
		d := dissect.Datagram{Frame: uint64(len(k.Records) + 1), Time: at, Dst: master, Payload: []byte(payload),
			Src: netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: byte(client)}), uint16(port))}
		if reply {
			d.Src, d.Dst = d.Dst, d.Src
		}
		a.Datagram(&d)
		at = at.Add(time.Millisecond)
	}
	for client := range 3 {
		send(client, 4000, askAll+"\x00", false)
		send(client, 4000, "\xff\xff\xff\xfff\n\xc0\x00\x02\x01\x69\x87\xc0\x00\x02\x02\x69\x88", true)
	}
	if s := a.Inner(core.Only{}).State(); s.Lists != 2 || a.Stats().PeersEvicted == 0 {
		t.Errorf("%+v, %+v", s, a.Stats())
	}
	for client := range 3 {
		send(client, 4001, "1\xff192.0.2.2:27016\x00\x00", false)
		if last := &k.Records[len(k.Records)-1]; (len(last.Findings) > 0) != (client > 0) {
			t.Errorf("client %d: %v", client, last.Findings)
		}
	}
}
