package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/games"
	"github.com/qdissect/qdissect/internal/must"
)

// queried asks a server, with little time between requests.
func queried(t *testing.T, o queryOptions, target string) (out string, code int) {
	t.Helper()
	var b, e bytes.Buffer
	o.every = 40 * time.Millisecond
	err := o.run(context.Background(), target, environment{in: strings.NewReader(""), out: &b, err: &e, getenv: func(string) string { return "" }})
	var s status
	if errors.As(err, &s) {
		code, err = int(s), nil
	}
	if err != nil {
		t.Errorf("%s: %v", target, err)
	}
	return b.String() + e.String(), code
}

// TestQuery: servers of captures answer what is asked in their protocol, the challenge included.
func TestQuery(t *testing.T) {
	for protocol, capture := range map[string]string{ // and one of its servers
		"a2s": "a2s/source.pcap 198.51.100.10:27015", "gamespy1": "gamespy1/games.pcap 198.51.100.11:23000", "gamespy2": "gamespy2/games.pcap 198.51.100.14:1717",
		"gamespy3": "gamespy3/games.pcap 198.51.100.13:2302", "minecraft": "minecraft/servers.pcap 198.51.100.10:25565", "raknet": "raknet/games.pcap 198.51.100.10:19132",
		"quake3": "quake3/games.pcap 198.51.100.16:27960", "quake2": "quake2/games.pcap 198.51.100.11:31510", "quakeworld": "quakeworld/games.pcap 198.51.100.11:26950",
		"samp": "samp/servers.pcap 198.51.100.10:7777", "ase": "ase/mta.pcap 198.51.100.10:22126", "unreal2": "unreal2/servers.pcap 198.51.100.10:7778",
		"doom3": "doom3/family.pcap 198.51.100.10:27666", "teeworlds": "teeworlds/games.pcap 198.51.100.10:8303", "mumble": "mumble/pings.pcap 198.51.100.10:64738",
	} {
		t.Run(protocol, func(t *testing.T) {
			name, server, _ := strings.Cut(capture, " ")
			s := startServe(t, 1, "--no-delay", "--server", server, testPcap(name))
			for _, at := range s.at {
				file := filepath.Join(t.TempDir(), "q.pcap")
				out, code := queried(t, queryOptions{protocol: protocol, write: file}, at)
				if code != exitDone || !strings.Contains(out, "←") {
					t.Errorf("%d %s%s", code, out, s.log.String())
				}
				if again, _, _ := runIn(t, ".", file); again == "" || !strings.HasPrefix(out, again) {
					t.Errorf("the file has\n%s", again)
				}
			}
		})
	}
}

// TestQueryTrouble: a closed port, and a server that says nothing, which is asked four times.
func TestQueryTrouble(t *testing.T) {
	c := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	for _, protocol := range []string{"a2s", "ase"} { // "s" alone may be anything
		out, code := queried(t, queryOptions{protocol: protocol}, c.LocalAddr().String())
		if code != exitUnclear && code != exitJudged || strings.Count(out, " → ") != leastAsked || !strings.Contains(out, " "+protocol+" ") {
			t.Errorf("%s: %d %s", protocol, code, out)
		}
	}
	c.Close()
	if out, code := queried(t, queryOptions{protocol: "a2s"}, c.LocalAddr().String()); code != exitJudged || !strings.Contains(out, "Nothing listens at "+c.LocalAddr().String()) {
		t.Errorf("%d %s", code, out)
	}
	for address, want := range map[string]string{"127.0.0.1:0": "answered from another port", "127.0.0.2:0": "answered from another address, 127.0.0.2"} {
		out, code := queried(t, queryOptions{protocol: "a2s"}, repliesFrom(t, address))
		if code != exitJudged || !strings.Contains(strings.ReplaceAll(out, "\n", " "), want) || strings.Contains(out, "firewall") {
			t.Errorf("%s: %d %s", address, code, out)
		}
	}
	for args, want := range map[string]string{
		"127.0.0.1":                          "which port? Use HOST:PORT, --game or --protocol",
		"127.0.0.1:":                         "which port? Use HOST:PORT, --game or --protocol",
		"127.0.0.1:1":                        "it is not known what clients of port 1 ask; --protocol names one of a2s, ",
		"--game nosuchgame 127.0.0.1":        `unknown game "nosuchgame"`,
		"--protocol a2s 127.0.0.1:99999":     "99999 is not a port",
		"--protocol a2s --game rust [::1]:1": "--protocol and --game cannot be combined",
	} {
		if _, stderr, code := runIn(t, ".", append([]string{"query"}, strings.Fields(args)...)...); code != exitTrouble || !strings.Contains(stderr, want) {
			t.Errorf("query %s: %d %s, want %s", args, code, stderr, want)
		}
	}
}

// TestRequests: what is asked are requests of its protocol, for all games that have one of these.
func TestRequests(t *testing.T) {
	n := 0
	for _, p := range all.Protocols() {
		for _, r := range games.Requests(p.Name) {
			for _, challenge := range []int32{-1, 0x12345678} {
				m, findings, err := dissect.Parse(p, r.To(someServer, challenge))
				if err != nil || m.Type == nil || m.Type.Role != dissect.Request || len(findings) > 0 {
					t.Errorf("%s %s: %v %v %v", p.Name, r, m.Type, findings, err)
				}
				if r.Challenged() && challenge > 0 && uint32(m.Pair.Value) != uint32(challenge) {
					t.Errorf("%s %s: challenge %x", p.Name, r, m.Pair.Value)
				}
			}
			n++
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "games", "requests.tsv"))
	if err != nil || strings.Count(string(text), "\n") != n || n < 20 {
		t.Errorf("%d requests of known protocols: %v", n, err)
	}
}

// repliesFrom starts a server that replies from another address or port, and returns that which is asked.
func repliesFrom(t *testing.T, address string) string {
	t.Helper()
	asked := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	other := must.Get(net.ListenPacket("udp", address))(t)
	t.Cleanup(func() { asked.Close(); other.Close() })
	go func() {
		for buf := make([]byte, 2048); ; {
			_, from, err := asked.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = other.WriteTo([]byte(infoReply), from)
		}
	}()
	return asked.LocalAddr().String()
}

// TestQueryFlooded: what a host sends without end is not kept.
func TestQueryFlooded(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	must.Do(t, err)
	defer c.Close()
	go func() {
		b := make([]byte, 60_000)
		_, from, err := c.ReadFrom(b)
		for err == nil {
			_, err = c.WriteTo(b, from)
			time.Sleep(time.Millisecond)
		}
	}()
	o := queryOptions{protocol: "a2s", every: 20 * time.Second}
	err = o.run(context.Background(), c.LocalAddr().String(), environment{in: strings.NewReader(""), out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }})
	if err == nil || err.Error() != "more than 4 MiB came: no game server sends so much" {
		t.Error(err)
	}
}

// TestTCP: connections are counted beside UDP and without it, in the summary and by why, with a port and without a server.
func TestTCP(t *testing.T) {
	for _, beside := range []bool{false, true} {
		f := new(film)
		if beside {
			f.answered(20, filmServer)
		}
		for i := range 3 {
			at := float64(i)
			f.tcp(at, askers(i), to(25565), 2)
			f.tcp(at+.1, to(25565), askers(i), []byte{0x12, 0x14, 0x12}[i]) // made, refused, made
		}
		name := f.write(t)
		if out, _, _ := runIn(t, ".", "-q", name); !strings.Contains(out, "6 packets to and from 1 server, not read: 3 connections tried, 2 made, 1 refused, 0 unanswered\n") {
			t.Errorf("%s", out)
		}
		for _, args := range [][]string{{"why", name}, {"why", to(25565).String(), name}} {
			out, errs, code := runIn(t, ".", args...)
			if asked := len(args) > 2; !beside || asked {
				if code != exitUnclear || !strings.HasPrefix(out, "Nobody asked 198.51.100.10:25565 over UDP;") || strings.Contains(out, "27015 (20 requests") != beside {
					t.Errorf("%v, beside %v: %d %s%s", args, beside, code, out, errs)
				}
			} else if code != exitDone || !strings.Contains(out, "answers, and nothing") {
				t.Errorf("%d %s%s", code, out, errs)
			}
		}
	}
}
