package dissect_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// What Minecraft and GameSpy 3 have in common, and what only one of them sends.
const (
	mcHandshake = "\xfe\xfd\x09\x01\x02\x03\x04"
	mcToken     = "\x09\x01\x02\x03\x049513307\x00"
	mcBasic     = "\xfe\xfd\x00\x01\x02\x03\x04\x00\x91\x29\x5b"
	mcFull      = mcBasic + "\x00\x00\x00\x00"
	gsQuery     = mcBasic + "\xff\xff\xff\x01" // as GameSpy 3 asks, and many clients of Minecraft
	gsBare      = "\xfe\xfd\x00\x01\x02\x03\x04\xff\xff\xff\x01"
	gsKeys      = mcBasic + "\x05\x01\x03\x05\x06\x02\x00\x00" // a list of keys
	gsKeysReply = "\x00\x01\x02\x03\x04A server\x00Karkand\x002\x0064\x0016567\x00"
	mcFullReply = "\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00A Minecraft Server\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00" +
		"version\x001.20.4\x00plugins\x00\x00map\x00world\x00numplayers\x000\x00maxplayers\x0020\x00hostport\x0025565\x00hostip\x00127.0.0.1\x00\x00" +
		"\x01player_\x00\x00\x00"
	mcBasicReply = "\x00\x01\x02\x03\x04A Minecraft Server\x00SMP\x00world\x002\x0020\x00\xdd\x63127.0.0.1\x00"
	gsReply      = "\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00A server\x00gamever\x002.5\x00mapname\x00de_dust\x00gametype\x00ctf\x00numplayers\x000\x00maxplayers\x0016\x00gamemode\x00open\x00\x00" +
		"\x01player_\x00\x00\x00\x00\x02team_t\x00\x00\x00\x00"
)

// TestMinecraftOrGameSpy plays conversations of the two protocols, whole and in
// pieces, on ports of nobody and on those of the other one: the conversation
// decides, then the port; if nothing does, both are named.
func TestMinecraftOrGameSpy(t *testing.T) {
	whole := map[string][]string{
		"minecraft, full stat": {mcHandshake, mcToken, mcFull, mcFullReply},
		"minecraft, basic":     {mcHandshake, mcToken, mcBasic, mcBasicReply},
		"minecraft, as gs3":    {mcHandshake, mcToken, gsQuery, mcFullReply},
		"gamespy3":             {mcHandshake, mcToken, gsQuery, gsReply},
	}
	ports := []string{"7777", "2302", "6500", "29900", "25565", "19132", "40000", "25575"}
	for name, payloads := range whole {
		for _, port := range ports {
			s := newScript(t, dissect.Config{})
			for i, p := range payloads {
				s.send([]string{">", "<"}[i%2]+"41000:"+port, p)
			}
			s.wait(time.Minute)
			want, _, _ := strings.Cut(name, ",")
			if len(s.lines) != 4 {
				t.Errorf("%s on port %s: %q", name, port, s.lines)
			}
			for i, line := range s.lines {
				f := strings.Fields(line)
				if len(f) < 4 || f[1] != want || strings.Contains(line, "!") || (i%2 == 1) != strings.Contains(line, "<-") {
					t.Errorf("%s on port %s: %s", name, port, line)
				}
			}
		}
	}

	const request, reply = " handshake_request header", " handshake_reply header"
	either := "minecraft|gamespy3"
	for _, c := range []struct {
		name  string
		port  string
		sends []string // > to the server, < from it
		want  []string
	}{
		{"request", "25575", []string{">" + mcHandshake},
			[]string{"1 " + either + request, "1 !mc.noreply"}},
		{"reply", "25575", []string{"<" + mcToken}, []string{"1 " + either + reply}},
		{"handshake", "25575", []string{">" + mcHandshake, "<" + mcToken},
			[]string{"1 " + either + request, "2 " + either + reply + " <- 1"}},
		{"two requests", "25575", []string{">" + mcHandshake, "<" + mcToken, ">" + gsQuery},
			[]string{"1 " + either + request, "2 " + either + reply + " <- 1", "3 " + either + " full_stat_request header", "3 !mc.noreply"}},
		{"again and again", "25575", []string{">" + mcHandshake, ".", ">" + mcHandshake},
			[]string{"1 " + either + request, "1 !mc.noreply", "2 " + either + request, "2 !mc.noreply"}},
		{"port of GameSpy 3", "6500", []string{">" + mcHandshake, "<" + mcToken},
			[]string{"1 gamespy3 handshake_request port", "2 gamespy3 handshake_reply port <- 1"}},
		{"port of Minecraft", "25565", []string{">" + mcHandshake},
			[]string{"1 minecraft handshake_request port", "1 !mc.noreply"}},
		{"handshake lost", "6500", []string{">" + gsQuery, "<" + mcFullReply},
			[]string{"1 minecraft full_stat_request reply", "2 minecraft full_stat_reply header <- 1"}},
		{"no challenge", "25575", []string{">" + gsBare, "<" + gsReply},
			[]string{"1 gamespy3 status_request header", "2 gamespy3 status_reply header <- 1"}},
		{"replies alone", "6500", []string{"<" + mcToken, "<" + mcFullReply},
			[]string{"1 minecraft handshake_reply reply", "2 minecraft full_stat_reply header"}},
		{"keys alone", "29900", []string{"<" + gsKeysReply}, []string{"1 unknown"}},
		{"keys alone, port of Minecraft", "25565", []string{"<" + gsKeysReply}, []string{"1 unknown"}},
		{"keys", "25565", []string{">" + mcHandshake, "<" + mcToken, ">" + gsKeys, "<" + gsKeysReply},
			[]string{"1 gamespy3 handshake_request reply", "2 gamespy3 handshake_reply reply <- 1", "3 gamespy3 status_request header", "4 gamespy3 status_reply"}},
		{"requests alone", "7777", []string{">" + mcHandshake, ">" + mcBasic},
			[]string{"1 minecraft handshake_request reply", "2 minecraft basic_stat_request header", "1 !mc.noreply", "2 !mc.noreply"}},
	} {
		s := newScript(t, dissect.Config{})
		for _, payload := range c.sends {
			if payload == "." {
				s.wait(time.Minute)
				continue
			}
			s.send(payload[:1]+"41000:"+c.port, payload[1:])
		}
		s.wait(time.Minute)
		ok := len(s.lines) == len(c.want)
		for i := range s.lines {
			ok = ok && strings.HasPrefix(s.lines[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: got:\n%s\nwant:\n%s", c.name, strings.Join(s.lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestServerDecides: what a server spoke with one client decides for the next.
func TestServerDecides(t *testing.T) {
	s := newScript(t, dissect.Config{})
	s.send(">41000:7777", mcHandshake)
	s.send("<41000:7777", mcToken)
	s.send(">41000:7777", mcBasic)
	s.lines = nil
	s.send(">42000:7777", mcHandshake)
	s.send("<42000:7777", mcToken)
	s.want("4 minecraft handshake_request server", "5 minecraft handshake_reply request <- 4 10ms")
}

// TestNotValve plays servers of other engines, on their ports and on one of
// Valve's: nothing they say gets a label of Valve's protocols. A ping and its
// reply are the same in Xash3D, which has the port.
func TestNotValve(t *testing.T) {
	const connect = single + "connect 28 1234 1447509101 \"\\name\\player\\password\\x\"\n"
	for name, sends := range map[string][]string{
		"Quake 2 info":       {">" + single + "info 34\n", "<" + single + "info\n        a server    q2dm1  1/ 8\n", "<" + single + "info\na server: wrong version\n"},
		"Quake 2 ack":        {">" + single + "ack", "<" + single + "ack"},
		"Quake 2 status":     {">" + single + "status\n", "<" + single + "print\n\\mapname\\q2dm1\n3 20 \"player\"\n"},
		"Xash3D":             {">" + single + "netinfo 49 0 5\n", "<" + single + "netinfo 49 0 \\hostname\\a server", ">" + single + "info 49\n", "<" + single + "info\n\\p\\49\\map\\crossfire\\dm\\1\\team\\0\\coop\\0\\numcl\\0\\maxcl\\8\\gamedir\\valve\\password\\0\\host\\a server"},
		"QuakeWorld":         {">" + connect, "<" + single + "j"},
		"QuakeWorld replies": {">" + single + "k\n", "<l", "<" + single + "n\x00", "<" + single + "nBad rcon_password.\n\x00", "<" + single + "c-1447509101\x00FTEX\x40\xf0\x40\x40"},
		"half a query":       {">" + single + "ping", "<" + single + "ack"},
	} {
		for _, port := range []string{"27500", "27910", "27015"} {
			s := newScript(t, dissect.Config{})
			for _, payload := range sends {
				s.send(payload[:1]+"41000:"+port, payload[1:])
			}
			s.wait(time.Minute)
			for _, line := range s.lines {
				switch {
				case strings.HasSuffix(line, " unknown"):
				case strings.HasPrefix(name, "Quake 2") && !(port == "27015" && name == "Quake 2 ack") && (strings.Contains(line, " quake2 ") || strings.Contains(line, " !q2.")):
				case name == "Xash3D" && (strings.Contains(line, " xash3d ") || strings.Contains(line, " !xash3d.")):
				case strings.HasPrefix(name, "QuakeWorld") && strings.Contains(line, " quakeworld "):
				case port == "27015" && (name == "half a query" || name == "Quake 2 ack") && strings.Contains(line, " xash3d text_ping_"):
				case name == "half a query" && port != "27015" && (strings.Contains(line, " quake") || strings.Contains(line, ".noreply")):
				default:
					t.Errorf("%s on port %s: %s", name, port, line)
				}
			}
		}
	}
	// The same letter is a reply where a ping waits for it.
	s := newScript(t, dissect.Config{})
	s.send(">41000:27500", single+"i")
	s.send("<41000:27500", single+"j")
	s.want("1 a2s ping_request header", "2 a2s ping_reply request <- 1 10ms")
}

// TestLayersBelow: what was noticed below a datagram changes nothing that is
// recognised, nor do IP fragments.
func TestLayersBelow(t *testing.T) {
	play := func(d dissect.Datagram) []string {
		s := newScript(t, dissect.Config{})
		d.Src, d.Dst = netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:9999")
		send := func(payload string) {
			d.Frame++
			if d.Frames != nil {
				d.Frames = []uint64{d.Frame, 100 + d.Frame}
			}
			d.Payload, d.Time = []byte(payload), s.now
			e := d
			s.a.Datagram(&e)
			d.Src, d.Dst = d.Dst, d.Src
		}
		send("s")
		send("EYE1\x04mta\x0622003\x05name\x05type\x04map\x041.6\x020\x020\x0332\x01")
		send(mcHandshake)
		send(mcToken)
		send(gsQuery)
		send(gsReply)
		s.a.Flush()
		for i, line := range s.lines {
			s.lines[i] = strings.ReplaceAll(line, " !packet.vlan", "")
		}
		return s.lines
	}
	plain := play(dissect.Datagram{})
	if len(plain) != 6 || !strings.Contains(plain[0], "ase status_request reply") {
		t.Fatalf("got %q", plain)
	}
	for name, d := range map[string]dissect.Datagram{
		"VLAN":      {Findings: []dissect.Finding{dissect.NewFinding(core.Tagged, dissect.Str("12"))}},
		"fragments": {Frames: []uint64{1, 2}},
	} {
		if got := play(d); strings.Join(got, "\n") != strings.Join(plain, "\n") {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(plain, "\n"))
		}
	}
}

// TestAllSeeingEyePorts: a single letter is a request on the port of a game and
// 123, and elsewhere if the reply says so.
func TestAllSeeingEyePorts(t *testing.T) {
	const reply = "EYE1\x04mta\x0630000\x05name\x05type\x04map\x041.6\x020\x020\x0332\x01"
	s := newScript(t, dissect.Config{})
	s.send(">41000:22136", "s")
	s.send(">41000:7900", "s")
	s.send(">41000:30000", "s")
	s.send(">41000:30123", "s")
	s.send("<41000:30123", reply)
	s.send("<41001:30123", reply)
	s.a.Flush()
	s.lines = slices.DeleteFunc(s.lines, func(l string) bool { return strings.Contains(l, "!ase.noreply") })
	s.want(
		"1 ase status_request port",
		"2 ase status_request port",
		"4 ase status_request reply",
		"5 ase status_reply header <- 4 10ms",
		"6 ase status_reply header",
		"3 unknown",
	)
}

// TestEchoedID: a request and a reply that are weak by themselves are one
// conversation if they are of one topic and carry the same id.
func TestEchoedID(t *testing.T) {
	const request = "\xfe\xfd\x00\x01\x02\x03\x04\x01\x01\x00\x00" // a list of one key, or a token
	for _, c := range []struct {
		name, reply, path string
		want              []string
	}{
		{"same id", "\x00\x01\x02\x03\x04A server\x00", "<41000:9999",
			[]string{"1 gamespy3 status_request reply", "2 gamespy3 status_reply request <- 1 10ms"}},
		{"another id", "\x00\x01\x02\x03\x05A server\x00", "<41000:9999",
			[]string{"1 minecraft|gamespy3 basic_stat_request header", "2 unknown"}},
		{"another client", "\x00\x01\x02\x03\x04A server\x00", "<41001:9999",
			[]string{"1 minecraft|gamespy3 basic_stat_request header", "2 unknown"}},
		{"from the client", "\x00\x01\x02\x03\x04A server\x00", ">41000:9999",
			[]string{"1 minecraft|gamespy3 basic_stat_request header", "2 unknown"}},
	} {
		s := newScript(t, dissect.Config{})
		s.send(">41000:9999", request)
		s.send(c.path, c.reply)
		s.a.Flush()
		if len(s.lines) == 3 {
			s.lines[2], _, _ = strings.Cut(s.lines[2], " basic")
		}
		if strings.Join(s.lines, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got %q, want %q", c.name, s.lines, c.want)
		}
	}
}
