package valvemaster

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

func unhex(s string) string {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// The example packets of the document.
const (
	docAll  = `31 FF 30 2E 30 2E 30 2E 30 3A 30 00 00`
	docNapp = `31 ff 30 2e 30 2e 30 2e 30 3a 30 00 5c 6e 61 70 70 5c 35 30 30 00`

	heartGoldSrc = "0\n\\protocol\\47\\challenge\\1339895702\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike\n"
	heartSource  = "0\n\\protocol\\7\\challenge\\133961823\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\password\\0\\os\\l\\lan\\0\\region\\255\\type\\d\\secure\\0\\version\\1.0.0.28\\product\\cstrike\n"
	heartOrange  = "0\n\\protocol\\7\\challenge\\1959687399\\players\\1\\max\\4\\bots\\0\\gamedir\\tf\\map\\arena_badlands\\password\\0\\os\\w\\lan\\1\\region\\-1\\gametype\\arena\\type\\l\\secure\\0\\version\\1.0.4.3\\product\\tf\n"
	heartXash    = "0\n\\protocol\\49\\challenge\\-5\\players\\1\\max\\32\\bots\\0\\gamedir\\valve\\map\\crossfire\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\0.21\\region\\255\\product\\valve\\nat\\0"
)

const (
	one1  = "\xc0\x00\x02\x01\x69\x87" // 192.0.2.1:27015
	one2  = "\xc0\x00\x02\x02\x69\x88"
	start = "1\xff0.0.0.0:0\x00"
	zero  = "\x00\x00\x00\x00\x00\x00"
	six   = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x69\x87"
)

func samples() []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	cut := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	sound := func(s dissecttest.Sample, short ...int) dissecttest.Sample {
		for _, n := range short {
			s.Sound = append(s.Sound, len(s.Parts[0])-n)
		}
		return s
	}
	nested := start + "\\gamedir\\cstrike\\nor\\2\\map\\de_dust\\nand\\2\\secure\\1\\full\\1\\password\\0\x00"
	return []dissecttest.Sample{
		one("everything (document)", "servers_request", certain, unhex(docAll)),
		one("without Left 4 Dead (document)", "servers_request", certain, unhex(docNapp)),
		one("groups in groups", "servers_request", certain, nested),
		one("going on", "servers_request", certain, "1\x03192.0.2.2:27016\x00\\dedicated\\1\x00"),
		one("going on over IPv6", "servers_request", likely, "1\x03[2001:db8::1]:27016\x00\\gamedir\\valve\\clver\\0.21\\nat\\0\x00"),
		one("with header", "servers_request", certain, header+start+"\x00"),
		one("filter without its end", "servers_request", certain, start+"\\gamedir\\valve", "master.noterm"),
		one("no filter at all", "servers_request", certain, start, "master.noterm"),
		sound(one("more behind the filter", "servers_request", certain, start+"\\gamedir\\valve\x00\x00\x00", "trailing"), 2),
		one("codes that nobody knows", "servers_request", certain, start+"\\gamedir\\valve\\colour\\red\\Map\\x\x00", "master.filter.unknown", "master.filter.unknown"),
		one("a code without a value", "servers_request", certain, start+"\\gamedir\\valve\\secure\x00", "master.filter.odd"),
		one("a filter without its backslash", "servers_request", likely, start+"gamedir\\valve\x00", "master.filter.start"),
		one("a group of too many", "servers_request", certain, start+"\\nor\\3\\map\\a\\map\\b\x00", "master.filter.count"),
		one("a group of none", "servers_request", certain, start+"\\nand\\0\\map\\a\x00", "master.filter.count"),
		one("a group of nobody knows how many", "servers_request", certain, start+"\\nor\\many\\map\\a\x00", "master.filter.count"),
		one("groups without end", "servers_request", certain, start+strings.Repeat("\\nor\\1", 12)+"\\map\\a\x00", "*"),
		one("an unknown region", "servers_request", likely, "1\x2a0.0.0.0:0\x00\x00", "master.region"),
		one("a name for an address", "servers_request", possible, "1\xffhl1master.steampowered.com:27010\x00\x00", "master.seed"),
		sound(one("binary zeros for an address", "servers_request", possible, "1\xff"+zero+"\\appid\\221100\x00", "master.seed", "trailing"), 17),
		cut(one("WON, by number", "servers_request", possible, "1\x00\x00\x00\x00")),
		sound(one("WON, by number with filter", "servers_request", likely, "1\x64\x00\x00\x00\\gamedir\\tfc\x00"), 13),
		sound(one("WON, batch", "servers_request", possible, "e\x00\x00\x00\x00"), 1),
		one("WON, batch of qstat", "servers_request", possible, "e\x39\x30\x00"),
		cut(one("WON, all", "servers_request", possible, "c\n\x00")),

		sound(one("servers", "servers_reply", certain, header+"f\n"+one1+one2+zero), 6, 12),
		sound(one("servers, more to come", "servers_reply", certain, header+"f\n"+one1+one2), 6),
		one("no servers", "servers_reply", certain, header+"f\n"+zero),
		sound(one("servers, cut", "servers_reply", certain, header+"f\n"+one1+one2[:4], "master.len6"), 4),
		one("nothing", "servers_reply", certain, header+"f\n", "master.empty"),
		sound(one("servers behind the end", "servers_reply", certain, header+"f\n"+one1+zero+one2, "trailing"), 6, 12),
		sound(one("servers of Xash3D with a key", "servers_reply", certain, header+"f\n\x7f\xef\xbe\xad\xde\x08"+one1+zero), 6, 12, 18),
		cut(one("servers over IPv6", "servers_reply", certain, header+"f\n"+six+six+zero+zero+zero)),
		sound(one("WON, servers", "servers_reply", likely, header+"f\r\x65\x00\x00\x00"+one1+one2), 6, 12),
		sound(one("WON, last servers", "servers_reply", likely, header+"f\r\xff\xff\xff\xff"+one1), 6),
		sound(one("WON, all servers", "servers_reply", likely, header+"d\r"+one1+one2), 6, 12),

		cut(one("join", "join", possible, "q")),
		cut(one("join with a line", "join", possible, "q\n")),
		cut(one("join with a line and its end", "join", possible, "q\n\x00")),
		sound(one("join of Xash3D", "join", likely, "q\xff\x78\x56\x34\x12"), 4, 5),
		one("challenge", "challenge_reply", certain, header+"s\n\x02\xd2\x96\x49"),
		sound(one("challenge for Xash3D", "challenge_reply", certain, header+"s\n\x02\xd2\x96\x49\x78\x56\x34\x12"), 4),
		sound(one("heartbeat of GoldSrc (document)", "heartbeat", certain, heartGoldSrc)),
		one("heartbeat of Source (document)", "heartbeat", certain, heartSource),
		one("heartbeat of Orange Box (document)", "heartbeat", certain, heartOrange),
		one("heartbeat of Xash3D", "heartbeat", certain, heartXash, "master.heartbeat.noterm"),
		sound(one("heartbeat of something else", "heartbeat", likely, "0\n\\challenge\\7\\gamedir\\valve\n\x00"), 1),
		one("heartbeat without a challenge", "heartbeat", certain, "0\n\\protocol\\47\\gamedir\\valve\n", "master.challenge.missing"),
		one("heartbeat with an odd key", "heartbeat", certain, "0\n\\protocol\\47\\challenge\\5\\gamedir\n", "master.heartbeat.odd"),
		one("heartbeat with too many players", "heartbeat", certain, "0\n\\protocol\\47\\challenge\\5\\players\\5\\max\\4\\bots\\6\n", "master.heartbeat.counts"),
		cut(one("heartbeat of WON", "heartbeat", likely, "a\r\n1234567\r\n5\r\n3\r\n45\r\ntfc\r\n\\map\\2fort\\max\\16\\type\\d\r\n\x00")),
		cut(one("heartbeat of WON with an odd key", "heartbeat", likely, "a\n1234567\n5\n3\n45\ntfc\n\\map\n", "master.heartbeat.odd")),
		cut(one("quit of GoldSrc", "quit", possible, "b\n")),
		cut(one("quit of Source", "quit", possible, "b\n\x00")),
		cut(one("rejected", "reject", possible, header+"l\nBad challenge.\n\x00")),
		cut(one("restart", "restart", likely, header+"O\r\n\x00")),
		cut(one("ping", "ping_request", possible, "i")),
		cut(one("ping reply", "ping_reply", possible, header+"j\x00")),
		cut(one("ping reply of WON", "ping_reply", likely, header+"j\r\n\x00")),
		cut(one("message of the day, please", "motd_request", possible, "g\n")),
		cut(one("message of the day", "motd_reply", likely, header+"h\r\nWelcome to Half-Life\x00")),
		cut(one("masters, please", "masters_request", possible, "v\r\n1.1.1.0/4.1\r\nCSTRIKE\r\n\x00")),
		cut(one("masters, please, in short", "masters_request", possible, "v")),
		one("masters", "masters_reply", likely, header+"w\r"+one1+header+one1+one2+header+one2+header),
		one("masters, cut", "masters_reply", likely, header+"w\r"+one1+header+one1+one2[:3], "malformed"),
		one("out of date", "masters_reply", likely, header+"w\routofdate\x00"),
		one("mods, please", "mods_request", certain, "x\r\nstart-of-list\x00"),
		one("more mods, please", "mods_request", possible, "2\r\ntfc\x00"),
		one("mods, please, with all", "mods_request", certain, "Q\r\nstart-of-list\x00"),
		one("mods", "mods_reply", likely, header+"y\rcstrike\x001000\x002345\x00tfc\x0020\x0030\x00end-of-list\x00"),
		one("mods with keys", "mods_reply", likely, header+"F\rgamedir\x00tfc\x00is\x0020\x00ip\x0030\x00end\x00end\x00more-in-list\x00"),
		one("mods with bots", "mods_reply", likely, header+"P\rgamedir\x00tfc\x00is\x0020\x00ib\x002\x00ip\x0030\x00end\x00end\x00end-of-list\x00"),
		cut(one("refused", "nack", possible, "k\r\nbad packet\x00")),
		{Name: "unknown letter", Parts: [][]byte{[]byte("0123")[3:]}, Message: "unknown", Findings: []string{"master.type"}},
	}
}

func TestConformance(t *testing.T) {
	list := samples()
	// Only DecodeAs leads to an unknown letter.
	last := &list[len(list)-1]
	last.Parts[0] = []byte("\xff\xff\xff\xff\x05more")
	list[len(list)-1].Verdict = dissect.No
	dissecttest.Run(t, Protocol(), list)
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestFilterDepth checks that groups are nested to the limit, and that deeper ones are
// reported.
func TestFilterDepth(t *testing.T) {
	for groups := range maxDepth + 3 {
		r := dissecttest.Decode(t, Protocol(), []byte(start+strings.Repeat("\\nor\\1", groups)+"\\map\\a\x00"))
		list := r.Body.(*ServersRequest).Conditions
		found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == filterDepth })
		if last := list[len(list)-1]; found != (groups > maxDepth) || !found && last != (Condition{"map", "a", groups}) {
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
		m, err := Parse([]byte(start + filter + "\x00"))
		q, ok := m.(*ServersRequest)
		if err != nil && !strings.Contains(err.Error(), " conditions, but has ") || !ok || q.Filter != filter {
			t.Fatalf("%v, %+v", err, m)
		}
		var b strings.Builder
		for i, c := range q.Conditions {
			b.WriteString("\\" + c.Key + "\\" + c.Value)
			if c.Depth < 0 || c.Depth > maxDepth || i > 0 && c.Depth > q.Conditions[i-1].Depth+1 {
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

func TestSeeds(t *testing.T) {
	for s, want := range map[string]string{
		"0.0.0.0:0": "0.0.0.0:0", "192.0.2.1:27015": "192.0.2.1:27015", "255.255.255.255:65535": "255.255.255.255:65535", "[::1]:5": "[::1]:5",
		"": "", "1.2.3:4": "", "1.2.3.4": "", "1.2.3.4:": "", "1.2.3.256:1": "", "1.2.3.4:65536": "", "1.2.3.4:1 ": "", "1.2.3.4:1x": "",
		"a.b.c.d:1": "", "[::1:5": "", "1.2.3.4.5:1": "", "123456.1.1.1:1": "",
	} {
		a, ok := parseSeed(s)
		if ok != (want != "") || ok && a.String() != want {
			t.Errorf("%q: %v, %v", s, a, ok)
		}
	}
}

// TestMeaning checks the explanations of codes and values.
func TestMeaning(t *testing.T) {
	for payload, want := range map[string]string{
		start + "\\type\\d\\secure\\1\\map\\x\\nor\\1\\empty\\1\x00": "servers of this kind, dedicated, servers with anti-cheat (VAC), servers on this map, not those that match any of the next conditions, servers that are not empty",
		start + "\\secure\\0\\nonsense\\1\\type\\q\x00":              "servers of this kind",
		"0\n\\protocol\\48\\type\\l\\os\\w\\region\\-1\\map\\d\n":    "listen, Windows, rest of the world",
	} {
		r := dissecttest.Decode(t, Protocol(), []byte(payload))
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
	a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}, Limits: dissect.Limits{Peers: 16}}, &k))(t)
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
		send(client, 4000, start+"\x00", false)
		send(client, 4000, header+"f\n"+one1+one2, true)
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

// TestLimits checks the number of docs/limits.md.
func TestLimits(t *testing.T) {
	for groups, want := range map[int]bool{8: false, 9: true} {
		r := dissecttest.Decode(t, Protocol(), []byte(start+strings.Repeat("\\nor\\1", groups)+"\\map\\a\x00"))
		if found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == filterDepth }); found != want {
			t.Errorf("%d nested groups: found %v", groups, found)
		}
	}
}
