package quake3master

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	header   = "\xff\xff\xff\xff"
	response = header + "getserversResponse"
	extended = header + "getserversExtResponse"
	eot      = "\\EOT\x00\x00\x00"

	// Entries: address and port of servers.
	one   = "\x0a\x4d\x00\x01\x6d\x38" // 10.77.0.1:27960
	two   = "\xc0\x00\x02\x5c\x6d\x39" // 192.0.2.92:27961: a backslash within
	three = "\x45\x4f\x54\x07\x6d\x3a" // 69.79.84.7:27962: the letters EOT
	six   = "\xfd\x77\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x6d\x39"

	prefix = "\x00\x00\x00\x00\x04" // CoD4X
)

func samples() []dissecttest.Sample {
	const certain = dissect.Certain
	cuttable := func(name, message, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, certain, header+payload)
		s.Cut, s.Findings = true, findings
		return s
	}
	// A reply is complete after its word and after every entry. Its beginning is a
	// request.
	reply := func(name, payload string, step int, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, "servers_reply", certain, payload)
		s.Findings = findings
		s.Sound = []int{len(header + "getservers"), len(header + "getserversExt")}
		if step > 0 {
			for n := strings.Index(payload, "Response") + len("Response"); n < len(payload); n += step {
				s.Sound = append(s.Sound, n)
			}
		}
		return s
	}
	// The mark that ends the list may lose its zeros.
	marked := func(s dissecttest.Sample) dissecttest.Sample {
		n := len(s.Parts[0])
		s.Sound = append(s.Sound, n-3, n-2, n-1)
		return s
	}
	any := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	return []dissecttest.Sample{
		cuttable("getservers", "servers_request", "getservers 71 empty full"),
		cuttable("getservers with a new line", "servers_request", "getservers 68\n"),
		cuttable("getservers with a game", "servers_request", "getservers Nexuiz 3 empty full gametype=4\x00"),
		cuttable("getservers with blanks", "servers_request", "getservers  68   full  empty  \n\x00"),
		cuttable("getservers alone", "servers_request", "getservers"),
		cuttable("getservers in capitals", "servers_request", "GETSERVERS 68"),
		cuttable("getservers with bytes behind", "servers_request", "getservers 68 full\nmore", "trailing"),
		cuttable("getserversExt", "servers_request", "getserversExt Quake3Arena 71 empty full ipv6"),
		cuttable("heartbeat", "heartbeat", "heartbeat QuakeArena-1\n"),
		cuttable("heartbeat of DarkPlaces", "heartbeat", "heartbeat DarkPlaces\n"),
		cuttable("heartbeat with more", "heartbeat", "heartbeat COD-4 28960\n"),
		cuttable("flatline", "quit", "flatline COD-4\n"),
		cuttable("flatline of Enemy Territory", "quit", "heartbeat ETFlatline-1\n"),
		cuttable("flatline of CoD4X", "quit", "heartbeat CoD4dead\n"),

		marked(reply("servers", response+"\\"+one+"\\"+two+"\\"+two+eot, 7)),
		any(reply("a server whose address is the mark", response+"\\"+three+"\\"+one+eot, 7)),
		marked(reply("no servers", response+eot, 7)),
		reply("no mark at the end", response+"\\"+one+"\\"+two, 7),
		reply("a short mark at the end", response+"\\"+one+"\\EOT", 7),
		any(reply("Call of Duty", response+"\n\x00\\"+one+"\\"+two+"\\EOF", 0)),
		reply("fillers", response+"\\"+one+"\\\x00\x00\x00\x00\x6d\x38\\\xc0\x00\x02\x01\x00\x00", 7),
		any(reply("CoD4X", response+"\\"+prefix+one+"\\"+prefix+two, 12)),
		any(reply("CoD4X without marks", response+prefix+one+prefix+two, 11)),
		any(reply("no marks", response+one+two, 6)),
		any(reply("no marks, one at the end", response+one+two+"EOT", 6)),
		any(reply("Elite Force", response+"\\0a4d00016d38\\C000025C6D39\\ 7 f00 16d3a\\EOT", 0)),
		any(reply("Elite Force with bytes behind", response+"\\0a4d00016d38\\EOT"+strings.Repeat("\x00", 12), 0, "trailing")),
		any(reply("Tremulous", extended+"\x001\x002\x00featured\\"+one+"/"+six, 0)),
		any(reply("Tremulous without a label", extended+"\x002\x002\x00/"+six+eot, 0)),
		any(reply("IPv6", extended+"/"+six+"\\"+one+"/"+six+eot, 0)),
		reply("an entry cut", response+"\\"+one+"\\"+two[:4], 7, "q3master.cut"),
		any(reply("an IPv6 entry cut", extended+"/"+six+"/"+six[:12], 0, "q3master.cut")),
		any(reply("Elite Force, cut", response+"\\0a4d00016d38\\C000", 0, "q3master.cut")),
		any(reply("zeros behind the end", response+"\\"+one+"\\EOT"+strings.Repeat("\x00", 300), 7, "trailing")),
		any(reply("no entries", response+"\n Too many requests", 0, "malformed")),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

var (
	addrOne   = netip.MustParseAddrPort("10.77.0.1:27960")
	addrTwo   = netip.MustParseAddrPort("192.0.2.92:27961")
	addrThree = netip.MustParseAddrPort("69.79.84.7:27962")
	addrSix   = netip.MustParseAddrPort("[fd77::1]:27961")
)

func parse[T Message](t *testing.T, payload string) T {
	t.Helper()
	m, err := Parse([]byte(payload))
	if err != nil {
		t.Fatalf("%q: %v", payload, err)
	}
	return m.(T)
}

// TestReplies reads replies in all layouts.
func TestReplies(t *testing.T) {
	type servers = []netip.AddrPort
	for _, tc := range []struct {
		name, payload string
		want          servers
		fillers       int
		end           string
	}{
		{"nothing", response, nil, 0, ""},
		{"only the end", response + eot, nil, 0, "EOT"},
		{"Quake 3", response + "\\" + one + "\\" + two + eot, servers{addrOne, addrTwo}, 0, "EOT"},
		{"no end", response + "\\" + one + "\\" + two, servers{addrOne, addrTwo}, 0, ""},
		{"an address like the end", response + "\\" + three + "\\" + one, servers{addrThree, addrOne}, 0, ""},
		{"an address like the end, last", response + "\\" + one + "\\" + three, servers{addrOne, addrThree}, 0, ""},
		{"EOF", response + "\\" + one + "\\EOF", servers{addrOne}, 0, "EOF"},
		{"Call of Duty", response + "\n\x00\\" + one + "\\EOF", servers{addrOne}, 0, "EOF"},
		{"a blank", response + " \\" + one, servers{addrOne}, 0, ""},
		{"CoD4X", response + "\\" + prefix + one + "\\" + prefix + two, servers{addrOne, addrTwo}, 0, ""},
		{"CoD4X, an end", response + "\\" + prefix + one + "\\EOT", servers{addrOne}, 0, "EOT"},
		{"CoD4X without marks", response + prefix + one + prefix + two, servers{addrOne, addrTwo}, 0, ""},
		{"no marks", response + one, servers{addrOne}, 0, ""},
		{"no marks, four", response + one + two + three + one, servers{addrOne, addrTwo, addrThree, addrOne}, 0, ""},
		{"no marks, an end", response + one + two + "EOT\x00\x00\x00", servers{addrOne, addrTwo}, 0, "EOT"},
		{"hexadecimal", response + "\\0a4d00016d38\\c000025c6d39\\EOT", servers{addrOne, addrTwo}, 0, "EOT"},
		{"hexadecimal, blanks for zeros", response + "\\ a4d 0 16d38", servers{addrOne}, 0, ""},
		{"letters that are hexadecimal digits", response + "\\ABCDEF", servers{netip.MustParseAddrPort("65.66.67.68:17734")}, 0, ""},
		{"fillers", response + "\\" + one + "\\\x00\x00\x00\x00\x00\x00\\\x7f\x00\x00\x02\x00\x00", servers{addrOne}, 2, ""},
		{"IPv6", extended + "/" + six + "\\" + one + eot, servers{addrSix, addrOne}, 0, "EOT"},
		{"Tremulous", extended + "\x0012\x0013\x00\\" + one, servers{addrOne}, 0, ""},
	} {
		m := parse[*ServersReply](t, tc.payload)
		if !slices.Equal(m.Servers, tc.want) || m.Fillers != tc.fillers || m.End != tc.end {
			t.Errorf("%s: %+v", tc.name, m)
		}
	}
	m := parse[*ServersReply](t, extended+"\x0012\x0013\x00featured\x00/"+six)
	if m.Packet != 12 || m.Packets != 13 || m.Label != "featured" || !slices.Equal(m.Servers, []netip.AddrPort{addrSix}) {
		t.Errorf("%+v", m)
	}
	if _, err := Parse([]byte(response + "no servers here")); err == nil {
		t.Error("text passes for entries")
	}
}

func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		payload string
		want    ServersRequest
	}{
		{"getservers 68 full empty", ServersRequest{Protocol: "68", Filter: "full empty", Keywords: []dissect.KeyValue{{Key: "full"}, {Key: "empty"}}}},
		{"getservers 68\n", ServersRequest{Protocol: "68"}},
		{"getservers Nexuiz 3 gametype=4 empty\x00", ServersRequest{Game: "Nexuiz", Protocol: "3", Filter: "gametype=4 empty", Keywords: []dissect.KeyValue{{Key: "gametype", Value: "4"}, {Key: "empty"}}}},
		{"getserversExt 7thGame 71", ServersRequest{Extended: true, Game: "7thGame", Protocol: "71"}},
		{"getservers", ServersRequest{}},
	} {
		m := parse[*ServersRequest](t, header+tc.payload)
		if m.Extended != tc.want.Extended || m.Game != tc.want.Game || m.Protocol != tc.want.Protocol || m.Filter != tc.want.Filter || !slices.Equal(m.Keywords, tc.want.Keywords) {
			t.Errorf("%q: %+v", tc.payload, m)
		}
	}
	for payload, want := range map[string]Heartbeat{
		"heartbeat QuakeArena-1\n":   {Tag: "QuakeArena-1"},
		"heartbeat WolfFlatline-1\n": {Tag: "WolfFlatline-1", Quit: true},
		"heartbeat CoD4dead\n":       {Tag: "CoD4dead", Quit: true},
		"flatline COD-2\n":           {Tag: "COD-2", Quit: true},
	} {
		if m := parse[*Heartbeat](t, header+payload); *m != want {
			t.Errorf("%q: %+v", payload, m)
		}
	}
}

// TestWords accepts the words alone and rejects what only begins like them.
func TestWords(t *testing.T) {
	for payload, want := range map[string]dissect.Verdict{
		"getservers 68":                  dissect.Certain,
		"getservers\n":                   dissect.Certain,
		"getserversx":                    dissect.No,
		"getserversExt":                  dissect.Certain,
		"getserversExtx 68":              dissect.No,
		"getserversRespon":               dissect.No,
		"getserversResponse":             dissect.Certain,
		"getserversResponse\x7f\x00\x00": dissect.Certain,
		"getserversExtResponse/":         dissect.Certain,
		"heartbeat QuakeArena-1\n":       dissect.Certain,
		"heartbeat\n\\hostname\\noname":  dissect.No, // Quake 2
		"heartbeat \x01":                 dissect.No,
		"flatline COD-4":                 dissect.Certain,
		"servers \x7f\x00\x00\x01":       dissect.No, // Quake 2's master
		"getstatus":                      dissect.No,
		"infoResponse\n":                 dissect.No,
		"":                               dissect.No,
	} {
		if got := Detect([]byte(header + payload)); got != want {
			t.Errorf("%q: %v, want %v", payload, got, want)
		}
	}
	for _, payload := range []string{"", "\xff", "getservers 68", "\xff\xffgetServers\x00", "\xfe\xff\xff\xffgetservers 68", header + "\x00\x40getservers 68"} {
		if got := Detect([]byte(payload)); got != dissect.No {
			t.Errorf("%q: %v", payload, got)
		}
	}
}
