// Package scenes makes captures of what happens to game servers, together with the truth
// about them: floods, reflections, greedy clients, scanners, servers in trouble, and a
// quiet evening, each mixed into the same honest traffic.
//
// The same options give the same bytes. A scene is made while it is read: forged sources
// are counted, not remembered.
//
// The capture is of Ethernet, at the border of the network of the servers, which have
// addresses in 198.51.100.0/24. Honest clients are in 198.18.0.0/15 (visitors) and
// 192.0.2.0/24 (watchers), masters, greedy clients, scanners and victims in
// 203.0.113.0/24, and forged sources anywhere else.
package scenes

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// Options say how large a scene is. The zero value is a scene of 90 seconds.
type Options struct {
	Seed  uint64
	Start time.Time
	Span  time.Duration
	// From and To bound the event; 0 is what suits the scene.
	From, To time.Duration
	Servers  int // at least 12
	Clients  int // honest visitors, at most 100,000
	// Rate is the number of requests per second of the event, and Sources the number of
	// forged sources; 0 is what suits the scene, and one for each request.
	Rate    float64
	Sources int
	// Loss is the share of packets that get lost, half of them after they were
	// captured; negative for none.
	Loss float64
	// IPv6 translates all packets but those of ICMP; the truth keeps its IPv4 addresses.
	IPv6 bool
}

// A Scene is a kind of evening.
type Scene struct {
	Name string
	Doc  string
	// rate is the default of Options.Rate, from and to those of the event in parts of
	// the span.
	rate     float64
	from, to float64
	play     func(w *world)
}

// All returns the scenes.
func All() []Scene {
	return []Scene{
		{"forged-open", "a flood of A2S info requests from forged sources, at a server that replies without a challenge", 3000, 1. / 3, 2. / 3, forgedOpen},
		{"forged-challenged", "the same flood, at a server that asks for a challenge", 3000, 1. / 3, 2. / 3, forgedChallenged},
		{"made-up", "the same flood, with challenges that nobody was given", 3000, 1. / 3, 2. / 3, madeUp},
		{"reflection", "requests in the name of two victims, which get the long replies", 800, 1. / 3, 2. / 3, reflections},
		{"greedy", "a client with an honest address that asks hundreds of times a second", 300, 1. / 3, 2. / 3, greedy},
		{"scanner", "one source asks hundreds of addresses, most of which do not reply", 20, 1. / 6, 5. / 6, scanner},
		{"drops", "more honest clients than a server can answer: the share of replies falls as the rate grows", 400, 1. / 3, 1, drops},
		{"down", "a server stops replying", 0, 1. / 3, 1, down(false)},
		{"down-icmp", "a server stops, and its host says that the port is closed", 0, 1. / 3, 1, down(true)},
		{"long-lost", "a server whose rules lack a part", 0, 0, 1, longLost(false)},
		{"long-lost-fragments", "a server whose rules lack IP fragments", 0, 0, 1, longLost(true)},
		{"junk", "random bytes from forged sources, at a server that goes on answering", 2000, 1. / 3, 2. / 3, junkForged},
		{"junk-sources", "random bytes from three hosts", 1500, 1. / 3, 2. / 3, junkSources},
		{"busy", "a quiet evening, with players at a server and a VPN beside another, whose datagrams are answered and not understood", 1000, 1. / 3, 2. / 3, busy},
		{"quiet", "a quiet evening", 0, 0, 0, func(*world) {}},
		{"mixed", "a forged flood, two reflections at other servers, and junk, at the same time", 4000, 1. / 3, 2. / 3, mixed},
	}
}

// Find returns the scene with a name.
func Find(name string) (Scene, error) {
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scene{}, fmt.Errorf("no scene %q: there are %s", name, strings.Join(names, ", "))
}

func (s Scene) options(o Options) Options {
	def := func(d *time.Duration, v time.Duration) {
		*d = cmp.Or(*d, v)
	}
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	}
	def(&o.Span, 90*time.Second)
	def(&o.From, time.Duration(s.from*float64(o.Span)).Truncate(time.Second))
	def(&o.To, time.Duration(s.to*float64(o.Span)).Truncate(time.Second))
	if o.Servers < len(protocols) {
		o.Servers = len(protocols)
	}
	o.Clients = cmp.Or(o.Clients, 3000)
	o.Rate = cmp.Or(o.Rate, s.rate)
	o.Loss = cmp.Or(o.Loss, 0.001)
	return o
}

// Play plays the scene. sink gets each packet, in the order of time.
func (s Scene) Play(o Options, sink func(*Packet) error) (*Truth, error) {
	o = s.options(o)
	w := &world{
		o: o, sink: sink, classes: map[string]*Class{}, clients: map[netip.Addr]bool{}, sources: map[netip.Addr]bool{}, byAddr: map[netip.AddrPort]bool{},
		truth: &Truth{Scene: s.Name, Doc: s.Doc, Seed: o.Seed, Messages: map[string]map[string]uint64{}},
	}
	w.build()
	s.play(w)
	w.visitors()
	w.watchers()
	w.heartbeats()
	w.strangers()
	if err := w.run(); err != nil {
		return nil, err
	}
	w.finish()
	return w.truth, nil
}

// Write writes the scene as a capture.
func (s Scene) Write(out io.Writer, o Options) (*Truth, error) {
	b := bufio.NewWriterSize(out, 1<<20)
	m := mkpcap.NewWriter(b, mkpcap.Options{})
	t, err := s.Play(o, func(p *Packet) error {
		m.Frame(p.At, p.Frame)
		return m.Err()
	})
	if err != nil {
		return nil, err
	}
	return t, b.Flush()
}

// protocols are those of the servers, in their order; further servers begin again.
var protocols = []func() *protocol{a2s, a2s, a2s, a2s, quake3, quake3, gamespy1, gamespy3, minecraft, raknet, ase, samp}

// The servers by their role.
const (
	challenged = 0 // A2S, wants a challenge for info
	open       = 1 // A2S, wants none
	another    = 2 // A2S
	fragmented = 3 // A2S, sends rules in IP fragments
	arena      = 4 // Quake 3, many players
	tournament = 6 // GameSpy 1, many players
)

// build makes the servers.
func (w *world) build() {
	names := []string{"Harbour 24/7", "Old town", "Night shift", "Training ground", "Arena of the north", "Instagib", "Facing Worlds CTF", "Karkand only", "A quiet island", "Bedrock for all", "Racing", "San Andreas"}
	made := map[int]*protocol{}
	for i := range w.o.Servers {
		k := i % len(protocols)
		if made[k] == nil {
			made[k] = protocols[k]()
		}
		round := i / len(protocols)
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(10 + k)}), made[k].port+uint16(round))
		s := w.server(addr, made[k], names[k])
		s.players = 3 + (i*5)%9
		s.challenges = k != open
		s.whole = k == fragmented
		if k == arena || k == tournament {
			s.players = 26
		}
		w.byAddr[addr] = true
	}
}

// server adds a server.
func (w *world) server(addr netip.AddrPort, p *protocol, name string) *server {
	s := &server{
		index: len(w.servers), addr: addr, p: p, name: name, made: map[*query][]string{}, asked: map[netip.Addr]bool{},
		truth: &Server{Address: addr.String(), Protocol: p.name, Name: name, ByClass: map[string]uint64{}},
	}
	w.servers = append(w.servers, s)
	return s
}

// event adds an event at servers.
func (w *world) event(kind, message string, from, to time.Duration, servers []*server, sources ...string) *Event {
	e := &Event{
		Kind: kind, Message: message, Sources: sources, From: w.o.Start.Add(from), To: w.o.Start.Add(to),
		servers: map[*server]bool{}, from: int64(from), to: int64(to),
	}
	for _, s := range servers {
		e.servers[s] = true
		e.Servers = append(e.Servers, s.addr.String())
	}
	w.events = append(w.events, e)
	slices.SortStableFunc(w.events, func(a, b *Event) int { return a.From.Compare(b.From) })
	return e
}
