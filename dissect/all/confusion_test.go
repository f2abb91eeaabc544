package all

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
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
	var err error
	// A payload that is sent once more is no copy here; nor is there a table of them to make
	// for each payload.
	if k.analyzer, err = dissect.New(dissect.Config{Protocols: Protocols(), KeepCopies: true}, &k.label); err != nil {
		t.Fatal(err)
	}
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

// TestConfusion tests every datagram of every protocol against all other protocols:
// alone, on their ports in both directions, and as a reply to their requests. It must
// never get a label of another protocol.
func TestConfusion(t *testing.T) {
	all := slices.DeleteFunc(samples(t), func(s *sample) bool { return s.protocol.Stream != nil }) // see TestStreams
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
	asked := map[string]bool{}
	for _, q := range all {
		// A request to a master with 36 kB of conditions would take as long as all others.
		if key := q.protocol.Name + q.message; q.role != "request" || len(q.payload) > 2000 || asked[key] {
			continue
		} else {
			asked[key] = true
		}
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
		if !needed[i] {
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
		if err := in.Next(&f); err == io.EOF {
			return all
		} else if err != nil && filepath.Base(filepath.Dir(golden)) == "hostile" {
			return all // up to where the capture is damaged
		} else if err != nil {
			t.Fatal(err)
		}
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
