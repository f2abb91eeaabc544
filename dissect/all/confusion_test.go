package all

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/packetsource"
	"github.com/qdissect/qdissect/reassembly"
)

// alike lists messages whose bytes are valid in two protocols, so that a port or a
// request of the other protocol rightly decides for it. Any other label of another
// protocol is a bug, and so is an entry that no sample needs.
var alike = []struct {
	protocol, message, neighbour string    // regular expressions of whole names
	where                        situation // and all that say more
	bytes                        string    // what the payloads match
	why                          string
}{
	{"a2s", "unknown", "quake3", onPort, `^\xff{4}$`, "the header that both have, and nothing else"},
	{"quake3", "unknown", "a2s", onPort, `^\xff{4}$`, "the header that both have, and nothing else"},
	{"a2s", "ping_reply", "valve-master", onRequest, `^\xff{4}j\x00?$`, "a master answers a ping as a server does"},
	{"halflife", "ping_reply", "valve-master", onRequest, `^\xff{4}j\x00?$`, "a master answers a ping as a server does"},
	{"valve-master", "ping_reply", "halflife", onRequest, `^\xff{4}j\x00?$`, "a master answers a ping as a server does"},
	{"valve-master", "ping_reply", "a2s", nothing, `^\xff{4}j\x00?$`, "a master answers a ping as a server does, and there are more servers"},
	{"valve-master", "reject", "a2s", onPort, `^\xff{4}l\n`, "a text for the console, which servers send as well; a line of it may be empty"},
	{"ase", "version_request", "valve-master", onPort, `^v$`, "one letter"},
	{"valve-master", "masters_request", "ase", onPort, `^v$`, "one letter"},
	{"minecraft", "handshake_request", "gamespy3", onPort, `^\xfe\xfd\x09.{4}(\x00{4})?$`, "one wire format"},
	{"gamespy3", "handshake_request", "minecraft", nothing, `^\xfe\xfd\x09.{4}(\x00{4})?$`, "one wire format: the first in the list has what nothing decides"},
	{"gamespy3", "available_reply", "minecraft", onRequest, `^\xfe\xfd\x09.{4}\x00{4}$`, "the bytes of a handshake request with padding"},
	{"minecraft", "handshake_reply", "gamespy3", onPort, `^\x09.{4}[ -~]+\x00?$`, "one wire format"},
	{"gamespy3", "handshake_reply", "minecraft", nothing, `^\x09.{4}[ -~]+\x00?$`, "one wire format: the first in the list has what nothing decides"},
	{"minecraft", "full_stat_request", "gamespy3", onPort, `^\xfe\xfd\x00.{8}\xff\xff\xff\x01$`, "clients of GameSpy 3 ask servers of Minecraft in their own way"},
	{"gamespy3", "status_request", "minecraft", nothing, `^\xfe\xfd\x00.{8}\xff\xff\xff\x01$`, "the same, and servers of Minecraft take any four bytes"},
	{"minecraft", "full_stat_reply", "gamespy3", onRequest, `^\x00.{4}splitnum\x00\x80\x00hostname\x00[^\x00]{39}`, "one wire format, and a name so long that nothing else is among the first bytes"},
	{"gamespy3", "status_reply", "gamespy2", nothing, `^\x00.{4}[a-z]+\x00[^\x00]+\x00[a-z]+\x00`, "keys and values without splitnum are the reply of GameSpy 2"},
	{"gamespy3", "status_reply", "gamespy2", onPort, `^\x00.{4}([^\x00]+\x00){4,6}$|^.{5}$`, "words without keys could be keys and values"},
	{"gamespy3", "status_reply", "minecraft", onRequest, `^\x00.{4}splitnum\x00\x80\x00hostname\x00[^\x00]*\x00`, "one wire format, and no key among the first bytes that only one of them has"},
	{"gamespy3", "status_reply", "minecraft", onRequest, `^\x00.{4}([^\x00]+\x00){4}$`, "four words without keys could be a basic stat that was cut"},
	{"chocolatedoom", "add_request|add_reply|servers_request", "cube", onPort, `^\x00[\x00-\x02]`, "numbers that begin extended requests of Cube"},
	{"cube", "uptime_request|teams_request", "chocolatedoom", onPort, `^\x00[\x00\x02]$`, "the same the other way round"},
	{"armagetron", "refusal", "gamespy3", onRequest, `^\x00\x03\x00\x00\x00`, "a type of 0, a session id, and words"},
	{"armagetron", "refusal", "minecraft", onRequest, `^\x00\x03\x00\x00\x00`, "a type of 0, a session id, and words"},
	{"chocolatedoom", "query_reply|servers_reply|hole_punch", "gamespy2|gamespy3|minecraft", onPort, `^\x00[\x03\x0a\x0e]`, "a type of 0, a session id, and words"},
	{"gamespy2", "status_reply", "gamespy3", onRequest, `^\x00.{4}([a-z]+\x00|\x00)`, "GameSpy 3 without splitnum replies as GameSpy 2 does"},
	{"quake2", "info_reply", "xash3d", onRequest, `^\xff{4}info\n[^\\]+: wrong version`, "a refusal in the same words"},
	{"xash3d", "info_reply", "quake2", nothing, `^\xff{4}info\n[^\\]+: wrong version`, "a refusal in the same words"},
	{"quakeworld|quake2|quake3|xash3d", "challenge_request", "quakeworld|quake2|quake3|xash3d", onPort, `^\xff{4}getchallenge`, "one word in all engines that descend from Quake"},
	{"quakeworld|quake2|quake3", "rcon_request", "quakeworld|quake2|quake3", onPort, `^\xff{4}rcon `, "one word in all engines that descend from Quake"},
	{"quakeworld|quake2|quake3|halflife|xash3d", "ping_request|text_ping_request", "quakeworld|quake2|quake3|halflife|xash3d", onPort, `^\xff{4}ping[\r\n\x00]*$`, "one word in all engines that descend from Quake"},
	{"quake2|quake3|xash3d", "ping_reply|text_ping_reply", "quake2|quake3|xash3d", onPort, `^\xff{4}ack`, "one word in all engines that descend from Quake"},
	{"xash3d", "challenge_reply", "quake2", onPort, `^\xff{4}challenge \d`, "a word and a number in both"},
	{"quakeworld|quake3", "print|status_reply", "quakeworld|quake3", onPort, `^\xff{4}n[^\\]`, "a letter and text"},
	{"quake2|quake3", "print|status_reply", "quake2|quake3", onPort, `^\xff{4}print\n[^\\]`, "text for people"},
	{"quake2", "status_request", "quakeworld", nothing, `^\xff{4}status`, "one request: the first in the list has what nothing decides"},
	{"quakeworld", "status_request", "quake2", onPort, `^\xff{4}status`, "one request"},
	{"quakeworld", "log_request", "a2s", onPort, `^\xff{4}log \d`, "a letter and text for the console"},
	{"quakeworld", "connect_reply", "a2s|valve-master", onPort, `^\xff{4}j$`, "one letter, which is the reply to a ping there"},
	{"a2s|halflife", "ping_reply", "quakeworld", onPort, `^\xff{4}j$`, "one letter, which accepts a client there"},
	{"quakeworld|quakeworld-master", "ping_reply", "quakeworld|quakeworld-master", onPort, `^l$`, "servers answer masters as they answer clients"},
	{"quakeworld-master|valve-master", "servers_request", "quakeworld-master|valve-master", onPort, `^c\n`, "Valve's first masters were those of QuakeWorld"},
	{"quakeworld-master", "servers_reply", "valve-master", onRequest, `^\xff{4}d\n`, "Valve's first masters were those of QuakeWorld"},
	{"gamespy2", "status_reply", "gamespy3", onPort, `^\x00.{4}(openplaying|Charlie|Bravo)\x00`, "what goes on with a reply of GameSpy 2 is words"},
	{"cube", "uptime_reply|player_ids_reply|teams_reply|refusal", "gamespy2|gamespy3|minecraft|sqp", onPort, `^\x00.{4}`, "a type of 0, four bytes, and data; its requests are known on its own ports alone"},
	{"bzflag", "short_request", "cube", onPort, `^\x00\x02\x04\x04$`, "a request for teams, and two numbers to be repeated"},
	{"cube", "info_request", "savage2", onPort, `^\x01$`, "one byte"},
	{"tribes", "status_request", "cube", onPort, `^.[\x01-\x09][\x00-\x09]$`, "small numbers, of which servers answer any"},
	{"openttd|quakeworld-master", "info_request|companies_request|servers_request|ping_request|pong|register_reply", "cube", onPort, `^.\x00.{0,2}$`, "a few small numbers, of which servers answer any"},
	{"mindustry", "info_request", "cube", onPort, `^\xfe\x01$`, "two small numbers, of which servers answer any"},
	{"sqp", "challenge_reply", "gamespy2", onPort, `^\x00.{4}$`, "a challenge is an empty reply with a request id"},
	{"sqp", "challenge_reply", "gamespy3", onPort, `^\x00.{4}$`, "a challenge is an empty reply with a session id"},
	{"gamespy3", "status_reply", "sqp", onRequest, `^\x00.{4}$`, "an empty reply with a session id is a challenge"},
}

// A situation is the evidence for the other protocol besides the bytes.
type situation int

const (
	nothing   situation = iota // ports that nobody has
	onPort                     // the port of the neighbour
	onRequest                  // a request of the neighbour waits for its reply
)

var situations = [...]string{"anywhere", "on its port", "as reply to it"}

// mayBe reports whether a sample may be labelled as another protocol, and marks the
// entries that allow it.
func mayBe(s *sample, neighbour *dissect.Protocol, where situation, needed map[int]bool) bool {
	ok := false
	for i := range alike {
		a := &alike[i]
		if a.where <= where && whole(a.protocol, s.protocol.Name) && whole(a.message, s.message) && whole(a.neighbour, neighbour.Name) &&
			expression(`(?s)`+a.bytes).Match(latin1(s.payload)) {
			needed[i], ok = true, true
		}
	}
	return ok
}

// whole reports whether an expression matches all of a name.
func whole(names, name string) bool {
	return names == name || strings.Contains(names, "|") && expression(`^(`+names+`)$`).MatchString(name)
}

// expressions are those of alike, compiled once.
var expressions = map[string]*regexp.Regexp{}

func expression(s string) *regexp.Regexp {
	r := expressions[s]
	if r == nil {
		r = regexp.MustCompile(s)
		expressions[s] = r
	}
	return r
}

// latin1 returns the bytes as text with one character each, for regular expressions.
func latin1(b []byte) []byte {
	var t []byte
	for _, c := range b {
		t = utf8.AppendRune(t, rune(c))
	}
	return t
}

// A label is the result of an analyzer for the datagrams from a frame on.
type label struct {
	from      uint64
	protocols []*dissect.Protocol
}

func (l *label) add(p *dissect.Protocol, frame uint64) {
	if p != nil && frame >= l.from && !slices.Contains(l.protocols, p) {
		l.protocols = append(l.protocols, p)
	}
}
func (l *label) Record(r *dissect.Record) { l.add(r.Protocol, r.Frame) }
func (l *label) Unknown(*dissect.Unknown) {}

// Finding records the parts of incomplete messages; the other findings are about
// requests.
func (l *label) Finding(f *dissect.FlowFinding) {
	if p := f.Protocol; p != nil && p.Split != nil && f.Type == p.Split.Incomplete {
		l.add(p, f.Frame)
	}
}

// A taker is an analyzer of all protocols that takes one datagram at a time.
type taker struct {
	analyzer *dissect.Analyzer
	label    label
	now      time.Time
	frame    uint64
}

func newTaker(t *testing.T) *taker {
	t.Helper()
	k := &taker{now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	// A payload that is sent once more is no copy here; nor is there a table of them to make
	// for each payload.
	k.analyzer = must.Get(dissect.New(dissect.Config{Protocols: Protocols(), KeepCopies: true}, &k.label))(t)
	return k
}

func (k *taker) send(src, dst netip.AddrPort, payload []byte) {
	k.frame++
	k.now = k.now.Add(time.Millisecond)
	k.analyzer.Datagram(&dissect.Datagram{Frame: k.frame, Time: k.now, Src: src, Dst: dst, Payload: payload})
}

// end resets the analyzer and returns all labels.
func (k *taker) end() []*dissect.Protocol {
	k.analyzer.Flush()
	k.now = k.now.Add(time.Hour)
	got := k.label.protocols
	k.label = label{}
	return got
}

var client, server = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")

// port is a port that no protocol has.
const port = 40000

// alone returns the labels of a single payload, sent once in each direction with the
// port on one side.
func (k *taker) alone(payload []byte, serverPort uint16) (labels []*dissect.Protocol) {
	a, b := netip.AddrPortFrom(client, port), netip.AddrPortFrom(server, serverPort)
	k.send(a, b, payload)
	labels = append(labels, k.end()...)
	k.send(b, a, payload)
	return append(labels, k.end()...)
}

// reply returns the labels of a payload that answers a request.
func (k *taker) reply(request, payload []byte) []*dissect.Protocol {
	a, b := netip.AddrPortFrom(client, port), netip.AddrPortFrom(server, port)
	k.label.from = k.frame + 2
	k.send(a, b, request)
	k.send(b, a, payload)
	return k.end()
}

// ports returns a few ports of a protocol that the other protocol does not have.
func ports(of, not *dissect.Protocol) (list []uint16) {
	for _, p := range of.Ports {
		if not == nil || !slices.Contains(not.Ports, p) {
			if list = append(list, p); len(list) == must.Try(1, 3) {
				break
			}
		}
	}
	return list
}

func kin(a, b *dissect.Protocol) bool { return a == b || a.Family != "" && a.Family == b.Family }

func text(payload []byte) string { return fmt.Sprintf("%q", payload[:min(len(payload), 48)]) }

// TestStreams gives the messages of each protocol over TCP to the detectors of the others, and of those over UDP as well. A connection
// on a port of another protocol must not be taken for one of that.
func TestStreams(t *testing.T) {
	for _, s := range samples(t) {
		for _, p := range Protocols() {
			if v := p.Detect(s.payload[:min(len(s.payload), 64)]); p.Stream != nil && p != s.protocol && v >= dissect.Likely {
				t.Errorf("%s says %v of %s frame %d, which is %s: %s", p.Name, v, s.file, s.frame, s.protocol.Name, text(s.payload))
			}
		}
	}
}

// TestConfusion tests datagrams of every message of every protocol against all other protocols:
// alone, on their ports in both directions, and as a reply to their requests. It must
// never get a label of another protocol.
func TestConfusion(t *testing.T) {
	like := map[string]int{} // datagrams of a message, of which four are tried, or all
	all := slices.DeleteFunc(samples(t), func(s *sample) bool {
		like[s.protocol.Name+s.message+s.role]++
		return s.protocol.Stream != nil || like[s.protocol.Name+s.message+s.role] > must.Try(4, 1<<30) // see TestStreams
	})
	k := newTaker(t)
	reported := map[string]int{}
	needed := map[int]bool{}
	wrong := func(s *sample, n *dissect.Protocol, where situation) {
		if kin(s.protocol, n) || mayBe(s, n, where, needed) {
			return
		}
		key := fmt.Sprintf("%s %s taken for %s %s", s.protocol.Name, s.message, n.Name, situations[where])
		if reported[key]++; reported[key] == 1 {
			t.Errorf("%s: %s frame %d: %s", key, s.file, s.frame, text(s.payload))
		}
	}
	for _, s := range all {
		for _, n := range k.alone(s.payload, port) {
			wrong(s, n, nothing)
		}
		for _, p := range Protocols() {
			if kin(p, s.protocol) {
				continue
			}
			for _, port := range ports(p, s.protocol) {
				for _, n := range k.alone(s.payload, port) {
					wrong(s, n, onPort)
				}
			}
		}
	}
	for _, q := range all {
		// A request to a master with 36 kB of conditions would take as long as all others.
		if q.role != "request" || len(q.payload) > 2000 || like[q.protocol.Name+q.message+q.role] == 0 {
			continue
		}
		like[q.protocol.Name+q.message+q.role] = 0 // asked
		for _, s := range all {
			if s.role == "request" || kin(s.protocol, q.protocol) {
				continue
			}
			for _, n := range k.reply(q.payload, s.payload) {
				if kin(n, q.protocol) {
					wrong(s, n, onRequest)
				}
			}
		}
	}
	for i, a := range alike {
		if !needed[i] && must.TryAll() {
			t.Errorf("no sample needs the exception of %s %s as %s", a.protocol, a.message, a.neighbour)
		}
	}
}

// A sample is one datagram with a known protocol: it lies in a capture of
// testdata/pcaps whose golden a person has checked.
type sample struct {
	file     string
	frame    uint64
	payload  []byte
	protocol *dissect.Protocol
	message  string // the first message that has these bytes
	role     string
	split    bool // a part of a message
}

// samples returns the distinct datagrams of each protocol in all captures. The
// protocols' own samples are in the tests of their packages, which other packages
// cannot use; the relevant ones are in the captures as well.
func samples(t testing.TB) (all []*sample) {
	t.Helper()
	if allSamples != nil {
		return slices.Clone(allSamples)
	}
	goldens, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.golden.jsonl"))
	if err != nil || len(goldens) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	seen := map[string]bool{}
	counts := map[*dissect.Protocol]int{}
	for _, golden := range goldens {
		if filepath.Base(filepath.Dir(golden)) == "hostile" {
			continue // damaged and forged: what it is like is no mistake
		}
		said := messages(t, golden)
		for _, d := range datagrams(t, golden) {
			m, ok := said[d.Frame]
			p := byName(m.Protocol)
			if key := m.Protocol + string(d.Payload); !ok || p == nil || seen[key] {
				continue
			} else {
				seen[key] = true
			}
			counts[p]++
			all = append(all, &sample{
				file: filepath.Base(golden), frame: d.Frame, payload: d.Payload, protocol: p, message: m.Message, role: m.Role, split: m.Split != nil,
			})
		}
	}
	for _, p := range Protocols() {
		if counts[p] < 5 {
			t.Errorf("%d different datagrams of %s in testdata/pcaps: too few to say anything, at least 5 are needed", counts[p], p.Name)
		}
	}
	allSamples = slices.Clone(all)
	return all
}

// allSamples are read once for all tests.
var allSamples []*sample

func byName(name string) *dissect.Protocol {
	for _, p := range Protocols() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// A message is the relevant part of a golden line.
type message struct {
	Type, Protocol, Message, Role string
	Frame                         uint64
	Frames                        []uint64
	Split                         *struct{}
}

// messages returns the messages of a golden by the frames that carried them.
func messages(t testing.TB, golden string) map[uint64]message {
	t.Helper()
	b := must.Get(os.ReadFile(golden))(t)
	said := map[uint64]message{}
	for line := range bytes.Lines(b) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", golden, err)
		}
		if m.Type != "message" || m.Protocol == "unknown" {
			continue
		}
		said[m.Frame] = m
		for _, f := range m.Frames {
			said[f] = m
		}
	}
	return said
}

// datagrams returns the datagrams of the capture of a golden.
func datagrams(t testing.TB, golden string) (all []packet.Datagram) {
	t.Helper()
	base := strings.TrimSuffix(golden, ".golden.jsonl")
	in, err := capture.Open(base + ".pcap")
	if errors.Is(err, os.ErrNotExist) {
		in, err = capture.Open(base + ".pcapng")
	}
	must.Do(t, err)
	defer in.Close()
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(*packet.Loss) {})
	over := streams.New(Protocols(), nil, func(d *dissect.Datagram) error {
		if n := len(all); d.Missing == 0 && n > 0 && all[n-1].Frame == d.Frame {
			all = all[:n-1] // the frame does not tell them apart
		} else if d.Missing == 0 {
			all = append(all, packet.Datagram{Frame: d.Frame, Payload: bytes.Clone(d.Payload)})
		}
		return nil
	})
	var f capture.Frame
	for {
		err := in.Next(&f)
		if err == io.EOF || err != nil && filepath.Base(filepath.Dir(golden)) == "hostile" {
			return all // up to its end, or to where the capture is damaged
		}
		must.Do(t, err)
		var d packet.Datagram
		raw := packet.Frame{Number: f.Number, Time: f.Time.UTC(), LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		switch o := decoder.Decode(&raw, &d); {
		case o.OK() && d.Missing == 0:
			d.Payload = bytes.Clone(d.Payload)
			all = append(all, d)
		case o == packet.TCP && !over.Foreign(decoder.Segment()) && over.Wants(decoder.Packet(), decoder.Segment()):
			must.Get(over.Segment(&streams.Segment{Frame: f.Number, Time: f.Time.UTC(), IP: decoder.Packet(), Data: decoder.Segment()}))(t)
		}
	}
}

// strangers is traffic of other protocols that begins like a query or uses the same
// ports. The first bytes are those of real captures, as far as peers recorded them, and
// the lengths are real. It is hexadecimal with blanks; a star fills up to 64 bytes with
// pseudorandom bytes.
//
// Payloads that equal a message of this module are not listed: rcon of Quake and Quake
// 2, the challenge of SQP, which is an empty reply of GameSpy 2, and unknown letters
// after the header of Valve's engines on their ports.
var strangers = []struct{ name, bytes string }{
	{"QUIC initial", "c3 00000001 08 8394c8f03e515708 00 00 449e *"},
	{"QUIC version negotiation", "80 00000000 08 0001020304050607 08 8394c8f03e515708 00000001 6b3343cf"},
	{"QUIC short header", "41 *"},
	{"RDP-UDP syn", "ffffffff 0040 1801 c7a52b1b 04d0 04d0 0000000000000000 *"},
	{"RDP-UDP syn lossy", "ffffffff 0040 1a01 00000000 04d0 04d0 *"},
	{"Photon", "ffff 0001 00000000 5f9c8b01 02 ff 01 04 0000002c 00000001 *"},
	{"Photon acknowledge", "ffff 0001 0000 0001 5f9c8b01 01 00 00 00 00000014 00000000"},
	{"1kxun", "ffff 0000 a000 0100 0000 *"},
	{"Steam in-home streaming discovery", "ffffffff 214c5fa0 0d000000 08 d2 82 a1 d4 f0 c6 8b 90 65 10 00 01 00 00 00 08 *"},
	{"DTLS 1.2 client hello", "16 fefd 0000 000000000000 006a 01 00005e 0000 000000 00005e fefd *"},
	{"DTLS 1.0 alert", "15 feff 0001 000000000001 0002 0228"},
	{"DTLS data", "17 fefd 0001 000000000005 0030 *"},
	{"DNS query", "7374 0100 0001 0000 0000 0000 03777777 076578616d706c65 03636f6d 00 0001 0001"},
	{"DNS whose number is a header", "ffff 0100 0001 0000 0000 0000 0765786d706c6521 00 0001 0001"},
	{"DNS whose number is that of GameSpy", "fefd 0100 0001 0000 0000 0000 03777777 076578616d706c65 00 0001 0001"},
	{"DNS whose number begins with zero", "0009 8180 0001 0001 0000 0000 03777777 076578616d706c65 00 0001 0001 c00c 0001 0001 0000003c 0004 c0000201"},
	{"mDNS query", "0000 0000 0001 0000 0000 0000 055f68747470 045f746370 056c6f63616c 00 000c 0001"},
	{"mDNS response", "0000 8400 0000 0001 0000 0000 055f68747470 045f746370 056c6f63616c 00 000c 0001 00000078 0002 c00c"},
	{"LLMNR", "00dd 0000 0001 0000 0000 0000 0477706164 00 0001 0001"},
	{"NetBIOS name", "8010 0110 0001 0000 0000 0000 20 434b414141414141414141414141414141414141414141414141414141414141 00 0021 0001"},
	{"NTP client", "23 00 06 ec 00000000 00000000 00000000 *"},
	{"NTP version 3", "1b 00 00 00 *"},
	{"NTP private", "17 00 03 2a 00000000"},
	{"STUN binding", "0001 0000 2112a442 b7e7a701bc34d686fa87dfae"},
	{"STUN binding with attributes", "0001 0008 2112a442 b7e7a701bc34d686fa87dfae 8022 0004 74657374"},
	{"STUN success", "0101 000c 2112a442 b7e7a701bc34d686fa87dfae 0020 0008 0001 a147 e112a643"},
	{"TURN channel", "4000 0020 *"},
	{"RTP", "80 60 5a17 00000fa0 1f2e3d4c *"},
	{"RTCP", "80 c8 0006 1f2e3d4c *"},
	{"RakNet frame set", "84 000000 60 0070 000000 000000 00 *"},
	{"RakNet acknowledge", "c0 0001 01 000000"},
	{"SNMP get", "30 26 020101 0406 7075626c6963 a019 0201 26 0201 00 0201 00 300e 300c 0608 2b06010201010100 0500"},
	{"SNMP get with a long length", "30 82 002a 020101 0406 7075626c6963 *"},
	{"SNMP whose length is a new line", "30 0a 0201 00 0403 7075 62 a0 00"},
	{"SSDP search", hex.EncodeToString([]byte("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\n\r\n"))},
	{"SSDP notify", hex.EncodeToString([]byte("NOTIFY * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n\r\n"))},
	{"SIP", hex.EncodeToString([]byte("REGISTER sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n"))},
	{"syslog", hex.EncodeToString([]byte("<34>Oct 11 22:14:15 mymachine su: failed"))},
	{"statsd", hex.EncodeToString([]byte("servers.requests:1|c"))},
	{"memcached", "0000 0000 0001 0000 " + hex.EncodeToString([]byte("stats\r\n"))},
	{"WireGuard initiation", "01 000000 1f2e3d4c *"},
	{"WireGuard response", "02 000000 1f2e3d4c 5a6b7c8d *"},
	{"WireGuard data", "04 000000 1f2e3d4c 0000000000000000 *"},
	{"OpenVPN reset", "38 1f2e3d4c5a6b7c8d 00 00000000"},
	{"IKE", "1f2e3d4c5a6b7c8d 0000000000000000 21 20 22 08 00000000 000001a4 *"},
	{"ESP keepalive", "ff"},
	{"IKE behind a marker", "00000000 1f2e3d4c5a6b7c8d 0000000000000000 21202208 *"},
	{"uTP syn", "41 00 1f2e 3d4c5a6b 00000000 00100000 0001 0000"},
	{"uTP state", "21 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001"},
	{"uTP reset", "31 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001"},
	{"uTP data", "01 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001 *"},
	{"uTP with an extension", "01 02 1f2e 3d4c5a6b 00000000 00100000 0001 0001 00 08 0000000000000000 *"},
	{"BitTorrent DHT", hex.EncodeToString([]byte("d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"))},
	{"BitTorrent DHT reply", hex.EncodeToString([]byte("d1:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:y1:re"))},
	{"BitTorrent tracker connect", "00000417 27101980 00000000 1f2e3d4c"},
	{"BitTorrent tracker reply", "00000000 1f2e3d4c 5a6b7c8d9eafb0c1"},
	{"Teredo", "0001 0000 1f2e3d4c5a6b7c8d 00 60000000 0008 3a ff *"},
	{"Teredo, bare IPv6", "60 000000 0008 3a ff 20010000 *"},
	{"TeamSpeak 3 voice", "9e115c0af03b7731 0f21 0003 80 *"},
	{"TeamSpeak 3 voice of a server", "9e115c0af03b7731 0f21 00 *"},
	{"TeamSpeak 3 ping", "9e115c0af03b7731 0007 0003 84"},
	{"TeamSpeak 3 pong of a server", "9e115c0af03b7731 0007 85 0007"},
	{"TeamSpeak 3 command", "5453334b8e7a5509 0001 0003 22 *"},
	{"ENet connect", "8fff 1f2e 82 ff 0001 0000 05 00 *"},
	{"Steam datagram", "20 01 *"},
	{"Valve SDR ping", "ffffffff ffffffff 00"},
	{"LIFX set color", "3100 0034 945c9c38 d073d5012345 0000 000000000000 00 01 0000000000000000 6600 0000 00 5555ffffffffac0d 00040000"},
	{"zeros", "0000000000000000000000000000000000000000"},
	{"text", hex.EncodeToString([]byte("hello, world\n"))},
	{"Lua path", hex.EncodeToString([]byte(`\\server\share\folder\file.txt`))},
}

// payload decodes the notation of strangers.
func payload(t *testing.T, s string) []byte {
	t.Helper()
	s, fill := strings.CutSuffix(strings.ReplaceAll(s, " ", ""), "*")
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	for x := uint32(2463534242); fill && len(b) < 64; { // xorshift
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b = append(b, byte(x))
	}
	return b
}

// stray reports every label of a payload on unknown ports and on those of the
// protocols.
func stray(k *taker, payload []byte, all bool) (labels []string) {
	for _, p := range k.alone(payload, port) {
		labels = append(labels, p.Name+" "+situations[nothing])
	}
	for _, of := range Protocols() {
		for _, port := range nettext.Either(all, of.Ports, ports(of, nil)) {
			for _, p := range k.alone(payload, port) {
				labels = append(labels, fmt.Sprintf("%s on port %d", p.Name, port))
			}
		}
	}
	return labels
}

// TestForeign checks that traffic of other protocols gets no label, whatever its ports.
func TestForeign(t *testing.T) {
	k := newTaker(t)
	for _, f := range strangers {
		b := payload(t, f.bytes)
		if got := stray(k, b, true); len(got) > 0 {
			t.Errorf("%s is taken for %s: %s", f.name, got[0], text(b))
		}
	}
}

// TestNoise checks that noise gets no label on a port that no protocol has: random bytes,
// small numbers, many zeros, text, and the traffic of others with bytes changed.
func TestNoise(t *testing.T) {
	k, r := newTaker(t), rand.New(rand.NewPCG(1, 2))
	others := nettext.Each(strangers, func(f struct{ name, bytes string }) []byte { return payload(t, f.bytes) })
	for i := range 20000 {
		b := make([]byte, 1+r.IntN(80))
		for j := range b {
			switch c := byte(r.Uint32()); i % 5 {
			case 0:
				b[j] = c
			case 1:
				b[j] = c & 7
			case 2:
				if j%3 == 0 {
					b[j] = c
				}
			case 3:
				b[j] = ' ' + c%95
			}
		}
		if i%5 == 4 {
			b = append(b[:0], others[r.IntN(len(others))]...)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		if b[0] == '\\' {
			continue // keys and values of GameSpy 1 have no other signature
		}
		for _, p := range k.alone(b, port) {
			t.Errorf("taken for %s: %s", p.Name, text(b))
		}
	}
}

// TestGameTraffic sends packets of running games, which begin with a counter and so
// with every value, to the ports of all protocols.
func TestGameTraffic(t *testing.T) {
	k := newTaker(t)
	said := map[string]bool{}
	wrong := func(what string, b []byte) {
		for _, got := range stray(k, b, false) {
			if key := what + got + string(b[:1]); !said[key] {
				said[key] = true
				t.Errorf("%s is taken for %s: %s", what, got, text(b))
			}
		}
	}
	for i := range uint32(1 << 16) {
		if i>>8 != 0 && i>>8 != 1 && i>>8 != 0xfd && i>>8 != 0xff {
			continue
		}
		b := payload(t, "*")
		binary.LittleEndian.PutUint32(b, i)
		binary.LittleEndian.PutUint32(b[4:], i-3)
		wrong("a Source engine packet", b)
		b[3] |= 0x80 // reliable
		b[7] |= 0x80
		wrong("a GoldSrc packet", b)
		b = payload(t, "*")
		binary.LittleEndian.PutUint32(b, i)
		wrong("a Quake 3 packet", b[:24])
		b = payload(t, "0000 0100 0001 0000 0000 0000 03777777 076578616d706c65 03636f6d 00 0001 0001")
		binary.LittleEndian.PutUint16(b, uint16(i))
		wrong("a DNS query", b)
	}
}

// talks are connections of other protocols: what client and server say in turn, the client first, with \n for ends of lines. In
// hexadecimal after #, where a star stands for pseudorandom bytes.
var talks = []string{
	"GET /status HTTP/1.1\nHost: example.org\n\n|HTTP/1.1 200 OK\nContent-Type: application/json\n\n{\"version\":{\"name\":\"1.0\"},\"players\":{\"online\":3}}",
	"POST / HTTP/1.0\n\n{\"text\":\"hi\"}|HTTP/1.0 404 Not Found\n\n", "PRI * HTTP/2.0\n\nSM\n\n|#00000c04 000000 0000 0003 00000064",
	"#16030100c0 010000bc 0303 * 20 *|#160303007a 02000076 0303 *|#1703030040 *", "#17030300 20 *|#1703030113 *",
	"SSH-2.0-OpenSSH_9.6\n|SSH-2.0-OpenSSH_9.6\n|#0000047c 0b 14 *|#0000044c 0a 14 *", "|220 mail.example.org ESMTP\n|EHLO a\n|250-mail\n250 SIZE 1\n|QUIT\n",
	"|220 FTP\n|USER a\n|331 OK\n|PASS b\n|230 OK\n", "|+OK POP3\n|CAPA\n|+OK\n.\n", "|* OK IMAP4\n|a1 LOGIN a b\n|a1 OK\n", "NICK a\nUSER a 0 * :a\n|:irc 001 a :Welcome\n",
	"#fffd18 fffd20 fffd23 fffd27|#fffb18 fffb20", "|#4a000000 0a 382e302e333600 * 00|#5b000001 85a6ff01 00000001 21 * 00", "#00000008 04d2162f|N", "#0000002e 00030000 7573657200 6100|#52000000 0800000000",
	"*1\n$4\nPING\n|+PONG\n", "PING\n|PONG\n", "#3a000000 01000000 00000000 dd070000 00000000 00 * 00|#c8000000 02000000 01000000 dd070000 00000000 00 *",
	"#00000085 ff534d42 72 00000000 *|#00000051 ff534d42 72 *", "#0300002b 26 e00000000000 436f6f6b69653a *|#03000013 0ed000001234000209080000000000",
	"#001d 1234 0100 0001 0000 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001|#002d 1234 8180 *", "#13426974546f7272656e742070726f746f636f6c 0000000000100005 *|#13426974546f7272656e742070726f746f636f6c 0000000000100005 *",
	"#10 16 0004 4d515454 04 02 003c 000a 61626364656667|#20020000", "414d5150 00000901|#01 0000 00000144 *", "#300c 020101 6007 020103 0400 8000|#300c 020101 6107 0a0100 04000400",
	"#00000021 0012 0004 00000001 0007 636c69656e74 *|#00000100 00000001 0000 *", "|RFB 003.008\n|RFB 003.008\n|#0101", "#6c00 0b00 0000 0000 0000|#01 00 0b00 0000 *", "stats\n|STAT pid 1\nEND\n", "#80 0a 0000 00 00 0000 00000000|#81 0a *",
	"#0a 00000001 00 *|#0a 00000002 01 *", "#05 01 00|#05 00", "#04 01 0050 c6336401 00|#00 5a 0050 c6336401", "#ffffffff *|#feff *", "#fe *|#ff00 *", "#fe01 *|#ff *", "#00*|#00*", "#01 00 *|#01 00 *", "#0e000000 *|#0a000000 *", "#0000000000000000000000000000|#00000000000000000000",
	"hello, world\n|and you\n", "list\n|Alice Bob\n", "<policy-file-request/>\x00|<?xml version=\"1.0\"?>\x00", "GIOP\x01\x02|GIOP", "#deadbeef *|#cafebabe *", "{\"id\":1,\"method\":\"a\"}\n|{\"id\":1,\"result\":{}}\n", "#*|#*", "|#*|#*",
}

// spoken returns the bytes of a part of a talk.
func spoken(r *rand.Rand, part string) string {
	h, ok := strings.CutPrefix(part, "#")
	if !ok {
		return strings.ReplaceAll(part, "\n", "\r\n")
	}
	var b []byte
	for i, piece := range strings.Split(strings.ReplaceAll(h, " ", ""), "*") {
		for n := r.IntN(300); i > 0 && n > 0; n-- {
			b = append(b, byte(r.Uint32()))
		}
		b, _ = hex.AppendDecode(b, []byte(piece))
	}
	return string(b)
}

// framed returns a packet of some game: its length and its number in one of the usual forms, and small numbers, texts and random bytes.
func framed(r *rand.Rand) string {
	var body []byte
	for range 1 + r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			body = binary.LittleEndian.AppendUint32(body, r.Uint32N(1<<r.IntN(20)))
		case 1:
			body = append(body, words(r, 1+r.IntN(8), " ")+"\x00"...)
		case 2:
			body = append(body, spoken(r, "#*")...)
		case 3:
			body = append(body, byte(r.IntN(4)))
		}
	}
	n := len(body) + r.IntN(2)*r.IntN(5)
	head := [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(n)), binary.BigEndian.AppendUint32(nil, uint32(n)), binary.LittleEndian.AppendUint16(nil, uint16(n)), binary.AppendUvarint(nil, uint64(n)),
		append(binary.LittleEndian.AppendUint32(nil, r.Uint32N(99)), binary.LittleEndian.AppendUint32(nil, uint32(n))...)}[r.IntN(5)]
	return string(head) + string(body)
}

// lenFileHeader is what a pcap file begins with.
const lenFileHeader = 24

// TestForeignStreams reads captures of connections of other protocols, on their ports and on those of ours, in segments of many sizes, from
// their beginning or from the middle on: none has a message.
func TestForeignStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 1))
	ports := []uint16{80, 443, 22, 25, 3306, 40000}
	for _, p := range Protocols() {
		if p.OverTCP() {
			ports = append(ports, p.Ports...)
		}
	}
	for i := range must.Try(600, 3000) {
		said := strings.Split(talks[r.IntN(len(talks))], "|")
		for k := range said {
			said[k] = spoken(r, said[k])
		}
		if i%3 == 0 {
			said = []string{framed(r), framed(r) + framed(r), framed(r), framed(r)}
		}
		var b bytes.Buffer
		w := mkpcap.NewWriter(&b, mkpcap.Options{})
		now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
		to := netip.AddrPortFrom(server, ports[r.IntN(len(ports))])
		c := w.Connect(now, netip.AddrPortFrom(client, port), to)
		begun := b.Len()
		for k, text := range said {
			now = now.Add(time.Millisecond)
			c.Send(now, k%2 == 1, []byte(text), [...]int{0, 0, 1, 7, 100}[r.IntN(5)])
		}
		c.Close(now)
		capture := b.Bytes()
		if i%5 == 0 { // from the middle on
			capture = slices.Delete(capture, lenFileHeader, begun)
		}
		var got label
		src := must.Get(pcapgo.NewReader(bytes.NewReader(capture)))(t)
		must.Do(t, must.Get(packetsource.New(src, src.LinkType(), dissect.Config{Protocols: Protocols()}, &got))(t).Run())
		for _, p := range got.protocols {
			t.Errorf("capture %d, to port %d: taken for %s: %s", i, to.Port(), p.Name, fmt.Sprintf("%.60q", said))
		}
	}
}

// rates are kinds of payloads that no game server and no client of one sends, and how many of
// a million may get a label. The ports are those of protocols for every second payload, and
// any otherwise, unless the kind has its own.
var rates = []struct {
	name  string
	most  int // of a million
	ports string
	next  func(*rand.Rand) []byte
}{
	{"random bytes on game ports", 3, "game", randomBytes},
	{"random bytes on any port", 2, "any", randomBytes},
	{"few different bytes on any port", 4, "any", fewBytes},
	{"few different bytes on game ports", 4, "game", fewBytes},
	{"text with backslashes", 1000, "", backslashes},
	{"English", 1, "", func(r *rand.Rand) []byte { return []byte(words(r, 1+r.IntN(60), " ")) }},
	{"JSON", 0, "", jsonText},
	{"HTTP", 0, "", httpText},
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, 4+r.IntN(508)) // shorter ones are requests of one letter
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// fewBytes returns up to 64 bytes out of a few small numbers, or most of them one byte.
func fewBytes(r *rand.Rand) []byte {
	b := make([]byte, 6+r.IntN(58))
	values := [...]byte{0, 1, 2, 3, 0xff, byte(r.Uint32()), byte(r.Uint32())}
	n, common := 1+r.IntN(len(values)), r.IntN(8)
	for i := range b {
		if r.IntN(8) >= common {
			b[i] = values[r.IntN(n)]
		}
	}
	return b
}

// vocabulary has words of no protocol and some that protocols have as well.
var vocabulary = strings.Fields(`the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
	all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him
	into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made
	may part Users Windows System32 Program Files AppData Local Temp config data server client name error value begin section frac alpha beta left right`)

func words(r *rand.Rand, n int, between string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(list, between)
}

// backslashes returns paths, commands of TeX, or keys and values of some program.
func backslashes(r *rand.Rand) []byte {
	n := 1 + r.IntN(12)
	switch r.IntN(4) {
	case 0:
		return fmt.Appendf(nil, `\%s.%s`, words(r, n, `\`), words(r, 1, ""))
	case 1:
		return fmt.Appendf(nil, `\%s{%s}`, words(r, n, ` \`), words(r, 3, " "))
	case 2:
		return fmt.Appendf(nil, `\%s\%d`, words(r, n|1, `\`), r.IntN(1000))
	}
	b := []byte{'\\'}
	for range 1 + r.IntN(80) {
		b = append(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ .-\\\\\\\\\\\\"[r.IntN(72)])
	}
	return b
}

func jsonText(r *rand.Rand) []byte {
	m := map[string]any{}
	for range 1 + r.IntN(8) {
		m[words(r, 1, "")] = []any{words(r, 1+r.IntN(3), " "), r.IntN(1000), map[string]string{words(r, 1, ""): words(r, 1, "")}}[r.IntN(3)]
	}
	b, _ := json.Marshal(m)
	return b
}

func httpText(r *rand.Rand) []byte {
	first := [...]string{"GET /%s HTTP/1.1", "POST /%s HTTP/1.1", "HTTP/1.1 200 %s", "NOTIFY * HTTP/1.1\r\nNT: %s", "M-SEARCH * HTTP/1.1\r\nST: %s"}
	b := fmt.Appendf(nil, first[r.IntN(len(first))]+"\r\n", words(r, 1+r.IntN(3), "/"))
	for range r.IntN(6) {
		b = fmt.Appendf(b, "%s: %s\r\n", words(r, 1, ""), words(r, 1+r.IntN(4), "; "))
	}
	return append(b, "\r\n"...)
}

// TestRates sends payloads of each kind, each alone between two addresses of its own. A label
// is one of any protocol. docs/limits.md has the rates of a million payloads of each kind.
func TestRates(t *testing.T) {
	million := must.Try(20_000, 1_000_000)
	// The ports are on a ring, so that payloads keep theirs when a protocol is added.
	var game []uint16
	for _, p := range Protocols() {
		if !p.OverTCP() {
			game = append(game, p.Ports...)
		}
	}
	place := func(port uint16) uint32 { return uint32(port) * 0x9e3779b1 }
	slices.SortFunc(game, func(a, b uint16) int { return cmp.Compare(place(a), place(b)) })
	onRing := func(at uint32) uint16 {
		i, _ := slices.BinarySearchFunc(game, at, func(port uint16, at uint32) int { return cmp.Compare(place(port), at) })
		return game[i%len(game)]
	}
	for i, kind := range rates {
		t.Run(kind.name, func(t *testing.T) {
			k, r := newTaker(t), rand.New(rand.NewPCG(40, uint64(i)))
			labels := map[string]int{}
			n := 0
			for j := range million {
				port := uint16(1 + r.IntN(65535))
				if kind.ports == "game" || kind.ports == "" && j%2 == 0 {
					port = onRing(r.Uint32())
				}
				b := kind.next(r)
				got := k.once(b, uint32(j), port)
				if len(got) == 0 {
					continue
				}
				n++
				if labels[got]++; labels[got] <= 2 {
					t.Logf("%s, port %d: %s", got, port, text(b))
				}
			}
			t.Logf("%d of %d: %v", n, million, labels)
			if most := (kind.most*million + 999_999) / 1_000_000; n > most {
				t.Errorf("%d of %d have a label, want at most %d: %v", n, million, most, labels)
			}
		})
	}
}

// once returns the label of a payload that is sent to a port, or from it, between two
// addresses that nothing else has.
func (k *taker) once(payload []byte, i uint32, serverPort uint16) string {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), port)
	b := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), serverPort)
	if i%4 < 2 {
		a, b = b, a
	}
	k.send(a, b, payload)
	got := k.end()
	if len(got) == 0 {
		return ""
	}
	return got[0].Name
}
