package stats_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// A film is a capture that is being made: its packets with their times.
type film struct {
	t       *testing.T
	packets []filmed
	snap    int
}

type filmed struct {
	at      float64 // seconds
	packets func(*mkpcap.Writer, time.Time)
}

var (
	filmServer  = netip.MustParseAddrPort("198.51.100.10:27015")
	filmOther   = netip.MustParseAddrPort("198.51.100.11:27015")
	filmPrivate = netip.MustParseAddrPort("192.168.1.10:27015")
	filmMaster  = netip.MustParseAddrPort("203.0.113.5:27010")
	filmRouter  = netip.MustParseAddr("198.51.100.1")
)

func (f *film) add(at float64, p func(*mkpcap.Writer, time.Time)) {
	f.packets = append(f.packets, filmed{at, p})
}

func (f *film) udp(at float64, src, dst netip.AddrPort, payload string) {
	f.add(at, func(m *mkpcap.Writer, t time.Time) { m.UDP(t, src, dst, []byte(payload)) })
}

func (f *film) frame(at float64, b []byte) {
	f.add(at, func(m *mkpcap.Writer, t time.Time) { m.Frame(t, b) })
}

// icmp adds an error about a datagram.
func (f *film) icmp(at float64, from netip.Addr, typ, code byte, info uint32, src, dst netip.AddrPort, payload string) {
	about := mkpcap.IP(src.Addr(), dst.Addr(), 1, 17, 0, false, false, mkpcap.UDPSegment(src, dst, []byte(payload)))
	f.add(at, func(m *mkpcap.Writer, t time.Time) {
		m.Segment(t, from, src.Addr(), 1, mkpcap.ICMP(from, src.Addr(), typ, code, info, about))
	})
}

// tcp adds a segment with flags: 2 SYN, 18 SYN and ACK, 20 RST and ACK, 24 data.
func (f *film) tcp(at float64, src, dst netip.AddrPort, flags byte, data ...string) {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src.Port()), dst.Port())
	b = append(append(b, 0, 0, 0, min(flags, 4)/2, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0), strings.Join(data, "")...)
	f.add(at, func(m *mkpcap.Writer, t time.Time) { m.Segment(t, src.Addr(), dst.Addr(), 6, b) })
}

func (f *film) write(t *testing.T) string {
	t.Helper()
	b := new(bytes.Buffer)
	m := mkpcap.NewWriter(b, mkpcap.Options{MTU: 1500, Snap: f.snap})
	slices.SortStableFunc(f.packets, func(a, b filmed) int { return int((a.at - b.at) * 1e7) })
	for _, p := range f.packets {
		p.packets(m, time.Unix(1_700_000_000, int64(p.at*1e9)))
	}
	must.Do(t, m.Err())
	name := fmt.Sprintf("film %p", b)
	films.Store(name, b)
	t.Cleanup(func() { films.Delete(name) })
	return name
}

// films are the captures of films by their names.
var films sync.Map

// Payloads.
const (
	askInfo   = "\xff\xff\xff\xffTSource Engine Query\x00"
	askRules  = "\xff\xff\xff\xffV\x00\x00\x00\x00"
	heartbeat = "0\n\\protocol\\48\\challenge\\1\\players\\0\\max\\24\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\password\\0\\os\\l\\lan\\0\\region\\255\\gameport\\27015\\type\\d\\secure\\1\\version\\1.1\\product\\cstrike\n"
	q3Status  = "\xff\xff\xff\xffgetstatus\n"
	q3Reply   = "\xff\xff\xff\xffstatusResponse\n\\sv_hostname\\Arena\\mapname\\q3dm17\\sv_maxclients\\16\n0 30 \"a\"\n"
)

func le(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }

func challenge(n uint32) string { return "\xff\xff\xff\xffA" + le(n) }

func infoReply(name string) string {
	return "\xff\xff\xff\xffI\x11" + name + "\x00dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x03\x18\x00dl\x00\x011.0\x00\x00"
}

func rulesReply(n int) string {
	b := []byte("\xff\xff\xff\xffE" + string([]byte{byte(n), 0}))
	for i := range n {
		b = append(append(b, "rule_"...), append([]byte{'a' + byte(i%26), 'a' + byte(i/26)}, "\x00a value that is long enough to fill\x00"...)...)
	}
	return string(b)
}

// parts splits a reply as Source does.
func parts(b string, id uint32) (list []string) {
	const size = 1200
	n := (len(b) + size - 1) / size
	for i := range n {
		list = append(list, "\xfe\xff\xff\xff"+le(id)+string([]byte{byte(n), byte(i), 0xbc, 4})+b[i*size:min(len(b), (i+1)*size)])
	}
	return list
}

func askers(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(20 + n%60), 7, byte(n), 9}), uint16(40000+n))
}

// polls calls f for n requests, half a second apart.
func polls(n int, f func(i int, at float64, from netip.AddrPort)) {
	for i := range n {
		f(i, float64(i)/2, askers(i))
	}
}

// answered adds requests that are answered in a millisecond, without a challenge.
func (f *film) answered(n int, server netip.AddrPort) {
	f.replied(n, askInfo, .001, server, server, infoReply("Old town"))
}

// turn adds a request, and its reply after so long if it has one.
func (f *film) turn(at, after float64, from netip.AddrPort, replied bool) {
	if f.udp(at, from, filmServer, askInfo); replied {
		f.udp(at+after, filmServer, from, infoReply("Old town"))
	}
}

// partly adds requests, of which some are answered after so long.
func (f *film) partly(n int, after float64, replies func(i int, at float64) bool) {
	polls(n, func(i int, at float64, from netip.AddrPort) {
		f.turn(at, after, from, replies(i, at))
	})
}

// again adds clients that ask every ten seconds from a new port, and up to three times until they have a reply.
func (f *film) again(replies func(i int, at float64) bool) {
	for i := range 1080 {
		at, from := float64(i)*3.3, netip.AddrPortFrom(askers(i%3).Addr(), uint16(20000+i))
		for end := at + 3; at < end; at++ {
			if f.udp(at, from, filmServer, askInfo); replies(i, at) {
				f.udp(at+.03, filmServer, from, infoReply("Old town"))
				break
			}
		}
	}
}

// replied adds requests to a server, with replies that come after so long from some end.
func (f *film) replied(n int, ask string, after float64, server, end netip.AddrPort, reply string) {
	polls(n, func(_ int, at float64, from netip.AddrPort) {
		f.udp(at, from, server, ask)
		f.udp(at+after, end, from, reply)
	})
}

// goesOn adds other traffic, in both directions.
func (f *film) goesOn(at float64) {
	other := netip.MustParseAddrPort("203.0.113.77:9")
	f.udp(at, askers(90), other, "the capture goes on")
	f.udp(at+.1, other, askers(90), "in both directions")
}

// watched adds a client that asks every two seconds from one socket; replies says which requests are answered.
func (f *film) watched(n int, replies func(i int) bool) {
	for i := range n {
		f.turn(2*float64(i), .001, askers(1), replies(i))
	}
	f.goesOn(2*float64(n) + 30)
}

// people adds ten clients, each of which asks every two seconds from one socket; replies says which requests are answered.
func (f *film) people(replies func(client int, at float64) bool) {
	for i := range 600 {
		at, c := float64(i)/5, i%10
		f.turn(at, .001, askers(c), replies(c, at))
	}
	f.goesOn(150)
}

// sockets adds ten clients, each of which asks every four seconds from one socket, and has its reply after some seconds, if these are not negative.
func (f *film) sockets(after func(client int, at float64) float64) {
	for i := range 450 {
		at, c := float64(i)*.4, i%10
		wait := after(c, at)
		f.turn(at, wait, askers(c), wait >= 0)
	}
}

// alternate adds people who are answered, some from another address.
func (f *film) alternate(other func(i int) bool) {
	for i := range 600 {
		at, from := float64(i)/5, filmServer
		f.udp(at, askers(i%9), filmServer, askInfo)
		if other(i) {
			from = filmOther
		}
		f.udp(at+.001, from, askers(i%9), infoReply("Old town"))
	}
	f.goesOn(150)
}

// pauses adds people who pause for ten seconds after each ten, and other clients of a network that ask all the time, and get no reply; those of the
// pauses have numbers of their own if client says so.
func (f *film) pauses(client func(i int) int) {
	for i := range 120 {
		at, paused := float64(i)/2, i/20%2 == 1
		if !paused {
			f.turn(at, .001, askers(i), true)
		}
		if c := client(i); c != i || paused {
			f.udp(at+.1, netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 9, byte(9 + c/12), byte(1 + c)}), uint16(4000+i)), filmServer, askInfo)
		}
	}
	f.goesOn(90)
}

// burst adds 24 clients of some networks that ask 18 times a second for four seconds, and get no reply, to requests of people.
func (f *film) burst(network func(client int) int) {
	f.people(func(int, float64) bool { return true })
	for i := range 72 {
		c := i % 24
		f.udp(30+float64(i)/18, netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 9, byte(network(c)), byte(c + 1)}), uint16(4000+i)), filmServer, askInfo)
	}
}

// few adds requests of one client, without a reply, to those of others.
func (f *film) few(n int) {
	f.answered(40, filmServer)
	for i := range n {
		f.turn(.1+3*float64(i), 0, netip.AddrPortFrom(askers(99).Addr(), uint16(4000+i)), false)
	}
	f.goesOn(60)
}

// network adds those of five clients of a network, which are answered or not, to requests of people.
func (f *film) network(answered bool) {
	f.people(func(int, float64) bool { return true })
	for i := range 150 {
		at, c := float64(i)*.8+.1, netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 9, 9, byte(i % 5)}), 4000)
		f.turn(at, .001, c, answered)
	}
}

// rules adds requests that have no reply.
func (f *film) rules(n int) {
	for i := range n {
		f.udp(3+4*float64(i), askers(i), filmServer, "\xff\xff\xff\xffV"+le(7))
	}
	f.goesOn(60)
}

// alone adds a client that is the only one to ask for rules, which have no reply.
func (f *film) alone() {
	for i := range 8 {
		f.udp(1+2*float64(i), netip.AddrPortFrom(askers(99).Addr(), uint16(40000+i)), filmServer, askRules)
	}
	f.goesOn(60)
}

// fewOf adds clients of a network, each of which asks a few times, to requests of people.
func (f *film) fewOf(clients, each int, answered func(client int) bool) {
	f.people(func(int, float64) bool { return true })
	for i := range clients * each {
		c, at := i%clients, float64(i)*100/float64(clients*each)+.1
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 9, 9, byte(c + 1)}), uint16(4000+i))
		f.turn(at, .001, from, answered(c))
	}
}

// dozen adds a dozen clients that ask 57 times a second together, from the same ports or from one for each request; replies says which are answered.
func (f *film) dozen(ports int, replies func(i int, at float64) bool) {
	for i := range 30 * 57 {
		at, from := float64(i)/57, netip.AddrPortFrom(askers(i%12).Addr(), uint16(20000+i*ports))
		f.turn(at, .001, from, replies(i, at))
	}
	f.goesOn(60)
}

// bucket is a limit as firewalls have it: so many each second, and a burst of five.
func bucket(perSecond float64) func(i int, at float64) bool {
	tokens, last := 5.0, 0.0
	return func(_ int, at float64) bool {
		tokens, last = min(tokens+(at-last)*perSecond, 5), at
		if tokens < 1 {
			return false
		}
		tokens--
		return true
	}
}

// bucketEach is a limit of 1.5 a second for each of a dozen.
func bucketEach() func(i int, at float64) bool {
	var each [12]func(int, float64) bool
	for i := range each {
		each[i] = bucket(1.5)
	}
	return func(i int, at float64) bool { return each[i%12](i, at) }
}

// lossy loses a share of all by chance.
func lossy(share float64) func(i int, at float64) bool {
	random := rand.New(rand.NewPCG(1, 2))
	return func(int, float64) bool { return random.Float64() >= share }
}

// asked adds requests of another protocol.
func (f *film) asked(n int, from float64) {
	polls(n, func(_ int, at float64, client netip.AddrPort) { f.udp(from+at/10, client, filmServer, q3Status) })
}

func (f *film) unanswered(n int, server netip.AddrPort) {
	polls(n, func(_ int, at float64, from netip.AddrPort) { f.udp(at, from, server, askInfo) })
	f.goesOn(float64(n)/2 + 30)
}

// challenged adds requests with the challenge that was given; reply answers them.
func (f *film) challenged(n int, server netip.AddrPort, reply func(i int) string) {
	polls(n, func(i int, at float64, from netip.AddrPort) { f.visit(at, from, server, uint32(1000+i), reply(i)) })
}

// visit adds a request that gets a challenge and comes back with it.
func (f *film) visit(at float64, from, server netip.AddrPort, c uint32, reply string) {
	f.udp(at, from, server, askInfo)
	f.udp(at+.001, server, from, challenge(c))
	f.udp(at+.05, from, server, askInfo+le(c))
	if reply != "" {
		f.udp(at+.051, server, from, reply)
	}
}

// long adds rules in parts, without those for which lost reports true.
func (f *film) long(n int, lost func(i, part int) bool) {
	polls(n, func(i int, at float64, from netip.AddrPort) {
		f.udp(at, from, filmServer, "\xff\xff\xff\xffV"+le(7))
		for j, p := range parts(rulesReply(90), uint32(i+1)) {
			if !lost(i, j) {
				f.udp(at+.001+float64(j)/1e5, filmServer, from, p)
			}
		}
	})
}

type filmCause struct {
	id      string
	has     func(*film)
	near    func(*film)
	nearIs  string // the cause of the near miss
	says    string // what must stand in the words, and what must not
	not     string
	server  string // that is asked about, if not the usual one
	nearAsk string
}

// found adds a client that looks for servers by an address of all hosts, from one socket, and asks those that reply for challenges again.
func (f *film) found(at string, hosts ...string) {
	from, all := netip.MustParseAddrPort("192.168.1.5:27005"), netip.MustParseAddrPort(at+":27015")
	for i := range 40 {
		f.udp(2*float64(i), from, all, askInfo)
		for k, h := range hosts {
			at, host := 2*float64(i)+.002*float64(k+1), netip.MustParseAddrPort(h+":27015")
			if k > 1 {
				f.udp(at, host, from, challenge(7))
				f.udp(at+.001, from, host, askInfo+le(7))
			}
			f.udp(at+.0015, host, from, infoReply("Old town"))
		}
	}
	f.goesOn(90)
}

// connected adds connections to a port, each of segments with these flags: those of data log in to a remote console.
func (f *film) connected(n int, port uint16, flags ...byte) {
	data := map[byte]string{24: "\x0c\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00pw\x00\x00"}
	polls(n, func(_ int, at float64, from netip.AddrPort) {
		for i, is := range flags {
			ends := [2]netip.AddrPort{from, to(port)}
			if is == 18 || is == 20 {
				ends[0], ends[1] = ends[1], ends[0]
			}
			f.tcp(at+.001*float64(i), ends[0], ends[1], is, data[is])
		}
	})
	f.goesOn(60)
}

func to(port uint16) netip.AddrPort { return netip.AddrPortFrom(filmServer.Addr(), port) }

var filmCauses = []filmCause{
	{id: "works", has: func(f *film) { f.answered(60, filmServer) }, near: func(f *film) { f.unanswered(60, filmServer) }, nearIs: "no_reply", says: "nothing in the capture stands in the way", not: "Down|lost|private"},
	{id: "no_reply", has: func(f *film) { f.unanswered(30, filmServer) }, near: func(f *film) { f.unanswered(3, filmServer) }, nearIs: "too_few", says: "replied to none of 30 requests.*firewall", not: "nothing listens"},
	{id: "too_few", has: func(f *film) { f.unanswered(2, filmServer) }, near: func(f *film) { f.answered(2, filmServer) }, nearIs: "works", says: "Too little to say.*asked 2 times", not: "Down|stands in the way"},
	{id: "no_requests_captured",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) { f.udp(at, filmServer, from, infoReply("Old town")) })
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "no requests to it: one direction"},
	{id: "one_direction",
		has: func(f *film) {
			polls(30, func(i int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo+le(uint32(77777+i%10)))
			})
			f.goesOn(60)
		},
		near: func(f *film) { f.unanswered(30, filmServer) }, nearIs: "no_reply", says: "one direction only.*return a challenge", not: "Down"},
	{id: "relay_address", server: "169.254.13.5:27015", has: func(f *film) { f.answered(10, filmServer) }, near: func(f *film) { f.answered(10, netip.MustParseAddrPort("169.254.13.5:27015")) }, nearIs: "works", nearAsk: "169.254.13.5:27015", says: "Steam's relay"},
	{id: "unknown_requests", // of which the capture holds too little
		has: func(f *film) {
			f.snap = 44
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, "\x01"+string(make([]byte, 32)))
			}) // a ping of Bedrock
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "The snapshot length cut such datagrams"},
	{id: "unknown_requests",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) { f.udp(at, from, filmServer, "\x01\x09 no such game") })
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "20 datagrams that no protocol recognises"},
	{id: "tcp_only", server: "198.51.100.10:25565", nearAsk: "198.51.100.10:25565",
		has: func(f *film) {
			s := to(25565)
			for i := range 10 {
				at, c := float64(i), askers(i)
				f.tcp(at, c, s, 2)
				f.tcp(at+.5, c, s, 2) // again, which is no other connection
				switch {
				case i < 6:
					f.tcp(at+.6, s, c, 18)
					f.tcp(at+.7, c, s, 24)
				case i < 8:
					f.tcp(at+.6, s, c, 20)
				}
			}
		},
		near: func(f *film) {
			f.tcp(1, askers(1), to(25565), 2)
			f.answered(20, to(25565))
		}, nearIs: "works", says: "34 packets over TCP with port 25565 .10 connections tried: 6 made, 2 refused, 2 unanswered.*enable-query=true"},
	{id: "tcp_only", server: "198.51.100.10:10011", has: func(f *film) { f.connected(10, 10011, 2) }, near: func(f *film) { f.connected(10, 10011, 2, 20) }, nearIs: "connections_fail", nearAsk: "198.51.100.10:10011", says: "no answer to them is captured.*ServerQuery", not: "not read"},
	{id: "hangs", has: func(f *film) { f.connected(10, 27015, 2, 18, 24) }, near: func(f *film) { f.connected(10, 27015, 24) }, nearIs: "no_reply", says: "none of 10 requests, although it accepted 10 connections.*whether it hangs", not: "firewall"},
	{id: "other_port_asked", server: "198.51.100.10:27016", has: func(f *film) { f.answered(20, filmServer) }, near: func(f *film) { f.answered(20, to(27016)) }, nearIs: "works", nearAsk: "198.51.100.10:27016", says: "Nobody asked.*27015"},
	{id: "translated_address", has: func(f *film) { f.answered(20, filmPrivate) }, near: func(f *film) { f.answered(20, netip.MustParseAddrPort("203.0.113.10:27015")) }, nearIs: "wrong_interface", says: "192.168.1.10:27015.*private"},
	{id: "nobody_asked",
		has: func(f *film) {
			f.answered(5, to(27016))
			f.packets = f.packets[:0]
			polls(5, func(_ int, at float64, from netip.AddrPort) { f.udp(at, filmServer, from, "\x01\x09 no such game") })
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "Nobody asked.*5 datagrams of that host"},
	{id: "wrong_interface", has: func(f *film) { f.answered(20, netip.MustParseAddrPort("203.0.113.10:27015")) }, near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "is not in the capture.*interface", not: "Down"},
	{id: "bound_elsewhere",
		has: func(f *film) {
			loop := netip.MustParseAddrPort("127.0.0.1:27015")
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmServer.Addr(), 3, 3, 0, from, filmServer, askInfo)
				f.udp(at+.1, netip.AddrPortFrom(loop.Addr(), from.Port()), loop, askInfo)
				f.udp(at+.101, loop, netip.AddrPortFrom(loop.Addr(), from.Port()), infoReply("Old town"))
			})
		},
		near: func(f *film) { // another host of the network, at the same port, and loopback at another one
			f.answered(20, netip.MustParseAddrPort("127.0.0.1:27016"))
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmServer.Addr(), 3, 3, 0, from, filmServer, askInfo)
			})
			f.answered(20, netip.MustParseAddrPort("198.51.100.11:27015"))
		}, nearIs: "nothing_listens", says: "127.0.0.1:27015 answers.*loopback.*ss -ulnp"},
	{id: "nothing_listens",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmServer.Addr(), 3, 3, 0, from, filmServer, askInfo)
			})
		},
		near: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmRouter, 3, 3, 0, from, filmServer, askInfo)
			})
		}, nearIs: "firewall_rejects", says: "Nothing listens.*port is closed", not: "prohibited"},
	{id: "firewall_rejects",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmServer.Addr(), 3, 13, 0, from, filmServer, askInfo)
			})
		},
		near: func(f *film) { f.unanswered(20, filmServer) }, nearIs: "no_reply", says: "firewall rejects", not: "[Nn]othing listens"},
	{id: "host_unreachable",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.icmp(at+.0001, filmRouter, 3, 1, 0, from, filmServer, askInfo)
			})
		},
		near: func(f *film) { // the errors are about replies to clients that are gone
			f.answered(60, filmServer)
			f.icmp(.002, filmRouter, 3, 1, 0, filmServer, askers(0), infoReply("Old town"))
		}, nearIs: "works", says: "cannot be reached: 198.51.100.1"},
	{id: "too_large",
		has: func(f *film) {
			f.long(20, func(_, part int) bool { return part == 0 })
			polls(6, func(_ int, at float64, from netip.AddrPort) {
				f.icmp(at+.01, filmRouter, 3, 4, 1400, filmServer, from, parts(rulesReply(90), 1)[0])
			})
		},
		near: func(f *film) { f.long(20, func(_, part int) bool { return part == 0 }) }, nearIs: "parts_lost", says: "too large for the path.*MTU"},
	{id: "too_large", // and as few errors as accidents are
		has: func(f *film) {
			f.answered(20, filmServer)
			polls(5, func(_ int, at float64, from netip.AddrPort) {
				f.icmp(at+.01, filmRouter, 3, 4, 1400, filmServer, from, infoReply("Old town"))
			})
		},
		near: func(f *film) {
			f.answered(20, filmServer)
			polls(2, func(_ int, at float64, from netip.AddrPort) {
				f.icmp(at+.01, filmRouter, 3, 4, 1400, filmServer, from, infoReply("Old town"))
			})
		}, nearIs: "works", says: "said so 5 times"},
	{id: "parts_lost", has: func(f *film) { f.long(20, func(_, part int) bool { return part == 1 }) }, near: func(f *film) { f.long(20, func(int, int) bool { return false }) }, nearIs: "works", says: "lack parts"},
	{id: "fragments_lost",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, "\xff\xff\xff\xffV"+le(7))
				segment := mkpcap.UDPSegment(filmServer, from, []byte(rulesReply(60)))
				f.add(at+.001, func(m *mkpcap.Writer, t time.Time) {
					ip := mkpcap.IP(filmServer.Addr(), from.Addr(), uint16(at*2)+9, 17, 0, true, true, segment[:1480])
					m.Frame(t, append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, ip...))
				})
			})
			f.answered(20, filmServer)
		},
		near: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, "\xff\xff\xff\xffV"+le(7))
				f.udp(at+.001, filmServer, from, rulesReply(60))
			})
		}, nearIs: "works", says: "lack IP fragments"},
	{id: "capture_ends",
		has: func(f *film) {
			polls(6, func(_ int, at float64, from netip.AddrPort) { f.udp(at/2, from, filmServer, askInfo) })
		},
		near: func(f *film) { f.unanswered(6, filmServer) }, nearIs: "no_reply", says: "ends before a reply"},
	{id: "cut",
		has: func(f *film) {
			f.snap = 60 // the challenge that requests return is cut off
			f.challenged(30, filmServer, func(i int) string { return challenge(uint32(9000 + i)) })
		},
		near: func(f *film) { f.snap = 60; f.answered(30, filmServer) }, nearIs: "works", says: "snapshot length", not: "Clients of|No client|lack"},
	{id: "wrong_port", server: "198.51.100.10:27019",
		has: func(f *film) { f.answered(20, filmServer); f.unanswered(20, to(27019)) }, near: func(f *film) { f.unanswered(20, to(27019)) }, nearIs: "no_reply", nearAsk: "198.51.100.10:27019", says: "198.51.100.10:27015 on the same host answers a2s"},
	{id: "unknown_replies",
		has: func(f *film) {
			f.unanswered(20, filmServer)
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at+.001, filmServer, from, "\x1b\x02 no such thing")
			})
		},
		near: func(f *film) { f.unanswered(20, filmServer) }, nearIs: "no_reply", says: "although it sends something"},
	{id: "wrong_protocol",
		has: func(f *film) {
			polls(30, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.2, from, filmServer, q3Status) })
			f.answered(10, filmServer)
			f.goesOn(60)
		},
		near: func(f *film) {
			polls(4, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.2, from, filmServer, q3Status) })
			f.answered(60, filmServer)
		}, nearIs: "works", says: "answers a2s and none of 30 quake3 status requests"},
	{id: "wrong_protocol", // a share of the requests
		has: func(f *film) {
			polls(12, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.2, from, filmServer, q3Status) })
			f.answered(40, filmServer)
			f.goesOn(60)
		}, near: func(f *film) {
			polls(12, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.2, from, filmServer, q3Status) })
			f.answered(140, filmServer)
			f.goesOn(60)
		}, nearIs: "works", says: "answers a2s and none of 12 quake3 status requests"},
	{id: "kind_unanswered",
		has: func(f *film) {
			f.answered(40, filmServer)
			polls(10, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at+.2, from, filmServer, "\xff\xff\xff\xffV"+le(7))
			})
		},
		near: func(f *film) { f.answered(40, filmServer) }, nearIs: "works", says: "0 % of 10 a2s rules requests"},
	{id: "kind_unanswered", // of three, while others are answered
		has: func(f *film) { f.answered(40, filmServer); f.rules(3) }, near: func(f *film) { f.answered(40, filmServer); f.rules(2) }, nearIs: "works", says: "0 % of 3 a2s rules requests"},
	{id: "kind_unanswered", // of many others
		has: func(f *film) { f.answered(200, filmServer); f.rules(5) }, near: func(f *film) { f.answered(200, filmServer); f.rules(1) }, nearIs: "works", says: "0 % of 5 a2s rules requests"},
	{id: "kind_unanswered", // which only one of many clients asks for: a sixth of all, and less than a tenth
		has: func(f *film) { f.answered(40, filmServer); f.alone() }, near: func(f *film) { f.answered(80, filmServer); f.alone() }, nearIs: "works", says: "0 % of 8 a2s rules requests"},
	{id: "stopped",
		has: func(f *film) {
			f.answered(60, filmServer)
			polls(60, func(i int, at float64, from netip.AddrPort) { f.udp(at+30, askers(100+i), filmServer, askInfo) })
		},
		near: func(f *film) {
			f.answered(60, filmServer)
			polls(4, func(i int, at float64, from netip.AddrPort) { f.udp(at+29.7, askers(100+i), filmServer, askInfo) })
		}, nearIs: "works", says: "stopped replying at 22:13:49", not: "stands in the way"},
	{id: "stopped", // of one client, which asks again and again from one socket
		has:  func(f *film) { f.watched(60, func(i int) bool { return i < 30 }) },
		near: func(f *film) { f.watched(60, func(i int) bool { return i < 58 }) }, nearIs: "works", says: "none of 30 requests", not: "stands in the way"},
	{id: "kind_unanswered", // challenges are given, and those who return them get nothing, always as many in a second
		has: func(f *film) { f.challenged(40, filmServer, func(int) string { return "" }) },
		near: func(f *film) {
			f.challenged(40, filmServer, func(i int) string {
				return nettext.Either(i%15 == 0, "", infoReply("Old town"))
			})
		}, nearIs: "works", says: "0 % of 30 a2s info requests that return its challenge", not: "only so often|No client"},
	{id: "silent_at_times",
		has:  func(f *film) { f.partly(120, .001, func(_ int, at float64) bool { return at < 20 || at > 40 }) },
		near: func(f *film) { f.partly(200, .001, func(i int, _ float64) bool { return i%11 != 0 }) }, nearIs: "works", says: "did not reply from 22:13:39 UTC on for 21 s"},
	{id: "client_ignored", // and asks again and again from one socket
		has:  func(f *film) { f.people(func(client int, at float64) bool { return client > 0 || at < 40 }) },
		near: func(f *film) { f.people(func(client int, at float64) bool { return client > 0 || at < 40 || at > 50 }) }, nearIs: "works", says: "replies to only 20 of 60 requests of 20.7.0.9 .*, and to 100 % of those of others", not: "stands in the way|Down"},
	{id: "client_ignored", // with all of its network
		has: func(f *film) { f.network(false) }, near: func(f *film) { f.network(true) }, nearIs: "works", says: "none of 30 requests of 20.9.9.0 .* So it is with 4 other clients of 20.9.9.0/24.*bans or limits that network", not: "stands in the way|Down|only"},
	{id: "client_ignored", // whose clients ask a few times each
		has: func(f *film) { f.fewOf(5, 3, func(int) bool { return false }) }, near: func(f *film) { f.fewOf(5, 3, func(i int) bool { return i == 0 }) }, nearIs: "works", says: "none of 15 requests of 5 clients of 20.9.9.0/24 .*and to 100 % of those of others.*bans or limits that network", not: "stands in the way|Down|only"},
	{id: "client_ignored", // once each
		has: func(f *film) { f.fewOf(12, 1, func(int) bool { return false }) }, near: func(f *film) { f.fewOf(9, 1, func(int) bool { return false }) }, nearIs: "works", says: "none of 12 requests of 12 clients of 20.9.9.0/24"},
	{id: "client_ignored", // in a burst of four seconds
		has: func(f *film) { f.burst(func(i int) int { return 9 }) }, near: func(f *film) { f.burst(func(i int) int { return i }) }, nearIs: "loss", says: "none of 72 requests of 24 clients of 20.9.9.0/24", not: "Overload"},
	{id: "client_ignored", // which asks on while nobody else does
		has: func(f *film) { f.pauses(func(i int) int { return i % 12 }) }, near: func(f *film) { f.pauses(func(i int) int { return i }) }, nearIs: "stopped", says: "of 12 clients of 20.9.9.0/24", not: "Down|did not reply"},
	{id: "cut", // replies of another address
		has: func(f *film) {
			f.snap = 50
			f.replied(20, "\xff\xff\xff\xffi", .001, filmServer, filmOther, infoReply("Old town"))
			f.goesOn(60)
		},
		near: func(f *film) { f.unanswered(20, filmServer) }, nearIs: "no_reply", says: "20 datagrams, which may be replies", not: "No reply"},
	{id: "rate_limit",
		has: func(f *film) {
			for i := range 1200 {
				at := float64(i) / 20
				f.turn(at, .001, askers(i%200), i%20 < 5)
			}
		},
		near: func(f *film) { // half is lost by chance
			seed := uint32(1)
			for i := range 1200 {
				at := float64(i) / 20
				seed = seed*1664525 + 1013904223
				f.turn(at, .001, askers(i%200), seed>>31 == 0)
			}
		}, nearIs: "loss", says: "about 5 replies per second"},
	{id: "rate_limit", // of a dozen that ask all the time
		has: func(f *film) { f.dozen(1, bucket(20)) }, near: func(f *film) { f.dozen(1, lossy(0.65)) }, nearIs: "loss", says: "about 20 replies per second, of 1,710 requests", not: "Crowd|each address"},
	{id: "rate_limit", // of each address
		has:  func(f *film) { f.dozen(1, bucketEach()) },
		near: func(f *film) { f.dozen(1, func(int, float64) bool { return true }) }, nearIs: "crowd_or_forged", says: "about 1.[5-7] replies per second to each address", not: "Crowd"},
	{id: "silent_at_times", // and late at others, so that it replies then
		has:  func(f *film) { f.partly(500, 7, func(_ int, at float64) bool { return at < 60 || at > 120 }) },
		near: func(f *film) { f.partly(200, 7, func(i int, _ float64) bool { return i%11 != 0 }) }, nearIs: "late_replies", says: "came later than clients wait", not: "replies to only|get lost"},
	{id: "loss",
		has:  func(f *film) { f.partly(200, .001, lossy(.3)) },
		near: func(f *film) { f.partly(200, .001, func(i int, _ float64) bool { return i%20 != 0 }) }, nearIs: "works", says: "replies to only 7\\d %"},
	{id: "loss", // to clients that ask until they have a reply
		has: func(f *film) { f.again(lossy(.5)) }, near: func(f *film) { f.again(lossy(.1)) }, nearIs: "works", says: "replies to only 8\\d % of", not: "only so often"},
	{id: "loss", // to clients that ask all the time from one port, so that the next request follows before the reply is late
		has:  func(f *film) { l := lossy(.65); f.people(func(int, float64) bool { return l(0, 0) }) },
		near: func(f *film) { l := lossy(.05); f.people(func(int, float64) bool { return l(0, 0) }) }, nearIs: "works", says: "3\\d % of 600 sendings"},
	{id: "rate_limit", // of each, five times a second
		has: func(f *film) { f.dozen(0, bucketEach()) }, near: func(f *film) { f.dozen(0, lossy(.65)) }, nearIs: "loss", says: "about 1.[5-7] replies per second to each address, of 1,710 sendings", not: "Crowd"},
	{id: "rate_limit", // of all of them together
		has: func(f *film) { f.dozen(0, bucket(20)) }, near: func(f *film) { f.dozen(0, lossy(.65)) }, nearIs: "loss", says: "about 20 replies per second, of 1,710 sendings", not: "Crowd|each address"},
	{id: "loss", // to clients that ask every four seconds
		has: func(f *film) {
			kept := map[bool]float64{true: .001, false: -1}
			l := lossy(.35)
			f.sockets(func(int, float64) float64 { return kept[l(0, 0)] })
		},
		near: func(f *film) { f.sockets(func(int, float64) float64 { return .001 }) }, nearIs: "works", says: "6\\d % of 450 sendings"},
	{id: "challenge_loop",
		has:  func(f *film) { f.challenged(30, filmServer, func(i int) string { return challenge(uint32(5000 + i)) }) },
		near: func(f *film) { f.challenged(30, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "one challenge after the other"},
	{id: "challenge_unused",
		has: func(f *film) {
			polls(30, func(i int, at float64, from netip.AddrPort) {
				f.udp(at, askers(i), filmServer, askInfo)
				f.udp(at+.001, filmServer, askers(i), challenge(uint32(1000+i)))
			})
			f.goesOn(60)
		},
		near: func(f *film) { f.challenged(30, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "No client gets past the challenge"},
	{id: "connections_fail",
		has: func(f *film) { f.connected(10, 27015, 2, 20) }, near: func(f *film) { f.connected(10, 27015, 2, 18) }, nearIs: "tcp_only", says: "10 of 10 connections over TCP to .* failed: 10 refused"},
	{id: stats.Unwell, // few return a challenge
		has: func(f *film) {
			f.challenged(6, filmServer, func(int) string { return infoReply("Old town") })
			polls(54, func(i int, at float64, from netip.AddrPort) {
				f.udp(at+.1, askers(i+6), filmServer, askInfo)
				f.udp(at+.101, filmServer, askers(i+6), challenge(uint32(1000+i)))
			})
			f.goesOn(60)
		},
		near: func(f *film) { f.challenged(60, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "18 % of 66 requests.*82 % got a challenge only"},
	{id: "parts_lost", // of one kind in many requests
		has: func(f *film) {
			f.answered(100, filmServer)
			for i := range 4 {
				f.udp(float64(i)+.2, askers(i), filmServer, "\xff\xff\xff\xffV"+le(uint32(7+i)))
				f.udp(float64(i)+.201, filmServer, askers(i), parts(rulesReply(60), uint32(i))[0])
			}
			f.goesOn(60)
		},
		near: func(f *film) { f.answered(100, filmServer) }, nearIs: "works", says: "4 replies of .* lack parts"},
	{id: "backends",
		has: func(f *film) {
			f.challenged(60, filmServer, func(i int) string {
				return nettext.Either(i%3 == 0, infoReply("Old town"), challenge(uint32(5000+i)))
			})
		},
		near: func(f *film) { // a restart
			f.challenged(60, filmServer, func(i int) string {
				return nettext.Either(i > 30 && i < 34, challenge(uint32(5000+i)), infoReply("Old town"))
			})
		}, nearIs: "works", says: "several servers share that address"},
	{id: "late_replies",
		has:  func(f *film) { polls(20, func(_ int, at float64, from netip.AddrPort) { f.turn(4*at, 7, from, true) }) },
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "later than clients wait"},
	{id: "slow",
		has: func(f *film) { f.replied(30, askInfo, 2.5, filmServer, filmServer, infoReply("Old town")) },
		near: func(f *film) {
			f.answered(60, filmServer)
			f.turn(.25, 2.25, askers(80), true)
		}, nearIs: "works", says: "more than a second"},
	{id: "slow", // more than clients take to ask again
		has:  func(f *film) { f.sockets(func(int, float64) float64 { return 4.5 }) },
		near: func(f *film) { f.sockets(func(_ int, at float64) float64 { return .5 }) }, nearIs: "works", says: "Slow: 4\\d\\d of 4\\d\\d replies", not: "late"},
	{id: "bad_replies",
		has: func(f *film) { f.replied(30, askInfo, .001, filmServer, filmServer, infoReply("Old town")[:20]) },
		near: func(f *film) {
			f.answered(60, filmServer)
			f.udp(.25, askers(80), filmServer, askInfo)
			f.udp(.251, filmServer, askers(80), infoReply("Old town")[:20])
		}, nearIs: "errors", says: "30 of 30 replies.*malformed"},
	{id: "client_gone",
		has: func(f *film) {
			f.answered(20, filmServer)
			polls(10, func(i int, at float64, from netip.AddrPort) {
				f.icmp(at+.002, from.Addr(), 3, 3, 0, filmServer, from, infoReply("Old town"))
			})
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "NAT had forgotten"},
	{id: "only_private", server: "192.168.1.10:27015",
		has: func(f *film) {
			polls(20, func(i int, at float64, from netip.AddrPort) {
				c := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 1, byte(20 + i%3)}), from.Port())
				f.udp(at, c, filmPrivate, askInfo)
				f.udp(at+.001, filmPrivate, c, infoReply("Old town"))
			})
		},
		near: func(f *film) { f.answered(20, filmPrivate) }, nearIs: "works", nearAsk: "192.168.1.10:27015", says: "only private addresses", not: "Down|do not get here"},
	{id: "docker_proxy", server: "172.17.0.2:27015",
		has: func(f *film) {
			s := netip.MustParseAddrPort("172.17.0.2:27015")
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				c := netip.AddrPortFrom(netip.MustParseAddr("172.17.0.1"), from.Port())
				f.udp(at, c, s, askInfo)
				f.udp(at+.001, s, c, infoReply("Old town"))
			})
		},
		near: func(f *film) { f.answered(20, netip.MustParseAddrPort("172.17.0.2:27015")) }, nearIs: "works", nearAsk: "172.17.0.2:27015", says: "172.17.0.1: that of Docker's proxy"},
	{id: "master_silent", has: func(f *film) { f.beats(4, "") }, near: func(f *film) { f.beats(1, "") }, nearIs: "works", says: "master 203.0.113.5:27010 sends nothing back"},
	{id: "master_silent", // it was heard before
		has: func(f *film) { f.beats(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04"); f.moreBeats(5) }, near: func(f *film) { f.beats(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04"); f.moreBeats(4) }, nearIs: "works", says: "sends nothing back to .* any more: nothing came after the last 5 heartbeats, and 4 messages before"},
	{id: "master_unanswered", has: func(f *film) { f.questions(3) }, near: func(f *film) { f.questions(2) }, nearIs: "works", says: "answered none of 3 questions of the master 203.0.113.5:27010"},
	{id: "master_refuses", has: func(f *film) { f.beats(4, "\xff\xff\xff\xffl\nYour server is banned.\n\x00") }, near: func(f *film) { f.beats(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04") }, nearIs: "works", says: "does not list .*banned"},
	{id: "not_in_list",
		has:  func(f *film) { f.beats(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04"); f.master(10, to(27016), filmOther) },
		near: func(f *film) { f.beats(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04"); f.master(10, filmOther, filmServer) }, nearIs: "works", says: "in none of 10 lists of the master 203.0.113.5:27010.*Europe, .gamedir.cstrike"},
	{id: "other_address",
		has: func(f *film) { f.replied(20, askInfo, .001, filmServer, filmOther, infoReply("Old town")) },
		near: func(f *film) { // its own replies come as well
			f.answered(20, filmServer)
			polls(20, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.002, filmOther, from, infoReply("New town")) })
		}, nearIs: "works", says: "20 requests .* answered from another address, 198.51.100.11", not: "Down|No reply|firewall"},
	{id: "other_address", // now and then, to clients that keep their ports
		has:  func(f *film) { f.alternate(func(i int) bool { return i%2 == 0 }) },
		near: func(f *film) { f.alternate(func(i int) bool { return i == 100 }) }, nearIs: "works", says: "29\\d requests .* answered from another address, 198.51.100.11", not: "limit|loss"},
	{id: "answers_for_another", server: "198.51.100.11:27015", has: func(f *film) { f.replied(20, askInfo, .001, filmServer, filmOther, infoReply("Old town")) },
		near: func(f *film) { f.replied(20, "", .002, to(1), filmOther, infoReply("New town")) }, nearIs: "no_requests_captured", nearAsk: "198.51.100.11:27015", says: "replies to 20 requests to 198.51.100.10:27015", not: "direction"},
	{id: "other_address", // always
		has: func(f *film) { f.alternate(func(int) bool { return true }) }, near: func(f *film) { f.alternate(func(int) bool { return false }) }, nearIs: "works", says: "answered from another address", not: "No reply"},
	{id: "other_port",
		has: func(f *film) { // a port for each client
			polls(20, func(i int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.udp(at+.001, to(50000+uint16(i)), from, infoReply("Old town"))
			})
		},
		near: func(f *film) { f.answered(20, to(27016)); f.unanswered(20, filmServer) }, nearIs: "wrong_port", says: "20 requests .* answered from several ports, 198.51.100.10:50000 among", not: "Down|No reply|firewall"},
	{id: "other_kind",
		has: func(f *film) {
			polls(20, func(_ int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.udp(at+.001, filmServer, from, rulesReply(3))
			})
			f.goesOn(60)
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "20 replies of another kind"},
	{id: "forged_flood",
		has: func(f *film) {
			f.challenged(60, filmServer, func(int) string { return infoReply("Old town") })
			f.flood(300, 200, filmServer, askInfo, func(i int) string { return challenge(uint32(i + 7)) })
		},
		near: func(f *film) { // a fiftieth of it is no flood, but a third of the requests
			f.challenged(60, filmServer, func(int) string { return infoReply("Old town") })
			f.flood(6, 200, filmServer, askInfo, func(i int) string { return challenge(uint32(i + 7)) })
		}, nearIs: "not_answered", says: "Forged flood at 198.51.100.10:27015", not: "stands in the way|No client"},
	{id: "forged_flood", // of which only the requests were captured
		has: func(f *film) {
			for i := range 6000 {
				f.udp(20+float64(i)/300, netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(1 + i*37%223), byte(i * 89), byte(i * 53), byte(i)}), uint16(1024+i)), filmServer, askInfo)
			}
		},
		near: func(f *film) { f.unanswered(30, filmServer) }, nearIs: "no_reply", says: "no reply from it: one direction only.*Forged flood at 198.51.100.10:27015", not: "meanwhile"},
	{id: "crowd_or_forged",
		has: func(f *film) {
			f.answered(60, filmServer)
			f.flood(300, 3, filmServer, askInfo, func(int) string { return infoReply("Old town") })
		},
		near: func(f *film) {
			f.answered(60, filmServer)
			f.flood(6, 3, filmServer, askInfo, func(int) string { return infoReply("Old town") })
		}, nearIs: "works", says: "Crowd or forged"},
	{id: "crowd_or_forged", // whose replies lack parts
		has: func(f *film) {
			f.answered(60, filmServer)
			f.flood(300, 3, filmServer, askRules, func(i int) string { return parts(rulesReply(60), uint32(i))[0] })
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "Crowd or forged at .* 3,000 a2s rules requests in 10 s from 22:13:30 UTC on"},
	{id: "junk_flood",
		has: func(f *film) {
			f.answered(60, filmServer)
			f.flood(300, 200, filmServer, "\x99 no such game \x01", nil)
		},
		near: func(f *film) { f.answered(60, filmServer); f.flood(5, 200, filmServer, "\x99 no such game \x01", nil) }, nearIs: "works", says: "[Jj]unk"},
	{id: "greedy_clients",
		has: func(f *film) {
			f.challenged(60, filmServer, func(int) string { return infoReply("Old town") })
			from := netip.MustParseAddrPort("20.7.3.9:40000")
			f.visit(4.9, from, filmServer, 99, infoReply("Old town"))
			for i := range 2000 {
				at := 5 + float64(i)/100
				f.udp(at, from, filmServer, askInfo+le(99))
				f.udp(at+.001, filmServer, from, infoReply("Old town"))
			}
		},
		near: func(f *film) { f.challenged(60, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "20.7.3.9"},
	{id: "carpet",
		has: func(f *film) {
			f.challenged(60, filmServer, func(int) string { return infoReply("Old town") })
			for i := range 30000 {
				at := 20 + float64(i)/2000
				f.udp(at, askers(i*7%250), netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(1 + i*13%254)}), 27015), askInfo)
			}
		},
		near: func(f *film) { f.challenged(60, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "[Cc]arpet", not: "Down"},
	{id: "drops_under_load",
		has: func(f *film) {
			f.load(func(busy bool, i int) bool { return !busy || uint32(i*i)*2654435761>>20%3 == 0 })
		},
		near: func(f *film) { f.load(func(bool, int) bool { return true }) }, nearIs: "works", says: "Overload"},
	{id: "reflection",
		has: func(f *film) {
			f.answered(20, filmServer)
			victim := netip.MustParseAddrPort("20.9.9.9:80")
			for i := range 6000 {
				s := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(10 + i%30)}), 27015)
				f.udp(float64(i)/100, victim, s, q3Status)
				f.udp(float64(i)/100+.001, s, victim, q3Reply+q3Reply[20:]+q3Reply[20:])
			}
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "Reflection at 20.9.9.9"},
	{id: "list_hammering", server: "203.0.113.5:27010", nearAsk: "203.0.113.5:27010",
		has: func(f *film) {
			f.master(20, filmOther)
			m, c := netip.MustParseAddrPort("203.0.113.5:27010"), netip.MustParseAddrPort("20.7.3.9:40000")
			f.visit(.1, c, filmServer, 7, infoReply("Old town")) // the address is real
			for i := range 2000 {
				at := 1 + float64(i)/100
				f.udp(at, c, m, "1\x030.0.0.0:0\x00\\gamedir\\cstrike\x00")
				f.udp(at+.001, m, c, "\xff\xff\xff\xfff\n\x00\x00\x00\x00\x00\x00")
			}
		},
		near: func(f *film) { f.master(20, filmOther) }, nearIs: "works", says: "List hammering.*20.7.3.9"},
	{id: "master_version", has: func(f *film) { f.beats(4, "\xff\xff\xff\xffl\nOutdated Version.  Please update.\n\x00") }, near: func(f *film) { f.beats(4, "\xff\xff\xff\xffl\nYour server is banned.\n\x00") }, nearIs: "master_refuses", says: "because of its version"},
	{id: "other_client_port", // and all replies to one that asks from three ports, of which the capture lacks two
		has:  func(f *film) { f.misled(60, func(i int) (int, int) { return 0, 1 }) },
		near: func(f *film) { f.misled(60, func(i int) (int, int) { return -(i / 5 % 2), 0 }) }, nearIs: "packets_missing", says: "sends 60 of 60 replies to other ports than 5 addresses asked from", not: "lacks packets"},
	{id: "packets_missing", // a third is lost before the capture, of requests as of replies; or of replies alone
		has: func(f *film) {
			lost := lossy(.35)
			f.answered(120, filmServer)
			f.packets = slices.DeleteFunc(f.packets, func(filmed) bool { return !lost(0, 0) })
		},
		near: func(f *film) { f.dozen(1, lossy(.35)) }, nearIs: "loss", says: "2[0-9] of [78][0-9] replies of .* answer requests that are not in the capture", not: "firewall"},
	{id: "client_gone", // before the challenge came
		has: func(f *film) {
			polls(10, func(i int, at float64, from netip.AddrPort) {
				f.udp(at, from, filmServer, askInfo)
				f.udp(at+.06, filmServer, from, challenge(7))
				f.icmp(at+.061, from.Addr(), 3, 3, 0, filmServer, from, challenge(7))
			})
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "closed its socket", not: "older than challenges"},
	{id: "other_address", // between the translation of what comes and that of what goes
		has:  func(f *film) { f.replied(20, askInfo, .001, filmServer, filmPrivate, infoReply("Old town")) },
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "another address, 192.168.1.10 .private: all is well if a router translates"},
	{id: "wrong_requests", // with the challenge as its bytes stand in the other order
		has: func(f *film) {
			f.replied(10, askInfo, .001, filmServer, filmServer, challenge(7))
			polls(10, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.002, from, filmServer, askInfo+le(7<<24)) })
			f.goesOn(60)
		},
		near: func(f *film) { f.challenged(10, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works",
		says: "10 requests to .* are wrong and without a reply: challenge 117440512 is byte-swapped.*Correct the client", not: "nobody used it|older"},
	{id: "nobody_asked", // but three sent the header of a message alone
		has: func(f *film) {
			polls(3, func(_ int, at float64, from netip.AddrPort) { f.udp(at, from, filmServer, askInfo[:4]) })
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "of 3 messages to its address, none is a request", not: "is not in the capture"},
	{id: "challenge_loop", // clients return an old one
		has: func(f *film) {
			polls(40, func(i int, at float64, _ netip.AddrPort) {
				f.udp(at, askers(i%4), filmServer, askInfo+le(uint32(7*min(i/4, 1))))
				f.udp(at+.001, filmServer, askers(i%4), challenge(8))
			})
		},
		near: func(f *film) { f.challenged(10, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "challenges that the server did not give them .a2s.challenge.mismatch", not: "refuses"},
	{id: "client_ignored", // that asks only a few times
		has: func(f *film) { f.few(5) }, near: func(f *film) { f.few(4) }, nearIs: "works", says: "11 % got no reply, all of them from 59.7.99.9, which never gets one"},
}

// misled adds five clients, each with requests from ports and replies to others; a negative one is not in the capture.
func (f *film) misled(n int, ports func(i int) (from, to int)) {
	polls(n, func(i int, at float64, _ netip.AddrPort) {
		from, to := ports(i)
		if c := askers(i % 5).Addr(); from >= 0 {
			f.udp(at, netip.AddrPortFrom(c, uint16(4000+10*i+from)), filmServer, askInfo)
		}
		f.udp(at+.001, filmServer, netip.AddrPortFrom(askers(i%5).Addr(), uint16(4000+10*i+to)), infoReply("Old town"))
	})
	f.goesOn(60)
}

// early adds requests that are captured some time after their replies, of many clients or of one.
func (f *film) early(by float64, clients int) {
	for i := range 60 {
		at, from := float64(i)/2, askers(i%clients)
		f.udp(at, filmServer, from, challenge(7))
		f.udp(at+by, from, filmServer, askInfo)
		f.udp(at+.03, filmServer, from, infoReply("Old town"))
		f.udp(at+by+.03, from, filmServer, askInfo+le(7))
	}
	f.goesOn(60)
}

// samp films a server of SA-MP that loses each nth request for infos, and answers all for players, to which it may be silent.
func (f *film) samp(n int) {
	for i := range 60 {
		for j, ask := range "iccc" {
			head, at := "SAMP\xc6\x33\x64\x0a\x87\x69"+string(ask), float64(i)+float64(j)/10
			if f.udp(at, askers(i), filmServer, head); ask == 'c' {
				f.udp(at+.001, filmServer, askers(i), head+"\x00\x00")
			} else if i%n > 0 || n > 60 {
				f.udp(at+.001, filmServer, askers(i), head+"\x00\x03\x00\x14\x00\x01\x00\x00\x00a\x01\x00\x00\x00b\x01\x00\x00\x00c")
			}
		}
	}
}

// filmLAN are those of whom looks for servers in a network, of two capture points, of replies that get lost after one, and of what also shows causes above.
var filmLAN = []filmCause{
	{id: "errors", has: func(f *film) {
		f.answered(60, filmServer)
		f.udp(.25, filmServer, askers(0), infoReply("Old town")[:20])
	}, near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "stands in the way; but 1 message has an error: .*malformed.*Look at", not: "nothing to do"},
	{id: "works", has: func(f *film) { // each of two pieces says that it is the last one
		polls(30, func(i int, at float64, from netip.AddrPort) {
			f.udp(at, from, filmServer, "\\status\\")
			f.udp(at+.001, filmServer, from, "\\gamename\\unreal\\hostname\\Old town\\numplayers\\0\\queryid\\1.1\\final\\")
			f.udp(at+.002, filmServer, from, "\\mapname\\dm\\queryid\\1.2\\final\\")
		})
	}, near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "30 gamespy1 status requests .100 % answered", not: "lack parts"},
	{id: "loss", has: func(f *film) { f.samp(4) }, near: func(f *film) { f.samp(100) }, nearIs: "works", says: "replies to only 76 % of 59 requests", not: "Nothing unusual"},
	{id: "several_servers", has: func(f *film) { // whose clients ask again
		for i := range 60 {
			if f.visit(float64(i), askers(i), filmServer, uint32(1000+i), infoReply("Old town")); i%3 == 0 {
				f.visit(float64(i)+.2, askers(i+60), filmServer, uint32(1000+i), challenge(uint32(2000+i)))
				f.udp(float64(i)+.3, askers(i+60), filmServer, askInfo+le(uint32(2000+i)))
				f.udp(float64(i)+.301, filmServer, askers(i+60), infoReply("Old town"))
			}
		}
	}, near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "refuses the challenges that it gave in 20 of 100 requests .* several servers share that address"},
	{id: "growth",
		has: func(f *film) {
			f.challenged(300, filmServer, func(int) string { return infoReply("Old town") })
			for i := range 1500 {
				f.visit(40+float64(i)/20, askers(300+i), filmServer, uint32(i+7), infoReply("Old town"))
			}
		},
		near: func(f *film) { f.challenged(300, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "Growth at 198.51.100.10:27015 .*more people come.*Block nobody", not: "nothing to do"},
	{id: "challenge_loop", // of one client of many
		has: func(f *film) {
			f.challenged(90, filmServer, func(int) string { return infoReply("Old town") })
			for i := range 7 {
				f.visit(3+4*float64(i), askers(95), filmServer, 77, challenge(77))
			}
		},
		near: func(f *film) { f.challenged(97, filmServer, func(int) string { return infoReply("Old town") }) }, nearIs: "works", says: "Some clients of .* one challenge after the other"},
	{id: "challenge_loop", // while others get no reply
		has: func(f *film) {
			f.unanswered(80, filmServer)
			for i := range 6 {
				f.visit(3+4*float64(i), askers(90+i), filmServer, 77, challenge(78))
			}
			f.udp(71, filmServer, askers(150), infoReply("Old town")) // nobody of the capture asked for it
		},
		near: func(f *film) { f.unanswered(80, filmServer) }, nearIs: "no_reply", says: "^Clients of .* get one challenge after the other"},
	{id: "junk_flood", // of fragments
		has: func(f *film) {
			f.answered(60, filmServer)
			for i := range 2400 {
				from := netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 7})
				f.frame(10+float64(i)/240, append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"), mkpcap.IP(from, filmServer.Addr(), uint16(i), 17, 1480, false, true, make([]byte, 400))...))
			}
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "Junk flood of fragments: 2,400 IP fragments in 10 s"},
	{id: "reflection", // of which its host is the victim
		has: func(f *film) {
			f.answered(20, filmServer)
			for i := range 6000 {
				f.udp(float64(i)/100, netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(i % 300 >> 8), byte(i % 300), 7}), 27960), filmServer, q3Reply)
			}
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "Reflection to 198.51.100.10: 6,000 replies .* from about (29|30|31). servers"},
	{id: "broadcast", server: "192.168.1.20:27015", has: func(f *film) { f.found("255.255.255.255", "192.168.1.21", "192.168.1.20", "192.168.1.22") }, near: func(f *film) { f.found("239.255.0.1", "192.168.1.20", "192.168.1.21", "192.168.1.22") }, nearIs: "only_private", nearAsk: "192.168.1.22:27015", says: "sent 40 replies to requests to all hosts of its network .255.255.255.255:27015.*as it should be", not: "one direction|several servers"},
	{id: "broadcast", server: "198.51.100.255:27015", has: func(f *film) { f.found("198.51.100.255", "198.51.100.10", "198.51.100.11") }, near: func(f *film) { f.found("198.51.100.255", "198.51.100.10") }, nearIs: "other_address", nearAsk: "198.51.100.255:27015", says: "servers answered 40 requests, 198.51.100.1[01]:27015 among them", not: "clients drop"},
	{id: "works", has: func(f *film) { f.early(.05, 60) }, near: func(f *film) { f.early(.02, 1) }, nearIs: "works", says: "120 a2s info requests .100 % answered", not: "Down|one direction|Slow"},
	{id: "broadcast", server: "255.255.255.255:27015", // and one that replies is asked alone as well
		has: func(f *film) {
			f.found("255.255.255.255", "192.168.1.21", "192.168.1.20")
			for i := range 40 {
				at, from, host := 2*float64(i)+.5, netip.MustParseAddrPort("192.168.1.5:27005"), netip.MustParseAddrPort("192.168.1.21:27015")
				f.udp(at, from, host, askInfo)
				f.udp(at+.0005, host, from, infoReply("Old town"))
			}
		},
		near: func(f *film) { f.found("255.255.255.255") }, nearIs: "broadcast_unanswered", nearAsk: "255.255.255.255:27015", says: "40 a2s info requests .100 % answered", not: "Slow|%.*of \\d+ answered"},
	{id: "loss", server: "192.168.1.20:27015", nearAsk: "192.168.1.20:27015", // of one that replies to all, which is no reply without its request
		has: func(f *film) { f.beside(lossy(.3)) }, near: func(f *film) { f.beside(lossy(0)) }, nearIs: "only_private", says: "replies to only [67][0-9] % of 40 requests", not: "lacks packets"},
	{id: "unarrived", // and to forged addresses that ask once
		has: func(f *film) { f.unreturned(12, 4) }, near: func(f *film) { f.unreturned(48, 1) }, nearIs: "challenge_unused", says: "gave 96 challenges .*12 of the 12 addresses .* half of them 8 times or more.*a route back", not: "older"},
	{id: "broadcast_unanswered", server: "192.168.1.255:27015", has: func(f *film) { f.found("192.168.1.255") }, near: func(f *film) { f.found("192.168.1.255", "192.168.1.255") }, nearIs: "only_private", nearAsk: "192.168.1.255:27015", says: "no server replied to any of 40 requests", not: "Down"},
	{id: "bad_replies", server: "198.51.100.10:27960", nearAsk: "198.51.100.10:27960", // that refuse
		has:  func(f *film) { f.console("Bad rconpassword.\n") },
		near: func(f *film) { f.console("map: q3dm17\n") }, nearIs: "works", says: "30 of 30 replies .*the server refused a remote console command.*is there and refuses", not: "stands in the way"},
	{id: "no_requests_captured", // that are recognised
		has:  func(f *film) { f.replied(30, "what is there?", .001, filmServer, filmServer, infoReply("Old town")) },
		near: func(f *film) { f.answered(30, filmServer) }, nearIs: "works", says: "30 replies from .* and no requests to it that are recognised", not: "one direction"},
	{id: "works", server: "198.51.100.10:7777", nearAsk: "198.51.100.10:7777", // and some of its replies look like requests
		has: func(f *film) { f.likeRequests(30) }, near: func(f *film) { f.likeRequests(0) }, nearIs: "works", says: "answers, and nothing"},
	{id: "bad_replies", // of one server of two
		has:  func(f *film) { f.listed("\x02\x00ann\x00\x01\x00\x00\x00\x00\x00\x80\x3f\x01bo") },
		near: func(f *film) { f.listed("\x01\x00ann\x00\x01\x00\x00\x00\x00\x00\x80\x3f") }, nearIs: "works", says: "30 of 30 replies .*a2s.players.cut", not: "stands in the way"},
	{id: "client_ignored", server: "203.0.113.5:27950", nearAsk: "203.0.113.5:27950", // of a server that replies in several datagrams, or does so late
		has: func(f *film) { f.pages(.01, 1) }, near: func(f *film) { f.pages(6, 0) }, nearIs: "late_replies", says: "none of 30 requests of 20.7.0.9 ", not: "stands in the way"},
	{id: "late_replies", // of which some are lost: before the first one, the server is not silent
		has: func(f *film) {
			polls(60, func(i int, at float64, from netip.AddrPort) {
				f.turn(at, 7, from, i%4 > 0)
			})
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "45 of 45 answers .* came later"},
	{id: "loss", // in bursts, of which the seconds around have none
		has: func(f *film) { f.bursts(lossy(.4)) }, near: func(f *film) { f.bursts(func(_ int, at float64) bool { return at < 30 || at > 40 }) }, nearIs: "silent_at_times", says: "replies to only [56][0-9] %", not: "Down|did not reply"},
	{id: "client_ignored", // while requests of others are wrong, and answered
		has: func(f *film) {
			f.replied(25, askInfo[:24], .001, filmServer, filmServer, infoReply("Old town"))
			f.few(30)
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "none of 30 requests of", not: "wrong"},
	{id: "wrong_requests", // from one socket, as retransmissions
		has: func(f *film) {
			polls(30, func(_ int, at float64, _ netip.AddrPort) {
				f.udp(10*at, askers(0), filmServer, askInfo)
				f.udp(10*at+.001, filmServer, askers(0), challenge(7))
				f.udp(10*at+.05, askers(0), filmServer, askInfo+le(7<<24))
			})
		},
		near: func(f *film) { f.watched(60, func(int) bool { return true }) }, nearIs: "works", says: "are wrong and without a reply: challenge 117440512 is byte-swapped", not: "older"},
	{id: "works", // while one client sends what no server understands
		has: func(f *film) {
			f.answered(60, filmServer)
			polls(20, func(_ int, at float64, _ netip.AddrPort) { f.udp(at, askers(0), filmServer, "\x79\x00\x00\x00") })
		},
		near: func(f *film) { f.unanswered(60, filmServer) }, nearIs: "no_reply", says: "all from 20.7.0.9, and replied to none of them.*If that address should get replies, correct its client", not: "nothing to do"},
	{id: "unknown_requests", server: "198.51.100.10:22003", // at the port of the game
		has: func(f *film) {
			f.replied(20, "s", .001, to(22126), to(22126), "EYE1\x04mta\x0622003\x07Anyone\x05Race\x03SF\x041.6\x020\x022\x0332\x01")
			polls(20, func(_ int, at float64, from netip.AddrPort) { f.udp(at, from, to(22003), "s") })
		},
		near: func(f *film) { f.answered(20, filmServer) }, nearIs: "works", says: "could be ase.*Ask port 22126, which answers ase"},
	{id: "wrong_requests", // two in one datagram
		has: func(f *film) {
			f.answered(60, filmServer)
			polls(20, func(i int, at float64, _ netip.AddrPort) { f.udp(at, askers(99+i), filmServer, askRules+askRules) })
		},
		near: func(f *film) { f.answered(60, filmServer) }, nearIs: "works", says: "20 requests to .* are wrong and without a reply: 9 bytes after the end of the message", not: "disabled"},
	{id: "hangs", // some connections carry what is no query
		has: func(f *film) {
			f.connected(10, 27015, 2, 18, 24)
			polls(10, func(i int, at float64, _ netip.AddrPort) {
				f.tcp(at+.1, askers(50+i), filmServer, 2)
				f.tcp(at+.101, filmServer, askers(50+i), 18)
			})
		},
		near: func(f *film) { f.connected(10, 27015, 24) }, nearIs: "no_reply", says: "20 made, .* at least 10 of them carried no query"},
}

// likeRequests adds a server that also sends so many datagrams that are read as requests.
func (f *film) likeRequests(n int) {
	server, head := netip.AddrPortFrom(filmServer.Addr(), 7777), "SAMP\xc6\x33\x64\x0a\x61\x1e"
	f.replied(40, head+"i", .001, server, server, head+"i\x00\x03\x00\x32\x00\x04\x00\x00\x00Town\x02\x00\x00\x00RP\x02\x00\x00\x00en")
	for i := range n {
		f.udp(float64(i)/2+.1, server, askers(i), head+"x\x05\x00wrong\x06\x00gmx123")
	}
}

// console adds commands to a remote console, with what it prints.
func (f *film) console(says string) {
	server := netip.AddrPortFrom(filmServer.Addr(), 27960)
	f.replied(30, "\xff\xff\xff\xffrcon secret status", .001, server, server, "\xff\xff\xff\xffprint\n"+says)
}

// listed adds a busy server, and another one that lists its players so.
func (f *film) listed(players string) {
	f.answered(400, filmOther)
	f.replied(30, "\xff\xff\xff\xffU\x07\x00\x00\x00", .001, filmServer, filmServer, "\xff\xff\xff\xffD"+players)
}

// pages adds a master whose lists are three datagrams, which come after so long, but to the first clients.
func (f *film) pages(after float64, ignored int) {
	m := netip.MustParseAddrPort("203.0.113.5:27950")
	for i := range 300 {
		at, from := float64(i)/5, netip.AddrPortFrom(askers(i%10).Addr(), uint16(4000+i))
		f.udp(at, from, m, "\xff\xff\xff\xffgetservers 68 full empty")
		for k := range 3 * min(1, max(0, i%10+1-ignored)) {
			f.udp(at+after+float64(k)/1000, m, from, "\xff\xff\xff\xffgetserversResponse\\"+string([]byte{20, 7, byte(i), byte(k), 0x6d, 0x38})+"\\EOT\x00\x00\x00")
		}
	}
}

// bursts adds eighty requests within a second, twice, and then one after the other; replies says which are answered.
func (f *film) bursts(replies func(i int, at float64) bool) {
	for i := range 400 {
		at, from := .1+4.1*float64(i/80)+.01*float64(i%80), netip.AddrPortFrom(askers(i%60).Addr(), uint16(4000+i))
		if i >= 160 {
			at = 5 + float64(i-160)/4
		}
		f.turn(at, .001, from, replies(i, at))
	}
}

// beside adds a server that replies to requests to all hosts, and to those that replies says of requests to it alone.
func (f *film) beside(replies func(i int, at float64) bool) {
	f.found("255.255.255.255", "192.168.1.20")
	for i := range 40 {
		at, from, host := 2*float64(i)+.5, netip.AddrPortFrom(netip.MustParseAddr("192.168.1.6"), uint16(30000+i)), netip.MustParseAddrPort("192.168.1.20:27015")
		if f.udp(at, from, host, askInfo); replies(i, at) {
			f.udp(at+.0005, host, from, infoReply("Old town"))
		}
	}
}

// beats adds a server that works and heartbeats to a master, which replies.
func (f *film) beats(n int, reply string) {
	f.answered(20, filmServer)
	for i := range n {
		f.udp(float64(i)*3+.1, filmServer, filmMaster, heartbeat)
		if reply != "" {
			f.udp(float64(i)*3+.15, filmMaster, filmServer, reply)
		}
	}
}

// questions adds a server that works and heartbeats to a master, whose questions get no reply.
func (f *film) questions(n int) {
	f.beats(4, "")
	for i := range n {
		f.udp(20+10*float64(i), filmMaster, filmServer, askInfo)
	}
	f.goesOn(60)
}

// moreBeats adds heartbeats without a reply.
func (f *film) moreBeats(n int) {
	for i := range n {
		f.udp(20+float64(i)*3, filmServer, filmMaster, heartbeat)
	}
}

// master adds browsers that ask a master for servers of Europe, and its lists, in which servers are.
func (f *film) master(n int, listed ...netip.AddrPort) {
	list := "\xff\xff\xff\xfff\n"
	for _, s := range listed {
		a := s.Addr().As4()
		list += string(binary.BigEndian.AppendUint16(a[:], s.Port()))
	}
	polls(n, func(_ int, at float64, from netip.AddrPort) {
		f.udp(at+.2, from, filmMaster, "1\x030.0.0.0:0\x00\\gamedir\\cstrike\x00")
		f.udp(at+.25, filmMaster, from, list+"\x00\x00\x00\x00\x00\x00")
	})
}

// load adds a minute of requests, ten times as many in its second third; replies says which are answered.
func (f *film) load(replies func(busy bool, i int) bool) {
	for i, at := 0, 0.0; at < 60; i++ {
		busy := at > 20 && at < 40
		if at += .2; busy {
			at -= .18
		}
		from, c := netip.AddrPortFrom(askers(i%80).Addr(), uint16(20000+i)), uint32(5000+i%80)
		if i < 80 {
			f.udp(at, from, filmServer, askInfo)
			f.udp(at+.001, filmServer, from, challenge(c))
		}
		f.udp(at+.01, from, filmServer, askInfo+le(c))
		if replies(busy, i) {
			f.udp(at+.011, filmServer, from, infoReply("Old town"))
		}
	}
}

// flood adds requests of addresses that nobody else has, n each second from second 10 to 20, and challenges that are not returned.
// They are of so many networks.
func (f *film) flood(n, nets int, server netip.AddrPort, ask string, replies func(i int) string) {
	for i := range 10 * n {
		at, from := 10+float64(i)/float64(n), netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(i*7919%nets + 20), byte(i * 104729 >> 3), byte(i), byte(i*31 + 7)}), uint16(1024+i*37%60000))
		f.udp(at, from, server, ask)
		if replies != nil {
			f.udp(at+.0005, server, from, replies(i))
		}
	}
}

// read counts a capture, and returns what else its report and answers need.
func read(t *testing.T, name string, a *stats.Aggregate, workers int) stats.Options {
	t.Helper()
	x := counting(name, a)
	x.Workers = workers
	return unitfile.Options(must.Get(pipeline.Run(x))(t))
}

// why answers for one server of a capture.
func why(t *testing.T, name, server string) *stats.Answer {
	t.Helper()
	at := netip.MustParseAddrPort(server)
	a := stats.NewFocused(at.Addr())
	return a.Why(at, read(t, name, a, 2))[0]
}

// try reads what is said of a capture that has the cause, or that nearly has it.
func (c *filmCause) try(t *testing.T, near bool, name string) (w *stats.Answer, r *stats.Report) {
	server, want := c.server, c.id
	if near {
		server, want = c.nearAsk, c.nearIs
	}
	at := netip.MustParseAddrPort(cmp.Or(server, filmServer.String()))
	a := stats.NewFocused(at.Addr())
	o := read(t, name, a, 2)
	w, r = a.Why(at, o)[0], a.Report(o)
	if must.TryAll() || !near && len(c.id)%3 == 0 {
		agree(t, name, w)
	}
	if list := stats.Causes(); w.Cause != want || w.State != list[slices.IndexFunc(list, func(c stats.Cause) bool { return c.ID == want })].State {
		t.Errorf("%s: cause %s (%s), want %s\n%s", at, w.Cause, w.State, want, w.AppendText(nil))
	}
	if !near && (!regexp.MustCompile("(?s)"+c.says).MatchString(w.Text+" "+strings.Join(w.Advice, " ")) || c.not != "" && regexp.MustCompile(c.not).MatchString(w.Text)) {
		t.Errorf("says %q, want %q and not %q", w.Text, c.says, c.not)
	}
	if w.State != stats.Answers && w.Cause != "wrong_interface" && len(w.Evidence) == 0 && w.Requests > 0 {
		t.Errorf("no evidence: %+v", w)
	}
	if r.Verdicts[0].Kind == stats.NothingUnusual && w.State == stats.Trouble && w.Cause != "not_in_list" {
		t.Errorf("the report is quiet about %s", w.Text)
	}
	for _, e := range w.Evidence {
		if e.Count > 0 && len(e.Frames) == 0 {
			t.Errorf("%s: %d, and no frame", e.What, e.Count)
		}
	}
	return w, r
}

// TestCauses: each cause is told where it is, and not where it nearly is.
func TestCauses(t *testing.T) {
	tried, all := map[string]bool{}, new(stats.Said)
	for _, c := range slices.Concat(filmCauses, filmLAN) {
		tried[c.id] = true
		t.Run(c.id, func(t *testing.T) {
			for i, make := range []func(*film){c.has, c.near} {
				f := &film{t: t}
				make(f)
				w, r := c.try(t, i > 0, f.write(t))
				all.Answer(w)
				all.Verdicts(r.Verdicts)
				all.Sum(w, r)
			}
		})
	}
	for i := range filmCauses { // parts of one or two captures, by chance
		random, f := rand.New(rand.NewPCG(uint64(i), uint64(i%3))), &film{t: t}
		one, other, share := &filmCauses[i], &filmCauses[random.IntN(len(filmCauses))], 20+random.IntN(80)
		if one.has(f); i%3 > 0 {
			other.near(f)
		}
		f.packets = slices.DeleteFunc(f.packets, func(filmed) bool { return random.IntN(100) > share })
		at := netip.MustParseAddrPort(cmp.Or(one.server, filmServer.String()))
		a := stats.NewFocused(at.Addr())
		o := read(t, f.write(t), a, 2)
		w, r := a.Why(at, o)[0], a.Report(o)
		all.Answer(w)
		all.Verdicts(r.Verdicts)
		all.Sum(w, r)
	}
	for seed := range uint64(40) { // two fates of few requests, by chance
		random := rand.New(rand.NewPCG(seed, 0))
		f := &film{t: t, snap: []int{0, 0, 0, 60}[random.IntN(4)]}
		one, other, share, clients := fewTroubles[random.IntN(len(fewTroubles))], fewTroubles[random.IntN(len(fewTroubles))], random.IntN(100), 1+random.IntN(30)
		polls(2+random.IntN(40), func(i int, at float64, _ netip.AddrPort) {
			from, is := askers(i%clients), one
			if random.IntN(100) < share {
				is = other
			}
			f.udp(at, from, filmServer, askInfo)
			is.back(f, i, at, from)
		})
		if f.moreBeats(max(0, random.IntN(20)-12)); random.IntN(4) > 0 {
			f.goesOn(40)
		}
		all.Answer(why(t, f.write(t), filmServer.String()))
	}
	for _, port := range []uint16{10011, 25565, 25575, 27014, 27015, 27016, 28016, 30120, 64738} { // what a port is known for
		f := &film{t: t}
		f.connected(10, port, 2, 18)
		fmt.Fprintln(all, port, why(t, f.write(t), to(port).String()).Advice)
	}
	all.Golden(t, "testdata/films.txt")
	page := string(must.Get(os.ReadFile("../../docs/causes.md"))(t))
	for _, c := range stats.Causes() {
		if !tried[c.ID] {
			t.Errorf("no capture shows %s", c.ID)
		}
		if !strings.Contains(page, fmt.Sprintf("| %s | %s |", c.Certainty, c.Needs)) {
			t.Errorf("docs/causes.md has not what %s needs: %s", c.ID, c.Needs)
		}
	}
}

// TestNextCause: a little more or less in a capture, and another cause explains it.
func TestNextCause(t *testing.T) {
	wrong := func(sent int) func(f *film) {
		return func(f *film) {
			f.answered(20, filmServer)
			f.unanswered(20, to(27019))
			for i := range sent {
				f.udp(1+float64(i), to(27019), askers(3), "\x1b\x02 no such thing")
			}
		}
	}
	for _, c := range []struct {
		name, server string
		make         func(f *film)
		want         string
	}{
		{"a port that sends nothing", "198.51.100.10:27019", wrong(0), "wrong_port"},
		{"a port that sends something", "198.51.100.10:27019", wrong(1), "unknown_replies"},
		{"a host that lists do not have", "198.51.100.10:0", func(f *film) { f.master(10, filmOther) }, "not_in_list"},
		{"a client that asks too often", "20.7.3.9:0", filmCauses[slices.IndexFunc(filmCauses, func(c filmCause) bool { return c.id == "greedy_clients" })].has, "greedy_clients"},
		{"a victim, at which the capture is", "198.51.100.11:0", func(f *film) {
			for i := range 200 {
				f.udp(float64(i)/20, netip.AddrPortFrom(askers(i%5).Addr(), 27015), filmOther, infoReply("Old town"))
			}
		}, "reflection"},
		{"a host that lists have", "198.51.100.10:0", func(f *film) { f.master(10, filmServer) }, "wrong_interface"},
		{"asked in another protocol as the capture ends", "198.51.100.10:27015", func(f *film) { f.answered(20, filmServer); f.asked(8, 9) }, "works"},
		{"and five seconds before", "198.51.100.10:27015", func(f *film) { f.answered(40, filmServer); f.asked(8, 9) }, "wrong_protocol"},
		{"asked, no heartbeat, not in lists", "198.51.100.10:27015", func(f *film) { f.answered(20, filmServer); f.master(10, filmOther) }, "works"},
	} {
		f := &film{t: t}
		c.make(f)
		if w := why(t, f.write(t), c.server); w.Cause != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.name, w.Cause, c.want, w.Text)
		}
	}
}

// allCaptures returns those of testdata, and those beside the project.
func allCaptures(t *testing.T) (list []string) {
	for _, dir := range []string{"../../testdata/pcaps", "../../../shared/captures", "../../../shared/cases"} {
		filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			if ext := filepath.Ext(name); err == nil && (ext == ".pcap" || ext == ".pcapng") {
				list = append(list, name)
			}
			return nil
		})
	}
	if len(list) < 100 {
		t.Fatalf("%d captures", len(list))
	}
	return list
}

// TestWhyAndReport: for each server of each capture both have the same counts, and neither says that all is well where the other
// names trouble.
func TestWhyAndReport(t *testing.T) {
	t.Run("scenes", func(t *testing.T) {
		for i, s := range scenes.All() {
			if i%6 > 0 && !must.TryAll() {
				continue
			}
			name := filepath.Join(t.TempDir(), s.Name+".pcap")
			f := must.Get(os.Create(name))(t)
			_, err := s.Write(f, scenes.Options{Span: 24 * time.Second, Clients: 200, Rate: 200})
			must.Do(t, errors.Join(err, f.Close()))
			agree(t, name)
		}
	})
	t.Run("scenes beside", func(t *testing.T) {
		dir := filepath.Join("..", "..", "..", "shared", "scenes")
		if _, err := os.Stat(dir); err != nil {
			t.Skip("the scenes are not beside the project")
		}
		if !must.TryAll() {
			t.Skip("they are run with QDISSECT_THOROUGH=1")
		}
		path := filepath.Join(t.TempDir(), "qdissect")
		if out, err := exec.Command("go", "build", "-o", path, "../../cmd/qdissect").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		for _, name := range []string{"cases.py", "mix.py", "greedy.py"} {
			kept := t.TempDir()
			if out, err := exec.Command("python3", filepath.Join(dir, name), path, "--keep", kept).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", name, err, out)
			}
			list, err := filepath.Glob(filepath.Join(kept, "*.pcap*"))
			if err != nil || len(list) == 0 {
				t.Fatalf("%s keeps nothing: %v", name, err)
			}
			for _, name := range list {
				agree(t, name)
			}
		}
	})
	for _, name := range must.TryCaptures(allCaptures(t)) {
		if damaged(name) { // TestCutCaptures compares the others
			agree(t, name)
		}
	}
}

// damaged reports whether a capture is not whole, or has what is not.
func damaged(name string) bool {
	return strings.Contains(name, "/hostile/") || strings.Contains(name, "/trouble/")
}

// agree compares report and why of a capture, and those with an answer for a server alone, by default of the first. It returns the verdicts and the answers.
func agree(t *testing.T, name string, alone ...*stats.Answer) ([]stats.Verdict, map[string]*stats.Answer) {
	t.Helper()
	a := stats.NewFocused(netip.Addr{})
	o := read(t, name, a, 1)
	r := a.Report(o)
	answers, list := map[string]*stats.Answer{}, a.Why(netip.AddrPort{}, o)
	for _, w := range list {
		answers[w.Server] = w
	}
	for _, is := range stats.Contradictions(r, list...) {
		t.Errorf("%s: %s", name, is)
	}
	for _, s := range r.Servers {
		if answers[s.Address] == nil && s.Requests > 0 && a.Left() == 0 {
			t.Errorf("%s: why has no answer for %s", name, s.Address)
		}
	}
	for i := len(alone); i < min(len(r.Servers), must.Try(1, 3)); i++ {
		alone = append(alone, why(t, name, r.Servers[i].Address))
	}
	for _, one := range alone { // only lists of masters are more evidence
		if w := answers[one.Server]; w != nil && one.Cause != w.Cause && one.Cause != "not_in_list" && !strings.Contains(one.Text, "the master") {
			t.Errorf("%s: %s alone: %s %s, among all: %s %s", name, one.Server, one.Cause, one.Text, w.Cause, w.Text)
		}
	}
	return r.Verdicts, answers
}

// TestIgnoredEvidence: what is shown for a client that is ignored is as many requests as are said to have no reply.
func TestIgnoredEvidence(t *testing.T) {
	f := new(film)
	f.people(func(client int, at float64) bool { return client > 0 })
	for i := range 60 { // again before a reply is due
		f.udp(2*float64(i)+.5, askers(0), filmServer, askInfo)
	}
	if w := why(t, f.write(t), filmServer.String()); w.Cause != "client_ignored" || !strings.Contains(w.Text, "to none of 120 requests") || w.Evidence[0].Count != 120 {
		t.Errorf("%+v", w)
	}
}

// TestCutCaptures: what a snapshot length takes away accuses nobody, neither in findings nor in causes, nor in verdicts.
func TestCutCaptures(t *testing.T) {
	if _, err := exec.LookPath("editcap"); err != nil {
		t.Skip("editcap is not installed")
	}
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	found := func(name string) map[string]bool {
		ids := map[string]bool{}
		var out strings.Builder
		o := counting(name, stats.New())
		o.Out, o.Reporter = &out, func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }
		must.Get(pipeline.Run(o))(t)
		for line := range strings.Lines(out.String()) {
			var x struct {
				Findings []struct{ ID, Severity string }
			}
			json.Unmarshal([]byte(line), &x)
			for _, f := range x.Findings {
				if f.Severity == "warning" || f.Severity == "error" {
					ids[f.ID] = true
				}
			}
		}
		return ids
	}
	hasAny := func(ids map[string]bool, text string) bool {
		for id := range ids {
			if strings.Contains(text, "("+id+")") {
				return true
			}
		}
		return false
	}
	for _, name := range must.TryCaptures(allCaptures(t)) {
		if damaged(name) {
			continue
		}
		whole := found(name)
		said, was := agree(t, name)
		for _, length := range must.Try([]string{"60"}, []string{"44", "50", "54", "60", "80", "128"}) {
			if out, err := exec.Command("editcap", "-s", length, name, cut).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", name, err, out)
			}
			for id := range found(cut) {
				if !whole[id] && id != "capture.snaplen" && !strings.HasSuffix(id, ".amplification") { // which is about what was sent
					t.Errorf("%s of %s bytes: %s", name, length, id)
				}
			}
			verdicts, answers := agree(t, cut)
			for server, w := range answers {
				if w.State == stats.Trouble && (was[server] == nil || w.Cause != was[server].Cause) {
					t.Errorf("%s of %s bytes: %s: %s", name, length, w.Cause, w.Text)
				}
			}
			for _, v := range verdicts {
				if v.Kind != stats.CannotTell && v.Kind != stats.NothingUnusual && !slices.ContainsFunc(said, func(x stats.Verdict) bool { // the whole may say worse errors of a server
					return x.Kind == v.Kind && (x.Server == v.Server || v.Kind == stats.Errors && v.Server == "" && hasAny(whole, v.Text))
				}) {
					t.Errorf("%s of %s bytes: %s", name, length, v.Text)
				}
			}
		}
	}
}

// TestCutTraffic: the traffic of a game, of which a capture has the usual beginnings only, takes nothing from what is known of queries.
func TestCutTraffic(t *testing.T) {
	f := &film{t: t, snap: 96}
	random, move := rand.NewChaCha8([32]byte{}), make([]byte, 90)
	polls(120, func(_ int, at float64, from netip.AddrPort) {
		f.udp(at, from, filmServer, askInfo)
		up := at < 20 || at > 40
		if up {
			f.udp(at+.001, filmServer, from, infoReply("Old town"))
		}
		for i := range 20 {
			_, _ = random.Read(move)
			move[0] = 0x40 + byte(i%7)
			f.udp(at+float64(i)/50, from, filmServer, string(move))
			if up {
				f.udp(at+float64(i)/50+.001, filmServer, from, string(move[1:]))
			}
		}
	})
	if said, _ := agree(t, f.write(t)); len(said) != 1 || said[0].Kind != stats.ServerDown {
		t.Errorf("%+v", said)
	}
}

// A fewBack adds what comes after a request.
type fewBack = func(f *film, i int, at float64, from netip.AddrPort)

// replies answers from somewhere after some seconds.
func replies(after float64, server netip.AddrPort, payload string) fewBack {
	return func(f *film, _ int, at float64, from netip.AddrPort) { f.udp(at+after, server, from, payload) }
}

// rejects says by ICMP that a request went nowhere.
func rejects(by netip.Addr, typ, code byte) fewBack {
	return func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, by, typ, code, 0, from, filmServer, askInfo)
	}
}

// fewTroubles are what may become of a request: what comes after it.
var fewTroubles = []struct {
	name string
	back fewBack
}{
	{"nothing", func(*film, int, float64, netip.AddrPort) {}},
	{"answered", replies(.001, filmServer, infoReply("Old town"))},
	{"closed", rejects(filmServer.Addr(), 3, 3)},
	{"closed by router", rejects(filmRouter, 3, 3)},
	{"prohibited", rejects(filmRouter, 3, 13)},
	{"unreachable", rejects(filmRouter, 3, 1)},
	{"hops", rejects(filmRouter, 11, 0)},
	{"other address", replies(.001, filmOther, infoReply("Old town"))},
	{"other port", replies(.001, to(27099), infoReply("Old town"))},
	{"late", replies(7, filmServer, infoReply("Old town"))},
	{"slow", replies(2, filmServer, infoReply("Old town"))},
	{"malformed", replies(.001, filmServer, infoReply("Old town")[:30])},
	{"other kind", replies(.001, filmServer, rulesReply(3))},
	{"junk", replies(.001, filmServer, "\x01\x09 no such game")},
	{"too large", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		f.icmp(at+.01, filmRouter, 3, 4, 1400, filmServer, from, infoReply("Old town"))
	}},
	{"client gone", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		f.icmp(at+.01, from.Addr(), 3, 3, 0, filmServer, from, infoReply("Old town"))
	}},
	{"challenge unused", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
	}},
	{"challenge loop", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
		f.udp(at+.05, from, filmServer, askInfo+le(uint32(1000+i)))
		f.udp(at+.051, filmServer, from, challenge(uint32(2000+i)))
	}},
	{"challenge and silence", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
		f.udp(at+.05, from, filmServer, askInfo+le(uint32(1000+i)))
	}},
	{"part lost", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.0001, from, filmServer, "\xff\xff\xff\xffV"+le(7))
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		for j, p := range parts(rulesReply(90), uint32(i+1)) {
			if j != 1 {
				f.udp(at+.002+float64(j)/1e5, filmServer, from, p)
			}
		}
	}},
	{"rules unanswered", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.0001, from, filmServer, "\xff\xff\xff\xffV"+le(7))
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
	}},
}

// TestFewRequests: of a few requests, some of which have a trouble, from one client or from several, beside a server that is well or alone, report
// and why say the same: that something is wrong, that nothing is, or that it cannot be told.
func TestFewRequests(t *testing.T) {
	for _, c := range fewTroubles {
		for _, n := range must.Try([]int{8}, []int{1, 2, 3, 4, 5, 8, 12, 19, 25}) {
			for every := 1; every <= must.Try(1, 3) && every <= n && (every == 1 || !strings.HasPrefix(c.name, "challenge")); every++ {
				for _, one := range []bool{false, true} {
					for _, beside := range must.Try([]bool{one}, []bool{false, true}) {
						f := &film{t: t}
						polls(n, func(i int, at float64, from netip.AddrPort) {
							if one {
								from = askers(7)
							}
							at *= 4
							if f.udp(at, from, filmServer, askInfo); i%every == 0 {
								c.back(f, i, at, from)
							} else {
								f.udp(at+.001, filmServer, from, infoReply("Old town"))
							}
						})
						f.goesOn(float64(n)*2 + 30)
						if beside {
							f.answered(30, netip.MustParseAddrPort("203.0.113.10:27015"))
						}
						name := f.write(t)
						w := why(t, name, filmServer.String())
						r, _ := agree(t, name, w)
						state := stats.Trouble
						switch v := r[0]; {
						case v.Kind == stats.NothingUnusual:
							state = stats.Answers
						case v.Kind == stats.CannotTell:
							state = stats.Unclear
						case v.Kind == stats.Errors && v.Server == "" && w.State == stats.Unclear:
							continue // of messages, also of few
						}
						if w.State != state && !(beside && w.State == stats.Unclear && state == stats.Answers) {
							t.Errorf("%s, %d requests, one of %d, one client %v, beside another %v:\nreport: %s\nwhy:    %s", c.name, n, every, one, beside, r[0].Text, w.Text)
						}
					}
				}
			}
		}
	}
}

// TestAccount: of what became of requests, report and why say the same.
func TestAccount(t *testing.T) {
	beside := netip.MustParseAddrPort("203.0.113.10:27015")
	asks := func(n int, back func(f *film, i int, at float64, from netip.AddrPort)) func(f *film) {
		return func(f *film) {
			polls(n, func(i int, at float64, from netip.AddrPort) {
				f.udp(4*at, from, filmServer, askInfo)
				back(f, i, 4*at, from)
			})
		}
	}
	for _, c := range []struct {
		name, says string
		cause      string
		play       func(f *film)
	}{
		{"three of seven late, the others lost", "answers only 0 % of 7 requests", "not_answered", asks(7, func(f *film, i int, at float64, from netip.AddrPort) {
			if i%2 == 1 {
				f.udp(at+6, filmServer, from, infoReply("Old town"))
			}
		})},
		{"a fifth gets a challenge only", "20 % got a challenge only", "not_answered", asks(30, func(f *film, i int, at float64, from netip.AddrPort) {
			if f.udp(at+.001, filmServer, from, challenge(uint32(1000+i))); i%3 > 0 {
				f.udp(at+.05, from, filmServer, askInfo+le(uint32(1000+i)))
				f.udp(at+.051, filmServer, from, infoReply("Old town"))
			}
		})},
		{"a client that returns other challenges than it gets", "12 % got no reply (nearly all of 24.7.4.9), 12 % got a challenge only", "client_ignored", func(f *film) {
			polls(80, func(i int, at float64, from netip.AddrPort) {
				if at *= 4; i%4 == 0 {
					from = askers(4)
				}
				f.udp(at, from, filmServer, "\xfe\xfd\x09\x00\x00\x00\x01")
				f.udp(at+.01, filmServer, from, "\x09\x00\x00\x00\x0195133\x00")
				if f.udp(at+.02, from, filmServer, "\xfe\xfd\x00\x00\x00\x00\x01\x00\x01\x73"+"\x9b\x9d"[min(i%4, 1):][:1]); i%4 > 0 {
					f.udp(at+.03, filmServer, from, "\x00\x00\x00\x00\x01A server\x00SMP\x00world\x002\x0020\x00\xdd\x63172.18.0.2\x00")
				}
			})
		}},
		{"one client, one direction", "one direction only", "one_direction", func(f *film) {
			for i := range 12 {
				f.udp(3*float64(i), askers(7), filmServer, askInfo)
				f.udp(3*float64(i)+.05, askers(7), filmServer, askInfo+le(7))
			}
		}},
		{"eight of nineteen lost", "replies to only 58 % of 19 requests", "not_answered", asks(19, func(f *film, i int, at float64, from netip.AddrPort) {
			if i*11/19 != (i+1)*11/19 {
				f.udp(at+.001, filmServer, from, infoReply("Old town"))
			}
		})},
		{"four of eight lost, beside another server", "too little was seen to judge 198.51.100.10:27015 (4 of 8 requests answered)", "too_few", func(f *film) {
			f.answered(40, beside)
			asks(8, func(f *film, i int, at float64, from netip.AddrPort) {
				if i%2 == 1 {
					f.udp(at+.001, filmServer, from, infoReply("Old town"))
				}
			})(f)
		}},
		{"replies that nobody asked for", "203.0.113.77 got 400 replies from 1 server in 20 s", "no_requests_captured", func(f *film) {
			f.answered(40, beside)
			for i := range 400 {
				f.udp(float64(i)/20, filmServer, netip.MustParseAddrPort("203.0.113.77:80"), infoReply("Old town "+strings.Repeat("x", i)))
			}
		}},
	} {
		f := &film{t: t}
		c.play(f)
		f.goesOn(120)
		name := f.write(t)
		r, answers := agree(t, name)
		if w := answers[filmServer.String()]; !strings.Contains(r[0].Text, c.says) || w == nil && c.cause != why(t, name, filmServer.String()).Cause || w != nil && w.Cause != c.cause {
			t.Errorf("%s: %s\nwant %s and %s, not %+v", c.name, r[0].Text, c.says, c.cause, w)
		}
	}
}

// TestDeadBeside: of an address that one client asks a few times, beside servers that answer, report leads to why, which tells that nothing came.
func TestDeadBeside(t *testing.T) {
	dead := netip.MustParseAddrPort("203.0.113.9:27015")
	for _, n := range []int{4, 19} {
		f := &film{t: t}
		f.answered(100, filmServer)
		for i := range n {
			f.udp(2*float64(i), askers(7), dead, askInfo)
		}
		f.goesOn(80)
		name := f.write(t)
		r, answers := agree(t, name)
		if v := r[0]; !strings.Contains(v.Text, "one address asked "+dead.String()) || !strings.Contains(v.Text+v.Advice, "qdissect why "+dead.String()) || strings.Contains(v.Text+v.Advice, "nothing to do") {
			t.Errorf("%d: %+v", n, v)
		}
		if w := answers[dead.String()]; w.State != stats.Trouble || !strings.Contains(string(w.AppendText(nil)), "No reply: "+dead.String()) {
			t.Errorf("%d: %+v", n, w)
		}
	}
}
