package serve

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

var (
	pcaps = filepath.Join("..", "..", "testdata", "pcaps")
	alice = netip.MustParseAddrPort("127.0.0.1:40000")
	bob   = netip.MustParseAddrPort("127.0.0.2:40000")
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// read learns from a capture of the project.
func read(t testing.TB, name string) []*Captured {
	t.Helper()
	src := must.Get(capture.Open(filepath.Join(pcaps, filepath.FromSlash(name))))(t)
	defer src.Close()
	list, _, err := Read(src, dissect.Config{Protocols: all.Protocols()})
	must.Do(t, err)
	return list
}

// one returns a server for the captured server at an address, or for the first one.
func one(t testing.TB, name, address string, o Options) *Server {
	t.Helper()
	for _, c := range read(t, name) {
		if address == "" || c.Address.String() == address {
			return New(c, o)
		}
	}
	t.Fatalf("%s: no server %s", name, address)
	return nil
}

// ask returns the only datagram of a reply.
func ask(t *testing.T, s *Server, from netip.AddrPort, now time.Time, request string, want Result) string {
	t.Helper()
	a := s.Answer(from, now, []byte(request))
	if a.Result != want {
		t.Fatalf("%q: %s, want %s", request, a.Result, want)
	}
	if want > Challenged {
		if len(a.Datagrams) > 0 {
			t.Fatalf("%q: %s with %d datagrams", request, a.Result, len(a.Datagrams))
		}
		return ""
	}
	if len(a.Datagrams) != 1 {
		t.Fatalf("%q: %d datagrams, want 1", request, len(a.Datagrams))
	}
	return string(a.Datagrams[0].Payload)
}

func TestDanceA2S(t *testing.T) {
	s := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{NoDelay: true})
	const challenged = "\xff\xff\xff\xffA"
	give := func(kind, challenge string) string {
		reply := ask(t, s, alice, noon, "\xff\xff\xff\xff"+kind+challenge, Challenged)
		if !strings.HasPrefix(reply, challenged) || len(reply) != 9 {
			t.Fatalf("challenge %q", reply)
		}
		return reply[5:]
	}
	c := give("U", "\xff\xff\xff\xff")
	if c == "\xff\xff\xff\xff" || c == "\x00\x00\x00\x00" {
		t.Errorf("challenge % x asks for one", c)
	}
	captured := binary.LittleEndian.AppendUint32(nil, uint32(0x100000000-1886206578))
	if c == string(captured) {
		t.Error("the captured challenge is given again")
	}
	if reply := ask(t, s, alice, noon, "\xff\xff\xff\xffU"+c, Answered); !strings.HasPrefix(reply, "\xff\xff\xff\xffD\x0a") {
		t.Errorf("players %q", reply)
	}
	// The challenge is valid for other queries, from other ports, for a while.
	other := netip.AddrPortFrom(alice.Addr(), 5)
	split := s.Answer(other, noon.Add(epoch), []byte("\xff\xff\xff\xffV"+c))
	if split.Result != Answered || len(split.Datagrams) != 4 {
		t.Errorf("rules: %s, %d datagrams", split.Result, len(split.Datagrams))
	}
	// It expires, it is not valid for other clients, and forged ones are invalid.
	if got := s.Answer(alice, noon.Add(3*epoch), []byte("\xff\xff\xff\xffU"+c)); got.Result != Challenged {
		t.Errorf("an old challenge: %s", got.Result)
	}
	if got := s.Answer(bob, noon, []byte("\xff\xff\xff\xffU"+c)); got.Result != Challenged {
		t.Errorf("somebody else's challenge: %s", got.Result)
	}
	if give("V", "\x01\x02\x03\x04") != c {
		t.Error("one client has two challenges at a time")
	}
	// Each reply has a new split id, the same in all its parts.
	again := s.Answer(alice, noon, []byte("\xff\xff\xff\xffV"+c))
	for i, d := range again.Datagrams {
		if id := string(d.Payload[4:8]); id == string(split.Datagrams[i].Payload[4:8]) || id != string(again.Datagrams[0].Payload[4:8]) {
			t.Errorf("part %d has the id % x", i, id)
		}
		if string(d.Payload[8:]) != string(split.Datagrams[i].Payload[8:]) {
			t.Errorf("part %d is another one", i)
		}
	}
	// In this capture, info needs no challenge. Padding is ignored.
	info := "\xff\xff\xff\xffTSource Engine Query\x00"
	for _, request := range []string{info, info + c, info + strings.Repeat("\x00", 1175)} {
		if reply := ask(t, s, alice, noon, request, Answered); !strings.HasPrefix(reply, "\xff\xff\xff\xffm") {
			t.Errorf("info %q", reply)
		}
	}
	ask(t, s, alice, noon, "\xff\xff\xff\xffdetails", Answered)
	ask(t, s, alice, noon, "\xff\xff\xff\xffTanother query\x00", NotCaptured)
	ask(t, s, alice, noon, "", NotCaptured)
}

// TestHandshakeMissing plays the handshake that the capture lacks.
func TestHandshakeMissing(t *testing.T) {
	s := one(t, "a2s/source.pcap", "198.51.100.12:2303", Options{NoDelay: true})
	c := ask(t, s, alice, noon, "\xff\xff\xff\xffV\xff\xff\xff\xff", Challenged)
	if !strings.HasPrefix(c, "\xff\xff\xff\xffA") || len(c) != 9 {
		t.Fatalf("challenge %q", c)
	}
	if reply := ask(t, s, alice, noon, "\xff\xff\xff\xffV"+c[5:], Answered); !strings.HasPrefix(reply, "\xff\xff\xff\xffE") {
		t.Errorf("rules %q", reply)
	}
}

func TestDanceMinecraft(t *testing.T) {
	s := one(t, "minecraft/gs4-nukkit.pcap", "", Options{NoDelay: true})
	reply := ask(t, s, alice, noon, "\xfe\xfd\x09\x0a\x0b\x0c\x0d", Challenged)
	var token uint32
	if _, err := fmt.Sscanf(reply, "\x09\x0a\x0b\x0c\x0d%d\x00", &token); err != nil || token == 0 || token >= 1<<24 {
		t.Fatalf("handshake %q: %v", reply, err)
	}
	c := string(binary.BigEndian.AppendUint32(nil, token))
	full := "\xfe\xfd\x00\x01\x02\x03\x04" + c + "\x00\x00\x00\x00"
	if reply := ask(t, s, alice, noon, full, Answered); !strings.HasPrefix(reply, "\x00\x01\x02\x03\x04splitnum\x00\x80\x00") {
		t.Errorf("full stat %q", reply)
	}
	if reply := ask(t, s, alice, noon, full[:11], Answered); !strings.HasPrefix(reply, "\x00\x01\x02\x03\x04qdissect ") {
		t.Errorf("basic stat %q", reply)
	}
	ask(t, s, bob, noon, full, NoChallenge)
	ask(t, s, alice, noon, full[:7]+"\x00\x00\x00\x01"+full[11:], NoChallenge)
}

func TestDanceGameSpy3(t *testing.T) {
	s := one(t, "gamespy3/gs-qr2-challenge.pcap", "", Options{NoDelay: true})
	reply := ask(t, s, alice, noon, "\xfe\xfd\x09abcd", Challenged)
	var n int32
	if _, err := fmt.Sscanf(reply, "\x09abcd%d\x00", &n); err != nil || n == 0 || n == -1591017602 {
		t.Fatalf("handshake %q: %v", reply, err)
	}
	status := "\xfe\xfd\x00efgh" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) + "\xff\xff\xff\x01"
	if reply := ask(t, s, alice, noon, status, Answered); !strings.HasPrefix(reply, "\x00efghsplitnum\x00\x80") {
		t.Errorf("status %q", reply)
	}
	ask(t, s, alice, noon, "\xfe\xfd\x00efgh\xff\xff\xff\x01", NoChallenge)
	// The capture has no separate request for players.
	ask(t, s, alice, noon, status[:11]+"\x00\xff\x00\x01", NotCaptured)
}

func TestDanceTeeworlds(t *testing.T) {
	s := one(t, "teeworlds/ddnet.pcap", "", Options{NoDelay: true})
	const ours = "\x0b\x0c\x0d\x0e"
	reply := ask(t, s, alice, noon, "\x04\x00\x00\xff\xff\xff\xff\x05"+ours+strings.Repeat("\x00", 508), Challenged)
	if !strings.HasPrefix(reply, "\x04\x00\x00"+ours+"\x05") || len(reply) != 12 {
		t.Fatalf("token %q", reply)
	}
	token := reply[8:]
	// The number in the request has another length than any in the capture.
	request := "\x21" + token + ours + "\xff\xff\xff\xffgie3\x81\x80\x01"
	if reply := ask(t, s, alice, noon, request, Answered); !strings.HasPrefix(reply, "\x21"+ours+token+"\xff\xff\xff\xffinf3\x81\x80\x010.7") {
		t.Errorf("info %q", reply)
	}
	ask(t, s, bob, noon, request, NoChallenge)
}

func TestDanceSQP(t *testing.T) {
	s := one(t, "sqp/servers.pcap", "198.51.100.11:9100", Options{NoDelay: true})
	reply := ask(t, s, alice, noon, "\x00\x00\x00\x00\x00", Challenged)
	if len(reply) != 5 || reply[0] != 0 || reply[1:] == "\x00\x00\x00\x00" {
		t.Fatalf("challenge %q", reply)
	}
	query := "\x01" + reply[1:] + "\x00\x01\x1f"
	a := s.Answer(alice, noon, []byte(query))
	if len(a.Datagrams) != 3 {
		t.Fatalf("%d packets", len(a.Datagrams))
	}
	for i, d := range a.Datagrams {
		if head := query[:7] + string([]byte{byte(i), 2}); !strings.HasPrefix(string(d.Payload), head) {
			t.Errorf("packet %d: %q", i, d.Payload)
		}
	}
	ask(t, s, bob, noon, query, NoChallenge)
}

func TestEchoes(t *testing.T) {
	for _, c := range []struct {
		name, capture, server, request string
		want                           []string // in the reply
		not                            []string
	}{
		{"gamespy1 echo", "gamespy1/gs1-qr1.pcap", "", `\echo\something else`, []string{`\something else`}, []string{"hello"}},
		{"quake3 challenge", "quake3/games.pcap", "198.51.100.10:12203", "\xff\xff\xff\xff\x02getstatus mine\x00", []string{`\challenge\mine\version\`}, []string{"xxx"}},
		{"quake3 no challenge", "quake3/games.pcap", "198.51.100.10:12203", "\xff\xff\xff\xff\x02getstatus\x00", []string{"statusResponse\n\\version\\"}, []string{"challenge"}},
		{"quake3 challenge where the capture has none", "quake3/q3-openarena.pcap", "", "\xff\xff\xff\xffgetstatus mine\n", []string{"statusResponse\n\\challenge\\mine\\"}, nil},
		{"teeworlds", "teeworlds/ddnet.pcap", "", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\xfe", []string{"inf3254\x000.6.4"}, nil},
		{"teeworlds of DDNet", "teeworlds/ddnet.pcap", "", "xe\xff\xfe\x00\x00\xff\xff\xff\xffgie3\xfd", []string{"iext16776957\x000.6.4"}, nil},
		{"teamspeak3", "teamspeak3/handshakes.pcap", "198.51.100.10:9987", "TS3INIT1\x00\x65\x00\x00\x88\x0d\xff\x00\x01\x00\x60\x00\x00\x01abcd\x00\x00\x00\x00\x00\x00\x00\x00", []string{"\xa9dcba"}, nil},
		{"zandronum", "zandronum/servers.pcap", "198.51.100.10:10666", "\xff\xc7\x00\x00\x00\xb9\x00\x18\x00time", []string{"\xff\x77\x5d\x56\x00time3.1-"}, nil},
		{"valve-master", "valve-master/valve-master-goldsrc.pcap", "", "1\xff0.0.0.0:0\x00\x00", []string{"\xff\xff\xff\xfff\n\x0a\x4d\x00"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := one(t, c.capture, c.server, Options{NoDelay: true})
			reply := ask(t, s, alice, noon, c.request, Answered)
			for _, w := range c.want {
				if !strings.Contains(reply, w) {
					t.Errorf("%q is not in %q", w, reply)
				}
			}
			for _, w := range c.not {
				if strings.Contains(reply, w) {
					t.Errorf("%q is in %q", w, reply)
				}
			}
		})
	}
}

func TestQueryID(t *testing.T) {
	s := one(t, "gamespy1/gs1-qr1-split.pcap", "", Options{NoDelay: true})
	seen := map[string]bool{}
	for range 12 {
		a := s.Answer(alice, noon, []byte(`\status\`))
		if len(a.Datagrams) != 4 {
			t.Fatalf("%d datagrams", len(a.Datagrams))
		}
		major := ""
		for i, d := range a.Datagrams {
			_, id, _ := strings.Cut(string(d.Payload), `\queryid\`)
			m, part, _ := strings.Cut(id, ".")
			if major == "" {
				major = m
			}
			if m != major || part != fmt.Sprint(i+1) {
				t.Errorf("part %d has the queryid %q, the first begins with %s", i, id, major)
			}
		}
		if seen[major] {
			t.Errorf("queryid %s again", major)
		}
		seen[major] = true
	}
}

func TestJoin(t *testing.T) {
	s := one(t, "valve-master/valve-master-goldsrc.pcap", "", Options{NoDelay: true})
	first := ask(t, s, alice, noon, "q", Challenged)
	if !strings.HasPrefix(first, "\xff\xff\xff\xffs\n") || len(first) != 10 {
		t.Errorf("challenge %q", first)
	}
	if other := ask(t, s, bob, noon, "q", Challenged); other == first {
		t.Error("two clients have the same challenge")
	}
}

// TestFilterKey queries the master of Xash3D with a new key.
func TestFilterKey(t *testing.T) {
	for _, c := range read(t, "valve-master/lists.pcap") {
		for _, a := range c.answers {
			q := a.exchanges[0].query
			at := slices.IndexFunc(q.chosen, func(l leaf) bool { return l.field.Key() == "reply_key" })
			if at < 0 {
				continue
			}
			if strings.Contains(a.key, `\key\`) {
				t.Errorf("the number is part of what is asked for: %q", a.key)
			}
			mine := *q
			mine.chosen = slices.Clone(q.chosen)
			mine.chosen[at].bytes = "\x04\x03\x02\x01"
			tk := a.exchanges[0]
			f := fill{query: &mine}
			got := f.rewrite(tk.datagrams[0].Payload, tk.edits[0])
			if !bytes.Contains(got, []byte("\x04\x03\x02\x01")) {
				t.Errorf("the number does not come back: % x", got[:min(len(got), 24)])
			}
			return
		}
	}
	t.Error("no list with a number in the capture")
}

// datagrams returns all datagrams of a capture.
func datagrams(t testing.TB, path string) (list []dissect.Datagram) {
	src := must.Get(capture.Open(path))(t)
	defer src.Close()
	d := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
	var f capture.Frame
	var in packet.Datagram
	for {
		if err := src.Next(&f); err != nil {
			if err != io.EOF {
				t.Logf("%s: %v", path, err)
			}
			return list
		}
		raw := packet.Frame{Number: f.Number, Time: f.Time.UTC(), LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		if d.Decode(&raw, &in).OK() {
			list = append(list, dissect.Datagram{
				Frame: in.Frame, Time: in.Time, First: in.First, Src: in.Src, Dst: in.Dst, Payload: bytes.Clone(in.Payload), Missing: in.Missing,
			})
		}
	}
}

// choose changes the values in a request that a client chooses.
func choose(payload []byte, q *query) []byte {
	payload = bytes.Clone(payload)
	for _, c := range q.chosen {
		i := bytes.Index(payload, []byte(c.bytes))
		if len(c.bytes) < 3 || i < 0 {
			continue
		}
		for k := range c.bytes {
			if k > 0 || c.field.Path != "cube.time" { // its first byte is the format of the number
				payload[i+k] ^= 1
			}
		}
	}
	return payload
}

// paired returns a request and its replies as the analyzer pairs them.
type paired struct {
	t                         *testing.T
	requests, replies         int
	unpaired, malformed, echo int
}

func (p *paired) Record(r *dissect.Record) {
	switch r.Type.Role {
	case dissect.Request:
		p.requests++
	case dissect.Reply:
		p.replies++
		if r.RequestFrame == 0 {
			p.unpaired++
		}
	}
	for i := range r.Findings {
		switch f := r.Findings[i].Type; {
		case f == core.Malformed:
			p.malformed++
		case f.ID == "doom3.challenge.echo" || f.ID == "q3.challenge_echo" || f.ID == "mc.session.other":
			p.echo++
		}
	}
}

func (p *paired) Unknown(*dissect.Unknown)     {}
func (p *paired) Finding(*dissect.FlowFinding) {}

// TestCaptures sends the requests of every capture to a server that learned from it.
// The analyzer must pair the replies with them.
func TestCaptures(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(pcaps, "*", "*.pcap"))
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	answered := 0
	for _, path := range paths {
		folder, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		if folder == "hostile" {
			continue
		}
		t.Run(folder+"/"+name, func(t *testing.T) {
			list := read(t, folder+"/"+name)
			servers := map[netip.AddrPort]*Server{}
			for _, c := range list {
				servers[c.Address] = New(c, Options{})
				if len(c.Entries()) == 0 {
					t.Errorf("%s can answer nothing", c.Address)
				}
			}
			for _, d := range datagrams(t, path) {
				s := servers[d.Dst]
				if s == nil || d.Missing > 0 {
					continue
				}
				payload := d.Payload
				if q, found := s.find(payload, false); found != nil {
					payload = choose(payload, q)
				}
				a := s.Answer(alice, noon, payload)
				if a.Result > Challenged {
					continue
				}
				answered++
				if folder == "gamespy1" && a.Protocol == "quake3" {
					continue // a message from the server without a request
				}
				if a.Protocol == "unknown" || folder != "a2s" && (name == "trouble.pcap" || name == "master.pcap" || name == "other-kind.pcap" || name == "pings.pcap") {
					continue
				}
				p := &paired{t: t}
				an := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols()}, p))(t)
				an.Datagram(&dissect.Datagram{Frame: 1, Time: noon, Src: alice, Dst: d.Dst, Payload: payload})
				for i, r := range a.Datagrams {
					an.Datagram(&dissect.Datagram{Frame: uint64(i + 2), Time: noon.Add(r.After), Src: d.Dst, Dst: alice, Payload: r.Payload})
				}
				an.Flush()
				if p.requests > 0 && p.replies > 0 && p.unpaired > 0 {
					t.Errorf("frame %d, %s: %d of %d replies belong to no request", d.Frame, a.Request, p.unpaired, p.replies)
				}
				if p.echo > 0 && name != "trouble.pcap" {
					t.Errorf("frame %d, %s: the reply brings back something else", d.Frame, a.Request)
				}
			}
		})
	}
	if answered < 150 {
		t.Errorf("only %d requests answered", answered)
	}
}

// TestGuarded sends the requests of every capture to guarded servers. No client gets
// more bytes than it sent.
func TestGuarded(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(pcaps, "*", "*.pcap"))
	withheld := 0
	for _, path := range paths {
		folder, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		if folder == "hostile" {
			continue
		}
		for _, c := range read(t, folder+"/"+name) {
			s := New(c, Options{Guarded: true, Trouble: Trouble{Duplicate: 1}})
			for _, d := range datagrams(t, path) {
				for _, payload := range [][]byte{d.Payload, append(bytes.Clone(d.Payload), make([]byte, 100)...)} {
					a := s.Answer(alice, noon, payload)
					if n := size(a.Datagrams); n > len(payload) {
						t.Errorf("%s/%s frame %d: %d bytes for %d", folder, name, d.Frame, n, len(payload))
					}
					if a.Result == Withheld {
						withheld++
					}
				}
			}
		}
	}
	if withheld == 0 {
		t.Error("nothing was withheld")
	}

	// A client that presents the challenge gets everything.
	s := one(t, "a2s/a2s-goldsrc.pcap", "", Options{Guarded: true})
	info := "\xff\xff\xff\xffTSource Engine Query\x00"
	reply := ask(t, s, alice, noon, info, Challenged)
	if reply = ask(t, s, alice, noon, info+reply[5:], Answered); len(reply) <= len(info)+4 {
		t.Errorf("info %q", reply)
	}
	// The challenge of the old query does not count.
	ask(t, s, alice, noon, "\xff\xff\xff\xffdetails\x00", Withheld)
	// 16 bytes to 7.
	s = one(t, "minecraft/gs4-nukkit.pcap", "", Options{Guarded: true})
	ask(t, s, alice, noon, "\xfe\xfd\x09abcd", Withheld)
	for n := range 1000 { // qstat ignores challenges with fewer than six digits
		if reply = ask(t, s, alice, noon.Add(time.Duration(n)*epoch), "\xfe\xfd\x09abcd0123456789", Challenged); len(reply) < 12 {
			t.Errorf("minecraft %q", reply)
		}
	}
	// Challenges and tokens of others.
	s = one(t, "sqp/servers.pcap", "198.51.100.10:7787", Options{Guarded: true})
	reply = ask(t, s, alice, noon, "\x00\x00\x00\x00\x00", Challenged)
	if reply = ask(t, s, alice, noon, "\x01"+reply[1:]+"\x00\x01\x01", Answered); len(reply) <= 8 {
		t.Errorf("sqp %q", reply)
	}
	s = one(t, "teeworlds/games.pcap", "198.51.100.13:8303", Options{Guarded: true})
	reply = ask(t, s, alice, noon, "\x04\x00\x00\xff\xff\xff\xff\x05\x01\x02\x03\x04"+strings.Repeat("\x00", 508), Challenged)
	if reply = ask(t, s, alice, noon, "\x21"+reply[8:]+"\x01\x02\x03\x04\xff\xff\xff\xffgie3\x00", Answered); len(reply) <= 18 {
		t.Errorf("teeworlds %q", reply)
	}
}

func TestTiming(t *testing.T) {
	request := []byte("\xff\xff\xff\xffrules\x00")
	s := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{})
	a := s.Answer(alice, noon, request)
	if len(a.Datagrams) != 4 || a.Datagrams[0].After < 5*time.Millisecond || a.Datagrams[0].After > 20*time.Millisecond {
		t.Errorf("%d datagrams, the first after %s", len(a.Datagrams), a.Datagrams[0].After)
	}
	if !slices.IsSortedFunc(a.Datagrams, func(a, b Datagram) int { return cmp.Compare(a.After, b.After) }) {
		t.Error("parts go out of order")
	}
	if list := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{NoDelay: true}).Answer(alice, noon, request).Datagrams; slices.ContainsFunc(list, func(d Datagram) bool { return d.After != 0 }) {
		t.Errorf("a delay: %v", list)
	}
}

func TestTrouble(t *testing.T) {
	play := func(tr Trouble, requests ...string) (log []string) {
		s := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{NoDelay: true, Trouble: tr})
		for i := range 200 {
			r := requests[i%len(requests)]
			a := s.Answer(alice, noon, []byte("\xff\xff\xff\xff"+r))
			line := r
			for _, d := range a.Datagrams {
				line += fmt.Sprintf(" %s:%d", d.After, len(d.Payload))
			}
			log = append(log, line)
		}
		return log
	}
	all := Trouble{Loss: 0.3, Duplicate: 0.3, Reorder: 0.3, Truncate: 0.3, Seed: 7}
	if !reflect.DeepEqual(play(all, "rules", "players"), play(all, "rules", "players")) {
		t.Error("the same seed, and other things go wrong")
	}
	other := all
	other.Seed = 8
	if reflect.DeepEqual(play(all, "rules"), play(other, "rules")) {
		t.Error("another seed, and the same goes wrong")
	}
	// The faults of a reply do not depend on other requests.
	only := func(log []string, what string) (list []string) {
		for _, l := range log {
			if strings.HasPrefix(l, what) {
				list = append(list, l)
			}
		}
		return list[:50]
	}
	if !reflect.DeepEqual(only(play(all, "rules"), "rules"), only(play(all, "players", "rules"), "rules")) {
		t.Error("what goes wrong depends on other requests")
	}
	if play(Trouble{Loss: 1}, "rules")[0] != "rules" {
		t.Error("something came through")
	}
	n := func(tr Trouble) int { return len(strings.Fields(strings.Join(play(tr, "rules"), " "))) - 200 }
	if got := n(Trouble{Duplicate: 1}); got != 1600 {
		t.Errorf("%d datagrams, want 1600", got)
	}
	if got := n(Trouble{Loss: 0.5, Seed: 1}); got < 300 || got > 500 {
		t.Errorf("%d of 800 datagrams came through, want about half", got)
	}
	if got := n(Trouble{Reorder: 0.5}); got != 800 {
		t.Errorf("%d datagrams, want 800", got)
	}
	plain := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{NoDelay: true}).Answer(alice, noon, []byte("\xff\xff\xff\xffrules"))
	mixed := one(t, "a2s/a2s-goldsrc-split.pcap", "", Options{NoDelay: true, Trouble: Trouble{Reorder: 1}}).Answer(alice, noon, []byte("\xff\xff\xff\xffrules"))
	if string(plain.Datagrams[0].Payload) != string(mixed.Datagrams[1].Payload) {
		t.Error("nothing was reordered")
	}
}

// TestPipelined sends two requests before the first reply.
func TestPipelined(t *testing.T) {
	a, b := alice, bob
	at := func(ms int, src, dst netip.AddrPort, payload string) *event {
		e := &event{frame: uint64(ms), time: int64(ms) * 1e6, src: src, dst: dst}
		if src == a {
			e.known, e.role, e.query = true, dissect.Request, &query{key: payload, protocol: all.Protocols()[0]}
		} else {
			e.reply = &reply{title: payload, datagrams: []Datagram{{time.Duration(ms) * time.Millisecond, []byte(payload)}}, rules: -1}
		}
		return e
	}
	list, err := learn([]*event{at(1, a, b, "one?"), at(2, a, b, "two?"), at(3, b, a, "one!"), at(4, b, a, "two!"), at(5, b, a, "two more!")})
	if err != nil || len(list) != 1 {
		t.Fatal(err, len(list))
	}
	if got := list[0].byKey["one?"].exchanges[0].datagrams; len(got) != 1 || string(got[0].Payload) != "one!" {
		t.Errorf("%v", got)
	}
	if got := list[0].byKey["two?"].exchanges[0].datagrams; len(got) != 2 || got[1].After != 3*time.Millisecond {
		t.Errorf("%v", got)
	}
}

func FuzzAnswer(f *testing.F) {
	var servers []*Server
	for _, name := range []string{
		"a2s/a2s-goldsrc-split.pcap", "minecraft/gs4-nukkit.pcap", "gamespy1/gs1-qr1-split.pcap", "gamespy2/games.pcap",
		"gamespy3/gs-qr2-challenge.pcap", "quake3/games.pcap", "quake3-master/q3-master-dpmaster.pcap", "valve-master/lists.pcap",
		"doom3/family.pcap", "ase/mta.pcap", "minecraft-java/servers.pcap", "source-rcon/servers.pcap", "frostbite/servers.pcap",
	} {
		for _, c := range read(f, name) {
			servers = append(servers, New(c, Options{}), New(c, Options{Guarded: true, Trouble: Trouble{Duplicate: 1, Reorder: 1}}))
		}
		for i, d := range datagrams(f, filepath.Join(pcaps, filepath.FromSlash(name))) {
			if i < 20 && len(d.Payload) < 200 {
				f.Add(d.Payload)
			}
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, s := range servers {
			a := s.Answer(alice, noon, payload)
			n := size(a.Datagrams)
			if s.options.Guarded && n > len(payload) {
				// The random bytes could be the challenge of this client.
				t.Errorf("%d bytes for %d", n, len(payload))
			}
			if a.Result > Challenged && n > 0 {
				t.Errorf("%s, and %d bytes", a.Result, n)
			}
			for _, d := range a.Datagrams {
				if len(d.Payload) > 1<<16+len(payload) {
					t.Errorf("a datagram of %d bytes", len(d.Payload))
				}
			}
			if n, a, _ := s.Next(alice, noon, payload, true); n < -1 || n > len(payload) || n <= 0 && a.Protocol != "" {
				t.Errorf("a message of %d bytes in %d: %+v", n, len(payload), a)
			}
		}
	})
}

// TestLimits repeats the limits of docs/limits.md for a capture.
func TestLimits(t *testing.T) {
	const mib, of = 1 << 20, 256 // bookkeeping
	for n, fits := range map[int]bool{256*mib - of: true, 256*mib - of + 1: false} {
		if o := new(observer); o.room(n) != fits {
			t.Errorf("%d bytes: %v", n, !fits)
		}
	}
	for n, fits := range map[int]bool{mib - 1: true, mib: false} {
		if o := (&observer{events: make([]*event, n)}); o.room(0) != fits {
			t.Errorf("one message more than %d: %v", n, !fits)
		}
	}
}

// TestAnswerLimits repeats the limits of docs/limits.md for answers.
func TestAnswerLimits(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	server := netip.MustParseAddrPort("198.51.100.99:27015")
	const info = "\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x00\x00\x01\x10\x00dl\x00\x011.0\x00\x00"
	for i := range 10 {
		client := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), uint16(40000+i))
		s.Strike(client, server, "\xff\xff\xff\xffTSource Engine Query\x00")
		s.Strike(server, client, info)
	}
	client := netip.MustParseAddrPort("203.0.113.10:40000")
	s.Strike(client, server, "\xff\xff\xff\xffV\x01\x02\x03\x04")
	for i := range 600 {
		s.Strike(server, client, fmt.Sprintf("answer number %d to that", i))
	}
	in := must.Get(capture.NewReader(&b, "in"))(t)
	list, trouble, err := Read(in, dissect.Config{Protocols: all.Protocols()})
	if err != nil || trouble != nil || len(list) != 1 {
		t.Fatalf("%d servers, %v, %v", len(list), trouble, err)
	}
	c := list[0]
	if len(c.answers) != 2 || len(c.answers[0].exchanges) != 4 || c.answers[0].times[0] != 10 {
		t.Errorf("%d answers, the first %+v", len(c.answers), c.answers[0])
	}
	if x := c.answers[1].exchanges; len(x) != 1 || len(x[0].datagrams) != 512 {
		t.Errorf("%d exchanges, the first with %d datagrams", len(x), len(x[0].datagrams))
	}
}
