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
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	}
	o.Span = cmp.Or(o.Span, 90*time.Second)
	o.From = cmp.Or(o.From, time.Duration(s.from*float64(o.Span)).Truncate(time.Second))
	o.To = cmp.Or(o.To, time.Duration(s.to*float64(o.Span)).Truncate(time.Second))
	o.Servers = max(o.Servers, len(protocols))
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

// A Truth says what a scene holds, as the generator knows it. All numbers are those of
// the packets that were written: what got lost before it was captured does not count.
type Truth struct {
	Scene string    `json:"scene"`
	Doc   string    `json:"doc"`
	Seed  uint64    `json:"seed"`
	From  time.Time `json:"from"` // of the first and the last packet
	To    time.Time `json:"to"`

	// Events are the verdicts to expect, in the order of their beginning. A quiet
	// evening has none: nothing_unusual.
	Events  []*Event  `json:"events"`
	Totals  Totals    `json:"totals"`
	Classes []*Class  `json:"classes"`
	Servers []*Server `json:"servers"` // those that were asked, master servers too

	// Messages counts by protocol and message, with the names of the program.
	Messages map[string]map[string]uint64 `json:"messages"`
}

// Totals count all packets. Count is that of the game traffic.
type Totals struct {
	Wire      Bytes  `json:"wire"`      // all packets
	Datagrams uint64 `json:"datagrams"` // of UDP that are complete
	ICMP      uint64 `json:"icmp"`
	Notices   uint64 `json:"notices"`
	Unknown   uint64 `json:"unknown"` // datagrams of no game
	Count
	// Clients is the number of distinct addresses that sent requests, Sources of those
	// that sent packets.
	Clients uint64 `json:"clients"`
	Sources uint64 `json:"sources"`
}

// A Count counts requests with their outcome, and replies.
//
// A request that was sent again from the same port is repeated unless it was answered
// itself. One that is unanswered in the last five seconds is open. One that got an ICMP
// error is refused. Replies include challenges; one that lacks fragments is none, and
// answers in part.
type Count struct {
	Requests   uint64 `json:"requests"`
	Answered   uint64 `json:"answered"`
	Partial    uint64 `json:"answered_in_part"`
	Refused    uint64 `json:"refused"`
	Unanswered uint64 `json:"unanswered"`
	Open       uint64 `json:"open"`
	Repeated   uint64 `json:"repeated"`
	Replies    uint64 `json:"replies"`
	Challenges uint64 `json:"challenges"`
	In         Bytes  `json:"in"`  // of the requests
	Out        Bytes  `json:"out"` // of the replies
}

// Bytes measures packets in three ways. The program's bytes on the wire are IP.
type Bytes struct {
	Packets uint64 `json:"packets"`
	Frame   uint64 `json:"frame_bytes"` // with Ethernet header and padding, without checksum
	IP      uint64 `json:"ip_bytes"`
	UDP     uint64 `json:"udp_payload_bytes"`
}

func (b *Bytes) add(o Bytes) {
	b.Packets += o.Packets
	b.Frame += o.Frame
	b.IP += o.IP
	b.UDP += o.UDP
}

// A Class is a group of sources with one intention.
type Class struct {
	Name string `json:"class"`
	Count
	Sources uint64 `json:"sources"` // distinct addresses
}

// The names of classes.
const (
	Honest  = "honest"
	Greedy  = "greedy"
	Forged  = "forged"
	Scanner = "scanner"
	// Infra are game servers and master servers that talk to each other.
	Infra = "infrastructure"
	// Foreign packets are of no game, Junk are random bytes from forged sources.
	Foreign = "foreign"
	Junk    = "junk"
)

// A Server is an address and port that was asked.
type Server struct {
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
	Name     string `json:"name,omitempty"`
	Count
	Junk    Bytes             `json:"junk"`     // that came beside requests
	JunkOut Bytes             `json:"junk_out"` // that went back
	Clients uint64            `json:"clients"`  // distinct addresses
	ByClass map[string]uint64 `json:"requests_by_class"`
}

// An Event is what a verdict has to say.
type Event struct {
	Kind    string    `json:"kind"` // of the verdict
	Servers []string  `json:"servers,omitempty"`
	Sources []string  `json:"sources,omitempty"` // greedy clients, scanners, victims
	Message string    `json:"message,omitempty"` // the request that matters: "info_request"
	From    time.Time `json:"from"`              // planned
	To      time.Time `json:"to"`
	// First and Last are the times of the first and last packet of its sources, if it
	// has any.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Own counts what its sources sent and got; Before and During count all requests to
	// its servers by the time of the request, with their replies.
	Own        Count  `json:"own"`
	OwnSources uint64 `json:"own_sources"`
	Before     Count  `json:"before"`
	During     Count  `json:"during"`
	// Requests per second to its servers.
	RateBefore float64 `json:"requests_per_second_before"`
	RateDuring float64 `json:"requests_per_second_during"`
	// Bytes of replies by bytes of requests of its own sources.
	Factor    float64 `json:"factor"`             // of IP packets
	FactorUDP float64 `json:"factor_udp_payload"` // as the literature counts

	servers  map[*server]bool
	from, to int64
}

func (e *Event) finish(w *world) {
	seconds := func(ns int64) float64 { return max(float64(ns)/1e9, 1e-9) }
	if e.from > 0 {
		e.RateBefore = float64(e.Before.Requests) / seconds(e.from)
	}
	e.RateDuring = float64(e.During.Requests) / seconds(min(e.to, int64(w.o.Span))-e.from)
	if e.Own.In.IP > 0 {
		e.Factor = float64(e.Own.Out.IP) / float64(e.Own.In.IP)
		e.FactorUDP = float64(e.Own.Out.UDP) / float64(e.Own.In.UDP)
	}
}
