package valvemaster

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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
	one3  = "\xc0\x00\x02\x03\x69\x89"
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

func ExampleParse() {
	m, err := Parse([]byte("1\x030.0.0.0:0\x00\\gamedir\\cstrike\\nor\\2\\map\\de_dust\\map\\de_aztec\\secure\\1\x00"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range m.(*ServersRequest).Conditions {
		fmt.Println(strings.Repeat("  ", c.Depth)+c.Key, c.Value)
	}
	// Output:
	// gamedir cstrike
	// nor 2
	//   map de_dust
	//   map de_aztec
	// secure 1
}

func TestParse(t *testing.T) {
	m, err := Parse([]byte(header + "f\n" + one1 + one2 + zero))
	want := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("192.0.2.2:27016")}
	if l, ok := m.(*ServersReply); err != nil || !ok || !slices.Equal(l.Servers, want) || !l.End {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = Parse([]byte(header + "f\n\x7f\xef\xbe\xad\xde\x08" + one1))
	if l, ok := m.(*ServersReply); err != nil || !ok || !slices.Equal(l.Servers, want[:1]) || l.End || l.Key != dissect.Some(uint32(0xdeadbeef)) {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = Parse([]byte(header + "f\n" + six + zero + zero + zero))
	if l, ok := m.(*ServersReply); err != nil || !ok || len(l.Servers) != 1 || l.Servers[0].String() != "[2001:db8::1]:27015" || !l.End {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = Parse([]byte(header + "f\r\x65\x00\x00\x00" + one1))
	if l, ok := m.(*ServersReply); err != nil || !ok || !slices.Equal(l.Servers, want[:1]) || l.End || l.Cursor != dissect.Some(uint32(101)) {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = Parse([]byte(header + "F\rgamedir\x00tfc\x00is\x0020\x00ip\x0030\x00end\x00end\x00gamedir\x00dod\x00is\x001\x00ip\x00\x00end\x00end\x00more-in-list\x00"))
	if l, ok := m.(*ModsReply); err != nil || !ok || !slices.Equal(l.Mods, []Mod{{"tfc", 20, 30}, {"dod", 1, 0}}) || !l.More {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = Parse([]byte(header + "s\n\x02\xd2"))
	var e *dissect.Error
	if !errors.As(err, &e) || err.Error() != "valve-master.challenge: 2 bytes at offset 6, 4 needed" {
		t.Errorf("%v", err)
	}
}

// TestHeartbeats recognises the engines by the order of the keys.
func TestHeartbeats(t *testing.T) {
	for payload, want := range map[string]struct {
		flavour   string
		challenge int32
	}{
		heartGoldSrc: {"GoldSrc", 1339895702}, heartSource: {"Source", 133961823}, heartOrange: {"Orange Box", 1959687399},
		heartXash:                           {"Xash3D", -5},
		"0\n\\challenge\\7\n":               {"", 7},
		"0\n\\challenge\\4294967295\n":      {"", -1},
		"a\n1234567\n5\n3\n45\ntfc\n\\a\\b": {"WON", 1234567},
	} {
		m, err := Parse([]byte(payload))
		if h, ok := m.(*Heartbeat); err != nil || !ok || h.Flavour != want.flavour || h.Challenge != dissect.Some(want.challenge) {
			t.Errorf("%q: %+v, %v", payload, m, err)
		}
	}
	got := dissecttest.Decode(t, Protocol(), []byte(heartOrange))
	if s := got.Server; s.Map.Value != "arena_badlands" || s.Game.Value != "tf" || s.Version.Value != "1.0.4.3" || s.Players != dissect.Some(1) ||
		s.MaxPlayers != dissect.Some(4) || s.Bots != dissect.Some(0) || s.Password != dissect.Some(false) || s.Name.OK {
		t.Errorf("%+v", s)
	}
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

// TestDetect rejects payloads that only begin like a message to a master.
func TestDetect(t *testing.T) {
	dissecttest.Detects(t, Protocol(), map[string]dissect.Verdict{
		"q":                                   dissect.Possible,
		"query\n\x00":                         dissect.No, // Quake 2's master
		"b\n":                                 dissect.Possible,
		"b":                                   dissect.No,
		"bx":                                  dissect.No,
		"s":                                   dissect.No, // All-Seeing Eye
		"0\n":                                 dissect.No,
		"0\n\\":                               dissect.No,
		"0\n\\protocol\\":                     dissect.Certain,
		"a\n12\n3\n":                          dissect.No, // QuakeWorld's heartbeat
		"1":                                   dissect.No,
		"1\xff":                               dissect.No,
		"1\xff0.0.0.0:0":                      dissect.No,
		"12345":                               dissect.No,
		"1\x39\x30\x00\x00":                   dissect.Possible, // WON
		"123456":                              dissect.No,
		"1\xff0.0.0.0:0\x00hello":             dissect.Likely,
		"e\x00\x00":                           dissect.No,
		"hello":                               dissect.No,
		"vx":                                  dissect.No,
		header + "f\nx":                       dissect.Likely,
		header + "fstd\x01":                   dissect.No, // Teeworlds
		header + "s":                          dissect.No,
		header + "status\n":                   dissect.No,
		header + "i":                          dissect.No, // A2S
		header + "q":                          dissect.No,
		header + "j":                          dissect.Possible,
		header + "j\x00":                      dissect.Possible,
		header + "j0000":                      dissect.No,
		header + "l\nText":                    dissect.Possible,
		header + "lText":                      dissect.No,
		header + "d\n" + one1:                 dissect.Possible, // also QuakeWorld's master
		header + "disconnect":                 dissect.No,
		header + "hello":                      dissect.No,
		header + "\x00\x40\x18\x01":           dissect.No, // RDP over UDP
		header + "1\xff0.0.0.0:0\x00\x00":     dissect.Certain,
		header + "0\n\\protocol\\47\\players": dissect.Certain,
		"\xff\xff\xff":                        dissect.No,
		"":                                    dissect.No,
	})
	if n := testing.AllocsPerRun(20, func() {
		for _, s := range [...]string{start + "\\a\\b", "1\xff[::1]:5\x00", "1\xff0.0.0.0:0", heartGoldSrc} {
			Detect([]byte(s[:min(len(s), detectBytes)])[:])
		}
	}); n > 4 { // the conversions
		t.Errorf("%v allocations", n)
	}
}

// conversation plays datagrams between a client and a master.
func conversation(t *testing.T, lines ...string) []dissecttest.Kept {
	t.Helper()
	var k dissecttest.Keeper
	dissecttest.Talk(t, Protocol(), &k, 27011, lines...)
	return k.Records
}

func findingTexts(r *dissecttest.Kept) (list []string) {
	for i := range r.Findings {
		list = append(list, string(r.Findings[i].AppendText([]byte(r.Findings[i].Type.ID+": "))))
	}
	return list
}

// TestListing follows a list over its pages, interleaved with another list.
func TestListing(t *testing.T) {
	got := conversation(t,
		">"+start+"\x00",
		"<"+header+"f\n"+one1+one2,
		">1\xff192.0.2.2:27016\x00\x00",
		">"+start+"\\gamedir\\tf\x00",
		"<"+header+"f\n"+one3,
		"<"+header+"f\n"+zero,
		">1\xff192.0.2.3:27017\x00\x00",
		"<"+header+"f\n"+one2+zero,
		">1\xff192.0.2.7:27015\x00\x00", // continues from an unknown address
		"<"+header+"f\n"+one2+zero,
	)
	if len(got) != 10 {
		t.Fatalf("%d messages", len(got))
	}
	for i, request := range map[int]uint64{1: 1, 4: 3, 5: 4, 7: 7, 9: 9} {
		if got[i].RequestFrame != request {
			t.Errorf("frame %d answers %d, want %d", i+1, got[i].RequestFrame, request)
		}
	}
	if f := findingTexts(&got[8]); !slices.Equal(f, []string{"master.seed.elsewhere: the seed is not the last address of this client's newest page, in frame 8"}) {
		t.Errorf("%q", f)
	}
	if f := findingTexts(&got[7]); !slices.Equal(f, []string{"master.listing: end of the list: 4 servers in 3 replies; the first request is frame 1"}) {
		t.Errorf("%q", f)
	}
	for _, i := range []int{1, 4, 5, 9} {
		if f := findingTexts(&got[i]); len(f) != 0 {
			t.Errorf("frame %d: %q", i+1, f)
		}
	}
}

// TestPages follows lists over sockets, filters, regions and pauses. A line is the
// client's port, the direction and the payload; "wait" is a minute.
func TestPages(t *testing.T) {
	const (
		ask     = ">" + start
		next    = ">1\xff192.0.2.2:27016\x00"
		pageOne = "<" + header + "f\n" + one1 + one2
		pageTwo = "<" + header + "f\n" + one3
	)
	many := func(n int, line string) (lines []string) {
		for i := range n {
			lines = append(lines, fmt.Sprintf("%04d%s", 5000+i, line))
		}
		return lines
	}
	for _, tc := range []struct {
		name  string
		lines []string
		want  string // ids by frame
	}{
		{"one socket", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000" + next + "\x00", "4000" + pageTwo}, ""},
		{"two sockets", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + next + "\x00", "4001" + pageTwo}, "3 master.socket 2"},
		{"three sockets", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + next + "\x00", "4001" + pageTwo,
			"4002>1\xff192.0.2.3:27017\x00\x00", "4002" + pageOne}, "3 master.socket 2, 5 master.socket 3, 6 master.restart"},
		{"back to the first socket", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + next + "\x00", "4001" + pageTwo,
			"4000>1\xff192.0.2.3:27017\x00\x00"}, "3 master.socket 2, 5 master.socket 2"},
		{"the master begins again", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + next + "\x00", "4001" + pageOne}, "3 master.socket 2, 4 master.cursor_repeat, 4 master.restart"},
		{"another address", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000>1\xff192.0.2.1:27015\x00\x00", "4000" + pageTwo}, "3 master.seed.elsewhere"},
		{"another address from another socket", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001>1\xff192.0.2.1:27015\x00\x00"}, "3 master.seed.elsewhere"},
		{"another filter", []string{"4000" + ask + "\\map\\a\x00", "4000" + pageOne, "4000" + next + "\\map\\b\x00"}, "3 master.filter.changed"},
		{"another region", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000>1\x03192.0.2.2:27016\x00\x00"}, "3 master.region.changed"},
		{"all at once", []string{"4000" + ask + "\x00", "4000" + pageOne, "wait", "4001>1\x03192.0.2.2:27016\x00\\map\\b\x00"},
			"3 master.filter.changed, 3 master.region.changed, 3 master.slow, 3 master.socket 2"},
		{"minutes later", []string{"4000" + ask + "\x00", "4000" + pageOne, "wait", "wait", "4000" + next + "\x00", "4000" + pageTwo + zero}, "3 master.slow, 4 master.listing"},
		{"hours later", append(append([]string{"4000" + ask + "\x00", "4000" + pageOne}, slices.Repeat([]string{"wait"}, 61)...), "4001"+next+"\x00"), ""},
		{"two clients behind one address", []string{"4000" + ask + "\x00", "4001" + ask + "\x00", "4000" + pageOne, "4001" + pageOne,
			"4000" + next + "\x00", "4001" + next + "\x00", "4001" + pageTwo, "4000" + pageTwo}, ""},
		{"two clients, one page not captured", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + ask + "\x00", "4001" + next + "\x00"}, ""},
		{"two clients, one done before", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000" + next + "\x00", "4000" + pageTwo, "4001" + next + "\x00"}, ""},
		{"many clients behind one address", append(append(append([]string{"4000" + ask + "\x00", "4000" + pageOne}, many(9, ask+"\x00")...), many(9, pageOne)...), "4000"+next+"\x00"), ""},
		{"a page not captured", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000" + next + "\x00", "4000>1\xff192.0.2.9:27015\x00\x00"}, ""},
		{"begins in the middle", []string{"4000" + next + "\x00", "4000" + pageTwo}, ""},
		{"asked for again", []string{"4000" + ask + "\x00", "4000" + pageOne, "4000" + next + "\x00", "4000" + next + "\x00", "4000" + pageTwo}, "4 request.retransmission"},
		{"a list anew", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + ask + "\x00", "4001" + pageOne}, ""},
		{"over IPv6", []string{"4000" + ask + "\x00", "4000" + pageOne, "4001" + next + "\x00", "4001" + pageTwo}, "3 master.socket 2"},
		{"numbers of WON", []string{"4000>e\x00\x00\x00\x00", "4000<" + header + "f\r\x07\x00\x00\x00" + one1, "4001>e\x07\x00\x00\x00", "4001<" + header + "f\r\x00\x00\x00\x00" + one2}, ""},
	} {
		var k dissecttest.Keeper
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, &k))(t)
		client, master := "192.0.2.20", "198.51.100.10:27011"
		if tc.name == "over IPv6" {
			client, master = "2001:db8::20", "[2001:db8::10]:27011"
		}
		at := time.Unix(1600000000, 0)
		frame := uint64(0)
		for _, l := range tc.lines {
			if l == "wait" {
				at = at.Add(time.Minute)
				a.Advance(at)
				continue
			}
			frame++
			port, _ := strconv.Atoi(l[:4])
			d := dissect.Datagram{Frame: frame, Time: at, Src: netip.AddrPortFrom(netip.MustParseAddr(client), uint16(port)),
				Dst: netip.MustParseAddrPort(master), Payload: []byte(l[5:])}
			if l[4] == '<' {
				d.Src, d.Dst = d.Dst, d.Src
			}
			a.Datagram(&d)
			at = at.Add(20 * time.Millisecond)
		}
		var ids []string
		for _, r := range k.Records {
			for _, f := range r.Findings {
				id := fmt.Sprintf("%d %s", r.Frame, f.Type.ID)
				if f.Type == newSocket {
					_, n, _ := strings.Cut(string(f.AppendText(nil)), "over ")
					id += " " + n[:1]
				}
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		if got := strings.Join(ids, ", "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
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

// TestLists checks that only the lists of the newest clients are followed.
func TestLists(t *testing.T) {
	var k dissecttest.Keeper
	a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}, Limits: dissect.Limits{Peers: 16}}, &k))(t)
	master := netip.MustParseAddrPort("198.51.100.10:27011")
	at := time.Unix(1600000000, 0)
	send := func(client, port int, payload string, reply bool) {
		d := dissect.Datagram{Frame: uint64(len(k.Records) + 1), Time: at, Dst: master, Payload: []byte(payload),
			Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(client)}), uint16(port))}
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
			t.Errorf("client %d: %q", client, findingTexts(last))
		}
	}
}

func TestCursorRepeat(t *testing.T) {
	got := conversation(t, ">"+start+"\x00", "<"+header+"f\n"+one1, ">1\xff192.0.2.1:27015\x00\x00", "<"+header+"f\n"+one1)
	if f := findingTexts(&got[3]); !slices.Equal(f, []string{"master.cursor_repeat: ends with the address from which the request continues"}) {
		t.Errorf("%q", f)
	}
}

// TestChallenge compares heartbeats with the challenges given.
func TestChallenge(t *testing.T) {
	heartbeat := func(n int32) string { return fmt.Sprintf(">0\n\\protocol\\48\\challenge\\%d\n", n) }
	challenge := func(n int32) string {
		return "<" + header + "s\n" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	got := conversation(t, ">q", challenge(-7), heartbeat(-7), heartbeat(5), challenge(9), heartbeat(9))
	if len(got) != 6 || got[1].RequestFrame != 1 {
		t.Fatalf("%+v", got)
	}
	for i, want := range map[int]int{2: 0, 3: 1, 5: 0} {
		n := 0
		for _, f := range got[i].Findings {
			if f.Type == challengeMismatch {
				n++
			}
		}
		if n != want {
			t.Errorf("frame %d: %q", i+1, findingTexts(&got[i]))
		}
	}
}
