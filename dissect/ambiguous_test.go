package dissect_test

import (
	"net/netip"
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
